/* SPDX-License-Identifier: MIT */
/* A thread by clone() without a C library's block, and a process that shares memory. */
#define TRUTH_MAIN
#include "truth.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char stack[2][256 << 10] __attribute__((aligned(64)));
static volatile int sum;

FN int work(int n, int x)
{
	ENTER(ARG(n), ARG(x));
	if (!n)
		RETURN(x);
	RETURN(work(n - 1, x * 3 + n) ^ n);
}

/* shares its creator's thread block: that one waits meanwhile, and has its depth back then */
FN int raw_thread(void *arg)
{
	truth_depth = 0;
	ENTER(ARG(arg));
	sum += work(20, (int)(long)arg);
	RETURN(0);
}

FN void thread(long x)
{
	static volatile int tid;
	int depth;

	ENTER(ARG(x));
	depth = truth_depth;
	if (clone(raw_thread, stack[0] + sizeof(stack[0]),
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		  (void *)x, (int *)&tid, NULL, (int *)&tid) < 0)
		abort();
	for (int is; (is = tid);)
		syscall(SYS_futex, &tid, FUTEX_WAIT, is, NULL, NULL, 0);
	truth_depth = depth;
	LEAVE();
}

FN void process(long x)
{
	int depth, status;
	pid_t pid;

	ENTER(ARG(x));
	depth = truth_depth;
	pid = clone(raw_thread, stack[1] + sizeof(stack[1]), CLONE_VM | SIGCHLD, (void *)x);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	truth_depth = depth;
	LEAVE();
}

int main(void)
{
	truth_start();
	ENTER0();
	for (int i = 0; i < 5; i++) {
		thread(i + 1);
		process(i + 2);
	}
	printf("%d\n", sum);
	RETURN(0);
}
