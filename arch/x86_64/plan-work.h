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
/* From here on bytes are taken and given back in the region of this one, which need not be in a
 * function: a window may begin in the filler in front of one. */
void dt_work_enter_at(struct work *w, uint64_t address);
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

#define STARTS	    24 /* places where a window for an exit may start, at most */
#define SHORT_REACH 127
#define PAGE	    4096u

/* Branches that are to lead elsewhere, taken while they are looked for. */
struct retargets {
	struct dt_retarget r[RETARGETS];
	unsigned n;
	bool make; /* room may be made for a springboard: */
	struct room room;
};

bool dt_work_is_taken(const struct work *w, uint64_t at);
/* Bytes of filler from at on, not used by anything yet, at most wanted. */
unsigned dt_work_filler(const struct work *w, uint64_t at, unsigned wanted);
/* Is everything that jumps to the near target at, inside [low, high)? */
bool dt_work_sources_inside(const struct work *w, uint64_t at, uint64_t low, uint64_t high);
/*
 * May [start, end) be moved, when sites in it must not be passed by: whatever is jumped to inside,
 * is so only from inside? Of what lies behind checked, only that it can be moved. syscalls:
 * they may be moved, but a thread can be stopped in one for long, and be unwound from there.
 */
bool dt_work_fits(const struct work *w, uint64_t start, uint64_t end, uint64_t checked,
		  bool syscalls);
struct dt_plan_window *dt_work_add_window(struct work *w, uint64_t start, uint64_t end,
					  uint8_t patch, uint8_t tactic);
/* Where the instructions from start on end that a jump of size bytes covers; 0: they do not. */
uint64_t dt_work_cover(const struct work *w, uint64_t start, unsigned size, unsigned *padding);
/* The window, none of a retarget or a tactic that needs more than its own bytes, that at is in. */
long dt_work_plain_window(const struct work *w, uint64_t at);
/* Five bytes of filler that a short jump whose end is at next reaches; 0: there are none. */
uint64_t dt_work_find_board(const struct work *w, uint64_t next);
struct dt_plan_window *dt_work_short_jump(struct work *w, uint64_t start, uint64_t end);
/*
 * A jump of which only the first own bytes may be written. What the rest of its distance is to be,
 * the bytes there say already: they must never change.
 */
struct dt_plan_window *dt_work_punned_jump(struct work *w, uint64_t start, uint64_t end,
					   unsigned own);
/*
 * The room is in front of inner, with as few instructions as will do. What jumps or returns to
 * inner meets the short jump. calls: one may be moved; the processor predicts its return wrongly
 * then. own: a window of the function that is in the way may be made longer.
 */
struct dt_plan_window *dt_work_inner_jump(struct work *w, uint64_t inner, uint64_t end, bool calls,
					  bool own);
/*
 * As dt_work_inner_jump(), where [inner, end) alone can not be moved because of branches in front
 * of it that lead into it: these are moved along.
 */
struct dt_plan_window *dt_work_inner_around(struct work *w, uint64_t inner, uint64_t end,
					    bool calls);
/*
 * Room for the springboard of a short jump at start, of what ends at end, as near as there is any:
 * in the function, or also elsewhere.
 */
struct room dt_work_find_room(const struct work *w, uint64_t start, uint64_t end, bool calls);
/* The room is elsewhere. */
struct dt_plan_window *dt_work_hosted_jump(struct work *w, uint64_t start, uint64_t end,
					   bool calls);
struct dt_plan_window *dt_work_trap(struct work *w, uint64_t start);
/* How many bytes from start on may be written, at most 4, when [start, end) is moved. */
unsigned dt_work_own_bytes(const struct work *w, uint64_t start, uint64_t end);

#endif
