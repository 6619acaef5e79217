/* SPDX-License-Identifier: MIT */
/*
 * Waiting: the times in which a thread was on no processor, as the records of switches tell. A
 * thread leaves a core with the next switch there, and is back with a switch to it anywhere. The
 * time between the two is added to the calls that the thread was in. What the tracer made it wait
 * is left out, as it is left out of all times.
 */
#ifndef DT_ANALYSE_WAITS_H
#define DT_ANALYSE_WAITS_H

#include "analyse/pair-work.h"

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
