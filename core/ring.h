/* SPDX-License-Identifier: MIT */
/*
 * What is said in a session's shared memory: messages, settings, where recording went on. The
 * memory itself, and who may look at it, is in core/control.h. All positions count bytes since the
 * session began and only grow; a record's place is position & mask.
 */
#ifndef DT_CORE_RING_H
#define DT_CORE_RING_H

#include "core/record.h"

#define DT_SESSION_MAGIC   0x7472616365763164ull
#define DT_SESSION_VERSION 3	    /* of the layout of what is shared */
#define DT_CONTROL_SIZE	   0x20000u /* bytes kept for struct dt_control at the start */
#define DT_RING_HEAD	   4096u    /* bytes of struct dt_ring in front of a ring's records */
#define DT_NO_LIMIT	   (1ull << 62)
#define DT_FROZEN                                                                                  \
	1ull /* in a limit: it is where recording freezes, and nobody moves it for room            \
	      */

enum dt_policy {
	DT_OVERWRITE, /* newest records win: a flight recorder */
	DT_DROP,      /* oldest records win: what does not fit is counted, not kept */
	DT_WAIT,      /* lossless: the writer waits for the reader */
};

enum dt_state {
	DT_STOPPED, /* for good: the session is ending, or its controller has died */
	DT_RECORDING,
	DT_PAUSED, /* nothing is recorded, but processes and modules are followed */
};

/* A message from a traced process to the controller. */
enum dt_request_kind {
	DT_REQUEST_PROCESS = 1, /* a forked child recorded its first event; not waited for */
	DT_REQUEST_MODULES,	/* the dynamic linker's list of modules changed */
	DT_REQUEST_EXEC,	/* about to execve */
	DT_REQUEST_EXEC_FAILED, /* that execve returned */
	DT_REQUEST_OPT_OUT,	/* the process wants nothing recorded any more */
};

enum dt_request_state {
	DT_REQUEST_FREE,
	DT_REQUEST_FILLING,
	DT_REQUEST_POSTED,
	DT_REQUEST_DONE, /* the controller has dealt with it; the poster frees the slot */
};

#define DT_REQUESTS  256u
#define DT_WATCH_MAX 4096u

/* Barrelfish's triggers. NONE -> ARMED (controller) -> STARTING -> RUNNING (start event) -> DONE.
 */
enum dt_arm_state {
	DT_ARM_NONE,
	DT_ARM_ARMED,	 /* frozen until the start event */
	DT_ARM_STARTING, /* it is there, but may not have been recorded yet */
	DT_ARM_RUNNING,	 /* until the stop event, or the end */
	DT_ARM_DONE,	 /* frozen again */
};

/*
 * What is to happen at the sites in [start, end], for sessions that look at each event. A table of
 * these is in every traced process, sorted, for its own addresses: struct dt_table.
 */
struct dt_table_entry {
	uint64_t start, end;
	uint32_t what; /* DT_DO_... (core/device.h) */
	uint32_t pid;  /* of DT_DO_ONLYPID */
	uint64_t late; /* of DT_DO_LATEFREEZE */
	uint64_t constant;
};

#define DT_TABLE_SIZE (1u << 20) /* bytes kept for a table */
#define DT_TABLE_MAX  ((DT_TABLE_SIZE - 16) / sizeof(struct dt_table_entry))

/* Writer: the controller, with seq odd while it writes; readers begin again when seq has changed.
 */
struct dt_table {
	uint32_t seq, n;
	uint64_t pad;
	struct dt_table_entry entry[];
};

/* Where recording went on after it was frozen. Writer: whoever thaws; pos last, 0 while it writes.
 */
#define DT_THAWS 512u

struct dt_thaw {
	uint64_t pos;	 /* in the shared ring, of the first record behind, plus one; 0: none */
	uint64_t begin;	 /* ticks at which it was frozen by a command; 0: by the record before */
	uint64_t end;	 /* ticks at which it went on */
	uint64_t missed; /* dt_control.missed then */
	uint64_t number; /* which it is of dt_control.thaws, from 0 on */
};

struct dt_request {
	uint32_t state; /* futex. FREE -> FILLING (poster, cas) -> POSTED (poster) -> DONE
			 * (controller) -> FREE (poster, or the controller when nobody waits) */
	uint32_t kind;
	uint32_t pid, tid, ppid; /* as the poster knows them, in its PID namespace */
	uint32_t waited;	 /* the poster waits for DONE */
	uint64_t area;		 /* where the poster's area begins */
	uint64_t fs;		 /* the poster's thread pointer, 0 when it has none yet */
	uint64_t path;		 /* EXEC: address of the new image's name... */
	int32_t dirfd;		 /* ...and what it is relative to, -1: the working directory */
	uint32_t proof; /* stands in the poster's own memory, too: struct dt_process_block */
	uint64_t pad2;
};

/*
 * A time in which a thread could not go on because of us: told by the thread when it goes on, in a
 * free place of dt_control.held. Whoever finds none counts it in held_missed.
 */
#define DT_HELDS 1024u

enum dt_held_why {
	DT_HELD_ROOM = 1, /* for room in a ring, or ringing the bell for it */
	DT_HELD_MODULES,  /* until what was loaded is hooked */
	DT_HELD_EXEC,	  /* around an execve */
	DT_HELD_FORK,	  /* until what is not to be recorded in a child is off */
	DT_HELD_STOP,	  /* stopped by the controller, which planted or took away */
	DT_HELD_WHYS,
};

struct dt_held {
	uint32_t state; /* FREE -> FILLING (thread, cas) -> POSTED (thread) -> FREE (controller) */
	uint32_t tid;
	uint32_t why; /* enum dt_held_why */
	uint16_t core_begin, core_end;
	uint64_t begin, end; /* ticks, by the clocks of those cores */
};

/* Where things are in the shared memory. */
struct dt_geometry {
	uint32_t cores; /* rings, without the shared one */
	uint32_t pad;
	uint64_t ring_size; /* bytes of records in a ring, a power of two */
	uint64_t stride;    /* from one ring's head to the next */
	uint64_t bytes;	    /* of the whole shared memory */
};

#define DT_CORES_MAX 32767u
/* bytes a ring can have: a power of two in these bounds */
#define DT_RING_MIN (64u << 10)
#define DT_RING_MAX (1u << 30)

static inline bool dt_ring_size_is_valid(uint64_t bytes)
{
	return bytes >= DT_RING_MIN && bytes <= DT_RING_MAX && !(bytes & (bytes - 1));
}

static inline struct dt_geometry dt_geometry(uint32_t cores, uint64_t ring_size)
{
	/* the shared ring has its marks behind the records; all rings are given that room */
	uint64_t stride = DT_RING_HEAD + ((ring_size + ring_size / 8 + 4095) & ~4095ull);

	return (struct dt_geometry){cores, 0, ring_size, stride,
				    DT_CONTROL_SIZE + (cores + 1ull) * stride};
}

#endif
