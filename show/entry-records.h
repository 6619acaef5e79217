/* SPDX-License-Identifier: MIT */
/* The records that follow a call's entry: further arguments, and texts that arguments point to. */
#ifndef DT_SHOW_ENTRY_RECORDS_H
#define DT_SHOW_ENTRY_RECORDS_H

#include "show/event.h"
#include "show/format.h"

/*
 * Says whether a record whose site has the row `function' can belong to an entry, whose site is
 * `entry' (0: none is known): each kind of site has a function row of its own, with the same
 * address and in the same process. The function of a call is another row: that of all processes.
 */
bool dt_entry_records_of(const struct dt_reader *r, uint32_t function, uint32_t entry);

/*
 * Add what one such record has to the arguments of a call: its values, named by the signature of
 * the record's site, or a text. argument: the values of the entry; NULL: not known. Without memory,
 * f->failed is set.
 */
void dt_entry_records_values(struct dt_fulls *f, uint64_t call, struct dt_formats *formats,
			     const struct dt_site *site, const struct dt_record *r,
			     const uint64_t *argument);
void dt_entry_records_text(struct dt_fulls *f, uint64_t call, const struct dt_reader *r,
			   const struct dt_text *t, const uint64_t *argument);

#endif
