/* SPDX-License-Identifier: MIT */
/* Paths as JSON lines: doc/json.md. */
#include <stdio.h>

#include "cmd/object.h"
#include "cmd/path-work.h"
#include "cmd/table.h"

static void put_thread(struct dt_path_shown *s, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(s->reader, tid);
	const struct dt_host *h = dt_hosts_of(&s->said.hosts, tid);

	dt_object_number("thread", dt_reader_number(s->reader, tid));
	dt_object_text("name", t ? t->name : NULL);
	if (h)
		dt_object_text("host", h->name);
}

static void put_function(struct dt_path_shown *s, uint32_t function)
{
	dt_object_text("function", function ? dt_reader_function_name(s->reader, function) : NULL);
}

static void put_call(struct dt_path_shown *s, size_t i)
{
	const struct dt_path_call *c = &s->call[i];
	double ns = dt_reader_ns_per_tick(s->reader);

	dt_object_begin("path");
	dt_object_number("path", i);
	put_function(s, c->function);
	put_thread(s, c->tid);
	dt_object_ns("begin", (double)(c->begin > s->first ? c->begin - s->first : 0) * ns);
	dt_object_ns("duration", (double)(c->end - c->begin) * ns);
	dt_object_end();
}

/* Says by how much a piece of another machine may be misplaced. */
static void put_error(struct dt_path_shown *s, const struct dt_path_piece *p)
{
	uint64_t early, late;
	bool known;

	if (!dt_path_error(&s->said, p->tid, p->begin, &early, &late, &known))
		return;
	dt_object_bool("bounded", known);
	if (known) {
		dt_object_ns("early", (double)early);
		dt_object_ns("late", (double)late);
	}
}

static void put_piece(struct dt_path_shown *s, size_t i, const struct dt_path_piece *p,
		      uint64_t from)
{
	double ns = dt_reader_ns_per_tick(s->reader);
	const struct dt_path_part *part = s->paths->part + p->part;
	char words[DT_PATH_WORDS];

	dt_object_begin("piece");
	dt_object_number("path", i);
	put_thread(s, p->tid);
	dt_object_number("level", p->level);
	dt_object_ns("after", (double)(p->begin - from) * ns);
	dt_object_ns("time", (double)(p->end - p->begin) * ns);
	dt_object_text("kind", dt_path_kind_word(p->kind));
	dt_object_text("what", dt_path_words(&s->said, p, p->function, words));
	dt_object_text("then", dt_path_link_word(p->link));
	dt_object_member("functions");
	for (size_t j = 0; j < p->parts; j++) {
		printf("%s{\"function\": ", j ? ", " : "[");
		if (part[j].function)
			dt_table_json(dt_reader_function_name(s->reader, part[j].function));
		else
			fputs("null", stdout);
		printf(", \"time_ns\": %.1f}", (double)part[j].ticks * ns);
	}
	fputs(p->parts ? "]" : "[]", stdout);
	put_error(s, p);
	dt_object_end();
}

int dt_path_print_json(struct dt_path_shown *s)
{
	size_t n;
	struct dt_path_sum *sum = dt_path_sums(&s->said, !s->slowest, &n);
	double ns = dt_reader_ns_per_tick(s->reader);

	if (!sum)
		return dt_cmd_fail("out of memory");
	for (size_t i = 0; i < s->paths->n; i++) {
		const struct dt_path *p = &s->paths->path[i];

		put_call(s, i);
		for (size_t j = 0; j < p->n; j++)
			put_piece(s, i, &p->piece[j], p->from);
	}
	for (size_t i = 0; i < n; i++) {
		dt_object_begin("sum");
		dt_object_text("who", sum[i].who);
		dt_object_text("kind", dt_path_kind_word(sum[i].kind));
		dt_object_text("what", sum[i].what);
		dt_object_ns("time", (double)sum[i].ticks * ns);
		dt_object_number("pieces", sum[i].pieces);
		dt_object_number("paths", sum[i].calls);
		dt_object_end();
	}
	dt_path_sums_free(sum, n);
	return 0;
}
