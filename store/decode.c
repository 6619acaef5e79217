/* SPDX-License-Identifier: MIT */
/*
 * Decoding. The blobs may hold any bytes: sizes are computed from the head and compared with what
 * each frame says before it is decompressed, and no index from the file is used unchecked.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "store/decode.h"
#include "store/layout.h"

static int damaged(struct dt_error *e, const char *what)
{
	return dt_fail(e, "damaged: %s", what);
}

/* Makes room for size bytes, and 8 more because values are loaded 8 bytes at a time. */
static int room(struct dt_bytes *b, size_t size)
{
	uint8_t *p;

	if (b->size >= size + 8)
		return 0;
	p = realloc(b->p, size + 8);
	if (!p)
		return -1;
	b->p = p;
	b->size = size + 8;
	return 0;
}

/* Successive frames of a blob. */
struct frames {
	const uint8_t *p;
	size_t left;
	void *dctx;
	uint8_t *to; /* where the next column goes, 8-byte aligned */
	bool bad;
};

/* Decompresses the next frame, which must hold exactly size bytes. */
static const void *column(struct frames *f, size_t size)
{
	uint8_t *to = f->to;
	size_t n;

	if (f->bad)
		return to;
	n = ZSTD_findFrameCompressedSize(f->p, f->left);
	if (ZSTD_isError(n) || ZSTD_getFrameContentSize(f->p, f->left) != size ||
	    ZSTD_decompressDCtx(f->dctx, to, size, f->p, n) != size) {
		f->bad = true;
		return to;
	}
	f->p += n;
	f->left -= n;
	f->to += (size + 7) & ~(size_t)7;
	return to;
}

static int load_dictionary(struct dt_decoder *d, const uint8_t *p, uint32_t sites)
{
	uint32_t n = d->locals;

	if (n > d->local_size) {
		struct dt_local *l = realloc(d->local, n * sizeof(*l));

		if (!l)
			return -1;
		d->local = l;
		d->local_size = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct dt_local *l = &d->local[i];

		*l = (struct dt_local){.mask = p[4 * (size_t)n + i] & 0xf,
				       .flags = p[5 * (size_t)n + i],
				       .piece = p[4 * (size_t)n + i] & DT_LOCAL_PIECE};
		memcpy(&l->site, p + 4 * (size_t)i, 4);
		if (l->site == 0 || l->site > sites || (l->piece && l->mask != 0xf))
			return -1;
	}
	return 0;
}

static int check_runs(const struct dt_decoder *d)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->runs; i++) {
		if (!d->run_length[i])
			return -1;
		sum += d->run_length[i];
	}
	return sum == d->n ? 0 : -1;
}

/* Looks whether n lengths are at most `most' each, and as many bytes together as the head says. */
static bool are_lengths(const uint8_t *length, uint32_t n, uint8_t most, uint64_t all)
{
	uint64_t bytes = 0;
	uint8_t largest = 0;

	for (uint32_t i = 0; i < n; i++) {
		bytes += length[i];
		largest = length[i] > largest ? length[i] : largest;
	}
	return bytes == all && largest <= most;
}

/* Looks whether there are as many values and pieces as the records' entries ask for. */
static bool are_enough(const struct dt_decoder *d, uint32_t values, uint32_t pieces)
{
	static const uint8_t bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
	uint64_t asked = 0, asked_pieces = 0;

	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t l = d->site_low[i] | (d->site_high ? (uint32_t)d->site_high[i] << 8 : 0);

		if (l >= d->locals)
			return false;
		if (d->local[l].piece)
			asked_pieces++;
		else
			asked += bits[d->local[l].mask];
	}
	return asked == values && asked_pieces == pieces;
}

/* Reads the columns of the pieces, and makes 32 bytes of each. There is room for that. */
static int load_pieces(struct dt_decoder *d, struct frames *f, const struct dt_pieces_head *h)
{
	const uint8_t *length, *bytes;
	uint8_t *to;

	d->piece_low = column(f, h->records);
	d->piece_high = h->different > 256 ? column(f, h->records) : NULL;
	length = column(f, h->different);
	bytes = h->bytes ? column(f, h->bytes) : f->to;
	if (f->bad || !are_lengths(length, h->different, 32, h->bytes))
		return -1;
	for (uint32_t i = 0; i < h->records; i++)
		if ((d->piece_low[i] | (d->piece_high ? (uint32_t)d->piece_high[i] << 8 : 0)) >=
		    h->different)
			return -1;
	to = f->to;
	d->piece = (const uint64_t(*)[4])to;
	for (uint32_t i = 0; i < h->different; i++, to += 32) {
		memcpy(to, bytes, length[i]);
		memset(to + length[i], 0, 32u - length[i]);
		bytes += length[i];
	}
	return 0;
}

static int load_vals(struct dt_decoder *d, void *dctx, const uint8_t *p, size_t size,
		     bool has_pieces)
{
	size_t head =
		sizeof(struct dt_vals_head) + (has_pieces ? sizeof(struct dt_pieces_head) : 0);
	struct frames f = {.dctx = dctx};
	struct dt_pieces_head pieces = {0};
	struct dt_vals_head h;

	if (size < head)
		return -1;
	memcpy(&h, p, sizeof(h));
	memcpy(&pieces, p + sizeof(h), head - sizeof(h));
	if (h.lengths > 4 * d->n || h.data_bytes > 8 * (uint64_t)h.lengths ||
	    pieces.records > d->n || pieces.different > pieces.records ||
	    pieces.bytes > 32 * pieces.different || has_pieces != (pieces.different != 0))
		return -1;
	/* each column begins at a multiple of 8 */
	if (room(&d->value_memory, (size_t)h.lengths + h.data_bytes + 2 * (size_t)pieces.records +
					   33 * (size_t)pieces.different + pieces.bytes + 6 * 8))
		return -1;
	f.p = p + head;
	f.left = size - head;
	f.to = d->value_memory.p;
	d->length = h.lengths ? column(&f, h.lengths) : f.to;
	d->data = h.data_bytes ? column(&f, h.data_bytes) : f.to;
	if (has_pieces && load_pieces(d, &f, &pieces))
		return -1;
	if (f.bad || f.left || !are_lengths(d->length, h.lengths, 8, h.data_bytes))
		return -1;
	return are_enough(d, h.lengths, pieces.records) ? 0 : -1;
}

/* Returns by how many ticks at most a record of the chunk is earlier than one before it. */
static uint64_t furthest_back(const struct dt_decoder *d, uint32_t escapes)
{
	const uint64_t *escape = d->tick_escape;
	uint64_t latest = 0, now = 0, most = 0;
	bool back = false;

	/* only an escape can be a step back */
	for (uint32_t i = 0; i < escapes; i++)
		back = back || escape[i] > INT64_MAX;
	for (uint32_t i = 0; back && i < d->n; i++) {
		uint64_t step =
			d->tick_low[i] | (d->tick_high ? (uint64_t)d->tick_high[i] << 8 : 0);

		if (step == 0xffff && d->tick_escape && escape < d->tick_escape_end)
			step = *escape++;
		now += step;
		if ((int64_t)(now - latest) > 0)
			latest = now;
		else if (latest - now > most)
			most = latest - now;
	}
	return most;
}

int dt_decoder_load(struct dt_decoder *d, void *dctx, const void *events, size_t events_size,
		    const void *vals, size_t vals_size, uint32_t records, uint32_t sites,
		    struct dt_error *e)
{
	struct frames f = {.dctx = dctx};
	struct dt_events_head h;
	const uint8_t *dictionary;

	d->n = d->position = 0;
	if (events_size < sizeof(h))
		return damaged(e, "no head");
	memcpy(&h, events, sizeof(h));
	if (h.n == 0 || h.n > DT_CHUNK_MAX || h.n != records || h.locals == 0 || h.locals > h.n ||
	    h.runs == 0 || h.runs > h.n || h.tick_escapes > h.n || h.sp_escapes > h.n ||
	    h.columns > 31)
		return damaged(e, "impossible head");
	if (room(&d->memory, (size_t)h.n * 8 + 6 * (size_t)h.locals + 8 * (size_t)h.runs +
				     8 * ((size_t)h.tick_escapes + h.sp_escapes) + 13 * 8))
		return dt_fail(e, "out of memory");
	f.p = (const uint8_t *)events + sizeof(h);
	f.left = events_size - sizeof(h);
	f.to = d->memory.p;
	d->n = h.n;
	d->locals = h.locals;
	d->runs = h.runs;
	dictionary = column(&f, 6 * (size_t)h.locals);
	d->run_tid = column(&f, 4 * (size_t)h.runs);
	d->run_length = column(&f, 4 * (size_t)h.runs);
	d->tick_low = column(&f, h.n);
	d->tick_high = h.columns & DT_HAS_TICK_HIGH ? column(&f, h.n) : NULL;
	d->tick_escape = h.tick_escapes ? column(&f, 8 * (size_t)h.tick_escapes) : NULL;
	d->tick_escape_end = d->tick_escape ? d->tick_escape + h.tick_escapes : NULL;
	d->site_low = column(&f, h.n);
	d->site_high = h.columns & DT_HAS_SITE_HIGH ? column(&f, h.n) : NULL;
	d->sp_low = column(&f, h.n);
	d->sp_high = h.columns & DT_HAS_SP_HIGH ? column(&f, h.n) : NULL;
	d->sp_escape = h.sp_escapes ? column(&f, 8 * (size_t)h.sp_escapes) : NULL;
	d->sp_escape_end = d->sp_escape ? d->sp_escape + h.sp_escapes : NULL;
	d->core = h.columns & DT_HAS_CORE ? column(&f, 2 * (size_t)h.n) : NULL;
	d->n = 0;
	if (f.bad || f.left)
		return damaged(e, "a column of the records");
	if (load_dictionary(d, dictionary, sites))
		return damaged(e, "the dictionary of sites");
	d->n = h.n;
	if (check_runs(d) ||
	    (vals && load_vals(d, dctx, vals, vals_size, h.columns & DT_HAS_PIECES))) {
		d->n = 0;
		return damaged(e, vals ? "threads or values" : "threads");
	}
	d->has_values = vals != NULL;
	d->back = furthest_back(d, h.tick_escapes);
	d->last_ticks = h.first_ticks;
	d->last_sp = 0;
	d->run = 0;
	d->run_left = d->run_length[0];
	return 0;
}

static void decode_values(struct dt_decoder *d, struct dt_batch *b, uint32_t n)
{
	static const uint64_t mask[9] = {0,	     0xff,	   0xffff,	   0xffffff,
					 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
					 UINT64_MAX};
	const uint8_t *length = d->length, *data = d->data;
	const uint8_t *low = d->piece_low, *high = d->piece_high;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = d->position + i;
		uint32_t index = d->site_low[at] | (d->site_high ? d->site_high[at] << 8 : 0);
		struct dt_local *l = &d->local[index];

		if (l->piece) {
			uint32_t k = *low++ | (high ? (uint32_t)*high++ << 8 : 0);

			memcpy(b->value[i], d->piece[k], sizeof(b->value[i]));
			continue;
		}
		memset(b->value[i], 0, sizeof(b->value[i]));
		for (unsigned m = l->mask; m; m &= m - 1) {
			unsigned j = (unsigned)__builtin_ctz(m);
			uint64_t z;

			memcpy(&z, data, 8);
			z &= mask[*length];
			data += *length++;
			l->last[j] += dt_unzigzag(z);
			b->value[i][j] = l->last[j];
		}
	}
	d->length = length;
	d->data = data;
	d->piece_low = low;
	d->piece_high = high;
}

static int decode_ticks(struct dt_decoder *d, struct dt_batch *b, uint32_t n)
{
	const uint8_t *low = d->tick_low + d->position;
	const uint8_t *high = d->tick_high ? d->tick_high + d->position : NULL;
	uint64_t t = d->last_ticks;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t step = low[i] | (high ? (uint32_t)high[i] << 8 : 0);

		if (__builtin_expect(step == 0xffff, 0)) {
			if (d->tick_escape == d->tick_escape_end)
				return -1;
			t += *d->tick_escape++;
		} else {
			t += step;
		}
		b->ticks[i] = t;
	}
	d->last_ticks = t;
	return 0;
}

static int decode_sp(struct dt_decoder *d, struct dt_batch *b, uint32_t n)
{
	const uint8_t *low = d->sp_low + d->position;
	const uint8_t *high = d->sp_high ? d->sp_high + d->position : NULL;
	uint64_t sp = d->last_sp;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t z = low[i] | (high ? (uint32_t)high[i] << 8 : 0);

		if (__builtin_expect(z == 0xffff, 0)) {
			if (d->sp_escape == d->sp_escape_end)
				return -1;
			sp += *d->sp_escape++;
		} else {
			sp += dt_unzigzag(z) << 3;
		}
		b->sp[i] = sp;
	}
	d->last_sp = sp;
	return 0;
}

static int decode_sites(struct dt_decoder *d, struct dt_batch *b, uint32_t n)
{
	const uint8_t *low = d->site_low + d->position;
	const uint8_t *high = d->site_high ? d->site_high + d->position : NULL;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t l = low[i] | (high ? (uint32_t)high[i] << 8 : 0);

		if (l >= d->locals)
			return -1;
		b->site[i] = d->local[l].site;
		b->flags[i] = d->local[l].flags;
	}
	return 0;
}

int dt_decoder_batch(struct dt_decoder *d, unsigned core, struct dt_batch *b, struct dt_error *e)
{
	uint32_t n = d->n - d->position;

	if (n > DT_BATCH)
		n = DT_BATCH;
	b->n = 0;
	if (!n)
		return 0;
	if (decode_ticks(d, b, n) || decode_sp(d, b, n) || decode_sites(d, b, n)) {
		d->n = d->position = 0;
		return damaged(e, "a record");
	}
	for (uint32_t i = 0; i < n; i++)
		b->core[i] = d->core ? d->core[d->position + i] : (uint16_t)core;
	if (d->has_values)
		decode_values(d, b, n);
	d->position += n;
	b->n = n;
	return 0;
}

void dt_decoder_free(struct dt_decoder *d)
{
	free(d->local);
	free(d->memory.p);
	free(d->value_memory.p);
}
