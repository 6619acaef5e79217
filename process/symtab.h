/* SPDX-License-Identifier: MIT */
/*
 * Symbols of one ELF file: functions with sizes, sources and signatures, read by elfutils from the
 * file and from its separate debug file when there is one. Addresses are the file's own virtual
 * addresses; add the load bias for run-time ones.
 */
#ifndef DT_PROCESS_SYMTAB_H
#define DT_PROCESS_SYMTAB_H

#include "core/error.h"

/*
 * A signature: "name:type@place,...;type@place": parameters, ';', return value. "" when not known.
 * A name may be empty.
 * type: i1 i2 i4 i8 i16 (signed), u1 u2 u4 u8 u16, b (bool), c (char), p (pointer),
 *       s (pointer to char), f4 f8 f10, e4 (enum, by size), v (void, return value only), a (aggregate or anything else).
 * place: 0-3 index into dt_record.value of the E (parameters) or X (return) record;
 *        "0+1" a value in two registers (128 bits); - not captured.
 *        Returns: integers and pointers 0, 16-byte ones 0+1, float and double 2; aggregates also
 *        0+2 and 2+0 (one half in each kind of register) and 2+3 (a 16-byte vector).
 * A variadic function ends its parameters with "...:a@-".
 */
struct dt_function {
	uint64_t address; /* in the file */
	uint64_t size;
	const char *name;    /* demangled, with parameters cut off: "ns::f" ; owned by the symtab */
	const char *linkage; /* as in the symbol table */
	bool label; /* a name inside a function, of assembler code: jumped to perhaps, never called */
};

struct dt_symtab;

/*
 * Opens an ELF file by path. debug_dirs may be NULL (the default: /usr/lib/debug). An executable
 * without any symbol is no error: it has no functions. Works on Debian's stripped binaries with
 * -dbgsym packages (build-id and debuglink), and takes .dynsym when there is nothing better.
 */
struct dt_symtab *dt_symtab_open(const char *path, const char *debug_dirs, struct dt_error *e);
void dt_symtab_close(struct dt_symtab *t);

/* All functions, sorted by address; one per address (the best name: global before local). */
const struct dt_function *dt_symtab_functions(const struct dt_symtab *t, size_t *n);

/* The function that contains address, or NULL. O(log n). */
const struct dt_function *dt_symtab_find(const struct dt_symtab *t, uint64_t address);

/* Source position of an address; false when not known. *file is owned by the symtab. */
bool dt_symtab_line(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line);

/* The first instruction of a line of a source file: by its name, or the end of its path, `length'
 * bytes; when the line has no code, that of the next one that has. */
bool dt_symtab_address(struct dt_symtab *t, const char *file, size_t length, unsigned line,
		       uint64_t *address);

/* The signature as text in buf; "" when there is no DWARF for it. Read lazily: no whole-file scan
 * before it is asked for the first time, and then indexed so that each further one is cheap. */
void dt_symtab_signature(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);

/*
 * The same, where the types that are more than a letter and a size have a number of at least eight
 * hexadecimal digits: "e4#000002fa", "a#00000031@0+1".
 * dt_symtab_type() tells what it means:
 *	e:NAME;RED=3,BLUE=-5		an enumeration
 *	a:NAME;x:i4@0,flag:u4@32/1,in:a#000002e0@64
 *					an aggregate of up to 16 bytes: each member's name (empty for
 *					what has none, and for elements of arrays), type, and place in
 *					bits; "/1": it has so many bits
 */
void dt_symtab_described(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);
bool dt_symtab_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size);

/*
 * The described signature with the places that parameters have at the entry, whether a record holds
 * them or not: 0 to 5 the integer registers in their order, "x0" to "x7" the vector registers, "m8" in
 * memory, 8 bytes above the stack pointer; "1+x0" in two pieces of 8 bytes; "-" not known.
 */
void dt_symtab_places(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);

/* The variable that contains an address, and its name, owned by the symtab; NULL: none that says how
 * large it is. O(log n); the first call reads them all. */
struct dt_object {
	uint64_t address, size;
	const char *name; /* demangled */
};
const struct dt_object *dt_symtab_object(struct dt_symtab *t, uint64_t address);

/* Build id in lower-case hex, "" when none. */
const char *dt_symtab_build_id(const struct dt_symtab *t);

/* Calls fn for every alternative name (alias) of every function: for pattern matching. */
void dt_symtab_aliases(const struct dt_symtab *t,
		       void (*fn)(void *ctx, uint64_t address, const char *name), void *ctx);

#endif
