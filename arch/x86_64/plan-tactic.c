/* SPDX-License-Identifier: MIT */
/*
 * The tactics: what each needs, and making its window. See plan.h.
 *
 * The ladder is that of E9Patch (Duck, Gao, Roychoudhury: Binary Rewriting without Control Flow
 * Recovery, PLDI 2020) and instruction punning (Chamith, Svensson, Dalessandro, Newton: PLDI 2017),
 * except that control flow is known here, so that windows may hold several instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/plan-work.h"

#define STARTS	    24 /* places where a window for an exit may start, at most */
#define SHORT_REACH 127
#define PAGE	    4096u

void *dt_work_grow(struct dt_plan *p, void *array, size_t n, size_t *room, size_t size)
{
	void *more;

	if (n < *room)
		return array;
	more = realloc(array, (*room ? *room * 2 : 1024) * size);
	if (!more) {
		p->failed = true;
		return array;
	}
	*room = *room ? *room * 2 : 1024;
	return more;
}

void dt_work_enter(struct work *w, const struct dt_code_function *f)
{
	w->f = f;
	w->r = dt_code_region_of(w->c, f->start);
	w->taken = w->p->taken[w->r - w->c->region];
}

uint8_t dt_work_mark_of(const struct work *w, uint64_t at)
{
	return at >= w->r->low && at < w->r->high ? w->r->mark[at - w->r->low] : 0;
}

static bool is_taken(const struct work *w, uint64_t at)
{
	uint64_t i = at - w->r->low;

	return at < w->r->low || at >= w->r->high || w->r->mark[i] & DT_CODE_READ ||
	       w->taken[i / 8] >> i % 8 & 1;
}

bool dt_work_any_taken(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (is_taken(w, at))
			return true;
	return false;
}

void dt_work_take(struct work *w, uint64_t from, uint64_t to, bool yes)
{
	for (uint64_t at = from; at < to; at++) {
		uint64_t i = at - w->r->low;

		if (yes)
			w->taken[i / 8] |= (uint8_t)(1u << i % 8);
		else
			w->taken[i / 8] &= (uint8_t) ~(1u << i % 8);
	}
}

bool dt_work_decode(const struct work *w, uint64_t at, struct dt_insn *in)
{
	return at >= w->r->low && at < w->r->high &&
	       dt_insn_decode(in, w->r->bytes + (at - w->r->low), w->r->high - at, at);
}

/* The beginning of the instruction in front of the one at address; 0: the function begins here. */
uint64_t dt_work_before(const struct work *w, uint64_t at)
{
	while (at > w->f->start)
		if (dt_work_mark_of(w, --at) & DT_CODE_INSN)
			return at;
	return 0;
}

/* Bytes of filler from at on, not used by anything yet, at most wanted. */
static unsigned filler(const struct work *w, uint64_t at, unsigned wanted)
{
	unsigned n = 0;

	while (n < wanted && dt_work_mark_of(w, at + n) & DT_CODE_FILLER && !is_taken(w, at + n))
		n++;
	return n;
}

/* --- what a window may hold */

bool dt_work_movable(const struct work *w, const struct dt_insn *in)
{
	if (dt_insn_immovable(in))
		return false;
	return !(w->p->options.no_calls && dt_insn_calls(in));
}

/* Is everything that jumps to the near target at, inside [low, high)? */
static bool sources_inside(const struct work *w, uint64_t at, uint64_t low, uint64_t high)
{
	uint64_t from = at > w->f->start + DT_CODE_CLOSE ? at - DT_CODE_CLOSE : w->f->start;
	uint64_t to = at + DT_CODE_CLOSE < w->f->end ? at + DT_CODE_CLOSE : w->f->end;
	const struct dt_code_link *l = &w->c->link[w->f->first_link];
	size_t n = w->f->links, begin = 0;

	for (size_t end = n; begin < end;) { /* the first link at or behind from */
		size_t mid = begin + (end - begin) / 2;

		if (l[mid].from < from)
			begin = mid + 1;
		else
			end = mid;
	}
	for (size_t i = begin; i < n && l[i].from < to; i++)
		if (l[i].to == at && l[i].kind != DT_INSN_RETURN &&
		    (l[i].from < low || l[i].from >= high))
			return false;
	return true;
}

/*
 * May [start, end) be moved, when sites in it must not be passed by: whatever is jumped to inside,
 * is so only from inside? Of what lies behind checked, only that it can be moved. syscalls:
 * they may be moved, but a thread can be stopped in one for long, and be unwound from there.
 */
static bool fits(const struct work *w, uint64_t start, uint64_t end, uint64_t checked,
		 bool syscalls)
{
	struct dt_insn in;

	for (uint64_t at = start; at < end; at += in.length) {
		uint8_t m = dt_work_mark_of(w, at);

		if (!dt_work_decode(w, at, &in) || !dt_work_movable(w, &in) || at + in.length > end)
			return false;
		if (in.kind == DT_INSN_SYSCALL && !syscalls)
			return false;
		/* a return address inside */
		if (dt_insn_calls(&in) && at + in.length < end)
			return false;
		for (unsigned k = 1; k < in.length; k++)
			if (dt_work_mark_of(w, at + k) & DT_CODE_TARGET && at + k < checked)
				return false;
		if (at == start || at >= checked)
			continue;
		if (w->anywhere || m & (DT_CODE_TARGET & ~DT_CODE_NEAR))
			return false;
		if (m & DT_CODE_NEAR && !sources_inside(w, at, start, end))
			return false;
	}
	return true;
}

/* --- windows and sites */

static struct dt_plan_window *add_window(struct work *w, uint64_t start, uint64_t end,
					 uint8_t patch, uint8_t tactic)
{
	struct dt_plan *p = w->p;
	uint64_t used = start + patch > end ? start + patch : end;

	p->window = dt_work_grow(p, p->window, p->windows, &p->window_room, sizeof(*p->window));
	if (p->failed)
		return NULL;
	dt_work_take(w, start, used, true);
	p->window[p->windows] = (struct dt_plan_window){
		.start = start,
		.size = (uint16_t)(end - start),
		.patch = patch,
		.tactic = tactic,
		.first_retarget = (uint32_t)p->retargets,
	};
	return &p->window[p->windows++];
}

void dt_work_add_site(struct work *w, uint64_t address, uint8_t kind, size_t window)
{
	struct dt_plan *p = w->p;

	p->site = dt_work_grow(p, p->site, p->sites, &p->site_room, sizeof(*p->site));
	if (p->failed)
		return;
	p->site[p->sites++] = (struct dt_plan_site){
		.address = address,
		.function = (uint32_t)(w->whole - w->c->function),
		.window = (uint32_t)window,
		.kind = kind,
	};
}

/* The function's window that holds the instruction at address, or -1. */
long dt_work_window_of(const struct work *w, uint64_t address)
{
	for (size_t i = w->first_window; i < w->p->windows; i++) {
		const struct dt_plan_window *x = &w->p->window[i];

		if ((address >= x->start && address < x->start + x->size) ||
		    (address >= x->host && address < x->host + x->host_size))
			return (long)i;
	}
	return -1;
}

/* --- the tactics */

/* Where the instructions from start on end that a jump of size bytes covers; 0: they do not. */
static uint64_t cover(const struct work *w, uint64_t start, unsigned size, unsigned *padding)
{
	struct dt_insn in;
	uint64_t at = start;

	*padding = 0;
	while (at < start + size) {
		if (!dt_work_decode(w, at, &in) || !(dt_work_mark_of(w, at) & DT_CODE_INSN))
			return 0;
		at += in.length;
		if (at >= start + size)
			break;
		if (dt_work_mark_of(w, at) & DT_CODE_FILLER && dt_insn_ends(&in)) {
			*padding = (unsigned)(start + size - at);
			return filler(w, at, *padding) == *padding ? at : 0;
		}
		if (at >= w->f->end)
			return 0;
	}
	return at;
}

/* A jump at start that covers what follows: entries and points. */
struct dt_plan_window *dt_work_jump_forward(struct work *w, uint64_t start)
{
	unsigned padding;
	uint64_t end = cover(w, start, JUMP_SIZE, &padding);

	if (!end || dt_work_any_taken(w, start, end) ||
	    !fits(w, start, end, start + JUMP_SIZE, false))
		return NULL;
	return add_window(w, start, end, JUMP_SIZE, padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP);
}

/* The window, none of a retarget or a tactic that needs more than its own bytes, that at is in. */
static long plain_window(const struct work *w, uint64_t at)
{
	long i = dt_work_window_of(w, at);

	return i >= 0 && w->p->window[i].tactic <= DT_TACTIC_PADDED && !w->p->window[i].retargets &&
			       w->p->window[i].patch == JUMP_SIZE
		       ? i
		       : -1;
}

struct dt_plan_window *dt_work_merge(struct work *w, uint64_t start, uint64_t until, uint32_t *gone,
				     unsigned *n)
{
	unsigned padding = 0;
	uint64_t end = until >= start + JUMP_SIZE ? until : cover(w, start, JUMP_SIZE, &padding);
	struct dt_plan_window *x = NULL;
	bool good = end && !padding;

	*n = 0;
	for (uint64_t at = start; good && at < end;) {
		long i;

		if (!is_taken(w, at)) {
			at++;
			continue;
		}
		i = plain_window(w, at);
		good = i >= 0 && *n < DT_POINT_GONE;
		if (!good)
			break;
		at = w->p->window[i].start + w->p->window[i].size;
		if (at > end)
			end = at;
		gone[(*n)++] = (uint32_t)i;
	}
	if (!good || !*n || end - start > DT_WINDOW_MAX) {
		*n = 0;
		return NULL;
	}
	for (unsigned i = 0; i < *n; i++) {
		const struct dt_plan_window *old = &w->p->window[gone[i]];

		dt_work_take(w, old->start,
			     old->start + (old->size > old->patch ? old->size : old->patch), false);
	}
	if (!dt_work_any_taken(w, start, end) && fits(w, start, end, end, false))
		x = add_window(w, start, end, JUMP_SIZE, DT_TACTIC_JUMP);
	for (unsigned i = 0; i < *n && !x; i++) {
		const struct dt_plan_window *old = &w->p->window[gone[i]];

		dt_work_take(w, old->start,
			     old->start + (old->size > old->patch ? old->size : old->patch), true);
	}
	if (!x) /* they stay: nobody is to take their sites */
		*n = 0;
	return x;
}

/* Five bytes of filler that a short jump whose end is at next reaches; 0: there are none. */
static uint64_t find_board(const struct work *w, uint64_t next)
{
	for (unsigned far = 0; far <= SHORT_REACH + 1; far++) {
		if (far <= SHORT_REACH && filler(w, next + far, JUMP_SIZE) == JUMP_SIZE)
			return next + far;
		if (next - far >= w->r->low && filler(w, next - far, JUMP_SIZE) == JUMP_SIZE)
			return next - far;
	}
	return 0;
}

static struct dt_plan_window *short_jump(struct work *w, uint64_t start, uint64_t end)
{
	struct dt_plan_window *x;
	uint64_t board;

	/* the board must not be filler that the short jump itself needs */
	dt_work_take(w, start, start + 2, true);
	board = find_board(w, start + 2);
	dt_work_take(w, start, start + 2, false);
	if (!board)
		return NULL;
	x = add_window(w, start, end, 2, DT_TACTIC_SHORT);
	if (!x)
		return NULL;
	x->board = board;
	dt_work_take(w, board, board + JUMP_SIZE, true);
	return x;
}

/* Will the bytes stay as they are? Those of other functions are theirs to change. */
static bool stay(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (is_taken(w, at) ||
		    (at >= w->f->end && !(dt_work_mark_of(w, at) & DT_CODE_FILLER)))
			return false;
	return true;
}

/* Room for the trampoline of a punned jump: where the bytes say that are not its own. */
static bool claim(struct work *w, uint64_t start, unsigned own, unsigned prefixes, size_t size,
		  uint64_t *at)
{
	unsigned free = own - prefixes - 1;
	uint64_t next = start + prefixes + JUMP_SIZE, low, high;
	uint32_t fixed;

	memcpy(&fixed, w->r->bytes + (next - 4 - w->r->low), sizeof(fixed));
	fixed &= free < 4 ? ~0u << (8 * free) : 0;
	low = next + (uint64_t)(int64_t)(int32_t)fixed;
	high = low + (free < 4 ? (1ull << (8 * free)) - 1 : UINT32_MAX);
	return w->p->options.claim(w->p->options.ctx, low, high, size, at);
}

/*
 * A jump of which only the first own bytes may be written. What the rest of its distance is to be,
 * the bytes there say already: they must never change.
 */
static struct dt_plan_window *punned_jump(struct work *w, uint64_t start, uint64_t end,
					  unsigned own)
{
	size_t size = (end - start) * 8 + 3 * w->p->options.hook + 64;

	for (unsigned prefixes = 0; w->p->options.claim && !w->simple && prefixes < own;
	     prefixes++) {
		uint64_t next = start + prefixes + JUMP_SIZE, at;
		struct dt_plan_window *x;

		if (!stay(w, start + own, next))
			return NULL;
		if (!claim(w, start, own, prefixes, size, &at))
			continue;
		x = add_window(w, start, end, (uint8_t)own, DT_TACTIC_PUNNED);
		if (!x)
			return NULL;
		x->prefixes = (uint8_t)prefixes;
		x->at = at;
		x->room = (uint32_t)size;
		dt_work_take(w, start + own, next, true);
		return x;
	}
	return NULL;
}

bool dt_work_claim_again(struct work *w, struct dt_plan_window *x, uint64_t *at)
{
	uint32_t room = (uint32_t)(x->room + 3 * w->p->options.hook);

	if (!w->p->options.claim || !claim(w, x->start, x->patch, x->prefixes, room, at))
		return false;
	x->room = room;
	return true;
}

/* --- a short jump to room that is made for it */

/*
 * All bytes that change must be in one page: of whoever writes them and is killed, all or none are
 * there.
 */
static bool same_page(uint64_t room, uint64_t inner)
{
	uint64_t page = room / PAGE;

	return (room + 2 * JUMP_SIZE - 1) / PAGE == page && inner / PAGE == page &&
	       (inner + 1) / PAGE == page;
}

/* Does something in it branch to where the function begins? That must be led past the entry's hook.
 */
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

static bool fits_inner(const struct work *w, uint64_t start, uint64_t inner, uint64_t end)
{
	return inner - start >= 2 * JUMP_SIZE && end - start <= DT_WINDOW_MAX &&
	       same_page(start, inner) && fits(w, start, inner, inner, false) &&
	       !has_loop(w, start, inner);
}

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

/* The window that has the instruction at, one of this function's, reaches to end now. */
static struct dt_plan_window *extend_inner(struct work *w, uint64_t at, uint64_t inner,
					   uint64_t end)
{
	long i = plain_window(w, at);
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

/*
 * The room is in front of inner, with as few instructions as will do. What jumps or returns to
 * inner meets the short jump. calls: one may be moved; the processor predicts its return wrongly
 * then. own: a window of the function that is in the way may be made longer.
 */
static struct dt_plan_window *inner_jump(struct work *w, uint64_t inner, uint64_t end, bool calls,
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
				       ? make_inner(add_window(w, at, end, 2 * JUMP_SIZE,
							       DT_TACTIC_INNER),
						    inner, end)
				       : NULL;
	}
	return NULL;
}

/*
 * May [start, end) be moved as one, when what jumps or returns to inner meets a short jump there,
 * and nothing from outside leads anywhere else in it?
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
		if (m & DT_CODE_NEAR && !sources_inside(w, at, start, end))
			return false;
	}
	return true;
}

/*
 * As inner_jump(), where [inner, end) alone can not be moved because of branches in front of it
 * that lead into it: these are moved along.
 */
static struct dt_plan_window *inner_around(struct work *w, uint64_t inner, uint64_t end, bool calls)
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
				       ? make_inner(add_window(w, at, end, 2 * JUMP_SIZE,
							       DT_TACTIC_INNER),
						    inner, end)
				       : NULL;
	}
	return NULL;
}

/* Instructions at `at' that make room, for a short jump at inner. Their size; 0: none. */
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
	return end <= w->f->end && !dt_work_any_taken(w, at, end) && fits(w, at, end, end, false) &&
			       !has_loop(w, at, end)
		       ? (unsigned)(end - at)
		       : 0;
}

/*
 * The same for instructions of a function that is not this one: it is left as it is but for that.
 * None that branches is taken, so that its loops are known when it is hooked itself.
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

/*
 * Room for the springboard of a short jump at start, of what ends at end, as near as there is any:
 * in the function, or also elsewhere.
 */
static struct room find_room(const struct work *w, uint64_t start, uint64_t end, bool calls)
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

/* The room is elsewhere. */
static struct dt_plan_window *hosted_jump(struct work *w, uint64_t start, uint64_t end, bool calls)
{
	struct room room = find_room(w, start, end, calls);
	struct dt_plan_window *x = room.size ? add_window(w, start, end, 2, DT_TACTIC_INNER) : NULL;

	if (!x)
		return NULL;
	x->host = room.address;
	x->host_size = (uint8_t)room.size;
	dt_work_take(w, room.address, room.address + room.size, true);
	return x;
}

static struct dt_plan_window *trap(struct work *w, uint64_t start)
{
	struct dt_insn in;

	if (w->p->options.no_traps || !dt_work_decode(w, start, &in) || !dt_work_movable(w, &in) ||
	    dt_work_any_taken(w, start, start + in.length))
		return NULL;
	return add_window(w, start, start + in.length, 1, DT_TACTIC_TRAP);
}

/* How many bytes from start on may be written, at most 4, when [start, end) is moved. */
static unsigned own_bytes(const struct work *w, uint64_t start, uint64_t end)
{
	unsigned own = end - start < 4 ? (unsigned)(end - start) : 4;
	struct dt_insn in;
	uint64_t at = start;

	while (at < end && dt_work_decode(w, at, &in))
		at += in.length;
	if (own < 4 && dt_insn_ends(&in))
		own += filler(w, end, 4 - own);
	return own;
}

/* The same for what begins at start. */
static struct dt_plan_window *squeeze_inner(struct work *w, uint64_t start)
{
	unsigned padding;
	uint64_t end = cover(w, start, 2, &padding);

	if (!end || padding || dt_work_any_taken(w, start, end) || !fits(w, start, end, end, false))
		return NULL;
	for (int calls = 0; calls < 2; calls++) {
		struct dt_plan_window *x = inner_jump(w, start, end, calls, false);

		if (!x)
			x = hosted_jump(w, start, end, calls);
		if (x)
			return x;
	}
	return NULL;
}

/* The dearer tactics at start, where what is moved begins, with as few instructions as will do. */
struct dt_plan_window *dt_work_squeeze_forward(struct work *w, uint64_t start)
{
	struct dt_plan_window *x;
	struct dt_insn in;
	uint64_t one;

	if (!dt_work_decode(w, start, &in) || !dt_work_movable(w, &in))
		return NULL;
	one = start + in.length;
	/* two, three or four bytes to jump with: as many instructions as that takes */
	for (unsigned size = 4; size >= 2; size--) {
		unsigned padding;
		uint64_t end = cover(w, start, size, &padding);

		if (!end || dt_work_any_taken(w, start, end) ||
		    !fits(w, start, end, start + size, false))
			continue;
		x = short_jump(w, start, end);
		if (!x)
			x = punned_jump(w, start, end, size);
		if (x)
			return x;
	}
	if (dt_work_any_taken(w, start, one))
		return NULL;
	x = punned_jump(w, start, one, 1);
	if (!x)
		x = squeeze_inner(w, start);
	return x ? x : trap(w, start);
}

/* --- exits */

/*
 * Where a window that holds the instruction at site may start: the site itself and what runs into
 * it, back to what can be jumped to from elsewhere. Nearest first.
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

/* The window's instructions reach to end now. */
static bool extend(struct work *w, struct dt_plan_window *x, uint64_t end)
{
	uint64_t old = x->start + x->size;

	if (x->start + x->patch > old) /* it uses filler, which is not there then */
		old = x->start + x->patch;
	if (end - x->start > DT_WINDOW_MAX || dt_work_any_taken(w, old, end) ||
	    !fits(w, x->start, end, end, false))
		return false;
	dt_work_take(w, old, end, true);
	x->size = (uint16_t)(end - x->start);
	return true;
}

/* Into the window that is just in front, when everything from there runs to the site. */
static long join(struct work *w, uint64_t site, uint64_t end)
{
	for (uint64_t at = site; (at = dt_work_before(w, at)) && end - at <= DT_WINDOW_MAX;) {
		long i;

		if (!is_taken(w, at))
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
		    fits(w, start[i], end, end, false))
			x = add_window(w, start[i], end, JUMP_SIZE, DT_TACTIC_JUMP);
		if (x)
			return x;
	}
	return NULL;
}

long dt_work_index_of(const struct work *w, const struct dt_plan_window *x)
{
	return x ? x - w->p->window : -1;
}

/* A jump that takes the exit and what is in front of it along. */
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
			if (!stops || filler(w, end, padding) < padding)
				continue;
		}
		if (!fits(w, start[i], end, end, start[i] == site))
			continue;
		return dt_work_index_of(w, add_window(w, start[i], end, JUMP_SIZE,
						      padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP));
	}
	return join(w, site, end);
}

/* A springboard for a short branch in room that is made for it. 0: there is none. */
static uint64_t make_board(struct work *w, const struct dt_code_link *l, struct room *room)
{
	uint64_t end = l->from + l->length;

	if (l->length != 2 || room->size)
		return 0;
	dt_work_take(w, l->from, end, true);
	*room = find_room(w, l->from, end, false);
	if (!room->size)
		*room = find_room(w, l->from, end, true);
	dt_work_take(w, l->from, end, false);
	return room->size ? room->address + JUMP_SIZE : 0;
}

/* The first byte of a branch that could be made to lead elsewhere, with a board if it needs one. */
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
	out->board = find_board(w, l->from + in.length);
	if (!out->board && in.imm_size == 1 && room && !w->simple)
		out->board = make_board(w, l, room);
	return in.imm_size == 1 && out->board;
}

/* Branches that are to lead elsewhere, taken while they are looked for. */
struct retargets {
	struct dt_retarget r[RETARGETS];
	unsigned n;
	bool make; /* room may be made for a springboard: */
	struct room room;
};

void dt_work_take_retarget(struct work *w, const struct dt_retarget *t, bool yes)
{
	dt_work_take(w, t->from, t->from + t->length, yes);
	if (t->board)
		dt_work_take(w, t->board, t->board + JUMP_SIZE, yes);
}

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

/* The jumps from other parts of the function; false: others jump there as well. */
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

/* Does an instruction that is moved to make room branch into [start, end)? It would pass by. */
static bool room_leads(const struct work *w, const struct room *room, uint64_t start, uint64_t end)
{
	struct dt_insn in;

	for (uint64_t at = room->address; at < room->address + room->size; at += in.length)
		if (!dt_work_decode(w, at, &in) || (in.target >= start && in.target < end))
			return true;
	return false;
}

/*
 * The branches to be changed so that [start, end) can be moved with its sites: all those from
 * outside to places inside, and with first also those to start. On failure nothing is taken.
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

/* As fits(), where direct jumps of the function to inside are no obstacle. */
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

/* Is start reached by direct jumps of the function only, never from the instruction in front? */
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
 * A jump in front of a shared exit; those who branch to the exit are sent to its copy. Where nobody
 * comes but by branches, it takes no jump at all.
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
		if (padding && (!stops || filler(w, end, padding) < padding))
			continue;
		dt_work_take(w, end, end + padding, true);
		if (!retarget_all(w, at, end, jumped, &all)) {
			dt_work_take(w, end, end + padding, false);
			return -1;
		}
		dt_work_take(w, end, end + padding, false);
		x = add_window(w, at, end, jumped ? 0 : JUMP_SIZE, DT_TACTIC_SHARED);
		if (!x)
			return -1;
		for (unsigned i = 0; i < all.n; i++) {
			struct dt_plan *p = w->p;

			p->retarget = dt_work_grow(p, p->retarget, p->retargets, &p->retarget_room,
						   sizeof(*p->retarget));
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

/* The dearer tactics for an exit. */
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
			if (!fits(w, start[i], end, end, start[i] == site)) {
				x = pass > 1 ? inner_around(w, start[i], end, pass == 3) : NULL;
				if (x)
					return dt_work_index_of(w, x);
				continue;
			}
			own = own_bytes(w, start[i], end);
			if (pass == 0)
				x = own > 1 ? short_jump(w, start[i], end) : NULL;
			else if (pass == 1)
				x = punned_jump(w, start[i], end, own);
			else if (end - start[i] < 2)
				x = NULL;
			else if (!(x = inner_jump(w, start[i], end, pass == 3, true)))
				x = hosted_jump(w, start[i], end, pass == 3);
			if (x)
				return dt_work_index_of(w, x);
		}
	at = dt_work_exit_shared(w, site, end, stops, true);
	return at >= 0 ? at : dt_work_index_of(w, trap(w, site));
}
