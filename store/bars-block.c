/* SPDX-License-Identifier: MIT */
/* Blocks of bars: the bars of a lane, cut into pieces, by columns. */
#include "store/bars-work.h"

#include <stdlib.h>

#include "store/varint.h"

#define COLUMNS 10

static uint64_t column(const struct dt_bar *x, unsigned c, const struct dt_bar *before)
{
	switch (c) {
	case 0:
		return dt_zigzag(x->end - before->end);
	case 1:
		return x->end - x->begin;
	case 2:
		return x->count;
	case 3:
		return dt_zigzag(x->end - x->begin - x->busy);
	case 4:
		return x->busy - x->most;
	case 5:
		return x->what;
	case 6:
		return x->flags;
	case 7:
		return x->depth;
	case 8:
		return dt_zigzag(x->low);
	default:
		return dt_zigzag(x->high - x->low);
	}
}

static void set_column(struct dt_bar *x, unsigned c, uint64_t v, const struct dt_bar *before)
{
	switch (c) {
	case 0:
		x->end = before->end + dt_unzigzag(v);
		break;
	case 1:
		x->begin = x->end - v;
		break;
	case 2:
		x->count = v;
		break;
	case 3:
		x->busy = x->end - x->begin - dt_unzigzag(v);
		break;
	case 4:
		x->most = x->busy - v;
		break;
	case 5:
		x->what = (uint32_t)v;
		break;
	case 6:
		x->flags = (uint32_t)v;
		break;
	case 7:
		x->depth = (uint32_t)v;
		break;
	case 8:
		x->low = dt_unzigzag(v);
		break;
	default:
		x->high = x->low + dt_unzigzag(v);
	}
}

/* Brings since and until up to date after a block was added at the end: bars are nearly in the
 * order of their ends, but not quite. */
static void order_block(struct lane *l)
{
	struct block *x = &l->block[l->blocks - 1];

	x->since = x->first;
	x->until = x->last;
	if (l->blocks > 1 && x[-1].until > x->until)
		x->until = x[-1].until;
	for (size_t i = l->blocks - 1; i-- > 0 && l->block[i].since > x->first;)
		l->block[i].since = x->first;
}

/* Sets until and since of all blocks, in two passes: so it takes no longer however little the bars
 * are in order. */
void dt_bars_order_blocks(struct lane *l)
{
	for (size_t i = 0; i < l->blocks; i++) {
		struct block *x = &l->block[i];

		x->until = i && x[-1].until > x->last ? x[-1].until : x->last;
	}
	for (size_t i = l->blocks; i-- > 0;) {
		struct block *x = &l->block[i];

		x->since = i + 1 < l->blocks && x[1].since < x->first ? x[1].since : x->first;
	}
}

static inline __attribute__((always_inline)) void put_each(struct dt_bytes *to,
							   const struct lane *l, unsigned c)
{
	static const struct dt_bar none;

	dt_put_varint(to, column(&l->bar[0], c, &none));
	for (uint32_t i = 1; i < l->n; i++)
		dt_put_varint(to, column(&l->bar[i], c, &l->bar[i - 1]));
}

/* Appends a column of the bars. There is a loop for each column, so that it need not be asked for
 * every bar which one it is. The caller has made room. */
static void put_column(struct dt_bytes *to, const struct lane *l, unsigned c)
{
	switch (c) {
	case 0:
		put_each(to, l, 0);
		break;
	case 1:
		put_each(to, l, 1);
		break;
	case 2:
		put_each(to, l, 2);
		break;
	case 3:
		put_each(to, l, 3);
		break;
	case 4:
		put_each(to, l, 4);
		break;
	case 5:
		put_each(to, l, 5);
		break;
	case 6:
		put_each(to, l, 6);
		break;
	case 7:
		put_each(to, l, 7);
		break;
	case 8:
		put_each(to, l, 8);
		break;
	default:
		put_each(to, l, 9);
	}
}

int dt_bars_write_block(struct dt_bars *b, struct lane *l, struct dt_error *e)
{
	struct block *x;

	if (l->blocks == l->room) {
		size_t room = l->room ? 2 * l->room : 1;
		struct block *more = realloc(l->block, room * sizeof(*more));

		if (!more)
			return dt_bars_no_memory(e);
		l->block = more;
		l->room = room;
	}
	b->scratch.n = 0;
	if (dt_bytes_room(&b->scratch, (size_t)l->n * COLUMNS * DT_VARINT_MAX))
		return dt_bars_no_memory(e);
	for (unsigned c = 0; c < COLUMNS; c++)
		put_column(&b->scratch, l, c);
	x = &l->block[l->blocks];
	*x = (struct block){.first = UINT64_MAX, .n = l->n};
	for (uint32_t i = 0; i < l->n; i++) {
		x->first = l->bar[i].end < x->first ? l->bar[i].end : x->first;
		x->last = l->bar[i].end > x->last ? l->bar[i].end : x->last;
	}
	if (dt_bars_keep(b, b->scratch.p, b->scratch.n, &x->id, e) < 0)
		return -1;
	l->blocks++;
	order_block(l);
	l->n = 0;
	return 0;
}

const struct cached *dt_bars_read_block(struct dt_bars *b, const struct block *x,
					struct dt_error *e)
{
	static const struct dt_bar none;
	struct cached *c = &b->cache[(uint64_t)x->id % CACHED];
	struct dt_cursor_bytes at;

	if (c->id == x->id)
		return c;
	c->id = 0;
	if (!c->bar && !(c->bar = malloc(BLOCK * sizeof(*c->bar)))) {
		dt_bars_no_memory(e);
		return NULL;
	}
	b->scratch.n = 0;
	if (dt_bars_load(b, x->id, &b->scratch, e) < 0)
		return NULL;
	at = (struct dt_cursor_bytes){b->scratch.p, b->scratch.p + b->scratch.n, false};
	for (unsigned k = 0; k < COLUMNS; k++)
		for (uint32_t i = 0; i < x->n; i++)
			set_column(&c->bar[i], k, dt_get_varint(&at), i ? &c->bar[i - 1] : &none);
	if (at.bad) {
		dt_bars_damaged(e);
		return NULL;
	}
	c->n = x->n;
	c->id = x->id;
	return c;
}
