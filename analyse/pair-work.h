/* SPDX-License-Identifier: MIT */
/* What pairing knows in the middle of a trace: for the files pair-*.c, pair.c, waits.c and
 * snapshot.c only. What every record goes through is here, as inline functions; what is rare is in
 * the files. */
#ifndef DT_ANALYSE_PAIR_WORK_H
#define DT_ANALYSE_PAIR_WORK_H

#include "store/lost-switches.h"
#include "store/waited.h"
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
	/* of a tail jump: the function that it leads to; of an entry: the one that follows in
	 * memory, if the entry's code may run into it. 0: none, or neither its entries nor its
	 * exits are recorded */
	uint32_t lands;
	uint8_t kind; /* enum dt_kind of its records */
	bool tail;    /* an exit that is recorded before a jump */
	bool leaving; /* it only tells that the function was done */
	bool alone;   /* an entry of a function whose exits are not recorded */
	bool arrives; /* of swapcontext(), setcontext(), longjmp(): its exit tells where the thread
			 has come to */
	bool exits_only; /* no entries of the function are recorded */
	bool keeps;	 /* of swapcontext(): the thread may come back to the place of its entry */
	bool folds; /* an entry that is recorded only where a module calls, and may be folded */
};

/* ---- parts of a trace: pair.h ---- */

/* Time in a function's calls, each counted once, for a call of the same function outside. */
struct dt_part_time {
	uint32_t function;
	uint32_t deepest; /* the greatest depth of these calls, as of the part: 0 are those that
			     nothing else of it is around */
	uint64_t ticks;
};

/*
 * What happened while one and the same call outside was the innermost of them.
 */
struct dt_part_level {
	/* The stack pointers of what it called, or of what showed that it was open: it is above the
	 * highest one, and near the lowest one. highest < lowest: there was nothing. */
	uint64_t lowest, highest;
	bool needed;	   /* there must be such a call: otherwise what was done is not right */
	uint64_t children; /* ticks in the calls that it made */
	size_t times;	   /* how many struct dt_part_time belong to this level and those before */
	/* The first record of the thread is an entry, at this stack pointer, of this function: the
	 * innermost call outside may have jumped to it. Then that one ended with it. */
	bool first;
	/* its exit, or the jump to another function that it ends with, has been met: then it is a
	 * call of this function, at this stack pointer */
	bool met, jumped;
	uint32_t chain; /* how many calls have jumped one after the other at its place, it first */
	uint32_t function;
	uint64_t sp, inner; /* inner: as in struct dt_call, since it jumped */
	/* How it ended, if it has: as for dt_pair_pop(), and what the thread had come to then. Then
	 * another level follows. */
	bool ended;
	uint32_t flags, exit, losses, pauses;
	uint64_t now, held;
};

#define DT_PART_PAGE 128

/* The times of a function on the current level: see struct dt_part_time. */
struct dt_part_count {
	uint64_t ticks;
	uint32_t deepest;
};

/* What is known of a thread in a part beside its stack. */
struct dt_part_thread {
	/* its first record: time, core, whether it is of the thread itself, and of a program */
	uint64_t first;
	uint16_t first_core;
	bool first_own, first_of_program;
	bool first_lost; /* records were lost directly before it */
	bool first_open; /* it is an entry, whose call is open, with nothing of the part around */
	struct dt_part_level *level;
	size_t levels, level_size;
	struct dt_part_time *time; /* by level */
	size_t times, time_size;
	/* Times of the current level, by function; where there are none: 0. The functions that have
	 * any are those of time[] from `counted' on. */
	struct dt_part_count **page;
	size_t pages, counted;
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
	uint32_t cores;			       /* of these two: from here on, all are NULL */
	bool any_loss, no_memory;
	bool spoiled;  /* this is a part of a trace, which cannot be paired without what was before
			*/
	bool unfolded; /* no call is folded: dt_pair_unfold() */
	uint64_t folded;     /* calls that were */
	uint64_t impossible; /* records of calls that are earlier than one before them in their
				thread */
	uint64_t next_loss;  /* after this time the span's core may lose something, or is losing it
				already */
	/* by core, `cores_on' of them: the thread that was on it last, as switches and records
	 * tell; 0: none is known */
	uint32_t on[DT_FURTHER_CORES];
	uint32_t cores_on;
	struct dt_lost_switches lost_switches;
	bool has_switches;   /* one of the sites... */
	uint32_t sites_seen; /* ...of the first so many is of switches */
	struct dt_waited waited;
	struct dt_wakers wakers;
	/* when functions were off because of the budget: by the first of a function's rows, and
	 * begin; as of offs_known of the reader */
	struct dt_off *off;
	size_t offs, offs_known;
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

/* Notes that there is something of this core, so that nobody has to look through all that could be.
 */
static inline void dt_pair_has_core(struct dt_pair *p, uint32_t core)
{
	if (core >= p->cores)
		p->cores = core + 1;
}

static inline struct dt_stack_frame *dt_pair_top(struct dt_segment *s)
{
	return s->n ? &s->frame[s->n - 1] : NULL;
}

/* Returns whether a frame is a part of the one before it. */
static inline bool dt_pair_is_folded(const struct dt_stack_frame *f)
{
	return f->call.flags & DT_CALL_FOLDED;
}

/* Returns the frame that a frame is a part of: itself, if it is not folded. The first one of a
 * segment never is. */
static inline struct dt_stack_frame *dt_pair_whole(struct dt_stack_frame *f)
{
	while (__builtin_expect(dt_pair_is_folded(f), 0))
		f--;
	return f;
}

/* Returns the depth of the next call on a segment. */
static inline uint32_t dt_pair_depth(const struct dt_segment *s)
{
	return s->depth + s->n - s->folded;
}

/* An outer call of the same function is looked for among so many callers (pair-calls.c). */
#define DT_PAIR_REACH 64

/* Returns the flags that say what may have happened to a call of which only the exit is known. */
static inline uint32_t dt_pair_lossy(const struct dt_thread_stack *t)
{
	return (t->losses != t->pauses ? DT_CALL_LOSS : 0) | (t->pauses ? DT_CALL_PAUSED : 0);
}

static inline bool dt_pair_in_kernel(uint64_t sp)
{
	return sp >> 63;
}

/* Returns whether a new frame at the innermost one's sp is what that one has jumped to, or has run
 * into. */
static inline bool dt_pair_has_landed(const struct dt_thread_stack *t,
				      const struct dt_stack_frame *top, uint32_t function)
{
	return top->jump != DT_JUMP_LANDED && top->lands == function && top->losses == t->losses;
}

static inline bool dt_pair_is_deeper(const struct dt_thread_stack *t, uint64_t sp)
{
	const struct dt_segment *s = t->current;

	return s && s->n && sp < s->frame[s->n - 1].call.sp &&
	       s->frame[s->n - 1].call.sp - sp <= DT_STACK_NEAR && sp > t->floor;
}

/*
 * Returns whether the thread has come to another stack, of which only the stack pointer is known.
 */
static inline bool dt_pair_has_arrived(const struct dt_thread_stack *t)
{
	return t->tail_sp && t->tail_lands == DT_LANDS_STACK;
}

/* Returns whether the first call on another stack has returned. Nothing that is recorded has called
 * it. */
static inline bool dt_pair_is_at_bottom(const struct dt_thread_stack *t)
{
	return t->tail_sp && t->tail_lands == DT_LANDS_BOTTOM;
}

/* ---- pair-calls.c ---- */

/* Returns the index of the frame that a nested segment was entered from; -1: it is gone. */
int64_t dt_pair_below(const struct dt_segment *s);
/* Opens a call on a segment, for the current record. */
void dt_pair_push(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint64_t sp,
		  uint32_t function, uint32_t flags);
/* Close the innermost frame of a segment; that and those at its sp that jumped to it; every frame
 * that is below sp. exit is the site of the exit; 0: none is known. */
void dt_pair_pop(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t flags,
		 uint32_t exit);
void dt_pair_pop_chain(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		       uint32_t flags, uint32_t exit);
void dt_pair_unwind(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
		    uint64_t sp);
/* Closes every open call of a thread. */
void dt_pair_close_all(struct dt_pair *p, struct dt_thread_stack *t, uint32_t flags);
/* Passes on a call whose entry was not recorded. */
void dt_pair_orphan(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function,
		    uint32_t flags);
/* Forgets a segment whose last frame is gone; the thread is then where the segment was entered
 * from. */
void dt_pair_leave_empty(struct dt_thread_stack *t, struct dt_segment *s);
/* Mark a segment that the thread leaves by swapcontext(), and one that it has come back to. */
void dt_pair_keep(struct dt_segment *s);
void dt_pair_unkeep(struct dt_segment *s);

/* ---- pair-entries.c ---- */

/* Follows the thread from the program's stack to the kernel's, and back. */
void dt_pair_cross(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp);
/* Handles an entry that is not simply below the innermost frame. */
void dt_pair_entry_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			     uint32_t function);
/* Handles an entry that is all there is of its call. */
void dt_pair_entry_alone(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			 uint32_t function);

/* Handles an entry. */
static inline void dt_pair_entry(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
				 uint32_t function)
{
	if (__builtin_expect(!t->tail_sp && dt_pair_is_deeper(t, sp), 1))
		dt_pair_push(p, t, t->current, sp, function, 0);
	else
		dt_pair_entry_elsewhere(p, t, sp, function);
}

/* ---- pair-exits.c ---- */

/* Ends the innermost call of s by the record, which is its exit or a tail jump. */
void dt_pair_leave_call(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s,
			const struct fact *fact);
/* Handles an exit that is not that of the innermost frame. */
void dt_pair_exit_elsewhere(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
			    const struct fact *fact);
/* Handles an exit of swapcontext(), setcontext() or longjmp(), by which the thread has come to
 * another place. */
void dt_pair_arrive(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
		    const struct fact *fact);

/* ---- pair-losses.c ---- */

/* Adds a loss of a core; end: 0 when it is not known. Returns -1 when out of memory. */
int dt_losses_add(struct dt_pair *p, unsigned core, uint64_t begin, uint64_t end);
/* Returns whether records of a core are missing somewhere in [begin, end]. */
bool dt_losses_between(const struct dt_pair *p, uint16_t core, uint64_t begin, uint64_t end);
/* Returns whether records may be missing of a thread that has made one at `since' and the next, at
 * now, on the same core; kernel: of a call in the kernel. */
bool dt_losses_since(const struct dt_pair *p, uint16_t core, uint64_t since, uint64_t now,
		     bool kernel);
/* Returns the time after which something may be lost on a core again, or still; UINT64_MAX: never.
 */
uint64_t dt_losses_next(const struct dt_pair *p, uint16_t core, uint64_t time);

/* ---- pair-facts.c ---- */

/* For dt_facts_update(), when there are new sites or functions. */
int dt_facts_renew(struct dt_pair *p);

/* Brings the facts up to date, before a span's records are handled. Returns -1 when out of memory.
 */
static inline int dt_facts_update(struct dt_pair *p)
{
	if (__builtin_expect(dt_reader_sites(p->reader) + 1 <= p->facts &&
				     dt_reader_functions(p->reader) <= p->fact_functions,
			     1))
		return 0;
	return dt_facts_renew(p);
}

/* ---- pair-held.c ---- */

/* Returns a number that changes when a file that grows has got more holds or pauses. */
size_t dt_pair_known_times(const struct dt_pair *p);
/* Looks up the times in which the thread was held, and the pauses, after its last record. */
void dt_pair_find_holds(struct dt_pair *p, struct dt_thread_stack *t);
/* Notes a pause as a loss if recording was paused since the thread's last record. */
void dt_pair_pause(const struct dt_pair *p, struct dt_thread_stack *t, uint64_t now);
/* Adds up how long the thread was held until now, when it made a record (own: itself, not the
 * kernel about it). */
void dt_pair_hold(struct dt_thread_stack *t, uint64_t now, bool own);
/* Returns how long the tracer held the thread between two times. */
uint64_t dt_pair_held_between(const struct dt_thread_stack *t, uint64_t begin, uint64_t end);
/* Returns the time of a record on a clock that stands still while a record is made; held: ticks for
 * which the thread was held since its last record. */
uint64_t dt_pair_without_cost(struct dt_pair *p, struct dt_thread_stack *t, uint64_t ticks,
			      uint8_t kind, uint64_t held);

/*
 * Leaves out the time that capturing took: between a record and one that continues it nothing runs
 * but the tracer. held: t->held before this record.
 */
static inline void dt_pair_capture(struct dt_pair *p, struct dt_thread_stack *t, uint64_t before,
				   uint64_t held)
{
	uint64_t passed = p->now - before;

	if (before && p->now > before && passed > t->held - held)
		t->held = held + passed;
}

/* ---- pair-budget.c ---- */

/* Brings up to date when functions were off because of the budget. */
void dt_pair_find_offs(struct dt_pair *p);

/* ---- pair-programs.c ---- */

/* Returns when the latest of the program's open calls began; if none is open, the time of the
 * thread's last record. */
uint64_t dt_pair_newest(const struct dt_thread_stack *t);
/* For dt_pair_new_program(), when the thread executes another program within the span. */
uint32_t dt_pair_find_program(const struct dt_pair *p, const struct dt_thread_stack *t,
			      const struct dt_span *s, uint32_t i);
/* Closes the calls of the thread's old program; until: the time of the new one's first record. */
void dt_pair_exec(struct dt_pair *p, struct dt_thread_stack *t, uint64_t until);

/* Returns the index of the first record of another program, from i on; the span's length: there is
 * none. */
static inline uint32_t dt_pair_new_program(const struct dt_pair *p, const struct dt_thread_stack *t,
					   const struct dt_span *s, uint32_t i)
{
	if (__builtin_expect(t->next_exec > s->ticks[s->n - 1] || t->next_exec == UINT64_MAX, 1))
		return s->n;
	return dt_pair_find_program(p, t, s, i);
}

/* ---- pair-part.c: of threads of which it is not known what was open before ---- */

/* Makes one, with its first level; NULL: out of memory. */
struct dt_part_thread *dt_part_thread_new(void);
void dt_part_thread_free(struct dt_part_thread *o);

/* Notes the first time of a function's calls on a level, for dt_part_count(). */
void dt_part_count_first(struct dt_pair *p, struct dt_part_thread *o, uint32_t function,
			 uint32_t depth, uint64_t ticks);
/* Note an entry or a point at sp, before it is handled, and an exit that is not simply that of the
 * innermost frame: it may be that of a call outside, which gets a frame then. dt_part_entry()
 * returns whether it has handled the entry: as it would be below the innermost call outside. */
bool dt_part_entry(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp, uint32_t function);
void dt_part_point(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp);
void dt_part_exit(struct dt_pair *p, struct dt_thread_stack *t, uint64_t sp,
		  const struct fact *fact);
/* Notes that so many frames of s, the innermost ones, are there by jumps to one another. */
void dt_part_chain(struct dt_part_thread *o, const struct dt_segment *s, uint32_t length);
/* Begins another level when the call of the thread's first record has ended so. */
void dt_part_first_ends(struct dt_pair *p, struct dt_thread_stack *t, uint32_t flags,
			uint32_t exit);
/* Ends a call outside, the innermost frame, for dt_pair_pop(). */
void dt_part_end(struct dt_pair *p, struct dt_thread_stack *t, struct dt_segment *s, uint32_t flags,
		 uint32_t exit);
/* Completes what is noted, at the end of the part. */
void dt_part_close(struct dt_part_thread *o, const struct dt_thread_stack *t);

/* Adds the time of a call that is not known to be recursive; depth: of the call. */
static inline void dt_part_count(struct dt_pair *p, struct dt_part_thread *o, uint32_t function,
				 uint32_t depth, uint64_t ticks)
{
	size_t page = function / DT_PART_PAGE;
	struct dt_part_count *c =
		page < o->pages && o->page[page] ? &o->page[page][function % DT_PART_PAGE] : NULL;

	if (__builtin_expect(!c || !c->ticks, 0)) {
		dt_part_count_first(p, o, function, depth, ticks);
		return;
	}
	c->ticks += ticks;
	if (depth > c->deepest)
		c->deepest = depth;
}

/* Returns whether a frame is of a call outside: its entry is not known. */
static inline bool dt_part_is_outside(const struct dt_stack_frame *f)
{
	return !f->call.entry;
}

/* ---- waits.c ---- */

/* A switch is timed by the kernel in nanoseconds, a record in ticks: so many nanoseconds apart,
 * they may change places. */
#define DT_WAITS_LATE_NS 2000

/* Takes record i of the pairing's span, a switch to its thread t. */
void dt_waits_switch(struct dt_pair *p, struct dt_thread_stack *t, uint32_t i);

/* Takes record i of a span, that its thread t is woken. */
void dt_waits_woken(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s,
		    uint32_t i);

/* Notes that the thread has made records although no switch to it is known: that was lost. */
void dt_waits_recorded(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s);

/* Notes for how long of a call that ends switches are missing. */
void dt_waits_unseen(struct dt_pair *p, struct dt_call *c);

/* Keeps what a call waited within what it took. */
void dt_waits_limit(struct dt_call *c);

/* Notes that a thread runs on a core without the switch with which it came. */
void dt_waits_seen(struct dt_pair *p, struct dt_thread_stack *t, const struct dt_span *s);

/* Takes the thread that makes a span's records as the one that runs on the span's core. Must come
 * before the records are handled. */
static inline void dt_waits_span(struct dt_pair *p, struct dt_thread_stack *t,
				 const struct dt_span *s)
{
	if (__builtin_expect(t->left != 0, 0))
		dt_waits_recorded(p, t, s);
	if (s->tid == DT_NO_TID || s->core >= DT_FURTHER_CORES ||
	    (p->on[s->core] == s->tid && t->runs_on == s->core + 1u))
		return;
	/* a rundown says that a thread exists, not that it runs; a switch is handled as a record */
	if (dt_kind_is_about(p->fact[s->site[0]].kind))
		return;
	dt_waits_seen(p, t, s);
}

#endif
