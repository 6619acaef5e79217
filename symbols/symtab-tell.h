/* SPDX-License-Identifier: MIT */
/*
 * The separate process that reads a file's symbols, debug information and code: the side that
 * answers.
 */
#ifndef DT_SYMBOLS_SYMTAB_TELL_H
#define DT_SYMBOLS_SYMTAB_TELL_H

#include "process/apart.h"
#include "symbols/symtab-question.h"
#include "symbols/symtab.h"

/* Answers the questions of symtab-question.h about one file until the channel is closed. */
dt_apart_serve dt_symtab_tell;
/* Answers one such question about a file that is open in this process. */
struct dt_told dt_symtab_told(struct dt_symtab *t, const struct dt_apart_ask *a, const char *more);

#endif
