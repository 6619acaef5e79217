/* SPDX-License-Identifier: MIT */
/* Perfetto's bundles of the kernel's events, of one core each: switches are taken. */
#include "import/perfetto-work.h"

#include "core/record.h"

#define LATEST	      ((uint64_t)1 << 61)
#define CORE_UNKNOWN  DT_IMPORT_CORES
#define STATE_RUNNING 0 /* of the thread that leaves: it could have gone on */

struct kernel_thread *dt_perfetto_kernel_thread(struct perfetto *k, int32_t tid)
{
	int64_t number = dt_key_number(&k->tids, (uint64_t)(int64_t)tid, 0, k->e);
	struct kernel_thread *p =
		number < 0 ? NULL : dt_key_room(k->known, &k->known_size, number, sizeof(*p), k->e);

	if (!p)
		return NULL;
	k->known = p;
	p[number].tid = tid;
	return &p[number];
}

/* Notes a switch, for now with numbers of `tids' + 1 as its threads. */
static int put(struct perfetto *k, uint16_t core, uint64_t ns, int32_t from, int32_t to,
	       int64_t state)
{
	struct dt_import_switch x = {.ns = (int64_t)ns, .core = core};

	if (ns > LATEST) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	if ((from && !dt_perfetto_kernel_thread(k, from)) ||
	    (to && !dt_perfetto_kernel_thread(k, to)))
		return -1;
	if (from)
		x.from = (uint32_t)dt_key_find(&k->tids, (uint64_t)(int64_t)from, 0) + 1;
	if (to)
		x.to = (uint32_t)dt_key_find(&k->tids, (uint64_t)(int64_t)to, 0) + 1;
	x.preempted = from && state == STATE_RUNNING;
	if (core < DT_IMPORT_CORES) {
		struct running *p =
			dt_key_room(k->running, &k->running_size, core, sizeof(*p), k->e);

		if (!p)
			return -1;
		k->running = p;
		p[core].tid = to;
	}
	return dt_imported_switch(k->m, &x, k->e);
}

static int name_thread(struct perfetto *k, int32_t tid, struct dt_wire_bytes name)
{
	struct kernel_thread *t = tid && name.n ? dt_perfetto_kernel_thread(k, tid) : NULL;

	if (!tid || !name.n)
		return 0;
	if (!t)
		return -1;
	t->name = dt_perfetto_name(k, name);
	return t->name ? 0 : -1;
}

static int take_switch(struct perfetto *k, uint16_t core, uint64_t ns, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_bytes from_name = {.p = NULL}, to_name = {.p = NULL};
	int32_t from = 0, to = 0;
	struct dt_wire_field f;
	int64_t state = 0;

	while (dt_wire_next(&c, &f)) {
		switch (f.key) {
		case DT_WIRE_TEXT(1):
			from_name = f.bytes;
			break;
		case DT_WIRE_NUMBER(2):
			from = (int32_t)f.value;
			break;
		case DT_WIRE_NUMBER(4):
			state = (int64_t)f.value;
			break;
		case DT_WIRE_TEXT(5):
			to_name = f.bytes;
			break;
		case DT_WIRE_NUMBER(6):
			to = (int32_t)f.value;
			break;
		}
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	return name_thread(k, from, from_name) || name_thread(k, to, to_name) ||
			       put(k, core, ns, from, to, state)
		       ? -1
		       : 0;
}

static int take_event(struct perfetto *k, uint16_t core, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_bytes change = {.p = NULL};
	struct dt_wire_field f;
	uint64_t ns = UINT64_MAX;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			ns = f.value;
		else if (f.key == DT_WIRE_TEXT(4))
			change = f.bytes;
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	if (change.p)
		return take_switch(k, core, ns, change);
	k->m->left[DT_LEFT_KERNEL]++;
	return 0;
}

/*
 * Takes switches that are stored as columns: the time since the last one, the state of the thread
 * that left, the number of the one that came, and which of the names is its. The thread that left
 * is the one that came before on that core.
 */
static int take_columns(struct perfetto *k, uint16_t core, struct dt_wire_bytes b)
{
	enum { NAMES = 4096 };
	struct dt_cursor_bytes c = dt_wire_begin(b), time = {0}, state = {0}, to = {0}, name = {0};
	struct dt_wire_bytes text[NAMES];
	struct dt_wire_field f;
	uint64_t ns = 0, waking = 0;
	unsigned n = 0;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_TEXT(1))
			time = dt_wire_begin(f.bytes);
		else if (f.key == DT_WIRE_TEXT(2))
			state = dt_wire_begin(f.bytes);
		else if (f.key == DT_WIRE_TEXT(3))
			to = dt_wire_begin(f.bytes);
		else if (f.key == DT_WIRE_TEXT(5) && n < NAMES)
			text[n++] = f.bytes;
		else if (f.key == DT_WIRE_TEXT(6))
			name = dt_wire_begin(f.bytes);
		else if (f.key == DT_WIRE_TEXT(7)) /* times of wakings */
			for (size_t i = 0; i < f.bytes.n; i++)
				waking += !(f.bytes.p[i] & 0x80);
	}
	k->m->left[DT_LEFT_KERNEL] += waking;
	while (!c.bad && time.p != time.end) {
		int32_t from = core < k->running_size ? k->running[core].tid : 0, next;
		int64_t was;
		uint64_t called;

		ns += dt_get_varint(&time);
		was = (int64_t)dt_get_varint(&state);
		next = (int32_t)dt_get_varint(&to);
		called = dt_get_varint(&name);
		c.bad = time.bad || state.bad || to.bad || name.bad;
		if (c.bad)
			break;
		if ((called < n && name_thread(k, next, text[called])) ||
		    put(k, core, ns, from, next, was))
			return -1;
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

int dt_perfetto_bundle(struct perfetto *k)
{
	struct dt_cursor_bytes c = dt_wire_begin(k->packet.bundle);
	uint16_t core = CORE_UNKNOWN;
	uint64_t events = 0;
	bool other_clock = false;
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(1))
			core = f.value < DT_IMPORT_CORES ? (uint16_t)f.value : CORE_UNKNOWN;
		else if (f.key == DT_WIRE_NUMBER(3))
			k->m->left[DT_LEFT_LOST] += f.value != 0;
		else if (f.key == DT_WIRE_NUMBER(5))
			other_clock = f.value;
		else if (f.key == DT_WIRE_TEXT(2) || f.key == DT_WIRE_TEXT(4))
			events++;
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	/* these times are of the clock since boot */
	if (!k->trace_clock)
		k->trace_clock = CLOCK_BOOTTIME;
	if (other_clock || k->trace_clock != CLOCK_BOOTTIME) {
		k->m->left[DT_LEFT_NO_CLOCK] += events;
		return 0;
	}
	c = dt_wire_begin(k->packet.bundle);
	while (dt_wire_next(&c, &f))
		if (f.key == DT_WIRE_TEXT(2)
			    ? take_event(k, core, f.bytes)
			    : f.key == DT_WIRE_TEXT(4) && take_columns(k, core, f.bytes))
			return -1;
	return 0;
}

/* Returns the thread of a number of `tids', + 1. One whose process no packet names is of a process
 * that is not known, as global tracks are. -1: error. */
static int64_t thread_of(struct perfetto *k, uint32_t number)
{
	const struct kernel_thread *t = &k->known[number - 1];
	int64_t thread = dt_imported_thread_of(k->m, t->pid, t->tid, k->e);
	const char *name = t->name ? k->m->names.at[t->name - 1]->text : "";

	if (thread < 0)
		return -1;
	/* the name that a track has is the one that its program gave it */
	if (*name && !dt_imported_thread_is_named(k->m, (uint32_t)thread) &&
	    dt_imported_name_thread(k->m, (uint32_t)thread, name, k->e))
		return -1;
	return thread + 1;
}

int dt_perfetto_switches(struct perfetto *k)
{
	for (size_t i = 0; i < k->m->changes; i++) {
		struct dt_import_switch *x = &k->m->change[i];
		int64_t to = x->to ? thread_of(k, x->to) : 0,
			from = x->from ? thread_of(k, x->from) : 0;

		if (to < 0 || from < 0)
			return -1;
		x->to = (uint32_t)to;
		x->from = (uint32_t)from;
	}
	return 0;
}
