/* SPDX-License-Identifier: MIT */
#ifndef DT_HOOK_ENTERED_H
#define DT_HOOK_ENTERED_H

#include "core/code-map.h"

/* Returns for each function of c whether others enter it elsewhere than at its beginning, an array
 * that the caller frees; NULL: there is no memory. */
bool *dt_entered(const struct dt_code *c);

#endif
