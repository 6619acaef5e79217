/* SPDX-License-Identifier: MIT */
/* Values of sockets' options, of setsockopt() and getsockopt(). */
#ifndef DT_SHOW_OPTION_H
#define DT_SHOW_OPTION_H

#include "core/types.h"

/*
 * Writes the value of the option of that level and name: [1], {l_onoff=1, l_linger=5}. b has
 * `known' bytes of it; length: its bytes, UINT32_MAX: not known. Returns the end of what it wrote,
 * at most 200 bytes; NULL: what it means is not known.
 */
char *dt_option_put(char *p, uint32_t level, uint32_t name, const void *b, uint32_t known,
		    uint32_t length);

#endif
