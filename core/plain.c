/* SPDX-License-Identifier: MIT */
/* Shows untrusted text as plain text. */
#include "core/plain.h"

/*
 * Decodes the character at text, which has n bytes left. Returns its length, or 0 if there is none.
 */
static unsigned decode(const char *text, size_t n, uint32_t *c)
{
	const uint8_t *s = (const uint8_t *)text;
	unsigned length = s[0] < 0x80	? 1
			  : s[0] < 0xc2 ? 0
			  : s[0] < 0xe0 ? 2
			  : s[0] < 0xf0 ? 3
			  : s[0] < 0xf5 ? 4
					: 0;

	if (!length || length > n)
		return 0;
	*c = length == 1 ? s[0] : s[0] & (0x7fu >> length);
	for (unsigned i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	/* neither an overlong encoding, nor a surrogate, nor above the last code point */
	if ((length == 3 && *c < 0x800) || (length == 4 && *c < 0x10000) || *c > 0x10ffff ||
	    (*c >= 0xd800 && *c < 0xe000))
		return 0;
	return length;
}

/* Is the character anything but simply visible? Controls are, and marks that are invisible or turn
 * what follows. */
static bool is_unseen(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

unsigned dt_plain_character(const char *s, size_t n, uint32_t *c, bool *unseen)
{
	unsigned length = decode(s, n, c);

	*unseen = length && is_unseen(*c);
	return length;
}

struct out {
	char *p; /* NULL: bytes are only counted */
	size_t n;
};

static void put(struct out *o, char c)
{
	if (o->p)
		o->p[o->n] = c;
	o->n++;
}

static void put_code(struct out *o, uint32_t c, bool byte)
{
	unsigned digits = byte || c < 0x80 ? 2 : c < 0x10000 ? 4 : 8;

	put(o, '\\');
	if (!byte && (c == '\n' || c == '\t')) {
		put(o, c == '\n' ? 'n' : 't');
		return;
	}
	put(o, digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
	while (digits--)
		put(o, "0123456789abcdef"[c >> 4 * digits & 15]);
}

size_t dt_plain(char *out, const char *s, size_t n)
{
	struct out o = {out, 0};

	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		unsigned length = decode(s + i, n - i, &c);

		if (!length)
			put_code(&o, (uint8_t)s[i], true);
		else if (is_unseen(c))
			put_code(&o, c, false);
		else
			for (unsigned k = 0; k < length; k++)
				put(&o, s[i + k]);
		i += length ? length : 1;
	}
	return o.n;
}

bool dt_plain_is(const char *s)
{
	size_t n = 0;
	bool ascii = true;

	for (; s[n]; n++) {
		if ((uint8_t)s[n] < 0x20 || s[n] == 0x7f)
			return false;
		ascii = ascii && !((uint8_t)s[n] & 0x80);
	}
	for (size_t i = 0; !ascii && i < n;) {
		uint32_t c = 0;
		unsigned length = decode(s + i, n - i, &c);

		if (!length || is_unseen(c))
			return false;
		i += length;
	}
	return true;
}

void dt_plain_cut(char *s, bool lines)
{
	size_t n = 0;

	while (s[n])
		n++;
	for (size_t i = 0; i < n;) {
		uint32_t c = 0;
		unsigned length = decode(s + i, n - i, &c);

		if (length && is_unseen(c) && !(lines && (c == '\n' || c == '\t')))
			for (unsigned k = 0; k < length; k++)
				s[i + k] = '?';
		else if (!length)
			s[i] = '?';
		i += length ? length : 1;
	}
}
