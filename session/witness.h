/* SPDX-License-Identifier: MIT */
/*
 * The witness looks at threads while they wait, and notes in the trace file what for (table waited,
 * process/blocked.h). It learns from the context switches who waits; a wait that is over before
 * the recorder has come to it is not looked at. All functions are called by the recorder thread.
 */
#ifndef DT_SESSION_WITNESS_H
#define DT_SESSION_WITNESS_H

#include "core/record.h"
#include "session/state.h"

struct dt_witness;

/* Makes the witness of a session that writes a file; NULL: there is no memory. */
struct dt_witness *dt_witness_new(struct dt_session *s);
void dt_witness_free(struct dt_witness *w);

/* Takes notice of context switches among these records. */
void dt_witness_records(struct dt_witness *w, const struct dt_record *r, size_t n);

/* Looks at those who wait. Takes the session's lock to write; returns -1 and an error if the file
 * can not be written. */
int dt_witness_look(struct dt_witness *w, struct dt_error *e);

/* Returns after how many milliseconds at most it wants to look again. */
int dt_witness_patience(const struct dt_witness *w);

#endif
