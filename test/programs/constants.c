/* SPDX-License-Identifier: MIT */
/* Makes calls with each constant that strace knows, so that nothing happens: descriptors, pointers and ids are wrong. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define BAD ((void *)8)
#define NONE "/nonexistent/file"
#define EACH(i, from, to) for (long i = (from); i < (to); i++)
/* all flags, each flag alone, and none */
#define BITS(i, all) for (long bit_ = 0, i; i = bit_ < 32 ? (all) & 1l << bit_ : bit_ == 32 ? (all) : 0, bit_ < 34; bit_++) if (i || bit_ == 33)

static char room[4096];
static const long ones[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

static void numbers(void)
{
	EACH(i, 1, 68) prctl(i, -1l, -1l, -1l, -1l);
	prctl(PR_SET_VMA, -1l, -1l, -1l, -1l);
	prctl(PR_SET_PTRACER, -2l, -1l, -1l, -1l);
	EACH(i, 0x5400, 0x5470) ioctl(-1, i, BAD);
	EACH(i, 0x8900, 0x8a00) ioctl(-1, i, BAD);
	ioctl(-1, TIOCGPTN, BAD);
	ioctl(-1, TIOCSPTLCK, BAD);
	EACH(i, 0, 16) { setrlimit(i, BAD); getrlimit(i, BAD); }
	EACH(i, 0, 48) if (i != F_GETOWN) fcntl(-1, i, BAD);
	EACH(i, 1024, 1042) fcntl(-1, i, BAD);
	EACH(i, 0, 6) lseek(-1, 0, i);
	EACH(i, 0, 4) shutdown(-1, i);
	EACH(i, 0, 26) madvise(BAD, 0, i);
	EACH(i, 0, 8) posix_fadvise(-1, 0, 0, i);
	EACH(i, 0, 32) kill(0x7ffffff0, i);
	EACH(i, 1, 32) sigaction(i, NULL, NULL);
	EACH(i, 0, 12) timerfd_create(i, 0x100);
	EACH(i, 0, 5) epoll_ctl(-1, i, -1, BAD);
	EACH(i, 0, 46) socket(i, 64, 0);
	EACH(i, 0, 300) { setsockopt(-1, i, -1, BAD, 0); getsockopt(-1, i, -1, BAD, BAD); }
	EACH(i, 0, 7) sched_setscheduler(-1, i, BAD);
	EACH(i, 0, 4) { setitimer(i, (void *)ones, NULL); getpriority(i, -1); }
	EACH(i, -2, 3) getrusage(i, BAD);
	EACH(i, 0, 4) sigprocmask(i, &(sigset_t){0}, NULL);
	EACH(i, 1, 35) ptrace(i, 0x7ffffff0, BAD, BAD);
	EACH(i, 0x4200, 0x4212) ptrace(i, 0x7ffffff0, BAD, BAD);
	EACH(i, 0, 20) { msgctl(-1, i, room); shmctl(-1, i, room); if (i < 4 || i > 10) semctl(-1, 0, i, room); }
}

static void flags(void)
{
	static char page[4096];

	BITS(i, 0x2f7fc0) { if (!(i & O_CREAT) || i == O_CREAT) open(NONE, i, 0640); openat(AT_FDCWD, NONE, i, 04751); }
	EACH(i, 0, 10) access(NONE, i);
	EACH(i, 0, 4) open(NONE, i);
	open(NONE, O_WRONLY | O_SYNC);
	open(NONE, O_RDWR | O_TMPFILE, 0600);
	BITS(i, 0x03000007) mmap(NULL, 0, i, MAP_PRIVATE, -1, 0);
	BITS(i, 0x1ff970) EACH(j, 0, 4) mmap(NULL, 0, PROT_READ, i | j, -1, 0);
	BITS(i, 0x03000007) mprotect(page + 1, 0, i);
	BITS(i, 5) mremap(page + 1, 0, 0, i);
	BITS(i, 7) msync(page + 1, 0, i);
	BITS(i, 7) mlockall(i | 64);
	BITS(i, 0x6415ffff) { send(-1, page, 0, i); recv(-1, page, 0, i); sendmsg(-1, BAD, i); recvmsg(-1, BAD, i); sendto(-1, page, 0, i, NULL, 0); }
	EACH(i, 0, 12) { socket(AF_INET, i | SOCK_CLOEXEC, -1); socket(AF_INET, i | SOCK_NONBLOCK, -1); }
	BITS(i, SOCK_CLOEXEC | SOCK_NONBLOCK) accept4(-1, NULL, NULL, i);
	BITS(i, EFD_CLOEXEC | EFD_NONBLOCK | 1) eventfd(7, i);
	BITS(i, TFD_CLOEXEC | TFD_NONBLOCK) timerfd_create(CLOCK_REALTIME, i);
	BITS(i, 3) timerfd_settime(-1, i, &(struct itimerspec){0}, NULL);
	BITS(i, EPOLL_CLOEXEC) epoll_create1(i);
	BITS(i, IN_CLOEXEC | IN_NONBLOCK) inotify_init1(i);
	BITS(i, 0xa7000fff) inotify_add_watch(-1, "/", i);
	BITS(i, SFD_CLOEXEC | SFD_NONBLOCK) signalfd(-1, &(sigset_t){0}, i);
	BITS(i, O_CLOEXEC | O_NONBLOCK | O_DIRECT) { pipe2(BAD, i); dup3(-1, -1, i); }
	BITS(i, 15) flock(-1, i);
	BITS(i, 15) { unlinkat(-2, NONE + 1, 0x200); linkat(-2, "a", -2, "b", i << 10); }
	BITS(i, 0x1900) fstatat(-2, "a", (void *)page, i);
	BITS(i, 7) if (i) renameat2(-2, "a", -2, "b", i);
	BITS(i, 0x1fff) statx(-2, "a", 0, i, BAD);
	BITS(i, 15) umount2(NONE, i);
	BITS(i, 0x33ef0ff) mount("none", NONE, "none", i, NULL);
	BITS(i, 0x7e020000) { unshare(i | 1); setns(-1, i); }
	BITS(i, 7) getrandom(BAD, 1, i);
	BITS(i, 7) close(memfd_create("x", i & ~4));
	BITS(i, 123) fallocate(-1, i, 0, 0);
	BITS(i, 15) { splice(-1, NULL, -1, NULL, 0, i); tee(-1, -1, 0, i); }
	BITS(i, 6) close_range(~0u, ~0u, i);
	BITS(i, WNOHANG | WUNTRACED | WCONTINUED) wait4(-1, NULL, i, NULL);
	BITS(i, WNOHANG | WSTOPPED | WEXITED | WCONTINUED | WNOWAIT) waitid(P_ALL, 0, NULL, i);
	BITS(i, 3) setxattr(NONE, "user.x", NULL, 0, i);
	BITS(i, 0x600) { msgget(0x5eed, i | IPC_EXCL); semget(0x5eed, -1, i); shmget(0x5eed, 0, i); }
	BITS(i, 0x7800) msgrcv(-1, BAD, 0, 0, i);
	mkdir(NONE, 0755);
	chmod(NONE, 04711);
	umask(022);
}

int main(void)
{
	access("/the/beginning", F_OK);
	numbers();
	flags();
	return 0;
}
