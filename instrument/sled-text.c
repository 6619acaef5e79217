// SPDX-License-Identifier: MIT
/* Texts that grow, and arrays. */
#include "instrument/sled-work.h"

#include <stdio.h>
#include <stdlib.h>

void *sled_must(void *p)
{
	if (p)
		return p;
	fputs("devtrace-as: out of memory\n", stderr);
	exit(1);
}

void text_reserve(struct text *t, size_t more)
{
	if (t->len + more <= t->cap)
		return;
	t->cap = (t->len + more) * 3 / 2 + 4096;
	t->data = sled_must(realloc(t->data, t->cap));
}

void text_add(struct text *t, const char *data, size_t len)
{
	text_reserve(t, len);
	memcpy(t->data + t->len, data, len);
	t->len += len;
}

void text_put(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_put_str(struct text *t, struct str s)
{
	text_add(t, s.p, s.len);
}

/* Appends a label and its number. */
void text_put_label(struct text *t, const char *s, uint32_t n)
{
	char digits[10];
	size_t i = sizeof(digits);

	do
		digits[--i] = '0' + n % 10;
	while (n /= 10);
	text_put(t, s);
	text_add(t, digits + i, sizeof(digits) - i);
}

/* Adds an element, zeroed, and returns it. */
void *array_push(struct array *a, size_t size)
{
	if (a->n == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 256;
		a->data = sled_must(realloc(a->data, a->cap * size));
	}
	return memset((char *)a->data + a->n++ * size, 0, size);
}
