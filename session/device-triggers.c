/* SPDX-License-Identifier: MIT */
/* Triggers: when one has stopped recording, clients that wait are told, and the log is written. */
#include "session/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "session/domain.h"
#include "session/recorder.h"

/* Writes the log's records as lines to the path that the command `dump' gave. With the lock. */
static int write_dump(struct dt_session *s, struct dt_error *e)
{
	char line[DT_LINE];
	struct dt_record r;
	uint64_t at = 0, lost;
	FILE *f;
	int fd = open(s->dump, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || !(f = fdopen(fd, "w"))) {
		dt_fail(e, "%s: %s", s->dump, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (dt_log_read(&s->log, &r, 1, &at, &lost, 0, false)) {
		r = dt_record_shown(&r);
		dt_text_line(line, &r);
		fwrite(line, 1, sizeof(line), f);
		at++;
	}
	if (ferror(f) | fclose(f))
		return dt_fail(e, "%s: can not be written", s->dump);
	return 0;
}

/* Recording has been stopped by triggers: writes the log if that was asked for, and wakes those who
 * wait. With the lock. */
static void fired(struct dt_session *s)
{
	struct dt_error e;

	if (s->dump && write_dump(s, &e) < 0)
		dt_format(s->device.error, sizeof(s->device.error), "%s", e.text);
	pthread_cond_broadcast(&s->asked);
}

void dt_session_device_news(const struct dt_session *s, const char *line)
{
	if (s->options.news > 0 && write(s->options.news, line, strlen(line)) < 0)
		return;
}

void dt_session_device_tick(struct dt_session *s)
{
	struct dt_shared *first = &s->targets.shared;
	enum dt_arm_state state;
	bool frozen, news, waits;
	uint64_t begin;

	dt_domains_spread(s);
	state = dt_shared_arm_state(first);
	if (s->arm_ticks && state == DT_ARM_RUNNING) {
		begin = dt_shared_arm_begin(first);
		if (begin && dt_ticks() - begin >= s->arm_ticks)
			dt_shared_each(first, m)
				dt_rings_freeze(m, true);
	}
	frozen = dt_domains_frozen(s);
	/* the thread with the start event may have ended before it could set this */
	dt_shared_each(first, m) {
		if (!frozen)
			dt_shared_arm_move(m, DT_ARM_STARTING, DT_ARM_RUNNING);
		else
			dt_shared_arm_move(m, DT_ARM_RUNNING, DT_ARM_DONE);
	}
	s->arm_state = state = dt_shared_arm_state(first);
	waits = state == DT_ARM_ARMED || state == DT_ARM_STARTING;
	news = frozen && !s->was_frozen && !waits;
	s->was_frozen = frozen && !waits;
	if (s->said_frozen != s->was_frozen)
		dt_session_device_news(s, frozen ? "frozen\n" : "unfrozen\n");
	s->said_frozen = s->was_frozen;
	/* looked at without the lock, which the recorder has most of the time */
	if (!news && __atomic_load_n(&s->frozen, __ATOMIC_RELAXED) == frozen)
		return;
	if (news) /* also the record that froze it */
		dt_recorder_drain(s);
	pthread_mutex_lock(&s->lock);
	s->frozen = frozen;
	if (news)
		fired(s);
	pthread_mutex_unlock(&s->lock);
}
