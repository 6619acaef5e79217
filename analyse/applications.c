/* SPDX-License-Identifier: MIT */
/* A table of applications' names. */
#include "analyse/applications.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 255

static int wrong(struct dt_error *e, const char *path, unsigned long line, const char *what)
{
	return dt_fail(e, "%s:%lu: %s", path, line, what);
}

static int add(struct dt_applications *a, uint64_t dcb, const char *name, unsigned long line,
	       struct dt_error *e)
{
	struct dt_application *more = a->row;

	if (a->rows == a->size) {
		a->size = a->size ? 2 * a->size : 64;
		more = realloc(a->row, a->size * sizeof(*more));
		if (!more)
			return dt_fail(e, "out of memory");
		a->row = more;
	}
	a->row[a->rows] = (struct dt_application){dcb, strdup(name), line};
	return a->row[a->rows++].name ? 0 : dt_fail(e, "out of memory");
}

static int take_line(struct dt_applications *a, char *line, const char *path, unsigned long number,
		     struct dt_error *e)
{
	static const char form[] = "here must be 'DCB: 0xHEX NAME'";
	char *p = line + strspn(line, " \t");
	uint64_t dcb;
	size_t n = strlen(p);

	while (n && strchr(" \t\r\n", p[n - 1]))
		p[--n] = '\0';
	if (!n || *p == '#')
		return 0;
	if (strncmp(p, "DCB:", 4))
		return wrong(e, path, number, form);
	p += 4;
	p += strspn(p, " \t");
	if (p[0] != '0' || p[1] != 'x')
		return wrong(e, path, number, form);
	p += 2;
	for (n = 0; isxdigit((unsigned char)p[n]);)
		n++;
	if (!n || n > 16)
		return wrong(e, path, number, form);
	dcb = strtoull(p, NULL, 16);
	p += n;
	if (!*p)
		return wrong(e, path, number, "the DCB has no name: 'DCB: 0xHEX NAME'");
	if (*p != ' ' && *p != '\t')
		return wrong(e, path, number, form);
	p += strspn(p, " \t");
	n = strlen(p);
	if (n > NAME_MAX_BYTES)
		return wrong(e, path, number, "a name has at most 255 bytes");
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f)
			return wrong(e, path, number, "a name has no control characters");
	return add(a, dcb, p, number, e);
}

static int rank(uint64_t dcb)
{
	return dcb >> 32 == 0xffffff00 ? 2 : dcb >> 32 == 0xffffff80 ? 1 : 0;
}

/* Orders by the low bits; among those with the same ones, the one that is meant comes last. */
static int compare(const void *a, const void *b)
{
	const struct dt_application *x = a, *y = b;

	if ((uint32_t)x->dcb != (uint32_t)y->dcb)
		return (uint32_t)x->dcb < (uint32_t)y->dcb ? -1 : 1;
	if (rank(x->dcb) != rank(y->dcb))
		return rank(x->dcb) - rank(y->dcb);
	return x->line < y->line ? -1 : x->line > y->line;
}

static void keep_meant(struct dt_applications *a)
{
	size_t n = 0;

	if (a->rows)
		qsort(a->row, a->rows, sizeof(*a->row), compare);
	for (size_t i = 0; i < a->rows; i++) {
		if (i + 1 < a->rows && (uint32_t)a->row[i].dcb == (uint32_t)a->row[i + 1].dcb)
			free(a->row[i].name);
		else
			a->row[n++] = a->row[i];
	}
	a->rows = n;
}

int dt_applications_read(struct dt_applications *a, const char *path, struct dt_error *e)
{
	FILE *f = fopen(path, "re");
	unsigned long number = 0;
	char line[1024];
	int rc = 0;

	if (!f)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	while (!rc && fgets(line, sizeof(line), f)) {
		number++;
		if (strlen(line) == sizeof(line) - 1)
			rc = wrong(e, path, number, "the line is too long for one of DCBs");
		else
			rc = take_line(a, line, path, number, e);
	}
	if (!rc && ferror(f))
		rc = dt_fail(e, "%s: %s", path, strerror(errno));
	fclose(f);
	if (!rc)
		keep_meant(a);
	return rc;
}

const char *dt_applications_name(const struct dt_applications *a, uint32_t low)
{
	size_t from = 0, to = a->rows;

	while (from < to) {
		size_t i = from + (to - from) / 2;

		if ((uint32_t)a->row[i].dcb == low)
			return a->row[i].name;
		if ((uint32_t)a->row[i].dcb < low)
			from = i + 1;
		else
			to = i;
	}
	return NULL;
}

void dt_applications_free(struct dt_applications *a)
{
	for (size_t i = 0; i < a->rows; i++)
		free(a->row[i].name);
	free(a->row);
	*a = (struct dt_applications){0};
}
