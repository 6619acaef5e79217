/* SPDX-License-Identifier: MIT */
/* The rows of modules in the trace file. All functions are called with the session's lock. */
#ifndef DT_SESSION_MODULE_ROWS_H
#define DT_SESSION_MODULE_ROWS_H

#include "session/state.h"

/* Writes the row of a module of t, if it has none yet, and the session a file. */
void dt_module_note(struct dt_session *s, const struct dt_target *t, struct dt_module *m);
/* Writes since when all that is chosen of it is recorded, once that is so, and it has a row. */
void dt_module_note_complete(struct dt_session *s, struct dt_module *m);

#endif
