/* SPDX-License-Identifier: MIT */
/*
 * Ranges of the device become sites: every site of a file counts by how many ranges it is wanted.
 * And, for the slow path of sessions that look at each event, entries of each process's table.
 * With the session's lock.
 */
#ifndef DT_SESSION_RANGES_H
#define DT_SESSION_RANGES_H

#include "session/state.h"

/* As dt_device_ops.check and .forget: what the range means, kept in range->host. */
int dt_ranges_check(struct dt_session *s, struct dt_range *r, struct dt_error *e);
void dt_ranges_forget(struct dt_range *r);

/* Counts the sites of a range that has been switched on or off. */
int dt_ranges_switch(struct dt_session *s, struct dt_range *r, struct dt_error *e);

/* Is it the kernel's? Such a point that is on is r from here on, and was `before'. */
bool dt_ranges_kernel(const struct dt_range *r);
/* Has any site gone off since this was asked last? */
bool dt_ranges_went_off(struct dt_session *s);
int dt_ranges_kernel_change(const struct dt_range *before, const struct dt_range *r,
			    struct dt_error *e);

/* Events follow the device's masks of subsystems. */
void dt_ranges_masks(struct dt_session *s);

/* Every site is wanted once more, or no longer. */
void dt_ranges_uniform(struct dt_session *s, bool uniform);

/* What is on of a file that is new: dt_choose_fn, with the session. */
int dt_ranges_choose(void *session, struct dt_file *f, struct dt_error *e);

/* Writes the table of one process. */
int dt_ranges_table(struct dt_session *s, struct dt_target *t, struct dt_error *e);

/* The only file a range has sites in, and where; NULL: it may have some in any. */
const struct dt_file *dt_ranges_file(const struct dt_range *r, uint64_t *low, uint64_t *high);

/* How many functions each pattern of a set has matched. */
void dt_ranges_hits(const struct dt_range *r, struct dt_selection *select);

/* Why nothing of a name or an address is hooked, where that can not be; NULL: something is, or
 * could be. */
const char *dt_ranges_unhooked(struct dt_session *s, struct dt_range *r);

/* How many functions the patterns of a set have matched; missing: the arguments that were asked for
 * and that none of these has, with commas between. */
uint64_t dt_ranges_matched(const struct dt_range *r, char *missing, size_t size);

/* Could a tracepoint be planted that is on? -1 and the reason: not in every process. */
int dt_ranges_planted(struct dt_session *s, const struct dt_range *r, struct dt_error *e);

#endif
