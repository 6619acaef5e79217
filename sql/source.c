/* SPDX-License-Identifier: MIT */
/* Opening traces for queries. */
#include "sql/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* By how many ticks disagreeing readings of the clocks may make a time go backwards. */
#define SLACK (1u << 14)

static void free_pass(struct dt_sql_pass *p)
{
	if (!p)
		return;
	dt_formats_free(&p->formats);
	dt_reader_close(p->reader);
	free(p);
}

static void free_source(struct dt_sql_source *s)
{
	while (s->idle) {
		struct dt_sql_pass *p = s->idle;

		s->idle = p->next;
		free_pass(p);
	}
	dt_pyramid_close(s->pyramid);
	dt_reader_close(s->reader);
	free(s->path);
	free(s);
}

void dt_sql_sources_free(struct dt_sql_sources *s)
{
	while (s->first) {
		struct dt_sql_source *next = s->first->next;

		free_source(s->first);
		s->first = next;
	}
}

static void drop(struct dt_sql_sources *all, struct dt_sql_source *s)
{
	struct dt_sql_source **at = &all->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	free_source(s);
}

/* Returns false if there is another file, or it has been written to; and notes its state. */
static bool is_same(struct dt_sql_source *s, bool *other_file)
{
	struct stat st = {0};
	bool same;

	stat(s->path, &st);
	*other_file = s->device != st.st_dev || s->inode != st.st_ino;
	same = !*other_file && s->size == (uint64_t)st.st_size &&
	       s->seconds == (uint64_t)st.st_mtim.tv_sec &&
	       s->nanoseconds == (uint64_t)st.st_mtim.tv_nsec;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	s->size = (uint64_t)st.st_size;
	s->seconds = (uint64_t)st.st_mtim.tv_sec;
	s->nanoseconds = (uint64_t)st.st_mtim.tv_nsec;
	return same;
}

/* Looks how long the trace is by now, and whether it has a pyramid. */
static int look(struct dt_sql_source *s, struct dt_error *e)
{
	struct dt_summary sum;

	if (dt_reader_summary(s->reader, &sum, e) < 0)
		return -1;
	if (s->records != sum.records) {
		s->outdated = s->pyramid != NULL;
		s->records = sum.records;
		s->first = sum.min_ticks;
		s->last = sum.max_ticks;
	}
	/* passes that are in use still need the old pyramid */
	if (s->outdated && !s->passes) {
		dt_pyramid_close(s->pyramid);
		s->pyramid = NULL;
		s->outdated = false;
	}
	if (s->pyramid)
		return 0;
	s->pyramid = dt_pyramid_open(s->reader, s->path, e);
	if (!s->pyramid)
		return -1;
	if (!s->pyramid->complete) {
		dt_pyramid_close(s->pyramid);
		s->pyramid = NULL;
	}
	return 0;
}

static struct dt_sql_source *open_source(struct dt_sql_sources *all, const char *path,
					 struct dt_error *e)
{
	struct dt_sql_source *s = calloc(1, sizeof(*s));
	bool other;

	if (!s || !(s->path = strdup(path))) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	is_same(s, &other);
	s->reader = dt_reader_open(path, e);
	if (!s->reader || look(s, e) < 0)
		goto fail;
	s->next = all->first;
	all->first = s;
	return s;
fail:
	if (s)
		free_source(s);
	return NULL;
}

struct dt_sql_pass *dt_sql_pass_again(struct dt_sql_source *s, struct dt_error *e)
{
	struct dt_sql_pass *p = s->idle;

	if (p) {
		s->idle = p->next;
	} else {
		p = calloc(1, sizeof(*p));
		if (!p) {
			dt_fail(e, "out of memory");
			return NULL;
		}
		p->source = s;
		p->reader = dt_reader_again(s->reader, e);
		if (!p->reader) {
			free(p);
			return NULL;
		}
		p->formats.reader = p->reader;
	}
	s->passes++;
	return p;
}

struct dt_sql_pass *dt_sql_pass_begin(struct dt_sql_sources *all, const char *path,
				      struct dt_error *e)
{
	struct dt_sql_source *s = all->first;
	bool other;

	while (s && (s->stale || strcmp(s->path, path)))
		s = s->next;
	if (s && !is_same(s, &other)) {
		if (other) {
			s->stale = true;
			if (!s->passes)
				drop(all, s);
			s = NULL;
		} else if (look(s, e) < 0) {
			return NULL;
		}
	}
	if (!s)
		s = open_source(all, path, e);
	return s ? dt_sql_pass_again(s, e) : NULL;
}

void dt_sql_pass_end(struct dt_sql_sources *all, struct dt_sql_pass *p)
{
	struct dt_sql_source *s;

	if (!p)
		return;
	s = p->source;
	p->next = s->idle;
	s->idle = p;
	if (!--s->passes && s->stale)
		drop(all, s);
}

int64_t dt_sql_ns(const struct dt_sql_pass *p, uint64_t ticks)
{
	return (int64_t)(dt_reader_ns(p->reader, ticks) -
			 dt_reader_ns(p->reader, p->source->first));
}

/* Returns the first tick of the trace whose time is ns or later. */
static uint64_t ticks_at(const struct dt_sql_pass *p, double ns)
{
	uint64_t low = p->source->first, high = p->source->last + 1;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if ((double)dt_sql_ns(p, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t dt_sql_ticks_before(const struct dt_sql_pass *p, double ns)
{
	uint64_t t = ticks_at(p, ns - 1);

	return t > SLACK ? t - SLACK : 0;
}

uint64_t dt_sql_ticks_after(const struct dt_sql_pass *p, double ns)
{
	uint64_t t = ticks_at(p, ns + 1);

	/* after the last record there is no limit, since the trace may grow */
	return t > p->source->last ? UINT64_MAX : t + SLACK;
}
