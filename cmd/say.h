/* SPDX-License-Identifier: MIT */
/* Calls as text for what is not in cmd/: struct dt_view_words, struct dt_export_words. */
#ifndef DT_CMD_SAY_H
#define DT_CMD_SAY_H

#include "analyse/json.h"
#include "cmd/format.h"
#include "store/more.h"

/* ctx: a struct dt_formats. One thread at a time. */
void dt_say_call(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *argument);
/* The same with what came behind the entry. */
void dt_say_more(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *argument,
		 const struct dt_more *more, size_t n);
void dt_say_result(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *result);
void dt_say_each(void *ctx, uint32_t function, const uint64_t *value, bool faults,
		 void (*fn)(void *to, const char *name, size_t n, const char *text, size_t length),
		 void *to);

#endif
