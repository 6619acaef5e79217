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

#define TRIES 60 /* of stopping the process, a millisecond apart */

int dt_probe_by_start(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Returns the window of a change that has ip after its start; NULL: none. patched: ip must be in
 * bytes that are changed, or moved; else it must be in what is moved. */
static const struct window *inside(const struct dt_probe_change *c, uint64_t ip, bool patched)
{
	size_t low = dt_count_before(c->windows, i, c->window[i].start < ip);
	const struct window *x;

	if (!low)
		return NULL;
	x = &c->window[low - 1];
	return ip < x->start + (patched || x->patch > x->size ? x->patch : x->size) ? x : NULL;
}

/* The context of on_saved(). */
struct saved {
	const struct dt_probe_change *change;
	bool found;
};

static void on_saved(void *ctx, uint64_t ip, bool frame)
{
	struct saved *s = ctx;
	const struct dt_probe_change *c = s->change;

	s->found = s->found ||
		   (frame && (inside(c, ip, true) || dt_probe_off_board(c->undo, c->undos, ip)));
}

/* Sets threads in a window to its copy, and threads at springboards that go to where they came
 * from. False: a signal handler will return to such a place. */
static bool move_threads(struct dt_target *t, const struct dt_probes *p,
			 const struct dt_probe_change *c, const struct dt_threads *threads)
{
	struct saved saved = {c, false};

	dt_threads_saved(threads, t->mem, on_saved, &saved);
	if (saved.found)
		return false;
	for (size_t i = 0; i < threads->n; i++) {
		struct dt_regs r;
		const struct window *x;
		uint64_t back, ip;

		if (dt_regs_get(threads->tid[i], &r) < 0)
			continue;
		ip = dt_regs_ip(&r);
		back = dt_probe_off_board(c->undo, c->undos, ip);
		if (back)
			ip = back;
		x = inside(c, ip, false);
		if (!x && !back)
			continue;
		if (x)
			ip = dt_moved_forward(p->moved + x->first_moved, x->moved, x->start,
					      x->copy, ip);
		dt_regs_set_ip(&r, ip);
		dt_regs_set(threads->tid[i], &r);
	}
	return true;
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
	bool moved = false;
	int rc = -1;

	for (int tries = 0; tries < TRIES && !moved; tries++) {
		if (!t->held && dt_threads_stop(t->pid, &threads, e) < 0) {
			t->busy = true;
			return -1;
		}
		moved = move_threads(t, m->probes, c, &threads);
		if (moved)
			rc = write_all(t, m, c, e);
		if (!t->held) {
			dt_threads_release(&threads);
			dt_probe_note_stop(t, &threads);
		}
		if (moved)
			break;
		dt_fail(e,
			"process %d: a signal handler keeps returning into what is to be changed",
			t->pid);
		t->busy = true;
		usleep(1000);
	}
	return rc;
}
