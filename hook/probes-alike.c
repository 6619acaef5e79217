/* SPDX-License-Identifier: MIT */
/*
 * Repeating a planting of another process of the session. A server's processes have the same file
 * at the same place, and the same of it is chosen. What was made for the first of them is copied,
 * with trampolines at the same addresses: that is quicker than planning once more.
 */
#include <stdlib.h>
#include <string.h>

#include "hook/probes-job.h"

#define DONATED (64ull << 20) /* most bytes of all donors */

/* Looks whether the module is mapped where the one of the file's donor was. */
static bool is_donors(const struct dt_module *m)
{
	const struct dt_file *f = m->file;

	return f->donor.probes && f->donor.bias == m->bias && f->donor.low == m->low &&
	       f->donor.high == m->high;
}

/* Looks whether what was made for `from' has been kept, and was for exactly these functions. */
static bool same_wishes(const struct dt_probes *from, const struct dt_code *code,
			const bool *wanted)
{
	if (!from || !from->made.near.bytes)
		return false;
	for (size_t i = 0; i < code->functions; i++)
		if ((from->state[i] != UNTRIED) != wanted[i])
			return false;
	return true;
}

/* Returns the probes of another process that can be copied; NULL: there are none. */
static const struct dt_probes *find_alike(const struct job *j, const bool *wanted)
{
	const struct dt_module *m = j->m;

	if (is_donors(m) && same_wishes(m->file->donor.probes, m->file->code, wanted))
		return m->file->donor.probes;
	for (const struct dt_target *t = j->t->others ? *j->t->others : NULL; t; t = t->next) {
		if (t == j->t || t->last || t->left)
			continue;
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *x = &t->module[i];

			if (x->file == m->file && x->bias == m->bias && x->low == m->low &&
			    x->high == m->high && same_wishes(x->probes, m->file->code, wanted))
				return x->probes;
		}
	}
	return NULL;
}

/* Claims the same regions in this process; false: one of them is not free. */
static bool claim_regions(struct job *j, const struct dt_probes *from)
{
	for (size_t i = 0; i < from->regions; i++) {
		const struct region *r = &from->region[i];
		uint64_t at;

		if (!dt_space_claim(&j->p->space, r->low, r->low, r->high - r->low, &at))
			return false;
	}
	return true;
}

/* Looks whether the bytes that are to be changed are as they were in the other process, where they
 * were as in the file. */
static bool same_code(struct job *j, const struct dt_probes *from)
{
	uint8_t now[8];

	for (size_t i = 0; i < from->patches; i++)
		if (dt_job_read(j, from->patch[i].address, now, from->patch[i].length) < 0 ||
		    memcmp(now, from->patch[i].old, from->patch[i].length) != 0)
			return false;
	return true;
}

/* Returns where in j->made the byte is that will stand at address `at'; NULL: it has none. */
static uint8_t *byte_at(struct job *j, uint64_t at)
{
	if (at >= j->made.near.address && at < j->made.near.address + j->made.near.size)
		return &j->made.near.bytes[at - j->made.near.address];
	for (size_t i = 0; i < j->made.fars; i++)
		if (at >= j->made.far[i].low && at < j->made.far[i].high)
			return &j->made.far_bytes[i][at - j->made.far[i].low];
	return NULL;
}

/* Sets each sled to on or off as it is to be in this process. */
static void set_sleds(struct job *j, const uint64_t *toggle)
{
	const struct dt_file *f = j->m->file;

	for (size_t i = 0; i < f->elf->sites; i++) {
		uint8_t *sled = toggle[i] ? byte_at(j, toggle[i]) : NULL;

		if (sled)
			*sled = f->chosen && f->chosen[i] && !dt_target_is_silent(j->t)
					? DT_HOOK_CALL_ON
					: DT_HOOK_CALL_OFF;
		j->toggle[i] = toggle[i];
	}
}

/* Copies all that was made. 1, or -1: no memory. */
static int copy(struct job *j, const struct dt_probes *from, struct dt_error *e)
{
	const struct made *made = &from->made;
	struct dt_probes *p = j->p;
	bool failed = false;

	j->made = *made;
	j->made.near.bytes = dt_probe_copy_of(made->near.bytes, made->near.size, 1, &failed);
	j->made.far = dt_probe_copy_of(made->far, made->fars, sizeof(*made->far), &failed);
	j->made.far_bytes =
		dt_probe_copy_of(made->far_bytes, made->fars, sizeof(*made->far_bytes), &failed);
	j->pc = dt_probe_copy_of(from->pc, from->pcs, sizeof(*j->pc), &failed);
	p->patch = dt_probe_copy_of(from->patch, from->patches, sizeof(*p->patch), &failed);
	p->window = dt_probe_copy_of(from->window, from->windows, sizeof(*p->window), &failed);
	p->moved = dt_probe_copy_of(from->moved, from->n_moved, sizeof(*p->moved), &failed);
	if (failed || dt_plan_copy(&p->plan, &from->plan) < 0)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < from->patches; i++)
		p->patch[i].lifted = false;
	memcpy(p->state, from->state, j->m->file->code->functions);
	p->patches = p->patch_room = from->patches;
	p->windows = p->window_room = from->windows;
	p->n_moved = p->moved_room = from->n_moved;
	j->pcs = from->pcs;
	set_sleds(j, from->toggle);
	return 1;
}

int dt_job_take(struct job *j, const bool *wanted, struct dt_error *e)
{
	const struct dt_probes *from = j->m->file->points.n ? NULL : find_alike(j, wanted);

	if (!from || !same_code(j, from) || !claim_regions(j, from))
		return 0;
	return copy(j, from, e);
}

static void drop_donor(struct dt_file *f, struct dt_files *files)
{
	dt_probes_free(f->donor.probes);
	f->donor.probes = NULL;
	files->donated -= f->donor.bytes;
	f->donor.bytes = 0;
}

/* Returns what a donor takes: what was made, and about as much for the plan and the tables. */
static uint64_t bytes_of(const struct dt_module *m)
{
	const struct dt_probes *p = m->probes;

	return 2 * p->made.size + p->made.fars * LONGEST + p->patches * sizeof(*p->patch) +
	       p->pcs * sizeof(*p->pc) + p->windows * sizeof(*p->window) +
	       p->n_moved * sizeof(*p->moved) + m->file->elf->sites * sizeof(*p->toggle);
}

void dt_probes_donate(struct dt_module *m, struct dt_files *files)
{
	struct dt_file *f = m->file;
	struct dt_probes *p = m->probes, *d;
	bool failed = false;

	if (!p || !p->made.near.bytes || !p->plan.code)
		return;
	if (is_donors(m) && memcmp(f->donor.probes->state, p->state, f->code->functions) == 0)
		return;
	if (f->donor.probes)
		drop_donor(f, files);
	if (files->donated + bytes_of(m) > DONATED)
		return;
	d = calloc(1, sizeof(*d));
	if (!d)
		return;
	/* what the process's last records need is copied */
	d->toggle = dt_probe_copy_of(p->toggle, f->elf->sites + 1, sizeof(*d->toggle), &failed);
	d->region = dt_probe_copy_of(p->region, p->regions, sizeof(*d->region), &failed);
	d->pc = dt_probe_copy_of(p->pc, p->pcs, sizeof(*d->pc), &failed);
	if (failed) {
		dt_probes_free(d);
		return;
	}
	f->donor.bytes = bytes_of(m);
	files->donated += f->donor.bytes;
	f->donor.probes = d;
	f->donor.bias = m->bias;
	f->donor.low = m->low;
	f->donor.high = m->high;
	d->regions = p->regions;
	d->pcs = p->pcs;
	/* and the rest moved */
	d->plan = p->plan;
	d->made = p->made;
	d->state = p->state;
	d->patch = p->patch;
	d->patches = p->patches;
	d->window = p->window;
	d->windows = p->windows;
	d->moved = p->moved;
	d->n_moved = p->n_moved;
	p->plan = (struct dt_plan){.code = NULL};
	p->made = (struct made){.size = 0};
	p->state = NULL;
	p->patch = NULL;
	p->window = NULL;
	p->moved = NULL;
	p->patches = p->patch_room = p->windows = p->window_room = p->n_moved = p->moved_room = 0;
}

void dt_probes_free_donors(struct dt_files *files)
{
	for (struct dt_file *f = files->first; f; f = f->next)
		if (f->donor.probes)
			drop_donor(f, files);
}
