/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Conditions on the values of records: for the BPF programs. */
#ifndef DT_BPF_CONDITIONS_H
#define DT_BPF_CONDITIONS_H

#include "bpf/append.h"

/* Returns a record's value; at: below 4. */
static __always_inline __u64 value_at(const __u64 *value, __u8 at)
{
	return at == 0 ? value[0] : at == 1 ? value[1] : at == 2 ? value[2] : value[3];
}

static __always_inline int is_true(const struct dt_bpf_condition *c, __u64 v)
{
	__u32 shift = c->shift & 63;
	__s64 s;

	v <<= shift;
	s = (__s64)v >> shift;
	v >>= shift;
	switch (c->op) {
	case '=':
		return c->has_sign ? s == (__s64)c->number : v == c->number;
	case '!':
		return c->has_sign ? s != (__s64)c->number : v != c->number;
	case '<':
		return c->has_sign ? s < (__s64)c->number : v < c->number;
	case '>':
		return c->has_sign ? s > (__s64)c->number : v > c->number;
	case DT_BPF_FAILED:
		return s < 0 && s > -4096;
	default:
		return !(s < 0 && s > -4096);
	}
}

#endif
