/* SPDX-License-Identifier: MIT */
/* Error values and the formatting they need, without a C library. */
#include "core/error.h"
#ifndef __KERNEL__
#include "core/plain.h"
#endif

struct out {
	char *buf;
	size_t size; /* room, including the terminating NUL */
	size_t len;  /* length of the whole text so far */
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void pad(struct out *o, char c, long n)
{
	while (n-- > 0)
		put(o, c);
}

static void put_number(struct out *o, unsigned long long v, unsigned base, bool upper, bool minus,
		       long width, bool zero, bool left)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[24];
	long n = 0;

	do
		text[n++] = digits[v % base];
	while ((v /= base) != 0);
	width -= n + minus;
	if (!left && !zero)
		pad(o, ' ', width);
	if (minus)
		put(o, '-');
	if (!left && zero)
		pad(o, '0', width);
	while (n > 0)
		put(o, text[--n]);
	if (left)
		pad(o, ' ', width);
}

static void put_text(struct out *o, const char *s, long width, long precision, bool left)
{
	long n = 0;

	if (!s)
		s = "(null)";
	while ((precision < 0 || n < precision) && s[n])
		n++;
	if (!left)
		pad(o, ' ', width - n);
	for (long i = 0; i < n; i++)
		put(o, s[i]);
	if (left)
		pad(o, ' ', width - n);
}

size_t dt_vformat(char *buf, size_t size, const char *f, va_list ap)
{
	struct out o = {buf, size, 0};

	for (; *f; f++) {
		bool zero = false, left = false;
		long width = 0, precision = -1;
		int longs = 0;

		if (*f != '%') {
			put(&o, *f);
			continue;
		}
		for (f++; *f == '0' || *f == '-'; f++)
			*f == '0' ? (zero = true) : (left = true);
		if (*f == '*') {
			width = va_arg(ap, int);
			f++;
		}
		for (; *f >= '0' && *f <= '9'; f++)
			width = width * 10 + (*f - '0');
		if (*f == '.') {
			precision = 0;
			if (*++f == '*') {
				precision = va_arg(ap, int);
				f++;
			}
			for (; *f >= '0' && *f <= '9'; f++)
				precision = precision * 10 + (*f - '0');
		}
		for (; *f == 'l' || *f == 'z'; f++)
			longs++;
		switch (*f) {
		case 's':
			put_text(&o, va_arg(ap, const char *), width, precision, left);
			break;
		case 'c':
			put(&o, (char)va_arg(ap, int));
			break;
		case 'd':
		case 'i': {
			long long v = longs ? va_arg(ap, long) : va_arg(ap, int);

			put_number(&o, v < 0 ? -(unsigned long long)v : (unsigned long long)v, 10,
				   false, v < 0, width, zero, left);
			break;
		}
		case 'u':
		case 'x':
		case 'X':
			put_number(&o, longs ? va_arg(ap, unsigned long) : va_arg(ap, unsigned),
				   *f == 'u' ? 10 : 16, *f == 'X', false, width, zero, left);
			break;
		case 'p':
			put(&o, '0');
			put(&o, 'x');
			put_number(&o, (uintptr_t)va_arg(ap, void *), 16, false, false, 0, false,
				   false);
			break;
		case '\0':
			f--;
			break;
		default:
			put(&o, *f);
		}
	}
	if (size)
		buf[o.len < size ? o.len : size - 1] = '\0';
	return o.len;
}

size_t dt_format(char *buf, size_t size, const char *format, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = dt_vformat(buf, size, format, ap);
	va_end(ap);
	return n;
}

int dt_fail(struct dt_error *e, const char *format, ...)
{
	va_list ap;
	size_t n;

	if (!e)
		return -1;
	va_start(ap, format);
	n = dt_vformat(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	if (n >= sizeof(e->text)) {
		char *end = e->text + sizeof(e->text) - 4;

		end[0] = end[1] = end[2] = '.';
	}
	/* the text may quote untrusted names */
#ifndef __KERNEL__ /* programs that read it from the kernel do that; there is no room for it there \
		    */
	dt_plain_cut(e->text, true);
#endif
	return -1;
}
