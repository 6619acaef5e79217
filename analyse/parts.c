/* SPDX-License-Identifier: MIT */
/* Pairing a trace on several cores: cutting it, the threads, and the order of joining. */
#include "analyse/parts.h"

#include <pthread.h>
#include <stdlib.h>

/* So many parts that have to be paired again, and are more than half of all so far, show that this
 * trace cannot be read in parts. */
#define PARTS_AGAIN 6

/* What all threads together may take, and each of them of its own. */
#define MEMORY_MOST    (512ull << 20)
#define CORE_BYTES     (640u << 10)
#define FUNCTION_BYTES 8192
#define ROW_BYTES      512

/* Records of a part, at most about: longer ones only take more memory. */
#define LENGTH_MOST (1 << 20)

/* ---- cutting ---- */

/* A chunk, or a share of it: when it begins, and its records. */
struct piece {
	uint64_t begin, records;
};

struct cuts {
	struct piece *piece;
	size_t n, size;
	uint64_t length; /* of parts */
};

static int add_piece(struct cuts *c, uint64_t begin, uint64_t records)
{
	if (c->n == c->size) {
		size_t size = c->size ? 2 * c->size : 1024;
		struct piece *p = realloc(c->piece, size * sizeof(*p));

		if (!p)
			return -1;
		c->piece = p;
		c->size = size;
	}
	c->piece[c->n++] = (struct piece){begin, records};
	return 0;
}

/* Takes a chunk; one that is longer than a part in several pieces. */
static int on_chunk(void *ctx, unsigned core, uint64_t records, uint64_t min_ticks,
		    uint64_t max_ticks)
{
	struct cuts *c = ctx;
	uint64_t pieces = records > c->length ? records / c->length : 1;
	uint64_t ticks = max_ticks > min_ticks ? (max_ticks - min_ticks) / pieces : 0;

	(void)core;
	for (uint64_t i = 0; i < pieces; i++)
		if (add_piece(c, min_ticks + i * ticks, records / pieces))
			return -1;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Cuts the trace, where chunks begin if they are not longer than a part. Gives the first ticks of
 * the parts, *n of them, in an array that the caller frees; NULL: out of memory, or the trace is
 * damaged. */
static uint64_t *cut(struct dt_reader *r, uint64_t length, size_t *n)
{
	struct cuts c = {.length = length};
	uint64_t *begin = NULL, records = 0;

	if (!dt_reader_chunks(r, on_chunk, &c))
		begin = malloc((c.n + 1) * sizeof(*begin));
	*n = 1;
	if (begin) {
		begin[0] = 0;
		qsort(c.piece, c.n, sizeof(*c.piece), by_begin);
	}
	for (size_t i = 0; begin && i < c.n; i++) {
		if (records >= length && c.piece[i].begin > begin[*n - 1]) {
			begin[(*n)++] = c.piece[i].begin;
			records = 0;
		}
		records += c.piece[i].records;
	}
	free(c.piece);
	return begin;
}

/* ---- parts ---- */

/* A part that is waiting to be joined. */
struct result {
	bool ready, again; /* again: it has to be paired again */
	struct dt_part part;
	uint64_t records;
	void *sums;
};

struct work {
	struct dt_parts *k; /* its pairing is of all that has been joined */
	uint64_t *begin;    /* by part */
	size_t parts;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* with the lock: */
	size_t next, joined;   /* the next part to be paired, and to be joined */
	struct result *result; /* of part i at i modulo `window' */
	size_t window;
	bool joining; /* a thread is joining, and uses the pairing and the reader of *k */
	bool over;    /* no further parts are to be paired */
	int rc;
	struct dt_error error;
};

/* What a thread has for itself. */
struct worker {
	struct work *w;
	struct dt_reader *reader;
	struct dt_pair *pair;
	void *sums; /* of the part that is being paired */
	pthread_t thread;
};

static void range_of(const struct work *w, size_t part, size_t end, struct dt_reader_range *range)
{
	*range = (struct dt_reader_range){.order = DT_BY_THREAD,
					  .part = true,
					  .from = w->begin[part],
					  .to = end < w->parts ? w->begin[end] - 1 : 0};
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct worker *k = ctx;

	k->w->k->end(k->sums, c);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct worker *k = ctx;

	k->w->k->other(k->sums, s, i, depth);
}

/* Pairs a part. Whatever fails has to be done again by whoever joins, who can tell of it. */
static void pair_part(struct worker *k, size_t part, struct result *result)
{
	struct dt_reader_range range;
	struct dt_error e;
	struct dt_span s;
	int rc;

	range_of(k->w, part, part + 1, &range);
	*result = (struct result){.sums = k->w->k->new (k->w->k->events.ctx, k->reader)};
	k->sums = result->sums;
	rc = k->sums ? dt_reader_start(k->reader, &range, &e) : -1;
	while (!rc && !dt_part_is_spoiled(k->pair) &&
	       (rc = dt_reader_next(k->reader, &s, &e)) > 0) {
		result->records += s.n;
		rc = k->w->k->span ? k->w->k->span(k->sums, &s) : 0;
		rc = rc ? rc : dt_part_span(k->pair, &s);
	}
	if (dt_part_finish(k->pair, &result->part))
		rc = -1;
	result->again = rc || result->part.spoiled;
}

static void drop(struct work *w, struct result *result)
{
	dt_part_free(&result->part);
	if (result->sums)
		w->k->free(result->sums);
	*result = (struct result){0};
}

/* Pairs parts up to one of them after all that was before. */
static int pair_again(struct work *w, size_t part, size_t end, struct dt_error *e)
{
	struct dt_reader_range range;
	struct dt_span s;
	int rc;

	range_of(w, part, end, &range);
	rc = dt_reader_start(w->k->reader, &range, e);
	while (!rc && (rc = dt_reader_next(w->k->reader, &s, e)) > 0) {
		w->k->records += s.n;
		rc = w->k->span ? w->k->span(w->k->events.ctx, &s) : 0;
		rc = rc || dt_pair_span(w->k->pair, &s) ? dt_fail(e, "out of memory") : 0;
	}
	return rc;
}

/* Joins a part, and what follows if it cannot go on in parts. *end: the part that comes next. */
static int join(struct work *w, size_t part, struct result *result, size_t *end, struct dt_error *e)
{
	int rc = 0;

	*end = part + 1;
	if (!result->again)
		rc = dt_part_join(w->k->pair, &result->part, w->k->recursive, result->sums);
	if (rc < 0)
		return dt_fail(e, "out of memory");
	if (rc > 0) {
		w->k->records += result->records;
		w->k->add(w->k->events.ctx, result->sums);
		return 0;
	}
	/* before the first one there is nothing */
	w->k->again += part > 0;
	if (w->k->again >= PARTS_AGAIN && 2 * w->k->again > part)
		*end = w->parts;
	return pair_again(w, part, *end, e);
}

/* Joins the parts that are ready, unless another thread does. Called, and returns, with the lock.
 */
static void join_ready(struct work *w)
{
	struct result *result;

	while (!w->joining && !w->rc && w->joined < w->parts &&
	       (result = &w->result[w->joined % w->window])->ready) {
		size_t part = w->joined, end;
		struct dt_error e;
		int rc;

		w->joining = true;
		pthread_mutex_unlock(&w->lock);
		rc = join(w, part, result, &end, &e);
		drop(w, result);
		pthread_mutex_lock(&w->lock);
		w->joining = false;
		if (rc && !w->rc) {
			w->rc = rc;
			w->error = e;
		}
		w->over |= rc || end == w->parts;
		w->joined = end;
		pthread_cond_broadcast(&w->changed);
	}
}

static void *run(void *ctx)
{
	struct worker *k = ctx;
	struct work *w = k->w;

	pthread_mutex_lock(&w->lock);
	join_ready(w);
	while (!w->over && w->next < w->parts) {
		struct result result;
		size_t part;

		if (w->next >= w->joined + w->window) {
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		part = w->next++;
		pthread_mutex_unlock(&w->lock);
		pair_part(k, part, &result);
		pthread_mutex_lock(&w->lock);
		w->result[part % w->window] = result;
		w->result[part % w->window].ready = true;
		join_ready(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int prepare(struct worker *k, struct work *w, struct dt_error *e)
{
	struct dt_pair_events events = {.end = on_end, .other = on_other, .ctx = k};

	k->w = w;
	k->reader = dt_reader_again(w->k->reader, e);
	if (!k->reader)
		return -1;
	k->pair = dt_pair_new(k->reader, &events, false);
	if (!k->pair)
		return dt_fail(e, "out of memory");
	dt_pair_unfold(k->pair);
	return 0;
}

/* Has the parts paired by so many threads, of which this is one. */
static int work(struct work *w, struct worker *worker, unsigned threads, struct dt_error *e)
{
	unsigned started = 1;
	int rc = 0;

	for (unsigned i = 0; i < threads && !rc; i++)
		rc = prepare(&worker[i], w, e);
	while (!rc && started < threads &&
	       !pthread_create(&worker[started].thread, NULL, run, &worker[started]))
		started++;
	if (w->k->beside)
		w->k->beside(w->k->events.ctx);
	if (!rc)
		run(&worker[0]);
	while (started-- > 1)
		pthread_join(worker[started].thread, NULL);
	for (unsigned i = 0; i < threads; i++) {
		dt_pair_free(worker[i].pair);
		dt_reader_close(worker[i].reader);
	}
	if (!rc && w->rc)
		rc = dt_fail(e, "%s", w->error.text);
	return rc;
}

/* Returns whether context switches are among the records that a loss is of. */
static int is_of_switches(void *ctx, const struct dt_lost *l)
{
	(void)ctx;
	return l->switches;
}

/* Which thread is on which core is not known in the middle of a trace. */
static bool has_switches(struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++) {
		uint8_t kind = dt_reader_site(r, i)->kind;

		if (kind == DT_SWITCH || kind == DT_WAKE)
			return true;
	}
	return dt_reader_losses(r, is_of_switches, NULL);
}

/* Returns about how much a thread takes at most: a chunk of each core, the descriptions, and the
 * sums of two parts. */
static uint64_t memory_of_thread(struct dt_reader *r)
{
	struct dt_summary s;
	size_t threads;

	if (dt_reader_summary(r, &s, NULL))
		return UINT64_MAX;
	dt_reader_threads(r, &threads);
	return (uint64_t)s.cores * CORE_BYTES + (uint64_t)dt_reader_functions(r) * FUNCTION_BYTES +
	       (dt_reader_sites(r) + (uint64_t)threads) * ROW_BYTES + 1;
}

unsigned dt_parts_threads(struct dt_reader *r, unsigned threads)
{
	uint64_t most = threads > 1 && !has_switches(r) ? MEMORY_MOST / memory_of_thread(r) : 1;

	return !most ? 1 : threads < most ? threads : (unsigned)most;
}

uint64_t dt_parts_length(unsigned threads, uint64_t records)
{
	uint64_t even = records / (8 * (uint64_t)threads) + 1;

	return even < LENGTH_MOST ? even : LENGTH_MOST;
}

int dt_parts_run(struct dt_parts *k, struct dt_error *e)
{
	struct work w = {.k = k,
			 .window = (size_t)k->threads + 2,
			 .next = 1,
			 .lock = PTHREAD_MUTEX_INITIALIZER,
			 .changed = PTHREAD_COND_INITIALIZER};
	struct worker *worker = calloc(k->threads, sizeof(*worker));
	int rc = -1;

	w.result = calloc(w.window, sizeof(*w.result));
	w.begin = cut(k->reader, k->length, &w.parts);
	k->pair = dt_pair_new(k->reader, &k->events, false);
	if (k->pair)
		dt_pair_unfold(k->pair);
	k->parts = (unsigned)w.parts;
	if (!worker || !w.result || !w.begin || !k->pair) {
		dt_fail(e, "out of memory");
	} else {
		w.result[0].ready = w.result[0].again = true;
		rc = work(&w, worker, k->threads, e);
	}
	if (!rc)
		rc = dt_pair_finish(k->pair);
	k->impossible = k->pair ? dt_pair_impossible(k->pair) : 0;
	for (size_t i = 0; w.result && i < w.window; i++)
		if (w.result[i].ready)
			drop(&w, &w.result[i]);
	dt_pair_free(k->pair);
	k->pair = NULL;
	free(w.begin);
	free(w.result);
	free(worker);
	return rc;
}
