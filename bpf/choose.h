/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Chooses among calls before they are recorded, by conditions that the recorder has told: for the
 * BPF programs.
 *
 * Each thread has a block, which it takes when it makes a call and gives back when it is in none
 * any more. A block has a frame for each open call. Entries of calls whose end decides are kept in
 * their frames, and are written when that has come, to the further ring of the core that they were
 * made on (they are not in the order of time there). Where there is no block or frame, a call is
 * recorded, and the recorder decides: what is left out here would be left out by it, too.
 */
#ifndef DT_BPF_CHOOSE_H
#define DT_BPF_CHOOSE_H

#include "bpf/append.h"

/* By function: its conditions, and what was left out. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DT_BPF_CHOSEN);
	__type(key, __u64);
	__type(value, struct dt_bpf_chosen);
} chosen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DT_BPF_CHOSEN);
	__type(key, __u64);
	__type(value, struct dt_bpf_left);
} left_out SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_thread);
} blocks SEC(".maps");

/* A record that may be made. In memory, where the verifier takes no pointer for one. */
struct made {
	__u64 who, pc, sp, value[4];
};

/* The functions below that are not static are looked at by the kernel's verifier once each, not for
 * each way that leads to them. */

/* ---- blocks ---- */

/* Returns the block for a thread; NULL: another one has it. */
static __always_inline struct dt_bpf_thread *block_of(__u32 pid)
{
	__u32 i = pid & (DT_BPF_BLOCKS - 1);

	return bpf_map_lookup_elem(&blocks, &i);
}

/* ---- conditions ---- */

static __always_inline int is_true(const struct dt_bpf_condition *c, const __u64 *value)
{
	__u32 shift = c->shift & 63;
	__u64 v = c->at == 0 ? value[0] : c->at == 1 ? value[1] : c->at == 2 ? value[2] : value[3];
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

/* Are those of the conditions true that are about the entry (0), or the exit (1)? */
__noinline int are_true(struct dt_bpf_chosen *c, const struct made *m, __u32 exit)
{
	if (!c || !m)
		return 1;
	for (__u32 i = 0; i < DT_BPF_CONDITIONS && i < c->n; i++)
		if (c->condition[i].of_exit == exit && !is_true(&c->condition[i], m->value))
			return 0;
	return 1;
}

/* ---- what is left out ---- */

static __always_inline void note_least(__u64 *p, __u64 v)
{
	for (int i = 0; i < 8; i++) {
		__u64 now = *(volatile __u64 *)p;

		if ((now && now <= v) || __sync_val_compare_and_swap(p, now, v) == now)
			return;
	}
}

static __always_inline void note_most(__u64 *p, __u64 v)
{
	for (int i = 0; i < 8; i++) {
		__u64 now = *(volatile __u64 *)p;

		if (now >= v || __sync_val_compare_and_swap(p, now, v) == now)
			return;
	}
}

/* Counts a call that is left out. A program of another thread may interrupt this one on its core.
 * timed: it is known how long it took */
__noinline int count_left(struct dt_bpf_thread *t, __u32 i, __u64 ns, int timed)
{
	struct dt_bpf_frame *f;
	struct dt_bpf_left *l;
	__u64 pc;
	int outermost = 1;

	if (!t || i >= DT_BPF_FRAMES)
		return 0;
	f = &t->frame[i];
	pc = f->pc;
	l = bpf_map_lookup_elem(&left_out, &pc);
	if (!l)
		return 0;
	if (!timed) {
		__sync_fetch_and_add(&l->untimed, 1);
		return 0;
	}
	for (__u32 k = 0; k < DT_BPF_FRAMES && k < i; k++)
		if (t->frame[k].pc == pc)
			outermost = 0;
	__sync_fetch_and_add(&l->calls, 1);
	if (outermost)
		__sync_fetch_and_add(&l->total, ns);
	if (ns > f->children)
		__sync_fetch_and_add(&l->self, ns - f->children);
	/* 0 stands for nothing in `min' */
	note_least(&l->min, ns + 1);
	note_most(&l->max, ns);
	return 0;
}

/* ---- frames ---- */

/* Writes the entry of a call that waits in its frame, unless the recorder has just taken it. */
__noinline int write_entry(struct dt_bpf_frame *f)
{
	__u64 was, value[4];
	struct dt_bpf_record *r;

	if (!f)
		return 0;
	was = *(volatile __u64 *)&f->state;
	value[0] = f->value[0];
	value[1] = f->value[1];
	value[2] = f->value[2];
	value[3] = f->value[3];
	if (DT_BPF_STATE(was) != DT_BPF_WAITS ||
	    __sync_val_compare_and_swap(&f->state, was, was - DT_BPF_WAITS + DT_BPF_COMES) != was)
		return 0;
	/* until the record is there, the recorder waits for it */
	r = reserve_in(f->core + settings.cores);
	if (r) {
		r->ns = was >> DT_BPF_STATE_BITS;
		publish(r, f->who, f->pc, f->sp, value);
	}
	barrier();
	*(volatile __u64 *)&f->state = 0;
	return 0;
}

/* Takes the innermost call away, of which nothing more comes. */
__noinline int forget_innermost(struct dt_bpf_thread *t, __u64 ns)
{
	struct dt_bpf_frame *f;
	__u64 state, took;
	__u32 i;

	if (!t)
		return 0;
	i = ((__u32)t->n - 1) & (DT_BPF_FRAMES - 1);
	f = &t->frame[i];
	state = *(volatile __u64 *)&f->state;
	took = ns - (state >> DT_BPF_STATE_BITS);
	if (DT_BPF_STATE(state) == DT_BPF_WAITS)
		write_entry(f);
	else if (DT_BPF_STATE(state) == DT_BPF_LEFT)
		count_left(t, i, took, 1);
	if (i)
		t->frame[(i - 1) & (DT_BPF_FRAMES - 1)].children += took;
	*(volatile __u64 *)&f->state = 0;
	t->n = i;
	return 0;
}

/* Takes away what is below an sp: it is gone. */
__noinline int unwind(struct dt_bpf_thread *t, __u64 sp, __u64 ns)
{
	if (!t)
		return 0;
	for (__u32 i = 0; i < DT_BPF_FRAMES; i++) {
		if (!t->n || t->frame[(t->n - 1) & (DT_BPF_FRAMES - 1)].sp >= sp)
			break;
		forget_innermost(t, ns);
	}
	return 0;
}

/* Is done with a block, and gives it back if it has no frames. */
static __always_inline void give_back(struct dt_bpf_thread *t)
{
	t->busy = 0;
	barrier();
	if (!t->n) {
		barrier();
		*(volatile __u64 *)&t->owner = 0;
	}
}

/* Records that the running thread begins a call, or keeps it until it has ended. */
__noinline int begin_call(const struct made *m)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	struct dt_bpf_thread *t;
	struct dt_bpf_chosen *c;
	struct dt_bpf_frame *f;
	__u64 ns, pc, is = DT_BPF_PASSED;

	if (!m)
		return 0;
	pc = m->pc;
	t = block_of(pid);
	if (!t || (t->owner != pid && __sync_val_compare_and_swap(&t->owner, 0, pid)) || t->busy)
		goto pass;
	t->busy = 1;
	ns = bpf_ktime_get_ns();
	unwind(t, m->sp, ns);
	c = bpf_map_lookup_elem(&chosen, &pc);
	if (t->n >= DT_BPF_FRAMES)
		goto full;
	if (c && (c->never || !are_true(c, m, 0)))
		is = DT_BPF_LEFT;
	else if (c && c->ends)
		is = DT_BPF_WAITS;
	f = &t->frame[t->n & (DT_BPF_FRAMES - 1)];
	f->pc = pc;
	f->sp = m->sp;
	f->who = m->who;
	f->children = 0;
	f->core = bpf_get_smp_processor_id();
	f->value[0] = m->value[0];
	f->value[1] = m->value[1];
	f->value[2] = m->value[2];
	f->value[3] = m->value[3];
	barrier();
	*(volatile __u64 *)&f->state = ns << DT_BPF_STATE_BITS | is;
	t->n++;
full:
	t->busy = 0;
	if (is != DT_BPF_PASSED)
		return 0;
pass:
	append(m->who, m->pc, m->sp, m->value);
	return 0;
}

/* Finds the frame of a call that ends; DT_BPF_FRAMES: it has none. A call that has jumped to
 * another function has the same sp as that. */
static __always_inline __u32 frame_of(const struct dt_bpf_thread *t, __u64 pc, __u64 sp)
{
	for (__u32 i = 1; i <= 3 && i <= t->n; i++) {
		const struct dt_bpf_frame *f = &t->frame[(t->n - i) & (DT_BPF_FRAMES - 1)];

		if (f->sp != sp)
			break;
		if (f->pc == pc)
			return t->n - i;
	}
	return DT_BPF_FRAMES;
}

/* Is a call wanted that took so long? */
static __always_inline int is_wanted(__u64 pc, const struct made *m, __u64 took)
{
	struct dt_bpf_chosen *c = bpf_map_lookup_elem(&chosen, &pc);

	return !state.choose || !c || (took >= c->least && are_true(c, m, 1));
}

/* Records that it ends a call, unless that is left out. */
__noinline int end_call(const struct made *m)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid(), i;
	struct dt_bpf_thread *t = block_of(pid);
	struct dt_bpf_frame *f;
	__u64 ns, pc, was;

	if (!m)
		return 0;
	pc = m->pc;
	if (!t || t->owner != pid || t->busy)
		goto pass;
	t->busy = 1;
	ns = bpf_ktime_get_ns();
	unwind(t, m->sp, ns);
	i = frame_of(t, pc, m->sp);
	if (i >= DT_BPF_FRAMES) {
		give_back(t);
		goto pass;
	}
	/* what has not returned above it has jumped, and is gone */
	for (__u32 k = 0; k < 3 && t->n > i + 1; k++)
		forget_innermost(t, ns);
	f = &t->frame[i & (DT_BPF_FRAMES - 1)];
	was = *(volatile __u64 *)&f->state;
	if (DT_BPF_STATE(was) == DT_BPF_WAITS && !is_wanted(pc, m, ns - (was >> DT_BPF_STATE_BITS)))
		__sync_val_compare_and_swap(&f->state, was, was - DT_BPF_WAITS + DT_BPF_LEFT);
	was = DT_BPF_STATE(*(volatile __u64 *)&f->state);
	forget_innermost(t, ns);
	give_back(t);
	if (was == DT_BPF_LEFT)
		return 0;
pass:
	append(m->who, m->pc, m->sp, m->value);
	return 0;
}

/* A thread has ended, its open calls with it. */
static __always_inline void end_thread(__u32 pid)
{
	struct dt_bpf_thread *t = block_of(pid);

	if (!t || t->owner != pid)
		return;
	for (__u32 i = 0; i < DT_BPF_FRAMES && t->n; i++) {
		__u32 last = (t->n - 1) & (DT_BPF_FRAMES - 1);
		__u64 is = DT_BPF_STATE(*(volatile __u64 *)&t->frame[last].state);

		if (is == DT_BPF_WAITS)
			write_entry(&t->frame[last]);
		else if (is == DT_BPF_LEFT)
			count_left(t, last, 0, 0);
		*(volatile __u64 *)&t->frame[last].state = 0;
		t->n = last;
	}
	give_back(t);
}

/* ---- for all programs ---- */

static __always_inline void enter_function(__u64 who, __u64 pc, __u64 sp, const __u64 value[4])
{
	if (settings.chooses && state.choose) {
		struct made m = {who, pc, sp, {value[0], value[1], value[2], value[3]}};

		begin_call(&m);
	} else {
		append(who, pc, sp, value);
	}
}

static __always_inline void leave_function(__u64 who, __u64 pc, __u64 sp, const __u64 value[4])
{
	if (settings.chooses) {
		struct made m = {who, pc, sp, {value[0], value[1], value[2], value[3]}};

		end_call(&m);
	} else {
		append(who, pc, sp, value);
	}
}

#endif
