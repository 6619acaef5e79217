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
#include "bpf/conditions.h"
#include "bpf/sums.h"

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
	__u64 fresh; /* of a system call: none of its thread's other calls in the kernel goes on */
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

/* Are those of the conditions true that are about the entry (0), or the exit (1)? */
__noinline int are_true(struct dt_bpf_chosen *c, const struct made *m, __u32 exit)
{
	if (!c || !m)
		return 1;
	for (__u32 i = 0; i < DT_BPF_CONDITIONS && i < c->n; i++)
		if (c->condition[i].of_exit == exit &&
		    !is_true(&c->condition[i], value_at(m->value, c->condition[i].at)))
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

/* A call that is to be summed up is over. False: the recorder has just done it, since recording is.
 */
static __always_inline int leave_summed(struct dt_bpf_frame *f, __u64 state)
{
	return !settings.sums
		       ? 0
		       : __sync_val_compare_and_swap(&f->state, state,
						     state - DT_BPF_SUMMED + DT_BPF_LEFT) == state;
}

/* Takes the innermost call away, of which nothing more comes. */
__noinline int forget_innermost(struct dt_bpf_thread *t, __u64 ns)
{
	struct dt_bpf_frame *f;
	__u64 state, took;
	int left;
	__u32 i;

	if (!t)
		return 0;
	i = ((__u32)t->n - 1) & (DT_BPF_FRAMES - 1);
	f = &t->frame[i];
	state = *(volatile __u64 *)&f->state;
	took = ns - (state >> DT_BPF_STATE_BITS);
	if (DT_BPF_STATE(state) == DT_BPF_WAITS)
		write_entry(f);
	left = DT_BPF_STATE(state) == DT_BPF_LEFT;
	if (DT_BPF_STATE(state) == DT_BPF_SUMMED && leave_summed(f, state)) {
		sum_up(t, i, took, 0, WITHOUT_RESULT);
		left = 1;
	}
	if (left)
		count_left(t, i, took, 1);
	t->deep_sp = 0;
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

/* A call begins where the innermost one is: that has jumped to it, and is over for the sums. */
static __always_inline void jump_away(struct dt_bpf_thread *t, __u64 sp, __u64 ns)
{
	__u32 i = ((__u32)t->n - 1) & (DT_BPF_FRAMES - 1);
	struct dt_bpf_frame *f = &t->frame[i];
	__u64 state = *(volatile __u64 *)&f->state, took = ns - (state >> DT_BPF_STATE_BITS);

	if (!t->n || f->sp != sp || DT_BPF_STATE(state) != DT_BPF_SUMMED || !leave_summed(f, state))
		return;
	sum_up(t, i, took, 0, WITHOUT_RESULT);
	count_left(t, i, took, 1);
	*(volatile __u64 *)&f->state = state - DT_BPF_SUMMED + DT_BPF_DONE;
}

/* Returns whether the recorder has the calls around a call recorded, so that it has to know this
 * one: its time is none of theirs. */
static __always_inline int is_in_recorded(const struct dt_bpf_thread *t)
{
	__u64 is = t->n ? DT_BPF_STATE(t->frame[(t->n - 1) & (DT_BPF_FRAMES - 1)].state) : 0;

	return is && is != DT_BPF_LEFT && is != DT_BPF_SUMMED && is != DT_BPF_DONE;
}

/* Returns what becomes of a call that begins: a state of its frame. */
static __always_inline __u64 choose_state(struct dt_bpf_thread *t, struct dt_bpf_chosen *c,
					  const struct made *m, __u32 pid)
{
	__u64 is = DT_BPF_PASSED;

	if (c && (c->never || !are_true(c, m, 0)))
		is = DT_BPF_LEFT;
	else if (c && c->ends)
		is = DT_BPF_WAITS;
	if (!settings.sums)
		return is;
	/* the recorder has to hear of each thread */
	if (t->met != pid) {
		t->met = pid;
		return DT_BPF_PASSED;
	}
	if (is_in_recorded(t))
		return DT_BPF_PASSED;
	return is == DT_BPF_LEFT && c && c->sums ? DT_BPF_SUMMED : is;
}

/* Notes that there is no frame for a call. */
static __always_inline void go_deep(struct dt_bpf_thread *t, __u64 sp, __u64 ns)
{
	if (t->deep_sp && sp < t->deep_sp)
		return;
	t->deep_sp = sp;
	t->deep_ns = ns;
}

/* Notes that the running thread begins a call. Returns 1 if it is to be recorded now; else it is
 * kept until it has ended, or left out. */
__noinline int begin_call(const struct made *m)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	struct dt_bpf_thread *t;
	struct dt_bpf_chosen *c;
	struct dt_bpf_frame *f;
	__u64 ns, pc, is = DT_BPF_PASSED;

	if (!m)
		return 1;
	pc = m->pc;
	t = block_of(pid);
	if (!t || (t->owner != pid && __sync_val_compare_and_swap(&t->owner, 0, pid)) || t->busy)
		return 1;
	t->busy = 1;
	ns = bpf_ktime_get_ns();
	unwind(t, m->fresh ? m->sp + 1 : m->sp, ns);
	if (settings.sums)
		jump_away(t, m->sp, ns);
	c = bpf_map_lookup_elem(&chosen, &pc);
	if (t->n >= DT_BPF_FRAMES) {
		go_deep(t, m->sp, ns);
		goto out;
	}
	if (settings.sums && !t->n)
		t->process = process_number();
	is = choose_state(t, c, m, pid);
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
out:
	t->busy = 0;
	return is == DT_BPF_PASSED;
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

/* The call of a frame ends with a result: leaves it out, if it is not wanted, and sums it up.
 * Returns whether its exit is to be recorded. */
static __always_inline int is_recorded(struct dt_bpf_thread *t, __u32 i, const struct made *m,
				       __u64 ns)
{
	struct dt_bpf_frame *f = &t->frame[i & (DT_BPF_FRAMES - 1)];
	__u64 was = *(volatile __u64 *)&f->state, took = ns - (was >> DT_BPF_STATE_BITS),
	      pc = m->pc;
	struct dt_bpf_chosen *c;
	int sums = 0;

	if (DT_BPF_STATE(was) == DT_BPF_WAITS && !is_wanted(pc, m, took)) {
		c = bpf_map_lookup_elem(&chosen, &pc);
		sums = __sync_val_compare_and_swap(&f->state, was,
						   was - DT_BPF_WAITS + DT_BPF_LEFT) == was &&
		       c && c->sums;
	} else if (DT_BPF_STATE(was) == DT_BPF_SUMMED) {
		sums = leave_summed(f, was);
	}
	if (settings.sums && sums)
		sum_up(t, i, took, m->value[0], 0);
	was = DT_BPF_STATE(*(volatile __u64 *)&f->state);
	return was != DT_BPF_LEFT && was != DT_BPF_DONE;
}

/* Notes that the running thread ends a call. Returns 1 if that is to be recorded. */
__noinline int end_call(const struct made *m)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid(), i;
	struct dt_bpf_thread *t = block_of(pid);
	int recorded = 1;
	__u64 ns, pc;

	if (!m)
		return 1;
	pc = m->pc;
	if (!t || t->owner != pid || t->busy)
		return 1;
	t->busy = 1;
	ns = bpf_ktime_get_ns();
	unwind(t, m->sp, ns);
	i = frame_of(t, pc, m->sp);
	if (i >= DT_BPF_FRAMES) {
		if (t->deep_sp && t->deep_sp == m->sp) {
			t->frame[DT_BPF_FRAMES - 1].children += ns - t->deep_ns;
			t->deep_sp = 0;
		}
		give_back(t);
		return 1;
	}
	/* what has not returned above it has jumped, and is gone */
	for (__u32 k = 0; k < 3 && t->n > i + 1; k++)
		forget_innermost(t, ns);
	recorded = is_recorded(t, i, m, ns);
	forget_innermost(t, ns);
	give_back(t);
	return recorded;
}

/* A thread has ended, its open calls with it. */
static __always_inline void end_thread(__u32 pid)
{
	struct dt_bpf_thread *t = block_of(pid);
	__u64 ns = bpf_ktime_get_ns(), was;
	int left;

	if (!t)
		return;
	if (t->met == pid)
		t->met = 0;
	if (t->owner != pid)
		return;
	for (__u32 i = 0; i < DT_BPF_FRAMES && t->n; i++) {
		__u32 last = (t->n - 1) & (DT_BPF_FRAMES - 1);
		__u64 is;

		was = *(volatile __u64 *)&t->frame[last].state;
		is = DT_BPF_STATE(was);
		left = is == DT_BPF_LEFT;
		if (is == DT_BPF_WAITS)
			write_entry(&t->frame[last]);
		if (is == DT_BPF_SUMMED && leave_summed(&t->frame[last], was)) {
			sum_up(t, last, ns - (was >> DT_BPF_STATE_BITS), 0, NOT_YET);
			left = 1;
		}
		if (left)
			count_left(t, last, 0, 0);
		*(volatile __u64 *)&t->frame[last].state = 0;
		t->n = last;
	}
	give_back(t);
}

/* ---- for all programs ---- */

/* fresh: it is a system call */
static __always_inline void enter_function(__u64 who, __u64 pc, __u64 sp, const __u64 value[4],
					   int fresh)
{
	if (settings.chooses && state.choose) {
		struct made m = {who, pc, sp, {value[0], value[1], value[2], value[3]}, fresh};

		if (!begin_call(&m))
			return;
	}
	append(who, pc, sp, value);
}

static __always_inline void leave_function(__u64 who, __u64 pc, __u64 sp, const __u64 value[4])
{
	if (settings.chooses) {
		struct made m = {who, pc, sp, {value[0], value[1], value[2], value[3]}, 0};

		if (!end_call(&m))
			return;
	}
	append(who, pc, sp, value);
}

#endif
