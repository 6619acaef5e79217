/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of trace files. The first byte chooses:
 *   0  the rest is a whole file
 *   1  the rest is a chunk's two blobs, compressed (checksums are not looked at)
 *   2  the rest is the heads and columns of a chunk, uncompressed: compressed here, so that the
 *      decoder is reached through any content
 * With a seed folder that test/fuzz/trace.t makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZSTD_STATIC_LINKING_ONLY /* for ignoring checksums */
#include <zstd.h>
#include "analyse/stats.h"
#include "store/decode.h"
#include "store/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SITES 300

/* Decodes all and looks at everything. */
static void decode(const void *events, size_t n, const void *vals, size_t vals_n, uint32_t records)
{
	static struct dt_decoder d;
	static struct dt_batch b;
	static ZSTD_DCtx *dctx;
	uint64_t sum = 0;

	if (!dctx) {
		dctx = ZSTD_createDCtx();
		ZSTD_DCtx_setParameter(dctx, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);
	}
	if (dt_decoder_load(&d, dctx, events, n, vals, vals_n, records, SITES, NULL))
		return;
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
};

/* Bytes of the input, zeros behind its end. */
static void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	memcpy(to, in->p, have);
	in->p += have;
	in->left -= have;
}

static void add_column(struct input *in, struct dt_bytes *out, size_t n)
{
	uint8_t *column = malloc(n + 1);
	size_t bound = ZSTD_compressBound(n), done;

	take(in, column, n);
	out->p = realloc(out->p, out->n + bound);
	done = ZSTD_compress(out->p + out->n, bound, column, n, -5);
	if (!ZSTD_isError(done))
		out->n += done;
	free(column);
}

static void uncompressed(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct dt_events_head h;
	struct dt_vals_head v;
	struct dt_bytes events = {0}, vals = {0};

	take(&in, &h, sizeof(h));
	take(&in, &v, sizeof(v));
	h.n &= 0xfff;
	h.locals &= 0xfff;
	h.runs &= 0xfff;
	h.tick_escapes &= 0xfff;
	h.sp_escapes &= 0xfff;
	v.lengths &= 0x3fff;
	v.data_bytes &= 0x1ffff;
	events.p = malloc(sizeof(h));
	memcpy(events.p, &h, events.n = sizeof(h));
	vals.p = malloc(sizeof(v));
	memcpy(vals.p, &v, vals.n = sizeof(v));
	add_column(&in, &events, 6 * (size_t)h.locals);
	add_column(&in, &events, 4 * (size_t)h.runs);
	add_column(&in, &events, 4 * (size_t)h.runs);
	add_column(&in, &events, h.n);
	if (h.columns & DT_HAS_TICK_HIGH)
		add_column(&in, &events, h.n);
	if (h.tick_escapes)
		add_column(&in, &events, 8 * (size_t)h.tick_escapes);
	add_column(&in, &events, h.n);
	if (h.columns & DT_HAS_SITE_HIGH)
		add_column(&in, &events, h.n);
	add_column(&in, &events, h.n);
	if (h.columns & DT_HAS_SP_HIGH)
		add_column(&in, &events, h.n);
	if (h.sp_escapes)
		add_column(&in, &events, 8 * (size_t)h.sp_escapes);
	if (h.columns & DT_HAS_CORE)
		add_column(&in, &events, 2 * (size_t)h.n);
	if (v.lengths)
		add_column(&in, &vals, v.lengths);
	if (v.data_bytes)
		add_column(&in, &vals, v.data_bytes);
	decode(events.p, events.n, vals.p, vals.n, h.n);
	free(events.p);
	free(vals.p);
}

static void whole_file(const uint8_t *data, size_t size)
{
	static char path[64];
	struct dt_stats stats = {0};
	struct dt_pair_events events = {.end = dt_stats_call, .ctx = &stats};
	struct dt_range range = {.order = size & 1 ? DT_BY_TIME : DT_BY_THREAD, .values = true};
	struct dt_reader *r;
	struct dt_error e;

	FILE *f;

	snprintf(path, sizeof(path), "/dev/shm/devtrace-fuzz-%d", getpid());
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size)
		abort();
	fclose(f);
	r = dt_reader_open(path, &e);
	if (r) {
		dt_pair_run(r, &range, &events, &e);
		dt_stats_free(&stats);
		dt_reader_close(r);
	}
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		whole_file(data + 1, size - 1);
		break;
	case 1:
		compressed(data + 1, size - 1);
		break;
	default:
		uncompressed(data + 1, size - 1);
	}
	return 0;
}
