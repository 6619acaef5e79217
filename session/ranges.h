/* SPDX-License-Identifier: MIT */
/*
 * Turns the device's ranges into sites that are switched: each site of a file counts how many
 * ranges want it. For sessions whose slow path looks at each event, it also makes the table of each
 * process. All functions are called with the session's lock; those that return int give 0, or -1
 * and an error.
 */
#ifndef DT_SESSION_RANGES_H
#define DT_SESSION_RANGES_H

#include "session/state.h"

/* Find out what a range means and keep it in range->host; forget that. As dt_device_ops.check,
 * .forget. */
int dt_ranges_check(struct dt_session *s, struct dt_range *r, struct dt_error *e);
void dt_ranges_forget(struct dt_range *r);

/* Adds a range that has been switched on (r->on) to the counts of its sites, or takes one off. */
int dt_ranges_switch(struct dt_session *s, struct dt_range *r, struct dt_error *e);

/* Tells whether a range is in the kernel. */
bool dt_ranges_kernel(const struct dt_range *r);
/* Tells whether any site has been switched off since the last call. */
bool dt_ranges_went_off(struct dt_session *s);
/* Puts the kernel's tracepoint r in the place of `before', which is on. */
int dt_ranges_kernel_change(const struct dt_range *before, const struct dt_range *r,
			    struct dt_error *e);

/* Switches the events of all files by the device's masks of subsystems. */
void dt_ranges_masks(struct dt_session *s);

/* Has every site of every file wanted once more, or takes that back. */
void dt_ranges_uniform(struct dt_session *s, bool uniform);

/* Chooses the sites and points of a new file by the ranges that are on. A dt_choose_fn, whose
 * context is the session. */
int dt_ranges_choose(void *session, struct dt_file *f, struct dt_error *e);

/* Says whether the function at an address of the file may be recorded by those ranges that want it.
 * Returns how many sites it has. */
size_t dt_ranges_mask_function(struct dt_file *f, uint64_t function, bool off);

/* Writes into one process the table in which its slow path looks events up. */
int dt_ranges_table(struct dt_session *s, struct dt_target *t, struct dt_error *e);

/* Returns the only file in which a range has sites, and between which addresses; NULL: it may have
 * some in any file. */
const struct dt_file *dt_ranges_file(const struct dt_range *r, uint64_t *low, uint64_t *high);

/* Looks whether a set that means all that a module imports means a function of that name, which
 * that module imports. */
bool dt_ranges_import(struct dt_session *s, const char *name);
/* Looks whether a set means what a file imports, and the file's code is too large to be read for
 * the jumps by which functions end that a library has called. */
bool dt_ranges_unread(struct dt_session *s, struct dt_file *f);

/* Fills in how many functions each pattern of a set has matched. */
void dt_ranges_hits(const struct dt_range *r, struct dt_selection *select);

/* Returns why nothing of a range of one name or address can be hooked; NULL: something is hooked or
 * could be, or the range may mean many functions. */
const char *dt_ranges_unhooked(struct dt_session *s, struct dt_range *r);

/* Returns how many functions the patterns of a set have matched; writes to `missing' those of its
 * arguments that none of these functions has, with commas between. */
uint64_t dt_ranges_matched(const struct dt_range *r, char *missing, size_t size);

/* Looks whether a tracepoint that is on could be planted in every process: 0, or -1 and the reason
 * why not. */
int dt_ranges_planted(struct dt_session *s, const struct dt_range *r, struct dt_error *e);

#endif
