/* SPDX-License-Identifier: MIT */
/* Reads the words of a filter. */
#include "filter/filter-work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool ticks_of(const char *text, double ticks_per_ns, double *ticks)
{
	static const struct {
		const char *name;
		double ns;
	} unit[] = {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(text, &end);

	if (end == text || !(v >= 0))
		return false;
	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++)
		if (!strcmp(end, unit[i].name)) {
			*ticks = v * unit[i].ns * ticks_per_ns;
			return true;
		}
	return false;
}

static int add_cores(struct dt_filter *f, const char *text, struct dt_error *e)
{
	const char *p = text;

	do {
		char *end;
		unsigned long low = strtoul(p, &end, 10), high = low;

		if (*p < '0' || *p > '9')
			goto wrong;
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				goto wrong;
			high = strtoul(p, &end, 10);
		}
		if ((*end && *end != ',') || high < low || high > UINT16_MAX || f->cores == RANGES)
			goto wrong;
		f->core[f->cores][0] = (uint16_t)low;
		f->core[f->cores++][1] = (uint16_t)high;
		p = *end ? end + 1 : end;
	} while (*p);
	return 0;
wrong:
	return dt_fail(e, "core:%s: numbers are wanted, as in core:0,2-4", text);
}

static int add_who(struct who *w, char *pattern, bool remove, struct dt_error *e)
{
	if (w->n == sizeof(w->pattern) / sizeof(*w->pattern))
		return dt_fail(e, "too many patterns of threads, processes or files: 32 at most");
	w->remove[w->n] = remove;
	w->pattern[w->n++] = pattern;
	return 0;
}

/* Returns what comes after "KEY:" in a word; NULL: the word does not begin so. */
static char *behind(char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == ':' ? word + n + 1 : NULL;
}

/*
 * Reads a number with a fraction or an exponent, "1e6", "0.5": for whole values the condition is
 * about the whole number that makes it true of the same ones. Returns what is behind it.
 */
static char *parse_real(struct term *t, const char *text)
{
	char *end;
	long double v = strtold(text, &end), whole = t->op == '<' ? ceill(v) : floorl(v);

	t->real = strtod(text, &end);
	t->fraction = v != whole;
	t->beyond = whole > (long double)UINT64_MAX ? 1 : whole < (long double)INT64_MIN ? -1 : 0;
	t->above = !t->beyond && whole > (long double)INT64_MAX;
	t->number = t->above || t->beyond > 0 ? INT64_MAX : t->beyond ? INT64_MIN : (int64_t)whole;
	t->unsigned_number = t->above ? (uint64_t)whole : (uint64_t)t->number;
	return end;
}

static int add_number(struct term *t, const char *word, const char *text, struct dt_error *e)
{
	char *end;

	errno = 0;
	t->number = strtoll(text, &end, 0);
	t->unsigned_number = (uint64_t)t->number;
	if (errno == ERANGE && *text != '-') {
		errno = 0;
		t->unsigned_number = strtoull(text, &end, 0);
		t->number = INT64_MAX;
		t->above = true;
	}
	t->real = t->above ? (double)t->unsigned_number : (double)t->number;
	if (end > text && (*end == '.' || *end == 'e' || *end == 'E')) {
		errno = 0;
		end = parse_real(t, text);
	}
	if (end == text || *end || errno)
		return dt_fail(e, "%s: a number is wanted behind the %c", word, t->op);
	return 0;
}

/* Makes the condition that a call failed for a reason, or for another one. */
static int add_error(struct term *t, const char *word, const char *reason, struct dt_error *e)
{
	char *end;

	t->what = ERROR;
	t->number = strtol(reason, &end, 10);
	if (end == reason || *end)
		for (t->number = 1; t->number < 4096; t->number++) {
			const char *name = strerrorname_np((int)t->number);

			if (name && !strcmp(name, reason))
				break;
		}
	if ((t->op == '=' || t->op == '!') && t->number > 0 && t->number < 4096)
		return 0;
	return dt_fail(e, "%s: the name of an error is wanted, as in error=ENOENT", word);
}

/* Returns whether what is behind an operator is no number, but a text or the names of constants. */
static bool is_no_number(char op, const char *value)
{
	char *end;

	if ((op != '=' && op != '!') || !*value)
		return false;
	strtod(value, &end); /* with what belongs to a number, and is wrong there, it is one */
	return end == value;
}

/* Returns whether what is behind an operator can be names: "O_CREAT|O_EXCL|*". */
static bool are_names(const char *value)
{
	for (const char *p = value; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9' && p > value) || *p == '_' || *p == '|' ||
		      (*p == '*' && p > value && p[-1] == '|')))
			return false;
	return true;
}

/* Adds a condition, NAME OP NUMBER; op: where the operator is in the word. */
static int add_term(struct dt_filter *f, char *word, char *op, struct dt_error *e)
{
	struct term *t = &f->term[f->terms];
	size_t n = (size_t)(op - word);
	const char *number = op + 1;
	bool time = n == 4 && !strncmp(word, "time", 4);

	if (f->terms == TERMS)
		return dt_fail(e, "too many conditions: %d at most", TERMS);
	t->op = *op;
	if (*op == '!' && *number++ != '=')
		return dt_fail(e, "%s: !=, =, < or > is wanted", word);
	if (n >= sizeof(t->name))
		return dt_fail(e, "%s: such a name is too long", word);
	memcpy(t->name, word, n);
	f->terms++;
	if (time) {
		t->what = TIME;
		if ((t->op == '<' || t->op == '>') && ticks_of(number, f->ticks_per_ns, &t->real))
			return 0;
		return dt_fail(e, "%s: a time is wanted, as in time>10us or time<2ms", word);
	}
	if (n == 5 && !strncmp(word, "error", 5))
		return add_error(t, word, number, e);
	if (n == 5 && !strncmp(word, "errno", 5))
		return dt_fail(e, "%s: the reason of a failure is called error, as in error=ENOENT",
			       word);
	t->what = NAMED;
	if (n == 4 && !strncmp(word, "arg", 3) && word[3] >= '1' && word[3] <= '9') {
		t->what = ARGUMENT;
		t->index = (unsigned)(word[3] - '1');
	} else if (!strcmp(t->name, "result")) {
		t->what = RESULT;
	} else if (!strcmp(t->name, "value")) {
		t->what = VALUE;
	} else if (!strcmp(t->name, "depth")) {
		t->what = DEPTH;
	} else if (!strcmp(t->name, "codesize")) {
		t->what = CODE;
	}
	/* a named argument may lead to a text, or be a number that has a name: that depends on the
	 * function */
	if (t->what == NAMED && is_no_number(t->op, number))
		t->what = TEXT;
	if (t->what == TEXT || ((t->what == ARGUMENT || t->what == RESULT) &&
				is_no_number(t->op, number) && are_names(number))) {
		t->pattern = number;
		return 0;
	}
	return add_number(t, word, number, e);
}

/* Adds the condition that a call has failed, or that it has not. */
static int add_failed(struct dt_filter *f, bool remove, struct dt_error *e)
{
	if (f->terms == TERMS)
		return dt_fail(e, "too many conditions: %d at most", TERMS);
	f->term[f->terms++] = (struct term){.what = FAILED, .op = remove ? '!' : '='};
	return 0;
}

/* Returns the operator after a name; NULL: there is none, as in "operator<". */
static char *operator_in(char *word)
{
	char *p = word;

	while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
	       *p == '_')
		p++;
	if (p == word || !*p || !strchr("=<>!", *p) || strncmp(word, "operator", 8) == 0)
		return NULL;
	/* names of C++, "vector<int>", and the beginnings of such, "vector<*" */
	return *p == '<' && (strchr(p, '>') || strchr("*?[", p[1])) && p[1] ? NULL : p;
}

/*
 * Refuses what can be no pattern of functions, but is easily written where a condition was meant:
 * "size > 9" with blanks, "a*b>9", "malloc,calloc". Names of C++ have operators and, between
 * brackets, commas.
 */
static int check_pattern(const char *word, struct dt_error *e)
{
	unsigned depth = 0;

	if (strstr(word, "operator"))
		return 0;
	if (!word[strspn(word, "0123456789.=<>!")])
		return dt_fail(e, "%s: a condition is one word, without blanks, as in size>1000000",
			       word);
	for (const char *p = word; *p; p++) {
		bool compares = *p == '=' || (strchr("<>", *p) && p[1] >= '0' && p[1] <= '9' &&
					      !strchr(p + 1, '>'));

		if (*p == '-' && p[1] == '>') { /* ls+0x17f60->malloc */
			p++;
			continue;
		}
		if (compares && !depth)
			return dt_fail(
				e,
				"%s: a condition is the name of one value, =, !=, < or >, and "
				"a number or text, as in size>1000000",
				word);
		if (strchr("(<{[", *p))
			depth++;
		else if (strchr(")>}]", *p) && depth)
			depth--;
		else if (*p == ',' && !depth)
			return dt_fail(e,
				       "%s: functions are separated by blanks, as in 'malloc "
				       "calloc'",
				       word);
	}
	return 0;
}

/* Adds a word that begins like "thread:", whose patterns are `who'. */
static int add_named(struct who *w, const char *key, char *pattern, bool remove, struct dt_error *e)
{
	return *pattern ? add_who(w, pattern, remove, e)
			: dt_fail(e, "%s: a %s is wanted behind it", key,
				  strcmp(key, "file") ? "number or name" : "source file's name");
}

/* Adds a word about the calls around a call. Returns 1 if it is none. */
static int add_around(struct dt_filter *f, char *word, bool remove, struct dt_error *e)
{
	char *rest;
	int rc = 1;

	if ((rest = behind(word, "in")))
		rc = dt_selection_add(remove ? &f->outside : &f->inside, rest, false, e);
	else if ((rest = behind(word, "caller")))
		rc = dt_selection_add(&f->caller, rest, remove, e);
	f->looks_around |= rc == 0;
	return rc;
}

/* Adds a word about calls that are kept with all that happens in them. */
static int add_request(struct dt_filter *f, char *rest, bool remove, struct dt_error *e)
{
	if (!f->meanings.requests)
		return dt_fail(e,
			       "request:%s: only record --filter and ctl filter choose by that, "
			       "since it keeps all that happens in a call until the call ends; "
			       "in:%s means what happens in such calls",
			       rest, rest);
	return remove ? dt_fail(e, "-request: the calls that are wanted are named, as in "
				   "'request:handle* time>10ms'")
		      : dt_selection_add(&f->requests, rest, false, e);
}

/* Refuses words that would choose within a request. */
static int check_requests(const struct dt_filter *f, struct dt_error *e)
{
	return f->requests.n && (f->functions.n || f->file.n)
		       ? dt_fail(e, "request: keeps all that happens in a call; other functions or "
				    "files can not be chosen with it")
		       : 0;
}

static int add_word(struct dt_filter *f, char *word, struct dt_error *e)
{
	bool remove = *word == '-';
	char *rest, *op;
	int around;

	word += remove;
	if (!*word)
		return dt_fail(e, "-: what is to be left out stands behind it, as in -malloc");
	if ((rest = behind(word, "core")))
		return remove ? dt_fail(e, "-core: the cores that are wanted are named, as in "
					   "core:0,2-4")
			      : add_cores(f, rest, e);
	if ((rest = behind(word, "process")))
		return add_named(&f->process, "process", rest, remove, e);
	if ((rest = behind(word, "thread")))
		return add_named(&f->thread, "thread", rest, remove, e);
	if ((rest = behind(word, "file")))
		return add_named(&f->file, "file", rest, remove, e);
	if ((rest = behind(word, "request")))
		return add_request(f, rest, remove, e);
	around = add_around(f, word, remove, e);
	if (around <= 0)
		return around;
	if ((rest = behind(word, "event")))
		return dt_selection_add(&f->events, rest, remove, e);
	if ((rest = behind(word, "function")))
		return dt_selection_add(&f->functions, rest, remove, e);
	if (!strcmp(word, "failed"))
		return add_failed(f, remove, e);
	op = operator_in(word);
	if (op)
		return remove ? dt_fail(e,
					"-%s: a condition can not be taken away; say it the other "
					"way",
					word)
			      : add_term(f, word, op, e);
	return check_pattern(word, e) ? -1 : dt_selection_add(&f->functions, word, remove, e);
}

/* Cuts the text into words. */
int dt_filter_parse(struct dt_filter *f, struct dt_error *e)
{
	char *p = f->text;

	for (;;) {
		char *word, *to;
		bool quoted = false;

		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			return check_requests(f, e);
		word = to = p;
		for (; *p && (quoted || (*p != ' ' && *p != '\t')); p++) {
			if (*p == '"')
				quoted = !quoted;
			else
				*to++ = *p;
		}
		if (quoted)
			return dt_fail(e, "a \" has no other");
		if (*p)
			p++;
		*to = '\0';
		if (*word && add_word(f, word, e) < 0)
			return -1;
	}
}
