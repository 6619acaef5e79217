/* SPDX-License-Identifier: MIT */
/* A record that came after another one of its thread and belongs to it: it has more values, or a
 * part of a text. */
#ifndef DT_STORE_MORE_H
#define DT_STORE_MORE_H

#include "core/record.h"

struct dt_more {
	uint32_t site; /* for dt_reader_site() */
	struct dt_record record;
};

#endif
