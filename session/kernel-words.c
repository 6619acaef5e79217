/* SPDX-License-Identifier: MIT */
/*
 * Reads what is behind the quotes of a `print fmt': expressions of C, each for one %. Understood
 * are those that print a field by words; others are skipped. Whatever the text is, it is read from
 * its beginning to its end, once for each field.
 */
#include "session/kernel-words.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define DEPTH	  64 /* parentheses in each other */
#define NAME_MOST 64 /* bytes of a word */

/* What the value of an expression is: a number, or the bits of the field that a mask selects. */
struct value {
	bool is_field;
	uint64_t v; /* the number or the mask */
};

/* A text that is being read, from p to end, and for which field. */
struct text {
	const char *p, *end;
	const char *field;
	size_t field_n;
	unsigned depth;
	dt_kernel_constant_fn *constant;
	void *ctx;
};

/* The words that were found. */
struct words {
	char *out;
	size_t n;
	char kind; /* 0: none yet; 'e' or 'f' */
};

/* ---- expressions ---- */

static void skip_spaces(struct text *t)
{
	while (t->p < t->end && isspace((unsigned char)*t->p))
		t->p++;
}

/* Moves past a piece of text, and spaces in front of it. False: something else comes. */
static bool take(struct text *t, const char *s)
{
	size_t n = strlen(s);

	skip_spaces(t);
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, s, n) != 0)
		return false;
	t->p += n;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool read_sum(struct text *t, unsigned level, struct value *v);

static bool read_constant(struct text *t, struct value *v)
{
	size_t n = 0;

	while (t->p + n < t->end && is_word(t->p[n]))
		n++;
	*v = (struct value){false, 0};
	if (!n || isdigit((unsigned char)*t->p) || !t->constant(t->ctx, t->p, n, &v->v))
		return false;
	t->p += n;
	return true;
}

/* Moves past the words of a type and the parenthesis that ends a cast. */
static bool take_cast(struct text *t)
{
	const char *was = t->p;
	struct value v;

	skip_spaces(t);
	/* (NAME) is a constant, (name) a type */
	if (read_constant(t, &v) && take(t, ")")) {
		t->p = was;
		return false;
	}
	t->p = was;
	skip_spaces(t);
	if (t->p < t->end && (isalpha((unsigned char)*t->p) || *t->p == '_') &&
	    (t->end - t->p < 5 || memcmp(t->p, "REC->", 5) != 0)) {
		while (t->p < t->end && (is_word(*t->p) || *t->p == ' ' || *t->p == '*'))
			t->p++;
		if (take(t, ")"))
			return true;
	}
	t->p = was;
	return false;
}

static bool read_number(struct text *t, struct value *v)
{
	char digits[32], *end;
	size_t n = 0;

	while (t->p + n < t->end && n + 1 < sizeof(digits) && is_word(t->p[n])) {
		digits[n] = t->p[n];
		n++;
	}
	digits[n] = '\0';
	if (!isdigit((unsigned char)digits[0]))
		return false;
	*v = (struct value){.v = strtoull(digits, &end, 0)};
	t->p += n;
	return end[strspn(end, "uUlL")] == '\0';
}

static bool read_operand(struct text *t, struct value *v)
{
	bool done;

	if (++t->depth > DEPTH)
		return false;
	skip_spaces(t);
	if (take(t, "~") || take(t, "-")) {
		bool negates = t->p[-1] == '-';

		done = read_operand(t, v) && !v->is_field;
		v->v = negates ? -v->v : ~v->v;
	} else if (take(t, "(")) {
		done = take_cast(t) ? read_operand(t, v) : read_sum(t, 0, v) && take(t, ")");
	} else if (take(t, "REC->")) {
		size_t n = 0;

		while (t->p + n < t->end && is_word(t->p[n]))
			n++;
		done = n == t->field_n && memcmp(t->p, t->field, n) == 0;
		t->p += n;
		*v = (struct value){true, UINT64_MAX};
	} else {
		done = read_number(t, v) || read_constant(t, v);
	}
	t->depth--;
	return done;
}

/* Makes one value of two. False: nothing is known of the result. */
static bool join(char op, struct value *a, const struct value *b)
{
	if (op == '&' && a->is_field != b->is_field) {
		*a = (struct value){true, a->v & b->v};
		return true;
	}
	if (a->is_field || b->is_field)
		return false;
	switch (op) {
	case '|':
		a->v |= b->v;
		return true;
	case '^':
		a->v ^= b->v;
		return true;
	case '&':
		a->v &= b->v;
		return true;
	case '<':
	case '>':
		if (b->v > 63)
			return false;
		a->v = op == '<' ? a->v << b->v : a->v >> b->v;
		return true;
	case '+':
		a->v += b->v;
		return true;
	case '-':
		a->v -= b->v;
		return true;
	default:
		a->v *= b->v;
		return true;
	}
}

/* Reads operands with those operators between them that bind at least as strongly as level says:
 * 0 for all, 5 for the products alone. */
static bool read_sum(struct text *t, unsigned level, struct value *v)
{
	static const char *const ops[] = {"|", "^", "&", "<>", "+-", "*"};

	if (level == sizeof(ops) / sizeof(*ops))
		return read_operand(t, v);
	if (!read_sum(t, level + 1, v))
		return false;
	for (;;) {
		struct value right;
		char op;

		skip_spaces(t);
		if (t->p == t->end || !strchr(ops[level], *t->p) || !*t->p)
			return true;
		op = *t->p++;
		/* "<<", and no "&&" or "||" */
		if (level == 3 ? t->p == t->end || *t->p++ != op : t->p < t->end && *t->p == op)
			return false;
		if (!read_sum(t, level + 1, &right) || !join(op, v, &right))
			return false;
	}
}

/* ---- words ---- */

/* Reads a text in quotes. What a description can not have in a word becomes '?'. */
static bool take_quoted(struct text *t, char word[NAME_MOST])
{
	size_t n = 0;

	if (!take(t, "\""))
		return false;
	for (; t->p < t->end && *t->p != '"'; t->p++) {
		char c = *t->p;

		if (c == '\\' && t->p + 1 < t->end)
			t->p++;
		if (c < ' ' || c >= 127 || c == '\\' || c == '=' || c == ',')
			c = '?';
		if (n + 1 < NAME_MOST)
			word[n++] = c;
	}
	word[n] = '\0';
	return take(t, "\"");
}

/* Begins with words of a kind. False: there are others already. */
static bool begin(struct words *w, char kind)
{
	if (w->kind)
		return w->kind == 'f' && kind == 'f';
	w->kind = kind;
	w->n = dt_format(w->out, DT_KERNEL_WORDS, "%c:;", kind);
	return true;
}

/* Adds a word for those values of which the bits in `mask' are `value'; mask 0: all bits are. */
static void add(struct words *w, const char *word, uint64_t value, uint64_t mask)
{
	char text[NAME_MOST + 64];
	size_t n =
		dt_format(text, sizeof(text), "%s%s=%ld", w->n > 3 ? "," : "", word, (long)value);

	if (mask)
		n += dt_format(text + n, sizeof(text) - n, "/%lu", (unsigned long)mask);
	if (!*word || w->n + n + 1 > DT_KERNEL_WORDS)
		return;
	memcpy(w->out + w->n, text, n + 1);
	w->n += n;
}

/* Moves past what is in front of the next comma, at the same depth of parentheses. */
static void skip_to_comma(struct text *t)
{
	int depth = 0;

	for (; t->p < t->end && *t->p != '"'; t->p++) {
		if (*t->p == '(')
			depth++;
		else if (*t->p == ')')
			depth--;
		else if (*t->p == '}' || (*t->p == ',' && depth <= 0))
			return;
	}
}

/* Reads "{ 1, "S" }, ..." of a field of which the mask selects the bits. */
static void read_list(struct text *t, struct words *w, bool flags, uint64_t mask)
{
	while (take(t, "{")) {
		struct value v;
		char word[NAME_MOST];
		/* a constant that this kernel has not translated is left out */
		bool known = read_sum(t, 0, &v) && !v.is_field;

		t->depth = 0;
		if (!known)
			skip_to_comma(t);
		if (!take(t, ",") || !take_quoted(t, word) || !take(t, "}"))
			return;
		if (known && flags && v.v)
			add(w, word, v.v, v.v);
		else if (known && !flags)
			add(w, word, v.v, w->kind == 'f' ? mask : 0);
		if (!take(t, ","))
			return;
	}
}

/* Reads __print_flags(field, "|", { 1, "S" }, ...) or __print_symbolic(field, { 1, "S" }, ...). */
static bool read_print(struct text *t, struct words *w, uint64_t *mask)
{
	bool flags = take(t, "__print_flags");
	struct value v;
	char word[NAME_MOST];

	if (!flags && !take(t, "__print_symbolic"))
		return false;
	take(t, "_u64");
	if (!take(t, "(") || !read_sum(t, 0, &v) || !v.is_field || !take(t, ","))
		return false;
	if (flags && (!take_quoted(t, word) || !take(t, ",")))
		return false;
	*mask = v.v;
	if (!begin(w, flags || v.v != UINT64_MAX ? 'f' : 'e'))
		return false;
	read_list(t, w, flags, v.v);
	return true;
}

/* Adds the words of `field ? A : B'; alone: nothing else prints the field. */
static void add_two(struct words *w, uint64_t mask, const char *yes, const char *no, bool alone)
{
	bool one = mask && !(mask & (mask - 1));

	if (mask == UINT64_MAX && *yes && *no && alone && begin(w, 'e')) {
		add(w, no, 0, 0);
		add(w, yes, 1, 0);
	} else if (one && begin(w, 'f')) {
		add(w, yes, mask, mask);
		add(w, no, 0, mask);
	}
}

/* Returns how often the text has the field. */
static unsigned occurs(const struct text *t)
{
	unsigned n = 0;

	for (const char *p = t->p; (p = memmem(p, (size_t)(t->end - p), "REC->", 5)) != NULL;) {
		p += 5;
		n += (size_t)(t->end - p) >= t->field_n && memcmp(p, t->field, t->field_n) == 0 &&
		     ((size_t)(t->end - p) == t->field_n || !is_word(p[t->field_n]));
	}
	return n;
}

/* Reads one expression. */
static void read_argument(struct text t, struct words *w, bool alone)
{
	char yes[NAME_MOST], no[NAME_MOST];
	uint64_t mask;
	struct value v;

	if (read_print(&t, w, &mask))
		return;
	t.depth = 0;
	if (!read_sum(&t, 0, &v) || !v.is_field || !take(&t, "?"))
		return;
	if (take_quoted(&t, yes)) {
		if (take(&t, ":") && take_quoted(&t, no))
			add_two(w, v.v, yes, no, alone);
		return;
	}
	/* another word where it has none of the bits */
	if (read_print(&t, w, &mask) && take(&t, ")") && take(&t, ":") && take_quoted(&t, no))
		add(w, no, 0, v.v == UINT64_MAX ? 0 : v.v);
}

/* Returns where an expression ends: at a comma that is in no parentheses, braces or quotes. */
static const char *end_of(const char *p, const char *end)
{
	bool quoted = false;
	int depth = 0;

	for (; p < end; p++) {
		if (quoted && *p == '\\' && p + 1 < end)
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && (*p == '(' || *p == '{'))
			depth++;
		else if (!quoted && (*p == ')' || *p == '}'))
			depth--;
		else if (!quoted && *p == ',' && depth <= 0)
			return p;
	}
	return end;
}

bool dt_kernel_words(const char *format, const char *field, dt_kernel_constant_fn *constant,
		     void *ctx, char out[DT_KERNEL_WORDS])
{
	const char *p = strstr(format, "\nprint fmt: \""), *end;
	struct text all = {
		.field = field, .field_n = strlen(field), .constant = constant, .ctx = ctx};
	struct words w = {.out = out};

	out[0] = '\0';
	if (!p)
		return false;
	p += strlen("\nprint fmt: ");
	end = p + strcspn(p, "\n");
	/* the text in quotes first */
	all.p = end_of(p, end);
	all.end = end;
	for (p = all.p; p < end; p = end_of(p + 1, end)) {
		struct text t = all;

		t.p = p + 1;
		t.end = end_of(t.p, end);
		read_argument(t, &w, occurs(&all) == 1);
	}
	return w.n > 3;
}
