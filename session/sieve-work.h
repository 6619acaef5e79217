/* SPDX-License-Identifier: MIT */
/* The insides of the sieve, for sieve.c (the records) and sieve-calls.c (the calls) only. */
#ifndef DT_SESSION_SIEVE_WORK_H
#define DT_SESSION_SIEVE_WORK_H

#include "filter/call.h"
#include "arch/arch.h"
#include "filter/filter.h"
#include "filter/sums.h"
#include "session/sieve.h"

/*
 * A verdict on a call, which its records share. Most are known at once, and are one of the first
 * constants (TAKEN: the record was never meant for the file); others are the number of a struct
 * verdict that is not used by anything else as long as something refers to it.
 */
enum { VERDICT_KEEP, VERDICT_DROP, VERDICT_TAKEN, VERDICT_FIRST };

struct verdict {
	uint32_t refs;
	uint8_t is;		 /* VERDICT_KEEP, VERDICT_DROP, or UNDECIDED */
	struct sieve_left *left; /* calls that have ended in a request: sieve-requests.c */
};
#define UNDECIDED 255

/* What the sums want to know of an open call when it ends. */
struct sieve_call {
	uint64_t argument[4];
	struct dt_behind *behind; /* what the records behind its entry say */
	unsigned core;
	uint32_t depth;
	bool lossy;		 /* records have been lost since it began */
	struct sieve_call *next; /* of those that are not used */
};

/* An open call. */
struct frame {
	uint64_t sp, begin, children; /* ticks: begin; in calls made from it */
	uint64_t held;	   /* ticks that devtrace had had the thread wait in all when it began */
	uint64_t captured; /* the thread's `captured' when it began */
	uint32_t function, verdict;
	uint8_t around;		 /* DT_AROUND_*, for the calls in it */
	bool wanted;		 /* by what was known at its beginning */
	bool jumped;		 /* it has made a tail jump: it ends with the function jumped to */
	bool crossing;		 /* it is recorded only where certain modules call its function */
	bool folded;		 /* a call that it has jumped to is a part of it, and runs */
	bool request;		 /* what the thread does is kept or left out with it... */
	bool within;		 /* ...and this is a part of such: the verdict is the request's */
	uint32_t note;		 /* of sums: dt_sums_begin() */
	struct sieve_call *call; /* NULL: no sum counts it */
	uint32_t again; /* of a whole thread: how many calls that are written are open at its sp */
};

/* The open calls of a thread on one of its stacks, outermost (highest sp) first. */
struct stack {
	struct frame *frame;
	uint32_t n, room;
	uint64_t
		deeper; /* calls in the innermost frame for which there was no room: all are kept */
	uint32_t depth; /* of the calls that the first one is in */
	uint8_t around; /* of the innermost of these */
	uint32_t note;	/* of sums, of the same */
	bool kernel;
	uint64_t used; /* when it was used last: counts switches of stacks */
};

/* Open calls that are remembered, of all threads: a program that forges records must not fill the
 * memory with calls that never end. */
#define FRAMES	   (4u << 20)
#define SIEVE_DEEP 4096u /* frames of a stack: room for more is freed when the last one is gone */
#define STACKS	   4u	 /* a thread's at first */
#define MANY	   64u	 /* stacks of a thread, at most: the one unused for longest is given up */
#define RECENT	   16u	 /* calls that are remembered after they were seen to be gone */

/* A time in which devtrace had a thread wait. before: ticks of all such times before it */
struct sieve_hold {
	uint64_t begin, end, before;
	bool record; /* it waited for room for its next record, and made that right behind */
};

struct sieve_thread {
	uint64_t key; /* tid; of what runs without a thread, the core, plus 2^32 */
	struct stack **stack;
	uint32_t stacks, room;
	struct stack *now;     /* NULL: not known */
	uint64_t last_sp;      /* of its last record that others may continue (DT_MORE)... */
	uint32_t last_verdict; /* ...and the verdict on it */
	uint64_t switches;
	struct {
		uint64_t sp;
		uint32_t function, verdict; /* function 0: none */
	} gone[RECENT];
	unsigned gone_at;
	bool in_request;  /* a frame has `request'; the verdict on it is... */
	uint32_t request; /* ...this one, with a reference; VERDICT_KEEP: there is none */
	bool whole; /* all of its calls are written, since it changes its stacks: what is on `stack'
		       are those that were left out before, whose exits are still to come */
	/* the last call of a function whose exits are not recorded, as long as its texts may still
	 * come; and where it is: behind the last frame of that stack */
	struct frame alone;
	struct stack *alone_stack;
	struct sieve_copy *copy;  /* of the stack, where a call ends; NULL: none */
	struct sieve_holds *hold; /* the last waits: a ring; NULL: none */
	uint64_t holds;		  /* how many there were */
	/* between these times there is no wait, and before them waits took `calm_before' in all;
	 * calm_to 0: no such times are known */
	uint64_t calm_from, calm_to, calm_before;
	uint64_t captured;   /* ticks that hooks have taken to copy texts, in all */
	uint64_t last_ticks; /* of its last record; 0: none */
	bool leaving;	     /* its last call is done, and what it has filled in is copied */
	uint32_t *open;	     /* by function row: how many calls of it are open */
	uint32_t opens;
};

/* The records of one ring: a queue of those that have been chosen among, and behind them those that
 * have not. Positions count records and only grow; the place of one is position & (size - 1). The
 * last lent_n of them are where the recorder has read them to, until dt_sieve_run() has run. */
struct lane {
	unsigned core; /* the store's number of it */
	struct dt_record *record;
	uint32_t *verdict; /* of those before `unseen' */
	uint64_t size, begin, unseen, end;
	const struct dt_record *lent;
	uint64_t lent_n;
	struct gap {
		uint64_t at, lost, begin;
		uint64_t switches; /* among them: as dt_store_lose() has it */
	} * gap;		   /* losses before a record, in the order of positions */
	size_t gaps, gap_room;
	uint64_t left; /* records that were left out */
};

/* What was left out of one function. */
struct left {
	struct dt_left_out_row row;
	bool changed;
};

/* Where records of a pc come from, as the store has said. */
#define PLACES 4096u

struct place_entry {
	uint64_t pc;
	uint32_t tid;
	uint8_t kind;
	bool plain; /* what is recorded there is that of plain calls (sieve-plain.c) */
	/* of an entry of such: what the words about functions, callers and depth say of calls that
	 * are made at `depth' in one with the bits `around' (DT_AROUND_*), and their own bits */
	bool judged, wanted;
	uint8_t around, inner;
	uint32_t depth;
	uint64_t exit; /* where a call has returned in which no other was recorded; 0: none */
	struct dt_store_place at;
	uint64_t shown; /* the pc that a log has */
};

/* What the sums are for, each at the place of its sum (filter/sums.h). */
struct dt_sieve_words {
	struct dt_sieve_word {
		char *text; /* of the sum; of a trigger "count if WORDS" */
		char name[DT_SIEVE_NAME];
		char *file; /* of a snapshot */
		int signal; /* DT_SIEVE_SUM, DT_SIEVE_UNTIL, DT_SIEVE_SNAPSHOT, or the signal that
			       is sent */
		bool acted; /* of a trigger */
	} at[DT_SUMS_MOST];
	size_t n;
	unsigned numbers; /* sums that have had a number for a name */
	uint64_t changes; /* of what triggers wait for */
	size_t backtrace; /* 1 + the place of the one that says of which calls the stacks are kept;
			     0: none does */
};
#define DT_SIEVE_COUNT "count if " /* before the words of a trigger */

/* What has come of a copy of a thread's stack (session/stack-points.h). */
struct sieve_copy {
	uint64_t sp, kept[DT_UNWIND_KEPT];
	uint64_t ticks, exit; /* when it began; when the call has ended, behind it */
	uint32_t has;	      /* bit i: a record of kind i (enum dt_stack_record) has come */
	uint32_t n;	      /* bytes */
	uint64_t losses;      /* how many there had been when it began */
	uint8_t bytes[];
};
#define SIEVE_COPIES 4096u /* at a time */

/* Who asks about texts of the call that has ended: the filter, or that of a sum. */
struct sieve_asker {
	struct dt_sieve *sieve;
	const struct dt_filter *filter;
};

struct dt_sieve {
	struct dt_session *session;
	struct dt_filter *filter;
	char *said;	   /* all words so far, as the file has them */
	char *chosen;	   /* the filter's own words */
	bool late;	   /* calls have been written before it began to choose */
	bool looks_at_end; /* calls have to be held */
	bool plain;	   /* plain calls are judged by sieve-plain.c */
	bool anywhere;	   /* the filter wants all cores and threads */
	uint64_t least;	   /* ticks after which an open call is wanted; 0: that is not known */
	uint64_t patience; /* ticks for which a call is held at most */
	struct lane *lane;
	unsigned lanes;
	struct verdict *verdict;
	uint32_t verdicts, verdict_room, free; /* free: how many are in `unused' */
	uint32_t *unused;
	struct sieve_thread **thread; /* open addressing by key */
	size_t threads, thread_room;
	struct sieve_thread *last;
	uint32_t frames;		   /* of all stacks */
	struct place_entry place[PLACES];  /* hashed; kind 0: none */
	uint64_t now;			   /* ticks of the newest record so far */
	uint64_t clock;			   /* ticks up to which everything is known */
	struct dt_function_info *function; /* by row; strings are owned */
	bool *changes_stack;		   /* by row: it is libc's swapcontext() or setcontext() */
	uint32_t functions;
	struct sieve_program {
		uint32_t pid;
		char *exe;
	} * program; /* what each process executes */
	size_t programs, program_room;
	struct left *left; /* by row */
	uint32_t lefts;
	struct dt_sieve_counts counts;
	struct dt_sums *sums; /* NULL: none */
	struct dt_sieve_words words;
	bool triggers;	 /* some of them are triggers */
	bool one_rule;	 /* all calls are written, or none: nothing can be left out wrongly */
	bool early;	 /* the kernel leaves calls out, too, */
	bool early_sums; /* and sums them up */
	size_t early_sum[DT_SUMS_MOST]; /* by the kernel's number of a sum: 1 + its place; 0: it is
					   gone */
	uint8_t *early_plan;		/* by row: what the kernel is to do has been decided */
	uint32_t early_planned;
	uint64_t early_calls;	 /* that it has left out */
	uint64_t early_recorded; /* functions whose calls it does not sum up, */
	char early_why[96];	 /* the first time because of this */
	uint64_t early_others;	 /* calls for which it had no row */
	bool requests;		 /* the filter chooses whole requests */
	bool filter_texts;	 /* the filter has conditions on texts */
	struct sieve_asker asker[1 + DT_SUMS_MOST];
	struct dt_call
		call; /* what the filter is being asked about; what a sieve never knows is 0 */
	const struct sieve_call *ending; /* the call that is being judged; NULL: nothing is known */
	struct dt_meanings meanings;
	uint32_t behinds;	  /* of all open calls */
	bool behind;		  /* the sums want to know what records behind an entry say */
	uint32_t copies;	  /* of stacks, of all threads */
	uint64_t losses;	  /* of records */
	uint64_t sums_written;	  /* when the sums were written to the file last, ns (dt_now_ns) */
	uint64_t sums_took;	  /* how long that took, ns */
	uint64_t sums_missed;	  /* calls that the sums have not seen, since too many were open */
	struct dt_sieve_log *log; /* while dt_sieve_run() runs in a session without a file */
	struct sieve_call *spare;
	unsigned spares;
	struct sieve_leaver *leaver; /* processes that have ended, in the order of time */
	size_t leavers, leaver_room;
	bool no_memory;
};

/* ---- sieve-meanings.c ---- */

struct dt_meanings dt_sieve_meanings(const struct dt_sieve *v, double ns_per_tick);

/* ---- sieve.c ---- */

/* Refuses a word that only readers of traces can choose by. Returns -1 if there is one. also: what
 * can be chosen by besides calls. */
int dt_sieve_refuse(const char *word, const char *also, struct dt_error *e);

/* Refuses words of a trigger that mean nothing where a budget switches functions off. Returns -1
 * then. */
int dt_sieve_refuse_missing(const struct dt_filter *f, struct dt_error *e);

/* Makes a filter for the sieve. */
struct dt_filter *dt_sieve_filter(const struct dt_sieve *v, const char *words, struct dt_error *e);

/* Returns a verdict that is undecided, with one reference. */
uint32_t dt_verdict_new(struct dt_sieve *v);
void dt_verdict_drop_slot(struct dt_sieve *v, uint32_t verdict); /* for the next function */

static inline void dt_verdict_drop(struct dt_sieve *v, uint32_t verdict) /* gives a reference up */
{
	if (verdict >= VERDICT_FIRST)
		dt_verdict_drop_slot(v, verdict);
}

static inline uint32_t dt_verdict_hold(struct dt_sieve *v, uint32_t verdict)
{
	if (verdict >= VERDICT_FIRST)
		v->verdict[verdict].refs++;
	return verdict;
}

static inline uint8_t dt_verdict_is(const struct dt_sieve *v, uint32_t verdict)
{
	return verdict < VERDICT_FIRST ? (uint8_t)verdict : v->verdict[verdict].is;
}

/* ---- sieve-early.c ---- */

/* Begins to have the kernel choose, if the words are such. */
void dt_sieve_early_begin(struct dt_sieve *v);
/* Has it choose among the calls of a function, by the first of its records. */
void dt_sieve_early_tell(struct dt_sieve *v, const struct dt_record *r,
			 const struct dt_store_place *at);
/* The words are others now: it does not choose any more. */
void dt_sieve_early_end(struct dt_sieve *v);
/* Adds what it has left out, and summed up. end: nothing is recorded any more. */
void dt_sieve_early_count(struct dt_sieve *v, bool end);
/* Adds what it has summed up. */
void dt_sieve_early_sums(struct dt_sieve *v);
/* The i-th sum has been taken away. */
void dt_sieve_early_removed(struct dt_sieve *v, size_t i);

/* ---- sieve-requests.c ---- */

/* Returns the verdict on a call that begins, with a reference: that of the request that it is in,
 * or begins. */
uint32_t dt_sieve_request_begin(struct dt_sieve *v, struct sieve_thread *t, struct frame *f);
/* The thread's request has ended. */
void dt_sieve_request_end(struct dt_sieve *v, struct sieve_thread *t);
/* Remembers a call that has ended in a request that is undecided; as dt_sieve_count(). */
void dt_sieve_request_left(struct dt_sieve *v, uint32_t verdict, uint32_t function, uint64_t ticks,
			   uint64_t children, bool outermost);
/* Counts what has been remembered, if the request is left out, and forgets it. */
void dt_sieve_request_decided(struct dt_sieve *v, uint32_t verdict);

/* ---- sieve-lanes.c ---- */

#define HELD_LEAST                                                                                 \
	4096u /* records of one ring that are held at least, however many rings there are */

/* Copies what is lent and has not been put into the file yet. */
void dt_sieve_keep_lent(struct lane *l);

/* Returns the record at a position. */
static inline const struct dt_record *lane_record(const struct lane *l, uint64_t at)
{
	uint64_t first = l->end - l->lent_n;

	return at >= first ? &l->lent[at - first] : &l->record[at & (l->size - 1)];
}

/* ---- sieve-held.c ---- */

/* Returns how many ticks devtrace had had the thread wait in all at that time. */
uint64_t dt_sieve_held_before(const struct sieve_thread *t, uint64_t ticks);
/* Returns how many ticks of a time were such. before: what dt_sieve_held_before() was at its begin,
 * for times of more waits than are remembered; UINT64_MAX: there are not so many */
uint64_t dt_sieve_held_between(const struct sieve_thread *t, uint64_t begin, uint64_t end,
			       uint64_t before);

/* Finds out whether a thread did not wait between two times; what is found is remembered. */
bool dt_sieve_held_look(struct sieve_thread *t, uint64_t since, uint64_t until);

/* Tells whether a thread is known not to have waited between two times. */
static inline bool dt_sieve_held_none(const struct sieve_thread *t, uint64_t since, uint64_t until)
{
	return !t->holds || (since >= t->calm_from && until <= t->calm_to);
}

/* As dt_sieve_held_before(), quickly where the thread did not wait near that time. */
static inline uint64_t dt_sieve_held_at(struct sieve_thread *t, uint64_t ticks)
{
	if (!t->holds)
		return 0;
	if (dt_sieve_held_none(t, ticks, ticks) || dt_sieve_held_look(t, ticks, ticks))
		return t->calm_before;
	return dt_sieve_held_before(t, ticks);
}

/* Returns how many ticks of a call that ends at `end' are devtrace's. */
static inline uint64_t dt_sieve_held_in(const struct sieve_thread *t, const struct frame *f,
					uint64_t end)
{
	uint64_t held = t->captured - f->captured;

	if (end <= f->begin)
		return 0;
	if (!dt_sieve_held_none(t, f->begin, end))
		held += dt_sieve_held_between(t, f->begin, end, f->held);
	return held < end - f->begin ? held : end - f->begin;
}

/* Returns how many of the ticks since a thread's last record, or since `since', it was about to
 * make the one at `ticks' and did not wait: between waits for room, and behind them. */
uint64_t dt_sieve_held_behind(const struct sieve_thread *t, uint64_t since, uint64_t ticks);
/* Takes the time since the thread's last record as one in which its hook was at work. */
void dt_sieve_capture(struct sieve_thread *t, uint64_t ticks);

/* ---- sieve-threads.c ---- */

/* for the three functions below */
struct sieve_thread *dt_sieve_thread_found(struct dt_sieve *v, const struct dt_record *r,
					   unsigned core);
uint32_t *dt_sieve_open_counter(struct sieve_thread *t, uint32_t function);
struct stack *dt_sieve_place_found(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp);

/* Returns the thread of a record; NULL: out of memory. */
static inline struct sieve_thread *dt_sieve_thread_of(struct dt_sieve *v, const struct dt_record *r,
						      unsigned core)
{
	uint64_t key = r->tid == DT_NO_TID ? 1ull << 32 | core : r->tid;

	return v->last && v->last->key == key ? v->last : dt_sieve_thread_found(v, r, core);
}

/* Returns the counter of a thread's open calls of a function; NULL: out of memory. */
static inline uint32_t *dt_sieve_open_count(struct sieve_thread *t, uint32_t function)
{
	return function < t->opens ? &t->open[function] : dt_sieve_open_counter(t, function);
}

/* A stack has no calls any more: what its next one is in is not known, unless it is the kernel's.
 */
static inline void dt_sieve_stack_empty(const struct dt_sieve *v, struct stack *s)
{
	if (s->kernel)
		return;
	s->depth = 0;
	s->around = (uint8_t)dt_filter_nobody(v->filter);
	s->note = v->sums ? dt_sums_nobody(v->sums) : 0;
}

#define SIEVE_NEAR 16384 /* bytes: see DT_STACK_NEAR */

static inline bool dt_sieve_is_kernel(uint64_t sp)
{
	return sp >> 63;
}

/* Returns the stack that a new frame at sp is on, which may be a new one; NULL: out of memory. */
static inline struct stack *dt_sieve_place(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp)
{
	struct stack *s = t->now;

	if (s && t->stacks == 1 &&
	    (s->n ? s->frame[s->n - 1].sp >= sp && s->frame[s->n - 1].sp - sp <= SIEVE_NEAR
		  : s->kernel == dt_sieve_is_kernel(sp)))
		return s;
	return dt_sieve_place_found(v, t, sp);
}
/* Returns the stack with the frame that an exit belongs to; NULL: there is none. */
struct stack *dt_sieve_stack_of(struct sieve_thread *t, uint64_t sp, uint32_t function);
void dt_sieve_remove_stack(struct dt_sieve *v, struct sieve_thread *t, struct stack *s);
/* Frees a thread, which the table then must not have any more. */
void dt_sieve_free_thread(struct dt_sieve *v, struct sieve_thread *t);
/* Closes the gaps that are left in the table where threads were taken out. */
void dt_sieve_pack_threads(struct dt_sieve *v);
void dt_sieve_free_threads(struct dt_sieve *v);

/* ---- sieve-calls.c ---- */

/* Returns the core of a record, whose ring the store knows as `core'. */
static inline uint16_t dt_sieve_core(const struct dt_record *r, unsigned core)
{
	return core < DT_FURTHER_CORES ? (uint16_t)core : r->core;
}

/* Returns the verdict on a record, with a reference; the store knows it as of that place. */
uint32_t dt_sieve_judge(struct dt_sieve *v, const struct dt_record *r, unsigned core,
			const struct dt_store_place *at);

void dt_sieve_unwind_frames(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
			    uint64_t sp, bool at, uint64_t ticks);

/* Ends the calls below sp: they are gone. at: also those at sp. */
static inline void dt_sieve_unwind(struct dt_sieve *v, struct sieve_thread *t, struct stack *s,
				   uint64_t sp, bool at, uint64_t ticks)
{
	if (s->n && s->frame[s->n - 1].sp < sp + at)
		dt_sieve_unwind_frames(v, t, s, sp, at, ticks);
}

/* Returns v->call, made the beginning of a call whose entry is r. */
static inline struct dt_call *dt_sieve_call_at(struct dt_sieve *v, const struct dt_record *r,
					       uint32_t function, uint32_t depth)
{
	struct dt_call *c = &v->call;

	c->tid = r->tid;
	c->function = function;
	c->flags = 0;
	c->begin = c->end = r->ticks;
	c->held = 0;
	c->sp = r->sp;
	c->depth = depth;
	c->argument = r->value;
	c->result = NULL;
	return c;
}

/* Keeps the verdict on a thread's record for those that continue it. Returns it, with a reference.
 */
static inline uint32_t dt_sieve_remember(struct dt_sieve *v, struct sieve_thread *t, uint64_t sp,
					 uint32_t verdict)
{
	dt_verdict_drop(v, t->last_verdict);
	t->last_sp = sp;
	t->last_verdict = dt_verdict_hold(v, verdict);
	return dt_verdict_hold(v, verdict);
}

/* Decides about the thread's last call of a function without exits, whose texts have come. */
void dt_sieve_judge_alone(struct dt_sieve *v, struct sieve_thread *t);

/* Records have been lost: what is open is kept from here on. */
void dt_sieve_lossy(struct dt_sieve *v);

/* Nothing more comes of a thread: its open calls are judged by what is known. */
void dt_sieve_close(struct dt_sieve *v, struct sieve_thread *t);
/* Nothing more comes at all. */
void dt_sieve_finish(struct dt_sieve *v);

/* ---- sieve-leave.c ---- */

/* Lets those processes go, of the ones that dt_sieve_leave() was told of, whose records have all
 * been put. */
void dt_sieve_left(struct dt_sieve *v);

/* How a call ended. */
struct ending {
	uint64_t ticks;
	const uint64_t *result; /* NULL: none */
	uint32_t flags;		/* DT_CALL_* */
};

/* Adds a call to what was left out of its function. ticks UINT64_MAX: how long it took is not known
 */
static inline void dt_sieve_add_left(struct dt_left_out_row *l, uint64_t ticks, uint64_t children,
				     bool outermost)
{
	if (ticks == UINT64_MAX) {
		l->untimed++;
		return;
	}
	if (!l->calls || ticks < l->min)
		l->min = ticks;
	if (ticks > l->max)
		l->max = ticks;
	l->calls++;
	l->total += outermost ? ticks : 0;
	l->self += ticks > children ? ticks - children : 0;
}

/* Makes room for the sums of a function, which has none. False: out of memory. */
bool dt_sieve_more_lefts(struct dt_sieve *v, uint32_t function);

/* Returns the sums of a function, which change; NULL: out of memory. */
static inline struct dt_left_out_row *dt_sieve_left_of(struct dt_sieve *v, uint32_t function)
{
	if (function >= v->lefts && !dt_sieve_more_lefts(v, function))
		return NULL;
	v->left[function].changed = true;
	v->left[function].row.function = function;
	return &v->left[function].row;
}

/* Adds such sums to the sieve's. */
void dt_sieve_merge_left(struct dt_sieve *v, const struct dt_left_out_row *l);

/* Counts a call that is left out. ticks: how long it took; UINT64_MAX: not known. outermost: it was
 * in no other call of its function. */
static inline void dt_sieve_count(struct dt_sieve *v, uint32_t function, uint64_t ticks,
				  uint64_t children, bool outermost)
{
	struct dt_left_out_row *l = dt_sieve_left_of(v, function);

	v->counts.calls++;
	if (l)
		dt_sieve_add_left(l, ticks, children, outermost);
}
/* Decides, unless that has been done. */
void dt_sieve_decide(struct dt_sieve *v, uint32_t verdict, bool keep);
/* Passes a call that has ended on to the sums. */
void dt_sieve_tell_sums(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
			struct frame *f, const struct ending *how);

/* ---- sieve-leaf.c ---- */

/*
 * Judges a call by its entry and its exit, which is the next record of the same ring and comes
 * before those of all other rings that have not been judged yet. Returns false if the two are to be
 * judged one after the other; else *verdict is that on both, VERDICT_KEEP or VERDICT_DROP.
 */
bool dt_sieve_judge_leaf(struct dt_sieve *v, const struct dt_record *entry,
			 const struct dt_record *exit, unsigned core, uint32_t function,
			 uint32_t *verdict);

/* ---- sieve-plain.c ---- */

/* Returns where that is kept where a record comes from. */
static inline struct place_entry *dt_sieve_place_slot(struct dt_sieve *v, const struct dt_record *r)
{
	uint64_t hash = (r->pc ^ (uint64_t)r->tid << 40) * 0x9e3779b97f4a7c15u;

	_Static_assert(PLACES == 1 << (64 - 52), "the hash has twelve bits");
	return &v->place[hash >> 52];
}

static inline bool dt_sieve_is_place(const struct place_entry *p, const struct dt_record *r)
{
	return p->pc == r->pc && p->tid == r->tid && p->kind == r->kind;
}

/* Decides whether plain calls are judged as such; before records are. */
void dt_sieve_plain_begin(struct dt_sieve *v);

/* Returns whether a record of a place is that of a plain call, as far as the place says. */
bool dt_sieve_plain_is(const struct dt_sieve *v, const struct dt_record *r,
		       const struct dt_store_place *at);

/* Judges the next records of a lane, up to a time, as long as they are those of plain calls of one
 * thread. Returns whether it has judged any. */
bool dt_sieve_plain_judge(struct dt_sieve *v, struct lane *l, uint64_t until);

/* ---- sieve-whole.c ---- */

/* Makes a thread one whose calls are all written from here on. */
void dt_sieve_make_whole(struct dt_sieve *v, struct sieve_thread *t);
/*
 * Returns the verdict on an entry or exit of a whole thread. It is written, unless it is the exit
 * of a call that was left out when the thread was not whole yet, or of a function none of whose
 * calls is wanted. Calls that change the stack are always written: by them readers find their way.
 */
uint32_t dt_sieve_judge_whole(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
			      unsigned core, const struct dt_store_place *at);

/* ---- sieve-sums.c ---- */

/* Lets the filters know the texts of calls. */
void dt_sieve_sums_texts(struct dt_sieve *v);
/* A call begins, as c says, in one whose note is `caller'; r is its entry. */
void dt_sieve_sums_begin(struct dt_sieve *v, struct frame *f, const struct dt_call *c,
			 uint32_t caller, const struct dt_record *r, unsigned core);
/* A call has ended: `ended' has its end, result and flags. s: the stack whose frame it is, NULL:
 * not known. */
void dt_sieve_sums_end(struct dt_sieve *v, const struct sieve_thread *t, const struct stack *s,
		       struct frame *f, const struct dt_call *ended);
/* Tells whether sums ask nothing of a call that is not in its entry, its exit and its callers. */
bool dt_sieve_sums_simple(const struct dt_sieve *v);
/* The same for a call that is all there, c, and in which nothing else was recorded. s: the stack it
 * was made on; note: what dt_sums_begin() has said. */
void dt_sieve_sums_leaf(struct dt_sieve *v, struct dt_call *c, uint32_t note, const struct stack *s,
			unsigned core);
/* Counts the thread's call of a function without exits. */
void dt_sieve_sums_alone(struct dt_sieve *v, struct sieve_thread *t);
/* Forgets a call that will not end. */
void dt_sieve_sums_forget(struct dt_sieve *v, struct frame *f);
/* Writes what has changed. Returns -1 and an error. */
int dt_sieve_sums_account(struct dt_sieve *v, struct dt_error *e);
/* Whether so much time has passed since that was done last that it is worth doing again. */
bool dt_sieve_sums_due(const struct dt_sieve *v);
void dt_sieve_sums_free(struct dt_sieve *v);

/* ---- sieve-stacks.c ---- */

/* Looks whether a record has a part of a stack, and what: at->place is an enum dt_stack_record
 * then.
 */
bool dt_sieve_find_stack(struct dt_sieve *v, const struct dt_record *r, struct dt_store_place *at);
static inline bool dt_sieve_is_stack(uint8_t place)
{
	return place >= DT_STACK_LEAVING && place <= DT_STACK_PIECE;
}
/* Takes such a record, and returns the verdict on it. */
uint32_t dt_sieve_take_stack(struct dt_sieve *v, struct sieve_thread *t, const struct dt_record *r,
			     const struct dt_store_place *at);
/* Corrects the end of a call that a record of an exit tells: before it, its stack was copied. */
struct ending;
void dt_sieve_end_copy(const struct sieve_thread *t, struct ending *how, uint64_t sp);
/* Has the stack of a call written that has ended now, and is one whose stack is wanted. */
void dt_sieve_keep_stack(struct dt_sieve *v, const struct sieve_thread *t, const struct dt_call *c,
			 uint32_t pid);
/* The thread's call has ended whose stack was copied last: the copy is freed. */
void dt_sieve_free_copy(struct dt_sieve *v, struct sieve_thread *t);

/* ---- sieve-words.c ---- */

/* Reads the options; -1 and an error. dt_sieve_words_free() frees what it has made. */
int dt_sieve_words(struct dt_sieve_words *w, const struct dt_options *o, struct dt_error *e);
void dt_sieve_words_free(struct dt_sieve_words *w);
/* Adds a sum, or a trigger: name NULL: it gets a number. */
int dt_sieve_words_add(struct dt_sieve_words *w, const char *name, int signal, const char *text,
		       struct dt_error *e);
/* Sets the file of the last one. Returns -1 and an error. */
int dt_sieve_words_file(struct dt_sieve_words *w, const char *file, size_t n, struct dt_error *e);
/* Takes the i-th away. */
void dt_sieve_words_remove(struct dt_sieve_words *w, size_t i);

/* ---- sieve-triggers.c ---- */

/* A call of a process has been added to the sums: triggers act that have waited for it. */
void dt_sieve_act(struct dt_sieve *v, const struct dt_call *c, uint32_t pid);

#endif
