/* SPDX-License-Identifier: MIT */
/*
 * Planning how to hook functions on aarch64 (arch/plan.h). A branch is as long as any instruction,
 * so each site has a window of its own, of one instruction: nothing can be jumped to in the middle
 * of one, and none is in another's way.
 *
 * An entry's window is the function's first instruction, or the one behind its landing pads (bti,
 * paciasp): an indirect call has to find these where it arrives. x30 is signed there if they have
 * signed it, and is only kept. Branches from inside the function to its beginning are loops: they
 * are led behind the entry's hook (plan-emit.c).
 *
 * What has no window is refused with its function: exclusives (nothing may come between a load and
 * its store), what traps, a system call where a function begins (a thread would wait in the
 * trampoline), words that others read as data, and what returns by another register than x30.
 */
#include "arch/plan.h"

#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "core/array.h"

#define LOOPS (DT_PLAN_PATCHES - 1) /* most branches to a function's beginning that are led on */

struct work {
	struct dt_plan *p;
	const struct dt_code *c;
	const struct dt_code_function *whole;
};

const char *dt_tactic_name(unsigned tactic)
{
	return tactic == DT_TACTIC_JUMP ? "branch" : "none";
}

int dt_plan_begin(struct dt_plan *p, const struct dt_code *code,
		  const struct dt_plan_options *options, struct dt_error *e)
{
	*p = (struct dt_plan){.code = code, .options = *options};
	return 0;
}

void dt_plan_end(struct dt_plan *p)
{
	free(p->site);
	free(p->window);
	free(p->retarget);
	*p = (struct dt_plan){0};
}

int dt_plan_copy(struct dt_plan *to, const struct dt_plan *from)
{
	bool failed = false;

	*to = *from;
	to->site = dt_array_copy(from->site, from->sites, sizeof(*to->site), &failed);
	to->window = dt_array_copy(from->window, from->windows, sizeof(*to->window), &failed);
	to->retarget =
		dt_array_copy(from->retarget, from->retargets, sizeof(*to->retarget), &failed);
	to->site_room = from->sites;
	to->window_room = from->windows;
	to->retarget_room = from->retargets;
	if (!failed)
		return 0;
	dt_plan_end(to);
	return -1;
}

static void refuse(struct dt_plan_function *f, uint8_t refusal, uint64_t at, const char *why)
{
	f->refusal = refusal;
	f->at = at;
	f->why = why;
}

static const struct dt_code_function *next_part(const struct work *w,
						const struct dt_code_function *part)
{
	return part->next_part ? &w->c->function[part->next_part] : NULL;
}

/* Decodes the instruction at an address; false: there is none in the code. */
static bool decode(const struct work *w, uint64_t at, struct dt_insn *in)
{
	const struct dt_code_region *r = dt_code_region_of(w->c, at);

	return r && dt_insn_decode(in, r->bytes + (at - r->low), r->high - at, at);
}

/* Looks whether the instruction can have a window. */
static bool is_movable(const struct work *w, const struct dt_insn *in)
{
	return !dt_insn_immovable(in) && in->kind != DT_INSN_SYSCALL &&
	       !(dt_code_mark(w->c, in->address) & DT_CODE_READ);
}

/* Adds a site to the plan, and to its last window, which is at `at', or to a new one there. */
static void add_site(struct work *w, uint64_t address, uint8_t kind, uint64_t at, bool fresh)
{
	struct dt_plan *p = w->p;

	p->site = dt_array_grown(p->site, p->sites, &p->site_room, DT_PLAN_ROOM, sizeof(*p->site),
				 &p->failed);
	p->window = dt_array_grown(p->window, p->windows, &p->window_room, DT_PLAN_ROOM,
				   sizeof(*p->window), &p->failed);
	if (p->failed)
		return;
	if (fresh)
		p->window[p->windows++] =
			(struct dt_plan_window){.start = at,
						.size = DT_PATCH_JUMP,
						.patch = DT_PATCH_JUMP,
						.tactic = DT_TACTIC_JUMP,
						.first_site = (uint32_t)p->sites,
						.first_retarget = (uint32_t)p->retargets};
	p->site[p->sites++] =
		(struct dt_plan_site){.address = address,
				      .function = (uint32_t)(w->whole - w->c->function),
				      .window = (uint32_t)(p->windows - 1),
				      .kind = kind};
	p->window[p->windows - 1].sites++;
}

static uint8_t site_kind(const struct dt_exit *x)
{
	static const uint8_t kind[] = {
		[DT_EXIT_RETURN] = DT_PLAN_RETURN,
		[DT_EXIT_TAIL] = DT_PLAN_TAIL,
		[DT_EXIT_BRANCH] = DT_PLAN_BRANCH,
		[DT_EXIT_INDIRECT] = DT_PLAN_INDIRECT,
	};

	return kind[x->kind];
}

/*
 * Looks whether it returns through another register than x30. Then the function may call others
 * with nothing of its own on the stack, so that these calls could not be told from its own: both
 * have the same stack pointer (libc's rawmemchr).
 */
static bool returns_elsewhere(const struct dt_insn *in)
{
	return in->kind == DT_INSN_RETURN && (in->word & 0xfffffc1f) == 0xd65f0000 &&
	       (in->word >> 5 & 31) != 30;
}

/* Adds the exits, but those at `first'; only: that one alone. */
static bool plan_exits(struct work *w, uint64_t first, bool only, struct dt_plan_function *f)
{
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part))
		for (size_t i = part->first_exit; i < part->first_exit + part->exits; i++) {
			const struct dt_exit *x = &w->c->exit[i];
			struct dt_insn in;

			if ((x->address == first) != only)
				continue;
			if (!decode(w, x->address, &in) || !is_movable(w, &in)) {
				refuse(f, DT_REFUSED_IMMOVABLE, x->address,
				       "an instruction there cannot be moved");
				return false;
			}
			if (returns_elsewhere(&in)) {
				refuse(f, DT_REFUSED_SPECIAL, x->address,
				       "it keeps its return address in a register other than x30");
				return false;
			}
			add_site(w, x->address, site_kind(x), x->address, !only);
		}
	return true;
}

/* Returns where the entry's window is: behind landing pads. *pads: 1 if there are any, 2 if they do
 * more than nothing (paciasp). */
static uint64_t entry_at(const struct work *w, struct dt_insn *in, unsigned *pads)
{
	uint64_t at = w->whole->start;

	*pads = 0;
	while (decode(w, at, in) && (in->pad || in->kind == DT_INSN_ENDBR) && at < w->whole->end) {
		if (*pads < 2)
			*pads = in->kind == DT_INSN_ENDBR ? 1 : 2;
		at += in->length;
	}
	return at;
}

/* Leads the branches from inside the function to its beginning, which are loops, behind the
 * entry's hook. Where that can not be, the function's calls are counted too often. */
static void plan_loops(struct work *w, size_t window, unsigned pads, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	uint64_t at = p->window[window].start;

	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part))
		for (size_t i = part->first_link; i < part->first_link + part->links; i++) {
			const struct dt_code_link *l = &w->c->link[i];

			if ((l->kind != DT_INSN_JUMP && l->kind != DT_INSN_BRANCH) ||
			    (l->to != at && l->to != w->whole->start) || l->from == at)
				continue;
			if (p->window[window].retargets == LOOPS || (l->to != at && pads > 1) ||
			    dt_code_mark(w->c, l->from) & DT_CODE_READ) {
				f->loops = true;
				continue;
			}
			p->retarget =
				dt_array_grown(p->retarget, p->retargets, &p->retarget_room,
					       DT_PLAN_ROOM, sizeof(*p->retarget), &p->failed);
			if (p->failed)
				return;
			p->retarget[p->retargets++] = (struct dt_retarget){
				.from = l->from, .to = at, .length = l->length};
			p->window[window].retargets++;
		}
}

/* Plans all sites of the function; false: one can not be hooked. */
static bool plan_whole(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	struct dt_insn in;
	unsigned pads;
	uint64_t at = entry_at(w, &in, &pads);

	if (at >= w->whole->end) {
		refuse(f, DT_REFUSED_IMMOVABLE, at, "there is nothing behind its landing pad");
		return false;
	}
	if (!in.length || !is_movable(w, &in)) {
		refuse(f, DT_REFUSED_IMMOVABLE, at,
		       in.kind == DT_INSN_SYSCALL
			       ? "it begins with a system call, in which threads may wait"
			       : "an instruction there cannot be moved");
		return false;
	}
	add_site(w, w->whole->start, DT_PLAN_ENTRY, at, true);
	if (p->failed || !plan_exits(w, at, true, f))
		return false;
	plan_loops(w, f->first_window, pads, f);
	/* it may also be one of several that are never called, and jump to each other in a circle
	 */
	if (f->loops && w->whole->found) {
		refuse(f, DT_REFUSED_TAKEN, w->whole->start,
		       "it jumps to its own beginning, which would be taken for a call");
		return false;
	}
	return plan_exits(w, at, false, f) && !p->failed;
}

/* libc's cancellation looks whether a thread was interrupted inside it. */
static bool is_special(const char *name)
{
	return name && !strcmp(name, "__syscall_cancel_arch");
}

/* Looks whether a part of the function has trouble, or is known by its address, and refuses the
 * function then. */
static bool is_refused(const struct work *w, struct dt_plan_function *f)
{
	if (w->whole->part) {
		refuse(f, DT_REFUSED_PART, w->whole->start,
		       "it is the cold part of a function: jumped to, never called");
		return true;
	}
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part))
		if (part->trouble) {
			refuse(f, DT_REFUSED_TROUBLE, part->trouble_at,
			       dt_trouble_text(part->trouble));
			return true;
		}
	if (is_special(w->whole->name))
		refuse(f, DT_REFUSED_SPECIAL, w->whole->start, "it is known by its address");
	return f->refusal != DT_REFUSED_NOT;
}

void dt_plan_function(struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	struct work w = {.p = p, .c = p->code, .whole = &p->code->function[function]};
	struct dt_plan_mark mark = dt_plan_mark(p);

	*f = (struct dt_plan_function){
		.first_site = (uint32_t)p->sites, .first_window = (uint32_t)p->windows, .why = ""};
	if (is_refused(&w, f))
		return;
	if (!plan_whole(&w, f)) {
		dt_plan_back(p, &mark);
		if (p->failed)
			refuse(f, DT_REFUSED_TAKEN, 0, "out of memory");
		return;
	}
	f->sites = (uint32_t)(p->sites - f->first_site);
	f->windows = (uint32_t)(p->windows - f->first_window);
}

/* No function is ever in another's way. */
void dt_plan_function_among(struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	dt_plan_function(p, function, f);
}

void dt_plan_point(struct dt_plan *p, uint64_t address, struct dt_plan_point *x)
{
	*x = (struct dt_plan_point){.address = address,
				    .refusal = DT_REFUSED_IMMOVABLE,
				    .at = address,
				    .why = "there are no points on this processor yet"};
}

struct dt_plan_mark dt_plan_mark(const struct dt_plan *p)
{
	return (struct dt_plan_mark){p->windows, p->sites, p->retargets};
}

void dt_plan_back(struct dt_plan *p, const struct dt_plan_mark *m)
{
	p->windows = m->windows;
	p->sites = m->sites;
	p->retargets = m->retargets;
}

void dt_plan_restore(struct dt_plan *p, const struct dt_plan_gone *gone)
{
	p->window[gone->index] = gone->was;
}

/* There are no points, so no window holds nothing else. */
size_t dt_plan_drop_points(struct dt_plan *p, size_t function, struct dt_plan_gone *gone,
			   size_t most)
{
	return 0;
}
