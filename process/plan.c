/* SPDX-License-Identifier: MIT */
/*
 * See plan.h. For every site the tactics are tried from cheap to dear, first for all sites of the
 * function what needs a plain jump, then for those left over the rest: so that a rare expensive
 * site does not take bytes from a cheap one.
 *
 * The ladder is that of E9Patch (Duck, Gao, Roychoudhury: Binary Rewriting without Control Flow
 * Recovery, PLDI 2020) and instruction punning (Chamith, Svensson, Dalessandro, Newton: PLDI 2017),
 * except that control flow is known here, so that windows may hold several instructions.
 */
#include "process/plan.h"

#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/insn.h"

#define JUMP_SIZE   5
#define LONGEST	    48 /* bytes that a window moves at most */
#define STARTS	    24 /* places where a window for an exit may start, at most */
#define SHORT_REACH 127

const char *dt_tactic_name(unsigned tactic)
{
	static const char *const name[] = {"jump", "padded", "shared", "short", "punned", "trap"};

	return tactic < DT_TACTICS ? name[tactic] : "none";
}

/* --- the plan's own memory */

int dt_plan_begin(struct dt_plan *p, const struct dt_code *code,
		  const struct dt_plan_options *options, struct dt_error *e)
{
	*p = (struct dt_plan){.code = code, .options = *options};
	p->taken = calloc(code->regions, sizeof(*p->taken));
	for (size_t i = 0; p->taken && i < code->regions; i++) {
		p->taken[i] = calloc(1, (code->region[i].high - code->region[i].low) / 8 + 1);
		if (!p->taken[i])
			p->failed = true;
	}
	if (!p->taken || p->failed) {
		dt_plan_end(p);
		return dt_fail(e, "out of memory planning probes");
	}
	return 0;
}

void dt_plan_end(struct dt_plan *p)
{
	for (size_t i = 0; p->taken && i < p->code->regions; i++)
		free(p->taken[i]);
	free(p->taken);
	free(p->site);
	free(p->window);
	free(p->retarget);
	*p = (struct dt_plan){0};
}

static void *grow(struct dt_plan *p, void *array, size_t n, size_t *room, size_t size)
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

/* One function's work. */
struct work {
	struct dt_plan *p;
	const struct dt_code *c;
	const struct dt_code_function *whole, *f; /* f: the part that is looked at */
	const struct dt_code_region *r;		  /* that f is in */
	uint8_t *taken;				  /* of r */
	size_t first_window;
	bool anywhere;
	bool simple; /* nothing that touches bytes outside of its window */
};

static void enter(struct work *w, const struct dt_code_function *f)
{
	w->f = f;
	w->r = dt_code_region_of(w->c, f->start);
	w->taken = w->p->taken[w->r - w->c->region];
}

static uint8_t mark_of(const struct work *w, uint64_t at)
{
	return at >= w->r->low && at < w->r->high ? w->r->mark[at - w->r->low] : 0;
}

static bool is_taken(const struct work *w, uint64_t at)
{
	uint64_t i = at - w->r->low;

	return at < w->r->low || at >= w->r->high || w->taken[i / 8] >> i % 8 & 1;
}

static bool any_taken(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (is_taken(w, at))
			return true;
	return false;
}

static void take(struct work *w, uint64_t from, uint64_t to, bool yes)
{
	for (uint64_t at = from; at < to; at++) {
		uint64_t i = at - w->r->low;

		if (yes)
			w->taken[i / 8] |= (uint8_t)(1u << i % 8);
		else
			w->taken[i / 8] &= (uint8_t) ~(1u << i % 8);
	}
}

static bool decode(const struct work *w, uint64_t at, struct dt_insn *in)
{
	return at >= w->r->low && at < w->r->high &&
	       dt_insn_decode(in, w->r->bytes + (at - w->r->low), w->r->high - at, at);
}

/* The beginning of the instruction in front of the one at address; 0: the function begins here. */
static uint64_t before(const struct work *w, uint64_t at)
{
	while (at > w->f->start)
		if (mark_of(w, --at) & DT_CODE_INSN)
			return at;
	return 0;
}

/* Bytes of filler from at on, not used by anything yet, at most wanted. */
static unsigned filler(const struct work *w, uint64_t at, unsigned wanted)
{
	unsigned n = 0;

	while (n < wanted && mark_of(w, at + n) & DT_CODE_FILLER && !is_taken(w, at + n))
		n++;
	return n;
}

/* --- what a window may hold */

static bool movable(const struct work *w, const struct dt_insn *in)
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
		uint8_t m = mark_of(w, at);

		if (!decode(w, at, &in) || !movable(w, &in) || at + in.length > end)
			return false;
		if (in.kind == DT_INSN_SYSCALL && !syscalls)
			return false;
		/* a return address inside */
		if (dt_insn_calls(&in) && at + in.length < end)
			return false;
		for (unsigned k = 1; k < in.length; k++)
			if (mark_of(w, at + k) & DT_CODE_TARGET && at + k < checked)
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

static struct dt_window *add_window(struct work *w, uint64_t start, uint64_t end, uint8_t patch,
				    uint8_t tactic)
{
	struct dt_plan *p = w->p;
	uint64_t used = start + patch > end ? start + patch : end;

	p->window = grow(p, p->window, p->windows, &p->window_room, sizeof(*p->window));
	if (p->failed)
		return NULL;
	take(w, start, used, true);
	p->window[p->windows] = (struct dt_window){
		.start = start,
		.size = (uint16_t)(end - start),
		.patch = patch,
		.tactic = tactic,
		.first_retarget = (uint32_t)p->retargets,
	};
	return &p->window[p->windows++];
}

static void add_site(struct work *w, uint64_t address, uint8_t kind, size_t window)
{
	struct dt_plan *p = w->p;

	p->site = grow(p, p->site, p->sites, &p->site_room, sizeof(*p->site));
	if (p->failed)
		return;
	p->site[p->sites++] = (struct dt_site){
		.address = address,
		.function = (uint32_t)(w->whole - w->c->function),
		.window = (uint32_t)window,
		.kind = kind,
	};
}

/* The function's window that holds the instruction at address, or -1. */
static long window_of(const struct work *w, uint64_t address)
{
	for (size_t i = w->first_window; i < w->p->windows; i++) {
		const struct dt_window *x = &w->p->window[i];

		if (address >= x->start && address < x->start + x->size)
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
		if (!decode(w, at, &in) || !(mark_of(w, at) & DT_CODE_INSN))
			return 0;
		at += in.length;
		if (at >= start + size)
			break;
		if (mark_of(w, at) & DT_CODE_FILLER && dt_insn_ends(&in)) {
			*padding = (unsigned)(start + size - at);
			return filler(w, at, *padding) == *padding ? at : 0;
		}
		if (at >= w->f->end)
			return 0;
	}
	return at;
}

/* A jump at start that covers what follows: entries and points. */
static struct dt_window *jump_forward(struct work *w, uint64_t start)
{
	unsigned padding;
	uint64_t end = cover(w, start, JUMP_SIZE, &padding);

	if (!end || any_taken(w, start, end) || !fits(w, start, end, start + JUMP_SIZE, false))
		return NULL;
	return add_window(w, start, end, JUMP_SIZE, padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP);
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

static struct dt_window *short_jump(struct work *w, uint64_t start, uint64_t end)
{
	struct dt_window *x;
	uint64_t board;

	/* the board must not be filler that the short jump itself needs */
	take(w, start, start + 2, true);
	board = find_board(w, start + 2);
	take(w, start, start + 2, false);
	if (!board)
		return NULL;
	x = add_window(w, start, end, 2, DT_TACTIC_SHORT);
	if (!x)
		return NULL;
	x->board = board;
	take(w, board, board + JUMP_SIZE, true);
	return x;
}

/* Will the bytes stay as they are? Those of other functions are theirs to change. */
static bool stay(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (is_taken(w, at) || (at >= w->f->end && !(mark_of(w, at) & DT_CODE_FILLER)))
			return false;
	return true;
}

/*
 * A jump of which only the first own bytes may be written. What the rest of its distance is to be,
 * the bytes there say already: they must never change.
 */
static struct dt_window *punned_jump(struct work *w, uint64_t start, uint64_t end, unsigned own)
{
	for (unsigned prefixes = 0; w->p->options.claim && !w->simple && prefixes < own;
	     prefixes++) {
		unsigned free = own - prefixes - 1;
		uint64_t next = start + prefixes + JUMP_SIZE, low, high, at;
		uint32_t fixed;
		struct dt_window *x;

		if (!stay(w, start + own, next))
			return NULL;
		memcpy(&fixed, w->r->bytes + (next - 4 - w->r->low), sizeof(fixed));
		fixed &= free < 4 ? ~0u << (8 * free) : 0;
		low = next + (uint64_t)(int64_t)(int32_t)fixed;
		high = low + (free < 4 ? (1ull << (8 * free)) - 1 : UINT32_MAX);
		if (!w->p->options.claim(w->p->options.ctx, low, high,
					 (end - start) * 8 + 3 * w->p->options.hook + 64, &at))
			continue;
		x = add_window(w, start, end, (uint8_t)own, DT_TACTIC_PUNNED);
		if (!x)
			return NULL;
		x->prefixes = (uint8_t)prefixes;
		x->at = at;
		take(w, start + own, next, true);
		return x;
	}
	return NULL;
}

static struct dt_window *trap(struct work *w, uint64_t start)
{
	struct dt_insn in;

	if (w->p->options.no_traps || !decode(w, start, &in) || !movable(w, &in) ||
	    any_taken(w, start, start + in.length))
		return NULL;
	return add_window(w, start, start + in.length, 1, DT_TACTIC_TRAP);
}

/* How many bytes from start on may be written, at most 4, when [start, end) is moved. */
static unsigned own_bytes(const struct work *w, uint64_t start, uint64_t end)
{
	unsigned own = end - start < 4 ? (unsigned)(end - start) : 4;
	struct dt_insn in;
	uint64_t at = start;

	while (at < end && decode(w, at, &in))
		at += in.length;
	if (own < 4 && dt_insn_ends(&in))
		own += filler(w, end, 4 - own);
	return own;
}

/* The dearer tactics at start, where what is moved begins, with as few instructions as will do. */
static struct dt_window *squeeze_forward(struct work *w, uint64_t start)
{
	struct dt_window *x;
	struct dt_insn in;
	uint64_t one;

	if (!decode(w, start, &in) || !movable(w, &in))
		return NULL;
	one = start + in.length;
	/* two, three or four bytes to jump with: as many instructions as that takes */
	for (unsigned size = 4; size >= 2; size--) {
		unsigned padding;
		uint64_t end = cover(w, start, size, &padding);

		if (!end || any_taken(w, start, end) || !fits(w, start, end, start + size, false))
			continue;
		x = short_jump(w, start, end);
		if (!x)
			x = punned_jump(w, start, end, size);
		if (x)
			return x;
	}
	if (any_taken(w, start, one))
		return NULL;
	x = punned_jump(w, start, one, 1);
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

	for (uint64_t at = site; at && n < STARTS && end - at <= LONGEST; at = before(w, at)) {
		struct dt_insn in;
		uint8_t m;

		if (!decode(w, at, &in) || !movable(w, &in) ||
		    (at != site && (in.kind == DT_INSN_SYSCALL || dt_insn_calls(&in))))
			break;
		out[n++] = at;
		m = mark_of(w, at);
		if (w->anywhere || m & (DT_CODE_TARGET & ~DT_CODE_NEAR))
			break;
	}
	return n;
}

/* The window's instructions reach to end now. */
static bool extend(struct work *w, struct dt_window *x, uint64_t end)
{
	uint64_t old = x->start + x->size;

	if (x->start + x->patch > old) /* it uses filler, which is not there then */
		old = x->start + x->patch;
	if (end - x->start > LONGEST || any_taken(w, old, end) ||
	    !fits(w, x->start, end, end, false))
		return false;
	take(w, old, end, true);
	x->size = (uint16_t)(end - x->start);
	return true;
}

/* Into the window that is just in front, when everything from there runs to the site. */
static long join(struct work *w, uint64_t site, uint64_t end)
{
	for (uint64_t at = site; (at = before(w, at)) && end - at <= LONGEST;) {
		long i;

		if (!is_taken(w, at))
			continue;
		i = window_of(w, at);
		if (i < 0 || !extend(w, &w->p->window[i], end))
			return -1;
		return i;
	}
	return -1;
}

static long index_of(const struct work *w, const struct dt_window *x)
{
	return x ? x - w->p->window : -1;
}

/* A jump that takes the exit and what is in front of it along. */
static long exit_by_jump(struct work *w, uint64_t site, uint64_t end, bool stops)
{
	uint64_t start[STARTS];
	unsigned n = starts_of(w, site, end, start);

	for (unsigned i = 0; i < n; i++) {
		unsigned size = (unsigned)(end - start[i]), padding = 0;

		if (any_taken(w, start[i], end))
			break;
		if (size < JUMP_SIZE) {
			padding = JUMP_SIZE - size;
			/* a conditional jump goes on to what follows */
			if (!stops || filler(w, end, padding) < padding)
				continue;
		}
		if (!fits(w, start[i], end, end, start[i] == site))
			continue;
		return index_of(w, add_window(w, start[i], end, JUMP_SIZE,
					      padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP));
	}
	return join(w, site, end);
}

/* The first byte of a branch that could be made to lead elsewhere, with a board if it needs one. */
static bool can_retarget(struct work *w, const struct dt_code_link *l, struct dt_retarget *out)
{
	struct dt_insn in;

	if (!decode(w, l->from, &in) || any_taken(w, l->from, l->from + in.length) ||
	    (in.kind != DT_INSN_JUMP && in.kind != DT_INSN_BRANCH && in.kind != DT_INSN_LOOP))
		return false;
	*out = (struct dt_retarget){.from = l->from, .to = l->to, .length = in.length};
	if (in.imm_size == 4)
		return true;
	out->board = find_board(w, l->from + in.length);
	return in.imm_size == 1 && out->board;
}

#define RETARGETS (DT_PLAN_PATCHES / 2 - 2)

/* Branches that are to lead elsewhere, taken while they are looked for. */
struct retargets {
	struct dt_retarget r[RETARGETS];
	unsigned n;
};

static void take_retarget(struct work *w, const struct dt_retarget *t, bool yes)
{
	take(w, t->from, t->from + t->length, yes);
	if (t->board)
		take(w, t->board, t->board + JUMP_SIZE, yes);
}

static bool add_retarget(struct work *w, struct retargets *all, const struct dt_code_link *l)
{
	if (all->n == RETARGETS || !can_retarget(w, l, &all->r[all->n]))
		return false;
	take_retarget(w, &all->r[all->n++], true);
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
	take(w, start, end, true);
	for (size_t i = 0; i < w->f->links && good; i++)
		if (l[i].to >= low && l[i].to < end && l[i].kind != DT_INSN_RETURN &&
		    (l[i].from < start || l[i].from >= end))
			good = add_retarget(w, all, &l[i]);
	for (uint64_t at = low; at < end && good; at++)
		if (mark_of(w, at) & DT_CODE_CROSS)
			good = retarget_crosses(w, at, all);
	take(w, start, end, false);
	for (unsigned i = 0; i < all->n && !good; i++)
		take_retarget(w, &all->r[i], false);
	return good;
}

/* As fits(), where direct jumps of the function to inside are no obstacle. */
static bool fits_shared(const struct work *w, uint64_t start, uint64_t end)
{
	struct dt_insn in;

	for (uint64_t at = start; at < end; at += in.length) {
		if (!decode(w, at, &in) || !movable(w, &in) || at + in.length > end ||
		    in.kind == DT_INSN_SYSCALL || (dt_insn_calls(&in) && at + in.length < end))
			return false;
		for (unsigned k = at == start; k < in.length; k++)
			if (mark_of(w, at + k) & (k ? DT_CODE_TARGET : DT_CODE_HARD))
				return false;
	}
	return true;
}

/* Is start reached by direct jumps of the function only, never from the instruction in front? */
static bool only_jumped_to(const struct work *w, uint64_t start)
{
	uint8_t m = mark_of(w, start);
	struct dt_insn in;
	uint64_t at;

	if (!(m & DT_CODE_TARGET) || m & DT_CODE_HARD)
		return false;
	for (at = start; (at = before(w, at));)
		if (!(mark_of(w, at) & DT_CODE_FILLER))
			break;
	return at && decode(w, at, &in) && dt_insn_ends(&in);
}

/*
 * A jump in front of a shared exit; those who branch to the exit are sent to its copy. Where nobody
 * comes but by branches, it takes no jump at all.
 */
static long exit_shared(struct work *w, uint64_t site, uint64_t end, bool stops)
{
	struct retargets all;

	if (w->anywhere || w->simple)
		return -1;
	for (uint64_t at = site; at && end - at <= LONGEST; at = before(w, at)) {
		unsigned size = (unsigned)(end - at),
			 padding = size < JUMP_SIZE ? JUMP_SIZE - size : 0;
		bool jumped = only_jumped_to(w, at);
		struct dt_window *x;

		if (any_taken(w, at, end) || !fits_shared(w, at, end))
			return -1;
		if (jumped)
			padding = 0;
		if (padding && (!stops || filler(w, end, padding) < padding))
			continue;
		take(w, end, end + padding, true);
		if (!retarget_all(w, at, end, jumped, &all)) {
			take(w, end, end + padding, false);
			return -1;
		}
		take(w, end, end + padding, false);
		x = add_window(w, at, end, jumped ? 0 : JUMP_SIZE, DT_TACTIC_SHARED);
		if (!x)
			return -1;
		for (unsigned i = 0; i < all.n; i++) {
			struct dt_plan *p = w->p;

			p->retarget = grow(p, p->retarget, p->retargets, &p->retarget_room,
					   sizeof(*p->retarget));
			if (!p->failed)
				p->retarget[p->retargets++] = all.r[i];
		}
		x->retargets = all.n;
		return index_of(w, x);
	}
	return -1;
}

/* The dearer tactics for an exit. */
static long exit_squeezed(struct work *w, uint64_t site, uint64_t end)
{
	uint64_t start[STARTS];
	unsigned n = starts_of(w, site, end, start);
	struct dt_window *x;

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < n; i++) {
			unsigned own;

			if (any_taken(w, start[i], end))
				break;
			if (!fits(w, start[i], end, end, start[i] == site))
				continue;
			own = own_bytes(w, start[i], end);
			x = pass      ? punned_jump(w, start[i], end, own)
			    : own > 1 ? short_jump(w, start[i], end)
				      : NULL;
			if (x)
				return index_of(w, x);
		}
	return index_of(w, trap(w, site));
}

/* --- whole functions */

/*
 * Functions that somebody knows by their address: libc's cancellation looks whether a thread was
 * interrupted between the two labels of the one; debuggers, where libraries are loaded, by the
 * other.
 */
static bool is_special(const char *name)
{
	static const char *const names[] = {"__syscall_cancel_arch", "__restore_rt"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void refuse(struct dt_plan_function *f, uint8_t refusal, uint64_t at, const char *why)
{
	f->refusal = refusal;
	f->at = at;
	f->why = why;
}

/* Gives back what the function has so far. */
static void undo(struct work *w, size_t sites, size_t retargets)
{
	struct dt_plan *p = w->p;

	for (size_t i = w->first_window; i < p->windows; i++) {
		const struct dt_window *x = &p->window[i];
		uint64_t end = x->start + (x->size > x->patch ? x->size : x->patch);

		enter(w, &w->c->function[dt_code_function_at(w->c, x->start)]);
		/* the bytes that a punned jump leaves as they are */
		if (x->tactic == DT_TACTIC_PUNNED && end < x->start + x->prefixes + JUMP_SIZE)
			end = x->start + x->prefixes + JUMP_SIZE;
		take(w, x->start, end, false);
		if (x->board)
			take(w, x->board, x->board + JUMP_SIZE, false);
	}
	for (size_t i = retargets; i < p->retargets; i++)
		take_retarget(w, &p->retarget[i], false);
	p->windows = w->first_window;
	p->sites = sites;
	p->retargets = retargets;
}

static const char cannot_move[] = "an instruction there cannot be moved";
static const char no_room[] = "other probes are in the way";

static bool plan_entry(struct work *w, struct dt_plan_function *f)
{
	struct dt_window *x = NULL;
	uint64_t start = w->whole->start;
	struct dt_insn in;

	enter(w, w->whole);
	if (!decode(w, start, &in)) {
		refuse(f, DT_REFUSED_IMMOVABLE, start, cannot_move);
		return false;
	}
	/* an indirect call must find endbr64 where it arrives, should that ever be enforced */
	if (in.kind == DT_INSN_ENDBR && start + in.length < w->whole->end)
		x = jump_forward(w, start + in.length);
	if (!x)
		x = jump_forward(w, start);
	if (!x)
		x = squeeze_forward(w, start);
	if (!x) {
		bool fixed = !movable(w, &in);

		refuse(f, fixed ? DT_REFUSED_IMMOVABLE : DT_REFUSED_TAKEN, start,
		       fixed ? cannot_move : no_room);
		return false;
	}
	add_site(w, start, DT_SITE_ENTRY, (size_t)index_of(w, x));
	return true;
}

static uint8_t site_kind(const struct dt_exit *x)
{
	static const uint8_t kind[] = {
		[DT_EXIT_RETURN] = DT_SITE_RETURN,
		[DT_EXIT_TAIL] = DT_SITE_TAIL,
		[DT_EXIT_BRANCH] = DT_SITE_BRANCH,
		[DT_EXIT_INDIRECT] = DT_SITE_INDIRECT,
	};

	return kind[x->kind];
}

/* Is there a site for the exit already? */
static bool has_exit(const struct work *w, const struct dt_plan_function *f, uint64_t address)
{
	for (size_t i = f->first_site; i < w->p->sites; i++)
		if (w->p->site[i].address == address && w->p->site[i].kind != DT_SITE_ENTRY)
			return true;
	return false;
}

/* The exits of one part: cheap is the first round. false: one cannot be hooked. */
static bool plan_exits(struct work *w, const struct dt_code_function *part, bool cheap,
		       struct dt_plan_function *f)
{
	enter(w, part);
	for (size_t i = part->first_exit; i < part->first_exit + part->exits; i++) {
		const struct dt_exit *x = &w->c->exit[i];
		uint64_t end = x->address + x->length;
		bool stops = x->kind != DT_EXIT_BRANCH;
		long at = window_of(w, x->address);

		if (at >= 0 && has_exit(w, f, x->address))
			continue;
		if (at < 0)
			at = exit_by_jump(w, x->address, end, stops);
		if (at < 0 && cheap)
			continue;
		if (at < 0)
			at = exit_shared(w, x->address, end, stops);
		if (at < 0)
			at = exit_squeezed(w, x->address, end);
		if (at < 0) {
			struct dt_insn in;
			bool fixed = !decode(w, x->address, &in) || !movable(w, &in);

			refuse(f, fixed ? DT_REFUSED_IMMOVABLE : DT_REFUSED_TAKEN, x->address,
			       fixed ? cannot_move : no_room);
			return false;
		}
		add_site(w, x->address, site_kind(x), (size_t)at);
	}
	return true;
}

static const struct dt_code_function *next_part(const struct work *w,
						const struct dt_code_function *part)
{
	return part->next_part ? &w->c->function[part->next_part] : NULL;
}

static int by_window(const void *a, const void *b)
{
	const struct dt_site *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind; /* the entry first */
}

/*
 * A loop whose head is the function's first instruction is no call: what branches back there is
 * sent to its copy, behind the hook. What is moved itself, or cannot be changed, is not; the
 * function's calls are counted too often then, and f->loops says so.
 */
static void plan_loops(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	struct dt_window *x = &p->window[w->first_window];

	x->first_retarget = (uint32_t)p->retargets;
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part)) {
		const struct dt_code_link *l = &w->c->link[part->first_link];

		enter(w, part);
		for (size_t i = 0; i < part->links; i++) {
			struct dt_retarget t;

			if ((l[i].to != w->whole->start && l[i].to != x->start) ||
			    l[i].kind == DT_INSN_RETURN ||
			    (l[i].to == x->start && window_of(w, l[i].from) == index_of(w, x)))
				continue;
			if (x->retargets == RETARGETS || !can_retarget(w, &l[i], &t)) {
				f->loops = true;
				continue;
			}
			t.to = x->start;
			take_retarget(w, &t, true);
			p->retarget = grow(p, p->retarget, p->retargets, &p->retarget_room,
					   sizeof(*p->retarget));
			if (p->failed)
				return;
			p->retarget[p->retargets++] = t;
			x->retargets++;
		}
	}
}

/* Sorts the function's sites so that each window's stand together. */
static void finish(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;

	f->sites = (uint32_t)(p->sites - f->first_site);
	f->windows = (uint32_t)(p->windows - f->first_window);
	f->why = "";
	qsort(p->site + f->first_site, f->sites, sizeof(*p->site), by_window);
	for (size_t i = p->sites; i-- > f->first_site;) {
		struct dt_window *x = &p->window[p->site[i].window];

		x->first_site = (uint32_t)i;
		x->sites++;
		if (x->tactic > f->tactic)
			f->tactic = x->tactic;
	}
}

static bool trouble(const struct work *w, struct dt_plan_function *f)
{
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part))
		if (part->trouble) {
			refuse(f, DT_REFUSED_TROUBLE, part->trouble_at,
			       dt_trouble_text(part->trouble));
			return true;
		}
	return false;
}

static void begin(struct work *w, struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	*w = (struct work){
		.p = p,
		.c = p->code,
		.whole = &p->code->function[function],
		.first_window = p->windows,
	};
	w->anywhere = p->code->function[w->whole->whole].anywhere;
	*f = (struct dt_plan_function){
		.first_site = (uint32_t)p->sites,
		.first_window = (uint32_t)p->windows,
		.why = "",
	};
}

/* All sites of the function; on failure everything is given back. */
static bool plan_whole(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	size_t sites = p->sites, retargets = p->retargets;
	bool done = plan_entry(w, f);

	for (int cheap = 1; cheap >= 0; cheap--)
		for (const struct dt_code_function *part = w->whole; done && part;
		     part = next_part(w, part))
			done = plan_exits(w, part, cheap, f);
	if (done)
		plan_loops(w, f);
	if (p->failed) {
		refuse(f, DT_REFUSED_TAKEN, 0, "out of memory");
		done = false;
	}
	if (!done)
		undo(w, sites, retargets);
	return done;
}

void dt_plan_function(struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	struct work w;
	bool done;

	begin(&w, p, function, f);
	if (w.whole->part) {
		refuse(f, DT_REFUSED_PART, w.whole->start,
		       "it is the cold part of a function: jumped to, never called");
		return;
	}
	if (trouble(&w, f))
		return;
	if (is_special(w.whole->name)) {
		refuse(f, DT_REFUSED_SPECIAL, w.whole->start, "it is known by its address");
		return;
	}
	done = plan_whole(&w, f);
	if (!done && f->refusal == DT_REFUSED_TAKEN && !p->failed) {
		/* one site has what another needs; without the tactics that do, there is enough */
		begin(&w, p, function, f);
		w.simple = true;
		done = plan_whole(&w, f);
	}
	if (done)
		finish(&w, f);
}

void dt_plan_point(struct dt_plan *p, uint64_t address, struct dt_plan_function *f)
{
	size_t function = dt_code_function_at(p->code, address);
	struct dt_window *x;
	struct dt_insn in;
	struct work w;

	if (function == p->code->functions) {
		*f = (struct dt_plan_function){0};
		refuse(f, DT_REFUSED_OUTSIDE, address, "it is not in the code of any function");
		return;
	}
	begin(&w, p, function, f);
	enter(&w, w.whole);
	if (w.whole->trouble) {
		refuse(f, DT_REFUSED_TROUBLE, w.whole->trouble_at,
		       dt_trouble_text(w.whole->trouble));
		return;
	}
	if (!(mark_of(&w, address) & DT_CODE_INSN)) {
		refuse(f, DT_REFUSED_BOUNDARY, before(&w, address), "no instruction begins there");
		return;
	}
	if (!decode(&w, address, &in) || !movable(&w, &in)) {
		refuse(f, DT_REFUSED_IMMOVABLE, address, cannot_move);
		return;
	}
	x = jump_forward(&w, address);
	if (!x)
		x = squeeze_forward(&w, address);
	if (!x) {
		refuse(f, DT_REFUSED_TAKEN, address, no_room);
		return;
	}
	add_site(&w, address, DT_SITE_POINT, (size_t)index_of(&w, x));
	finish(&w, f);
}

/* --- bytes */

struct emission {
	const struct dt_plan_hook *hook;
	const struct dt_site *site;
};

static void emit_hook(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	const struct emission *m = h->ctx;

	m->hook->emit(o, m->site, m->hook->ctx);
}

static bool distance(uint64_t next, uint64_t to, uint8_t out[4])
{
	uint32_t d = (uint32_t)(to - next);

	memcpy(out, &d, sizeof(d));
	return dt_emit_reaches(next, to);
}

/* jmp rel32 at address, which to must be in the reach of. */
static bool jump_patch(struct dt_patch *p, uint64_t address, uint64_t to)
{
	*p = (struct dt_patch){.address = address, .length = JUMP_SIZE, .bytes = {0xe9}};
	return distance(address + JUMP_SIZE, to, p->bytes + 1);
}

static bool punned_patch(struct dt_patch *p, const struct dt_window *x, uint64_t to)
{
	uint8_t bytes[4 + JUMP_SIZE];

	/* segment prefixes without effect on a jump */
	memset(bytes, 0x2e, x->prefixes);
	bytes[x->prefixes] = 0xe9;
	*p = (struct dt_patch){.address = x->start, .length = x->patch};
	if (!distance(x->start + x->prefixes + JUMP_SIZE, to, bytes + x->prefixes + 1))
		return false;
	memcpy(p->bytes, bytes, x->patch);
	return true;
}

static bool retarget_patch(struct dt_patch *p, unsigned *n, const struct dt_retarget *t,
			   uint64_t to)
{
	uint64_t next = t->from + t->length;

	if (!t->board) {
		p[*n] = (struct dt_patch){.address = next - 4, .length = 4};
		return distance(next, to, p[(*n)++].bytes);
	}
	p[*n] = (struct dt_patch){.address = next - 1, .length = 1};
	p[(*n)++].bytes[0] = (uint8_t)(t->board - next);
	return jump_patch(&p[(*n)++], t->board, to);
}

static int patches(const struct dt_plan *p, const struct dt_window *x, uint64_t bias,
		   struct dt_trampoline *t, struct dt_error *e)
{
	struct dt_window here = *x;
	struct dt_patch *out = t->patch;
	unsigned n = 0;
	bool reaches = true;

	here.start += bias;
	here.board += bias;
	switch (x->tactic) {
	case DT_TACTIC_SHORT:
		out[n] = (struct dt_patch){.address = here.start, .length = 2, .bytes = {0xeb}};
		out[n++].bytes[1] = (uint8_t)(here.board - here.start - 2);
		reaches = jump_patch(&out[n++], here.board, t->address);
		break;
	case DT_TACTIC_PUNNED:
		reaches = punned_patch(&out[n++], &here, t->address);
		break;
	case DT_TACTIC_TRAP:
		out[n++] = (struct dt_patch){.address = here.start, .length = 1, .bytes = {0xcc}};
		break;
	default:
		if (x->patch)
			reaches = jump_patch(&out[n++], here.start, t->address);
	}
	for (size_t i = x->first_retarget; i < x->first_retarget + x->retargets; i++) {
		struct dt_retarget b = p->retarget[i];
		uint64_t to;

		b.from += bias;
		b.to += bias;
		b.board += b.board ? bias : 0;
		to = dt_moved_forward(&t->moved, here.start, t->copy, b.to);
		if (to == here.start)
			to = t->copy; /* a loop's head: behind the hook of the entry */
		if (to == b.to)
			return dt_fail(e, "no instruction of the window begins at 0x%lx",
				       (unsigned long)p->retarget[i].to);
		reaches = retarget_patch(out, &n, &b, to) && reaches;
	}
	t->patches = n;
	if (!reaches)
		return dt_fail(e, "the trampoline at 0x%lx is out of the reach of a jump at 0x%lx",
			       (unsigned long)t->address, (unsigned long)here.start);
	return 0;
}

int dt_plan_emit(const struct dt_plan *p, size_t window, uint64_t bias,
		 const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		 struct dt_error *e)
{
	const struct dt_window *x = &p->window[window];
	const struct dt_code_region *r = dt_code_region_of(p->code, x->start);
	const struct dt_site *site = p->site + x->first_site;
	struct emission what[LONGEST + 1];
	struct dt_relocate_hook hooks[LONGEST + 1];
	size_t n = 0;

	t->address = dt_emit_here(o);
	if (x->tactic == DT_TACTIC_PUNNED && t->address != x->at + bias)
		return dt_fail(e, "the trampoline for 0x%lx must be at 0x%lx",
			       (unsigned long)(x->start + bias), (unsigned long)(x->at + bias));
	for (size_t i = 0; i < x->sites; i++) {
		if (site[i].kind == DT_SITE_ENTRY) {
			/* a branch of the window back to its start means the copy, behind this */
			hook->emit(o, &site[i], hook->ctx);
			continue;
		}
		what[n] = (struct emission){hook, &site[i]};
		hooks[n] = (struct dt_relocate_hook){
			.address = site[i].address + bias,
			.place = site[i].kind == DT_SITE_BRANCH ? DT_HOOK_TAKEN : DT_HOOK_BEFORE,
			.emit = emit_hook,
			.ctx = &what[n],
		};
		n++;
	}
	t->copy = dt_emit_here(o);
	if (dt_relocate(o, r->bytes + (x->start - r->low), x->size, x->start + bias, hooks, n,
			&t->moved, e))
		return -1;
	if (t->moved.falls)
		dt_emit_jump(o, x->start + x->size + bias);
	return patches(p, x, bias, t, e);
}
