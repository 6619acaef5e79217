/* SPDX-License-Identifier: MIT */
/*
 * The record: what one event leaves in a ring. It has 64 bytes, one cache line, and the same layout
 * in every provider (a process, the kernel). Only the append (arch/) writes records; everything
 * else reads them.
 */
#ifndef DT_CORE_RECORD_H
#define DT_CORE_RECORD_H

#include "core/types.h"

/* The kinds of records. */
enum dt_kind {
	DT_ENTRY = 'E',
	DT_EXIT = 'X',
	DT_POINT = 'P',
	DT_EVENT = 'V',
	DT_SWITCH = 'S',
	DT_RUNDOWN = 'R',
	DT_WAKE = 'W', /* about a thread that is woken: session/wakers.h */
	DT_SEND = 'M',
	DT_RECEIVE = 'N',
	DT_MORE = 'c', /* continuation: more values of the record before it */
};

/*
 * dt_record.flags: the low three bits say how many of the values are used, 0 to 4. The number
 * DT_ADJACENT there means all that the kind has, and that later time differences are between
 * neighbouring records again.
 */
#define DT_NARGS      0x07
#define DT_ADJACENT   0x07
#define DT_FREEZE     0x08
#define DT_UNFREEZE   0x10
#define DT_BASE	      0x20
#define DT_INTERRUPT  0x40 /* recorded in interrupt context (kernel) */
#define DT_FAULT      0x40 /* P and its continuations: a value DT_CAPTURE_BAD could not be read */
#define DT_PREEMPTED  0x40 /* S: the thread that left the core could have gone on */
#define DT_LATEFREEZE 0x80

#define DT_NO_TID 0xffffffffu /* in tid: no thread, so interrupt or scheduler context */
/*
 * Numbers of rings, as a file has them. A ring is that of a core, or the one that all threads
 * without rseq share. A session of processes of several users has a set of rings for each user
 * (session/domain.h): the first user's rings have the numbers below DT_FURTHER_CORES and
 * DT_SHARED_CORE, the others' lie from DT_FURTHER_CORES on. In shared rings and those of further
 * users each record says itself which core it is of.
 */
#define DT_SHARED_CORE 0xffffu /* the shared ring; in a record: the core is not known */
/* from here up: shared rings, whose records are only roughly in order */
#define DT_SHARED_CORES	 0xff00u
#define DT_FURTHER_CORES 0x8000u /* from here up: further users' rings, then shared ones */

/* One record. */
struct dt_record {
	uint64_t ticks; /* cycle counter, read inside the append's critical section */
	uint64_t pc;	/* return address of the hook: inside the traced function */
	uint32_t tid;	/* thread id as the kernel numbers it, or DT_NO_TID */
	uint8_t kind;	/* enum dt_kind */
	uint8_t flags;	/* DT_NARGS and the flag bits */
	uint16_t core;	/* core it was appended on; 0 in the ring of a core, which belongs to that
			   core */
	uint64_t sp;	/* stack pointer in the hook: equal for the E and X of a call */
	uint64_t value[4]; /* E: rdi rsi rdx rcx. X: rax, rdx, xmm0 low, xmm0 high, or errno in its
			      place: DT_ERRNO_VALUE. On aarch64 x0 to x3; x0, x1, q0 */
};

#define DT_ERRNO_VALUE 3 /* X of functions of certain libraries: hook/module.h, sets_errno */

/*
 * Returns a record's address. In a session's log the pc of a point's records, P and their
 * continuations, has the number of the point in its file plus one in the high 16 bits, for readers
 * that need to know what the values are. Code that shows such records must use this function.
 */
static inline uint64_t dt_record_pc(const struct dt_record *r)
{
	return r->kind == DT_POINT || r->kind == DT_MORE ? (uint64_t)((int64_t)(r->pc << 16) >> 16)
							 : r->pc;
}

/* Does the kernel tell of a thread by records of this kind? Others are made by the thread itself.
 */
static inline bool dt_kind_is_about(uint8_t kind)
{
	return kind == DT_SWITCH || kind == DT_RUNDOWN || kind == DT_WAKE;
}

/* Returns the record with the pc as it is to be shown. */
static inline struct dt_record dt_record_shown(const struct dt_record *r)
{
	struct dt_record shown = *r;

	shown.pc = dt_record_pc(r);
	return shown;
}

/* number + 1 of the point in such a pc; 0: none */
#define DT_RECORD_POINT(pc) ((uint32_t)((pc) >> 48))

/* Returns how many of the record's values are used. */
static inline unsigned dt_record_values(const struct dt_record *r)
{
	unsigned n = r->flags & DT_NARGS;

	if (n == DT_ADJACENT)
		return r->kind == DT_ENTRY ? 4 : r->kind == DT_EXIT ? 1 : 0;
	return n;
}

_Static_assert(sizeof(struct dt_record) == 64, "a record is one cache line");

#endif
