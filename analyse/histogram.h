/* SPDX-License-Identifier: MIT */
/*
 * A histogram as one SVG file that needs nothing else, in light or dark as its reader prefers: a
 * bar for each bucket that has something in it, which tells its values and how many there are.
 * Where there are more buckets than fit, several next to each other are one bar.
 */
#ifndef DT_ANALYSE_HISTOGRAM_H
#define DT_ANALYSE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct dt_histogram {
	const uint64_t *bucket; /* how many values each has; at least one has some */
	size_t buckets;
	uint64_t width; /* of a bucket: the i-th begins at i * width; 0: at the powers of two, and 0
			 */
	uint64_t above; /* values of the last bucket that are greater than all that it stands for */
	bool ns;	/* they are durations */
	bool log;	/* counts on a logarithmic scale: what is rare is seen beside what is not */
	const char *title, *about; /* above the picture; what one value is, below the axis */
	uint64_t values, bad;	   /* of all; negative ones, which have no bucket */
};

size_t dt_histogram_bucket(uint64_t width, uint64_t v);
uint64_t dt_histogram_lowest(uint64_t width, size_t bucket);

/* Write errors stay in f. */
void dt_histogram_draw(const struct dt_histogram *h, FILE *f);

#endif
