/* SPDX-License-Identifier: MIT */
/*
 * A histogram as one SVG file that needs nothing else, in light or dark as its reader prefers: a
 * bar for each bucket that has something in it, which tells its values and how many there are.
 * Where there are more buckets than fit, a bar stands for several adjacent ones.
 */
#ifndef DT_ANALYSE_HISTOGRAM_H
#define DT_ANALYSE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct dt_histogram {
	const uint64_t *bucket; /* how many values each bucket has; at least one has some */
	size_t buckets;
	uint64_t width; /* width of a bucket: the i-th begins at i * width; 0: buckets begin at the
			   powers of two, and 0 */
	uint64_t above; /* how many values of the last bucket are greater than all that it stands
			   for */
	bool ns;	/* the values are durations */
	bool log; /* counts are on a logarithmic scale, so that rare values are seen beside frequent
		     ones */
	const char *title, *about; /* title above the picture; below the axis, what one value is */
	uint64_t values, bad;	   /* all values; negative ones, which have no bucket */
};

/* Returns the bucket that a value is in, and the lowest value of a bucket. */
size_t dt_histogram_bucket(uint64_t width, uint64_t v);
uint64_t dt_histogram_lowest(uint64_t width, size_t bucket);

/* Writes the picture to f. Write errors stay in f. */
void dt_histogram_draw(const struct dt_histogram *h, FILE *f);

#endif
