/* SPDX-License-Identifier: MIT */
/*
 * How a value of a DWARF type is passed: the classes of the System V x86-64 calling convention,
 * and the type letter of a signature (symbols/symtab.h).
 */
#ifndef DT_SYMBOLS_DWARF_TYPE_H
#define DT_SYMBOLS_DWARF_TYPE_H

#include <elfutils/libdw.h>
#include "core/types.h"

/* The class of eight bytes of a value. */
enum dt_class {
	DT_CLASS_NONE, /* nothing is passed (empty class) */
	DT_CLASS_INTEGER,
	DT_CLASS_SSE,
	DT_CLASS_SSEUP, /* upper half of the same vector register */
	DT_CLASS_X87,
	DT_CLASS_X87UP,
	DT_CLASS_MEMORY,
	DT_CLASS_UNKNOWN, /* it is not certain how the value is passed */
};

/* A type, and how its values are passed. */
struct dt_type {
	char text[4];		/* letter and size: "i4"; "v" for void */
	bool is_unsigned;	/* an enumeration of unsigned numbers */
	enum dt_class class[2]; /* of its two eight-byte pieces; MEMORY or UNKNOWN in [0] is of the
				   whole value */
	bool wide;		/* more than 16 bytes in one vector register */
	bool reference; /* passed in memory, with its address in an integer register (C++) */
	Dwarf_Die die;	/* the type without typedefs; addr NULL: void, or not known */
};

/* Finds the type that DW_AT_type of die means, without typedefs and qualifiers. Returns 0, 1 for
 * void, -1 if the DWARF is damaged. */
int dt_type_peel(Dwarf_Die *die, Dwarf_Die *type);

/* Fills in *t from DW_AT_type of die, a subprogram or parameter. language: that of its unit. */
void dt_type_of(Dwarf_Die *die, int language, struct dt_type *t);

/* Returns the size in bytes; -1 if it is not known. */
int64_t dt_type_size(const struct dt_type *t);

/*
 * Returns the key of a type: the number in a signature that stands for an enumeration, or for an
 * aggregate that fits into registers. Returns 0 for any other type. A type's key is the same as
 * long as the file is open.
 */
#define DT_KEY_FORMAT "#%08llx" /* wide enough that the number of a row fits in its place */
uint64_t dt_type_key(Dwarf *dwarf, const struct dt_type *t);

/* Writes the type as in a described signature, "e4#000002fa". A number that is none of the
 * enumerators is shown as the letter says, so an unsigned enumeration gets the letter u. If dwarf
 * is NULL, only letter and size are written. */
struct text;
void dt_type_put(struct text *t, Dwarf *dwarf, const struct dt_type *type);

/*
 * Writes the description of the type with that key, as dt_symtab_type() gives it. Returns false if
 * there is none that fits into buf.
 */
bool dt_type_describe(Dwarf *dwarf, uint64_t key, char *buf, size_t size);

#endif
