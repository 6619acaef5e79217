/* SPDX-License-Identifier: MIT */
/* Shared by planning (plan.c) and its tactics (plan-tactic.c, plan-exit.c, plan-inner.c). Not for
 * other files. */
#ifndef DT_ARCH_PLAN_WORK_H
#define DT_ARCH_PLAN_WORK_H

#include "arch/insn.h"
#include "arch/plan.h"

#define JUMP_SIZE 5			    /* bytes of jmp rel32 */
#define RETARGETS (DT_PLAN_PATCHES / 2 - 2) /* most branches that one window can change */

/* The work on one function. */
struct work {
	struct dt_plan *p;
	const struct dt_code *c;
	const struct dt_code_function *whole, *f; /* the function, and the part that is looked at */
	const struct dt_code_region *r;		  /* the region that f is in */
	uint8_t *taken;				  /* p->taken of r */
	size_t first_window; /* index in the plan of the first window that counts as this function's
			      */
	bool anywhere;	     /* indirect jumps may lead to any instruction of the function */
	bool simple;	     /* only tactics that touch no bytes outside of their window */
};

/* Turns to f: the function or one of its parts. */
void dt_work_enter(struct work *w, const struct dt_code_function *f);
/* Turns to the region of this address, where bytes are taken and given back from here on. It need
 * not be in a function: a window may begin in the filler before one. */
void dt_work_enter_at(struct work *w, uint64_t address);
/* Returns the DT_CODE_... marks of a byte; 0 outside of the region. */
uint8_t dt_work_mark_of(const struct work *w, uint64_t at);
/* Looks whether a window, a springboard or a changed branch uses a byte of [from, to), or some
 * instruction reads one as data. */
bool dt_work_any_taken(const struct work *w, uint64_t from, uint64_t to);
/* Takes the bytes of [from, to), or (yes is false) gives them back. */
void dt_work_take(struct work *w, uint64_t from, uint64_t to, bool yes);
/* Decodes the instruction at `at'; false: there is none. */
bool dt_work_decode(const struct work *w, uint64_t at, struct dt_insn *in);
/* Returns the beginning of the instruction before the one at `at'; 0: the function begins there. */
uint64_t dt_work_before(const struct work *w, uint64_t at);
/* Looks whether an instruction can be moved. */
bool dt_work_movable(const struct work *w, const struct dt_insn *in);
/* Adds a site of the function to the plan. kind: enum dt_plan_site_kind; window: its index. */
void dt_work_add_site(struct work *w, uint64_t address, uint8_t kind, size_t window);
/* Returns the index of the function's window that moves the instruction at address; -1: none. */
long dt_work_window_of(const struct work *w, uint64_t address);
/* Returns the index of a window; -1 for NULL. */
long dt_work_index_of(const struct work *w, const struct dt_plan_window *x);

/*
 * The tactics. Each returns the window that it has made, or that window's index; NULL or -1 when
 * there can be none. site and end are the first address of an instruction and of what follows it.
 */

/* Makes a jump at start that covers what follows: for entries and points. */
struct dt_plan_window *dt_work_jump_forward(struct work *w, uint64_t start);
/* Tries the dearer tactics at start, moving as few instructions from there on as will do. */
struct dt_plan_window *dt_work_squeeze_forward(struct work *w, uint64_t start);
/*
 * Makes one window from start to `until' at least, which also moves all that the windows in its way
 * move. It replaces these: gone (room for DT_POINT_GONE) are the *n indices.
 */
struct dt_plan_window *dt_work_merge(struct work *w, uint64_t start, uint64_t until, uint32_t *gone,
				     unsigned *n);
/* Makes a window that takes the instructions before site along, even if these are in another
 * window, which it then replaces as dt_work_merge() does. */
struct dt_plan_window *dt_work_jump_back(struct work *w, uint64_t site, uint64_t end,
					 uint32_t *gone, unsigned *n);
/* Claims another place, *at, for the trampoline of a punned jump. False: there is none. */
bool dt_work_claim_again(struct work *w, struct dt_plan_window *x, uint64_t *at);
/* Hooks an exit by a jump that takes along what is before the exit. stops: control does not go on
 * after the exit, so filler there can be used. */
long dt_work_exit_by_jump(struct work *w, uint64_t site, uint64_t end, bool stops);
/* Hooks an exit by changing the branches to it so that they lead to its copy. make: room may be
 * made for the springboard of a short branch. */
long dt_work_exit_shared(struct work *w, uint64_t site, uint64_t end, bool stops, bool make);
/* Hooks an exit by the dearer tactics. */
long dt_work_exit_squeezed(struct work *w, uint64_t site, uint64_t end, bool stops);
/* Looks by its name whether a function must not be changed at all. */
bool dt_work_is_special(const char *name);

/* Instructions, size bytes at address, that are moved to make room for a springboard; size 0: none.
 */
struct room {
	uint64_t address;
	unsigned size;
};

/* Looks whether a branch can be made to lead elsewhere, and describes it in *out. room: if it needs
 * a springboard and there is no filler, room is made and described here, unless it holds some
 * already; NULL: none may be made. */
bool dt_work_can_retarget(struct work *w, const struct dt_code_link *l, struct dt_retarget *out,
			  struct room *room);
/* Takes the bytes of a changed branch and its springboard, or (yes is false) gives them back. */
void dt_work_take_retarget(struct work *w, const struct dt_retarget *t, bool yes);

#define STARTS	    24	/* most places where a window for an exit may start */
#define SHORT_REACH 127 /* of a short jump, forwards from its end */
#define PAGE	    4096u

/* Branches that are to lead elsewhere. Their bytes are taken while they are collected. */
struct retargets {
	struct dt_retarget r[RETARGETS];
	unsigned n;
	bool make; /* room may be made for a springboard, and is here: */
	struct room room;
};

/* Looks whether a byte is taken, as dt_work_any_taken() does; true outside of the region. */
bool dt_work_is_taken(const struct work *w, uint64_t at);
/* Returns how many bytes of filler there are from `at' on that nothing uses yet; at most wanted. */
unsigned dt_work_filler(const struct work *w, uint64_t at, unsigned wanted);
/* Looks whether everything that jumps to `at', a target of near branches, is inside [low, high). */
bool dt_work_sources_inside(const struct work *w, uint64_t at, uint64_t low, uint64_t high);
/*
 * Looks whether [start, end) may be moved. What is inside must be jumped to only from inside, so
 * that no site is passed by; for what lies at or after `checked' that does not matter. syscalls:
 * system calls may be moved, though a thread can be stopped in one for long, and be unwound from
 * there.
 */
bool dt_work_fits(const struct work *w, uint64_t start, uint64_t end, uint64_t checked,
		  bool syscalls);
/* Adds a window for [start, end) to the plan, and takes its bytes. NULL: no memory. */
struct dt_plan_window *dt_work_add_window(struct work *w, uint64_t start, uint64_t end,
					  uint8_t patch, uint8_t tactic);
/* Returns the end of the instructions from start on that a jump of size bytes covers; *padding is
 * how many bytes of filler it covers after them. 0: it can not. */
uint64_t dt_work_cover(const struct work *w, uint64_t start, unsigned size, unsigned *padding);
/* Returns the index of the window that `at' is in, if it has no retargets and its tactic uses only
 * its own bytes; else -1. */
long dt_work_plain_window(const struct work *w, uint64_t at);
/* Returns the address of five bytes of filler that are in reach of a short jump ending at next; 0:
 * there are none. */
uint64_t dt_work_find_board(const struct work *w, uint64_t next);
/* Makes a short jump to a springboard in filler. */
struct dt_plan_window *dt_work_short_jump(struct work *w, uint64_t start, uint64_t end);
/*
 * Makes a jump of which only the first `own' bytes are written. The rest of its distance is what
 * the bytes there are already: they must never change.
 */
struct dt_plan_window *dt_work_punned_jump(struct work *w, uint64_t start, uint64_t end,
					   unsigned own);
/*
 * Makes a short jump at inner to a springboard before it, in room that is made by moving as few
 * instructions as will do. What jumps or returns to inner meets the short jump. calls: a call may
 * be moved, whose return the processor then predicts wrongly. own: a window of the function that is
 * in the way may be made longer.
 */
struct dt_plan_window *dt_work_inner_jump(struct work *w, uint64_t inner, uint64_t end, bool calls,
					  bool own);
/*
 * Does what dt_work_inner_jump() does where [inner, end) alone can not be moved, because branches
 * before it lead into it: these are moved along.
 */
struct dt_plan_window *dt_work_inner_around(struct work *w, uint64_t inner, uint64_t end,
					    bool calls);
/*
 * Finds room for the springboard of a short jump that is at start in [start, end), as near as
 * possible: in the function, or, if the plan allows it (neighbours), in others.
 */
struct room dt_work_find_room(const struct work *w, uint64_t start, uint64_t end, bool calls);
/* Makes a short jump at start to a springboard in such room. */
struct dt_plan_window *dt_work_hosted_jump(struct work *w, uint64_t start, uint64_t end,
					   bool calls);
/* Makes a window of one instruction, with an int3. */
struct dt_plan_window *dt_work_trap(struct work *w, uint64_t start);
/* Returns how many bytes from start on may be written, at most 4, when [start, end) is moved. */
unsigned dt_work_own_bytes(const struct work *w, uint64_t start, uint64_t end);

#endif
