/* SPDX-License-Identifier: MIT */
/*
 * A program that leaves nothing to whoever traces it: no descriptors, no environment, no files, no
 * way to open any, all signals blocked, and at last almost no system calls.
 * It cannot tell the truth by then; its output and status must be the same.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FN __attribute__((noinline))

FN unsigned long quiet_work(unsigned long n, unsigned long x)
{
	__asm__ volatile("" : "+r"(x));
	return n ? quiet_work(n - 1, x * 6364136223846793005u + n) ^ n : x;
}

FN unsigned long quiet_loop(int n)
{
	unsigned long sum = 1;

	for (int i = 0; i < n; i++)
		sum += quiet_work((unsigned long)i % 20, sum);
	return sum;
}

FN void quiet_say(unsigned long x)
{
	char text[17];

	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
	text[16] = '\n';
	if (write(1, text, 17) != 17)
		_exit(3);
}

/*
 * Only write and exit are left, and what every sandbox of a program with threads allows: futex and
 * rt_sigprocmask. strict: not these either. (SECCOMP_MODE_STRICT also takes rdtsc away.)
 */
FN void lock_up(bool strict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, strict ? SYS_exit : SYS_futex, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, strict ? SYS_exit : SYS_rt_sigprocmask, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(4);
}

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};
	sigset_t all;

	clearenv();
	if (chdir("/proc"))
		return 2;
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	setrlimit(RLIMIT_NOFILE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_DUMPABLE, 0);
	quiet_say(quiet_loop(2000));
	if (argc > 1)
		lock_up(!strcmp(argv[1], "strict"));
	quiet_say(quiet_loop(200000));
	syscall(SYS_exit, 7);
}
