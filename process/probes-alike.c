/* SPDX-License-Identifier: MIT */
/*
 * A planting that another process of the session has had already: a server's processes have the same
 * file at the same place, and want the same of it. What was made for the first of them is taken over
 * as it is, trampolines at the same addresses included, in a third of the time that it takes to plan.
 */
#include <stdlib.h>
#include <string.h>

#include "process/probes-job.h"

/* Has it had one planting, of exactly these functions, all that can be, and nothing since? */
static bool same_wishes(const struct dt_module *theirs, const struct dt_module *m,
			const bool *wanted)
{
	const struct dt_probes *from = theirs->probes;

	if (!from || !from->made.near.bytes || from->plantings != 1 || from->changed ||
	    !from->state || from->points)
		return false;
	for (size_t i = 0; i < m->file->code->functions; i++)
		if ((from->state[i] != UNTRIED) != wanted[i])
			return false;
	return true;
}

static const struct dt_probes *find_alike(const struct job *j, const bool *wanted)
{
	const struct dt_module *m = j->m;

	for (const struct dt_target *t = j->t->others ? *j->t->others : NULL; t; t = t->next) {
		if (t == j->t || t->last || t->left)
			continue;
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *x = &t->module[i];

			if (x->file == m->file && x->bias == m->bias && x->low == m->low &&
			    x->high == m->high && same_wishes(x, m, wanted))
				return x->probes;
		}
	}
	return NULL;
}

/* Is the same room free here? What is claimed is ours, as if it had been chosen. */
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

/* The bytes that are to be changed are here what they were there, which the file has. */
static bool same_code(struct job *j, const struct dt_probes *from)
{
	uint8_t now[8];

	for (size_t i = 0; i < from->patches; i++)
		if (dt_job_read(j, from->patch[i].address, now, from->patch[i].length) < 0 ||
		    memcmp(now, from->patch[i].old, from->patch[i].length) != 0)
			return false;
	return true;
}

static bool copy_bytes(struct job *j, const struct made *from)
{
	j->size = from->size;
	j->near = from->near;
	j->near.bytes = malloc(from->near.size);
	j->far = malloc((from->fars + 1) * sizeof(*j->far));
	j->far_bytes = malloc((from->fars + 1) * sizeof(*j->far_bytes));
	if (!j->near.bytes || !j->far || !j->far_bytes)
		return false;
	memcpy(j->near.bytes, from->near.bytes, from->near.size);
	if (from->fars) {
		memcpy(j->far, from->far, from->fars * sizeof(*j->far));
		memcpy(j->far_bytes, from->far_bytes, from->fars * sizeof(*j->far_bytes));
	}
	j->fars = from->fars;
	return true;
}

static uint8_t *byte_at(struct job *j, uint64_t at)
{
	if (at >= j->near.address && at < j->near.address + j->near.size)
		return &j->near.bytes[at - j->near.address];
	for (size_t i = 0; i < j->fars; i++)
		if (at >= j->far[i].low && at < j->far[i].high)
			return &j->far_bytes[i][at - j->far[i].low];
	return NULL;
}

/* Each sled as it is to be here. */
static bool set_sleds(struct job *j, const struct dt_probes *from)
{
	const struct dt_file *f = j->m->file;

	for (size_t i = 0; i < f->elf->sites; i++) {
		uint8_t *sled = from->toggle[i] ? byte_at(j, from->toggle[i]) : NULL;

		if (!from->toggle[i])
			continue;
		if (!sled || (*sled != ON && *sled != OFF))
			return false;
		*sled = f->chosen && f->chosen[i] && !j->t->unwatched ? ON : OFF;
		j->toggle[i] = from->toggle[i];
	}
	return true;
}

static bool copy_tables(struct job *j, const struct dt_probes *from)
{
	struct dt_probes *p = j->p;

	p->patch = malloc((from->patches + 1) * sizeof(*p->patch));
	p->window = malloc((from->windows + 1) * sizeof(*p->window));
	j->pc = malloc((from->pcs + 1) * sizeof(*j->pc));
	if (!p->patch || !p->window || !j->pc || dt_plan_copy(&p->plan, &from->plan) < 0)
		return false;
	memcpy(p->patch, from->patch, from->patches * sizeof(*p->patch));
	memcpy(p->window, from->window, from->windows * sizeof(*p->window));
	memcpy(j->pc, from->pc, from->pcs * sizeof(*j->pc));
	memcpy(p->state, from->state, j->m->file->code->functions);
	p->patches = p->patch_room = from->patches;
	p->windows = p->window_room = from->windows;
	j->pcs = from->pcs;
	return true;
}

/* As before: it is planned then. */
static void forget_copy(struct job *j)
{
	struct dt_probes *p = j->p;

	if (p->plan.code)
		dt_plan_end(&p->plan);
	memset(&p->plan, 0, sizeof(p->plan));
	free(p->patch);
	free(p->window);
	p->patch = NULL;
	p->window = NULL;
	p->patches = p->patch_room = p->windows = p->window_room = 0;
	memset(p->state, UNTRIED, j->m->file->code->functions);
	free(j->pc);
	free(j->near.bytes);
	free(j->far);
	free(j->far_bytes);
	j->pc = NULL;
	j->pcs = 0;
	j->near = (struct dt_emit){.bytes = NULL};
	j->far = NULL;
	j->far_bytes = NULL;
	j->fars = 0;
	memset(j->toggle, 0, j->m->file->elf->sites * sizeof(*j->toggle));
}

bool dt_job_take(struct job *j, const bool *wanted)
{
	const struct dt_probes *from;

	if (j->p->plantings || j->p->plan.code || j->m->file->points.n || !wanted)
		return false;
	from = find_alike(j, wanted);
	if (!from || !same_code(j, from) || !claim_regions(j, from))
		return false;
	if (copy_bytes(j, &from->made) && set_sleds(j, from) && copy_tables(j, from))
		return true;
	forget_copy(j);
	return false;
}
