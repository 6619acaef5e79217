/* SPDX-License-Identifier: MIT */
/*
 * Repeating a planting of another process of the session. A server's processes have the same
 * file, and the same of it is chosen. What was made for the first of them is copied, and moved to
 * where the file and the trampolines are in this process: that is quicker than planning once more.
 */
#include <stdlib.h>
#include <string.h>

#include "hook/probes-job.h"

#define DONATED (64ull << 20) /* most bytes of all donors */

/* By how much addresses differ in the process that something is copied to. */
struct shift {
	uint64_t low, high; /* the donor's region of trampolines */
	uint64_t module;    /* for all that is not in it, */
	uint64_t region;    /* and for what is */
};

static uint64_t shifted(const struct shift *s, uint64_t address)
{
	return address + (address >= s->low && address < s->high ? s->region : s->module);
}

/* Looks whether what was made for a module that is mapped at these addresses can be copied for
 * m, which has the same file: it is at the same place, or what was made can be moved. */
static bool fits(const struct dt_module *m, const struct made *made, uint64_t bias, uint64_t low,
		 uint64_t high)
{
	if (bias == m->bias)
		return low == m->low && high == m->high;
	return !made->fixes.pinned && !made->far_fixes.pinned && low - bias == m->low - m->bias &&
	       high - bias == m->high - m->bias;
}

/* Looks whether the file's donor can be copied for the module. */
static bool is_donors(const struct dt_module *m)
{
	const struct dt_file *f = m->file;

	return f->donor.probes &&
	       fits(m, &f->donor.probes->made, f->donor.bias, f->donor.low, f->donor.high);
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

/* Returns the probes of another process that can be copied, and sets *bias to its module's; NULL:
 * there are none. */
static struct dt_probes *find_alike(const struct job *j, const bool *wanted, uint64_t *bias)
{
	const struct dt_module *m = j->m;

	if (is_donors(m) && same_wishes(m->file->donor.probes, m->file->code, wanted)) {
		*bias = m->file->donor.bias;
		return m->file->donor.probes;
	}
	for (const struct dt_target *t = j->t->others ? *j->t->others : NULL; t; t = t->next) {
		if (t == j->t || t->last || t->left)
			continue;
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *x = &t->module[i];

			*bias = x->bias;
			if (x->file == m->file && same_wishes(x->probes, m->file->code, wanted) &&
			    fits(m, &x->probes->made, x->bias, x->low, x->high))
				return x->probes;
		}
	}
	return NULL;
}

/*
 * Claims regions in this process like those of the other one, and sets s->region; false: one of
 * them is not free. Punned trampolines can only be where they are, as seen from the module, and the
 * distance from them to the region stays; without any, the region is put where there is room.
 */
static bool claim_regions(struct job *j, const struct dt_probes *from, struct shift *s)
{
	bool pinned = from->made.fars || from->made.fixes.pinned;
	uint64_t n = s->high - s->low, wish = s->low + s->module, at;

	if (!dt_space_claim(&j->p->space, wish, wish, n, &at) &&
	    (pinned || !dt_job_room(j, n, &at)))
		return false;
	s->region = at - s->low;
	for (size_t i = 1; i < from->regions; i++) {
		const struct region *r = &from->region[i];
		uint64_t low = r->low + s->module;

		if (!dt_space_claim(&j->p->space, low, low, r->high - r->low, &at))
			return false;
	}
	return true;
}

/* Looks whether the bytes that are to be changed are as they were in the other process, where they
 * were as in the file. */
static bool same_code(struct job *j, const struct dt_probes *from, const struct shift *s)
{
	uint8_t now[8];

	for (size_t i = 0; i < from->patches; i++)
		if (dt_job_read(j, from->patch[i].address + s->module, now, from->patch[i].length) <
			    0 ||
		    memcmp(now, from->patch[i].old, from->patch[i].length) != 0)
			return false;
	return true;
}

/* Returns where in j->made the byte is that will stand at address `at'; NULL: it has none. */
static uint8_t *byte_at(struct job *j, uint64_t at)
{
	if (at >= j->made.near.address && at < j->made.near.address + j->made.size)
		return &j->made.near.bytes[at - j->made.near.address];
	for (size_t i = 0; i < j->made.fars; i++)
		if (at >= j->made.far[i].low && at < j->made.far[i].high)
			return &j->made.far_bytes[i][at - j->made.far[i].low];
	return NULL;
}

/* Sets each sled to on or off as it is to be in this process. */
static void set_sleds(struct job *j, const uint64_t *toggle, const struct shift *s)
{
	const struct dt_file *f = j->m->file;

	for (size_t i = 0; i < f->elf->sites; i++) {
		uint8_t *sled;

		if (!toggle[i])
			continue;
		j->toggle[i] = shifted(s, toggle[i]);
		sled = byte_at(j, j->toggle[i]);
		if (sled)
			*sled = f->chosen && f->chosen[i] && !dt_target_is_silent(j->t)
					? DT_HOOK_CALL_ON
					: DT_HOOK_CALL_OFF;
	}
}

/* Returns an array: a copy, or (own) the array itself, which leaves *from. */
static void *take(void *from, size_t n, size_t size, bool own, bool *failed)
{
	void **array = from, *is = *array;

	if (!own)
		return dt_probe_copy_of(is, n, size, failed);
	*array = NULL;
	return is;
}

/* Takes the bytes of the region, with room for its tables; of what comes from an earlier run there
 * is only the code. */
static uint8_t *take_near(struct made *made, bool own, bool *failed)
{
	uint8_t *bytes = own ? realloc(made->near.bytes, made->size) : malloc(made->size);

	if (!bytes) {
		*failed = true;
		return NULL;
	}
	if (own)
		made->near.bytes = NULL;
	else
		memcpy(bytes, made->near.bytes, made->code);
	memset(bytes + made->code, 0, made->size - made->code);
	return bytes;
}

/* Takes the code that was made, for its new place. 1; 0: it is not right there; -1: no memory. */
static int take_code(struct job *j, struct made *made, const struct shift *s, bool own,
		     struct dt_error *e)
{
	struct made *to = &j->made;
	bool failed = false, right = true;

	to->size = made->size;
	to->code = made->code;
	to->fars = made->fars;
	/* the tables are emitted once more, behind the code */
	to->near = (struct dt_emit){
		.room = made->size, .size = made->code, .address = made->near.address + s->region};
	to->near.bytes = take_near(made, own, &failed);
	to->far = take(&made->far, made->fars, sizeof(*made->far), own, &failed);
	to->far_bytes = take(&made->far_bytes, made->fars, sizeof(*made->far_bytes), own, &failed);
	if (failed)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; s->module | s->region && i < made->fixes.n; i++)
		right &= dt_fix_apply(&made->fixes.fix[i], to->near.bytes, s->region, s->module);
	for (size_t i = 0; s->module && i < made->far_fixes.n; i++)
		right &= dt_fix_apply(&made->far_fixes.fix[i], to->far_bytes[0], s->module,
				      s->module);
	for (size_t i = 0; i < made->fars; i++) {
		to->far[i].low += s->module;
		to->far[i].high += s->module;
	}
	if (!right) {
		dt_made_free(to);
	} else if (own) {
		to->kept = made->kept;
		to->fixes = made->fixes;
		to->far_fixes = made->far_fixes;
		made->fixes = made->far_fixes = (struct dt_fixes){0};
	}
	return right;
}

/* Gives what was copied of p the addresses that it has in this process. */
static void shift_tables(struct dt_probes *p, const struct shift *s)
{
	for (size_t i = 0; i < p->patches; i++) {
		struct patch *x = &p->patch[i];

		x->lifted = false;
		x->address += s->module;
		if (x->leads)
			dt_patch_shift(x->new, x->length, s->region - s->module);
	}
	for (size_t i = 0; i < p->windows; i++) {
		struct window *w = &p->window[i];

		w->start += s->module;
		w->at = shifted(s, w->at);
		w->copy = shifted(s, w->copy);
		w->end = shifted(s, w->end);
	}
}

/* Copies all that was made, or (own) moves it. 1; 0: it is not right at its new place; or -1: no
 * memory. */
static int take_all(struct job *j, struct dt_probes *from, const struct shift *s, bool own,
		    struct dt_error *e)
{
	int rc = take_code(j, &from->made, s, own, e);
	struct dt_probes *p = j->p;
	bool failed = false;

	if (rc <= 0)
		return rc;
	p->patch = take(&from->patch, from->patches, sizeof(*p->patch), own, &failed);
	p->window = take(&from->window, from->windows, sizeof(*p->window), own, &failed);
	p->moved = take(&from->moved, from->n_moved, sizeof(*p->moved), own, &failed);
	if (own) {
		p->plan = from->plan;
		from->plan = (struct dt_plan){.code = NULL};
	} else if (dt_plan_copy(&p->plan, &from->plan) < 0) {
		failed = true;
	}
	if (failed)
		return dt_fail(e, "out of memory");
	memcpy(p->state, from->state, j->m->file->code->functions);
	p->patches = p->patch_room = from->patches;
	p->windows = p->window_room = from->windows;
	p->n_moved = p->moved_room = from->n_moved;
	shift_tables(p, s);
	set_sleds(j, from->toggle, s);
	return 1;
}

static int take_from(struct job *j, struct dt_probes *from, uint64_t bias, bool own,
		     struct dt_error *e)
{
	struct shift s = {.low = from->made.near.address,
			  .high = from->made.near.address + from->made.size,
			  .module = j->m->bias - bias};

	if (!same_code(j, from, &s) || !claim_regions(j, from, &s))
		return 0;
	return take_all(j, from, &s, own, e);
}

int dt_job_take(struct job *j, const bool *wanted, struct dt_error *e)
{
	struct dt_probes *from;
	uint64_t bias;
	int rc;

	if (j->m->file->points.n)
		return 0;
	from = find_alike(j, wanted, &bias);
	if (from)
		return take_from(j, from, bias, false, e);
	from = dt_job_recall(j, wanted, &bias);
	if (!from)
		return 0;
	rc = take_from(j, from, bias, true, e);
	dt_probes_free(from);
	return rc > 0 ? 2 : rc;
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
	       p->windows * sizeof(*p->window) + p->n_moved * sizeof(*p->moved) +
	       m->file->elf->sites * sizeof(*p->toggle);
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
	for (struct dt_file *f = files->first; f; f = f->next) {
		if (f->donor.probes)
			drop_donor(f, files);
		dt_kept_free(f->kept);
		f->kept = NULL;
	}
}
