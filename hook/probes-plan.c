/* SPDX-License-Identifier: MIT */
/*
 * Making what a planting writes: functions and points are planned, and the trampolines of all their
 * windows made, before any thread is stopped. A point can replace windows that were planted before.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "hook/probes-job.h"
#include "arch/arch.h"

/* ---- making */

/* Returns the index of the plan's site among the file's; elf->sites: there is none. */
static size_t file_site(const struct dt_elf *elf, const struct dt_plan_site *s)
{
	for (size_t i = dt_elf_site_from(elf, s->address);
	     i < elf->sites && elf->site[i].address == s->address; i++)
		if (dt_probe_is_entry(&elf->site[i]) == (s->kind == DT_PLAN_ENTRY))
			return i;
	return elf->sites;
}

/* Notes the module's readable segments, between which nothing may be mapped. */
static void note_own(struct dt_capture *c, const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->loads && c->owns < DT_CAPTURE_OWN; i++) {
		const struct dt_elf_load *l = &elf->load[i];

		if (!(l->flags & PF_R))
			continue;
		c->own[c->owns].low = l->vaddr + c->bias;
		c->own[c->owns++].high = l->vaddr + l->memsz + c->bias;
	}
}

/* Emits the code of all points that are at this instruction, in the order of their ids. */
static void emit_points(struct dt_emit *o, const struct dt_plan_site *site, struct job *j)
{
	const struct dt_module *m = j->m;
	struct dt_capture c = {
		.hook = j->thunk[WAY_VALUES],
		.peek = j->thunk[WAY_PEEK],
		.text = j->thunk[WAY_TEXT],
		.crosses = j->thunk[WAY_CROSSES],
		.bias = m->bias,
		.fsbase = dt_capture_has_fsbase(),
		.slots = j->t->area + DT_AREA_KEPT + DT_SLOTS_AT,
		.on = !dt_target_is_silent(j->t),
	};

	dt_emit_pin(o); /* points know where they are */
	note_own(&c, m->file->elf);
	for (uint32_t id = 0; id < j->p->points; id++) {
		const struct dt_point *point = m->file->points.point[id];

		if (j->p->point[id].state != PLANTED || j->p->point[id].at != site->address)
			continue;
		if (!point->wanted) {
			j->skipped[id] = true;
			continue;
		}
		c.address = point->site.address + m->bias;
		c.headless = point->headless;
		c.crossing = point->crossing;
		c.passing = point->slot;
		c.kept = point->kept;
		c.results = point->results;
		if (!j->captured[id])
			j->captured[id] = calloc(1, sizeof(*j->captured[id]));
		if (j->captured[id])
			dt_capture_emit(o, point->item, point->items, &c, j->captured[id]);
		else
			j->no_memory = true;
	}
}

/* Emits the push of the target of a jump through a register or memory, for the jump's hook to
 * record. False: that can not be done. */
static bool push_target(struct dt_emit *o, const struct dt_plan_site *site, const struct job *j)
{
	const struct dt_code_region *r = dt_code_region_of(j->m->file->code, site->address);

	return r && dt_relocate_push(o, r->bytes + (site->address - r->low),
				     r->high - site->address, site->address + j->m->bias) == 0;
}

/* Emits what a trampoline has before the instruction of a site: the call of a hook, or points. */
static void emit_call(struct dt_emit *o, const struct dt_plan_site *site, void *ctx)
{
	struct job *j = ctx;
	bool jump, on;
	uint64_t way;
	size_t i;

	if (site->kind == DT_PLAN_POINT) {
		emit_points(o, site, j);
		return;
	}
	jump = site->kind == DT_PLAN_INDIRECT && push_target(o, site, j);
	i = file_site(j->m->file->elf, site);
	if (i < j->m->file->elf->sites)
		j->toggle[i] = dt_emit_here(o);
	/* on at once, so that a site that is planted again misses no record */
	on = i < j->m->file->elf->sites && j->m->file->chosen[i] && !dt_target_is_silent(j->t);
	way = j->thunk[dt_probe_way(j->m->file, i, site->kind == DT_PLAN_ENTRY, jump)];
	dt_hook_call_emit(o, way, on);
	if (jump)
		dt_hook_call_pop(o);
}

static int add_patch(struct dt_probes *p, const struct patch *x)
{
	if (p->patches == p->patch_room) {
		size_t room = p->patch_room ? 2 * p->patch_room : 256;
		struct patch *more = realloc(p->patch, room * sizeof(*more));

		if (!more)
			return -1;
		p->patch = more;
		p->patch_room = room;
	}
	p->patch[p->patches++] = *x;
	return 0;
}

/* Adds where a window's instructions went. */
static int add_moved(struct dt_probes *p, const struct dt_moved *m)
{
	if (p->n_moved + m->n + 1 > p->moved_room) {
		size_t room = 2 * p->moved_room + DT_RELOCATE_MAX + 256;
		struct dt_moved_at *more = realloc(p->moved, room * sizeof(*more));

		if (!more)
			return -1;
		p->moved = more;
		p->moved_room = room;
	}
	memcpy(p->moved + p->n_moved, m->at, (m->n + 1) * sizeof(*m->at));
	p->n_moved += m->n + 1;
	return 0;
}

static int add_window(struct dt_probes *p, struct window *x, const struct dt_moved *moved)
{
	x->first_moved = (uint32_t)p->n_moved;
	x->moved = moved->n;
	if (add_moved(p, moved) < 0)
		return -1;
	if (p->windows == p->window_room) {
		size_t room = p->window_room ? 2 * p->window_room : 256;
		struct window *more = realloc(p->window, room * sizeof(*more));

		if (!more)
			return -1;
		p->window = more;
		p->window_room = room;
	}
	p->window[p->windows++] = *x;
	return 0;
}

/* Looks whether the bytes read from memory are those of the file; if not, somebody has changed
 * them. */
static bool as_in_file(const struct dt_code *c, uint64_t address, const uint8_t *bytes, size_t n)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);

	return r && address + n <= r->high && memcmp(r->bytes + (address - r->low), bytes, n) == 0;
}

static bool is_gone(const struct job *j, uint32_t index)
{
	for (size_t i = 0; i < j->n_gone; i++)
		if (j->gone[i].index == index)
			return true;
	return false;
}

/*
 * Code is read a block at a time, since there can be tens of thousands of windows, mostly in the
 * order of their addresses. Not as a whole: between the parts of a module nothing may be mapped.
 */
int dt_job_read(struct job *j, uint64_t address, uint8_t *bytes, size_t n)
{
	uint64_t block = address & ~(uint64_t)(DT_JOB_BLOCK - 1);

	if (!j->text && !(j->text = malloc(DT_JOB_BLOCK)))
		return dt_memory_read(j->t->mem, address, bytes, n);
	if (j->text_at != block) {
		j->text_at = block;
		j->no_text = dt_memory_read(j->t->mem, block, j->text, DT_JOB_BLOCK) < 0;
	}
	if (j->no_text || address + n > block + DT_JOB_BLOCK)
		return dt_memory_read(j->t->mem, address, bytes, n);
	memcpy(bytes, j->text + (address - block), n);
	return 0;
}

/* Reads memory as dt_job_read() does, but as it was before we changed it for windows that are gone.
 */
static int read_original(struct job *j, uint64_t address, uint8_t *bytes, size_t n)
{
	if (dt_job_read(j, address, bytes, n) < 0)
		return -1;
	for (size_t i = 0; j->n_gone && i < j->first_patch; i++) {
		const struct patch *x = &j->p->patch[i];

		if (x->address >= address + n || x->address + x->length <= address ||
		    !is_gone(j, x->window))
			continue;
		for (size_t k = 0; k < x->length; k++)
			if (x->address + k >= address && x->address + k < address + n)
				bytes[x->address + k - address] = x->old[k];
	}
	return 0;
}

/* Makes room for one more punned trampoline. */
static int far_room(struct job *j, struct dt_error *e)
{
	void *more = realloc(j->made.far_bytes, (j->made.fars + 1) * sizeof(*j->made.far_bytes));
	struct dt_extent *too;

	if (!more)
		return dt_fail(e, "out of memory");
	j->made.far_bytes = more;
	too = realloc(j->made.far, (j->made.fars + 1) * sizeof(*too));
	if (!too)
		return dt_fail(e, "out of memory");
	j->made.far = too;
	return 0;
}

/* Makes one window's trampoline and patches. 1: its function can not be hooked. */
static int make_window(struct job *j, uint32_t index, struct dt_error *e)
{
	const struct dt_plan_hook hook = {emit_call, j};
	const struct dt_plan_window *w = &j->p->plan.window[index];
	bool punned = w->tactic == DT_TACTIC_PUNNED;
	struct dt_emit far = {.room = w->room < LONGEST ? w->room : LONGEST,
			      .address = w->at + j->m->bias};
	struct dt_emit *o = punned ? &far : &j->made.near;
	struct dt_trampoline t;
	struct window out;
	size_t fix = j->far_fixed;

	if (punned) {
		if (far_room(j, e) < 0)
			return -1;
		far.bytes = j->made.far_bytes[j->made.fars];
		j->made.far_fixes.n = fix; /* without those of one that could not be made */
		far.fixes = &j->made.far_fixes;
	}
	if (dt_plan_emit(&j->p->plan, index, j->m->bias, &hook, o, &t, e) < 0 || o->size > o->room)
		return 1;
	for (unsigned i = 0; i < t.patches; i++) {
		struct patch x = {.address = t.patch[i].address,
				  .length = t.patch[i].length,
				  .leads = t.patch[i].leads,
				  .window = index};

		memcpy(x.new, t.patch[i].bytes, x.length);
		if (read_original(j, x.address, x.old, x.length) < 0 ||
		    !as_in_file(j->m->file->code, x.address - j->m->bias, x.old, x.length)) {
			j->changed = true;
			return 1;
		}
		if (add_patch(j->p, &x) < 0)
			return dt_fail(e, "out of memory");
	}
	out = (struct window){.start = w->start + j->m->bias,
			      .at = t.address,
			      .index = index,
			      .size = w->size,
			      .patch = w->patch,
			      .copy = t.copy,
			      .end = o->address + o->size};
	if (w->host_size)
		out.end = t.host;
	if (add_window(j->p, &out, &t.moved) < 0)
		return dt_fail(e, "out of memory");
	out = (struct window){.start = w->host + j->m->bias,
			      .at = t.host,
			      .index = index,
			      .size = w->host_size,
			      .patch = 10, /* the jump, and the springboard */
			      .copy = t.host,
			      .end = o->address + o->size};
	if (w->host_size && add_window(j->p, &out, &t.host_moved) < 0)
		return dt_fail(e, "out of memory");
	if (punned) {
		for (; fix < j->made.far_fixes.n; fix++)
			j->made.far_fixes.fix[fix].at += (uint32_t)(j->made.fars * LONGEST);
		j->made.far[j->made.fars++] =
			(struct dt_extent){far.address, far.address + far.size};
		j->far_fixed = j->made.far_fixes.n;
	}
	return 0;
}

/* ---- planning */

/* Notes that a window is replaced by another (`by'), or by those of a function (NONE). */
static int note_gone(struct job *j, const struct dt_plan_gone *gone, uint32_t by,
		     struct dt_error *e)
{
	struct gone *more = realloc(j->gone, (j->n_gone + 1) * sizeof(*more));

	if (!more)
		return dt_fail(e, "out of memory");
	j->gone = more;
	more[j->n_gone++] = (struct gone){gone->index, by, gone->was, true};
	return 0;
}

static void refuse_point(struct planted_point *x, const struct dt_plan_point *why)
{
	x->state = REFUSED;
	x->why = why->why;
	x->near = why->refusal == DT_REFUSED_BOUNDARY ? why->at : 0;
}

/* Returns the address after a function's entry sled if `address' is at that sled, else `address'.
 * A point at a sled is planted after it, since sleds are not moved; each entry passes both. */
static uint64_t behind_sled(const struct dt_file *f, uint64_t address)
{
	const struct dt_code_region *r = dt_code_region_of(f->code, address);
	const struct dt_elf_site *s;
	unsigned skip = 0;

	if (f->probed)
		return address;
	if (r)
		skip = dt_landing_pad(r->bytes + (address - r->low), r->high - address);
	s = dt_elf_site_at(f->elf, address + skip);
	return s && s->kind == DT_ELF_ENTRY ? address + skip + DT_SLED_ENTRY : address;
}

/* Plans a point. One that can not be planted is marked as refused. */
static int plan_point(struct job *j, uint32_t id, struct dt_error *e)
{
	const struct dt_point *point = j->m->file->points.point[id];
	struct planted_point *x = &j->p->point[id];
	struct dt_plan *plan = &j->p->plan;
	struct dt_plan_point out;
	int rc = 0;

	plan->options.hook = dt_point_size(point);
	dt_plan_point(plan, behind_sled(j->m->file, point->site.address), &out);
	plan->options.hook = HOOK;
	if (plan->failed) {
		rc = dt_fail(e, "out of memory");
	} else if (out.refusal) {
		refuse_point(x, &out);
	} else {
		x->state = PLANTED;
		x->at = out.address;
		for (unsigned i = 0; i < out.n_gone && rc == 0; i++)
			rc = note_gone(j, &out.gone[i], out.window, e);
	}
	return rc;
}

/* Plans the points of a window that is gone once more. */
static int plan_again(struct job *j, const struct dt_plan_window *was, struct dt_error *e)
{
	struct dt_probes *p = j->p;

	for (uint32_t i = was->first_site; i < was->first_site + was->sites; i++)
		for (uint32_t id = 0; id < p->points; id++)
			if (p->point[id].state == PLANTED &&
			    p->point[id].at == p->plan.site[i].address && plan_point(j, id, e) < 0)
				return -1;
	return 0;
}

/* Notes why a function was refused, for dt_file.refused. `why' is a text that is never freed. */
static void note_refused(struct dt_file *f, size_t function, const char *why)
{
	if (!f->refused)
		f->refused = calloc(f->code->functions + 1, sizeof(*f->refused));
	if (f->refused)
		f->refused[function] = why;
}

/* Plans a function. Points that are in it already are planned again, to share its windows. among:
 * room may be made among the instructions of other functions. */
static int plan_function(struct job *j, size_t function, bool among, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	struct dt_plan_function f;
	struct dt_plan_gone gone[64];
	size_t n = 0;
	bool any = false;

	p->state[function] = REFUSED;
	if (dt_probe_is_ours(j->m->file, function)) {
		note_refused(j->m->file, function, "devtrace itself is led through it");
		return 0;
	}
	for (uint32_t id = 0; id < p->points && !any; id++)
		any = p->point[id].state == PLANTED;
	if (any)
		n = dt_plan_drop_points(&p->plan, function, gone, sizeof(gone) / sizeof(*gone));
	for (size_t i = 0; i < n; i++)
		if (note_gone(j, &gone[i], NONE, e) < 0)
			return -1;
	if (among)
		dt_plan_function_among(&p->plan, function, &f);
	else
		dt_plan_function(&p->plan, function, &f);
	if (p->plan.failed)
		return dt_fail(e, "out of memory");
	if (!f.refusal)
		p->state[function] = PLANTED;
	else if (f.refusal == DT_REFUSED_TAKEN && !among)
		p->state[function] = CROWDED;
	else
		note_refused(j->m->file, function, f.why);
	for (size_t i = 0; i < n; i++)
		if (plan_again(j, &gone[i].was, e) < 0)
			return -1;
	return 0;
}

int dt_job_plan_begin(struct dt_plan *plan, const struct dt_file *f, struct dt_error *e)
{
	const struct dt_plan_options options = {
		.hook = HOOK, .no_traps = true, .apart = dt_probe_is_apart, .file = f};

	return dt_plan_begin(plan, f->code, &options, e);
}

int dt_job_begin(struct job *j, dt_plan_claim claim, void *claimer, struct dt_error *e)
{
	struct dt_plan *plan = &j->p->plan;

	if (!plan->code && dt_job_plan_begin(plan, j->m->file, e) < 0)
		return -1;
	plan->options.claim = claim;
	plan->options.ctx = claimer;
	return 0;
}

/* The file may have more points than when p was made. */
int dt_job_points(struct dt_probes *p, uint32_t n, struct dt_error *e)
{
	struct planted_point *more;

	if (n <= p->points)
		return 0;
	more = realloc(p->point, n * sizeof(*more));
	if (!more)
		return dt_fail(e, "out of memory");
	memset(more + p->points, 0, (n - p->points) * sizeof(*more));
	p->point = more;
	p->points = n;
	return 0;
}

/* If a window can not be made, its function is marked as failed. */
int dt_job_make(struct job *j, struct dt_error *e)
{
	const struct dt_plan *plan = &j->p->plan;
	const struct dt_code *code = j->m->file->code;

	for (uint32_t i = (uint32_t)j->mark.windows; i < plan->windows; i++) {
		const struct dt_plan_window *w = &plan->window[i];
		int rc = w->sites ? make_window(j, i, e) : 0;

		if (rc < 0)
			return -1;
		if (rc > 0)
			j->failed[code->function[plan->site[w->first_site].function].whole] = true;
	}
	return j->no_memory ? dt_fail(e, "out of memory") : 0;
}

/* Returns the function of a window of the plan, known by its sites; NONE: it has no sites. */
static uint32_t owner(const struct job *j, uint32_t window)
{
	const struct dt_plan_window *w = &j->p->plan.window[window];
	const struct dt_plan *plan = &j->p->plan;

	return w->sites ? j->m->file->code->function[plan->site[w->first_site].function].whole
			: NONE;
}

/* Looks whether the window belongs to a function that has failed. */
static bool is_failed(const struct job *j, uint32_t window)
{
	uint32_t f = window < j->p->plan.windows ? owner(j, window) : NONE;

	return f != NONE && j->failed[f];
}

/* Notes that a site of a window that is dropped is not planted. */
static void fail_site(struct job *j, const struct dt_plan_site *s)
{
	size_t k;

	if (s->kind == DT_PLAN_POINT) {
		for (uint32_t id = 0; id < j->p->points; id++)
			if (j->p->point[id].at == s->address && j->p->point[id].state == PLANTED) {
				/* a point that was planted before stays as it was */
				if (j->p->point[id].toggle && j->captured[id])
					j->captured[id]->pcs = 0;
				else
					j->p->point[id].state = REFUSED;
				j->p->point[id].why = "the code in memory is not what the file has";
			}
		return;
	}
	k = file_site(j->m->file->elf, s);
	if (k < j->m->file->elf->sites)
		j->toggle[k] = 0;
}

/*
 * Looks whether a window that was to go stays, so that its bytes are not put back: it does if the
 * last window in the chain of those that replace it is not planted.
 */
static bool stays(const struct job *j, const struct gone *gone)
{
	const struct dt_plan *plan = &j->p->plan;
	uint32_t heir = gone->by;

	for (const struct gone *g = gone; g < j->gone + j->n_gone; g++)
		if (g->index == heir)
			heir = g->by;
	return heir != NONE
		       ? is_failed(j, heir)
		       : j->failed[j->m->file->code
					   ->function[plan->site[gone->was.first_site].function]
					   .whole];
}

void dt_job_drop_failed(struct job *j)
{
	struct dt_probes *p = j->p;
	size_t n = j->first_patch;

	for (size_t i = j->first_patch; i < p->patches; i++)
		if (!is_failed(j, p->patch[i].window))
			p->patch[n++] = p->patch[i];
	p->patches = n;
	n = j->first_window;
	for (size_t i = j->first_window; i < p->windows; i++)
		if (!is_failed(j, p->window[i].index))
			p->window[n++] = p->window[i];
	p->windows = n;
	for (size_t i = 0; i < j->n_gone; i++)
		j->gone[i].undone = !stays(j, &j->gone[i]);
	for (uint32_t i = (uint32_t)j->mark.windows; i < p->plan.windows; i++) {
		struct dt_plan_window *w = &p->plan.window[i];

		if (!is_failed(j, i))
			continue;
		for (uint32_t k = 0; k < w->sites; k++)
			fail_site(j, &p->plan.site[w->first_site + k]);
		p->state[owner(j, i)] = REFUSED;
	}
	for (size_t i = 0; i < j->n_gone; i++)
		if (!j->gone[i].undone && j->gone[i].index < j->mark.windows)
			p->plan.window[j->gone[i].index] = j->gone[i].was;
}

int dt_job_plan(struct job *j, const bool *wanted, struct dt_error *e)
{
	struct dt_probes *p = j->p;

	/* functions that found no room come last, and may make room among others */
	for (int among = 0; among < 2; among++)
		for (size_t i = 0; wanted && i < j->m->file->code->functions; i++)
			if (wanted[i] && (!among || p->state[i] == CROWDED) &&
			    plan_function(j, i, among, e) < 0)
				return -1;
	for (uint32_t id = 0; id < p->points; id++)
		if (p->point[id].state == UNTRIED && j->m->file->points.point[id]->wanted &&
		    plan_point(j, id, e) < 0)
			return -1;
	return 0;
}

void dt_job_give_back(struct job *j, const bool *wanted)
{
	struct dt_probes *p = j->p;

	p->windows = j->first_window;
	p->n_moved = j->first_moved;
	p->patches = j->first_patch;
	if (p->plan.code && !p->plan.failed) {
		dt_plan_back(&p->plan, &j->mark);
		for (size_t i = j->n_gone; i-- > 0;)
			if (j->gone[i].index < j->mark.windows)
				dt_plan_restore(&p->plan, &(struct dt_plan_gone){j->gone[i].index,
										 j->gone[i].was});
	}
	for (uint32_t id = 0; id < p->points; id++)
		if (p->point[id].state == PLANTED && !p->point[id].toggle)
			p->point[id].state = UNTRIED;
	for (size_t i = 0; wanted && i < j->m->file->code->functions; i++)
		if (wanted[i])
			p->state[i] = UNTRIED;
}
