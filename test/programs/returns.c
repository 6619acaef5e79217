/* SPDX-License-Identifier: MIT */
/*
 * Signal frames whose return address is in the middle of what a probe's jump replaces. returns MODE:
 *	old     a handler has returned, and its frame stands in an array that nothing has written to
 *	live    a handler waits until there is something to read, and returns then
 *	spent   as old, but f() is called so, and returns, behind "here"
 *	late    as live, but behind "here"
 * f() reads at an address that is none; the handler puts that right. Prints "here", waits for a
 * byte, calls f() 1,000 times, prints "there", waits for another one, calls it 1,000 times more, and
 * prints what it computed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
long f(const long *x);
__asm__(".text; .balign 64; .globl f; .type f, @function\n"
	"f: push %rbp; mov %rsp, %rbp; mov (%rdi), %rax; add $1, %rax; nopl 0(%rax); pop %rbp; ret\n"
	".size f, . - f; .balign 64");
#else
#error "f() is for x86-64"
#endif

static long value = 41, bad, sum;
static const char *waits; /* what a handler prints, if it waits */

static void await(const char *word)
{
	char byte;

	if (write(1, word, strlen(word)) < 0)
		_exit(3);
	if (read(0, &byte, 1) < 0)
		_exit(3);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	if (waits)
		await(waits);
	c->uc_mcontext.gregs[REG_RDI] = (greg_t)&value;
}

/* The handler's frame is somewhere below. */
__attribute__((noinline)) static void fault(int deep)
{
	char room[256];

	__asm__ volatile("" : : "r"(room) : "memory");
	if (deep)
		fault(deep - 1);
	else
		sum += f((const long *)bad);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void work(void)
{
	for (int i = 0; i < 1000; i++)
		sum += f(&value);
}

/* Has the old frame in an array of its own. */
__attribute__((noinline)) static void cover(const char *word, int works)
{
	char room[65536];

	__asm__ volatile("" : : "r"(room) : "memory");
	await(word);
	if (works) {
		work();
		await("there\n");
	}
	__asm__ volatile("" : : "r"(room) : "memory");
}

int main(int argc, char **argv)
{
	struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	bad = 8;
	sigaction(SIGSEGV, &how, NULL);
	if (argc > 1 && !strcmp(argv[1], "live")) {
		waits = "here\n";
		fault(3);
		work();
		await("there\n");
		work();
	} else if (argc > 1 && !strcmp(argv[1], "late")) {
		await("here\n");
		work();
		waits = "there\n";
		fault(3);
		work();
	} else if (argc > 1 && !strcmp(argv[1], "spent")) {
		await("here\n");
		work();
		fault(3);
		cover("there\n", 0);
		work();
	} else {
		fault(3);
		cover("here\n", 1);
		work();
	}
	printf("%ld\n", sum);
	return 0;
}
