/* SPDX-License-Identifier: MIT */
/*
 * The open calls of one thread, as segments: one for each stack that the thread was seen on. Within
 * a segment frames are ordered by stack pointer, the outermost (highest) first.
 */
#ifndef DT_ANALYSE_STACK_H
#define DT_ANALYSE_STACK_H

#include "filter/call.h"
#include "store/info.h"

/*
 * A call's frame normally begins within this many bytes of its caller's. What is further away may
 * have a caller with large arrays, or be on another stack.
 */
#define DT_STACK_NEAR 16384
/* What is further away than this is on another stack (mapped below one of the usual 8 MB). */
#define DT_STACK_FAR (4 << 20)

/* Whether a call has come to its tail jump. It stays open until the function that it jumped to
 * returns. */
enum dt_jump {
	DT_JUMP_NONE,
	DT_JUMP_MADE,	/* the jump was made, and the next entry at its sp should be the other
			   function's... */
	DT_JUMP_LANDED, /* ...which it was */
};

struct dt_stack_frame {
	struct dt_call call; /* as it is passed on in events, as far as it is known yet */
	uint64_t argument[4];
	uint64_t held;		 /* ticks: `held' of the thread when the call began */
	uint64_t inner;		 /* ticks: see struct dt_call */
	uint32_t *open;		 /* dt_open_count() of its function */
	uint32_t losses, pauses; /* those of the thread when the call began */
	uint32_t note[2];	 /* dt_call.note points to them */
	/* the function that its tail jump leads to, or that its code may run into; 0: not known */
	uint32_t lands;
	uint8_t jump; /* enum dt_jump */
};

struct dt_segment {
	struct dt_stack_frame *frame;
	uint32_t n, size;
	uint32_t depth;	 /* depth of frame[0] */
	uint32_t folded; /* how many frames are a part of the one before (DT_CALL_FOLDED) */
	struct dt_segment *below; /* the segment that it was entered from; NULL: it is not nested */
	uint64_t below_id;	  /* id of the call that it was entered from */
	bool doubtful; /* it was left without a sign that the thread will come back to it */
	bool kept;     /* it was left by swapcontext(), its innermost frame, until that returns */
};

/* How often each function is open in a thread: a table of two levels, whose pages are allocated
 * when they are needed. */
struct dt_open_counts {
	uint32_t **page;
	size_t pages;
};

#define DT_COUNT_PAGE 1024

/* The open calls of a thread, and what else pairing knows about it. */
struct dt_thread_stack {
	uint32_t tid;
	struct dt_segment *current; /* the segment that the thread is on; NULL: not known */
	struct dt_segment **segment;
	uint32_t segments, size;
	uint64_t floor; /* no frame of another segment lies between this and current's innermost
			   frame */
	uint64_t last_ticks; /* ticks of its last record... */
	double last_time;    /* ...without the cost of recording: see struct dt_pair_events */
	bool leaving;	     /* that record was DT_SITE_POINT_LEAVING, or one of those behind it */
	uint16_t last_core;  /* ...and the core that it was on */
	uint32_t losses;     /* how often records were, or may have been, lost, pauses included */
	/* When its process next executes another program; UINT64_MAX: never. It was looked up when
	 * the trace had `execs' - 1 rows of that kind; 0: it has not been looked up. */
	uint64_t next_exec;
	size_t execs;
	/*
	 * The sp of a tail jump that no open call has made, as long as no record has shown where it
	 * led or that it is over; 0: there is none. tail_lands is the function that it led to; 0:
	 * not known, or nothing of it is recorded.
	 */
	uint64_t tail_sp;
	uint32_t tail_lands; /* or DT_LANDS_STACK: this is no jump, but where the thread has come to
				another stack; or DT_LANDS_BOTTOM: where the first call on a stack
				of its own has returned */
	/*
	 * The times in which the tracer held it. The next one is holds[at], which matters from
	 * next_held on; UINT64_MAX: there is none. They were looked up when the trace had
	 * `holds_known' - 1 times; 0: they have not been looked up.
	 */
	const struct dt_times *holds;
	size_t at, holds_n, holds_known;
	uint64_t next_held;
	/* the next time in which nothing was recorded: its index, and when it begins */
	size_t pause_at;
	uint64_t next_pause;
	uint32_t pauses; /* how many of the losses were pauses */
	uint64_t held;	 /* ticks that it was held until its last record */
	/* When it left a processor and has not been seen on one since; 0: it is on one, or that is
	 * not known. The core that it runs on, by switches, plus one; 0: not known. */
	uint64_t left;
	uint32_t runs_on;
	bool preempted;	  /* when it left, it could have gone on */
	uint32_t left_in; /* the kernel's stack, where it left; 0: not known */
	uint32_t woken;	  /* who woke it last, and when (ticks); 0: that is not known */
	uint64_t woken_at;
	size_t held_inside; /* index, plus one, of the hold that its last record was inside of; 0:
			       none */
	struct dt_open_counts open;
	/* of a part of a trace (pair.h): what its records say of the calls that were open before;
	 * NULL: all is known from the beginning on */
	struct dt_part_thread *outside;
};

#define DT_LANDS_STACK	0xffffffffu
#define DT_LANDS_BOTTOM 0xfffffffeu

/* Adds an empty segment to a thread; NULL: out of memory. */
struct dt_segment *dt_segment_new(struct dt_thread_stack *t);
/* Adds a segment with room for so many frames at first; NULL: out of memory. */
struct dt_segment *dt_segment_sized(struct dt_thread_stack *t, uint32_t frames);
void dt_segment_drop(struct dt_thread_stack *t, struct dt_segment *s); /* removes and frees it */
int dt_segment_grow(struct dt_segment *s); /* makes room; frames move; -1: out of memory */

/* Returns the index of the innermost frame whose sp is at or above sp; -1: all are below it. */
int64_t dt_segment_above(const struct dt_segment *s, uint64_t sp);

/*
 * Returns the segment other than `but' that has the frame nearest to sp, at or above it, within
 * DT_STACK_FAR; NULL: there is none. Segments that are kept are considered only if `kept'.
 */
struct dt_segment *dt_stack_nearest(const struct dt_thread_stack *t, const struct dt_segment *but,
				    uint64_t sp, bool kept);

/* Makes s, which may be NULL, the current segment. */
void dt_stack_switch(struct dt_thread_stack *t, struct dt_segment *s);

uint32_t *dt_open_count(struct dt_open_counts *c,
			uint32_t function); /* counter of a function; NULL: out of memory */

/* Frees all segments, not *t itself. */
void dt_stack_free(struct dt_thread_stack *t);

#endif
