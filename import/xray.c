/* SPDX-License-Identifier: MIT */
#include "import/xray.h"

#include <errno.h>
#include <string.h>

#include "import/xray-program.h"

#define LATEST ((uint64_t)1 << 61)

enum { BASIC, FLIGHT };			     /* types of files */
enum { ENTER, LEAVE, TAIL, ENTER_ARGUMENT }; /* kinds of function records */

/* Kinds of the flight data recorder's other records, of 16 bytes each. */
enum {
	NEW_BUFFER,
	END_OF_BUFFER,
	NEW_CORE,
	WRAP,
	WALL_CLOCK,
	CUSTOM,
	ARGUMENT,
	EXTENTS,
	TYPED,
	PROCESS,
};

struct xray {
	struct dt_imported *m;
	struct dt_error *e;
	FILE *f;
	const char *path;
	uint64_t at; /* in the file */
	unsigned version;
	uint64_t rate; /* cycles in a second */
	/* of the buffer: */
	uint64_t ticks;
	int32_t pid, tid;
	int64_t thread; /* of these two; -1: not looked for yet */
	struct dt_xray_program program;
	bool unnamed; /* a function's name was not known */
};

static uint64_t little(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

bool dt_xray_is(const uint8_t *head, size_t n)
{
	return n >= DT_XRAY_HEAD && head[0] >= 1 && head[0] <= 5 && !head[1] && head[2] <= FLIGHT &&
	       !head[3] && little(head + 8, 8);
}

/* 1: read; 0: the file ends before them; -1: error, or it ends within them. */
static int take(struct xray *k, uint8_t *to, size_t n)
{
	size_t got = fread(to, 1, n, k->f);

	if (got < n && ferror(k->f))
		return dt_fail(k->e, "%s: %s", k->path, strerror(errno));
	if (got && got < n)
		return dt_fail(k->e,
			       "%s: the file ends within the record at byte %lu: it is cut off",
			       k->path, (unsigned long)k->at);
	k->at += got;
	return got ? 1 : 0;
}

static int damaged(struct xray *k)
{
	return dt_fail(k->e, "%s: the record that ends at byte %lu is damaged", k->path,
		       (unsigned long)k->at);
}

/* ---- what both have ---- */

static int add(struct xray *k, enum dt_import_kind kind, int64_t name)
{
	unsigned __int128 ns = (unsigned __int128)k->ticks * 1000000000u / k->rate;
	struct dt_import_item x = {.kind = (uint8_t)kind, .name = (uint32_t)name};

	if (name < 0)
		return -1;
	if (ns > LATEST) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	if (k->thread < 0)
		k->thread = dt_imported_thread_of(k->m, k->pid, k->tid, k->e);
	if (k->thread < 0)
		return -1;
	x.ns = x.end = (int64_t)ns;
	x.thread = (uint32_t)k->thread;
	return dt_imported_add(k->m, &x, k->e);
}

static int64_t function_of(struct xray *k, uint32_t number)
{
	const char *slash = k->m->program ? strrchr(k->m->program, '/') : NULL;
	char text[32];

	if (number && number <= k->program.n && k->program.name[number - 1])
		return dt_name_pair(&k->m->functions, slash ? slash + 1 : k->m->program,
				    k->program.name[number - 1], k->e);
	k->unnamed = true;
	dt_format(text, sizeof(text), "function %lu", (unsigned long)number);
	return dt_name_pair(&k->m->functions, "", text, k->e);
}

static int take_function(struct xray *k, unsigned kind, uint32_t number)
{
	switch (kind) {
	case ENTER:
	case ENTER_ARGUMENT:
		return add(k, DT_IMPORT_BEGIN, function_of(k, number));
	case LEAVE:
	case TAIL:
		return add(k, DT_IMPORT_END, 0);
	}
	return damaged(k);
}

/* ---- the basic mode ---- */

static int read_basic(struct xray *k)
{
	uint8_t b[32];
	int rc;

	while ((rc = take(k, b, sizeof(b))) > 0) {
		int32_t tid = (int32_t)little(b + 16, 4);
		int32_t pid = k->version >= 3 ? (int32_t)little(b + 20, 4) : 0;

		if (little(b, 2) == 1) { /* an argument of the call before */
			k->m->left[DT_LEFT_ARGUMENTS]++;
			continue;
		}
		if (little(b, 2))
			return damaged(k);
		if (tid != k->tid || pid != k->pid)
			k->thread = -1;
		k->tid = tid;
		k->pid = pid;
		k->ticks = little(b + 8, 8);
		if (take_function(k, b[3], (uint32_t)little(b + 4, 4)))
			return -1;
	}
	return rc;
}

/* ---- the flight data recorder ---- */

static int skip(struct xray *k, uint32_t n)
{
	uint8_t b[256];

	while (n) {
		size_t piece = n < sizeof(b) ? n : sizeof(b);
		int rc = take(k, b, piece);

		if (rc <= 0)
			return rc < 0 ? -1 : damaged(k);
		n -= (uint32_t)piece;
	}
	return 0;
}

/* Something that the program itself has noted, with data behind it. */
static int take_note(struct xray *k, const uint8_t *b, bool typed)
{
	uint32_t size = (uint32_t)little(b, 4);
	char text[32];

	if (size > INT32_MAX)
		return damaged(k);
	if (k->version >= 5)
		k->ticks += (uint64_t)(int64_t)(int32_t)little(b + 4, 4);
	else
		k->ticks = little(b + 4, 8);
	if (typed)
		dt_format(text, sizeof(text), "typed event %lu", (unsigned long)little(b + 8, 2));
	else
		dt_format(text, sizeof(text), "custom event");
	k->m->left[DT_LEFT_ARGUMENTS] += size != 0;
	return add(k, DT_IMPORT_EVENT, dt_name_pair(&k->m->events, "xray", text, k->e)) ||
			       skip(k, size)
		       ? -1
		       : 0;
}

static int take_other(struct xray *k, unsigned kind, const uint8_t *b)
{
	switch (kind) {
	case NEW_BUFFER:
		k->tid = (int32_t)little(b, 4);
		k->thread = -1;
		return 0;
	case PROCESS:
		k->pid = (int32_t)little(b, 4);
		k->thread = -1;
		return 0;
	case NEW_CORE:
		k->ticks = little(b + 2, 8);
		return 0;
	case WRAP:
		k->ticks = little(b, 8);
		return 0;
	case ARGUMENT:
		k->m->left[DT_LEFT_ARGUMENTS]++;
		return 0;
	case CUSTOM:
	case TYPED:
		return take_note(k, b, kind == TYPED);
	case END_OF_BUFFER:
	case WALL_CLOCK:
	case EXTENTS:
		return 0;
	}
	return damaged(k);
}

static int read_flight(struct xray *k)
{
	uint8_t b[16];
	int rc;

	while ((rc = take(k, b, 8)) > 0) {
		if (b[0] & 1) {
			rc = take(k, b + 8, 8);
			if (rc <= 0)
				return rc < 0 ? -1 : damaged(k);
			if (take_other(k, b[0] >> 1, b + 1))
				return -1;
			continue;
		}
		k->ticks += little(b + 4, 4);
		if (take_function(k, b[0] >> 1 & 7, (uint32_t)little(b, 4) >> 4))
			return -1;
	}
	return rc;
}

int dt_xray_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e)
{
	struct xray k = {.m = m, .e = e, .f = f, .path = path, .thread = -1};
	uint8_t head[DT_XRAY_HEAD];
	int rc = take(&k, head, sizeof(head));

	if (rc <= 0)
		return rc < 0 ? -1 : dt_fail(e, "%s: there is nothing in it", path);
	k.version = head[0];
	k.rate = little(head + 8, 8);
	if (!k.rate)
		return dt_fail(e, "%s: it does not say how many cycles a second has", path);
	if (head[2] == FLIGHT && k.version < 2)
		return dt_fail(e,
			       "%s: version 1 of XRay's flight data recorder can not be imported",
			       path);
	if (m->program && dt_xray_program_read(&k.program, m->program, e))
		rc = -1;
	else
		rc = head[2] == FLIGHT ? read_flight(&k) : read_basic(&k);
	dt_xray_program_free(&k.program);
	m->left[DT_LEFT_NUMBERS] += k.unnamed;
	return rc;
}
