/* SPDX-License-Identifier: MIT */
/* Errors of the system as text: by their names, as in <errno.h>, and what they mean. */
#ifndef DT_SHOW_FAILURE_H
#define DT_SHOW_FAILURE_H

#include <stdint.h>

/* Bytes that dt_failure_put() writes at most. */
#define DT_FAILURE_TEXT 128

/* Returns the name of an error, such as "ENOENT"; NULL: it has none. */
const char *dt_failure_name(uint32_t error);

/* Writes " ENOENT (No such file or directory)" at p, or " errno 4000" if the error has no name.
 * Returns the end of what it wrote. */
char *dt_failure_put(char *p, uint32_t error);

#endif
