/* SPDX-License-Identifier: MIT */
/*
 * Calls functions of the C library with texts in pages that can not be read, that end in the middle
 * of the text, or that have gone since they were read last, in several threads and random
 * combinations; a handler of SIGSEGV jumps out of them (siglongjmp). "faults SEED ROUNDS THREADS"
 * prints a line for each thread: what happened, in a sum. It must be the same whatever records it.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096ul
#define PAGES 64

static __thread sigjmp_buf out;
static __thread volatile uintptr_t fault;
static FILE *nowhere;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	fault = (uintptr_t)info->si_addr;
	siglongjmp(out, 1);
}

struct work {
	uint64_t random, sum, faults;
	char *page[PAGES]; /* each with another one behind it */
	bool was[PAGES][2], is[PAGES][2];
	unsigned rounds;
};

static uint64_t next(struct work *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random >> 11;
}

static void add(struct work *w, uint64_t v)
{
	w->sum = (w->sum ^ v) * 0x9e3779b97f4a7c15u;
	w->sum ^= w->sum >> 29;
}

/* Makes a page readable, with letters in it, or not readable; its place stays taken. */
static void change(struct work *w, unsigned i, unsigned half)
{
	char *p = w->page[i] + half * PAGE;
	uint64_t how = next(w) % 4;

	if (how == 0) {
		mprotect(p, PAGE, PROT_NONE);
	} else if (how == 1) {
		mmap(p, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	} else {
		mprotect(p, PAGE, PROT_READ | PROT_WRITE);
		memset(p, 'a' + (int)(next(w) % 3), PAGE);
		if (next(w) % 2)
			p[next(w) % PAGE] = '\0';
		p[PAGE - 1] = next(w) % 2 ? 'z' : '\0';
		w->was[i][half] = true;
	}
	w->is[i][half] = how > 1;
}

static size_t strdup_length(const char *s)
{
	char *copy = strdup(s);
	size_t n = strlen(copy);

	free(copy);
	return n;
}

static int puts_nowhere(const char *s)
{
	return fputs(s, nowhere) >= 0;
}

/* Calls a function: s points to the text, t to another one, n is a number. */
static uint64_t call(unsigned which, const char *s, const char *t, size_t n, char *room)
{
	switch (which) {
	case 0:
		return (uint64_t)(strlen(s));
	case 1:
		return (uint64_t)(strcmp(s, t));
	case 2:
		return (uint64_t)(strcmp(t, s));
	case 3:
		return (uint64_t)(strncmp(s, t, n));
	case 4:
		return (uint64_t)(strcasecmp(s, s));
	case 5:
		return (uint64_t)(memcmp(s, t, n));
	case 6:
		return (uint64_t)((uintptr_t)memchr(s, 'q', n) - (uintptr_t)s);
	case 7:
		return (uint64_t)((memcpy(room, s, n), room[n / 2]));
	case 8:
		return (uint64_t)((memmove(room, s, n), room[n / 2]));
	case 9:
		return (uint64_t)((memmove((void *)s, s, 0), 1));
	case 10:
		return (uint64_t)((uintptr_t)strchr(s, 'q') - (uintptr_t)s);
	case 11:
		return (uint64_t)((uintptr_t)strrchr(s, 'a') - (uintptr_t)s);
	case 12:
		return (uint64_t)(strnlen(s, n));
	case 13:
		return (uint64_t)(strcspn(s, "xyz"));
	case 14:
		return (uint64_t)(strspn(s, "abc"));
	case 15:
		return (uint64_t)(atoi(s));
	case 16:
		return (uint64_t)((uintptr_t)strstr(s, "aq") - (uintptr_t)s);
	case 17:
		return (uint64_t)(strncmp(s, t, 0));
	case 18:
		return (uint64_t)((strncpy(room, s, n), room[0]));
	case 19:
		return (uint64_t)(fopen(s, "r") != NULL);
	case 20:
		return (uint64_t)(strtol(s, NULL, 1));
	case 21:
		return (uint64_t)(strdup_length(s));
	case 22:
		return (uint64_t)(snprintf(room, PAGE, s));
	case 23:
		return (uint64_t)((strcpy(room, s), room[0]));
	case 24:
		return (uint64_t)(access(s, 0) + errno);
	case 25:
		return (uint64_t)(puts_nowhere(s));
	}
	return 0;
}

/* Finds a page of the thread's; false: it is none. */
static bool find(const struct work *w, const char *p, unsigned *i, unsigned *half)
{
	size_t n = (size_t)(p - w->page[0]) / PAGE;

	*i = (unsigned)(n / 3);
	*half = (unsigned)(n % 3);
	return p >= w->page[0] && *i < PAGES && *half < 2;
}

static bool can_not(const struct work *w, const char *p)
{
	unsigned i, half;

	return !find(w, p, &i, &half) || !w->is[i][half];
}

static bool was_there(const struct work *w, const char *p)
{
	unsigned i, half;

	return find(w, p, &i, &half) && w->was[i][half];
}

static void round_of(struct work *w, char *room)
{
	unsigned which = (unsigned)(next(w) % 26), i = (unsigned)(next(w) % PAGES),
		 j = (unsigned)(next(w) % PAGES), near = (unsigned)(next(w) % 80);
	size_t n = next(w) % (next(w) % 2 ? 40 : 400),
	       at = next(w) % 3 ? PAGE - near : next(w) % PAGE;
	const char *s = w->page[i] + at, *t = w->page[j] + next(w) % PAGE;
	uintptr_t page;

	if (next(w) % 32 == 0)
		s = (const char *)(next(w) % 3 ? next(w) % 100000 : 0xfffful << 48 | next(w));
	if (next(w) % 3 == 0)
		change(w, i, (unsigned)(next(w) % 2));
	add(w, which);
	if (sigsetjmp(out, 1) == 0) {
		add(w, call(which, s, t, n, room));
		return;
	}
	w->faults++;
	/* which of two it reads first is a function's own affair: two texts, or the two ends of one
	 */
	if ((was_there(w, s) && can_not(w, s) && can_not(w, s + PAGE)) ||
	    ((can_not(w, s) || can_not(w, s + PAGE)) && (can_not(w, t) || can_not(w, t + PAGE))))
		return;
	page = fault & -PAGE;
	add(w, page - (uintptr_t)w->page[0]);
	/* of a page that was there once the hook may be the one that faults: at the text itself,
	 * where functions may begin in front of it, at a multiple of 32 */
	if (!can_not(w, (char *)page) || !was_there(w, (char *)page))
		add(w, fault - page);
}

static void *work(void *arg)
{
	struct work *w = arg;
	char *room = malloc(4 * PAGE);

	for (unsigned i = 0; i < w->rounds; i++)
		round_of(w, room);
	free(room);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	struct work w[16] = {0};
	pthread_t thread[16];
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	if (argc < 4 || threads > 16)
		return 2;
	nowhere = fopen("/dev/null", "w");
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	for (unsigned i = 0; i < threads; i++) {
		char *p = mmap((void *)(0x100000000000 + i * 0x100000000), 3 * PAGES * PAGE,
			       PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		w[i].random = strtoull(argv[1], NULL, 10) * 64 + i + 1;
		w[i].rounds = (unsigned)atoi(argv[2]);
		for (unsigned k = 0; k < PAGES; k++)
			w[i].page[k] = p + 3 * k * PAGE;
		pthread_create(&thread[i], NULL, work, &w[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		printf("%u: %016lx, %lu faults\n", i, (unsigned long)w[i].sum,
		       (unsigned long)w[i].faults);
	}
	return 0;
}
