/* SPDX-License-Identifier: MIT */
/*
 * Planting probes: functions and points are planned, the trampolines of all their windows made, and
 * then, while all threads stand still, written with the jumps that lead there. A point can take the
 * place of windows that were planted before: their bytes are put back in the same moment.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "process/probes-work.h"

#define TRIES 60
#define FUNCTION_SIZE 800 /* bytes of trampolines and tables: 2.5 windows of 30 bytes, as many patches */
#define FSGSBASE 2 /* in AT_HWCAP2: programs may read the base of fs */

/* A window that another takes the place of. */
struct gone {
	uint32_t index, by; /* of the plan */
	struct dt_window was;
	bool undone; /* its bytes are to be put back */
};

/* What is about to be written: all of it is made before anybody is stopped. */
struct job {
	struct dt_target *t;
	struct dt_module *m;
	struct dt_probes *p;
	struct dt_emit near;
	uint64_t thunk[WAYS];
	uint64_t size;	       /* of the region, whole pages */
	struct dt_extent *far; /* punned trampolines: where */
	uint8_t (*far_bytes)[LONGEST];
	size_t fars;
	size_t first_window, first_patch; /* those before are planted */
	struct dt_plan_mark mark;	  /* the same of the plan */
	uint64_t *toggle;		   /* as p->toggle, of the sites that are new */
	struct dt_captured **captured;	   /* by id, of the points in new windows; or NULL */
	bool *failed;  /* by function: its new windows are left alone */
	bool no_memory;
	bool *skipped; /* by id: nobody wants the point any more, its window is made without it */
	struct gone *gone;
	size_t n_gone;
	struct patch *undo; /* patches of windows that are gone */
	size_t undos;
	struct pc_entry *pc; /* new ones */
	size_t pcs;
};

/* ---- making */

static size_t file_site(const struct dt_elf *elf, const struct dt_site *s)
{
	for (size_t i = dt_elf_site_from(elf, s->address);
	     i < elf->sites && elf->site[i].address == s->address; i++)
		if (dt_probe_is_entry(&elf->site[i]) == (s->kind == DT_SITE_ENTRY))
			return i;
	return elf->sites;
}

/* All points that are at this instruction, in the order they were made. */
static void emit_points(struct dt_emit *o, const struct dt_site *site, struct job *j)
{
	const struct dt_module *m = j->m;

	for (uint32_t id = 0; id < j->p->points; id++) {
		const struct dt_point *point = m->file->points.point[id];
		const struct dt_capture c = {
			.hook = j->thunk[WAY_VALUES],
			.peek = j->thunk[WAY_PEEK],
			.text = j->thunk[WAY_TEXT],
			.bias = m->bias,
			.low = m->file->elf->low + m->bias,
			.high = m->file->elf->high + m->bias,
			.address = point->site.address + m->bias,
			.fsbase = getauxval(AT_HWCAP2) & FSGSBASE,
			.headless = point->headless,
			.on = !j->t->unwatched && !j->t->opted_out,
		};

		if (j->p->point[id].state != PLANTED || j->p->point[id].at != site->address)
			continue;
		if (!point->wanted) {
			j->skipped[id] = true;
			continue;
		}
		if (!j->captured[id])
			j->captured[id] = calloc(1, sizeof(*j->captured[id]));
		if (j->captured[id])
			dt_capture_emit(o, point->item, point->items, &c, j->captured[id]);
		else
			j->no_memory = true;
	}
}

static void emit_call(struct dt_emit *o, const struct dt_site *site, void *ctx)
{
	struct job *j = ctx;
	size_t i;

	if (site->kind == DT_SITE_POINT) {
		emit_points(o, site, j);
		return;
	}
	i = file_site(j->m->file->elf, site);
	if (i < j->m->file->elf->sites)
		j->toggle[i] = dt_emit_here(o);
	/* what is planted once more is on meanwhile if it was: no record is missed */
	dt_emit_byte(o, i < j->m->file->elf->sites && j->p->toggle[i] && j->m->file->chosen[i] &&
					!j->t->unwatched
				? ON
				: OFF);
	dt_emit_u32(o, (uint32_t)(j->thunk[site->kind == DT_SITE_ENTRY ? WAY_ENTRY : WAY_EXIT] -
				  dt_emit_here(o) - 4));
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

static int add_window(struct dt_probes *p, const struct window *x)
{
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

/* The bytes that the file has there: what is in memory must be the same, or somebody was here. */
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

/* What is in memory, without what we have written there ourselves for windows that are gone. */
static int read_original(const struct job *j, uint64_t address, uint8_t *bytes, size_t n)
{
	if (dt_memory_read(j->t->mem, address, bytes, n) < 0)
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

static int far_room(struct job *j, struct dt_error *e)
{
	void *more = realloc(j->far_bytes, (j->fars + 1) * sizeof(*j->far_bytes));
	struct dt_extent *too;

	if (!more)
		return dt_fail(e, "out of memory");
	j->far_bytes = more;
	too = realloc(j->far, (j->fars + 1) * sizeof(*too));
	if (!too)
		return dt_fail(e, "out of memory");
	j->far = too;
	return 0;
}

/* Makes one window's trampoline. 1: its function has to be left alone. */
static int make_window(struct job *j, uint32_t index, struct dt_error *e)
{
	const struct dt_plan_hook hook = {emit_call, j};
	const struct dt_window *w = &j->p->plan.window[index];
	bool punned = w->tactic == DT_TACTIC_PUNNED;
	struct dt_emit far = {.room = w->room < LONGEST ? w->room : LONGEST,
			      .address = w->at + j->m->bias};
	struct dt_emit *o = punned ? &far : &j->near;
	struct dt_trampoline t;
	struct window out;

	if (punned) {
		if (far_room(j, e) < 0)
			return -1;
		far.bytes = j->far_bytes[j->fars];
	}
	if (dt_plan_emit(&j->p->plan, index, j->m->bias, &hook, o, &t, e) < 0 || o->size > o->room)
		return 1;
	for (unsigned i = 0; i < t.patches; i++) {
		struct patch x = {.address = t.patch[i].address,
				  .length = t.patch[i].length,
				  .window = index};

		memcpy(x.new, t.patch[i].bytes, x.length);
		if (read_original(j, x.address, x.old, x.length) < 0 ||
		    !as_in_file(j->m->file->code, x.address - j->m->bias, x.old, x.length))
			return 1;
		if (add_patch(j->p, &x) < 0)
			return dt_fail(e, "out of memory");
	}
	out = (struct window){.start = w->start + j->m->bias,
			      .at = t.address,
			      .index = index,
			      .size = w->size,
			      .patch = w->patch,
			      .copy = t.copy,
			      .end = o->address + o->size,
			      .moved = t.moved};
	if (add_window(j->p, &out) < 0)
		return dt_fail(e, "out of memory");
	if (punned)
		j->far[j->fars++] = (struct dt_extent){far.address, far.address + far.size};
	return 0;
}

/* ---- planning */

static int note_gone(struct job *j, const struct dt_window_gone *gone, uint32_t by,
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

/* Whoever comes by a function's entry sled comes by what is behind it; the sled itself stays. */
static uint64_t behind_sled(const struct dt_file *f, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	const struct dt_code_region *r = dt_code_region_of(f->code, address);
	const struct dt_elf_site *s;
	unsigned skip = 0;

	if (f->probed)
		return address;
	if (r && r->high - address > sizeof(endbr64) &&
	    memcmp(r->bytes + (address - r->low), endbr64, sizeof(endbr64)) == 0)
		skip = sizeof(endbr64);
	s = dt_elf_site_at(f->elf, address + skip);
	return s && s->kind == DT_ELF_ENTRY ? address + skip + 5 : address;
}

/* Plans a point. */
static int plan_point(struct job *j, uint32_t id, struct dt_error *e)
{
	const struct dt_point *point = j->m->file->points.point[id];
	struct planted_point *x = &j->p->point[id];
	struct dt_plan *plan = &j->p->plan;
	struct dt_plan_point out;
	int rc = 0;

	plan->options.hook = dt_point_size(point);
	dt_plan_point(plan, behind_sled(j->m->file, point->site.address), &out);
	plan->options.hook = CALL;
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

/* The points of a window that is gone get another one. */
static int plan_again(struct job *j, const struct dt_window *was, struct dt_error *e)
{
	struct dt_probes *p = j->p;

	for (uint32_t i = was->first_site; i < was->first_site + was->sites; i++)
		for (uint32_t id = 0; id < p->points; id++)
			if (p->point[id].state == PLANTED &&
			    p->point[id].at == p->plan.site[i].address && plan_point(j, id, e) < 0)
				return -1;
	return 0;
}

/* Plans a function; points that are in it already join its windows. */
static int plan_function(struct job *j, size_t function, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	const struct dt_code *code = j->m->file->code;
	struct dt_plan_function f;
	struct dt_window_gone gone[64];
	size_t n = 0;
	bool any = false;

	p->state[function] = REFUSED;
	if (dt_probe_is_ours(code->function[function].name))
		return 0;
	for (uint32_t id = 0; id < p->points && !any; id++)
		any = p->point[id].state == PLANTED;
	if (any)
		n = dt_plan_drop_points(&p->plan, function, gone, sizeof(gone) / sizeof(*gone));
	for (size_t i = 0; i < n; i++)
		if (note_gone(j, &gone[i], NONE, e) < 0)
			return -1;
	dt_plan_function(&p->plan, function, &f);
	if (p->plan.failed)
		return dt_fail(e, "out of memory");
	if (!f.refusal)
		p->state[function] = PLANTED;
	for (size_t i = 0; i < n; i++)
		if (plan_again(j, &gone[i].was, e) < 0)
			return -1;
	return 0;
}

static int begin_plan(struct job *j, dt_plan_claim claim, void *claimer, struct dt_error *e)
{
	struct dt_plan *plan = &j->p->plan;

	if (!plan->code) {
		const struct dt_plan_options options = {.hook = CALL, .no_traps = true};

		if (dt_plan_begin(plan, j->m->file->code, &options, e) < 0)
			return -1;
	}
	plan->options.claim = claim;
	plan->options.ctx = claimer;
	return 0;
}

/* The points whose file has more by now. */
static int point_room(struct dt_probes *p, uint32_t n, struct dt_error *e)
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

/* Makes all windows that the plan has more than before; whole functions only. */
static int make_all(struct job *j, struct dt_error *e)
{
	const struct dt_plan *plan = &j->p->plan;
	const struct dt_code *code = j->m->file->code;

	for (uint32_t i = (uint32_t)j->mark.windows; i < plan->windows; i++) {
		const struct dt_window *w = &plan->window[i];
		int rc = w->sites ? make_window(j, i, e) : 0;

		if (rc < 0)
			return -1;
		if (rc > 0)
			j->failed[code->function[plan->site[w->first_site].function].whole] = true;
	}
	return j->no_memory ? dt_fail(e, "out of memory") : 0;
}

/* The function that a window of the plan is of, by its sites. */
static uint32_t owner(const struct job *j, uint32_t window)
{
	const struct dt_window *w = &j->p->plan.window[window];
	const struct dt_plan *plan = &j->p->plan;

	return w->sites ? j->m->file->code->function[plan->site[w->first_site].function].whole
			: NONE;
}

static bool is_failed(const struct job *j, uint32_t window)
{
	uint32_t f = window < j->p->plan.windows ? owner(j, window) : NONE;

	return f != NONE && j->failed[f];
}

static void fail_site(struct job *j, const struct dt_site *s)
{
	size_t k;

	if (s->kind == DT_SITE_POINT) {
		for (uint32_t id = 0; id < j->p->points; id++)
			if (j->p->point[id].at == s->address && j->p->point[id].state == PLANTED) {
				/* one that was planted before stays as it was */
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

/* Takes back what was made of functions of which something can not be. */
static void drop_failed(struct job *j)
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
		j->gone[i].undone = j->gone[i].by == NONE || !is_failed(j, j->gone[i].by);
	for (uint32_t i = (uint32_t)j->mark.windows; i < p->plan.windows; i++) {
		struct dt_window *w = &p->plan.window[i];

		if (!is_failed(j, i))
			continue;
		for (uint32_t k = 0; k < w->sites; k++)
			fail_site(j, &p->plan.site[w->first_site + k]);
		p->state[owner(j, i)] = REFUSED;
	}
	for (size_t i = 0; i < j->n_gone; i++)
		if (!j->gone[i].undone)
			p->plan.window[j->gone[i].index] = j->gone[i].was;
}

/* Patches of windows that are gone, to be put back. */
static int collect_undo(struct job *j, struct dt_error *e)
{
	if (!j->n_gone)
		return 0;
	j->undo = calloc(j->first_patch + 1, sizeof(*j->undo));
	if (!j->undo)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < j->first_patch; i++)
		for (size_t k = 0; k < j->n_gone; k++)
			if (j->gone[k].index == j->p->patch[i].window && j->gone[k].undone) {
				j->undo[j->undos++] = j->p->patch[i];
				break;
			}
	qsort(j->undo, j->undos, sizeof(*j->undo), dt_probe_by_patch);
	return 0;
}

/* ---- where it goes */

/* Trampolines that have been mapped before do not grow: others can stand close to them. */
static bool is_region(const struct dt_target *t, const struct dt_mapping *m)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_probes *p = t->module[i].probes;

		for (size_t k = 0; p && k < p->regions; k++)
			if (m->low >= p->region[k].low && m->low < p->region[k].high)
				return true;
	}
	return false;
}

/* What is free near the module now. The claims made before are mapped by now. */
static int find_space(const struct dt_target *t, struct dt_probes *p, const struct dt_maps *maps,
		      struct dt_error *e)
{
	uint64_t last = 0x10000, beside = MARGIN;

	dt_space_free(&p->space);
	memset(&p->space, 0, sizeof(p->space));
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t low = maps->map[i].low;
		uint64_t margin = is_region(t, &maps->map[i]) ? PAGE : MARGIN;

		if (low > last + beside + margin && low < 0x7fffffffffff &&
		    dt_space_add(&p->space, last + beside, low - margin, e) < 0)
			return -1;
		last = maps->map[i].high;
		beside = margin;
	}
	return 0;
}

struct claimer {
	struct dt_probes *p;
	const struct dt_module *m;
};

static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	const struct claimer *c = ctx;
	const struct dt_module *m = c->m;

	low += m->bias;
	high += m->bias;
	if (low + REACH < m->high || high > m->low + REACH)
		return false; /* the thunks must be in reach from there */
	if (!dt_space_claim(&c->p->space, low, high, size, at))
		return false;
	*at -= m->bias;
	return true;
}

/* Within reach of everything that the file maps. */
static int place_region(struct job *j, size_t functions, struct dt_error *e)
{
	const struct dt_module *m = j->m;
	size_t points = 0;
	uint64_t at;

	for (uint32_t id = 0; id < j->p->points; id++) {
		const struct dt_point *point = m->file->points.point[id];

		if (j->p->point[id].state != REFUSED && (point->wanted || j->p->point[id].toggle))
			points += dt_point_size(point) + FUNCTION_SIZE + 64 * point->items;
	}
	j->size = (functions * FUNCTION_SIZE + points + 4 * PAGE + PAGE - 1) & ~(PAGE - 1);
	if (!dt_space_claim(&j->p->space, m->high > BESIDE ? m->high - BESIDE : 0x10000,
			    m->low + BESIDE, j->size + PAGE, &at))
		return dt_fail(e, "no room for trampolines near %s", m->file->path);
	at = (at + PAGE - 1) & ~(PAGE - 1);
	j->near = (struct dt_emit){.room = j->size, .address = at};
	j->near.bytes = calloc(1, j->size);
	return j->near.bytes ? 0 : dt_fail(e, "out of memory");
}

/* The head, and the ways to the hooks within reach of the trampolines. */
static void emit_thunks(struct job *j)
{
	struct dt_emit *o = &j->near;
	uint64_t way = dt_emit_here(o) + offsetof(struct head, way);

	for (size_t i = 0; i < sizeof(struct head); i += 8)
		dt_emit_u64(o, 0);
	for (unsigned i = 0; i < WAYS; i++, way += 8) {
		j->thunk[i] = dt_emit_here(o);
		dt_emit_bytes(o, "\xff\x25", 2); /* jmp *way(%rip) */
		dt_emit_u32(o, (uint32_t)(way - dt_emit_here(o) - 4));
	}
}

/* ---- tables */

static int note_pc(struct job *j, const struct pc_entry *x, struct dt_error *e)
{
	if (!(j->pcs & (j->pcs + 1)) || !j->pc) { /* room for the next power of two */
		struct pc_entry *more = realloc(j->pc, 2 * (j->pcs + 1) * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		j->pc = more;
	}
	j->pc[j->pcs++] = *x;
	return 0;
}

static uint64_t semaphore(const struct job *j, uint32_t id)
{
	uint64_t at = j->m->file->points.point[id]->semaphore;

	return at ? at + j->m->bias : 0;
}

static int collect_point(struct job *j, uint32_t id, struct dt_error *e)
{
	const struct dt_captured *c = j->captured[id];
	int rc = 0;

	for (unsigned k = 0; c && k < c->pcs && rc == 0; k++)
		rc = note_pc(j,
			     &(struct pc_entry){.pc = c->pc[k].pc,
						.toggle = c->toggle,
						.site = NONE,
						.point = id,
						.first = c->pc[k].first,
						.text = c->pc[k].text,
						.semaphore = k ? 0 : semaphore(j, id)},
			     e);
	return rc;
}

static int collect_pcs(struct job *j, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < j->m->file->elf->sites && rc == 0; i++)
		if (j->toggle[i])
			rc = note_pc(j,
				     &(struct pc_entry){.pc = j->toggle[i] + CALL,
							.toggle = j->toggle[i],
							.site = (uint32_t)i},
				     e);
	for (uint32_t id = 0; id < j->p->points && rc == 0; id++)
		rc = collect_point(j, id, e);
	return rc;
}

/* What whoever comes after us needs. */
static int emit_tables(struct job *j, struct dt_error *e)
{
	struct head *h = (struct head *)j->near.bytes;
	struct dt_emit *o = &j->near;

	while (o->size & 7)
		dt_emit_byte(o, 0xcc);
	*h = (struct head){.magic = MAGIC, .bytes = j->size};
	h->patch = dt_emit_here(o);
	h->patches = j->p->patches - j->first_patch;
	for (size_t i = 0; i < h->patches; i++)
		j->p->patch[j->first_patch + i].home = h->patch + i * sizeof(struct patch);
	dt_emit_bytes(o, j->p->patch + j->first_patch, h->patches * sizeof(struct patch));
	h->pc = dt_emit_here(o);
	h->pcs = j->pcs;
	if (j->pcs)
		dt_emit_bytes(o, j->pc, j->pcs * sizeof(*j->pc));
	h->region = dt_emit_here(o);
	for (size_t i = 0; i < j->fars; i++) {
		struct region x = {j->far[i].low & ~(PAGE - 1),
				   (j->far[i].high + PAGE - 1) & ~(PAGE - 1)};

		dt_emit_bytes(o, &x, sizeof(x));
		h->regions++;
	}
	if (o->size > o->room)
		return dt_fail(e, "the trampolines of %s do not fit", j->m->file->path);
	return 0;
}

/* ---- writing */

/* The region for the trampolines, and pages for those that must be where they are. */
static int map_regions(struct job *j, pid_t tid, const struct dt_maps *maps, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	struct region *more = realloc(p->region, (p->regions + 1 + 5 * j->fars) * sizeof(*more));
	struct dt_call *call = calloc(1 + 5 * j->fars, sizeof(*call));
	size_t first = p->regions, n = 0;
	int rc = -1;

	if (more)
		p->region = more;
	if (!more || !call) {
		dt_fail(e, "out of memory");
		goto out;
	}
	more[first + n++] = (struct region){j->near.address, j->near.address + j->size};
	for (size_t i = 0; i < j->fars; i++) {
		uint64_t low = j->far[i].low & ~(PAGE - 1);

		for (; low < j->far[i].high; low += PAGE) {
			p->regions = first + n;
			if (!dt_probe_has_region(p, low, low + PAGE))
				more[first + n++] = (struct region){low, low + PAGE};
		}
	}
	p->regions = first;
	for (size_t i = 0; i < n; i++)
		call[i] = (struct dt_call){
			"mapping trampolines",
			SYS_mmap,
			{more[first + i].low, more[first + i].high - more[first + i].low,
			 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			 (uint64_t)-1, 0},
			0,
			false};
	rc = dt_probe_calls(j->t, tid, maps, call, n, e);
	for (size_t i = 0; i < n && rc == 0; i++)
		if ((uint64_t)call[i].result != more[first + i].low)
			rc = dt_fail(e,
				     "process %d: the kernel gave other addresses than asked for",
				     j->t->pid);
	if (rc == 0)
		p->regions = first + n;
out:
	free(call);
	return rc;
}

/* Has a thread that stands still map the memory for the trampolines. */
static int map_trampolines(struct job *j, pid_t tid, struct dt_error *e)
{
	struct dt_maps maps;
	int rc;

	if (dt_maps_read(j->t->pid, &maps, e) < 0)
		return -1;
	rc = map_regions(j, tid, &maps, e);
	dt_maps_free(&maps);
	return rc;
}

/* Nothing leads there yet: the process may run meanwhile. */
static int write_trampolines(struct job *j, struct dt_error *e)
{
	struct head *h = (struct head *)j->near.bytes;

	if (dt_probe_ways(j->t, h->way, e) < 0)
		return -1;
	if (dt_memory_write(j->t->mem, j->near.address, j->near.bytes, j->near.size) < 0)
		goto fail;
	for (size_t i = 0; i < j->fars; i++)
		if (dt_memory_write(j->t->mem, j->far[i].low, j->far_bytes[i],
				    j->far[i].high - j->far[i].low) < 0)
			goto fail;
	return 0;
fail:
	return dt_fail(e, "the trampolines of process %d can not be written: %s", j->t->pid,
		       strerror(errno));
}

static int window_by_start(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The new window behind whose start ip is; patched: in bytes that change, else in what is moved. */
static const struct window *inside(const struct window *w, size_t n, uint64_t ip, bool patched)
{
	size_t low = 0, high = n;
	const struct window *x;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w[mid].start < ip)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	x = &w[low - 1];
	return ip < x->start + (patched || x->patch > x->size ? x->patch : x->size) ? x : NULL;
}

struct saved {
	const struct window *window;
	size_t n;
	bool found;
};

static void on_saved(void *ctx, uint64_t ip, bool frame)
{
	struct saved *s = ctx;

	s->found = s->found || (frame && inside(s->window, s->n, ip, true));
}

/* Threads in a window go on in its copy. False: a signal handler will return into one. */
static bool move_threads(struct job *j, const struct dt_threads *threads)
{
	struct window *w = j->p->window + j->first_window;
	size_t n = j->p->windows - j->first_window;
	struct saved saved = {w, n, false};

	qsort(w, n, sizeof(*w), window_by_start);
	dt_threads_saved(threads, j->t->mem, on_saved, &saved);
	if (saved.found)
		return false;
	for (size_t i = 0; i < threads->n; i++) {
		struct user_regs_struct r;
		const struct window *x;

		if (ptrace(PTRACE_GETREGS, threads->tid[i], 0, &r) < 0)
			continue;
		x = inside(w, n, r.rip, false);
		if (!x)
			continue;
		r.rip = dt_moved_forward(&x->moved, x->start, x->copy, r.rip);
		ptrace(PTRACE_SETREGS, threads->tid[i], 0, &r);
	}
	return true;
}

/* The bytes of windows that are gone go back, then the new ones are written. */
static int write_all(struct job *j, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	int mem = j->t->mem;

	if (dt_probe_write(mem, j->undo, j->undos, true) == 0 &&
	    dt_probe_write(mem, p->patch + j->first_patch, p->patches - j->first_patch, false) ==
		    0)
		return 0;
	dt_fail(e, "%s: its code can not be written: %s", j->m->file->path, strerror(errno));
	dt_probe_write(mem, p->patch + j->first_patch, p->patches - j->first_patch, true);
	dt_probe_write(mem, j->undo, j->undos, false);
	return -1;
}

static void note_stop(struct dt_target *t, const struct dt_threads *threads)
{
	if (threads->stopped_for > t->stop_ns)
		t->stop_ns = threads->stopped_for;
}

/* The trampolines, while one thread stands still for a moment. */
static int prepare(struct job *j, struct dt_error *e)
{
	struct dt_target *t = j->t;
	struct dt_threads one;
	int rc;

	if (t->held) {
		rc = map_trampolines(j, t->held, e);
	} else {
		if (dt_threads_stop_one(t->pid, t->pid, &one, e) < 0) {
			dt_threads_release(&one);
			return -1;
		}
		rc = map_trampolines(j, t->pid, e);
		dt_threads_release(&one);
		note_stop(t, &one);
	}
	return rc == 0 ? write_trampolines(j, e) : -1;
}

/* Everything is made: stops the process, writes the jumps, lets it go. */
static int write_stopped(struct job *j, struct dt_error *e)
{
	struct dt_target *t = j->t;
	struct dt_threads threads = {.pid = t->pid, .tid = &t->held, .n = 1};
	bool moved = false;
	int rc = -1;

	if (prepare(j, e) < 0)
		return -1;
	for (int tries = 0; tries < TRIES && !moved; tries++) {
		if (!t->held && dt_threads_stop(t->pid, &threads, e) < 0)
			return -1;
		moved = move_threads(j, &threads);
		if (moved)
			rc = write_all(j, e);
		if (!t->held) {
			dt_threads_release(&threads);
			note_stop(t, &threads);
		}
		if (moved)
			break;
		dt_fail(e,
			"process %d: a signal handler keeps returning into what is to be changed",
			t->pid);
		usleep(1000);
	}
	return rc;
}

/* ---- the whole */

/* The patches of windows that are gone are forgotten, here and in the tables. */
static void forget_undone(struct job *j)
{
	struct dt_probes *p = j->p;
	uint8_t none = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->patches; i++) {
		bool undone = false;

		for (size_t k = 0; k < j->undos && i < j->first_patch && !undone; k++)
			undone = j->undo[k].address == p->patch[i].address &&
				 j->undo[k].window == p->patch[i].window;
		if (undone)
			dt_memory_write(j->t->mem,
					p->patch[i].home + offsetof(struct patch, length), &none,
					1);
		else
			p->patch[n++] = p->patch[i];
	}
	p->patches = n;
}

/* It is planted: the new places are those that count from here on. */
static int take_over(struct job *j, struct dt_error *e)
{
	const uint8_t off = DT_CAPTURE_OFF;
	struct dt_probes *p = j->p;
	struct pc_entry *more;

	if (j->undos)
		forget_undone(j);
	for (size_t i = 0; i < j->m->file->elf->sites; i++)
		if (j->toggle[i])
			p->toggle[i] = j->toggle[i];
	for (uint32_t id = 0; id < p->points; id++) {
		const struct dt_captured *c = j->captured[id];
		bool made = c && c->pcs;

		/* threads that are in the old trampoline still may record there; others can not */
		if ((made || j->skipped[id]) && p->point[id].toggle)
			dt_memory_write(j->t->mem, p->point[id].toggle, &off, 1);
		if (made)
			p->point[id].toggle = c->toggle;
		if (j->skipped[id])
			p->point[id].state = UNTRIED;
		if (p->point[id].state != PLANTED)
			p->point[id].toggle = 0;
	}
	qsort(p->window, p->windows, sizeof(*p->window), window_by_start);
	more = realloc(p->pc, (p->pcs + j->pcs + 1) * sizeof(*more));
	if (!more)
		return dt_fail(e, "out of memory");
	p->pc = more;
	if (j->pcs)
		memcpy(p->pc + p->pcs, j->pc, j->pcs * sizeof(*more));
	p->pcs += j->pcs;
	qsort(p->pc, p->pcs, sizeof(*p->pc), dt_probe_by_pc);
	return 0;
}

static void forget_job(struct job *j)
{
	free(j->near.bytes);
	free(j->far_bytes);
	free(j->far);
	free(j->toggle);
	for (uint32_t id = 0; j->captured && id < j->p->points; id++)
		free(j->captured[id]);
	free(j->captured);
	free(j->failed);
	free(j->skipped);
	free(j->gone);
	free(j->undo);
	free(j->pc);
}

static int begin(struct job *j, size_t functions, struct dt_error *e)
{
	const struct dt_module *m = j->m;
	struct dt_maps maps;
	int rc;

	j->first_window = j->p->windows;
	j->first_patch = j->p->patches;
	j->mark = dt_plan_mark(&j->p->plan);
	if (point_room(j->p, m->file->points.n, e) < 0)
		return -1;
	j->toggle = calloc(m->file->elf->sites + 1, sizeof(*j->toggle));
	j->captured = calloc(j->p->points + 1, sizeof(*j->captured));
	j->failed = calloc(m->file->code->functions + 1, sizeof(*j->failed));
	j->skipped = calloc(j->p->points + 1, sizeof(*j->skipped));
	if (!j->toggle || !j->captured || !j->failed || !j->skipped)
		return dt_fail(e, "out of memory");
	if (dt_maps_read(j->t->pid, &maps, e) < 0)
		return -1;
	rc = maps.n ? find_space(j->t, j->p, &maps, e)
		    : dt_fail(e, "process %d has ended", j->t->pid);
	dt_maps_free(&maps);
	return rc == 0 ? place_region(j, functions, e) : -1;
}

static int plan_all(struct job *j, const bool *wanted, struct dt_error *e)
{
	struct dt_probes *p = j->p;

	for (size_t i = 0; wanted && i < j->m->file->code->functions; i++)
		if (wanted[i] && plan_function(j, i, e) < 0)
			return -1;
	for (uint32_t id = 0; id < p->points; id++)
		if (p->point[id].state == UNTRIED && j->m->file->points.point[id]->wanted &&
		    plan_point(j, id, e) < 0)
			return -1;
	return 0;
}

/* Nothing has been planted: what was there before is all there is. It may be tried again. */
static void give_back(struct job *j, const bool *wanted)
{
	struct dt_probes *p = j->p;

	p->windows = j->first_window;
	p->patches = j->first_patch;
	if (p->plan.code && !p->plan.failed) {
		dt_plan_back(&p->plan, &j->mark);
		for (size_t i = j->n_gone; i-- > 0;)
			if (j->gone[i].index < j->mark.windows)
				dt_plan_restore(&p->plan, &(struct dt_window_gone){j->gone[i].index,
										   j->gone[i].was});
	}
	for (uint32_t id = 0; id < p->points; id++)
		if (p->point[id].state == PLANTED && !p->point[id].toggle)
			p->point[id].state = UNTRIED;
	for (size_t i = 0; wanted && i < j->m->file->code->functions; i++)
		if (wanted[i])
			p->state[i] = UNTRIED;
}

int dt_probe_plant(struct dt_target *t, struct dt_module *m, const bool *wanted, size_t n,
		   struct dt_error *e)
{
	struct dt_probes *p = m->probes;
	struct claimer claimer = {p, m};
	struct job j = {.t = t, .m = m, .p = p};
	int rc = begin(&j, n, e);

	if (rc < 0 || (rc = begin_plan(&j, claim, &claimer, e)) < 0)
		goto out;
	emit_thunks(&j);
	rc = plan_all(&j, wanted, e);
	if (rc == 0)
		rc = make_all(&j, e);
	if (rc == 0) {
		drop_failed(&j);
		qsort(p->patch + j.first_patch, p->patches - j.first_patch, sizeof(*p->patch),
		      dt_probe_by_patch);
		rc = collect_undo(&j, e);
	}
	if (rc == 0)
		rc = collect_pcs(&j, e);
	if (rc == 0)
		rc = emit_tables(&j, e);
	if (rc == 0 && (p->windows > j.first_window || j.undos))
		rc = write_stopped(&j, e);
	if (rc == 0)
		rc = take_over(&j, e);
out:
	if (rc < 0)
		give_back(&j, wanted);
	forget_job(&j);
	return rc;
}
