/* SPDX-License-Identifier: MIT */
/* Sums that the BPF programs keep of calls that they leave out: tells them what is wanted, and
 * takes what there is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session/kernel-bpf-work.h"

/* ---- what is wanted ---- */

static struct dt_bpf_sum_value value_of(const struct dt_sums_source *s)
{
	static const uint8_t from[] = {
		[DT_SUMS_FROM_NOTHING] = DT_BPF_SUM_NOTHING,
		[DT_SUMS_FROM_TIME] = DT_BPF_SUM_TIME,
		[DT_SUMS_FROM_SELF] = DT_BPF_SUM_SELF,
		[DT_SUMS_FROM_ARGUMENT] = DT_BPF_SUM_ARGUMENT,
		[DT_SUMS_FROM_RESULT] = DT_BPF_SUM_RESULT,
		[DT_SUMS_FROM_ERROR] = DT_BPF_SUM_ERROR,
		[DT_SUMS_FROM_THREAD] = DT_BPF_SUM_THREAD,
		[DT_SUMS_FROM_PROCESS] = DT_BPF_SUM_PROCESS,
		/* rows are of one function each */
		[DT_SUMS_FROM_FUNCTION] = DT_BPF_SUM_NOTHING,
	};

	return (struct dt_bpf_sum_value){.from = from[s->from],
					 .at = s->at,
					 .shift = (uint8_t)(s->size ? 64 - 8 * s->size : 0),
					 .has_sign = s->has_sign};
}

/* Returns a number of ticks as ns; INFINITY: all there are. */
static uint64_t ns_of(const struct dt_kernel_bpf *k, double ticks)
{
	double ns = ticks / k->choosing.ticks_per_ns;

	return ns >= 0x1p63 ? UINT64_MAX : (uint64_t)ns;
}

bool dt_bpf_sums_tell(struct dt_kernel_bpf *k, struct dt_bpf_told *f, uint32_t n,
		      const struct dt_kernel_sums *sums)
{
	struct dt_bpf_summing all = {.function = n, .n = sums->n};

	for (unsigned i = 0; i < sums->n && i < DT_BPF_SUMS; i++) {
		const struct dt_sums_plan *p = &sums->sum[i].plan;
		unsigned number = sums->sum[i].number;
		struct dt_bpf_sum *s = &all.sum[i];

		if (p->keys > DT_BPF_SUM_KEYS || number >= DT_BPF_SUMS)
			return false;
		*s = (struct dt_bpf_sum){.number = number,
					 .n = p->conditions.n,
					 .keys = p->keys,
					 .counts = p->counts,
					 .hist = p->hist,
					 .above = ns_of(k, p->conditions.above),
					 .below = ns_of(k, p->conditions.below),
					 .value = value_of(&p->value)};
		f->sum[number].has_sign = p->value.has_sign;
		f->sum[number].is_time =
			p->value.from == DT_SUMS_FROM_TIME || p->value.from == DT_SUMS_FROM_SELF;
		for (unsigned c = 0; c < p->conditions.n && c < DT_BPF_CONDITIONS; c++)
			s->condition[c] = dt_bpf_condition_of(&p->conditions.condition[c]);
		for (unsigned j = 0; j < p->keys; j++) {
			s->key[j] = value_of(&p->key[j]);
			f->sum[number].key_signs |= (uint8_t)(p->key[j].has_sign << j);
		}
	}
	return dt_bpf.bpf_map_update_elem(dt_bpf.bpf_map__fd(dt_bpf.bpf_object__find_map_by_name(
						  k->object, "summing")),
					  &f->pc, &all, BPF_ANY) == 0;
}

/* ---- what there is ---- */

static __int128 number_of(uint64_t v, bool has_sign)
{
	return has_sign ? (__int128)(int64_t)v : (__int128)v;
}

/* Returns the number that is the least or greatest one of a row. */
static __int128 ordered(const struct dt_kernel_bpf *k, uint64_t v, bool has_sign, bool is_time)
{
	if (is_time)
		return (__int128)((double)v * k->choosing.ticks_per_ns);
	return number_of(has_sign ? v ^ 1ull << 63 : v, has_sign);
}

/* Reads the sum of a row, of two halves, which its core may change meanwhile. */
static unsigned __int128 sum_of(const struct dt_bpf_sum_row *r)
{
	uint64_t high = __atomic_load_n(&r->high, __ATOMIC_ACQUIRE), low, before;

	for (int i = 0; i < 16; i++) {
		before = high;
		low = __atomic_load_n(&r->sum, __ATOMIC_ACQUIRE);
		high = __atomic_load_n(&r->high, __ATOMIC_ACQUIRE);
		if (high == before)
			break;
	}
	return (unsigned __int128)high << 64 | low;
}

/* Passes on what has been added to a row. */
static void take_row(struct dt_kernel_bpf *k, const struct dt_bpf_sum_row *r,
		     struct dt_bpf_row_told *told, const struct dt_kernel_summed *to)
{
	const struct dt_bpf_sum_key key = r->key;
	/* values are added before calls are counted */
	struct dt_bpf_row_told now = {.calls = __atomic_load_n(&r->calls, __ATOMIC_ACQUIRE)};
	const struct dt_bpf_told *f;
	struct dt_sums_given g;
	__int128 sum;

	/* it is memory that others could write */
	if (now.calls <= told->calls || key.function >= k->choosing.functions ||
	    key.sum >= DT_BPF_SUMS)
		return;
	f = &k->choosing.function[key.function];
	now.unknown = __atomic_load_n(&r->unknown, __ATOMIC_ACQUIRE);
	now.sum = sum_of(r);
	sum = (__int128)(now.sum - told->sum);
	g = (struct dt_sums_given){
		.function = f->row,
		.calls = now.calls - told->calls,
		.unknown = now.unknown - told->unknown,
		.bucket = key.bucket,
		.sum = f->sum[key.sum].is_time ? (__int128)((double)sum * k->choosing.ticks_per_ns)
					       : sum,
		.least = ordered(k, __atomic_load_n(&r->least, __ATOMIC_ACQUIRE),
				 f->sum[key.sum].has_sign, f->sum[key.sum].is_time),
		.greatest = ordered(k, __atomic_load_n(&r->greatest, __ATOMIC_ACQUIRE),
				    f->sum[key.sum].has_sign, f->sum[key.sum].is_time)};
	if (g.unknown > g.calls)
		g.unknown = g.calls;
	for (unsigned i = 0; i < DT_BPF_SUM_KEYS; i++) {
		g.key_known[i] = !(key.unknown >> i & 1);
		g.key[i] = number_of(key.key[i], f->sum[key.sum].key_signs >> i & 1);
	}
	*told = now;
	to->add(to->ctx, key.sum, &g);
}

/* Makes room for what is told of n rows. */
static bool grow(struct dt_bpf_choosing *c, size_t n)
{
	size_t room = c->row_room ? c->row_room : 256;
	struct dt_bpf_row_told *more;

	while (room < n)
		room *= 2;
	if (room == c->row_room)
		return true;
	more = realloc(c->row_told, room * sizeof(*more));
	if (!more)
		return false;
	memset(more + c->row_room, 0, (room - c->row_room) * sizeof(*more));
	c->row_told = more;
	c->row_room = room;
	return true;
}

/* Passes the calls on that are open, and waits for programs that are just summing one up. */
static void take_open(struct dt_kernel_bpf *k, const struct dt_kernel_summed *to)
{
	struct dt_bpf_choosing *c = &k->choosing;
	const struct timespec little = {0, 50000};
	unsigned waits = 0;

	for (unsigned b = 0; b < DT_BPF_BLOCKS; b++) {
		struct dt_bpf_thread *t = &k->blocks[b];

		if (!__atomic_load_n(&t->owner, __ATOMIC_ACQUIRE))
			continue;
		for (unsigned i = 0; i < DT_BPF_FRAMES; i++) {
			struct dt_bpf_frame *f = &t->frame[i];
			uint64_t state = __atomic_load_n(&f->state, __ATOMIC_ACQUIRE);
			struct dt_bpf_frame copy = *f;
			struct dt_record r;

			if (DT_BPF_STATE(state) != DT_BPF_SUMMED ||
			    !__atomic_compare_exchange_n(&f->state, &state,
							 state - DT_BPF_SUMMED + DT_BPF_DONE, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				continue;
			r = (struct dt_record){.ticks = dt_kernel_clock_ticks(
						       &k->clock, state >> DT_BPF_STATE_BITS),
					       .pc = copy.pc,
					       .tid = (uint32_t)copy.who,
					       .kind = (uint8_t)(copy.who >> 32),
					       .flags = (uint8_t)(copy.who >> 40),
					       .core = (uint16_t)copy.core,
					       .sp = copy.sp};
			memcpy(r.value, copy.value, sizeof(r.value));
			for (size_t n = 0; n < c->functions; n++)
				if (c->function[n].pc == copy.pc) {
					c->function[n].open++;
					to->open(to->ctx, &r, c->function[n].row);
				}
		}
		while (__atomic_load_n(&t->busy, __ATOMIC_ACQUIRE) && waits++ < 400)
			nanosleep(&little, NULL);
	}
}

void dt_bpf_sums_take(void *ctx, const struct dt_kernel_summed *to, bool end)
{
	struct dt_kernel_bpf *k = ctx;
	struct dt_bpf_choosing *c = &k->choosing;
	uint64_t n, others;

	if (!c->row)
		return;
	if (end)
		take_open(k, to);
	n = __atomic_load_n(&k->state->sum_rows, __ATOMIC_ACQUIRE);
	n = n < c->sum_rows ? n : c->sum_rows;
	if (!grow(c, n))
		return; /* what there is stays there */
	for (uint64_t i = 0; i < n; i++)
		if (__atomic_load_n(&c->row[i].used, __ATOMIC_ACQUIRE))
			take_row(k, &c->row[i], &c->row_told[i], to);
	for (unsigned i = 0; i < DT_BPF_SUMS; i++) {
		others = __atomic_load_n(&k->state->sum_others[i], __ATOMIC_ACQUIRE);
		if (others != c->others_told[i])
			to->others(to->ctx, i, others - c->others_told[i]);
		c->others_told[i] = others;
	}
}
