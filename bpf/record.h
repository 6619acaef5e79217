/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the BPF programs of bpf/record.bpf.c and the recorder (session/kernel-bpf.c) share: the
 * rings, which are memory that both have mapped, and what is to be recorded.
 */
#ifndef DT_BPF_RECORD_H
#define DT_BPF_RECORD_H

#include <linux/types.h>

/*
 * The state of a core's ring. Positions count records and only grow; the record of a position is at
 * position & (records of a ring - 1). Two cache lines, since two sides write.
 */
struct dt_bpf_head {
	__u64 end;  /* the next record's position; moved by the programs of this core only */
	__u64 lost; /* records for which there was no room */
	__u64 stranger[6];
	__u64 begin; /* what is below has been read: moved by the recorder */
	__u64 beside[7];
};

/*
 * A record in the ring: as struct dt_record of core/record.h, but with nanoseconds of
 * CLOCK_MONOTONIC for its time. `who' is thread, kind, flags and core as they are there, written
 * last: 0 means that the record is not complete yet, and the recorder sets it to 0 again.
 */
struct dt_bpf_record {
	__u64 ns, pc, who, sp, value[4];
};

#define DT_BPF_WHO(tid, kind, values)                                                              \
	((__u64)(tid) | (__u64)(unsigned char)(kind) << 32 | (__u64)(values) << 40)

/* What stays the same from the loading of the programs on. */
struct dt_bpf_settings {
	__u32 shift;	 /* a ring has 1 << shift records */
	__u32 everybody; /* 1: all processes are recorded, not only those that are watched */
	__u32 inside;	 /* 1: the recorder is in a PID namespace, whose numbers are recorded; */
	__u32 space;	 /* this is its number */
	__u32 self;	 /* the recorder's process, which is never recorded */
};

/* What changes. */
struct dt_bpf_state {
	__u32 on;	   /* 1: records are made */
	__u32 level;	   /* how deep the recorder's PID namespace is: by `survey' */
	__u64 unwatched;   /* processes that are not recorded because there was no memory */
	__u64 small_calls; /* system calls of 32-bit programs, which are not recorded */
};

#define DT_BPF_CALLS   512u /* numbers of system calls are below */
#define DT_BPF_WATCHED 65536u

#endif
