/* SPDX-License-Identifier: MIT */
/* Which points of a file a range means: tracepoints, the USDT probes of files, arguments in full.
 */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

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
	for (uint32_t k = 0; k < f->points.n; k++) {
		struct dt_point *old = f->points.point[k];

		if (old->headless && old->crossing == crossing &&
		    old->site.address == function->address && strcmp(old->what, point.what) == 0) {
			dt_point_release(&point);
			return old;
		}
	}
	i = dt_ranges_read_code(f, NULL) < 0 ? 0 : dt_code_function_at(f->code, function->address);
	if (!f->code || i == f->code->functions ||
	    f->code->function[i].start != function->address) {
		dt_point_release(&point);
		return NULL;
	}
	return dt_points_add(&f->points, &point);
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
	if (p->kernel)
		return 0;
	if (((r->action.what & DT_DO_ARGS) || p->arguments) && (r->action.what & DT_DO_ENTRY) &&
	    each_function(f, r, fn, ctx, e) < 0)
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
