/* SPDX-License-Identifier: MIT */
/* Perfetto's events of tracks: the beginnings and ends of slices, instants, values of counters. */
#include "import/perfetto-work.h"

#include <math.h>

enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum { OF_CATEGORY, OF_NAME }; /* what is interned */

#define CATEGORIES 16u /* of an event; more are not looked at */

struct event {
	uint64_t type, track, name_iid;
	bool has_track, has_name_iid, has_count, has_double, more, legacy;
	struct dt_wire_bytes name, counter_name;
	uint64_t count;
	double value;
	uint32_t category[CATEGORIES]; /* in names, + 1 */
	unsigned categories;
};

int dt_perfetto_intern(struct perfetto *k, struct sequence *s, struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b), inner;
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f)) {
		unsigned of = f.key == DT_WIRE_TEXT(1) ? OF_CATEGORY : OF_NAME;
		struct dt_wire_bytes text = {.p = NULL};
		uint64_t iid = 0;
		int64_t number;
		uint32_t *p;

		if (f.key != DT_WIRE_TEXT(1) && f.key != DT_WIRE_TEXT(2))
			continue;
		inner = dt_wire_begin(f.bytes);
		while (dt_wire_next(&inner, &f)) {
			if (f.key == DT_WIRE_NUMBER(1))
				iid = f.value;
			else if (f.key == DT_WIRE_TEXT(2))
				text = f.bytes;
		}
		if (inner.bad)
			return dt_perfetto_damaged(k);
		number = dt_key_number(&k->interned, s->state << 1 | of, iid, k->e);
		p = number < 0 ? NULL
			       : dt_key_room(k->name, &k->name_size, number, sizeof(*p), k->e);
		if (!p)
			return -1;
		k->name = p;
		p[number] = dt_perfetto_name(k, text);
		if (!p[number])
			return -1;
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

/* Returns the name of a number; one that is not known is made up and counted. 0: an error. */
static uint32_t interned(struct perfetto *k, const struct sequence *s, unsigned of, uint64_t iid)
{
	int64_t number = dt_key_find(&k->interned, s->state << 1 | of, iid);
	char text[40];

	if (number >= 0)
		return k->name[number];
	k->m->left[DT_LEFT_NO_NAME]++;
	dt_format(text, sizeof(text), "(name %lu)", (unsigned long)iid);
	return (uint32_t)(dt_name_number(&k->m->names, text, k->e) + 1);
}

static int add_category(struct perfetto *k, struct event *x, uint32_t name)
{
	if (x->categories < CATEGORIES)
		x->category[x->categories++] = name;
	else
		x->more = true;
	return name ? 0 : -1;
}

/* Reads numbers that are in one field. */
static int packed_categories(struct perfetto *k, const struct sequence *s, struct event *x,
			     struct dt_wire_bytes b)
{
	struct dt_cursor_bytes c = dt_wire_begin(b);

	while (c.p != c.end && !c.bad)
		if (add_category(k, x, interned(k, s, OF_CATEGORY, dt_get_varint(&c))))
			return -1;
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

static int parse(struct perfetto *k, const struct sequence *s, struct event *x)
{
	struct dt_cursor_bytes c = dt_wire_begin(k->packet.event);
	struct dt_wire_field f;
	int rc = 0;

	while (!rc && dt_wire_next(&c, &f)) {
		switch (f.key) {
		case DT_WIRE_NUMBER(3):
			rc = add_category(k, x, interned(k, s, OF_CATEGORY, f.value));
			break;
		case DT_WIRE_TEXT(3):
			rc = packed_categories(k, s, x, f.bytes);
			break;
		case DT_WIRE_TEXT(6):
			x->legacy = true;
			break;
		case DT_WIRE_NUMBER(9):
			x->type = f.value;
			break;
		case DT_WIRE_NUMBER(10):
			x->name_iid = f.value;
			x->has_name_iid = true;
			break;
		case DT_WIRE_NUMBER(11):
			x->track = f.value;
			x->has_track = true;
			break;
		case DT_WIRE_TEXT(22):
			rc = add_category(k, x, dt_perfetto_name(k, f.bytes));
			break;
		case DT_WIRE_TEXT(23):
			x->name = f.bytes;
			break;
		case DT_WIRE_NUMBER(30):
			x->count = f.value;
			x->has_count = true;
			break;
		case DT_WIRE_KEY(44, DT_WIRE_FIXED64):
			memcpy(&x->value, &f.value, sizeof(x->value));
			x->has_double = true;
			break;
		default:
			/* arguments, source places, further counters */
			x->more |= (f.key & 7) == DT_WIRE_BYTES && f.key != DT_WIRE_TEXT(47) &&
				   f.key != DT_WIRE_TEXT(48);
		}
	}
	return c.bad ? dt_perfetto_damaged(k) : rc;
}

/* Returns the number of an event's name and category in a list; -1: an error. */
static int64_t named(struct perfetto *k, const struct sequence *s, const struct event *x,
		     struct dt_name_list *l)
{
	const struct dt_name_list *names = &k->m->names;
	uint32_t name = 0;
	size_t size = 1, n = 0;
	int64_t number;
	char *both;

	if (x->name.p || x->has_name_iid)
		name = x->name.p ? dt_perfetto_name(k, x->name)
				 : interned(k, s, OF_NAME, x->name_iid);
	else
		name = (uint32_t)(dt_name_number(&k->m->names, "(no name)", k->e) + 1);
	if (!name)
		return -1;
	if (x->categories == 1)
		return dt_name_pair(l, names->at[x->category[0] - 1]->text,
				    names->at[name - 1]->text, k->e);
	for (unsigned i = 0; i < x->categories; i++)
		size += strlen(names->at[x->category[i] - 1]->text) + 1;
	both = calloc(1, size);
	if (!both)
		return dt_fail(k->e, "out of memory");
	for (unsigned i = 0; i < x->categories; i++)
		n += dt_format(both + n, size - n, "%s%s", i ? "," : "",
			       names->at[x->category[i] - 1]->text);
	number = dt_name_pair(l, both, names->at[name - 1]->text, k->e);
	free(both);
	return number;
}

/* ---- flows ---- */

static int add_flow(struct perfetto *k, const struct dt_import_item *of, uint64_t id, bool ends)
{
	int64_t number = dt_key_number(&k->flows, id, 0, k->e);
	struct dt_import_item x = *of;
	struct flow *p;

	if (number < 0)
		return -1;
	p = dt_key_room(k->flow, &k->flow_size, k->flows_n, sizeof(*p), k->e);
	if (!p)
		return -1;
	k->flow = p;
	p[k->flows_n++] = (struct flow){
		.ns = x.ns, .item = (uint32_t)k->m->n, .id = (uint32_t)number, .ends = ends};
	x.kind = DT_IMPORT_RECEIVE;
	x.value = (uint64_t)number;
	if (dt_imported_add(k->m, &x, k->e))
		return -1;
	x.kind = DT_IMPORT_SEND;
	return dt_imported_add(k->m, &x, k->e);
}

/* Adds the flows of an event, whose item is there. */
static int take_flows(struct perfetto *k, const struct dt_import_item *x)
{
	struct dt_cursor_bytes c = dt_wire_begin(k->packet.event);
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f)) {
		bool ends = f.key >> 3 == 48 || f.key >> 3 == 42;

		if (f.key == DT_WIRE_TEXT(47) || f.key == DT_WIRE_TEXT(48)) {
			for (size_t i = 0; i + 8 <= f.bytes.n; i += 8) {
				uint64_t id;

				memcpy(&id, f.bytes.p + i, sizeof(id));
				if (add_flow(k, x, id, ends))
					return -1;
			}
		} else if (f.key == DT_WIRE_KEY(47, DT_WIRE_FIXED64) ||
			   f.key == DT_WIRE_KEY(48, DT_WIRE_FIXED64) ||
			   f.key == DT_WIRE_NUMBER(36) || f.key == DT_WIRE_NUMBER(42)) {
			if (add_flow(k, x, f.value, ends))
				return -1;
		}
	}
	return 0;
}

static int by_time(const void *pa, const void *pb)
{
	const struct flow *a = pa, *b = pb;

	return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns)
			      : (a->item > b->item) - (a->item < b->item);
}

int dt_perfetto_flow(struct perfetto *k)
{
	bool *open = calloc(k->flows.n + 1, sizeof(*open));

	if (!open)
		return dt_fail(k->e, "out of memory");
	if (k->flows_n)
		qsort(k->flow, k->flows_n, sizeof(*k->flow), by_time);
	for (uint32_t i = 0; i < k->flows_n; i++) {
		const struct flow *f = &k->flow[i];
		struct dt_import_item *x = &k->m->item[f->item];

		if (!open[f->id])
			x[0].kind = DT_IMPORT_GONE;
		if (f->ends)
			x[1].kind = DT_IMPORT_GONE;
		open[f->id] = !f->ends;
	}
	free(open);
	return 0;
}

/* ---- counters ---- */

static int take_counter(struct perfetto *k, const struct sequence *s, const struct event *x,
			struct dt_import_item *item)
{
	struct track *t = &k->track[item->thread];
	int64_t v = (int64_t)x->count;
	double whole = nearbyint(x->value);

	if (!x->has_count) {
		if (!x->has_double || !(fabs(whole) < (double)INT64_MAX)) {
			k->m->left[DT_LEFT_WIDE]++;
			return 0;
		}
		k->m->left[DT_LEFT_FRACTIONS] += whole != x->value;
		v = (int64_t)whole;
	}
	if (t->state != s->state)
		t->last = 0;
	t->state = s->state;
	if ((t->incremental && __builtin_add_overflow(t->last, v, &v)) ||
	    (t->unit && __builtin_mul_overflow(v, t->unit, &v))) {
		k->m->left[DT_LEFT_WIDE]++;
		return 0;
	}
	t->last = t->unit ? v / t->unit : v;
	item->value = (uint64_t)v;
	item->kind = DT_IMPORT_EVENT;
	item->name = NAME_OF_TRACK;
	if (!t->category && x->categories)
		t->category = x->category[0];
	return dt_imported_add(k->m, item, k->e);
}

/* ---- all of them ---- */

static int64_t track_of(struct perfetto *k, const struct sequence *s, const struct event *x)
{
	int64_t own;

	if (x->has_track)
		return dt_perfetto_track(k, x->track);
	if (s->has_track)
		return dt_perfetto_track(k, s->track);
	/* older writers describe the thread of a sequence; else it is the trace's own track */
	own = dt_perfetto_own_track(k, k->packet.sequence);
	return own < 0 || k->track[own].known ? own : dt_perfetto_track(k, 0);
}

static int take(struct perfetto *k, const struct sequence *s, const struct event *x,
		struct dt_import_item *item)
{
	int64_t name = 0;

	if (x->type == COUNTER)
		return take_counter(k, s, x, item);
	item->kind = x->type == SLICE_BEGIN ? DT_IMPORT_BEGIN
		     : x->type == SLICE_END ? DT_IMPORT_END
					    : DT_IMPORT_EVENT;
	/* the name of an end, which need not be there, is only compared */
	item->value = x->type == SLICE_END && (x->name.p || x->has_name_iid);
	if (x->type != SLICE_END || item->value)
		name = named(k, s, x, x->type == INSTANT ? &k->m->events : &k->m->functions);
	if (name < 0)
		return -1;
	item->name = (uint32_t)name;
	return dt_imported_add(k->m, item, k->e) || take_flows(k, item) ? -1 : 0;
}

int dt_perfetto_event(struct perfetto *k, const struct sequence *s)
{
	struct event x = {.type = 0};
	struct dt_import_item item = {.kind = DT_IMPORT_GONE};
	int64_t track;
	int rc;

	if (parse(k, s, &x))
		return -1;
	/* also of one that is left out, since it may be what the next one's is counted from */
	rc = dt_perfetto_time(k, s, &item.ns);
	if (rc <= 0)
		return rc;
	if (x.legacy && !x.type) {
		k->m->left[DT_LEFT_LEGACY]++;
		return 0;
	}
	if (x.type < SLICE_BEGIN || x.type > COUNTER) {
		k->m->left[DT_LEFT_PACKETS]++;
		return 0;
	}
	track = track_of(k, s, &x);
	if (track < 0)
		return -1;
	item.end = item.ns;
	item.thread = (uint32_t)track;
	k->m->left[DT_LEFT_ARGUMENTS] += x.more;
	return take(k, s, &x, &item);
}
