/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's clocks. A packet's time is of some clock; from time to time several are read at once.
 * All times are brought to one, the trace's: the one that a reading names as the primary one, else
 * the one since boot; where no clock has been read, that of the first time.
 */
#include "import/perfetto-work.h"

#define LATEST	 ((int64_t)1 << 61)
#define READINGS 64u /* clocks of one reading that are looked at */

struct reading {
	uint64_t clock;
	int64_t value, unit;
	bool incremental;
};

static struct clock *clock_of(struct perfetto *k, uint64_t id)
{
	bool own = id >= CLOCK_SEQUENCE && id < CLOCK_GLOBAL;
	int64_t number = dt_key_number(&k->clocks, own ? k->packet.sequence + 1 : 0, id, k->e);
	struct clock *p =
		number < 0 ? NULL : dt_key_room(k->clock, &k->clock_size, number, sizeof(*p), k->e);

	if (!p)
		return NULL;
	k->clock = p;
	return &p[number];
}

/* ns of units of a clock; false: there are none so large. */
static bool in_ns(const struct clock *c, int64_t units, int64_t *ns)
{
	return !__builtin_mul_overflow(units, c->unit ? (int64_t)c->unit : 1, ns) &&
	       *ns <= LATEST && *ns >= -LATEST;
}

static bool in_trace(const struct clock *c, int64_t ns, int64_t *to)
{
	/* each of the three is at most LATEST */
	*to = c->to + (ns - c->from);
	return *to <= LATEST && *to >= -LATEST;
}

static int read_clock(struct perfetto *k, struct dt_wire_bytes b, struct reading *r)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_field f;

	*r = (struct reading){.unit = 1};
	while (dt_wire_next(&c, &f)) {
		switch (f.key) {
		case DT_WIRE_NUMBER(1):
			r->clock = f.value;
			break;
		case DT_WIRE_NUMBER(2):
			r->value = (int64_t)f.value;
			break;
		case DT_WIRE_NUMBER(3):
			r->incremental = f.value;
			break;
		case DT_WIRE_NUMBER(4):
			r->unit = f.value && f.value <= (uint64_t)LATEST ? (int64_t)f.value : 1;
			break;
		}
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

/* Finds the trace's time of a reading: it is among its clocks, or one of them is known already. */
static int find_time(struct perfetto *k, const struct reading *r, unsigned n, int64_t *to)
{
	for (unsigned i = 0; i < n; i++)
		if (r[i].clock == k->trace_clock) {
			*to = r[i].value;
			return *to <= LATEST && *to >= -LATEST;
		}
	for (unsigned i = 0; i < n; i++) {
		struct clock *c = clock_of(k, r[i].clock);
		int64_t ns;

		if (!c)
			return -1;
		if (c->known && !c->incremental && in_ns(c, r[i].value, &ns) && in_trace(c, ns, to))
			return 1;
	}
	return 0;
}

int dt_perfetto_snapshot(struct perfetto *k, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct reading r[READINGS];
	struct dt_wire_field f;
	uint64_t primary = CLOCK_BOOTTIME;
	unsigned n = 0;
	int64_t to;
	int rc;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(2) && f.value && f.value < CLOCK_SEQUENCE)
			primary = f.value;
		if (f.key != DT_WIRE_TEXT(1))
			continue;
		if (n < READINGS && read_clock(k, f.bytes, &r[n++]))
			return -1;
	}
	if (c.bad)
		return dt_perfetto_damaged(k);
	if (!k->trace_clock)
		k->trace_clock = primary;
	rc = find_time(k, r, n, &to);
	for (unsigned i = 0; rc > 0 && i < n; i++) {
		struct clock *x = clock_of(k, r[i].clock);

		if (!x)
			return -1;
		x->incremental = r[i].incremental;
		x->unit = (uint64_t)r[i].unit;
		x->last = r[i].value;
		x->to = to;
		x->known = in_ns(x, r[i].value, &x->from);
	}
	return rc < 0 ? -1 : 0;
}

int dt_perfetto_time(struct perfetto *k, const struct sequence *s, int64_t *ns)
{
	const struct packet *x = &k->packet;
	uint64_t id = x->has_clock ? x->clock : s->has_clock ? s->clock : CLOCK_BOOTTIME;
	int64_t units = (int64_t)x->timestamp;
	struct clock *c;

	if (!x->has_time) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	if (!k->trace_clock && id < CLOCK_SEQUENCE)
		k->trace_clock = id;
	if (id == k->trace_clock) {
		*ns = units;
		if (units >= 0 && units <= LATEST)
			return 1;
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	c = clock_of(k, id);
	if (!c)
		return -1;
	if (!c->known) {
		k->m->left[DT_LEFT_NO_CLOCK]++;
		return 0;
	}
	if (c->incremental && __builtin_add_overflow(c->last, units, &units)) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	c->last = units;
	if (in_ns(c, units, ns) && in_trace(c, *ns, ns))
		return 1;
	k->m->left[DT_LEFT_NO_TIME]++;
	return 0;
}

const char *dt_perfetto_clock_name(const struct perfetto *k)
{
	static const char *const names[] = {
		"(no clock)",	   "CLOCK_REALTIME",	     "CLOCK_REALTIME_COARSE",
		"CLOCK_MONOTONIC", "CLOCK_MONOTONIC_COARSE", "CLOCK_MONOTONIC_RAW",
		"CLOCK_BOOTTIME"};

	return k->trace_clock < sizeof(names) / sizeof(*names) ? names[k->trace_clock]
							       : "another clock of the system's";
}
