/* SPDX-License-Identifier: MIT */
/*
 * Writes over the code that devtrace has put into a process, its own or another one of the same
 * user: trampolines, hooks, the jumps to them, and where code is injected for a moment. A jump to
 * itself, a breakpoint, a return, a system call, anything, what was there before. "loops": jumps to
 * itself everywhere. "stub": only where a thread is made to do system calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arch/area.h"
#include "spoil.h"

#define PLACES	 128
#define KEPT	 64 /* bytes of before that are known */
#define TAIL	 1024
#define CALLERS	 6 /* threads; those that hang are not replaced */
#define ALTSTACK 65536

/* ---- calls */

static __thread sigjmp_buf back;
static volatile int over;

static void caught(int signal)
{
	siglongjmp(back, signal);
}

static void *calls(void *arg)
{
	stack_t stack = {.ss_sp = malloc(ALTSTACK), .ss_size = ALTSTACK};

	sigaltstack(&stack, NULL);
	/* again after each fault */
	sigsetjmp(back, 1);
	for (long i = 0; !over; i++) {
		leaf(i);
		if (i % 64 == 0)
			usleep(500);
	}
	return arg;
}

static void begin_calls(void)
{
	static const int fault[] = {SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGFPE};
	struct sigaction a = {.sa_handler = caught, .sa_flags = SA_ONSTACK | SA_NODEFER};
	pthread_t thread;

	for (size_t i = 0; i < sizeof(fault) / sizeof(*fault); i++)
		sigaction(fault[i], &a, NULL);
	pthread_create(&thread, NULL, calls, NULL);
}

void code_calls(double seconds)
{
	double end = now() + seconds;

	/* where only parents may write into a process */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	begin_calls();
	begin_calls();
	while (now() < end)
		usleep(10000);
	over = 1;
}

/* ---- code */

static struct place {
	uint64_t at;
	size_t n;
	int ours; /* all of it is devtrace's */
} place[PLACES];
static size_t places;
static int mem = -1;

static struct {
	uint64_t at;
	unsigned char old[8];
} kept[KEPT];

/* Adds the unused end of a text, where code may be injected: as much of it as is zero. */
static void add_tail(uint64_t high)
{
	unsigned char tail[TAIL];
	size_t n = 0;

	if (pread(mem, tail, TAIL, (off_t)(high - TAIL)) != TAIL)
		return;
	while (n < TAIL && !tail[TAIL - 1 - n])
		n++;
	if (n >= 64)
		place[places++] = (struct place){high - n, n, 0};
}

/* Finds what can be executed and is of no file, and the ends of texts. */
static void find_places(pid_t pid)
{
	char line[512], path[64], perms[8], name[256];
	unsigned long low, high, inode;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	places = 0;
	while (f && places < PLACES && fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255[^\n]", &low, &high, perms, &inode,
			   name) < 4 ||
		    perms[2] != 'x' || perms[3] == 's' || low >> 63)
			continue;
		if (!inode && !strchr(name, '['))
			place[places++] = (struct place){low, high - low, 1};
		else
			add_tail(high);
	}
	if (f)
		fclose(f);
	if (places < PLACES)
		place[places++] = (struct place){(uint64_t)(uintptr_t)leaf, 16, 0};
}

/*
 * Tells of a part of what the kernel itself looks at, in the 64 bytes at `text': the descriptor of
 * a restartable sequence, or the mark before its abort. It ends the process at once if that is
 * wrong, whatever handlers there are.
 */
static int is_kernels(const unsigned char *text, const struct place *p)
{
	static const unsigned char mark[] = {0x53, 0x30, 0x05, 0x53};
	uint64_t word;

	for (unsigned i = 0; i + 8 <= 64; i++) {
		memcpy(&word, text + i, 8);
		if (!memcmp(text + i, mark, sizeof(mark)) || (i % 8 == 0 && (word - p->at < p->n)))
			return 1;
	}
	return 0;
}

static void write_code(uint64_t at, const void *what, size_t n)
{
	unsigned i = (unsigned)(next() % KEPT);

	if (pread(mem, kept[i].old, 8, (off_t)at) == 8)
		kept[i].at = at;
	if (pwrite(mem, what, n, (off_t)at) < 0)
		return;
}

static void spoil_somewhere(void)
{
	static const struct {
		unsigned char text[4], n;
	} pattern[] = {{{0xeb, 0xfe}, 2},
		       {{0xcc}, 1},
		       {{0xc3}, 1},
		       {{0x0f, 0x05}, 2},
		       {{0x0f, 0x0b}, 2},
		       {{0xf4}, 1},
		       {{0x0f, 0x05, 0xeb, 0xfc}, 4}};
	const struct place *p = &place[next() % places];
	uint64_t at = p->at + (next() % 2 && p->n > 4096 ? next() % 4096 : next() % p->n);
	uint64_t any = next();
	unsigned char text[64];
	unsigned i = (unsigned)(next() % KEPT);

	/* that is an early end: only now and then */
	if (p->ours && next() % 4096 &&
	    (pread(mem, text, 64, (off_t)(at & ~31ull) - 16) != 64 || is_kernels(text, p)))
		return;
	switch (next() % 4) {
	case 0:
		if (kept[i].at && pwrite(mem, kept[i].old, 8, (off_t)kept[i].at) < 0)
			kept[i].at = 0;
		break;
	case 1:
		write_code(at, &any, 1 + next() % 8);
		break;
	default:
		i = (unsigned)(next() % (sizeof(pattern) / sizeof(*pattern)));
		write_code(at, pattern[i].text, pattern[i].n);
	}
}

/* Jumps to themselves, wherever there is code of devtrace's. */
static void spoil_all(void)
{
	unsigned char text[4096 + 64], loop[32];

	for (size_t i = 0; i < sizeof(loop); i++)
		loop[i] = i % 2 ? 0xfe : 0xeb;
	for (size_t i = 0; i < places; i++)
		for (size_t at = 0; place[i].ours && at < place[i].n; at += 4096) {
			if (pread(mem, text + 16, 4096, (off_t)(place[i].at + at)) != 4096)
				break;
			for (size_t k = 0; k < 4096; k += 32)
				/* nor where there is none */
				if (memcmp(text + 16 + k, (unsigned char[32]){0}, 32) != 0 &&
				    !is_kernels(text + k, &place[i]) &&
				    pwrite(mem, loop, 32, (off_t)(place[i].at + at + k)) != 32)
					break;
		}
}

/* Has a thread that makes system calls for the controller start a child by vfork that never ends,
 * so that nothing stops the thread. */
static void spoil_calls(void)
{
	static const unsigned char vforks[] = {0xb8, 58, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xfe};
	unsigned char text[TAIL];

	memset(text, 0x90, sizeof(text));
	memcpy(text + sizeof(text) - sizeof(vforks), vforks, sizeof(vforks));
	for (size_t i = 0; i < places; i++) {
		uint64_t at = place[i].ours ? place[i].at + DT_AREA_STUB + 8 : place[i].at;
		size_t n = place[i].ours ? 256 : place[i].n;

		if (place[i].at == (uintptr_t)leaf || (place[i].ours && place[i].n <= DT_AREA_STUB))
			continue;
		if (pwrite(mem, text + sizeof(text) - n, n, (off_t)at) < 0)
			return;
	}
}

void code_spoil(pid_t pid, double seconds, const char *how)
{
	double end = now() + seconds, again = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0) {
		perror(path);
		_exit(4);
	}
	if (pid == getpid()) {
		/* a thread is made by code that devtrace has changed, so before */
		for (int i = 0; i < CALLERS; i++)
			begin_calls();
		/* it may have hung itself up all the same */
		alarm((unsigned)seconds + 20);
	}
	while (now() < end && kill(pid, 0) == 0) {
		if (now() > again) {
			find_places(pid);
			/* ends of texts are not unused any more then */
			again = strcmp(how, "stub") != 0 ? now() + 0.05 : end;
		}
		if (!strcmp(how, "stub")) {
			spoil_calls();
			continue;
		}
		if (!strcmp(how, "loops"))
			spoil_all();
		else
			for (int i = 0; i < 20; i++)
				spoil_somewhere();
		if (next() % 8 == 0)
			usleep(next() % 1000);
	}
	over = 1;
}
