/* SPDX-License-Identifier: MIT */
/*
 * The record: what one event leaves in a ring. 64 bytes, one cache line, the same in every
 * provider (a process, the kernel). Written only by the append (arch/), read by everything else.
 */
#ifndef DT_CORE_RECORD_H
#define DT_CORE_RECORD_H

#include "core/types.h"

enum dt_kind {
	DT_ENTRY = 'E',
	DT_EXIT = 'X',
	DT_POINT = 'P',
	DT_EVENT = 'V',
	DT_SWITCH = 'S',
	DT_RUNDOWN = 'R',
	DT_SEND = 'M',
	DT_RECEIVE = 'N',
	DT_MORE = 'c', /* continuation: more values of the record before it */
};

/*
 * dt_record.flags: the low three bits say how many of the values are meant, 0 to 4; or are
 * DT_ADJACENT: all that the kind has, and later time differences are between neighbours again.
 */
#define DT_NARGS      0x07
#define DT_ADJACENT   0x07
#define DT_FREEZE     0x08
#define DT_UNFREEZE   0x10
#define DT_BASE	      0x20
#define DT_INTERRUPT  0x40 /* recorded in interrupt context (kernel) */
#define DT_FAULT      0x40 /* P and its continuations: what is DT_CAPTURE_BAD could not be read */
#define DT_LATEFREEZE 0x80

#define DT_NO_TID 0xffffffffu /* no thread: interrupt or scheduler context */
/*
 * Numbers of rings, as a file has them. A ring is a core's, or the one that threads without rseq
 * share; a session of processes of several users has such rings for each (session/domain.h): the
 * numbers below are the first's, and the others' lie from DT_FURTHER_CORES on. There each record
 * says itself of which core it is.
 */
#define DT_SHARED_CORE	 0xffffu /* the shared ring; in a record: its core is not known */
#define DT_SHARED_CORES	 0xff00u /* from here up: shared rings, in no strict order */
#define DT_FURTHER_CORES 0x8000u /* from here up: further users' rings, then shared ones */

struct dt_record {
	uint64_t ticks;	   /* cycle counter, read inside the append's critical section */
	uint64_t pc;	   /* return address of the hook: inside the traced function */
	uint32_t tid;	   /* thread id as the kernel numbers it, or DT_NO_TID */
	uint8_t kind;	   /* enum dt_kind */
	uint8_t flags;	   /* DT_NARGS and the flag bits */
	uint16_t core;	   /* core it was appended on. In a ring: 0, the ring tells */
	uint64_t sp;	   /* stack pointer in the hook: the same for a call's E and X */
	uint64_t value[4]; /* E: rdi rsi rdx rcx. X: rax, rdx, xmm0 low, xmm0 high */
};

/*
 * The pc of a point's records, P and their continuations, as a session's log has them: the number
 * of the point in its file plus one is in the high 16 bits, for those who want to know what the
 * values are. Who shows such records makes it the address again.
 */
static inline uint64_t dt_record_pc(const struct dt_record *r)
{
	return r->kind == DT_POINT || r->kind == DT_MORE ? (uint64_t)((int64_t)(r->pc << 16) >> 16)
							 : r->pc;
}

static inline struct dt_record dt_record_shown(const struct dt_record *r)
{
	struct dt_record shown = *r;

	shown.pc = dt_record_pc(r);
	return shown;
}

#define DT_RECORD_POINT(pc) ((uint32_t)((pc) >> 48)) /* 0: none */

/* How many of the values are meant. */
static inline unsigned dt_record_values(const struct dt_record *r)
{
	unsigned n = r->flags & DT_NARGS;

	if (n == DT_ADJACENT)
		return r->kind == DT_ENTRY ? 4 : r->kind == DT_EXIT ? 1 : 0;
	return n;
}

_Static_assert(sizeof(struct dt_record) == 64, "a record is one cache line");

#endif
