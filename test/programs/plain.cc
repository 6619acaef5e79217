// SPDX-License-Identifier: MIT
// Calls of all kinds that --filter may judge in one go or may not, counted by the program itself:
// recursion, tail calls, longjmp, exceptions, signals on the thread's stack and on another,
// threads, children. It prints for each function "NAME CALLS", and how many of them had an argument
// above 4 (NAME-large), were made at depth 2 (depth-2) and by up (by-up).
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER __attribute__((noipa))

enum { MAIN, THREAD, LEAF, UP, DOWN, JUMPS, JUMPED, LEAVES, THROWS, CATCHES, HANDLER, FUNCTIONS };
static const char *const name[] = {"main",   "thread", "leaf",	 "up",	    "down",   "jumps",
				   "jumped", "leaves", "throws", "catches", "handler"};

/* shared with the children */
static struct counts {
	long calls[FUNCTIONS], large[FUNCTIONS], by_up;
} * counts;

static inline void count(int function, long argument)
{
	__atomic_add_fetch(&counts->calls[function], 1, __ATOMIC_RELAXED);
	if (argument > 4)
		__atomic_add_fetch(&counts->large[function], 1, __ATOMIC_RELAXED);
}

/* keeps the compiler from making loops of recursion */
static inline long opaque(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

extern "C" {

NEVER long leaf(long n)
{
	count(LEAF, n);
	return n - 5;
}

NEVER long up(long n)
{
	count(UP, n);
	__atomic_add_fetch(&counts->by_up, 2, __ATOMIC_RELAXED);
	return leaf(n) + opaque(leaf(n + 1));
}

NEVER long down(long n)
{
	count(DOWN, n);
	return n > 0 ? down(n - 1) + up(n % 7) : opaque(leaf(0));
}

NEVER long jumped(long n)
{
	count(JUMPED, n);
	return n + 1;
}

NEVER long jumps(long n)
{
	count(JUMPS, n);
	return jumped(n + 2);
}

static __thread jmp_buf back;

NEVER long leaves(long n)
{
	count(LEAVES, n);
	if (n == 0)
		longjmp(back, 1);
	return opaque(leaves(n - 1)) + 1;
}

NEVER long throws(long n)
{
	count(THROWS, n);
	if (n == 0)
		throw 5;
	return opaque(throws(n - 1)) + 1;
}

NEVER long catches(long n)
{
	count(CATCHES, n);
	try {
		return throws(n) + 1;
	} catch (int caught) {
		return caught;
	}
}

NEVER void handler(int)
{
	count(HANDLER, SIGUSR1);
	leaf(9);
}
}

static void turn(long i)
{
	for (long k = 0; k < 20; k++)
		leaf(k % 9);
	down(i % 12);
	jumps(i % 8);
	if (setjmp(back) == 0)
		leaves(i % 6);
	catches(i % 5);
	if (i % 4 == 0)
		raise(i % 8 ? SIGUSR1 : SIGUSR2);
}

extern "C" NEVER void *thread(void *turns)
{
	static __thread char stack[65536];
	stack_t s = {};

	count(THREAD, 9);
	s.ss_sp = stack;
	s.ss_size = sizeof(stack);
	sigaltstack(&s, nullptr);
	for (long i = 0; i < (long)turns; i++)
		turn(i);
	return nullptr;
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? atol(argv[1]) : 200;
	pthread_t t[3];
	struct sigaction on = {}, other = {};

	counts = (struct counts *)mmap(nullptr, sizeof(*counts), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	count(MAIN, argc);
	on.sa_handler = other.sa_handler = handler;
	other.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &on, nullptr);
	sigaction(SIGUSR2, &other, nullptr);
	for (auto &one : t)
		pthread_create(&one, nullptr, thread, (void *)turns);
	for (auto &one : t)
		pthread_join(one, nullptr);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			for (long k = 0; k < turns / 4; k++)
				turn(k);
			_exit(0);
		}
		wait(nullptr);
	}
	for (long i = 0; i < turns; i++)
		turn(i);
	for (int i = 0; i < FUNCTIONS; i++)
		printf("%s %ld\n%s-large %ld\n", name[i], counts->calls[i], name[i],
		       counts->large[i]);
	printf("by-up %ld\n", counts->by_up);
}
