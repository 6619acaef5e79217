/* SPDX-License-Identifier: MIT */
/* What planning a function (plan.c) and its tactics (plan-tactic.c) share; for nobody else. */
#ifndef DT_ARCH_PLAN_WORK_H
#define DT_ARCH_PLAN_WORK_H

#include "arch/x86_64/insn.h"
#include "arch/x86_64/plan.h"

#define JUMP_SIZE 5
#define RETARGETS (DT_PLAN_PATCHES / 2 - 2) /* branches that one window can change */

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

/* Array with room for one more element; the same, and p->failed: no memory. */
void *dt_work_grow(struct dt_plan *p, void *array, size_t n, size_t *room, size_t size);
/* From here on it is about f, the function or one of its parts. */
void dt_work_enter(struct work *w, const struct dt_code_function *f);
uint8_t dt_work_mark_of(const struct work *w, uint64_t at);
/* Does a window, a springboard or a changed branch have one of these bytes? */
bool dt_work_any_taken(const struct work *w, uint64_t from, uint64_t to);
void dt_work_take(struct work *w, uint64_t from, uint64_t to, bool yes);
bool dt_work_decode(const struct work *w, uint64_t at, struct dt_insn *in);
uint64_t dt_work_before(const struct work *w, uint64_t at);
bool dt_work_movable(const struct work *w, const struct dt_insn *in);
void dt_work_add_site(struct work *w, uint64_t address, uint8_t kind, size_t window);
long dt_work_window_of(const struct work *w, uint64_t address);
long dt_work_index_of(const struct work *w, const struct dt_plan_window *x);

/* The tactics: the window made, NULL or -1 when there can be none. */
struct dt_plan_window *dt_work_jump_forward(struct work *w, uint64_t start);
struct dt_plan_window *dt_work_squeeze_forward(struct work *w, uint64_t start);
/*
 * One window from start on, to `until' at least, with all that the windows in its way move: gone
 * (DT_POINT_GONE).
 */
struct dt_plan_window *dt_work_merge(struct work *w, uint64_t start, uint64_t until, uint32_t *gone,
				     unsigned *n);
/* One that takes what is in front of site along, also when that is another window. */
struct dt_plan_window *dt_work_jump_back(struct work *w, uint64_t site, uint64_t end,
					 uint32_t *gone, unsigned *n);
/* Another place for the trampoline of a punned jump. */
bool dt_work_claim_again(struct work *w, struct dt_plan_window *x, uint64_t *at);
long dt_work_exit_by_jump(struct work *w, uint64_t site, uint64_t end, bool stops);
/* make: room may be made for the springboard of a short branch. */
long dt_work_exit_shared(struct work *w, uint64_t site, uint64_t end, bool stops, bool make);
long dt_work_exit_squeezed(struct work *w, uint64_t site, uint64_t end, bool stops);
bool dt_work_is_special(const char *name);

/* Instructions that make room for a springboard, size bytes at address; size 0: none. */
struct room {
	uint64_t address;
	unsigned size;
};

/* room: where it may be made for the springboard of a short branch, if there is none yet; or NULL.
 */
bool dt_work_can_retarget(struct work *w, const struct dt_code_link *l, struct dt_retarget *out,
			  struct room *room);
void dt_work_take_retarget(struct work *w, const struct dt_retarget *t, bool yes);

#endif
