/* SPDX-License-Identifier: MIT */
/* Follows one function that is known only from calls: its instructions, its stack, its exits. For
 * code-called.c. */
#include "symbols/code-called-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "symbols/code-work.h"

static void set_trouble(struct start *f, uint8_t trouble, uint64_t at)
{
	if (f->trouble)
		return;
	f->trouble = trouble;
	f->trouble_at = at;
}

void dt_called_set_shared(struct start *f, uint64_t at)
{
	f->shared = true;
	f->shared_at = at;
}

struct start *dt_called_start_among(struct search *s, size_t n, uint64_t at)
{
	size_t low = dt_count_before(n, i, s->start[i].at < at);

	return low < n && s->start[low].at == at ? &s->start[low] : NULL;
}

struct start *dt_called_start_of(struct search *s, uint64_t at)
{
	return dt_called_start_among(s, s->starts, at);
}

static uint64_t next_start(const struct search *s, uint64_t at)
{
	size_t low = dt_count_before(s->starts, i, s->start[i].at <= at);

	return low < s->starts ? s->start[low].at : UINT64_MAX;
}

struct visit *dt_called_slot_of(const struct search *s, uint64_t at)
{
	size_t i = (size_t)(at * 0x9e3779b97f4a7c15ull >> 20) & (s->visit_room - 1);

	while (s->visit[i].turn == s->turn && s->visit[i].at != at)
		i = (i + 1) & (s->visit_room - 1);
	return &s->visit[i];
}

static bool make_room(struct search *s)
{
	struct visit *old = s->visit;
	size_t room = s->visit_room;

	if (2 * (s->visits + 1) < room)
		return true;
	s->visit_room = room ? 2 * room : 4096;
	s->visit = calloc(s->visit_room, sizeof(*s->visit));
	if (!s->visit) {
		s->visit = old;
		s->visit_room = room;
		s->r->failed = true;
		return false;
	}
	for (size_t i = 0; i < room; i++)
		if (old[i].turn == s->turn)
			*dt_called_slot_of(s, old[i].at) = old[i];
	free(old);
	return true;
}

static void go(struct search *s, uint64_t at, const struct dt_stack *stack, uint8_t how)
{
	bool after = how == CAME_BACK;

	if (after ? !dt_called_grow(s, &s->after, s->afters, &s->after_room, sizeof(*s->after))
		  : !dt_called_grow(s, &s->next, s->nexts, &s->next_room, sizeof(*s->next)))
		return;
	if (after)
		s->after[s->afters++] = (struct next){at, *stack, how};
	else
		s->next[s->nexts++] = (struct next){at, *stack, how};
}

uint64_t dt_called_behind_zeros(const struct dt_code_region *g, uint64_t at)
{
	uint64_t from = at;

	while (at < g->high && at % ALIGNED && !g->bytes[at - g->low])
		at++;
	return at % ALIGNED == 0 && at - from > 1 ? at : from;
}

/*
 * Does control leave by going there, because another function begins there or it is no uncovered
 * code?
 */
static bool leaves(const struct search *s, uint64_t at)
{
	return (at != s->f->at && dt_called_is_marked(s, at, START)) || !dt_called_is_open(s, at);
}

/*
 * Does a call return to `at'? It does not if what follows, perhaps after filler, is the beginning
 * of a function or of something whose address is taken elsewhere.
 */
static bool comes_back(const struct search *s, const struct dt_code_region *g, uint64_t at)
{
	struct dt_insn in;
	uint64_t from = at;

	if (dt_called_behind_zeros(g, at) != at)
		return false;
	for (; at < g->high && at < from + 2 * GAP_LEAST; at += in.length) {
		/* a taken address that is not aligned may be a label */
		if (at != s->f->at &&
		    (g->mark[at - g->low] & START ||
		     (at % ALIGNED == 0 && dt_called_is_taken(g->mark[at - g->low]))))
			return false;
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), g->high - at, at))
			return false;
		if (!dt_insn_is_padding(&in))
			return true;
	}
	return false;
}

/* Is there a table at `where' of addresses one of which may be in the function? */
static bool has_labels(const struct search *s, uint64_t where)
{
	const struct word *w = dt_called_word_at(s, where), *end = s->word + s->words;

	for (uint64_t at = where; w && w < end && w->where == at; w++, at += 8)
		if (w->value > s->f->at && w->value < s->below)
			return true;
	return false;
}

/*
 * Looks whether the instruction takes an address inside the function, but not a function's
 * beginning, which one of its jumps could use as a target.
 */
static void look_at_address(struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	uint64_t at = dt_called_taken_by(s, in, code);
	const uint8_t *p;
	size_t left;
	int32_t d;

	if (!at && s->r->fixed && in->kind == DT_INSN_PLAIN)
		at = dt_insn_absolute(in);
	if (!at && in->relative && in->kind == DT_INSN_PLAIN)
		at = in->memory;
	if (!at || s->labels)
		return;
	if (dt_code_text_at(s->c, at)) {
		s->labels = dt_called_is_open(s, at) && !dt_called_is_marked(s, at, START);
		return;
	}
	p = dt_symfile_bytes(s->r->elf, at, &left);
	if (!p)
		return;
	s->labels = has_labels(s, at);
	if (left < 4 || s->labels)
		return;
	memcpy(&d, p, sizeof(d));
	at += (uint64_t)(int64_t)d;
	s->labels = dt_called_is_open(s, at) && dt_called_is_marked(s, at, DT_CODE_INSN) &&
		    !dt_called_is_marked(s, at, START);
}

static void step_jump(struct search *s, const struct dt_insn *in, const struct dt_stack *stack)
{
	struct table table;

	if (in->kind != DT_INSN_JUMP_INDIRECT) {
		if (leaves(s, in->target))
			return;
		if (stack->sp == 0 && in->target != s->f->at &&
		    dt_called_is_taken(*dt_called_mark_at(s, in->target))) {
			if (dt_called_grow(s, &s->wish, s->wishes, &s->wish_room, sizeof(*s->wish)))
				s->wish[s->wishes++] = in->target;
			return;
		}
		if (stack->sp == 0 &&
		    dt_called_grow(s, &s->jumped, s->jumpeds, &s->jumped_room, sizeof(*s->jumped)))
			s->jumped[s->jumpeds++] = in->target;
		go(s, in->target, stack, JUMPED);
	} else if (dt_called_find_table(s, in, &table)) {
		for (uint32_t i = 0; i < table.is.entries; i++) {
			uint64_t to = dt_called_leads_to(&table, i);

			if (leaves(s, to))
				set_trouble(s->f, DT_TROUBLE_JUMPS, in->address);
			else
				go(s, to, stack, BY_TABLE);
		}
	}
}

static bool is_never(const struct search *s, const struct dt_insn *in)
{
	uint64_t at = in->kind == DT_INSN_CALL ? in->target : 0;
	const struct dt_code_region *g = at ? dt_code_region_of(s->c, at) : NULL;

	if (in->relative && in->kind == DT_INSN_CALL_INDIRECT)
		return s->slots && bsearch(&in->memory, s->slot, s->slots, sizeof(*s->slot),
					   dt_called_by_number);
	return g && g->mark[at - g->low] & NEVER;
}

/* Follows the code straight on, until that brings nothing new. */
static void follow(struct search *s, const struct next *from)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, from->at);
	uint64_t end = dt_called_end_of_gap(s->c, from->at), at = from->at;
	struct dt_stack stack = from->stack;
	uint8_t how = from->how;
	struct dt_insn in;

	for (;; how = FELL, at += in.length) {
		const uint8_t *code = g->bytes + (at - g->low);
		struct visit *v;

		if (at >= end || (at != s->f->at && g->mark[at - g->low] & START)) {
			struct start *into = at < end ? dt_called_start_of(s, at) : NULL;

			if (how != CAME_BACK)
				set_trouble(s->f, DT_TROUBLE_SHARES, at);
			if (how != CAME_BACK && into && !s->sweeping)
				into->entered = true;
			return;
		}
		if (!make_room(s))
			return;
		v = dt_called_slot_of(s, at);
		if (v->turn == s->turn) {
			/*
			 * with another stack, this is other code after a call that does not return
			 */
			if (how == CAME_BACK && v->stack.sp != stack.sp)
				return;
			if (!dt_stack_merge(&v->stack, &stack))
				return;
			stack = v->stack;
		} else if (s->visits >= MOST ||
			   !dt_called_grow(s, &s->order, s->orders, &s->order_room,
					   sizeof(*s->order))) {
			set_trouble(s->f, DT_TROUBLE_DATA, at);
			return;
		}
		if (!dt_insn_decode(&in, code, end - at, at)) {
			set_trouble(s->f, DT_TROUBLE_DATA, at);
			return;
		}
		if (v->turn != s->turn) {
			*v = (struct visit){at, stack, s->turn, in.length};
			s->visits++;
			s->order[s->orders++] = at;
			if (in.kind != DT_INSN_JUMP_INDIRECT && (in.relative || s->r->fixed))
				look_at_address(s, &in, code);
		}
		if (in.kind == DT_INSN_JUMP || in.kind == DT_INSN_BRANCH ||
		    in.kind == DT_INSN_LOOP || in.kind == DT_INSN_XBEGIN ||
		    in.kind == DT_INSN_JUMP_INDIRECT)
			step_jump(s, &in, &stack);
		if (dt_insn_ends(&in))
			return;
		if (dt_insn_calls(&in)) {
			if (!is_never(s, &in) && comes_back(s, g, at + in.length))
				go(s, at + in.length, &stack, CAME_BACK);
			return;
		}
		dt_stack_step(&stack, &in, code);
	}
}

/*
 * Takes the next place after a call: the lowest address from the function's beginning on comes
 * first.
 */
static struct next next_after(struct search *s)
{
	struct next x;
	size_t best = 0;

	for (size_t i = 1; i < s->afters; i++)
		if (s->after[i].at - s->f->at < s->after[best].at - s->f->at)
			best = i;
	x = s->after[best];
	s->after[best] = s->after[--s->afters];
	return x;
}

static void note_jump(struct search *s, uint64_t at, bool leaving)
{
	struct reader *r = s->r;

	if (dt_called_grow(s, &r->jump, r->jumps, &r->jump_room, sizeof(*r->jump)))
		r->jump[r->jumps++] = (struct dt_code_jump){at, leaving};
}

/* Checks, when all has been followed, whether the instruction leaves as it should. */
static void check_leaving(struct search *s, const struct visit *v, const struct dt_insn *in)
{
	struct start *f = s->f;
	struct table table;

	if (in->kind == DT_INSN_FAR)
		set_trouble(f, DT_TROUBLE_FAR, v->at);
	if (in->kind == DT_INSN_RETURN && v->stack.sp != 0)
		set_trouble(f, DT_TROUBLE_STACK, v->at);
	if ((in->kind == DT_INSN_JUMP || in->kind == DT_INSN_BRANCH || in->kind == DT_INSN_LOOP) &&
	    leaves(s, in->target) && v->stack.sp != 0) {
		struct start *to = dt_called_start_of(s, in->target);

		set_trouble(f, DT_TROUBLE_STACK, v->at);
		if (to)
			to->entered = true;
	}
	if (in->kind != DT_INSN_JUMP_INDIRECT)
		return;
	if (dt_called_find_table(s, in, &table)) {
		for (uint32_t i = 0; i < table.is.entries; i++)
			dt_code_set_mark(s->c, dt_called_leads_to(&table, i), DT_CODE_HARD);
		note_jump(s, v->at, false);
		return;
	}
	if (v->stack.sp != 0 || s->labels)
		set_trouble(f, DT_TROUBLE_JUMPS, v->at);
	note_jump(s, v->at, true);
}

/* A jump to a sum is one through a table. If the table was not found, its targets are not known. */
static void check_sum(struct search *s, const struct dt_insn *in, const struct dt_insn *before)
{
	struct table table;

	if (in->kind == DT_INSN_JUMP_INDIRECT &&
	    dt_insn_looks(in, before) == DT_INSN_BY_DISTANCES &&
	    !dt_called_find_table(s, in, &table))
		set_trouble(s->f, DT_TROUBLE_JUMPS, in->address);
}

static bool is_filler(const struct dt_code_region *g, uint64_t at, uint64_t end)
{
	struct dt_insn in;

	/* what is before may be in another region, close by */
	if (end < at || end - at > GAP_LEAST || at < g->low)
		return false;
	for (; at < end; at += in.length)
		if (g->mark[at - g->low] & START || dt_called_is_taken(g->mark[at - g->low]) ||
		    !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at) ||
		    !dt_insn_is_padding(&in))
			return false;
	return true;
}

static void add_piece(struct search *s, const struct piece *p)
{
	if (p->high > p->low &&
	    dt_called_grow(s, &s->piece, s->pieces, &s->piece_room, sizeof(*s->piece)))
		s->piece[s->pieces++] = *p;
}

/* Checks all that was followed, in the order of addresses, and joins it to pieces. */
static void finish(struct search *s)
{
	struct piece p = {.low = 0};
	const struct dt_code_region *g = NULL;
	struct dt_insn in = {0}, before;
	bool leaving = false, special = false, jumps = false;
	struct table table;
	uint64_t inside = 0, end = 0;

	if (s->orders)
		qsort(s->order, s->orders, sizeof(*s->order), dt_called_by_number);
	for (size_t i = 0; i < s->orders && !s->r->failed; i++) {
		const struct visit *v = dt_called_slot_of(s, s->order[i]);

		if (!g || v->at < g->low || v->at >= g->high)
			g = dt_code_text_at(s->c, v->at);
		/* a jump over a prefix is no overlap */
		if (v->at < p.high && in.address + in.length == v->at + v->length &&
		    dt_insn_is_prefix(&in, v->at - in.address))
			continue;
		if (v->at < p.high)
			set_trouble(s->f, DT_TROUBLE_OVERLAP, v->at);
		if (!p.high || v->at == s->f->at ||
		    (v->at != p.high && !is_filler(g, p.high, v->at))) {
			add_piece(s, &p);
			p = (struct piece){v->at, v->at, s->f->at, v->stack.sp == 0};
		}
		p.high = v->at + v->length;
		before = in;
		dt_insn_decode(&in, g->bytes + (v->at - g->low), v->length, v->at);
		check_sum(s, &in, &before);
		check_leaving(s, v, &in);
		if (v->at != s->f->at && dt_called_is_taken(g->mark[v->at - g->low]))
			inside = v->at;
		special |= in.kind == DT_INSN_SYSCALL;
		jumps |= (in.kind == DT_INSN_JUMP_INDIRECT &&
			  !dt_called_find_table(s, &in, &table)) ||
			 (dt_insn_direct(&in) && !dt_insn_calls(&in) && leaves(s, in.target));
		leaving |= in.kind == DT_INSN_RETURN || jumps;
		special |= in.kind == DT_INSN_JUMP_INDIRECT;
		s->below_sp |= dt_insn_below_sp(&in);
		/*
		 * for pieces before the first this is not certain, since its end is not known yet
		 */
		if (p.low == s->f->at)
			end = p.high;
		else
			s->goes_back |= dt_insn_direct(&in) && !dt_insn_calls(&in) &&
					(in.target < p.low || in.target >= p.high) &&
					in.target > s->f->at &&
					in.target < (end ? end : UINT64_MAX);
	}
	add_piece(s, &p);
	/* a hook at its beginning or at the jump would overwrite that memory */
	if (s->below_sp && (s->f->jumped || jumps))
		set_trouble(s->f, DT_TROUBLE_STACK, s->f->at);
	/* a jump may lead there, or a handler may compare a thread's position with it */
	if (inside && special)
		set_trouble(s->f, DT_TROUBLE_JUMPS, inside);
	s->f->never = !leaving && !s->f->trouble && s->wishes == s->first_wish;
}

void dt_called_follow_all(struct search *s, struct start *f)
{
	const struct dt_stack empty = {0, DT_STACK_UNKNOWN};

	s->turn++;
	s->f = f;
	s->visits = s->orders = s->nexts = s->afters = 0;
	s->labels = s->below_sp = s->goes_back = false;
	s->jumpeds = 0;
	s->below = next_start(s, f->at);
	go(s, f->at, &empty, JUMPED);
	while ((s->nexts || s->afters) && !s->r->failed) {
		struct next x = s->nexts ? s->next[--s->nexts] : next_after(s);

		follow(s, &x);
	}
}

/*
 * Code that the function jumps to with nothing on the stack is a part of it, or a function that is
 * never called. It counts as a function if it is aligned as functions are, apart from the rest, and
 * does not jump back; but not if something may be below the stack pointer, so that nothing is
 * hooked in between.
 */
static void part_jumped(struct search *s, size_t first)
{
	if (s->f->trouble || s->below_sp || s->goes_back)
		return;
	for (size_t i = first; i < s->pieces; i++) {
		const struct piece *p = &s->piece[i];

		for (size_t k = 0; k < s->jumpeds && p->low != s->f->at && p->bare; k++)
			if (s->jumped[k] == p->low && p->low % ALIGNED == 0 &&
			    !dt_called_is_marked(s, p->low, LABEL) &&
			    dt_called_grow(s, &s->wish, s->wishes, &s->wish_room,
					   sizeof(*s->wish))) {
				s->wish[s->wishes++] = p->low;
				break;
			}
	}
}

void dt_called_look_into(struct search *s, struct start *f)
{
	size_t first = s->pieces;

	f->trouble = DT_TROUBLE_NONE;
	f->again = false;
	f->known = s->starts;
	s->first_wish = s->wishes;
	dt_called_follow_all(s, f);
	finish(s);
	part_jumped(s, first);
	if (f->trouble)
		s->wishes = s->first_wish;
}
