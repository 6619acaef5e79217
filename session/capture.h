/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint captures: from the words of the device language (doc/language.md) to items that
 * are compiled into its trampoline (arch/x86_64/capture.h).
 */
#ifndef DT_SESSION_CAPTURE_H
#define DT_SESSION_CAPTURE_H

#include "hook/target.h"

struct dt_session;

/*
 * Fills in the items of p, whose site says where it is in m's file, by what the words say: "REG rax
 * VALUE 'p->next'". -1 and the reason: p has none.
 */
int dt_capture_parse(struct dt_session *s, const struct dt_module *m, const char *words,
		     struct dt_point *p, struct dt_error *e);

/* The same of a USDT probe's arguments; those that are not understood are shown as unreadable. */
int dt_capture_usdt(const struct dt_file *f, const char *arguments, struct dt_point *p,
		    struct dt_error *e);

#endif
