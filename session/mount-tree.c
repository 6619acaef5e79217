/* SPDX-License-Identifier: MIT */
/* The mounted files: their names, inode numbers and directories. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "session/client.h"
#include "session/mount-work.h"
#include "session/server.h"

/* Inode numbers: the root, the log, the kernel's device with its two files, then eight for each
 * session's name that has been seen. */
enum { ROOT = 1, KERNEL = 3, KERNEL_CTL = 4, KERNEL_TRACE = 5, FIRST = 8 };

static const char *const file_name[] = {"", "ctl", "trace", "trace.wait"};
static const mode_t file_mode[] = {S_IFDIR | 0500, S_IFREG | 0600, S_IFREG | 0400, S_IFREG | 0400};

/* ---- names and numbers ---- */

bool dt_mount_lives(const char *session)
{
	struct dt_client c;
	bool is = dt_client_open(&c, session, NULL) == 0;

	dt_client_close(&c);
	return is;
}

static bool for_a_second(void *ctx)
{
	unsigned *turns = ctx;

	return ++*turns < 1000 / DT_CLIENT_TURN;
}

/* Returns the size of a session's trace: of all records that the log has had, since tail -f reads
 * on when the size has grown. */
static off_t trace_size(const char *session)
{
	struct dt_client c;
	uint64_t oldest, next = 0;
	unsigned turns = 0;

	if (dt_client_open(&c, session, NULL) == 0) {
		c.waiting = for_a_second;
		c.ctx = &turns;
		if (dt_client_positions(&c, &oldest, &next, NULL) < 0)
			next = 0;
	}
	dt_client_close(&c);
	return (off_t)(next * DT_LINE);
}

/* Returns the inode number of a session's directory; 0: out of memory. */
static fuse_ino_t number_of(struct dt_mount *m, const char *session)
{
	size_t i = 0;

	pthread_mutex_lock(&m->lock);
	while (i < m->names && strcmp(m->name[i], session) != 0)
		i++;
	if (i == m->names) {
		char(*more)[64] = realloc(m->name, (i + 1) * sizeof(*more));

		if (more) {
			m->name = more;
			dt_format(more[m->names++], sizeof(*more), "%s", session);
		}
	}
	pthread_mutex_unlock(&m->lock);
	return i < m->names ? FIRST + 8 * i : 0;
}

enum dt_mount_kind dt_mount_kind_of(fuse_ino_t ino)
{
	return (enum dt_mount_kind)(ino % 8);
}

bool dt_mount_session(struct dt_mount *m, fuse_ino_t ino, char *session)
{
	size_t i = (ino - FIRST) / 8;
	bool is;

	pthread_mutex_lock(&m->lock);
	is = ino >= FIRST && i < m->names && dt_mount_kind_of(ino) < DT_MOUNT_KINDS;
	if (is)
		memcpy(session, m->name[i], sizeof(m->name[i]));
	pthread_mutex_unlock(&m->lock);
	return is;
}

/* Returns where a file of the kernel's directory leads: they are links to its device. NULL: it is
 * none. */
static const char *kernel_file(fuse_ino_t ino)
{
	return ino == KERNEL_CTL ? "/dev/tracectl" : ino == KERNEL_TRACE ? "/dev/trace" : NULL;
}

static bool kernel_lives(void)
{
	return access("/dev/tracectl", F_OK) == 0;
}

static bool attributes(struct dt_mount *m, fuse_ino_t ino, struct stat *st)
{
	char session[64];

	*st = (struct stat){.st_ino = ino, .st_nlink = 1, .st_uid = geteuid(), .st_gid = getegid()};
	/* the time is always now: tail -f looks again only at files that have changed */
	clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	st->st_ctim = st->st_atim = st->st_mtim;
	if (ino == ROOT) {
		st->st_mode = S_IFDIR | 0500;
		return true;
	}
	if (ino == DT_MOUNT_LOG) {
		st->st_mode = S_IFREG | 0400;
		return true;
	}
	if (ino == KERNEL || kernel_file(ino)) {
		st->st_mode = ino == KERNEL ? S_IFDIR | 0500 : S_IFLNK | 0777;
		return kernel_lives();
	}
	if (!dt_mount_session(m, ino, session) || !dt_mount_lives(session))
		return false;
	st->st_mode = file_mode[dt_mount_kind_of(ino)];
	if (dt_mount_kind_of(ino) == DT_MOUNT_TRACE)
		st->st_size = trace_size(session);
	return true;
}

void dt_mount_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct dt_mount *m = dt_fuse.req_userdata(req);
	struct fuse_entry_param e = {.ino = 0};
	char session[64];

	if (parent == ROOT && strcmp(name, "log") == 0)
		e.ino = DT_MOUNT_LOG;
	else if (parent == ROOT && strcmp(name, "kernel") == 0 && kernel_lives())
		e.ino = KERNEL;
	else if (parent == KERNEL)
		e.ino = strcmp(name, "ctl") == 0     ? KERNEL_CTL
			: strcmp(name, "trace") == 0 ? KERNEL_TRACE
						     : 0;
	else if (parent == ROOT && strlen(name) < sizeof(session) && dt_mount_lives(name))
		e.ino = number_of(m, name);
	else if (dt_mount_session(m, parent, session) &&
		 dt_mount_kind_of(parent) == DT_MOUNT_DIRECTORY)
		for (int i = DT_MOUNT_CTL; i < DT_MOUNT_KINDS; i++)
			if (strcmp(name, file_name[i]) == 0)
				e.ino = parent + (fuse_ino_t)i;
	if (e.ino && attributes(m, e.ino, &e.attr))
		dt_fuse.reply_entry(req, &e);
	else
		dt_fuse.reply_err(req, ENOENT);
}

void dt_mount_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const char *to = kernel_file(ino);

	if (to)
		dt_fuse.reply_readlink(req, to);
	else
		dt_fuse.reply_err(req, EINVAL);
}

void dt_mount_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	if (attributes(dt_fuse.req_userdata(req), ino, &st))
		dt_fuse.reply_attr(req, &st, 0);
	else
		dt_fuse.reply_err(req, ENOENT);
}

/*
 * The shell's > truncates, which is accepted and does nothing. Modes and owners can not be changed.
 */
void dt_mount_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
		      struct fuse_file_info *fi)
{
	if (set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		dt_fuse.reply_err(req, EPERM);
	else
		dt_mount_getattr(req, ino, fi);
}

/* ---- directories ---- */

/* An open directory, with its entries in the form that FUSE sends. */
struct listing {
	fuse_req_t req;
	struct dt_mount *m;
	char *text;
	size_t n, room;
	bool failed;
};

static void add_entry(struct listing *l, const char *name, fuse_ino_t ino, mode_t mode)
{
	struct stat st = {.st_ino = ino, .st_mode = mode};
	size_t size = dt_fuse.add_direntry(l->req, NULL, 0, name, NULL, 0);

	if (l->n + size > l->room) {
		size_t room = 2 * l->room + size + 4096;
		char *more = realloc(l->text, room);

		l->failed = l->failed || !more;
		if (!more)
			return;
		l->text = more;
		l->room = room;
	}
	dt_fuse.add_direntry(l->req, l->text + l->n, size, name, &st, (off_t)(l->n + size));
	l->n += size;
}

static void add_session(void *ctx, const char *name)
{
	struct listing *l = ctx;

	add_entry(l, name, number_of(l->m, name), S_IFDIR);
}

/* Makes the entries, which are those there are when the directory is opened. */
void dt_mount_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct stat st;

	if (!l || !attributes(dt_fuse.req_userdata(req), ino, &st)) {
		dt_fuse.reply_err(req, l ? ENOENT : ENOMEM);
		free(l);
		return;
	}
	l->req = req;
	l->m = dt_fuse.req_userdata(req);
	add_entry(l, ".", ino, S_IFDIR);
	add_entry(l, "..", ROOT, S_IFDIR);
	if (ino == ROOT) {
		add_entry(l, "log", DT_MOUNT_LOG, S_IFREG);
		if (kernel_lives())
			add_entry(l, "kernel", KERNEL, S_IFDIR);
		dt_sessions_each(add_session, l, NULL);
	} else if (ino == KERNEL) {
		add_entry(l, "ctl", KERNEL_CTL, S_IFLNK);
		add_entry(l, "trace", KERNEL_TRACE, S_IFLNK);
	} else {
		for (int i = DT_MOUNT_CTL; i < DT_MOUNT_KINDS; i++)
			add_entry(l, file_name[i], ino + (fuse_ino_t)i, S_IFREG);
	}
	fi->fh = (uint64_t)(uintptr_t)l;
	dt_fuse.reply_open(req, fi);
}

void dt_mount_reply(fuse_req_t req, const char *data, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy) {
		dt_fuse.reply_err(req, ENOMEM);
		return;
	}
	if (n)
		memcpy(copy, data, n);
	dt_fuse.reply_buf(req, copy, n);
	free(copy);
}

void dt_mount_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;
	size_t at = (size_t)off, end = at;

	if (l->failed) {
		dt_fuse.reply_err(req, ENOMEM);
		return;
	}
	/* only whole entries are sent; each says where the next one begins */
	while (end < l->n) {
		uint64_t next;

		memcpy(&next, l->text + end + 8, sizeof(next));
		if (next - at > size)
			break;
		end = (size_t)next;
	}
	dt_mount_reply(req, at < l->n ? l->text + at : NULL, end - at);
}

void dt_mount_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;

	free(l->text);
	free(l);
	dt_fuse.reply_err(req, 0);
}
