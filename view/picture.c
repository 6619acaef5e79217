/* SPDX-License-Identifier: MIT */
/* Building pictures. */
#include "view/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP 500000 /* records that are taken at once, with the lock held */

/* Builds a step; returns 1: there is more; 0: it is complete, and stored; -1: an error. */
static int build_step(struct dt_picture *p)
{
	struct dt_error e = {""};
	int rc;

	pthread_mutex_lock(&p->lock);
	rc = dt_pyramid_build(p->pyramid, STEP, &e);
	if (rc < 0)
		p->error = e;
	if (rc == 0 && !p->filter && dt_pyramid_save(p->pyramid, p->path, &e) < 0)
		snprintf(p->not_kept, sizeof(p->not_kept), "%s", e.text);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Waits until no answer waits for the lock: a mutex alone is not fair. */
static void let_others(struct dt_picture *p)
{
	while (__atomic_load_n(&p->waiting, __ATOMIC_RELAXED))
		sched_yield();
}

/* ---- following ---- */

#define TURN_NS 100000000 /* between two looks at a trace that is being recorded */
#define GUARD_NS                                                                                   \
	500000000.0 /* records that are older are in the file: more than twice a session's delay   \
		     */

/* Begins a new pyramid of a trace that has ended, for records that came later than GUARD_NS are
 * missing in the old one. */
static int begin_again(struct dt_picture *p, struct dt_error *e)
{
	struct dt_pyramid *pyramid = p->filter ? dt_pyramid_filtered(p->reader, p->filter, e)
					       : dt_pyramid_open(p->reader, p->path, e);
	struct dt_windows *windows = pyramid ? dt_windows_new(pyramid, p->path, e) : NULL;

	if (!windows) {
		dt_pyramid_close(pyramid);
		return -1;
	}
	pyramid->anyway = p->anyway;
	dt_found_free(p->found);
	dt_plots_free(p->plots);
	p->found = NULL;
	p->plots = NULL;
	dt_windows_free(p->windows);
	dt_pyramid_close(p->pyramid);
	p->pyramid = pyramid;
	p->windows = windows;
	return 0;
}

/* Takes what the trace has gained. Returns 1: there is more already; 0: look again in a while; -1:
 * the trace has ended, or an error. */
static int follow_step(struct dt_picture *p)
{
	uint64_t guard = (uint64_t)(GUARD_NS / dt_reader_ns_per_tick(p->reader)), before;
	bool ended = !p->follows->alive(p->follows->ctx);
	struct dt_error e = {""};
	int rc;

	dt_picture_lock(p);
	before = p->pyramid->total;
	rc = dt_pyramid_follow(p->pyramid, guard, ended, &e);
	if (rc == 0)
		rc = dt_windows_tail(p->windows, &e);
	else if (rc == 1)
		rc = begin_again(p, &e);
	if (rc < 0)
		p->error = e;
	if ((ended && rc != 2) || rc < 0)
		p->live = false;
	ended = !p->live;
	before = p->pyramid->total != before || rc == 2 || ended;
	dt_picture_unlock(p);
	if (before)
		p->follows->news(p->follows->ctx);
	return ended ? -1 : rc == 2;
}

static void follow(struct dt_picture *p)
{
	const struct timespec turn = {0, TURN_NS};
	int rc = 0;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED) && (rc = follow_step(p)) >= 0)
		if (rc == 0)
			nanosleep(&turn, NULL);
		else
			let_others(p);
}

/* ---- */

static void *build(void *ctx)
{
	struct dt_picture *p = ctx;

	if (p->follows)
		follow(p);
	if (p->error.text[0])
		return NULL;
	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED) && build_step(p) > 0) {
		let_others(p);
	}
	if (p->follows)
		p->follows->news(p->follows->ctx);
	return NULL;
}

struct dt_picture *dt_picture_new(const char *path, const char *filter,
				  const struct dt_picture_live *follows, bool anyway,
				  struct dt_error *e)
{
	struct dt_picture *p = calloc(1, sizeof(*p));
	int rc;

	if (!p || !(p->path = strdup(path)) || (filter && !(p->filter = strdup(filter)))) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->reader = dt_reader_open(path, e);
	if (!p->reader)
		goto fail;
	p->pyramid = filter ? dt_pyramid_filtered(p->reader, filter, e)
			    : dt_pyramid_open(p->reader, path, e);
	if (!p->pyramid)
		goto fail;
	p->anyway = p->pyramid->anyway = anyway;
	p->follows = follows;
	p->live = p->pyramid->live = follows != NULL;
	p->windows = dt_windows_new(p->pyramid, path, e);
	if (!p->windows)
		goto fail;
	if (p->pyramid->complete && !follows)
		return p;
	p->building = true;
	rc = pthread_create(&p->thread, NULL, build, p);
	if (!rc)
		return p;
	p->building = false;
	dt_fail(e, "no thread can be made: %s", strerror(rc));
fail:
	dt_picture_free(p);
	return NULL;
}

void dt_picture_free(struct dt_picture *p)
{
	if (!p)
		return;
	__atomic_store_n(&p->stop, true, __ATOMIC_RELAXED);
	if (p->building)
		pthread_join(p->thread, NULL);
	dt_found_free(p->found);
	dt_plots_free(p->plots);
	dt_windows_free(p->windows);
	dt_pyramid_close(p->pyramid);
	dt_reader_close(p->reader);
	free(p->filter);
	free(p->path);
	free(p);
}

void dt_picture_lock(struct dt_picture *p)
{
	__atomic_add_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&p->lock);
	__atomic_sub_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
}

void dt_picture_unlock(struct dt_picture *p)
{
	pthread_mutex_unlock(&p->lock);
}
