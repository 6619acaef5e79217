/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The ioctl(2) requests of /dev/trace, the kernel module's device: all but reading it. */
#ifndef DEVTRACE_IOCTL_H
#define DEVTRACE_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Stands for a core's number in struct devtrace_counts: the sums over all cores. */
#define DEVTRACE_ALL_CORES 0xffffffffu

/* What DEVTRACE_COUNTS answers: numbers of records since the last `reset'. */
struct devtrace_counts {
	__u64 core;    /* set by the caller: which core, or DEVTRACE_ALL_CORES */
	__u64 written; /* records that were written into a ring */
	__u64 read;    /* how many of those have been read, or passed over */
	__u64 overrun; /* how many were passed over: overwritten before they were read */
	__u64 lost;    /* records that found no room in a ring */
	__u64 exits;   /* calls whose exits could not be hooked */
};

/*
 * Chooses what read(2) gives, by the argument: 1: records of 64 bytes (doc/format.md); 0: lines of
 * 121 bytes. A file that has just been opened gives lines.
 */
#define DEVTRACE_BINARY _IO('T', 0xd0)
/* Returns the version of this interface and of a record: DEVTRACE_VERSION_NOW. */
#define DEVTRACE_VERSION     _IO('T', 0xd2)
#define DEVTRACE_VERSION_NOW 5
/* Fills struct devtrace_counts for the core in it. EINVAL: there is no such core. */
#define DEVTRACE_COUNTS _IOWR('T', 0xd1, struct devtrace_counts)

/*
 * Reading without a copy: a reader that asks for DEVTRACE_RINGS has the rings to itself until all
 * descriptors of its open file are closed. It may map each ring, read only,
 *
 *	mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, core * bytes)
 *
 * and learns by DEVTRACE_SPAN which records are in it. Meanwhile read(2) of the log fails with
 * EBUSY, and the size of the rings can not be changed.
 */
struct devtrace_rings {
	__u64 cores; /* all numbers of cores are below this; some numbers may have no core */
	__u64 bytes; /* size of each ring: a power of two, at least a page */
};

/*
 * DEVTRACE_SPAN gives records back and says which ones are there. Positions count bytes and only
 * grow, until `reset' changes the generation; a record stands at its position modulo `bytes'. First
 * everything below `release' is given back; then the records from `first' up to `end' are there:
 * whole records of 64 bytes, into which nothing is written any more. With `policy drop' they stay
 * until they are given back. With `policy overwrite' they may be overwritten at any time: copy
 * them, give them back, and then throw away the copies of what lies below `kept', which is counted
 * as overrun.
 */
struct devtrace_span {
	__u64 core;	  /* set by the caller */
	__u64 release;	  /* set by the caller: all below is given back; 0: nothing */
	__u64 generation; /* set: that of `release'; answered: that of the fields that follow */
	__u64 kept;	  /* records below this that an earlier span showed were overwritten before
			   * they were given back */
	__u64 first, end;
	__u64 lost; /* records of this core that were lost in any way since the last reset */
};
/*
 * The field `core' of a tracepoint's record, as it stands in a ring, is no core. Its low byte
 * numbers the records of one hit: 0 is the first ('P'), 1 and above are continuations ('c'), and
 * DEVTRACE_CONST is the continuation with the value of the option CONST. Its high byte numbers the
 * settings of the tracepoint: 0 is the first, and it grows by one (modulo 256) each time the point
 * is set again while it is on.
 */
#define DEVTRACE_CONST 0xff

/*
 * Makes the caller the owner of the device for as long as this file is open. When the file is
 * closed, also by the death of its process, the device stops, and its settings are again those from
 * when the module was loaded. EBUSY: the device has another owner, or something is traced already.
 *
 * While the device is owned, numbers of processes and threads, in commands and in records, are
 * those of the owner's PID namespace; a thread that has no number there is not recorded.
 */
#define DEVTRACE_OWN _IO('T', 0xd5)
/*
 * Watches the process whose number is the argument, and its children, until they end: a process
 * that gets one of their numbers later is not watched. EINVAL: the command `watch' must have
 * restricted the device to some processes before, and `follow' must be on; ESRCH: there is no such
 * process; EPERM: the device is not owned by this file.
 */
#define DEVTRACE_WATCH _IO('T', 0xd6)

/*
 * Marks a system call that the tracer makes inside a traced process: r15 is this xor the address
 * after the `syscall' instruction. While the device is owned, such a call and all that happens in
 * it are not recorded.
 */
#define DEVTRACE_OWN_CALL 0x64747263

/* Takes the rings for this file (struct devtrace_rings). EBUSY: another file has them. */
#define DEVTRACE_RINGS _IOR('T', 0xd3, struct devtrace_rings)
/* Described at struct devtrace_span. EINVAL: no such core; EBUSY: this file does not have the
 * rings. */
#define DEVTRACE_SPAN _IOWR('T', 0xd4, struct devtrace_span)

#endif
