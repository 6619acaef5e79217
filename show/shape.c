/* SPDX-License-Identifier: MIT */
/* Types as a trace describes them. The file may be damaged: a description that is not understood is
 * ignored. */
#include "show/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "core/text.h"
#include "show/option.h"
#include "show/sockaddr.h"

#define MAX_PARTS 4096
#define MAX_NAME  64 /* bytes of a name that are printed */
#define MAX_DEPTH 4  /* structures in structures */
#define NOWHERE	  0xff

/* An enumerator, or a member of an aggregate. */
struct part {
	const char *name; /* points into the description, name_length bytes */
	uint32_t name_length;
	/* an enumerator's: */
	int64_t value;
	uint64_t mask; /* of kind 'f': the bits that have this value */
	/* a member's: */
	char letter;
	uint8_t size;	    /* bytes */
	uint32_t row;	    /* that of its type; 0: none */
	uint16_t bit, bits; /* where it begins; width of a bit field, or 0 */
};

struct dt_shape {
	bool ready;
	/* 'e' enumeration, 'f' flags, 'o' octal number, 'a' aggregate, 'n' network address, 'w'
	 * what wait(2) says of a process, 'k' a mask of bits with names, 'j' numbers that another
	 * value of the record is joined to, 'y' a socket's option; 0: it could not be understood */
	char kind;
	bool flags;    /* an enumeration whose values are single bits, to be combined */
	uint8_t other; /* of a network address: which value of the entry is its length; NOWHERE;
			  of 'j': which value of the record is the upper half */
	struct part *part;
	uint32_t parts;
};

/* ---- reading ---- */

/* Reads "RED=3", or of flags also "O_RDWR=2/3", at *p and moves *p past it and its comma. */
static bool read_enumerator(const char **p, struct part *part, bool flags)
{
	const char *at = *p;
	char *end;

	part->name = at;
	part->name_length = (uint32_t)strcspn(at, "=,");
	at += part->name_length;
	if (*at != '=' || !part->name_length)
		return false;
	part->value = strtoll(at + 1, &end, 10);
	if (end == at + 1)
		return false;
	part->mask = part->value ? (uint64_t)part->value : UINT64_MAX;
	if (flags && *end == '/') {
		at = end;
		part->mask = strtoull(at + 1, &end, 10);
		if (end == at + 1 || !part->mask)
			return false;
	}
	if (*end && *end != ',')
		return false;
	*p = *end ? end + 1 : end;
	return true;
}

/* Reads "x:i4#12@32/3" at *p and moves *p past it. */
static bool read_member(const char **p, struct part *part)
{
	struct dt_signature_member m;

	if (dt_signature_member(p, &m) < 1)
		return false;
	*part = (struct part){.name = m.name,
			      .name_length = m.name_length,
			      .letter = m.type.letter,
			      .size = m.type.size,
			      .row = m.type.row,
			      .bit = m.bit,
			      .bits = m.bits};
	return true;
}

/* Says whether all values are single bits or sums of them: then other sums can be named as well.
 * Consecutive numbers (0, 1, 2, 3, 4) look like that too, but are smaller: bits must be greater
 * than twice the number of values. */
static bool are_flags(const struct dt_shape *s)
{
	uint64_t bits = 0, all = 0;

	for (uint32_t i = 0; i < s->parts; i++) {
		uint64_t v = (uint64_t)s->part[i].value;

		all |= v;
		if (!(v & (v - 1)))
			bits |= v;
	}
	return bits == all && bits > 2ull * s->parts;
}

static void read_shape(struct dt_shape *s, const char *text)
{
	const char *p = strchr(text, ';');
	char kind = text[0];

	if (!p || !kind || !strchr("efoanjywku", kind) || text[1] != ':')
		return;
	s->other = NOWHERE;
	if (kind == 'n' && p[1] >= '0' && p[1] <= '3' && !p[2])
		s->other = (uint8_t)(*++p - '0');
	if (kind == 'j' && p[1] >= '0' && p[1] <= '3' && p[2] == ',')
		s->other = (uint8_t)(*++p - '0'), p++;
	if (kind == 'j' && s->other == NOWHERE)
		return;
	for (p++; *p;) {
		struct part part = {0}, *more;

		if (s->parts == MAX_PARTS ||
		    !(kind == 'a' ? read_member(&p, &part)
				  : read_enumerator(&p, &part, kind == 'f' || kind == 'u')))
			return;
		if ((s->parts & (s->parts - 1)) == 0) {
			more = realloc(s->part, (s->parts ? 2 * s->parts : 1) * sizeof(*more));
			if (!more)
				return;
			s->part = more;
		}
		s->part[s->parts++] = part;
	}
	s->kind = kind;
	s->flags = kind == 'e' && are_flags(s);
}

/* Returns the description of a type, parsed at the first call. NULL: there is none, it is not
 * understood, or out of memory. */
static const struct dt_shape *shape_of(struct dt_shapes *all, uint32_t row)
{
	struct dt_shape *s;
	const char *text;

	if (row >= all->shapes) {
		uint32_t n;

		if (!dt_reader_type(all->reader, row))
			return NULL;
		n = row + 64;
		s = realloc(all->shape, n * sizeof(*s));
		if (!s)
			return NULL;
		memset(s + all->shapes, 0, (n - all->shapes) * sizeof(*s));
		all->shape = s;
		all->shapes = n;
	}
	s = &all->shape[row];
	if (!s->ready) {
		text = dt_reader_type(all->reader, row);
		if (!text)
			return NULL;
		s->ready = true;
		read_shape(s, text);
	}
	return s->kind ? s : NULL;
}

/* ---- printing ---- */

struct put {
	struct dt_shapes *all;
	dt_shape_plain_fn *plain;
	char *p, *end; /* no value begins at or after end */
};

static void put_name(struct put *o, const struct part *part)
{
	uint32_t n = part->name_length < MAX_NAME ? part->name_length : MAX_NAME;

	memcpy(o->p, part->name, n);
	o->p += n;
}

static uint64_t cut(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

static bool put_flags(struct put *o, const struct dt_shape *s, uint64_t v)
{
	char *from = o->p;

	for (uint32_t i = 0; i < s->parts && v && o->p < o->end; i++) {
		uint64_t bit = (uint64_t)s->part[i].value;

		if (!bit || bit & (bit - 1) || !(v & bit))
			continue;
		if (o->p > from)
			*o->p++ = '|';
		put_name(o, &s->part[i]);
		v &= ~bit;
	}
	if (v)
		o->p = from;
	return o->p > from;
}

/* Writes a number as C's octal constants are written: 0644. */
static void put_octal(struct put *o, uint64_t v)
{
	o->p += sprintf(o->p, v ? "0%lo" : "%lo", (unsigned long)v);
}

/*
 * Writes the value of a set of flags, each part of it by the first name that fits: a name fits when
 * the bits of its mask have its value, and none of them is written yet. What has no name follows in
 * hexadecimal, of kind 'u' in octal. Returns false if nothing has a name.
 */
static bool put_set(struct put *o, const struct dt_shape *s, unsigned bits, uint64_t v)
{
	uint64_t rest = cut(v, bits), done = 0;
	char *from = o->p;

	for (uint32_t i = 0; i < s->parts && o->p < o->end; i++) {
		uint64_t mask = cut(s->part[i].mask, bits);

		if (!mask || (v & mask) != cut((uint64_t)s->part[i].value, bits) || mask & done)
			continue;
		if (o->p > from)
			*o->p++ = '|';
		put_name(o, &s->part[i]);
		done |= mask;
		rest &= ~mask;
	}
	if (o->p == from)
		return false;
	if (rest && s->kind == 'u') {
		*o->p++ = '|';
		put_octal(o, rest);
	} else if (rest) {
		o->p = stpcpy(o->p, "|0x");
		o->p += dt_text_hex(o->p, rest);
	}
	return true;
}

static bool put_enumerator(struct put *o, const struct dt_shape *s, unsigned bits, uint64_t v)
{
	v = cut(v, bits);
	for (uint32_t i = 0; i < s->parts; i++)
		if (cut((uint64_t)s->part[i].value, bits) == v) {
			put_name(o, &s->part[i]);
			return true;
		}
	return s->flags && put_flags(o, s, v);
}

/* Writes how a process has ended or changed, as wait(2) tells it. */
static bool put_wait(struct put *o, uint64_t v)
{
	unsigned signal = v & 0x7f, number = v >> 8 & 0xff;
	const char *name;

	if ((uint32_t)v == 0xffff) {
		o->p = stpcpy(o->p, "{continued}");
		return true;
	}
	if (v & 0xffff0000 || (signal == 0x7f && v & 0x80)) /* ptrace's events are not shown */
		return false;
	if (!signal) {
		o->p += sprintf(o->p, "{exited %u}", number);
		return !(v & 0x80);
	}
	name = sigabbrev_np((int)(signal == 0x7f ? number : signal));
	o->p = stpcpy(o->p, signal == 0x7f ? "{stopped " : "{killed ");
	o->p += name ? sprintf(o->p, "SIG%s", name)
		     : sprintf(o->p, "signal %u", signal == 0x7f ? number : signal);
	o->p = stpcpy(o->p, v & 0x80 ? ", core dumped}" : "}");
	return true;
}

/* Writes which of 64 bits are set, by their names; where most are, which are not: "~[KILL STOP]".
 */
static bool put_mask(struct put *o, const struct dt_shape *s, uint64_t v)
{
	bool inverted = __builtin_popcountll(v) > 32;
	bool first = true;

	if (inverted) {
		v = ~v;
		*o->p++ = '~';
	}
	*o->p++ = '[';
	for (uint32_t i = 0; i < s->parts && o->p < o->end; i++) {
		if (s->part[i].value < 0 || s->part[i].value > 63 || !(v >> s->part[i].value & 1))
			continue;
		if (!first)
			*o->p++ = ' ';
		first = false;
		put_name(o, &s->part[i]);
	}
	*o->p++ = ']';
	return true;
}

/* Writes a value that is no aggregate; false: its description has no name for it. */
static bool put_named(struct put *o, const struct dt_shape *s, unsigned bits, uint64_t v)
{
	if (s->kind == 'o')
		put_octal(o, cut(v, bits));
	return s->kind == 'o' || (s->kind == 'k' && put_mask(o, s, cut(v, bits))) ||
	       (s->kind == 'w' && put_wait(o, cut(v, bits))) ||
	       ((s->kind == 'f' || s->kind == 'u') && put_set(o, s, bits, v)) ||
	       (s->kind == 'e' && put_enumerator(o, s, bits, v));
}

static void put_members(struct put *o, const struct dt_shape *s, unsigned __int128 v,
			unsigned depth);

static void put_member(struct put *o, const struct part *m, unsigned __int128 v, unsigned depth)
{
	const struct dt_shape *of = m->row ? shape_of(o->all, m->row) : NULL;
	unsigned bits = m->bits ? m->bits : 8u * m->size;
	uint64_t low;

	v >>= m->bit;
	low = cut((uint64_t)v, bits);
	if (of && of->kind == 'a' && depth < MAX_DEPTH) {
		put_members(o, of, v, depth + 1);
		return;
	}
	if (of && of->kind != 'a' && put_named(o, of, bits, low))
		return;
	if (m->letter == 'a' || m->size > 8) {
		*o->p++ = '?';
		return;
	}
	/* the sign of a bit field is its highest bit */
	if (m->bits && (m->letter == 'i' || m->letter == 'e') && bits < 64)
		low = (uint64_t)((int64_t)(low << (64 - bits)) >> (64 - bits));
	o->p = o->plain(o->p, m->letter, m->bits && m->letter != 'b' ? 8 : m->size, low);
}

/* Writes an array of char as text; false: it is none, or has characters that can not be shown. */
static bool put_text(struct put *o, const struct dt_shape *s, unsigned __int128 v)
{
	char text[17] = "";

	for (uint32_t i = 0; i < s->parts; i++) {
		if (s->part[i].letter != 'c' || s->part[i].name_length || i > 15)
			return false;
		text[i] = (char)(v >> s->part[i].bit);
		text[i + 1] = '\0';
		if (text[i] && (text[i] < ' ' || text[i] == 127))
			return false;
	}
	*o->p++ = '"';
	for (char *t = text; *t; t++) {
		if (*t == '"' || *t == '\\')
			*o->p++ = '\\';
		*o->p++ = *t;
	}
	*o->p++ = '"';
	return true;
}

static void put_members(struct put *o, const struct dt_shape *s, unsigned __int128 v,
			unsigned depth)
{
	if (put_text(o, s, v))
		return;
	*o->p++ = '{';
	for (uint32_t i = 0; i < s->parts; i++) {
		if (i) {
			*o->p++ = ',';
			*o->p++ = ' ';
		}
		if (o->p >= o->end) {
			o->p = stpcpy(o->p, "...");
			break;
		}
		if (s->part[i].name_length) {
			put_name(o, &s->part[i]);
			*o->p++ = '=';
		}
		put_member(o, &s->part[i], v, depth);
	}
	*o->p++ = '}';
}

/* Writes the value of a socket's option; the entry of the call has its level and name. */
static char *put_option(const struct dt_shapes *all, char *p, uint64_t low, uint64_t high)
{
	const uint64_t v[] = {low, high};
	char *end = all->entry ? dt_option_put(p, (uint32_t)all->entry[1], (uint32_t)all->entry[2],
					       v, sizeof(v), UINT32_MAX)
			       : NULL;

	return end ? end : stpcpy(p, "?");
}

char *dt_shape_put(struct dt_shapes *all, char *p, uint32_t row, unsigned size, uint64_t low,
		   uint64_t high, dt_shape_plain_fn *plain)
{
	const struct dt_shape *s = shape_of(all, row);
	/* the last part takes at most a name, a value, and the braces around it */
	struct put o = {all, plain, p, p + DT_SHAPE_TEXT - 512};

	if (!s)
		return NULL;
	if (s->kind == 'a') {
		put_members(&o, s, (unsigned __int128)high << 64 | low, 0);
		return o.p;
	}
	if (s->kind == 'n')
		return dt_sockaddr_put(p, low, high,
				       all->entry && s->other != NOWHERE
					       ? (uint32_t)all->entry[s->other]
					       : UINT32_MAX);
	if (s->kind == 'y')
		return put_option(all, p, low, high);
	if (s->kind == 'j') {
		if (!all->record)
			return NULL;
		low = (uint32_t)low | all->record[s->other] << 32;
		return put_enumerator(&o, s, 64, low) ? o.p : NULL;
	}
	return put_named(&o, s, 8 * size, low) ? o.p : NULL;
}

void dt_shapes_free(struct dt_shapes *s)
{
	for (uint32_t i = 0; i < s->shapes; i++)
		free(s->shape[i].part);
	free(s->shape);
}
