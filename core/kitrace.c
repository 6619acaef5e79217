/* SPDX-License-Identifier: MIT */
/* Kitrace's line. The calendar is computed here: there is no C library. */
#include "core/kitrace.h"
#include "core/text.h"

static char *text(char *out, const char *s)
{
	while (*s)
		*out++ = *s++;
	return out;
}

/* Writes a decimal number with leading zeros. */
static char *padded(char *out, uint64_t v, unsigned width)
{
	for (unsigned i = width; i-- > 0; v /= 10)
		out[i] = (char)('0' + v % 10);
	return out + width;
}

/* Writes a place as symbol+hex, symbol, or hex. */
static char *place(char *out, const char *symbol, uint64_t offset)
{
	if (symbol) {
		out = text(out, symbol);
		if (!offset)
			return out;
		*out++ = '+';
	}
	return out + dt_text_hex(out, offset);
}

/*
 * Computes month and day of a day counted from 1970. Years are taken to begin in March, so that the
 * leap day is the last.
 */
static void month_and_day(uint64_t day, unsigned *month, unsigned *of_month)
{
	unsigned in_era, year, in_year, m;

	day += 719468; /* from March 1st of the year 0 */
	in_era = (unsigned)(day % 146097);
	year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	in_year = in_era - (365 * year + year / 4 - year / 100);
	m = (5 * in_year + 2) / 153;
	*of_month = in_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 2 : m - 10; /* from 0: January */
}

static char *put_time(char *out, const struct dt_kitrace_record *r)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	uint64_t s = r->us / 1000000;
	unsigned month, day;

	if (r->date) {
		month_and_day(s / 86400, &month, &day);
		__builtin_memcpy(out, names + 3 * month, 3);
		out[3] = ' ';
		out = padded(out + 4, day, 2);
		*out++ = ' ';
	}
	out = padded(out, s / 3600 % 24, 2);
	*out++ = ':';
	out = padded(out, s / 60 % 60, 2);
	*out++ = ':';
	out = padded(out, s % 60, 2);
	*out++ = '.';
	return padded(out, r->us % 1000000, 6);
}

static char *put_delta(struct dt_kitrace *k, char *out, const struct dt_kitrace_record *r)
{
	uint64_t d;

	d = r->us - (k->based ? k->base : k->last);
	*out++ = '(';
	if (k->begun) {
		if ((int64_t)d < 0) {
			*out++ = '-';
			d = -d;
		}
		out += dt_text_decimal(out, d / 1000000);
		*out++ = '.';
		out = padded(out, d % 1000000, 6);
	}
	*out++ = ')';
	k->begun = true;
	k->last = r->us;
	if (r->flags & DT_BASE) {
		k->based = true;
		k->base = r->us;
	} else if (r->flags & DT_KITRACE_ADJACENT) {
		k->based = false;
	}
	return out;
}

static char *put_flags(char *out, unsigned flags)
{
	if (flags & DT_FREEZE)
		out = text(out, " FREEZE");
	if (flags & DT_UNFREEZE)
		out = text(out, " UNFREEZE");
	if (flags & DT_KITRACE_LATEFREEZE)
		out = text(out, " LATEFREEZE");
	if (flags & DT_BASE)
		out = text(out, " BASE");
	return out;
}

size_t dt_kitrace_line(struct dt_kitrace *k, char *out, const struct dt_kitrace_record *r)
{
	char *p = place(out, r->symbol, r->offset);

	*p++ = ' ';
	p = put_time(p, r);
	*p++ = ' ';
	p = put_delta(k, p, r);
	p = put_flags(p, r->flags);
	if (r->tid != DT_NO_TID) {
		p = text(p, " pid ");
		p += dt_text_decimal(p, r->tid);
	}
	for (unsigned i = 0; i < r->items; i++) {
		*p++ = ' ';
		p = text(p, r->item[i].name);
		*p++ = '=';
		if (r->item[i].bad)
			*p++ = '?';
		else if (r->item[i].value || !r->item[i].text)
			p += dt_text_hex(p, r->item[i].value);
		if (r->item[i].text) {
			p = text(p, r->item[i].value ? " \"" : "\"");
			p = text(p, r->item[i].text);
			*p++ = '"';
		}
		if (r->item[i].symbol) {
			p = text(p, " (");
			p = place(p, r->item[i].symbol, r->item[i].offset);
			*p++ = ')';
		}
	}
	*p++ = '\n';
	return (size_t)(p - out);
}
