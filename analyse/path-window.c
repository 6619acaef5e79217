/* SPDX-License-Identifier: MIT */
/* Reading what threads did in a range of time: their waits, who woke them, what they received. */
#include "analyse/path-work.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/messages.h"
#include "analyse/pair.h"
#include "core/search.h"

struct reading {
	struct dt_path_window *w;
	struct dt_pair *pair;
	struct dt_messages *messages;
	struct dt_path_objects objects;
	bool seated[DT_FURTHER_CORES]; /* who runs on the core has been told */
	uint64_t last;
};

/* ---- threads ---- */

static struct dt_path_thread *place_of(struct dt_path_thread *all, size_t room, uint32_t tid)
{
	size_t i = (tid * 2654435761u) & (room - 1);

	while (all[i].tid && all[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &all[i];
}

struct dt_path_thread *dt_path_thread(const struct dt_path_window *w, uint32_t tid)
{
	struct dt_path_thread *t =
		w->threads_room && tid ? place_of(w->thread, w->threads_room, tid) : NULL;

	return t && t->tid ? t : NULL;
}

static bool make_room(struct dt_path_window *w)
{
	size_t room = w->threads_room ? 2 * w->threads_room : 64;
	struct dt_path_thread *more = calloc(room, sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < w->threads_room; i++)
		if (w->thread[i].tid)
			*place_of(more, room, w->thread[i].tid) = w->thread[i];
	free(w->thread);
	w->thread = more;
	w->threads_room = room;
	return true;
}

/* Returns what is known of a thread, which is made if it is new; NULL: out of memory. */
static struct dt_path_thread *thread_of(struct dt_path_window *w, uint32_t tid)
{
	const struct dt_thread_info *info;
	struct dt_path_thread *t;

	if (2 * w->threads >= w->threads_room && !make_room(w)) {
		w->no_memory = true;
		return NULL;
	}
	t = place_of(w->thread, w->threads_room, tid);
	if (t->tid)
		return t;
	info = dt_reader_thread(w->reader, tid);
	*t = (struct dt_path_thread){.tid = tid, .pid = info ? info->pid : 0};
	w->threads++;
	return t;
}

/* ---- records ---- */

static void add_wait(struct dt_path_window *w, const struct dt_path_wait *wait)
{
	if (w->waits == w->waits_room) {
		size_t room = w->waits_room ? 2 * w->waits_room : 256;
		struct dt_path_wait *more;

		w->too_many |= w->waits >= DT_PATH_WAITS_MOST;
		more = w->too_many ? NULL : realloc(w->wait, room * sizeof(*more));
		w->no_memory |= !more;
		if (!more)
			return;
		w->wait = more;
		w->waits_room = room;
	}
	w->wait[w->waits++] = *wait;
}

static void add_edge(struct dt_path_window *w, const struct dt_path_edge *edge)
{
	if (w->edges == w->edges_room) {
		size_t room = w->edges_room ? 2 * w->edges_room : 256;
		struct dt_path_edge *more = NULL;

		w->too_many |= w->edges >= DT_PATH_WAITS_MOST;
		more = w->too_many ? NULL : realloc(w->edge, room * sizeof(*more));
		w->no_memory |= !more;
		if (!more)
			return;
		w->edge = more;
		w->edges_room = room;
	}
	w->edge[w->edges++] = *edge;
}

/* Takes note of a call by which others may go on. */
static void on_begin(void *ctx, const struct dt_call *c)
{
	struct reading *k = ctx;
	struct dt_path_window *w = k->w;
	enum dt_path_link link = dt_path_objects_released(&k->objects, w->reader, c);
	const struct dt_path_thread *t;

	if (link == DT_PATH_SAME || c->tid == DT_NO_TID || !(t = thread_of(w, c->tid)) || !t->pid)
		return;
	if (w->releases == w->releases_room) {
		size_t room = w->releases_room ? 2 * w->releases_room : 256;
		struct dt_path_release *more = NULL;

		w->too_many |= w->releases >= DT_PATH_WAITS_MOST;
		more = w->too_many ? NULL : realloc(w->release, room * sizeof(*more));
		w->no_memory |= !more;
		if (!more)
			return;
		w->release = more;
		w->releases_room = room;
	}
	w->release[w->releases++] =
		(struct dt_path_release){c->argument[0], c->begin, t->pid, c->tid, (uint8_t)link};
}

static void on_end(void *ctx, const struct dt_call *c)
{
	(void)ctx, (void)c;
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *what, const struct dt_wait_ended *ended)
{
	struct reading *k = ctx;
	struct dt_path_wait wait = {.begin = ended->left,
				    .end = end,
				    .tid = tid,
				    .preempted = preempted,
				    .waker = ended->number};

	(void)begin, (void)what;
	dt_path_objects_waited(&k->objects, k->w->reader, c, wait.object);
	wait.woken = ended->number ? end - ended->queued : 0;
	add_wait(k->w, &wait);
}

static void on_waiting(void *ctx, uint32_t tid, uint64_t left, bool preempted)
{
	struct reading *k = ctx;

	add_wait(k->w, &(struct dt_path_wait){.begin = left,
					      .end = DT_PATH_FOR_EVER,
					      .tid = tid,
					      .preempted = preempted});
}

static void on_message(void *ctx, const struct dt_message *m)
{
	struct reading *k = ctx;

	if (m->state == DT_MESSAGE_WHOLE && m->sender != DT_NO_TID && m->receiver != DT_NO_TID)
		add_edge(k->w, &(struct dt_path_edge){m->sender, m->receiver, m->sent, m->received,
						      DT_PATH_SENT});
}

static void on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	struct reading *k = ctx;

	(void)tid, (void)lost, (void)begin;
	dt_messages_lost(k->messages, end ? end : k->last);
}

/* Takes note of who wakes a thread that has not been seen to run yet. */
static void take_wake(struct dt_path_window *w, const struct dt_span *s, uint32_t i)
{
	struct dt_path_thread *t = thread_of(w, s->tid);
	const struct dt_waker *waker;
	uint32_t number = DT_WAKER_OF(s->sp[i]);

	if (!t || t->first)
		return;
	waker = dt_wakers_row(&w->texts->wakers, w->reader, number);
	/* who was made is not woken by anybody else before it runs */
	if (t->made)
		return;
	t->waker = waker ? number : 0;
	t->woken = s->ticks[i];
	t->made = waker && waker->made;
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct reading *k = ctx;
	uint8_t kind = dt_reader_site(k->w->reader, s->site[i])->kind;
	struct dt_path_thread *t;
	uint32_t left;

	(void)depth;
	if (kind == DT_WAKE && s->tid != DT_NO_TID) {
		take_wake(k->w, s, i);
	} else if (kind == DT_SWITCH && s->value) {
		left = (uint32_t)s->value[i][3];
		t = left && left != DT_NO_TID && left != s->tid ? thread_of(k->w, left) : NULL;
		if (t && !t->first)
			t->first = t->last = s->ticks[i];
	} else if ((kind == DT_SEND || kind == DT_RECEIVE) && s->value) {
		dt_messages_record(k->messages, kind, s->value[i][0], s->ticks[i], s->tid,
				   dt_span_core(s, i));
	}
}

/* Takes note of when a thread was seen, before pairing handles its records; and of who runs on the
 * core, if no switch has told so. */
static void look_at(struct reading *k, const struct dt_span *s)
{
	const struct dt_reader *r = k->w->reader;
	struct dt_path_thread *t;
	uint32_t i = 0, left;
	uint8_t kind = 0;

	for (; i < s->n; i++) {
		kind = dt_reader_site(r, s->site[i])->kind;
		if (kind != DT_WAKE && kind != DT_RUNDOWN)
			break;
	}
	if (i == s->n)
		return;
	if (s->core < DT_FURTHER_CORES && !k->seated[s->core]) {
		left = kind != DT_SWITCH ? s->tid : s->value ? (uint32_t)s->value[i][3] : 0;
		if (left && left != DT_NO_TID)
			dt_pair_seat(k->pair, s->core, left);
		k->seated[s->core] = true;
	}
	t = s->tid == DT_NO_TID ? NULL : thread_of(k->w, s->tid);
	if (!t)
		return;
	if (!t->first) {
		t->first = s->ticks[i];
		t->came = kind == DT_SWITCH;
	}
	if (s->ticks[s->n - 1] > t->last)
		t->last = s->ticks[s->n - 1];
}

/* ---- afterwards ---- */

static int by_thread(const void *a, const void *b)
{
	const struct dt_path_wait *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_receiver(const void *a, const void *b)
{
	const struct dt_path_edge *x = a, *y = b;

	if (x->receiver != y->receiver)
		return x->receiver < y->receiver ? -1 : 1;
	return x->received < y->received ? -1 : x->received > y->received;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	if (*x != *y)
		return *x < *y ? -1 : 1;
	return x[1] < y[1] ? -1 : x[1] > y[1];
}

static int by_object(const void *a, const void *b)
{
	const struct dt_path_release *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/* Sorts what was read, so that each thread finds its own. */
static void sort(struct dt_path_window *w)
{
	for (size_t i = 0; i < w->threads_room; i++) {
		struct dt_path_thread *t = &w->thread[i];

		if (t->tid && t->first && t->came && !t->made)
			add_wait(w, &(struct dt_path_wait){.begin = w->from,
							   .end = t->first,
							   .tid = t->tid,
							   .waker = t->waker,
							   .woken = t->woken,
							   .open = true});
	}
	if (w->waits)
		qsort(w->wait, w->waits, sizeof(*w->wait), by_thread);
	if (w->edges)
		qsort(w->edge, w->edges, sizeof(*w->edge), by_receiver);
	if (w->releases)
		qsort(w->release, w->releases, sizeof(*w->release), by_object);
	for (size_t i = 0, n; i < w->waits; i += n) {
		struct dt_path_thread *t = thread_of(w, w->wait[i].tid);

		for (n = 1; i + n < w->waits && w->wait[i + n].tid == w->wait[i].tid;)
			n++;
		if (t) {
			t->wait = i;
			t->waits = n;
		}
	}
	for (size_t i = 0, n; i < w->edges; i += n) {
		struct dt_path_thread *t = dt_path_thread(w, w->edge[i].receiver);

		for (n = 1; i + n < w->edges && w->edge[i + n].receiver == w->edge[i].receiver;)
			n++;
		if (t) {
			t->edge = i;
			t->edges = n;
		}
	}
}

static bool number_threads(struct dt_path_window *w)
{
	const struct dt_thread_info *t = dt_reader_threads(w->reader, &w->numbers);

	w->number = malloc((w->numbers + 1) * sizeof(*w->number));
	if (!w->number)
		return false;
	for (size_t i = 0; i < w->numbers; i++) {
		w->number[i][0] = dt_reader_number(w->reader, t[i].tid);
		w->number[i][1] = t[i].tid;
	}
	if (w->numbers)
		qsort(w->number, w->numbers, sizeof(*w->number), by_number);
	return true;
}

/* Reads the records of the range. */
static int read_records(struct reading *k, struct dt_error *e)
{
	struct dt_path_window *w = k->w;
	struct dt_reader_range range = {
		.order = DT_BY_TIME, .values = true, .from = w->from, .to = w->to};
	struct dt_span s;
	int rc = dt_reader_start(w->reader, &range, e);

	while (!rc && (rc = dt_reader_next(w->reader, &s, e)) > 0) {
		if (s.n) {
			look_at(k, &s);
			k->last = s.ticks[0];
		}
		rc = dt_pair_span(k->pair, &s);
		if (w->too_many)
			return dt_fail(
				e,
				"there are more than %u waits, or calls that end some, in this time: take a "
				"shorter one, with --from and --to",
				DT_PATH_WAITS_MOST);
		if (rc || w->no_memory)
			return dt_fail(e, "out of memory");
	}
	if (rc < 0)
		return -1;
	dt_messages_finish(k->messages, k->last);
	dt_pair_each_waiting(k->pair, on_waiting, k);
	return 0;
}

int dt_path_window_read(struct dt_path_window *w, const struct dt_path_edge *edge, size_t edges,
			struct dt_error *e)
{
	double ns = dt_reader_ns_per_tick(w->reader);
	struct reading *k = calloc(1, sizeof(*k));
	struct dt_pair_events events = {.begin = on_begin,
					.end = on_end,
					.other = on_other,
					.wait = on_wait,
					.loss = on_loss,
					.ctx = k};
	int rc = -1;

	if (!k)
		return dt_fail(e, "out of memory");
	k->w = w;
	k->pair = dt_pair_new(w->reader, &events, true);
	k->messages = dt_messages_new((uint64_t)(DT_MESSAGE_AHEAD_NS / ns), on_message, k);
	for (size_t i = 0; i < edges; i++)
		if (edge[i].received >= w->from && edge[i].received <= w->to)
			add_edge(w, &edge[i]);
	if (!k->pair || !k->messages || w->no_memory || dt_hosts_load(&w->hosts, w->reader) ||
	    dt_lost_switches_load(&w->lost, w->reader))
		dt_fail(e, "out of memory");
	else if (!w->texts->waited.loaded && dt_waited_load(&w->texts->waited, w->reader, e) < 0)
		rc = -1;
	else
		rc = read_records(k, e);
	/* brings them into order */
	dt_lost_switches_between(&w->lost, w->from, w->to);
	if (!rc) {
		sort(w);
		if (w->no_memory || !number_threads(w))
			rc = dt_fail(e, "out of memory");
	}
	if (k->pair)
		dt_pair_free(k->pair);
	if (k->messages)
		dt_messages_free(k->messages);
	free(k->objects.role);
	free(k);
	return rc;
}

void dt_path_window_free(struct dt_path_window *w)
{
	free(w->wait);
	free(w->edge);
	free(w->release);
	free(w->thread);
	free(w->number);
	dt_lost_switches_free(&w->lost);
	if (w->has_stacks)
		dt_backtraces_free(&w->stacks);
	dt_hosts_free(&w->hosts);
}

/* ---- asking ---- */

const struct dt_path_wait *dt_path_wait_at(const struct dt_path_window *w,
					   const struct dt_path_thread *t, uint64_t at)
{
	const struct dt_path_wait *all = t->waits ? &w->wait[t->wait] : NULL;
	size_t i = dt_count_before(t->waits, k, all[k].end < at);

	return i < t->waits && all[i].begin < at ? &all[i] : NULL;
}

uint64_t dt_path_back(const struct dt_path_window *w, const struct dt_path_thread *t, uint64_t at)
{
	const struct dt_path_wait *all = t->waits ? &w->wait[t->wait] : NULL;
	size_t i = dt_count_before(t->waits, k, all[k].end < at);

	return i ? all[i - 1].end : 0;
}
