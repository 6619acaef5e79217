/* SPDX-License-Identifier: MIT */
/*
 * Build ids: what says which file a debug file belongs to. Read by devtrace's own code, which
 * checks every offset and size, so that a process with rights can do it, too.
 */
#ifndef DT_ELF_BUILD_ID_H
#define DT_ELF_BUILD_ID_H

#include "core/types.h"

#define DT_BUILD_ID 65 /* bytes of room for one, in lower-case hex, and a NUL */

/* Finds the build id in `size' bytes of notes, which are aligned to align bytes (4 or 8). False:
 * there is none, or a damaged note before it. */
bool dt_build_id_in(const uint8_t *notes, uint64_t size, uint64_t align, char id[DT_BUILD_ID]);

/* Reads the build id of an open 64-bit ELF file, from its sections, or else its program headers.
 * False: it has none, or is no such file. Reads a few megabytes at most. */
bool dt_build_id_read(int fd, char id[DT_BUILD_ID]);

/* Is it a build id: 8 to 64 digits of lower-case hex, two for each byte? */
bool dt_build_id_is(const char *id);

#endif
