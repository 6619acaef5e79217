/* SPDX-License-Identifier: MIT */
/* From a planned window to its trampoline and the words that lead there. See plan.h and plan.c. */
#include <string.h>

#include "arch/aarch64/word.h"
#include "arch/insn.h"
#include "arch/plan.h"

#define B     0x14000000u
#define SITES 4 /* most sites of a window: an entry and an exit are one each */

/* The context of the relocator's hooks. */
struct emission {
	const struct dt_plan_hook *hook;
	const struct dt_plan_site *site;
	uint64_t to; /* of a loop's branch: where it is to lead */
};

static void emit_hook(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	const struct emission *m = h->ctx;

	m->hook->emit(o, m->site, m->hook->ctx);
}

/* In front of a branch's own jump to its target, which is never reached then. */
static void emit_way(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	const struct emission *m = h->ctx;

	dt_word_branch(o, B, 0, DT_WORD_FAR, m->to);
}

static int out_of_reach(uint64_t from, uint64_t to, struct dt_error *e)
{
	return dt_fail(e, "the trampoline at 0x%lx is out of the reach of a branch at 0x%lx",
		       (unsigned long)to, (unsigned long)from);
}

/* Adds the patch that makes the word at `from' a branch to `to'. */
static int add_patch(struct dt_trampoline *t, uint64_t from, uint64_t to, struct dt_error *e)
{
	struct dt_patch *p = &t->patch[t->patches];
	struct dt_emit o = {.bytes = p->bytes, .room = sizeof(p->bytes), .address = from};

	if (!dt_word_reaches(from, to, DT_WORD_FAR))
		return out_of_reach(from, to, e);
	*p = (struct dt_patch){.address = from, .length = DT_PATCH_JUMP, .leads = true};
	dt_word_branch(&o, B, 0, DT_WORD_FAR, to);
	t->patches++;
	return 0;
}

static int emit_back(struct dt_emit *o, uint64_t to, struct dt_error *e)
{
	if (!dt_word_reaches(dt_emit_here(o), to, DT_WORD_FAR))
		return out_of_reach(to, dt_emit_here(o), e);
	dt_word_branch(o, B, 0, DT_WORD_FAR, to);
	return 0;
}

/* Emits the copy of the instruction at a window's start, with the hooks of its sites, and the way
 * back. The hook of an entry is in front of the copy: a branch to itself leads behind it. */
static int emit_copy(const struct dt_plan *p, const struct dt_plan_window *x, uint64_t bias,
		     const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		     struct dt_error *e)
{
	const struct dt_code_region *r = dt_code_region_of(p->code, x->start);
	const struct dt_plan_site *site = p->site + x->first_site;
	struct emission what[SITES];
	struct dt_relocate_hook hooks[SITES];
	size_t n = 0;

	for (size_t i = 0; i < x->sites; i++) {
		if (site[i].kind == DT_PLAN_ENTRY) {
			hook->emit(o, &site[i], hook->ctx);
			continue;
		}
		if (n == SITES)
			return dt_fail(e, "too many sites at one instruction");
		what[n] = (struct emission){.hook = hook, .site = &site[i]};
		hooks[n] = (struct dt_relocate_hook){
			.address = site[i].address + bias,
			.place = site[i].kind == DT_PLAN_BRANCH ? DT_HOOK_TAKEN : DT_HOOK_BEFORE,
			.emit = emit_hook,
			.ctx = &what[n],
		};
		n++;
	}
	t->copy = dt_emit_here(o);
	if (dt_relocate(o, r->bytes + (x->start - r->low), x->size, x->start + bias, hooks, n,
			&t->moved, e))
		return -1;
	return t->moved.falls ? emit_back(o, x->start + x->size + bias, e) : 0;
}

/*
 * Leads a branch to the function's beginning, which is a loop and no call, to the copy behind the
 * entry's hook. A conditional one does not reach so far, so it is moved, too.
 */
static int emit_loop(const struct dt_plan *p, const struct dt_retarget *l, uint64_t bias,
		     struct dt_emit *o, struct dt_trampoline *t, struct dt_error *e)
{
	const struct dt_code_region *r = dt_code_region_of(p->code, l->from);
	struct emission what = {.to = t->copy};
	struct dt_relocate_hook hook = {
		.address = l->from + bias, .place = DT_HOOK_TAKEN, .emit = emit_way, .ctx = &what};
	struct dt_moved moved;
	struct dt_insn in;

	if (!dt_insn_decode(&in, r->bytes + (l->from - r->low), l->length, l->from))
		return dt_fail(e, "no branch is at 0x%lx", (unsigned long)l->from);
	if (in.kind == DT_INSN_JUMP)
		return add_patch(t, l->from + bias, t->copy, e);
	if (add_patch(t, l->from + bias, dt_emit_here(o), e) ||
	    dt_relocate(o, r->bytes + (l->from - r->low), l->length, l->from + bias, &hook, 1,
			&moved, e))
		return -1;
	return emit_back(o, l->from + l->length + bias, e);
}

int dt_plan_emit(const struct dt_plan *p, size_t window, uint64_t bias,
		 const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		 struct dt_error *e)
{
	const struct dt_plan_window *x = &p->window[window];

	t->address = dt_emit_here(o);
	t->patches = 0;
	t->host = 0;
	if (emit_copy(p, x, bias, hook, o, t, e) || add_patch(t, x->start + bias, t->address, e))
		return -1;
	for (size_t i = x->first_retarget; i < x->first_retarget + x->retargets; i++)
		if (emit_loop(p, &p->retarget[i], bias, o, t, e))
			return -1;
	return 0;
}

uint64_t dt_patch_board(uint64_t address, const uint8_t *bytes, unsigned length)
{
	return 0; /* there are no springboards */
}

void dt_patch_shift(uint8_t *bytes, unsigned length, uint64_t by)
{
	dt_fix_apply(&(struct dt_fix){.kind = DT_FIX_DISTANCE}, bytes, 0, by);
}
