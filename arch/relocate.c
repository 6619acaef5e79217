/* SPDX-License-Identifier: MIT */
/* Where threads in instructions that are moved, or in their copies, go on. */
#include "arch/relocate.h"

uint64_t dt_moved_forward(const struct dt_moved_at *at, unsigned n, uint64_t from, uint64_t to,
			  uint64_t ip)
{
	for (unsigned i = 1; i < n; i++)
		if (ip == from + at[i].from)
			return to + at[i].to;
	return ip;
}

uint64_t dt_moved_back(const struct dt_moved_at *at, unsigned n, uint64_t from, uint64_t to,
		       uint64_t ip)
{
	for (unsigned i = 0; i <= n; i++)
		if (ip == to + at[i].to)
			return from + at[i].from;
	return 0;
}
