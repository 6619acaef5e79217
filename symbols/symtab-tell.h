/* SPDX-License-Identifier: MIT */
/*
 * The separate process that reads a file's symbols, debug information and code: the side that
 * answers.
 */
#ifndef DT_SYMBOLS_SYMTAB_TELL_H
#define DT_SYMBOLS_SYMTAB_TELL_H

#include "process/apart.h"

/* Answers the questions of symtab-question.h about one file until the channel is closed. */
dt_apart_serve dt_symtab_tell;

#endif
