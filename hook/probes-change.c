/* SPDX-License-Identifier: MIT */
/* Changing code of a process in which trampolines are: all threads stand still, and those that are
 * where bytes change are moved. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/search.h"
#include "hook/probes-work.h"

int dt_probe_by_start(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Returns the window of a change that has ip after its start; NULL: none. patched: ip must be in
 * bytes that are changed; else it may also be in others that are moved. */
static const struct window *inside(const struct dt_probe_change *c, uint64_t ip, bool patched)
{
	size_t low = dt_count_before(c->windows, i, c->window[i].start < ip);
	const struct window *x;

	if (!low)
		return NULL;
	x = &c->window[low - 1];
	return ip < x->start + (patched || x->patch > x->size ? x->patch : x->size) ? x : NULL;
}

/* The context of move_frame(). */
struct moving {
	struct dt_target *target;
	const struct dt_probes *probes;
	const struct dt_probe_change *change;
	bool failed;
};

/* Returns where what is at ip goes on: if it is in a window, in its copy, and if it is at a
 * springboard that goes, where it came from. patched: as for inside(). */
static uint64_t moved(const struct moving *m, uint64_t ip, bool patched)
{
	const struct dt_probe_change *c = m->change;
	uint64_t back = dt_probe_off_board(c->undo, c->undos, ip);
	const struct window *x;

	if (back)
		ip = back;
	x = inside(c, ip, patched);
	return x ? dt_moved_forward(m->probes->moved + x->first_moved, x->moved, x->start, x->copy,
				    ip)
		 : ip;
}

/* Has a signal handler return to there. What it has returned from already, and only still stands on
 * a stack, is changed likewise: nobody can tell them apart, and it is nobody's. */
static void move_frame(void *ctx, uint64_t ip, uint64_t frame)
{
	struct moving *m = ctx;
	uint64_t to = frame ? moved(m, ip, true) : ip;

	if (to != ip && dt_memory_write(m->target->mem, frame, &to, sizeof(to)) < 0)
		m->failed = true;
}

/* Sets threads in a window to its copy, and threads at springboards that go to where they came
 * from; likewise where signal handlers return to. False: the stack can not be written. */
static bool move_threads(struct dt_target *t, const struct dt_probes *p,
			 const struct dt_probe_change *c, const struct dt_threads *threads)
{
	struct moving m = {t, p, c, false};

	dt_threads_saved(threads, t->mem, move_frame, &m);
	for (size_t i = 0; i < threads->n && !m.failed; i++) {
		struct dt_regs r;
		uint64_t ip;

		if (dt_regs_get(threads->tid[i], &r) < 0)
			continue;
		ip = moved(&m, dt_regs_ip(&r), false);
		if (ip == dt_regs_ip(&r))
			continue;
		dt_regs_set_ip(&r, ip);
		dt_regs_set(threads->tid[i], &r);
	}
	return !m.failed;
}

/* Puts bytes back, then writes the others. */
static int write_all(struct dt_target *t, const struct dt_module *m,
		     const struct dt_probe_change *c, struct dt_error *e)
{
	if (dt_probe_write(t->mem, c->undo, c->undos, true) == 0 &&
	    dt_probe_write(t->mem, c->put, c->puts, false) == 0)
		return 0;
	dt_fail(e, "%s: its code can not be written: %s", m->file->path, strerror(errno));
	dt_probe_write(t->mem, c->put, c->puts, true);
	dt_probe_write(t->mem, c->undo, c->undos, false);
	return -1;
}

void dt_probe_note_stop(struct dt_target *t, const struct dt_threads *threads)
{
	if (threads->stopped_for > t->stop_ns)
		t->stop_ns = threads->stopped_for;
}

int dt_probe_change(struct dt_target *t, const struct dt_module *m, const struct dt_probe_change *c,
		    struct dt_error *e)
{
	struct dt_threads threads = {.pid = t->pid, .tid = &t->held, .n = 1};
	int rc;

	if (!t->held && dt_threads_stop(t->pid, &threads, e) < 0) {
		t->busy = true;
		return -1;
	}
	if (move_threads(t, m->probes, c, &threads))
		rc = write_all(t, m, c, e);
	else
		rc = dt_fail(e, "process %d: a stack can not be written: %s", t->pid,
			     strerror(errno));
	if (!t->held) {
		dt_threads_release(&threads);
		dt_probe_note_stop(t, &threads);
	}
	return rc;
}
