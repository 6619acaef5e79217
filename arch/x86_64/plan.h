/* SPDX-License-Identifier: MIT */
/*
 * How to hook a function that was not made for it: for its entry and each of its exits, or for any
 * single instruction, which bytes are changed, which instructions are moved to a trampoline, and
 * what that costs. Nothing here touches a process: a plan is made from the map of the code
 * (core/code-map.h), and dt_plan_emit() turns each of its windows into bytes.
 *
 * A window is a run of whole instructions. They are moved to its trampoline, and at its start there
 * is a jump to it. Several sites of a function can be in one window; windows never overlap. What
 * can be jumped to is never inside a window, but at its start, unless everything that jumps there
 * is moved or changed too, or finds a jump of its own there. No return address is ever replaced: an
 * exit's trampoline does what was in front of the ret, calls the hook, and returns itself.
 */
#ifndef DT_ARCH_PLAN_H
#define DT_ARCH_PLAN_H

#include "arch/x86_64/relocate.h"
#include "core/code-map.h"

/* By cost: each one's sites are slower than those of the ones before. */
enum dt_tactic {
	DT_TACTIC_JUMP,	  /* a jump over the instructions that are moved */
	DT_TACTIC_PADDED, /* the same, with the help of filler behind them */
	DT_TACTIC_SHARED, /* the same, and branches to an instruction in it lead to its copy now */
	DT_TACTIC_SHORT,  /* a two-byte jump to a springboard, a jump in filler near it */
	DT_TACTIC_INNER,  /* a two-byte jump to a springboard, in room that is made for it: behind a
			   * jump over other instructions, which are moved too */
	DT_TACTIC_PUNNED, /* a jump whose last bytes are the next instruction's: its trampoline must
			   * be where they say */
	DT_TACTIC_TRAP,	  /* int3; who catches it goes on in the trampoline */
	DT_TACTICS,
};

#define DT_WINDOW_MAX 48 /* bytes of instructions that a window moves, at most */

enum dt_plan_site_kind {
	DT_PLAN_ENTRY,
	DT_PLAN_RETURN,
	DT_PLAN_TAIL,	  /* about to jump to another function */
	DT_PLAN_BRANCH,	  /* the same, and the conditional jump is taken */
	DT_PLAN_INDIRECT, /* the same, through a register or memory */
	DT_PLAN_POINT,	  /* any instruction: it is about to run */
};

enum dt_refusal {
	DT_REFUSED_NOT,
	DT_REFUSED_TROUBLE,   /* see dt_code_function.trouble */
	DT_REFUSED_PART,      /* the cold part of a function that was not found: nobody calls it */
	DT_REFUSED_SPECIAL,   /* known by name to be looked at by its address */
	DT_REFUSED_IMMOVABLE, /* an instruction at a site cannot be moved */
	DT_REFUSED_TAKEN,     /* another window is in the way */
	DT_REFUSED_BOUNDARY,  /* (a point) it is not where an instruction begins */
	DT_REFUSED_OUTSIDE,   /* (a point) it is not in a function's code */
};

struct dt_plan_site {
	uint64_t address;
	uint32_t function; /* index in dt_code; that of the whole for a part's exits */
	uint32_t window;
	uint8_t kind; /* enum dt_plan_site_kind */
};

/* A branch that is made to lead to the copy of its target. */
struct dt_retarget {
	uint64_t from;	/* the instruction */
	uint64_t to;	/* its target, in the window */
	uint64_t board; /* a springboard that its eight-bit distance reaches; 0: 32 bits */
	uint8_t length;
};

struct dt_plan_window {
	uint64_t start;
	uint16_t size;	/* bytes of instructions that are moved */
	uint8_t patch;	/* bytes changed at start */
	uint8_t tactic; /* enum dt_tactic */
	/* DT_TACTIC_INNER: the short jump is at start + inner, what is in front of that makes the
	 * room; or at start, and the room is host's, host_size bytes of instructions elsewhere.
	 * DT_TACTIC_SHARED: a host has the springboard of retargets */
	uint8_t inner, host_size;
	uint64_t host;
	uint8_t prefixes;	    /* of a punned jump: bytes without meaning in front of it */
	uint64_t board;		    /* DT_TACTIC_SHORT: five bytes of filler */
	uint64_t at;		    /* DT_TACTIC_PUNNED: where its trampoline must be, */
	uint32_t room;		    /* and how many bytes there are for it */
	uint32_t first_site, sites; /* in dt_plan.site */
	uint32_t first_retarget, retargets; /* in dt_plan.retarget */
};

/* What became of a function. */
struct dt_plan_function {
	uint8_t refusal; /* enum dt_refusal; nothing of it is hooked then */
	uint8_t tactic;	 /* of its most expensive site */
	bool loops;	 /* it jumps to its own beginning, which is taken for a call */
	uint64_t at;	 /* what it is refused for, or 0 */
	const char *why; /* one line, never NULL */
	uint32_t first_site, sites;
	uint32_t first_window, windows;
};

/*
 * Asks for room for a trampoline of size bytes that begins in [low, high] (file addresses). true
 * and *at, and the room is taken; it is for whoever knows the process's address space.
 */
typedef bool (*dt_plan_claim)(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at);

struct dt_plan_options {
	dt_plan_claim claim; /* NULL: no punned jumps */
	void *ctx;
	size_t hook;   /* bytes that a hook takes in a trampoline, at most */
	bool no_calls; /* the process has a shadow stack: calls cannot be moved */
	bool no_traps; /* nobody would catch an int3 */
	/* functions, by index, that not even room is taken of; or NULL */
	bool (*apart)(const void *file, size_t function);
	const void *file;
};

struct dt_plan {
	const struct dt_code *code;
	struct dt_plan_options options;
	uint8_t **taken; /* for each region, a bit mask of bytes */
	struct dt_plan_site *site;
	size_t sites, site_room;
	struct dt_plan_window *window;
	size_t windows, window_room;
	struct dt_retarget *retarget;
	size_t retargets, retarget_room;
	bool neighbours; /* room may be made among the instructions of other functions */
	bool failed;	 /* no memory */
};

/* An empty plan for code, which must outlive it. -1: no memory. */
int dt_plan_begin(struct dt_plan *p, const struct dt_code *code,
		  const struct dt_plan_options *options, struct dt_error *e);
void dt_plan_end(struct dt_plan *p);
/* The same plan once more, of a process that has forked. -1: no memory, and there is none. */
int dt_plan_copy(struct dt_plan *to, const struct dt_plan *from);

/*
 * Plans the entry and every exit of a function with all of its parts. It is hooked as a whole or
 * not at all: f->refusal says. A function that is itself a part belongs to its whole: refused.
 */
void dt_plan_function(struct dt_plan *p, size_t function, struct dt_plan_function *f);

/*
 * Once more, a function that there was no room for (DT_REFUSED_TAKEN): among the instructions of
 * functions near it, too. To be asked when all others have what they need.
 */
void dt_plan_function_among(struct dt_plan *p, size_t function, struct dt_plan_function *f);

#define DT_POINT_GONE 8 /* windows that one point can take the place of */

/* A window that has no bytes any more, and what it was. */
struct dt_plan_gone {
	uint32_t index;
	struct dt_plan_window was;
};

/* What became of a point. */
struct dt_plan_point {
	uint8_t refusal;  /* enum dt_refusal; nothing has changed then */
	uint64_t at;	  /* what it is refused for, or 0 */
	const char *why;  /* one line, never NULL */
	uint64_t address; /* of its site: behind an endbr64, the next instruction */
	uint32_t window;  /* that it is in: a new one, to be emitted with all of its sites, */
	struct dt_plan_gone gone[DT_POINT_GONE]; /* in place of these */
	unsigned n_gone;
};

/*
 * Plans one instruction; one that is planned already gets a window anew. A window that is in the
 * way takes it in. When address is not the beginning of an instruction, x->at is the nearest one
 * before that is.
 */
void dt_plan_point(struct dt_plan *p, uint64_t address, struct dt_plan_point *x);

/* How much has been planned; what comes behind it can be given back, the last first. */
struct dt_plan_mark {
	size_t windows, sites, retargets;
};

struct dt_plan_mark dt_plan_mark(const struct dt_plan *p);
void dt_plan_back(struct dt_plan *p, const struct dt_plan_mark *m);
/* A window that was gone is there again; those that took its place have been given back. */
void dt_plan_restore(struct dt_plan *p, const struct dt_plan_gone *gone);

/*
 * Gives back the windows of a function, all parts of it, that hold nothing but points, so that the
 * function can be planned: those points must be planned again, then. At most `most' of them;
 * returns how many.
 */
size_t dt_plan_drop_points(struct dt_plan *p, size_t function, struct dt_plan_gone *gone,
			   size_t most);

const char *dt_tactic_name(unsigned tactic);

/* The hook of a site: writes code that changes nothing the program could notice. */
struct dt_plan_hook {
	void (*emit)(struct dt_emit *o, const struct dt_plan_site *site, void *ctx);
	void *ctx;
};

/* Bytes to be written to the process; all patches of a window are needed, at once. */
struct dt_patch {
	uint64_t address;
	uint8_t length;
	uint8_t bytes[8];
};

#define DT_PATCH_JUMP 5 /* bytes of a jump that reaches its trampoline, or of a springboard */

/* The springboard that a patch leads to, which is a short jump, or the distance of a branch; 0: it
 * is another. */
uint64_t dt_patch_board(uint64_t address, const uint8_t *bytes, unsigned length);

#define DT_PLAN_PATCHES 40 /* of a window, at most */

/* What there is to know of a window's trampoline once it is written. */
struct dt_trampoline {
	uint64_t address;      /* where the window's jump leads */
	uint64_t copy;	       /* of the window's first instruction, behind the hook of an entry */
	struct dt_moved moved; /* for threads that are stopped in the window: dt_moved_forward(
				* &moved, window->start + bias, copy, ip); at its start they stay */
	uint64_t host;	       /* the same of its host, if it has one: where the copy is, */
	struct dt_moved host_moved; /* and who is stopped there */
	struct dt_patch patch[DT_PLAN_PATCHES];
	unsigned patches;
};

/*
 * Writes a window's trampoline for a process that has the file mapped bias above its own
 * addresses. From here on all addresses are those of the process: dt_emit_here(o) is where the
 * trampoline will be, within 2 GiB of all that the file maps (for a punned jump, at window->at +
 * bias). 0, or -1 and an error. The caller checks that it did fit (o->size, o->room).
 *
 * What a hook may do. Entries and exits: nothing below the stack pointer is in use, so it may call;
 * every register must be kept, and flags: assembler code passes them there, though no compiler
 * does. Points: the 128 bytes below the stack pointer must be kept too.
 */
int dt_plan_emit(const struct dt_plan *p, size_t window, uint64_t bias,
		 const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		 struct dt_error *e);

#endif
