/* SPDX-License-Identifier: MIT */
/* Short jumps to room that is made for them. See plan-tactic.c. */
#include "arch/x86_64/plan-work.h"

/*
 * Looks whether all bytes that change are in one page. They must be: if the controller is killed
 * while it writes, all or none of them are written.
 */
static bool same_page(uint64_t room, uint64_t inner)
{
	uint64_t page = room / PAGE;

	return (room + 2 * JUMP_SIZE - 1) / PAGE == page && inner / PAGE == page &&
	       (inner + 1) / PAGE == page;
}

/* Looks whether an instruction in [start, end) branches to the function's beginning. Such a branch
 * must be led past the entry's hook. */
static bool has_loop(const struct work *w, uint64_t start, uint64_t end)
{
	uint64_t head = w->p->windows > w->first_window ? w->p->window[w->first_window].start
							: w->whole->start;
	struct dt_insn in;

	for (; start < end && dt_work_decode(w, start, &in); start += in.length)
		if (!dt_insn_calls(&in) && (in.target == w->whole->start || in.target == head))
			return true;
	return false;
}

/* Looks whether [start, inner) can make room for a short jump at inner. */
static bool fits_inner(const struct work *w, uint64_t start, uint64_t inner, uint64_t end)
{
	return inner - start >= 2 * JUMP_SIZE && end - start <= DT_WINDOW_MAX &&
	       same_page(start, inner) && dt_work_fits(w, start, inner, inner, false) &&
	       !has_loop(w, start, inner);
}

/* Makes the window one of DT_TACTIC_INNER with its short jump at inner. x may be NULL. */
static struct dt_plan_window *make_inner(struct dt_plan_window *x, uint64_t inner, uint64_t end)
{
	if (x) {
		x->size = (uint16_t)(end - x->start);
		x->patch = (uint8_t)(inner + 2 - x->start);
		x->tactic = DT_TACTIC_INNER;
		x->inner = (uint8_t)(inner - x->start);
	}
	return x;
}

/* Makes the function's window that has the instruction at `at' longer, up to end, with a short jump
 * at inner. NULL: that is not possible. */
static struct dt_plan_window *extend_inner(struct work *w, uint64_t at, uint64_t inner,
					   uint64_t end)
{
	long i = dt_work_plain_window(w, at);
	struct dt_plan_window *x = i >= 0 ? &w->p->window[i] : NULL;
	uint64_t old = x ? x->start + x->size : 0;
	bool good;

	if (!x || x->tactic != DT_TACTIC_JUMP || old > inner || dt_work_any_taken(w, old, end))
		return NULL;
	dt_work_take(w, x->start, old, false);
	good = !dt_work_any_taken(w, x->start, old) && fits_inner(w, x->start, inner, end);
	dt_work_take(w, x->start, good ? end : old, true);
	return good ? make_inner(x, inner, end) : NULL;
}

struct dt_plan_window *dt_work_inner_jump(struct work *w, uint64_t inner, uint64_t end, bool calls,
					  bool own)
{
	struct dt_insn in;

	for (uint64_t at = inner; (at = dt_work_before(w, at)) && end - at <= DT_WINDOW_MAX;) {
		if (!dt_work_decode(w, at, &in) || (!calls && dt_insn_calls(&in)))
			return NULL;
		if (dt_work_any_taken(w, at, inner))
			return own ? extend_inner(w, at, inner, end) : NULL;
		if (inner - at >= 2 * JUMP_SIZE)
			return fits_inner(w, at, inner, end)
				       ? make_inner(dt_work_add_window(w, at, end, 2 * JUMP_SIZE,
								       DT_TACTIC_INNER),
						    inner, end)
				       : NULL;
	}
	return NULL;
}

/*
 * Looks whether [start, end) may be moved as one: what jumps or returns to inner meets a short jump
 * there, and nothing from outside leads anywhere else inside.
 */
static bool fits_around(const struct work *w, uint64_t start, uint64_t inner, uint64_t end)
{
	struct dt_insn in;

	if (w->anywhere)
		return false;
	for (uint64_t at = start; at < end; at += in.length) {
		uint8_t m = dt_work_mark_of(w, at);

		if (!dt_work_decode(w, at, &in) || !dt_work_movable(w, &in) ||
		    at + in.length > end || in.kind == DT_INSN_SYSCALL)
			return false;
		if (dt_insn_calls(&in) && at + in.length != inner && at + in.length != end)
			return false;
		for (unsigned k = 1; k < in.length; k++)
			if (dt_work_mark_of(w, at + k) & DT_CODE_TARGET)
				return false;
		if (at == start || at == inner)
			continue;
		if (m & (DT_CODE_TARGET & ~DT_CODE_NEAR))
			return false;
		if (m & DT_CODE_NEAR && !dt_work_sources_inside(w, at, start, end))
			return false;
	}
	return true;
}

struct dt_plan_window *dt_work_inner_around(struct work *w, uint64_t inner, uint64_t end,
					    bool calls)
{
	struct dt_insn in;

	if (end - inner < 2 || dt_work_any_taken(w, inner, end))
		return NULL;
	for (uint64_t at = inner; (at = dt_work_before(w, at)) && end - at <= DT_WINDOW_MAX;) {
		if (!dt_work_decode(w, at, &in) || (!calls && dt_insn_calls(&in)) ||
		    dt_work_any_taken(w, at, inner))
			return NULL;
		if (inner - at >= 2 * JUMP_SIZE)
			return same_page(at, inner) && fits_around(w, at, inner, end) &&
					       !has_loop(w, at, inner)
				       ? make_inner(dt_work_add_window(w, at, end, 2 * JUMP_SIZE,
								       DT_TACTIC_INNER),
						    inner, end)
				       : NULL;
	}
	return NULL;
}

/* Returns how many bytes the instructions at `at' have that would make room for the springboard of
 * a short jump at inner; 0: they can not. */
static unsigned room_at(const struct work *w, uint64_t at, uint64_t inner, bool calls)
{
	int64_t distance = (int64_t)(at + JUMP_SIZE - inner - 2);
	struct dt_insn in;
	uint64_t end = at;

	if (distance < -SHORT_REACH - 1 || distance > SHORT_REACH || !same_page(at, inner))
		return 0;
	while (end < at + 2 * JUMP_SIZE) {
		if (!(dt_work_mark_of(w, end) & DT_CODE_INSN) || !dt_work_decode(w, end, &in) ||
		    (!calls && dt_insn_calls(&in)))
			return 0;
		end += in.length;
	}
	return end <= w->f->end && !dt_work_any_taken(w, at, end) &&
			       dt_work_fits(w, at, end, end, false) && !has_loop(w, at, end)
		       ? (unsigned)(end - at)
		       : 0;
}

/*
 * Returns what room_at() does, for instructions of another function, of which nothing else is
 * changed. No branches are moved, so that the loops of that function are known when it is hooked
 * itself.
 */
static unsigned room_among(const struct work *w, uint64_t at, uint64_t inner, bool calls)
{
	size_t i = dt_code_function_at(w->c, at);
	const struct dt_code_function *f = &w->c->function[i];
	struct work there = *w;
	struct dt_insn in;
	unsigned size;

	if (i == w->c->functions || at == f->start || f->whole == w->f->whole)
		return 0;
	there.f = f;
	there.whole = &w->c->function[f->whole];
	there.first_window = w->p->windows;
	there.anywhere = there.whole->anywhere || f->anywhere;
	if (f->trouble || there.whole->trouble || there.anywhere ||
	    dt_work_is_special(there.whole->name) ||
	    (w->p->options.apart && w->p->options.apart(w->p->options.file, f->whole)))
		return 0;
	size = room_at(&there, at, inner, calls);
	for (uint64_t k = at; k < at + size; k += in.length)
		if (!dt_work_decode(w, k, &in) || (in.target && !dt_insn_calls(&in)))
			return 0;
	return size;
}

struct room dt_work_find_room(const struct work *w, uint64_t start, uint64_t end, bool calls)
{
	bool among = w->p->neighbours;
	uint64_t low = among ? w->r->low : w->f->start, high = among ? w->r->high : w->f->end;

	for (uint64_t far = 1; far < SHORT_REACH + 3 * JUMP_SIZE; far++)
		for (int side = 0; side < 2; side++) {
			uint64_t at = side ? start + far : start - far;
			unsigned size;

			if (at < low || at >= high ||
			    (side ? at < end : at + 2 * JUMP_SIZE > start) ||
			    !(dt_work_mark_of(w, at) & DT_CODE_INSN))
				continue;
			size = at >= w->f->start && at < w->f->end
				       ? room_at(w, at, start, calls)
				       : room_among(w, at, start, calls);
			if (size && (side || at + size <= start))
				return (struct room){at, size};
		}
	return (struct room){0};
}

struct dt_plan_window *dt_work_hosted_jump(struct work *w, uint64_t start, uint64_t end, bool calls)
{
	struct room room = dt_work_find_room(w, start, end, calls);
	struct dt_plan_window *x =
		room.size ? dt_work_add_window(w, start, end, 2, DT_TACTIC_INNER) : NULL;

	if (!x)
		return NULL;
	x->host = room.address;
	x->host_size = (uint8_t)room.size;
	dt_work_take(w, room.address, room.address + room.size, true);
	return x;
}

struct dt_plan_window *dt_work_trap(struct work *w, uint64_t start)
{
	struct dt_insn in;

	if (w->p->options.no_traps || !dt_work_decode(w, start, &in) || !dt_work_movable(w, &in) ||
	    dt_work_any_taken(w, start, start + in.length))
		return NULL;
	return dt_work_add_window(w, start, start + in.length, 1, DT_TACTIC_TRAP);
}

unsigned dt_work_own_bytes(const struct work *w, uint64_t start, uint64_t end)
{
	unsigned own = end - start < 4 ? (unsigned)(end - start) : 4;
	struct dt_insn in;
	uint64_t at = start;

	while (at < end && dt_work_decode(w, at, &in))
		at += in.length;
	if (own < 4 && dt_insn_ends(&in))
		own += dt_work_filler(w, end, 4 - own);
	return own;
}

/* Makes a short jump at start to a springboard in room that is made for it, before start or
 * elsewhere. */
static struct dt_plan_window *squeeze_inner(struct work *w, uint64_t start)
{
	unsigned padding;
	uint64_t end = dt_work_cover(w, start, 2, &padding);

	if (!end || padding || dt_work_any_taken(w, start, end) ||
	    !dt_work_fits(w, start, end, end, false))
		return NULL;
	for (int calls = 0; calls < 2; calls++) {
		struct dt_plan_window *x = dt_work_inner_jump(w, start, end, calls, false);

		if (!x)
			x = dt_work_hosted_jump(w, start, end, calls);
		if (x)
			return x;
	}
	return NULL;
}

struct dt_plan_window *dt_work_squeeze_forward(struct work *w, uint64_t start)
{
	struct dt_plan_window *x;
	struct dt_insn in;
	uint64_t one;

	if (!dt_work_decode(w, start, &in) || !dt_work_movable(w, &in))
		return NULL;
	one = start + in.length;
	/* first jumps of four, three or two own bytes, over as many instructions as that takes */
	for (unsigned size = 4; size >= 2; size--) {
		unsigned padding;
		uint64_t end = dt_work_cover(w, start, size, &padding);

		if (!end || dt_work_any_taken(w, start, end) ||
		    !dt_work_fits(w, start, end, start + size, false))
			continue;
		x = dt_work_short_jump(w, start, end);
		if (!x)
			x = dt_work_punned_jump(w, start, end, size);
		if (x)
			return x;
	}
	if (dt_work_any_taken(w, start, one))
		return NULL;
	x = dt_work_punned_jump(w, start, one, 1);
	if (!x)
		x = squeeze_inner(w, start);
	return x ? x : dt_work_trap(w, start);
}
