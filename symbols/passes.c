/* SPDX-License-Identifier: MIT */
/*
 * Each function is followed from its beginning along all ways through it. A way counts the calls
 * that come back. A call does not come back if the function's code ends with it, as compilers have
 * it of exit and abort, or if the function that is called has no way out.
 */
#include "symbols/passes.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"
#include "symbols/shorten.h"

#define MOST	   32	/* instructions of such a function */
#define NAME_BYTES 1024 /* a longer name is taken for none */

struct dt_passes {
	struct pass {
		uint64_t address, slot;
		char *name; /* NULL: the slot is nobody's */
	} * function;	    /* sorted by address */
	size_t n;
};

/* A function that is being followed. */
struct walk {
	const struct dt_code *c;
	size_t function; /* its index */
	uint64_t slot;	 /* where all calls that come back, and jumps, lead; 0: none yet */
	uint64_t gone;	 /* the slot of a call that does not come back; 0: none */
	unsigned gones;	 /* how many of those there are */
	bool returns;	 /* some way comes back, with the call made or left to a jump */
	unsigned n;
	struct step {
		uint64_t address;
		bool called; /* a call has been made on the way here */
		bool open;   /* the ways from here are being followed */
	} step[MOST];
};

uint64_t dt_passes_slot(const struct dt_code *c, uint64_t address)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);
	uint8_t plt[DT_PLT] = {0}; /* the last entry may be shorter */

	if (!r || !r->plt)
		return 0;
	memcpy(plt, r->bytes + (address - r->low),
	       r->high - address < DT_PLT ? r->high - address : DT_PLT);
	return dt_plt_slot(plt, address);
}

/* Returns the slot through which a call or jump leads to another file; 0: it leads elsewhere. */
static uint64_t slot_of(const struct dt_code *c, const struct dt_insn *in)
{
	if (in->kind == DT_INSN_CALL || in->kind == DT_INSN_JUMP)
		return dt_passes_slot(c, in->target);
	return in->relative ? in->memory : 0;
}

/* Takes a slot that is called or jumped to. Returns false if it is none, or a second one. */
static bool take(struct walk *w, uint64_t slot)
{
	if (!slot || (w->slot && w->slot != slot))
		return false;
	w->slot = slot;
	return true;
}

/* Returns the function's part that contains address; NULL: it is not in the function. */
static const struct dt_code_function *part_of(const struct walk *w, uint64_t address)
{
	size_t i = dt_code_function_at(w->c, address);

	return i < w->c->functions && w->c->function[i].whole == w->function ? &w->c->function[i]
									     : NULL;
}

/* Does a call of the file's function at address not come back? */
static bool is_end(const struct dt_code *c, uint64_t address)
{
	size_t i = dt_code_function_at(c, address);
	const struct dt_code_function *f = &c->function[i];

	if (i == c->functions || f->start != address || f->whole != i)
		return false;
	for (;;) {
		if (f->exits || f->falls || f->anywhere || f->trouble || f->end == f->start)
			return false;
		if (!f->next_part)
			return true;
		f = &c->function[f->next_part];
	}
}

static bool follow(struct walk *w, uint64_t address, bool called);

/* ends: the code ends behind the call */
static bool follow_call(struct walk *w, const struct dt_insn *in, bool called, bool ends)
{
	uint64_t slot = slot_of(w->c, in);

	if (ends || (in->kind == DT_INSN_CALL && is_end(w->c, in->target))) {
		w->gone = slot;
		w->gones++;
		return true;
	}
	return !called && take(w, slot) && follow(w, in->address + in->length, true);
}

/* Follows the ways from an instruction. Returns false if the function does not only pass on. */
static bool follow_from(struct walk *w, const struct dt_insn *in, bool called, bool ends)
{
	uint64_t behind = in->address + in->length;

	switch (in->kind) {
	case DT_INSN_PLAIN:
	case DT_INSN_NOP:
	case DT_INSN_ENDBR:
		return !ends && follow(w, behind, called);
	case DT_INSN_BRANCH:
		return part_of(w, in->target) && !ends && follow(w, behind, called) &&
		       follow(w, in->target, called);
	case DT_INSN_JUMP:
		if (part_of(w, in->target))
			return follow(w, in->target, called);
		w->returns = true;
		return !called && take(w, slot_of(w->c, in));
	case DT_INSN_JUMP_INDIRECT:
		w->returns = true;
		return !called && take(w, slot_of(w->c, in));
	case DT_INSN_CALL:
	case DT_INSN_CALL_INDIRECT:
		return follow_call(w, in, called, ends);
	case DT_INSN_RETURN:
		w->returns = w->returns || called;
		return true;
	case DT_INSN_TRAP:
		return true;
	default:
		return false;
	}
}

static bool follow(struct walk *w, uint64_t address, bool called)
{
	const struct dt_code_function *f = part_of(w, address);
	const struct dt_code_region *r = f ? dt_code_region_of(w->c, address) : NULL;
	struct dt_insn in;
	struct step *s;
	bool ok;

	for (unsigned i = 0; i < w->n; i++)
		if (w->step[i].address == address && w->step[i].called == called)
			return !w->step[i].open; /* if it is open, this is a loop */
	if (!r || w->n == MOST ||
	    !dt_insn_decode(&in, r->bytes + (address - r->low), f->end - address, address))
		return false;
	s = &w->step[w->n++];
	*s = (struct step){address, called, true};
	ok = follow_from(w, &in, called, address + in.length >= f->end);
	s->open = false;
	return ok;
}

/* Returns the slot of the function to which function i of the map passes on; 0: it does not. */
static uint64_t passes_on(const struct dt_code *c, size_t i)
{
	const struct dt_code_function *f = &c->function[i];
	struct walk w = {.c = c, .function = i};

	if (f->name || f->whole != i || f->end == f->start ||
	    f->end - f->start > MOST * DT_INSN_MAX || !follow(&w, f->start, false))
		return 0;
	if (w.slot)
		return w.returns ? w.slot : 0;
	return w.gones == 1 ? w.gone : 0;
}

/* ---- names ---- */

/* Returns a copy of the name as programs write it; NULL: it has none, or there is no memory. */
static char *readable(const char *linkage)
{
	char *full = NULL, *shorter, *out;
	size_t n;

	if (!*linkage || strlen(linkage) > NAME_BYTES)
		return NULL;
	if (linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R'))
		full = cplus_demangle(linkage, DMGL_ANSI | DMGL_AUTO);
	if (!full)
		return strdup(linkage);
	n = strlen(full);
	shorter = n > NAME_BYTES ? NULL : malloc(2 * n + 1);
	out = n > NAME_BYTES			     ? NULL
	      : shorter && dt_shorten(full, shorter) ? strdup(shorter)
						     : strdup(full);
	free(shorter);
	free(full);
	return out;
}

static void on_name(void *ctx, size_t i, const char *name)
{
	struct dt_passes *p = ctx;

	free(p->function[i].name);
	p->function[i].name = readable(name);
}

struct dt_passes *dt_passes_read(const struct dt_code *c, const struct dt_elf *f)
{
	struct dt_passes *p = calloc(1, sizeof(*p));
	struct dt_elf_slot *slot = NULL;
	size_t room = 0;

	for (size_t i = 0; p && i < c->functions; i++) {
		uint64_t at = passes_on(c, i);

		if (at && p->n == room) {
			size_t n = room ? 2 * room : 64;
			struct pass *more = realloc(p->function, n * sizeof(*more));

			if (!more)
				goto fail;
			p->function = more;
			room = n;
		}
		if (at)
			p->function[p->n++] = (struct pass){c->function[i].start, at, NULL};
	}
	if (!p || !p->n)
		return p;
	slot = calloc(p->n, sizeof(*slot));
	if (!slot)
		goto fail;
	for (size_t i = 0; i < p->n; i++)
		slot[i] = (struct dt_elf_slot){p->function[i].slot, 0, i};
	dt_elf_slot_names(f, slot, p->n, on_name, p);
	free(slot);
	return p;
fail:
	dt_passes_free(p);
	return NULL;
}

void dt_passes_free(struct dt_passes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->function[i].name);
	free(p->function);
	free(p);
}

const char *dt_passes_name(const struct dt_passes *p, uint64_t address)
{
	size_t n = p ? p->n : 0, at = dt_count_before(n, i, p->function[i].address < address);

	return at < n && p->function[at].address == address ? p->function[at].name : NULL;
}
