/* SPDX-License-Identifier: MIT */
/* Blobs of a store of bars: pieces of bytes, compressed, each a row of its database. */
#include "store/bars-work.h"

#include <stdlib.h>
#include <string.h>

#include "store/varint.h"

#define BLOB_MAX (64u << 20) /* bytes of a blob, uncompressed: more is damage */

static int keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t id, struct dt_error *e)
{
	size_t bound = ZSTD_compressBound(n), size;
	int rc;

	b->packed.n = 0;
	if (dt_bytes_room(&b->packed, bound))
		return dt_bars_no_memory(e);
	size = ZSTD_compressCCtx(b->cctx, b->packed.p, bound, p, n, 1);
	if (ZSTD_isError(size))
		return dt_fail(e, "the summaries for the time line: %s", ZSTD_getErrorName(size));
	sqlite3_bind_int64(b->insert, 1, id);
	sqlite3_bind_blob64(b->insert, 2, b->packed.p, size, SQLITE_STATIC);
	rc = sqlite3_step(b->insert);
	sqlite3_reset(b->insert);
	return rc == SQLITE_DONE ? 0 : dt_bars_sql_error(b, e);
}

/* Whether a keeper that sleeps has a reason to work. */
static bool is_called(const struct keeper *k)
{
	return k->end || k->put - k->taken >= WOKEN || k->put - k->taken > k->until;
}

/* The keeper's thread. After an error it throws the rest away; the error is returned by the calls
 * that wait for it. */
static void *keeper_main(void *bars)
{
	struct dt_bars *b = bars;
	struct keeper *k = &b->keeper;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		struct job *j = &k->job[k->taken % QUEUED];
		struct dt_error e = {""};

		while (k->put == k->taken && !k->end)
			do
				pthread_cond_wait(&k->come, &k->lock);
			while (!is_called(k));
		if (k->put == k->taken)
			break;
		if (!k->error.text[0]) {
			pthread_mutex_unlock(&k->lock);
			keep(b, j->bytes.p, j->bytes.n, j->id, &e);
			pthread_mutex_lock(&k->lock);
			if (e.text[0])
				k->error = e;
		}
		k->taken++;
		if (k->put - k->taken <= k->until && k->until < QUEUED)
			pthread_cond_signal(&k->gone);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* If more than `most' blobs are on their way, waits until at most n are. Returns -1 if one could
 * not be kept. */
static int wait_for(struct dt_bars *b, unsigned long most, unsigned long n, struct dt_error *e)
{
	struct keeper *k = &b->keeper;
	int rc = 0;

	if (!k->runs)
		return 0;
	pthread_mutex_lock(&k->lock);
	if (k->put - k->taken > most) {
		k->until = n;
		pthread_cond_signal(&k->come);
		while (k->put - k->taken > n)
			pthread_cond_wait(&k->gone, &k->lock);
		k->until = QUEUED;
	}
	if (k->error.text[0])
		rc = dt_fail(e, "%s", k->error.text);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

int dt_bars_settle(struct dt_bars *b, struct dt_error *e)
{
	return wait_for(b, 0, 0, e);
}

int dt_bars_keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t *id, struct dt_error *e)
{
	struct keeper *k = &b->keeper;
	struct job *j;

	*id = ++b->last_id;
	if (!k->runs)
		k->runs = pthread_create(&k->thread, NULL, keeper_main, b) == 0;
	if (!k->runs)
		return keep(b, p, n, *id, e);
	if (wait_for(b, QUEUED - 1, QUEUED / 2, e) < 0)
		return -1;
	/* the keeper does not look at this place before `put' counts it */
	j = &k->job[k->put % QUEUED];
	j->id = *id;
	j->bytes.n = 0;
	if (dt_bytes_room(&j->bytes, n))
		return dt_bars_no_memory(e);
	if (n) /* an empty one may have no place */
		memcpy(j->bytes.p, p, n);
	j->bytes.n = n;
	pthread_mutex_lock(&k->lock);
	k->put++;
	if (is_called(k))
		pthread_cond_signal(&k->come);
	pthread_mutex_unlock(&k->lock);
	return 0;
}

void dt_keeper_begin(struct keeper *k)
{
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->come, NULL);
	pthread_cond_init(&k->gone, NULL);
	k->until = QUEUED;
}

void dt_keeper_end(struct keeper *k)
{
	if (k->runs) {
		pthread_mutex_lock(&k->lock);
		k->end = true;
		pthread_cond_signal(&k->come);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
	}
	pthread_cond_destroy(&k->come);
	pthread_cond_destroy(&k->gone);
	pthread_mutex_destroy(&k->lock);
	for (unsigned i = 0; i < QUEUED; i++)
		free(k->job[i].bytes.p);
}

int dt_bars_load(struct dt_bars *b, int64_t id, struct dt_bytes *out, struct dt_error *e)
{
	unsigned long long size;
	const void *p;
	size_t n, got;
	int rc = -1;

	if (dt_bars_settle(b, e) < 0)
		return -1;
	sqlite3_bind_int64(b->select, 1, id);
	switch (sqlite3_step(b->select)) {
	case SQLITE_ROW:
		break;
	case SQLITE_DONE:
		sqlite3_reset(b->select);
		return dt_bars_damaged(e);
	default:
		sqlite3_reset(b->select);
		return dt_bars_sql_error(b, e);
	}
	p = sqlite3_column_blob(b->select, 0);
	n = (size_t)sqlite3_column_bytes(b->select, 0);
	size = ZSTD_getFrameContentSize(p, n);
	if (size > BLOB_MAX) { /* or the size is not known */
		dt_bars_damaged(e);
	} else if (dt_bytes_room(out, (size_t)size)) {
		dt_bars_no_memory(e);
	} else {
		got = ZSTD_decompressDCtx(b->dctx, out->p + out->n, (size_t)size, p, n);
		rc = got == size ? 0 : dt_bars_damaged(e);
		out->n += rc == 0 ? got : 0;
	}
	sqlite3_reset(b->select);
	return rc;
}
