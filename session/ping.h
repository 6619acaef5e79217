/* SPDX-License-Identifier: MIT */
/*
 * Exchanges with another machine's session, for bringing the two clocks together afterwards
 * (align/align.h): one asks, the other answers, and each notes in its own trace when, by its own
 * counter, it sent and received. Of five exchanges in a row, ten times a second, the quickest is
 * kept by both. Packets carry a word that both know; others are not answered.
 */
#ifndef DT_SESSION_PING_H
#define DT_SESSION_PING_H

#include "core/error.h"
#include "store/store.h"

#define DT_PING_WORD "DEVTRACE_PING_WORD" /* the variable that has the word; up to 32 bytes */

struct dt_ping;

/* Starts a thread that asks, or answers, at ADDRESS:PORT ([ADDRESS]:PORT, *:PORT). Who asks may
 * have several addresses of the same machine, with commas between: one that answers is found. Who
 * answers may have fd:N, a bound socket. word: what both know; NULL is refused as any that is too
 * short. NULL: *e says why not. */
struct dt_ping *dt_ping_start(const char *address, const char *word, bool answers,
			      struct dt_error *e);
/* Stores what has been noted since the last time. With the session's lock. */
void dt_ping_store(struct dt_ping *p, struct dt_store *to);
/* Ends the thread; p may be NULL, and may still be stored and freed. */
void dt_ping_stop(struct dt_ping *p);
/* Returns how many exchanges were kept. */
uint64_t dt_ping_kept(const struct dt_ping *p);
void dt_ping_free(struct dt_ping *p);

#endif
