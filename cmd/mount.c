/* SPDX-License-Identifier: MIT */
/* devtrace mount: the sessions as files. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/meant.h"
#include "cmd/open.h"
#include "session/mount.h"

#define LINK_MS 2000

static const char help[] =
	"usage: devtrace mount [-f] DIR\n"
	"Shows every running session of yours as a directory in DIR, a new or an empty directory,\n"
	"with the files ctl (what it is told, how it stands) and trace (its records, which reading\n"
	"takes). fusermount3 -u DIR ends it.\n"
	"\n"
	"  -f, --foreground  serve until Ctrl-C, saying on standard error what goes wrong\n"
	"  -h, --help\n"
	"\n"
	"  echo start >DIR/SESSION/ctl    begin recording; cat DIR/SESSION/ctl shows the state\n"
	"  cat DIR/SESSION/trace          the records there are\n"
	"  cat DIR/SESSION/trace.wait     ...and those that come, until the session ends\n"
	"  cat DIR/log                    why commands failed\n"
	"\n"
	"A program that devtrace starts while a mount is there finds its session's ctl as "
	"$DEVTRACE_CTL.\n";

/* Returns the name as an absolute path, for the serving process changes its directory. The
 * directory need not exist yet. The caller frees it; NULL: an error, in e. */
static char *absolute(const char *name, struct dt_error *e)
{
	char here[PATH_MAX], path[PATH_MAX];
	size_t n = strlen(name);

	while (n > 1 && name[n - 1] == '/')
		n--;
	if (name[0] != '/' && !getcwd(here, sizeof(here))) {
		dt_fail(e, "the current directory: %s", strerror(errno));
		return NULL;
	}
	if (dt_format(path, sizeof(path), "%s%s%.*s", name[0] == '/' ? "" : here,
		      name[0] == '/' ? "" : "/", (int)n, name) >= sizeof(path)) {
		dt_fail(e, "%.40s...: too long", name);
		return NULL;
	}
	return strdup(path);
}

static int serve(struct dt_mount *m, bool foreground, int ready)
{
	struct dt_error e;
	int status = 0;

	if (dt_mount_serve(m, foreground, ready, &e) < 0)
		status = dt_cmd_fail("%s", e.text);
	dt_mount_free(m);
	return status;
}

static int mount_at(const char *directory, bool foreground, int ready)
{
	struct dt_error e;
	struct dt_mount *m = dt_mount_new(directory, &e);

	if (!m)
		return dt_cmd_fail("%s%s", e.text, dt_cmd_meant_hint());
	if (ready >= 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		if (chdir("/") < 0 || write(ready, "+", 1) != 1)
			foreground = false;
		if (null > 2)
			close(null);
	}
	return serve(m, foreground, ready);
}

/* Serves in a child; returns when the files are there. */
static int in_background(const char *directory)
{
	int ready[2], status = 0;
	char byte;
	ssize_t n;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return dt_cmd_fail("%s", strerror(errno));
	if (pid == 0) {
		setsid();
		close(ready[0]);
		exit(mount_at(directory, false, ready[1]));
	}
	close(ready[1]);
	do
		n = read(ready[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	/* wait until sessions find the mount, too: long only when another mount does not answer */
	if (n == 1)
		poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, LINK_MS);
	close(ready[0]);
	if (n == 1)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
}

int dt_cmd_mount(int argc, char **argv)
{
	static const struct option longs[] = {{"foreground", no_argument, NULL, 'f'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	bool foreground = false;
	struct dt_error e;
	char *directory;
	int opt, status;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "fh", longs, NULL)) != -1) {
		switch (opt) {
		case 'f':
			foreground = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("mount");
		}
	}
	if (optind + 1 != argc || !argv[optind][0]) {
		dt_cmd_fail("name one folder");
		return dt_cmd_usage("mount");
	}
	directory = absolute(argv[optind], &e);
	if (!directory)
		return dt_cmd_fail("%s", e.text);
	status = foreground ? mount_at(directory, true, -1) : in_background(directory);
	free(directory);
	return status;
}
