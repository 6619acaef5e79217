/* SPDX-License-Identifier: MIT */
/*
 * The map of an ELF file's code (symbols/code.h), when a separate process makes it: the one that
 * reads the file's symbols. The tables of numbers that come back are checked here, so that code
 * which uses them stays within each table. Their contents can still be wrong in any way that the
 * maker of the file likes.
 */
#ifndef DT_SYMBOLS_CODE_APART_H
#define DT_SYMBOLS_CODE_APART_H

#include "symbols/code.h"
#include "symbols/symtab-question.h"

/* The side that answers: makes the map of the open file, and the answer of it, or of an error. */
struct dt_told dt_code_told(int file, const char *path, const struct dt_symtab *t);

#endif
