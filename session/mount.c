/* SPDX-License-Identifier: MIT */
/* Sessions as files, through FUSE. */
#include "session/mount-work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "session/client.h"
#include "session/server.h"

#define THREADS	    1000u /* requests at a time: each reader that waits for a record takes one */
#define WRITE_BYTES (1u << 20)

/* ---- the log ---- */

void dt_mount_say(struct dt_mount *m, const char *session, pid_t pid, const char *text, size_t n)
{
	char line[1024], when[32];
	struct timespec now;
	struct tm tm;
	size_t length;

	while (n && text[n - 1] == '\n')
		n--;
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	length = dt_format(line, sizeof(line), "%s %s: process %d: %.*s\n", when, session, pid,
			   (int)(n < 800 ? n : 800), text);
	if (length >= sizeof(line))
		length = sizeof(line) - 1;
	pthread_mutex_lock(&m->lock);
	if (m->log_n + length > DT_MOUNT_LOG_BYTES) { /* drops the older half, by whole lines */
		char *keep = memchr(m->log + m->log_n / 2, '\n', m->log_n - m->log_n / 2);

		m->log_n = keep ? (size_t)(m->log + m->log_n - keep - 1) : 0;
		if (m->log_n)
			memmove(m->log, keep + 1, m->log_n);
	}
	memcpy(m->log + m->log_n, line, length);
	m->log_n += length;
	pthread_mutex_unlock(&m->lock);
	if (m->aloud)
		fputs(line, stderr);
}

static void on_init(void *ctx, struct fuse_conn_info *conn)
{
	struct dt_mount *m = ctx;

	conn->max_write = WRITE_BYTES;
	conn->want &= ~FUSE_CAP_SPLICE_READ & ~FUSE_CAP_SPLICE_WRITE;
	m->max_write = conn->max_write;
}

static const struct fuse_lowlevel_ops ops = {
	.init = on_init,
	.lookup = dt_mount_lookup,
	.readlink = dt_mount_readlink,
	.getattr = dt_mount_getattr,
	.setattr = dt_mount_setattr,
	.opendir = dt_mount_opendir,
	.readdir = dt_mount_readdir,
	.releasedir = dt_mount_releasedir,
	.open = dt_mount_open,
	.read = dt_mount_read,
	.write = dt_mount_write,
	.flush = dt_mount_flush,
	.release = dt_mount_release,
};

/* ---- mounting ---- */

static int needs(struct dt_error *e)
{
	if (access("/dev/fuse", F_OK) < 0)
		return dt_fail(e, "there is no /dev/fuse: the kernel has no FUSE; modprobe fuse "
				  "(as root) loads it");
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return dt_fail(e, "/dev/fuse can not be opened by this user: root must give "
				  "access, by chmod 666 /dev/fuse (Debian's usual mode), or by a "
				  "group of yours and mode 660");
	if (geteuid() != 0 && access("/usr/bin/fusermount3", X_OK) < 0 &&
	    access("/bin/fusermount3", X_OK) < 0)
		return dt_fail(e, "fusermount3 is missing, which mounts for ordinary users; "
				  "Debian's package fuse3 has it");
	return 0;
}

/* Unmounts what a mount that was killed has left. */
static void unmount_dead(const char *directory)
{
	struct stat st;
	int status;
	pid_t pid;

	if (stat(directory, &st) == 0 || errno != ENOTCONN)
		return;
	pid = fork();
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-q", "-u", "-z", directory, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/*
 * Shell script of the watcher: the directory has to become free also when this process is killed. A
 * process of its own waits for the end of a socket that only we hold, and then unmounts what is
 * dead. A line from the socket says that there is nothing to do.
 *
 * FUSE's own way (auto_unmount) looks only once, when the server's socket is closed. At that
 * instant /dev/fuse may still be open: then it gets ECONNABORTED, leaves the mount, and there it
 * stays, dead. So this script looks again for five seconds. It is no error when there is no
 * watcher: the next mount at this place clears it, too.
 */
static const char clear_killed[] = "read -r ended && exit\n"
				   "n=0\n"
				   "while [ $n -lt 50 ]; do\n"
				   "	case $(LC_ALL=C stat -- \"$0\" 2>&1) in\n"
				   "	*'not connected'*) exec fusermount3 -q -u -z -- \"$0\";;\n"
				   "	esac\n"
				   "	n=$((n + 1))\n"
				   "	sleep 0.1\n"
				   "done";

static void watch_own_end(struct dt_mount *m)
{
	int ends[2], null;
	pid_t pid;

	m->alive = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		setsid(); /* so that a Ctrl-C does not end it */
		null = open("/dev/null", O_RDWR);
		if (null < 0 || dup2(ends[0], 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
		    chdir("/") < 0)
			_exit(1);
		close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
		execl("/bin/sh", "sh", "-c", clear_killed, m->directory, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	else
		m->alive = ends[1];
}

/* Ends the watcher, after the directory was unmounted. */
static void unwatch_own_end(struct dt_mount *m)
{
	if (m->alive < 0)
		return;
	/* this fails when the watcher has been killed, too */
	(void)!send(m->alive, "\n", 1, MSG_NOSIGNAL);
	close(m->alive);
}

/* Tells whether the sessions are mounted at a directory already: two mounts there would hide each
 * other. */
static bool is_mounted(const char *directory)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[8192], place[4097], type[64];
	bool is = false;

	while (f && !is && fgets(line, sizeof(line), f))
		is = sscanf(line, "%*s %4096s %63s", place, type) == 2 &&
		     strcmp(type, "fuse.devtrace") == 0 && strcmp(place, directory) == 0;
	if (f)
		fclose(f);
	return is;
}

static bool is_empty(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *x;
	bool any = false;

	while (d && !any && (x = readdir(d)))
		any = strcmp(x->d_name, ".") && strcmp(x->d_name, "..");
	if (d)
		closedir(d);
	return d && !any;
}

/* What is in a directory can not be reached any more when sessions are shown there. If these were
 * among it, the mount would ask itself for them, for ever. */
static int check_place(const char *directory, struct dt_error *e)
{
	char sessions[96], place[PATH_MAX], above[PATH_MAX];
	size_t n;

	if (!is_empty(directory))
		return dt_fail(e,
			       "%s: is not empty, or can not be read; name an empty or a new "
			       "directory",
			       directory);
	/* where sessions are, or will be: the path is given in both cases */
	dt_sessions_directory(sessions, sizeof(sessions), false, NULL);
	*strrchr(sessions, '/') = '\0';
	if (!realpath(directory, place) || !realpath(*sessions ? sessions : "/", above))
		return dt_fail(e, "%s: %s", directory, strerror(errno));
	n = strlen(place);
	if (!strncmp(above, place, n) && (above[n] == '/' || !above[n]))
		return dt_fail(e, "%s: sessions are kept there; name another directory", directory);
	return 0;
}

static int make_directory(struct dt_mount *m, struct dt_error *e)
{
	struct stat st;

	if (mkdir(m->directory, 0700) == 0) {
		m->made = true;
		return 0;
	}
	if (errno != EEXIST)
		return dt_fail(e, "%s: can not be made: %s", m->directory, strerror(errno));
	if (stat(m->directory, &st) < 0 || !S_ISDIR(st.st_mode))
		return dt_fail(e, "%s: is not a directory", m->directory);
	return check_place(m->directory, e);
}

/* Leaves the link by which new sessions find this mount. Another living mount of this user keeps
 * its link. */
static void leave_link(struct dt_mount *m)
{
	char directory[96], path[160], old[4096];
	struct stat st;
	ssize_t n;

	if (dt_sessions_directory(directory, sizeof(directory), true, NULL) < 0)
		return;
	dt_format(m->link, sizeof(m->link), "%s/mount", directory);
	dt_format(path, sizeof(path), "%s/log", m->link);
	n = readlink(m->link, old, sizeof(old) - 1);
	old[n > 0 ? n : 0] = '\0';
	if (strcmp(old, m->directory) != 0 && n > 0 && stat(path, &st) == 0) {
		m->link[0] = '\0';
		return;
	}
	unlink(m->link);
	if (symlink(m->directory, m->link) < 0 || lstat(m->link, &m->linked) < 0)
		m->link[0] = '\0';
}

static void take_link(struct dt_mount *m)
{
	struct stat st;

	/* another mount at the same place may have left its own meanwhile */
	if (m->link[0] && lstat(m->link, &st) == 0 && st.st_ino == m->linked.st_ino &&
	    st.st_ctim.tv_sec == m->linked.st_ctim.tv_sec &&
	    st.st_ctim.tv_nsec == m->linked.st_ctim.tv_nsec)
		unlink(m->link);
}

/* Mounts; what fusermount3 complains of becomes the error instead of being printed. */
static int mount_quietly(struct dt_mount *m, struct dt_error *e)
{
	int said = memfd_create("devtrace-mount", MFD_CLOEXEC), old[3], rc;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char text[256] = "";
	ssize_t n;

	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	for (int fd = 0; fd < 3; fd++) {
		old[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(fd < 2 || said < 0 ? null : said, fd);
	}
	rc = dt_fuse.session_mount(m->fuse, m->directory);
	for (int fd = 0; fd < 3; fd++) {
		dup2(old[fd] < 0 ? null : old[fd], fd);
		if (old[fd] >= 0)
			close(old[fd]);
	}
	if (null >= 0)
		close(null);
	n = said < 0 ? 0 : pread(said, text, sizeof(text) - 1, 0);
	if (said >= 0)
		close(said);
	if (rc == 0)
		return 0;
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return dt_fail(e, "%s: can not be mounted on: %s", m->directory,
		       text[0] ? text : "no reason was given");
}

struct dt_mount *dt_mount_new(const char *directory, struct dt_error *e)
{
	char *argv[] = {"devtrace", "-o",
			"fsname=devtrace,subtype=devtrace,default_permissions,nosuid,nodev,noexec",
			NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct dt_mount *m;

	if (dt_fuse_load(e) < 0 || needs(e) < 0)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (m)
		m->directory = strdup(directory);
	if (!m || !m->directory) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	pthread_mutex_init(&m->lock, NULL);
	unmount_dead(m->directory);
	if (is_mounted(m->directory)) {
		dt_fail(e, "%s: shows the sessions already", m->directory);
		goto fail_lock;
	}
	if (make_directory(m, e) < 0)
		goto fail_lock;
	m->fuse = dt_fuse.session_new(&args, &ops, sizeof(ops), m);
	dt_fuse.opt_free_args(&args);
	if (!m->fuse) {
		dt_fail(e, "FUSE can not be used");
		goto fail_directory;
	}
	if (mount_quietly(m, e) < 0)
		goto fail_session;
	m->mounted = true;
	watch_own_end(m);
	return m;
fail_session:
	dt_fuse.session_destroy(m->fuse);
fail_directory:
	if (m->made)
		rmdir(m->directory);
fail_lock:
	pthread_mutex_destroy(&m->lock);
fail:
	if (m)
		free(m->directory);
	free(m);
	return NULL;
}

static void *link_when_served(void *mount)
{
	struct dt_mount *m = mount;

	leave_link(m);
	if (m->ready >= 0)
		close(m->ready);
	m->ready = -1;
	return NULL;
}

int dt_mount_serve(struct dt_mount *m, bool aloud, int ready, struct dt_error *e)
{
	struct fuse_loop_config *config = dt_fuse.loop_cfg_create();
	pthread_t thread;
	int rc;

	m->aloud = aloud;
	m->ready = ready;
	if (!config)
		return dt_fail(e, "out of memory");
	dt_fuse.loop_cfg_set_max_threads(config, THREADS);
	if (dt_fuse.set_signal_handlers(m->fuse) < 0) {
		dt_fuse.loop_cfg_destroy(config);
		return dt_fail(e, "no signal handlers");
	}
	/* in a thread, since it looks at a file that this process has to serve meanwhile */
	rc = pthread_create(&thread, NULL, link_when_served, m);
	if (rc == 0) {
		rc = dt_fuse.session_loop_mt(m->fuse, config);
		m->mounted = false;
		dt_fuse.session_unmount(m->fuse); /* ends what the thread may be waiting for */
		pthread_join(thread, NULL);
		take_link(m);
		rc = rc < 0 ? dt_fail(e, "serving %s: %s", m->directory, strerror(-rc)) : 0;
	} else {
		rc = dt_fail(e, "no thread: %s", strerror(rc));
	}
	dt_fuse.remove_signal_handlers(m->fuse);
	dt_fuse.loop_cfg_destroy(config);
	return rc;
}

void dt_mount_free(struct dt_mount *m)
{
	if (m->mounted)
		dt_fuse.session_unmount(m->fuse);
	dt_fuse.session_destroy(m->fuse);
	unwatch_own_end(m);
	if (m->made)
		rmdir(m->directory);
	pthread_mutex_destroy(&m->lock);
	free(m->name);
	free(m->directory);
	free(m);
}

bool dt_mount_ctl(const char *session, char *path, size_t size)
{
	char directory[96], link[128], to[4096];
	struct stat st;
	ssize_t n;

	if (dt_sessions_directory(directory, sizeof(directory), false, NULL) < 0)
		return false;
	dt_format(link, sizeof(link), "%s/mount", directory);
	n = readlink(link, to, sizeof(to) - 1);
	if (n <= 0)
		return false;
	to[n] = '\0';
	return dt_format(path, size, "%s/%s/ctl", to, session) < size && stat(path, &st) == 0;
}
