/* SPDX-License-Identifier: MIT */
/*
 * Planning how to hook a function that was not made for it. For its entry and each of its exits, or
 * for any single instruction, a plan says which bytes are changed, which instructions are moved to
 * a trampoline, and by which tactic. Nothing here touches a process: a plan is made from the map of
 * the code (core/code-map.h), and dt_plan_emit() turns each of its windows into bytes.
 *
 * A window is a run of whole instructions, which are moved to its trampoline; a jump at its start
 * leads there. Several sites of a function can be in one window; windows never overlap. An address
 * that can be jumped to may be the start of a window, but is never inside one, unless everything
 * that jumps there is moved or changed too, or finds a jump of its own there. No return address is
 * ever replaced: an exit's trampoline does what was before the ret, calls the hook, and returns
 * itself.
 */
#ifndef DT_ARCH_PLAN_H
#define DT_ARCH_PLAN_H

#include "arch/numbers.h"
#include "arch/relocate.h"
#include "core/code-map.h"

/* The tactics, from cheap to dear: the sites of each are slower than those of the ones before it.
 */
enum dt_tactic {
	DT_TACTIC_JUMP,	  /* a jump over the instructions that are moved */
	DT_TACTIC_PADDED, /* such a jump, partly over filler that follows the instructions */
	DT_TACTIC_SHARED, /* such a jump or none; branches to an instruction in the window are
			   * changed to lead to its copy */
	DT_TACTIC_SHORT,  /* a two-byte jump to a springboard, which is a jump in filler near it */
	DT_TACTIC_INNER,  /* a two-byte jump to a springboard in room that is made for it: after a
			   * jump over other instructions, which are moved too */
	DT_TACTIC_PUNNED, /* a jump whose last bytes are those of the next instruction: its
			   * trampoline must be where they lead */
	DT_TACTIC_TRAP,	  /* int3; a handler must go on in the trampoline */
	DT_TACTICS,
};

#define DT_WINDOW_MAX 48 /* most bytes of instructions that a window moves */

/* When the hook of a site is called. */
enum dt_plan_site_kind {
	DT_PLAN_ENTRY,
	DT_PLAN_RETURN,
	DT_PLAN_TAIL,	  /* about to jump to another function */
	DT_PLAN_BRANCH,	  /* a conditional jump to another function, which is taken */
	DT_PLAN_INDIRECT, /* about to jump to another function through a register or memory */
	DT_PLAN_POINT,	  /* any instruction that is about to run */
};

/* Why something can not be hooked. */
enum dt_refusal {
	DT_REFUSED_NOT,	      /* it can */
	DT_REFUSED_TROUBLE,   /* see dt_code_function.trouble */
	DT_REFUSED_PART,      /* it is the cold part of a function: never called itself */
	DT_REFUSED_SPECIAL,   /* a function, known by name, that others recognise by its address */
	DT_REFUSED_IMMOVABLE, /* an instruction at a site cannot be moved */
	DT_REFUSED_TAKEN,     /* another window is in the way */
	DT_REFUSED_BOUNDARY,  /* a point where no instruction begins */
	DT_REFUSED_OUTSIDE,   /* a point that is not in a function's code */
};

/* A place at which a hook is called. All addresses of a plan are the file's. */
struct dt_plan_site {
	uint64_t address;
	uint32_t function; /* index in dt_code; for a part's exits, of the whole function */
	uint32_t window;   /* index in the plan */
	uint8_t kind;	   /* enum dt_plan_site_kind */
};

/* A branch that is changed to lead to the copy of its target. */
struct dt_retarget {
	uint64_t from;	/* address of the branch */
	uint64_t to;	/* its target, in the window */
	uint64_t board; /* a springboard that its 8-bit distance reaches; 0: it has 32 bits */
	uint8_t length; /* of the branch, bytes */
};

/* A run of instructions that are moved. */
struct dt_plan_window {
	uint64_t start;
	uint16_t size;	/* bytes of instructions that are moved */
	uint8_t patch;	/* bytes that are changed at start */
	uint8_t tactic; /* enum dt_tactic */
	/* DT_TACTIC_INNER: the short jump is at start + inner, and the instructions before it make
	 * room for the springboard; or inner is 0, and the room is made by the host, host_size
	 * bytes of instructions elsewhere. DT_TACTIC_SHARED: the springboard in the host is one of
	 * retargets */
	uint8_t inner, host_size;
	uint64_t host;
	uint8_t prefixes;	    /* of a punned jump: prefixes without effect before it */
	uint64_t board;		    /* DT_TACTIC_SHORT: the springboard, in five bytes of filler */
	uint64_t at;		    /* DT_TACTIC_PUNNED: where its trampoline must be, */
	uint32_t room;		    /* and how many bytes are claimed for it */
	uint32_t first_site, sites; /* in dt_plan.site */
	uint32_t first_retarget, retargets; /* in dt_plan.retarget */
};

/* The outcome of planning a function. */
struct dt_plan_function {
	uint8_t refusal; /* enum dt_refusal; if it is refused, nothing of it is hooked */
	uint8_t tactic;	 /* of its most expensive site */
	bool loops;	 /* it jumps to its own beginning, which counts as a call */
	uint64_t at;	 /* address that it is refused for, or 0 */
	const char *why; /* the reason in one line; never NULL */
	uint32_t first_site, sites;
	uint32_t first_window, windows;
};

/*
 * Takes room for a trampoline of size bytes that begins in [low, high] (the file's addresses), and
 * sets *at; false: there is none. Provided by the caller, who knows the process's address space.
 */
typedef bool (*dt_plan_claim)(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at);

/* What a plan may use. */
struct dt_plan_options {
	dt_plan_claim claim; /* NULL: no punned jumps */
	void *ctx;	     /* for claim */
	size_t hook;	     /* most bytes that a hook takes in a trampoline */
	bool no_calls;	     /* the process has a shadow stack: calls cannot be moved */
	bool no_traps;	     /* there is no handler for int3 */
	/* looks whether a function (index in the code) must not even give room to others; or NULL
	 */
	bool (*apart)(const void *file, size_t function);
	const void *file; /* for apart */
};

#define DT_PLAN_ROOM 1024 /* elements that a plan's lists have room for at first */

/* A plan for the code of a file. */
struct dt_plan {
	const struct dt_code *code;
	struct dt_plan_options options;
	/* what was decoded last, by its address: an instruction is looked at several times. NULL:
	 * it is decoded each time */
	struct dt_insn *decoded;
	/* for each region, a bit for each byte: it is used by a window. NULL: !DT_PLAN_TAKES */
	uint8_t **taken;
	struct dt_plan_site *site;
	size_t sites, site_room;
	struct dt_plan_window *window;
	size_t windows, window_room;
	struct dt_retarget *retarget;
	size_t retargets, retarget_room;
	bool neighbours; /* room may be made among the instructions of other functions */
	bool failed;	 /* no memory */
};

#define DT_PLAN_DECODED 512u /* elements of dt_plan.decoded */

/* Begins an empty plan for code, which must outlive it. -1: no memory. */
int dt_plan_begin(struct dt_plan *p, const struct dt_code *code,
		  const struct dt_plan_options *options, struct dt_error *e);
/* Frees what the plan holds. */
void dt_plan_end(struct dt_plan *p);
/* Copies a plan, for another process with the same code. -1: no memory, and *to is empty. */
int dt_plan_copy(struct dt_plan *to, const struct dt_plan *from);

/*
 * Plans the entry and every exit of a function with all of its parts. It is hooked as a whole or
 * not at all, as f->refusal says. A function that is itself a part of another one is refused.
 */
void dt_plan_function(struct dt_plan *p, size_t function, struct dt_plan_function *f);

/*
 * Plans once more a function for which there was no room (DT_REFUSED_TAKEN): room may be made among
 * the instructions of functions near it, too. To be called when all others have been planned.
 */
void dt_plan_function_among(struct dt_plan *p, size_t function, struct dt_plan_function *f);

#define DT_POINT_GONE 8 /* most windows that one point's window can replace */

/* A window that has been replaced, and what it was. */
struct dt_plan_gone {
	uint32_t index;
	struct dt_plan_window was;
};

/* The outcome of planning a point. */
struct dt_plan_point {
	uint8_t refusal;  /* enum dt_refusal; if it is refused, nothing has changed */
	uint64_t at;	  /* address that it is refused for, or 0 */
	const char *why;  /* the reason in one line; never NULL */
	uint64_t address; /* of its site: for an endbr64, the instruction after it */
	uint32_t window;  /* index of its window: a new one, to be emitted with all of its sites, */
	struct dt_plan_gone gone[DT_POINT_GONE]; /* which replaces these */
	unsigned n_gone;
};

/*
 * Plans a point at one instruction. It always gets a new window, which replaces the windows that
 * are in the way and takes over their sites. When address is not the beginning of an instruction,
 * x->at is that of the nearest instruction before it.
 */
void dt_plan_point(struct dt_plan *p, uint64_t address, struct dt_plan_point *x);

/* How much has been planned at some time. */
struct dt_plan_mark {
	size_t windows, sites, retargets;
};

/* Returns how much has been planned so far. */
struct dt_plan_mark dt_plan_mark(const struct dt_plan *p);
/* Gives back all that has been planned since the mark. */
void dt_plan_back(struct dt_plan *p, const struct dt_plan_mark *m);
/* Puts a window that was replaced into the plan again. What replaced it must have been given back.
 */
void dt_plan_restore(struct dt_plan *p, const struct dt_plan_gone *gone);

/*
 * Gives back those windows of a function and its parts that hold nothing but points, `most' at the
 * most, so that the function can be planned; the points must be planned again after that. Returns
 * how many windows, which are in gone.
 */
size_t dt_plan_drop_points(struct dt_plan *p, size_t function, struct dt_plan_gone *gone,
			   size_t most);

/* Returns the name of an enum dt_tactic, as users see it. */
const char *dt_tactic_name(unsigned tactic);

/* The hook of a site: writes code that changes nothing the program could notice. */
struct dt_plan_hook {
	void (*emit)(struct dt_emit *o, const struct dt_plan_site *site, void *ctx);
	void *ctx;
};

/* Bytes to be written to the process. All patches of a window must be written at once. */
struct dt_patch {
	uint64_t address;
	uint8_t length;
	bool leads; /* it ends with a jump to the trampoline, wherever that is */
	uint8_t bytes[8];
};

/* Returns the address of the springboard to which a patch leads, if it is a short jump or the 8-bit
 * distance of a branch; 0: it is neither. */
uint64_t dt_patch_board(uint64_t address, const uint8_t *bytes, unsigned length);

/* Changes the bytes of a patch that leads to its trampoline, where the distance to that has grown
 * by so many bytes. */
void dt_patch_shift(uint8_t *bytes, unsigned length, uint64_t by);

#define DT_PLAN_PATCHES 40 /* most patches of a window */

/* Describes a window's trampoline once it is written. */
struct dt_trampoline {
	uint64_t address;      /* where the window's jump leads */
	uint64_t copy;	       /* of the window's first instruction, after the hook of an entry */
	struct dt_moved moved; /* for threads that are stopped in the window: dt_moved_forward(
				* &moved, window->start + bias, copy, ip); at its start they stay */
	uint64_t host;	       /* address of the copy of its host, if it has one, */
	struct dt_moved host_moved; /* and where the host's instructions went */
	struct dt_patch patch[DT_PLAN_PATCHES];
	unsigned patches;
};

/*
 * Writes a window's trampoline for a process that has the file mapped bias above the file's
 * addresses. All addresses in *o and *t are those of the process: dt_emit_here(o) is where the
 * trampoline will be, within 2 GiB of all that the file maps (for a punned jump, at window->at +
 * bias). 0, or -1 and an error. The caller checks that it fitted (o->size, o->room).
 *
 * What a hook may do: at entries and exits nothing below the stack pointer is in use, so it may
 * make calls. It must keep every register, and the flags, since assembler code passes values in
 * them, though no compiler does. Points must keep the 128 bytes below the stack pointer, too.
 */
int dt_plan_emit(const struct dt_plan *p, size_t window, uint64_t bias,
		 const struct dt_plan_hook *hook, struct dt_emit *o, struct dt_trampoline *t,
		 struct dt_error *e);

#endif
