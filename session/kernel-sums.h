/* SPDX-License-Identifier: MIT */
/* Sums over calls of the kernel that are kept where these are made. */
#ifndef DT_SESSION_KERNEL_SUMS_H
#define DT_SESSION_KERNEL_SUMS_H

#include "core/record.h"
#include "filter/sums-plan.h"

/* What the sums want of the calls of a function; those that want none of them are left out. */
struct dt_kernel_sums {
	unsigned n;
	struct {
		unsigned number; /* of the sum */
		struct dt_sums_plan plan;
	} sum[DT_SUMS_MOST];
};

/* Takes what has been summed up. */
struct dt_kernel_summed {
	void *ctx;
	/* So much has been added to the sum of that number. Keys are those of its words; of threads
	 * and processes the kernel's numbers, function: as it was told. */
	void (*add)(void *ctx, unsigned number, const struct dt_sums_given *g);
	/* So many calls have found no row. */
	void (*others)(void *ctx, unsigned number, uint64_t calls);
	/* A call, by its entry, had not ended when recording did. row: as it was told. */
	void (*open)(void *ctx, const struct dt_record *entry, uint32_t row);
};

#endif
