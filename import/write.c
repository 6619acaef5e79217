/* SPDX-License-Identifier: MIT */
#include "import/write.h"

#include <stdlib.h>
#include <string.h>

#include "import/nest.h"

#define BATCH	 1024
#define TOP	 0x7ffff0000000ull /* stack pointer of a thread's first call */
#define STEP	 32u		   /* what a call takes of the stack, and a function of the code */
#define CODE	 0x400000000000ull
#define EVENTS	 0x500000000000ull
#define MESSAGES 0x600000000000ull
#define SWITCHES 0x700000000000ull
/* an address behind its beginning: of an entry's record, and of an exit's */
#define ENTRY	       8u
#define EXIT	       16u
#define LARGEST_NUMBER (1u << 30) /* of a thread or process, that is taken as it is */

struct writing {
	struct dt_imported *m;
	struct dt_store *s;
	struct dt_name_list files, subsystems;
	int64_t *file;	  /* row of each of `files' */
	uint32_t *number; /* of each thread, in the trace */
	int64_t shift;	  /* is added to times, so that the first one is 1 */
	int64_t last;	  /* ns of the last record */
	struct dt_error *e;
};

static const char *named(const struct dt_imported *m, const uint32_t *of, uint32_t n, uint32_t i)
{
	return i < n && of[i] ? m->names.at[of[i] - 1]->text : NULL;
}

/* ---- numbers of threads and processes ---- */

/* Returns the number that a text is, if it can be one of a thread; 0: it can not. */
static uint32_t as_number(const char *text)
{
	uint64_t v = 0;
	const char *s = text;

	for (; *s >= '0' && *s <= '9' && v < LARGEST_NUMBER; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	return *s || v >= LARGEST_NUMBER ? 0 : (uint32_t)v;
}

/* Describes a process; one whose text is no number, or 0, gets a number that no other has. */
static int put_process(struct writing *w, uint32_t i, uint32_t *pid, uint32_t *next)
{
	const struct dt_imported *m = w->m;
	const char *text = m->processes.at[i]->text;
	const char *called = named(m, m->process_name, m->process_names, i);

	*pid = as_number(text);
	if (!*pid)
		*pid = (*next)++;
	return dt_store_process(w->s, *pid, 0, "", called ? called : "", 1, w->e);
}

/* Describes a thread. Other tools number the threads of each process by themselves: one whose
 * number is another thread's already gets one that no other has. */
static int put_thread(struct writing *w, uint32_t i, const uint32_t *pid,
		      struct dt_name_list *taken, uint32_t *next)
{
	struct dt_imported *m = w->m;
	char *text = m->threads.at[i]->text, *tid = strchr(text, '\n') + 1;
	const char *called = named(m, m->thread_name, m->thread_names, i);
	uint32_t number = as_number(tid), before = taken->n;
	int64_t process;

	tid[-1] = '\0';
	process = dt_name_number(&m->processes, text, w->e);
	tid[-1] = '\n';
	if (process < 0 || dt_name_number(taken, tid, w->e) < 0)
		return -1;
	w->number[i] = number && taken->n > before ? number : (*next)++;
	if (dt_store_thread(w->s, w->number[i], pid[process],
			    called   ? called
			    : number ? ""
				     : tid,
			    w->e))
		return -1;
	return number && number != w->number[i] ? dt_store_again(w->s, w->number[i], number, w->e)
						: 0;
}

static int put_threads(struct writing *w)
{
	const struct dt_imported *m = w->m;
	struct dt_name_list taken = {0};
	uint32_t *pid = calloc(m->processes.n + 1, sizeof(*pid));
	uint32_t next = LARGEST_NUMBER; /* table again has numbers from there on */
	int rc = pid ? 0 : dt_fail(w->e, "out of memory");

	for (uint32_t i = 0; !rc && i < m->processes.n; i++)
		rc = put_process(w, i, &pid[i], &next);
	for (uint32_t i = 0; !rc && i < m->threads.n; i++)
		rc = put_thread(w, i, pid, &taken, &next);
	dt_name_list_free(&taken);
	free(pid);
	return rc;
}

/* ---- functions and events ---- */

/* Returns the row of a file's module; 0: there is none. */
static int64_t file_row(struct writing *w, const char *path)
{
	uint32_t before = w->files.n;
	int64_t i = *path ? dt_name_number(&w->files, path, w->e) : -1;

	if (i < 0)
		return 0;
	if (w->files.n > before) {
		int64_t *p = realloc(w->file, w->files.n * sizeof(*p));

		if (!p)
			return 0;
		w->file = p;
		p[i] = dt_store_module(
			w->s,
			&(struct dt_module_row){
				.path = path, .build_id = "", .low = CODE, .high = EVENTS},
			w->e);
	}
	return w->file[i] > 0 ? w->file[i] : 0;
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	struct writing *w = ctx;
	uint32_t number = (uint32_t)((r->pc - CODE) / STEP);
	const char *text, *called;
	char *path;

	row->values = 1;
	row->kind = DT_SITE_EVENT;
	if (r->kind != DT_ENTRY && r->kind != DT_EXIT) {
		row->values =
			r->flags & DT_NARGS ? (uint8_t)((1u << (r->flags & DT_NARGS)) - 1) : 0;
		return;
	}
	row->values = 0;
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY : DT_SITE_RETURN;
	text = w->m->functions.at[number]->text;
	called = strchr(text, '\n');
	path = strndup(text, (size_t)(called - text));
	row->function = dt_store_function(
		w->s,
		&(struct dt_function_row){.module = path ? file_row(w, path) : 0,
					  .address = CODE + (uint64_t)number * STEP,
					  .size = STEP,
					  .name = called + 1,
					  .file = "",
					  .signature = ";v"},
		w->e);
	if (row->function < 0)
		row->function = 0;
	free(path);
}

/* Gives an event its body: a subsystem for each category, and a number within all. */
static int name_events(struct writing *w)
{
	struct dt_imported *m = w->m;

	for (uint32_t i = 0; i < m->events.n && i < 65536; i++) {
		char *text = m->events.at[i]->text, *called = strchr(text, '\n');
		struct dt_event_row row = {.event = i, .name = called + 1, .description = ""};
		int64_t subsystem;

		*called = '\0';
		subsystem = dt_name_number(&w->subsystems, text, w->e);
		row.subsystem_name = text;
		row.subsystem = (uint32_t)subsystem;
		if (subsystem < 0 || dt_store_event(w->s, &row, w->e))
			return -1;
		*called = '\n';
	}
	return 0;
}

static uint64_t event_body(struct writing *w, uint32_t i, uint64_t argument)
{
	char *text = w->m->events.at[i]->text, *called = strchr(text, '\n');
	int64_t subsystem;

	*called = '\0';
	subsystem = dt_name_number(&w->subsystems, text, w->e);
	*called = '\n';
	return (uint64_t)(subsystem & 0xffff) << 48 | (uint64_t)i << 32 | (uint32_t)argument;
}

/* ---- records ---- */

/* Makes a record; false: there is none to be put. */
static bool make(struct writing *w, const struct dt_import_record *x, struct dt_record *r)
{
	*r = (struct dt_record){.ticks = (uint64_t)(x->ns + w->shift),
				.tid = w->number[x->thread],
				.core = DT_SHARED_CORE,
				.sp = TOP - (uint64_t)x->depth * STEP};
	switch (x->kind) {
	case DT_IMPORT_BEGIN:
	case DT_IMPORT_END:
		r->kind = x->kind == DT_IMPORT_BEGIN ? DT_ENTRY : DT_EXIT;
		r->pc = CODE + (uint64_t)x->name * STEP +
			(x->kind == DT_IMPORT_BEGIN ? ENTRY : EXIT);
		return true;
	case DT_IMPORT_EVENT:
		if (x->name >= 65536) {
			w->m->left[DT_LEFT_KINDS]++;
			w->m->others--;
			return false;
		}
		r->kind = DT_EVENT;
		r->flags = x->value > UINT32_MAX ? 2 : 1;
		/* the number is whole in one of the values */
		r->value[0] = event_body(w, x->name, r->flags == 2 ? 0 : x->value);
		r->value[1] = r->flags == 2 ? x->value : 0;
		r->pc = EVENTS + r->flags * STEP;
		return true;
	default:
		r->kind = x->kind == DT_IMPORT_SEND	 ? DT_SEND
			  : x->kind == DT_IMPORT_RECEIVE ? DT_RECEIVE
							 : DT_EVENT;
		r->flags = 1;
		r->value[0] = x->value;
		r->pc = MESSAGES + r->kind * STEP;
		return true;
	}
}

static int put_records(struct writing *w, const struct dt_import_records *from)
{
	struct dt_record *batch = malloc(BATCH * sizeof(*batch));
	size_t n = 0;
	int rc = batch ? 0 : dt_fail(w->e, "out of memory");

	for (size_t i = 0; !rc && i < from->n; i++) {
		const struct dt_import_record *x = &from->record[i];

		if (x->kind == DT_IMPORT_HELD)
			rc = dt_store_held(
				w->s,
				&(struct dt_held_row){.tid = w->number[x->thread],
						      .begin = (uint64_t)(x->ns + w->shift),
						      .end = x->value + (uint64_t)w->shift,
						      .why = "stop"},
				w->e);
		else
			n += make(w, x, &batch[n]);
		if (!rc && n == BATCH) {
			rc = dt_store_put(w->s, DT_SHARED_CORE, batch, n, 0, w->e);
			n = 0;
		}
	}
	if (!rc && n)
		rc = dt_store_put(w->s, DT_SHARED_CORE, batch, n, 0, w->e);
	free(batch);
	return rc;
}

static int by_core(const void *pa, const void *pb)
{
	const struct dt_import_switch *a = pa, *b = pb;

	if (a->core != b->core)
		return (a->core > b->core) - (a->core < b->core);
	return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns)
			      : (a->order > b->order) - (a->order < b->order);
}

/* Puts the switches, each core's into a ring of its own. */
static int put_switches(struct writing *w)
{
	struct dt_imported *m = w->m;
	struct dt_record *batch = malloc(BATCH * sizeof(*batch));
	size_t n = 0;
	int rc = batch ? 0 : dt_fail(w->e, "out of memory");

	if (m->changes)
		qsort(m->change, m->changes, sizeof(*m->change), by_core);
	for (size_t i = 0; !rc && i < m->changes; i++) {
		const struct dt_import_switch *x = &m->change[i];
		uint32_t to = x->to ? w->number[x->to - 1] : DT_NO_TID;
		uint32_t from = x->from ? w->number[x->from - 1] : DT_NO_TID;

		batch[n++] = (struct dt_record){
			.ticks = (uint64_t)(x->ns + w->shift),
			.pc = SWITCHES,
			.tid = to,
			.kind = DT_SWITCH,
			.flags = x->preempted ? 4 | DT_PREEMPTED : 4,
			.value = {to, 0, to == DT_NO_TID ? 0 : dt_store_pid(w->s, to),
				  from | (uint64_t)x->preempted << 32}};
		if (n == BATCH || i + 1 == m->changes || x[1].core != x->core) {
			rc = dt_store_put(w->s, x->core, batch, n, 0, w->e);
			n = 0;
		}
	}
	free(batch);
	m->others += m->changes;
	return rc;
}

/* Keeps in the file what was left out, a line for each kind, for who only has the file. */
static int put_left(struct writing *w, const char *format)
{
	char text[8192], origin[32];
	size_t n = 0;

	text[0] = '\0';
	dt_format(origin, sizeof(origin), "%ld", (long)(1 - w->shift));
	for (int i = 0; i < DT_LEFTS; i++) {
		if (!w->m->left[i])
			continue;
		n += dt_format(text + n, sizeof(text) - n, "%s", n ? "\n" : "");
		n += dt_format(text + n, sizeof(text) - n, dt_import_left_words(i),
			       (unsigned long)w->m->left[i]);
	}
	if (w->m->clock[0] && dt_store_meta(w->s, "imported_clock", w->m->clock, w->e))
		return -1;
	return dt_store_meta(w->s, "imported", format, w->e) ||
			       dt_store_meta(w->s, "imported_origin", origin, w->e) ||
			       (n && dt_store_meta(w->s, "imported_left", text, w->e))
		       ? -1
		       : 0;
}

static int64_t first_time(const struct dt_imported *m, const struct dt_import_records *r)
{
	int64_t first = r->n ? r->record[0].ns : INT64_MAX;

	for (size_t i = 0; i < m->changes; i++)
		first = m->change[i].ns < first ? m->change[i].ns : first;
	return first;
}

static int write_all(struct writing *w, const char *format, const char *from)
{
	struct dt_import_records records = {0};
	int rc = dt_import_nest(w->m, &records, w->e);

	if (!rc && !records.n && !w->m->changes)
		rc = dt_fail(w->e, "%s: there are no calls or events in it that can be imported",
			     from);
	if (!rc) {
		w->shift = 1 - first_time(w->m, &records);
		rc = put_threads(w) || name_events(w) || put_records(w, &records) ||
				     put_switches(w) || put_left(w, format)
			     ? -1
			     : 0;
	}
	free(records.record);
	return rc;
}

int dt_imported_write(struct dt_imported *m, const char *path, const char *format, const char *from,
		      struct dt_error *e)
{
	struct writing w = {.m = m, .e = e, .number = calloc(m->threads.n + 1, sizeof(*w.number))};
	int rc = w.number ? 0 : dt_fail(e, "out of memory");

	w.s = rc ? NULL : dt_store_create(path, describe, &w, e);
	if (!w.s) {
		rc = -1;
	} else if (write_all(&w, format, from)) {
		dt_store_discard(w.s);
		rc = -1;
	} else {
		rc = dt_store_close(w.s, e);
	}
	dt_name_list_free(&w.files);
	dt_name_list_free(&w.subsystems);
	free(w.file);
	free(w.number);
	return rc;
}
