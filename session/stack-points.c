/* SPDX-License-Identifier: MIT */
#include "session/stack-points.h"

#include <stdlib.h>
#include <string.h>

#include "core/failure.h"
#include "filter/filter.h"
#include "symbols/described.h"

#define SIGNATURE 4096 /* bytes; a longer one counts as not known */
#define EVERY	  (DT_RESULT_ANY | DT_RESULT_ANY << DT_RESULT_WIDE)

/* ---- the point ---- */

int dt_stack_point(const struct dt_stack_points *s, uint64_t exit, uint8_t results,
		   struct dt_point *point)
{
	struct dt_item item = {.from = {.kind = DT_OPERAND_REGISTER,
					.size = 8,
					.base = DT_REGISTER_NONE,
					.index = DT_REGISTER_NONE}};
	struct dt_error e;

	*point = (struct dt_point){.site = {.address = exit, .function = exit},
				   .headless = true,
				   .leaves = exit,
				   .results = results};
	point->what = strdup("STACK");
	for (unsigned i = 0; i < DT_UNWIND_KEPT && point->what; i++) {
		item.from.reg = dt_unwind_kept_register[i];
		if (dt_point_item(point, &item, "", "p", &e) < 0)
			goto fail;
	}
	item.from.reg = DT_ABI_SP;
	item.text = (uint16_t)s->size;
	item.only_text = item.buffer = item.stack = true;
	if (point->what && dt_point_item(point, &item, "stack", "s", &e) == 0)
		return 0;
fail:
	dt_point_release(point);
	return -1;
}

/* ---- which functions ---- */

/* What the filter asks about: each function has a row of its own, since it remembers its answers.
 */
struct dt_stack_function {
	uint32_t row;
	struct dt_function_info info;
	const char *module;
};

static const struct dt_function_info *function(const void *ctx, uint32_t row)
{
	const struct dt_stack_function *now = ctx;

	return row == now->row ? &now->info : NULL;
}

static const char *module(const void *ctx, uint32_t row)
{
	return ((const struct dt_stack_function *)ctx)->module;
}

static void thread(const void *ctx, uint32_t tid, struct dt_meanings_thread *t)
{
	*t = (struct dt_meanings_thread){tid, tid, "", NULL};
}

static const struct dt_event_row *event(const void *ctx, uint64_t body)
{
	return NULL;
}

static const char *type(const void *ctx, uint32_t row)
{
	return NULL;
}

int dt_stack_asking_begin(struct dt_stack_asking *a, const struct dt_stack_points *s,
			  struct dt_file *f, struct dt_error *e)
{
	struct dt_meanings m = {.ns_per_tick = 1,
				.function = function,
				.module = module,
				.thread = thread,
				.event = event,
				.type = type};

	a->file = f;
	a->by_source = strstr(s->words, "file:");
	a->now = calloc(1, sizeof(*a->now));
	if (!a->now)
		return dt_fail(e, "out of memory");
	a->now->module = dt_file_called(f, NULL);
	m.ctx = a->now;
	a->filter = dt_filter_new(s->words, &m, e);
	if (a->filter)
		return 0;
	free(a->now);
	return -1;
}

void dt_stack_asking_end(struct dt_stack_asking *a)
{
	dt_filter_free(a->filter);
	free(a->now);
}

/* Returns with which results a call has failed, or more; 0: it never has. */
static uint8_t failures(const struct dt_signature_value *result)
{
	unsigned bits = EVERY;
	uint8_t place;

	if (!result->failure.when)
		return 0;
	switch (result->failure.when) {
	case DT_FAILURE_NEGATIVE: /* of a number without sign: all its bits are set */
	case DT_FAILURE_MINUS:
	case DT_FAILURE_KERNEL:
		bits = DT_RESULT_NEGATIVE;
		break;
	case DT_FAILURE_ZERO:
		bits = DT_RESULT_ZERO;
		break;
	case DT_FAILURE_NONZERO:
	case DT_FAILURE_ERROR:
		bits = DT_RESULT_NEGATIVE | DT_RESULT_POSITIVE;
		break;
	case DT_FAILURE_NONE:
		bits = DT_RESULT_NEGATIVE | DT_RESULT_ZERO;
		break;
	}
	if (!dt_signature_single(result, &place) || place || bits == EVERY)
		return EVERY;
	return (uint8_t)(result->type.size == 8	  ? bits << DT_RESULT_WIDE
			 : result->type.size == 4 ? bits
						  : EVERY);
}

/* Looks whether the words mean the function by this name. */
static bool is_meant(void *asking, const char *name)
{
	struct dt_stack_asking *a = asking;

	a->now->row++;
	a->now->info.name = name;
	a->meant = a->meant || dt_filter_function(a->filter, a->now->row);
	return a->meant;
}

uint8_t dt_stack_results(struct dt_stack_asking *a, const struct dt_function *f)
{
	struct dt_stack_function *now = a->now;
	struct dt_signature_value result;
	char signature[SIGNATURE];
	unsigned line;

	now->info = (struct dt_function_info){.address = f->address,
					      .size = f->size,
					      .name = f->name,
					      .file = "",
					      .signature = ""};
	if (a->by_source && (!dt_symtab_line(a->file->symtab, f->address, &now->info.file, &line) ||
			     !now->info.file))
		now->info.file = "";
	/* it is recorded by the name by which it is called */
	a->meant = false;
	if (!is_meant(a, f->name) && !is_meant(a, f->full))
		dt_symtab_aliases_of(a->file->symtab, f->address, is_meant, a);
	if (!a->meant)
		return 0;
	if (!dt_filter_wants_failures(a->filter))
		return EVERY;
	dt_described(a->file->symtab, a->file->path, f, false, signature, sizeof(signature));
	return dt_signature_result(signature, &result) ? failures(&result) : 0;
}
