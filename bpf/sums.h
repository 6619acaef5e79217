/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Sums of calls that are left out: for the BPF programs. What the recorder would do with the call's
 * two records (filter/sums.c) is done here with its frame and its exit: where the words of a sum
 * ask for something else, the recorder has the calls recorded.
 *
 * Rows are in memory that the recorder has mapped, and the map `sum_at' says where. Each core has
 * rows of its own, so that cores do not wait for each other.
 */
#ifndef DT_BPF_SUMS_H
#define DT_BPF_SUMS_H

#include "bpf/append.h"
#include "bpf/conditions.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DT_BPF_CHOSEN);
	__type(key, __u64);
	__type(value, struct dt_bpf_summing);
} summing SEC(".maps");

/* Allocated beforehand: a row is there when a call wants one, or the table is full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct dt_bpf_sum_key);
	__type(value, __u32);
} sum_at SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_sum_row);
} sum_rows SEC(".maps");

/* ---- values ---- */

/* Reads a value. 0: it is not known. */
static __always_inline int read_value(const struct dt_bpf_sum_value *v,
				      const struct dt_bpf_ended *e, __u64 *to)
{
	__u32 shift = v->shift & 63;
	__u64 x = 0;

	switch (v->from) {
	case DT_BPF_SUM_TIME:
		*to = e->took;
		return e->timed;
	case DT_BPF_SUM_SELF:
		*to = e->self;
		return e->timed;
	case DT_BPF_SUM_THREAD:
		*to = e->tid;
		return 1;
	case DT_BPF_SUM_PROCESS:
		*to = e->process;
		return 1;
	case DT_BPF_SUM_ARGUMENT:
		x = value_at(e->value, v->at);
		break;
	case DT_BPF_SUM_RESULT:
	case DT_BPF_SUM_ERROR:
		if (!e->has_result)
			return 0;
		x = e->result;
		break;
	default:
		return 0;
	}
	x <<= shift;
	x = v->has_sign ? (__u64)((__s64)x >> shift) : x >> shift;
	if (v->from == DT_BPF_SUM_ERROR)
		x = (__s64)x < 0 && (__s64)x > -4096 ? -x : 0;
	*to = x;
	return 1;
}

/* Returns how many bits a number has, without zeros in front. */
static __always_inline __u32 bits_of(__u64 v)
{
	__u32 n = 0;

	if (v >> 32) {
		n += 32;
		v >>= 32;
	}
	if (v >> 16) {
		n += 16;
		v >>= 16;
	}
	if (v >> 8) {
		n += 8;
		v >>= 8;
	}
	if (v >> 4) {
		n += 4;
		v >>= 4;
	}
	if (v >> 2) {
		n += 2;
		v >>= 2;
	}
	if (v >> 1) {
		n += 1;
		v >>= 1;
	}
	return n + (__u32)v;
}

/* Returns the bucket of a value, as dt_sums_bucket() does. */
static __always_inline __u32 bucket_of(__u64 v, __u32 has_sign)
{
	if (has_sign && (__s64)v < 0)
		return 64 - bits_of(-v);
	return 64 + bits_of(v);
}

/* ---- rows ---- */

static __always_inline struct dt_bpf_sum_row *row_at(const struct dt_bpf_sum_key *key)
{
	__u32 *at = bpf_map_lookup_elem(&sum_at, key);

	return at ? bpf_map_lookup_elem(&sum_rows, at) : NULL;
}

/* Makes a row. NULL: there is no room. */
static __always_inline struct dt_bpf_sum_row *new_row(const struct dt_bpf_sum_key *key)
{
	struct dt_bpf_sum_row *row;
	__u64 taken;
	__u32 at;

	if (*(volatile __u64 *)&state.sum_rows >= settings.sums)
		return NULL;
	taken = __sync_fetch_and_add(&state.sum_rows, 1);
	if (taken >= settings.sums)
		return NULL;
	at = (__u32)taken;
	row = bpf_map_lookup_elem(&sum_rows, &at);
	if (!row)
		return NULL;
	row->key = *key;
	row->least = ~0ull;
	/* what has interrupted this program on its core may have made the row meanwhile */
	if (bpf_map_update_elem(&sum_at, key, &at, BPF_NOEXIST))
		return row_at(key);
	barrier();
	*(volatile __u64 *)&row->used = 1;
	return row;
}

static __always_inline void lower(__u64 *p, __u64 v)
{
	for (int i = 0; i < 8; i++) {
		__u64 now = *(volatile __u64 *)p;

		if (now <= v || __sync_val_compare_and_swap(p, now, v) == now)
			return;
	}
}

static __always_inline void raise(__u64 *p, __u64 v)
{
	for (int i = 0; i < 8; i++) {
		__u64 now = *(volatile __u64 *)p;

		if (now >= v || __sync_val_compare_and_swap(p, now, v) == now)
			return;
	}
}

/* Adds a value to a row. A program of another thread may interrupt this one on its core. */
static __always_inline void add_value(struct dt_bpf_sum_row *row, __u64 v, __u32 has_sign)
{
	__u64 negative = has_sign && (__s64)v < 0, high;
	__u64 ordered = v ^ (has_sign ? 1ull << 63 : 0);

	high = __sync_fetch_and_add(&row->sum, v) + v < v;
	high -= negative;
	if (high)
		__sync_fetch_and_add(&row->high, high);
	lower(&row->least, ordered);
	raise(&row->greatest, ordered);
}

/* ---- sums ---- */

/* Does the call count? */
static __always_inline int counts(const struct dt_bpf_sum *s, const struct dt_bpf_ended *e)
{
	if (e->took <= s->above && s->above)
		return 0;
	if (e->took >= s->below)
		return 0;
	for (__u32 i = 0; i < DT_BPF_CONDITIONS && i < s->n; i++) {
		const struct dt_bpf_condition *c = &s->condition[i];

		if (c->of_exit ? !e->has_result || !is_true(c, e->result)
			       : !is_true(c, value_at(e->value, c->at)))
			return 0;
	}
	return 1;
}

/* Adds a call to one of the sums over the calls of its function. */
__noinline int add_to_sum(struct dt_bpf_summing *of, __u32 i, const struct dt_bpf_ended *e)
{
	struct dt_bpf_sum_key key = {};
	struct dt_bpf_sum_row *row;
	struct dt_bpf_sum *s;
	__u64 v = 0;
	int known;

	if (!of || !e || i >= DT_BPF_SUMS)
		return 0;
	s = &of->sum[i];
	if (!counts(s, e))
		return 0;
	key.function = of->function;
	key.sum = (__u16)s->number;
	key.core = bpf_get_smp_processor_id();
	for (__u32 k = 0; k < DT_BPF_SUM_KEYS && k < s->keys; k++)
		if (!read_value(&s->key[k], e, &key.key[k])) {
			key.key[k] = 0;
			key.unknown |= 1u << k;
		}
	known = !s->counts && read_value(&s->value, e, &v);
	key.bucket = known && s->hist ? (__u16)bucket_of(v, s->value.has_sign) : DT_BPF_NO_BUCKET;
	row = row_at(&key);
	if (!row)
		row = new_row(&key);
	if (!row) {
		__sync_fetch_and_add(&state.sum_others[s->number & (DT_BPF_SUMS - 1)], 1);
		return 0;
	}
	if (known)
		add_value(row, v, s->value.has_sign);
	else if (!s->counts)
		__sync_fetch_and_add(&row->unknown, 1);
	/* last: the recorder reads this first */
	__sync_fetch_and_add(&row->calls, 1);
	return 0;
}

/* How a call has ended, for sum_up(). */
#define WITHOUT_RESULT 1
#define NOT_YET	       2 /* it has not: how long it takes is not known */

/* Adds a call, the i-th that its thread has open, to all sums of its function. */
__noinline int sum_up(struct dt_bpf_thread *t, __u32 i, __u64 took, __u64 result, __u32 how)
{
	struct dt_bpf_summing *of;
	struct dt_bpf_frame *f;
	struct dt_bpf_ended *e;
	__u64 pc;

	if (!t || i >= DT_BPF_FRAMES)
		return 0;
	f = &t->frame[i];
	pc = f->pc;
	of = bpf_map_lookup_elem(&summing, &pc);
	if (!of)
		return 0;
	e = &t->ended;
	e->value[0] = f->value[0];
	e->value[1] = f->value[1];
	e->value[2] = f->value[2];
	e->value[3] = f->value[3];
	e->result = result;
	e->took = took;
	e->self = took > f->children ? took - f->children : 0;
	e->tid = (__u32)f->who;
	e->process = (__u32)t->process;
	e->has_result = !how;
	e->timed = how != NOT_YET;
	for (__u32 k = 0; k < DT_BPF_SUMS && k < of->n; k++)
		add_to_sum(of, k, e);
	return 0;
}

#endif
