/* SPDX-License-Identifier: MIT */
/* Perfetto's packets, one after the other; of each, one is in memory. */
#include "import/perfetto.h"

#include <errno.h>

#include "import/perfetto-work.h"

#define PIECE	(1u << 20) /* is read at a time: a length that lies takes no memory */
#define LONGEST (1u << 30) /* of a packet, bytes */

enum { INCREMENTAL_STATE_CLEARED = 1 }; /* in sequence_flags */

struct buffer {
	uint8_t *p;
	size_t size;
};

int dt_perfetto_damaged(struct perfetto *k)
{
	return dt_fail(k->e, "%s: the packet at byte %lu is damaged", k->path,
		       (unsigned long)k->at);
}

static int is_cut(struct perfetto *k)
{
	return dt_fail(k->e, "%s: the file ends within the packet at byte %lu: it is cut off",
		       k->path, (unsigned long)k->at);
}

const char *dt_perfetto_text(struct perfetto *k, struct dt_wire_bytes b)
{
	if (b.n + 1 > k->text_size) {
		char *p = realloc(k->text, b.n + 256);

		if (!p) {
			dt_fail(k->e, "out of memory");
			return NULL;
		}
		k->text = p;
		k->text_size = b.n + 256;
	}
	for (size_t i = 0; i < b.n; i++)
		k->text[i] = b.p[i] ? (char)b.p[i] : '?';
	k->text[b.n] = '\0';
	return k->text;
}

uint32_t dt_perfetto_name(struct perfetto *k, struct dt_wire_bytes b)
{
	const char *text = dt_perfetto_text(k, b);
	int64_t number = text ? dt_name_number(&k->m->names, text, k->e) : -1;

	return (uint32_t)(number + 1);
}

struct sequence *dt_perfetto_sequence(struct perfetto *k)
{
	int64_t number = dt_key_number(&k->sequences, k->packet.sequence, 0, k->e);
	struct sequence *p =
		number < 0 ? NULL
			   : dt_key_room(k->sequence, &k->sequence_size, number, sizeof(*p), k->e);

	if (!p)
		return NULL;
	k->sequence = p;
	return &p[number];
}

/* Reads what is so for all packets of a sequence until its names are forgotten. */
static int take_defaults(struct perfetto *k, struct sequence *s)
{
	struct dt_cursor_bytes c = dt_wire_begin(k->packet.defaults), inner;
	struct dt_wire_field f;

	while (dt_wire_next(&c, &f)) {
		if (f.key == DT_WIRE_NUMBER(58)) {
			s->clock = f.value;
			s->has_clock = true;
		} else if (f.key == DT_WIRE_TEXT(11)) {
			inner = dt_wire_begin(f.bytes);
			while (dt_wire_next(&inner, &f)) {
				if (f.key != DT_WIRE_NUMBER(11))
					continue;
				s->track = f.value;
				s->has_track = true;
			}
			c.bad |= inner.bad;
		}
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

static int parse(struct perfetto *k, struct dt_wire_bytes b)
{
	struct packet *x = &k->packet;
	struct dt_cursor_bytes c = dt_wire_begin(b);
	struct dt_wire_field f;

	*x = (struct packet){.others = 0};
	while (dt_wire_next(&c, &f)) {
		switch (f.key) {
		case DT_WIRE_TEXT(1):
			x->bundle = f.bytes;
			break;
		case DT_WIRE_TEXT(2):
			x->tree = f.bytes;
			break;
		case DT_WIRE_TEXT(6):
			x->snapshot = f.bytes;
			break;
		case DT_WIRE_NUMBER(8):
			x->timestamp = f.value;
			x->has_time = true;
			break;
		case DT_WIRE_NUMBER(10):
			x->sequence = f.value;
			break;
		case DT_WIRE_TEXT(11):
			x->event = f.bytes;
			break;
		case DT_WIRE_TEXT(12):
			x->interned = f.bytes;
			break;
		case DT_WIRE_NUMBER(13):
			x->flags |= f.value;
			break;
		case DT_WIRE_NUMBER(41):
			x->flags |= f.value ? INCREMENTAL_STATE_CLEARED : 0;
			break;
		case DT_WIRE_NUMBER(42):
			x->dropped = f.value;
			break;
		case DT_WIRE_TEXT(43):
			x->process = f.bytes;
			break;
		case DT_WIRE_TEXT(44):
			x->thread = f.bytes;
			break;
		case DT_WIRE_TEXT(50):
		case DT_WIRE_TEXT(133):
			x->compressed++;
			break;
		case DT_WIRE_NUMBER(58):
			x->clock = f.value;
			x->has_clock = true;
			break;
		case DT_WIRE_TEXT(59):
			x->defaults = f.bytes;
			break;
		case DT_WIRE_TEXT(60):
			x->track = f.bytes;
			break;
		default:
			/* other data; numbers describe the packet */
			x->others += (f.key & 7) == DT_WIRE_BYTES && f.key != DT_WIRE_TEXT(36);
		}
	}
	return c.bad ? dt_perfetto_damaged(k) : 0;
}

/* Begins what a sequence knows anew, where the packet says so. */
static void begin_state(struct perfetto *k, struct sequence *s)
{
	if (k->packet.dropped && s->state)
		k->m->left[DT_LEFT_LOST]++;
	if (s->state && !(k->packet.flags & INCREMENTAL_STATE_CLEARED))
		return;
	*s = (struct sequence){.state = ++k->states};
}

static int take(struct perfetto *k, struct dt_wire_bytes b)
{
	struct packet *x = &k->packet;
	struct sequence *s;

	if (parse(k, b))
		return -1;
	s = dt_perfetto_sequence(k);
	if (!s)
		return -1;
	begin_state(k, s);
	k->m->left[DT_LEFT_PACKED] += x->compressed;
	k->m->left[DT_LEFT_PACKETS] += x->others != 0;
	if ((x->defaults.p && take_defaults(k, s)) ||
	    (x->snapshot.p && dt_perfetto_snapshot(k, x->snapshot)) ||
	    (x->interned.p && dt_perfetto_intern(k, s, x->interned)) ||
	    (x->track.p && dt_perfetto_take_track(k, x->track)) ||
	    (x->tree.p && dt_perfetto_tree(k, x->tree)))
		return -1;
	if (x->thread.p) {
		int64_t track = dt_perfetto_own_track(k, x->sequence);

		if (track < 0 || dt_perfetto_take_thread(k, track, x->thread))
			return -1;
	}
	k->m->left[DT_LEFT_METADATA] += x->process.p != NULL;
	return (x->event.p && dt_perfetto_event(k, s)) || (x->bundle.p && dt_perfetto_bundle(k))
		       ? -1
		       : 0;
}

/* Reads a varint of the file. 1: done; 0: the file ends before it; -1: error. */
static int read_number(struct perfetto *k, FILE *f, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		int c = getc(f);

		if (c == EOF && ferror(f))
			return dt_fail(k->e, "%s: %s", k->path, strerror(errno));
		if (c == EOF)
			return shift ? is_cut(k) : 0;
		k->at++;
		*v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return 1;
	}
	return dt_perfetto_damaged(k);
}

static int read_bytes(struct perfetto *k, FILE *f, struct buffer *b, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t piece = n - at < PIECE ? n - at : PIECE;

		if (at + piece > b->size) {
			size_t size = at + piece + (at + piece) / 2;
			uint8_t *p = realloc(b->p, size);

			if (!p)
				return dt_fail(k->e, "out of memory");
			b->p = p;
			b->size = size;
		}
		if (fread(b->p + at, 1, piece, f) < piece)
			return ferror(f) ? dt_fail(k->e, "%s: %s", k->path, strerror(errno))
					 : is_cut(k);
		at += piece;
	}
	return 0;
}

static int read_packets(struct perfetto *k, FILE *f, struct buffer *b)
{
	uint64_t key, n, begin;
	int rc;

	for (;;) {
		begin = k->at;
		rc = read_number(k, f, &key);
		if (rc <= 0)
			return rc;
		rc = read_number(k, f, &n);
		if (rc < 0)
			return -1;
		if (!rc)
			return is_cut(k);
		if (key != DT_WIRE_TEXT(1) || n > LONGEST)
			return dt_fail(k->e, "%s: no packet begins at byte %lu, where one must",
				       k->path, (unsigned long)begin);
		k->at = begin;
		if (read_bytes(k, f, b, n) || take(k, (struct dt_wire_bytes){b->p, n}))
			return -1;
		k->at = begin + 2 + n;
		for (uint64_t v = n; v >= 0x80; v >>= 7)
			k->at++;
	}
}

int dt_perfetto_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e)
{
	struct perfetto k = {.m = m, .e = e, .path = path};
	struct buffer b = {.size = 0};
	int rc = read_packets(&k, f, &b) || dt_perfetto_place(&k) || dt_perfetto_flow(&k) ||
				 dt_perfetto_switches(&k)
			 ? -1
			 : 0;

	if (!rc)
		dt_format(m->clock, sizeof(m->clock), "%s", dt_perfetto_clock_name(&k));
	dt_key_list_free(&k.sequences);
	dt_key_list_free(&k.clocks);
	dt_key_list_free(&k.tracks);
	dt_key_list_free(&k.interned);
	dt_key_list_free(&k.flows);
	dt_key_list_free(&k.tids);
	free(k.sequence);
	free(k.clock);
	free(k.track);
	free(k.name);
	free(k.flow);
	free(k.known);
	free(k.running);
	free(k.text);
	free(b.p);
	return rc;
}
