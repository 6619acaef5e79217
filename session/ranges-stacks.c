/* SPDX-License-Identifier: MIT */
/* The points of a range that copy the stack, where calls end. */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "session/stack-points.h"

/* Where the calls of a file's functions end. */
struct ends {
	const struct dt_code *code;
	size_t *next;	  /* by piece of code: the next piece of the same function, or NONE */
	size_t *first;	  /* by function's number (dt_code_function.whole) */
	size_t *seen;	  /* by function: the last one whose ends were looked for, plus one */
	size_t *todo;	  /* functions whose pieces are still to be looked at */
	uint8_t *results; /* by exit: with which results calls are meant that end there */
};
#define NONE SIZE_MAX

static void free_ends(struct ends *x)
{
	free(x->next);
	free(x->first);
	free(x->seen);
	free(x->todo);
	free(x->results);
}

static bool make_ends(struct ends *x, const struct dt_code *code)
{
	size_t n = code->functions + 1;

	*x = (struct ends){code,
			   malloc(n * sizeof(size_t)),
			   malloc(n * sizeof(size_t)),
			   calloc(n, sizeof(size_t)),
			   malloc(n * sizeof(size_t)),
			   calloc(code->exits + 1, 1)};
	if (!x->next || !x->first || !x->seen || !x->todo || !x->results) {
		free_ends(x);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		x->first[i] = NONE;
	for (size_t i = code->functions; i-- > 0;) {
		x->next[i] = x->first[code->function[i].whole];
		x->first[code->function[i].whole] = i;
	}
	return true;
}

/* Notes that calls of a function are meant, with these results: where it returns, and where those
 * return that it jumps to instead. */
static void note_function(struct ends *x, size_t function, uint8_t results)
{
	const struct dt_code *code = x->code;
	size_t n = 0, whole = code->function[function].whole;

	x->seen[whole] = whole + 1;
	x->todo[n++] = whole;
	while (n) {
		for (size_t i = x->first[x->todo[--n]]; i != NONE; i = x->next[i]) {
			const struct dt_code_function *f = &code->function[i];

			for (uint32_t k = 0; k < f->exits; k++) {
				const struct dt_exit *exit = &code->exit[f->first_exit + k];
				size_t to = exit->target ? dt_code_function_at(code, exit->target)
							 : code->functions;

				if (exit->kind == DT_EXIT_RETURN)
					x->results[f->first_exit + k] |= results;
				if (to == code->functions ||
				    code->function[to].start != exit->target)
					continue;
				to = code->function[to].whole;
				if (x->seen[to] == whole + 1)
					continue;
				x->seen[to] = whole + 1;
				x->todo[n++] = to;
			}
		}
	}
}

/* Finds the functions that the range chooses and the words may mean. */
static int note_functions(struct ends *x, struct dt_file *f, const struct dt_range *r,
			  struct dt_error *e)
{
	struct place_of_range *p = r->host;
	struct dt_symtab *tab = dt_file_symtab(f);
	size_t n;
	const struct dt_function *function = dt_symtab_functions(tab, &n);
	bool *chosen = calloc(n + 1, sizeof(*chosen));
	struct dt_stack_asking asking;

	if (!chosen || dt_ranges_chosen(f, r, tab, chosen) < 0) {
		free(chosen);
		return dt_fail(e, "out of memory");
	}
	if (dt_stack_asking_begin(&asking, p->stacks, f, e) < 0) {
		free(chosen);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		size_t at = chosen[i] && !function[i].label
				    ? dt_code_function_at(f->code, function[i].address)
				    : f->code->functions;
		uint8_t results;

		if (at == f->code->functions || f->code->function[at].start != function[i].address)
			continue;
		results = dt_stack_results(&asking, &function[i]);
		if (!results)
			continue;
		p->stacks->functions++;
		note_function(x, at, results);
	}
	dt_stack_asking_end(&asking);
	free(chosen);
	return 0;
}

/* Returns the equal point of the file, from *at on, where such points come in the same order; NULL:
 * there is none. */
static struct dt_point *find_point(struct dt_file *f, const struct dt_point *point, uint32_t *at)
{
	for (uint32_t i = 0; i < f->points.n; i++) {
		struct dt_point *old = f->points.point[(*at + i) % f->points.n];

		if (old->results == point->results && old->crossing == point->crossing &&
		    old->site.address == point->site.address) {
			*at = old->id + 1;
			return old;
		}
	}
	return NULL;
}

int dt_ranges_each_stack(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_selection *select = f->program ? &p->select : &p->libraries;
	struct dt_point made, *point;
	uint32_t from = 0;
	bool first = true;
	struct ends x;
	int rc;

	if (!f->elf || f->elf->sleds || (!select->n && !p->imports) || dt_ranges_calls_from(r, f) ||
	    !dt_file_symtab(f) || dt_ranges_read_code(f, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < f->points.n && first; i++)
		first = !f->points.point[i]->results;
	if (!make_ends(&x, f->code))
		return dt_fail(e, "out of memory");
	rc = note_functions(&x, f, r, e);
	for (size_t i = 0; i < f->code->exits && rc == 0; i++) {
		if (!x.results[i])
			continue;
		if (dt_stack_point(p->stacks, f->code->exit[i].address, x.results[i], &made) < 0) {
			rc = dt_fail(e, "out of memory");
			break;
		}
		made.crossing = p->from;
		point = first ? NULL : find_point(f, &made, &from);
		if (point)
			dt_point_release(&made);
		else
			point = dt_points_add(&f->points, &made);
		rc = point ? fn(ctx, point, r, e) : dt_fail(e, "out of memory");
	}
	free_ends(&x);
	return rc;
}
