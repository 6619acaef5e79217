/* SPDX-License-Identifier: MIT */
/* Splits commands into words, and reads the words. */
#include "core/words.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/*
 * Removes the quotes of the word at *from in place. Sets *to to its new end, and *from to where it
 * ended.
 */
static int unquote(char **from, char **to, struct dt_error *e)
{
	char *p = *from, *out = p;
	bool quoted = false;

	for (; *p && (quoted || !is_space(*p)); p++) {
		if (*p != '\'') {
			*out++ = *p;
		} else if (quoted && p[1] == '\'') {
			*out++ = '\'';
			p++;
		} else {
			quoted = !quoted;
		}
	}
	if (quoted)
		return dt_fail(e, "a quote (') is not closed");
	*from = p;
	*to = out;
	return 0;
}

int dt_words_split(struct dt_words *w, char *text, size_t n, struct dt_error *e)
{
	char *p = text;

	for (size_t i = 0; i < n; i++)
		if (!text[i])
			return dt_fail(e, "there is a NUL byte in the command");
	text[n] = '\0';
	w->text = text;
	w->n = 0;
	for (;;) {
		char *word, *end = NULL;

		while (is_space(*p))
			p++;
		if (!*p)
			return 0;
		if (w->n == w->room)
			return dt_fail(e, "more than %u words in one command", w->room);
		word = p;
		if (unquote(&p, &end, e) < 0)
			return -1;
		if (*p)
			p++;
		*end = '\0';
		w->word[w->n++] = word;
	}
}

bool dt_word_is(const char *word, const char *other)
{
	while (*word && *word == *other)
		word++, other++;
	return *word == *other;
}

size_t dt_word_length(const char *word)
{
	size_t n = 0;

	while (word[n])
		n++;
	return n;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static bool number(const char *p, unsigned base, uint64_t *v)
{
	uint64_t sum = 0;

	if (!*p)
		return false;
	for (; *p; p++) {
		unsigned d = (unsigned)digit(*p);

		if (d >= base || sum > (~0ull - d) / base)
			return false;
		sum = sum * base + d;
	}
	*v = sum;
	return true;
}

static bool has_0x(const char *word)
{
	return word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
}

bool dt_word_hex(const char *word, uint64_t *v)
{
	return number(has_0x(word) ? word + 2 : word, 16, v);
}

bool dt_word_decimal(const char *word, uint64_t *v)
{
	return number(word, 10, v);
}

bool dt_word_number(const char *word, uint64_t *v)
{
	if (has_0x(word))
		return number(word + 2, 16, v);
	if (word[0] == '0' && word[1])
		return number(word + 1, 8, v);
	return number(word, 10, v);
}

bool dt_word_is_pattern(const char *word)
{
	for (; *word; word++)
		if (*word == '*' || *word == '?' || *word == '[')
			return true;
	return false;
}

bool dt_word_quoted(const char *word)
{
	if (!*word || *word == '#')
		return true;
	for (; *word; word++)
		if (is_space(*word) || *word == '\'')
			return true;
	return false;
}
