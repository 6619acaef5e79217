/* SPDX-License-Identifier: MIT */
/* Writing and reading ctl. */
#include "session/ctl.h"
#include "session/state.h"

#include <string.h>

#include "arch/arch.h"
#include "session/device.h"
#include "session/domain.h"
#include "session/ranges.h"
#include "session/recorder.h"
#include "session/serve.h"

#define COMMAND 1000u /* bytes of a command's text that the file gets, at most */

/*
 * Tells the file of a command that has changed what is recorded, also of one that has failed behind
 * its first lines: exits may be there whose entries were not wanted.
 */
static void note_change(struct dt_session *s, const char *text, size_t n, uint64_t begin)
{
	char command[COMMAND + 8];
	bool more;

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	more = n > COMMAND;
	n = more ? COMMAND : n;
	/* characters of several bytes are not cut in two */
	while (more && n && (text[n] & 0xc0) == 0x80)
		n--;
	dt_format(command, sizeof(command), "%.*s%s", (int)n, text, more ? " ..." : "");
	/* a file that can not be written is noticed by who writes its records */
	dt_store_change(s->store, &(struct dt_change){begin, dt_ticks(), command, s->narrowed},
			NULL);
}

/*
 * Who writes may wait for the owner; so the owner, who wants to write himself, goes on serving
 * until it is his turn.
 */
static void begin_writing(struct dt_session *s)
{
	if (!pthread_equal(pthread_self(), s->owner)) {
		pthread_mutex_lock(&s->writing);
		return;
	}
	while (pthread_mutex_trylock(&s->writing) != 0)
		dt_session_serve(s, 1);
}

int dt_ctl_write(struct dt_session *s, const struct dt_asker *who, const char *text, size_t n,
		 struct dt_error *e)
{
	uint64_t begin;
	int rc;

	/* the lock is given away where the owner is asked; nobody else may write then */
	begin_writing(s);
	dt_recorder_drain(s);
	pthread_mutex_lock(&s->lock);
	s->frozen = dt_domains_frozen(s);
	s->changed = s->narrowed = false;
	dt_ranges_went_off(s);
	begin = dt_ticks();
	rc = dt_device_write(&s->device, who, text, n, e);
	s->narrowed = dt_ranges_went_off(s) || s->narrowed;
	if (s->changed && s->store)
		note_change(s, text, n, begin);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writing);
	dt_shared_bell_ring(
		&s->targets.shared); /* the recorder may rely on limits that have changed */
	return rc;
}

int dt_ctl_points(struct dt_session *s, struct dt_error *e)
{
	int rc;

	begin_writing(s);
	pthread_mutex_lock(&s->lock);
	rc = dt_session_device_points(s, e);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writing);
	return rc;
}

void dt_ctl_read(struct dt_session *s, void (*line)(void *ctx, const char *text, size_t n),
		 void *ctx)
{
	dt_recorder_drain(s);
	pthread_mutex_lock(&s->lock);
	s->frozen = dt_domains_frozen(s);
	dt_device_read(&s->device, line, ctx);
	pthread_mutex_unlock(&s->lock);
}
