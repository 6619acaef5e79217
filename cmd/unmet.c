/* SPDX-License-Identifier: MIT */
#include "cmd/unmet.h"

#include "analyse/meanings.h"
#include "cmd/open.h"
#include "core/error.h"
#include "filter/unmet.h"

struct teller {
	const char *option;
	unsigned said;
};

static void tell(void *ctx, const char *text)
{
	struct teller *t = ctx;

	t->said++;
	dt_cmd_fail("note: %s: %s", t->option, text);
}

static struct dt_unmet unmet_of(const struct dt_reader *r, const struct dt_meanings *m,
				struct teller *t)
{
	return (struct dt_unmet){
		.meanings = m, .rows = dt_reader_functions(r) + 1, .say = tell, .ctx = t};
}

void dt_cmd_unmet_filter(const struct dt_reader *r, struct dt_filter *f)
{
	struct dt_meanings m = dt_meanings_of(r);
	struct teller t = {.option = "-f"};
	struct dt_unmet u = unmet_of(r, &m, &t);

	dt_unmet_filter(&u, f);
}

void dt_cmd_unmet_sum(const struct dt_reader *r, const struct dt_sums_words *w,
		      struct dt_filter *filter)
{
	struct dt_meanings m = dt_meanings_of(r);
	struct teller t = {.option = "-e"};
	struct dt_unmet u = unmet_of(r, &m, &t);

	dt_unmet_sum(&u, w, filter);
}

bool dt_cmd_unmet_patterns(const struct dt_reader *r, const struct dt_selection *s)
{
	struct dt_meanings m = dt_meanings_of(r);
	struct teller t = {.option = "-F"};
	struct dt_unmet u = unmet_of(r, &m, &t);
	size_t adding = 0;

	for (size_t i = 0; i < s->n; i++)
		adding += !s->pattern[i].remove;
	dt_unmet_patterns(&u, s);
	return adding && t.said == adding;
}

bool dt_cmd_unmet_value(const struct dt_reader *r, struct dt_selection *s, const char *name,
			size_t n, const char *option)
{
	struct dt_meanings m = dt_meanings_of(r);
	struct teller t = {.option = option};
	struct dt_unmet u = unmet_of(r, &m, &t);
	char own[256];

	dt_format(own, sizeof(own), "%.*s", (int)n, name);
	return !dt_unmet_value(&u, s, own);
}

/* Says which numbers no thread of the trace has, or no process that has threads. */
static bool unmet_numbers(const struct dt_reader *r, const uint32_t *number, size_t n,
			  bool processes)
{
	const char *what = processes ? "process" : "thread";
	size_t all;
	const struct dt_thread_info *t = dt_reader_threads(r, &all);
	bool unmet = false;

	for (size_t i = 0; i < n; i++) {
		size_t at = 0;

		while (at < all &&
		       dt_reader_number(r, processes ? t[at].pid : t[at].tid) != number[i])
			at++;
		if (at < all)
			continue;
		unmet = true;
		if (!all)
			dt_cmd_fail("--%s %u: the trace has no threads", what, number[i]);
		else if (processes)
			dt_cmd_fail("--process %u: the trace has no such process; the first is %u",
				    number[i], dt_reader_number(r, t[0].pid));
		else
			dt_cmd_fail("--thread %u: the trace has no such thread; it has %zu, the "
				    "first is %u",
				    number[i], all, dt_reader_number(r, t[0].tid));
	}
	return unmet;
}

bool dt_cmd_unmet_threads(const struct dt_reader *r, const uint32_t *thread, size_t n)
{
	return unmet_numbers(r, thread, n, false);
}

bool dt_cmd_unmet_processes(const struct dt_reader *r, const uint32_t *process, size_t n)
{
	return unmet_numbers(r, process, n, true);
}
