/* SPDX-License-Identifier: MIT */
/*
 * The open calls of one thread, as segments: one for each stack the thread was seen on. Within a
 * segment frames are ordered by stack pointer, outermost (highest) first.
 */
#ifndef DT_ANALYSE_STACK_H
#define DT_ANALYSE_STACK_H

#include "analyse/call.h"
#include "store/info.h"

/*
 * A call's frame normally begins within this many bytes of its caller's. What is further away may
 * be a caller with large arrays, or another stack.
 */
#define DT_STACK_NEAR 16384
/* ...and further away than this it is another stack (mapped below one of the usual 8 MB). */
#define DT_STACK_FAR (4 << 20)

/* Whether a call has come to its tail jump. It stays open until what it jumped to returns. */
enum dt_jump {
	DT_JUMP_NONE,
	DT_JUMP_MADE,	/* and the next entry at its sp should be the other function's */
	DT_JUMP_LANDED, /* ...and was */
};

struct dt_stack_frame {
	struct dt_call call; /* as events show it, as far as it is known yet */
	uint64_t argument[4];
	uint64_t held;		 /* of the thread, when it began */
	uint64_t inner;		 /* ticks: see struct dt_call */
	uint32_t *open;		 /* how often its function is open */
	uint32_t losses, pauses; /* of the thread, when it began */
	uint32_t note;		 /* of the user's */
	uint32_t lands;		 /* the function that its tail jump leads to */
	uint8_t jump;		 /* enum dt_jump */
};

struct dt_segment {
	struct dt_stack_frame *frame;
	uint32_t n, size;
	uint32_t depth;		  /* of frame[0] */
	struct dt_segment *below; /* the one it was entered from; NULL: not nested */
	uint64_t below_id;	  /* the call it was entered from */
	bool doubtful;		  /* left without a sign that it will be resumed */
	bool kept; /* left by swapcontext(), its innermost frame, until that returns */
};

/* How often each function is open in a thread: two levels, allocated where touched. */
struct dt_open_counts {
	uint32_t **page;
	size_t pages;
};

#define DT_COUNT_PAGE 1024

struct dt_thread_stack {
	uint32_t tid;
	struct dt_segment *current; /* NULL: not known where the thread is */
	struct dt_segment **segment;
	uint32_t segments, size;
	uint64_t floor;	     /* no frame of another segment is between this and current's top */
	uint64_t last_ticks; /* of its last record... */
	double last_time;    /* ...without the cost of those before: see struct dt_pair_events */
	uint16_t last_core;  /* ...and the core that one was on */
	uint32_t losses;
	/* when its process executes another program next, UINT64_MAX: never; by what was known when
	 * the trace told of as many less one, 0: not looked for */
	uint64_t next_exec;
	size_t execs;
	/* A tail jump at this sp that no open call has made, and nothing since has shown where that
	 * led or that it is over; 0: there is none. And the function it led to; 0: not known, or
	 * its entries are not recorded. */
	uint64_t tail_sp;
	uint32_t tail_lands; /* DT_LANDS_STACK: no jump, the thread has come to another stack,
			      * there; DT_LANDS_BOTTOM: the first call on a stack of its own has
			      * returned, there */
	/* when it was held by the tracer, of which the next is `at' from next_held on, UINT64_MAX:
	 * never again; by what the trace told as often less one, 0: not looked for */
	const struct dt_times *holds;
	size_t at, holds_n, holds_known;
	uint64_t next_held;
	/* the next time in which nothing was recorded: which one, and from when on */
	size_t pause_at;
	uint64_t next_pause;
	uint32_t pauses;    /* of the losses, so many were none, but pauses */
	uint64_t held;	    /* ticks, until its last record */
	size_t held_inside; /* its last record was inside the hold before this one; 0: it was not */
	struct dt_open_counts open;
};

#define DT_LANDS_STACK	0xffffffffu
#define DT_LANDS_BOTTOM 0xfffffffeu

struct dt_segment *dt_segment_new(struct dt_thread_stack *t);
/* The same with room for so many frames at first. */
struct dt_segment *dt_segment_sized(struct dt_thread_stack *t, uint32_t frames);
void dt_segment_drop(struct dt_thread_stack *t, struct dt_segment *s); /* frees it */
int dt_segment_grow(struct dt_segment *s);			       /* frames move */

/* Index of the innermost frame whose sp is at or above sp; -1: all are below it. */
int64_t dt_segment_above(const struct dt_segment *s, uint64_t sp);

/*
 * The segment other than `but` with the frame nearest above or at sp, within DT_STACK_FAR; NULL.
 * Not one that is kept, unless those too are wanted.
 */
struct dt_segment *dt_stack_nearest(const struct dt_thread_stack *t, const struct dt_segment *but,
				    uint64_t sp, bool kept);

/* Makes s (may be NULL) the current segment. */
void dt_stack_switch(struct dt_thread_stack *t, struct dt_segment *s);

uint32_t *dt_open_count(struct dt_open_counts *c, uint32_t function); /* NULL: no memory */

void dt_stack_free(struct dt_thread_stack *t);

#endif
