/* SPDX-License-Identifier: MIT */
/* What the trace file is told of the whole session at its end. */
#ifndef DT_SESSION_ACCOUNT_H
#define DT_SESSION_ACCOUNT_H

#include "session/state.h"

/* Nobody records any more, and all records have been read; before the file is closed. */
void dt_account_write(struct dt_session *s);

#endif
