/* SPDX-License-Identifier: MIT */
/* devtrace diff --first: where two runs diverge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/diverge.h"
#include "cmd/choose.h"
#include "cmd/diff.h"
#include "cmd/object.h"
#include "show/format.h"
#include "cmd/table.h"

#define DIVERGED 3  /* exit status */
#define OUTER	 20 /* of many callers, so many outermost ones are printed, */
#define INNER	 40 /* and so many innermost ones */

struct printing {
	struct dt_diff *d;
	struct dt_diverge *diverge;
	struct dt_formats formats[2];
	uint64_t begin[2]; /* ticks of each trace's first record */
	char *line;
};

/* Returns the nanoseconds from the trace's first record to that tick. */
static double ns_of(const struct printing *k, unsigned side, uint64_t ticks)
{
	return (double)(ticks - k->begin[side]) * dt_reader_ns_per_tick(k->d->reader[side]);
}

static void print_when(const struct printing *k, unsigned side, uint64_t ticks)
{
	double ns = ns_of(k, side, ticks);

	printf("at %.*f %s", 3,
	       ns < 1e6	  ? ns / 1e3
	       : ns < 1e9 ? ns / 1e6
			  : ns / 1e9,
	       ns < 1e6	  ? "us"
	       : ns < 1e9 ? "ms"
			  : "s");
}

/* Returns the call as devtrace calls prints it; of an end, with the result. Valid until the next
 * call. */
static const char *text_of(struct printing *k, unsigned side, const struct dt_diverge_call *c)
{
	char *p = dt_format_call(&k->formats[side], k->line, c->function,
				 c->has_argument ? c->argument : NULL);

	if (c->end && c->has_result)
		p = dt_format_outcome(&k->formats[side], p, c->function, c->result);
	*p = '\0';
	return k->line;
}

static void print_call(struct printing *k, unsigned side, const struct dt_diverge_call *c)
{
	printf("%s%s", text_of(k, side, c),
	       c->end ? c->has_result ? "   <- ends" : "   <- ends without a result" : "");
}

/* Prints the call that is next on one side, after the calls that it is in. */
static void print_point(struct printing *k, unsigned side, const struct dt_diverge_thread *t)
{
	const struct dt_diverge_point *x = &t->point;
	unsigned depth = 2;

	printf("  then in %c", 'A' + (int)side);
	if (x->none) {
		printf(": nothing more\n");
		return;
	}
	printf(", ");
	print_when(k, side, x->call.ticks);
	printf(":\n");
	for (size_t i = 0; i < x->callers; i++) {
		if (i == OUTER && x->callers > OUTER + INNER) {
			i = x->callers - INNER;
			printf("%*s... %zu calls in each other ...\n", (int)(2 * depth++), "",
			       i - OUTER);
		}
		printf("%*s", (int)(2 * depth++), "");
		print_call(k, side, &x->caller[i]);
		putchar('\n');
	}
	printf("%*s", (int)(2 * depth), "");
	print_call(k, side, &x->call);
	putchar('\n');
}

static void print_thread(const struct dt_diverge_thread *t, const struct dt_reader *r)
{
	const struct dt_thread_info *info = dt_reader_thread(r, t->tid);

	printf("%u", dt_reader_number(r, t->tid));
	if (info && info->name[0])
		printf(" (%s)", info->name);
}

static void print_head(const struct printing *k, const struct dt_diverge_pair *x)
{
	printf("thread ");
	for (unsigned side = 0; side < 2; side++) {
		if (!x->in[side])
			continue;
		if (side && x->in[0])
			printf(" and ");
		print_thread(x->in[side], k->d->reader[side]);
		printf(" in %c", 'A' + (int)side);
	}
}

static void print_divergence(struct printing *k, const struct dt_diverge_pair *x)
{
	const struct dt_diverge_point *last = &x->in[0]->point;

	print_head(k, x);
	printf(": they diverge behind %llu calls\n", (unsigned long long)x->in[0]->same_calls);
	if (last->has_last) {
		printf("  last call in both (A ");
		print_when(k, 0, last->last.ticks);
		printf(", B ");
		print_when(k, 1, x->in[1]->point.last.ticks);
		printf("):\n    ");
		print_call(k, 0, &last->last);
		putchar('\n');
	}
	for (unsigned side = 0; side < 2; side++)
		print_point(k, side, x->in[side]);
	putchar('\n');
}

static void print_pair(struct printing *k, const struct dt_diverge_pair *x)
{
	const struct dt_diverge_thread *a = x->in[0], *b = x->in[1];

	if (x->diverges) {
		print_divergence(k, x);
		return;
	}
	print_head(k, x);
	if (a && b)
		printf(": the same %llu calls\n",
		       (unsigned long long)(a->calls < b->calls ? a->calls : b->calls));
	else
		printf(" only: %llu calls\n", (unsigned long long)(a ? a : b)->calls);
}

/* Says how far each trace can be compared: up to where its first records were lost. */
static void print_cuts(const struct printing *k)
{
	for (unsigned side = 0; side < 2; side++) {
		struct dt_summary s;

		if (dt_reader_summary(k->d->reader[side], &s, NULL) || !s.lost ||
		    k->diverge->cut[side] == UINT64_MAX)
			continue;
		if (k->diverge->cut[side] < k->begin[side]) {
			printf("%c: records were lost from its beginning on: its threads' first "
			       "calls are "
			       "not known\n",
			       'A' + (int)side);
			continue;
		}
		printf("%c is compared up to where the first of its records were lost, ",
		       'A' + (int)side);
		print_when(k, side, k->diverge->cut[side]);
		putchar('\n');
	}
}

static void print_text(struct printing *k)
{
	const struct dt_diverge *d = k->diverge;

	dt_diff_print_traces(k->d);
	print_cuts(k);
	putchar('\n');
	for (size_t i = 0; i < d->pairs; i++)
		print_pair(k, &d->pair[i]);
	if (!d->pairs)
		puts("no calls");
}

/* ---- as JSON: a line for each thread and its counterpart: doc/json.md ---- */

static void json_call(struct printing *k, unsigned side, const struct dt_diverge_call *c)
{
	printf("{\"at_ns\": %.1f, \"function\": ", ns_of(k, side, c->ticks));
	dt_table_json(c->function ? dt_reader_function_name(k->d->reader[side], c->function) : "");
	printf(", \"text\": ");
	dt_table_json(text_of(k, side, c));
	printf(", \"end\": %s}", c->end ? "true" : "false");
}

static void json_point(struct printing *k, unsigned side, const struct dt_diverge_point *x)
{
	printf(", \"last\": ");
	if (x->has_last)
		json_call(k, side, &x->last);
	else
		printf("null");
	printf(", \"then\": ");
	if (x->none)
		printf("null");
	else
		json_call(k, side, &x->call);
	printf(", \"callers\": [");
	for (size_t i = 0; !x->none && i < x->callers; i++) {
		printf("%s", i ? ", " : "");
		json_call(k, side, &x->caller[i]);
	}
	putchar(']');
}

static void json_thread(struct printing *k, const struct dt_diverge_pair *x, unsigned side)
{
	const struct dt_diverge_thread *t = x->in[side];
	const struct dt_thread_info *info;
	struct dt_summary s;

	printf(", \"%c\": ", 'a' + (int)side);
	if (!t) {
		printf("null");
		return;
	}
	info = dt_reader_thread(k->d->reader[side], t->tid);
	printf("{\"thread\": %u, \"process\": %u, \"name\": ",
	       dt_reader_number(k->d->reader[side], t->tid),
	       dt_reader_number(k->d->reader[side], t->pid));
	dt_table_json(info ? info->name : "");
	printf(", \"calls\": %llu, \"compared_until_ns\": ", (unsigned long long)t->calls);
	if (!dt_reader_summary(k->d->reader[side], &s, NULL) && s.lost &&
	    k->diverge->cut[side] != UINT64_MAX)
		printf("%.1f", k->diverge->cut[side] < k->begin[side]
				       ? 0.
				       : ns_of(k, side, k->diverge->cut[side]));
	else
		printf("null");
	if (x->diverges)
		json_point(k, side, &t->point);
	putchar('}');
}

static void print_json(struct printing *k)
{
	const struct dt_diverge *d = k->diverge;

	for (size_t i = 0; i < d->pairs; i++) {
		const struct dt_diverge_pair *x = &d->pair[i];
		const struct dt_diverge_thread *a = x->in[0], *b = x->in[1];
		uint64_t same = x->diverges ? a->same_calls
				: a && b    ? a->calls < b->calls ? a->calls : b->calls
					    : 0;

		dt_object_begin("thread");
		dt_object_bool("diverges", x->diverges);
		dt_object_number("same_calls", same);
		json_thread(k, x, 0);
		json_thread(k, x, 1);
		dt_object_end();
	}
}

/* Prints the answer; true: something is different. */
static bool print(struct printing *k)
{
	const struct dt_diverge *d = k->diverge;
	bool different = false;

	if (k->d->json)
		print_json(k);
	else
		print_text(k);
	for (size_t i = 0; i < d->pairs; i++)
		different |= d->pair[i].diverges || !d->pair[i].in[0] || !d->pair[i].in[1];
	return different;
}

static int find(struct printing *k, const struct dt_diverge_options *o)
{
	struct dt_diverge diverge = {0};
	struct dt_error e;
	int status;

	k->diverge = &diverge;
	if (dt_diverge_read(&diverge, k->d->reader, o, &e))
		status = dt_cmd_fail("%s", e.text);
	else
		status = print(k) ? DIVERGED : 0;
	if (fflush(stdout) || ferror(stdout))
		status = dt_cmd_fail("cannot write what differs");
	dt_diverge_free(&diverge);
	return status;
}

/* Finds the calls that -f means on one side. Returns the exit status, 0: go on. */
static int choose(struct dt_diff *d, unsigned side, struct dt_diverge_options *o,
		  struct dt_chosen_calls *calls)
{
	struct dt_reader_range range = o->range[side];

	range.order = DT_BY_THREAD;
	o->chosen[side] = calls;
	return dt_cmd_choose(d->reader[side], &range, d->filter, NULL, NULL, calls);
}

int dt_diff_first(struct dt_diff *d)
{
	struct dt_chosen_calls chosen[2] = {0};
	struct printing k = {.d = d, .line = malloc(2 * DT_CALL_TEXT + 1)};
	struct dt_diverge_options o = {
		.arguments = d->arguments, .results = d->results, .pointers = d->pointers};
	bool *shown[2] = {NULL, NULL}, ready = k.line != NULL;
	struct dt_summary s;
	int status = 0;

	for (unsigned side = 0; side < 2; side++) {
		o.shown[side] = shown[side] = dt_cmd_shown(d->reader[side], &d->select);
		ready = ready && shown[side];
		k.formats[side].reader = d->reader[side];
		if (!dt_cmd_range(d->reader[side], &d->when, &o.range[side]))
			status = 2;
		if (!dt_reader_summary(d->reader[side], &s, NULL))
			k.begin[side] = s.min_ticks;
		if (!status && d->filter)
			status = choose(d, side, &o, &chosen[side]);
	}
	if (!status)
		status = ready ? find(&k, &o) : dt_cmd_fail("out of memory");
	for (unsigned side = 0; side < 2; side++) {
		dt_formats_free(&k.formats[side]);
		free(shown[side]);
		dt_chosen_free(&chosen[side]);
	}
	free(k.line);
	return status;
}
