/* SPDX-License-Identifier: MIT */
/*
 * The map of an ELF file's code (symbols/code.h), made by the process apart that reads its symbols:
 * tables of numbers, which are checked here, so that whoever goes on with them finds no table's end
 * but where it is said to be. What they say can be wrong, as whoever made the file likes.
 */
#ifndef DT_SYMBOLS_CODE_APART_H
#define DT_SYMBOLS_CODE_APART_H

#include "symbols/code.h"

/* The process's side: tells the map on the channel. */
bool dt_code_apart_tell(int channel, int file, const char *path, const struct dt_symtab *t);

#endif
