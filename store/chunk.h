/* SPDX-License-Identifier: MIT */
/*
 * A chunk: up to 65536 records of one core, stored by columns, which can be decoded without any
 * other chunk. It is two blobs: "events" (time, site, thread, stack pointer: all that pairing
 * needs) and "vals" (the values). doc/format.md describes the bytes.
 */
#ifndef DT_STORE_CHUNK_H
#define DT_STORE_CHUNK_H

#include "core/error.h"
#include "core/record.h"

#define DT_CHUNK_MAX 65536

/*
 * One entry of a chunk's dictionary: a site with flags. A record is stored with the entry's index.
 */
struct dt_local {
	uint64_t last[4]; /* values of the previous record with this entry in this chunk */
	uint32_t site;	  /* row id in table site */
	uint8_t mask;	  /* which values are stored */
	uint8_t flags;	  /* dt_record.flags */
	bool piece;	  /* the four values are a piece of a text: struct dt_pieces */
};

/*
 * Pieces of texts, 32 bytes in four values each. The same ones come again and again, and have
 * little in common with the one before: so each different one is stored once, and a record has its
 * number.
 */
struct dt_pieces {
	uint32_t records, different;
	uint8_t *low, *high; /* for each record, the number of its piece */
	uint64_t (*piece)[4];
	/* Where a piece with such a hash is, plus one; 0: nowhere. When half of the slots are
	 * taken, or many in a row, further pieces get numbers of their own. */
	uint16_t *slot;
};

#define DT_PIECE_SLOTS 32768u /* a power of two */

/* A growing byte buffer: n bytes are used, there is room for size. The owner frees p. */
struct dt_bytes {
	uint8_t *p;
	size_t n, size;
};

/*
 * A chunk that is being filled. dt_encoder_new() allocates it; each column has room for
 * DT_CHUNK_MAX records. A number of 16 bits has a column of its low and one of its high bytes; what
 * does not fit in 16 bits is an escape: 0xffff there, and the number in a column of its own.
 */
struct dt_encoder {
	uint32_t n, nlocal, nrun; /* records, dictionary entries, runs (of records of one thread) */
	uint32_t tick_escapes, sp_escapes;
	uint64_t first_ticks, last_ticks, min_ticks, max_ticks, last_sp;
	uint32_t tid;	   /* thread of the current run */
	uint32_t run_from; /* first record of the current run */
	uint8_t *tick_low, *tick_high, *site_low, *site_high, *sp_low, *sp_high;
	uint64_t *tick_escape, *sp_escape;
	uint32_t *run_tid, *run_length;
	uint16_t *core;	 /* filled only while odd_core */
	bool odd_core;	 /* some record is of another core than the one it was put for */
	uint8_t *length; /* one byte per value: how many bytes of `data' it takes */
	uint8_t *data;
	uint32_t lengths; /* values so far */
	size_t data_bytes;
	struct dt_pieces pieces;
	struct dt_local *local;
	uint32_t local_size;
	void *memory; /* holds all columns */
};

/* Makes an empty chunk; NULL: out of memory. */
struct dt_encoder *dt_encoder_new(void);
void dt_encoder_free(struct dt_encoder *c);
/* Empties the chunk, after dt_encoder_finish(), for the next one of its core. */
void dt_encoder_reset(struct dt_encoder *c);

/* Makes the ZSTD_CCtx with which chunks are compressed; NULL: out of memory. */
void *dt_encoder_context(void);

/* Adds a dictionary entry and returns its index; -1: out of memory. mask: the values that are
 * stored, or all and DT_LOCAL_PIECE (store/layout.h). */
int dt_encoder_local(struct dt_encoder *c, uint32_t site, uint8_t mask, uint8_t flags);

/* Closes the open run and compresses the chunk into the two buffers, replacing their content. cctx:
 * a ZSTD_CCtx. Returns -1 when out of memory. */
int dt_encoder_finish(struct dt_encoder *c, unsigned core, void *cctx, struct dt_bytes *events,
		      struct dt_bytes *vals, struct dt_error *e);

/* Appends a record whose dictionary entry l is known. core: the ring that it comes from. The caller
 * makes sure that n < DT_CHUNK_MAX. */
static inline void dt_encoder_put(struct dt_encoder *c, const struct dt_record *r, unsigned l,
				  unsigned core);

/* ---- inline, because this is the writer's hot loop ---- */

/* Maps numbers of small magnitude, negative ones too, to small unsigned ones: 0, -1, 1, -2... */
static inline uint64_t dt_zigzag(uint64_t d)
{
	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

/* Undoes dt_zigzag(). */
static inline uint64_t dt_unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

void dt_encoder_run(struct dt_encoder *c, uint32_t tid); /* starts a run of thread tid */
/* Adds a record's piece of a text. */
void dt_encoder_piece(struct dt_pieces *p, const uint64_t value[4]);
/* Begins the column of cores: all records so far are of `core'. */
void dt_encoder_odd_core(struct dt_encoder *c, unsigned core);

static inline void dt_encoder_put(struct dt_encoder *c, const struct dt_record *r, unsigned l,
				  unsigned core)
{
	uint32_t n = c->n;
	uint64_t d = r->ticks - c->last_ticks;

	if (__builtin_expect(d >= 0xffff || n == 0, 0)) {
		if (n == 0) {
			c->first_ticks = c->min_ticks = c->max_ticks = r->ticks;
			c->last_sp = 0;
			d = 0;
		} else {
			c->tick_escape[c->tick_escapes++] = d;
			d = 0xffff;
		}
		if (r->ticks < c->min_ticks)
			c->min_ticks = r->ticks;
		if (c->last_ticks > c->max_ticks && n)
			c->max_ticks = c->last_ticks;
	}
	c->last_ticks = r->ticks;
	c->tick_low[n] = (uint8_t)d;
	c->tick_high[n] = (uint8_t)(d >> 8);

	if (__builtin_expect(r->tid != c->tid || n == 0, 0))
		dt_encoder_run(c, r->tid);
	if (__builtin_expect((r->core != core && (r->core != 0 || core >= DT_FURTHER_CORES)) ||
				     c->odd_core,
			     0)) {
		if (!c->odd_core)
			dt_encoder_odd_core(c, core);
		c->core[n] = r->core || core >= DT_FURTHER_CORES ? r->core : (uint16_t)core;
	}

	c->site_low[n] = (uint8_t)l;
	c->site_high[n] = (uint8_t)(l >> 8);

	d = r->sp - c->last_sp;
	c->last_sp = r->sp;
	uint64_t z = dt_zigzag((uint64_t)((int64_t)d >> 3));
	if (__builtin_expect(z >= 0xffff || d & 7, 0)) {
		c->sp_escape[c->sp_escapes++] = d;
		z = 0xffff;
	}
	c->sp_low[n] = (uint8_t)z;
	c->sp_high[n] = (uint8_t)(z >> 8);

	struct dt_local *k = &c->local[l];

	c->n = n + 1;
	if (k->piece) {
		dt_encoder_piece(&c->pieces, r->value);
		return;
	}

	uint8_t *data = c->data + c->data_bytes;
	uint8_t *length = c->length + c->lengths;

	for (unsigned m = k->mask, j = 0; m; m >>= 1, j++) {
		if (!(m & 1))
			continue;
		z = dt_zigzag(r->value[j] - k->last[j]);
		k->last[j] = r->value[j];
		/* significant bytes of z, 0 to 8 */
		unsigned bytes = z ? (71 - (unsigned)__builtin_clzll(z)) >> 3 : 0;
		__builtin_memcpy(data, &z, 8);
		data += bytes;
		*length++ = (uint8_t)bytes;
	}
	c->data_bytes = (size_t)(data - c->data);
	c->lengths = (uint32_t)(length - c->length);
}

#endif
