/* SPDX-License-Identifier: MIT */
/*
 * What system calls are given and fill in, as bytes that were recorded: structures and arrays of
 * them, pieces of memory, messages, files. Their descriptions are types of the trace
 * (doc/format.md).
 */
#ifndef DT_SHOW_LAYOUT_H
#define DT_SHOW_LAYOUT_H

#include "show/out.h"
#include "store/reader.h"

/*
 * Writes n bytes as the description says, which is that of the type `row'; there were `length'
 * bytes. False: it is none of these descriptions, and nothing was written.
 */
bool dt_layout_put(struct dt_out *o, const struct dt_reader *r, const char *described,
		   const char *bytes, uint32_t n, uint64_t length);

#endif
