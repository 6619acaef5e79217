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

#define COMMAND 1000u /* bytes of a command's text that are written to the file, at most */

/* Writes to the file that a command has changed what is recorded; also one that has failed after
 * its first lines. From such times the file may have exits whose entries were not wanted. */
static void note_change(struct dt_session *s, const char *text, size_t n, uint64_t begin)
{
	char command[COMMAND + 8];
	bool more;

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	more = n > COMMAND;
	n = more ? COMMAND : n;
	/* a UTF-8 character is not cut in two */
	while (more && n && (text[n] & 0xc0) == 0x80)
		n--;
	dt_format(command, sizeof(command), "%.*s%s", (int)n, text, more ? " ..." : "");
	/* an error is noticed where records are written to the same file */
	dt_store_change(s->store, &(struct dt_change){begin, dt_ticks(), command, s->narrowed},
			NULL);
}

/* Takes the lock for writing to ctl. The thread that has it may wait for the owner thread; so the
 * owner thread, when it wants to write itself, goes on serving until it gets the lock. */
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

	/* the session's lock is released while the owner thread is asked for something; nothing
	 * else may write then */
	begin_writing(s);
	dt_recorder_drain(s);
	pthread_mutex_lock(&s->lock);
	s->frozen = dt_domains_frozen(s);
	s->changed = s->narrowed = false;
	dt_ranges_went_off(s);
	begin = dt_ticks();
	rc = dt_device_write(&s->device, who, text, n, e);
	s->narrowed = dt_ranges_went_off(s) || s->narrowed;
	if (s->changed && dt_session_has_file(s))
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
