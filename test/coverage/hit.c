/* SPDX-License-Identifier: MIT */
/*
 * Notes which pieces of a program have run: gcc's -fsanitize-coverage=trace-pc calls this at the
 * beginning of each basic block. A byte of a shared file for each byte of the program's code, so
 * that what confined itself, forked or was killed has noted it, too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST (16u << 20) /* bytes of code */

extern char __executable_start[], etext[];
void __sanitizer_cov_trace_pc(void);

static unsigned char *hits;

__attribute__((constructor(101), no_sanitize_coverage)) static void begin(void)
{
	char exe[512], path[1024];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *folder = getenv("DEVTRACE_HITS");
	void *at;
	int fd;

	if (n <= 0)
		return;
	exe[n] = '\0';
	snprintf(path, sizeof(path), "%s/%s", folder ? folder : DT_HITS, strrchr(exe, '/') + 1);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	fchmod(fd, 0666);
	at = ftruncate(fd, MOST) ? MAP_FAILED
				 : mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		hits = at;
}

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
	uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start;

	if (hits && at < MOST)
		hits[at] = 1;
}
