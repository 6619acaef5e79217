/* SPDX-License-Identifier: MIT */
/*
 * Of the messages between two clocks few say anything new. If one took longer than another by more
 * than the clocks can drift apart between the two, all that it says follows from the other. Most of
 * a million messages in a second go this way, and what is left says exactly the same.
 */
#include "align/reduce.h"

#include <math.h>
#include <stdlib.h>

struct piece {
	const struct dt_evidence *v;
	size_t index, a, b; /* stretches of its ends */
};

#define ORDER(x, y)                                                                                \
	if ((x) != (y))                                                                            \
	return (x) < (y) ? -1 : 1

static int by_clocks(const void *p, const void *q)
{
	const struct piece *a = p, *b = q;

	ORDER(a->v->a, b->v->a);
	ORDER(a->v->b, b->v->b);
	ORDER(a->a, b->a);
	ORDER(a->b, b->b);
	ORDER(a->v->xa, b->v->xa);
	ORDER(a->v->xb, b->v->xb);
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool is_beside(const struct piece *p, const struct piece *q)
{
	return p->v->a == q->v->a && p->v->b == q->v->b && p->a == q->a && p->b == q->b;
}

/* Returns whether what p says follows from what q says. */
static bool follows(const struct dt_evidence *p, const struct dt_evidence *q, double rate)
{
	int64_t later = (p->xb - p->xa + p->slack) - (q->xb - q->xa + q->slack);
	double apart = (double)llabs(p->xa - q->xa) + (double)llabs(p->xb - q->xb);

	return (double)later >= ceil(apart * rate) + 2;
}

static void pass(struct piece *piece, size_t n, bool *use, double rate, bool backward)
{
	const struct piece *best = NULL;

	for (size_t k = 0; k < n; k++) {
		const struct piece *p = &piece[backward ? n - 1 - k : k];

		if (!use[p->index])
			continue;
		if (best && is_beside(best, p) && follows(p->v, best->v, rate))
			use[p->index] = false;
		else
			best = p;
	}
}

int dt_evidence_reduce(const struct dt_evidence *evidence, size_t n, bool *use,
		       const struct dt_cut *cut, size_t cuts, double rate)
{
	struct piece *piece = malloc((n + 1) * sizeof(*piece));
	size_t used = 0;

	if (!piece)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (use[i])
			piece[used++] = (struct piece){
				&evidence[i], i,
				dt_cut_stretch(evidence[i].a, evidence[i].xa, cut, cuts),
				dt_cut_stretch(evidence[i].b, evidence[i].xb, cut, cuts)};
	qsort(piece, used, sizeof(*piece), by_clocks);
	pass(piece, used, use, rate, false);
	pass(piece, used, use, rate, true);
	free(piece);
	return 0;
}
