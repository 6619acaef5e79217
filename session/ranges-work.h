/* SPDX-License-Identifier: MIT */
/*
 * What the parts of ranges share, and nobody else uses: ranges.c, ranges-sites.c, ranges-points.c,
 * ranges-table.c. All functions are called with the session's lock; those that return int give 0,
 * or -1 and an error.
 */
#ifndef DT_SESSION_RANGES_WORK_H
#define DT_SESSION_RANGES_WORK_H

#include "session/ranges.h"
#include "session/kernel-ranges.h"

/*
 * Called for a point that range r means; a result other than 0 ends the iteration and is returned.
 */
typedef int point_fn(void *ctx, struct dt_point *point, const struct dt_range *r,
		     struct dt_error *e);

/* What the session keeps for a range, in range->host. */
struct place_of_range {
	struct dt_selection select; /* of a set: the patterns for programs */
	/* of a set: the patterns for libraries without sleds, which lack `everything': that means
	 * the program only */
	struct dt_selection libraries;
	/* of a set: the modules whose calls alone are recorded, of functions of other modules;
	 * `from' is the word after '^', "": the program; NULL: all calls are */
	char *from;
	struct dt_selection callers;  /* the pattern of that word */
	bool imports;		      /* every function that these modules import is meant */
	struct dt_across *across;     /* what that jumps to in other files; NULL: nothing yet */
	const struct dt_files *files; /* those of the session */
	char *arguments; /* of a set: the list after '@', such as "path:str,mode"; NULL: all
		    arguments */
	struct dt_stack_points *stacks; /* of a set: where calls end, stacks are copied; NULL: no.
					   The session's */
	uint64_t had;			/* bit i: some function has the i-th of these arguments */
	struct dt_file *file;		/* of others: the file; the range in its own addresses */
	uint64_t low, high;
	struct dt_point *point;		/* of a tracepoint not at a function's site; the file's */
	struct dt_kernel_range *kernel; /* not NULL: it is in the kernel, the rest is unused */
};

/* Returns the pc that the hook of a sled records, as an address in the file. */
uint64_t dt_ranges_site_pc(const struct dt_elf_site *s);
/* Reads the code of a file, so that it can have points. A file whose functions have no sleds has
 * sites from then on. */
int dt_ranges_read_code(struct dt_file *f, struct dt_error *e);
/* Tells whether a pattern means every function, as "*" and "*:*" do. */
bool dt_ranges_is_everything(const char *pattern);
/* Returns the names of a file, one a line, with those of links by which the patterns name it. */
const char *dt_ranges_called(struct dt_file *f, const struct dt_selection *select);
typedef void dt_ranges_site_fn(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r);
/* Calls fn for every site of f that r means, and counts the hits of r's patterns. */
int dt_ranges_each_site(struct dt_file *f, struct dt_range *r, dt_ranges_site_fn *fn, void *ctx,
			struct dt_error *e);
/* Adds to the number of ranges that want a site; it is chosen while that is not 0. */
void dt_ranges_count_site(struct dt_file *f, size_t site, int add);
/* These two are for dt_ranges_each_site(): one range more, or one less, wants the site. */
void dt_ranges_want(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r);
void dt_ranges_want_no_more(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r);
/* Switches the events of a file by the device's masks of subsystems. */
void dt_ranges_mask_file(struct dt_session *s, struct dt_file *f);
/*
 * Finds out which functions of a file a set means: chosen has an element for each function of the
 * file's symbol table tab. Counts the hits of the patterns. -1: no memory.
 */
int dt_ranges_chosen(struct dt_file *f, const struct dt_range *r, const struct dt_symtab *tab,
		     bool *chosen);
/* Marks the functions of the file that the callers of a range import. Returns how many; -1: no
 * memory. */
int64_t dt_ranges_imported(struct place_of_range *p, struct dt_file *f, const struct dt_symtab *tab,
			   bool *chosen);
/*
 * Calls fn for the exits of those functions that a chosen one, an element of chosen for each
 * function of tab, goes on in instead of returning, directly or by others: its result is known from
 * them. jumps: also where it jumps there, not only where its code runs into theirs.
 */
int dt_ranges_each_follower(struct dt_file *f, const struct dt_range *r,
			    const struct dt_symtab *tab, const bool *chosen, bool jumps,
			    dt_ranges_site_fn *fn, void *ctx, struct dt_error *e);
/* Marks in `next', by function of the code, those that the ones in `chosen' or `next' go on in. */
void dt_ranges_mark_followers(const struct dt_file *f, const bool *chosen, bool jumps, bool *next);
/* Calls fn for the exits of the functions that are marked. */
void dt_ranges_each_exit(struct dt_file *f, const struct dt_range *r, const bool *next,
			 dt_ranges_site_fn *fn, void *ctx);
/* Marks in `next' the functions of the file that other files jump to, as far as that is known. */
void dt_across_landings(struct place_of_range *p, const struct dt_file *f, bool *next);
/* Notes what is chosen of the file, and in what that goes on. */
void dt_across_reached(struct place_of_range *p, const struct dt_file *f, const bool *chosen,
		       const bool *next);
/* Returns the slot through which an exit leads to another file; 0: it does not, or it is not known.
 */
uint64_t dt_across_slot(const struct dt_code *c, const struct dt_exit *x);
/* Calls fn for the points at jumps of a caller's own functions to what it imports
 * (ranges-jumps.c). */
int dt_ranges_each_jump(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			struct dt_error *e);
/* Tells whether a set that means what callers import means the function that the file imports by
 * that name. */
bool dt_ranges_means_import(const struct dt_range *r, struct dt_file *f, const char *name);
/* Forgets all of it, once nothing of the range is wanted any more; NULL is allowed. */
void dt_across_free(struct dt_across *a);
/* Follows the jumps of what is chosen to other files, which may have come since: the exits there
 * are wanted from then on. */
int dt_ranges_follow_across(struct dt_session *s, struct dt_error *e);
/* Tells whether a set means only calls that a module makes, this file's among them. */
bool dt_ranges_calls_from(const struct dt_range *r, struct dt_file *f);
/* Tells whether the file is the vdso, and the range a set of patterns: these mean files. Calls of
 * libraries that go there are meant. */
bool dt_ranges_leaves_vdso(const struct dt_range *r, const struct dt_file *f);
/* Notes that ranges that are on want the calls that this file makes. The functions of other files
 * that they mean are found out anew. */
int dt_ranges_note_caller(struct dt_session *s, struct dt_file *f, struct dt_error *e);
/* Finds out which files are callers, after a range has come or gone. */
void dt_ranges_note_callers(struct dt_session *s);
/* Has the index of DWARF built now, while nobody waits for a record to be taken. */
void dt_ranges_warm(struct dt_symtab *t);
/* Tells whether a file without sites of its own has functions in this range, so that it needs
 * probes. */
bool dt_ranges_may_probe(struct dt_session *s, const struct dt_range *r, struct dt_file *f);
/* Allocates the tables of a file's sites when it has sites and no tables yet. */
int dt_ranges_note_file(struct dt_session *s, struct dt_file *f, struct dt_error *e);
/* Calls fn for every point of f that r means; makes points that do not exist yet. */
int dt_ranges_each_point(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e);
/* Calls fn for those of these points that copy the stack. */
int dt_ranges_each_stack(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e);
/*
 * For dt_ranges_each_point(): one range more wants the point when r is on, one less when it is off.
 */
int dt_ranges_want_point(void *ctx, struct dt_point *point, const struct dt_range *r,
			 struct dt_error *e);

#endif
