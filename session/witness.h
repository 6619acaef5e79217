/* SPDX-License-Identifier: MIT */
/*
 * The witness looks at threads while they wait, and notes in the trace file what for (table waited,
 * process/blocked.h). It learns from the context switches who waits; a wait that is over before
 * the recorder has come to it is not looked at. It looks in a thread of its own: what it reads of
 * /proc and of a process's memory may not answer, because a file system behind it does not, and the
 * recorder must not wait for that. All functions are called by the recorder thread.
 */
#ifndef DT_SESSION_WITNESS_H
#define DT_SESSION_WITNESS_H

#include "core/record.h"
#include "session/state.h"

struct dt_witness;

/* Makes the witness of a session that writes a file; NULL: there is no memory, or no thread. */
struct dt_witness *dt_witness_new(struct dt_session *s);
/* Ends it, without the session's lock. If it hangs in a look, that is noted in the session's
 * results. */
void dt_witness_free(struct dt_witness *w);

/* Takes notice of context switches among these records. */
void dt_witness_records(struct dt_witness *w, const struct dt_record *r, size_t n);

/* Returns after how many milliseconds at most it wants to hear of switches again. */
int dt_witness_patience(struct dt_witness *w);

#endif
