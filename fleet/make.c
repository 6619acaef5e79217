/* SPDX-License-Identifier: MIT */
/* Making a fleet of traces: whose clocks are the same, what the evidence is, and what follows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plain.h"
#include "fleet/gather.h"
#include "fleet/streams.h"

#define SAME_NS	 2000000.0 /* what one real time can have been slewed by, and... */
#define SAME_PPM 600e-6	   /* ...for each ns: what the kernel may */

int64_t dt_fleet_x(const struct dt_fleet_host *h, uint64_t ticks)
{
	long double x =
		(long double)(int64_t)(ticks - h->zero) * (long double)h->ns_per_tick * DT_ALIGN_NS;

	return x > DT_ALIGN_LIMIT    ? DT_ALIGN_LIMIT + 1
	       : x < -DT_ALIGN_LIMIT ? -DT_ALIGN_LIMIT - 1
				     : llrintl(x);
}

uint64_t dt_fleet_ticks(const struct dt_fleet_host *h, int64_t x)
{
	return h->zero +
	       (uint64_t)llrintl((long double)x / ((long double)h->ns_per_tick * DT_ALIGN_NS));
}

struct dt_knot dt_fleet_place(const struct dt_fleet *f, uint32_t host, uint64_t ticks)
{
	const struct dt_fleet_host *h = &f->host[host];
	const struct dt_aligned_clock *c = &f->clock[h->clock];

	return dt_knots_place(c->knot, c->knots, dt_fleet_x(h, ticks));
}

uint64_t dt_fleet_ticks_at(const struct dt_fleet *f, uint32_t host, int64_t t)
{
	const struct dt_fleet_host *h = &f->host[host];
	uint64_t low = h->first, high = h->last + 1;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (dt_fleet_place(f, host, middle).t < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t dt_fleet_find(const struct dt_fleet *f, const char *name, size_t length)
{
	for (uint32_t i = 0; i < f->hosts; i++)
		if (!strncmp(f->host[i].name, name, length) && !f->host[i].name[length])
			return i;
	return f->hosts;
}

int64_t dt_fleet_begin(const struct dt_fleet *f)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < f->hosts; i++) {
		int64_t t = dt_fleet_place(f, i, f->host[i].first).t;

		first = t < first ? t : first;
	}
	return first;
}

void dt_fleet_free(struct dt_fleet *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->host && i < f->hosts; i++) {
		free(f->host[i].name);
		free(f->host[i].path);
		free(f->host[i].boot_id);
	}
	for (uint32_t i = 0; f->clock && i < f->clocks; i++)
		free(f->clock[i].knot);
	for (size_t i = 0; i < f->breaks; i++)
		free(f->broken[i].text);
	free(f->host);
	free(f->clock);
	free(f->piece);
	free(f->broken);
	free(f);
}

/* Returns a name as it can stand in front of a thread's number, new; NULL: out of memory. */
static char *clean(const char *name)
{
	size_t n = dt_plain(NULL, name, strlen(name));
	char *to = malloc(n + 1);

	if (!to)
		return NULL;
	dt_plain(to, name, strlen(name));
	to[n] = '\0';
	for (char *p = to; *p; p++)
		if (*p == ' ' || *p == ':' || *p == '@')
			*p = '-';
	return to;
}

/* Gives a host its name. Of those that are called the same, the second is NAME-2. */
static int name_host(struct dt_fleet *f, uint32_t i, const char *wanted, struct dt_error *e)
{
	char *name = clean(wanted), *base = name;
	uint32_t at;

	for (unsigned n = 2; name; n++) {
		for (at = 0; at < i && strcmp(f->host[at].name, name); at++)
			;
		if (at == i)
			break;
		if (name != base)
			free(name);
		if (asprintf(&name, "%s-%u", base, n) < 0)
			name = NULL;
	}
	if (base != name)
		free(base);
	f->host[i].name = name;
	return name ? 0 : dt_fail(e, "out of memory");
}

static int describe(struct dt_fleet *f, const struct dt_fleet_input *in, uint32_t i,
		    struct dt_error *e)
{
	struct dt_fleet_host *h = &f->host[i];
	const char *boot = dt_reader_meta(in->reader[i], "boot_id");
	const char *host = dt_reader_meta(in->reader[i], "host");
	struct dt_summary sum;

	if (dt_reader_summary(in->reader[i], &sum, e))
		return -1;
	if (!sum.records)
		return dt_fail(e, "%s: has no records: leave it out", in->path[i]);
	h->path = strdup(in->path[i]);
	h->boot_id = clean(boot ? boot : "");
	h->first = sum.min_ticks;
	h->last = sum.max_ticks;
	h->records = sum.records;
	if (!h->path || !h->boot_id)
		return dt_fail(e, "out of memory");
	return name_host(f, i, in->name[i] ? in->name[i] : host && *host ? host : "host", e);
}

/*
 * Says whether a second trace of a boot has the clock that the first one has. Copies of a virtual
 * machine have the boot of the one they were copied from, and go on with its counter, each from
 * when it was copied: only the real time tells them apart. The monotonic clock may differ, in a
 * time namespace.
 */
static bool has_same_clock(const struct dt_fleet *f, uint32_t a, uint32_t b,
			   struct dt_reader **reader)
{
	struct dt_clock x, y, last;
	double apart, real;

	if (!dt_reader_clock(reader[a], &x, &last) || !dt_reader_clock(reader[b], &y, &last))
		return true;
	apart = (double)(int64_t)(y.ticks - x.ticks) * f->host[a].ns_per_tick;
	real = (double)(int64_t)(y.realtime_ns - x.realtime_ns) - apart;
	return fabs(real) <= SAME_NS + fabs(apart) * SAME_PPM;
}

/* Refuses a trace that is there twice: no two have the same first and last ticks. */
static int check_twice(const struct dt_fleet *f, struct dt_error *e)
{
	for (uint32_t i = 0; i < f->hosts; i++)
		for (uint32_t k = 0; k < i; k++)
			if (f->host[k].first == f->host[i].first &&
			    f->host[k].last == f->host[i].last &&
			    f->host[k].records == f->host[i].records &&
			    !strcmp(f->host[k].boot_id, f->host[i].boot_id))
				return dt_fail(e, "%s and %s are the same trace: name it once",
					       f->host[k].path, f->host[i].path);
	return 0;
}

/* Gives each host its clock: one for each boot. */
static void find_clocks(struct dt_fleet *f, struct dt_reader **reader)
{
	for (uint32_t i = 0; i < f->hosts; i++) {
		struct dt_fleet_host *h = &f->host[i];
		uint32_t same = 0;

		while (same < i && (!*h->boot_id || strcmp(h->boot_id, f->host[same].boot_id) ||
				    !has_same_clock(f, same, i, reader)))
			same++;
		h->clock = same < i ? f->host[same].clock : f->clocks++;
		h->zero = same < i ? f->host[same].zero : h->first;
		h->ns_per_tick =
			same < i ? f->host[same].ns_per_tick : dt_reader_ns_per_tick(reader[i]);
	}
}

/* ---- aligning ---- */

struct aligning {
	struct dt_align_clock *clock;
	struct dt_evidence *evidence;
	uint64_t real_zero; /* of the real time's clock, ns since 1970 */
};

static int64_t real_x(const struct aligning *a, uint64_t ns)
{
	int64_t apart = (int64_t)(ns - a->real_zero);

	return apart > DT_ALIGN_LIMIT / DT_ALIGN_NS    ? DT_ALIGN_LIMIT + 1
	       : apart < -DT_ALIGN_LIMIT / DT_ALIGN_NS ? -DT_ALIGN_LIMIT - 1
						       : apart * DT_ALIGN_NS;
}

/* Returns reference time minus the host's own as their wall clocks have it, which nobody vouches
 * for; 0 if they do not say. */
static int64_t hint_of(const struct dt_fleet *f, struct dt_reader **reader, uint32_t host)
{
	const struct dt_fleet_host *h = &f->host[host], *r = &f->host[f->reference];
	uint64_t a, b;
	double apart;

	if (!dt_reader_realtime(reader[host], h->zero, &a) ||
	    !dt_reader_realtime(reader[f->reference], r->zero, &b))
		return 0;
	apart = (double)(int64_t)(a - b) * DT_ALIGN_NS;
	return fabs(apart) < (double)DT_ALIGN_LIMIT ? (int64_t)apart : 0;
}

static void set_clocks(const struct dt_fleet *f, struct dt_reader **reader, struct aligning *a)
{
	for (uint32_t i = f->hosts; i-- > 0;) {
		const struct dt_fleet_host *h = &f->host[i];
		struct dt_align_clock *c = &a->clock[h->clock];
		int64_t begin = dt_fleet_x(h, h->first), end = dt_fleet_x(h, h->last);

		/* of several traces of one clock the first one has its zero, and comes last here */
		if (!c->end && !c->begin)
			*c = (struct dt_align_clock){begin, end, 0};
		c->begin = begin < c->begin ? begin : c->begin;
		c->end = end > c->end ? end : c->end;
		c->hint = hint_of(f, reader, i);
	}
}

/* Turns pieces into evidence; the real time is the clock after the hosts'. Returns whether it is
 * used. */
static bool set_evidence(const struct dt_fleet *f, struct aligning *a)
{
	bool real = false;

	for (size_t i = 0; i < f->pieces; i++) {
		const struct dt_fleet_piece *p = &f->piece[i];
		struct dt_evidence *v = &a->evidence[i];

		*v = (struct dt_evidence){.kind = p->kind, .item = p->item, .slack = p->slack};
		if (!real && p->to == DT_FLEET_REAL) {
			a->real_zero = p->to_ticks;
			real = true;
		}
		v->a = p->from == DT_FLEET_REAL ? f->clocks : f->host[p->from].clock;
		v->b = p->to == DT_FLEET_REAL ? f->clocks : f->host[p->to].clock;
		v->xa = p->from == DT_FLEET_REAL ? real_x(a, p->from_ticks)
						 : dt_fleet_x(&f->host[p->from], p->from_ticks);
		v->xb = p->to == DT_FLEET_REAL ? real_x(a, p->to_ticks)
					       : dt_fleet_x(&f->host[p->to], p->to_ticks);
	}
	return real;
}

static const char *kind_name(uint8_t kind)
{
	static const char *const name[] = {"marker", "real time", "message",
					   "bytes of a connection", "ping"};

	return name[kind % 5];
}

/* Says in words what a piece is. */
static void say_piece(const struct dt_fleet *f, const struct dt_fleet_piece *p, char *to,
		      size_t size)
{
	const char *from = p->from == DT_FLEET_REAL ? "the real time" : f->host[p->from].name;
	const char *until = p->to == DT_FLEET_REAL ? "the real time" : f->host[p->to].name;

	dt_format(to, size, "%s %s@%lu -> %s@%lu", kind_name(p->kind), from,
		  (unsigned long)p->from_ticks, until, (unsigned long)p->to_ticks);
}

static uint32_t host_of(const struct dt_fleet *f, uint32_t clock)
{
	uint32_t i = 0;

	while (i + 1 < f->hosts && f->host[i].clock != clock)
		i++;
	return i;
}

static int take_break(struct dt_fleet *f, const struct dt_contradiction *c)
{
	struct dt_fleet_break *to = &f->broken[f->breaks];
	const struct dt_fleet_piece *p = c->n ? &f->piece[c->evidence[0]] : NULL;
	char one[2][200] = {"", ""};

	for (uint32_t i = 0; i < c->n && i < 2; i++)
		say_piece(f, &f->piece[c->evidence[i]], one[i], sizeof(one[i]));
	to->kind = c->kind;
	to->by = c->by;
	to->host = p ? (p->from == DT_FLEET_REAL ? p->to : p->from) : 0;
	if (c->kind != DT_CONTRADICTION_FALSE) {
		to->host = host_of(f, c->clock);
		to->from_ticks = dt_fleet_ticks(&f->host[to->host], c->from);
		to->to_ticks = dt_fleet_ticks(&f->host[to->host], c->to);
		to->step = c->step;
	}
	if (asprintf(&to->text, "%s%s%s", one[0], *one[1] ? "; " : "", one[1]) < 0)
		to->text = NULL;
	f->breaks++;
	return to->text ? 0 : -1;
}

/* Takes over what the alignment has found. */
static int take(struct dt_fleet *f, struct dt_align *al)
{
	f->clock = calloc(f->clocks, sizeof(*f->clock));
	f->broken = calloc(al->contradictions + 1, sizeof(*f->broken));
	if (!f->clock || !f->broken)
		return -1;
	for (uint32_t c = 0; c < f->clocks; c++) {
		f->clock[c] = al->clock[c];
		al->clock[c].knot = NULL;
	}
	for (size_t i = 0; i < f->pieces; i++)
		f->piece[i].fate = al->fate[i];
	f->wander = al->wander;
	for (size_t i = 0; i < al->contradictions; i++) {
		const struct dt_contradiction *c = &al->contradiction[i];

		/* that the real time was set is nothing of a host's clock */
		if ((c->kind == DT_CONTRADICTION_FALSE || c->clock < f->clocks) && take_break(f, c))
			return -1;
	}
	return 0;
}

static int align(struct dt_fleet *f, const struct dt_fleet_input *in, struct dt_error *e)
{
	struct aligning a = {calloc(f->clocks + 1, sizeof(*a.clock)),
			     calloc(f->pieces + 1, sizeof(*a.evidence)), 0};
	struct dt_align *al = NULL;
	int rc = -1;

	if (!a.clock || !a.evidence) {
		dt_fail(e, "out of memory");
		goto out;
	}
	set_clocks(f, in->reader, &a);
	bool real = set_evidence(f, &a);
	al = dt_align_new(a.clock, f->clocks + real, f->host[f->reference].clock, a.evidence,
			  f->pieces, &in->assumed, e);
	if (!al)
		goto out;
	rc = take(f, al);
	if (rc)
		dt_fail(e, "out of memory");
out:
	dt_align_free(al);
	free(a.clock);
	free(a.evidence);
	return rc;
}

struct dt_fleet *dt_fleet_make(const struct dt_fleet_input *in, struct dt_error *e)
{
	struct dt_fleet *f = calloc(1, sizeof(*f));

	if (!f || !(f->host = calloc(in->n, sizeof(*f->host)))) {
		dt_fail(e, "out of memory");
		goto bad;
	}
	f->hosts = in->n;
	f->reference = in->reference;
	f->rate = in->assumed.rate;
	for (uint32_t i = 0; i < in->n; i++)
		if (describe(f, in, i, e))
			goto bad;
	if (check_twice(f, e))
		goto bad;
	find_clocks(f, in->reader);
	if (dt_gather(f, in->reader, e) || dt_streams_gather(f, in->reader, e))
		goto bad;
	for (size_t i = 0; i < in->markers; i++) {
		const struct dt_fleet_marker *m = &in->marker[i];
		struct dt_fleet_piece p = {.kind = DT_EVIDENCE_MARKER,
					   .from = m->from,
					   .to = m->to,
					   .from_ticks = m->from_ticks,
					   .to_ticks = m->to_ticks,
					   .slack = m->slack,
					   .item = m->item};

		if (f->host[m->from].clock == f->host[m->to].clock) {
			dt_fail(e,
				"%s and %s have the same clock, exactly: a marker says nothing new",
				f->host[m->from].name, f->host[m->to].name);
			goto bad;
		}
		if (dt_gather_add(f, &p, e))
			goto bad;
	}
	if (align(f, in, e))
		goto bad;
	return f;
bad:
	dt_fleet_free(f);
	return NULL;
}
