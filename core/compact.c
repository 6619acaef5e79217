/* SPDX-License-Identifier: MIT */
/* The compact line. Writer and reader keep the same state, so the reader knows what the writer left
 * out. */
#include "core/compact.h"
#include "core/text.h"

#define FIRST_LINE "#devtrace-compact 1\n"
#define WINDOW	   (1u << 24) /* bytes from a base upwards for which it serves */

static char *hex(char *out, uint64_t v)
{
	return out + dt_text_hex(out, v);
}

static uint64_t *slot(struct dt_compact *c, uint64_t pc)
{
	return c->last[(pc ^ pc >> 10 ^ pc >> 20) % DT_COMPACT_SLOTS];
}

/* ---- writing ---- */

/* Finds the base that serves pc, and writes the line of a new one if none does. */
static char *put_base(struct dt_compact *c, char *out, uint64_t pc, unsigned *base)
{
	unsigned i = c->current;

	if (c->bases && pc - c->base[i] < WINDOW) {
		*base = i;
		return out;
	}
	for (i = 0; i < c->bases; i++)
		if (pc - c->base[i] < WINDOW)
			break;
	if (i == c->bases) {
		i = c->next;
		c->next = (uint8_t)((c->next + 1) % DT_COMPACT_BASES);
		if (c->bases < DT_COMPACT_BASES)
			c->bases++;
		/*
		 * rounded down, so that offsets from it are short and code a little before pc is
		 * served, too
		 */
		c->base[i] = pc & ~(uint64_t)0xfffff;
		*out++ = '%';
		*out++ = (char)('g' + i);
		*out++ = ' ';
		out = hex(out, c->base[i]);
		*out++ = '\n';
	}
	*base = i;
	return out;
}

static unsigned length(uint64_t v)
{
	return v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
}

/* Writes the value itself or the difference from last, whichever is shorter. */
static char *put_value(char *out, uint64_t v, uint64_t last)
{
	uint64_t up = v - last, down = last - v;
	unsigned as_it_is = length(v);

	if (v == last) {
		*out++ = '=';
		return out;
	}
	if (length(up) + 1 < as_it_is && up <= down) {
		*out++ = '+';
		return hex(out, up);
	}
	if (length(down) + 1 < as_it_is && down < up) {
		*out++ = '-';
		return hex(out, down);
	}
	return hex(out, v);
}

static bool is_letter(uint8_t kind)
{
	return (kind >= 'A' && kind <= 'Z') || (kind >= 'a' && kind <= 'z');
}

size_t dt_compact_begin(struct dt_compact *c, char *out)
{
	if (c->begun)
		return 0;
	c->begun = true;
	__builtin_memcpy(out, FIRST_LINE, sizeof(FIRST_LINE) - 1);
	return sizeof(FIRST_LINE) - 1;
}

size_t dt_compact_put(struct dt_compact *c, char *out, const struct dt_record *r, unsigned mask)
{
	uint64_t *last = slot(c, r->pc);
	char *p = out;
	unsigned base;
	uint64_t d;

	p += dt_compact_begin(c, p);
	if (!c->placed || c->tid != r->tid || c->core != r->core) {
		*p++ = '@';
		if (r->tid == DT_NO_TID)
			*p++ = '-';
		else
			p = hex(p, r->tid);
		*p++ = ' ';
		p = hex(p, r->core);
		*p++ = '\n';
		c->tid = r->tid;
		c->core = r->core;
		c->placed = true;
	}
	p = put_base(c, p, r->pc, &base);
	if (is_letter(r->kind)) {
		*p++ = (char)r->kind;
	} else {
		*p++ = '?';
		*p++ = "0123456789abcdef"[r->kind >> 4];
		*p++ = "0123456789abcdef"[r->kind & 15];
	}
	if (base != c->current)
		*p++ = (char)('g' + base);
	c->current = (uint8_t)base;
	p = hex(p, r->pc - c->base[base]);
	*p++ = ' ';
	d = r->ticks - c->ticks;
	c->ticks = r->ticks;
	if ((int64_t)d < 0) {
		*p++ = '-';
		d = -d;
	}
	p = hex(p, d);
	for (unsigned i = 0; i < 4 && mask >> i; i++) {
		*p++ = ' ';
		if (!(mask >> i & 1)) {
			*p++ = '.';
			continue;
		}
		p = put_value(p, r->value[i], last[i]);
		last[i] = r->value[i];
	}
	if (r->flags & ~DT_NARGS) {
		*p++ = ' ';
		*p++ = '!';
		p = hex(p, r->flags & (unsigned)~DT_NARGS);
	}
	*p++ = '\n';
	return (size_t)(p - out);
}

/* ---- reading ---- */

struct input {
	const char *p, *end; /* the newline */
	bool bad;
};

static uint64_t get_hex(struct input *in)
{
	uint64_t v;
	size_t n = dt_text_hex_parse(in->p, (size_t)(in->end - in->p), &v);

	in->bad |= !n;
	in->p += n;
	return v;
}

static bool get_char(struct input *in, char c)
{
	if (in->p == in->end || *in->p != c)
		return false;
	in->p++;
	return true;
}

static void want(struct input *in, char c)
{
	in->bad |= !get_char(in, c);
}

/* Reads the letter of a base: g to v are bases 0 to 15. Returns false if there is none. */
static bool get_base(struct input *in, unsigned *base)
{
	if (in->p == in->end || *in->p < 'g' || *in->p > 'v')
		return false;
	*base = (unsigned)(*in->p++ - 'g');
	return true;
}

static int get_place(struct dt_compact *c, struct input *in)
{
	uint64_t tid = DT_NO_TID, core;

	if (!get_char(in, '-'))
		tid = get_hex(in);
	want(in, ' ');
	core = get_hex(in);
	if (in->bad || in->p != in->end || tid > DT_NO_TID || core > 0xffff)
		return -1;
	c->tid = (uint32_t)tid;
	c->core = (uint16_t)core;
	c->placed = true;
	return 0;
}

static int get_new_base(struct dt_compact *c, struct input *in)
{
	unsigned i = 0;
	uint64_t base;

	in->bad |= !get_base(in, &i);
	want(in, ' ');
	base = get_hex(in);
	if (in->bad || in->p != in->end || i > c->bases)
		return -1;
	if (i == c->bases)
		c->bases++;
	c->base[i] = base;
	return 0;
}

static uint64_t get_value(struct input *in, uint64_t last)
{
	if (get_char(in, '='))
		return last;
	if (get_char(in, '+'))
		return last + get_hex(in);
	if (get_char(in, '-'))
		return last - get_hex(in);
	return get_hex(in);
}

static uint8_t get_kind(struct input *in)
{
	uint64_t v = 0;

	if (get_char(in, '?')) {
		if (in->end - in->p < 2 || dt_text_hex_parse(in->p, 2, &v) != 2)
			in->bad = true;
		else
			in->p += 2;
		return (uint8_t)v;
	}
	if (in->p == in->end || !is_letter((uint8_t)*in->p)) {
		in->bad = true;
		return 0;
	}
	return (uint8_t)*in->p++;
}

static int get_record(struct dt_compact *c, struct input *in, struct dt_record *r, unsigned *mask)
{
	unsigned base = c->current;
	uint64_t *last, d;
	bool back;

	*r = (struct dt_record){.tid = c->tid, .core = c->core, .kind = get_kind(in)};
	*mask = 0;
	if (!in->bad)
		get_base(in, &base);
	if (in->bad || base >= c->bases || !c->placed)
		return -1;
	r->pc = c->base[base] + get_hex(in);
	last = slot(c, r->pc);
	want(in, ' ');
	back = get_char(in, '-');
	d = get_hex(in);
	r->ticks = back ? c->ticks - d : c->ticks + d;
	for (unsigned i = 0; !in->bad && in->p < in->end; i++) {
		want(in, ' ');
		if (get_char(in, '!')) {
			r->flags = (uint8_t)(get_hex(in) & (unsigned)~DT_NARGS);
			in->bad |= in->p != in->end;
			break;
		}
		if (i == 4)
			return -1;
		if (get_char(in, '.'))
			continue;
		r->value[i] = get_value(in, last[i]);
		*mask |= 1u << i;
	}
	if (in->bad)
		return -1;
	/* only now, so that a line that is not understood changes nothing */
	for (unsigned i = 0; i < 4; i++)
		if (*mask >> i & 1)
			last[i] = r->value[i];
	c->current = (uint8_t)base;
	c->ticks = r->ticks;
	return 1;
}

int dt_compact_get(struct dt_compact *c, const char *line, size_t n, struct dt_record *r,
		   unsigned *mask)
{
	struct input in = {line, line + (n ? n - 1 : 0), false};

	if (!n || *in.end != '\n')
		return -1;
	if (!c->begun) {
		c->begun = true;
		if (n != sizeof(FIRST_LINE) - 1 ||
		    __builtin_memcmp(line, FIRST_LINE, sizeof(FIRST_LINE) - 1))
			return -1;
		return 0;
	}
	if (get_char(&in, '#'))
		return 0;
	if (get_char(&in, '@'))
		return get_place(c, &in);
	if (get_char(&in, '%'))
		return get_new_base(c, &in);
	return get_record(c, &in, r, mask);
}
