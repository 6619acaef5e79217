/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ as programmers write them: "std::vector<int, std::allocator<int> >::size" is
 * "std::vector<int>::size", and std::basic_string with its three arguments is "std::string".
 */
#ifndef DT_SYMBOLS_SHORTEN_H
#define DT_SYMBOLS_SHORTEN_H

#include "core/types.h"

/*
 * Writes the name without those arguments of the standard library's templates that are what they
 * are when they are not given, without its inline namespaces, and with its own names for types such
 * as std::string. A pattern is shortened in the same way. out: room for twice as many bytes as the
 * name has, since "> >" is written for ">>": what is written may be longer than the name. Returns
 * false if there is nothing to shorten, or the name is not understood.
 */
bool dt_shorten(const char *name, char *out);

#endif
