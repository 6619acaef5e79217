/* SPDX-License-Identifier: MIT */
/* The session of a shell: one that is there, or one that begins and ends with it. */
#include "cmd/shell-work.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/open.h"
#include "cmd/shell-edit.h"
#include "core/words.h"

struct search {
	char process[32], name[64];
};

/* For dt_sessions_each(): notes the session if it traces the process. */
static void has_process(void *ctx, const char *name)
{
	struct search *f = ctx;
	struct dt_client c;
	const char *p;

	if (f->name[0] || dt_client_open(&c, name, NULL) < 0)
		return;
	dt_client_hurry(&c);
	if (dt_client_ask(&c, "status", NULL) == 0) {
		/* "process 12" is in "process 123", too */
		p = strstr(c.text, f->process);
		while (p && p[strlen(f->process)] != '\n')
			p = strstr(p + 1, f->process);
		if (p)
			dt_format(f->name, sizeof(f->name), "%s", name);
	}
	dt_client_close(&c);
}

/* Begins a session in the background and reads its name. */
static bool attach(const char *pid, char *name, size_t size)
{
	int out[2], status;
	pid_t child;
	ssize_t n;

	if (pipe(out) < 0 || (child = fork()) < 0)
		return false;
	if (child == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl("/proc/self/exe", "devtrace", "attach", "-d", pid, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], name, size - 1);
	close(out[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return name[0] != '\0';
}

/* Finds the session that traces the process, or begins one. Returns 0, or the exit status. */
int dt_shell_find(struct shell *s, const char *pid, char *name, size_t size)
{
	struct search f = {.name = ""};
	struct dt_error e;
	uint64_t number;

	if (!dt_word_decimal(pid, &number) || !number || number > 0x7fffffff) {
		fprintf(stderr, "devtrace: '%s' is not a process id\n", pid);
		return 2;
	}
	dt_format(f.process, sizeof(f.process), "process %lu", (unsigned long)number);
	if (dt_sessions_each(has_process, &f, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (f.name[0]) {
		dt_format(name, size, "%s", f.name);
	} else {
		if (!attach(pid, name, size))
			return 1; /* devtrace attach has reported why */
		s->began = true;
	}
	s->session = name;
	return 0;
}

/* Runs in a thread: waits for the signals that end a shell, and then ends the session that the
 * shell has begun, too. */
static void *watch(void *session)
{
	struct dt_client c;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigwait(&set, &sig) != 0)
		return NULL;
	if (dt_client_open(&c, session, NULL) == 0) {
		dt_client_write(&c, "quit", 4, 0, NULL);
		dt_client_close(&c);
	}
	if (dt_edit.rl_deprep_terminal)
		dt_edit.rl_deprep_terminal();
	signal(sig, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return NULL;
}

/* Starts the thread that waits for signals. Ignored signals (nohup) stay ignored. */
void dt_shell_watch(struct shell *s)
{
	static const int signals[] = {SIGTERM, SIGHUP};
	struct sigaction old;
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, watch, (void *)(uintptr_t)s->session) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
