/* SPDX-License-Identifier: MIT */
/*
 * Requests (`request:handle time>10ms'): calls of which everything that their thread does until
 * they end is kept or left out with them. All of these records share the verdict on the request.
 */
#include "session/sieve-work.h"

#include <stdlib.h>

/* The calls of a function that have ended in a request on which there is no verdict yet. */
struct sieve_left {
	struct dt_left_out_row row;
	struct sieve_left *next;
};

uint32_t dt_sieve_request_begin(struct dt_sieve *v, struct sieve_thread *t, struct frame *f)
{
	uint32_t verdict;

	if (t->in_request) {
		f->within = true;
		f->wanted = false;
		return dt_verdict_hold(v, t->request);
	}
	f->wanted = f->wanted && dt_filter_is_request(v->filter, f->function);
	if (!f->wanted)
		return VERDICT_DROP;
	verdict = v->looks_at_end ? dt_verdict_new(v) : VERDICT_KEEP;
	f->request = t->in_request = true;
	t->request = dt_verdict_hold(v, verdict);
	return verdict;
}

void dt_sieve_request_end(struct dt_sieve *v, struct sieve_thread *t)
{
	t->in_request = false;
	dt_verdict_drop(v, t->request);
	t->request = VERDICT_KEEP;
}

void dt_sieve_request_left(struct dt_sieve *v, uint32_t verdict, uint32_t function, uint64_t ticks,
			   uint64_t children, bool outermost)
{
	struct sieve_left **list = &v->verdict[verdict].left, *l = *list, *before = NULL;

	for (; l && l->row.function != function; l = l->next)
		before = l;
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l) {
			v->no_memory = true;
			return;
		}
		l->row.function = function;
	} else if (before) {
		before->next = l->next;
	}
	/* what comes often is in front */
	if (l != *list) {
		l->next = *list;
		*list = l;
	}
	dt_sieve_add_left(&l->row, ticks, children, outermost);
}

void dt_sieve_request_decided(struct dt_sieve *v, uint32_t verdict)
{
	struct sieve_left *l = v->verdict[verdict].left;

	v->verdict[verdict].left = NULL;
	while (l) {
		struct sieve_left *next = l->next;

		if (v->verdict[verdict].is == VERDICT_DROP)
			dt_sieve_merge_left(v, &l->row);
		free(l);
		l = next;
	}
}
