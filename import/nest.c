/* SPDX-License-Identifier: MIT */
/*
 * A thread's calls are a tree: a call that begins in another one's time is in it. Files have them
 * as pairs of a beginning and an end, whose order in the file counts where times are equal, or as
 * wholes, in any order.
 */
#include "import/nest.h"

#include <stdlib.h>
#include <string.h>

/* Times that were rounded to nanoseconds by themselves: a beginning, and a length. */
#define ROUNDING 2

struct frame {
	int64_t end;
	uint32_t name, end_order;
	bool no_exit; /* its end is not known: it is that of its caller */
};

struct nesting {
	struct dt_imported *m;
	struct dt_import_records *to;
	struct frame *frame; /* DT_IMPORT_DEEPEST */
	uint32_t *bare; /* by function: a number of its name without its file, which ends need not
			   have */
	uint32_t *open; /* by that number: how many such calls have begun and not ended */
	uint32_t depth;
	struct dt_error *e;
};

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_thread(const void *pa, const void *pb)
{
	const struct dt_import_item *a = pa, *b = pb;
	int c = compare(a->thread, b->thread);

	if (!c)
		c = compare(a->ns, b->ns);
	return c ? c : compare(a->order, b->order);
}

/* The caller before the callee. */
static int by_length(const void *pa, const void *pb)
{
	const struct dt_import_item *a = pa, *b = pb;
	int c = compare(a->ns, b->ns);

	if (!c)
		c = compare(b->end, a->end);
	return c ? c : compare(a->order, b->order);
}

static int by_time(const void *pa, const void *pb)
{
	const struct dt_import_record *a = pa, *b = pb;
	int c = compare(a->ns, b->ns);

	return c ? c : compare(a->order, b->order);
}

static int put(struct nesting *k, const struct dt_import_record *r)
{
	struct dt_import_records *to = k->to;

	if (to->n == to->size) {
		size_t size = to->size ? to->size + to->size / 2 : 4096;
		struct dt_import_record *p =
			size < UINT32_MAX ? realloc(to->record, size * sizeof(*p)) : NULL;

		if (!p)
			return dt_fail(k->e, "out of memory");
		to->record = p;
		to->size = size;
	}
	to->record[to->n] = *r;
	to->record[to->n].order = (uint32_t)to->n;
	to->n++;
	return 0;
}

/*
 * Gives each beginning of a thread its end: the next one that no later beginning has. An end with
 * the name of no call that is open is of one whose beginning is not there.
 */
static int join_ends(struct nesting *k, struct dt_import_item *x, size_t n)
{
	struct dt_imported *m = k->m;
	size_t *open = NULL, depth = 0, size = 0;
	bool ends;

	for (size_t i = 0; i < n; i++) {
		struct dt_import_item *b;

		if (x[i].kind == DT_IMPORT_BEGIN) {
			if (depth == size) {
				size_t *p =
					realloc(open, (size = size ? size * 2 : 256) * sizeof(*p));

				if (!p) {
					free(open);
					return dt_fail(k->e, "out of memory");
				}
				open = p;
			}
			open[depth++] = i;
			k->open[k->bare[x[i].name]]++;
			continue;
		}
		if (x[i].kind != DT_IMPORT_END)
			continue;
		/* value: there is a name */
		ends = depth && (!x[i].value || k->open[k->bare[x[i].name]]);
		m->left[DT_LEFT_ENDS] += !ends;
		if (ends) {
			b = &x[open[--depth]];
			k->open[k->bare[b->name]]--;
			b->kind = DT_IMPORT_CALL;
			b->end = x[i].ns;
			b->end_order = x[i].order;
			m->left[DT_LEFT_RENAMED] +=
				x[i].value && k->bare[x[i].name] != k->bare[b->name];
		}
		x[i].kind = DT_IMPORT_GONE;
	}
	while (depth)
		k->open[k->bare[x[open[--depth]].name]]--;
	free(open);
	return 0;
}

/* Ends the innermost call. */
static int leave(struct nesting *k, uint32_t thread)
{
	const struct frame *f = &k->frame[--k->depth];

	if (f->no_exit)
		return 0;
	return put(k, &(struct dt_import_record){.ns = f->end,
						 .thread = thread,
						 .name = f->name,
						 .depth = k->depth,
						 .kind = DT_IMPORT_END});
}

/* Is the innermost call over when an item comes? Where both are at one time and the item takes
 * none, as the file has them. */
static bool is_over(const struct frame *f, const struct dt_import_item *x, bool is_call)
{
	if (f->end != x->ns)
		return f->end < x->ns;
	return (!is_call || x->end == x->ns) ? f->end_order < x->order : true;
}

static int enter(struct nesting *k, const struct dt_import_item *x)
{
	const struct frame *caller = k->depth ? &k->frame[k->depth - 1] : NULL;
	struct frame f = {.end = x->end, .name = x->name, .end_order = x->end_order};

	if (x->kind == DT_IMPORT_BEGIN) {
		f.no_exit = true;
		f.end = caller ? caller->end : INT64_MAX;
		f.end_order = caller ? caller->end_order : UINT32_MAX;
	} else if (caller && f.end > caller->end) {
		if (f.end - caller->end > ROUNDING) {
			k->m->left[DT_LEFT_CROSSED]++;
			return 0;
		}
		k->m->left[DT_LEFT_CUT]++;
		f.end = caller->end;
	}
	if (k->depth == DT_IMPORT_DEEPEST) {
		k->m->left[DT_LEFT_DEEP]++;
		return 0;
	}
	k->m->calls++;
	k->frame[k->depth] = f;
	return put(k, &(struct dt_import_record){.ns = x->ns,
						 .thread = x->thread,
						 .name = x->name,
						 .depth = k->depth++,
						 .kind = DT_IMPORT_BEGIN});
}

static int take(struct nesting *k, const struct dt_import_item *x)
{
	bool is_call = x->kind == DT_IMPORT_CALL || x->kind == DT_IMPORT_BEGIN;

	if (x->kind == DT_IMPORT_GONE)
		return 0;
	while (x->kind != DT_IMPORT_HELD && k->depth &&
	       is_over(&k->frame[k->depth - 1], x, is_call))
		if (leave(k, x->thread))
			return -1;
	if (is_call)
		return enter(k, x);
	k->m->others++;
	return put(k, &(struct dt_import_record){
			      .ns = x->ns,
			      .value = x->kind == DT_IMPORT_HELD ? (uint64_t)x->end : x->value,
			      .thread = x->thread,
			      .name = x->name,
			      .depth = k->depth,
			      .kind = x->kind});
}

static int nest_thread(struct nesting *k, struct dt_import_item *x, size_t n)
{
	bool whole = false;

	for (size_t i = 0; i < n; i++)
		whole |= x[i].kind == DT_IMPORT_CALL;
	if (join_ends(k, x, n))
		return -1;
	if (whole)
		qsort(x, n, sizeof(*x), by_length);
	k->depth = 0;
	for (size_t i = 0; i < n; i++)
		if (take(k, &x[i]))
			return -1;
	while (k->depth)
		if (leave(k, x->thread))
			return -1;
	return 0;
}

/* Makes k->bare and k->open. */
static int number_names(struct nesting *k, const struct dt_name_list *functions)
{
	struct dt_name_list names = {0};
	int rc = 0;

	k->bare = calloc((size_t)functions->n + 1, sizeof(*k->bare));
	for (uint32_t i = 0; !rc && k->bare && i < functions->n; i++) {
		const char *name = strchr(functions->at[i]->text, '\n');
		int64_t number =
			dt_name_number(&names, name ? name + 1 : functions->at[i]->text, k->e);

		rc = number < 0 ? -1 : 0;
		k->bare[i] = (uint32_t)number;
	}
	k->open = calloc((size_t)names.n + 1, sizeof(*k->open));
	dt_name_list_free(&names);
	return rc || (k->bare && k->open) ? rc : dt_fail(k->e, "out of memory");
}

int dt_import_nest(struct dt_imported *m, struct dt_import_records *to, struct dt_error *e)
{
	struct nesting k = {.m = m, .to = to, .e = e};
	size_t i = 0, n;
	int rc = 0;

	k.frame = malloc(DT_IMPORT_DEEPEST * sizeof(*k.frame));
	if (!k.frame)
		return dt_fail(e, "out of memory");
	if (number_names(&k, &m->functions)) {
		rc = -1;
		m->n = 0;
	}
	if (m->n)
		qsort(m->item, m->n, sizeof(*m->item), by_thread);
	for (; !rc && i < m->n; i += n) {
		for (n = 1; i + n < m->n && m->item[i + n].thread == m->item[i].thread;)
			n++;
		rc = nest_thread(&k, &m->item[i], n);
	}
	free(k.bare);
	free(k.open);
	free(k.frame);
	free(m->item);
	m->item = NULL;
	m->n = m->size = 0;
	if (!rc && to->n)
		qsort(to->record, to->n, sizeof(*to->record), by_time);
	return rc;
}
