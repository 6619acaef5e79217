/* SPDX-License-Identifier: MIT */
#include "core/offset.h"

int64_t dt_offset(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3)
{
	__int128 there = (__int128)t1 - t0, back = (__int128)t2 - t3;

	return (int64_t)((there + back) / 2);
}

uint64_t dt_offset_error(uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3)
{
	return ((t3 - t0) - (t2 - t1) + 1) / 2;
}
