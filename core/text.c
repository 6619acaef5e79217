/* SPDX-License-Identifier: MIT */
/* Records as lines of text, without a C library: these are written by the million. */
#include "core/text.h"

/* Eight hexadecimal digits at once: a digit a byte in one 64-bit word. */
static inline uint64_t digits(uint32_t v)
{
	uint64_t x = v, above9;

	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
	above9 = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	x += 0x3030303030303030 + above9 * ('a' - '0' - 10);
	return __builtin_bswap64(x);
}

/* A space and 16 digits. */
static char *field(char *out, uint64_t v)
{
	uint64_t high = digits((uint32_t)(v >> 32)), low = digits((uint32_t)v);

	out[0] = ' ';
	__builtin_memcpy(out + 1, &high, 8);
	__builtin_memcpy(out + 9, &low, 8);
	return out + 17;
}

void dt_text_line(char *out, const struct dt_record *r)
{
	bool exit = r->kind == DT_EXIT;

	*out++ = (char)r->kind;
	out = field(out, r->pc);
	out = field(out, r->ticks);
	out = field(out, r->tid == DT_NO_TID ? UINT64_MAX : r->tid);
	out = field(out, r->value[0]);
	for (int i = 1; i < 4; i++)
		out = field(out, exit ? 0 : r->value[i]);
	*out = '\n';
}

static bool parse_field(const char *s, uint64_t *v)
{
	*v = 0;
	if (s[0] != ' ')
		return false;
	for (int i = 1; i <= 16; i++) {
		char c = s[i];
		unsigned d;

		if (c >= '0' && c <= '9')
			d = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			d = (unsigned)(c - 'a' + 10);
		else
			return false;
		*v = *v << 4 | d;
	}
	return true;
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
	for (int i = 0; i < 4; i++)
		r->value[i] = v[3 + i];
	return true;
}

/* Eight decimal digits of v < 10^8 as bytes 0 to 9, the most significant one first in memory. */
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

	/* the digits that are wanted go to the front */
	v <<= 64 - 4 * n;
	high = digits((uint32_t)(v >> 32));
	low = digits((uint32_t)v);
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

/* A name, in quotes when a program that splits at spaces would not get it whole. */
static char *name(char *out, const char *s)
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

static char *flag_names(char *out, unsigned flags)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {{DT_FREEZE, "FREEZE"},
		     {DT_UNFREEZE, "UNFREEZE"},
		     {DT_BASE, "BASE"},
		     {DT_INTERRUPT, "INTERRUPT"}};
	char separator = '=';

	if (!(flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE | DT_INTERRUPT)))
		return out;
	out = text(out, " flags");
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].bit))
			continue;
		*out++ = separator;
		out = text(out, names[i].name);
		separator = ',';
	}
	return out;
}

size_t dt_text_long(char *out, const struct dt_record *r, const char *function, unsigned mask)
{
	char *p = text(out, "kind=");

	*p++ = r->kind > ' ' && r->kind <= '~' ? (char)r->kind : '?';
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
		p = name(p, function);
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
