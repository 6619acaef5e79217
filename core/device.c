/* SPDX-License-Identifier: MIT */
/* The device's table of ranges. device-ranges.c makes the ranges; the commands are in
 * device-commands.c, reading in device-read.c. */
#include "core/device.h"
#include "core/ring.h"
#include "core/search.h"
#include "core/words.h"

void *dt_device_resize(struct dt_device *d, void *p, size_t bytes)
{
	return d->ops->resize(d->ctx, p, bytes);
}

void dt_device_init(struct dt_device *d, const struct dt_device_ops *ops, void *ctx)
{
	*d = (struct dt_device){.ops = ops, .ctx = ctx, .logsize = DT_LOG_DEFAULT};
}

static void free_range(struct dt_device *d, struct dt_range *r)
{
	if (d->ops->forget)
		d->ops->forget(d->ctx, r);
	dt_device_resize(d, r->what, 0);
	dt_device_resize(d, r->capture, 0);
}

void dt_device_free(struct dt_device *d)
{
	for (size_t i = 0; i < d->n; i++)
		free_range(d, &d->range[i]);
	dt_device_resize(d, d->range, 0);
	dt_device_resize(d, d->hash, 0);
	dt_device_resize(d, d->by_start, 0);
	dt_device_resize(d, d->watch, 0);
	dt_device_resize(d, d->mask, 0);
}

/* ---- finding ranges ---- */

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h ^ h >> 32;
}

struct dt_range *dt_device_find(struct dt_device *d, const char *name)
{
	uint32_t i = d->buckets ? d->hash[hash_of(name) & (d->buckets - 1)] : 0;

	for (; i; i = d->range[i - 1].chain)
		if (dt_word_is(d->range[i - 1].name, name))
			return &d->range[i - 1];
	return NULL;
}

static void hash_one(struct dt_device *d, uint32_t i)
{
	uint32_t *head = &d->hash[hash_of(d->range[i].name) & (d->buckets - 1)];

	d->range[i].chain = *head;
	*head = i + 1;
}

void dt_device_hash(struct dt_device *d)
{
	for (size_t i = 0; i < d->buckets; i++)
		d->hash[i] = 0;
	for (uint32_t i = 0; i < d->n; i++)
		hash_one(d, i);
}

/* Returns how many address ranges begin at or below address. */
static size_t begun(const struct dt_device *d, uint64_t address)
{
	return dt_count_before(d->addresses, i, d->range[d->by_start[i]].start <= address);
}

/*
 * Ranges include both ends and never overlap, so only the last one that begins at or below `end'
 * can overlap [start, end].
 */
struct dt_range *dt_device_overlapping(struct dt_device *d, uint64_t start, uint64_t end)
{
	size_t i = begun(d, end);
	struct dt_range *r = i ? &d->range[d->by_start[i - 1]] : NULL;

	return r && r->end >= start ? r : NULL;
}

struct dt_range *dt_device_at(struct dt_device *d, uint64_t address)
{
	struct dt_range *r;

	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].kind == DT_RANGE_POINT && d->range[i].on &&
		    d->range[i].start == address)
			return &d->range[i];
	r = dt_device_overlapping(d, address, address);
	return r && r->on ? r : NULL;
}

struct dt_range *dt_device_point(struct dt_device *d, uint64_t address)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].kind == DT_RANGE_POINT && d->range[i].start == address)
			return &d->range[i];
	return NULL;
}

/* ---- adding and removing ---- */

/* Makes room for one more range in all tables. */
int dt_device_room(struct dt_device *d, struct dt_error *e)
{
	size_t room = d->room ? 2 * d->room : 16, buckets = 2 * room;
	struct dt_range *range;
	uint32_t *p;

	if (d->n < d->room)
		return 0;
	range = dt_device_resize(d, d->range, room * sizeof(*range));
	if (!range)
		goto fail;
	d->range = range;
	p = dt_device_resize(d, d->by_start, room * sizeof(*p));
	if (!p)
		goto fail;
	d->by_start = p;
	p = dt_device_resize(d, d->hash, buckets * sizeof(*p));
	if (!p)
		goto fail;
	d->hash = p;
	d->room = room;
	d->buckets = buckets;
	dt_device_hash(d);
	return 0;
fail:
	return dt_fail(e, "out of memory");
}

struct dt_range *dt_device_insert(struct dt_device *d, const struct dt_range *r)
{
	uint32_t i = (uint32_t)d->n++;

	d->range[i] = *r;
	hash_one(d, i);
	if (r->kind == DT_RANGE_ADDRESS) {
		size_t at = begun(d, r->start);

		for (size_t k = d->addresses; k > at; k--)
			d->by_start[k] = d->by_start[k - 1];
		d->by_start[at] = i;
		d->addresses++;
	}
	return &d->range[i];
}

void dt_device_remove(struct dt_device *d, struct dt_range *r)
{
	uint32_t gone = (uint32_t)(r - d->range);
	size_t n = 0;

	free_range(d, r);
	d->n--;
	for (size_t i = gone; i < d->n; i++)
		d->range[i] = d->range[i + 1];
	for (size_t i = 0; i < d->addresses; i++)
		if (d->by_start[i] != gone)
			d->by_start[n++] = d->by_start[i] - (d->by_start[i] > gone);
	d->addresses = n;
	dt_device_hash(d);
}
