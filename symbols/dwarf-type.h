/* SPDX-License-Identifier: MIT */
/*
 * How a value of a DWARF type is passed: the classes of the System V x86-64 calling convention,
 * and the type letter of a signature (symbols/symtab.h).
 */
#ifndef DT_SYMBOLS_DWARF_TYPE_H
#define DT_SYMBOLS_DWARF_TYPE_H

#include <elfutils/libdw.h>
#include "core/types.h"

enum dt_class {
	DT_CLASS_NONE, /* nothing is passed (empty class) */
	DT_CLASS_INTEGER,
	DT_CLASS_SSE,
	DT_CLASS_SSEUP, /* upper half of the same vector register */
	DT_CLASS_X87,
	DT_CLASS_X87UP,
	DT_CLASS_MEMORY,
	DT_CLASS_UNKNOWN, /* not certain how it is passed */
};

struct dt_type {
	char text[4];		/* letter and size: "i4"; "v" for void */
	bool is_unsigned;	/* an enumeration whose numbers have no sign */
	enum dt_class class[2]; /* of its eight-byte pieces; [0] MEMORY or UNKNOWN: of the whole */
	bool wide;		/* more than 16 bytes in one vector register */
	bool reference;		/* in memory, its address in an integer register (C++) */
	Dwarf_Die die;		/* behind typedefs; addr NULL: void, or not known */
};

/* The type that DW_AT_type of die means, behind typedefs and qualifiers. 0; 1: void; -1: damaged.
 */
int dt_type_peel(Dwarf_Die *die, Dwarf_Die *type);

/* die: the subprogram or parameter whose DW_AT_type is meant. language: of its unit. */
void dt_type_of(Dwarf_Die *die, int language, struct dt_type *t);

/* In bytes; -1: not known. */
int64_t dt_type_size(const struct dt_type *t);

/*
 * What a number in a signature leads to: an enumeration, or an aggregate that fits in registers. 0:
 * it is neither. The same as long as the file is open.
 */
#define DT_KEY_FORMAT "#%08llx" /* wide enough that a row's number can stand there instead */
uint64_t dt_type_key(Dwarf *dwarf, const struct dt_type *t);

/* As described signatures have it, "e4#000002fa": a number without a name is shown by the letter,
 * so of an enumeration without sign that is u. dwarf NULL: only letter and size. */
struct text;
void dt_type_put(struct text *t, Dwarf *dwarf, const struct dt_type *type);

/* The description that symbols/symtab.h has of such a type; false: there is none that fits. */
bool dt_type_describe(Dwarf *dwarf, uint64_t key, char *buf, size_t size);

#endif
