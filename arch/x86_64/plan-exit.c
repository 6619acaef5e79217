/* SPDX-License-Identifier: MIT */
/* The windows of exits, and changing branches to lead to a copy. See plan-tactic.c. */
#include "arch/x86_64/plan-work.h"
#include "core/array.h"

/*
 * Collects where a window that holds the instruction at site may start, the nearest first: the site
 * itself, and the instructions that run into it, back to one that can be jumped to from elsewhere.
 */
static unsigned starts_of(const struct work *w, uint64_t site, uint64_t end, uint64_t out[STARTS])
{
	unsigned n = 0;

	for (uint64_t at = site; at && n < STARTS && end - at <= DT_WINDOW_MAX;
	     at = dt_work_before(w, at)) {
		struct dt_insn in;
		uint8_t m;

		if (!dt_work_decode(w, at, &in) || !dt_work_movable(w, &in) ||
		    (at != site && (in.kind == DT_INSN_SYSCALL || dt_insn_calls(&in))))
			break;
		out[n++] = at;
		m = dt_work_mark_of(w, at);
		if (w->anywhere || m & (DT_CODE_TARGET & ~DT_CODE_NEAR))
			break;
	}
	return n;
}

/* Makes a window longer, up to end; false: it can not be. */
static bool extend(struct work *w, struct dt_plan_window *x, uint64_t end)
{
	uint64_t old = x->start + x->size;

	if (x->start + x->patch > old) /* its jump covers filler too */
		old = x->start + x->patch;
	if (end - x->start > DT_WINDOW_MAX || dt_work_any_taken(w, old, end) ||
	    !dt_work_fits(w, x->start, end, end, false))
		return false;
	dt_work_take(w, old, end, true);
	x->size = (uint16_t)(end - x->start);
	return true;
}

/* Puts the site into the window just before it, which is made longer; -1: that is not possible. */
static long join(struct work *w, uint64_t site, uint64_t end)
{
	for (uint64_t at = site; (at = dt_work_before(w, at)) && end - at <= DT_WINDOW_MAX;) {
		long i;

		if (!dt_work_is_taken(w, at))
			continue;
		i = dt_work_window_of(w, at);
		if (i < 0 || !extend(w, &w->p->window[i], end))
			return -1;
		return i;
	}
	return -1;
}

struct dt_plan_window *dt_work_jump_back(struct work *w, uint64_t site, uint64_t end,
					 uint32_t *gone, unsigned *n)
{
	uint64_t start[STARTS];
	unsigned starts = starts_of(w, site, end, start);

	*n = 0;
	for (unsigned i = 1; i < starts; i++) {
		struct dt_plan_window *x = NULL;
		long at = dt_work_window_of(w, start[i]);

		if (at >= 0)
			return w->p->window[at].start + DT_WINDOW_MAX >= end
				       ? dt_work_merge(w, w->p->window[at].start, end, gone, n)
				       : NULL;
		if (end - start[i] >= JUMP_SIZE && !dt_work_any_taken(w, start[i], end) &&
		    dt_work_fits(w, start[i], end, end, false))
			x = dt_work_add_window(w, start[i], end, JUMP_SIZE, DT_TACTIC_JUMP);
		if (x)
			return x;
	}
	return NULL;
}

long dt_work_index_of(const struct work *w, const struct dt_plan_window *x)
{
	return x ? x - w->p->window : -1;
}

long dt_work_exit_by_jump(struct work *w, uint64_t site, uint64_t end, bool stops)
{
	uint64_t start[STARTS];
	unsigned n = starts_of(w, site, end, start);

	for (unsigned i = 0; i < n; i++) {
		unsigned size = (unsigned)(end - start[i]), padding = 0;

		if (dt_work_any_taken(w, start[i], end))
			break;
		if (size < JUMP_SIZE) {
			padding = JUMP_SIZE - size;
			/* a conditional jump goes on to what follows */
			if (!stops || dt_work_filler(w, end, padding) < padding)
				continue;
		}
		if (!dt_work_fits(w, start[i], end, end, start[i] == site))
			continue;
		return dt_work_index_of(
			w, dt_work_add_window(w, start[i], end, JUMP_SIZE,
					      padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP));
	}
	return join(w, site, end);
}

/* Finds room for the springboard of a short branch, and returns the springboard's address; 0: there
 * is none. */
static uint64_t make_board(struct work *w, const struct dt_code_link *l, struct room *room)
{
	uint64_t end = l->from + l->length;

	if (l->length != 2 || room->size)
		return 0;
	dt_work_take(w, l->from, end, true);
	*room = dt_work_find_room(w, l->from, end, false);
	if (!room->size)
		*room = dt_work_find_room(w, l->from, end, true);
	dt_work_take(w, l->from, end, false);
	return room->size ? room->address + JUMP_SIZE : 0;
}

bool dt_work_can_retarget(struct work *w, const struct dt_code_link *l, struct dt_retarget *out,
			  struct room *room)
{
	struct dt_insn in;

	if (!dt_work_decode(w, l->from, &in) ||
	    dt_work_any_taken(w, l->from, l->from + in.length) ||
	    (in.kind != DT_INSN_JUMP && in.kind != DT_INSN_BRANCH && in.kind != DT_INSN_LOOP))
		return false;
	*out = (struct dt_retarget){.from = l->from, .to = l->to, .length = in.length};
	if (in.imm_size == 4)
		return true;
	out->board = dt_work_find_board(w, l->from + in.length);
	if (!out->board && in.imm_size == 1 && room && !w->simple)
		out->board = make_board(w, l, room);
	return in.imm_size == 1 && out->board;
}

void dt_work_take_retarget(struct work *w, const struct dt_retarget *t, bool yes)
{
	dt_work_take(w, t->from, t->from + t->length, yes);
	if (t->board)
		dt_work_take(w, t->board, t->board + JUMP_SIZE, yes);
}

/* Adds a branch to those that are to lead elsewhere, and takes its bytes. */
static bool add_retarget(struct work *w, struct retargets *all, const struct dt_code_link *l)
{
	struct room before = all->room, *room = all->make ? &all->room : NULL;

	if (all->n == RETARGETS || !dt_work_can_retarget(w, l, &all->r[all->n], room))
		return false;
	dt_work_take_retarget(w, &all->r[all->n++], true);
	if (!before.size)
		dt_work_take(w, all->room.address, all->room.address + all->room.size, true);
	return true;
}

/* Adds the jumps to `at' from other parts of the function; false: others jump there as well. */
static bool retarget_crosses(struct work *w, uint64_t at, struct retargets *all)
{
	const struct dt_code_link *l = w->c->cross;
	size_t begin = 0, end = w->c->crosses;

	while (begin < end) {
		size_t mid = begin + (end - begin) / 2;

		if (l[mid].to < at)
			begin = mid + 1;
		else
			end = mid;
	}
	for (; begin < w->c->crosses && l[begin].to == at; begin++) {
		size_t i = dt_code_function_at(w->c, l[begin].from);

		if (i == w->c->functions ||
		    w->c->function[i].whole != (uint32_t)(w->whole - w->c->function) ||
		    !add_retarget(w, all, &l[begin]))
			return false;
	}
	return true;
}

/* Looks whether an instruction that is moved to make room branches into [start, end). Its copy
 * would pass the hooks by. */
static bool room_leads(const struct work *w, const struct room *room, uint64_t start, uint64_t end)
{
	struct dt_insn in;

	for (uint64_t at = room->address; at < room->address + room->size; at += in.length)
		if (!dt_work_decode(w, at, &in) || (in.target >= start && in.target < end))
			return true;
	return false;
}

/*
 * Collects the branches to be changed so that [start, end) can be moved with its sites: all those
 * from outside to places inside and, if `first', to start. On failure nothing is taken.
 */
static bool retarget_all(struct work *w, uint64_t start, uint64_t end, bool first,
			 struct retargets *all)
{
	const struct dt_code_link *l = &w->c->link[w->f->first_link];
	uint64_t low = first ? start : start + 1;
	bool good = true;

	all->n = 0;
	all->room = (struct room){0};
	dt_work_take(w, start, end, true);
	for (size_t i = 0; i < w->f->links && good; i++)
		if (l[i].to >= low && l[i].to < end && l[i].kind != DT_INSN_RETURN &&
		    (l[i].from < start || l[i].from >= end))
			good = add_retarget(w, all, &l[i]);
	for (uint64_t at = low; at < end && good; at++)
		if (dt_work_mark_of(w, at) & DT_CODE_CROSS)
			good = retarget_crosses(w, at, all);
	dt_work_take(w, start, end, false);
	good = good && !room_leads(w, &all->room, start, end);
	for (unsigned i = 0; i < all->n && !good; i++)
		dt_work_take_retarget(w, &all->r[i], false);
	if (!good)
		dt_work_take(w, all->room.address, all->room.address + all->room.size, false);
	return good;
}

/* Looks whether [start, end) may be moved, as dt_work_fits() does, but direct jumps of the function
 * to inside are no obstacle. */
static bool fits_shared(const struct work *w, uint64_t start, uint64_t end)
{
	struct dt_insn in;

	for (uint64_t at = start; at < end; at += in.length) {
		if (!dt_work_decode(w, at, &in) || !dt_work_movable(w, &in) ||
		    at + in.length > end || in.kind == DT_INSN_SYSCALL ||
		    (dt_insn_calls(&in) && at + in.length < end))
			return false;
		for (unsigned k = at == start; k < in.length; k++)
			if (dt_work_mark_of(w, at + k) & (k ? DT_CODE_TARGET : DT_CODE_HARD))
				return false;
	}
	return true;
}

/* Looks whether start is reached only by direct jumps of the function, never from the instruction
 * before it. */
static bool only_jumped_to(const struct work *w, uint64_t start)
{
	uint8_t m = dt_work_mark_of(w, start);
	struct dt_insn in;
	uint64_t at;

	if (!(m & DT_CODE_TARGET) || m & DT_CODE_HARD)
		return false;
	for (at = start; (at = dt_work_before(w, at));)
		if (!(dt_work_mark_of(w, at) & DT_CODE_FILLER))
			break;
	return at && dt_work_decode(w, at, &in) && dt_insn_ends(&in);
}

/*
 * The window has a jump before the exit, and branches to the exit are led to its copy. If the
 * window is reached only by branches, it needs no jump at all.
 */
long dt_work_exit_shared(struct work *w, uint64_t site, uint64_t end, bool stops, bool make)
{
	struct retargets all = {.make = make};

	if (w->anywhere || w->simple)
		return -1;
	for (uint64_t at = site; at && end - at <= DT_WINDOW_MAX; at = dt_work_before(w, at)) {
		unsigned size = (unsigned)(end - at),
			 padding = size < JUMP_SIZE ? JUMP_SIZE - size : 0;
		bool jumped = only_jumped_to(w, at);
		struct dt_plan_window *x;

		if (dt_work_any_taken(w, at, end) || !fits_shared(w, at, end))
			return -1;
		if (jumped)
			padding = 0;
		if (padding && (!stops || dt_work_filler(w, end, padding) < padding))
			continue;
		dt_work_take(w, end, end + padding, true);
		if (!retarget_all(w, at, end, jumped, &all)) {
			dt_work_take(w, end, end + padding, false);
			return -1;
		}
		dt_work_take(w, end, end + padding, false);
		x = dt_work_add_window(w, at, end, jumped ? 0 : JUMP_SIZE, DT_TACTIC_SHARED);
		if (!x)
			return -1;
		for (unsigned i = 0; i < all.n; i++) {
			struct dt_plan *p = w->p;

			p->retarget =
				dt_array_grown(p->retarget, p->retargets, &p->retarget_room,
					       DT_PLAN_ROOM, sizeof(*p->retarget), &p->failed);
			if (!p->failed)
				p->retarget[p->retargets++] = all.r[i];
		}
		x->retargets = all.n;
		x->host = all.room.address;
		x->host_size = (uint8_t)all.room.size;
		return dt_work_index_of(w, x);
	}
	return -1;
}

long dt_work_exit_squeezed(struct work *w, uint64_t site, uint64_t end, bool stops)
{
	uint64_t start[STARTS];
	unsigned n = starts_of(w, site, end, start);
	struct dt_plan_window *x;
	long at;

	for (unsigned pass = 0; pass < 4; pass++)
		for (unsigned i = 0; i < n; i++) {
			unsigned own;

			if (dt_work_any_taken(w, start[i], end))
				break;
			if (!dt_work_fits(w, start[i], end, end, start[i] == site)) {
				x = pass > 1 ? dt_work_inner_around(w, start[i], end, pass == 3)
					     : NULL;
				if (x)
					return dt_work_index_of(w, x);
				continue;
			}
			own = dt_work_own_bytes(w, start[i], end);
			if (pass == 0)
				x = own > 1 ? dt_work_short_jump(w, start[i], end) : NULL;
			else if (pass == 1)
				x = dt_work_punned_jump(w, start[i], end, own);
			else if (end - start[i] < 2)
				x = NULL;
			else if (!(x = dt_work_inner_jump(w, start[i], end, pass == 3, true)))
				x = dt_work_hosted_jump(w, start[i], end, pass == 3);
			if (x)
				return dt_work_index_of(w, x);
		}
	at = dt_work_exit_shared(w, site, end, stops, true);
	return at >= 0 ? at : dt_work_index_of(w, dt_work_trap(w, site));
}
