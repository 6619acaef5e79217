/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own probes of a function of a program, for comparison: a uprobe at its entry and a
 * uretprobe at its exit, which count and record nothing.
 *
 * usage: uprobe FILE OFFSET PROGRAM [ARGUMENT]...     OFFSET: the function's, in the file
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int n = -1;

	if (f) {
		if (fscanf(f, "%d", &n) != 1)
			n = -1;
		fclose(f);
	}
	return n;
}

int main(int argc, char **argv)
{
	uint64_t count[2] = {0, 0};
	int fd[2], status;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: uprobe FILE OFFSET PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr a = {
			.size = sizeof(a),
			.type = (uint32_t)type(),
			.config = (uint64_t)i, /* 1: at the return */
			.uprobe_path = (uint64_t)(uintptr_t)argv[1],
			.probe_offset = strtoull(argv[2], NULL, 0),
			.disabled = 1,
			.enable_on_exec = 1,
		};

		fd[i] = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd[i] < 0) {
			perror("uprobe");
			kill(pid, SIGKILL);
			return 1;
		}
	}
	kill(pid, SIGCONT);
	if (waitpid(pid, &status, 0) < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		if (read(fd[i], &count[i], 8) != 8)
			perror("uprobe: read");
	fprintf(stderr, "entries=%lu exits=%lu\n", (unsigned long)count[0],
		(unsigned long)count[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
