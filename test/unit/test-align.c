/* SPDX-License-Identifier: MIT */
/*
 * Alignment, against machines that are simulated: the simulation knows the true time of everything.
 * ALIGN_SIMULATIONS: how many; FIRST: the number of the first one, which makes it all random but
 * repeatable. A failure says the number.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "align/align.h"
#include "align/knots.h"

#define NS   ((int64_t)DT_ALIGN_NS)
#define US   (1000 * NS)
#define MS   (1000 * US)
#define SEC  (1000 * MS)
#define MOST 8 /* clocks */

static const struct dt_align_assumed usual = {DT_ALIGN_RATE, DT_ALIGN_WANDER};

static uint64_t seed;

static uint64_t draw(void)
{
	/* SplitMix64 (Steele, Lea, Flood 2014) */
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* a number from low to high */
static double between(double low, double high)
{
	return low + (high - low) * ((double)(draw() >> 11) * 0x1p-53);
}

static bool one_of(unsigned n)
{
	return draw() % n == 0;
}

/* ---- machines ---- */

#define PIECES 4000

/* A clock: what it shows at each of PIECES + 1 true times, evenly spaced; straight in between. */
struct clock {
	long double shows[PIECES + 1];
	long double step_at, step; /* at a true time, it is set ahead */
	long double stop_at, stop; /* it stands still from a true time on, for so long */
};

static struct {
	unsigned clocks;
	long double length; /* units of true time */
	struct clock clock[MOST];
	struct dt_evidence evidence[200000];
	struct {
		long double sent, received;
	} truth[200000];
	size_t n;
	bool symmetric, pings, wild;
} world;

/* What it would show if it had never stepped. */
static long double shows(const struct clock *c, long double t)
{
	long double place = t / world.length * PIECES;
	int i = place < 0 ? 0 : place >= PIECES ? PIECES - 1 : (int)place;

	return c->shows[i] + (c->shows[i + 1] - c->shows[i]) * (place - i);
}

/* Shows nothing of a time in which it stands still: -1. */
static int64_t at(const struct clock *c, long double t, bool up)
{
	long double x = shows(c, t);

	if (c->stop > 0 && t > c->stop_at && t < c->stop_at + c->stop)
		return -1;
	if (c->step > 0 && t >= c->step_at)
		x += c->step;
	if (c->stop > 0 && t >= c->stop_at + c->stop)
		x -= shows(c, c->stop_at + c->stop) - shows(c, c->stop_at);
	return (int64_t)(up ? ceill(x) : floorl(x));
}

/* rates to 50 ppm, wander to 0.25 ppm: between two of them, twice that */
static void make_clock(struct clock *c, bool first)
{
	double rate = between(-50e-6, 50e-6), now = between(-0.24e-6, 0.24e-6);
	double jump = between(0, 0.1e-6);
	long double piece = world.length / PIECES;

	memset(c, 0, sizeof(*c));
	c->shows[0] = first ? 0 : (long double)between(0, 3600.0 * (double)SEC);
	for (int i = 0; i < PIECES; i++) {
		now = fmin(0.249e-6, fmax(-0.249e-6, now + between(-jump, jump)));
		c->shows[i + 1] = c->shows[i] + piece * (1 + (long double)rate + now);
	}
	if (first || !world.wild)
		return;
	/* a step is seen if there are messages in both directions before and after it */
	double size = pow(10, between(7.4, 12.5)) * (double)NS; /* 25 ms to 50 min */
	double edge = 6.0 * (double)SEC, end = (double)world.length - edge;

	if (one_of(3) && end > edge) {
		c->step_at = between(edge, end);
		c->step = size;
	} else if (one_of(3) && end > 2 * edge) {
		c->stop = fmin(size, (end - edge) / 2);
		c->stop_at = between(edge, end - (double)c->stop);
	}
}

static void message(unsigned a, unsigned b, long double sent, long double took, uint8_t kind)
{
	int64_t xa = at(&world.clock[a], sent, false), xb = at(&world.clock[b], sent + took, true);

	if (xa < 0 || xb < 0 || sent + took > world.length)
		return;
	world.evidence[world.n] = (struct dt_evidence){
		.a = a, .b = b, .xa = xa, .xb = xb, .item = (uint32_t)world.n, .kind = kind};
	world.truth[world.n].sent = sent;
	world.truth[world.n].received = sent + took;
	world.n++;
}

/* Messages between two machines: each way takes at least so long, and mostly not much longer. */
static void talk(unsigned a, unsigned b)
{
	double there = pow(10, between(3.5, 6)) * (double)NS;
	double back = world.symmetric ? there : there * pow(10, between(-0.6, 0.6));
	double jitter = there * between(0.05, 2), loss = between(0, world.wild ? 0.2 : 0.5);
	long double gap = pow(10, between(6.5, 8.7)) * NS, t = 0;
	unsigned kind = world.pings ? DT_EVIDENCE_PING : DT_EVIDENCE_MESSAGE;

	while ((t += gap * between(0.5, 1.5)) < world.length && world.n + 2 < 200000) {
		long double go = there - jitter * log(between(1e-9, 1));
		long double come = back - jitter * log(between(1e-9, 1));

		if (between(0, 1) >= loss)
			message(a, b, t, go, (uint8_t)kind);
		if (world.pings)
			message(b, a, t + go, come, (uint8_t)kind);
		else if (between(0, 1) >= loss)
			message(b, a, t + between(0, (double)gap), come, (uint8_t)kind);
	}
}

/* Two clocks that step in the same gap between messages can hide each other's steps: this is not
 * claimed to be seen (doc/machines.md). So no two clocks step within 8 s. */
static void forget_steps(void)
{
	for (unsigned i = 0; i < world.clocks; i++) {
		struct clock *c = &world.clock[i];
		long double from = c->step > 0 ? c->step_at : c->stop_at;
		long double to = from + c->stop;

		for (unsigned j = 0; j < i && (c->step > 0 || c->stop > 0); j++) {
			const struct clock *d = &world.clock[j];
			long double begin = d->step > 0 ? d->step_at : d->stop_at;

			if ((d->step > 0 || d->stop > 0) && from < begin + d->stop + 8 * SEC &&
			    begin < to + 8 * SEC)
				c->step = c->stop = 0;
		}
	}
}

static void make_world(uint64_t number)
{
	seed = number;
	memset(&world, 0, sizeof(world));
	world.clocks = 2 + (unsigned)(draw() % (MOST - 1));
	world.length = powl(10, between(0, 2.3)) * SEC;
	world.symmetric = one_of(2);
	world.pings = one_of(2);
	world.wild = one_of(2);
	for (unsigned i = 0; i < world.clocks; i++)
		make_clock(&world.clock[i], i == 0);
	forget_steps();
	/* each with one before it, so that all are connected, if only through others */
	for (unsigned i = 1; i < world.clocks; i++) {
		talk((unsigned)(draw() % i), i);
		if (one_of(3))
			talk((unsigned)(draw() % i), i);
	}
}

/* ---- what is claimed of them ---- */

struct claims {
	uint64_t looked, bounded, likely, ordered, pairs, steps, named;
	double width; /* of bars, in all */
};

static bool in_cut(const struct dt_align *a, unsigned clock, int64_t x)
{
	for (size_t i = 0; i < a->contradictions; i++) {
		const struct dt_contradiction *c = &a->contradiction[i];

		if (c->kind != DT_CONTRADICTION_FALSE && c->clock == clock && x > c->from &&
		    x < c->to)
			return true;
	}
	return false;
}

/* Says what is wrong, with the number of the simulation. */
static void wrong(uint64_t number, const struct dt_align *a, const char *what, unsigned clock,
		  double by)
{
	for (size_t i = 0; i < a->contradictions; i++)
		print_message("contradiction %d: clock %u, %.3f to %.3f s, by %.6f s, %u pieces\n",
			      a->contradiction[i].kind, a->contradiction[i].clock,
			      (double)a->contradiction[i].from / (double)SEC,
			      (double)a->contradiction[i].to / (double)SEC,
			      (double)a->contradiction[i].step / (double)SEC,
			      a->contradiction[i].n);
	for (unsigned c = 0; c < world.clocks; c++)
		if (world.clock[c].step > 0 || world.clock[c].stop > 0)
			print_message(
				"in truth: clock %u was set ahead by %.6Lf s, at %.3f s; stood still for %.6Lf s, "
				"at %.3f s\n",
				c, world.clock[c].step / SEC,
				(double)at(&world.clock[c], world.clock[c].step_at, false) /
					(double)SEC,
				world.clock[c].stop / SEC,
				(double)at(&world.clock[c], world.clock[c].stop_at, false) /
					(double)SEC);
	print_message("simulation %lu: %s, clock %u, by %.3f us\n", (unsigned long)number, what,
		      clock, by / (double)US);
	fail();
}

static void check_bars(uint64_t number, const struct dt_align *a, struct claims *to)
{
	for (unsigned c = 0; c < world.clocks; c++)
		for (int i = 0; i < 2000; i++) {
			long double t = i < 2 ? world.length * i : world.length * between(0, 1);
			int64_t x = at(&world.clock[c], t, false);
			struct dt_knot k;
			double truth, early, late;

			if (x < 0)
				continue;
			k = dt_knots_place(a->clock[c].knot, a->clock[c].knots, x);
			truth = (double)at(&world.clock[0], t, false);
			early = k.early == DT_UNKNOWN_EARLY ? -INFINITY : (double)k.early;
			late = k.late == DT_UNKNOWN_LATE ? INFINITY : (double)k.late;
			if (truth < early - 2 || truth > late + 2)
				wrong(number, a, "truth outside the bars", c,
				      truth < early ? truth - early : truth - late);
			if (((double)k.t < early - 1 || (double)k.t > late + 1) && !in_cut(a, c, x))
				wrong(number, a, "drawn outside the bars", c, 0);
			to->looked++;
			if (late - early == INFINITY)
				continue;
			to->bounded++;
			to->width += late - early;
			to->likely += truth >= early + (double)k.likely - 2 &&
				      truth <= late - (double)k.likely + 2;
		}
}

/* No message is drawn backward. With steps, those are left out that were in a cut. */
static void check_arrows(uint64_t number, const struct dt_align *a)
{
	for (size_t i = 0; i < world.n; i++) {
		const struct dt_evidence *v = &world.evidence[i];
		struct dt_knot s = dt_knots_place(a->clock[v->a].knot, a->clock[v->a].knots, v->xa);
		struct dt_knot r = dt_knots_place(a->clock[v->b].knot, a->clock[v->b].knots, v->xb);
		bool doubted = a->contradictions &&
			       (in_cut(a, v->a, v->xa) || in_cut(a, v->b, v->xb) ||
				s.early == DT_UNKNOWN_EARLY || r.early == DT_UNKNOWN_EARLY);

		if (s.t > r.t && !doubted)
			wrong(number, a, "a message is drawn backward", v->b, (double)(s.t - r.t));
	}
}

static void check_order(uint64_t number, const struct dt_align *a, struct claims *to)
{
	for (int i = 0; i < 20; i++) {
		unsigned p = (unsigned)(draw() % world.clocks),
			 q = (unsigned)(draw() % world.clocks);
		long double t = world.length * between(0, 1);
		long double u = t + pow(10, between(3, 7)) * NS * (one_of(2) ? 1 : -1);
		int64_t x = at(&world.clock[p], t, false), y = at(&world.clock[q], u, false);

		if (x < 0 || y < 0 || p == q || u < 0 || u > world.length)
			continue;
		enum dt_order_of o = dt_align_order(a, p, x, q, y);
		to->pairs++;
		to->ordered += o != DT_ORDER_UNKNOWN;
		if ((o == DT_BEFORE && t >= u) || (o == DT_AFTER && t <= u))
			wrong(number, a, "the wrong order", p, (double)(t - u));
	}
}

/* A clock that is said to have stepped has, there, and by so much as its bars allow. */
static void check_steps(uint64_t number, const struct dt_align *a, struct claims *to)
{
	for (unsigned c = 0; c < world.clocks; c++)
		to->steps += world.clock[c].step > 0 || world.clock[c].stop > 0;
	for (size_t i = 0; i < a->contradictions; i++) {
		const struct dt_contradiction *d = &a->contradiction[i];
		const struct clock *c = &world.clock[d->clock];
		int64_t when = at(c, c->step > 0 ? c->step_at : c->stop_at, false);

		if (d->kind != DT_CONTRADICTION_STEP)
			continue;
		if (!world.wild || (c->step <= 0 && c->stop <= 0))
			wrong(number, a, "a step that was none", d->clock, 0);
		if (when < d->from || when - (int64_t)c->step > d->to)
			wrong(number, a, "a step elsewhere", d->clock, 0);
		if ((d->step > 0) != (c->step > 0))
			wrong(number, a, "a step the other way", d->clock, 0);
		to->named++;
	}
}

static void simulate(uint64_t number, struct claims *to)
{
	struct dt_align_clock clock[MOST];
	struct dt_error e = {""};
	struct dt_align *a;

	make_world(number);
	for (unsigned i = 0; i < world.clocks; i++)
		clock[i] = (struct dt_align_clock){at(&world.clock[i], 0, false),
						   at(&world.clock[i], world.length, true), 0};
	a = dt_align_new(clock, world.clocks, 0, world.evidence, world.n, &usual, &e);
	if (!a) {
		print_message("simulation %lu: %s\n", (unsigned long)number, e.text);
		fail();
	}
	check_bars(number, a, to);
	check_arrows(number, a);
	check_order(number, a, to);
	check_steps(number, a, to);
	if (!world.wild && a->wander > 1.01 * DT_ALIGN_WANDER)
		wrong(number, a, "more wander than there was", 0, 0);
	if (!world.wild && a->contradictions)
		wrong(number, a, "a contradiction where there is none", 0, 0);
	dt_align_free(a);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 10) : otherwise;
}

static void simulations(void **state)
{
	uint64_t n = number_of("ALIGN_SIMULATIONS", 20), first = number_of("FIRST", 1);
	struct claims all = {0};

	for (uint64_t i = 0; i < n; i++)
		simulate(first + i, &all);
	print_message(
		"%lu simulations: %lu places, %.1f %% bounded, by +-%.1f us on average; likely "
		"%.2f %%; %lu of %lu pairs of events ordered; %lu of %lu steps named\n",
		(unsigned long)n, (unsigned long)all.looked,
		100.0 * (double)all.bounded / (double)all.looked,
		all.width / 2 / (double)all.bounded / (double)US,
		100.0 * (double)all.likely / (double)all.bounded, (unsigned long)all.ordered,
		(unsigned long)all.pairs, (unsigned long)all.named, (unsigned long)all.steps);
	/* claims that are true because they claim nothing are none */
	assert_true(all.bounded > all.looked * 8 / 10);
	assert_true(all.ordered > all.pairs / 4);
	assert_true(all.named > all.steps / 2);
}

/* ---- what is known without simulating ---- */

static struct dt_align *align(const struct dt_evidence *v, size_t n, uint32_t clocks)
{
	static const struct dt_align_clock all[3] = {
		{0, 10 * SEC, 0}, {0, 10 * SEC, 7 * SEC}, {0, 10 * SEC, -3 * SEC}};
	struct dt_error e = {""};
	struct dt_align *a = dt_align_new(all, clocks, 0, v, n, &usual, &e);

	assert_string_equal(e.text, "");
	assert_non_null(a);
	return a;
}

static struct dt_knot place(const struct dt_align *a, uint32_t clock, int64_t x)
{
	return dt_knots_place(a->clock[clock].knot, a->clock[clock].knots, x);
}

/* Clock b is ahead of clock a by `ahead': an exchange at x of a, each way taking `took'. */
static void exchange(struct dt_evidence *v, uint32_t a, uint32_t b, int64_t x, int64_t ahead,
		     int64_t took, uint8_t kind)
{
	v[0] = (struct dt_evidence){a, b, x, x + took + ahead, 0, (uint32_t)(x / MS), kind};
	v[1] = (struct dt_evidence){b,	 a, x + took + ahead, x + 2 * took, 0, (uint32_t)(x / MS),
				    kind};
}

static void nothing_known(void **state)
{
	struct dt_align *a = align(NULL, 0, 2);
	struct dt_knot k = place(a, 1, SEC);

	/* it is where the hint says, and nothing is guaranteed */
	assert_true(k.t == 8 * SEC && !a->clock[1].known);
	assert_true(k.early == DT_UNKNOWN_EARLY && k.late == DT_UNKNOWN_LATE);
	assert_true(place(a, 0, SEC).early >= SEC - 2 && place(a, 0, SEC).late <= SEC + 2);
	assert_int_equal(dt_align_order(a, 0, SEC, 1, SEC), DT_ORDER_UNKNOWN);
	assert_int_equal(dt_align_order(a, 1, SEC, 1, 2 * SEC), DT_BEFORE);
	assert_int_equal(dt_align_order(a, 1, SEC, 1, 0), DT_AFTER);
	dt_align_free(a);
}

/* One message says that a clock is not later than something, never how early. */
static void one_side(void **state)
{
	struct dt_evidence v = {0, 1, 2 * SEC, SEC, 0, 0, DT_EVIDENCE_MESSAGE};
	struct dt_align *a = align(&v, 1, 2);
	struct dt_knot k = place(a, 1, SEC);

	assert_true(k.early == 2 * SEC - 2 && k.late == DT_UNKNOWN_LATE && k.t == 2 * SEC);
	assert_true(!a->clock[1].known);
	/* a second later it may have lost 250 us */
	k = place(a, 1, 2 * SEC);
	assert_true(llabs(k.early - (3 * SEC - 250 * US)) <= 4);
	assert_int_equal(dt_align_order(a, 0, SEC, 1, SEC), DT_BEFORE);
	assert_int_equal(dt_align_order(a, 1, SEC, 0, 3 * SEC), DT_ORDER_UNKNOWN);
	dt_align_free(a);
}

static void exchanges(void **state)
{
	struct dt_evidence v[4];
	struct dt_align *a;
	struct dt_knot k;

	exchange(v, 0, 1, 1 * SEC, 5 * MS, 10 * US, DT_EVIDENCE_PING);
	exchange(v + 2, 0, 1, 9 * SEC, 5 * MS, 10 * US, DT_EVIDENCE_PING);
	a = align(v, 4, 2);
	k = place(a, 1, SEC + 5 * MS + 10 * US);
	assert_true(k.late - k.early == 20 * US + 4 && llabs(k.t - SEC - 10 * US) <= 1);
	assert_true(k.likely == (20 * US + 4) / 3);
	/* the rate is within 20 us in 8 s, and twice the wander: 2.5 + 1 ppm, for 4 s */
	k = place(a, 1, 5 * SEC);
	assert_true(llabs((k.late - k.early) - (20 * US + 2 * 4 * 3500 * NS)) < US / 10);
	assert_int_equal(a->contradictions, 0);
	dt_align_free(a);
}

/* Through a third clock; and an order that only a chain of messages decides. */
static void through_third(void **state)
{
	struct dt_evidence v[5];
	struct dt_align *a;

	/* far from the reference, close to each other */
	exchange(v, 0, 1, 5 * SEC, SEC, 100 * MS, DT_EVIDENCE_PING);
	exchange(v + 2, 1, 2, 5 * SEC, -2 * SEC, 10 * US, DT_EVIDENCE_PING);
	a = align(v, 4, 3);
	struct dt_knot k = place(a, 2, 3 * SEC);
	assert_true(a->clock[2].known && k.late - k.early > 199 * MS);
	assert_true(k.late - k.early < 202 * MS);
	/* the bars overlap by nearly all; but 30 us are more than an exchange took */
	assert_int_equal(dt_align_order(a, 1, 5 * SEC, 2, 3 * SEC + 50 * US), DT_BEFORE);
	assert_int_equal(dt_align_order(a, 2, 3 * SEC + 50 * US, 1, 5 * SEC), DT_AFTER);
	assert_int_equal(dt_align_order(a, 1, 5 * SEC, 2, 3 * SEC + 5 * US), DT_ORDER_UNKNOWN);
	dt_align_free(a);
}

static void steps(void **state)
{
	struct dt_evidence v[2 * 100];
	struct dt_align *a;

	for (int i = 0; i < 100; i++)
		exchange(v + 2 * i, 0, 1, (i + 1) * 50 * MS, i < 50 ? 5 * MS : SEC + 5 * MS,
			 10 * US, DT_EVIDENCE_PING);
	a = align(v, 200, 2);
	assert_int_equal(a->contradictions, 1);
	const struct dt_contradiction *c = a->contradiction;
	assert_true(c->kind == DT_CONTRADICTION_STEP && c->clock == 1 && c->n >= 2);
	/* between the last exchange before and the first one after */
	assert_true(c->from >= 2500 * MS && c->to <= 3560 * MS + 10 * US);
	assert_true(llabs(c->step - SEC) < MS);
	struct dt_knot k = place(a, 1, 2 * SEC);
	assert_true(llabs(k.t - (2 * SEC - 5 * MS)) < 20 * US && k.late - k.early < 30 * US);
	k = place(a, 1, 4 * SEC);
	assert_true(llabs(k.t - (3 * SEC - 5 * MS)) < 20 * US && k.late - k.early < 30 * US);
	/* in between it may be before or after */
	k = place(a, 1, 3 * SEC);
	assert_true(k.early <= 2 * SEC - 5 * MS && k.late >= 3 * SEC - 5 * MS);
	dt_align_free(a);
}

/* Somebody says that two things were at once, and messages say that they were not. */
static void false_marker(void **state)
{
	struct dt_evidence v[6];
	struct dt_align *a;

	exchange(v, 0, 1, 5 * SEC, 5 * MS, 10 * US, DT_EVIDENCE_MESSAGE);
	exchange(v + 2, 0, 1, 6 * SEC, 5 * MS, 10 * US, DT_EVIDENCE_MESSAGE);
	v[4] = (struct dt_evidence){0, 1, 5 * SEC, 5 * SEC + 9 * MS, MS, 7, DT_EVIDENCE_MARKER};
	v[5] = (struct dt_evidence){1, 0, 5 * SEC + 9 * MS, 5 * SEC, MS, 7, DT_EVIDENCE_MARKER};
	a = align(v, 6, 2);
	assert_int_equal(a->contradictions, 1);
	assert_int_equal(a->contradiction[0].kind, DT_CONTRADICTION_FALSE);
	assert_int_equal(v[a->contradiction[0].evidence[0]].item, 7);
	assert_true(llabs(a->contradiction[0].by - 3 * MS) < 20 * US);
	assert_int_equal(a->clock[1].used, 4);
	assert_true(llabs(place(a, 1, 5 * SEC).t - (5 * SEC - 5 * MS)) < 20 * US);
	dt_align_free(a);
}

/* Very many messages at once: what is rounded must not look like a contradiction. */
static void many(void **state)
{
	enum { N = 60000 };
	static struct dt_evidence v[N];
	struct dt_align *a;

	for (int i = 0; i < N; i++) {
		int64_t t = (int64_t)(9.0 * (double)SEC * i / N),
			took = 20 * US + i * 7919 % (9 * US);
		int64_t x = t, y = t + took + llrint((double)(t + took) * 33e-6);

		if (i % 2)
			y = t + llrint((double)t * 33e-6), x = t + took;
		v[i] = i % 2 ? (struct dt_evidence){1, 0, y, x, 0, (uint32_t)i, DT_EVIDENCE_PING}
			     : (struct dt_evidence){0, 1, x, y, 0, (uint32_t)i, DT_EVIDENCE_PING};
	}
	a = align(v, N, 2);
	assert_int_equal(a->contradictions, 0);
	assert_true(a->wander < 1.01 * DT_ALIGN_WANDER);
	struct dt_knot k = place(a, 1, 5 * SEC);
	assert_true(k.late - k.early < 45 * US);
	dt_align_free(a);
}

static void refused(void **state)
{
	struct dt_align_clock all[2] = {{0, SEC, 0}, {0, SEC, 0}};
	struct dt_evidence v = {0, 1, 1ll << 60, 0, 0, 0, DT_EVIDENCE_MESSAGE};
	struct dt_error e;

	assert_null(dt_align_new(all, 2, 0, &v, 1, &usual, &e));
	assert_non_null(strstr(e.text, "half a year"));
	v.xa = 0;
	v.b = 2;
	assert_null(dt_align_new(all, 2, 0, &v, 1, &usual, &e));
	all[1].begin = 2 * SEC;
	assert_null(dt_align_new(all, 2, 0, NULL, 0, &usual, &e));
	assert_null(dt_align_new(all, 2, 2, NULL, 0, &usual, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_known), cmocka_unit_test(one_side),
		cmocka_unit_test(exchanges),	 cmocka_unit_test(through_third),
		cmocka_unit_test(steps),	 cmocka_unit_test(false_marker),
		cmocka_unit_test(many),		 cmocka_unit_test(refused),
		cmocka_unit_test(simulations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
