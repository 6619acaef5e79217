/* SPDX-License-Identifier: MIT */
/* A session whose trace is shown. */
#include "cmd/live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/open.h"
#include "process/now.h"
#include "process/threads.h"

/* ---- a log, as a file ---- */

#define TURN_MS	 50 /* how long the thread waits for records before it looks whether to end */
#define FLUSH_NS 100000000ull /* records are in the file at most this long after */

static void *write_log(void *live)
{
	struct dt_live *l = live;
	uint64_t flushed = dt_now_ns();
	bool news = false;
	long n = 0;

	while (n >= 0 && !atomic_load(&l->enough)) {
		n = dt_spool_write(l->spool, DT_SPOOL_ALL, TURN_MS, &l->error);
		news |= n > 0;
		if (n < 0 || !news || dt_now_ns() - flushed < FLUSH_NS)
			continue;
		if (dt_spool_flush(l->spool, &l->error) < 0)
			n = -1;
		flushed = dt_now_ns();
		news = false;
	}
	/* that the session has ended is no error: is_alive() shows it, and the file is complete */
	if (n != -1 || poll(&(struct pollfd){l->process, POLLIN, 0}, 1, 0) > 0)
		l->error.text[0] = '\0';
	dt_spool_close(l->spool, l->error.text[0] ? NULL : &l->error);
	atomic_store(&l->written, true);
	return NULL;
}

static int begin_file(struct dt_live *l, const char *name, struct dt_error *e)
{
	if (dt_temporary_make(&l->trace, e) < 0)
		return -1;
	l->file = strdup(l->trace.path);
	l->spool = l->file ? dt_spool_create(name, l->file, 0, e) : NULL;
	if (l->spool)
		return 0;
	dt_temporary_remove(&l->trace);
	return -1;
}

int dt_live_begin(struct dt_live *l, struct dt_error *e)
{
	int rc = l->spool ? pthread_create(&l->writer, NULL, write_log, l) : 0;

	l->writes = l->spool && rc == 0;
	return rc ? dt_fail(e, "no thread: %s", strerror(rc)) : 0;
}

static void end_file(struct dt_live *l)
{
	if (l->spool && !l->writes)
		dt_spool_discard(l->spool);
	if (l->writes) {
		atomic_store(&l->enough, true);
		pthread_join(l->writer, NULL);
		if (l->error.text[0])
			dt_cmd_fail("%s", l->error.text);
	}
	dt_temporary_remove(&l->trace);
}

/* ---- */

/* hurry: it is one of all sessions that are looked at */
static int begin(struct dt_live *l, const char *name, bool hurry, struct dt_error *e)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	if (dt_client_open(&l->tell, name, e) < 0)
		return -1;
	if (hurry)
		dt_client_hurry(&l->tell);
	if (dt_client_ask(&l->tell, "status", e) < 0)
		goto fail;
	l->file = dt_client_file(&l->tell);
	l->tell.deadline = 0;
	l->name = strdup(name ? name : "session");
	if (!l->name) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	if (getsockopt(l->tell.fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0)
		l->process = pidfd_open(who.pid, 0);
	if (l->process >= 0) {
		pthread_mutex_init(&l->lock, NULL);
		return 0;
	}
	dt_fail(e, "the session's process can not be watched: %s", strerror(errno));
fail:
	dt_client_close(&l->tell);
	free(l->file);
	free(l->name);
	*l = (struct dt_live){.process = -1, .tell.fd = -1};
	return -1;
}

int dt_live_open(struct dt_live *l, const char *name, struct dt_error *e)
{
	*l = (struct dt_live){.process = -1, .tell.fd = -1};
	if (begin(l, name, false, e) < 0)
		return -1;
	if (l->file || begin_file(l, name, e) == 0)
		return 0;
	dt_live_close(l);
	return -1;
}

struct search {
	struct dt_live *l;
	struct stat file;
};

static void look(void *ctx, const char *name)
{
	struct search *s = ctx;
	struct dt_live *l = s->l;
	struct stat its;

	if (l->name || begin(l, name, true, NULL) < 0)
		return;
	if (l->file && stat(l->file, &its) == 0 && its.st_dev == s->file.st_dev &&
	    its.st_ino == s->file.st_ino)
		return;
	dt_live_close(l);
}

void dt_live_find(struct dt_live *l, const char *file)
{
	struct search s = {.l = l};

	*l = (struct dt_live){.process = -1, .tell.fd = -1};
	if (stat(file, &s.file) == 0)
		dt_sessions_each(look, &s, NULL);
}

void dt_live_close(struct dt_live *l)
{
	end_file(l);
	if (l->name)
		pthread_mutex_destroy(&l->lock);
	if (l->process >= 0)
		close(l->process);
	dt_client_close(&l->tell);
	free(l->file);
	free(l->name);
	*l = (struct dt_live){.process = -1, .tell.fd = -1};
}

/* Says whether the session still writes. Its socket vanishes before its file is complete, so it is
 * its process that is asked. */
static bool is_alive(void *ctx)
{
	const struct dt_live *l = ctx;
	struct pollfd p = {l->process, POLLIN, 0};

	if (l->spool)
		return !atomic_load(&l->written);
	return poll(&p, 1, 0) == 0;
}

/* Says whether a page may give this command: none that ends the session or touches other files. */
static bool is_allowed(const char *command)
{
	static const char *const words[] = {"start", "stop", "freeze", "unfreeze", "trace"};
	size_t n = strcspn(command, " \n");

	if (strchr(command, '\n'))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == n && !strncmp(words[i], command, n))
			return true;
	return false;
}

/* Fetches the session's remark on the pattern that the command has switched on; "": none. */
static void note_of(struct dt_live *l, const char *command, struct dt_error *note)
{
	static const char *const form[] = {"#trace %s: ",
					   "#trace '%s': "}; /* names with blanks are quoted */
	char name[256], line[300], *found = NULL;

	note->text[0] = '\0';
	if (sscanf(command, "trace '%255[^']' on", name) != 1 || !strstr(command, "' on") ||
	    dt_client_ask(&l->tell, "read", NULL) < 0)
		return;
	for (int i = 0; i < 2 && !found; i++) {
		snprintf(line, sizeof(line), form[i], name);
		found = strstr(l->tell.text, line);
	}
	if (found) {
		found += strlen(line);
		dt_format(note->text, sizeof(note->text), "%.*s", (int)strcspn(found, "\n"), found);
	}
}

static int tell(void *ctx, const char *command, struct dt_error *e)
{
	struct dt_live *l = ctx;
	char line[4096];
	int rc;

	if (!is_allowed(command))
		return dt_fail(e, "the page may tell it start, stop, freeze, unfreeze and trace");
	if (snprintf(line, sizeof(line), "%s\n", command) >= (int)sizeof(line))
		return dt_fail(e, "the command is too long");
	pthread_mutex_lock(&l->lock);
	rc = dt_client_write(&l->tell, line, strlen(line), 0, e);
	if (rc >= 0)
		note_of(l, command, e);
	pthread_mutex_unlock(&l->lock);
	return rc < 0 ? -1 : 0;
}

struct dt_view_live dt_live_view(struct dt_live *l)
{
	return (struct dt_view_live){.name = l->name, .alive = is_alive, .tell = tell, .ctx = l};
}
