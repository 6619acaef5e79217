/* SPDX-License-Identifier: MIT */
/* Records in a live session for a request, and makes a trace file of that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "remote/source.h"
#include "session/client.h"
#include "session/spool.h"
#include "store/copy.h"

#define TURN_MS	   20
#define LAST_MS	   10000 /* for a session that has ended to close its file */
#define CLOSING_MS 10	 /* between two looks whether it has */

struct live {
	const struct dt_source *source;
	struct dt_client client;
	char *file;    /* the session's trace file; "": it has only its log */
	int64_t mark;  /* what was there before the request: the last chunk of the file... */
	uint64_t from; /* ...or the position in the log */
	bool ended;    /* the session has ended meanwhile */
	bool ours;     /* recording was begun for this request */
	bool armed;    /* the session's triggers are those of this request */
	bool frozen;   /* recording was frozen before the request */
};

static bool go_on(void *ctx)
{
	(void)ctx;
	return !dt_making_unwanted();
}

static int say(struct live *l, const char *command, struct dt_error *e)
{
	return dt_client_write(&l->client, command, strlen(command), 0, e);
}

/* Waits until everything recorded so far is in the file or the log; finds out which. */
static int flush(struct live *l, struct dt_error *e)
{
	if (dt_client_ask(&l->client, "flush", e) < 0)
		return -1;
	if (l->file)
		return 0;
	l->file = strdup(l->client.text);
	return l->file ? 0 : dt_fail(e, "out of memory");
}

static int mark(struct live *l, struct dt_error *e)
{
	uint64_t oldest;

	if (flush(l, e) < 0)
		return -1;
	if (!l->source->arm && !l->source->record_ns)
		return 0; /* everything that there is is wanted */
	if (l->file[0])
		return dt_copy_last_chunk(l->file, &l->mark, e);
	return dt_client_positions(&l->client, &oldest, &l->from, e);
}

/* Looks whether the session is recording already; then it goes on doing so, also after the request.
 * Notes whether recording is frozen. */
static int look(struct live *l, bool *is, struct dt_error *e)
{
	if (dt_client_ask(&l->client, "read", e) < 0)
		return -1;
	*is = strstr(l->client.text, "\nstart\n") || strstr(l->client.text, "\nall\n");
	l->frozen = strstr(l->client.text, "\nfreeze\n") != NULL;
	return 0;
}

/* Puts the session back as it was, over a connection of its own: the other may still wait for an
 * answer. */
static void put_back(const struct live *l)
{
	struct dt_client c;

	if (dt_client_open(&c, l->source->session, NULL) < 0)
		return;
	if (l->ours)
		dt_client_write(&c, "stop", 4, 0, NULL);
	if (l->armed)
		dt_client_write(&c, "disarm", 6, 0, NULL);
	/* triggers leave recording frozen when they have fired */
	if (l->armed && !l->frozen)
		dt_client_write(&c, "unfreeze", 8, 0, NULL);
	dt_client_close(&c);
}

static int wait_for_time(struct live *l, struct dt_error *e)
{
	const struct timespec turn = {0, TURN_MS * 1000000L};

	for (uint64_t ns = 0; ns < l->source->record_ns; ns += (uint64_t)turn.tv_nsec) {
		struct timespec rest = {(time_t)((l->source->record_ns - ns) / 1000000000u),
					(long)((l->source->record_ns - ns) % 1000000000u)};

		if (dt_making_unwanted())
			return dt_fail(e, "nobody wants it any more");
		nanosleep(rest.tv_sec || rest.tv_nsec > turn.tv_nsec ? &turn : &rest, NULL);
	}
	return 0;
}

/* Records what the request asks for, and puts the session back as it was before. */
static int record(struct live *l, struct dt_error *e)
{
	char command[512];
	bool recording;
	int rc = 0;

	if (!l->source->arm && !l->source->record_ns)
		return 0;
	if (look(l, &recording, e) < 0)
		return -1;
	/* in one write: who sees that the triggers are set may count on it that they are looked at,
	 * which is while records are written */
	if (l->source->arm)
		dt_format(command, sizeof(command), "arm %s%s", l->source->arm,
			  recording ? "" : "\nstart");
	else
		dt_format(command, sizeof(command), "%s", recording ? "" : "start");
	if (*command)
		rc = say(l, command, e);
	/* if it was refused, the triggers are somebody else's */
	l->armed = rc == 0 && l->source->arm;
	l->ours = rc == 0 && !recording;
	if (rc == 0)
		rc = l->source->arm ? dt_client_ask(&l->client, "wait", e) : wait_for_time(l, e);
	if (rc < 0 && l->client.ended && !dt_making_unwanted()) {
		l->ended = true; /* its program has; what it recorded is wanted */
		return 0;
	}
	put_back(l);
	return rc;
}

/*
 * Waits for the file of a session that has ended: it is complete when the -wal beside it is gone.
 */
static void wait_closed(const struct live *l)
{
	const struct timespec turn = {0, CLOSING_MS * 1000000L};
	char log[4096];

	if (dt_format(log, sizeof(log), "%s-wal", l->file) >= sizeof(log))
		return;
	for (int ms = 0; ms < LAST_MS && access(log, F_OK) == 0; ms += CLOSING_MS)
		nanosleep(&turn, NULL);
}

/* Writes a trace file of what the log holds up to now; what is recorded meanwhile is for the next
 * request. */
static int write_log(struct live *l, const char *path, struct dt_error *e)
{
	uint64_t oldest, next;
	struct dt_spool *s;
	long n = 1;

	if (dt_client_positions(&l->client, &oldest, &next, e) < 0)
		return -1;
	s = dt_spool_create(l->source->session, path, l->from, e);
	while (s && n > 0)
		n = dt_spool_write(s, next, 0, e);
	if (!s)
		return -1;
	if (n != -1)
		return dt_spool_close(s, e);
	dt_spool_discard(s);
	return -1;
}

static int make(struct live *l, const char *path, struct dt_error *e)
{
	if (mark(l, e) < 0 || record(l, e) < 0)
		return -1;
	/* the session may end at any time: its last answer can be that the wait is over */
	if (!l->ended && flush(l, e) < 0) {
		if (!l->client.ended || dt_making_unwanted())
			return -1;
		l->ended = true;
	}
	if (l->ended && !l->file[0])
		return dt_fail(e, "the session has ended, and its log with it");
	if (l->ended)
		wait_closed(l);
	return l->file[0] ? dt_copy_since(l->file, l->mark, path, e) : write_log(l, path, e);
}

int dt_live_record(const struct dt_source *s, const char *path, struct dt_error *e)
{
	struct live l = {.source = s};
	int rc;

	if (dt_client_open(&l.client, s->session, e) < 0)
		return -1;
	l.client.waiting = go_on;
	rc = make(&l, path, e);
	dt_client_close(&l.client);
	free(l.file);
	return rc;
}

int dt_live_check(const char *session, char *file, size_t size, struct dt_error *e)
{
	struct dt_client c;
	char *name = NULL;

	if (dt_client_open(&c, session, e) < 0)
		return -1;
	if (dt_client_ask(&c, "status", NULL) == 0)
		name = dt_client_file(&c);
	dt_format(file, size, "%s", name ? name : "");
	free(name);
	dt_client_close(&c);
	return 0;
}
