/* SPDX-License-Identifier: MIT */
/* Giving up what is not needed: files, system calls, capabilities. */
#include "process/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "process/rights.h"

/* ---- the list ---- */

void dt_needs_add(struct dt_needs *s, enum dt_need_kind kind, const char *path)
{
	struct dt_need *more = realloc(s->need, (s->n + 1) * sizeof(*more));

	s->no_memory |= !more;
	if (!more)
		return;
	s->need = more;
	s->need[s->n++] = (struct dt_need){kind, path};
}

/* Adds the name path + end to the list of the process outside. to may be NULL. */
static void add_name(struct dt_needs *s, const char *path, const char *end, unsigned may,
		     const char *to)
{
	struct dt_outside_list *l = &s->outside;
	struct dt_outside_name *more = realloc(l->name, (l->names + 1) * sizeof(*more)),
			       n = {.may = may};

	l->name = more ? more : l->name;
	if (!more || asprintf(&n.path, "%s%s", path, end) < 0) {
		s->no_memory = true;
	} else if (to && !(n.to = strdup(to))) {
		free(n.path);
		s->no_memory = true;
	} else {
		l->name[l->names++] = n;
	}
}

void dt_needs_removed(struct dt_needs *s, const char *path, bool at_end)
{
	add_name(s, path, "", DT_OUTSIDE_REMOVE | (at_end ? DT_OUTSIDE_AT_END : 0), NULL);
}

void dt_needs_place(struct dt_needs *s, const char *from, const char *to)
{
	add_name(s, from, "", DT_OUTSIDE_REMOVE, to);
}

const char *dt_needs_temporary(struct dt_needs *s)
{
	const char *base = getenv("TMPDIR");
	int n = snprintf(s->temporary, sizeof(s->temporary), "%s/devtrace-XXXXXX",
			 base && *base ? base : "/tmp");

	if (n < 0 || (size_t)n >= sizeof(s->temporary) || !mkdtemp(s->temporary)) {
		s->temporary[0] = '\0';
		return NULL;
	}
	s->outside.temporary = base ? strdup(base) : NULL;
	setenv("TMPDIR", s->temporary, 1);
	unsetenv("SQLITE_TMPDIR");
	dt_needs_add(s, DT_NEED_FOLDER, s->temporary);
	return s->temporary;
}

/* Adds the names of a database's files, which SQLite forms from the path with links resolved. */
static void add_names_of(struct dt_needs *s, const char *path, bool changed)
{
	unsigned change = DT_OUTSIDE_READ | DT_OUTSIDE_WRITE | (changed ? DT_OUTSIDE_REMOVE : 0);

	add_name(s, path, "", changed ? DT_OUTSIDE_READ | DT_OUTSIDE_WRITE : DT_OUTSIDE_READ, NULL);
	add_name(s, path, "-wal", change, NULL);
	add_name(s, path, "-shm", change, NULL);
	if (changed)
		add_name(s, path, "-journal", change, NULL);
}

/* Adds the names that follow from the needs to the list of the process outside. */
static void list_names(struct dt_needs *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct dt_need *n = &s->need[i];
		char *real;

		if (n->kind == DT_NEED_FOLDER)
			add_name(s, n->path, "", DT_OUTSIDE_REMOVE | DT_OUTSIDE_AT_END, NULL);
		if (n->kind != DT_NEED_TRACE && n->kind != DT_NEED_CHANGED)
			continue;
		add_names_of(s, n->path, n->kind == DT_NEED_CHANGED);
		real = realpath(n->path, NULL);
		if (real && strcmp(real, n->path))
			add_names_of(s, real, n->kind == DT_NEED_CHANGED);
		free(real);
	}
}

static void free_lists(struct dt_needs *s)
{
	for (size_t i = 0; i < s->outside.names; i++) {
		free(s->outside.name[i].path);
		free(s->outside.name[i].to);
	}
	free(s->outside.temporary);
	s->outside.temporary = NULL;
	free(s->outside.name);
	free(s->need);
	s->outside.name = NULL;
	s->need = NULL;
	s->outside.names = s->n = 0;
}

/* ---- files and sockets: Landlock ---- */

/* These are as in linux/landlock.h of newer kernels. */
#define FS_EXECUTE     (1ull << 0)
#define FS_WRITE_FILE  (1ull << 1)
#define FS_READ_FILE   (1ull << 2)
#define FS_READ_DIR    (1ull << 3)
#define FS_REMOVE_DIR  (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_DIR    (1ull << 7)
#define FS_MAKE_REG    (1ull << 8)
#define FS_REFER       (1ull << 13)
#define FS_TRUNCATE    (1ull << 14)
#define FS_IOCTL_DEV   (1ull << 15)
#define FS_FIRST       ((1ull << 13) - 1)
#define NET_TCP	       3ull /* bind, connect */
#define SCOPED	       3ull /* abstract sockets, signals */

#define OF_FILES (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define READS	 (FS_READ_FILE | FS_READ_DIR)
#define WRITES	 (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)
#define ENTRIES                                                                                    \
	(READS | WRITES | FS_REMOVE_FILE | FS_REMOVE_DIR | FS_MAKE_DIR | FS_MAKE_REG | FS_REFER)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* What every program reads: libraries, which are opened when they are first needed; the time zone.
 */
static const char *const system_files[] = {"/lib",
					   "/lib64",
					   "/usr/lib",
					   "/usr/lib64",
					   "/usr/local/lib",
					   "/etc/ld.so.cache",
					   "/etc/localtime",
					   "/usr/share/zoneinfo",
					   "/dev/urandom",
					   "/dev/null",
					   "/sys/devices/system/cpu"};

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
}

/* Allows `what' for a file or folder, if it exists. handled: the rights that the rules are about.
 */
static void allow(int rules, uint64_t handled, const char *path, uint64_t what)
{
	struct path_attr a = {what & handled, open(path, O_PATH | O_CLOEXEC)};
	struct stat st;

	if (a.fd < 0)
		return;
	if (fstat(a.fd, &st) == 0 && !S_ISDIR(st.st_mode))
		a.allowed &= OF_FILES;
	syscall(SYS_landlock_add_rule, rules, 1, &a, 0);
	close(a.fd);
}

/* Allows writing to the file path + end. */
static void allow_beside(int rules, uint64_t handled, const char *path, const char *end)
{
	char *name = NULL;

	if (asprintf(&name, "%s%s", path, end) >= 0)
		allow(rules, handled, name, WRITES);
	free(name);
}

static bool is_beside(const char *path, const char *end)
{
	char name[PATH_MAX];

	dt_format(name, sizeof(name), "%s%s", path, end);
	return access(name, F_OK) == 0;
}

/* Waits until a trace that has a log (-wal) has the log's index (-shm) too: a session that begins
 * makes the log first. Only files that exist can be allowed. */
static void wait_for_index(const char *path)
{
	for (int i = 0; i < 20 && is_beside(path, "-wal") && !is_beside(path, "-shm"); i++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void allow_need(int rules, uint64_t handled, const struct dt_need *n)
{
	switch (n->kind) {
	case DT_NEED_READ:
		allow(rules, handled, n->path, READS);
		break;
	case DT_NEED_WRITE:
		allow(rules, handled, n->path, WRITES);
		break;
	case DT_NEED_FOLDER:
	case DT_NEED_ENTRIES:
		allow(rules, handled, n->path, ENTRIES);
		break;
	case DT_NEED_TRACE:
	case DT_NEED_CHANGED:
		wait_for_index(n->path);
		allow(rules, handled, n->path, n->kind == DT_NEED_TRACE ? READS : WRITES);
		allow_beside(rules, handled, n->path, "-wal");
		allow_beside(rules, handled, n->path, "-shm");
		break;
	}
}

/* Gives up access to files and sockets by Landlock. all: what stays allowed for every file. */
static int limit_files(const struct dt_needs *s, uint64_t all, struct dt_error *e)
{
	long version = landlock_version();
	struct ruleset_attr a = {.fs = FS_FIRST};
	int rules, rc;

	if (version < 1)
		return 0; /* an older kernel, or a container that does not let us use it */
	a.fs |= (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
		(version >= 5 ? FS_IOCTL_DEV : 0);
	a.net = version >= 4 ? NET_TCP : 0;
	a.scoped = version >= 6 ? SCOPED : 0;
	rules = (int)syscall(SYS_landlock_create_ruleset, &a,
			     version >= 6   ? sizeof(a)
			     : version >= 4 ? offsetof(struct ruleset_attr, scoped)
					    : offsetof(struct ruleset_attr, net),
			     0);
	if (rules < 0)
		return dt_fail(e, "access to files can not be given up: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(system_files) / sizeof(*system_files); i++)
		allow(rules, a.fs, system_files[i], READS);
	allow(rules, a.fs, "/dev/null", WRITES);
	if (DT_SANITIZED)
		allow(rules, a.fs, "/proc", READS);
	if (all)
		allow(rules, a.fs, "/", all);
	for (size_t i = 0; i < s->n; i++)
		allow_need(rules, a.fs, &s->need[i]);
	rc = (int)syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return rc < 0 ? dt_fail(e, "access to files can not be given up: %s", strerror(errno)) : 0;
}

/* ---- capabilities ---- */

#define BIT(c)		   (1ull << (c))
#define OF_FILES_OF_OTHERS (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH))

/* Looks whether all files that are needed can be opened, as far as permissions matter. */
static bool fits(const void *needs)
{
	const struct dt_needs *s = needs;

	for (size_t i = 0; i < s->n; i++) {
		enum dt_need_kind k = s->need[i].kind;
		bool write = k != DT_NEED_READ && k != DT_NEED_TRACE;

		if (faccessat(AT_FDCWD, s->need[i].path, write ? R_OK | W_OK : R_OK, AT_EACCESS) <
			    0 &&
		    errno == EACCES)
			return false;
	}
	return true;
}

/* Gives up all capabilities; those for files of others are kept if the needed files need them. */
static int limit_rights(const struct dt_needs *s, struct dt_error *e)
{
	return dt_rights_only(dt_rights_needs(fits, s, OF_FILES_OF_OTHERS) ? OF_FILES_OF_OTHERS : 0,
			      e);
}

/* ---- system calls: seccomp ---- */

#define CALL(name) SCMP_SYS(name)

/* Calls that every command needs: for memory, threads, signals to itself, time, and files that are
 * open or may be opened. */
static const int always[] = {CALL(read),
			     CALL(write),
			     CALL(readv),
			     CALL(writev),
			     CALL(pread64),
			     CALL(pwrite64),
			     CALL(preadv),
			     CALL(pwritev),
			     CALL(lseek),
			     CALL(open),
			     CALL(openat),
			     CALL(close),
			     CALL(close_range),
			     CALL(stat),
			     CALL(fstat),
			     CALL(lstat),
			     CALL(newfstatat),
			     CALL(statx),
			     CALL(statfs),
			     CALL(fstatfs),
			     CALL(access),
			     CALL(faccessat),
			     CALL(faccessat2),
			     CALL(readlink),
			     CALL(readlinkat),
			     CALL(getcwd),
			     CALL(getdents64),
			     CALL(fcntl),
			     CALL(flock),
			     CALL(dup),
			     CALL(dup2),
			     CALL(dup3),
			     CALL(pipe2),
			     CALL(sendfile),
			     CALL(copy_file_range),
			     CALL(fadvise64),
			     CALL(mmap),
			     CALL(munmap),
			     CALL(mremap),
			     CALL(mprotect),
			     CALL(madvise),
			     CALL(brk),
			     CALL(membarrier),
			     CALL(rt_sigaction),
			     CALL(rt_sigprocmask),
			     CALL(rt_sigreturn),
			     CALL(rt_sigtimedwait),
			     CALL(rt_sigpending),
			     CALL(rt_sigsuspend),
			     CALL(sigaltstack),
			     CALL(pause),
			     CALL(restart_syscall),
			     CALL(futex),
			     CALL(set_robust_list),
			     CALL(get_robust_list),
			     CALL(set_tid_address),
			     CALL(rseq),
			     CALL(sched_yield),
			     CALL(sched_getaffinity),
			     CALL(getpid),
			     CALL(gettid),
			     CALL(getppid),
			     CALL(getuid),
			     CALL(geteuid),
			     CALL(getgid),
			     CALL(getegid),
			     CALL(getrandom),
			     CALL(uname),
			     CALL(sysinfo),
			     CALL(getrlimit),
			     CALL(getrusage),
			     CALL(times),
			     CALL(umask),
			     CALL(nanosleep),
			     CALL(clock_nanosleep),
			     CALL(clock_gettime),
			     CALL(clock_getres),
			     CALL(gettimeofday),
			     CALL(time),
			     CALL(poll),
			     CALL(ppoll),
			     CALL(select),
			     CALL(pselect6),
			     CALL(epoll_create1),
			     CALL(epoll_ctl),
			     CALL(epoll_wait),
			     CALL(epoll_pwait),
			     CALL(eventfd2),
			     CALL(signalfd4),
			     CALL(timerfd_create),
			     CALL(timerfd_settime),
			     CALL(sendmsg),
			     CALL(sendto),
			     CALL(recvmsg),
			     CALL(recvfrom),
			     CALL(wait4),
			     CALL(exit),
			     CALL(exit_group)};

/* Calls that make files, or change more of them than their content. */
static const int changes[] = {CALL(unlink),    CALL(unlinkat),	CALL(rename),	 CALL(renameat),
			      CALL(renameat2), CALL(mkdir),	CALL(mkdirat),	 CALL(rmdir),
			      CALL(fchmod),    CALL(chmod),	CALL(fchmodat),	 CALL(fchown),
			      CALL(fsync),     CALL(fdatasync), CALL(ftruncate), CALL(fallocate),
			      CALL(utimensat)};

/* Calls for connections that exist, or that others make. */
static const int connections[] = {CALL(accept),	     CALL(accept4),	CALL(shutdown),
				  CALL(getsockname), CALL(getpeername), CALL(setsockopt),
				  CALL(getsockopt)};

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)

/* Calls for DT_NEED_CHILDREN. */
static const int children[] = {CALL(fork),
			       CALL(vfork),
			       CALL(kill),
			       CALL(waitid),
			       CALL(seccomp),
			       CALL(prctl),
			       CALL(socketpair),
			       CALL(landlock_create_ruleset),
			       CALL(landlock_add_rule),
			       CALL(landlock_restrict_self),
			       CALL(capget),
			       CALL(capset)};

/* Calls of the sanitizers, which stop the other threads and look at memory at the end. */
static const int sanitized[] = {
	CALL(clone), CALL(getdents), CALL(tkill),	CALL(ptrace),	 CALL(prctl),
	CALL(kill),  CALL(tgkill),   CALL(personality), CALL(prlimit64), CALL(process_vm_readv),
	CALL(msync), CALL(mincore)};

/* Calls that are denied to programs that are run outside, which have no use for them. */
static const int closed[] = {CALL(ptrace),
			     CALL(process_vm_readv),
			     CALL(process_vm_writev),
			     CALL(pidfd_getfd),
			     CALL(kcmp),
			     CALL(mount),
			     CALL(umount2),
			     CALL(pivot_root),
			     CALL(chroot),
			     CALL(unshare),
			     CALL(setns),
			     CALL(bpf),
			     CALL(perf_event_open),
			     CALL(userfaultfd),
			     CALL(keyctl),
			     CALL(add_key),
			     CALL(request_key),
			     CALL(init_module),
			     CALL(finit_module),
			     CALL(delete_module),
			     CALL(kexec_load),
			     CALL(open_by_handle_at),
			     CALL(io_uring_setup)};

static int add_all(scmp_filter_ctx f, uint32_t what, const int *call, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = seccomp_rule_add(f, what, call[i], 0);
		rc = rc == -EDOM ? 0 : rc; /* -EDOM: a call that this processor does not have */
	}
	return rc;
}

#define ADD(f, what, list) add_all(f, what, list, sizeof(list) / sizeof(*(list)))

/* Adds the calls of which only some uses are allowed. */
static int add_partly(scmp_filter_ctx f, const struct dt_needs *s)
{
	static const unsigned long looks[] = {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO};
	int rc = 0;

	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks) && !rc; i++)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(ioctl), 1,
				      SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)looks[i]));
	/* limits may be read, not set */
	if (!rc && !DT_SANITIZED)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(prlimit64), 1,
				      SCMP_A2(SCMP_CMP_EQ, 0));
	/* clone may make threads, or also processes like this one. The filter can not see which it
	 * is of clone3, so that is denied: libc does without it */
	if (!rc && !DT_SANITIZED)
		rc = s->flags & (DT_NEED_CHILDREN | DT_NEED_FORKS)
			     ? seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(clone), 1,
						SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0))
			     : seccomp_rule_add(
				       f, SCMP_ACT_ALLOW, CALL(clone), 1,
				       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
	/* tgkill is for abort(), and for a signal that was deferred. Children have other process
	 * ids, so for them it can not be limited to our own */
	if (!rc && !DT_SANITIZED && !(s->flags & DT_NEED_FORKS))
		rc = s->flags & DT_NEED_CHILDREN
			     ? seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(tgkill), 0)
			     : seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(tgkill), 1,
						SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	if (!rc && !DT_SANITIZED && !(s->flags & DT_NEED_CHILDREN))
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(prctl), 1,
				      SCMP_A0_32(SCMP_CMP_EQ, PR_SET_NAME));
	/* forked processes are killed when their parent ends, which they can set but not undo; and
	 * by alarm() when they take too long */
	if (!rc && !DT_SANITIZED && s->flags & DT_NEED_FORKS)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(prctl), 2,
				      SCMP_A0_32(SCMP_CMP_EQ, PR_SET_PDEATHSIG),
				      SCMP_A1_32(SCMP_CMP_EQ, SIGKILL));
	if (!rc && s->flags & DT_NEED_FORKS)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(alarm), 0);
	if (!rc && s->flags & DT_NEED_SESSIONS)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(socket), 1,
				      SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX));
	if (!rc && s->flags & DT_NEED_SESSIONS)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, CALL(connect), 0);
	return rc;
}

static int fill(scmp_filter_ctx f, const struct dt_needs *s)
{
	int rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	/* a call that the kernel does not have fails by itself */
	rc = rc ? rc : ADD(f, SCMP_ACT_ALLOW, always);
	rc = rc ? rc : ADD(f, SCMP_ACT_ALLOW, changes);
	if (!rc && s->flags & (DT_NEED_CLIENTS | DT_NEED_SESSIONS))
		rc = ADD(f, SCMP_ACT_ALLOW, connections);
	if (!rc && s->flags & DT_NEED_CHILDREN)
		rc = ADD(f, SCMP_ACT_ALLOW, children);
	if (!rc && DT_SANITIZED)
		rc = ADD(f, SCMP_ACT_ALLOW, sanitized);
	return rc ? rc : add_partly(f, s);
}

static int limit_calls(const struct dt_needs *s, struct dt_error *e)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = f ? fill(f, s) : -ENOMEM;

	rc = rc ? rc : seccomp_load(f);
	/* these mean: a kernel without seccomp, a container that does not let us use it, or
	 * valgrind, which needs calls of its own */
	if (rc == -EINVAL || rc == -ENOSYS || rc == -ECANCELED || rc == -EPERM || rc == -EACCES ||
	    rc == -EOPNOTSUPP)
		rc = 0;
	seccomp_release(f);
	return rc ? dt_fail(e, "system calls can not be given up: %s", strerror(-rc)) : 0;
}

/* ---- */

int dt_confine(struct dt_needs *s, struct dt_error *e)
{
	struct dt_outside_list *l = &s->outside;
	int rc = 0;

	list_names(s);
	l->programs = s->flags & DT_NEED_PROGRAMS;
	l->sources = s->flags & DT_NEED_SOURCES;
	if (s->no_memory)
		rc = dt_fail(e, "out of memory");
	if (rc == 0 && (l->names || l->programs || l->sources || l->runs || l->connect))
		rc = dt_outside_begin(l, e);
	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		rc = dt_fail(e, "rights can not be given up: %s", strerror(errno));
	if (rc == 0)
		rc = limit_files(s,
				 s->flags & DT_NEED_ALL_FILES  ? ENTRIES
				 : s->flags & DT_NEED_ALL_READ ? READS
							       : 0,
				 e);
	if (rc == 0)
		rc = limit_rights(s, e);
	if (rc == 0)
		rc = limit_calls(s, e);
	if (rc < 0 && s->temporary[0])
		dt_outside_remove(s->temporary);
	s->done = rc == 0;
	free_lists(s);
	return rc;
}

void dt_confine_program(const struct dt_needs *s)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	/* it goes on with what confinement can be had; that of files matters most */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit_files(s, READS | FS_EXECUTE, NULL);
	dt_rights_only(OF_FILES_OF_OTHERS, NULL);
	if (f && ADD(f, SCMP_ACT_ERRNO(EPERM), closed) == 0)
		seccomp_load(f);
	seccomp_release(f);
}

const char *dt_confine_means(char *text, size_t size)
{
	static const char *const filters = "/proc/sys/kernel/seccomp/actions_avail";
	long version = landlock_version();
	bool calls = access(filters, F_OK) == 0;
	size_t n = 0;

	if (version > 0)
		n = dt_format(text, size, "Landlock %ld", version);
	if (calls)
		n += dt_format(text + n, n < size ? size - n : 0, "%sseccomp", n ? ", " : "");
	if (!n)
		dt_format(text, size,
			  "nothing: this kernel, or this container, has neither Landlock nor "
			  "seccomp");
	return text;
}
