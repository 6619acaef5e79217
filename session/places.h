/* SPDX-License-Identifier: MIT */
/* Addresses and names in a session's processes. With the session's lock, but where said. */
#ifndef DT_SESSION_PLACES_H
#define DT_SESSION_PLACES_H

#include "core/device.h"
#include "session/session.h"

/* The process that addresses are read in: the one that has been there longest. NULL: none. */
struct dt_target *dt_places_reference(struct dt_session *s);

/* NAME, MODULE:NAME or FILE:LINE, as dt_device_ops.place: 1, 0, or -1 with an error. */
int dt_places_find(struct dt_session *s, const char *text, struct dt_place *place,
		   struct dt_error *e);

/* What short addresses are added to, and the highest there is. */
void dt_places_text(struct dt_session *s, uint64_t *base, uint64_t *end);

/* The function that contains pc, or pc in hexadecimal. Without the lock. */
void dt_session_name(struct dt_session *s, uint32_t tid, uint64_t pc, char *out, size_t size);

#endif
