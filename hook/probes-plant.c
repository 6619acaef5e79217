/* SPDX-License-Identifier: MIT */
/*
 * Planting probes: writes what probes-plan.c has made while all threads stand still, and puts back
 * the bytes of windows that are replaced by others.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/search.h"
#include "hook/probes-job.h"

/* bytes of trampolines and tables per function: 2.5 windows of 30 bytes, and as many patches */
#define FUNCTION_SIZE 800

/* Sorts, unless it is sorted already: what was copied from another process is. */
static void sort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	const char *at = base;

	for (size_t i = 1; i < n; i++)
		if (compare(at + (i - 1) * size, at + i * size) > 0) {
			qsort(base, n, size, compare);
			return;
		}
}

/* Collects the patches of windows that are gone, which are to be put back. */
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

#define STACK_MOST (1ull << 30) /* bytes left free below a stack without a limit */

/* Looks whether the mapping is a region of trampolines of one of n modules. */
static bool is_of(const struct dt_module *module, size_t n, const struct dt_mapping *m)
{
	for (size_t i = 0; i < n; i++) {
		const struct dt_probes *p = module[i].probes;

		for (size_t k = 0; p && k < p->regions; k++)
			if (m->low >= p->region[k].low && m->low < p->region[k].high)
				return true;
	}
	return false;
}

/* Looks whether the mapping is a region of trampolines of this process. These do not grow, so
 * others can be mapped close to them. */
static bool is_region(const struct dt_target *t, const struct dt_mapping *m)
{
	return is_of(t->module, t->n, m) || is_of(t->gone, t->n_gone, m) ||
	       is_of(t->shelf, t->n_shelf, m);
}

/* Returns how much is left free below a mapping. The vdso may lie just above the stack. */
static uint64_t margin_of(const struct dt_target *t, const struct dt_mapping *m)
{
	struct rlimit most;

	if (is_region(t, m))
		return PAGE;
	if (strcmp(m->path, "[stack]") != 0 || prlimit(t->pid, RLIMIT_STACK, NULL, &most) < 0 ||
	    most.rlim_cur <= MARGIN)
		return MARGIN;
	return most.rlim_cur < STACK_MOST ? most.rlim_cur + MARGIN : STACK_MOST;
}

/* Notes the free addresses in p->space. What was claimed before is mapped by now. */
static int find_space(const struct dt_target *t, struct dt_probes *p, const struct dt_maps *maps,
		      struct dt_error *e)
{
	uint64_t last = 0x10000, beside = MARGIN;

	dt_space_free(&p->space);
	memset(&p->space, 0, sizeof(p->space));
	for (size_t i = 0; i < maps->n && maps->map[i].low < DT_USER_TOP; i++) {
		uint64_t low = maps->map[i].low, margin = margin_of(t, &maps->map[i]);

		if (low > last + beside + margin &&
		    dt_space_add(&p->space, last + beside, low - margin, e) < 0)
			return -1;
		last = maps->map[i].high;
		beside = margin < MARGIN ? margin : MARGIN;
	}
	return last + beside + MARGIN < DT_USER_TOP
		       ? dt_space_add(&p->space, last + beside, DT_USER_TOP - MARGIN, e)
		       : 0;
}

/* The context of claim(). */
struct claimer {
	struct dt_probes *p;
	const struct dt_module *m;
};

/* Claims room for the plan, whose addresses are the file's: see dt_plan_claim. */
static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	const struct claimer *c = ctx;
	const struct dt_module *m = c->m;

	low += m->bias;
	high += m->bias;
	if (low + DT_REACH_PUNNED < m->high || high > m->low + DT_REACH_PUNNED)
		return false; /* the thunks must be within reach from there */
	if (!dt_space_claim(&c->p->space, low, high, size, at))
		return false;
	*at -= m->bias;
	return true;
}

bool dt_job_room(struct job *j, uint64_t n, uint64_t *at)
{
	const struct dt_module *m = j->m;
	bool found = dt_space_claim(&j->p->space,
				    m->high > DT_REACH_BESIDE ? m->high - DT_REACH_BESIDE : 0x10000,
				    m->low + DT_REACH_BESIDE, n + PAGE, at);

	*at = found ? (*at + PAGE - 1) & ~(PAGE - 1) : 0;
	return found;
}

/* Claims the region for the trampolines, within reach of everything that the file maps. */
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
	/* the ways take some three pages */
	j->made.size = (functions * FUNCTION_SIZE + points + 7 * PAGE + PAGE - 1) & ~(PAGE - 1);
	if (!dt_job_room(j, j->made.size, &at))
		return dt_fail(e, "no room for trampolines near %s", m->file->path);
	j->made.near = (struct dt_emit){.room = j->made.size, .address = at};
	j->made.near.bytes = calloc(1, j->made.size);
	j->made.near.fixes = &j->made.fixes;
	return j->made.near.bytes ? 0 : dt_fail(e, "out of memory");
}

/*
 * Emits the region's head, and the thunks: ways to the hooks within reach of the trampolines.
 * functions: windows of functions are made, too, not only those of points; without them the ways to
 * their hooks, which take most room, are left out.
 */
static void emit_thunks(struct job *j, bool functions)
{
	struct dt_emit *o = &j->made.near;
	uint64_t way = dt_emit_here(o) + offsetof(struct head, way);

	for (size_t i = 0; i < sizeof(struct head); i += 8)
		dt_emit_u64(o, 0);
	for (unsigned i = 0; i < WAYS; i++, way += 8) {
		if (dt_way_is_switched(i) && !functions)
			continue;
		j->thunk[i] = dt_emit_here(o);
		dt_hook_way_emit(o, way, dt_way_is_switched(i));
	}
}

/* ---- tables */

/* Appends to j->pc. */
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

/* Returns the run-time address of a point's semaphore; 0: it has none. */
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

/* Collects the pcs that the new hooks record. */
static int collect_pcs(struct job *j, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < j->m->file->elf->sites && rc == 0; i++)
		if (j->toggle[i])
			rc = note_pc(j,
				     &(struct pc_entry){.pc = j->toggle[i] + DT_HOOK_CALL,
							.toggle = j->toggle[i],
							.site = (uint32_t)i},
				     e);
	for (uint32_t id = 0; id < j->p->points && rc == 0; id++)
		rc = collect_point(j, id, e);
	return rc;
}

/* Emits the tables that a later controller needs to take the probes away, and fills in the head. */
static int emit_tables(struct job *j, struct dt_error *e)
{
	struct head *h = (struct head *)j->made.near.bytes;
	struct dt_emit *o = &j->made.near;

	j->made.code = o->size;
	dt_emit_pad(o, 8);
	*h = (struct head){.magic = MAGIC};
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
	for (size_t i = 0; i < j->made.fars; i++) {
		struct region x = {j->made.far[i].low & ~(PAGE - 1),
				   (j->made.far[i].high + PAGE - 1) & ~(PAGE - 1)};

		dt_emit_bytes(o, &x, sizeof(x));
		h->regions++;
	}
	if (o->size > o->room)
		return dt_fail(e, "the trampolines of %s do not fit", j->m->file->path);
	/* room that was reserved and is not used is left to later plantings */
	j->made.size = (o->size + PAGE - 1) & ~(PAGE - 1);
	h->bytes = j->made.size;
	return 0;
}

/* ---- writing */

/* Maps the region for the trampolines, and pages for the punned ones. */
static int map_regions(struct job *j, pid_t tid, const struct dt_maps *maps, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	struct region *more =
		realloc(p->region, (p->regions + 1 + 5 * j->made.fars) * sizeof(*more));
	struct dt_injected_call *call = calloc(1 + 5 * j->made.fars, sizeof(*call));
	size_t first = p->regions, n = 0;
	int rc = -1;

	if (more)
		p->region = more;
	if (!more || !call) {
		dt_fail(e, "out of memory");
		goto out;
	}
	more[first + n++] =
		(struct region){j->made.near.address, j->made.near.address + j->made.size};
	for (size_t i = 0; i < j->made.fars; i++) {
		uint64_t low = j->made.far[i].low & ~(PAGE - 1);

		for (; low < j->made.far[i].high; low += PAGE) {
			p->regions = first + n;
			if (!dt_probe_has_region(p, low, low + PAGE))
				more[first + n++] = (struct region){low, low + PAGE};
		}
	}
	p->regions = first;
	for (size_t i = 0; i < n; i++)
		call[i] = (struct dt_injected_call){
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

/* Writes the trampolines. The process may run meanwhile, since nothing leads there yet. */
static int write_trampolines(struct job *j, struct dt_error *e)
{
	struct head *h = (struct head *)j->made.near.bytes;

	if (dt_probe_ways(j->t, h->way, e) < 0)
		return -1;
	if (dt_memory_write(j->t->mem, j->made.near.address, j->made.near.bytes,
			    j->made.near.size) < 0)
		goto fail;
	for (size_t i = 0; i < j->made.fars; i++)
		if (dt_memory_write(j->t->mem, j->made.far[i].low, j->made.far_bytes[i],
				    j->made.far[i].high - j->made.far[i].low) < 0)
			goto fail;
	return 0;
fail:
	return dt_fail(e, "the trampolines of process %d can not be written: %s", j->t->pid,
		       strerror(errno));
}

/* Maps the trampolines, while one thread stands still for a moment, and writes them. */
static int prepare(struct job *j, struct dt_error *e)
{
	struct dt_target *t = j->t;
	struct dt_threads one;
	int rc;

	if (t->held) {
		rc = map_trampolines(j, t->held, e);
	} else {
		if (dt_threads_stop_one(t->pid, t->pid, &one, e) < 0) {
			t->busy = true;
			return -1;
		}
		rc = map_trampolines(j, t->pid, e);
		dt_threads_release(&one);
		dt_probe_note_stop(t, &one);
	}
	return rc == 0 ? write_trampolines(j, e) : -1;
}

/* Writes what has been made: first the trampolines, then, with the process stopped, the jumps. */
static int write_stopped(struct job *j, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	const struct dt_probe_change change = {.undo = j->undo,
					       .undos = j->undos,
					       .put = p->patch + j->first_patch,
					       .puts = p->patches - j->first_patch,
					       .window = p->window + j->first_window,
					       .windows = p->windows - j->first_window};

	if (prepare(j, e) < 0)
		return -1;
	sort(p->window + j->first_window, change.windows, sizeof(*p->window), dt_probe_by_start);
	return dt_probe_change(j->t, j->m, &change, e);
}

/* ---- the whole */

/* Forgets the patches of windows that are gone, here and in the process's tables. */
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

/* Notes in p what has been planted: the new toggles and pcs are valid from here on. */
static int take_over(struct job *j, struct dt_error *e)
{
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

		/*
		 * The byte at the old toggle is left as it is: no jump leads there any more, and a
		 * thread that is in the old trampoline does not pass the new one for this hit.
		 */
		if (made)
			p->point[id].toggle = c->toggle;
		if (j->skipped[id])
			p->point[id].state = UNTRIED;
		if (p->point[id].state != PLANTED)
			p->point[id].toggle = 0;
	}
	if (p->windows)
		sort(p->window, p->windows, sizeof(*p->window), dt_probe_by_start);
	more = realloc(p->pc, (p->pcs + j->pcs + 1) * sizeof(*more));
	if (!more)
		return dt_fail(e, "out of memory");
	p->pc = more;
	if (j->pcs)
		memcpy(p->pc + p->pcs, j->pc, j->pcs * sizeof(*more));
	p->pcs += j->pcs;
	sort(p->pc, p->pcs, sizeof(*p->pc), dt_probe_by_pc);
	return 0;
}

void dt_made_free(struct made *m)
{
	free(m->near.bytes);
	free(m->far);
	free(m->far_bytes);
	free(m->fixes.fix);
	free(m->far_fixes.fix);
	*m = (struct made){.size = 0};
}

static void forget_job(struct job *j)
{
	dt_made_free(&j->made);
	free(j->toggle);
	for (uint32_t id = 0; j->captured && id < j->p->points; id++)
		free(j->captured[id]);
	free(j->captured);
	free(j->failed);
	free(j->skipped);
	free(j->gone);
	free(j->undo);
	free(j->text);
	free(j->pc);
}

/* Allocates the job's arrays, and finds the free addresses. */
static int begin(struct job *j, struct dt_error *e)
{
	const struct dt_module *m = j->m;
	struct dt_maps maps;
	int rc;

	j->first_window = j->p->windows;
	j->first_moved = j->p->n_moved;
	j->first_patch = j->p->patches;
	j->mark = dt_plan_mark(&j->p->plan);
	if (dt_job_points(j->p, m->file->points.n, e) < 0)
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
	return rc;
}

/* Returns how many usual functions, of two or three sites, take as much room as the wanted ones. */
static size_t worth(const struct job *j, const bool *wanted, size_t functions)
{
	const struct dt_code *code = j->m->file->code;
	size_t n = functions;

	for (size_t i = 0; wanted && i < code->functions; i++)
		if (wanted[code->function[i].whole])
			n += code->function[i].exits / 2;
	return n;
}

/* Looks whether a function of the module is hooked: a point's window may take the place of its. */
static bool any_function(const struct job *j)
{
	for (size_t i = 0; i < j->m->file->code->functions; i++)
		if (j->p->state[i] == PLANTED)
			return true;
	return false;
}

/* Makes everything that is to be written. */
static int make(struct job *j, const bool *wanted, size_t functions, struct dt_error *e)
{
	struct claimer claimer = {j->p, j->m};

	if (place_region(j, worth(j, wanted, functions), e) < 0 ||
	    dt_job_begin(j, claim, &claimer, e) < 0)
		return -1;
	emit_thunks(j, functions || any_function(j));
	if (dt_job_plan(j, wanted, e) < 0 || dt_job_make(j, e) < 0)
		return -1;
	dt_job_drop_failed(j);
	if (j->p->patches > j->first_patch)
		sort(j->p->patch + j->first_patch, j->p->patches - j->first_patch,
		     sizeof(*j->p->patch), dt_probe_by_patch);
	if (collect_undo(j, e) < 0 || collect_pcs(j, e) < 0)
		return -1;
	return emit_tables(j, e);
}

int dt_probe_plant(struct dt_target *t, struct dt_module *m, const bool *wanted, size_t n,
		   struct dt_error *e)
{
	struct dt_probes *p = m->probes;
	struct job j = {.t = t, .m = m, .p = p};
	bool first = !p->plan.code;
	int rc = dt_probe_set_down(t, m, e), taken = 0;

	if (rc == 0)
		rc = begin(&j, e);
	if (rc == 0 && first)
		rc = taken = dt_job_take(&j, wanted, e);
	if (rc == 0)
		rc = make(&j, wanted, n, e);
	else if (rc > 0)
		rc = collect_pcs(&j, e) < 0 ? -1 : emit_tables(&j, e);
	j.made.near.fixes = NULL; /* `made' may be kept elsewhere */
	if (rc >= 0)
		rc = p->windows > j.first_window || j.undos ? write_stopped(&j, e) : 0;
	if (rc == 0)
		rc = take_over(&j, e);
	if (rc < 0)
		dt_job_give_back(&j, wanted);
	else
		dt_made_free(&p->made);
	/* kept for processes that are alike, and for the next run */
	if (rc == 0 && first && taken != 1 && !j.changed &&
	    (t->others || (!taken && dt_kept_is_wanted(m->file)))) {
		p->made = j.made;
		j.made = (struct made){.size = 0};
	}
	forget_job(&j);
	return rc;
}
