/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's tracks. Each becomes a thread: that of a thread is that thread, any other one has a
 * stack of its own in its process. They may be described behind their events, so until all is read
 * the thread of an item is the number of its track.
 */
#include <stdio.h>

#include "import/perfetto-work.h"

#define OWN_TRACK 1 /* of keys: a sequence's, not a uuid */

static int64_t track_of(struct perfetto *k, uint64_t key, uint64_t own)
{
	int64_t number = dt_key_number(&k->tracks, key, own, k->e);
	struct track *p =
		number < 0 ? NULL : dt_key_room(k->track, &k->track_size, number, sizeof(*p), k->e);

	if (!p)
		return -1;
	k->track = p;
	return number;
}

int64_t dt_perfetto_track(struct perfetto *k, uint64_t uuid)
{
	return track_of(k, uuid, 0);
}

int64_t dt_perfetto_own_track(struct perfetto *k, uint64_t sequence)
{
	return track_of(k, sequence, OWN_TRACK);
}

/* Puts a number down as the file's text of it. */
static void as_text(char text[16], int32_t number)
{
	dt_format(text, 16, "%ld", (long)number);
}

static int name_process(struct perfetto *k, int32_t pid, struct dt_wire_bytes name)
{
	const char *text = name.n ? dt_perfetto_text(k, name) : "";
	char number[16];

	as_text(number, pid);
	return !text ? -1 : *text ? dt_imported_name_process(k->m, number, text, k->e) : 0;
}

static int describe_process(struct perfetto *k, struct track *t, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_bytes name = {.p = NULL}, line = {.p = NULL};
	struct dt_wire_field f;

	if (t->of != TRACK_THREAD)
		t->of = TRACK_PROCESS;
	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			t->pid = (int32_t)f.value;
		else if (f.key == DT_WIRE_TEXT(2) && !line.p)
			line = f.bytes;
		else if (f.key == DT_WIRE_TEXT(6))
			name = f.bytes;
	}
	return c.bad ? dt_perfetto_damaged(k) : name_process(k, t->pid, name.n ? name : line);
}

int dt_perfetto_take_thread(struct perfetto *k, int64_t track, struct dt_wire_bytes b)
{
	struct track *t = &k->track[track];
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_field f;

	t->of = TRACK_THREAD;
	t->known = true;
	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			t->pid = (int32_t)f.value;
		else if (f.key == DT_WIRE_NUMBER(2))
			t->tid = (int32_t)f.value;
		else if (f.key == DT_WIRE_TEXT(5) && f.bytes.n)
			t->name = dt_perfetto_name(k, f.bytes);
		else
			continue;
		if (f.key == DT_WIRE_TEXT(5) && f.bytes.n && !t->name)
			return -1;
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

static int describe_counter(struct perfetto *k, struct track *t, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(4))
			t->unit = (int64_t)f.value;
		else if (f.key == DT_WIRE_NUMBER(5))
			t->incremental = f.value;
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

int dt_perfetto_take_track(struct perfetto *k, struct dt_wire_bytes b)
{
	struct dt_wire_bytes name = {.p = NULL}, process = {.p = NULL}, thread = {.p = NULL},
			     counter = {.p = NULL};
	struct dt_cursor_bytes c = dt_wire_begin(b);
	uint64_t uuid = 0, parent = 0;
	struct dt_wire_field f;
	struct track *t;
	int64_t number;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			uuid = f.value;
		else if (f.key == DT_WIRE_TEXT(2) || f.key == DT_WIRE_TEXT(10) ||
			 f.key == DT_WIRE_TEXT(13))
			name = f.bytes;
		else if (f.key == DT_WIRE_TEXT(3))
			process = f.bytes;
		else if (f.key == DT_WIRE_TEXT(4))
			thread = f.bytes;
		else if (f.key == DT_WIRE_NUMBER(5))
			parent = f.value;
		else if (f.key == DT_WIRE_TEXT(8))
			counter = f.bytes;
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	number = dt_perfetto_track(k, uuid);
	if (number < 0)
		return -1;
	t = &k->track[number];
	t->known = true;
	if (parent && parent != uuid) {
		t->parent = parent;
		t->has_parent = true;
	}
	if ((process.p && describe_process(k, t, process)) ||
	    (thread.p && dt_perfetto_take_thread(k, number, thread)) ||
	    (counter.p && describe_counter(k, t, counter)))
		return -1;
	/* a thread's own name is the one that it has itself */
	if (!name.n || (t->of == TRACK_THREAD && t->name))
		return 0;
	t->name = dt_perfetto_name(k, name);
	return t->name ? 0 : -1;
}

/* ---- the tree of processes ---- */

static int tree_process(struct perfetto *k, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_bytes line = {.p = NULL};
	struct dt_wire_field f;
	int32_t pid = 0;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			pid = (int32_t)f.value;
		else if (f.key == DT_WIRE_TEXT(3) && !line.p)
			line = f.bytes;
	}
	return c.bad ? dt_perfetto_damaged(k) : name_process(k, pid, line);
}

static int tree_thread(struct perfetto *k, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_bytes name = {.p = NULL};
	struct dt_wire_field f;
	int32_t tid = 0, pid = 0;
	struct kernel_thread *t;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			tid = (int32_t)f.value;
		else if (f.key == DT_WIRE_TEXT(2))
			name = f.bytes;
		else if (f.key == DT_WIRE_NUMBER(3))
			pid = (int32_t)f.value;
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	t = dt_perfetto_kernel_thread(k, tid);
	if (!t)
		return -1;
	t->pid = pid;
	t->has_pid = true;
	if (name.n)
		t->name = dt_perfetto_name(k, name);
	return name.n && !t->name ? -1 : 0;
}

int dt_perfetto_tree(struct perfetto *k, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f))
		if (f.key == DT_WIRE_TEXT(1) ? tree_process(k, f.bytes)
					     : f.key == DT_WIRE_TEXT(2) && tree_thread(k, f.bytes))
			return -1;
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

/* ---- threads of tracks ---- */

/* Returns the nearest track around one that is of a process or a thread; NULL: there is none. */
static const struct track *around(const struct perfetto *k, const struct track *t)
{
	for (unsigned i = 0; i < TRACK_STEPS && t->has_parent; i++) {
		int64_t number = dt_key_find(&k->tracks, t->parent, 0);

		if (number < 0)
			return NULL;
		t = &k->track[number];
		if (t->of != TRACK_OTHER)
			return t;
	}
	return NULL;
}

static int place(struct perfetto *k, uint32_t number)
{
	struct track *t = &k->track[number];
	const struct track *in = t->of == TRACK_OTHER ? around(k, t) : t;
	char pid[16], own[32];
	int64_t thread;

	if (t->of == TRACK_THREAD) {
		struct kernel_thread *known = dt_perfetto_kernel_thread(k, t->tid);

		if (!known)
			return -1;
		if (!known->has_pid)
			known->pid = t->pid;
		known->has_pid = true;
		t->name = t->name ? t->name : known->name;
		thread = dt_imported_thread_of(k->m, t->pid, t->tid, k->e);
	} else {
		as_text(pid, in ? in->pid : 0);
		dt_format(own, sizeof(own), "track %lu", (unsigned long)number + 1);
		thread = dt_imported_thread(k->m, pid, own, k->e);
	}
	if (thread < 0)
		return -1;
	t->thread = (uint32_t)thread;
	return t->name ? dt_imported_name_thread(k->m, t->thread, k->m->names.at[t->name - 1]->text,
						 k->e)
		       : 0;
}

/* The values of a counter of a thread are events of that thread. */
static uint32_t thread_of(const struct perfetto *k, const struct dt_import_item *x)
{
	const struct track *t = &k->track[x->thread];

	if (x->kind == DT_IMPORT_EVENT && x->name == NAME_OF_TRACK && t->has_parent) {
		const struct track *in = around(k, t);

		if (in && in->of == TRACK_THREAD)
			return in->thread;
	}
	return t->thread;
}

int dt_perfetto_place(struct perfetto *k)
{
	bool *used = calloc(k->tracks.n + 1, sizeof(*used));
	int rc = used ? 0 : dt_fail(k->e, "out of memory");

	/* a track without an event is not shown, but for those of threads, which have names */
	for (size_t i = 0; !rc && i < k->m->n; i++)
		used[k->m->item[i].thread] = true;
	for (uint32_t i = 0; !rc && i < k->tracks.n; i++)
		if (used[i] || k->track[i].of == TRACK_THREAD)
			rc = place(k, i);
	free(used);
	for (size_t i = 0; !rc && i < k->m->n; i++) {
		struct dt_import_item *x = &k->m->item[i];
		const struct track *t = &k->track[x->thread];

		if (x->kind == DT_IMPORT_EVENT && x->name == NAME_OF_TRACK) {
			int64_t name = dt_name_pair(
				&k->m->events,
				t->category ? k->m->names.at[t->category - 1]->text : "counter",
				t->name ? k->m->names.at[t->name - 1]->text : "(no name)", k->e);

			rc = name < 0 ? -1 : 0;
			x->thread = thread_of(k, x);
			x->name = (uint32_t)name;
		} else {
			x->thread = t->thread;
		}
	}
	return rc;
}
