/* SPDX-License-Identifier: MIT */
#include "export/parquet-encode.h"

#include "export/varint.h"

#define BLOCK 128u /* numbers whose differences share a least one */
#define MINI  32u  /* of these, numbers that share a width */

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Adds MINI numbers of `width' bits each, lowest bit first. */
static void pack(struct dt_json *to, const uint64_t *v, unsigned width)
{
	uint8_t out[MINI * 8] = {0};
	unsigned at = 0; /* bits */

	for (unsigned i = 0; i < MINI; i++)
		for (unsigned done = 0; done < width;) {
			unsigned room = 8 - at % 8, n = width - done < room ? width - done : room;

			out[at / 8] |= (uint8_t)((v[i] >> done & ((1u << n) - 1)) << at % 8);
			done += n;
			at += n;
		}
	dt_json_bytes(to, out, MINI * width / 8);
}

/* Adds up to BLOCK differences. They are taken modulo 2^64, as all of this encoding is. */
static void block(struct dt_json *to, const uint64_t *delta, size_t n)
{
	uint64_t rest[BLOCK] = {0};
	uint8_t width[BLOCK / MINI] = {0};
	int64_t least = (int64_t)delta[0];

	for (size_t i = 1; i < n; i++)
		least = (int64_t)delta[i] < least ? (int64_t)delta[i] : least;
	for (size_t i = 0; i < n; i++)
		rest[i] = delta[i] - (uint64_t)least;
	for (size_t i = 0; i < n; i++)
		if (bits_of(rest[i]) > width[i / MINI])
			width[i / MINI] = (uint8_t)bits_of(rest[i]);
	dt_export_varint(to, dt_zigzag((uint64_t)least));
	dt_json_bytes(to, width, sizeof(width));
	for (size_t m = 0; m < BLOCK / MINI && m * MINI < n; m++)
		pack(to, rest + m * MINI, width[m]);
}

void dt_parquet_deltas(struct dt_json *to, const uint64_t *v, size_t n)
{
	uint64_t delta[BLOCK];
	size_t k = 0;

	dt_export_varint(to, BLOCK);
	dt_export_varint(to, BLOCK / MINI);
	dt_export_varint(to, n);
	dt_export_varint(to, n ? dt_zigzag(v[0]) : 0);
	for (size_t i = 1; i < n; i++) {
		delta[k++] = v[i] - v[i - 1];
		if (k == BLOCK || i + 1 == n) {
			block(to, delta, k);
			k = 0;
		}
	}
}

void dt_parquet_bits(struct dt_json *to, const uint32_t *v, size_t n, unsigned width)
{
	size_t groups = (n + 7) / 8; /* of 8 numbers */
	uint8_t out[32];

	dt_export_varint(to, (uint64_t)groups << 1 | 1);
	for (size_t g = 0; g < groups; g++) {
		unsigned __int128 some = 0;
		unsigned have = 0, at = 0;

		for (size_t i = 0; i < 8; i++) {
			uint64_t one = g * 8 + i < n ? v[g * 8 + i] : 0;

			some |= (unsigned __int128)one << have;
			for (have += width; have >= 8; have -= 8, some >>= 8)
				out[at++] = (uint8_t)some;
		}
		dt_json_bytes(to, out, at);
	}
}

unsigned dt_parquet_width(uint32_t n)
{
	return n > 2 ? bits_of(n - 1) : 1;
}
