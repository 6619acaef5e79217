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
#define DEVTRACE_VERSION_NOW 1
#define DEVTRACE_COUNTS	     _IOWR('T', 0xd1, struct devtrace_counts)

#endif
