/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What programs ask of /dev/trace beside reading it. */
#ifndef DEVTRACE_IOCTL_H
#define DEVTRACE_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DEVTRACE_ALL_CORES 0xffffffffu

struct devtrace_counts {
	__u64 core;    /* asked for: of which core, or DEVTRACE_ALL_CORES */
	__u64 written; /* records that had a place in a ring */
	__u64 read;    /* of those, how many have been read, or passed over */
	__u64 overrun; /* passed over: overwritten before they were read */
	__u64 lost;    /* had no place */
	__u64 exits;   /* that could not be hooked */
};

/* 1: read(2) gives records of 64 bytes (doc/format.md), 0: lines of 121, as at first */
#define DEVTRACE_BINARY _IO('T', 0xd0)
/* what is the version of all this, and of a record? */
#define DEVTRACE_VERSION     _IO('T', 0xd2)
#define DEVTRACE_VERSION_NOW 5
#define DEVTRACE_COUNTS	     _IOWR('T', 0xd1, struct devtrace_counts)

/*
 * Reading without a copy: a reader that asks for DEVTRACE_RINGS has the rings to itself until the
 * file is closed, by all who have it; it may map each one, read only,
 *
 *	mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, core * bytes)
 *
 * and asks for DEVTRACE_SPAN what is in it. Meanwhile read(2) of the log gives EBUSY, and the rings
 * keep their size.
 */
struct devtrace_rings {
	__u64 cores; /* numbers below it are those of cores; not all need to be there */
	__u64 bytes; /* of each ring: a power of two, at least a page */
};

/*
 * Positions count bytes and only grow, until `reset' changes the generation; a record's place is
 * its position modulo bytes. What was read below `release' is given back, then first to end is what
 * there is: whole records of 64 bytes, in which nothing is written any more. `policy drop' keeps
 * them until they are given back. `policy overwrite' does not: copy them, give them back, and throw
 * away what lies below `kept' then; it is counted as overrun.
 */
struct devtrace_span {
	__u64 core;	  /* asked for */
	__u64 release;	  /* given back: all below; 0: nothing */
	__u64 generation; /* of release; then, of what follows */
	__u64 kept; /* what had been shown, and lies below, was overwritten before it was given back
		     */
	__u64 first, end;
	__u64 lost; /* records of this core that were lost in any way since the last reset */
};
/*
 * In a ring, a record of a tracepoint has in the low byte of `core' which one it is of that hit, 0
 * ('P') or from 1 on ('c'), or DEVTRACE_CONST ('c'): the option's value. The high byte says which
 * setting of the tracepoint it is of: 0 for the first, one more (modulo 256) each time it is set
 * again while it is on.
 */
#define DEVTRACE_CONST 0xff

/*
 * The device belongs to who has this file open, as long as he has: when it is closed, by the death
 * of its process too, the device stops, and is as it was when the module was loaded. EBUSY: it
 * belongs to another one, or something is traced already.
 */
#define DEVTRACE_OWN _IO('T', 0xd5)
/*
 * Numbers of processes and threads are then those of the PID namespace of who has said
 * DEVTRACE_OWN, in what it asks for and in records; who has no number there is not recorded.
 *
 * Watches this process and its children until they end: whoever gets their numbers later is not
 * watched. EINVAL: not all but some have to be watched already (`watch'), with `follow on'; ESRCH:
 * there is no such process; EPERM: the device is not owned by this file.
 */
#define DEVTRACE_WATCH _IO('T', 0xd6)

/*
 * A system call that the tracer makes inside a traced process, with the address behind its
 * `syscall' xor this in r15, and all that comes of it, is not recorded while somebody owns the
 * device.
 */
#define DEVTRACE_OWN_CALL 0x64747263

#define DEVTRACE_RINGS _IOR('T', 0xd3, struct devtrace_rings)
#define DEVTRACE_SPAN  _IOWR('T', 0xd4, struct devtrace_span)

#endif
