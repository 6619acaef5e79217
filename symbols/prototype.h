/* SPDX-License-Identifier: MIT */
/*
 * Signatures of functions of well-known libraries: for files without debug information, and because
 * they say what debug information does not, namely which results are failures and which constants a
 * number stands for. They are true only of the libraries' own files: elsewhere a function of such a
 * name may be anything.
 */
#ifndef DT_SYMBOLS_PROTOTYPE_H
#define DT_SYMBOLS_PROTOTYPE_H

#include "core/types.h"

/* Is it, by its name, the file of a library whose prototypes are known? */
bool dt_prototype_file(const char *path);

/*
 * Writes the signature of a function of the file to buf, as dt_symtab_described() or, if places, as
 * dt_symtab_places(); "" if it is not known.
 */
void dt_prototype(const char *path, const char *name, bool places, char *buf, size_t size);

/*
 * Can a prototype stand in place of a signature from debug information? It can if both have the
 * same values in the same places; a prototype may name arguments that debug information only calls
 * "...". Both signatures have to be of the same form.
 */
bool dt_prototype_fits(const char *prototype, const char *signature);

/*
 * Types in these signatures have keys, as those of dt_symtab_described() have, but other ones,
 * which dt_prototype_is_type() knows. dt_prototype_type() writes what such a key stands for, in the
 * form of a row of the table `type', and returns false if the key is none or it does not fit.
 */
bool dt_prototype_is_type(uint64_t key);
bool dt_prototype_type(uint64_t key, char *buf, size_t size);

/*
 * Writes the signature of the kernel's system call of that name, such as "read"; "" if it is not
 * known.
 */
void dt_prototype_call(const char *name, char *buf, size_t size);

#endif
