/* SPDX-License-Identifier: MIT */
/* Other programs in the same process: what execve ends. */
#include "analyse/pair-work.h"

/*
 * Returns whether a record is of the program itself. The thread that goes on after an execve has
 * the process's number, whichever thread called it; what other threads have open is not met again.
 * The new program's first record tells that it is there: until then the thread may be in the
 * kernel, whose calls were made by the old one.
 */
static bool is_of_program(const struct dt_pair *p, const struct dt_span *s, uint32_t i)
{
	uint8_t kind = p->fact[s->site[i]].kind;

	return (kind == DT_ENTRY || kind == DT_EXIT || kind == DT_POINT || kind == DT_EVENT ||
		kind == DT_SEND || kind == DT_RECEIVE) &&
	       s->sp[i] && !dt_pair_in_kernel(s->sp[i]);
}

/* Returns when the latest of the program's open calls began; if none is open, the time of the
 * thread's last record. */
uint64_t dt_pair_newest(const struct dt_thread_stack *t)
{
	uint64_t begin = 0;

	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *s = t->segment[i];
		const struct dt_call *c = s->n ? &s->frame[s->n - 1].call : NULL;

		if (c && !dt_pair_in_kernel(c->sp) && c->begin > begin)
			begin = c->begin;
	}
	return begin ? begin : t->last_ticks;
}

/* Returns the index of the first record of another program, from i on; the span's length: there is
 * none. */
uint32_t dt_pair_find_program(const struct dt_pair *p, const struct dt_thread_stack *t,
			      const struct dt_span *s, uint32_t i)
{
	while (i < s->n && (s->ticks[i] < t->next_exec || !is_of_program(p, s, i)))
		i++;
	return i;
}

/* Returns when the old program's calls ended: at the execve, and after all of their records. */
static uint64_t exec_time(const struct dt_pair *p, const struct dt_thread_stack *t)
{
	uint64_t passed = t->next_exec > t->last_ticks ? t->next_exec - t->last_ticks : 0;

	return (p->events.cost ? (uint64_t)(t->last_time + 0.5) : t->last_ticks) + passed;
}

void dt_pair_exec(struct dt_pair *p, struct dt_thread_stack *t, uint64_t until)
{
	if (t->next_held < t->next_exec)
		dt_pair_hold(t, t->next_exec, false);
	p->spoiled |= t->outside != NULL; /* it ends the calls outside, too */
	p->now = exec_time(p, t);
	dt_pair_close_all(p, t, DT_CALL_UNWOUND);
	t->floor = 0;
	t->tail_sp = 0;
	/* if there are several execs without a record between them, all are done */
	t->next_exec =
		until == UINT64_MAX ? UINT64_MAX : dt_reader_exec(p->reader, t->tid, until + 1);
}
