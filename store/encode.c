/* SPDX-License-Identifier: MIT */
/*
 * Filling and compressing a chunk. Every column is its own Zstandard frame: the columns have
 * nothing in common, so sharing a frame would cost both size and speed.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "store/chunk.h"
#include "store/layout.h"
#include "store/varint.h"

#define LEVEL 1

struct dt_encoder *dt_encoder_new(void)
{
	size_t n = DT_CHUNK_MAX;
	struct dt_encoder *c = calloc(1, sizeof(*c));
	/* Columns of 8, 4, 2 and 1 bytes, then the values, with room for an 8-byte store at the
	 * end. Pages that a chunk does not reach are never touched. */
	size_t size = n * (2 * 8 + 32 + 2 * 4 + 2 + 6 + 2 + 4 + 32) + 2 * DT_PIECE_SLOTS + 8;
	uint8_t *p = malloc(size);

	if (!c || !p) {
		free(c);
		free(p);
		return NULL;
	}
	c->memory = p;
	c->tick_escape = (uint64_t *)p;
	c->sp_escape = c->tick_escape + n;
	c->pieces.piece = (uint64_t(*)[4])(c->sp_escape + n);
	c->run_tid = (uint32_t *)(c->pieces.piece + n);
	c->run_length = c->run_tid + n;
	c->core = (uint16_t *)(c->run_length + n);
	c->pieces.slot = c->core + n;
	c->tick_low = (uint8_t *)(c->pieces.slot + DT_PIECE_SLOTS);
	c->tick_high = c->tick_low + n;
	c->site_low = c->tick_high + n;
	c->site_high = c->site_low + n;
	c->sp_low = c->site_high + n;
	c->sp_high = c->sp_low + n;
	c->pieces.low = c->sp_high + n;
	c->pieces.high = c->pieces.low + n;
	c->length = c->pieces.high + n;
	c->data = c->length + 4 * n;
	memset(c->pieces.slot, 0, 2 * DT_PIECE_SLOTS);
	return c;
}

void dt_encoder_free(struct dt_encoder *c)
{
	if (!c)
		return;
	free(c->memory);
	free(c->local);
	free(c);
}

void dt_encoder_reset(struct dt_encoder *c)
{
	c->n = c->nlocal = c->nrun = c->tick_escapes = c->sp_escapes = c->lengths = 0;
	c->data_bytes = 0;
	c->run_from = 0;
	c->odd_core = false;
	if (c->pieces.records)
		memset(c->pieces.slot, 0, 2 * DT_PIECE_SLOTS);
	c->pieces.records = c->pieces.different = 0;
}

void *dt_encoder_context(void)
{
	ZSTD_CCtx *cctx = ZSTD_createCCtx();

	if (cctx) {
		ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
	}
	return cctx;
}

int dt_encoder_local(struct dt_encoder *c, uint32_t site, uint8_t mask, uint8_t flags)
{
	if (c->nlocal == c->local_size) {
		uint32_t size = c->local_size ? 2 * c->local_size : 256;
		struct dt_local *p = realloc(c->local, size * sizeof(*p));

		if (!p)
			return -1;
		c->local = p;
		c->local_size = size;
	}
	c->local[c->nlocal] = (struct dt_local){
		.site = site, .mask = mask & 0xf, .flags = flags, .piece = mask & DT_LOCAL_PIECE};
	return (int)c->nlocal++;
}

static bool is_piece(const uint64_t *p, const uint64_t *value)
{
	return ((p[0] ^ value[0]) | (p[1] ^ value[1]) | (p[2] ^ value[2]) | (p[3] ^ value[3])) == 0;
}

/* A piece is looked for in so many slots at most: a program can choose its texts so that they all
 * have one hash. */
#define LOOKS 16

/* Returns the number of a piece, which may be a new one. */
static uint32_t piece_of(struct dt_pieces *p, const uint64_t value[4])
{
	const uint64_t odd = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio */
	uint64_t h = (value[0] * odd ^ value[1]) * odd;

	h ^= h >> 32;
	h = ((h ^ value[2]) * odd ^ value[3]) * odd;
	h >>= 40;
	for (uint64_t i = h; i < h + LOOKS; i++) {
		uint16_t *slot = &p->slot[i & (DT_PIECE_SLOTS - 1)];

		if (*slot && is_piece(p->piece[*slot - 1], value))
			return *slot - 1u;
		if (*slot)
			continue;
		if (p->different < DT_PIECE_SLOTS / 2)
			*slot = (uint16_t)(p->different + 1);
		break;
	}
	memcpy(p->piece[p->different], value, sizeof(*p->piece));
	return p->different++;
}

void dt_encoder_piece(struct dt_pieces *p, const uint64_t value[4])
{
	uint32_t k = piece_of(p, value);

	p->low[p->records] = (uint8_t)k;
	p->high[p->records++] = (uint8_t)(k >> 8);
}

static void end_run(struct dt_encoder *c)
{
	if (c->n == c->run_from)
		return;
	c->run_tid[c->nrun] = c->tid;
	c->run_length[c->nrun++] = c->n - c->run_from;
}

void dt_encoder_run(struct dt_encoder *c, uint32_t tid)
{
	end_run(c);
	c->tid = tid;
	c->run_from = c->n;
}

void dt_encoder_odd_core(struct dt_encoder *c, unsigned core)
{
	for (uint32_t i = 0; i < c->n; i++)
		c->core[i] = (uint16_t)core;
	c->odd_core = true;
}

static int compress(void *cctx, struct dt_bytes *out, const void *column, size_t size)
{
	size_t n;

	if (dt_bytes_room(out, ZSTD_compressBound(size)))
		return -1;
	n = ZSTD_compress2(cctx, out->p + out->n, out->size - out->n, column, size);
	if (ZSTD_isError(n))
		return -1;
	out->n += n;
	return 0;
}

static bool any(const uint8_t *p, size_t n)
{
	return n && (p[0] || memcmp(p, p + 1, n - 1));
}

/* Compresses the dictionary: all rows of sites, then all masks, then all flags. */
static int compress_dictionary(struct dt_encoder *c, void *cctx, struct dt_bytes *out)
{
	size_t size = 6 * (size_t)c->nlocal;
	uint8_t *p = malloc(size);
	int rc;

	if (!p)
		return -1;
	for (uint32_t i = 0; i < c->nlocal; i++) {
		memcpy(p + 4 * (size_t)i, &c->local[i].site, 4);
		p[4 * (size_t)c->nlocal + i] =
			c->local[i].mask | (c->local[i].piece ? DT_LOCAL_PIECE : 0);
		p[5 * (size_t)c->nlocal + i] = c->local[i].flags;
	}
	rc = compress(cctx, out, p, size);
	free(p);
	return rc;
}

/* Moves the pieces together, without the zeros at their ends, and writes how long each one is
 * behind them. Returns the bytes of all of them. */
static uint32_t pack_pieces(struct dt_pieces *p, uint8_t *length)
{
	uint8_t *to = (uint8_t *)p->piece;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < p->different; i++) {
		unsigned n = 32, k = 4;

		while (k && !p->piece[i][k - 1])
			k--;
		n = k ? 8 * k - (unsigned)__builtin_clzll(p->piece[i][k - 1]) / 8 : 0;
		length[i] = (uint8_t)n;
		memmove(to + bytes, p->piece[i], 32); /* not beyond the next one's beginning */
		bytes += n;
	}
	return bytes;
}

/* Compresses the vals blob: its heads, the values and the pieces. */
static int compress_vals(struct dt_encoder *c, void *cctx, struct dt_bytes *vals)
{
	struct dt_pieces *p = &c->pieces;
	struct dt_vals_head v = {c->lengths, (uint32_t)c->data_bytes};
	/* what is free behind the lengths of values: each record has four of them, or a piece */
	uint8_t *length = c->length + c->lengths;
	struct dt_pieces_head h = {p->records, p->different, 0};
	int rc = 0;

	if (dt_bytes_room(vals, sizeof(v) + sizeof(h)))
		return -1;
	memcpy(vals->p, &v, vals->n = sizeof(v));
	if (p->records) {
		h.bytes = pack_pieces(p, length);
		memcpy(vals->p + vals->n, &h, sizeof(h));
		vals->n += sizeof(h);
	}
	if (c->lengths)
		rc |= compress(cctx, vals, c->length, c->lengths);
	if (c->data_bytes)
		rc |= compress(cctx, vals, c->data, c->data_bytes);
	if (!p->records)
		return rc;
	rc |= compress(cctx, vals, p->low, p->records);
	if (p->different > 256)
		rc |= compress(cctx, vals, p->high, p->records);
	rc |= compress(cctx, vals, length, p->different);
	if (h.bytes)
		rc |= compress(cctx, vals, p->piece, h.bytes);
	return rc;
}

int dt_encoder_finish(struct dt_encoder *c, unsigned core, void *cctx, struct dt_bytes *events,
		      struct dt_bytes *vals, struct dt_error *e)
{
	struct dt_events_head h = {0};
	size_t n = c->n;
	int rc = 0;

	end_run(c);
	c->run_from = c->n;
	if (c->last_ticks > c->max_ticks)
		c->max_ticks = c->last_ticks;
	h.n = c->n;
	h.locals = c->nlocal;
	h.runs = c->nrun;
	h.tick_escapes = c->tick_escapes;
	h.sp_escapes = c->sp_escapes;
	h.first_ticks = c->first_ticks;
	h.columns = (any(c->tick_high, n) ? DT_HAS_TICK_HIGH : 0) |
		    (any(c->site_high, n) ? DT_HAS_SITE_HIGH : 0) |
		    (any(c->sp_high, n) ? DT_HAS_SP_HIGH : 0) | (c->odd_core ? DT_HAS_CORE : 0) |
		    (c->pieces.records ? DT_HAS_PIECES : 0);

	events->n = vals->n = 0;
	if (dt_bytes_room(events, sizeof(h)))
		return dt_fail(e, "out of memory");
	memcpy(events->p, &h, sizeof(h));
	events->n = sizeof(h);

	rc |= compress_dictionary(c, cctx, events);
	rc |= compress(cctx, events, c->run_tid, 4 * (size_t)c->nrun);
	rc |= compress(cctx, events, c->run_length, 4 * (size_t)c->nrun);
	rc |= compress(cctx, events, c->tick_low, n);
	if (h.columns & DT_HAS_TICK_HIGH)
		rc |= compress(cctx, events, c->tick_high, n);
	if (c->tick_escapes)
		rc |= compress(cctx, events, c->tick_escape, 8 * (size_t)c->tick_escapes);
	rc |= compress(cctx, events, c->site_low, n);
	if (h.columns & DT_HAS_SITE_HIGH)
		rc |= compress(cctx, events, c->site_high, n);
	rc |= compress(cctx, events, c->sp_low, n);
	if (h.columns & DT_HAS_SP_HIGH)
		rc |= compress(cctx, events, c->sp_high, n);
	if (c->sp_escapes)
		rc |= compress(cctx, events, c->sp_escape, 8 * (size_t)c->sp_escapes);
	if (h.columns & DT_HAS_CORE)
		rc |= compress(cctx, events, c->core, 2 * n);
	rc |= compress_vals(c, cctx, vals);
	return rc ? dt_fail(e, "out of memory") : 0;
}
