/* SPDX-License-Identifier: MIT */
#include "session/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/now.h"
#include "session/client.h"
#include "session/state.h"
#include "store/store.h"

/* Records that are asked for at a time, at most. */
#define BATCH 8192u
/* ns between two readings of the session's clocks: two of them tell how long a tick is */
#define CLOCKS_APART 1000000000u

struct dt_spool {
	struct dt_client records;
	struct dt_client names; /* a second connection, for questions while the first one's answer
				   is being written */
	struct dt_store *store;
	uint64_t position;  /* of the next record that is wanted */
	uint64_t held;	    /* number of the next wait that is wanted */
	uint64_t held_gone; /* waits that the session no longer remembered */
	uint64_t clocked;   /* dt_now_ns() when its clocks were noted last */
	bool no_held;	    /* the session is an older one, which does not tell its waits */
	struct tids {
		uint32_t *id; /* a hash table: room is a power of two, at most half is used; zero:
				 free */
		size_t n, room;
	} threads, processes; /* those that are in the file */
};

/* ---- threads and processes ---- */

/* Adds a number to a table. True: it is new there. */
static bool note(struct tids *t, uint32_t id)
{
	size_t i;

	if (2 * t->n >= t->room) {
		struct tids more = {.room = t->room ? 2 * t->room : 64};

		more.id = calloc(more.room, sizeof(*more.id));
		if (!more.id)
			return false;
		for (i = 0; i < t->room; i++)
			if (t->id[i])
				note(&more, t->id[i]);
		free(t->id);
		*t = more;
	}
	for (i = id % t->room; t->id[i]; i = (i + 1) % t->room)
		if (t->id[i] == id)
			return false;
	t->id[i] = id;
	t->n++;
	return true;
}

/* Writes which number the kernel had given to a thread or process, if another one had it before. */
static void add_number(struct dt_spool *s, uint32_t id, uint32_t number)
{
	if (number && number != id)
		dt_store_again(s->store, id, number, NULL);
}

static void add_process(struct dt_spool *s, uint32_t pid)
{
	char request[64], *cmdline = NULL;
	uint32_t number = 0;
	bool told;

	dt_client_thread(&s->names, pid, &number);
	add_number(s, pid, number);
	dt_format(request, sizeof(request), "process %u", pid);
	told = dt_client_ask(&s->names, request, NULL) == 0;
	if (told && (cmdline = strchr(s->names.text, '\n')))
		*cmdline++ = '\0';
	dt_store_process(s->store, pid, 0, cmdline ? s->names.text : "", cmdline ? cmdline : "",
			 dt_ticks(), NULL);
}

/* Writes a thread and its process to the file, once. The session knows the process also when the
 * thread has ended. */
static void add_thread(struct dt_spool *s, uint32_t tid)
{
	uint32_t pid, number;
	char name[64];

	if (tid == DT_NO_TID || !tid || !note(&s->threads, tid))
		return;
	pid = dt_client_thread(&s->names, tid, &number);
	if (!pid)
		return;
	dt_format(name, sizeof(name), "%s", s->names.text);
	dt_store_thread(s->store, tid, pid, name, NULL);
	add_number(s, tid, number);
	if (note(&s->processes, pid))
		add_process(s, pid);
}

/* ---- functions ---- */

/* Returns the row of the function that pc is in. The session answers "NAME+OFFSET", from which its
 * beginning follows. */
static int64_t function_of(struct dt_spool *s, uint64_t pc, uint32_t tid)
{
	struct dt_function_row row = {.address = pc, .file = "", .signature = ""};
	char request[64], *plus;
	int64_t id;

	dt_format(request, sizeof(request), "place %lx %u", (unsigned long)pc, tid);
	if (dt_client_ask(&s->names, request, NULL) < 0)
		return 0;
	plus = strrchr(s->names.text, '+');
	if (plus) {
		row.address -= strtoull(plus + 1, NULL, 16);
		*plus = '\0';
	}
	row.name = s->names.text;
	id = dt_store_function(s->store, &row, NULL);
	return id < 0 ? 0 : id;
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	unsigned values = dt_record_values(r);

	row->kind = r->kind == DT_ENTRY	  ? DT_SITE_ENTRY_JUMPS
		    : r->kind == DT_EXIT  ? DT_SITE_RETURN
		    : r->kind == DT_EVENT ? DT_SITE_EVENT
		    : r->kind == DT_POINT ? DT_SITE_POINT
					  : DT_SITE_UNKNOWN;
	row->values = (uint8_t)((1u << (values > 4 ? 4 : values)) - 1);
	row->function = function_of(ctx, r->pc, r->tid);
}

/* ---- records ---- */

static int put(struct dt_spool *s, const struct dt_record *r, size_t n, uint64_t lost,
	       struct dt_error *e)
{
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && r[end].core == r[i].core)
			end++;
		if (dt_store_put(s->store, r[i].core, r + i, end - i, i ? 0 : lost, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- waits ---- */

static int note_missed(struct dt_spool *s, unsigned long missed, unsigned long ns,
		       struct dt_error *e)
{
	char text[64];

	if (!missed && !s->held_gone)
		return 0;
	dt_format(text, sizeof(text), "%lu %lu", missed + (unsigned long)s->held_gone, ns);
	return dt_store_meta(s->store, "held_missed", text, e);
}

/* Writes the waits reported so far. Those that ended before the records just put have been reported
 * by now. */
static int put_held(struct dt_spool *s, struct dt_error *e)
{
	unsigned long begin, end, missed = 0, ns = 0;
	struct dt_held_row row;
	uint64_t gone;
	char why[16];

	if (s->no_held)
		return 0;
	if (dt_client_held(&s->names, &s->held, &gone, NULL) < 0) {
		s->no_held = true;
		return 0;
	}
	s->held_gone += gone;
	for (const char *line = s->names.text; *line; line += *line == '\n') {
		if (sscanf(line, "%u %lu %lu %15[a-z]", &row.tid, &begin, &end, why) == 4) {
			row.begin = begin;
			row.end = end;
			row.why = why;
			if (dt_store_held(s->store, &row, e) < 0)
				return -1;
		} else {
			sscanf(line, "missed %lu %lu", &missed, &ns);
		}
		line += strcspn(line, "\n");
	}
	return note_missed(s, missed, ns, e);
}

long dt_spool_write(struct dt_spool *s, uint64_t until, int ms, struct dt_error *e)
{
	uint64_t position = s->position, lost = 0;
	struct dt_record *r;
	long n;

	if (position >= until)
		return 0;
	n = dt_client_look(&s->records, BATCH, &position, ms, e);
	if (n < 0)
		return n;
	/* others have taken these, or there was no room for them. A lower position means that the
	 * log was begun anew */
	if (s->position && position > s->position)
		lost = position - s->position;
	r = (struct dt_record *)s->records.text;
	if (position + (uint64_t)n > until)
		n = position < until ? (long)(until - position) : 0;
	for (long i = 0; i < n; i++) {
		r[i] = dt_record_shown(&r[i]);
		if (!i || r[i].tid != r[i - 1].tid)
			add_thread(s, r[i].tid);
	}
	if (put(s, r, (size_t)n, lost, e) < 0)
		return -1;
	s->position = position + (uint64_t)n;
	if (n && put_held(s, e) < 0)
		return -1;
	return n;
}

/* ---- beginning and end ---- */

/* Notes a reading of the session's clocks. */
static int note_clock(struct dt_spool *s, struct dt_error *e)
{
	unsigned long tick, wall, per_second, mono;
	char text[32];
	int n;

	if (dt_client_ask(&s->names, "clock", e) < 0)
		return -1;
	n = sscanf(s->names.text, "%lu %lu %lu %lu", &tick, &wall, &per_second, &mono);
	if (n < 3)
		return dt_fail(e, "the session does not tell its clock");
	dt_format(text, sizeof(text), "%lu", per_second);
	if (dt_store_meta(s->store, "ticks_per_second", text, e) < 0)
		return -1;
	s->clocked = dt_now_ns();
	/* an older session tells no monotonic time */
	return dt_store_clock(s->store, tick, n > 3 ? mono : wall, wall, e);
}

static void free_all(struct dt_spool *s)
{
	dt_client_close(&s->records);
	dt_client_close(&s->names);
	free(s->threads.id);
	free(s->processes.id);
	free(s);
}

struct dt_spool *dt_spool_create(const char *session, const char *path, uint64_t from,
				 struct dt_error *e)
{
	struct dt_spool *s = calloc(1, sizeof(*s));

	if (!s) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	s->position = from;
	if (dt_client_open(&s->records, session, e) < 0)
		goto fail;
	if (dt_client_open(&s->names, session, e) < 0)
		goto fail_records;
	s->store = dt_store_create(path, describe, s, e);
	if (!s->store)
		goto fail_names;
	if (note_clock(s, e) == 0 && dt_store_flush(s->store, e) == 0)
		return s;
	dt_store_discard(s->store);
fail_names:
	dt_client_close(&s->names);
fail_records:
	dt_client_close(&s->records);
fail:
	free(s);
	return NULL;
}

int dt_spool_flush(struct dt_spool *s, struct dt_error *e)
{
	if (dt_now_ns() - s->clocked >= CLOCKS_APART && note_clock(s, e) < 0)
		return -1;
	return dt_store_flush(s->store, e);
}

int dt_spool_close(struct dt_spool *s, struct dt_error *e)
{
	int rc = dt_store_close(s->store, e);

	free_all(s);
	return rc;
}

void dt_spool_discard(struct dt_spool *s)
{
	dt_store_discard(s->store);
	free_all(s);
}
