/* SPDX-License-Identifier: MIT */
/*
 * Symbols of one ELF file: functions with sizes, sources and signatures, read by elfutils from the
 * file and, if there is one, from its separate debug file. Addresses are the file's own virtual
 * addresses; add the load bias for run-time ones.
 */
#ifndef DT_SYMBOLS_SYMTAB_H
#define DT_SYMBOLS_SYMTAB_H

#include "core/error.h"
#include "symbols/function.h"

struct dt_symtab;

/*
 * Opens an ELF file by path. debug_dirs may be NULL (the default: /usr/lib/debug). Returns NULL and
 * an error if that fails. An executable without any symbol is no error: it has no functions. Works
 * on Debian's stripped binaries with -dbgsym packages (build-id and debuglink), on Fedora's with
 * .gnu_debugdata (elf/mini.h), on stripped programs of Go (elf/go-names.h), and uses .dynsym if
 * there is nothing better.
 */
struct dt_symtab *dt_symtab_open(const char *path, const char *debug_dirs, struct dt_error *e);
/* As dt_symtab_open(), for an open file, which is closed with the symtab. path: its name; debug
 * files beside it are looked for there. */
struct dt_symtab *dt_symtab_open_file(int file, const char *path, const char *debug_dirs,
				      struct dt_error *e);
/* As dt_symtab_open(), for those who mostly ask for variables: functions are read when one is first
 * asked for, and a damaged file has none. NULL: it can not be opened. */
struct dt_symtab *dt_symtab_open_late(const char *path);
/* Frees the symtab and closes its files; NULL is allowed. */
void dt_symtab_close(struct dt_symtab *t);
/*
 * Is the file read by another process? That is so for every file opened while dt_symtab_opens is
 * set (symbols/symtab-apart.h).
 */
bool dt_symtab_is_apart(const struct dt_symtab *t);
extern struct dt_symtab *(*dt_symtab_opens)(const char *path, struct dt_error *e);
/*
 * The function that downloads the debug file of that build id, for the file at path (named: which
 * has names of its own); NULL: none does. It returns a descriptor of the debug file, which is in
 * debuginfod's cache then, or -1. See symbols/debuginfod.h.
 */
extern int (*dt_symtab_fetches)(const char *build_id, const char *path, bool named);

/*
 * Returns all functions, sorted by address, and their number in *n. There is one per address, with
 * the best name: global before local.
 */
const struct dt_function *dt_symtab_functions(const struct dt_symtab *t, size_t *n);

/* Returns the function that contains address, or NULL. O(log n). */
const struct dt_function *dt_symtab_find(const struct dt_symtab *t, uint64_t address);

/*
 * Finds the source position of an address; returns false if it is not known. The symtab owns *file.
 */
bool dt_symtab_line(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line);

/* Finds the first instruction of a line of the source file whose name, or end of path, is the
 * `length' bytes at file. If the line has no code, the next line that has some is taken. Returns
 * false if there is none. */
bool dt_symtab_address(struct dt_symtab *t, const char *file, size_t length, unsigned line,
		       uint64_t *address);

/* Writes the function's signature to buf; "" if there is no DWARF for it. DWARF is read lazily:
 * nothing before the first call, which makes an index, so that each further call is cheap. */
void dt_symtab_signature(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);

/*
 * Writes the described signature: types that are more than a letter and a size have a key of at
 * least eight hexadecimal digits: "e4#000002fa", "a#00000031@0+1". dt_symtab_type() writes what the
 * key stands for, in the form of a row of the table `type', and returns false if that is not known
 * or does not fit.
 */
void dt_symtab_described(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);
bool dt_symtab_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size);

/*
 * Writes the described signature with the places of the parameters at the entry, whether or not a
 * record holds them: 0 to 5 are the integer registers in their order, "x0" to "x7" the vector
 * registers, "m8" is in memory 8 bytes above the stack pointer; "1+x0" is in two pieces of 8 bytes;
 * "-" is not known.
 */
void dt_symtab_places(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);

/* Returns the variable that contains an address, owned by the symtab, or NULL; only variables with
 * a size are found. O(log n); the first call reads them all. */
const struct dt_object *dt_symtab_object(struct dt_symtab *t, uint64_t address);

/* Fills in how to unwind from the instruction at an address (elf/unwind.h). Returns 1; 0: the
 * unwind table does not have the address, or what it has is not understood; -1: the file has no
 * table. */
struct dt_unwind_row;
int dt_symtab_unwind(struct dt_symtab *t, uint64_t address, struct dt_unwind_row *row);

/* Returns the build id in lower-case hex, "" if there is none. */
const char *dt_symtab_build_id(const struct dt_symtab *t);

/* Calls fn for every alias of every function: for pattern matching. */
void dt_symtab_aliases(const struct dt_symtab *t,
		       void (*fn)(void *ctx, uint64_t address, const char *name), void *ctx);

/* Calls fn for the further names, as the linker has them, of the function that begins at an
 * address, until fn returns true. */
void dt_symtab_aliases_of(const struct dt_symtab *t, uint64_t address,
			  bool (*fn)(void *ctx, const char *linkage), void *ctx);

#endif
