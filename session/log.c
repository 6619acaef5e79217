/* SPDX-License-Identifier: MIT */
/* The log of a session. */
#include "session/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int dt_log_init(struct dt_log *l, uint64_t size, struct dt_error *e)
{
	pthread_condattr_t a;

	memset(l, 0, sizeof(*l));
	l->record = malloc(size * sizeof(*l->record));
	if (!l->record)
		return dt_fail(e, "out of memory: a log of %lu records", (unsigned long)size);
	l->size = size;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &a);
	pthread_condattr_destroy(&a);
	return 0;
}

void dt_log_free(struct dt_log *l)
{
	if (!l->record)
		return;
	free(l->record);
	l->record = NULL;
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
}

static void forget(struct dt_log *l)
{
	l->head = l->tail = l->dropped = l->overwritten = l->told = l->stored = 0;
	pthread_cond_broadcast(&l->changed);
}

int dt_log_resize(struct dt_log *l, uint64_t size, struct dt_error *e)
{
	struct dt_record *record = malloc(size * sizeof(*record));

	if (!record)
		return dt_fail(e, "devtrace:  can't allocate that much: %lu records",
			       (unsigned long)size);
	pthread_mutex_lock(&l->lock);
	free(l->record);
	l->record = record;
	l->size = size;
	forget(l);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

bool dt_log_is_empty(struct dt_log *l)
{
	bool empty;

	pthread_mutex_lock(&l->lock);
	empty = l->head == l->tail;
	pthread_mutex_unlock(&l->lock);
	return empty;
}

void dt_log_reset(struct dt_log *l)
{
	pthread_mutex_lock(&l->lock);
	forget(l);
	l->in = l->out = 0;
	pthread_mutex_unlock(&l->lock);
}

void dt_log_close(struct dt_log *l)
{
	pthread_mutex_lock(&l->lock);
	l->closed = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

uint64_t dt_log_room(struct dt_log *l)
{
	uint64_t room;

	pthread_mutex_lock(&l->lock);
	room = l->policy == DT_WAIT ? l->size - (l->head - l->tail) : ~0ull;
	pthread_mutex_unlock(&l->lock);
	return room;
}

void dt_log_put(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost)
{
	pthread_mutex_lock(&l->lock);
	l->dropped += lost;
	for (size_t i = 0; i < n; i++) {
		l->in += r[i].kind == DT_ENTRY || r[i].kind == DT_POINT;
		l->out += r[i].kind == DT_EXIT;
		if (l->head - l->tail == l->size) {
			if (l->policy != DT_OVERWRITE) {
				l->dropped++;
				continue;
			}
			l->tail++;
			l->overwritten++;
		}
		l->record[l->head++ & (l->size - 1)] = r[i];
	}
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void dt_log_note(struct dt_log *l, const struct dt_record *r, size_t n, uint64_t lost)
{
	uint64_t in = 0, out = 0, stored = n;

	for (size_t i = 0; i < n; i++) {
		stored -= l->unasked && (r[i].kind == DT_SWITCH || r[i].kind == DT_RUNDOWN);
		in += r[i].kind == DT_ENTRY || r[i].kind == DT_POINT;
		out += r[i].kind == DT_EXIT;
	}
	pthread_mutex_lock(&l->lock);
	l->stored += stored;
	l->dropped += lost;
	l->in += in;
	l->out += out;
	pthread_mutex_unlock(&l->lock);
}

void dt_log_left_out(struct dt_log *l, uint64_t in, uint64_t out)
{
	if (!in && !out)
		return;
	pthread_mutex_lock(&l->lock);
	l->in += in;
	l->out += out;
	pthread_mutex_unlock(&l->lock);
}

/* Waits for a record at position `from' or later. With the log's lock. */
static void wait_for(struct dt_log *l, uint64_t from, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L)
		until.tv_sec++, until.tv_nsec -= 1000000000L;
	while (!l->closed && l->head <= (from > l->tail ? from : l->tail)) {
		if (ms < 0)
			pthread_cond_wait(&l->changed, &l->lock);
		else if (pthread_cond_timedwait(&l->changed, &l->lock, &until) == ETIMEDOUT)
			return;
	}
}

size_t dt_log_read(struct dt_log *l, struct dt_record *out, size_t max, uint64_t *from,
		   uint64_t *lost, int ms, bool consume)
{
	uint64_t at;
	size_t n;

	pthread_mutex_lock(&l->lock);
	if (ms)
		wait_for(l, *from, ms);
	at = *from > l->tail && *from <= l->head ? *from : l->tail;
	n = l->head - at < max ? (size_t)(l->head - at) : max;
	for (size_t i = 0; i < n; i++)
		out[i] = l->record[(at + i) & (l->size - 1)];
	*from = at;
	if (lost) {
		*lost = l->dropped + l->overwritten - l->told;
		l->told += *lost;
	}
	if (consume && at + n > l->tail) {
		l->tail = at + n;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return n;
}

void dt_log_clear(struct dt_log *l, uint64_t position)
{
	pthread_mutex_lock(&l->lock);
	if (position > l->tail && position <= l->head)
		l->tail = position;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void dt_log_positions(struct dt_log *l, uint64_t *oldest, uint64_t *next)
{
	pthread_mutex_lock(&l->lock);
	*oldest = l->tail;
	*next = l->head;
	pthread_mutex_unlock(&l->lock);
}
