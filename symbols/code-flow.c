/* SPDX-License-Identifier: MIT */
/* Finds out from jumps about functions: their cold parts, their exits, and what is never executed.
 * See code.h. */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"
#include "symbols/code-work.h"

#define TABLE_LOOK 16 /* entries of a table that are read to see what it is */

static bool named_cold(const char *name)
{
	return name && strstr(name, ".cold");
}

#define NOBODY	UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* What is known of the owner of something that may be a part. */
struct owner {
	uint32_t index;
	bool may;  /* nothing calls it, and it has no name */
	bool must; /* it begins with something on the stack, or is named as a part */
	bool sure; /* it jumps back into the middle of its owner */
};

static void lead_to(struct dt_code *c, struct owner *o, size_t from, uint64_t to)
{
	size_t t = dt_code_function_at(c, to);

	if (t == c->functions || t == from)
		return;
	if (o[t].may && !o[t].sure) {
		if (o[t].index == NOBODY || o[t].index == from)
			o[t].index = (uint32_t)from;
		else if (!o[t].must) /* a part has one owner, so this is a function */
			o[t].index = SEVERAL;
	}
	if (o[from].may && !o[t].may && to != c->function[t].start && !o[from].sure) {
		o[from].index = (uint32_t)t;
		o[from].sure = true;
	}
}

/* Finds the parts of functions that lie elsewhere: the compiler's cold paths. */
void dt_code_join_parts(struct reader *r)
{
	struct dt_code *c = r->c;
	struct owner *o = calloc(c->functions + 1, sizeof(*o));

	if (!o) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		o[i].index = NOBODY;
		o[i].must = named_cold(f->name) ||
			    (!f->name && f->frame &&
			     dt_frame_depth(f->frame, f->start) != DT_ABI_ENTRY_DEPTH);
		o[i].must = o[i].must || f->of;
		o[i].may = o[i].must ||
			   (!f->found && !f->name && !(dt_code_mark(c, f->start) & DT_CODE_CALLED));
	}
	for (size_t i = 0; i < c->functions; i++)
		if (c->function[i].of) {
			o[i].index = (uint32_t)dt_code_function_at(c, c->function[i].of);
			o[i].sure = true;
		}
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (size_t k = f->first_link; k < f->first_link + f->links; k++)
			if (c->link[k].to)
				lead_to(c, o, i, c->link[k].to);
	}
	for (size_t i = 0; i < r->joins; i++)
		lead_to(c, o, r->join[i].function, r->join[i].table);
	for (size_t i = 0; i < c->functions; i++) {
		uint32_t whole = (uint32_t)i;

		/* follows parts of parts, but not in a circle */
		for (unsigned depth = 0; depth < 8 && o[whole].may && o[whole].index < SEVERAL;
		     depth++)
			whole = o[whole].index;
		c->function[i].part = o[i].must || (o[i].may && o[i].index < SEVERAL);
		if (c->function[i].part)
			c->function[i].whole = whole;
	}
	for (size_t i = c->functions; i-- > 0;) {
		struct dt_code_function *f = &c->function[i], *whole = &c->function[f->whole];

		if (f->whole == i)
			continue;
		if (whole->part) { /* a circle: the whole is not known */
			f->whole = (uint32_t)i;
			continue;
		}
		f->next_part = whole->next_part;
		whole->next_part = (uint32_t)i;
	}
	free(o);
}

static int by_to(const void *a, const void *b)
{
	const struct dt_code_link *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_cross(const struct dt_code_function *f, const struct dt_code_link *l)
{
	return l->to && (l->to < f->start || l->to >= f->end);
}

/* Sorts the jumps between functions by target, so that the jumps to an address can be found. */
void dt_code_sort_crosses(struct reader *r)
{
	struct dt_code *c = r->c;
	size_t n = 0;

	for (size_t i = 0; i < c->functions; i++)
		for (size_t k = 0; k < c->function[i].links; k++)
			n += is_cross(&c->function[i], &c->link[c->function[i].first_link + k]);
	c->cross = malloc((n + 1) * sizeof(*c->cross));
	if (!c->cross) {
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < c->functions; i++)
		for (size_t k = 0; k < c->function[i].links; k++) {
			const struct dt_code_link *l = &c->link[c->function[i].first_link + k];

			if (is_cross(&c->function[i], l))
				c->cross[c->crosses++] = *l;
		}
	qsort(c->cross, c->crosses, sizeof(*c->cross), by_to);
}

static uint32_t whole_of(const struct dt_code *c, uint64_t address)
{
	size_t i = dt_code_function_at(c, address);

	return i < c->functions ? c->function[i].whole : UINT32_MAX;
}

/*
 * Does a jump into the middle of an instruction just skip a prefix of it? Such a jump is harmless.
 */
static bool skips_prefix(const struct dt_code *c, uint64_t to)
{
	const struct dt_code_region *r = dt_code_text_at(c, to);
	struct dt_insn whole, rest;
	uint64_t start = to;

	do
		start--;
	while (start > r->low && to - start < DT_INSN_MAX &&
	       !(r->mark[start - r->low] & DT_CODE_INSN));
	return dt_insn_decode(&whole, r->bytes + (start - r->low), r->high - start, start) &&
	       dt_insn_decode(&rest, r->bytes + (to - r->low), r->high - to, to) &&
	       start + whole.length == to + rest.length && dt_insn_is_prefix(&whole, to - start);
}

void dt_code_check_links(struct dt_code *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (size_t k = f->first_link; k < f->first_link + f->links; k++) {
			uint64_t to = c->link[k].to;
			size_t t = to && dt_code_text_at(c, to) ? dt_code_function_at(c, to)
								: c->functions;

			if (t == c->functions || dt_code_mark(c, to) & DT_CODE_INSN)
				continue;
			/* what is decoded after data is no evidence against other functions */
			if (f->trouble == DT_TROUBLE_DATA && t != i)
				continue;
			if (!c->function[t].trouble && !skips_prefix(c, to))
				dt_code_set_trouble(&c->function[t], DT_TROUBLE_OVERLAP, to);
		}
	}
}

static void add_exit(struct reader *r, const struct dt_code_link *l, uint8_t kind, bool into)
{
	struct dt_code *c = r->c;

	if (!dt_code_grow(r, (void **)&c->exit, c->exits, &r->exit_room, sizeof(*c->exit)))
		return;
	c->exit[c->exits++] = (struct dt_exit){
		.address = l->from,
		.target = l->to,
		.length = l->length,
		.kind = kind,
		.into = into,
	};
}

/*
 * Looks where the table leads that a jump of a file at a fixed address goes through. Returns 1 if
 * into the function itself (by one of its first entries; others may be its cold part), -1 if to the
 * beginnings of other functions, 0 if it is not known.
 */
static int table_leads(struct reader *r, const struct dt_code_function *f,
		       const struct dt_code_link *l)
{
	const struct dt_code_region *region = dt_code_text_at(r->c, l->from);
	struct dt_insn in;
	size_t left;
	const uint8_t *p;
	int leads = 0;

	if (!r->fixed ||
	    !dt_insn_decode(&in, region->bytes + (l->from - region->low), l->length, l->from))
		return 0;
	p = dt_symfile_bytes(r->elf, in.relative ? in.memory : dt_insn_absolute(&in), &left);
	for (size_t n = 0; p && n + 8 <= left && n < TABLE_LOOK * 8; n += 8) {
		uint64_t to;
		size_t t;

		memcpy(&to, p + n, sizeof(to));
		t = dt_code_function_at(r->c, to);
		if (t == r->c->functions)
			break;
		if (r->c->function[t].whole == f->whole && to != r->c->function[f->whole].start)
			return 1;
		if (to != r->c->function[t].start)
			break;
		leads = -1;
	}
	return leads;
}

/*
 * Answers leaves() for a function that is known only from calls, and was followed when it was
 * found.
 */
static bool leaves_found(const struct reader *r, struct dt_code_function *whole,
			 const struct dt_code_link *l)
{
	size_t low = dt_count_before(r->jumps, i, r->jump[i].at < l->from);

	if (low < r->jumps && r->jump[low].at == l->from)
		return r->jump[low].leaves;
	whole->anywhere = true;
	return false;
}

/*
 * Does an indirect jump lead to another function, rather than being a switch or computed goto
 * inside? Decided by what the jump looks like, by what is on the stack (only the return address at
 * a tail call), and by whether there is anything inside that it could lead to. If it stays inside
 * and its targets are not known, everything counts as a target.
 */
static bool leaves(struct reader *r, struct dt_code_function *f, const struct dt_code_link *l,
		   bool has_switch)
{
	const struct dt_code *c = r->c;
	struct dt_code_function *whole = &c->function[f->whole];
	const struct dt_frame *frame = dt_frames_find(c->frames, l->from);
	bool bare = !frame || dt_frame_depth(frame, l->from) == DT_ABI_ENTRY_DEPTH;
	/* what was on the stack has been removed, so only a tail call is left to do */
	bool undone = bare && frame && dt_frame_pushes(frame);
	bool table = f->table || whole->table, taken = f->taken || whole->taken;
	int leads =
		l->how == DT_INSN_BY_TABLE || l->how == DT_INSN_BY_SLOT ? table_leads(r, f, l) : 0;

	if (f->found)
		return leaves_found(r, whole, l);
	if (leads < 0 && bare)
		return true;
	switch (l->how) {
	case DT_INSN_BY_DISTANCES:
		/* arithmetic on a taken address can lead anywhere */
		if (!table || taken)
			whole->anywhere = true;
		return false;
	case DT_INSN_BY_TABLE:
		/* of addresses: those of this function if it is a switch, or of functions */
		if (bare && !taken)
			return true;
		break;
	case DT_INSN_BY_SLOT: /* also the remains of a switch over a constant */
	case DT_INSN_BY_MEMORY:
		if (bare && leads <= 0)
			return true;
		break;
	case DT_INSN_BY_INDEX:
		if (bare && (!taken || undone))
			return true;
		break;
	default:
		if (bare && (!taken || undone) && (!table || has_switch))
			return true;
	}
	if (l->how == DT_INSN_BY_REGISTER ? taken || !table : !taken)
		whole->anywhere = true;
	return false;
}

/*
 * Returns the first address after a jump or return that can be jumped to. The bytes before that
 * never run: they are filler, or data that happens to look like instructions. After any other
 * instruction, returns the next address.
 */
static uint64_t unreached_until(const struct dt_code *c, const struct dt_code_function *f,
				const struct dt_code_link *l)
{
	const struct dt_code_region *region = dt_code_text_at(c, f->start);
	uint64_t at = l->from + l->length;

	if (c->function[f->whole].anywhere || f->anywhere ||
	    (l->kind != DT_INSN_JUMP && l->kind != DT_INSN_RETURN &&
	     l->kind != DT_INSN_JUMP_INDIRECT))
		return at;
	while (at < f->end && !(region->mark[at - region->low] & DT_CODE_TARGET))
		at++;
	return at;
}

/* Finds the indirect jumps that leave the function. Returns true if there are some that do not. */
static bool sort_indirect(struct reader *r, struct dt_code_function *f)
{
	struct dt_code_link *l = &r->c->link[f->first_link], *end = l + f->links;
	bool has_switch = false, stays = false;

	for (const struct dt_code_link *k = l; k < end; k++)
		has_switch |= k->how == DT_INSN_BY_DISTANCES;
	for (; l < end; l++) {
		if (l->kind != DT_INSN_JUMP_INDIRECT)
			continue;
		if (leaves(r, f, l, has_switch))
			l->how = DT_CODE_LEAVING;
		else
			stays = true;
	}
	return stays;
}

/*
 * Finds data: a place after a jump that only a taken address leads to, which no jump in the
 * function could use, is a table of numbers between instructions rather than code.
 */
static void find_data(struct dt_code *c, struct dt_code_function *f)
{
	const struct dt_code_link *l = &c->link[f->first_link];

	for (uint32_t i = 0; i < f->links; i++) {
		uint64_t at = unreached_until(c, f, &l[i]);
		uint8_t m = dt_code_mark(c, at);

		if (at < f->end && at > l[i].from + l[i].length - 1 && m & DT_CODE_CALLED &&
		    (l[i].kind == DT_INSN_JUMP || l[i].kind == DT_INSN_RETURN ||
		     l[i].kind == DT_INSN_JUMP_INDIRECT) &&
		    !(m & (DT_CODE_TARGET & ~DT_CODE_HARD)))
			dt_code_set_trouble(f, DT_TROUBLE_DATA, at);
	}
}

static void find_exits_of(struct reader *r, struct dt_code_function *f)
{
	struct dt_code *c = r->c;
	const struct dt_code_link *l = &c->link[f->first_link], *end = l + f->links;
	uint64_t reached = f->start;

	for (; l < end; l++) {
		size_t t;

		if (l->from < reached)
			continue;
		reached = unreached_until(c, f, l);
		if (l->kind == DT_INSN_RETURN) {
			add_exit(r, l, DT_EXIT_RETURN, false);
			continue;
		}
		if (l->kind == DT_INSN_JUMP_INDIRECT) {
			if (l->how == DT_CODE_LEAVING)
				add_exit(r, l, DT_EXIT_INDIRECT, false);
			continue;
		}
		if (whole_of(c, l->to) == f->whole)
			continue;
		t = dt_code_function_at(c, l->to);
		add_exit(r, l, l->kind == DT_INSN_JUMP ? DT_EXIT_TAIL : DT_EXIT_BRANCH,
			 t < c->functions && c->function[t].start != l->to);
	}
}

void dt_code_find_exits(struct reader *r)
{
	struct dt_code *c = r->c;

	for (size_t i = 0; i < c->functions; i++)
		if (sort_indirect(r, &c->function[i]))
			c->function[c->function[i].whole].stays = true;
	for (size_t i = 0; i < c->functions; i++)
		if (!c->function[c->function[i].whole].stays)
			find_data(c, &c->function[i]);
	for (size_t i = 0; i < c->functions; i++) {
		struct dt_code_function *f = &c->function[i];

		f->first_exit = (uint32_t)c->exits;
		find_exits_of(r, f);
		f->exits = (uint32_t)c->exits - f->first_exit;
		f->falls = !f->ends && !f->calls && !f->trouble && i + 1 < c->functions;
	}
}

/* Marks filler from `at' on: nop, int3 or zeros that nothing jumps to. Returns where it ends. */
static uint64_t fill_from(const struct dt_code_region *r, uint64_t at, uint64_t high, bool inside)
{
	struct dt_insn in;

	while (at < high) {
		uint8_t *m = &r->mark[at - r->low];
		unsigned n = 1;

		/* filler ends before a target: from there on the bytes are executed */
		if (*m & DT_CODE_TARGET)
			break;
		if (inside || !dt_insn_pads(r->bytes[at - r->low])) {
			n = dt_insn_decode(&in, r->bytes + (at - r->low), high - at, at);
			if (!n || !dt_insn_is_padding(&in))
				break;
			for (unsigned k = 1; k < n; k++)
				if (m[k] & DT_CODE_TARGET)
					return at;
		}
		for (unsigned k = 0; k < n; k++)
			m[k] |= DT_CODE_FILLER;
		at += n;
	}
	return at;
}

void dt_code_find_filler(struct dt_code *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];
		const struct dt_code_region *r = dt_code_text_at(c, f->start);
		uint64_t next = i + 1 < c->functions && c->function[i + 1].start <= r->high
					? c->function[i + 1].start
					: r->high;

		if (f->trouble || f->anywhere || c->function[f->whole].anywhere)
			continue;
		for (size_t k = f->first_link; k < f->first_link + f->links; k++)
			if (c->link[k].kind == DT_INSN_JUMP || c->link[k].kind == DT_INSN_RETURN ||
			    c->link[k].kind == DT_INSN_JUMP_INDIRECT)
				fill_from(r, c->link[k].from + c->link[k].length, f->end, true);
		/*
		 * filler may follow a call that never returns, but the byte that would be its
		 * return address is not marked
		 */
		if (f->ends || f->calls)
			fill_from(r, f->end + !f->ends, next, false);
	}
}
