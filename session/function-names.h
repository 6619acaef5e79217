/* SPDX-License-Identifier: MIT */
/* Under which of its names a function is written to the trace file, and which others it has. */
#ifndef DT_SESSION_FUNCTION_NAMES_H
#define DT_SESSION_FUNCTION_NAMES_H

#include "session/state.h"
#include "symbols/pattern.h"

/* Returns the name of a function: where it is recorded in certain modules' calls, the one by which
 * these call it, unless only compilers can read that. */
const char *dt_function_name(struct dt_session *s, struct dt_file *file,
			     const struct dt_function *f);

/* Writes the names that the code has beside its `own', with newlines between, and returns them.
 * Names that only compilers read are left out, and those for which there is no room. */
const char *dt_function_others(const struct dt_symtab *symtab, const struct dt_function *f,
			       const char *own, char text[DT_OTHER_NAMES]);

#endif
