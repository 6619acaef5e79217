/* SPDX-License-Identifier: MIT */
/* What a tracepoint captures: turns the words of the device language (doc/language.md) into the
 * items that are compiled into its trampoline (arch/capture.h). */
#ifndef DT_SESSION_CAPTURE_H
#define DT_SESSION_CAPTURE_H

#include "hook/target.h"

struct dt_session;

/* Fills in the items of p by what `words' say, such as "REG rax VALUE 'p->next'". p->site gives the
 * address in the file of m. Returns 0, or -1 and an error; the caller then releases p. */
int dt_capture_parse(struct dt_session *s, const struct dt_module *m, const char *words,
		     struct dt_point *p, struct dt_error *e);

/* Fills in the items of p by the argument descriptions of a USDT probe. Arguments that are not
 * understood are shown as unreadable. Returns 0, or -1 and an error. */
int dt_capture_usdt(const struct dt_file *f, const char *arguments, struct dt_point *p,
		    struct dt_error *e);

#endif
