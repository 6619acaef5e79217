/* SPDX-License-Identifier: MIT */
/*
 * Symbols of one ELF file: functions with sizes, sources and signatures, read by elfutils from the
 * file and from its separate debug file when there is one. Addresses are the file's own virtual
 * addresses; add the load bias for run-time ones.
 */
#ifndef DT_SYMBOLS_SYMTAB_H
#define DT_SYMBOLS_SYMTAB_H

#include "core/error.h"
#include "symbols/function.h"

struct dt_symtab;

/*
 * Opens an ELF file by path. debug_dirs may be NULL (the default: /usr/lib/debug). An executable
 * without any symbol is no error: it has no functions. Works on Debian's stripped binaries with
 * -dbgsym packages (build-id and debuglink), and takes .dynsym when there is nothing better.
 */
struct dt_symtab *dt_symtab_open(const char *path, const char *debug_dirs, struct dt_error *e);
/* The same of a file that is open, and is closed with it. path: what it is called; what lies beside
 * it is looked for there. */
struct dt_symtab *dt_symtab_open_file(int file, const char *path, const char *debug_dirs,
				      struct dt_error *e);
void dt_symtab_close(struct dt_symtab *t);
/* Is it read by another process? Where dt_symtab_opens is set (symbols/symtab-apart.h) all are. */
bool dt_symtab_is_apart(const struct dt_symtab *t);
extern struct dt_symtab *(*dt_symtab_opens)(const char *path, struct dt_error *e);

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
 * dt_symtab_type() tells what it means, as a row of the table `type' does.
 */
void dt_symtab_described(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);
bool dt_symtab_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size);

/*
 * The described signature with the places that parameters have at the entry, whether a record holds
 * them or not: 0 to 5 the integer registers in their order, "x0" to "x7" the vector registers, "m8"
 * in memory, 8 bytes above the stack pointer; "1+x0" in two pieces of 8 bytes; "-" not known.
 */
void dt_symtab_places(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size);

/* The variable that contains an address, and its name, owned by the symtab; NULL: none that says
 * how large it is. O(log n); the first call reads them all. */
const struct dt_object *dt_symtab_object(struct dt_symtab *t, uint64_t address);

/* Build id in lower-case hex, "" when none. */
const char *dt_symtab_build_id(const struct dt_symtab *t);

/* Calls fn for every alternative name (alias) of every function: for pattern matching. */
void dt_symtab_aliases(const struct dt_symtab *t,
		       void (*fn)(void *ctx, uint64_t address, const char *name), void *ctx);

#endif
