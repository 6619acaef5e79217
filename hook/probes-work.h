/* SPDX-License-Identifier: MIT */
/* What planting probes (probes-plan.c, probes-plant.c), switching them (probes.c) and taking them
 * away (probes-leave.c) share; for nobody else. */
#ifndef DT_HOOK_PROBES_WORK_H
#define DT_HOOK_PROBES_WORK_H

#include "process/inject.h"
#include "process/memory.h"
#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/space.h"

#define PAGE 4096ull
#define HOOK                                                                                       \
	(DT_RELOCATE_PUSH + DT_HOOK_CALL +                                                         \
	 DT_HOOK_CALL_POP)    /* bytes of a call of a hook, and what is around it, at most */
#define REACH	0x60000000ull /* from the module's ends, for punned jumps, */
#define BESIDE	0x18000000ull /* for all other trampolines */
#define MARGIN	0x2000000ull  /* left free beside other mappings: heaps and stacks grow */
#define LONGEST 16384	      /* bytes of a trampoline */
#define MAGIC	0x7365626f72707465ull
#define NONE	0xffffffffu

/* CROWDED: not yet hooked, there was no room among what others have left */
enum { UNTRIED, PLANTED, REFUSED, CROWDED };

/* What one planting has written: the trampolines and tables of its region, and those that must be
 * where they are. */
struct made {
	struct dt_emit near;   /* bytes NULL: nothing */
	uint64_t size;	       /* of the region, whole pages */
	struct dt_extent *far; /* punned trampolines: where */
	uint8_t (*far_bytes)[LONGEST];
	size_t fars;
};

enum { WAY_ENTRY, WAY_EXIT, WAY_JUMP, WAY_VALUES, WAY_PEEK, WAY_TEXT, WAYS };

static inline bool dt_way_is_switched(unsigned way)
{
	return way <= WAY_JUMP;
}

struct region {
	uint64_t low, high;
};

struct patch {
	uint64_t address;
	uint64_t home; /* address of its copy in the trampolines' memory; 0: in the table itself */
	uint32_t window; /* of the plan */
	uint8_t length;	 /* 0: in a table, another has taken its place */
	uint8_t old[8], new[8];
};

struct window {
	uint64_t start; /* run-time */
	uint64_t at;	/* of the trampoline */
	uint32_t index; /* of the plan */
	uint16_t size;	/* bytes of instructions that are moved */
	uint16_t patch; /* bytes changed there */
	uint64_t copy;	/* of its first instruction */
	uint64_t end;	/* of the trampoline */
	struct dt_moved moved;
};

/* What a hook sees as pc, and the byte that switches it. */
struct pc_entry {
	uint64_t pc, toggle;
	uint32_t site;	    /* of the file; NONE: it is a point's */
	uint32_t point;	    /* its id */
	uint8_t first;	    /* of a point: the first item that is recorded here, */
	bool text;	    /* or the item whose text is */
	uint64_t semaphore; /* run-time, of the point; with its first pc only; 0: none */
};

struct planted_point {
	uint8_t state;
	bool raised;	 /* its semaphore is */
	uint64_t at;	 /* the plan's address for it */
	uint64_t toggle; /* 0: none */
	const char *why; /* REFUSED: in a line */
	uint64_t near;	 /* ...and the instruction before, or 0 */
};

struct dt_probes {
	struct dt_plan plan;
	struct dt_space space;
	uint8_t *state;	  /* by function of the code */
	uint64_t *toggle; /* by site of the file: address of its sled's first byte; 0: none */
	struct planted_point *point; /* by id */
	uint32_t points;
	struct region *region;
	size_t regions;
	struct patch *patch; /* in the order they were made */
	size_t patches, patch_room;
	struct window *window; /* sorted by start; also those that others have taken the place of */
	size_t windows, window_room;
	struct pc_entry *pc; /* sorted; also those */
	size_t pcs;
	struct made made; /* for processes that are alike, if there has been one planting, of all
			   * that was wanted. Not read from the process's memory, where it could
			   * have become anything */
};

/*
 * At the start of a region of trampolines: what is needed to take it all away again. The tables
 * stand behind the trampolines. A planting makes one such region, and pages for punned jumps.
 */
struct head {
	uint64_t magic;
	uint64_t way[WAYS];	  /* the thunks jump through these */
	uint64_t bytes;		  /* of the region */
	uint64_t patch, patches;  /* address and number of struct patch, */
	uint64_t pc, pcs;	  /* of struct pc_entry, */
	uint64_t region, regions; /* of struct region: the pages for punned jumps */
};

/* Is it a site of an entry? */
static inline bool dt_probe_is_entry(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_PROBE_ENTRY;
}

/* Functions that devtrace itself is led through (hook/connect.c). */
bool dt_probe_is_apart(const void *file, size_t function);	    /* the same, for planning */
bool dt_probe_is_ours(const struct dt_file *file, size_t function); /* index in its code */

/* Calls made together by a stopped thread. */
int dt_probe_calls(struct dt_target *t, pid_t tid, const struct dt_maps *maps,
		   struct dt_injected_call *call, size_t n, struct dt_error *e);

void dt_made_free(struct made *m);

/* A copy of n elements; NULL, and *failed: no memory. */
void *dt_probe_copy_of(const void *p, size_t n, size_t size, bool *failed);

/* Where the ways lead in this process, as it is now. */
int dt_probe_ways(struct dt_target *t, uint64_t way[WAYS], struct dt_error *e);

bool dt_probe_has_region(const struct dt_probes *p, uint64_t low, uint64_t high);

int dt_probe_by_patch(const void *a, const void *b); /* struct patch by address */
int dt_probe_by_pc(const void *a, const void *b);    /* struct pc_entry */

/*
 * Where a thread goes on that is at ip, if that is a springboard of these patches: a jump in
 * filler, which it has come to by a short one and not left. There it executes what is no
 * instruction once the bytes are back. 0: ip is at none.
 */
uint64_t dt_probe_off_board(const struct patch *patch, size_t n, uint64_t ip);

/*
 * Writes patches, sorted by address, or what was there before; a page at a time, for threads stand
 * still meanwhile. Behind each write the code is valid, but for a jump over a page's end:
 * who writes may be killed there.
 */
int dt_probe_write(int mem, const struct patch *patch, size_t n, bool old);

/* Plants functions (wanted, n of them) and the points that are wanted and untried. */
int dt_probe_plant(struct dt_target *t, struct dt_module *m, const bool *wanted, size_t n,
		   struct dt_error *e);

#endif
