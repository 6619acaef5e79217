/* SPDX-License-Identifier: MIT */
/* Making bars from records. */
#include "analyse/feed.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/first.h"
#include "analyse/snapshot.h"
#include "core/search.h"
#include "store/varint.h"

#define CORES 65536

/* The thread that runs on a core, as far as is known. */
struct run {
	uint32_t tid; /* DT_NO_TID: none is known */
	bool open;
	uint64_t begin, last;
};

struct dt_feed {
	struct dt_reader *reader;
	struct dt_feed_to to;
	struct dt_filter *filter; /* NULL: none */
	struct dt_pair *pair;
	struct dt_messages *messages; /* NULL: the trace has none */
	uint64_t *lost;		      /* ticks of losses, ascending; set with messages */
	size_t losses;
	uint64_t message_ticks; /* ticks of the last message's record */
	const struct dt_span *span;
	bool switches, no_memory;
	uint32_t *point;      /* by function row: the result of point_of(); 0: not asked yet */
	uint32_t points;      /* room in point */
	struct dt_first same; /* rows of functions; those up to `looked' are in it */
	uint32_t looked;
	uint64_t last_ticks;
	unsigned cores; /* highest core on which something ran, plus one */
	struct run run[CORES];
};

/* ---- calls ---- */

/* The parts of an open call's note: the core where it began, plus one; and whether the filter wants
 * the call by what was known at its beginning, which a snapshot does not have in full. */
#define NOTE_CORE   ((1u << DT_FEED_NOTE) - 1)
#define NOTE_WANTED 0x80000000u
_Static_assert(DT_FEED_NOTE + DT_FEED_NOTE_BITS == 31, "see feed.h");
/* Of a feed with a filter the user's bits hold the filter's DT_AROUND_*. */
#define NOTE_AROUND(note) ((note) >> DT_FEED_NOTE & DT_AROUND_ALL)

/* Returns the filter's bits of the call that the one of the event is in. */
static uint32_t around(const struct dt_feed *f)
{
	const uint32_t *caller = dt_pair_caller_note(f->pair);

	return caller ? NOTE_AROUND(*caller) : dt_filter_nobody(f->filter);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	const struct dt_feed *f = ctx;

	if (!c->note)
		return;
	*c->note = dt_reader_ring_core(f->reader, f->span->core) + 1u;
	if (f->filter) {
		uint32_t caller = around(f);

		*c->note |= dt_filter_around(f->filter, caller, c->function) << DT_FEED_NOTE;
		if (dt_filter_begin(f->filter, c, caller))
			*c->note |= NOTE_WANTED;
	}
	if (f->to.ways) {
		const uint32_t *caller = dt_pair_caller_note(f->pair);

		c->note[1] =
			dt_ways_node(f->to.ways, caller ? caller[1] : DT_WAYS_TOP, c->function);
	}
	if (f->to.begin)
		f->to.begin(f->to.ctx, c);
}

static bool is_wanted(const struct dt_feed *f, const struct dt_call *c, uint16_t core)
{
	return !f->filter ||
	       ((c->note ? *c->note & NOTE_WANTED : dt_filter_begin(f->filter, c, around(f))) &&
		dt_filter_place(f->filter, core, c->tid) && dt_filter_end(f->filter, c));
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct dt_feed *f = ctx;
	uint64_t length = dt_call_ticks(c);
	uint32_t id = c->tid, core = f->span ? dt_reader_ring_core(f->reader, f->span->core) : 0;

	if (c->note && *c->note & NOTE_CORE)
		core = (*c->note & NOTE_CORE) - 1;
	if (!is_wanted(f, c, (uint16_t)core))
		return;
	if (f->to.call)
		f->to.call(f->to.ctx, c);
	if (id == DT_NO_TID)
		id = DT_TRACK_NOBODY(core);
	f->to.bar(f->to.ctx, DT_TRACK_THREAD, id,
		  &(struct dt_bar){.begin = c->begin,
				   .end = c->end,
				   .count = 1,
				   .busy = length,
				   .most = length,
				   .what = c->function,
				   .flags = c->flags,
				   .depth = c->depth});
}

/* ---- cores ---- */

static void end_run(struct dt_feed *f, unsigned core, uint64_t end)
{
	struct run *r = &f->run[core];

	if (r->open && r->tid != DT_NO_TID &&
	    (!f->filter || (dt_filter_place(f->filter, (uint16_t)core, r->tid) &&
			    dt_filter_time(f->filter, end - r->begin))))
		f->to.bar(f->to.ctx, DT_TRACK_CORE, core,
			  &(struct dt_bar){.begin = r->begin,
					   .end = end,
					   .count = 1,
					   .busy = end - r->begin,
					   .most = end - r->begin,
					   .what = r->tid,
					   .flags = f->switches ? 0 : DT_BAR_SEEN});
	r->open = false;
}

static void begin_run(struct dt_feed *f, unsigned core, uint32_t tid, uint64_t ticks)
{
	f->run[core] = (struct run){tid, true, ticks, ticks};
	if (core >= f->cores)
		f->cores = core + 1;
}

/* Ends the runs of a thread on other cores, as it is on this one: they last until its last record
 * there. */
static void leave_others(struct dt_feed *f, unsigned core, uint32_t tid)
{
	for (unsigned i = 0; i < f->cores; i++)
		if (i != core && f->run[i].open && f->run[i].tid == tid)
			end_run(f, i, f->run[i].last);
}

/*
 * Begins to use switches, when the first one comes: the runs that were concluded from records end.
 */
static void begin_switches(struct dt_feed *f)
{
	for (unsigned core = 0; core < f->cores; core++)
		end_run(f, core, f->run[core].last);
	f->switches = true;
}

/* Without switches: takes the thread that records on a core as the one that runs there. */
static void see(struct dt_feed *f, unsigned core, uint32_t tid, uint64_t first, uint64_t last)
{
	struct run *r = &f->run[core];

	if (tid == DT_NO_TID)
		return;
	if (!r->open || r->tid != tid) {
		end_run(f, core, r->last);
		leave_others(f, core, tid);
		begin_run(f, core, tid, first);
	}
	r->last = last;
}

static void see_cores(struct dt_feed *f, const struct dt_span *s)
{
	if (s->core < DT_FURTHER_CORES) {
		see(f, s->core, s->tid, s->ticks[0], s->ticks[s->n - 1]);
		return;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (s->record_core[i] != DT_SHARED_CORE)
			see(f, s->record_core[i], s->tid, s->ticks[i], s->ticks[i]);
}

/* ---- messages ---- */

/* Makes a bar of a message. One whose other end is not known has none: the event of its one end
 * shows it. */
static void on_message(void *ctx, const struct dt_message *m)
{
	struct dt_feed *f = ctx;
	uint64_t begin = m->state == DT_MESSAGE_WHOLE ? m->sent : m->received;

	if (m->state > DT_MESSAGE_BACKWARD)
		return;
	if (f->filter && (!dt_filter_event(f->filter, DT_SEND, m->key) ||
			  (!dt_filter_place(f->filter, m->sent_core, m->sender) &&
			   !dt_filter_place(f->filter, m->received_core, m->receiver))))
		return;
	f->to.bar(f->to.ctx, DT_TRACK_MESSAGE, m->state,
		  &(struct dt_bar){.begin = begin,
				   .end = m->known,
				   .count = 1,
				   .busy = m->known - begin,
				   .most = m->known - begin,
				   .low = m->key,
				   .high = dt_other_end(m),
				   .what = m->sender});
}

/* Returns whether anything was lost after the first time, and not after the second. */
static bool lost_between(const struct dt_feed *f, uint64_t after, uint64_t until)
{
	size_t low = dt_count_before(f->losses, i, f->lost[i] <= after);

	return low < f->losses && f->lost[low] <= until;
}

/* Makes a place before the i-th. The array's room is a power of two less one, at least. */
static int add_loss_at(struct dt_feed *f, size_t i)
{
	uint64_t *more = f->losses & (f->losses + 1)
				 ? f->lost
				 : realloc(f->lost, 2 * (f->losses + 1) * sizeof(*more));

	if (!more)
		return -1;
	f->lost = more;
	memmove(f->lost + i + 1, f->lost + i, (f->losses - i) * sizeof(*more));
	f->losses++;
	return 0;
}

/* Adds a loss that a span has. Most are known already, since begin_messages() takes all that the
 * file has; those of a trace that grows come in order. */
static int on_loss(struct dt_feed *f, uint64_t at)
{
	size_t low = dt_count_before(f->losses, i, f->lost[i] < at);

	if (low < f->losses && f->lost[low] == at)
		return 0;
	if (add_loss_at(f, low) < 0)
		return -1;
	f->lost[low] = at;
	return 0;
}

/* Adds a loss that the file has: they come by core, and a file may say anything, so they are sorted
 * afterwards. */
static int on_known_loss(void *ctx, const struct dt_lost *lost)
{
	struct dt_feed *f = ctx;

	if (!lost->others)
		return 0;
	if (add_loss_at(f, f->losses) < 0)
		return -1;
	f->lost[f->losses - 1] = lost->end ? lost->end : lost->begin;
	return 0;
}

static int by_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Begins the pairing of messages when the first one comes: a trace that is still being recorded may
 * have none at first. */
static int begin_messages(struct dt_feed *f)
{
	uint64_t ahead = (uint64_t)(DT_MESSAGE_AHEAD_NS / dt_reader_ns_per_tick(f->reader));
	size_t n = 0;

	f->messages = dt_messages_new(ahead, on_message, f);
	if (!f->messages || dt_reader_losses(f->reader, on_known_loss, f))
		return -1;
	if (f->losses)
		qsort(f->lost, f->losses, sizeof(*f->lost), by_ticks);
	for (size_t i = 0; i < f->losses; i++)
		if (!n || f->lost[n - 1] != f->lost[i])
			f->lost[n++] = f->lost[i];
	f->losses = n;
	return 0;
}

static void message(struct dt_feed *f, uint8_t kind, uint64_t body, const struct dt_span *s,
		    uint32_t i)
{
	uint64_t ticks = s->ticks[i];

	if (!f->messages && begin_messages(f)) {
		f->no_memory = true;
		return;
	}
	if (lost_between(f, f->message_ticks, ticks))
		dt_messages_lost(f->messages, ticks);
	f->message_ticks = ticks;
	dt_messages_record(f->messages, kind, body, ticks, s->tid, dt_span_core(s, i));
}

/* ---- events ---- */

static void dot(struct dt_feed *f, enum dt_track_kind kind, uint32_t id, const struct dt_span *s,
		uint32_t i, uint64_t value)
{
	f->to.bar(f->to.ctx, kind, id,
		  &(struct dt_bar){.begin = s->ticks[i],
				   .end = s->ticks[i],
				   .count = 1,
				   .low = value,
				   .high = value,
				   .what = s->tid});
}

static const char *file_of(const struct dt_reader *r, const struct dt_function_info *f)
{
	const struct dt_module_info *m = dt_reader_module(r, f->module);
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	return slash ? slash + 1 : m ? m->path : "";
}

static bool is_same_point(const void *reader, uint32_t id, const void *function)
{
	const struct dt_reader *r = reader;
	const struct dt_function_info *a = dt_reader_function(r, id), *b = function;

	return strcmp(a->name, b->name) == 0 && strcmp(a->signature, b->signature) == 0 &&
	       strcmp(file_of(r, a), file_of(r, b)) == 0;
}

/* Returns the first row that is the same point, of those up to this one; 0: out of memory. */
static uint32_t first_point(struct dt_feed *f, uint32_t function)
{
	struct dt_first_entry *x = NULL;

	while (f->looked < function || !x) {
		uint32_t id = f->looked < function ? f->looked + 1 : function, hash;
		const struct dt_function_info *info = dt_reader_function(f->reader, id);

		if (dt_first_room(&f->same))
			return 0;
		hash = dt_first_hash(dt_first_hash(0, info->signature, strlen(info->signature)),
				     info->name, strlen(info->name));
		x = dt_first_find(&f->same, hash, is_same_point, f->reader, info);
		if (!x->id)
			dt_first_put(&f->same, x, id, hash);
		if (f->looked < id)
			f->looked = id;
		if (id != function)
			x = NULL;
	}
	return x->id;
}

/*
 * Returns the row that stands for a point. Each process has a row for it, and each place that a
 * probe is compiled to; to a reader of the trace these are the same, and the first row stands for
 * them.
 */
static uint32_t point_of(struct dt_feed *f, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(f->reader, function);

	if (!info || !*info->name)
		return function;
	if (function >= f->points) {
		uint32_t room = 2 * function + 64;
		uint32_t *more = realloc(f->point, room * sizeof(*more));

		if (!more) {
			f->no_memory = true;
			return function;
		}
		memset(more + f->points, 0, (room - f->points) * sizeof(*more));
		f->point = more;
		f->points = room;
	}
	if (!f->point[function])
		f->point[function] = first_point(f, function);
	f->no_memory = f->no_memory || !f->point[function];
	return f->point[function] ? f->point[function] : function;
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *what, const struct dt_wait_ended *ended)
{
	const struct dt_feed *f = ctx;

	f->to.wait(f->to.ctx, tid, c, begin, end, preempted, what, ended);
}

static bool is_wanted_event(const struct dt_feed *f, const struct dt_site *site,
			    const struct dt_span *s, uint32_t i, uint64_t value)
{
	uint16_t core = dt_span_core(s, i);

	if (!f->filter)
		return true;
	if (!dt_filter_place(f->filter, core, s->tid))
		return false;
	return site->kind == DT_POINT ? dt_filter_point(f->filter, site->function, value)
				      : dt_filter_event(f->filter, site->kind, value);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct dt_feed *f = ctx;
	const struct dt_site *site = dt_reader_site(f->reader, s->site[i]);
	uint64_t value = s->value ? s->value[i][0] : 0;

	if (site->kind == DT_SEND || site->kind == DT_RECEIVE)
		value = dt_message_channel(value);
	if (f->to.other)
		f->to.other(f->to.ctx, s, i, depth);
	if (site->kind != DT_SWITCH && !is_wanted_event(f, site, s, i, value)) {
		if ((site->kind == DT_SEND || site->kind == DT_RECEIVE) && s->value)
			message(f, site->kind, s->value[i][0], s, i);
		return;
	}
	switch (site->kind) {
	case DT_SWITCH:
		if (!f->switches)
			begin_switches(f);
		end_run(f, s->core, s->ticks[i]);
		begin_run(f, s->core, s->tid, s->ticks[i]);
		break;
	case DT_EVENT:
		dot(f, DT_TRACK_EVENT, (uint32_t)(value >> 32), s, i, value & 0xffffffff);
		break;
	case DT_SEND:
	case DT_RECEIVE:
		/* all messages of one direction are one event; its value is the channel */
		dot(f, DT_TRACK_EVENT, site->kind == DT_SEND ? 0xea000000u : 0xeb000000u, s, i,
		    value);
		if (s->value)
			message(f, site->kind, s->value[i][0], s, i);
		break;
	case DT_POINT:
		dot(f, DT_TRACK_POINT, point_of(f, site->function), s, i, value);
		break;
	}
}

/* ---- the whole ---- */

bool dt_feed_needs_values(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++) {
		uint8_t kind = dt_reader_site(r, i)->kind;

		if (kind == DT_EVENT || kind == DT_POINT || kind == DT_SEND || kind == DT_RECEIVE)
			return true;
	}
	return false;
}

bool dt_feed_has_switches(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (dt_reader_site(r, i)->kind == DT_SWITCH)
			return true;
	return false;
}

bool dt_feed_switches_asked(const struct dt_reader *r)
{
	const char *how = dt_reader_meta(r, "switches");

	return !how || strcmp(how, "unasked");
}

bool dt_feed_is_unasked(const struct dt_reader *r, uint8_t kind)
{
	return (kind == DT_SWITCH || kind == DT_RUNDOWN) && !dt_feed_switches_asked(r);
}

static bool has_messages(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++) {
		uint8_t kind = dt_reader_site(r, i)->kind;

		if (kind == DT_SEND || kind == DT_RECEIVE)
			return true;
	}
	return false;
}

enum dt_order dt_feed_order(const struct dt_reader *r)
{
	return has_messages(r) ? DT_BY_TIME : DT_BY_THREAD;
}

static bool has_kernel(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (dt_reader_site(r, i)->pc >> 63)
			return true;
	return false;
}

struct dt_feed *dt_feed_new(struct dt_reader *r, const struct dt_feed_to *to, bool values,
			    struct dt_filter *filter)
{
	struct dt_pair_events events = {.end = on_end, .other = on_other};
	struct dt_feed *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->reader = r;
	f->to = *to;
	f->switches = dt_feed_has_switches(r);
	f->filter = filter;
	events.begin = filter || to->begin || to->ways || has_kernel(r) ? on_begin : NULL;
	events.wait = to->wait ? on_wait : NULL;
	events.ctx = f;
	f->pair = dt_pair_new(r, &events, values);
	if (f->pair)
		return f;
	dt_feed_free(f);
	return NULL;
}

uint64_t dt_feed_impossible(const struct dt_feed *f)
{
	return dt_pair_impossible(f->pair);
}

void dt_feed_free(struct dt_feed *f)
{
	if (!f)
		return;
	dt_messages_free(f->messages);
	free(f->lost);
	free(f->point);
	free(f->same.entry);
	dt_pair_free(f->pair);
	free(f);
}

int dt_feed_span(struct dt_feed *f, const struct dt_span *s)
{
	f->span = s;
	if (s->lost && s->lost_others && f->messages &&
	    on_loss(f, s->lost_end ? s->lost_end : s->lost_begin))
		return -1;
	if (dt_pair_span(f->pair, s) || f->no_memory || (f->filter && dt_filter_failed(f->filter)))
		return -1;
	if (s->n && !f->switches)
		see_cores(f, s);
	if (s->n && s->ticks[s->n - 1] > f->last_ticks)
		f->last_ticks = s->ticks[s->n - 1];
	return 0;
}

void dt_feed_open_calls(struct dt_feed *f, uint32_t tid,
			bool (*fn)(void *ctx, const struct dt_call *c), void *ctx)
{
	dt_pair_look(f->pair, tid);
	dt_pair_callers(f->pair, fn, ctx);
}

struct each_open {
	void (*fn)(void *ctx, const struct dt_open_call *x);
	void *ctx;
};

static void on_open(void *ctx, const struct dt_call *c, unsigned core, uint64_t took,
		    uint64_t children, uint64_t inner)
{
	const struct each_open *each = ctx;
	struct dt_open_call x = {.call = c,
				 .track = c->tid == DT_NO_TID ? DT_TRACK_NOBODY(core) : c->tid,
				 .took = took,
				 .self = took > children ? took - children : 0,
				 .inner = inner};

	each->fn(each->ctx, &x);
}

void dt_feed_each_open(struct dt_feed *f, uint64_t now,
		       void (*fn)(void *ctx, const struct dt_open_call *x), void *ctx)
{
	dt_pair_each_open(f->pair, now, on_open, &(struct each_open){fn, ctx});
}

const struct dt_pair *dt_feed_pair(const struct dt_feed *f)
{
	return f->pair;
}

void dt_feed_finish(struct dt_feed *f)
{
	f->span = NULL;
	dt_pair_finish(f->pair);
	if (f->messages)
		dt_messages_finish(f->messages, f->last_ticks);
	for (unsigned core = 0; core < f->cores; core++)
		end_run(f, core, f->switches ? f->last_ticks : f->run[core].last);
}

/* ---- snapshots ---- */

int dt_feed_save(const struct dt_feed *f, struct dt_bytes *b)
{
	if (DT_PUT(b, f->last_ticks, f->cores))
		return -1;
	for (unsigned core = 0; core < f->cores; core++) {
		const struct run *r = &f->run[core];

		if (DT_PUT(b, r->open) ||
		    (r->open && DT_PUT(b, r->tid, r->begin, r->last - r->begin)))
			return -1;
	}
	if (DT_PUT(b, f->messages != NULL) ||
	    (f->messages && (DT_PUT(b, f->message_ticks) || dt_messages_save(f->messages, b))))
		return -1;
	return dt_pair_save(f->pair, b);
}

/* Takes back everything but the calls, which come last. */
static int restore_own(struct dt_feed *f, struct dt_cursor_bytes *c)
{
	uint64_t cores;

	f->last_ticks = dt_get_varint(c);
	cores = dt_get_varint(c);
	if (c->bad || cores > CORES)
		return -1;
	for (; f->cores < cores; f->cores++) {
		struct run *r = &f->run[f->cores];

		r->open = dt_get_varint(c);
		if (!r->open)
			continue;
		r->tid = (uint32_t)dt_get_varint(c);
		r->begin = dt_get_varint(c);
		r->last = r->begin + dt_get_varint(c);
	}
	if (dt_get_varint(c)) {
		f->message_ticks = dt_get_varint(c);
		if (c->bad || (!f->messages && begin_messages(f)) ||
		    dt_messages_restore(f->messages, c))
			return -1;
	} else if (f->messages) {
		dt_messages_forget(f->messages);
	}
	return c->bad ? -1 : 0;
}

int dt_feed_restore(struct dt_feed *f, const uint8_t *bytes, size_t n)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};

	memset(f->run, 0, f->cores * sizeof(*f->run));
	f->cores = 0;
	f->last_ticks = f->message_ticks = 0;
	if (!n) {
		if (f->messages)
			dt_messages_forget(f->messages);
		return dt_pair_restore(f->pair, NULL, 0);
	}
	return restore_own(f, &c) ? -1 : dt_pair_restore(f->pair, c.p, (size_t)(c.end - c.p));
}

int dt_feed_restore_pair(struct dt_reader *r, const uint8_t *bytes, size_t n, struct dt_pair *p)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};
	struct dt_feed *f = dt_feed_new(r, &(struct dt_feed_to){0}, false, NULL);
	int rc;

	if (!f)
		return -1;
	rc = restore_own(f, &c) ? -1 : dt_pair_restore(p, c.p, (size_t)(c.end - c.p));
	dt_feed_free(f);
	return rc;
}
