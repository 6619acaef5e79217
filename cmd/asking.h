/* SPDX-License-Identifier: MIT */
/* Questions in SQL that the time line's page asks about its trace: one at a time, in a thread of
 * its own, with limits. They only read: nothing but the trace's own tables, and nothing is made. */
#ifndef DT_CMD_ASKING_H
#define DT_CMD_ASKING_H

#include "view/view.h"

struct dt_asking;

/* path must stay valid. NULL: out of memory. */
struct dt_asking *dt_asking_new(const char *path);
/* Ends a question that is being answered; a may be NULL. */
void dt_asking_free(struct dt_asking *a);
/* Returns the functions for dt_view_use_sql(). */
struct dt_view_sql dt_asking_view(struct dt_asking *a);

#endif
