/* SPDX-License-Identifier: MIT */
/* What came behind a call's entry: more of its arguments, texts that they point to. */
#ifndef DT_SHOW_ENTRY_RECORDS_H
#define DT_SHOW_ENTRY_RECORDS_H

#include "show/event.h"
#include "show/format.h"

/* Does a record of this function row belong to an entry of that one? Each place has a row of its
 * own. */
bool dt_entry_records_of(const struct dt_reader *r, uint32_t function, uint32_t entry);

/* The values of one such record; a text. */
void dt_entry_records_values(struct dt_fulls *f, uint64_t call, struct dt_formats *formats,
			     const struct dt_site *site, const struct dt_record *r);
void dt_entry_records_text(struct dt_fulls *f, uint64_t call, const struct dt_reader *r,
			   const struct dt_text *t);

#endif
