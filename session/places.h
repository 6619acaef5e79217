/* SPDX-License-Identifier: MIT */
/* Addresses and names in a session's processes. With the session's lock, but where said. */
#ifndef DT_SESSION_PLACES_H
#define DT_SESSION_PLACES_H

#include "core/device.h"
#include "session/state.h"

/* The process that addresses are read in: the one that has been there longest. NULL: none. */
struct dt_target *dt_places_reference(struct dt_session *s);

/* NAME, MODULE:NAME or FILE:LINE, as dt_device_ops.place: 1, 0, or -1 with an error. */
int dt_places_find(struct dt_session *s, const char *text, struct dt_place *place,
		   struct dt_error *e);

/* What short addresses are added to, and the highest there is. */
void dt_places_text(struct dt_session *s, uint64_t *base, uint64_t *end);

/*
 * "luaH_getint", or hexadecimal: what contains pc in the thread's process; with offset
 * "luaH_getint+1c". Without the lock.
 */
void dt_place_name(struct dt_session *s, uint32_t tid, uint64_t pc, bool offset, char *out,
		   size_t size);

/* Makes the pcs of records that lie in trampolines those of the instructions they are of. */
void dt_place_translate(struct dt_session *s, struct dt_record *r, size_t n);

/* Calls fn for functions whose names begin with prefix, up to max of them. Without the lock. */
void dt_place_symbols(struct dt_session *s, const char *prefix, size_t max,
		      void (*fn)(void *ctx, const char *name), void *ctx);

/*
 * What a point's record is of, from its pc in the log: a line with its name, then "label:type" for
 * each value it captures, with commas. false: it is of no point.
 */
bool dt_place_point(struct dt_session *s, uint64_t pc, char *out, size_t size);

#endif
