/* SPDX-License-Identifier: MIT */
/*
 * A process that forks, executes itself and other programs, ends and kills, in turns, and writes
 * into the session's memory all the time, as do its children. And one that kills them from outside,
 * at times by chance, and all of them in the end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spoil.h"

#define DEPTH 3

static void spoil(int rounds)
{
	static const char *const what[] = {"control", "rings", "records", "all"};
	char path[128];

	if (!memory && !find(path, sizeof(path)))
		return;
	for (int i = 0; i < rounds; i++) {
		leaf(i);
		for (int k = 0; k < 20; k++)
			scribble(what[next() % 4]);
		if (next() % 8 == 0)
			requests_replay();
		if (next() % 8 == 0)
			requests_forge(getppid());
	}
}

/* Goes on as another program, or as this one anew. */
static void execute(double seconds, int depth)
{
	char seed[32], left[32], deep[16];
	char *const again[] = {"scribble", seed, left, "life", deep, NULL};
	char *const other[] = {"true", NULL};

	snprintf(seed, sizeof(seed), "%lu", (unsigned long)next());
	snprintf(left, sizeof(left), "%f", seconds);
	snprintf(deep, sizeof(deep), "%d", depth);
	if (depth < DEPTH && next() % 2)
		execv("/proc/self/exe", again);
	execv("/bin/true", other);
	_exit(1);
}

static void child(double seconds, int depth)
{
	char *const other[] = {"true", NULL};

	for (unsigned i = (unsigned)getpid() % 64; i; i--)
		next(); /* others than its parent's */
	spoil((int)(next() % 20));
	switch (next() % 5) {
	case 0:
		execute(seconds, depth + 1);
		break;
	case 1:
		raise(SIGKILL);
		break;
	case 2:
		if (vfork() == 0) {
			execv("/bin/true", other);
			_exit(1);
		}
		break;
	case 3:
		if (depth < DEPTH)
			lives(seconds / 4, depth + 1);
		break;
	default:
		break;
	}
	_exit(0);
}

void lives(double seconds, int depth)
{
	double end = now() + seconds, patience;

	while (now() < end) {
		pid_t pid = fork();

		if (pid == 0)
			child(end - now(), depth);
		spoil((int)(next() % 10));
		/* some are waited for, others killed, at any time */
		patience = now() + (double)(next() % 100) / 1000;
		while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
			if (now() > patience)
				kill(pid, SIGKILL);
			usleep(500);
		}
		if (depth == 0 && next() % 32 == 0)
			execute(end - now(), 0);
	}
}

/* Reads a process's parent and name; 0 and "": there is none, or it has ended. */
static pid_t parent_of(pid_t pid, char name[64])
{
	char path[64];
	int parent = 0;
	char state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	name[0] = '\0';
	if (f && (fscanf(f, "%*d (%63[^)]) %c %d", name, &state, &parent) != 3 || state == 'Z')) {
		name[0] = '\0';
		parent = 0;
	}
	if (f)
		fclose(f);
	return parent;
}

/* Tells whether a process is the controller's: those that have outlived their parents are still in
 * its process group. One whose message has been written over waits for ever, or until it is killed.
 */
static int is_hunted(pid_t pid, pid_t controller)
{
	static const char *const names[] = {"scribble", "exe", "true"};
	char name[64];

	parent_of(pid, name);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return pid != getpid() && getpgid(pid) == controller;
	return 0;
}

void lives_hunt(pid_t controller, double seconds)
{
	double end = now() + seconds, last = end + 10;

	for (int found = 1; now() < end || (found && now() < last);) {
		DIR *d = opendir("/proc");
		struct dirent *entry;

		found = 0;
		while (d && (entry = readdir(d)) != NULL) {
			pid_t pid = (pid_t)atoi(entry->d_name);

			if (pid <= 1 || !is_hunted(pid, controller))
				continue;
			found = 1;
			/* the first of them only in the end */
			if (now() > end ||
			    (next() % 8 == 0 && parent_of(pid, (char[64]){""}) != controller))
				kill(pid, SIGKILL);
		}
		if (d)
			closedir(d);
		usleep(next() % 20000);
	}
}
