/* SPDX-License-Identifier: MIT */
/*
 * What a function without a name is called: its file's name and its address in that file,
 * "ls+0x61d0". Trace files of earlier versions have the address only, "0x61d0".
 */
#ifndef DT_SYMBOLS_NAMELESS_H
#define DT_SYMBOLS_NAMELESS_H

#include "core/types.h"

#define DT_NAMELESS 288 /* bytes that such a name has at most: files' names have 255 */

/* Writes the name of the function at an address of the file path. */
void dt_nameless(char *out, size_t size, const char *path, uint64_t address);

/* Returns the address, "0x61d0", at the end of such a name of either form; NULL: name is another
 * one. */
const char *dt_nameless_address(const char *name);

/*
 * Tells whether the functions of a program have no names: those that its symbols name are less than
 * a tenth of its code, and it has no sleds.
 */
bool dt_nameless_program(const char *path);

#endif
