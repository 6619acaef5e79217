/* SPDX-License-Identifier: MIT */
/* Adding a varint (store/varint.h) to a text that is put together in memory. */
#ifndef DT_EXPORT_VARINT_H
#define DT_EXPORT_VARINT_H

#include "show/json.h"
#include "store/varint.h"

static inline void dt_export_varint(struct dt_json *to, uint64_t v)
{
	to->failed = to->failed || dt_bytes_room(&to->bytes, DT_VARINT_MAX);
	if (!to->failed)
		dt_put_varint(&to->bytes, v);
}

#endif
