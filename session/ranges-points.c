/* SPDX-License-Identifier: MIT */
/* Which points of a file a range means: tracepoints, the USDT probes of files, arguments in full.
 */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "hook/entered.h"
#include "session/arguments.h"
#include "session/capture.h"

/*
 * Returns the point for a USDT probe, made when it is first wanted. NULL: the probe can have none.
 */
static struct dt_point *usdt_point(struct dt_file *f, size_t i)
{
	const struct dt_usdt_probe *u = &f->usdt->probe[i];
	struct dt_point point = {.site = {.address = u->address}, .semaphore = u->semaphore};
	size_t n = strlen(u->provider) + strlen(u->name) + 2, function;

	if (f->usdt_point[i] || dt_ranges_read_code(f, NULL) < 0)
		return f->usdt_point[i];
	function = dt_code_function_at(f->code, u->address);
	if (function == f->code->functions)
		return NULL;
	point.site.function = f->code->function[function].start;
	point.name = malloc(n);
	point.what = strdup(u->arguments);
	if (!point.name || !point.what || dt_capture_usdt(f, u->arguments, &point, NULL) < 0) {
		dt_point_release(&point);
		return NULL;
	}
	dt_format(point.name, n, "%s:%s", u->provider, u->name);
	return f->usdt_point[i] = dt_points_add(&f->points, &point);
}

/* Adds a point, or finds the equal one that the file has; NULL: no memory. */
static struct dt_point *add_point(struct dt_file *f, struct dt_point *point)
{
	for (uint32_t k = 0; k < f->points.n; k++) {
		struct dt_point *old = f->points.point[k];

		if (old->headless && old->crossing == point->crossing &&
		    old->leaves == point->leaves && old->kept.tag == point->kept.tag &&
		    old->site.address == point->site.address &&
		    strcmp(old->what, point->what) == 0) {
			dt_point_release(point);
			return old;
		}
	}
	return dt_points_add(&f->points, point);
}

/* Returns the point at a function's entry that captures those of its arguments that the entry's
 * record lacks. NULL: it lacks none, or the function can have no point. */
static struct dt_point *arguments_point(struct dt_file *f, const struct dt_function *function,
					const char *which, bool crossing, uint64_t *had)
{
	struct dt_point point;
	size_t i;

	if (function->label || dt_arguments_point(f, function, which, had, &point) <= 0)
		return NULL;
	point.crossing = crossing;
	i = dt_ranges_read_code(f, NULL) < 0 ? 0 : dt_code_function_at(f->code, function->address);
	if (!f->code || i == f->code->functions ||
	    f->code->function[i].start != function->address) {
		dt_point_release(&point);
		return NULL;
	}
	return add_point(f, &point);
}

/* Calls fn for the points of what a function fills in, at its entry (exit 0) or at an exit. */
static int outputs_at(struct dt_file *f, const struct dt_function *function, uint64_t exit,
		      const struct dt_range *r, point_fn *fn, void *ctx, struct dt_error *e)
{
	const struct place_of_range *p = r->host;
	struct dt_point made[DT_OUTPUTS], *point;
	int n = dt_outputs_points(f, function, exit, made), rc = 0;

	if (n < 0)
		return dt_fail(e, "out of memory");
	for (int i = 0; i < n; i++) {
		made[i].crossing = p->from;
		if (rc < 0) {
			dt_point_release(&made[i]);
			continue;
		}
		point = add_point(f, &made[i]);
		rc = point ? fn(ctx, point, r, e) : dt_fail(e, "out of memory");
	}
	return rc;
}

/*
 * Marks the functions at whose ends a call of the function at `from' can end: itself, and those
 * that it jumps to, or runs into, instead of returning, and so on.
 */
static void mark_ends(const struct dt_code *code, size_t from, bool *ends)
{
	bool more = true;

	ends[from] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < code->functions; i++) {
			const struct dt_code_function *x = &code->function[i];

			if (ends[x->whole] && dt_runs_into(code, i)) {
				size_t to = code->function[i + 1].whole;

				more |= !ends[to];
				ends[to] = true;
			}
			for (uint32_t k = 0; ends[x->whole] && k < x->exits; k++) {
				uint64_t target = code->exit[x->first_exit + k].target;
				size_t to = target ? dt_code_function_at(code, target)
						   : code->functions;

				if (to == code->functions || code->function[to].start != target)
					continue;
				to = code->function[to].whole;
				more |= !ends[to];
				ends[to] = true;
			}
		}
	}
}

/* Calls fn for the points that record what a function fills in where it ends. */
static int outputs_at_ends(struct dt_file *f, const struct dt_function *function, const bool *ends,
			   const struct dt_range *r, point_fn *fn, void *ctx, struct dt_error *e)
{
	const struct dt_code *code = f->code;
	int rc = 0;

	for (size_t i = 0; i < code->functions; i++) {
		const struct dt_code_function *x = &code->function[i];

		for (uint32_t k = 0; ends[x->whole] && k < x->exits && rc == 0; k++) {
			const struct dt_exit *exit = &code->exit[x->first_exit + k];

			if (exit->kind == DT_EXIT_RETURN)
				rc = outputs_at(f, function, exit->address, r, fn, ctx, e);
		}
	}
	return rc;
}

/* Calls fn for the points that record what a function fills in: at its entry, and where it ends. */
static int outputs(struct dt_file *f, const struct dt_function *function, const struct dt_range *r,
		   point_fn *fn, void *ctx, struct dt_error *e)
{
	bool *ends;
	size_t at;
	int rc;

	if (function->label || f->elf->sleds || !(r->action.what & DT_DO_EXIT) ||
	    !dt_outputs_has(f, function) || dt_ranges_read_code(f, NULL) < 0)
		return 0;
	at = dt_code_function_at(f->code, function->address);
	if (at == f->code->functions || f->code->function[at].start != function->address)
		return 0;
	ends = calloc(f->code->functions + 1, sizeof(*ends));
	if (!ends)
		return dt_fail(e, "out of memory");
	mark_ends(f->code, f->code->function[at].whole, ends);
	rc = outputs_at(f, function, 0, r, fn, ctx, e);
	if (rc == 0)
		rc = outputs_at_ends(f, function, ends, r, fn, ctx, e);
	free(ends);
	return rc;
}

/* Calls fn for the points that capture the arguments of the functions that r means. */
static int each_function(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_selection *select = f->program ? &p->select : &p->libraries;
	struct dt_symtab *tab = p->file && p->file != f ? NULL : dt_file_symtab(f);
	const struct dt_function *functions = NULL;
	struct dt_point *point;
	bool *chosen = NULL;
	size_t n = 0;
	int rc = 0;

	if (!tab || !f->elf)
		return 0;
	if ((!p->file && !select->n && !p->imports) || dt_ranges_calls_from(r, f))
		return 0;
	functions = dt_symtab_functions(tab, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	if (!chosen || (!p->file && dt_ranges_chosen(f, r, tab, chosen) < 0))
		rc = dt_fail(e, "out of memory");
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (p->file)
			chosen[i] =
				functions[i].address >= p->low && functions[i].address <= p->high;
		point = chosen[i]
				? arguments_point(f, &functions[i], p->arguments, p->from, &p->had)
				: NULL;
		if (point)
			rc = fn(ctx, point, r, e);
		if (rc == 0 && chosen[i] && !p->arguments)
			rc = outputs(f, &functions[i], r, fn, ctx, e);
	}
	free(chosen);
	return rc;
}

int dt_ranges_each_point(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_usdt *u;
	struct dt_selection *select;
	bool everything;
	int rc = 0;

	if (p->point)
		return p->file == f ? fn(ctx, p->point, r, e) : 0;
	if (p->kernel || dt_ranges_leaves_vdso(r, f))
		return 0;
	if (p->imports && (r->action.what & DT_DO_ENTRY) && dt_ranges_calls_from(r, f))
		return dt_ranges_each_jump(f, r, fn, ctx, e);
	if (((r->action.what & DT_DO_ARGS) || p->arguments) && (r->action.what & DT_DO_ENTRY) &&
	    each_function(f, r, fn, ctx, e) < 0)
		return -1;
	if (p->stacks && r->kind == DT_RANGE_SET && (r->action.what & DT_DO_EXIT) &&
	    dt_ranges_each_stack(f, r, fn, ctx, e) < 0)
		return -1;
	if (r->kind != DT_RANGE_SET || !(r->action.what & DT_DO_ENTRY) ||
	    !(r->action.what & DT_DO_EXIT) || p->from)
		return 0;
	u = dt_file_usdt(f);
	select = f->program ? &p->select : &p->libraries;
	everything =
		f->program && select->n == 1 && dt_ranges_is_everything(select->pattern[0].text);
	for (size_t i = 0; u && i < u->n && rc == 0; i++) {
		struct dt_point *point;
		/* a semaphore makes the program do what it does not do otherwise: it is set only
		 * when the probe is asked for by its name */
		bool guarded = u->probe[i].semaphore != 0;

		if (!dt_selection_usdt(select, u->probe[i].provider, u->probe[i].name, guarded) &&
		    (!everything || guarded))
			continue;
		point = usdt_point(f, i);
		if (point)
			rc = fn(ctx, point, r, e);
	}
	return rc;
}

int dt_ranges_want_point(void *ctx, struct dt_point *point, const struct dt_range *r,
			 struct dt_error *e)
{
	(void)ctx, (void)e;
	point->wanted += r->on ? 1 : -1u;
	point->used = true;
	return 0;
}
