/* SPDX-License-Identifier: MIT */
#include "fleet/descriptors.h"

#include <stdlib.h>
#include <string.h>

#include "store/sites.h"

#define OF_PROCESS (-1)	      /* in place of a number: the chain of a process's descriptors */
#define MOST	   (1u << 24) /* a trace may say whatever it likes */

/* No key is 0: pids are more than 0. */
static uint64_t key_of(uint32_t pid, int32_t fd)
{
	return (uint64_t)pid << 32 | (uint32_t)fd;
}

static int grow(struct dt_descriptors *d)
{
	size_t size = d->size ? 4 * d->size : 256;
	uint64_t *key = calloc(size, sizeof(*key));
	uint32_t *last = calloc(size, sizeof(*last));

	if (!key || !last) {
		free(key);
		free(last);
		return -1;
	}
	for (size_t i = 0; i < d->size; i++) {
		size_t at = dt_hash(d->key[i]) & (size - 1);

		if (!d->key[i])
			continue;
		while (key[at])
			at = (at + 1) & (size - 1);
		key[at] = d->key[i];
		last[at] = d->last[i];
	}
	free(d->key);
	free(d->last);
	d->key = key;
	d->last = last;
	d->size = size;
	return 0;
}

/* Returns where the last index + 1 of a key is; NULL: out of memory, or, without `add', it is not
 * there. */
static uint32_t *last_of(struct dt_descriptors *d, uint64_t key, bool add)
{
	size_t at;

	if (add && 2 * (d->used + 1) > d->size && grow(d))
		return NULL;
	if (!d->size)
		return NULL;
	at = dt_hash(key) & (d->size - 1);
	while (d->key[at] && d->key[at] != key)
		at = (at + 1) & (d->size - 1);
	if (!d->key[at] && !add)
		return NULL;
	d->used += !d->key[at];
	d->key[at] = key;
	return &d->last[at];
}

struct dt_descriptor *dt_descriptors_find(struct dt_descriptors *d, uint32_t pid, int32_t fd)
{
	uint32_t *last = pid && fd >= 0 ? last_of(d, key_of(pid, fd), false) : NULL;

	return last && *last ? &d->p[*last - 1] : NULL;
}

struct dt_descriptor *dt_descriptors_at(struct dt_descriptors *d, uint32_t pid, int32_t fd,
					uint64_t begin, uint64_t end)
{
	struct dt_descriptor *x = dt_descriptors_find(d, pid, fd);

	while (x && x->from > begin)
		x = x->before ? &d->p[x->before - 1] : NULL;
	return x && x->to >= end ? x : NULL;
}

int dt_descriptors_add(struct dt_descriptors *d, const struct dt_descriptor *x)
{
	uint32_t *last, *first;

	if (!x->pid || x->fd < 0)
		return 0;
	if (d->n == MOST)
		return -1;
	if (d->n == d->room) {
		size_t room = d->room ? 2 * d->room : 256;
		struct dt_descriptor *more = realloc(d->p, room * sizeof(*more));

		if (!more)
			return -1;
		d->p = more;
		d->room = room;
	}
	/* the second may move the first */
	if (!last_of(d, key_of(x->pid, OF_PROCESS), true) ||
	    !(last = last_of(d, key_of(x->pid, x->fd), true)))
		return -1;
	first = last_of(d, key_of(x->pid, OF_PROCESS), false);
	d->p[d->n] = *x;
	d->p[d->n].before = *last;
	d->p[d->n].next = *first;
	*last = *first = (uint32_t)++d->n;
	return 0;
}

int dt_descriptors_each(struct dt_descriptors *d, uint32_t pid,
			int (*fn)(void *ctx, uint32_t index), void *ctx)
{
	uint32_t *first = pid ? last_of(d, key_of(pid, OF_PROCESS), false) : NULL;
	uint32_t at = first ? *first : 0, before = 0;

	while (at) {
		uint32_t next = d->p[at - 1].next;

		if (d->p[at - 1].to == UINT64_MAX) {
			if (fn(ctx, at - 1))
				return -1;
			before = at;
		} else if (before) {
			/* closed ones are not met again */
			d->p[before - 1].next = next;
		}
		at = next;
	}
	return 0;
}

void dt_descriptors_free(struct dt_descriptors *d)
{
	free(d->p);
	free(d->key);
	free(d->last);
}
