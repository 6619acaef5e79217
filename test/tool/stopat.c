/* SPDX-License-Identifier: MIT */
/*
 * Stops a traced process at the N-th instruction of an append, and kills it there, or holds it
 * there while others go on.
 *
 * usage: stopat PID HOOK N kill
 *        stopat PID HOOK N hold PROGRESS-FILE COUNT
 * HOOK: entry, exit (the hooks that append by rseq; the process runs on core 0), or slow (the entry
 * hook of a process without rseq: N single steps into it, as far as it goes).
 * hold: until the number at offset 8 of PROGRESS-FILE has grown by COUNT.
 * Prints the address. Exits 0, 1: it could not, 3: the hook has fewer instructions.
 */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hook/area.h"
#include "process/memory.h"

static int fail(const char *what)
{
	fprintf(stderr, "stopat: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Address of the n-th instruction from `at' on, to the first return; 0: there are fewer. */
static uint64_t instruction(int mem, uint64_t at, unsigned n)
{
	ZydisDecoder d;
	ZydisDecodedInstruction in;
	unsigned char text[512];

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (dt_memory_read(mem, at, text, sizeof(text)) < 0)
		return 0;
	for (size_t i = 0; i + 16 < sizeof(text); n--) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, text + i,
								sizeof(text) - i, &in)))
			return 0;
		if (n == 0)
			return at + i;
		if (in.mnemonic == ZYDIS_MNEMONIC_RET)
			return 0;
		i += in.length;
	}
	return 0;
}

/* Waits for a trap stop; signals on the way are delivered. Returns 0 then. */
static int run_to_trap(pid_t pid, int how)
{
	int status, signal = 0;

	for (;;) {
		if (ptrace(how, pid, 0, signal) < 0)
			return -1;
		while (waitpid(pid, &status, __WALL) < 0)
			if (errno != EINTR)
				return -1;
		if (!WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGTRAP && status >> 16 == 0)
			return 0;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

static uint64_t progress(const char *file)
{
	uint64_t v = 0;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &v, sizeof(v), 8) != sizeof(v))
		v = 0;
	close(fd);
	return v;
}

/* Others must go on: at most ten seconds. */
static int hold(const char *file, uint64_t count)
{
	uint64_t begin = progress(file);

	for (int ms = 0; ms < 10000; ms++) {
		struct timespec t = {0, 1000000};

		if (progress(file) >= begin + count)
			return 0;
		nanosleep(&t, NULL);
	}
	errno = ETIMEDOUT;
	return -1;
}

int main(int argc, char **argv)
{
	struct user_regs_struct r;
	unsigned char old, trap = 0xcc;
	struct dt_maps maps;
	struct dt_error e;
	uint64_t area, hook[DT_HOOKS], at, pos;
	bool slow;
	pid_t pid;
	unsigned n;
	int mem, status;

	if (argc < 5)
		return 2;
	pid = atoi(argv[1]);
	slow = strcmp(argv[2], "slow") == 0;
	n = (unsigned)atoi(argv[3]);
	mem = dt_memory_open(pid, &e);
	if (mem < 0 || dt_maps_read(pid, &maps, &e) < 0) {
		fprintf(stderr, "stopat: %s\n", e.text);
		return 1;
	}
	area = dt_area_find(mem, &maps);
	if (!area || dt_area_hooks(mem, area, !slow, hook) < 0)
		return fail("not traced");
	at = strcmp(argv[2], "exit") == 0 ? hook[1] : hook[0];
	pos = slow ? at : instruction(mem, at, n);
	if (!pos)
		return 3;
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 ||
	    waitpid(pid, &status, __WALL) < 0)
		return fail("stopping it");
	if (dt_memory_read(mem, pos, &old, 1) < 0 || dt_memory_write(mem, pos, &trap, 1) < 0)
		return fail("planting a trap");
	if (run_to_trap(pid, PTRACE_CONT) < 0)
		return fail("running to the trap");
	if (ptrace(PTRACE_GETREGS, pid, 0, &r) < 0 || r.rip != pos + 1)
		return fail("elsewhere");
	if (dt_memory_write(mem, pos, &old, 1) < 0)
		return fail("taking the trap away");
	r.rip = pos;
	if (ptrace(PTRACE_SETREGS, pid, 0, &r) < 0)
		return fail("registers");
	for (unsigned i = 0; slow && i < n; i++)
		if (run_to_trap(pid, PTRACE_SINGLESTEP) < 0)
			return fail("stepping");
	if (ptrace(PTRACE_GETREGS, pid, 0, &r) < 0)
		return fail("registers");
	printf("%s+%lu\n", argv[2], (unsigned long)(r.rip - at));
	if (strcmp(argv[4], "kill") == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, __WALL) > 0 && !WIFSIGNALED(status))
			;
		return 0;
	}
	if (hold(argv[5], strtoull(argv[6], NULL, 10)) < 0)
		fail("nobody else went on");
	else
		n = 0;
	if (ptrace(PTRACE_DETACH, pid, 0, 0) < 0)
		return fail("letting go");
	return n != 0;
}
