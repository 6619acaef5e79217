/* SPDX-License-Identifier: MIT */
/*
 * What a session's shared memory holds: messages, settings, where recording went on. The layout of
 * the memory, and which code may access it, is in core/control.h. All positions count bytes since
 * the session began and only grow; the record of a position is at position & mask.
 */
#ifndef DT_CORE_RING_H
#define DT_CORE_RING_H

#include "core/record.h"

#define DT_SESSION_MAGIC   0x7472616365763164ull
#define DT_SESSION_VERSION 5		/* of the shared memory's layout */
#define DT_CONTROL_SIZE	   0x20000u	/* bytes kept for struct dt_control at the start */
#define DT_RING_HEAD	   4096u	/* bytes kept for struct dt_ring before a ring's records */
#define DT_NO_LIMIT	   (1ull << 62) /* a dt_ring.limit that is never reached */
#define DT_FROZEN                                                                                  \
	1ull /* flag in a limit: recording freezes there, and the limit is not moved to make room  \
	      */

/* What happens when a ring is full. */
enum dt_policy {
	DT_OVERWRITE, /* newest records win: a flight recorder */
	DT_DROP,      /* oldest records win: a new one that does not fit is counted, not kept */
	DT_WAIT,      /* lossless: the writer waits for the reader */
};

/* The state of a session. */
enum dt_state {
	DT_STOPPED, /* for good: the session is ending, or its controller has died */
	DT_RECORDING,
	DT_PAUSED, /* nothing is recorded, but processes and modules are followed */
};

/* Kinds of messages from a traced process to the controller. */
enum dt_request_kind {
	/* a forked child recorded its first event; it does not wait for an answer */
	DT_REQUEST_PROCESS = 1,
	DT_REQUEST_MODULES,	/* the dynamic linker's list of modules changed */
	DT_REQUEST_EXEC,	/* the process is about to call execve */
	DT_REQUEST_EXEC_FAILED, /* that execve has returned, so it failed */
	DT_REQUEST_OPT_OUT,	/* the process wants nothing recorded any more */
	DT_REQUEST_STRANGE,	/* it makes a thread whose thread block is none of libc's */
};

/* The states of struct dt_request. */
enum dt_request_state {
	DT_REQUEST_FREE,
	DT_REQUEST_FILLING,
	DT_REQUEST_POSTED,
	DT_REQUEST_DONE, /* the controller has dealt with it; the poster frees the slot */
};

#define DT_REQUESTS  256u  /* places for messages */
#define DT_WATCH_MAX 4096u /* processes and threads that can be watched */

/* The state of Barrelfish's triggers: NONE -> ARMED (controller) -> STARTING -> RUNNING (start
 * event) -> DONE. */
enum dt_arm_state {
	DT_ARM_NONE,
	DT_ARM_ARMED,	 /* frozen until the start event */
	DT_ARM_STARTING, /* the start event has occurred, but may not have been recorded yet */
	DT_ARM_RUNNING,	 /* recording, until the stop event or the end of the duration */
	DT_ARM_DONE,	 /* frozen again */
};

/*
 * What is to happen at the sites in [start, end], for sessions that look at each event. Every
 * traced process has a sorted table of these for its own addresses: struct dt_table.
 */
struct dt_table_entry {
	uint64_t start, end;
	uint32_t what;	   /* DT_DO_... (core/device.h) */
	uint32_t pid;	   /* the process of DT_DO_ONLYPID */
	uint64_t late;	   /* records until the freeze of DT_DO_LATEFREEZE */
	uint64_t constant; /* the value of DT_DO_CONST */
};

#define DT_TABLE_SIZE (1u << 20) /* bytes kept for a table */
#define DT_TABLE_MAX  ((DT_TABLE_SIZE - 16) / sizeof(struct dt_table_entry))

/* The table of one process. Writer: the controller, which keeps seq odd while it writes; readers
 * begin again if seq has changed. */
struct dt_table {
	uint32_t seq, n;
	uint64_t pad;
	struct dt_table_entry entry[];
};

/* Where recording went on after it was frozen. Writer: the side that lets it go on; it writes pos
 * last, and 0 there while it writes the rest. */
#define DT_THAWS 512u

struct dt_thaw {
	uint64_t pos;	/* position in the shared ring of the first record after the freeze, plus 1;
			   0: none */
	uint64_t begin; /* ticks at which a command froze it; 0: the record before froze it */
	uint64_t end;	/* ticks at which recording went on */
	uint64_t missed; /* dt_control.missed at that time */
	uint64_t number; /* its number among dt_control.thaws, from 0 */
};

/* A message from a traced thread, the poster, to the controller. */
struct dt_request {
	uint32_t state; /* futex. FREE -> FILLING (poster, cas) -> POSTED (poster) -> DONE
			 * (controller) -> FREE (poster, or the controller when nobody waits) */
	uint32_t kind;
	uint32_t pid, tid, ppid; /* as the poster knows them, in its PID namespace */
	uint32_t waited;	 /* the poster waits for DONE */
	uint64_t area;		 /* address of the poster's area */
	uint64_t fs;		 /* the poster's thread pointer, 0 when it has none yet */
	uint64_t path;	/* EXEC: address of the new image's name... PROCESS: 1 if the poster
			 * has told of its birth (struct dt_birth), else 0 */
	int32_t dirfd;	/* ...and what it is relative to, -1: the working directory */
	uint32_t proof; /* also in the poster's own memory (struct dt_process_block), as proof that
			   it is the poster */
	uint64_t pad2;
};

/*
 * Each struct dt_held is a time for which tracing held a thread up. When the thread goes on, it
 * writes it to a free place of dt_control.held; if none is free, it counts it in held_missed.
 */
#define DT_HELDS 1024u

/* What a thread was held up for. */
enum dt_held_why {
	DT_HELD_ROOM = 1, /* waiting for room in a ring, or ringing the bell for it */
	DT_HELD_MODULES,  /* until loaded modules were hooked */
	DT_HELD_EXEC,	  /* around an execve */
	DT_HELD_FORK,	  /* until the sites that are not to be recorded in a child were off */
	DT_HELD_STOP,	  /* stopped by the controller, which planted or removed hooks */
	DT_HELD_WHYS,	  /* how many there are */
};

struct dt_held {
	uint32_t state; /* FREE -> FILLING (thread, cas) -> POSTED (thread) -> FREE (controller) */
	uint32_t tid;
	uint32_t why; /* enum dt_held_why */
	uint16_t core_begin, core_end;
	uint64_t begin, end; /* ticks, by the clocks of core_begin and core_end */
};

/*
 * Each struct dt_birth says from when on a number is a new thread's: the kernel may have given it
 * to another one before, which has ended. A thread tells it before it makes its first record, and a
 * forked process with its first record. It waits a while for a free place; when there is none, it
 * counts in births_missed.
 */
#define DT_BIRTHS 1024u

struct dt_birth {
	uint32_t state; /* FREE -> FILLING (thread, cas) -> POSTED (thread) -> FREE (controller) */
	uint32_t tid, pid; /* the thread and its process, as in records */
	uint32_t core;	   /* whose clock ticks is of */
	uint32_t parent;   /* of a process: who made it; 0: it has gone, or it is a thread */
	uint32_t pad;
	uint64_t ticks; /* no record of the thread is earlier, and none of an earlier one later */
	uint64_t made;	/* ticks before it was made: the kernel may have had it run since. 0: not
			 * known */
};

/* Sizes and distances in the shared memory. */
struct dt_geometry {
	uint32_t cores; /* number of rings, without the shared one */
	uint32_t pad;
	uint64_t ring_size; /* bytes of records in a ring, a power of two */
	uint64_t stride;    /* from one ring's head to the next */
	uint64_t bytes;	    /* of the whole shared memory */
};

#define DT_CORES_MAX 32767u
/* bytes that a ring can have: a power of two within these bounds */
#define DT_RING_MIN (64u << 10)
#define DT_RING_MAX (1u << 30)

/* Is it a size that a ring can have? */
static inline bool dt_ring_size_is_valid(uint64_t bytes)
{
	return bytes >= DT_RING_MIN && bytes <= DT_RING_MAX && !(bytes & (bytes - 1));
}

/* Computes the geometry for that many cores and bytes of records per ring. */
static inline struct dt_geometry dt_geometry(uint32_t cores, uint64_t ring_size)
{
	/* the marks of the shared ring follow its records; all rings get the room for that */
	uint64_t stride = DT_RING_HEAD + ((ring_size + ring_size / 8 + 4095) & ~4095ull);

	return (struct dt_geometry){cores, 0, ring_size, stride,
				    DT_CONTROL_SIZE + (cores + 1ull) * stride};
}

#endif
