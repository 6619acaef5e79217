/* SPDX-License-Identifier: MIT */
/* The other end of a session's socket: what ctl, cat -s, shell and mount talk through. */
#ifndef DT_SESSION_CLIENT_H
#define DT_SESSION_CLIENT_H

#include "core/error.h"
#include "core/record.h"

struct dt_client {
	int fd;
	char *text; /* the answer to the last request; also what an error says */
	size_t n, room;
	bool ended; /* the session did so before it had answered */

	/* Called every DT_CLIENT_TURN ms while an answer is waited for; false: give up. Or NULL. */
	bool (*waiting)(void *ctx);
	void *ctx;
};

#define DT_CLIENT_TURN 50

/* name NULL: the only session there is. */
int dt_client_open(struct dt_client *c, const char *name, struct dt_error *e);
void dt_client_close(struct dt_client *c);

/* Writes commands to ctl, for process pid (0: this one); the answers are in c->text. */
int dt_client_write(struct dt_client *c, const char *text, size_t n, uint32_t pid,
		    struct dt_error *e);
/* Returns when the session, which has been told to quit, is gone: processes let go, its name free,
 * its file closed. */
void dt_client_wait_end(struct dt_client *c);
/* Any other request; the answer is in c->text. */
int dt_client_ask(struct dt_client *c, const char *request, struct dt_error *e);

/*
 * Records from *position on, 0: the oldest; in c->text. Returns how many; -1: error; -2: the
 * session has ended and nothing is left. *position: of the first. *lost: missing in front of them.
 */
long dt_client_take(struct dt_client *c, size_t max, uint64_t *position, int wait_ms, bool consume,
		    uint64_t *lost, struct dt_error *e);

/* The same; nothing is taken, and nothing told: what is missing is told to others. */
long dt_client_look(struct dt_client *c, size_t max, uint64_t *position, int wait_ms,
		    struct dt_error *e);

/* The positions of the oldest record that has not been taken, and of the next to come. */
int dt_client_positions(struct dt_client *c, uint64_t *oldest, uint64_t *next, struct dt_error *e);

/* Waits for devtrace from number *next on, in c->text: session/helds.h. *next: where the next ones
 * begin; *gone: so many in front of them are not remembered. */
int dt_client_held(struct dt_client *c, uint64_t *next, uint64_t *gone, struct dt_error *e);

/* The name of what contains pc; valid until the next request. */
const char *dt_client_name(struct dt_client *c, uint64_t pc, uint32_t tid);

/* The file of the session, which has just been asked for its status, for free(); NULL: it writes
 * none. */
char *dt_client_file(const struct dt_client *c);

/* Whose thread it is; 0: not known. Its name is in c->text. */
uint32_t dt_client_thread(struct dt_client *c, uint32_t tid);

/* Calls fn for the name of every session of this user that lives. */
int dt_sessions_each(void (*fn)(void *ctx, const char *name), void *ctx, struct dt_error *e);

#endif
