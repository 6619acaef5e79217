/* SPDX-License-Identifier: MIT */
/*
 * Runs a program under a session and does to it what it asks for while it runs: it writes
 * a line to descriptor 3, and reads one from descriptor 4 when that is done.
 *
 *	on N, off N	the events of subsystem N; -1: of all
 *
 * usage: switch TRACE PROG [ARG...]; exits as the program does
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/launch.h"
#include "session/begin.h"
#include "session/ctl.h"
#include "session/serve.h"
#include "session/session.h"

static struct dt_session *session;

static void die(const char *what, const struct dt_error *e)
{
	fprintf(stderr, "switch: %s: %s\n", what, e ? e->text : "");
	exit(99);
}

static void serve_line(char *line)
{
	struct dt_error e = {""};
	char word[16] = "";
	int n = -1, rc = -1;

	sscanf(line, "%15s %d", word, &n);
	if (!strcmp(word, "on") || !strcmp(word, "off")) {
		char command[64], number[16] = "all";

		if (n >= 0)
			snprintf(number, sizeof(number), "%d", n);
		snprintf(command, sizeof(command), "subsystem %s %s", number, word);
		rc = dt_ctl_write(session, NULL, command, strlen(command), &e);
	}
	if (rc)
		die(line, &e);
}

int main(int argc, char **argv)
{
	struct dt_options options = {.policy = DT_WAIT, .output = argc > 2 ? argv[1] : NULL};
	int ask[2], answer[2], status = 0;
	struct dt_error e = {""};
	struct dt_launch launch;
	char line[64];
	size_t at = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	if (pipe(ask) || pipe(answer) || fcntl(ask[0], F_SETFD, FD_CLOEXEC) ||
	    fcntl(answer[1], F_SETFD, FD_CLOEXEC))
		die("pipe", NULL);
	/* high numbers first, so that 3 and 4 overwrite none that is still needed */
	ask[1] = fcntl(ask[1], F_DUPFD, 100);
	answer[0] = fcntl(answer[0], F_DUPFD, 100);
	ask[0] = fcntl(ask[0], F_DUPFD_CLOEXEC, 100);
	answer[1] = fcntl(answer[1], F_DUPFD_CLOEXEC, 100);
	if (dup2(ask[1], 3) != 3 || dup2(answer[0], 4) != 4)
		die("dup2", NULL);
	close(ask[1]);
	close(answer[0]);
	session = dt_session_create(&options, &e);
	if (!session || dt_session_record(session, &e))
		die("session", &e);
	pid = dt_launch_begin(&launch, argv[2], argv + 2, &e) == 0
		      ? dt_session_start(session, &launch, &e)
		      : -1;
	if (pid < 0)
		die(argv[2], &e);
	close(3);
	while (dt_session_serve(session, 1)) {
		struct pollfd p = {ask[0], POLLIN, 0};

		if (poll(&p, 1, 0) != 1 || !(p.revents & POLLIN) || read(ask[0], line + at, 1) != 1)
			continue;
		if (line[at] != '\n') {
			at += at + 1 < sizeof(line);
			continue;
		}
		line[at] = '\0';
		at = 0;
		serve_line(line);
		if (write(answer[1], "\n", 1) != 1)
			break;
	}
	if (dt_session_end(session, &e) || dt_session_close(session, NULL, &e))
		die("end", &e);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
