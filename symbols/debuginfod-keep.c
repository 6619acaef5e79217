/* SPDX-License-Identifier: MIT */
/*
 * The keeper: has debug files downloaded by loaders, and keeps in debuginfod's cache those that are
 * what was asked for. Of a downloaded file it reads the build id only, by devtrace's own code. A
 * copy is kept, since whoever wrote the file may still have it open.
 */
#include "process/now.h"
#include "symbols/debuginfod-work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elf/debug-cache.h"
#include "process/aside.h"
#include "process/rights.h"
#include "process/threads.h"
#include "symbols/debuginfod.h"

#define BIT(c) (1ull << (c))
/* To give a loader its folder and its user, to end it, and to remove what it has left. */
#define KEEPS                                                                                      \
	(BIT(CAP_CHOWN) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) | BIT(CAP_DAC_OVERRIDE))

#define ABSENT_S 600	     /* a file that no server had is asked for again after this time */
#define LEFT_S	 (2 * 86400) /* folders of loaders that are older have been left behind */
#define SECOND	 1000000000ull
#define DEPTH	 4 /* of folders in a loader's folder, at most */

struct keeper {
	int channel;
	uint64_t left_ns;      /* for downloads */
	unsigned seconds;      /* the limit that left_ns began with */
	bool off;	       /* nothing is downloaded any more: a server has failed */
	bool absent_said;      /* it has been said that servers do not have a file, */
	bool large_said;       /* or that one is too large */
	bool ready;	       /* the folder has been made and checked */
	char folder[PATH_MAX]; /* the cache */
};

static uint64_t number_of(const char *variable, uint64_t most, uint64_t otherwise)
{
	const char *text = getenv(variable);
	char *end = NULL;
	unsigned long long v;

	errno = 0;
	v = text ? strtoull(text, &end, 10) : 0;
	return !text || errno || *end || !v || v > most || text[0] == '-' ? otherwise : v;
}

/* ---- the cache ---- */

/*
 * Makes the folders of a path that do not exist, which only this user can use. They are not made
 * where another user could have put something else in their place.
 */
static int make_folders(char *path, struct dt_error *e)
{
	struct stat st;
	char *slash;
	int rc;

	if (stat(path, &st) == 0)
		return 0;
	slash = strrchr(path, '/');
	if (!slash || slash == path)
		return dt_fail(e, "%s: there is no such folder", path);
	*slash = '\0';
	rc = make_folders(path, e);
	if (rc == 0 && (stat(path, &st) < 0 || (st.st_uid != geteuid() && st.st_uid != 0) ||
			((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))))
		rc = dt_fail(e, "no folder is made in %s, which belongs to others", path);
	*slash = '/';
	if (rc == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		rc = dt_fail(e, "%s can not be made: %s", path, strerror(errno));
	return rc;
}

/* Removes what is in a folder that a loader could write to, without following links. */
static void empty(int folder, int depth)
{
	DIR *d = fdopendir(folder);
	struct dirent *one;

	while (d && (one = readdir(d))) {
		int inner;

		if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, ".."))
			continue;
		if (unlinkat(dirfd(d), one->d_name, 0) == 0 || depth == 0)
			continue;
		inner = openat(dirfd(d), one->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner >= 0)
			empty(inner, depth - 1);
		unlinkat(dirfd(d), one->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else
		close(folder);
}

static void remove_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder >= 0)
		empty(folder, DEPTH);
	rmdir(path);
}

/* Removes folders of loaders whose keeper was killed. */
static void remove_left(const char *cache)
{
	DIR *d = opendir(cache);
	char path[PATH_MAX + 256];
	struct dirent *one;
	struct stat st;

	while (d && (one = readdir(d))) {
		if (strncmp(one->d_name, "devtrace-", 9))
			continue;
		dt_format(path, sizeof(path), "%s/%s", cache, one->d_name);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		    st.st_mtime < time(NULL) - LEFT_S)
			remove_folder(path);
	}
	if (d)
		closedir(d);
}

static int prepare(struct keeper *k, struct dt_error *e)
{
	if (k->ready)
		return 0;
	if (!dt_debug_cache_folder(k->folder, sizeof(k->folder) - DT_BUILD_ID - 32))
		return dt_fail(e, "there is no folder to keep it in: neither DEBUGINFOD_CACHE_PATH "
				  "nor XDG_CACHE_HOME nor HOME is set");
	if (make_folders(k->folder, e) < 0 || dt_debug_cache_check(k->folder, e) < 0)
		return -1;
	if (access(k->folder, W_OK) < 0)
		return dt_fail(e, "%s can not be written: %s", k->folder, strerror(errno));
	remove_left(k->folder);
	k->ready = true;
	return 0;
}

/* Looks whether the servers said lately that they do not have a file: then an empty file is in its
 * place, as libdebuginfod makes them. An older one is removed. */
static bool is_absent(const struct keeper *k, const char *build_id)
{
	char path[PATH_MAX];
	struct stat st;

	dt_format(path, sizeof(path), "%s/%s/debuginfo", k->folder, build_id);
	if (lstat(path, &st) < 0 || st.st_size)
		return false;
	if (st.st_mtime > time(NULL) - ABSENT_S)
		return true;
	unlink(path);
	return false;
}

static void note_absent(const struct keeper *k, const char *build_id)
{
	char path[PATH_MAX];
	int file;

	dt_format(path, sizeof(path), "%s/%s", k->folder, build_id);
	mkdir(path, 0700);
	dt_format(path, sizeof(path), "%s/%s/debuginfo", k->folder, build_id);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file >= 0)
		close(file);
}

/* Copies at most `most' bytes. */
static int copy(int from, int into, uint64_t most, struct dt_error *e)
{
	uint64_t done = 0;
	off_t at = 0;

	for (;;) {
		ssize_t n = sendfile(into, from, &at, 1 << 20);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return dt_fail(e, "it can not be kept: %s", strerror(errno));
		if (n == 0)
			return 0;
		done += (uint64_t)n;
		if (done > most)
			return dt_fail(e, "it is larger than %lu bytes", (unsigned long)most);
	}
}

/* Looks whether an open file is the debug file of a build id. */
static int check(int file, const char *build_id, struct dt_error *e)
{
	char is[DT_BUILD_ID];

	if (!dt_build_id_read(file, is))
		return dt_fail(
			e, "what a server has sent is no 64-bit ELF file with a build id: it is "
			   "refused");
	if (strcmp(is, build_id))
		return dt_fail(e, "a server has sent the file of build id %s for %s: it is refused",
			       is, build_id);
	return 0;
}

/* Makes a copy of a file that was downloaded, and if that is what was asked for, gives it its name
 * in the cache. Returns a descriptor for reading, or -1 with the reason. */
static int keep(const struct keeper *k, int from, const char *build_id, uint64_t most,
		struct dt_error *e)
{
	char inner[PATH_MAX], name[PATH_MAX + 32], final[PATH_MAX + 32];
	struct stat st;
	int file, reading = -1;

	dt_format(inner, sizeof(inner), "%s/%s", k->folder, build_id);
	dt_format(name, sizeof(name), "%s/devtrace-XXXXXX", inner);
	dt_format(final, sizeof(final), "%s/debuginfo", inner);
	if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return dt_fail(e, "what was downloaded is no regular file");
	if (mkdir(inner, 0700) < 0 && errno != EEXIST)
		return dt_fail(e, "%s can not be made: %s", inner, strerror(errno));
	if (dt_debug_cache_check(inner, e) < 0)
		return -1;
	file = mkostemp(name, O_CLOEXEC);
	if (file < 0)
		return dt_fail(e, "it can not be kept in %s: %s", inner, strerror(errno));
	if (copy(from, file, most, e) == 0 && check(file, build_id, e) == 0) {
		reading = open(name, O_RDONLY | O_CLOEXEC);
		if (reading < 0 || fchmod(file, 0400) < 0 || rename(name, final) < 0) {
			dt_fail(e, "it can not be kept in %s: %s", inner, strerror(errno));
			if (reading >= 0)
				close(reading);
			reading = -1;
		}
	}
	close(file);
	if (reading < 0) {
		unlink(name);
		rmdir(inner);
	}
	return reading;
}

/* ---- downloading ---- */

/* Limits a download: by what the user has set, and so that the disk is not filled. */
static struct dt_debuginfod_limit limit_of(const struct keeper *k)
{
	struct dt_debuginfod_limit l = {
		.bytes = number_of("DEBUGINFOD_MAXSIZE", UINT64_MAX / 2, DT_DEBUGINFOD_BYTES)};
	struct statvfs v;

	/* it is there twice for a while */
	if (statvfs(k->folder, &v) == 0 && v.f_bavail * v.f_frsize / 3 < l.bytes)
		l.bytes = v.f_bavail * v.f_frsize / 3;
	l.seconds = k->left_ns < SECOND ? 1 : (unsigned)(k->left_ns / SECOND);
	return l;
}

/* Forks a loader, in a folder of its own. Returns its process id and the channel to it. */
static pid_t start(int folder, const char *build_id, const struct dt_debuginfod_limit *limit,
		   int *channel)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int to = fcntl(pair[1], F_DUPFD_CLOEXEC, 64), in = dup2(folder, 4);

		setpgid(0, 0);
		signal(SIGINT, SIG_DFL);
		dup2(to, 3);
		close_range(5, ~0u, 0);
		dt_debuginfod_load(3, in, build_id, limit);
		_exit(0);
	}
	close(pair[1]);
	*channel = pair[0];
	if (pid < 0)
		close(pair[0]);
	return pid;
}

/* Waits for what the loader tells, and passes on how far it has come. */
static void wait_for(struct keeper *k, int loader, struct dt_debuginfod_told *t, int *file)
{
	uint64_t begin = dt_now_ns(), now = begin, end = begin + k->left_ns + SECOND;
	struct pollfd f[2] = {{.fd = loader, .events = POLLIN}, {.fd = k->channel}};

	t->error = DT_DEBUGINFOD_LATE;
	for (; now < end; now = dt_now_ns()) {
		int n = poll(f, 2, (int)((end - now) / 1000000) + 1);

		if (f[1].revents) {
			t->error = DT_DEBUGINFOD_STOPPED;
			break;
		}
		if (n <= 0)
			continue;
		if (!dt_debuginfod_receive(loader, t, file)) {
			*t = (struct dt_debuginfod_told){.error = EIO}; /* it has ended */
			break;
		}
		if (t->what != DT_DEBUGINFOD_PROGRESS)
			break;
		dt_debuginfod_send(k->channel, t, -1);
		t->error = DT_DEBUGINFOD_LATE;
	}
	k->left_ns -= now - begin < k->left_ns ? now - begin : k->left_ns;
	if (t->what != DT_DEBUGINFOD_FOUND || *file < 0)
		t->what = DT_DEBUGINFOD_NOT;
}

/* Has a file downloaded. *t is what the loader told; returns a descriptor of a kept copy, or -1
 * with t->error and, for what is not told by that, t->why. */
static int download(struct keeper *k, const char *build_id, struct dt_debuginfod_told *t)
{
	struct dt_debuginfod_limit limit = limit_of(k);
	char path[PATH_MAX];
	int folder, loader, file = -1, kept = -1;
	pid_t pid;

	dt_format(path, sizeof(path), "%s/devtrace-XXXXXX", k->folder);
	folder = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	pid = folder < 0 ? -1 : start(folder, build_id, &limit, &loader);
	t->error = errno;
	if (pid > 0) {
		wait_for(k, loader, t, &file);
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(loader);
	}
	if (folder >= 0)
		close(folder);
	if (file >= 0) {
		kept = keep(k, file, build_id, limit.bytes, &t->why);
		close(file);
	}
	remove_folder(path);
	return kept;
}

/* Says why there is no file, and whether servers are asked for others all the same. */
static void explain(struct keeper *k, struct dt_debuginfod_told *t, bool named)
{
	static const char again[] = "; servers are not asked again";

	k->off = t->error != ENOENT && t->error != DT_DEBUGINFOD_LARGE;
	switch (t->error) {
	case ENOENT:
		if (!named && !k->absent_said)
			dt_fail(&t->why, "the servers do not have it, or did not send it; of "
					 "other such files nothing is said");
		k->absent_said |= !named;
		break;
	case DT_DEBUGINFOD_LARGE:
		if (!k->large_said)
			dt_fail(&t->why,
				"it is larger than %lu bytes, which DEBUGINFOD_MAXSIZE, or the "
				"room on the disk, allows; of other such files nothing is said",
				(unsigned long)limit_of(k).bytes);
		k->large_said = true;
		break;
	case DT_DEBUGINFOD_MISSING: {
		struct dt_error what = t->why;

		dt_fail(&t->why,
			"libdebuginfod is missing or damaged (%s); Debian has it in libdebuginfod1",
			what.text);
		break;
	}
	case DT_DEBUGINFOD_RIGHTS:
		dt_fail(&t->why, "root's rights can not be given up here for the download");
		break;
	case DT_DEBUGINFOD_LATE:
	case ETIME:
		dt_fail(&t->why,
			"it did not come in the %u s that a command's downloads may take "
			"(DEBUGINFOD_MAXTIME)%s",
			k->seconds, again);
		break;
	default:
		dt_fail(&t->why, "the servers of DEBUGINFOD_URLS can not be asked: %s%s",
			strerror(t->error), again);
	}
}

/* Answers one question. */
static void answer(struct keeper *k, const struct dt_debuginfod_ask *a)
{
	struct dt_debuginfod_told t = {.what = DT_DEBUGINFOD_NOT, .error = ENOENT};
	int file = -1;

	if (k->off) {
		t.why.text[0] = '\0';
	} else if (prepare(k, &t.why) < 0) {
		k->off = true;
	} else {
		bool absent = is_absent(k, a->build_id);

		if (!absent)
			file = download(k, a->build_id, &t);
		if (file < 0 && t.what == DT_DEBUGINFOD_FOUND)
			k->off = true; /* it was refused, or can not be kept */
		else if (file < 0)
			explain(k, &t, a->named);
		if (file < 0 && !absent && t.error == ENOENT && t.what == DT_DEBUGINFOD_NOT)
			note_absent(k, a->build_id);
	}
	t.what = file < 0 ? DT_DEBUGINFOD_NOT : DT_DEBUGINFOD_FOUND;
	dt_debuginfod_send(k->channel, &t, file);
	if (file >= 0)
		close(file);
}

void dt_debuginfod_keep(int channel, void *unused)
{
	struct keeper k = {.channel = channel};
	struct dt_debuginfod_ask a;
	ssize_t n;

	k.seconds = (unsigned)number_of("DEBUGINFOD_MAXTIME", 86400, DT_DEBUGINFOD_SECONDS);
	k.left_ns = k.seconds * SECOND;
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (geteuid() == 0 && dt_rights_only(KEEPS, NULL) < 0)
		return;
	while ((n = recv(channel, &a, sizeof(a), 0)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		a.build_id[sizeof(a.build_id) - 1] = '\0';
		if (n != (ssize_t)sizeof(a) || !dt_build_id_is(a.build_id))
			return;
		answer(&k, &a);
	}
}
