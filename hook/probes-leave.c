/* SPDX-License-Identifier: MIT */
/* Taking probes away, also those of a controller that was killed; and handing them on to a forked
 * child. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "hook/probes-work.h"

/* ---- what planting and leaving share */

bool dt_probe_has_region(const struct dt_probes *p, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < p->regions; i++)
		if (low >= p->region[i].low && high <= p->region[i].high)
			return true;
	return false;
}

int dt_probe_by_patch(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

int dt_probe_by_pc(const void *a, const void *b)
{
	const struct pc_entry *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Several calls at once run from the area, where one stopped thread makes them all. */
int dt_probe_calls(struct dt_target *t, pid_t tid, const struct dt_maps *maps,
		   struct dt_injected_call *call, size_t n, struct dt_error *e)
{
	/* an area that an earlier session has left has no such place: one call at a time there */
	uint64_t code = t->n_old ? 0 : t->area + DT_AREA_STUB;
	size_t most = code ? DT_CALL_MAX : 1;
	bool gives_back = true;

	for (size_t i = 0; i < n; i++)
		gives_back = gives_back && call[i].nr == SYS_munmap;
	if (!t->confined && dt_target_any_confined(t))
		dt_target_confine(t);
	if (t->confined) /* what was to be unmapped stays mapped */
		return gives_back
			       ? 0
			       : dt_fail(e,
					 "process %d has confined itself by seccomp: nothing can be "
					 "planted in it any more",
					 t->pid);
	for (size_t i = 0; i < n; i += most)
		if (dt_inject(tid, t->mem, maps, code, call + i, n - i < most ? n - i : most, e) <
		    0)
			return -1;
	return 0;
}

/* Returns the patch that leads to the springboard at ip; NULL: there is none. */
static const struct patch *leads_to(const struct patch *patch, size_t n, uint64_t ip)
{
	for (size_t i = 0; i < n; i++)
		if (dt_patch_board(patch[i].address, patch[i].new, patch[i].length) == ip)
			return &patch[i];
	return NULL;
}

uint64_t dt_probe_off_board(const struct patch *patch, size_t n, uint64_t ip)
{
	const struct patch *x = leads_to(patch, n, ip);

	if (!x)
		return 0;
	if (x->length == 2)
		return x->address; /* a window's jump: nothing of the window has been executed */
	/* else a branch, which has been taken: to its original target */
	return x->address + x->length + (uint64_t)(int8_t)x->old[0];
}

/* Looks whether patch i is a springboard in another page than the jump that leads to it. The
 * patches are sorted by address. */
static bool lies_apart(const struct patch *patch, size_t n, size_t i)
{
	const struct patch *board = &patch[i];
	uint64_t low = board->address / PAGE, high = (board->address + board->length - 1) / PAGE;
	uint64_t offset = board->address % PAGE;
	const uint64_t far = 2 + 128; /* reach of a short jump, from its address */

	if (board->length != DT_PATCH_JUMP || (offset > far && offset + far < PAGE))
		return false;
	for (size_t k = i; k-- > 0 && board->address - patch[k].address <= far;)
		if (dt_patch_board(patch[k].address, patch[k].new, patch[k].length) ==
		    board->address)
			return patch[k].address / PAGE != low || low != high;
	for (size_t k = i + 1; k < n && patch[k].address - board->address <= far; k++)
		if (dt_patch_board(patch[k].address, patch[k].new, patch[k].length) ==
		    board->address)
			return patch[k].address / PAGE != low || low != high;
	return false;
}

/* Writes the springboards that lie apart. */
static int write_apart(int mem, const struct patch *patch, size_t n, bool old)
{
	for (size_t i = 0; i < n; i++)
		if (lies_apart(patch, n, i) &&
		    dt_memory_write(mem, patch[i].address, old ? patch[i].old : patch[i].new,
				    patch[i].length) < 0)
			return -1;
	return 0;
}

/* Writes the other patches, a page at a time. The controller may be killed after each page, and the
 * program goes on with what is there. */
static int write_pages(int mem, const struct patch *patch, size_t n, bool old)
{
	unsigned char pages[2 * PAGE];
	uint64_t have = 0;
	size_t size = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t page = patch[i].address & ~(PAGE - 1);

		if (lies_apart(patch, n, i))
			continue;
		if (!size || page != have) {
			if (size && dt_memory_write(mem, have, pages, size) < 0)
				return -1;
			have = page;
			size = PAGE;
			if (dt_memory_read(mem, have, pages, PAGE) < 0)
				return -1;
		}
		if (patch[i].address + patch[i].length > have + size) {
			if (dt_memory_read(mem, have + PAGE, pages + PAGE, PAGE) < 0)
				return -1;
			size = 2 * PAGE;
		}
		memcpy(pages + (patch[i].address - have), old ? patch[i].old : patch[i].new,
		       patch[i].length);
		if (size == 2 * PAGE) { /* the next page's other patches follow with that page */
			if (dt_memory_write(mem, have, pages, size) < 0)
				return -1;
			size = 0;
		}
	}
	return size && dt_memory_write(mem, have, pages, size) < 0 ? -1 : 0;
}

int dt_probe_write(int mem, const struct patch *patch, size_t n, bool old)
{
	/* a springboard is there before a jump leads to it, and as long as one does */
	if (!old && write_apart(mem, patch, n, false) < 0)
		return -1;
	if (write_pages(mem, patch, n, old) < 0)
		return -1;
	return old ? write_apart(mem, patch, n, true) : 0;
}

/* ---- leaving */

bool dt_probes_code(const struct dt_probes *p, unsigned i, uint64_t *low, uint64_t *high)
{
	if (!p || i >= p->regions)
		return false;
	*low = p->region[i].low;
	*high = p->region[i].high;
	return true;
}

/* Returns where in the original code a thread at ip in a trampoline goes on; 0: it is in the middle
 * of a hook. */
static uint64_t original(const struct dt_probes *p, uint64_t ip)
{
	for (size_t i = 0; i < p->windows; i++) {
		const struct window *w = &p->window[i];

		/* in an entry's hook: the window has not begun */
		if (ip >= w->at && ip < w->copy)
			return ip - w->at < DT_HOOK_CALL_BEGUN ? w->start : 0;
		if (ip >= w->copy && ip < w->end)
			return dt_moved_back(p->moved + w->first_moved, w->moved, w->start, w->copy,
					     ip);
	}
	return 0;
}

uint64_t dt_probes_back(const struct dt_probes *p, uint64_t ip)
{
	if (!p)
		return 0;
	return dt_probe_has_region(p, ip, ip + 1) ? original(p, ip)
						  : dt_probe_off_board(p->patch, p->patches, ip);
}

/* The context of send_back(). */
struct going {
	const struct dt_probes *probes;
	int mem;
};

/* Has a signal handler that interrupted a trampoline return to the original code. */
static void send_back(void *ctx, uint64_t ip, uint64_t frame)
{
	const struct going *g = ctx;
	uint64_t back = frame ? dt_probes_back(g->probes, ip) : 0;

	if (back)
		dt_memory_write(g->mem, frame, &back, sizeof(back));
}

/*
 * Sends threads in trampolines back to the original code, and signal handlers that interrupted them
 * there. The bytes must be back before: the place to go on may be in the middle of a jump, and the
 * thread would run what is there.
 */
static void go_back(int mem, const struct dt_probes *p, const struct dt_threads *threads)
{
	struct going g = {p, mem};

	dt_threads_saved(threads, mem, send_back, &g);
	for (size_t i = 0; i < threads->n; i++) {
		struct dt_regs r;
		uint64_t back;

		if (dt_regs_get(threads->tid[i], &r) < 0 ||
		    !(back = dt_probes_back(p, dt_regs_ip(&r))))
			continue;
		dt_regs_set_ip(&r, back);
		dt_regs_set(threads->tid[i], &r);
	}
}

bool dt_probes_inside(const struct dt_probes *p, const struct dt_ips *ips)
{
	uint64_t low, high;

	for (unsigned i = 0; dt_probes_code(p, i, &low, &high); i++)
		if (dt_ips_inside(ips, low, high))
			return true;
	for (size_t i = 0; p && i < ips->n; i++)
		if (dt_probe_off_board(p->patch, p->patches, ips->ip[i]))
			return true;
	return ips->failed;
}

/* Returns the first patch whose bytes are not those from before planting; NULL: all are. It reads a
 * page at a time, since threads may stand still. */
static const struct patch *not_old(struct dt_target *t, const struct dt_probes *p)
{
	unsigned char page[PAGE + 8]; /* a patch may reach into the next one */
	uint64_t have = ~0ull;

	for (size_t i = 0; i < p->patches; i++) {
		const struct patch *x = &p->patch[i];
		uint64_t at = x->address & ~(PAGE - 1);
		size_t offset = x->address - at;

		if (at != have) {
			have = at;
			if (dt_memory_read(t->mem, at, page, PAGE) < 0)
				return x;
		}
		if (offset + x->length > PAGE &&
		    dt_memory_read(t->mem, at + PAGE, page + PAGE, 8) < 0)
			return x;
		if (memcmp(page + offset, x->old, x->length) != 0)
			return x;
	}
	return NULL;
}

static int check_old(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	const struct patch *x = not_old(t, p);

	return x ? dt_fail(e, "process %d: the bytes at 0x%lx could not be put back", t->pid,
			   (unsigned long)x->address)
		 : 0;
}

bool dt_probes_fit(struct dt_target *t, const struct dt_probes *p)
{
	return p->patches && !not_old(t, p);
}

/* Writes the jumps of a module that has just been mapped. Usually no thread is in its code yet; if
 * one is, this fails with t->busy set, to be tried again. */
static int write_again(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	struct dt_threads threads;
	struct dt_ips ips;
	bool inside;
	int rc;

	if (t->still || t->held)
		return dt_probe_write(t->mem, m->probes->patch, m->probes->patches, false);
	if (dt_threads_stop(t->pid, &threads, e) < 0) {
		t->busy = true;
		return -1;
	}
	dt_threads_ips(&threads, t->mem, NULL, NULL, &ips);
	inside = dt_ips_inside(&ips, m->low, m->high);
	dt_ips_free(&ips);
	rc = inside ? 0 : dt_probe_write(t->mem, m->probes->patch, m->probes->patches, false);
	dt_threads_release(&threads);
	if (threads.stopped_for > t->stop_ns)
		t->stop_ns = threads.stopped_for;
	if (inside) {
		t->busy = true;
		return dt_fail(e, "a thread of process %d runs code of %s already", t->pid,
			       m->file->path);
	}
	return rc;
}

int dt_probes_again(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	struct dt_probes *p = m->probes;

	qsort(p->patch, p->patches, sizeof(*p->patch), dt_probe_by_patch);
	dt_fail(e, "%s: its code can not be written: %s", m->file->path, strerror(errno));
	if (write_again(t, m, e) < 0)
		return -1;
	for (size_t i = 0; i < p->patches; i++)
		p->patch[i].lifted = false;
	p->lifted = 0;
	/* semaphores are in the module's data, which is newly mapped */
	for (uint32_t id = 0; id < p->points; id++)
		p->point[id].raised = false;
	return 0;
}

/* Returns the bytes that are where a patch is at present. */
static const uint8_t *bytes_of(const struct patch *x)
{
	return x->lifted ? x->old : x->new;
}

/* Looks whether the first patch is still in place: the library may have been unmapped, and another
 * mapped there. */
static bool is_planted(struct dt_target *t, const struct dt_probes *p)
{
	uint8_t now[8];

	return p->patches &&
	       dt_memory_read(t->mem, p->patch[0].address, now, p->patch[0].length) == 0 &&
	       memcmp(now, bytes_of(&p->patch[0]), p->patch[0].length) == 0;
}

/*
 * Moves threads away from springboards before these become filler again. If a window's short jump
 * led there, back to it, since it may be executed again; if a branch that was taken led there, on
 * to the trampoline.
 */
static void leave_boards(const struct dt_probes *p, const struct dt_threads *threads)
{
	for (size_t i = 0; i < threads->n; i++) {
		struct dt_regs r;
		const struct patch *x, *board;
		struct patch here = {0};
		int32_t distance;

		if (dt_regs_get(threads->tid[i], &r) < 0 ||
		    !(x = leads_to(p->patch, p->patches, dt_regs_ip(&r))))
			continue;
		if (x->length == 2) {
			dt_regs_set_ip(&r, x->address);
		} else {
			here.address = dt_regs_ip(&r);
			board = bsearch(&here, p->patch, p->patches, sizeof(here),
					dt_probe_by_patch);
			/* go_back does not know the trampolines that another controller has left */
			if (!board || !p->windows)
				continue;
			memcpy(&distance, board->new + 1, sizeof(distance));
			dt_regs_set_ip(&r,
				       here.address + board->length + (uint64_t)(int64_t)distance);
		}
		dt_regs_set(threads->tid[i], &r);
	}
}

int dt_probes_put_back(struct dt_target *t, struct dt_probes *p, const struct dt_threads *threads,
		       struct dt_error *e)
{
	qsort(p->patch, p->patches, sizeof(*p->patch), dt_probe_by_patch);
	if (!is_planted(t, p))
		return 0;
	leave_boards(p, threads);
	if (dt_probe_write(t->mem, p->patch, p->patches, true) < 0)
		return dt_fail(e, "process %d: its code can not be put back: %s", t->pid,
			       strerror(errno));
	if (check_old(t, p, e) < 0)
		return -1;
	go_back(t->mem, p, threads);
	return 0;
}

int dt_probes_remove(struct dt_target *t, struct dt_probes *p, const struct dt_threads *threads,
		     struct dt_error *e)
{
	struct dt_injected_call *call;
	struct dt_maps maps;
	int rc;

	if (dt_probes_put_back(t, p, threads, e) < 0)
		return -1;
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	call = calloc(p->regions + 1, sizeof(*call));
	for (size_t i = 0; call && i < p->regions; i++)
		call[i] = (struct dt_injected_call){
			"unmapping trampolines",
			SYS_munmap,
			{p->region[i].low, p->region[i].high - p->region[i].low},
			0,
			false};
	rc = call ? dt_probe_calls(t, threads->tid[0], &maps, call, p->regions, e)
		  : dt_fail(e, "out of memory");
	free(call);
	dt_maps_free(&maps);
	return rc;
}

/* ---- after a controller that was killed */

/* Reads the tables of the region at `at' into new probes; NULL: they are not valid, or no memory.
 */
static struct dt_probes *recover_one(struct dt_target *t, uint64_t at, const struct head *h)
{
	struct dt_probes *p = calloc(1, sizeof(*p));

	if (!p || h->patches > h->bytes || h->pcs > h->bytes || h->regions > h->bytes)
		goto fail;
	p->patch = calloc(h->patches + 1, sizeof(*p->patch));
	p->pc = calloc(h->pcs + 1, sizeof(*p->pc));
	p->region = calloc(h->regions + 1, sizeof(*p->region));
	if (!p->patch || !p->pc || !p->region ||
	    dt_memory_read(t->mem, h->patch, p->patch, h->patches * sizeof(*p->patch)) < 0 ||
	    dt_memory_read(t->mem, h->pc, p->pc, h->pcs * sizeof(*p->pc)) < 0 ||
	    dt_memory_read(t->mem, h->region, p->region + 1, h->regions * sizeof(*p->region)) < 0)
		goto fail;
	p->region[0] = (struct region){at, at + h->bytes};
	p->regions = h->regions + 1;
	p->patches = p->patch_room = h->patches;
	p->pcs = h->pcs;
	for (size_t i = 0; i < p->patches; i++)
		if (p->patch[i].length > sizeof(p->patch[i].old))
			goto fail;
	/* where a later planting has replaced a patch, that planting's bytes are to be put back */
	p->patches = 0;
	for (size_t i = 0; i < h->patches; i++) {
		uint8_t now[8];

		if (p->patch[i].length &&
		    dt_memory_read(t->mem, p->patch[i].address, now, p->patch[i].length) == 0 &&
		    memcmp(now, p->patch[i].new, p->patch[i].length) == 0) {
			p->patch[p->patches] = p->patch[i];
			p->patch[p->patches++].lifted = false;
		}
	}
	return p;
fail:
	dt_probes_free(p);
	return NULL;
}

/* Lowers the semaphores of the points that are on: they were raised by a controller before us. */
static void lower_semaphores(struct dt_target *t, const struct dt_probes *p)
{
	for (size_t i = 0; i < p->pcs; i++) {
		uint16_t count;
		uint8_t on;

		if (p->pc[i].semaphore && dt_memory_read(t->mem, p->pc[i].toggle, &on, 1) == 0 &&
		    on == DT_CAPTURE_ON &&
		    dt_memory_read(t->mem, p->pc[i].semaphore, &count, sizeof(count)) == 0 &&
		    count--)
			dt_memory_write(t->mem, p->pc[i].semaphore, &count, sizeof(count));
	}
}

/* Looks whether the trampolines at that address belong to a known module. */
static bool is_known(const struct dt_target *t, uint64_t at)
{
	for (size_t i = 0; i < t->n_shelf; i++)
		if (dt_probe_has_region(t->shelf[i].probes, at, at + 1))
			return true;
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_probes *p = t->module[i].probes;

		for (size_t k = 0; p && k < p->regions; k++)
			if (at >= p->region[k].low && at < p->region[k].high)
				return true;
	}
	return false;
}

int dt_probes_recover(struct dt_target *t, struct dt_probes ***list, size_t *n, struct dt_error *e)
{
	struct dt_maps maps;

	*list = NULL;
	*n = 0;
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	for (size_t i = 0; i < maps.n; i++) {
		struct dt_probes **more, *p;
		struct head h;

		if (!maps.map[i].exec || maps.map[i].inode || maps.map[i].path[0] ||
		    dt_memory_read(t->mem, maps.map[i].low, &h, sizeof(h)) < 0 ||
		    h.magic != MAGIC || is_known(t, maps.map[i].low))
			continue;
		p = recover_one(t, maps.map[i].low, &h);
		more = p ? realloc(*list, (*n + 1) * sizeof(*more)) : NULL;
		if (!more) {
			dt_probes_free(p);
			continue;
		}
		*list = more;
		more[(*n)++] = p;
		lower_semaphores(t, p);
	}
	dt_maps_free(&maps);
	return 0;
}

/* ---- forks */

void *dt_probe_copy_of(const void *p, size_t n, size_t size, bool *failed)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (copy)
		memcpy(copy, p, n * size);
	*failed = *failed || (n && !copy);
	return copy;
}

/*
 * Looks whether a child has the patches of its parent. One that was forked before the last planting
 * does not have that. Where no jumps are lifted, some of the patches tell, and the last one.
 */
static bool is_sampled(struct dt_target *t, const struct dt_probes *from)
{
	size_t step = from->patches > 64 ? from->patches / 64 : 1, last = from->patches - 1;

	for (size_t i = 0;; i = i + step < last ? i + step : last) {
		uint8_t now[8];

		if (dt_memory_read(t->mem, from->patch[i].address, now, from->patch[i].length) <
			    0 ||
		    memcmp(now, from->patch[i].new, from->patch[i].length) != 0)
			return false;
		if (i == last)
			return true;
	}
}

/*
 * Looks whether a child has each of its parent's patches, or its old bytes: jumps may have been
 * lifted, or set down, since it was forked. to: notes in the child's which are lifted; or NULL.
 */
static bool is_whole(struct dt_target *t, const struct dt_probes *from, struct dt_probes *to)
{
	unsigned char page[PAGE + 8];
	uint64_t have = ~0ull;

	for (size_t i = 0; i < from->patches; i++) {
		const struct patch *x = &from->patch[i];
		uint64_t at = x->address & ~(PAGE - 1);
		size_t offset = x->address - at;
		bool old;

		if (at != have && dt_memory_read(t->mem, at, page, PAGE) < 0)
			return false;
		have = at;
		if (offset + x->length > PAGE &&
		    dt_memory_read(t->mem, at + PAGE, page + PAGE, 8) < 0)
			return false;
		old = memcmp(page + offset, x->old, x->length) == 0;
		if (!old && memcmp(page + offset, x->new, x->length) != 0)
			return false;
		if (to) {
			to->patch[i].lifted = old;
			to->lifted += old;
		}
	}
	if (to)
		to->lifts = from->lifts;
	return true;
}

int dt_probes_inherit(struct dt_target *t, struct dt_module *m, const struct dt_module *parent)
{
	const struct dt_probes *from = parent->probes;
	bool failed = false;
	struct dt_probes *p;

	if (!from || !from->patches)
		return 0;
	if (from->lifts ? !is_whole(t, from, NULL) : !is_sampled(t, from))
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -1;
	p->state = dt_probe_copy_of(from->state, m->file->code->functions + 1, 1, &failed);
	p->toggle = dt_probe_copy_of(from->toggle, m->file->elf->sites + 1, sizeof(*p->toggle),
				     &failed);
	p->region = dt_probe_copy_of(from->region, from->regions, sizeof(*p->region), &failed);
	p->patch = dt_probe_copy_of(from->patch, from->patches, sizeof(*p->patch), &failed);
	p->window = dt_probe_copy_of(from->window, from->windows, sizeof(*p->window), &failed);
	p->moved = dt_probe_copy_of(from->moved, from->n_moved, sizeof(*p->moved), &failed);
	p->pc = dt_probe_copy_of(from->pc, from->pcs, sizeof(*p->pc), &failed);
	p->point = dt_probe_copy_of(from->point, from->points, sizeof(*p->point), &failed);
	p->points = from->points;
	failed = failed || (from->plan.code && dt_plan_copy(&p->plan, &from->plan) < 0);
	p->regions = from->regions;
	p->patches = p->patch_room = from->patches;
	p->windows = p->window_room = from->windows;
	p->n_moved = p->moved_room = from->n_moved;
	p->pcs = from->pcs;
	if (failed || (from->lifts && !is_whole(t, from, p))) {
		dt_probes_free(p);
		return -1;
	}
	m->probes = p;
	if (!dt_file_has_toggles(m->file))
		m->hooked = m->on = p->pcs > 0;
	return 0;
}
