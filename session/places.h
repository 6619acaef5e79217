/* SPDX-License-Identifier: MIT */
/* Addresses and names in a session's processes. Functions are called with the session's lock unless
 * their comment says otherwise. */
#ifndef DT_SESSION_PLACES_H
#define DT_SESSION_PLACES_H

#include "core/device.h"
#include "session/state.h"

/* Returns the process in which addresses of commands are meant: the oldest that has not ended.
 * NULL: there is none. */
struct dt_target *dt_places_reference(struct dt_session *s);

/* Finds the place that NAME, MODULE:NAME or FILE:LINE means. Returns as dt_device_ops.place does:
 * 1; 0 when nothing is called so; -1 and an error. */
int dt_places_find(struct dt_session *s, const char *text, struct dt_place *place,
		   struct dt_error *e);

/* Tells what short addresses are added to, and the highest address that is allowed. */
void dt_places_text(struct dt_session *s, uint64_t *base, uint64_t *end);

/* Writes the name of the function that contains pc in any of the processes, such as "luaH_getint",
 * with offset "luaH_getint+1c"; else pc in hexadecimal. tid is not used. Without the lock. */
void dt_place_name(struct dt_session *s, uint32_t tid, uint64_t pc, bool offset, char *out,
		   size_t size);

/* Replaces the pcs of records that lie in trampolines by the addresses of the instructions that the
 * records are of. */
void dt_place_translate(struct dt_session *s, struct dt_record *r, size_t n);

/* Calls fn with the names of up to max functions that begin with prefix. Without the lock. */
void dt_place_symbols(struct dt_session *s, const char *prefix, size_t max,
		      void (*fn)(void *ctx, const char *name), void *ctx);

/*
 * Describes the point that a record is of, by the record's pc in the log: writes a line with the
 * point's name, then "label:type" for each value that it captures, with commas between. False: the
 * pc is of no point. Without the lock.
 */
bool dt_place_point(struct dt_session *s, uint64_t pc, char *out, size_t size);

#endif
