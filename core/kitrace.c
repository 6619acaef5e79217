/* SPDX-License-Identifier: MIT */
/* Kitrace's lines. */
#include "core/kitrace.h"
#include "core/text.h"

#define DAY    86400ll
#define SECOND 1000000ll

static char *text(char *out, const char *s)
{
	while (*s)
		*out++ = *s++;
	return out;
}

static char *digits(char *out, uint64_t v, int n)
{
	for (int i = n - 1; i >= 0; i--, v /= 10)
		out[i] = (char)('0' + v % 10);
	return out + n;
}

/* "Nov 20 ". Howard Hinnant's days to civil, with years that begin in March. */
static char *date(char *out, int64_t days)
{
	static const char month[] = "MarAprMayJunJulAugSepOctNovDecJanFeb";
	uint64_t of_era = (uint64_t)(days + 719468) % 146097;
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t m = (5 * of_year + 2) / 153, day = of_year - (153 * m + 2) / 5 + 1;

	for (int i = 0; i < 3; i++)
		*out++ = month[3 * m + (uint64_t)i];
	*out++ = ' ';
	if (day < 10)
		*out++ = ' ';
	out += dt_text_decimal(out, day);
	*out++ = ' ';
	return out;
}

static char *clock(char *out, int64_t us)
{
	uint64_t of_day = (uint64_t)((us % (DAY * SECOND) + DAY * SECOND) % (DAY * SECOND));
	uint64_t s = of_day / SECOND;

	out = digits(out, s / 3600, 2);
	*out++ = ':';
	out = digits(out, s / 60 % 60, 2);
	*out++ = ':';
	out = digits(out, s % 60, 2);
	*out++ = '.';
	return digits(out, of_day % SECOND, 6);
}

static char *difference(char *out, struct dt_kitrace *k, int64_t us)
{
	int64_t d = us - (k->has_base ? k->base : k->last);

	*out++ = '(';
	if (k->any) {
		if (d < 0) { /* of another core, whose record came first */
			*out++ = '-';
			d = -d;
		}
		out += dt_text_decimal(out, (uint64_t)(d / SECOND));
		*out++ = '.';
		out = digits(out, (uint64_t)(d % SECOND), 6);
	}
	*out++ = ')';
	return out;
}

static void advance(struct dt_kitrace *k, const struct dt_record *r, int64_t us)
{
	k->any = true;
	k->last = us;
	if (r->flags & DT_BASE) {
		k->has_base = true;
		k->base = us;
	} else if ((r->flags & DT_NARGS) == DT_ADJACENT) {
		k->has_base = false;
	}
}

static char *flags(char *out, unsigned f)
{
	static const struct {
		unsigned bit;
		const char *name;
	} name[] = {{DT_FREEZE, " FREEZE"},
		    {DT_LATEFREEZE, " LATEFREEZE"},
		    {DT_UNFREEZE, " UNFREEZE"},
		    {DT_BASE, " BASE"}};

	for (unsigned i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (f & name[i].bit)
			out = text(out, name[i].name);
	return out;
}

/* As Kitrace prints registers: g1=f80a2424. */
static char *values(char *out, const struct dt_record *r)
{
	static const char *const entry[] = {" rdi=", " rsi=", " rdx=", " rcx="};
	static const char *const leave[] = {" rax=", " rdx=", " xmm0=", " xmm0.1="};
	unsigned n = dt_record_values(r);

	for (unsigned i = 0; i < n && i < 4; i++) {
		out = text(out, r->kind == DT_EXIT ? leave[i] : entry[i]);
		out += dt_text_hex(out, r->value[i]);
	}
	return out;
}

size_t dt_kitrace_line(struct dt_kitrace *k, char *out, const struct dt_kitrace_event *v)
{
	const struct dt_record *r = v->record;
	int64_t days = v->us / (DAY * SECOND) - (v->us % (DAY * SECOND) < 0);
	char *p = text(out, v->place);

	*p++ = ' ';
	if (v->date)
		p = date(p, days);
	p = clock(p, v->us);
	*p++ = ' ';
	p = difference(p, k, v->us);
	advance(k, r, v->us);
	p = flags(p, r->flags);
	if (v->more) {
		p = text(p, " const ");
		p += dt_text_hex(p, v->more->value[0]);
	}
	if (v->pid && r->tid == DT_NO_TID) {
		p = text(p, " pid none");
	} else if (v->pid) {
		p = text(p, " pid ");
		p += dt_text_decimal(p, r->tid);
	} else if (!v->more) {
		p = values(p, r);
	}
	*p++ = '\n';
	return (size_t)(p - out);
}
