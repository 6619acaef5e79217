/* SPDX-License-Identifier: MIT */
/* The client's end of a session's socket, which ctl, cat -s, shell and mount use. Functions that
 * return int give 0, or -1 and an error. */
#ifndef DT_SESSION_CLIENT_H
#define DT_SESSION_CLIENT_H

#include "core/error.h"
#include "core/record.h"

/* A connection to a session. */
struct dt_client {
	int fd;
	char *text; /* the answer to the last request, or the session's error message; ends in \0 */
	size_t n, room;	   /* bytes of the answer, and allocated */
	bool ended;	   /* the session has ended before it answered */
	uint64_t deadline; /* dt_now_ns() when an answer is waited for no longer; 0: for ever */
	bool late;	   /* that has been */

	/* Called with ctx every DT_CLIENT_TURN ms while an answer is waited for; when it returns
	 * false, the request is given up. May be NULL. */
	bool (*waiting)(void *ctx);
	void *ctx;
};

#define DT_CLIENT_TURN 50 /* ms */

/* Connects to the session with that name, or at that path when it has a '/' in it. name NULL: the
 * only session there is, or of several the only one that traces a process. */
int dt_client_open(struct dt_client *c, const char *name, struct dt_error *e);
/* From now on answers are waited for by so many seconds in all: for those who look at all sessions,
 * of which one may be stopped, or have much to write before it ends. */
#define DT_CLIENT_PATIENCE 5
void dt_client_hurry(struct dt_client *c);
/* Closes the connection and frees the answer. */
void dt_client_close(struct dt_client *c);

/* Writes n bytes of commands to the session's ctl on behalf of process pid (0: this one); the
 * answers are in c->text. */
int dt_client_write(struct dt_client *c, const char *text, size_t n, uint32_t pid,
		    struct dt_error *e);
/* Waits until the session, which has been told to quit on this connection, is gone: its processes
 * are let go, its name is free, its file is closed. */
void dt_client_wait_end(struct dt_client *c);
/* Sends any other request, one line of doc/protocol.md without its newline; the answer is in
 * c->text. */
int dt_client_ask(struct dt_client *c, const char *request, struct dt_error *e);

/*
 * Fetches up to max records into c->text, from *position on (0: from the oldest); waits up to
 * wait_ms for the first one. consume: they are taken out of the log. *position becomes that of the
 * first record; *lost is how many are missing before it. Returns how many records there are; -1 and
 * an error; -2 when the session has ended and nothing is left.
 */
long dt_client_take(struct dt_client *c, size_t max, uint64_t *position, int wait_ms, bool consume,
		    uint64_t *lost, struct dt_error *e);

/* Fetches records as dt_client_take() does, but leaves them and the count of lost ones for other
 * readers. */
long dt_client_look(struct dt_client *c, size_t max, uint64_t *position, int wait_ms,
		    struct dt_error *e);

/* Asks for the positions of the oldest record that has not been taken, and of the next to come. */
int dt_client_positions(struct dt_client *c, uint64_t *oldest, uint64_t *next, struct dt_error *e);

/*
 * Asks in which times threads waited for devtrace, from number *next on; the lines in c->text are
 * those of dt_helds_list(). *next becomes the number of the next one to come; *gone is how many of
 * those asked for the session no longer remembers.
 */
int dt_client_held(struct dt_client *c, uint64_t *next, uint64_t *gone, struct dt_error *e);

/* Returns the name of what contains pc, "?" on error; valid until the next request. */
const char *dt_client_name(struct dt_client *c, uint64_t pc, uint32_t tid);

/* Returns the path of the session's trace file from the answer to "status", which must have been
 * the last request; the caller frees it. NULL: the session writes none. */
char *dt_client_file(const struct dt_client *c);

/* Returns the process of a thread, 0 when it is not known; the thread's name is in c->text. *number
 * becomes what the kernel calls the thread (session/lives.h). */
uint32_t dt_client_thread(struct dt_client *c, uint32_t tid, uint32_t *number);

/* Calls fn with the name of every living session of this user. */
int dt_sessions_each(void (*fn)(void *ctx, const char *name), void *ctx, struct dt_error *e);

#endif
