/* SPDX-License-Identifier: MIT */
/*
 * Times in which a session records nothing because it was told not to: frozen by a command, a limit
 * or a trigger, or stopped. They go to its file as they end, with how many events came meanwhile.
 * All with the session's lock.
 */
#ifndef DT_SESSION_PAUSES_H
#define DT_SESSION_PAUSES_H

#include "core/ring.h"
#include "store/store.h"

struct dt_session;
struct dt_domain;

/* Of one domain. */
struct dt_pauses {
	uint64_t stopped; /* since when, ticks; 0: it is not. Of the first domain only: it is so of
			     all */
	uint64_t last;	  /* ticks of the last record taken from the shared ring */
	uint64_t all_told; /* ticks: all pauses that ended before have been told */
	uint64_t missed;  /* dt_control.missed when it went on last */
	uint32_t thaws;	  /* how many of dt_control.thaws have been told */
	uint64_t moment;  /* in which the last one ended; and how many have been told of it */
	unsigned singles;
	struct dt_pause many; /* of the same moment, to be told as one; times: 0: none */
};

/* The session begins, or is told to start or stop. */
void dt_pauses_start(struct dt_session *s, bool active);

/* n records have been taken from a domain's shared ring, none may be; pos: of the first. */
void dt_pauses_take(struct dt_session *s, struct dt_domain *d, const struct dt_record *r, size_t n,
		    uint64_t pos);

/* The session ends. Before its file is closed, with no record left in the rings. */
void dt_pauses_end(struct dt_session *s);

#endif
