/* SPDX-License-Identifier: MIT */
/*
 * What a function without a name is called: its file's name and its address in that file,
 * "ls+0x61d0", and what it passes on to, if it does nothing else: "ls+0x61d0->malloc". Trace files
 * of earlier versions have the address only, "0x61d0".
 */
#ifndef DT_SYMBOLS_NAMELESS_H
#define DT_SYMBOLS_NAMELESS_H

#include "core/types.h"

/* Bytes that such a name has at most: files' names have 255; what is passed on to is cut. */
#define DT_NAMELESS 640

/* Writes the name of the function at an address of the file path. passes: what it passes on to
 * (symbols/passes.h), or NULL. */
void dt_nameless(char *out, size_t size, const char *path, uint64_t address, const char *passes);

/* Returns the address in such a name of any form, and its length in *n: "0x61d0"; NULL: name is
 * another one. */
const char *dt_nameless_address(const char *name, size_t *n);

/*
 * Tells whether the functions of a program have no names: those that its symbols name are less than
 * a tenth of its code, and it has no sleds.
 */
bool dt_nameless_program(const char *path);

#endif
