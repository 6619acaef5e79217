/* SPDX-License-Identifier: MIT */
/* From a planned window to its trampoline and the bytes that lead there. See plan.h. */
#include <string.h>

#include "arch/plan.h"

#define JUMP_SIZE 5

/* The context of emit_hook(). */
struct emission {
	const struct dt_plan_hook *hook;
	const struct dt_plan_site *site;
};

static void emit_hook(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	const struct emission *m = h->ctx;

	m->hook->emit(o, m->site, m->hook->ctx);
}

/* Writes the 32-bit distance from next to `to'; false: it does not reach. */
static bool distance(uint64_t next, uint64_t to, uint8_t out[4])
{
	uint32_t d = (uint32_t)(to - next);

	memcpy(out, &d, sizeof(d));
	return dt_emit_reaches(next, to);
}

/* Makes the patch of a jmp rel32 at address; false: it does not reach `to'. */
static bool jump_patch(struct dt_patch *p, uint64_t address, uint64_t to)
{
	*p = (struct dt_patch){
		.address = address, .length = JUMP_SIZE, .leads = true, .bytes = {0xe9}};
	return distance(address + JUMP_SIZE, to, p->bytes + 1);
}

/* Makes the patch of a punned jump. */
static bool punned_patch(struct dt_patch *p, const struct dt_plan_window *x, uint64_t to)
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

/* Makes the patch of a branch's distance, and of its springboard if it has one. */
static bool retarget_patch(struct dt_patch *p, unsigned *n, const struct dt_retarget *t,
			   uint64_t to)
{
	uint64_t next = t->from + t->length;

	if (!t->board) {
		p[*n] = (struct dt_patch){.address = next - 4, .length = 4, .leads = true};
		return distance(next, to, p[(*n)++].bytes);
	}
	p[*n] = (struct dt_patch){.address = next - 1, .length = 1};
	p[(*n)++].bytes[0] = (uint8_t)(t->board - next);
	return jump_patch(&p[(*n)++], t->board, to);
}

/* Makes the patches of the jump that makes room, the springboard after it, and the short jump that
 * leads to the springboard. */
static bool inner_patches(struct dt_patch *p, unsigned *n, const struct dt_plan_window *x,
			  const struct dt_trampoline *t)
{
	uint64_t room = x->host_size ? x->host : x->start, inner = x->start + x->inner;
	uint64_t to = x->inner ? dt_moved_forward(t->moved.at, t->moved.n, x->start, t->copy, inner)
			       : t->address;
	bool reaches = jump_patch(&p[0], room, x->host_size ? t->host : t->address);

	reaches = jump_patch(&p[1], room + JUMP_SIZE, to) && reaches;
	p[2] = (struct dt_patch){.address = inner, .length = 2, .bytes = {0xeb}};
	p[2].bytes[1] = (uint8_t)(room + JUMP_SIZE - inner - 2);
	*n = 3;
	return reaches;
}

/* Makes all patches of a window whose trampoline has been written. */
static int patches(const struct dt_plan *p, const struct dt_plan_window *x, uint64_t bias,
		   struct dt_trampoline *t, struct dt_error *e)
{
	struct dt_plan_window here = *x;
	struct dt_patch *out = t->patch;
	unsigned n = 0;
	bool reaches = true;

	here.start += bias;
	here.board += bias;
	here.host += bias;
	switch (x->tactic) {
	case DT_TACTIC_SHORT:
		out[n] = (struct dt_patch){.address = here.start, .length = 2, .bytes = {0xeb}};
		out[n++].bytes[1] = (uint8_t)(here.board - here.start - 2);
		reaches = jump_patch(&out[n++], here.board, t->address);
		break;
	case DT_TACTIC_INNER:
		reaches = inner_patches(out, &n, &here, t);
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
		if (x->host_size)
			reaches = jump_patch(&out[n++], here.host, t->host) && reaches;
	}
	for (size_t i = x->first_retarget; i < x->first_retarget + x->retargets; i++) {
		struct dt_retarget b = p->retarget[i];
		uint64_t to;

		b.from += bias;
		b.to += bias;
		b.board += b.board ? bias : 0;
		to = dt_moved_forward(t->moved.at, t->moved.n, here.start, t->copy, b.to);
		if (to == here.start)
			to = t->copy; /* a loop's head: after the hook of the entry */
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

/*
 * Emits the copy of [low, low + size), which is the window or its host, with the hooks of the sites
 * in it, and after it the jump back. The hook of an entry comes before the copy.
 */
static int emit_stretch(const struct dt_plan *p, const struct dt_plan_window *x, uint64_t low,
			size_t size, uint64_t bias, const struct dt_plan_hook *hook,
			struct dt_emit *o, uint64_t *copy, struct dt_moved *moved,
			struct dt_error *e)
{
	const struct dt_code_region *r = dt_code_region_of(p->code, low);
	const struct dt_plan_site *site = p->site + x->first_site;
	struct emission what[DT_WINDOW_MAX + 1];
	struct dt_relocate_hook hooks[DT_WINDOW_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < x->sites; i++) {
		if (site[i].kind == DT_PLAN_ENTRY && low == x->start) {
			/* a branch in the window back to its start leads to the copy, after this */
			hook->emit(o, &site[i], hook->ctx);
			continue;
		}
		if (site[i].address < low || site[i].address >= low + size)
			continue;
		what[n] = (struct emission){hook, &site[i]};
		hooks[n] = (struct dt_relocate_hook){
			.address = site[i].address + bias,
			.place = site[i].kind == DT_PLAN_BRANCH ? DT_HOOK_TAKEN : DT_HOOK_BEFORE,
			.emit = emit_hook,
			.ctx = &what[n],
		};
		n++;
	}
	*copy = dt_emit_here(o);
	if (dt_relocate(o, r->bytes + (low - r->low), size, low + bias, hooks, n, moved, e))
		return -1;
	if (moved->falls)
		dt_emit_jump(o, low + size + bias);
	return 0;
}

int dt_plan_emit(const struct dt_plan *p, size_t window, uint64_t bias,
		 const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		 struct dt_error *e)
{
	const struct dt_plan_window *x = &p->window[window];

	t->address = dt_emit_here(o);
	if (x->tactic == DT_TACTIC_PUNNED && t->address != x->at + bias)
		return dt_fail(e, "the trampoline for 0x%lx must be at 0x%lx",
			       (unsigned long)(x->start + bias), (unsigned long)(x->at + bias));
	if (emit_stretch(p, x, x->start, x->size, bias, hook, o, &t->copy, &t->moved, e) ||
	    (x->host_size &&
	     emit_stretch(p, x, x->host, x->host_size, bias, hook, o, &t->host, &t->host_moved, e)))
		return -1;
	return patches(p, x, bias, t, e);
}

uint64_t dt_patch_board(uint64_t address, const uint8_t *bytes, unsigned length)
{
	if (length != 1 && (length != 2 || bytes[0] != 0xeb))
		return 0;
	return address + length + (uint64_t)(int8_t)bytes[length - 1];
}

void dt_patch_shift(uint8_t *bytes, unsigned length, uint64_t by)
{
	uint32_t distance;

	memcpy(&distance, bytes + length - sizeof(distance), sizeof(distance));
	distance += (uint32_t)by;
	memcpy(bytes + length - sizeof(distance), &distance, sizeof(distance));
}
