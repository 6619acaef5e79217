/* SPDX-License-Identifier: MIT */
#include "analyse/meanings.h"

#include "analyse/text-matches.h"

static const struct dt_function_info *function(const void *r, uint32_t row)
{
	return dt_reader_function(r, row);
}

static const char *module(const void *r, uint32_t row)
{
	const struct dt_module_info *m = dt_reader_module(r, row);

	return m ? m->called : "";
}

static void thread(const void *r, uint32_t tid, struct dt_meanings_thread *out)
{
	const struct dt_thread_info *t = dt_reader_thread(r, tid);
	const struct dt_process_info *p = dt_reader_process(r, t ? t->pid : tid);

	*out = (struct dt_meanings_thread){dt_reader_number(r, tid),
					   dt_reader_number(r, t ? t->pid : tid), t ? t->name : "",
					   p ? p->exe : NULL};
}

static const struct dt_event_row *event(const void *r, uint64_t body)
{
	return dt_reader_event(r, body);
}

static const char *type(const void *r, uint32_t row)
{
	return dt_reader_type(r, row);
}

struct dt_meanings dt_meanings_of(const struct dt_reader *r)
{
	return (struct dt_meanings){
		r, dt_reader_ns_per_tick(r), function, module, thread, event, type, false};
}

struct dt_filter *dt_meanings_filter(const char *text, const struct dt_reader *r,
				     struct dt_error *e)
{
	struct dt_meanings meanings = dt_meanings_of(r);
	struct dt_filter *f = dt_filter_new(text, &meanings, e);

	if (f && dt_text_matches_look(f, r, e)) {
		dt_filter_free(f);
		return NULL;
	}
	return f;
}
