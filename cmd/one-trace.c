/* SPDX-License-Identifier: MIT */
/* A fleet as one trace, in a temporary file. */
#include "cmd/one-trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/fleet.h"
#include "cmd/new-trace.h"
#include "cmd/temporary.h"
#include "fleet/one.h"

#define FLEETS 8 /* of one command */

/* Processes that each remove a temporary trace when this one has ended. */
static struct {
	int tell; /* the end of a pipe */
	pid_t pid;
} remover[FLEETS];
static unsigned removers;

/* What dt_cmd_one_trace() has answered; they stay as long as the process. */
static struct dt_temporary temporary[FLEETS]; /* as many as there are removers */
static const char *of_host[FLEETS];
static unsigned of_hosts;

/* Has the traces removed, and waits until they are. Children of this process that still run have
 * the pipes open, too: so a byte says it, and their end only if this process is killed. */
static void remove_all(void)
{
	for (unsigned i = 0; i < removers; i++) {
		if (write(remover[i].tell, "", 1) != 1)
			continue;
		while (waitpid(remover[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	removers = 0;
}

static void wait_and_remove(struct dt_temporary *t, int from)
{
	sigset_t all;
	char c;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* whoever reads what the command prints waits for its end, not for this one's */
	close(0);
	close(1);
	close(2);
	while (read(from, &c, 1) < 0 && errno == EINTR)
		;
	dt_temporary_remove(t);
	_exit(0);
}

/* Starts a process that removes the temporary trace at the end. */
static int start_remover(struct dt_temporary *t)
{
	static pid_t registered;
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return dt_cmd_fail("%s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		wait_and_remove(t, pipes[0]);
	}
	close(pipes[0]);
	if (pid < 0) {
		close(pipes[1]);
		return dt_cmd_fail("%s", strerror(errno));
	}
	remover[removers].tell = pipes[1];
	remover[removers++].pid = pid;
	if (registered != getpid())
		atexit(remove_all);
	registered = getpid();
	return 0;
}

static int make(const void *fleet, const char *to, struct dt_needs *needs)
{
	struct dt_reader **reader;
	struct dt_error e;
	int status;
	struct dt_fleet *f = dt_fleet_open_all(fleet, needs, &reader, &status);

	if (!f)
		return status;
	if (dt_fleet_one(f, reader, to, &e))
		status = dt_cmd_fail("%s", e.text);
	dt_fleet_close_all(f, reader);
	return status;
}

int dt_cmd_make_one(const char *fleet, const char *to)
{
	struct dt_needs needs = {.n = 0};
	struct dt_new_trace aside;
	struct dt_error e;
	int status;

	if (dt_store_check_room(to, &e) < 0 || dt_new_trace_open(&aside, to, &needs, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	status = make(fleet, aside.trace, &needs);
	if (!status && dt_new_trace_place(&aside, &e))
		status = dt_cmd_fail("%s", e.text);
	dt_new_trace_close(&aside);
	return status;
}

/* Makes the trace in a child, which confines itself to what that needs: the command itself is to
 * be confined to the result. */
static int make_apart(dt_cmd_maker make_it, const void *ctx, const struct dt_temporary *t)
{
	struct dt_needs needs = {.n = 0};
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigset_t none;

		removers = 0;	    /* they are the parent's */
		sigemptyset(&none); /* `view' takes signals later; here they end this at once */
		sigprocmask(SIG_SETMASK, &none, NULL);
		dt_needs_add(&needs, DT_NEED_ENTRIES, t->folder);
		status = make_it(ctx, t->path, &needs);
		exit(status);
	}
	if (pid < 0)
		return dt_cmd_fail("%s", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : dt_cmd_fail("making one trace of several was ended by a signal");
}

const char *dt_cmd_made_apart(const char *name, dt_cmd_maker make_it, const void *ctx, int *status)
{
	struct dt_temporary *t = &temporary[removers];
	struct dt_error e;

	*status = 1;
	if (removers == FLEETS) {
		dt_cmd_fail("too many fleets");
		return NULL;
	}
	if (dt_temporary_make(t, &e)) {
		dt_cmd_fail("%s", e.text);
		return NULL;
	}
	/* what shows a trace shows its name */
	if (strlen(t->folder) + strlen(name) + 2 < sizeof(t->path))
		dt_format(t->path, sizeof(t->path), "%s/%s", t->folder, name);
	if (start_remover(t)) {
		dt_temporary_remove(t);
		return NULL;
	}
	*status = make_apart(make_it, ctx, t);
	return *status ? NULL : t->path;
}

static const char *one_of_all(const char *path, int *status)
{
	const char *slash = strrchr(path, '/');

	return dt_cmd_made_apart(slash ? slash + 1 : path, make, path, status);
}

static const char *one_of_host(const char *fleet, const char *host, int *status)
{
	if (of_hosts == FLEETS) {
		*status = dt_cmd_fail("too many fleets");
		return NULL;
	}
	of_host[of_hosts] = dt_fleet_path_of(fleet, host, status);
	return of_host[of_hosts++];
}

const char *dt_cmd_one_trace(const char *path, int *status)
{
	const char *at = strrchr(path, '@');
	char *fleet;

	*status = 0;
	if (dt_fleet_is(path))
		return one_of_all(path, status);
	if (!at || !at[1] || access(path, F_OK) == 0)
		return path;
	fleet = strndup(path, (size_t)(at - path));
	if (fleet && dt_fleet_is(fleet))
		path = one_of_host(fleet, at + 1, status);
	free(fleet);
	return path;
}

int dt_cmd_one_trace_word(char **word)
{
	int status;
	const char *path = dt_cmd_one_trace(*word, &status);

	if (path)
		*word = (char *)(uintptr_t)path;
	return path ? 0 : status;
}

struct dt_reader *dt_cmd_open_one(int argc, char **argv, const char *usage, struct dt_needs *needs,
				  int *status)
{
	if (argc - optind == 1 && (*status = dt_cmd_one_trace_word(&argv[optind])))
		return NULL;
	return dt_cmd_open(argc, argv, usage, needs, status);
}
