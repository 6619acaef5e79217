/* SPDX-License-Identifier: MIT */
/* Reads the words of a sum. */
#include "filter/sums.h"

#include <string.h>

static const struct {
	const char *name;
	enum dt_sums_what what;
} word[] = {
	{"time", DT_SUMS_TIME},		{"self", DT_SUMS_SELF},	      {"result", DT_SUMS_RESULT},
	{"function", DT_SUMS_FUNCTION}, {"caller", DT_SUMS_CALLER},   {"callers", DT_SUMS_CALLERS},
	{"thread", DT_SUMS_THREAD},	{"process", DT_SUMS_PROCESS}, {"core", DT_SUMS_CORE},
	{"depth", DT_SUMS_DEPTH},	{"error", DT_SUMS_ERROR},
};

#define WORDS (sizeof(word) / sizeof(*word))

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool is_name(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_' ||
		      (i && s[i] >= '0' && s[i] <= '9')))
			return false;
	return n > 0;
}

/* Makes a term of a word of n characters. */
static int take(struct dt_sums_term *t, const char *s, size_t n, struct dt_error *e)
{
	*t = (struct dt_sums_term){.what = DT_SUMS_ARGUMENT, .index = UINT32_MAX};
	if (!is_name(s, n) || n >= sizeof(t->name))
		return dt_fail(e,
			       "%.*s: the name of an argument is wanted, arg1, result, time, or "
			       "another of the words of a sum",
			       n < 64 ? (int)n : 64, s);
	memcpy(t->name, s, n);
	if (n == 4 && !strncmp(t->name, "arg", 3) && t->name[3] >= '1' && t->name[3] <= '9')
		t->index = (unsigned)(t->name[3] - '1');
	for (size_t i = 0; i < WORDS; i++)
		if (!strcmp(t->name, word[i].name))
			t->what = word[i].what;
	return 0;
}

/* The next word of the text: up to a blank, a comma or a bracket, which are words themselves.
 * Returns its length, 0 at the end, and moves *p to its beginning. */
static size_t next(const char **p)
{
	size_t n = 0;

	while (is_blank(**p))
		++*p;
	while ((*p)[n] && !is_blank((*p)[n]) && !strchr(",()", (*p)[n]))
		n++;
	return n || !**p ? n : 1;
}

static bool is(const char *p, size_t n, const char *what)
{
	return n == strlen(what) && !strncmp(p, what, n);
}

/* What may stand before a value; all but "hist" mean the same. */
static bool is_function(const char *p, size_t n)
{
	return is(p, n, "hist") || is(p, n, "sum") || is(p, n, "avg") || is(p, n, "min") ||
	       is(p, n, "max") || is(p, n, "count") || is(p, n, "stats");
}

/* Is there a bracket behind a word, or, for words that need none, another value? */
static bool has_operand(const char *p, size_t n)
{
	const char *behind = p + n;
	size_t next_n = next(&behind);

	return next_n && !is(behind, next_n, "by") && !is(behind, next_n, "if");
}

/* Reads WHAT. */
static int parse_what(struct dt_sums_words *w, const char **p, struct dt_error *e)
{
	size_t n = next(p);
	bool count = is(*p, n, "count"), bracket;

	if (!n || is(*p, n, "by") || is(*p, n, "if"))
		return dt_fail(e, "a sum is WHAT [by KEY, ...] [if WORDS], such as 'count by "
				  "function' or 'hist(size) by caller if malloc'");
	if (!is_function(*p, n) || !has_operand(*p, n)) {
		*p += n;
		if (!count)
			return take(&w->value, *p - n, n, e);
		strcpy(w->value.name, "count");
		return 0;
	}
	w->hist = is(*p, n, "hist");
	*p += n;
	n = next(p);
	bracket = is(*p, n, "(");
	if (bracket) {
		*p += n;
		n = next(p);
	}
	if (count && bracket && is(*p, n, ")")) {
		*p += n;
		strcpy(w->value.name, "count");
		return 0;
	}
	if (count)
		return dt_fail(e, "%.*s: count has no value: all calls are counted", (int)n, *p);
	if (take(&w->value, *p, n, e))
		return -1;
	*p += n;
	if (!bracket)
		return 0;
	n = next(p);
	if (!is(*p, n, ")"))
		return dt_fail(e, "hist(%s: a ) is wanted behind it", w->value.name);
	*p += n;
	return 0;
}

static int parse_keys(struct dt_sums_words *w, const char **p, struct dt_error *e)
{
	for (;;) {
		size_t n = next(p);

		if (!n || is(*p, n, "if"))
			return dt_fail(e,
				       "by: a key is wanted behind it, such as function, caller, "
				       "thread, result, or the name of an argument");
		if (w->keys == DT_SUMS_KEYS)
			return dt_fail(e, "too many keys: %u at most", DT_SUMS_KEYS);
		if (take(&w->key[w->keys], *p, n, e))
			return -1;
		if (w->key[w->keys].what == DT_SUMS_TIME || w->key[w->keys].what == DT_SUMS_SELF)
			return dt_fail(e,
				       "by %s: there would be a row for each time; hist(%s) has "
				       "how they are distributed",
				       w->key[w->keys].name, w->key[w->keys].name);
		w->keys++;
		*p += n;
		n = next(p);
		if (!is(*p, n, ","))
			return 0;
		*p += n;
	}
}

int dt_sums_parse(struct dt_sums_words *w, const char *text, struct dt_error *e)
{
	const char *p = text;
	size_t n;

	*w = (struct dt_sums_words){.value.index = UINT32_MAX};
	if (parse_what(w, &p, e))
		return -1;
	if (w->value.what >= DT_SUMS_FUNCTION)
		return dt_fail(e,
			       "%s: that is no value to be summed up: a key, as in 'count by %s'",
			       w->value.name, w->value.name);
	n = next(&p);
	if (is(p, n, "by")) {
		p += n;
		if (parse_keys(w, &p, e))
			return -1;
		n = next(&p);
	}
	if (is(p, n, "if")) {
		p += n;
		if (!next(&p))
			return dt_fail(e, "if: words of a filter are wanted behind it");
		w->filter = p;
		return 0;
	}
	return n ? dt_fail(e, "%.*s: what is this? A sum is WHAT [by KEY, ...] [if WORDS]", (int)n,
			   p)
		 : 0;
}
