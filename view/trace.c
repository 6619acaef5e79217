/* SPDX-License-Identifier: MIT */
/* The overview of a trace: its tracks, processes, losses. */
#include <stdio.h>
#include <string.h>

#include "analyse/meanings.h"
#include "filter/unmet.h"
#include "store/wakers.h"
#include "view/families.h"

#define LOSSES 2000 /* losses closer together than this part of the trace become one */
/* if there are more threads or processes, those without a track are not told */
#define NAMES 2000
#define HELDS 20000 /* of a thread: if there are more, those close to each other become one */

static const char *track_kind(uint8_t kind)
{
	static const char *const name[DT_TRACK_KINDS] = {"thread", "core", "event", "point",
							 "message"};

	return kind < DT_TRACK_KINDS ? name[kind] : "?";
}

static void thread_name(struct dt_asked *a, char *to, size_t n, const struct dt_thread_info *info,
			uint32_t tid)
{
	snprintf(to, n, "%s %u", info && *info->name ? info->name : "thread",
		 dt_reader_number(dt_windows_reader(a->p->windows), tid));
}

void dt_track_name(struct dt_asked *a, const struct dt_track *t)
{
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_json *out = &a->answer->text;
	char name[512] = "";

	switch (t->kind) {
	case DT_TRACK_THREAD: {
		const struct dt_thread_info *info = dt_reader_thread(r, t->id);

		if (t->id >= DT_TRACK_NOBODY(0))
			snprintf(name, sizeof(name), "interrupts of core %u", t->id & 0xffff);
		else
			thread_name(a, name, sizeof(name), info, t->id);
		break;
	}
	case DT_TRACK_CORE:
		snprintf(name, sizeof(name), "core %u", t->id);
		break;
	case DT_TRACK_MESSAGE:
		snprintf(name, sizeof(name), "messages%s",
			 t->id == DT_MESSAGE_BACKWARD ? " backward" : "");
		break;
	case DT_TRACK_EVENT: {
		const struct dt_event_row *row = dt_reader_event(r, (uint64_t)t->id << 32);

		if (t->id == 0xea000000u || t->id == 0xeb000000u)
			snprintf(name, sizeof(name), "messages %s",
				 t->id >> 24 == 0xea ? "sent" : "received");
		else if (row)
			snprintf(name, sizeof(name), "%s.%s", row->subsystem_name,
				 *row->description ? row->description : row->name);
		else
			snprintf(name, sizeof(name), "event %x.%x", t->id >> 16, t->id & 0xffff);
		break;
	}
	default: {
		const struct dt_function_info *f = dt_reader_function(r, t->id);

		snprintf(name, sizeof(name), "%s", f && *f->name ? f->shown : "point");
	}
	}
	dt_json_string(out, name);
}

void dt_thread_name(struct dt_asked *a, const struct dt_thread_info *info, uint32_t tid)
{
	char name[512];

	thread_name(a, name, sizeof(name), info, tid);
	dt_json_string(&a->answer->text, name);
}

static bool is_packed(const struct dt_families *g, const struct dt_track *t)
{
	const struct dt_family *x =
		t->kind == DT_TRACK_THREAD ? dt_families_of(g, dt_family_pid(t)) : NULL;

	return x && x->packed;
}

static void tracks(struct dt_asked *a, const struct dt_families *g)
{
	const struct dt_pyramid *p = a->p->pyramid;
	struct dt_json *out = &a->answer->text;
	bool any = false;

	dt_json_print(out, "\"packed\":%u,\"packed_threads\":%u,\"tracks\":[", g->packed,
		      g->packed_threads);
	for (uint32_t i = 0; i < p->tracks; i++) {
		const struct dt_track *t = &p->track[i];

		if (is_packed(g, t))
			continue;
		dt_json_print(out,
			      "%s{\"track\":%u,\"kind\":\"%s\",\"id\":%u,\"pid\":%u,\"depths\":%u,"
			      "\"count\":%lu,\"begin\":%lu,\"end\":%lu,\"name\":",
			      any ? "," : "", i, track_kind(t->kind), t->id, t->pid, t->depths,
			      (unsigned long)t->count, (unsigned long)(t->begin - a->origin),
			      (unsigned long)(t->end - a->origin));
		dt_track_name(a, t);
		dt_json_print(out, "}");
		any = true;
	}
	dt_json_print(out, "]");
}

static void processes(struct dt_asked *a, const struct dt_families *g)
{
	bool any = false;
	struct dt_json *out = &a->answer->text;
	size_t n;
	const struct dt_reader *r = dt_windows_reader(a->p->windows);
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	dt_json_print(out, "\"processes\":[");
	for (size_t i = 0; i < n; i++) {
		const struct dt_family *x = n > NAMES ? dt_families_of(g, p[i].pid) : NULL;

		if (n > NAMES && (!x || x->packed))
			continue;
		dt_json_print(out, "%s{\"pid\":%u,\"number\":%u,\"name\":", any ? "," : "",
			      p[i].pid, dt_reader_number(r, p[i].pid));
		dt_json_string(out, p[i].cmdline);
		dt_json_print(out, "}");
		any = true;
	}
	dt_json_print(out, "]");
}

/* Adds the threads that have no track of their own because they made no calls: they can be in the
 * tracks of cores. */
static void threads(struct dt_asked *a)
{
	struct dt_json *out = &a->answer->text;
	size_t n;
	const struct dt_thread_info *t = dt_reader_threads(dt_windows_reader(a->p->windows), &n);
	const char *comma = "";
	char name[512];

	dt_json_print(out, "\"threads\":[");
	for (size_t i = 0; i < n && n <= NAMES; i++) {
		if (dt_pyramid_track(a->p->pyramid, DT_TRACK_THREAD, t[i].tid))
			continue;
		dt_json_print(out, "%s{\"tid\":%u,\"pid\":%u,\"name\":", comma, t[i].tid, t[i].pid);
		thread_name(a, name, sizeof(name), &t[i], t[i].tid);
		dt_json_string(out, name);
		dt_json_print(out, "}");
		comma = ",";
	}
	dt_json_print(out, "]");
}

/* Losses that are near each other are joined, so that there are not too many. */
struct losses {
	struct dt_json *out;
	uint64_t origin, near, begin, end, lost;
	const struct dt_reader *reader;
	unsigned core; /* the ring */
	bool any;
};

static void say_loss(struct losses *l)
{
	if (!l->lost)
		return;
	dt_json_print(l->out, "%s[%u,%lu,%lu,%lu]", l->any ? "," : "",
		      dt_reader_ring_core(l->reader, l->core),
		      (unsigned long)(l->begin > l->origin ? l->begin - l->origin : 0),
		      (unsigned long)(l->end > l->origin ? l->end - l->origin : 0),
		      (unsigned long)l->lost);
	l->any = true;
	l->lost = 0;
}

static int on_loss(void *ctx, const struct dt_lost *lost)
{
	struct losses *l = ctx;
	uint64_t begin = lost->begin, end = lost->end ? lost->end : begin;

	if (l->lost && (lost->core != l->core || begin > l->end + l->near))
		say_loss(l);
	if (!l->lost) {
		l->core = lost->core;
		l->begin = begin;
		l->end = end;
	}
	l->lost += lost->lost;
	/* losses of several sources of one core can overlap */
	l->begin = begin < l->begin ? begin : l->begin;
	l->end = end > l->end ? end : l->end;
	return 0;
}

static void losses(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->all->pyramid;
	struct losses l = {.out = &a->answer->text,
			   .reader = dt_windows_reader(a->p->windows),
			   .origin = a->origin,
			   .near = (p->end - p->begin) / LOSSES};

	dt_json_print(l.out, "\"losses\":[");
	dt_reader_losses(dt_windows_reader(a->p->windows), on_loss, &l);
	say_loss(&l);
	dt_json_print(l.out, "]");
}

/* Times in which nothing was recorded, joined like losses; each is written as
 * [begin, end, stopped, times, missed]. */
struct pauses {
	struct dt_json *out;
	uint64_t origin, near;
	struct dt_pause last;
	bool any, held;
};

static void say_pause(struct pauses *l)
{
	const struct dt_pause *p = &l->last;

	if (!l->held)
		return;
	dt_json_print(l->out, "%s[%lu,%lu,%d,%lu,", l->any ? "," : "",
		      (unsigned long)(p->begin > l->origin ? p->begin - l->origin : 0),
		      (unsigned long)(p->end > l->origin ? p->end - l->origin : 0), p->stopped,
		      (unsigned long)p->times);
	if (p->missed == DT_NOT_KNOWN)
		dt_json_print(l->out, "null]");
	else
		dt_json_print(l->out, "%lu]", (unsigned long)p->missed);
	l->any = true;
	l->held = false;
}

static int on_pause(void *ctx, const struct dt_pause *p)
{
	struct pauses *l = ctx;
	struct dt_pause *last = &l->last;

	if (p->end <= l->origin)
		return 0;
	if (l->held && (p->stopped != last->stopped || p->begin > last->end + l->near))
		say_pause(l);
	if (!l->held) {
		l->held = true;
		*last = *p;
		return 0;
	}
	last->end = p->end;
	last->times += p->times;
	last->missed = last->missed == DT_NOT_KNOWN || p->missed == DT_NOT_KNOWN
			       ? DT_NOT_KNOWN
			       : last->missed + p->missed;
	return 0;
}

static void pauses(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->all->pyramid;
	struct pauses l = {
		.out = &a->answer->text, .origin = a->origin, .near = (p->end - p->begin) / LOSSES};

	dt_json_print(l.out, "\"pauses\":[");
	dt_reader_pauses(dt_windows_reader(a->p->windows), on_pause, &l);
	say_pause(&l);
	dt_json_print(l.out, "]");
}

/*
 * Adds the times in which the tracer held a thread: [thread, begin, end, ticks held, how many
 * times]. Neighbours are joined where the thread was held for at least half of the time from the
 * first to the last, and, when there are more than HELDS, where they are close to each other: the
 * page draws what share of a pixel's time the thread was held.
 */
static bool say_held(struct dt_asked *a, uint32_t tid, const struct dt_times *h, size_t n, bool any)
{
	uint64_t origin = a->origin;
	uint64_t near = n > HELDS ? (a->all->pyramid->end - a->all->pyramid->begin) / HELDS : 0;

	for (size_t i = 0, to; i < n; i = to) {
		uint64_t begin = h[i].begin > origin ? h[i].begin : origin, end = begin, held = 0;

		for (to = i; to < n; to++) {
			uint64_t from = h[to].begin > end ? h[to].begin : end;
			uint64_t more = h[to].end > from ? h[to].end - from : 0;

			if (more && end > begin && from > end + near &&
			    (held + more) * 2 < h[to].end - begin)
				break;
			held += more;
			end = more ? h[to].end : end;
		}
		if (end <= begin)
			continue;
		dt_json_print(&a->answer->text, "%s[%u,%lu,%lu,%lu,%lu]", any ? "," : "", tid,
			      (unsigned long)(begin - origin), (unsigned long)(end - origin),
			      (unsigned long)held, (unsigned long)(to - i));
		any = true;
	}
	return any;
}

static void helds(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	const struct dt_thread_info *t;
	bool any = false;
	size_t threads, n;

	t = dt_reader_threads(r, &threads);
	dt_json_print(&a->answer->text, "\"held\":[");
	for (size_t i = 0; i < threads; i++) {
		const struct dt_times *h = dt_reader_thread_holds(r, t[i].tid, &n);

		any = say_held(a, t[i].tid, h, n, any);
	}
	dt_json_print(&a->answer->text, "]");
}

struct unmet {
	struct dt_json *out;
	bool any;
};

static void say_unmet(void *ctx, const char *text)
{
	struct unmet *u = ctx;

	if (u->any)
		dt_json_print(u->out, ",");
	dt_json_string(u->out, text);
	u->any = true;
}

/* Adds whether there are calls without the filter, and what the filter names that there is not in
 * the trace: mistyped names, each a line. */
static void unmet(struct dt_asked *a)
{
	const struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_filter *f = dt_windows_filter(a->p->windows);
	struct dt_meanings m = dt_meanings_of(r);
	struct unmet told = {.out = &a->answer->text};
	struct dt_unmet u = {
		.meanings = &m, .rows = dt_reader_functions(r) + 1, .say = say_unmet, .ctx = &told};

	bool calls = false;

	for (uint32_t i = 0; i < a->all->pyramid->tracks && !calls; i++)
		calls = a->all->pyramid->track[i].kind == DT_TRACK_THREAD;
	dt_json_print(told.out, "\"calls\":%s,\"unmet\":[", calls ? "true" : "false");
	if (f)
		dt_unmet_filter(&u, f);
	dt_json_print(told.out, "],");
}

void dt_answer_trace(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->p->pyramid;
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_json *out = &a->answer->text;
	const char *slash = strrchr(a->path, '/');
	struct dt_families groups;
	uint64_t wall = 0;

	if (!dt_families_find(a, &groups))
		return;
	dt_json_print(out, "{\"name\":");
	dt_json_string(out, slash ? slash + 1 : a->path);
	dt_json_print(out, ",\"ns_per_tick\":%.12g,\"length\":%lu,\"records\":%lu,\"total\":%lu,",
		      dt_reader_ns_per_tick(r), (unsigned long)(a->all->pyramid->end - a->origin),
		      (unsigned long)p->records, (unsigned long)p->total);
	if (dt_reader_realtime(r, a->origin, &wall))
		dt_json_print(out, "\"wall_ns\":\"%lu\",", (unsigned long)wall);
	dt_json_print(out, "\"complete\":%s,\"error\":", p->complete ? "true" : "false");
	dt_json_string(out, a->p->error.text);
	dt_json_print(out, ",\"not_kept\":");
	dt_json_string(out, a->p->not_kept);
	dt_json_print(out, ",\"live\":%s", a->all->live ? "true" : "false");
	dt_json_print(out, ",\"switches\":%s,\"wakers\":%s,\"unhooked\":%zu,",
		      dt_feed_has_switches(r) ? "true" : "false",
		      dt_wakers_any(r) ? "true" : "false", dt_reader_left_out(r, 0, NULL, NULL));
	unmet(a);
	tracks(a, &groups);
	dt_json_print(out, ",");
	processes(a, &groups);
	dt_json_print(out, ",");
	threads(a);
	dt_json_print(out, ",");
	losses(a);
	dt_json_print(out, ",");
	pauses(a);
	dt_json_print(out, ",");
	helds(a);
	dt_json_print(out, ",");
	dt_answer_hosts(a);
	dt_json_print(out, "}");
	dt_families_free(&groups);
}
