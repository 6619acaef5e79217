/* SPDX-License-Identifier: MIT */
/* Names that only the resolver of an IFUNC has (elf/ifunc.h): which functions it may return is not
 * seen in its code, so that none of them is known by the name by which it is called. */
#ifndef DT_SESSION_UNRESOLVED_H
#define DT_SESSION_UNRESOLVED_H

#include <stdbool.h>

#include "session/say.h"

struct dt_symtab;

/* Tells whether that name is such a one. Those that libc leaves to the kernel are not: they are
 * told of otherwise. */
bool dt_unresolved(const struct dt_symtab *t, const char *name);

/* Says that the calls of the file's function of that name are not recorded, and what to do. */
void dt_unresolved_say(const struct dt_say *say, const char *path, const char *name);

/* Calls fn for each name of a file's that resolvers have, also those that functions have, too. */
void dt_unresolved_each(const struct dt_symtab *t, void (*fn)(void *ctx, const char *name),
			void *ctx);

#endif
