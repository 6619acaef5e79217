/* SPDX-License-Identifier: MIT */
/* A function, and a variable, of an ELF file, by its symbol. */
#ifndef DT_SYMBOLS_FUNCTION_H
#define DT_SYMBOLS_FUNCTION_H

#include "core/types.h"

/*
 * A signature, as doc/format.md has it, is "" when it is not known; core/signature.h reads it. Of a
 * result, integers and pointers are in place 0, those of 16 bytes in 0+1, float and double in 2;
 * aggregates also in 0+2 and 2+0 (one half in each kind of register) and 2+3 (a 16-byte vector).
 */
struct dt_function {
	uint64_t address; /* in the file */
	uint64_t size;
	const char *name;    /* demangled, with parameters cut off: "ns::f" ; owned by the symtab */
	const char *linkage; /* as in the symbol table */
	bool label; /* a name inside a function, of assembler code: jumped to perhaps, never called
		     */
};

struct dt_object {
	uint64_t address, size;
	const char *name; /* demangled */
};

#endif
