/* SPDX-License-Identifier: MIT */
/*
 * Threads whose thread blocks are none of libc's. blocks none|own [strict]: a thread by libc's
 * clone(), without a thread pointer, or with a block of its own; strict: after another thread has
 * gone into strict seccomp. blocks again: a thread that has the block of one that was strict. With
 * -DALONE, a program without a C library: its first thread has no thread pointer, another has one,
 * and is strict. Each thread calls f() 1,000 times before, and 1,000 times after; prints what it
 * computed. blocks stay: a thread without a thread pointer calls f() until there is something to
 * read; prints how often it did behind the first 1,000.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define FN __attribute__((noipa, optimize("no-stack-protector")))
#define THREAD                                                                                     \
	(0x100 | 0x200 | 0x400 | 0x800 | 0x10000 |                                                 \
	 0x40000) /* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
#define SETTLS	 0x80000
#define PARENT	 0x100000 /* CLONE_PARENT_SETTID */
#define CLEARTID 0x200000

static char stack[64 << 10] __attribute__((aligned(64)));
static long block[1024] __attribute__((aligned(64)));
static volatile int tid = 1, ready, sum, done;

FN int f(int x)
{
	return x * 3 + (x >> 1);
}

FN void work(void)
{
	for (int i = 0; i < 1000; i++)
		__atomic_add_fetch(&sum, f(i), __ATOMIC_SEQ_CST);
}

static inline long call3(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

FN int thread(void *stays)
{
	do {
		work();
		done++;
		call3(SYS_sched_yield, 0, 0, 0);
	} while (stays && !ready);
	return 0;
}

/* A number, and a line's end. */
static inline __attribute__((always_inline)) void say(unsigned n)
{
	char text[16];
	int at = sizeof(text);

	text[--at] = '\n';
	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	call3(SYS_write, 1, (long)text + at, (long)sizeof(text) - at);
}

static inline __attribute__((always_inline)) long forbid(void)
{
	long r;

	__asm__ volatile("mov $157, %%eax; syscall"
			 : "=&a"(r)
			 : "D"((long)PR_SET_SECCOMP), "S"((long)SECCOMP_MODE_STRICT), "d"(0L)
			 : "rcx", "r11", "memory");
	return r;
}

#ifdef ALONE
FN void strict(void)
{
	work();
	if (forbid())
		call3(SYS_exit_group, 4, 0, 0);
	work();
	ready = 1;
	call3(SYS_exit, 0, 0, 0);
}

FN void begin(void)
{
	register long tls __asm__("r8");
	register long child __asm__("r10");
	long r;

	block[0] = block[2] = (long)block;
	work();
	tls = (long)block;
	child = 0;
	__asm__ volatile("syscall; test %%rax, %%rax; jne 1f; xor %%ebp, %%ebp; call strict; 1:"
			 : "=a"(r)
			 : "a"((long)SYS_clone), "D"((long)(THREAD | SETTLS)),
			   "S"(stack + sizeof(stack)), "d"(0L), "r"(child), "r"(tls)
			 : "rcx", "r11", "memory");
	while (!ready)
		__builtin_ia32_pause();
	work();
	say((unsigned)sum);
	call3(SYS_exit_group, 5, 0, 0);
}

__asm__(".globl _start; _start: xor %ebp, %ebp; and $-16, %rsp; call begin; hlt");
#else
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static void *strict(void *ctx)
{
	work();
	if (forbid())
		_exit(4);
	work();
	call3(SYS_exit, 0, 0, 0);
	return ctx;
}

static void *other(void *ctx)
{
	work();
	return ctx;
}

int main(int argc, char **argv)
{
	const int flags = THREAD | SETTLS | PARENT | CLEARTID;
	pthread_t t;

	work();
	if (argc > 2 || (argc > 1 && !strcmp(argv[1], "again"))) {
		pthread_create(&t, NULL, strict, NULL);
		pthread_join(t, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "again")) {
		pthread_t first = t;

		pthread_create(&t, NULL, other, NULL);
		pthread_join(t, NULL);
		if (t != first) /* libc has not given its block again */
			return 3;
	} else {
		void *stays = argc > 1 && !strcmp(argv[1], "stay") ? stack : NULL;

		if (clone(thread, stack + sizeof(stack), flags, stays, &tid,
			  argc > 1 && !strcmp(argv[1], "own") ? block : NULL, &tid) < 0)
			return 4;
		while (stays && !done)
			usleep(1000);
		if (stays) {
			say(0);
			read(0, stack, 1);
			ready = 1;
		}
		while (tid)
			usleep(1000);
	}
	work();
	say((unsigned)sum);
	return 5;
}
#endif
