/* SPDX-License-Identifier: MIT */
/* Writes records as lines of text other than the usual one, and reads all lines back. */
#include "core/digits.h"
#include "core/error.h"
#include "core/text.h"

#include <stdlib.h>

/* Returns the value of a hexadecimal digit, 16 if it is none. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	return 16;
}

size_t dt_text_hex_parse(const char *s, size_t n, uint64_t *v)
{
	size_t i = 0;

	for (*v = 0; i < n && digit(s[i]) < 16; i++) {
		if (i == 16)
			return 0;
		*v = *v << 4 | digit(s[i]);
	}
	return i;
}

static bool parse_field(const char *s, uint64_t *v)
{
	return s[0] == ' ' && dt_text_hex_parse(s + 1, 16, v) == 16;
}

bool dt_text_parse(const char *line, size_t n, struct dt_record *r)
{
	uint64_t v[7];

	if (n != DT_LINE || line[DT_LINE - 1] != '\n' || line[0] <= ' ' || line[0] > '~')
		return false;
	for (int i = 0; i < 7; i++)
		if (!parse_field(line + 1 + 17 * i, &v[i]))
			return false;
	*r = (struct dt_record){.kind = (uint8_t)line[0], .pc = v[0], .ticks = v[1]};
	r->tid = v[2] == UINT64_MAX ? DT_NO_TID : (uint32_t)v[2];
	/* an exit has its result, and nothing else (dt_text_line()) */
	for (int i = 0; i < (r->kind == DT_EXIT ? 1 : 4); i++)
		r->value[i] = v[3 + i];
	return true;
}

/* ---- the other fixed layouts ---- */

size_t dt_layout_size(enum dt_layout layout)
{
	static const uint8_t size[] = {121, 121, 64, 69};

	return size[layout];
}

/* Writes a space and 8 digits. */
static char *field8(char *out, uint32_t v)
{
	uint64_t d = dt_digits(v);

	out[0] = ' ';
	__builtin_memcpy(out + 1, &d, 8);
	return out + 9;
}

static char *field4(char *out, uint16_t v)
{
	uint64_t d = dt_digits((uint32_t)v << 16);

	out[0] = ' ';
	__builtin_memcpy(out + 1, &d, 4);
	return out + 5;
}

bool dt_layout_line(char *out, enum dt_layout layout, const struct dt_record *r)
{
	bool exit = r->kind == DT_EXIT;
	uint64_t cut;

	if (layout == DT_LAYOUT_64) {
		dt_text_line(out, r);
		return true;
	}
	*out++ = dt_letter(r->kind);
	if (layout == DT_LAYOUT_64_CPU) {
		out = dt_field(dt_field(out, r->pc), r->ticks);
		out = field8(out, r->tid);
		__builtin_memcpy(out, "   ", 3);
		out = field4(out + 3, r->core);
		out = dt_field(out, r->value[0]);
		for (int i = 1; i < 4; i++)
			out = dt_field(out, exit ? 0 : r->value[i]);
		*out = '\n';
		return true;
	}
	out = field8(out, (uint32_t)r->pc);
	out = field8(dt_field(out, r->ticks), r->tid);
	if (layout == DT_LAYOUT_32_CPU)
		out = field4(out, r->core);
	out = field8(out, (uint32_t)r->value[0]);
	cut = (r->pc | r->value[0]) >> 32;
	for (int i = 1; i < 3; i++)
		out = field8(out, exit ? 0 : (uint32_t)r->value[i]);
	if (!exit)
		cut |= (r->value[1] | r->value[2]) >> 32 | r->value[3];
	*out = '\n';
	return !cut;
}

/* Reads a space and that many digits; returns what follows, or NULL if they are not there. */
static const char *take(const char *s, size_t n, uint64_t *v)
{
	return s && s[0] == ' ' && dt_text_hex_parse(s + 1, n, v) == n ? s + 1 + n : NULL;
}

bool dt_layout_parse(const char *line, size_t n, enum dt_layout layout, struct dt_record *r)
{
	bool wide = layout == DT_LAYOUT_64_CPU, core = wide || layout == DT_LAYOUT_32_CPU;
	size_t digits_of_value = wide ? 16 : 8;
	uint64_t pc = 0, ticks = 0, tid = 0, cpu = 0, v[4] = {0};
	const char *s = line + 1;

	if (layout == DT_LAYOUT_64)
		return dt_text_parse(line, n, r);
	if (n != dt_layout_size(layout) || line[n - 1] != '\n' || line[0] <= ' ' || line[0] > '~')
		return false;
	s = take(s, digits_of_value, &pc);
	s = take(s, 16, &ticks);
	s = take(s, 8, &tid);
	if (s && wide)
		s = s[0] == ' ' && s[1] == ' ' && s[2] == ' ' ? s + 3 : NULL;
	if (core)
		s = take(s, 4, &cpu);
	for (int i = 0; i < (wide ? 4 : 3); i++)
		s = take(s, digits_of_value, &v[i]);
	if (!s)
		return false;
	*r = (struct dt_record){.kind = (uint8_t)line[0], .pc = pc, .ticks = ticks};
	r->tid = (uint32_t)tid;
	r->core = (uint16_t)cpu;
	__builtin_memcpy(r->value, v, r->kind == DT_EXIT ? sizeof(*v) : sizeof(v));
	return true;
}

/*
 * Returns the eight decimal digits of v < 10^8 as bytes 0 to 9, with the most significant one first
 * in memory.
 */
static inline uint64_t decimals(uint32_t v)
{
	uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32, q;

	q = (x * 10486 >> 20) & 0x0000007f0000007f; /* hundreds of each half */
	x = q | (x - 100 * q) << 16;
	q = (x * 103 >> 10) & 0x000f000f000f000f; /* tens of each quarter */
	return q | (x - 10 * q) << 8;
}

static inline void eight(char *out, uint32_t v)
{
	uint64_t x = decimals(v) | 0x3030303030303030;

	__builtin_memcpy(out, &x, 8);
}

static inline size_t up_to_eight(char *out, uint32_t v)
{
	uint64_t x = decimals(v);
	unsigned zeros = v ? (unsigned)__builtin_ctzll(x) / 8 : 7;

	x = (x | 0x3030303030303030) >> 8 * zeros;
	__builtin_memcpy(out, &x, 8);
	return 8 - zeros;
}

#define E8 100000000u

size_t dt_text_decimal(char *out, uint64_t v)
{
	size_t n;

	if (v < E8)
		return up_to_eight(out, (uint32_t)v);
	if (v < (uint64_t)E8 * E8) {
		n = up_to_eight(out, (uint32_t)(v / E8));
		eight(out + n, (uint32_t)(v % E8));
		return n + 8;
	}
	n = up_to_eight(out, (uint32_t)(v / E8 / E8));
	eight(out + n, (uint32_t)(v / E8 % E8));
	eight(out + n + 8, (uint32_t)(v % E8));
	return n + 16;
}

size_t dt_text_hex(char *out, uint64_t v)
{
	unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;
	uint64_t high, low;

	/* moves the n digits to the top, so that they are written first */
	v <<= 64 - 4 * n;
	high = dt_digits((uint32_t)(v >> 32));
	low = dt_digits((uint32_t)v);
	__builtin_memcpy(out, &high, 8);
	__builtin_memcpy(out + 8, &low, 8);
	return n;
}

static char *text(char *out, const char *s)
{
	while (*s)
		*out++ = *s++;
	return out;
}

/* Writes a name, in quotes if a program that splits at spaces would otherwise not get it whole. */
char *dt_text_name(char *out, const char *s)
{
	bool quote = !*s;

	for (const char *p = s; *p; p++)
		quote |= (unsigned char)*p <= ' ' || *p == '"' || *p == '=' || *p == '\\';
	if (!quote)
		return text(out, s);
	*out++ = '"';
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			*out++ = '\\';
		*out++ = (unsigned char)*s < ' ' ? '?' : *s;
	}
	*out++ = '"';
	return out;
}

static char *decimal(char *out, const char *key, uint64_t v)
{
	out = text(out, key);
	return out + dt_text_decimal(out, v);
}

static char *hex(char *out, const char *key, uint64_t v)
{
	out = text(out, key);
	return out + dt_text_hex(out, v);
}

static const struct {
	unsigned bit;
	const char *name;
} flag[] = {{DT_FREEZE, "FREEZE"},
	    {DT_UNFREEZE, "UNFREEZE"},
	    {DT_BASE, "BASE"},
	    {DT_INTERRUPT, "INTERRUPT"}};

#define FLAGS (sizeof(flag) / sizeof(flag[0]))

static char *flag_names(char *out, unsigned flags)
{
	char separator = '=';

	if (!(flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE | DT_LATEFREEZE | DT_INTERRUPT)))
		return out;
	out = text(out, " flags");
	for (unsigned i = 0; i < FLAGS; i++) {
		if (!(flags & flag[i].bit))
			continue;
		*out++ = separator;
		out = text(out, flag[i].name);
		separator = ',';
	}
	return out;
}

size_t dt_text_long(char *out, const struct dt_record *r, const char *function, unsigned mask)
{
	char *p = text(out, "kind=");

	*p++ = dt_letter(r->kind);
	p = decimal(p, " ticks=", r->ticks);
	if (r->core == DT_SHARED_CORE)
		p = text(p, " core=shared");
	else
		p = decimal(p, " core=", r->core);
	if (r->tid == DT_NO_TID)
		p = text(p, " tid=none");
	else
		p = decimal(p, " tid=", r->tid);
	p = hex(p, " pc=0x", r->pc);
	p = hex(p, " sp=0x", r->sp);
	if (function) {
		p = text(p, " function=");
		p = dt_text_name(p, function);
	}
	for (unsigned i = 0; i < 4; i++) {
		if (!(mask >> i & 1))
			continue;
		p = text(p, " v");
		*p++ = (char)('0' + i);
		p = hex(p, "=0x", r->value[i]);
	}
	p = flag_names(p, r->flags);
	*p++ = '\n';
	return (size_t)(p - out);
}

/* ---- reading the long line ---- */

struct token {
	const char *s;
	size_t n;
};

static bool is(struct token t, const char *word)
{
	size_t i = 0;

	while (i < t.n && word[i] && t.s[i] == word[i])
		i++;
	return i == t.n && !word[i];
}

/* Reads a decimal number, or with 0x a hexadecimal one. */
static bool number(struct token t, uint64_t *v)
{
	*v = 0;
	if (t.n > 2 && t.s[0] == '0' && t.s[1] == 'x')
		return dt_text_hex_parse(t.s + 2, t.n - 2, v) == t.n - 2;
	for (size_t i = 0; i < t.n; i++) {
		uint64_t d = digit(t.s[i]);

		if (d > 9 || *v > (UINT64_MAX - d) / 10)
			return false;
		*v = *v * 10 + d;
	}
	return t.n > 0;
}

/* Returns the bits of the flags that are named. Unknown names are skipped, as unknown keys are. */
static uint8_t flag_bits(struct token t)
{
	unsigned bits = 0;

	while (t.n) {
		struct token one = {t.s, 0};

		while (one.n < t.n && t.s[one.n] != ',')
			one.n++;
		for (unsigned i = 0; i < FLAGS; i++)
			if (is(one, flag[i].name))
				bits |= flag[i].bit;
		one.n += one.n < t.n;
		t.s += one.n;
		t.n -= one.n;
	}
	return (uint8_t)bits;
}

/* Takes a key and its value. The value of a known key must be valid; an unknown key is skipped. */
static bool take_pair(struct dt_long *l, struct token key, struct token value)
{
	struct dt_record *r = &l->record;
	uint64_t v = 0;

	if (is(key, "function")) {
		l->function = value.s;
		l->function_length = value.n;
		return true;
	}
	if (is(key, "flags")) {
		r->flags = flag_bits(value);
		return true;
	}
	if (is(key, "ticks"))
		return number(value, &r->ticks);
	if (is(key, "pc"))
		return number(value, &r->pc);
	if (is(key, "sp"))
		return number(value, &r->sp);
	if (is(key, "core")) {
		if (is(value, "shared"))
			v = DT_SHARED_CORE;
		else if (!number(value, &v) || v >= DT_SHARED_CORE)
			return false;
		r->core = (uint16_t)v;
		return true;
	}
	if (is(key, "tid")) {
		if (is(value, "none"))
			v = DT_NO_TID;
		else if (!number(value, &v) || v >= DT_NO_TID)
			return false;
		r->tid = (uint32_t)v;
		return true;
	}
	if (key.n == 2 && key.s[0] == 'v' && key.s[1] >= '0' && key.s[1] <= '3') {
		l->mask |= 1u << (key.s[1] - '0');
		return number(value, &r->value[key.s[1] - '0']);
	}
	return true;
}

/* Returns the end of the value that begins at s, after its closing quote if it has quotes. */
static const char *value_end(const char *s, const char *end)
{
	if (s == end || *s != '"') {
		while (s < end && *s != ' ')
			s++;
		return s;
	}
	for (s++; s < end && *s != '"'; s++)
		if (*s == '\\' && s + 1 < end)
			s++;
	return s < end ? s + 1 : NULL;
}

int dt_text_parse_long(const char *line, size_t n, struct dt_long *l)
{
	const char *p = line, *end = line + n;

	*l = (struct dt_long){.record.tid = DT_NO_TID};
	if (!n || end[-1] != '\n')
		return -1;
	if (line[0] == '#')
		return 0;
	end--;
	while (p < end) {
		struct token key = {p, 0}, value;
		const char *next;

		while (p < end && *p != '=' && *p != ' ')
			p++;
		key.n = (size_t)(p - key.s);
		if (p == end || *p != '=' || !key.n)
			return -1;
		next = value_end(++p, end);
		if (!next || (next < end && *next != ' '))
			return -1;
		value = (struct token){p, (size_t)(next - p)};
		if (value.n > 1 && value.s[0] == '"')
			value = (struct token){p + 1, value.n - 2};
		if (!l->record.kind) {
			/* the first pair says what the line is */
			if (!is(key, "kind") || !value.n)
				return -1;
			if (value.n > 1)
				return 0;
			l->record.kind = (uint8_t)value.s[0];
		} else if (!take_pair(l, key, value)) {
			return -1;
		}
		p = next < end ? next + 1 : next;
	}
	return l->record.kind ? 1 : -1;
}

/*
 * Reads the n-th (from 0) of several numbers that are separated by blanks. Returns false if there
 * are not so many.
 */
static bool nth_number(const char *text, unsigned long n, unsigned long *number)
{
	char *end;

	for (const char *p = text; p; p = end) {
		*number = strtoul(p, &end, 10);
		if (end == p)
			return false;
		if (n-- == 0)
			return true;
	}
	return false;
}

void dt_text_rings(char *out, size_t size, const char *numbers, unsigned cores, const char *users)
{
	size_t n = 0;
	char *end;

	out[0] = '\0';
	for (const char *p = numbers; n < size; p = end) {
		unsigned long ring = strtoul(p, &end, 10), further = ring - DT_FURTHER_CORES, user;
		bool shared = ring >= DT_SHARED_CORES;
		unsigned long domain = shared ? DT_SHARED_CORE - ring : 0;
		char one[64] = "the shared ring", of[32] = "";

		if (end == p)
			return;
		if (!shared && ring >= DT_FURTHER_CORES && cores) {
			domain = further / cores + 1;
			ring = further % cores;
		}
		if (!shared)
			dt_format(one, sizeof(one), "core %lu", ring);
		if (nth_number(users, domain, &user))
			dt_format(of, sizeof(of), " of user %lu", user);
		/* dt_format() returns the uncut length, so the loop ends when the text is cut */
		n += dt_format(out + n, size - n, "%s%s%s", n ? ", " : "", one, of);
	}
}
