/* SPDX-License-Identifier: MIT */
/* The machines of a trace that was made of several, and how far their times may be wrong. */
#include "store/hosts.h"
#include "store/twins.h"
#include "view/asked.h"

static void say_bars(struct dt_json *out, const struct dt_host *h, uint64_t origin)
{
	for (uint32_t i = 0; i < h->bars; i++) {
		const struct dt_host_bar *b = &h->bar[i];

		dt_json_print(out, "%s[%ld,%ld,%lu,%lu,%d]", i ? "," : "",
			      (long)(b->begin - origin), (long)(b->end - origin),
			      (unsigned long)b->early, (unsigned long)b->late, b->unknown);
	}
}

static void say_twin(void *ctx, uint32_t function, uint32_t number)
{
	dt_json_print(ctx, ",%u,%u", function, number);
}

/* Of two traces beside each other: what was brought to the same time, B's first function, and which
 * functions are the same, as a list of function, number, function... after two zeros. */
static void say_beside(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_json *out = &a->answer->text;
	const char *words;
	uint32_t second = dt_twins_second(r, &words);
	struct dt_error e;

	if (!second)
		return;
	dt_json_print(out, ",\"beside\":");
	dt_json_string(out, words);
	dt_json_print(out, ",\"second\":%u,\"twins\":[0,0", second);
	if (dt_twins_read(r, say_twin, out, &e))
		out->failed = true;
	dt_json_print(out, "]");
}

void dt_answer_hosts(struct dt_asked *a)
{
	struct dt_json *out = &a->answer->text;
	struct dt_hosts hosts;

	dt_json_print(out, "\"hosts\":[");
	if (dt_hosts_load(&hosts, dt_windows_reader(a->p->windows)))
		out->failed = true;
	for (uint32_t i = 0; i < hosts.n; i++) {
		const struct dt_host *h = &hosts.host[i];

		dt_json_print(out, "%s{\"name\":", i ? "," : "");
		dt_json_string(out, h->name);
		dt_json_print(out,
			      ",\"first\":%u,\"end\":%u,\"core\":%u,\"cores\":%u,"
			      "\"reference\":%s,\"known\":%s,\"bars\":[",
			      h->first, h->end, h->core, h->cores, h->reference ? "true" : "false",
			      h->known ? "true" : "false");
		say_bars(out, h, a->origin);
		dt_json_print(out, "]}");
	}
	dt_json_print(out, "]");
	dt_hosts_free(&hosts);
	say_beside(a);
}
