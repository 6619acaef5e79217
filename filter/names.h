/* SPDX-License-Identifier: MIT */
/* Values by the names of constants: "SEEK_SET", "O_RDONLY|O_CLOEXEC". */
#ifndef DT_FILTER_NAMES_H
#define DT_FILTER_NAMES_H

#include "core/types.h"

/* Does the description of a type (doc/format.md) have names for its values? NULL has none. */
bool dt_names_has(const char *described);

/*
 * Says whether a value of so many bytes is the one that the words name: 1; it is not: 0; -1: they
 * have a name that the type does not have. Several names are joined by '|', and a last part "*"
 * stands for any other bits. record: the four values among which it is.
 */
int dt_names_are(const char *described, const char *words, uint64_t v, unsigned size,
		 const uint64_t *record);

#endif
