/* SPDX-License-Identifier: MIT */
/* What the parts of ranges share: ranges.c, -sites.c, -points.c, -table.c; for nobody else. */
#ifndef DT_SESSION_RANGES_WORK_H
#define DT_SESSION_RANGES_WORK_H

#include "session/ranges.h"
#include "session/kernel-ranges.h"

typedef int point_fn(void *ctx, struct dt_point *point, const struct dt_range *r,
		     struct dt_error *e);

/* What the provider knows of a range: range->host. */
struct place_of_range {
	struct dt_selection select; /* of a set */
	/* the same for libraries without sleds: "everything" is of the program only */
	struct dt_selection libraries;
	char *arguments;      /* of a set: "path:str,mode", behind '@'; NULL: all of them */
	uint64_t had;	      /* bit i: some function has the i-th of them */
	struct dt_file *file; /* of the others: the range in the file's own addresses */
	uint64_t low, high;
	struct dt_point *point; /* of a tracepoint that is not at a function's site; the file's */
	struct dt_kernel_range *kernel; /* it is the kernel's, and nothing of a process */
};

/* What the hook of a sled records as pc. */
uint64_t dt_ranges_site_pc(const struct dt_elf_site *s);
/* The file can have points: its code has been looked at. One whose functions have no sleds has
 * sites from then on. */
int dt_ranges_read_code(struct dt_file *f, struct dt_error *e);
bool dt_ranges_is_everything(const char *pattern);
/* What a file is called, with the links that patterns name it by. */
const char *dt_ranges_called(struct dt_file *f, const struct dt_selection *select);
/* Calls fn for every site of f that r means. */
int dt_ranges_each_site(struct dt_file *f, struct dt_range *r,
			void (*fn)(void *ctx, struct dt_file *f, size_t site,
				   const struct dt_range *r),
			void *ctx, struct dt_error *e);
void dt_ranges_count_site(struct dt_file *f, size_t site, int add);
void dt_ranges_want(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r);
void dt_ranges_want_no_more(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r);
void dt_ranges_mask_file(struct dt_session *s, struct dt_file *f);
/* The DWARF index is built now, while nobody waits for a record to be taken. */
void dt_ranges_warm(struct dt_symtab *t);
/* Does a file that has no sites of its own have functions in this range? Then it gets probes. */
bool dt_ranges_may_probe(struct dt_session *s, const struct dt_range *r, struct dt_file *f);
int dt_ranges_note_file(struct dt_session *s, struct dt_file *f, struct dt_error *e);
/* Calls fn for every point of f that r means. */
int dt_ranges_each_point(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e);
int dt_ranges_want_point(void *ctx, struct dt_point *point, const struct dt_range *r,
			 struct dt_error *e);

#endif
