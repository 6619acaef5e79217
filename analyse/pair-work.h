/* SPDX-License-Identifier: MIT */
/* What pairing knows in the middle of a trace: for pair.c, waits.c and snapshot.c only. */
#ifndef DT_ANALYSE_PAIR_WORK_H
#define DT_ANALYSE_PAIR_WORK_H

#include "analyse/pair.h"
#include "analyse/same.h"
#include "analyse/stack.h"

/* A stretch of time, in ticks, in which records of a core were lost. */
struct interval {
	uint64_t begin, end;
	uint64_t reach; /* the latest end of this one and all before it */
};

/* The losses of one core, by their beginning. */
struct core_loss {
	struct interval *i;
	size_t n, size;
};

/* What pairing needs of a site, close together in memory. */
struct fact {
	uint32_t function; /* row; if one function has several rows, the first */
	uint32_t lands; /* of a tail jump: the function that it leads to, if that one's entries or
			   exits are recorded; otherwise 0 */
	uint8_t kind;	/* enum dt_kind of its records */
	bool tail;	/* an exit that is recorded before a jump */
	bool alone;	/* an entry of a function whose exits are not recorded */
	bool arrives; /* of swapcontext(), setcontext(), longjmp(): its exit tells where the thread
			 has come to */
	bool exits_only; /* no entries of the function are recorded */
	bool keeps;	 /* of swapcontext(): the thread may come back to the place of its entry */
};

struct dt_pair {
	struct dt_reader *reader;
	struct dt_pair_events events;
	bool wanted, values; /* values of calls are wanted; they come with the span that is being
				handled */
	uint64_t last_id;
	struct dt_thread_stack **thread; /* open addressing by tid */
	size_t size, used;
	struct dt_thread_stack *last; /* the thread that was looked up last */
	struct dt_same same;	      /* which rows are one function */
	struct fact *fact;	      /* by row of the site */
	uint32_t facts, fact_functions;
	struct core_loss *loss[65536];
	struct dt_thread_stack *nobody[65536]; /* what runs on each core without a thread */
	bool any_loss, no_memory;
	uint64_t impossible; /* records of calls that are earlier than one before them in their
				thread */
	uint64_t next_loss;  /* after this time the span's core may lose something, or is losing it
				already */
	/* by core, `cores_on' of them: the thread that was on it last, as switches and records
	 * tell; 0: none is known */
	uint32_t on[DT_FURTHER_CORES];
	uint32_t cores_on;
	/* ticks by which a switch may be misplaced among records; 0: not asked yet */
	uint64_t late;
	/* the record that is being handled, and its ticks, less the costs of recording */
	const struct dt_span *span;
	uint32_t at;
	uint64_t now;
	/* of the event that is being passed on: its call is in the first `enclosing' frames of this
	 * segment */
	struct dt_segment *said;
	uint32_t enclosing;
};

/* Return the stack of a thread, or of what runs on a core without a thread; it is made if it is
 * new. NULL: out of memory. */
struct dt_thread_stack *dt_pair_thread(struct dt_pair *p, uint32_t tid);
struct dt_thread_stack *dt_pair_nobody(struct dt_pair *p, uint16_t core);

/* ---- waits.c ---- */

/* A switch is timed by the kernel in nanoseconds, a record in ticks: so many nanoseconds apart,
 * they may change places. */
#define DT_WAITS_LATE_NS 2000

/* Takes record i of the pairing's span, a switch to its thread t. */
void dt_waits_switch(struct dt_pair *p, struct dt_thread_stack *t, uint32_t i);

/* Notes that the thread has made records although no switch to it is known: that was lost. */
void dt_waits_recorded(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s);

/* Keeps what a call waited within what it took. */
void dt_waits_limit(struct dt_call *c);

/* Takes the thread that makes a span's records as the one that runs on the span's core. Must come
 * before the records are handled. */
static inline void dt_waits_span(struct dt_pair *p, struct dt_thread_stack *t,
				 const struct dt_span *s)
{
	if (__builtin_expect(t->left != 0, 0))
		dt_waits_recorded(p, t, s);
	if (s->tid == DT_NO_TID || s->core >= DT_FURTHER_CORES || p->on[s->core] == s->tid)
		return;
	/* a rundown says that a thread exists, not that it runs; a switch is handled as a record */
	if (p->fact[s->site[0]].kind == DT_RUNDOWN || p->fact[s->site[0]].kind == DT_SWITCH)
		return;
	p->on[s->core] = s->tid;
	if (s->core >= p->cores_on)
		p->cores_on = s->core + 1u;
}

#endif
