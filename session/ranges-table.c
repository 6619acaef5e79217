/* SPDX-License-Identifier: MIT */
/* The table in which the slow path looks up what it has to do. */
#include "session/ranges-work.h"

#include <stdlib.h>

#include "hook/probes.h"

/* The ranges that decide about the sites of a file. */
struct actions {
	const struct dt_range **of; /* for each site: the range that decides */
};

static void note_action(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	struct actions *a = ctx;
	const struct dt_range *old = a->of[site];

	/* points take precedence over ranges, ranges with options over those without */
	(void)f;
	if (!old || (r->kind == DT_RANGE_POINT && old->kind != DT_RANGE_POINT) ||
	    (old->kind != DT_RANGE_POINT && (r->action.what & DT_DO_CAREFUL) &&
	     !(old->action.what & DT_DO_CAREFUL)))
		a->of[site] = r;
}

struct table {
	struct dt_table_entry *entry;
	size_t n, room;
};

static int add_entry(struct table *t, const struct dt_table_entry *x, struct dt_error *e)
{
	struct dt_table_entry *more;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		more = realloc(t->entry, t->room * sizeof(*more));
		if (!more)
			return dt_fail(e, "out of memory");
		t->entry = more;
	}
	t->entry[t->n++] = *x;
	return 0;
}

static bool same_action(const struct dt_table_entry *x, const struct dt_action *a)
{
	return x->what == a->what && x->pid == a->pid && x->late == a->late &&
	       x->constant == a->constant;
}

/* Adds the entries for the sites of a module. Neighbouring sites with the same action share an
 * entry. */
static int module_table(struct dt_session *s, struct dt_module *m, struct table *t,
			struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	struct actions a = {.of = calloc(elf->sites, sizeof(*a.of))};
	bool joined = false;
	int rc = a.of ? 0 : dt_fail(e, "out of memory");

	for (size_t i = 0; rc == 0 && i < s->device.n; i++)
		if (s->device.range[i].on)
			rc = dt_ranges_each_site(m->file, &s->device.range[i], note_action, &a, e);
	for (size_t i = 0; rc == 0 && i < elf->sites; i++) {
		const struct dt_range *r = a.of[i];
		bool probe = dt_elf_is_probe(&elf->site[i]);
		uint64_t pc =
			probe ? dt_probes_pc(m, i) : m->bias + dt_ranges_site_pc(&elf->site[i]);
		struct dt_table_entry x;

		if (!r || !pc || (!s->device.uniform && !(r->action.what & DT_DO_CAREFUL))) {
			joined = false;
			continue;
		}
		if (joined && !probe && same_action(&t->entry[t->n - 1], &r->action)) {
			t->entry[t->n - 1].end = pc;
			continue;
		}
		x = (struct dt_table_entry){
			pc, pc, r->action.what, r->action.pid, r->action.late, r->action.constant};
		rc = add_entry(t, &x, e);
		joined = !probe; /* trampolines are not in the order of their sites */
	}
	free(a.of);
	return rc;
}

struct point_table {
	const struct dt_module *m;
	struct table *t;
};

/*
 * Adds the entries for a point's records. Actions that begin something are done by the first
 * record, those that end something by the last, so that records of one hit are recorded together.
 */
static int point_entries(void *ctx, struct dt_point *point, const struct dt_range *r,
			 struct dt_error *e)
{
	const struct point_table *k = ctx;
	const struct dt_module *m = k->m;
	uint64_t pc[DT_CAPTURE_PCS];
	size_t n = dt_probes_point_pcs(m, point->id, pc, DT_CAPTURE_PCS);
	unsigned last = point->items ? (point->items - 1) / 4 * 4 : 0;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		struct dt_table_entry x = {pc[i],	  pc[i],	  r->action.what,
					   r->action.pid, r->action.late, r->action.constant};
		unsigned first;
		unsigned text;

		dt_probes_point(m, pc[i], &first, &text);
		if (text || first)
			x.what &= ~(uint32_t)(DT_DO_UNFREEZE | DT_DO_BASE | DT_DO_ADJACENT |
					      DT_DO_CONST);
		if (text || first != last)
			x.what &= ~(uint32_t)(DT_DO_FREEZE | DT_DO_LATEFREEZE);
		rc = add_entry(k->t, &x, e);
	}
	return rc;
}

static int points_table(struct dt_session *s, const struct dt_module *m, struct table *t,
			struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < s->device.n && rc == 0; i++) {
		const struct dt_range *r = &s->device.range[i];
		struct point_table k = {m, t};

		if (r->on && (s->device.uniform || (r->action.what & DT_DO_CAREFUL)))
			rc = dt_ranges_each_point(m->file, r, point_entries, &k, e);
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct dt_table_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int dt_ranges_table(struct dt_session *s, struct dt_target *target, struct dt_error *e)
{
	struct table t = {0};
	int rc = 0;

	if (!target->area || target->ended)
		return 0;
	for (size_t i = 0; rc == 0 && i < target->n; i++) {
		if (target->module[i].file->elf && target->module[i].file->chosen_sites)
			rc = module_table(s, &target->module[i], &t, e);
		if (rc == 0 && target->module[i].file->points.n)
			rc = points_table(s, &target->module[i], &t, e);
	}
	if (t.n)
		qsort(t.entry, t.n, sizeof(*t.entry), by_start);
	if (rc == 0)
		rc = dt_area_table(target->mem, target->area, t.entry, t.n, e);
	free(t.entry);
	return rc < 0 && dt_target_gone(target) ? 0 : rc;
}
