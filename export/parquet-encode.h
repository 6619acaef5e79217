/* SPDX-License-Identifier: MIT */
/* Parquet's encodings of a column's values (parquet-format, "Encodings.md"). */
#ifndef DT_EXPORT_PARQUET_ENCODE_H
#define DT_EXPORT_PARQUET_ENCODE_H

#include "show/json.h"

/* Adds n numbers as differences, each block of them by its own width: DELTA_BINARY_PACKED. */
void dt_parquet_deltas(struct dt_json *to, const uint64_t *v, size_t n);
/* Adds n numbers below 2^width as one run of bits, lowest first: the RLE encoding without runs of
 * equal numbers. width: 1 to 32 */
void dt_parquet_bits(struct dt_json *to, const uint32_t *v, size_t n, unsigned width);
/* Returns how many bits the numbers from 0 to n - 1 take; at least 1. */
unsigned dt_parquet_width(uint32_t n);

#endif
