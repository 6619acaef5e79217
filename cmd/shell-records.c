/* SPDX-License-Identifier: MIT */
/* The records of a session in a shell, printed as Kitrace does: all there are, or as they come. */
#include "cmd/shell-work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "core/kitrace.h"
#include "core/processor.h"

#define RECORDS 8192u /* that are asked for at once */

static int get_clock(struct shell *s, struct dt_error *e)
{
	unsigned long tick, wall, per_second;

	if (s->per_second)
		return 0;
	if (dt_client_ask(&s->client, "clock", e) < 0)
		return -1;
	if (sscanf(s->client.text, "%lu %lu %lu", &tick, &wall, &per_second) != 3 || !per_second)
		return dt_fail(e, "the session's clock is not known");
	s->tick = tick;
	s->wall_ns = wall;
	s->per_second = per_second;
	return 0;
}

/* Returns a tick's time in microseconds since 1970, in local time. */
static int64_t local_us(const struct shell *s, uint64_t ticks)
{
	__int128 d = (__int128)((int64_t)(ticks - s->tick)) * 1000000000 / (int64_t)s->per_second;
	int64_t us = ((int64_t)s->wall_ns + (int64_t)d) / 1000;
	time_t t = (time_t)(us / 1000000);
	struct tm tm;

	localtime_r(&t, &tm);
	return us + tm.tm_gmtoff * 1000000;
}

/* Says whether the tracepoint of this name has PID, by the answer to `list'. */
static bool has_pid(const struct shell *s, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = s->points; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *end = strchr(p, '\n'), *pid = strstr(p, " PID");

		if (strncmp(p, name, n) == 0 && (p[n] == ' ' || p[n] == '\n'))
			return pid && end && pid < end;
	}
	return false;
}

/* Returns what a record's pc is called: a tracepoint by its function, an exit by its function and
 * the offset in it. */
static const struct place *place_of(struct shell *s, const struct dt_record *r)
{
	struct place *p = &s->place[(r->pc ^ r->pc >> 12) % PLACES];
	const char *how = r->kind == DT_EXIT ? "place" : "name";
	char request[64];

	if (p->text && p->pc == r->pc)
		return p;
	free(p->text);
	dt_format(request, sizeof(request), "%s %lx %u", how, (unsigned long)r->pc, r->tid);
	p->text = strdup(dt_client_ask(&s->names, request, NULL) < 0 ? "?" : s->names.text);
	p->pc = r->pc;
	p->pid = p->text && has_pid(s, p->text);
	return p;
}

/* Empties the cache of places, and asks for the list of tracepoints again. */
static void forget_places(struct shell *s)
{
	for (unsigned i = 0; i < PLACES; i++) {
		free(s->place[i].text);
		s->place[i].text = NULL;
	}
	free(s->points);
	s->points = NULL;
	if (dt_client_write(&s->client, "list", 4, 0, NULL) == 0)
		s->points = strdup(s->client.text);
}

/* The labels of what a point captures, from the session's answer. */
struct labels {
	char text[4096]; /* the point's name, and the labels, each ended by a NUL */
	const char *name[DT_CAPTURE_ITEMS];
	bool is_text[DT_CAPTURE_ITEMS];
	unsigned n;
};

/* Asks for the labels of the point at pc; the answer is like "sync+4\nrax:p,path:s*". */
static void get_labels(struct shell *s, uint64_t pc, struct labels *l)
{
	char request[64], *p;

	l->n = 0;
	dt_format(request, sizeof(request), "point %lx", (unsigned long)pc);
	if (dt_client_ask(&s->names, request, NULL) < 0)
		s->names.text[0] = '\0';
	dt_format(l->text, sizeof(l->text), "%s", s->names.text);
	p = strchr(l->text, '\n');
	while (p && *p && l->n < DT_CAPTURE_ITEMS) {
		char *end = p + 1 + strcspn(p + 1, ","), *colon = strchr(p + 1, ':');

		*p = '\0';
		l->is_text[l->n] = end[-1] == '*';
		l->name[l->n++] = p + 1;
		if (colon && colon < end)
			*colon = '\0';
		p = end;
	}
	if (p)
		*p = '\0';
}

/* Adds up to 32 bytes of a text, in which bytes that can not be printed become dots; true: it has
 * ended. */
static bool add_text(char *out, size_t *n, const struct dt_record *r)
{
	const char *bytes = (const char *)r->value;

	for (unsigned i = 0; i < sizeof(r->value) && *n < DT_CAPTURE_TEXT; i++) {
		if (!bytes[i])
			return true;
		out[(*n)++] =
			bytes[i] >= ' ' && bytes[i] != 0x7f && bytes[i] != '"' ? bytes[i] : '.';
	}
	return *n == DT_CAPTURE_TEXT || (r->flags & DT_FAULT);
}

/* Finds what a value points to: "f+1c"; false: nothing is known. */
static bool symbol_of(struct shell *s, uint64_t value, char out[128])
{
	char request[64];

	if (value < 4096)
		return false;
	dt_format(request, sizeof(request), "place %lx 0", (unsigned long)value);
	if (dt_client_ask(&s->names, request, NULL) < 0)
		return false;
	dt_format(out, 128, "%s", s->names.text);
	/* the answer is the address itself when nothing is known of it */
	dt_format(request, sizeof(request), "%lx", (unsigned long)value);
	return strcmp(out, request) != 0;
}

/*
 * Prints a point's record and those that continue it, n together: values with their labels, in
 * hexadecimal and as the symbol that they point to; texts in quotes after the value that leads to
 * them.
 */
static void print_point(struct shell *s, struct dt_kitrace *k, const struct dt_record *r, size_t n)
{
	struct dt_kitrace_item item[DT_CAPTURE_ITEMS + 1];
	char symbol[DT_CAPTURE_ITEMS][128], text[DT_CAPTURE_ITEMS][DT_CAPTURE_TEXT + 8];
	struct labels *l = &(struct labels){.n = 0};
	struct dt_kitrace_record v = {
		.us = (uint64_t)local_us(s, r->ticks),
		.date = s->date,
		.item = item,
	};
	size_t at = 0, constant = 0; /* constant: index of its record; 0: there is none */

	get_labels(s, r->pc, l);
	v.symbol = l->text[0] ? l->text : "?";
	v.tid = has_pid(s, v.symbol) ? r->tid : DT_NO_TID;
	/* the constant's record has the same time as the point's */
	if (n > 1 && r[1].ticks == r->ticks)
		constant = 1;
	for (; at < n && (v.items < l->n || !at); at++) {
		bool faults = r[at].flags & DT_FAULT;
		unsigned values = dt_record_values(&r[at]), first = v.items;

		if (constant && at == constant)
			continue;
		v.flags |= r[at].flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE);
		if (r[at].flags & DT_LATEFREEZE)
			v.flags |= DT_KITRACE_LATEFREEZE;
		for (; v.items < l->n && v.items < first + values && v.items < first + 4; v.items++)
			item[v.items] = (struct dt_kitrace_item){
				.name = l->name[v.items],
				.value = r[at].value[v.items - first],
				.bad = faults && dt_capture_is_bad(r[at].value[v.items - first])};
	}
	if (constant && at <= constant)
		at = constant + 1;
	for (unsigned i = 0; i < v.items; i++) {
		size_t length = 0;
		bool ended = !l->is_text[i];

		while (!ended && at < n)
			ended = add_text(text[i], &length, &r[at++]);
		if (l->is_text[i] && length) {
			text[i][length] = '\0';
			item[i].text = text[i];
		}
		if (!item[i].bad && !item[i].text && symbol_of(s, item[i].value, symbol[i]))
			item[i].symbol = symbol[i];
	}
	if (constant)
		item[v.items++] =
			(struct dt_kitrace_item){.name = "const", .value = r[constant].value[0]};
	dt_out_used(&s->out,
		    dt_kitrace_line(
			    k, dt_out_room(&s->out, DT_KITRACE_TEXT + DT_CAPTURE_ITEMS * 512), &v));
}

/* Prints an entry or exit; more: the record with its constant, or NULL. */
static void print_one(struct shell *s, struct dt_kitrace *k, const struct dt_record *r,
		      const struct dt_record *more)
{
	const struct place *p = place_of(s, r);
	const struct dt_processor *processor = dt_processor(DT_MACHINE_NAME);
	const char *const *names = r->kind == DT_EXIT ? processor->exit : processor->entry;
	struct dt_kitrace_item item[4];
	struct dt_kitrace_record v = {
		.symbol = p->text ? p->text : "?",
		.us = (uint64_t)local_us(s, r->ticks),
		.date = s->date,
		.flags = r->flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE),
		.tid = p->pid ? r->tid : DT_NO_TID,
		.item = item,
	};

	if (r->flags & DT_LATEFREEZE)
		v.flags |= DT_KITRACE_LATEFREEZE;
	if ((r->flags & DT_NARGS) == DT_ADJACENT)
		v.flags |= DT_KITRACE_ADJACENT;
	if (more)
		item[v.items++] =
			(struct dt_kitrace_item){.name = "const", .value = more->value[0]};
	for (unsigned i = 0; !more && !p->pid && i < dt_record_values(r) && i < 4; i++)
		item[v.items++] = (struct dt_kitrace_item){.name = names[i], .value = r->value[i]};
	dt_out_used(&s->out, dt_kitrace_line(k, dt_out_room(&s->out, DT_KITRACE_TEXT + 2048), &v));
}

/* Says whether `more' continues r: it is r's constant, which has the same time, or has further
 * values or a text of the point r. */
static bool belongs(const struct dt_record *more, const struct dt_record *r)
{
	return more->kind == DT_MORE && more->tid == r->tid && more->sp == r->sp &&
	       (r->kind == DT_POINT ? more->pc == r->pc : more->ticks == r->ticks);
}

#define MOST_MORE (DT_CAPTURE_ITEMS / 4 + DT_CAPTURE_ITEMS * DT_CAPTURE_TEXT / 32)

/* Prints the n records at r, and returns how many were printed: unless `all', the last ones may be
 * left, since records that continue them may still come. */
static size_t print_some(struct shell *s, struct dt_kitrace *k, const struct dt_record *r, size_t n,
			 bool all)
{
	size_t i = 0;

	while (i < n) {
		size_t more = 1;

		while (i + more < n && belongs(&r[i + more], &r[i]))
			more++;
		/* what continues it may still come */
		if (i + more == n && !all && i && more < MOST_MORE)
			break;
		if (r[i].kind == DT_POINT)
			print_point(s, k, &r[i], more);
		else if (r[i].kind != DT_MORE)
			print_one(s, k, &r[i], more > 1 ? &r[i + 1] : NULL);
		i += more;
	}
	return i;
}

static void say_lost(struct shell *s, uint64_t lost)
{
	dt_out_flush(&s->out);
	if (lost)
		fprintf(stderr, "kitrace: warning: %lu records were lost\n", (unsigned long)lost);
}

static int clear_to(struct shell *s, uint64_t position, struct dt_error *e)
{
	char request[48];

	dt_format(request, sizeof(request), "clear %lu", (unsigned long)position);
	return dt_client_ask(&s->client, request, e);
}

/*
 * Prints all records that are in the log when it begins; later ones are left for the next print.
 * s->seen is the position after what was printed: `clear' clears up to there.
 */
int dt_shell_print(struct shell *s, bool clear)
{
	uint64_t at, end, lost, all_lost = 0;
	struct dt_kitrace k = {0};
	struct dt_error e;

	if (get_clock(s, &e) < 0 || dt_client_positions(&s->client, &at, &end, &e) < 0)
		return dt_shell_complain(s, e.text);
	forget_places(s);
	while (at < end && !s->out.failed) {
		uint64_t position = at;
		long n = dt_client_take(&s->client, end - at < RECORDS ? end - at : RECORDS,
					&position, 0, false, &lost, &e);

		if (n == -1)
			return dt_shell_complain(s, e.text);
		all_lost += lost;
		if (n <= 0 || position >= end)
			break;
		/* if the oldest were overwritten meanwhile, the answer goes beyond the end */
		if ((uint64_t)n > end - position)
			n = (long)(end - position);
		at = position + print_some(s, &k, (const struct dt_record *)s->client.text,
					   (size_t)n, position + (uint64_t)n >= end);
	}
	s->seen = at;
	say_lost(s, all_lost);
	if (clear && clear_to(s, at, &e) < 0)
		return dt_shell_complain(s, e.text);
	return 0;
}

int dt_shell_clear(struct shell *s)
{
	uint64_t oldest, next = s->seen;
	struct dt_error e;

	if ((!next && dt_client_positions(&s->client, &oldest, &next, &e) < 0) ||
	    clear_to(s, next, &e) < 0)
		return dt_shell_complain(s, e.text);
	return 0;
}

/* Prints records as they come. The session waits for them, 200 ms at most, so that Ctrl-C is
 * noticed. */
int dt_shell_follow(struct shell *s)
{
	struct sigaction a = {.sa_handler = dt_shell_on_interrupt}, old;
	struct dt_kitrace k = {0};
	struct dt_error e;
	int status = 0;

	if (get_clock(s, &e) < 0)
		return dt_shell_complain(s, e.text);
	forget_places(s);
	dt_shell_interrupted = 0;
	sigaction(SIGINT, &a, &old);
	while (!dt_shell_interrupted && !s->out.failed) {
		uint64_t at = 0, lost;
		long n = dt_client_take(&s->client, RECORDS, &at, 200, false, &lost, &e);

		if (n < 0) { /* -2: the session has ended */
			status = n == -1 ? dt_shell_complain(s, e.text) : 0;
			break;
		}
		if (n > 0)
			at += print_some(s, &k, (const struct dt_record *)s->client.text, (size_t)n,
					 n < RECORDS);
		say_lost(s, lost);
		if (n > 0 && clear_to(s, at, &e) < 0) {
			status = dt_shell_complain(s, e.text);
			break;
		}
	}
	sigaction(SIGINT, &old, NULL);
	s->seen = 0;
	return status;
}
