/* SPDX-License-Identifier: MIT */
/*
 * Checking on several cores: the calls are read in parts (parts.h) while the chunks are checked. As
 * long as nothing strange is found, that is all there is to be known; otherwise what is wrong, and
 * where it is first, is found by reading again, on one core.
 */
#include <stdlib.h>

#include "analyse/check-work.h"

/* The sums of a part. */
struct part_sums {
	struct checking k;
	struct dt_check c;
};

/* ---- parts ---- */

static void free_part(void *sums)
{
	struct part_sums *s = sums;

	s->k.same = (struct dt_same){0}; /* that of all */
	dt_checking_clear(&s->k);
	free(s);
}

static void *new_part(void *ctx, struct dt_reader *r)
{
	const struct checking *k = ctx;
	struct part_sums *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->c.chunks.begin = k->c->chunks.begin;
	s->k = (struct checking){.r = r,
				 .c = &s->c,
				 .same = k->same,
				 .in_parts = true,
				 .sites = k->sites,
				 .functions = k->functions,
				 .end = k->end};
	s->k.of_site = calloc((size_t)k->sites + 1, sizeof(*s->k.of_site));
	s->k.tally = calloc(k->functions, sizeof(*s->k.tally));
	if (s->k.of_site && s->k.tally)
		return s;
	free_part(s);
	return NULL;
}

static void recursive_part(void *sums, uint32_t function, uint64_t ticks)
{
	struct part_sums *s = sums;

	dt_stats_recursive(&s->c.stats, function, ticks);
}

static void add_calls(struct dt_check_calls *n, const struct dt_check_calls *from)
{
	n->calls += from->calls;
	n->returned += from->returned;
	n->unwound += from->unwound;
	n->tail += from->tail;
	n->open += from->open;
	n->before += from->before;
	n->lossy += from->lossy;
	n->timed += from->timed;
	n->ticks += from->ticks;
}

static void add_tallies(struct checking *k, const struct checking *from)
{
	for (uint32_t i = 0; i <= k->sites; i++)
		k->of_site[i] += from->of_site[i];
	for (uint32_t i = 0; i < k->functions; i++) {
		struct tally *t = &k->tally[i];
		const struct tally *f = &from->tally[i];

		t->begun += f->begun;
		t->left += f->left;
		t->ended += f->ended;
		if (f->first && (!t->first || f->first < t->first))
			t->first = f->first;
	}
}

static void add_part(void *ctx, void *sums)
{
	struct checking *k = ctx;
	struct part_sums *s = sums;

	k->strange |= s->k.strange || dt_faults_sum(&s->c.faults);
	k->others += s->k.others;
	add_calls(&k->c->calls, &s->c.calls);
	add_tallies(k, &s->k);
	if (s->c.stats.no_memory || dt_stats_merge(&k->c->stats, &s->c.stats))
		k->c->stats.no_memory = true;
	for (size_t i = 0; i < s->k.slots; i++) {
		const struct seen *from = &s->k.thread[i];
		struct seen *t = from->used ? dt_checking_thread(k, from->tid) : NULL;

		k->c->stats.no_memory |= from->used && !t;
		if (t)
			t->last = from->last;
	}
}

/* ---- both sides ---- */

static void check_beside(void *ctx)
{
	struct checking *chunks = ((struct checking *)ctx)->chunks;

	chunks->checked = dt_checking_chunks(chunks, &chunks->error) ? -1 : 1;
}

static bool same_summary(const struct dt_summary *a, const struct dt_summary *b)
{
	return a->records == b->records && a->lost == b->lost && a->chunks == b->chunks &&
	       a->min_ticks == b->min_ticks && a->max_ticks == b->max_ticks;
}

/* Makes ready for reading the calls by another reader, into another check. Returns whether that can
 * be done: both readers have to see the same, which is complete. */
static bool prepare(struct checking *its, const struct checking *k, struct dt_error *e)
{
	struct dt_summary all, mine;

	its->r = dt_reader_again(k->r, e);
	if (!its->r)
		return false;
	dt_check_hold(its->r);
	if (dt_reader_refresh(its->r, e) || dt_reader_summary(k->r, &all, e) ||
	    dt_reader_summary(its->r, &mine, e) || !same_summary(&all, &mine) || !all.records)
		return false;
	its->c->chunks.begin = all.min_ticks;
	its->c->chunks.end = all.max_ticks;
	return !dt_checking_prepare(its, e) && !its->c->cut_off;
}

static bool read_beside(struct checking *its, struct checking *k, struct dt_error *e)
{
	struct dt_parts *p = its->parts;
	struct dt_summary all;

	*p = (struct dt_parts){
		.reader = its->r,
		.threads = k->how->threads,
		.length = UINT64_MAX,
		.events = {.end = dt_checking_end, .other = dt_checking_other, .ctx = its},
		.new = new_part,
		.end = dt_checking_end,
		.other = dt_checking_other,
		.span = dt_checking_span,
		.recursive = recursive_part,
		.add = add_part,
		.free = free_part,
		.beside = check_beside};
	its->chunks = k;
	p->threads = dt_parts_threads(its->r, p->threads);
	its->in_parts = p->threads > 1 && !dt_reader_summary(its->r, &all, e);
	if (its->in_parts)
		p->length = dt_parts_length(p->threads, all.records);
	else
		p->threads = 2; /* one of them for the chunks */
	return !dt_parts_run(p, e) && !its->strange && !its->c->stats.no_memory &&
	       (!its->in_parts || !dt_faults_sum(&its->c->faults));
}

/* Takes what has been read, if the chunks are sound, and what the file's tables say: otherwise it
 * is not exact. */
static void take(struct checking *k, struct checking *its)
{
	struct dt_check *c = k->c;
	struct dt_check_chunks chunks = c->chunks;

	if (dt_faults_sum(&c->faults) || chunks.begin != its->c->chunks.begin ||
	    chunks.end != its->c->chunks.end)
		return;
	*c = *its->c;
	c->chunks = chunks;
	*its->c = (struct dt_check){.paired = false};
	its->pair = NULL;
	*k = (struct checking){.r = k->r,
			       .c = c,
			       .how = k->how,
			       .read = true,
			       .same = its->same,
			       .tally = its->tally,
			       .of_site = its->of_site,
			       .sites = its->sites,
			       .functions = its->functions,
			       .others = its->others};
	its->same = (struct dt_same){0};
	its->tally = NULL;
	its->of_site = NULL;
}

int dt_check_sides(struct checking *k, struct dt_error *e)
{
	struct dt_check c = {.paired = false};
	struct dt_parts parts;
	struct checking its = {.c = &c, .how = k->how, .parts = &parts};
	struct dt_error why = {""};
	bool read = prepare(&its, k, &why) && read_beside(&its, k, &why);

	if (!k->checked) /* that was not even begun */
		k->checked = dt_checking_chunks(k, &k->error) ? -1 : 1;
	if (k->checked < 0)
		dt_fail(e, "%s", k->error.text);
	else if (read)
		take(k, &its);
	its.parts = NULL;
	dt_checking_clear(&its);
	if (its.r)
		dt_check_let_go(its.r);
	dt_reader_close(its.r);
	return k->checked < 0 ? -1 : 0;
}
