/* SPDX-License-Identifier: MIT */
/*
 * The tactics: looking whether one is possible, and making its window. See plan.h.
 *
 * The order of tactics is that of E9Patch (Duck, Gao, Roychoudhury: Binary Rewriting without
 * Control Flow Recovery, PLDI 2020) and instruction punning (Chamith, Svensson, Dalessandro,
 * Newton: PLDI 2017), except that control flow is known here, so that windows may hold several
 * instructions.
 */
#include "arch/x86_64/plan-work.h"
#include "core/array.h"

#include <stdlib.h>
#include <string.h>

void dt_work_enter_at(struct work *w, uint64_t address)
{
	w->r = dt_code_region_of(w->c, address);
	w->taken = w->p->taken[w->r - w->c->region];
}

void dt_work_enter(struct work *w, const struct dt_code_function *f)
{
	w->f = f;
	dt_work_enter_at(w, f->start);
}

uint8_t dt_work_mark_of(const struct work *w, uint64_t at)
{
	return at >= w->r->low && at < w->r->high ? w->r->mark[at - w->r->low] : 0;
}

bool dt_work_is_taken(const struct work *w, uint64_t at)
{
	uint64_t i = at - w->r->low;

	return at < w->r->low || at >= w->r->high || w->r->mark[i] & DT_CODE_READ ||
	       w->taken[i / 8] >> i % 8 & 1;
}

bool dt_work_any_taken(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (dt_work_is_taken(w, at))
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
	struct dt_insn *last = w->p->decoded ? &w->p->decoded[at % DT_PLAN_DECODED] : NULL;

	if (at < w->r->low || at >= w->r->high)
		return false;
	if (last && last->address == at && last->length) {
		*in = *last;
		return true;
	}
	if (!dt_insn_decode(in, w->r->bytes + (at - w->r->low), w->r->high - at, at))
		return false;
	if (last)
		*last = *in;
	return true;
}

uint64_t dt_work_before(const struct work *w, uint64_t at)
{
	while (at > w->f->start)
		if (dt_work_mark_of(w, --at) & DT_CODE_INSN)
			return at;
	return 0;
}

unsigned dt_work_filler(const struct work *w, uint64_t at, unsigned wanted)
{
	unsigned n = 0;

	while (n < wanted && dt_work_mark_of(w, at + n) & DT_CODE_FILLER &&
	       !dt_work_is_taken(w, at + n))
		n++;
	return n;
}

bool dt_work_movable(const struct work *w, const struct dt_insn *in)
{
	if (dt_insn_immovable(in))
		return false;
	return !(w->p->options.no_calls && dt_insn_calls(in));
}

bool dt_work_sources_inside(const struct work *w, uint64_t at, uint64_t low, uint64_t high)
{
	uint64_t from = at > w->f->start + DT_CODE_CLOSE ? at - DT_CODE_CLOSE : w->f->start;
	uint64_t to = at + DT_CODE_CLOSE < w->f->end ? at + DT_CODE_CLOSE : w->f->end;
	const struct dt_code_link *l = &w->c->link[w->f->first_link];
	size_t n = w->f->links, begin = 0;

	for (size_t end = n; begin < end;) { /* the first link at or after from */
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

bool dt_work_fits(const struct work *w, uint64_t start, uint64_t end, uint64_t checked,
		  bool syscalls)
{
	struct dt_insn in;

	for (uint64_t at = start; at < end; at += in.length) {
		uint8_t m = dt_work_mark_of(w, at);

		if (!dt_work_decode(w, at, &in) || !dt_work_movable(w, &in) || at + in.length > end)
			return false;
		if (in.kind == DT_INSN_SYSCALL && !syscalls)
			return false;
		/* its return address would be inside */
		if (dt_insn_calls(&in) && at + in.length < end)
			return false;
		for (unsigned k = 1; k < in.length; k++)
			if (dt_work_mark_of(w, at + k) & DT_CODE_TARGET && at + k < checked)
				return false;
		if (at == start || at >= checked)
			continue;
		if (w->anywhere || m & (DT_CODE_TARGET & ~DT_CODE_NEAR))
			return false;
		if (m & DT_CODE_NEAR && !dt_work_sources_inside(w, at, start, end))
			return false;
	}
	return true;
}

struct dt_plan_window *dt_work_add_window(struct work *w, uint64_t start, uint64_t end,
					  uint8_t patch, uint8_t tactic)
{
	struct dt_plan *p = w->p;
	uint64_t used = start + patch > end ? start + patch : end;

	p->window = dt_array_grown(p->window, p->windows, &p->window_room, DT_PLAN_ROOM,
				   sizeof(*p->window), &p->failed);
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

	p->site = dt_array_grown(p->site, p->sites, &p->site_room, DT_PLAN_ROOM, sizeof(*p->site),
				 &p->failed);
	if (p->failed)
		return;
	p->site[p->sites++] = (struct dt_plan_site){
		.address = address,
		.function = (uint32_t)(w->whole - w->c->function),
		.window = (uint32_t)window,
		.kind = kind,
	};
}

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

uint64_t dt_work_cover(const struct work *w, uint64_t start, unsigned size, unsigned *padding)
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
			return dt_work_filler(w, at, *padding) == *padding ? at : 0;
		}
		if (at >= w->f->end)
			return 0;
	}
	return at;
}

struct dt_plan_window *dt_work_jump_forward(struct work *w, uint64_t start)
{
	unsigned padding;
	uint64_t end = dt_work_cover(w, start, JUMP_SIZE, &padding);

	if (!end || dt_work_any_taken(w, start, end) ||
	    !dt_work_fits(w, start, end, start + JUMP_SIZE, false))
		return NULL;
	return dt_work_add_window(w, start, end, JUMP_SIZE,
				  padding ? DT_TACTIC_PADDED : DT_TACTIC_JUMP);
}

long dt_work_plain_window(const struct work *w, uint64_t at)
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
	uint64_t end =
		until >= start + JUMP_SIZE ? until : dt_work_cover(w, start, JUMP_SIZE, &padding);
	struct dt_plan_window *x = NULL;
	bool good = end && !padding;

	*n = 0;
	for (uint64_t at = start; good && at < end;) {
		long i;

		if (!dt_work_is_taken(w, at)) {
			at++;
			continue;
		}
		i = dt_work_plain_window(w, at);
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
	if (!dt_work_any_taken(w, start, end) && dt_work_fits(w, start, end, end, false))
		x = dt_work_add_window(w, start, end, JUMP_SIZE, DT_TACTIC_JUMP);
	for (unsigned i = 0; i < *n && !x; i++) {
		const struct dt_plan_window *old = &w->p->window[gone[i]];

		dt_work_take(w, old->start,
			     old->start + (old->size > old->patch ? old->size : old->patch), true);
	}
	if (!x) /* the old windows stay, with their sites */
		*n = 0;
	return x;
}

uint64_t dt_work_find_board(const struct work *w, uint64_t next)
{
	for (unsigned far = 0; far <= SHORT_REACH + 1; far++) {
		if (far <= SHORT_REACH && dt_work_filler(w, next + far, JUMP_SIZE) == JUMP_SIZE)
			return next + far;
		if (next - far >= w->r->low &&
		    dt_work_filler(w, next - far, JUMP_SIZE) == JUMP_SIZE)
			return next - far;
	}
	return 0;
}

struct dt_plan_window *dt_work_short_jump(struct work *w, uint64_t start, uint64_t end)
{
	struct dt_plan_window *x;
	uint64_t board;

	/* the board must not be filler that the short jump itself needs */
	dt_work_take(w, start, start + 2, true);
	board = dt_work_find_board(w, start + 2);
	dt_work_take(w, start, start + 2, false);
	if (!board)
		return NULL;
	x = dt_work_add_window(w, start, end, 2, DT_TACTIC_SHORT);
	if (!x)
		return NULL;
	x->board = board;
	dt_work_take(w, board, board + JUMP_SIZE, true);
	return x;
}

/* Looks whether the bytes will stay as they are. Those of other functions may be changed for these.
 */
static bool stay(const struct work *w, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++)
		if (dt_work_is_taken(w, at) ||
		    (at >= w->f->end && !(dt_work_mark_of(w, at) & DT_CODE_FILLER)))
			return false;
	return true;
}

/* Claims room for the trampoline of a punned jump, where the bytes of its distance that are not its
 * own lead. */
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

struct dt_plan_window *dt_work_punned_jump(struct work *w, uint64_t start, uint64_t end,
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
		x = dt_work_add_window(w, start, end, (uint8_t)own, DT_TACTIC_PUNNED);
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
