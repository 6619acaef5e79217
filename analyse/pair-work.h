/* SPDX-License-Identifier: MIT */
/* What pairing knows in the middle of a trace: for pair.c and snapshot.c only. */
#ifndef DT_ANALYSE_PAIR_WORK_H
#define DT_ANALYSE_PAIR_WORK_H

#include "analyse/pair.h"
#include "analyse/same.h"
#include "analyse/stack.h"

struct interval {
	uint64_t begin, end;
	uint64_t reach; /* the last end of it and of those before it */
};

/* What was lost on one core, by its beginning. */
struct core_loss {
	struct interval *i;
	size_t n, size;
};

/* What matters of a site, side by side. */
struct fact {
	uint32_t function; /* of several rows for one, the first */
	uint32_t lands;	   /* of a tail jump: the function it leads to, if that one's entries are
			      recorded */
	uint8_t kind;	   /* of the record */
	bool tail;	   /* an exit in front of a jump */
	bool alone;	   /* an entry whose exit is not recorded */
	bool arrives; /* of swapcontext(), setcontext(), longjmp(): its exit is where the thread has
			 come to */
	bool keeps;   /* of swapcontext(): the thread may come back to its entry */
};

struct dt_pair {
	struct dt_reader *reader;
	struct dt_pair_events events;
	bool wanted, values; /* of calls are; and come with the span that is being handled */
	uint64_t last_id;
	struct dt_thread_stack **thread; /* open addressing by tid */
	size_t size, used;
	struct dt_thread_stack *last; /* looked up */
	struct dt_same same;	      /* of several rows for one function, the first */
	struct fact *fact;	      /* by site */
	uint32_t facts, fact_functions;
	struct core_loss *loss[65536];
	struct dt_thread_stack *nobody[65536]; /* by core */
	bool any_loss, no_memory;
	uint64_t impossible; /* records of calls that are earlier than one before them of their
				thread */
	uint64_t next_loss;  /* behind this time the span's core may lose something, or loses it
				already */
	/* of the record being handled */
	const struct dt_span *span;
	uint32_t at;
	uint64_t now;
	/* of the event being said: its call is in the first `enclosing` frames of this segment */
	struct dt_segment *said;
	uint32_t enclosing;
};

/* The stack of a thread, of what runs on a core without one; made when it is new. NULL: no memory.
 */
struct dt_thread_stack *dt_pair_thread(struct dt_pair *p, uint32_t tid);
struct dt_thread_stack *dt_pair_nobody(struct dt_pair *p, uint16_t core);

#endif
