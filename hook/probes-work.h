/* SPDX-License-Identifier: MIT */
/* Shared by planting probes (probes-plan.c, probes-plant.c, probes-alike.c), switching them
 * (probes.c) and taking them away (probes-leave.c). Not for other files. */
#ifndef DT_HOOK_PROBES_WORK_H
#define DT_HOOK_PROBES_WORK_H

#include "process/inject.h"
#include "process/memory.h"
#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/space.h"

#define PAGE 4096ull
/* most bytes of a call of a hook with what is around it */
#define HOOK	(DT_RELOCATE_PUSH + DT_HOOK_CALL + DT_HOOK_CALL_REST + DT_HOOK_CALL_POP)
#define MARGIN	0x2000000ull	      /* left free beside other mappings: heaps and stacks grow */
#define LONGEST 16384		      /* most bytes of a punned trampoline */
#define MAGIC	0x7365626f72707465ull /* marks the beginning of a region, in struct head */
#define NONE	0xffffffffu	      /* no site, or no window */

/* States of a function or point. CROWDED: not hooked yet, since other functions left no room. */
enum { UNTRIED, PLANTED, REFUSED, CROWDED };

/* What one planting writes: the trampolines and tables of its region, and the punned trampolines,
 * each of which has to be at a certain address. */
struct made {
	struct dt_emit near;	       /* the region; its bytes are NULL: nothing is made */
	uint64_t size;		       /* bytes of the region, whole pages */
	struct dt_extent *far;	       /* addresses of the punned trampolines */
	uint8_t (*far_bytes)[LONGEST]; /* their bytes */
	size_t fars;
	uint64_t kept;		   /* the sum of the plan's file that has it; 0: none has */
	size_t code;		   /* bytes of the region before its tables */
	struct dt_fixes fixes;	   /* of the region's code */
	struct dt_fixes far_fixes; /* of the punned trampolines: offsets in far_bytes as a whole */
};

/* Ways from a trampoline to code in the area: to the hooks of entries, of exits, of jumps through a
 * register or memory, and of points; and to the routines that read memory and text, or tell which
 * module has called. ..._ERRNO: with errno in the record; ..._FROM: only calls that certain modules
 * make. */
enum {
	WAY_ENTRY,
	WAY_EXIT,
	WAY_EXIT_ERRNO,
	WAY_JUMP,
	WAY_ENTRY_FROM,
	WAY_EXIT_FROM,
	WAY_EXIT_ERRNO_FROM,
	WAY_JUMP_FROM,
	WAY_VALUES,
	WAY_PEEK,
	WAY_TEXT,
	WAY_CROSSES,
	WAYS
};

/* Looks whether the calls of this way are switched by their first byte (DT_HOOK_CALL_ON/OFF). */
static inline bool dt_way_is_switched(unsigned way)
{
	return way <= WAY_JUMP_FROM;
}

/* Returns the way that a site, an index in the file's sites, is to have. jump: an exit by a jump
 * whose target has been pushed. */
unsigned dt_probe_way(struct dt_file *f, size_t site, bool entry, bool jump);
/* Looks whether planted sites from low to high (the file's addresses) lead another way than they
 * are to lead. */
bool dt_probe_ways_differ(const struct dt_target *t, const struct dt_module *m, uint64_t low,
			  uint64_t high);
/* Leads them the right way; the process is stopped meanwhile. Returns 0, or -1 and the reason. */
int dt_probe_ways_change(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
			 struct dt_error *e);

/* Memory that was mapped for trampolines. */
struct region {
	uint64_t low, high; /* [low, high) */
};

/* A change of bytes in the module's code. */
struct patch {
	uint64_t address;
	uint64_t home;	 /* address of its copy in the process's table; 0 in that copy itself */
	uint32_t window; /* index in the plan */
	uint8_t length;	 /* bytes; 0, in the process's table: another patch has taken its place */
	uint8_t old[8], new[8];
	bool leads;  /* as dt_patch.leads */
	bool lifted; /* the old bytes are there at present (probes-lift.c); false in that copy */
};

/* Instructions that have been moved to a trampoline; all addresses are run-time ones. */
struct window {
	uint64_t start;
	uint64_t at;	/* where its trampoline begins */
	uint32_t index; /* in the plan */
	uint16_t size;	/* bytes of instructions that are moved */
	uint16_t patch; /* bytes that are changed at start */
	uint64_t copy;	/* where the copy of its first instruction is */
	uint64_t end;	/* of the trampoline */
	/* where its instructions went: so many, from there on in dt_probes.moved, and one more (see
	 * struct dt_moved) */
	uint32_t first_moved, moved;
};

/* A pc that a hook records, and the address of the byte that switches that call of the hook. */
struct pc_entry {
	uint64_t pc, toggle;
	uint32_t site;	    /* index in the file's sites; NONE: it belongs to a point */
	uint32_t point;	    /* that point's id */
	uint8_t first;	    /* of a point: index of the first item that is recorded with this pc, */
	uint8_t text;	    /* enum dt_capture_text; if set, first is the item whose text it is */
	uint64_t semaphore; /* run-time address of the point's; only with its first pc; 0: none */
};

/* A point of the file in one process. */
struct planted_point {
	uint8_t state;	 /* UNTRIED, PLANTED or REFUSED */
	bool raised;	 /* its semaphore has been raised */
	uint64_t at;	 /* the file's address at which the plan has it */
	uint64_t toggle; /* address of the byte that switches it; 0: none */
	const char *why; /* if REFUSED, the reason in one line, */
	uint64_t near;	 /* and the instruction whose middle it would be in, or 0 */
};

/* The probes of one module in one process. */
struct dt_probes {
	struct dt_plan plan;
	struct dt_space space;
	uint8_t *state;	  /* by function of the code: UNTRIED, PLANTED, REFUSED or CROWDED */
	uint64_t *toggle; /* by site of the file: address of its sled's first byte; 0: none */
	struct planted_point *point; /* by point id */
	uint32_t points;
	struct region *region;
	size_t regions;
	struct patch *patch; /* in the order they were made */
	size_t patches, patch_room;
	size_t lifted;	       /* patches that are lifted */
	uint64_t lifts;	       /* how often any were lifted or set down */
	struct window *window; /* sorted by start; includes those that others have replaced */
	size_t windows, window_room;
	struct dt_moved_at *moved; /* of all windows */
	size_t n_moved, moved_room;
	struct pc_entry *pc; /* sorted by pc; includes those of replaced windows */
	size_t pcs;
	struct made made; /* what the first planting wrote, if all that was wanted could be planted:
			   * for processes that are alike. Kept here, since in the process's own
			   * memory it could have been changed */
};

/*
 * Stands at the start of a region of trampolines in the process: all that is needed to take them
 * away again. The tables stand after the trampolines. A planting makes one such region, and pages
 * for punned jumps.
 */
struct head {
	uint64_t magic;		  /* MAGIC */
	uint64_t way[WAYS];	  /* the thunks jump through these */
	uint64_t bytes;		  /* size of the region */
	uint64_t patch, patches;  /* address and number of struct patch, */
	uint64_t pc, pcs;	  /* of struct pc_entry, */
	uint64_t region, regions; /* and of struct region: the pages for punned jumps */
};

/* Looks whether this is the probe site of an entry. */
static inline bool dt_probe_is_entry(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_PROBE_ENTRY;
}

/* Returns what dt_probe_is_ours() does, with the type of dt_plan_options.apart. */
bool dt_probe_is_apart(const void *file, size_t function);
/* Looks whether a function (index in the file's code) is one that hook/connect.c leads through the
 * area itself, so that it gets no probes. */
bool dt_probe_is_ours(const struct dt_file *file, size_t function);

/*
 * Has the stopped thread tid make n system calls. Once the process has confined itself by seccomp
 * none is made: calls of munmap alone then count as done, others fail.
 */
int dt_probe_calls(struct dt_target *t, pid_t tid, const struct dt_maps *maps,
		   struct dt_injected_call *call, size_t n, struct dt_error *e);

/* Frees what m holds, and empties it. */
void dt_made_free(struct made *m);

/* Returns a copy of n elements of `size' bytes, for the caller to free; NULL: n is 0, or there is
 * no memory, which sets *failed. */
void *dt_probe_copy_of(const void *p, size_t n, size_t size, bool *failed);

/* Reads where the ways lead in this process at present. */
int dt_probe_ways(struct dt_target *t, uint64_t way[WAYS], struct dt_error *e);

/* Looks whether [low, high) lies within one region. */
bool dt_probe_has_region(const struct dt_probes *p, uint64_t low, uint64_t high);

int dt_probe_by_patch(const void *a, const void *b); /* compares struct patch by address */
int dt_probe_by_pc(const void *a, const void *b);    /* compares struct pc_entry by pc */
int dt_probe_by_start(const void *a, const void *b); /* compares struct window by start */

/*
 * Returns the original address at which a thread at ip goes on, if ip is a springboard of these
 * patches: a jump in filler, to which a short jump has led the thread. Once the bytes are back, no
 * instruction of the program is there. 0: ip is at no springboard.
 */
uint64_t dt_probe_off_board(const struct patch *patch, size_t n, uint64_t ip);

/*
 * Writes n patches, sorted by address, or (old) the bytes that were there before them. It writes a
 * page at a time, since threads stand still meanwhile. After each write the code is valid, except
 * for a jump across the end of a page: the controller may be killed at any time.
 */
int dt_probe_write(int mem, const struct patch *patch, size_t n, bool old);

/* A change of code: patches of which the old bytes are put back, and patches that are written; of
 * these the windows. Each sorted by address. */
struct dt_probe_change {
	const struct patch *undo;
	size_t undos;
	const struct patch *put;
	size_t puts;
	const struct window *window;
	size_t windows;
};

/*
 * Makes a change while all threads stand still, which are moved out of its way. Returns 0, or -1
 * and the reason, and nothing has changed; t->busy is set if it can be tried again later.
 */
int dt_probe_change(struct dt_target *t, const struct dt_module *m, const struct dt_probe_change *c,
		    struct dt_error *e);

/* Notes for how long threads have been stopped, if that is the longest. */
void dt_probe_note_stop(struct dt_target *t, const struct dt_threads *threads);

/* Sets all jumps of the module down that are lifted. Returns 0, or -1 as dt_probe_change(). */
int dt_probe_set_down(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/* Sets the jumps down to what has gone on; with t->lifts, lifts those to what is off. Returns 0, or
 * -1 as dt_probe_change(). */
int dt_probe_lift(struct dt_target *t, struct dt_module *m, struct dt_error *e);

/*
 * Plants functions (wanted, by function of the code; n of them), and the points that are wanted and
 * untried. On failure nothing more is planted than before; t->busy is set if it can be tried again
 * later.
 */
int dt_probe_plant(struct dt_target *t, struct dt_module *m, const bool *wanted, size_t n,
		   struct dt_error *e);

#endif
