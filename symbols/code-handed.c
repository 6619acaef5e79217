/* SPDX-License-Identifier: MIT */
/*
 * Finds functions that jump on with an address in the frame that they have just given back.
 *
 * gcc makes them if it believes that the function jumped to reads no memory, as when assembly in
 * that function does not say that it does: libtheora's SATD passes a buffer on in this way. Nothing
 * overwrites the 128 bytes below the stack pointer, not even a signal, so it works; but a hook at
 * the jump, or at the beginning of the function jumped to, would overwrite them. So neither is
 * hooked.
 *
 * Only addresses in registers are found: one that was stored and loaded again is not followed.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "symbols/code-work.h"

#define DEPTH 8 /* depth to which calls of calls are followed; deeper, the worst is assumed */

/*
 * What is known of all functions. The arrays are indexed by function, their elements are masks of
 * registers.
 */
struct handing {
	struct reader *r;
	dt_insn_set *given; /* which arguments hold such addresses when the function begins */
	dt_insn_set *lost;  /* which registers a call of the function changes; 0: not yet known */
	dt_insn_set *used;  /* which argument registers it reads before it changes them, and
			    DT_INSN_SP;  0: not yet known */
};

/*
 * The work on one function. A state is a mask of registers. rsp is always in it, so 0 means that
 * the instruction has not been reached.
 */
struct handed {
	struct handing *all_of;
	const struct dt_code *c;
	const struct dt_code_function *f;
	const struct dt_code_region *r;
	dt_insn_set *state; /* the state before the instruction at each byte */
	dt_insn_set
		*done; /* the state with which that instruction was last stepped over; 0: not yet */
	struct dt_insn *in;
	size_t n;	 /* instructions of the function, decoded once */
	dt_insn_set all; /* union of the states of all instructions */
	bool changed;
};

static void reach(struct handed *h, uint64_t at, dt_insn_set state)
{
	dt_insn_set *s;

	if (at < h->f->start || at >= h->f->end)
		return;
	s = &h->state[at - h->f->start];
	if ((*s | state) == *s)
		return;
	*s |= state;
	h->changed = true;
}

/*
 * Can control get to the instruction in ways that are not followed, from a table of jumps or from
 * another part? The instruction after a call, and the beginning of the function, are marked in the
 * same way, but do not count.
 */
static bool is_far_target(const struct handed *h, const struct dt_insn *before, uint64_t at)
{
	return at != h->f->start && !dt_insn_calls(before) &&
	       h->r->mark[at - h->r->low] & (DT_CODE_HARD | DT_CODE_CROSS);
}

/*
 * Returns the index of the function that a call or jump leads to; c->functions if it is in another
 * file or not known.
 */
static size_t callee_of(const struct dt_code *c, const struct dt_insn *in)
{
	size_t t = c->functions;

	if ((in->kind == DT_INSN_CALL || in->kind == DT_INSN_JUMP) &&
	    dt_code_text_at(c, in->target))
		t = dt_code_function_at(c, in->target);
	return t < c->functions && c->function[t].start == in->target ? t : c->functions;
}

static bool leaves(const struct dt_code_function *f, const struct dt_insn *in)
{
	return dt_insn_calls(in) || in->kind == DT_INSN_JUMP_INDIRECT ||
	       (in->kind == DT_INSN_JUMP && (in->target < f->start || in->target >= f->end));
}

/*
 * Returns the registers that a call changes. A compiler that knows the called function may keep
 * values in those which it leaves alone; for other functions it relies on the ABI.
 */
static dt_insn_set lost_by(struct handing *all, const struct dt_insn *in, unsigned depth)
{
	const struct dt_code *c = all->r->c;
	size_t t = callee_of(c, in);
	const struct dt_code_function *f = &c->function[t];
	const struct dt_code_region *r;
	struct dt_insn at;
	dt_insn_set lost = 0, written, read;

	if (t == c->functions || f->trouble || depth > DEPTH)
		return DT_INSN_LOST;
	if (all->lost[t])
		return all->lost[t];
	r = dt_code_text_at(c, f->start);
	for (uint64_t a = f->start; a < f->end && lost != DT_INSN_LOST; a += at.length) {
		if (!dt_insn_decode(&at, r->bytes + (a - r->low), f->end - a, a))
			return DT_INSN_LOST;
		if (leaves(f, &at)) {
			lost |= lost_by(all, &at, depth + 1);
			continue;
		}
		dt_insn_registers(r->bytes + (a - r->low), at.length, &written, &read);
		lost |= written & DT_INSN_LOST;
	}
	return all->lost[t] = lost | DT_INSN_RESULT;
}

static dt_insn_set used_by(struct handing *all, size_t t, unsigned depth);

/*
 * Passes once over the function in the order of addresses, and notes which registers still have
 * their initial values at each instruction. The caller repeats it until nothing changes. Returns
 * those argument registers that are read with their initial values.
 */
static dt_insn_set use_pass(struct handed *h, unsigned depth)
{
	const struct dt_code_function *f = h->f;
	dt_insn_set used = 0, written, read, state;
	struct dt_insn in = {0}, before;
	size_t t;

	for (uint64_t at = f->start; at < f->end; at += in.length) {
		before = in;
		if (!dt_insn_decode(&in, h->r->bytes + (at - h->r->low), f->end - at, at))
			return DT_INSN_ARGUMENTS;
		if (is_far_target(h, &before, at))
			reach(h, at, h->all);
		state = h->state[at - f->start];
		if (!state)
			continue;
		h->all |= state;
		dt_insn_registers(h->r->bytes + (at - h->r->low), in.length, &written, &read);
		used |= state & read & DT_INSN_ARGUMENTS;
		if (leaves(f, &in)) {
			/* a function that the compiler does not know may read memory, so it is not
			 * called in this way */
			t = callee_of(h->c, &in);
			if (t < h->c->functions)
				used |= state & used_by(h->all_of, t, depth + 1);
			written |= DT_INSN_LOST;
		}
		state = (state & (dt_insn_set)~written) | DT_INSN_SP;
		if (dt_insn_direct(&in) && !dt_insn_calls(&in))
			reach(h, in.target, state);
		if (!dt_insn_ends(&in))
			reach(h, at + in.length, state);
	}
	return used;
}

static dt_insn_set used_by(struct handing *all, size_t t, unsigned depth)
{
	const struct dt_code_function *f = &all->r->c->function[t];
	struct handed h = {.all_of = all, .c = all->r->c, .f = f};
	dt_insn_set used = 0;

	if (all->used[t])
		return all->used[t] & DT_INSN_ARGUMENTS;
	h.r = dt_code_text_at(h.c, f->start);
	if (!h.r || f->end <= f->start || depth > DEPTH)
		return DT_INSN_ARGUMENTS;
	all->used[t] = DT_INSN_ARGUMENTS | DT_INSN_SP; /* for a function that calls itself */
	h.state = calloc(f->end - f->start, sizeof(*h.state));
	if (!h.state) {
		all->r->failed = true;
		return DT_INSN_ARGUMENTS;
	}
	h.state[0] = DT_INSN_ARGUMENTS | DT_INSN_SP;
	do {
		h.changed = false;
		used |= use_pass(&h, depth);
	} while (h.changed);
	free(h.state);
	all->used[t] = used | DT_INSN_SP;
	return used;
}

static void step(struct handed *h, uint64_t at, const struct dt_insn *in)
{
	const uint8_t *code = h->r->bytes + (at - h->r->low);
	dt_insn_set state = h->state[at - h->f->start];
	int64_t depth = h->f->frame ? dt_frame_depth(h->f->frame, at) : -1;

	h->all |= state;
	if (dt_insn_calls(in))
		state &= (dt_insn_set)~lost_by(h->all_of, in, 0);
	else
		state = dt_insn_derive(code, in->length, state, depth);
	if (dt_insn_direct(in) && !dt_insn_calls(in))
		reach(h, in->target, state);
	if (!dt_insn_ends(in))
		reach(h, at + in->length, state);
}

/* Passes once over the function in the order of addresses, and steps over each instruction whose
 * state has changed since the last pass. */
static void pass(struct handed *h, dt_insn_set anywhere)
{
	static const struct dt_insn none;
	uint64_t start = h->f->start, at = start;

	for (size_t i = 0; i < h->n; at += h->in[i++].length) {
		if (is_far_target(h, i ? &h->in[i - 1] : &none, at))
			reach(h, at, anywhere);
		if (h->state[at - start] == h->done[at - start])
			continue;
		h->done[at - start] = h->state[at - start];
		step(h, at, &h->in[i]);
	}
}

/* Decodes the function up to the first byte that can not be decoded. */
static bool decode(struct handed *h)
{
	const struct dt_code_function *f = h->f;
	uint64_t size = f->end - f->start;

	h->state = calloc(2 * size, sizeof(*h->state));
	h->done = h->state + size;
	h->in = malloc(size * sizeof(*h->in));
	if (!h->state || !h->in)
		return false;
	for (uint64_t at = f->start; at < f->end; at += h->in[h->n++].length)
		if (!dt_insn_decode(&h->in[h->n], h->r->bytes + (at - h->r->low), f->end - at, at))
			break;
	return true;
}

static size_t target_of(const struct dt_code *c, const struct dt_exit *x)
{
	size_t t;

	if (x->into || (x->kind != DT_EXIT_TAIL && x->kind != DT_EXIT_BRANCH) ||
	    !dt_code_text_at(c, x->target))
		return c->functions;
	t = dt_code_function_at(c, x->target);
	return t < c->functions && c->function[t].start == x->target ? t : c->functions;
}

/* Has the function given back its frame at that exit? True also if that is not known. */
static bool is_released(const struct dt_code_function *f, const struct dt_exit *x)
{
	int64_t depth = f->frame ? dt_frame_depth(f->frame, x->address) : -1;

	return depth == DT_ABI_ENTRY_DEPTH || depth < 0;
}

static bool may_hand(const struct dt_code *c, const struct dt_code_function *f, dt_insn_set given)
{
	if ((!f->points && !given) || f->trouble)
		return false;
	for (size_t i = f->first_exit; i < f->first_exit + f->exits; i++)
		if (target_of(c, &c->exit[i]) < c->functions && is_released(f, &c->exit[i]))
			return true;
	return false;
}

static void look(struct handing *all, size_t index);

/*
 * Marks the function that jumps, the one jumped to, and those that this one jumps on to with the
 * address.
 */
static void judge(const struct handed *h, size_t index)
{
	dt_insn_set *given = h->all_of->given;
	struct dt_code *c = h->all_of->r->c;
	struct dt_code_function *f = &c->function[index];

	for (size_t i = f->first_exit; i < f->first_exit + f->exits; i++) {
		const struct dt_exit *x = &c->exit[i];
		size_t t = target_of(c, x);
		dt_insn_set state = h->state[x->address - f->start] & DT_INSN_ARGUMENTS;

		if (t == c->functions || !state || !is_released(f, x))
			continue;
		state &= used_by(h->all_of, t, 0);
		if (!state)
			continue;
		if (!given[index])
			dt_code_set_trouble(f, DT_TROUBLE_HANDS, x->address);
		if ((given[t] | state) == given[t])
			continue;
		given[t] |= state;
		if (t != index)
			look(h->all_of, t);
		dt_code_set_trouble(&c->function[t], DT_TROUBLE_HANDED, c->function[t].start);
	}
}

static void look(struct handing *all, size_t index)
{
	const struct dt_code *c = all->r->c;
	const struct dt_code_function *f = &c->function[index];
	struct handed h = {.all_of = all, .c = c, .f = f, .r = dt_code_text_at(c, f->start)};

	if (!h.r || !may_hand(c, f, all->given[index]))
		return;
	if (!decode(&h)) {
		all->r->failed = true;
		goto out;
	}
	h.state[0] = (dt_insn_set)(all->given[index] | DT_INSN_SP);
	do {
		h.changed = false;
		pass(&h, h.all);
	} while (h.changed);
	judge(&h, index);
out:
	free(h.in);
	free(h.state);
}

void dt_code_find_handed(struct reader *r)
{
	size_t n = r->c->functions;
	struct handing all = {
		.r = r,
		.given = calloc(n + 1, sizeof(*all.given)),
		.lost = calloc(n + 1, sizeof(*all.lost)),
		.used = calloc(n + 1, sizeof(*all.used)),
	};

	if (!all.given || !all.lost || !all.used)
		r->failed = true;
	for (size_t i = 0; i < n && !r->failed; i++)
		look(&all, i);
	free(all.given);
	free(all.lost);
	free(all.used);
}
