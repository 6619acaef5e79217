/* SPDX-License-Identifier: MIT */
/* What a thread is blocked in: /proc/TID/syscall has the system call and its arguments. */
#include "process/blocked.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include <sys/select.h>
#include <sys/wait.h>
#include "process/blocked-work.h"
#include "process/status.h"

#define PAGE   4096u
#define POLLED 3u /* descriptors of a poll that are named */

struct call {
	long number; /* -1: it is blocked outside of a system call */
	uint64_t argument[6];
};

/* Reads a small file of /proc/TID; returns how many bytes, without a newline at the end. */
static size_t slurp(pid_t tid, const char *name, char *out, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	dt_format(path, sizeof(path), "/proc/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	if (n > 0 && out[n - 1] == '\n')
		n--;
	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static bool read_call(pid_t tid, struct call *c)
{
	char line[256], *p = line, *end;

	/* "running", or "0 0x3 0x7ffc... ..." */
	if (!slurp(tid, "syscall", line, sizeof(line)))
		return false;
	c->number = strtol(p, &end, 10);
	if (end == p)
		return false;
	for (int i = 0; i < 6 && c->number >= 0; i++) {
		p = end;
		c->argument[i] = strtoull(p, &end, 16);
		if (end == p)
			return false;
	}
	return true;
}

/* Returns whether all pages of a range are in memory: to read another could wait for whoever
 * provides it, a file system or the program itself (userfaultfd). Bit 63: proc(5), pagemap. */
static bool is_present(pid_t tid, uint64_t address, size_t n)
{
	uint64_t first = address / PAGE, last = (address + n - 1) / PAGE, page[4];
	char path[64];
	ssize_t got = -1;
	int fd;

	if (!n || address + n < address || last - first >= sizeof(page) / sizeof(*page))
		return false;
	dt_format(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = pread(fd, page, (last - first + 1) * sizeof(*page),
			    (off_t)(first * sizeof(*page)));
		close(fd);
	}
	for (uint64_t i = 0; i <= last - first; i++)
		if (got < (ssize_t)((i + 1) * sizeof(*page)) || !(page[i] >> 63))
			return false;
	return true;
}

/* Reads memory of the thread's process, as far as it is in memory. */
static bool peek(pid_t tid, uint64_t address, void *out, size_t n)
{
	struct iovec to = {out, n}, from = {(void *)(uintptr_t)address, n};

	return is_present(tid, address, n) &&
	       process_vm_readv(tid, &to, 1, &from, 1, 0) == (ssize_t)n;
}

void dt_blocked_name(pid_t tid, char *out, size_t size)
{
	char name[32];

	if (slurp(tid, "comm", name, sizeof(name)))
		dt_format(out, size, "%d (%.16s)", tid, name);
	else
		dt_format(out, size, "%d", tid);
}

bool dt_blocked_stat(const char *path, struct statx *st)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		     st) == 0;
}

/* ---- descriptors ---- */

static void describe_fd(struct dt_blocked *b, pid_t tid, uint64_t fd, bool write, char *out,
			size_t size)
{
	char path[64], link[PATH_MAX_SHOWN];
	struct statx st;
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%d/fd/%d", tid, (int)fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0) {
		dt_format(out, size, "descriptor %d", (int)fd);
		return;
	}
	link[n] = '\0';
	if (!strncmp(link, "pipe:", 5)) {
		dt_blocked_pipe(b, tid, link, write, out, size);
	} else if (!strncmp(link, "socket:", 7)) {
		dt_blocked_socket(tid, link, out, size);
	} else if (link[0] == '/' && dt_blocked_stat(path, &st)) {
		if (S_ISFIFO(st.stx_mode))
			dt_blocked_pipe(b, tid, link, write, out, size);
		else
			dt_format(out, size, "%s %s",
				  S_ISREG(st.stx_mode)	 ? "file"
				  : S_ISDIR(st.stx_mode) ? "folder"
							 : "device",
				  link);
	} else {
		dt_format(out, size, "%s", link);
	}
}

/* Names the first descriptors of a poll. */
static void describe_poll(struct dt_blocked *b, pid_t tid, uint64_t address, uint64_t n, char *out,
			  size_t size)
{
	struct pollfd fd[POLLED];
	unsigned shown = n < POLLED ? (unsigned)n : POLLED;
	size_t at = 0;

	if (!n) {
		dt_format(out, size, "time to pass");
		return;
	}
	if (!peek(tid, address, fd, shown * sizeof(*fd))) {
		dt_format(out, size, "events on %u descriptors", (unsigned)n);
		return;
	}
	for (unsigned i = 0; i < shown && at < size; i++) {
		char text[DT_BLOCKED_TEXT];

		describe_fd(b, tid, (uint64_t)fd[i].fd, fd[i].events == POLLOUT, text,
			    sizeof(text));
		at += dt_format(out + at, size - at, "%s%s", i ? " or " : "", text);
	}
	if (n > shown && at < size)
		dt_format(out + at, size - at, " or %u more", (unsigned)(n - shown));
}

/* The sets of select(): those that are not there are passed over. */
static void describe_select(struct dt_blocked *b, pid_t tid, const uint64_t *argument, char *out,
			    size_t size)
{
	unsigned n = argument[0] < FD_SETSIZE ? (unsigned)argument[0] : FD_SETSIZE, shown = 0;
	size_t at = 0;

	for (unsigned set = 0; set < 2; set++) {
		uint64_t bits[FD_SETSIZE / 64] = {0};

		if (!argument[1 + set] ||
		    !peek(tid, argument[1 + set], bits, (n + 63) / 64 * sizeof(*bits)))
			continue;
		for (unsigned i = 0; i < n && shown < POLLED && at < size; i++) {
			char text[DT_BLOCKED_TEXT];

			if (!(bits[i / 64] >> i % 64 & 1))
				continue;
			describe_fd(b, tid, i, set == 1, text, sizeof(text));
			at += dt_format(out + at, size - at, "%s%s", shown++ ? " or " : "", text);
		}
	}
	if (!shown)
		dt_format(out, size, n ? "events on descriptors" : "time to pass");
}

/* ---- futexes ---- */

/* Returns whether a number is that of a thread of the same process. */
static bool is_thread_of(pid_t tid, uint32_t other)
{
	char path[64];

	if (!other || other == (uint32_t)tid || other > INT32_MAX)
		return false;
	dt_format(path, sizeof(path), "/proc/%d/task/%u", tid, other);
	return access(path, F_OK) == 0;
}

/*
 * Of a lock the word tells who holds it, if it is one with priority inheritance, or robust; of
 * glibc's other mutexes the word is 2 while somebody waits, and the holder stands 8 bytes behind
 * (pthread_mutex_t.__owner). A word that is a thread's number without the bit for waiting is what
 * pthread_join() waits for.
 */
static void describe_futex(pid_t tid, const uint64_t *argument, char *out, size_t size)
{
	int op = (int)argument[1] & FUTEX_CMD_MASK;
	bool pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;
	uint32_t value = (uint32_t)argument[2], word[3], owner = 0;
	char who[64];

	if (!peek(tid, argument[0], word, sizeof(word))) {
		dt_format(out, size, "futex 0x%lx", (unsigned long)argument[0]);
		return;
	}
	if (pi || value & FUTEX_WAITERS)
		owner = word[0] & FUTEX_TID_MASK;
	else if (value == 2 && word[0] == 2)
		owner = word[2];
	else if (is_thread_of(tid, value) && word[0] == value) {
		dt_blocked_name((pid_t)value, who, sizeof(who));
		dt_format(out, size, "the end of thread %s", who);
		return;
	}
	if (owner && (is_thread_of(tid, owner) || pi)) {
		dt_blocked_name((pid_t)owner, who, sizeof(who));
		dt_format(out, size, "lock 0x%lx, held by thread %s", (unsigned long)argument[0],
			  who);
	} else {
		dt_format(out, size, "%s 0x%lx", value == 2 ? "lock" : "futex",
			  (unsigned long)argument[0]);
	}
}

/* ---- all of them ---- */

static void describe_child(pid_t tid, const uint64_t *argument, bool by_id, char *out, size_t size)
{
	int64_t pid = by_id ? (argument[0] == P_PID ? (int64_t)argument[1] : 0)
			    : (int64_t)(int32_t)argument[0];
	char who[64];

	(void)tid;
	if (pid <= 0) {
		dt_format(out, size, "a child");
		return;
	}
	dt_blocked_name((pid_t)pid, who, sizeof(who));
	dt_format(out, size, "process %s", who);
}

/* Calls that wait on the descriptor that is their first argument. */
static const struct {
	short number;
	bool write;
} on_descriptor[] = {
	{SYS_read, false},	     {SYS_pread64, false},	{SYS_readv, false},
	{SYS_preadv, false},	     {SYS_preadv2, false},	{SYS_write, true},
	{SYS_pwrite64, true},	     {SYS_writev, true},	{SYS_pwritev, true},
	{SYS_pwritev2, true},	     {SYS_fsync, true},		{SYS_fdatasync, true},
	{SYS_syncfs, true},	     {SYS_sendto, true},	{SYS_sendmsg, true},
	{SYS_sendmmsg, true},	     {SYS_recvfrom, false},	{SYS_recvmsg, false},
	{SYS_recvmmsg, false},	     {SYS_accept, false},	{SYS_accept4, false},
	{SYS_connect, true},	     {SYS_ioctl, false},	{SYS_sendfile, true},
	{SYS_splice, false},	     {SYS_epoll_pwait2, false}, {SYS_epoll_pwait, false},
	{SYS_getdents64, false},     {SYS_ftruncate, true},	{SYS_fallocate, true},
	{SYS_sync_file_range, true}, {SYS_tee, false},		{SYS_copy_file_range, false},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, false},
#endif
};

/* Calls that wait for what a path leads to: which argument it is. */
static const struct {
	short number;
	uint8_t argument;
} on_path[] = {
#ifdef SYS_open /* older calls, which newer processors' kernels have not */
	{SYS_open, 0},	    {SYS_creat, 0},	 {SYS_stat, 0},	   {SYS_lstat, 0},
	{SYS_access, 0},    {SYS_unlink, 0},	 {SYS_rename, 0},  {SYS_mkdir, 0},
	{SYS_rmdir, 0},	    {SYS_readlink, 0},
#endif
	{SYS_truncate, 0},  {SYS_execve, 0},	 {SYS_openat, 1},  {SYS_newfstatat, 1},
	{SYS_unlinkat, 1},  {SYS_renameat2, 1},	 {SYS_mkdirat, 1}, {SYS_statx, 1},
	{SYS_faccessat, 1}, {SYS_faccessat2, 1},
};

static bool describe_path(pid_t tid, const struct call *c, char *out, size_t size)
{
	char path[PATH_MAX_SHOWN] = "";

	for (size_t i = 0; i < sizeof(on_path) / sizeof(*on_path); i++) {
		if (on_path[i].number != c->number)
			continue;
		/* up to the end of the page, or of the next one */
		for (size_t n = sizeof(path) - 1; n >= 16; n /= 2)
			if (peek(tid, c->argument[on_path[i].argument], path, n))
				break;
		path[sizeof(path) - 1] = '\0';
		dt_format(out, size, "path %s", path);
		return true;
	}
	return false;
}

static void describe(struct dt_blocked *b, pid_t tid, const struct call *c, char *out, size_t size)
{
	const uint64_t *a = c->argument;

	for (size_t i = 0; i < sizeof(on_descriptor) / sizeof(*on_descriptor); i++)
		if (on_descriptor[i].number == c->number) {
			describe_fd(b, tid, a[0], on_descriptor[i].write, out, size);
			return;
		}
	if (describe_path(tid, c, out, size))
		return;
	switch (c->number) {
	case SYS_futex:
		describe_futex(tid, a, out, size);
		break;
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		describe_poll(b, tid, a[0], a[1], out, size);
		break;
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		describe_select(b, tid, a, out, size);
		break;
	case SYS_flock:
		dt_blocked_lock(tid, (int)a[0], out, size);
		break;
	case SYS_fcntl:
		if (a[1] == F_SETLKW || a[1] == F_OFD_SETLKW)
			dt_blocked_lock(tid, (int)a[0], out, size);
		else
			describe_fd(b, tid, a[0], false, out, size);
		break;
	case SYS_wait4:
	case SYS_waitid:
		describe_child(tid, a, c->number == SYS_waitid, out, size);
		break;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		dt_format(out, size, "time to pass");
		break;
#ifdef SYS_pause
	case SYS_pause:
#endif
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		dt_format(out, size, "a signal");
		break;
#ifdef SYS_vfork
	case SYS_vfork:
#endif
	case SYS_clone:
	case SYS_clone3:
		dt_format(out, size, "a child to execute its program");
		break;
	case -1:
		dt_format(out, size, "memory");
		break;
	default:
		dt_format(out, size, "system call %ld", c->number);
	}
}

bool dt_blocked_read(struct dt_blocked *b, pid_t tid, char out[DT_BLOCKED_TEXT])
{
	struct call c = {0};

	if (!read_call(tid, &c))
		return false;
	describe(b, tid, &c, out, DT_BLOCKED_TEXT);
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127 || (*p == '*' && p[1] == '/'))
			*p = '?';
	return true;
}
