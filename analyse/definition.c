/* SPDX-License-Identifier: MIT */
/* Definitions of events: reading them, and writing what is generated from them. */
#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/definition.h"

#define LARGEST	   (64u << 20) /* most bytes of a file; nobody writes one of that size */
#define EVENTS	   0x10000
#define NAME_LIMIT 255

struct dt_definition_text {
	struct dt_definition_text *next;
	char text[];
};

/* Returns a copy that lives as long as the definition; NULL: out of memory. */
static const char *keep(struct dt_definition *d, const char *s, size_t n)
{
	struct dt_definition_text *t = malloc(sizeof(*t) + n + 1);

	if (!t)
		return NULL;
	memcpy(t->text, s, n);
	t->text[n] = '\0';
	t->next = d->texts;
	d->texts = t;
	return t->text;
}

static int add_row(struct dt_definition *d, const struct dt_event_row *row)
{
	if (d->rows == d->size) {
		size_t size = d->size ? 2 * d->size : 64;
		struct dt_event_row *p = realloc(d->row, size * sizeof(*p));

		if (!p)
			return -1;
		d->row = p;
		d->size = size;
	}
	d->row[d->rows++] = *row;
	return 0;
}

void dt_definition_free(struct dt_definition *d)
{
	while (d->texts) {
		struct dt_definition_text *next = d->texts->next;

		free(d->texts);
		d->texts = next;
	}
	free(d->row);
	*d = (struct dt_definition){0};
}

/* ---- macros ---- */

/* Makes the name of a macro: "TRACE_EVENT_KERNEL_CSWITCH"; event NULL: "TRACE_SUBSYS_KERNEL". */
static void macro(char *out, size_t size, const char *subsystem, const char *event)
{
	dt_format(out, size, event ? "TRACE_EVENT_%s_%s" : "TRACE_SUBSYS_%s", subsystem, event);
	for (; *out; out++)
		*out = (char)toupper((unsigned char)*out);
}

struct place {
	unsigned long line, column;
};

/* A macro, and the row that it is for. */
struct made {
	char *macro;
	size_t row;
};

static int by_macro(const void *a, const void *b)
{
	const struct made *x = a, *y = b;
	int c = strcmp(x->macro, y->macro);

	return c ? c : x->row < y->row ? -1 : x->row > y->row;
}

/* Checks that no two macros are the same: different names may give the same one (a.b_c and a_b.c,
 * get and GET). place NULL: not known. */
static int check_macros(const struct dt_definition *d, const struct place *place, const char *path,
			struct dt_error *e)
{
	struct made *made = calloc(2 * d->rows, sizeof(*made));
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; made && i < d->rows; i++) {
		const struct dt_event_row *r = &d->row[i];

		for (int j = !i || r[-1].subsystem != r->subsystem ? 0 : 1; j < 2; j++) {
			char text[2 * NAME_LIMIT + 32];

			macro(text, sizeof(text), r->subsystem_name, j ? r->name : NULL);
			made[n] = (struct made){strdup(text), i};
			if (!made[n++].macro)
				rc = -1;
		}
	}
	if (!made || rc)
		rc = dt_fail(e, "out of memory");
	else
		qsort(made, n, sizeof(*made), by_macro);
	for (size_t i = 1; !rc && i < n; i++)
		if (!strcmp(made[i].macro, made[i - 1].macro))
			rc = place ? dt_fail(e,
					     "%s:%lu:%lu: %s would be defined twice, first by line "
					     "%lu",
					     path, place[made[i].row].line,
					     place[made[i].row].column, made[i].macro,
					     place[made[i - 1].row].line)
				   : dt_fail(e, "%s: %s would be defined twice", path,
					     made[i].macro);
	for (size_t i = 0; i < n; i++)
		free(made[i].macro);
	free(made);
	return rc;
}

/* ---- the language ---- */

struct parser {
	struct dt_definition *d;
	const char *p, *end, *path;
	unsigned long line;
	const char *line_start;
	struct dt_error *e;
	struct place *place; /* of each row's name, for the error about a macro that comes twice */
	size_t places;
};

static int fail_at(const struct parser *k, const char *at, const char *what)
{
	return dt_fail(k->e, "%s:%lu:%lu: %s", k->path, k->line,
		       (unsigned long)(at - k->line_start) + 1, what);
}

static void step(struct parser *k)
{
	if (*k->p++ == '\n') {
		k->line++;
		k->line_start = k->p;
	}
}

static bool at(const struct parser *k, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(k->end - k->p) >= n && !memcmp(k->p, s, n);
}

/* Skips white space and comments. Returns -1 if a comment does not end. */
static int skip(struct parser *k)
{
	for (;;) {
		while (k->p < k->end && strchr(" \t\r\n\f\v", *k->p) && *k->p)
			step(k);
		if (at(k, "//")) {
			while (k->p < k->end && *k->p != '\n')
				step(k);
		} else if (at(k, "/*")) {
			struct parser begin = *k;

			for (k->p += 2; k->p < k->end && !at(k, "*/");)
				step(k);
			if (k->p == k->end)
				return fail_at(&begin, begin.p, "this comment does not end: */");
			k->p += 2;
		} else {
			return 0;
		}
	}
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Returns the length of the word at p. */
static size_t word(const struct parser *k)
{
	size_t n = 0;

	if (k->p < k->end && *k->p >= '0' && *k->p <= '9')
		return 0;
	while (k->p + n < k->end && is_name(k->p[n]))
		n++;
	return n;
}

static bool is_identifier(const char *s)
{
	size_t n = 0;

	while (is_name(s[n]))
		n++;
	return n && n <= NAME_LIMIT && !s[n] && !(s[0] >= '0' && s[0] <= '9');
}

static bool is_keyword(const char *s, size_t n, const char *keyword)
{
	return n == strlen(keyword) && !strncasecmp(s, keyword, n);
}

static bool keyword(struct parser *k, const char *s)
{
	size_t n = word(k);

	if (!is_keyword(k->p, n, s))
		return false;
	k->p += n;
	return true;
}

static const char *name(struct parser *k, const char *what)
{
	size_t n = word(k);
	const char *s = k->p;
	char text[96];

	dt_format(text, sizeof(text), "here must be the %s: letters, digits and _", what);
	if (!n || is_keyword(s, n, "subsystem") || is_keyword(s, n, "event"))
		return fail_at(k, s, text), NULL;
	if (n > NAME_LIMIT)
		return fail_at(k, s, "a name has at most 255 characters"), NULL;
	k->p += n;
	s = keep(k->d, s, n);
	if (!s)
		dt_fail(k->e, "out of memory");
	return s;
}

static int symbol(struct parser *k, char c, const char *what)
{
	if (skip(k))
		return -1;
	if (k->p == k->end || *k->p != c)
		return fail_at(k, k->p, what);
	k->p++;
	return 0;
}

static const char *string(struct parser *k)
{
	struct parser begin = *k;
	char *text, *to;
	const char *kept;

	if (k->p == k->end || *k->p != '"')
		return fail_at(k, k->p, "here must be the event's description in quotes"), NULL;
	text = to = malloc((size_t)(k->end - k->p) + 1);
	if (!text)
		return dt_fail(k->e, "out of memory"), NULL;
	for (k->p++; k->p < k->end && *k->p != '"' && *k->p != '\n' && *k->p; k->p++) {
		if (*k->p == '\\') {
			static const char from[] = "\"\\nt", as[] = "\"\\\n\t";
			const char *c = k->p + 1 < k->end && k->p[1] ? strchr(from, k->p[1]) : NULL;

			if (!c) {
				free(text);
				return fail_at(k, k->p, "only \\\" \\\\ \\n \\t are known here"),
				       NULL;
			}
			*to++ = as[c - from];
			k->p++;
		} else {
			*to++ = *k->p;
		}
	}
	if (k->p == k->end || *k->p != '"') {
		free(text);
		return fail_at(&begin, begin.p, "this description does not end in its line"), NULL;
	}
	k->p++;
	kept = keep(k->d, text, (size_t)(to - text));
	free(text);
	if (!kept)
		dt_fail(k->e, "out of memory");
	return kept;
}

static int note_place(struct parser *k, struct place place)
{
	if (k->places < k->d->size) {
		struct place *p = realloc(k->place, k->d->size * sizeof(*p));

		if (!p)
			return -1;
		k->place = p;
		k->places = k->d->size;
	}
	k->place[k->d->rows - 1] = place;
	return 0;
}

static int event(struct parser *k, struct dt_event_row *row)
{
	struct place place;

	if (row->event == EVENTS)
		return fail_at(k, k->p, "a subsystem has at most 65536 events");
	if (skip(k))
		return -1;
	place = (struct place){k->line, (unsigned long)(k->p - k->line_start) + 1};
	if (!(row->name = name(k, "event's name")) || skip(k) || !(row->description = string(k)) ||
	    symbol(k, ',', "here must be ',': each event ends with one, the last too"))
		return -1;
	if (!row->description[0])
		row->description = row->name;
	if (add_row(k->d, row) || note_place(k, place))
		return dt_fail(k->e, "out of memory");
	row->event++;
	return skip(k);
}

static int subsystem(struct parser *k)
{
	struct dt_event_row row = {.subsystem = k->d->subsystems};

	if (!keyword(k, "subsystem"))
		return fail_at(k, k->p, "here must be 'subsystem'");
	if (row.subsystem == DT_SUBSYSTEMS)
		return fail_at(k, k->p, "there are at most 59904 subsystems");
	if (skip(k) || !(row.subsystem_name = name(k, "subsystem's name")) ||
	    symbol(k, '{', "here must be '{'") || skip(k))
		return -1;
	if (!keyword(k, "event"))
		return fail_at(k, k->p, "here must be 'event': a subsystem has at least one");
	do {
		if (event(k, &row))
			return -1;
	} while (keyword(k, "event"));
	if (symbol(k, '}', "here must be another 'event' or '}'") ||
	    symbol(k, ';', "here must be ';' to end the subsystem"))
		return -1;
	k->d->subsystems++;
	return skip(k);
}

int dt_definition_parse(struct dt_definition *d, const char *text, size_t n, const char *path,
			struct dt_error *e)
{
	struct parser k = {.d = d,
			   .p = text,
			   .end = text + n,
			   .path = path,
			   .line = 1,
			   .line_start = text,
			   .e = e};
	int rc = skip(&k);

	do
		rc = rc ? rc : subsystem(&k);
	while (!rc && k.p < k.end);
	if (!rc)
		rc = check_macros(d, k.place, path, e);
	free(k.place);
	return rc;
}

/* ---- JSON ---- */

/* The rows of the table, in the order of their numbers. */
static const char json_sql[] =
	"SELECT s.key, json_extract(s.value,'$.name'), v.key, json_extract(v.value,'$[0]'),"
	" json_extract(v.value,'$[1]') FROM json_each(?1) s, json_each(s.value,'$.events') v"
	" ORDER BY CAST(s.key AS INTEGER), CAST(v.key AS INTEGER)";

static const char *column(struct dt_definition *d, sqlite3_stmt *q, int i)
{
	const char *s = (const char *)sqlite3_column_text(q, i);

	return s ? keep(d, s, strlen(s)) : NULL;
}

/* Reads a number from 0 to limit - 1, in its usual form; false: it is none. */
static bool number(sqlite3_stmt *q, int i, uint32_t limit, uint32_t *v)
{
	const char *s = (const char *)sqlite3_column_text(q, i);
	char again[16], *end;

	*v = s ? (uint32_t)strtoul(s, &end, 10) : limit;
	dt_format(again, sizeof(again), "%u", *v);
	return *v < limit && !strcmp(s, again);
}

static int take_json(struct dt_definition *d, sqlite3_stmt *q, const char *path, struct dt_error *e)
{
	struct dt_event_row row = {.subsystem_name = column(d, q, 1), .name = column(d, q, 3)};
	const struct dt_event_row *last = d->rows ? &d->row[d->rows - 1] : NULL;

	row.description = column(d, q, 4);
	if (!number(q, 0, DT_SUBSYSTEMS, &row.subsystem) || !number(q, 2, EVENTS, &row.event) ||
	    !row.subsystem_name || !row.name)
		return dt_fail(e,
			       "%s: an entry is not \"NUMBER\": {\"name\": NAME, \"events\": "
			       "{\"NUMBER\": [NAME, DESCRIPTION], ...}}",
			       path);
	if (!is_identifier(row.subsystem_name) || !is_identifier(row.name))
		return dt_fail(e, "%s: event %u of subsystem %u: a name is letters, digits and _",
			       path, row.event, row.subsystem);
	if (last && last->subsystem == row.subsystem &&
	    (last->event == row.event || strcmp(last->subsystem_name, row.subsystem_name)))
		return dt_fail(e, "%s: event %u of subsystem %u is there twice", path, row.event,
			       row.subsystem);
	if (!row.description || !row.description[0])
		row.description = row.name;
	if (row.subsystem >= d->subsystems)
		d->subsystems = row.subsystem + 1;
	return add_row(d, &row) ? dt_fail(e, "out of memory") : 0;
}

int dt_definition_parse_json(struct dt_definition *d, const char *text, size_t n, const char *path,
			     struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;
	int rc;

	if (memchr(text, '\0', n))
		return dt_fail(e, "%s: not valid JSON: a byte 0 in it", path);
	rc = sqlite3_open(":memory:", &db);
	if (!rc)
		rc = sqlite3_prepare_v2(db, json_sql, -1, &q, NULL);
	if (!rc)
		rc = sqlite3_bind_text64(q, 1, text, n, SQLITE_STATIC, SQLITE_UTF8);
	if (rc) {
		dt_fail(e, "%s: %s", path, sqlite3_errmsg(db));
		goto out;
	}
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		if (take_json(d, q, path, e))
			goto out;
	if (rc != SQLITE_DONE)
		dt_fail(e, "%s: not valid JSON: %s", path, sqlite3_errmsg(db));
	else
		rc = d->rows ? check_macros(d, NULL, path, e)
			     : dt_fail(e, "%s: no events in it", path);
out:
	sqlite3_finalize(q);
	sqlite3_close(db);
	return rc ? -1 : 0;
}

/* ---- files ---- */

static char *read_all(FILE *f, size_t *n)
{
	size_t size = 1 << 16, got;
	char *p = malloc(size);

	for (*n = 0; p && (got = fread(p + *n, 1, size - *n, f)) > 0;) {
		char *more;

		*n += got;
		if (*n < size)
			continue;
		more = size < LARGEST ? realloc(p, size *= 2) : NULL;
		if (!more)
			free(p);
		p = more;
	}
	return p;
}

int dt_definition_read(struct dt_definition *d, const char *path, struct dt_error *e)
{
	FILE *f = !strcmp(path, "-") ? stdin : fopen(path, "re");
	char *text;
	size_t n, i = 0;
	int rc;

	if (!f)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	errno = 0;
	text = read_all(f, &n);
	if (!text || ferror(f))
		rc = dt_fail(e, "%s: %s", path, errno ? strerror(errno) : "too large");
	else {
		while (i < n && isspace((unsigned char)text[i]))
			i++;
		rc = i < n && text[i] == '{' ? dt_definition_parse_json(d, text, n, path, e)
					     : dt_definition_parse(d, text, n, path, e);
	}
	free(text);
	if (f != stdin)
		fclose(f);
	return rc;
}

/* ---- what is generated ---- */

void dt_definition_header(const struct dt_definition *d, FILE *f, const char *file_name)
{
	char text[2 * NAME_LIMIT + 32], guard[128];
	size_t n = dt_format(guard, sizeof(guard), "DEVTRACE_EVENTS_%s_", file_name);

	for (size_t i = 0; i < n && guard[i]; i++)
		guard[i] = is_name(guard[i]) ? (char)toupper((unsigned char)guard[i]) : '_';
	fprintf(f, "/* Generated by `devtrace events`; do not edit. */\n#ifndef %s\n#define %s\n",
		guard, guard);
	for (size_t i = 0; i < d->rows; i++) {
		const struct dt_event_row *r = &d->row[i];

		if (!i || d->row[i - 1].subsystem != r->subsystem) {
			macro(text, sizeof(text), r->subsystem_name, NULL);
			fprintf(f, "\n#define %s %u\n", text, r->subsystem);
		}
		macro(text, sizeof(text), r->subsystem_name, r->name);
		fprintf(f, "#define %s %u\n", text, r->event);
	}
	fprintf(f, "\n#define TRACE_NUM_SUBSYSTEMS %u\n\n#endif\n", d->subsystems);
}

static void put_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

void dt_definition_json(const struct dt_definition *d, FILE *f)
{
	fputs("{\n", f);
	for (size_t i = 0; i < d->rows; i++) {
		const struct dt_event_row *r = &d->row[i];
		bool first = !i || r[-1].subsystem != r->subsystem;
		bool last = i + 1 == d->rows || r[1].subsystem != r->subsystem;

		if (first) {
			fprintf(f, "\"%u\": {\"name\": ", r->subsystem);
			put_string(f, r->subsystem_name);
			fputs(", \"events\": {\n", f);
		}
		fprintf(f, "\t\"%u\": [", r->event);
		put_string(f, r->name);
		fputs(", ", f);
		put_string(f, r->description);
		fputs(last ? "]\n}},\n" : "],\n", f);
	}
	/* 0xea00 and 0xeb00, as Aquarium looks them up */
	fputs("\"-5632\": {\"name\": \"ump send\"},\n\"-5376\": {\"name\": \"ump receive\"}\n}\n",
	      f);
}
