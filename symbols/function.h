/* SPDX-License-Identifier: MIT */
/* A function and a variable of an ELF file, as its symbols give them. */
#ifndef DT_SYMBOLS_FUNCTION_H
#define DT_SYMBOLS_FUNCTION_H

#include "core/types.h"

/*
 * A function. Its signature is text as in doc/format.md, "" if it is not known; core/signature.h
 * reads it. A result that is an integer or pointer is in place 0, one of 16 bytes in 0+1, float and
 * double in 2; aggregates may also be in 0+2 and 2+0 (one half in each kind of register) and 2+3 (a
 * 16-byte vector).
 */
struct dt_function {
	uint64_t address; /* the file's virtual address */
	uint64_t size;
	/* all names are owned by the symtab. Demangled names have no parameters: "ns::f" */
	const char *name;    /* demangled and shortened (shorten.h) */
	const char *full;    /* demangled; the same pointer as name if nothing is shortened */
	const char *linkage; /* the name in the symbol table */
	bool label; /* a name inside a function in assembler code: perhaps jumped to, never called
		     */
	bool start; /* it is _start or main of a file that has no symbol for it: elf/start.h. A size
		       of 1: it is not known */
	bool go;    /* it is named by Go's own table: elf/go-names.h */
};

/* A variable. */
struct dt_object {
	uint64_t address, size;
	const char *name; /* demangled */
};

#endif
