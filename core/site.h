/* SPDX-License-Identifier: MIT */
/*
 * Sites: the places in a file where something is recorded. They are sleds, events, and places where
 * probes can be.
 */
#ifndef DT_CORE_SITE_H
#define DT_CORE_SITE_H

#include "core/types.h"

/* Returns the address to which the signed 32-bit distance at p leads, counted from `from'. */
static inline uint64_t dt_site_distance(const uint8_t *p, uint64_t from)
{
	int32_t d;

	__builtin_memcpy(&d, p, sizeof(d));
	return from + (uint64_t)(int64_t)d;
}

/* The kinds of sites. */
enum dt_elf_kind {
	DT_ELF_ENTRY = 1,
	DT_ELF_RETURN = 2,
	DT_ELF_TAIL = 3,
	DT_ELF_EVENT = 4, /* include/devtrace.h */
	/* places of probes in a file whose functions have no sleds: hook/probes.h */
	DT_ELF_PROBE_ENTRY = 5,
	DT_ELF_PROBE_RETURN = 6,
	DT_ELF_PROBE_TAIL = 7,
	DT_ELF_POINT = 8,	 /* a single instruction: hook/point.h */
	DT_ELF_JUMP = 9,	 /* a sled of a jump through a register or memory */
	DT_ELF_JUMP_DIRECT = 10, /* such a sled, which the linker has made a direct jump */
	DT_ELF_KINDS
};

#define DT_EVENT_FREE 1 /* flags of an event: it belongs to no subsystem (raw, messages) */
/* its argument is the length of a text, which is in records 'c' after it */
#define DT_EVENT_TEXT 2
/* not an event but DT_DISABLE_PROCESS(): on while any site of its file is on */
#define DT_EVENT_CONTROL 4

/*
 * An event as the file's table of events describes it. The names are the expressions that stand for
 * the numbers in the source.
 */
struct dt_elf_event {
	uint64_t pc;   /* where its hook returns to; 0: it has no hook and only asks whether the
			  subsystem is on */
	uint64_t more; /* where the hook of a text's continuation returns to; 0: it is not a text */
	uint8_t kind;  /* enum dt_kind of its record; 0: it makes none */
	uint8_t values; /* how many its record has */
	uint16_t flags;
	uint16_t subsystem, event;
	/* "7" if the source has a number; owned by the file */
	const char *subsystem_name, *event_name;
};

/* A site of a file. */
struct dt_elf_site {
	uint64_t address;  /* of the site's first byte */
	uint64_t function; /* start of the function that the site is in; of an event any address in
			      that function */
	uint64_t target; /* of a tail jump: the function that it leads to, or the PLT entry if that
			    is in another file; otherwise 0 */
	bool late;	 /* its target was found in a process that has it planted */
	uint8_t kind;	 /* enum dt_elf_kind */
	uint8_t back;	 /* of a sled: its hook returns to address plus so many bytes */
	uint32_t event;	 /* of DT_ELF_EVENT: index in dt_elf.event */
	bool jumps;	 /* of an entry: the function has an indirect jump, or runs into the next
			    function, so it may end in an unseen tail call */
	bool entered;	 /* of an exit: others jump or call into the middle of the function, so it
			    may come without an entry */
};

#endif
