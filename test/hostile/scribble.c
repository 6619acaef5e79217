/* SPDX-License-Identifier: MIT */
/*
 * A traced program that means harm: it finds the session's memory in itself and writes there, again
 * and again, while it makes calls: what is in each word of the control block and of the rings'
 * heads, chosen extremes, old values back, random ones. It also tries to take the memory away from
 * the others. forge TID: says of its records, of waits and of pauses that they were another user's
 * thread's, or everybody's. lie-future, lie-past, lie-back, lie-nowhere, lie-namespace, lie-switch,
 * lie-losses, lie-counts, lie-wait: one untruth, everywhere and all the time, and all else is as it
 * should be. Exits with 9 when it has read there what a program of another user has for a secret
 * (neighbour.c), else 7. usage: scribble SEED SECONDS WHAT    WHAT: control, rings, records, all,
 * truncate; old: words that were there before; request [TID]: messages of others' (requests.c);
 * vfork: has messages be about a thread that can not be stopped; catch: waits until it is attached
 * to, and catches the file while it is being mapped; code [PID], loops [PID], stub [PID]: what
 * devtrace has put into the code, of itself or another process; calls: what such a one is (code.c);
 * life: lives of many processes; hunt CONTROLLER: who kills those (lives.c)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/control.h"
#include "process/pid-namespace.h"
#include "spoil.h"

#define CONTROL DT_CONTROL_SIZE
#define FN	__attribute__((noinline, noclone))

volatile uint64_t *memory;
size_t bytes;
static uint64_t state;
static volatile int stop;

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The mapping is the only shared one that can be written to and goes by that name. */
int find(char *path, size_t size)
{
	char line[512], perms[8], name[256];
	unsigned long low, high, inode;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255[^\n]", &low, &high, perms, &inode,
			   name) < 4)
			continue;
		if (strcmp(perms, "rw-s") ||
		    (!strstr(name, "devtrace") && !strstr(name, "/dev/shm")))
			continue;
		memory = (volatile uint64_t *)low;
		bytes = high - low;
		snprintf(path, size, "/proc/self/map_files/%lx-%lx", low, high);
		break;
	}
	if (f)
		fclose(f);
	return memory != NULL;
}

static uint64_t value(uint64_t before)
{
	static const uint64_t extreme[] = {0,
					   1,
					   63,
					   64,
					   65,
					   4095,
					   ~0ull,
					   ~0ull >> 1,
					   1ull << 63,
					   1ull << 62,
					   1ull << 61,
					   1ull << 48,
					   1ull << 32,
					   0xffffffff,
					   0x7fffffff,
					   0x80000000,
					   0x4141414141414141,
					   0x7fff00000000,
					   0xffff800000000000,
					   0x40000001,
					   3,
					   2};

	switch (next() % 8) {
	case 0:
		return next();
	case 1:
		return before + 64 * (next() % 100);
	case 2:
		return before - 64 * (next() % 100);
	case 3:
		return (uint64_t)memory + next() % bytes;
	case 4:
		return before ^ 1ull << next() % 64;
	default:
		return extreme[next() % (sizeof(extreme) / sizeof(*extreme))];
	}
}

void scribble(const char *what)
{
	size_t words = bytes / 8, control = CONTROL / 8, at;
	int all = !strcmp(what, "all");
	/* from one ring's head to the next, as the session has it to begin with */
	static size_t stride;

	if (!stride) /* geometry: two words behind version and policy */
		for (at = 1; at < 8 && !stride; at++)
			if (memory[at] > 65536 && memory[at] < bytes && memory[at] % 4096 == 0 &&
			    memory[at] != bytes && (memory[at] & (memory[at] - 1)))
				stride = memory[at] / 8;
	switch (all ? next() % 3 : what[0] == 'c' ? 0 : what[0] == 'r' && what[1] == 'i' ? 1 : 2) {
	case 0:
		at = next() % 4 ? next() % 64 : next() % control;
		break;
	case 1:
		at = control + (stride ? next() % ((words - control) / stride) * stride : 0) +
		     next() % 24;
		break;
	default:
		at = control + next() % (words - control);
	}
	if (at < words)
		memory[at] = value(memory[at]);
}

static void forge(uint32_t victim)
{
	struct dt_control *c = (struct dt_control *)memory;
	uint64_t ticks = __builtin_ia32_rdtsc();

	for (unsigned ring = 0; ring <= c->geometry.cores; ring++) {
		struct dt_record *r = dt_ring_records(dt_ring_at(c, c->geometry.stride, ring));

		for (size_t i = 0; i < c->geometry.ring_size / 64; i++)
			r[i].tid = victim;
	}
	for (unsigned i = 0; i < DT_HELDS; i++) {
		struct dt_held *h = &c->held[i];

		if (h->state != DT_REQUEST_FREE)
			continue;
		*h = (struct dt_held){.tid = victim,
				      .begin = ticks - 100000000,
				      .end = ticks,
				      .why = DT_HELD_EXEC};
		__atomic_store_n(&h->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
		__atomic_add_fetch(&c->helds, 1, __ATOMIC_SEQ_CST);
	}
	c->frozen = ticks - 100000000;
	dt_ring_note_thaw(c, dt_ring_at(c, c->geometry.stride, c->geometry.cores)->pos, ticks);
}

/* Tells once of a wait that ended before it began. */
static void tell_backwards(struct dt_control *c, uint64_t ticks)
{
	static bool told;

	for (unsigned i = 0; i < DT_HELDS && !told; i++) {
		struct dt_held *h = &c->held[i];

		if (h->state != DT_REQUEST_FREE)
			continue;
		*h = (struct dt_held){.tid = (uint32_t)gettid(),
				      .begin = ticks,
				      .end = ticks - 100000,
				      .why = DT_HELD_ROOM};
		__atomic_store_n(&h->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
		__atomic_add_fetch(&c->helds, 1, __ATOMIC_SEQ_CST);
		told = true;
	}
}

/* One word of each record, or of each ring's head, is made untrue. */
static void lie(const char *what)
{
	struct dt_control *c = (struct dt_control *)memory;
	uint64_t ticks = __builtin_ia32_rdtsc();

	if (!strcmp(what, "wait"))
		tell_backwards(c, ticks);
	for (unsigned ring = 0; ring <= c->geometry.cores; ring++) {
		struct dt_ring *head = dt_ring_at(c, c->geometry.stride, ring);
		struct dt_record *r = dt_ring_records(head);

		if (!strcmp(what, "losses"))
			__atomic_store_n(&head->lost_before, DT_LOST_MAX, __ATOMIC_RELAXED);
		if (!strcmp(what, "counts"))
			__atomic_add_fetch(&head->dropped, 1, __ATOMIC_RELAXED);
		for (size_t i = 0; i < c->geometry.ring_size / 64; i++)
			if (!strcmp(what, "future"))
				r[i].ticks = ticks + (1ull << 40);
			else if (!strcmp(what, "past"))
				r[i].ticks = 1;
			else if (!strcmp(what, "back"))
				r[i].ticks -= 1000000;
			else if (!strcmp(what, "nowhere"))
				r[i].pc = (uintptr_t)lie + 1;
			else if (!strcmp(what, "switch"))
				r[i].kind = DT_SWITCH;
			else if (!strcmp(what, "namespace"))
				r[i].tid |= 5u << DT_TAG_SHIFT;
	}
}

static void look(void)
{
	for (size_t at = 0; at < bytes / 8; at++)
		if (memory[at] == 0x5ec4e75ec4e75ec4)
			_exit(9);
}

FN long leaf(long x)
{
	__asm__ volatile("" ::: "memory");
	return x * 3;
}

/* Calls of its own: they may hang, since the session is broken, and nobody waits for them. */
static void *calls(void *arg)
{
	for (long i = 0; !stop; i++)
		leaf(i);
	return arg;
}

static void take_away(const char *path)
{
	for (int fd = 3; fd < 64; fd++) /* one that was left open */
		if (!ftruncate(fd, 0))
			fprintf(stderr, "fd %d could be truncated\n", fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0 && (!ftruncate(fd, 0) || !ftruncate(fd, 4096)))
		fprintf(stderr, "the mapping could be truncated\n");
	if (fd >= 0)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
}

static volatile uint32_t waits, execs; /* thread ids */

/* A thread that waits in the kernel for its child, and stops for nobody. */
static void *never_stops(void *arg)
{
	waits = (uint32_t)gettid();
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return arg;
}

/* One that says all the time that it is about to execve, and that this failed. */
static void *executes(void *arg)
{
	char *const none[] = {NULL};

	execs = (uint32_t)gettid();
	while (!stop)
		execve("/nowhere", none, none);
	return arg;
}

/* Has what the second says be of the first. */
static void exchange(void)
{
	volatile uint32_t *word = (volatile uint32_t *)memory;

	for (size_t i = 0; i < CONTROL / 4 && waits && execs; i++)
		if (word[i] == execs)
			word[i] = waits;
}

static volatile int caught = -1;

static void *watch(void *arg)
{
	while (caught < 0)
		for (int fd = 3; fd < 9; fd++) {
			struct stat st;
			int mine;

			if (fstat(fd, &st) || st.st_size < 200000 ||
			    (mine = fcntl(fd, F_DUPFD, 50)) < 0)
				continue;
			caught = mine;
			break;
		}
	return arg;
}

/* Many threads look for it, one of them will see it. */
static int catches(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, watch, NULL);
	for (int i = 0; i < 3000 && caught < 0; i++) {
		leaf(i);
		usleep(10000);
	}
	usleep(300000);
	printf("caught %d, truncated %d\n", caught > 0, caught > 0 && !ftruncate(caught, 0));
	fflush(stdout);
	for (int i = 0; i < 100; i++) {
		leaf(i);
		usleep(10000);
	}
	_exit(7);
}

/* What a process is that does not look for the session's memory first. Returns its status; -1: it
 * is another one. */
static int other(const char *what, double seconds, pid_t who)
{
	if (!strcmp(what, "catch"))
		return catches();
	if (!strcmp(what, "hunt"))
		lives_hunt(who, seconds);
	else if (!strcmp(what, "calls"))
		code_calls(seconds);
	else if (!strcmp(what, "code") || !strcmp(what, "loops") || !strcmp(what, "stub"))
		code_spoil(who ? who : getpid(), seconds, what);
	else if (!strcmp(what, "life"))
		lives(seconds, who);
	else
		return -1;
	_exit(7);
}

/* Does once of what it is told. */
static void act(const char *what, const char *path, pid_t who)
{
	if (!strcmp(what, "truncate"))
		take_away(path);
	else if (!strcmp(what, "vfork"))
		exchange();
	else if (!strcmp(what, "forge"))
		forge(who ? (uint32_t)who : 1);
	else if (!strcmp(what, "request"))
		requests_forge(who ? who : getppid());
	else if (!strcmp(what, "old"))
		requests_replay();
	else if (!strncmp(what, "lie-", 4))
		lie(what + 4);
	else
		for (int i = 0; i < 100; i++)
			scribble(what);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 1, end;
	const char *what = argc > 3 ? argv[3] : "all";
	pid_t who = argc > 4 ? atoi(argv[4]) : 0;
	char path[128];
	pthread_t thread;
	int status;

	state = argc > 1 ? strtoull(argv[1], NULL, 0) * 0x9e3779b97f4a7c15u + 1 : 1;
	status = other(what, seconds, who);
	if (status >= 0)
		return status;
	leaf(1);
	if (!find(path, sizeof(path))) {
		puts("not traced");
		return 3;
	}
	pthread_create(&thread, NULL, calls, NULL);
	if (!strcmp(what, "vfork")) {
		pthread_create(&thread, NULL, never_stops, NULL);
		pthread_create(&thread, NULL, executes, NULL);
	}
	if (!strncmp(what, "lie-", 4))
		usleep(100000); /* some of it is true */
	end = now() + seconds;
	do {
		act(what, path, who);
		if (next() % 64 == 0)
			look();
		if (next() % 16 == 0)
			usleep(next() % 2000);
		/* the test has had its answer */
		if (!strcmp(what, "vfork") && access("enough", F_OK) == 0)
			break;
	} while (now() < end);
	stop = 1;
	look();
	/* a thread that waits for ever for room is ended with the rest */
	_exit(7);
}
