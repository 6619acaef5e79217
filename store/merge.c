/* SPDX-License-Identifier: MIT */
/*
 * Merging the cores of a trace file. Each core has a cursor that holds one chunk, decompressed but
 * not decoded, and one decoded batch. No read transaction stays open between chunks: if one did,
 * the writer's log would grow without end.
 */
#include <stdlib.h>
#include <string.h>
#include "store/reader-work.h"

/* ---- cursors ---- */

void dt_reader_free_cursors(struct dt_reader *r)
{
	for (size_t i = 0; i < r->cursors; i++) {
		dt_decoder_free(&r->cursor[i]->decoder);
		free(r->cursor[i]->batch);
		free(r->cursor[i]->loss);
		free(r->cursor[i]);
	}
	free(r->cursor);
	free(r->heap);
	r->cursor = r->heap = NULL;
	r->cursors = r->heaped = 0;
	r->current = NULL;
}

void dt_reader_watch(struct dt_reader *r, bool (*fn)(void *ctx, uint64_t records), void *ctx)
{
	r->watch = fn;
	r->watching = ctx;
}

static int read_losses(struct dt_reader *r, struct dt_cursor *c, uint64_t from, uint64_t to,
		       struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[LOSSES];
	int rc;

	c->losses = c->loss_at = 0;
	sqlite3_bind_int64(q, 1, c->core);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)from);
	sqlite3_bind_int64(q, 3, (sqlite3_int64)to);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct dt_loss *l;

		if (c->losses == c->loss_size) {
			uint32_t size = c->loss_size ? 2 * c->loss_size : 16;

			l = realloc(c->loss, size * sizeof(*l));
			if (!l)
				break;
			c->loss = l;
			c->loss_size = size;
		}
		/* one for each place, as the key of the table demands; but a file may have another
		 * table */
		if (sqlite3_column_type(q, 0) != SQLITE_INTEGER ||
		    (c->losses &&
		     (uint64_t)sqlite3_column_int64(q, 0) == c->loss[c->losses - 1].after)) {
			sqlite3_reset(q);
			return dt_fail(e, "%s: the trace is damaged: losses of core %u", r->path,
				       c->core);
		}
		l = &c->loss[c->losses++];
		l->after = (uint64_t)sqlite3_column_int64(q, 0);
		l->lost = (uint64_t)sqlite3_column_int64(q, 1);
		l->begin = (uint64_t)sqlite3_column_int64(q, 2);
		l->end = (uint64_t)sqlite3_column_int64(q, 3);
		dt_reader_lost_kinds(q, 4, l->lost, &l->switches, &l->others);
	}
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

/* Returns by how many ticks a record of the following chunks is earlier than the latest one, at
 * max, of the loaded chunk; 0: none is. */
static uint64_t following_back(struct dt_reader *r, const struct dt_cursor *c, uint64_t max)
{
	sqlite3_stmt *q = r->statement[FOLLOWING];
	uint64_t back = 0;

	sqlite3_bind_int64(q, 1, c->core);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)c->next);
	sqlite3_bind_int64(q, 3, (sqlite3_int64)r->limit);
	if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL) {
		uint64_t from = (uint64_t)sqlite3_column_int64(q, 0);

		back = from < max ? max - from : 0;
	}
	sqlite3_reset(q);
	return back;
}

uint64_t dt_reader_back(const struct dt_reader *r)
{
	return r->back;
}

/*
 * Returns whether a chunk's number of records, and the number of its first one, are possible. Since
 * the latter is used to find the next chunk, the chunk must lie after the one before it. A column
 * may hold anything, even text, whatever type was declared for it.
 */
static bool is_next(const struct dt_cursor *c, sqlite3_stmt *q)
{
	int64_t first = sqlite3_column_int64(q, 1), records = sqlite3_column_int64(q, 2);

	return sqlite3_column_type(q, 1) == SQLITE_INTEGER && first >= 0 &&
	       (uint64_t)first >= c->next && records > 0 && records <= DT_CHUNK_MAX &&
	       first <= INT64_MAX - records;
}

/* Returns whether all records of a chunk are after the part that is read, and so is what follows.
 */
static bool is_behind_part(const struct dt_reader *r, sqlite3_stmt *q)
{
	return r->range.part && r->range.to < INT64_MAX &&
	       sqlite3_column_int64(q, 5) > (sqlite3_int64)r->range.to;
}

/* Loads the next chunk. 1: it is loaded; 0: there is none; -1: error. */
static int load_chunk(struct dt_reader *r, struct dt_cursor *c, struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[READ_CHUNK], *v = r->statement[VALS];
	bool limited = r->range.to < INT64_MAX && !r->range.part;
	struct dt_error why = {""};
	const void *vals = NULL;
	uint32_t records;
	int64_t id;
	int rc, loaded = -1;

	sqlite3_bind_int64(q, 1, c->core);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)c->next);
	/* ticks are unsigned, but the columns are signed: "no limit" must really be none */
	sqlite3_bind_int64(q, 3,
			   r->range.from && !c->begun ? (sqlite3_int64)r->range.from : INT64_MIN);
	sqlite3_bind_int64(q, 4, (sqlite3_int64)r->limit);
	sqlite3_bind_int64(q, 5, limited ? (sqlite3_int64)r->range.to : INT64_MAX);
	rc = sqlite3_step(q);
	if (rc == SQLITE_DONE || (rc == SQLITE_ROW && is_behind_part(r, q))) {
		sqlite3_reset(q);
		return 0;
	}
	if (rc != SQLITE_ROW)
		goto sql;
	id = sqlite3_column_int64(q, 0);
	if (!is_next(c, q)) {
		sqlite3_reset(q);
		return dt_fail(
			e,
			"%s: chunk %ld of the trace: damaged: where it begins, or how long it is",
			r->path, (long)id);
	}
	c->whole = c->begun && sqlite3_column_int64(q, 5) >= 0 &&
		   (uint64_t)sqlite3_column_int64(q, 4) <= r->range.to;
	c->base = (uint64_t)sqlite3_column_int64(q, 1);
	records = (uint32_t)sqlite3_column_int64(q, 2);
	if (r->range.values) {
		sqlite3_bind_int64(v, 1, id);
		if (sqlite3_step(v) != SQLITE_ROW)
			goto sql;
		/* SQLite gives NULL for a blob of no bytes, but NULL would mean that the values are
		 * not wanted */
		vals = sqlite3_column_blob(v, 0);
		vals = vals ? vals : "";
	}
	rc = dt_decoder_load(&c->decoder, r->dctx, sqlite3_column_blob(q, 3),
			     (size_t)sqlite3_column_bytes(q, 3), vals,
			     r->range.values ? (size_t)sqlite3_column_bytes(v, 0) : 0, records,
			     (uint32_t)r->tables.sites.n, &why);
	c->chunk = c->base;
	c->next = c->base + records;
	c->back = rc ? 0 : following_back(r, c, (uint64_t)sqlite3_column_int64(q, 4));
	if (!rc && c->decoder.back > c->back)
		c->back = c->decoder.back;
	if (c->back > r->back)
		r->back = c->back;
	if (rc)
		dt_fail(e, "%s: chunk %ld of the trace: %s", r->path, (long)id, why.text);
	else
		loaded = 1;
	goto out;
sql:
	dt_reader_sql_error(r, e);
out:
	sqlite3_reset(v);
	sqlite3_reset(q);
	if (loaded == 1 && r->watch && !r->watch(r->watching, records))
		return dt_fail(e, "interrupted");
	if (loaded == 1 && read_losses(r, c, c->base, c->next, e))
		return -1;
	return loaded;
}

/* Moves on by n records, and in the threads' runs with them. n stays within the run. */
static void advance(struct dt_cursor *c, uint32_t n)
{
	struct dt_decoder *d = &c->decoder;

	c->at += n;
	d->run_left -= n;
	if (!d->run_left && d->run + 1 < d->runs)
		d->run_left = d->run_length[++d->run];
}

/* Remembers the record at c->at as the first one after the range, unless there is one already. */
static void note_behind(struct dt_cursor *c)
{
	if (c->behind.set)
		return;
	c->behind.set = true;
	c->behind.chunk = c->chunk;
	c->behind.batches = c->batches;
	c->behind.at = c->at;
	c->behind.run = c->decoder.run;
	c->behind.run_left = c->decoder.run_left;
	c->behind.loss_at = c->loss_at;
}

enum place {
	BEFORE,
	IN,
	BEHIND,
	FAR
}; /* FAR: so far behind that nothing of the range can come any more */

static enum place place_of(const struct dt_reader *r, const struct dt_cursor *c, uint64_t ticks)
{
	if (r->range.part && c->begun)
		return ticks > r->range.to ? FAR : IN;
	if (ticks < r->range.from)
		return BEFORE;
	if (ticks <= r->range.to)
		return IN;
	return ticks - r->range.to <= c->back && !r->range.part ? BEHIND : FAR;
}

/*
 * Skips records outside the range, up to one that is in it or far behind it. The records of a core
 * are in the order of time, except for those made in an interrupt or noted late.
 */
static void skip(const struct dt_reader *r, struct dt_cursor *c)
{
	while (c->at < c->batch->n) {
		enum place place = place_of(r, c, c->batch->ticks[c->at]);
		uint32_t left = c->batch->n - c->at, n = 1;

		if (place == BEHIND || place == FAR)
			note_behind(c);
		c->begun |= r->range.part && place == IN;
		if (place == IN || place == FAR)
			break;
		if (left > c->decoder.run_left)
			left = c->decoder.run_left;
		while (n < left && place_of(r, c, c->batch->ticks[c->at + n]) == place)
			n++;
		/* what was lost before a record outside the range is outside, too */
		while (c->loss_at < c->losses && c->loss[c->loss_at].after < c->base + c->at + n)
			c->loss_at++;
		advance(c, n);
	}
}

/* Loads and decodes until there is a record at c->at. 1: there is; 0: the core is at its end; -1:
 * error. */
static int fill(struct dt_reader *r, struct dt_cursor *c, struct dt_error *e)
{
	struct dt_error why = {""};
	int rc;

	skip(r, c);
	while (c->at >= c->batch->n) {
		c->base += c->batch->n;
		c->batches++;
		c->at = 0;
		if (c->decoder.position >= c->decoder.n) {
			c->batch->n = 0;
			rc = load_chunk(r, c, e);
			if (rc <= 0)
				return rc;
		}
		if (dt_decoder_batch(&c->decoder, c->core, c->batch, &why))
			return dt_fail(e, "%s: a chunk of the trace: %s", r->path, why.text);
		skip(r, c);
	}
	c->key = c->batch->ticks[c->at];
	c->bound = c->decoder.run_left < c->batch->n - c->at
			   ? c->batch->ticks[c->at + c->decoder.run_left]
			   : c->batch->ticks[c->batch->n - 1];
	return c->key > r->range.to ? 0 : 1;
}

/* ---- the heap of cursors ---- */

static bool before(const struct dt_cursor *a, const struct dt_cursor *b)
{
	return a->key != b->key ? a->key < b->key : a->core < b->core;
}

static void sift(struct dt_reader *r, size_t i)
{
	struct dt_cursor *c = r->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->heaped)
			break;
		if (child + 1 < r->heaped && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], c))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = c;
}

/* Ends a core. It may still have lost something at its end: then it is handed out once more, and 1
 * is returned; 0: not; -1: error. */
static int end_core(struct dt_reader *r, struct dt_cursor *c, struct dt_error *e)
{
	c->ended = true;
	c->bound = UINT64_MAX;
	if (r->range.to != UINT64_MAX)
		return 0;
	c->losses = c->loss_at = 0;
	if (read_losses(r, c, c->next, c->next + 1, e))
		return -1;
	if (!c->losses || (c->loss[0].after == c->said_after && c->loss[0].lost <= c->said_lost))
		return 0;
	c->key = c->loss[0].begin;
	return 1;
}

/* Puts every cursor that has something to hand out into the heap. */
static int gather(struct dt_reader *r, struct dt_error *e)
{
	r->heaped = 0;
	for (size_t i = 0; i < r->cursors; i++) {
		struct dt_cursor *c = r->cursor[i];
		int rc;

		c->ended = false;
		rc = fill(r, c, e);
		if (rc == 0)
			rc = end_core(r, c, e);
		if (rc < 0)
			return -1;
		if (rc)
			r->heap[r->heaped++] = c;
	}
	for (size_t i = r->heaped; i-- > 0;)
		sift(r, i);
	return 0;
}

static int add_cursor(struct dt_reader *r, unsigned core)
{
	struct dt_cursor *c, **p;

	if (r->range.one_core && core != r->range.core)
		return 0;
	for (size_t i = 0; i < r->cursors; i++)
		if (r->cursor[i]->core == core)
			return 0;
	p = realloc(r->cursor, (r->cursors + 1) * sizeof(*p));
	if (!p)
		return -1;
	r->cursor = p;
	p = realloc(r->heap, (r->cursors + 1) * sizeof(*p));
	if (!p)
		return -1;
	r->heap = p;
	c = calloc(1, sizeof(*c));
	if (!c || !(c->batch = malloc(sizeof(*c->batch)))) {
		free(c);
		return -1;
	}
	c->batch->n = 0;
	c->core = core;
	c->said_after = UINT64_MAX;
	r->cursor[r->cursors++] = c;
	return 0;
}

static int find_cores(struct dt_reader *r, struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[CORES];
	int rc;

	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		int64_t core = sqlite3_column_int64(q, 0);

		if (core < 0 || core > DT_SHARED_CORE || add_cursor(r, (unsigned)core)) {
			sqlite3_reset(q);
			return dt_fail(e, "%s: the trace is damaged: core %ld", r->path,
				       (long)core);
		}
	}
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

/* Returns whether `range' begins where the one that has been read ends, so that nothing need be
 * read twice. */
static bool follows(const struct dt_reader *r, const struct dt_reader_range *range)
{
	return r->through && !r->failed && r->range.to < UINT64_MAX &&
	       range->from == r->range.to + 1 && range->order == r->range.order &&
	       range->values == r->range.values && !range->part && !r->range.part &&
	       range->one_core == r->range.one_core && range->core == r->range.core;
}

/* Moves a cursor back to where the last range ended on its core. */
static void go_back(struct dt_cursor *c)
{
	if (c->behind.set && c->behind.batches == c->batches) {
		c->at = c->behind.at;
		c->decoder.run = c->behind.run;
		c->decoder.run_left = c->behind.run_left;
		c->loss_at = c->behind.loss_at;
	} else if (c->behind.set) {
		c->next = c->behind.chunk;
		c->decoder.position = c->decoder.n;
		c->batch->n = c->at = 0;
	}
	c->behind.set = false;
}

int dt_reader_start(struct dt_reader *r, const struct dt_reader_range *range, struct dt_error *e)
{
	if (follows(r, range)) {
		for (size_t i = 0; i < r->cursors; i++)
			go_back(r->cursor[i]);
		r->heaped = 0;
		r->current = NULL;
	} else {
		dt_reader_free_cursors(r);
	}
	r->range = *range;
	r->through = false;
	r->failed = false;
	if (!r->range.to)
		r->range.to = UINT64_MAX;
	if (dt_reader_refresh(r, e) || find_cores(r, e) || gather(r, e))
		return -1;
	return 0;
}

/* Looks, after a call that found nothing more, for what has been written meanwhile. */
static int restart(struct dt_reader *r, struct dt_error *e)
{
	if (dt_reader_refresh(r, e) || find_cores(r, e) || gather(r, e))
		return -1;
	return 0;
}

/* Moves the cursor of the span that was handed out last behind that span, and to its place in the
 * heap. */
static int leave(struct dt_reader *r, struct dt_error *e)
{
	struct dt_cursor *c = r->current;
	int rc = 0;

	if (c->ended) {
		c->losses = 0;
	} else {
		advance(c, c->used);
		rc = fill(r, c, e);
		if (rc == 0)
			rc = end_core(r, c, e);
	}
	if (rc < 0)
		return -1;
	r->current = NULL;
	if (rc == 0)
		r->heap[0] = r->heap[--r->heaped];
	if (r->heaped)
		sift(r, 0);
	return 0;
}

/*
 * Returns the tick up to which the thread at c->at cannot have been on another core. During its run
 * here it may have been elsewhere: a core shows one run if no other thread was traced on it
 * meanwhile.
 */
static uint64_t thread_bound(const struct dt_reader *r, const struct dt_cursor *c)
{
	uint32_t tid = c->decoder.run_tid[c->decoder.run];
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < r->heaped; i++) {
		const struct dt_cursor *o = r->heap[i];
		uint64_t bound = o->bound;

		if (o == c || o->ended)
			continue;
		if (o->decoder.run_tid[o->decoder.run] == tid)
			bound = o->key;
		if (bound < until)
			until = bound;
	}
	return until;
}

/* Returns how many records from c->at can be handed out at once. */
static uint32_t run_length(const struct dt_reader *r, const struct dt_cursor *c)
{
	const uint64_t *ticks = c->batch->ticks + c->at;
	uint32_t n = c->batch->n - c->at, i;
	uint64_t until = UINT64_MAX;

	if (n > c->decoder.run_left)
		n = c->decoder.run_left;
	/* a loss splits the run */
	if (c->loss_at < c->losses && c->loss[c->loss_at].after - (c->base + c->at) < n)
		n = (uint32_t)(c->loss[c->loss_at].after - (c->base + c->at));
	if (r->range.order == DT_BY_TIME) {
		for (size_t child = 1; child < 3 && child < r->heaped; child++)
			if (r->heap[child]->key < until)
				until = r->heap[child]->key;
	} else if (r->heaped > 1) {
		until = thread_bound(r, c);
	}
	if (until != UINT64_MAX && (r->range.order == DT_BY_TIME || ticks[n - 1] > until)) {
		for (i = 1; i < n && ticks[i] <= until; i++)
			;
		n = i;
	}
	if ((r->range.from == 0 && r->range.to == UINT64_MAX) || c->whole)
		return n;
	for (i = 0;
	     i < n && (ticks[i] >= r->range.from || r->range.part) && ticks[i] <= r->range.to; i++)
		;
	return i;
}

static void take_loss(struct dt_cursor *c, struct dt_span *s)
{
	struct dt_loss *l = &c->loss[c->loss_at];

	if (c->loss_at == c->losses || (!c->ended && l->after > c->base + c->at))
		return;
	c->loss_at++;
	s->lost = l->lost;
	if (l->after == c->said_after)
		s->lost -= c->said_lost < l->lost ? c->said_lost : l->lost;
	s->lost_begin = l->begin;
	s->lost_end = l->end;
	s->lost_switches = l->switches;
	s->lost_others = l->others;
	if (c->ended) {
		c->said_after = l->after;
		c->said_lost = l->lost;
	}
}

int dt_reader_next(struct dt_reader *r, struct dt_span *s, struct dt_error *e)
{
	bool last = r->current != NULL;
	struct dt_cursor *c;
	uint32_t n;

	if (r->failed)
		return dt_fail(e, "%s", r->failure.text);
	if (r->current && leave(r, &r->failure))
		goto bad;
	/* what is written while it is read waits for the next call: a caller that is slower than
	 * the writer would never come to an end */
	if (!r->heaped && !last && restart(r, &r->failure))
		goto bad;
	if (!r->heaped) {
		r->through = true;
		return 0;
	}
	c = r->heap[0];
	r->current = c;
	*s = (struct dt_span){.core = (uint16_t)c->core};
	take_loss(c, s);
	if (c->ended)
		return 1; /* leave() takes the cursor out of the heap */
	n = run_length(r, c);
	c->used = n;
	s->n = n;
	s->tid = c->decoder.run_tid[c->decoder.run];
	s->ticks = c->batch->ticks + c->at;
	s->sp = c->batch->sp + c->at;
	s->site = c->batch->site + c->at;
	s->flags = c->batch->flags + c->at;
	s->record_core = c->batch->core + c->at;
	s->value = r->range.values ? c->batch->value + c->at : NULL;
	return 1;
bad:
	r->failed = true;
	return dt_fail(e, "%s", r->failure.text);
}

void dt_span_record(const struct dt_reader *r, const struct dt_span *s, uint32_t i,
		    struct dt_record *out)
{
	const struct dt_site *site = dt_reader_site(r, s->site[i]);

	out->ticks = s->ticks[i];
	out->pc = site->pc;
	out->tid = s->tid;
	out->kind = site->kind;
	out->flags = s->flags[i];
	out->core = s->record_core[i];
	out->sp = s->sp[i];
	if (s->value)
		memcpy(out->value, s->value[i], sizeof(out->value));
	else
		memset(out->value, 0, sizeof(out->value));
}
