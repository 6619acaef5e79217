/* SPDX-License-Identifier: MIT */
/*
 * Forbids itself what a tracer needs, and counts its own calls. forbid WHAT [HOW]
 *	WHAT: tsc (the cycle counter, and allows it again), strict (seccomp), filter (kills for anything
 *	      but write, vfork and exit), thread (strict, another thread goes on), child (tsc, then forks),
 *	      exec (tsc, then executes itself with `called'), tsync (a filter for all threads at once),
 *	      vfork (filter, then a child), asks (what forbids nothing, since it fails), texts (strict, then functions that are passed texts)
 *	HOW:  libc, syscall (libc's function of that name), inline; and apart: inline, other instructions
 *	      between the number and the system call
 * Prints nothing but what it computed, so that it can be compared. Calls of f() are made 1,000 before,
 * 1,000 while it is forbidden, 1,000 when it is allowed again.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FN __attribute__((noinline, noclone))

static const char *how = "libc";

FN int f(int x)
{
	__asm__ volatile("" ::: "memory");
	return x * 3 + (x >> 1);
}

FN unsigned text(const char *t)
{
	__asm__ volatile("" ::: "memory");
	return (unsigned char)t[0];
}

FN int calls(int n)
{
	unsigned sum = 0;

	for (int i = 0; i < n; i++)
		sum += (unsigned)f(i);
	return (int)sum;
}

FN static long inline_call(long nr, long a, long b, long c)
{
	long r;

	if (nr == SYS_prctl)
		__asm__ volatile("mov $157, %%eax; syscall"
				 : "=&a"(r)
				 : "D"(a), "S"(b), "d"(c)
				 : "rcx", "r11", "memory");
	else
		__asm__ volatile("mov $317, %%eax; syscall"
				 : "=&a"(r)
				 : "D"(a), "S"(b), "d"(c)
				 : "rcx", "r11", "memory");
	return r;
}

FN static long apart(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("mov $157, %%eax; mov %1, %%rdi; mov %2, %%rsi; mov %3, %%rdx; syscall"
			 : "=&a"(r)
			 : "r"(a), "r"(b), "r"(c)
			 : "rdi", "rsi", "rdx", "rcx", "r11", "memory");
	return nr == SYS_prctl ? r : -1;
}

static long call(long nr, long a, long b, long c)
{
	if (!strcmp(how, "inline"))
		return inline_call(nr, a, b, c);
	if (!strcmp(how, "apart"))
		return apart(nr, a, b, c);
	if (!strcmp(how, "syscall") || nr != SYS_prctl)
		return syscall(nr, a, b, c);
	return prctl((int)a, b, c, 0, 0);
}

static void say(const char *what, int x)
{
	char text[64];
	size_t n = strlen(what);

	memcpy(text, what, n);
	for (int i = 7; i >= 0; i--)
		text[n++] = "0123456789abcdef"[(unsigned)x >> 4 * i & 15];
	text[n++] = '\n';
	if (write(1, text, n) != (ssize_t)n)
		_exit(3);
}

static void end(int status)
{
	syscall(SYS_exit, status);
}

static void tsc(int how_much)
{
	if (call(SYS_prctl, PR_SET_TSC, how_much, 0))
		_exit(4);
}

static struct sock_filter filter_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 4, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog filter = {sizeof(filter_code) / sizeof(filter_code[0]), filter_code};

static void *become_strict(void *ctx)
{
	say("thread ", calls(1000));
	if (call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0))
		_exit(4);
	say("thread ", calls(1000));
	end(0);
	return ctx;
}

static volatile int go_on = 1;

static void *work(void *sum)
{
	while (go_on)
		*(int *)sum += calls(100);
	for (;;) /* it could not end */
		__builtin_ia32_pause();
}

static int run(const char *what)
{
	int sum[4] = {0};
	pthread_t t;

	say("before ", calls(1000));
	if (!strcmp(what, "tsc")) {
		tsc(PR_TSC_SIGSEGV);
		say("now ", calls(1000));
		tsc(PR_TSC_ENABLE);
	} else if (!strcmp(what, "strict")) {
		if (call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0))
			return 4;
		say("now ", calls(1000));
		end(5);
	} else if (!strcmp(what, "asks")) {
		/* as libseccomp does, to learn what the kernel can do */
		if (!call(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0) || !call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0) ||
		    !call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, 0) ||
		    !call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0))
			return 4;
		say("text ", (int)text("after"));
		say("now ", calls(1000));
	} else if (!strcmp(what, "texts")) {
		say("text ", (int)text("allowed"));
		if (call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0))
			return 4;
		say("text ", (int)text("forbidden"));
		end(5);
	} else if (!strcmp(what, "filter") || !strcmp(what, "vfork")) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    (strcmp(how, "syscall") ? call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&filter)
					    : call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter)))
			return 4;
		if (!strcmp(what, "vfork") && vfork() == 0) {
			calls(1000);
			_exit(0);
		}
		say("now ", calls(100000));
		end(5);
	} else if (!strcmp(what, "thread")) {
		pthread_create(&t, NULL, become_strict, NULL);
		pthread_join(t, NULL);
		say("now ", calls(1000));
	} else if (!strcmp(what, "child")) {
		tsc(PR_TSC_SIGSEGV);
		if (fork() == 0) {
			say("child ", calls(1000));
			_exit(0);
		}
		wait(NULL);
		tsc(PR_TSC_ENABLE);
	} else if (!strcmp(what, "exec")) {
		tsc(PR_TSC_SIGSEGV);
		execl("/proc/self/exe", "forbid", "called", how, NULL);
		return 4;
	} else if (!strcmp(what, "called")) {
		tsc(PR_TSC_ENABLE);
	} else if (!strcmp(what, "tsync")) {
		for (int i = 0; i < 4; i++)
			pthread_create(&t, NULL, work, &sum[i]);
		usleep(20000);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, (long)&filter))
			return 4;
		/* the others can not sleep for want of room: they would take the cores from who makes it */
		go_on = 0;
		say("now ", calls(1000));
		syscall(SYS_exit_group, 5);
	}
	say("after ", calls(1000));
	return 5;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2)
		how = argv[2];
	return run(argv[1]);
}
