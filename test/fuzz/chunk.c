/* SPDX-License-Identifier: MIT */
/*
 * One chunk of a trace file: what decodes it. The first byte chooses:
 *   1  the rest is a chunk's two blobs, compressed (checksums are not looked at)
 *   2  the rest is the heads and columns of a chunk, uncompressed: compressed here, so that the
 *      decoder is reached through any content
 */
#define ZSTD_STATIC_LINKING_ONLY /* for ignoring checksums */
#include <zstd.h>
#include "store/decode.h"
#include "store/layout.h"
#include "test/fuzz/fuzz.h"

#define SITES 300

/* Decodes all and looks at everything. */
static void decode(const void *events, size_t n, const void *vals, size_t vals_n, uint32_t records)
{
	struct dt_decoder d = {0}; /* a new one, so that its memory has no room to spare */
	static struct dt_batch b;
	static ZSTD_DCtx *dctx;
	uint64_t sum = 0;

	if (!dctx) {
		dctx = ZSTD_createDCtx();
		ZSTD_DCtx_setParameter(dctx, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);
	}
	if (dt_decoder_load(&d, dctx, events, n, vals, vals_n, records, SITES, NULL))
		goto out;
	while (!dt_decoder_batch(&d, 3, &b, NULL) && b.n)
		for (uint32_t i = 0; i < b.n; i++) {
			sum += b.ticks[i] + b.sp[i] + b.flags[i] + b.core[i];
			if (b.site[i] == 0 || b.site[i] > SITES)
				abort();
			if (vals)
				sum += b.value[i][0] + b.value[i][3];
		}
	for (uint32_t i = 0; i < d.runs; i++)
		sum += d.run_tid[i] + d.run_length[i];
	__asm__ volatile("" : : "r"(sum));
out:
	dt_decoder_free(&d);
}

static void compressed(const uint8_t *data, size_t size)
{
	uint32_t records, split;
	uint8_t *events, *vals;

	if (size < 8)
		return;
	memcpy(&records, data, 4);
	memcpy(&split, data + 4, 4);
	data += 8;
	size -= 8;
	split = split > size ? (uint32_t)size : split;
	/* exact copies, so that the sanitizer sees reads beyond their ends */
	events = malloc(split + 1);
	vals = malloc(size - split + 1);
	memcpy(events, data, split);
	memcpy(vals, data + split, size - split);
	decode(events, split, records & 0x10000 ? vals : NULL, size - split, records & 0xffff);
	free(events);
	free(vals);
}

struct input {
	const uint8_t *p;
	size_t left;
	uint8_t pad;
};

/* Bytes of the input; behind its end, its last one again and again. */
static void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, in->pad, n);
	memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static uint8_t *take_column(struct input *in, size_t n)
{
	uint8_t *column = malloc(n + 8);

	take(in, column, n);
	return column;
}

/* Compresses a column behind the others, and frees it. */
static void add_column(struct dt_bytes *out, uint8_t *column, size_t n)
{
	size_t bound = ZSTD_compressBound(n), done;

	out->p = realloc(out->p, out->n + bound);
	done = ZSTD_compress(out->p + out->n, bound, column, n, -5);
	if (!ZSTD_isError(done))
		out->n += done;
	free(column);
}

/* Makes the columns agree as far as the decoder checks at its start, to get behind that. */
static void agree(struct dt_events_head *h, struct dt_vals_head *v, struct dt_pieces_head *pieces,
		  uint8_t *dictionary, uint32_t *run_length, uint8_t *site, uint8_t *length)
{
	uint32_t left = h->n, values = 0, bytes = 0, texts = 0;
	uint8_t *mask = dictionary + 4 * (size_t)h->locals;

	for (uint32_t i = 0; i < h->locals; i++) {
		uint32_t row = 1 + dictionary[4 * i] % SITES;

		memcpy(dictionary + 4 * i, &row, 4);
		if (mask[i] & DT_LOCAL_PIECE)
			mask[i] |= 15;
		if (!(h->columns & DT_HAS_PIECES))
			mask[i] &= 15;
	}
	for (uint32_t i = 0; i < h->runs; i++) {
		run_length[i] = i + 1 == h->runs ? left : 1 + run_length[i] % 8;
		left -= run_length[i];
	}
	for (uint32_t i = 0; i < h->n; i++) {
		if (site[i] % 16) /* some stay wrong */
			site[i] %= h->locals;
		if (site[i] >= h->locals)
			continue;
		if (mask[site[i]] & DT_LOCAL_PIECE)
			texts++;
		else
			values += (uint32_t)__builtin_popcount(mask[site[i]] & 15);
	}
	v->lengths = values < v->lengths ? values : v->lengths;
	for (uint32_t i = 0; i < v->lengths; i++)
		bytes += length[i] %= 9;
	v->data_bytes = bytes;
	/* no more different ones than there are, nor more bytes than these have */
	pieces->records = texts;
	pieces->different = texts && pieces->different % texts ? pieces->different % texts : texts;
	pieces->bytes = texts ? pieces->bytes % (32 * pieces->different + 1) : 0;
}

/* Adds the columns of the pieces of texts. alike: their numbers and lengths are such as can be, but
 * for some, and their bytes as many as are left. */
static void add_pieces(struct dt_bytes *vals, struct input *in, const struct dt_pieces_head *h,
		       bool alike)
{
	bool has_high = h->different > 256;
	uint8_t *low = take_column(in, h->records),
		*high = has_high ? take_column(in, h->records) : NULL,
		*length = take_column(in, h->different), *bytes = take_column(in, h->bytes);
	uint32_t left = h->bytes;

	for (uint32_t i = 0; alike && h->different && i < h->records; i++) {
		uint32_t number = low[i] | (high ? (uint32_t)high[i] << 8 : 0);

		if (number % 64 == 63) /* it stays wrong, perhaps */
			continue;
		number %= h->different;
		low[i] = (uint8_t)number;
		if (high)
			high[i] = (uint8_t)(number >> 8);
	}
	for (uint32_t i = 0; alike && i < h->different; i++) {
		uint32_t after = h->different - 1 - i, n = length[i] % 33;

		/* all of them together are the bytes */
		n = n > left ? left : n;
		n = left - n > 32 * after ? left - 32 * after : n;
		length[i] = (uint8_t)n;
		left -= n;
	}
	add_column(vals, low, h->records);
	if (high)
		add_column(vals, high, h->records);
	add_column(vals, length, h->different);
	if (h->bytes)
		add_column(vals, bytes, h->bytes);
	else
		free(bytes);
}

static void uncompressed(const uint8_t *data, size_t size)
{
	struct input in = {data, size, size ? data[size - 1] : 0};
	struct dt_events_head h;
	struct dt_vals_head v;
	struct dt_bytes events = {0}, vals = {0};
	struct dt_pieces_head pieces = {0};
	uint8_t *dictionary, *run_length, *site, *length, *low[2];
	bool alike, has_pieces;

	take(&in, &h, sizeof(h));
	take(&in, &v, sizeof(v));
	alike = !(h.columns & 0x100);
	h.columns &= alike ? 13 | DT_HAS_PIECES : 31;
	h.n = 1 + (h.n & 0xfff);
	h.locals = 1 + (h.locals & 0xff);
	h.runs = 1 + (h.runs & 0x1ff);
	h.tick_escapes &= 0xff;
	h.sp_escapes &= 0xff;
	has_pieces = h.columns & DT_HAS_PIECES;
	if (has_pieces) {
		take(&in, &pieces, sizeof(pieces));
		pieces.records &= 0xfff;
		pieces.different &= 0x3ff;
		pieces.bytes &= 0x7fff;
	}
	v.lengths &= 0x3fff;
	v.data_bytes &= 0x1ffff;
	if (alike && 8 * h.runs > h.n)
		h.runs = 1 + h.n / 9;
	if (alike && h.locals > h.n)
		h.locals = h.n;
	dictionary = take_column(&in, 6 * (size_t)h.locals);
	run_length = take_column(&in, 4 * (size_t)h.runs);
	site = take_column(&in, h.n);
	length = take_column(&in, v.lengths);
	low[0] = take_column(&in, h.n);
	low[1] = take_column(&in, h.n);
	if (alike)
		agree(&h, &v, &pieces, dictionary, (uint32_t *)(void *)run_length, site, length);
	events.p = malloc(sizeof(h));
	memcpy(events.p, &h, events.n = sizeof(h));
	vals.p = malloc(sizeof(v));
	memcpy(vals.p, &v, vals.n = sizeof(v));
	if (has_pieces) {
		vals.p = realloc(vals.p, sizeof(v) + sizeof(pieces));
		memcpy(vals.p + vals.n, &pieces, sizeof(pieces));
		vals.n += sizeof(pieces);
	}
	add_column(&events, dictionary, 6 * (size_t)h.locals);
	add_column(&events, take_column(&in, 4 * (size_t)h.runs), 4 * (size_t)h.runs);
	add_column(&events, run_length, 4 * (size_t)h.runs);
	add_column(&events, low[0], h.n);
	if (h.columns & DT_HAS_TICK_HIGH)
		add_column(&events, take_column(&in, h.n), h.n);
	if (h.tick_escapes)
		add_column(&events, take_column(&in, 8 * (size_t)h.tick_escapes),
			   8 * (size_t)h.tick_escapes);
	add_column(&events, site, h.n);
	if (h.columns & DT_HAS_SITE_HIGH)
		add_column(&events, take_column(&in, h.n), h.n);
	add_column(&events, low[1], h.n);
	if (h.columns & DT_HAS_SP_HIGH)
		add_column(&events, take_column(&in, h.n), h.n);
	if (h.sp_escapes)
		add_column(&events, take_column(&in, 8 * (size_t)h.sp_escapes),
			   8 * (size_t)h.sp_escapes);
	if (h.columns & DT_HAS_CORE)
		add_column(&events, take_column(&in, 2 * (size_t)h.n), 2 * (size_t)h.n);
	if (v.lengths)
		add_column(&vals, length, v.lengths);
	else
		free(length);
	if (v.data_bytes)
		add_column(&vals, take_column(&in, v.data_bytes), v.data_bytes);
	if (has_pieces)
		add_pieces(&vals, &in, &pieces, alike);
	decode(events.p, events.n, vals.p, vals.n, h.n);
	free(events.p);
	free(vals.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_begin();
	if (!size)
		return 0;
	if (data[0] % 3 == 1)
		compressed(data + 1, size - 1);
	else
		uncompressed(data + 1, size - 1);
	return 0;
}
