/* SPDX-License-Identifier: MIT */
/* The process outside, and asking it. */
#include "process/outside.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf.h"
#include "process/rights.h"
#include "process/passed.h"

enum request { OPEN, REMOVE, MOVE, RUN, CONNECT, DISCONNECT };

/* A request. */
struct asked {
	int32_t request, flags, mode;
	char path[PATH_MAX]; /* only the bytes up to its end are sent */
};

/* An answer; a descriptor may come with it. */
struct answer {
	int32_t result, error;
	struct dt_error why; /* only of CONNECT */
};

/* The flags of open() that need permission to write; and all flags that may be asked for. */
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define FLAGS  (WRITES | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_LARGEFILE)

/* The capabilities that it keeps of root's: for other users' files, and for what other processes
 * have mapped. */
#define BIT(c) (1ull << (c))
#define KEEPS                                                                                      \
	(BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) |                      \
	 BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE))

static int channel = -1; /* to the process outside; -1: there is none */
static pid_t process;	 /* the process outside */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of a request and its answer */

/* ---- outside ---- */

/* Returns the listed name that is path, and of which one of the bits `may' is allowed; NULL: none.
 */
static const struct dt_outside_name *find(const struct dt_outside_list *l, const char *path,
					  unsigned may)
{
	for (size_t i = 0; i < l->names; i++)
		if (l->name[i].may & may && !strcmp(l->name[i].path, path))
			return &l->name[i];
	return NULL;
}

/* Opens an ELF file; any other file of the user's is refused. */
static int open_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[SELFMAG];
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    !memcmp(head, ELFMAG, SELFMAG))
		return fd;
	if (fd >= 0) {
		close(fd);
		errno = EACCES;
	}
	return -1;
}

bool dt_outside_is_source(const char *path)
{
	static const char *const ends[] = {
		"c",   "h",   "cc",   "hh",  "cpp", "hpp", "cxx", "hxx", "c++", "h++", "C",   "H",
		"inl", "ipp", "tcc",  "def", "inc", "S",   "s",	  "asm", "m",	"mm",  "f",   "for",
		"f90", "f95", "f03",  "F",   "F90", "rs",  "go",  "d",	 "pas", "adb", "ads", "nim",
		"zig", "v",   "vala", "y",   "yy",  "l",   "ll",  "re",	 "cu",	"cl",  "ml",  "hs"};
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(dot + 1, ends[i]))
			return true;
	return false;
}

/* Opens a source file for reading. What is no regular file is refused without an effect on it. */
static int open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errno = EACCES;
	}
	return fd;
}

static int open_stated(const struct dt_outside_list *l, const struct asked *a)
{
	unsigned may = a->flags & WRITES ? DT_OUTSIDE_WRITE : DT_OUTSIDE_READ;

	if (!(a->flags & ~FLAGS) && find(l, a->path, may))
		return open(a->path, a->flags | O_CLOEXEC, a->mode & 0777);
	if (l->sources && !(a->flags & WRITES) && dt_outside_is_source(a->path))
		return open_source(a->path);
	if (l->programs && !(a->flags & WRITES))
		return open_program(a->path);
	errno = EACCES;
	return -1;
}

static int remove_path(const char *path)
{
	int rc = unlink(path);

	return rc < 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : rc;
}

static int remove_stated(const struct dt_outside_list *l, const char *path)
{
	if (find(l, path, DT_OUTSIDE_REMOVE))
		return remove_path(path);
	errno = EACCES;
	return -1;
}

static int move_stated(const struct dt_outside_list *l, const char *path)
{
	for (size_t i = 0; i < l->names; i++)
		if (l->name[i].to && !strcmp(l->name[i].path, path))
			return rename(path, l->name[i].to);
	errno = EACCES;
	return -1;
}

/* Runs the listed program with the original signal mask, and returns its status. */
static int run_stated(const struct dt_outside_list *l, const sigset_t *signals)
{
	int status = 0, failed[2];
	pid_t pid;

	if (!l->runs || pipe2(failed, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (l->before)
			l->before(l->ctx);
		sigprocmask(SIG_SETMASK, signals, NULL);
		execvp(l->runs[0], l->runs);
		status = errno;
		_exit(write(failed[1], &status, sizeof(status)) < 0 ? 126 : 127);
	}
	close(failed[1]);
	if (pid < 0 || read(failed[0], &status, sizeof(status)) == (ssize_t)sizeof(status)) {
		status = pid < 0 ? errno : status;
		if (pid > 0)
			waitpid(pid, NULL, 0);
		close(failed[0]);
		errno = status;
		return -1;
	}
	close(failed[0]);
	return waitpid(pid, &status, 0) < 0 ? -1 : status;
}

static void send_answer(int to, struct answer *a, int fd)
{
	dt_passed_send(to, a, sizeof(*a), &fd, fd >= 0);
}

static void serve_one(const struct dt_outside_list *l, int from, const struct asked *a,
		      const sigset_t *signals)
{
	struct answer to = {0};
	int fd = -1;

	errno = 0;
	switch (a->request) {
	case OPEN:
		to.result = fd = open_stated(l, a);
		break;
	case REMOVE:
		to.result = remove_stated(l, a->path);
		break;
	case MOVE:
		to.result = move_stated(l, a->path);
		break;
	case RUN:
		to.result = run_stated(l, signals);
		break;
	case CONNECT:
		to.result = fd = l->connect ? l->connect(l->ctx, &to.why)
					    : dt_fail(&to.why, "no connection");
		break;
	case DISCONNECT:
		if (l->disconnect)
			l->disconnect(l->ctx);
		break;
	default:
		to.result = -1;
	}
	to.error = errno;
	send_answer(from, &to, fd);
	/* of a connection too: it belongs to the asker, and disconnect() may have to wait for the
	 * process at the other end */
	if (fd >= 0)
		close(fd);
}

/* Removes a folder and what is in it, with folders in it up to that many levels deep. Links are not
 * followed. */
static void clear(int at, const char *name, unsigned levels)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(fd, e->d_name, 0) < 0 && levels)
			clear(fd, e->d_name, levels - 1);
	if (d)
		closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* Removes what is to be removed at the end, however the confined process has ended. */
static void remove_at_end(const struct dt_outside_list *l)
{
	for (size_t i = 0; i < l->names; i++)
		if (l->name[i].may & DT_OUTSIDE_AT_END && unlink(l->name[i].path) < 0)
			clear(AT_FDCWD, l->name[i].path, 1);
}

/* Serves requests in the process outside until the confined process ends. */
static void stay_outside(const struct dt_outside_list *l, int from, const sigset_t *signals)
{
	static struct asked a;
	ssize_t n;

	if (l->temporary)
		setenv("TMPDIR", l->temporary, 1);
	else
		unsetenv("TMPDIR");
	/* if it runs a program or makes a connection (ssh), it is not known what these need */
	if (!l->runs && !l->connect)
		dt_rights_only(KEEPS, NULL);
	for (;;) {
		n = recv(from, &a, sizeof(a), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= (ssize_t)offsetof(struct asked, path))
			break;
		((char *)&a)[n - 1] = '\0';
		serve_one(l, from, &a, signals);
	}
	if (l->disconnect)
		l->disconnect(l->ctx);
	remove_at_end(l);
	_exit(0);
}

/* ---- inside ---- */

/* Waits at our exit until the process outside has removed what is to be removed at the end. */
static void end(void)
{
	if (channel < 0)
		return;
	close(channel);
	channel = -1;
	while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
		;
}

int dt_outside_begin(const struct dt_outside_list *list, struct dt_error *e)
{
	sigset_t all, before;
	int both[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	process = fork();
	if (process == 0) {
		if (dup2(both[1], 3) < 0)
			_exit(1);
		close_range(4, ~0u, 0);
		fcntl(3, F_SETFD, FD_CLOEXEC);
		stay_outside(list, 3, &before);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(both[1]);
	if (process < 0) {
		close(both[0]);
		return dt_fail(e, "no process can be started: %s", strerror(errno));
	}
	channel = both[0];
	dt_elf_opens = dt_outside_open;
	atexit(end);
	return 0;
}

bool dt_outside_is(void)
{
	return channel >= 0;
}

bool dt_outside_keep(int fd)
{
	if (channel < 0 || (channel != fd && dup3(channel, fd, O_CLOEXEC) < 0))
		return false;
	channel = fd;
	return true;
}

static int receive(struct answer *a, int *fd)
{
	size_t fds = 1;
	ssize_t n = dt_passed_receive(channel, a, sizeof(*a), fd, &fds);

	return n == (ssize_t)sizeof(*a) ? 0 : -1;
}

/* Sends a request, and returns the descriptor or the result of the answer; errno is set as it was
 * there. e: for the reason why a connection failed, or NULL. */
static int ask(enum request request, const char *path, int flags, int mode, struct dt_error *e)
{
	static struct asked q;
	static struct answer a;
	size_t n = strlen(path);
	int fd = -1, rc = -1;

	if (n >= sizeof(q.path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	pthread_mutex_lock(&lock);
	q = (struct asked){.request = request, .flags = flags, .mode = mode};
	memcpy(q.path, path, n + 1);
	n += offsetof(struct asked, path) + 1;
	while ((rc = (int)send(channel, &q, n, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	rc = rc < 0 ? -1 : receive(&a, &fd);
	if (rc < 0) {
		errno = EIO;
		dt_fail(e, "the process outside has ended");
	} else {
		rc = fd >= 0 ? fd : a.result;
		if (e)
			*e = a.why;
		errno = a.error;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Looks whether the last call has been refused here, and there is a process outside to ask. */
static bool is_refused(void)
{
	return (errno == EACCES || errno == EPERM || errno == EXDEV) && channel >= 0;
}

int dt_outside_open(const char *path, int flags, int mode)
{
	int fd = open(path, flags, mode), was = errno, there;

	if (fd >= 0 || !is_refused())
		return fd;
	there = ask(OPEN, path, flags, mode, NULL);
	if (there < 0 && errno == EACCES)
		errno = was;
	if (there >= 0 && !(flags & O_CLOEXEC))
		fcntl(there, F_SETFD, 0);
	return there;
}

int dt_outside_remove(const char *path)
{
	int rc = remove_path(path);

	return rc < 0 && is_refused() ? ask(REMOVE, path, 0, 0, NULL) : rc;
}

int dt_outside_move(const char *from, const char *to)
{
	int rc = rename(from, to);

	return rc < 0 && is_refused() ? ask(MOVE, from, 0, 0, NULL) : rc;
}

int dt_outside_run(void)
{
	return ask(RUN, "", 0, 0, NULL);
}

int dt_outside_connect(struct dt_error *e)
{
	return ask(CONNECT, "", 0, 0, e);
}

void dt_outside_disconnect(void)
{
	ask(DISCONNECT, "", 0, 0, NULL);
}
