/* SPDX-License-Identifier: MIT */
/* Where something is recorded in a file: sleds, events, and where probes can be. */
#ifndef DT_CORE_SITE_H
#define DT_CORE_SITE_H

#include "core/types.h"

/* Where the 32-bit distance at p leads, which counts from `from'. */
static inline uint64_t dt_site_distance(const uint8_t *p, uint64_t from)
{
	int32_t d;

	__builtin_memcpy(&d, p, sizeof(d));
	return from + (uint64_t)(int64_t)d;
}

enum dt_elf_kind {
	DT_ELF_ENTRY = 1,
	DT_ELF_RETURN = 2,
	DT_ELF_TAIL = 3,
	DT_ELF_EVENT = 4, /* include/devtrace.h */
	/* of a file whose functions have no sleds: where probes can be, hook/probes.h */
	DT_ELF_PROBE_ENTRY = 5,
	DT_ELF_PROBE_RETURN = 6,
	DT_ELF_PROBE_TAIL = 7,
	DT_ELF_POINT = 8,	 /* a single instruction: hook/point.h */
	DT_ELF_JUMP = 9,	 /* a sled of a jump through a register or memory; */
	DT_ELF_JUMP_DIRECT = 10, /* the linker has made a direct jump of that */
	DT_ELF_KINDS
};

#define DT_EVENT_FREE	 1 /* flags of an event: belongs to no subsystem (raw, messages) */
#define DT_EVENT_TEXT	 2 /* its argument is the length of a text, continued in records 'c' */
#define DT_EVENT_CONTROL 4 /* no event, but DT_DISABLE_PROCESS(): on with anything of its file */

/* What the table of events says of one. The names are what stands for the numbers in the source. */
struct dt_elf_event {
	uint64_t pc;   /* where its hook returns to; 0: it only asks whether the subsystem is on */
	uint64_t more; /* where that of a text's continuation does; 0: it is no text */
	uint8_t kind;  /* of its record: enum dt_kind; 0: none */
	uint8_t values;
	uint16_t flags;
	uint16_t subsystem, event;
	const char *subsystem_name, *event_name; /* "7" where it is a number; owned by the file */
};

struct dt_elf_site {
	uint64_t address;  /* of the site's first byte */
	uint64_t function; /* that the site is in; of an event: an address in it */
	uint64_t target;   /* of a tail jump: the function it leads to, or the PLT entry of one of
			    * another file; otherwise 0 */
	uint8_t kind;	   /* enum dt_elf_kind */
	uint8_t back;	   /* of a sled: its hook returns to so many bytes behind address */
	uint32_t event;	   /* of DT_ELF_EVENT: which in dt_elf.event */
	bool jumps; /* an entry: the function has an indirect jump, so may end in an unseen tail
		       call */
};

#endif
