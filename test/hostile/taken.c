/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into devtrace: what somebody tries who runs code in it. The first time that a function
 * is called with which a file of others is read, behind the confinement, it tries all of what it
 * knows, and says of each on standard error whether it could: "taken: NAME" or "refused: NAME:
 * why".
 *
 * TAKEN_SECRET  a file that is to be read       TAKEN_MAKE  a file that is to be made
 * TAKEN_PID     a process of the same user      TAKEN_PORT  of this machine, where somebody listens
 * TAKEN_STATED  a file that the command needs
 * TAKEN_SOCKET  the same, a path                TAKEN_LACKS words: "landlock", "seccomp", "rights":
 * as on a kernel without that (of rights: that does not let go of them)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int confined, tried;

static int lacks(const char *what)
{
	const char *words = getenv("TAKEN_LACKS");

	return words && strstr(words, what);
}

static const char *given(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static void say(const char *what, int could)
{
	char line[200];
	int n = could ? snprintf(line, sizeof(line), "taken: %s\n", what)
		      : snprintf(line, sizeof(line), "refused: %s: %s\n", what, strerror(errno));

	if (write(2, line, (size_t)n) < 0)
		_exit(1);
}

/* ---- what is tried ---- */

static int could_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC), could = fd >= 0 && read(fd, &byte, 1) == 1;

	if (fd >= 0)
		close(fd);
	return could;
}

static int could_make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return 0;
	close(fd);
	unlink(path);
	return 1;
}

static int could_fork(int runs)
{
	char *const words[] = {"true", NULL};
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		if (runs)
			execve("/bin/true", words, environ);
		_exit(runs ? 1 : 0);
	}
	if (pid < 0)
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = EACCES;
	return status == 0;
}

static int could_connect(int family, const void *to, socklen_t n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    could = fd >= 0 && connect(fd, to, n) == 0;

	if (fd >= 0)
		close(fd);
	return could;
}

static int could_connect_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)atoi(given("TAKEN_PORT")))};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return could_connect(AF_INET, &a, sizeof(a));
}

static int could_connect_path(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", given("TAKEN_SOCKET"));
	return could_connect(AF_UNIX, &a, sizeof(a));
}

static int could_trace(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return 0;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 1;
}

static int could_look_into(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Has it capabilities? */
static int could_use_rights(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	char line[256];
	unsigned long long all = 1;
	FILE *f = fopen("/proc/self/status", "re");

	/* it may be neither asked nor looked up: then what needs one */
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &all) == 1)
			break;
	if (f)
		fclose(f);
	else if (syscall(SYS_capget, &head, data) == 0)
		all = data[0].effective | data[1].effective;
	else
		all = chroot("/") == 0;
	errno = EPERM;
	return all != 0;
}

/* Of the process outside, as process/outside.c asks it: a file that was not stated. */
static int could_ask(int request, int flags, const char *path)
{
	struct {
		int request, flags, mode;
		char path[4096];
	} asked = {request, flags, 0600, ""};
	char answer[2048], control[64];
	int got = 0;

	snprintf(asked.path, sizeof(asked.path), "%s", path);
	for (int fd = 3; fd < 64; fd++) {
		struct iovec part = {answer, sizeof(answer)};
		struct msghdr m = {.msg_iov = &part,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = 64};
		struct sockaddr_un name;
		socklen_t n = sizeof(name);
		struct stat st;

		/* the one that has no name, and keeps messages apart */
		if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
		    (getpeername(fd, (void *)&name, &n) == 0 && n > 2))
			continue;
		if (send(fd, &asked, 12 + strlen(path) + 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
		    recvmsg(fd, &m, MSG_CMSG_CLOEXEC) < 8)
			continue;
		memcpy(&got, answer, 4);
		memcpy(&errno, answer + 4, 4);
		return m.msg_controllen >= CMSG_LEN(4) || got >= 0;
	}
	errno = ENOENT;
	return 0;
}

static int could_system(long n, long a, long b, long c, long d, long e)
{
	long rc;

	errno = 0;
	rc = syscall(n, a, b, c, d, e);
	if (n != SYS_unshare && rc > 2)
		close((int)rc);
	return rc >= 0 || (errno != EPERM && errno != EACCES);
}

static void try_all(void)
{
	pid_t pid = atoi(given("TAKEN_PID"));
	char remote[8], own[8];
	struct iovec to = {own, 8}, from = {remote, 8};
	int fd;

	say("read", could_read(given("TAKEN_SECRET")));
	say("make", could_make(given("TAKEN_MAKE")));
	say("fork", could_fork(0));
	say("run", could_fork(1));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	say("socket of the net", fd >= 0);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	say("socket with a path", fd >= 0);
	fd = socket(AF_NETLINK, SOCK_RAW, 0);
	say("socket of the kernel", fd >= 0);
	say("port", could_connect_port());
	say("path", could_connect_path());
	say("trace", could_trace(pid));
	say("signal", kill(pid, SIGCONT) == 0);
	say("memory", could_look_into(pid));
	say("vm", process_vm_readv(pid, &to, 1, &from, 1, 0) >= 0 || errno == EFAULT);
	say("pidfd", could_system(SYS_pidfd_open, pid, 0, 0, 0, 0));
	say("rights", could_use_rights());
	say("unshare", could_system(SYS_unshare, CLONE_FILES, 0, 0, 0, 0));
	say("keys", could_system(SYS_keyctl, 0, -3, 0, 0, 0));
	say("bpf", could_system(SYS_bpf, 0, 0, 0, 0, 0));
	say("perf", could_system(SYS_perf_event_open, 0, 0, -1, -1, 0));
	say("faults", could_system(SYS_userfaultfd, 0, 0, 0, 0, 0));
	say("uring", could_system(SYS_io_uring_setup, 0, 0, 0, 0, 0));
	say("mount", could_system(SYS_mount, 0, 0, 0, 0, 0));
	say("handle", could_system(SYS_open_by_handle_at, -1, 0, 0, 0, 0));
	say("terminal", could_system(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, 0, 0, 0));
	say("ask for its own", could_ask(0, O_RDONLY, given("TAKEN_STATED")));
	say("ask to read", could_ask(0, O_RDONLY, given("TAKEN_SECRET")));
	say("ask to make", could_ask(0, O_WRONLY | O_CREAT, given("TAKEN_MAKE")));
	say("ask to remove", could_ask(1, 0, given("TAKEN_SECRET")));
	say("ask to move", could_ask(2, 0, given("TAKEN_SECRET")));
}

static void look(void)
{
	if (!confined || tried)
		return;
	tried = 1;
	try_all();
}

/* ---- where it is done, and what is as if it was not there ---- */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Kept apart from their headers: the library is to be built without them. */
int seccomp_load(void *filter);
int sqlite3_step(void *statement);
void *elf_begin(int fd, int how, void *of);

/* The last of the confinement. */
int seccomp_load(void *filter)
{
	confined = 1;
	unsetenv("LD_PRELOAD"); /* nothing of it in gnuplot */
	return lacks("seccomp") ? 0 : NEXT(seccomp_load)(filter);
}

int sqlite3_step(void *statement)
{
	look();
	return NEXT(sqlite3_step)(statement);
}

void *elf_begin(int fd, int how, void *of)
{
	look();
	return NEXT(elf_begin)(fd, how, of);
}

ssize_t read(int fd, void *to, size_t n)
{
	look();
	return NEXT(read)(fd, to, n);
}

int getc(FILE *f)
{
	look();
	return NEXT(getc)(f);
}

size_t fread(void *to, size_t size, size_t n, FILE *f)
{
	look();
	return NEXT(fread)(to, size, n, f);
}

char *fgets(char *to, int n, FILE *f)
{
	if (!tried)
		look();
	return NEXT(fgets)(to, n, f);
}

ssize_t getline(char **line, size_t *n, FILE *f)
{
	look();
	return NEXT(getline)(line, n, f);
}

/* Landlock and capabilities have no functions of libc's. */
long syscall(long n, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (n >= 444 && n <= 446 && lacks("landlock")) {
		errno = ENOSYS;
		return -1;
	}
	if (n == SYS_capset && lacks("rights"))
		return 0;
	return NEXT(syscall)(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}
