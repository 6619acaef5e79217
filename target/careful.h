/* SPDX-License-Identifier: MIT */
/* Sessions that look at each record: what is watched, and options of the language (core/device.h).
 */
#ifndef DT_TARGET_CAREFUL_H
#define DT_TARGET_CAREFUL_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* Looks whether a process or thread of this number is watched. */
bool dt_is_watched_id(uint32_t id);

/* Counts a record that was left out since it is not watched. */
void dt_filtered_count(const struct dt_record *rec);

/* Handles a record of a careful session. Returns true when it is to be tried again. */
bool dt_careful_append(struct dt_record *rec);
#pragma GCC visibility pop

#endif
