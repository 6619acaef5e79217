/* SPDX-License-Identifier: MIT */
/* Probes in a live process: the file's sites, switching, and looking up. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "process/ahead.h"
#include "symbols/pattern.h"
#include "hook/entered.h"
#include "hook/probes-work.h"

/* Functions that hook/connect.c leads through the area. */
static const char *const ours[] = {"execve", "__execve", "execveat", "vfork",		"__vfork",
				   "clone",  "__clone",	 "__clone3", "_dl_debug_state", "clone3"};

/* ---- the file's sites */

bool dt_probe_is_ours(const struct dt_file *file, size_t function)
{
	const struct dt_code_function *f = &file->code->function[function];
	const char *name = f->name;

	for (size_t i = 0; name && i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return file->clone3 >= f->start && file->clone3 < f->end;
}

bool dt_probe_is_apart(const void *file, size_t function)
{
	return dt_probe_is_ours(file, function);
}

static int by_address(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind - y->kind;
}

/* Returns how many sites the functions can have at most: their exits, and an entry each. */
static size_t exits_of(const struct dt_code *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->functions; i++)
		n += c->function[i].exits + 1;
	return n;
}

/* Marks the sleds and the instructions of events: they are toggled in place, so never moved. */
static void keep_sleds(struct dt_file *f)
{
	for (size_t i = 0; i < f->elf->sites; i++) {
		const struct dt_elf_site *s = &f->elf->site[i];
		const struct dt_code_region *r = dt_code_region_of(f->code, s->address);

		for (uint64_t at = s->address;
		     r && at < s->address + dt_sled_size[s->kind] && at < r->high; at++)
			r->mark[at - r->low] |= DT_CODE_READ;
	}
}

int dt_file_code(struct dt_file *f, struct dt_error *e)
{
	if (f->code)
		return 0;
	if (!f->elf || !f->readable || !DT_PROBES)
		return dt_fail(e, DT_PROBES ? "%s: can not be read" : DT_SLEDS_ONLY, f->path);
	f->code = dt_code_open(f->readable, dt_file_symtab(f), e);
	if (!f->code)
		return -1;
	keep_sleds(f);
	dt_file_clone3(f);
	return 0;
}

/* Returns the slot through which the PLT entry at an address jumps; 0: none. */
static uint64_t slot_of(const struct dt_code_region *r, uint64_t at)
{
	uint8_t plt[DT_PLT] = {0}; /* the last entry may be shorter */

	memcpy(plt, r->bytes + (at - r->low), r->high - at < DT_PLT ? r->high - at : DT_PLT);
	return dt_plt_slot(plt, at);
}

/*
 * Replaces PLT entries as targets of tail jumps by the functions they lead to, as far as this file
 * alone shows that. Without memory they stay as they are.
 */
static void resolve_targets(struct dt_file *f)
{
	struct dt_elf *elf = f->elf;
	struct dt_elf_slot *slot = calloc(elf->sites + 1, sizeof(*slot));
	size_t n = 0;

	for (size_t i = 0; slot && i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		const struct dt_code_region *r = s->kind == DT_ELF_PROBE_TAIL && s->target
							 ? dt_code_region_of(f->code, s->target)
							 : NULL;

		if (r && r->plt)
			slot[n++] = (struct dt_elf_slot){slot_of(r, s->target), 0, i};
	}
	if (n)
		dt_elf_slot_functions(elf, slot, n);
	for (size_t i = 0; i < n; i++)
		if (slot[i].slot && slot[i].function)
			elf->site[slot[i].site].target = slot[i].function;
	free(slot);
}

int dt_file_probes(struct dt_file *f, struct dt_error *e)
{
	struct dt_elf_site *site;
	bool *entered;
	size_t n;

	if (f->probed)
		return 0;
	if (f->elf && f->elf->sleds)
		return dt_fail(e, "%s: has sleds", f->path);
	/* these arrays have an element for each site that there was so far */
	if (f->elf && f->elf->sites && (f->chosen || f->hooked))
		return dt_fail(e, "%s: only its events can be recorded", f->path);
	if (dt_file_code(f, e) < 0)
		return -1;
	n = f->elf->sites;
	entered = dt_entered(f->code);
	site = calloc(n + exits_of(f->code) + 1, sizeof(*site));
	if (!site || !entered) {
		free(entered);
		free(site);
		return dt_fail(e, "out of memory");
	}
	if (n)
		memcpy(site, f->elf->site, n * sizeof(*site));
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *x = &f->code->function[i];
		uint64_t whole = f->code->function[x->whole].start;

		if (!x->part)
			site[n++] = (struct dt_elf_site){.address = x->start,
							 .function = x->start,
							 .target = dt_runs_into(f->code, i),
							 .kind = DT_ELF_PROBE_ENTRY,
							 .jumps = x->anywhere || x->falls};
		for (uint32_t k = 0; k < x->exits; k++) {
			const struct dt_exit *exit = &f->code->exit[x->first_exit + k];
			bool returns = exit->kind == DT_EXIT_RETURN;

			site[n++] = (struct dt_elf_site){.address = exit->address,
							 .function = whole,
							 .target = exit->target,
							 .kind = returns ? DT_ELF_PROBE_RETURN
									 : DT_ELF_PROBE_TAIL,
							 .entered = entered[x->whole]};
		}
	}
	free(entered);
	qsort(site, n, sizeof(*site), by_address);
	free(f->elf->site);
	f->elf->site = site;
	f->elf->sites = n;
	f->indexed = 0;
	f->probed = true;
	resolve_targets(f);
	return 0;
}

/* ---- making */

/* Makes the empty probes of a module. */
static struct dt_probes *make(const struct dt_module *m, struct dt_error *e)
{
	struct dt_probes *p = calloc(1, sizeof(*p));

	if (p) {
		p->state = calloc(m->file->code->functions + 1, 1);
		p->toggle = calloc(m->file->elf->sites + 1, sizeof(*p->toggle));
	}
	if (!p || !p->state || !p->toggle) {
		dt_probes_free(p);
		dt_fail(e, "out of memory");
		return NULL;
	}
	return p;
}

void dt_probes_fold(struct dt_probes *p)
{
	if (!p)
		return;
	if (p->plan.code)
		dt_plan_end(&p->plan);
	dt_space_free(&p->space);
	dt_made_free(&p->made);
	free(p->state);
	free(p->patch);
	free(p->window);
	free(p->moved);
	p->plan.code = NULL;
	p->state = NULL;
	p->patch = NULL;
	p->window = NULL;
	p->moved = NULL;
	p->patches = p->patch_room = p->windows = p->window_room = p->n_moved = p->moved_room = 0;
}

void dt_probes_free(struct dt_probes *p)
{
	if (!p)
		return;
	dt_probes_fold(p);
	free(p->toggle);
	free(p->point);
	free(p->region);
	free(p->pc);
	free(p);
}

void dt_probes_remember(const struct dt_module *m)
{
	struct dt_file *f = m->file;

	if (!dt_probes_any(m->probes) || !f->elf)
		return;
	if (!f->hooked)
		f->hooked = calloc(f->elf->sites + 1, sizeof(*f->hooked));
	for (size_t i = 0; f->hooked && i < f->elf->sites; i++)
		f->hooked[i] = f->hooked[i] || dt_probes_pc(m, i);
}

/* ---- switching */

static int put_byte(struct dt_target *t, uint64_t at, uint8_t to, struct dt_error *e)
{
	if (dt_memory_write(t->mem, at, &to, 1) < 0)
		return dt_fail(e, "process %d: a site can not be switched: %s", t->pid,
			       strerror(errno));
	return 0;
}

/* Writes a byte, unless it is there already. */
static int write_byte(struct dt_target *t, uint64_t at, uint8_t to, struct dt_error *e)
{
	uint8_t now;

	return dt_memory_read(t->mem, at, &now, 1) == 0 && now == to ? 0 : put_byte(t, at, to, e);
}

/* Does the same, with reading ahead, since most of tens of thousands of switches are already as
 * they are to be. Only we change them. */
static int switch_byte(struct dt_target *t, struct dt_ahead *a, uint64_t at, uint8_t to,
		       struct dt_error *e)
{
	uint8_t now;

	if (dt_ahead_read(a, t->mem, at, &now, 1) && now == to)
		return 0;
	dt_ahead_note(a, at, to);
	return put_byte(t, at, to, e);
}

/* Looks whether a function is in the module: a process can have mapped a part of its file once more
 * (node does so with V8's built-in functions). */
static bool is_mapped(const struct dt_module *m, const struct dt_code_function *f)
{
	return f->start + m->bias >= m->low && f->start + m->bias < m->high;
}

/*
 * Marks the functions that are to be planted: those that have a chosen site from low to high, and
 * have not been tried. Returns how many; with wanted NULL, 1 if there is any.
 */
static size_t wanted_functions(const struct dt_target *t, const struct dt_module *m, uint64_t low,
			       uint64_t high, bool *wanted)
{
	const struct dt_elf *elf = m->file->elf;
	const struct dt_code *code = m->file->code;
	size_t n = 0, f = 0;

	if (dt_target_is_silent(t) || !m->file->chosen || !m->file->probed)
		return 0;
	for (size_t i = dt_elf_site_from(elf, low); i < elf->sites && elf->site[i].address <= high;
	     i++) {
		if (!m->file->chosen[i] || !dt_elf_is_probe(&elf->site[i]))
			continue;
		f = dt_code_function_from(code, f, elf->site[i].function);
		if (f == code->functions || !is_mapped(m, &code->function[f]) ||
		    (m->probes && m->probes->state[f] != UNTRIED) || (wanted && wanted[f]))
			continue;
		n++;
		if (!wanted)
			break;
		wanted[f] = true;
	}
	return n;
}

/* Looks whether there are points that are wanted and have not been tried. */
static bool untried_points(const struct dt_target *t, const struct dt_module *m)
{
	const struct dt_points *all = &m->file->points;
	const struct dt_probes *p = m->probes;

	for (uint32_t id = 0; id < all->n && !dt_target_is_silent(t); id++)
		if (all->point[id]->wanted &&
		    (!p || id >= p->points || p->point[id].state == UNTRIED))
			return true;
	return false;
}

bool dt_probes_wants(const struct dt_target *t, const struct dt_module *m, uint64_t low,
		     uint64_t high)
{
	return m->file->code && !t->execing &&
	       (wanted_functions(t, m, low, high, NULL) || untried_points(t, m) ||
		(m->probes && m->probes->lifted) || dt_probe_ways_differ(t, m, low, high));
}

/* Adds to a semaphore: the counter that a program looks at before it reaches a USDT probe. */
static int raise_semaphore(struct dt_target *t, uint64_t at, int by, struct dt_error *e)
{
	uint16_t now;

	if (dt_memory_read(t->mem, at, &now, sizeof(now)) < 0)
		goto fail;
	now = (uint16_t)(now + by);
	if (dt_memory_write(t->mem, at, &now, sizeof(now)) < 0)
		goto fail;
	return 0;
fail:
	return dt_fail(e, "process %d: the semaphore of a probe can not be changed: %s", t->pid,
		       strerror(errno));
}

/* Switches all points on or off as they are wanted, with their semaphores. */
static int switch_points(struct dt_target *t, struct dt_module *m, struct dt_ahead *a,
			 struct dt_error *e)
{
	int rc = 0;

	for (uint32_t id = 0; id < m->probes->points && rc == 0; id++) {
		const struct dt_point *point = m->file->points.point[id];
		struct planted_point *x = &m->probes->point[id];
		bool on = point->wanted && !dt_target_is_silent(t);

		/* when it is wanted again, what was in its way may be gone */
		if (x->state == REFUSED && !point->wanted)
			x->state = UNTRIED;
		if (x->toggle)
			rc = switch_byte(t, a, x->toggle, on ? DT_CAPTURE_ON : DT_CAPTURE_OFF, e);
		on = on && x->toggle;
		if (rc == 0 && point->semaphore && on != x->raised) {
			rc = raise_semaphore(t, m->bias + point->semaphore, on ? 1 : -1, e);
			x->raised = on;
		}
	}
	return rc;
}

/* Returns where the PLT entry at an address of the file leads, if it is in the file; 0: it is no
 * such entry. */
static uint64_t behind_plt(const struct dt_target *t, const struct dt_module *m, struct dt_ahead *a,
			   uint64_t at)
{
	const struct dt_code_region *r = dt_code_region_of(m->file->code, at);
	uint64_t slot, to;

	if (!r || !r->plt)
		return 0;
	slot = slot_of(r, at);
	if (!slot || !dt_ahead_read(a, t->mem, slot + m->bias, &to, sizeof(to)))
		return 0;
	if (to < m->low || to >= m->high)
		return 0;
	r = dt_code_region_of(m->file->code, to - m->bias);
	if (!r)
		return 0;
	/* one that leads back to the PLT is filled in at its first call */
	return r->plt ? 0 : to - m->bias;
}

/* Notes which functions the file's PLT leads to in this process. Without memory, that is not known.
 */
static void read_picked(const struct dt_target *t, struct dt_module *m, struct dt_ahead *a)
{
	const struct dt_code *code = m->file->code;
	bool *picked = calloc(code->functions + 1, sizeof(*picked));

	for (size_t i = 0; picked && i < code->regions; i++) {
		const struct dt_code_region *r = &code->region[i];

		/* entries have 8 or 16 bytes */
		for (uint64_t at = r->low; r->plt && at < r->high; at += 8) {
			uint64_t to = behind_plt(t, m, a, at);
			size_t k = to ? dt_code_function_at(code, to) : code->functions;

			if (k < code->functions && code->function[k].start == to)
				picked[k] = true;
		}
	}
	free(m->file->picked);
	m->file->picked = picked;
}

/*
 * Looks up, while the process runs, where tail jumps to PLT entries lead: libc calls its functions
 * that are chosen for the processor (IFUNC) by these. It is asked once for each file: what leads to
 * another file is looked up when it is first recorded, in the process that did.
 */
static void read_targets(const struct dt_target *t, struct dt_module *m)
{
	struct dt_elf *elf = m->file->elf;
	struct dt_ahead ahead = {.high = 0};

	for (size_t i = 0; i < elf->sites && !m->file->targets_read; i++) {
		struct dt_elf_site *s = &elf->site[i];
		uint64_t to = s->kind == DT_ELF_PROBE_TAIL && s->target
				      ? behind_plt(t, m, &ahead, s->target)
				      : 0;

		if (to) {
			s->target = to;
			s->late = true;
		}
	}
	if (!m->file->targets_read)
		read_picked(t, m, &ahead);
	m->file->targets_read = true;
}

int dt_probes_sync(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		   struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	struct dt_ahead ahead = {.high = 0};
	size_t n = 0;
	bool *wanted;
	int rc = 0;

	if (!m->file->chosen_sites && !m->file->points.n && !m->probes)
		return 0;
	if (!m->probes && !(m->probes = make(m, e)))
		return -1;
	wanted = calloc(m->file->code->functions + 1, sizeof(*wanted));
	if (!wanted)
		return dt_fail(e, "out of memory");
	n = wanted_functions(t, m, low, high, wanted);
	if ((n || untried_points(t, m)) && !t->execing)
		rc = dt_probe_plant(t, m, wanted, n, e);
	free(wanted);
	if (rc == 0 && n)
		read_targets(t, m);
	if (rc == 0)
		rc = dt_probe_ways_change(t, m, low, high, e);
	for (size_t i = m->file->chosen && m->file->probed ? dt_elf_site_from(elf, low)
							   : elf->sites;
	     rc == 0 && i < elf->sites && elf->site[i].address <= high; i++)
		if (m->probes->toggle[i])
			rc = switch_byte(t, &ahead, m->probes->toggle[i],
					 m->file->chosen[i] && !dt_target_is_silent(t)
						 ? DT_HOOK_CALL_ON
						 : DT_HOOK_CALL_OFF,
					 e);
	if (rc == 0 && (rc = switch_points(t, m, &ahead, e)) == 0 && !t->execing)
		rc = dt_probe_lift(t, m, e);
	if (!dt_file_has_toggles(m->file))
		m->hooked = m->on = m->probes->pcs > 0;
	return rc;
}

int dt_probe_ways(struct dt_target *t, uint64_t way[WAYS], struct dt_error *e)
{
	uint64_t hook[DT_HOOKS];

	if (dt_area_hooks(t->mem, t->area, t->fast, hook) < 0)
		return dt_fail(e, "the area of process %d can not be read", t->pid);
	way[WAY_ENTRY] = hook[DT_HOOK_ENTRY];
	way[WAY_EXIT] = hook[DT_HOOK_EXIT];
	way[WAY_EXIT_ERRNO] = hook[DT_HOOK_EXIT_ERRNO];
	way[WAY_JUMP] = hook[DT_HOOK_JUMP];
	way[WAY_ENTRY_FROM] = hook[DT_HOOK_ENTRY_FROM];
	way[WAY_EXIT_FROM] = hook[DT_HOOK_EXIT_FROM];
	way[WAY_EXIT_ERRNO_FROM] = hook[DT_HOOK_EXIT_ERRNO_FROM];
	way[WAY_JUMP_FROM] = hook[DT_HOOK_JUMP_FROM];
	way[WAY_VALUES] = hook[DT_HOOK_EVENT4];
	way[WAY_PEEK] = t->area + dt_blob_head()->peek;
	way[WAY_TEXT] = t->area + dt_blob_head()->text;
	way[WAY_CROSSES] = t->area + dt_blob_head()->crosses;
	return 0;
}

int dt_probes_hook(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	uint64_t way[WAYS];
	struct head h;

	if (dt_probe_ways(t, way, e) < 0)
		return -1;
	for (size_t i = 0; i < p->regions; i++)
		if (dt_memory_read(t->mem, p->region[i].low, &h, sizeof(h)) == 0 &&
		    h.magic == MAGIC &&
		    dt_memory_write(t->mem, p->region[i].low + offsetof(struct head, way), way,
				    sizeof(way)) < 0)
			return dt_fail(e, "the trampolines of process %d can not be written: %s",
				       t->pid, strerror(errno));
	return 0;
}

bool dt_probes_any(const struct dt_probes *p)
{
	return p && p->pcs;
}

int dt_probes_off(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->pcs; i++)
		rc = write_byte(t, p->pc[i].toggle,
				p->pc[i].site == NONE ? DT_CAPTURE_OFF : DT_HOOK_CALL_OFF, e);
	return rc;
}

int dt_probes_rest(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	struct dt_probes *p = m->probes;
	int rc = 0;

	for (uint32_t id = 0; p && id < p->points && rc == 0; id++) {
		if (p->point[id].toggle)
			rc = write_byte(t, p->point[id].toggle, DT_CAPTURE_OFF, e);
		if (rc == 0 && p->point[id].raised) {
			rc = raise_semaphore(t, m->bias + m->file->points.point[id]->semaphore, -1,
					     e);
			p->point[id].raised = false;
		}
	}
	return rc;
}

/* ---- asking */

/* Returns the entry of a recorded pc; NULL: none. */
static const struct pc_entry *entry_at(const struct dt_module *m, uint64_t pc)
{
	const struct dt_probes *p = m->probes;
	size_t low = dt_count_before(p ? p->pcs : 0, i, p->pc[i].pc < pc);

	return p && low < p->pcs && p->pc[low].pc == pc ? &p->pc[low] : NULL;
}

const struct dt_elf_site *dt_probes_site(const struct dt_module *m, uint64_t pc)
{
	const struct pc_entry *x = entry_at(m, pc);

	if (!x)
		return NULL;
	return x->site == NONE ? &m->file->points.point[x->point]->site
			       : &m->file->elf->site[x->site];
}

const struct dt_point *dt_probes_point(const struct dt_module *m, uint64_t pc, unsigned *first,
				       unsigned *text)
{
	const struct pc_entry *x = entry_at(m, pc);

	if (!x || x->site != NONE)
		return NULL;
	*first = x->first;
	*text = x->text;
	return m->file->points.point[x->point];
}

size_t dt_probes_point_pcs(const struct dt_module *m, uint32_t id, uint64_t *pc, size_t most)
{
	const struct dt_probes *p = m->probes;
	size_t n = 0;

	if (!p || id >= p->points || !p->point[id].toggle)
		return 0;
	for (size_t i = 0; i < p->pcs && n < most; i++)
		if (p->pc[i].site == NONE && p->pc[i].point == id &&
		    p->pc[i].toggle == p->point[id].toggle)
			pc[n++] = p->pc[i].pc;
	return n;
}

const char *dt_probes_refused(const struct dt_module *m, uint32_t id, uint64_t *near)
{
	const struct dt_probes *p = m->probes;

	*near = 0;
	if (!p || id >= p->points || p->point[id].state != REFUSED)
		return NULL;
	*near = p->point[id].near;
	return p->point[id].why;
}

uint64_t dt_probes_pc(const struct dt_module *m, size_t site)
{
	return m->probes && m->probes->toggle[site] ? m->probes->toggle[site] + DT_HOOK_CALL : 0;
}

/* ---- how a file's functions would be hooked */

/* The context of claim_pretended(). */
struct pretended {
	const struct dt_code *code;
	struct dt_space space;
	uint64_t bias;
};

/* Does what claim() in probes-plant.c does, for a file that is mapped nowhere. */
static bool claim_pretended(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	struct pretended *x = ctx;

	low += x->bias;
	high += x->bias;
	if (low + DT_REACH_PUNNED < x->code->high + x->bias ||
	    high > x->code->low + x->bias + DT_REACH_PUNNED)
		return false;
	if (!dt_space_claim(&x->space, low, high, size, at))
		return false;
	*at -= x->bias;
	return true;
}

/* Plans as dt_job_plan() does when everything is chosen, but start-up code, which usually is not,
 * comes last. */
static void plan_ways(struct dt_plan *plan, struct dt_file *f, struct dt_probe_way *way)
{
	const struct dt_code *code = plan->code;
	bool any = dt_symtab_has_startup(dt_file_symtab(f));

	for (unsigned round = 0; round < 4; round++)
		for (size_t i = 0; i < code->functions; i++) {
			struct dt_plan_function out = {.why = "not known"};
			bool startup = any && dt_name_is_startup(code->function[i].name);

			if (startup != (round > 1) || (round % 2 && !way[i].crowded))
				continue;
			way[i].startup = startup;
			if (dt_probe_is_ours(f, i)) {
				way[i].hooked = code->function[i].start == dt_file_execve(f);
				way[i].how =
					way[i].hooked ? "led" : "devtrace itself is led through it";
				continue;
			}
			if (round % 2)
				dt_plan_function_among(plan, i, &out);
			else
				dt_plan_function(plan, i, &out);
			way[i].crowded = out.refusal == DT_REFUSED_TAKEN;
			way[i].hooked = out.refusal == DT_REFUSED_NOT;
			way[i].how = way[i].hooked ? dt_tactic_name(out.tactic) : out.why;
		}
}

struct dt_probe_way *dt_file_probe_ways(struct dt_file *f, struct dt_error *e)
{
	struct pretended x = {.code = f->code, .bias = f->elf->type == ET_EXEC ? 0 : 1ull << 44};
	const struct dt_plan_options options = {.hook = HOOK,
						.no_traps = true,
						.claim = claim_pretended,
						.ctx = &x,
						.apart = dt_probe_is_apart,
						.file = f};
	struct dt_probe_way *way = calloc(f->code->functions + 1, sizeof(*way));
	uint64_t low = f->code->low + x.bias, high = f->code->high + x.bias;
	struct dt_plan plan;

	if (!way) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	if (low > 0x10000 + 2 * MARGIN &&
	    dt_space_add(&x.space, 0x10000 + MARGIN, low - MARGIN, e) < 0)
		goto fail;
	if (dt_space_add(&x.space, high + MARGIN, high + MARGIN + 2 * DT_REACH_PUNNED, e) < 0 ||
	    dt_plan_begin(&plan, f->code, &options, e) < 0)
		goto fail;
	plan_ways(&plan, f, way);
	dt_plan_end(&plan);
	dt_space_free(&x.space);
	return way;
fail:
	dt_space_free(&x.space);
	free(way);
	return NULL;
}
