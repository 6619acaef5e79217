/* SPDX-License-Identifier: MIT */
/* Sessions as files, through FUSE. */
#define FUSE_USE_VERSION 312
#include "session/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "session/client.h"
#include "session/server.h"

#define LINE_MAX_BYTES (64u << 20) /* of commands that no newline has ended */
#define LOG_BYTES      65536u
#define THREADS	       1000u /* requests at once: readers that wait for a record take one each */
#define WRITE_BYTES    (1u << 20)
#define GRACE	       (400 / DT_CLIENT_TURN) /* turns until an interrupted writer is let go */

/*
 * Inode numbers: the root, the log, the kernel's device with its two files, then eight for each session's
 * name that has been seen.
 */
enum { ROOT = 1, LOG = 2, KERNEL = 3, KERNEL_CTL = 4, KERNEL_TRACE = 5, FIRST = 8 };
enum file { DIRECTORY, CTL, TRACE, TRACE_WAIT, FILES };

static const char *const file_name[] = {"", "ctl", "trace", "trace.wait"};
static const mode_t file_mode[] = {S_IFDIR | 0500, S_IFREG | 0600, S_IFREG | 0400, S_IFREG | 0400};

struct dt_mount {
	struct fuse_session *fuse;
	char *directory;
	bool made;    /* the directory is ours to remove */
	bool mounted; /* as far as we know */
	bool aloud;
	char link[128]; /* where sessions find us */
	unsigned max_write;
	pthread_mutex_t lock; /* guards what follows */
	char (*name)[64];     /* a name keeps its place */
	size_t names;
	char log[LOG_BYTES];
	size_t log_n;
};

/* One open file. Its lock is held while a request on it is under way. */
struct handle {
	pthread_mutex_t lock;
	char session[64];
	struct dt_client follower; /* of trace.wait, from its first read on */
	bool reads, writes;
	bool begun;   /* text is what there is to be read */
	char *text;   /* a snapshot, or answers to what was written */
	size_t n, at; /* at: of a handle that also writes, where its next read begins */
	char *line;   /* written, but not ended by a newline yet */
	size_t line_n;
};

/* ---- the log ---- */

static void say(struct dt_mount *m, const char *session, pid_t pid, const char *text, size_t n)
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
	if (m->log_n + length > LOG_BYTES) { /* the older half goes, by whole lines */
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

/* ---- names and numbers ---- */

/* Does the session live? */
static bool lives(const char *session)
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

/* tail -f reads on when the size has grown: it is that of all records that the log has had. */
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

/* The number of a session's directory; 0: out of memory. */
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

static enum file file_of(fuse_ino_t ino)
{
	return (enum file)(ino % 8);
}

/* False: there is no such number. */
static bool session_of(struct dt_mount *m, fuse_ino_t ino, char *session)
{
	size_t i = (ino - FIRST) / 8;
	bool is;

	pthread_mutex_lock(&m->lock);
	is = ino >= FIRST && i < m->names && file_of(ino) < FILES;
	if (is)
		memcpy(session, m->name[i], sizeof(m->name[i]));
	pthread_mutex_unlock(&m->lock);
	return is;
}

/* The kernel's files are links to its device, which has them whoever is mounted. */
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
	/* always changed just now: tail -f looks again only at what has changed */
	clock_gettime(CLOCK_REALTIME, &st->st_mtim);
	st->st_ctim = st->st_atim = st->st_mtim;
	if (ino == ROOT) {
		st->st_mode = S_IFDIR | 0500;
		return true;
	}
	if (ino == LOG) {
		st->st_mode = S_IFREG | 0400;
		return true;
	}
	if (ino == KERNEL || kernel_file(ino)) {
		st->st_mode = ino == KERNEL ? S_IFDIR | 0500 : S_IFLNK | 0777;
		return kernel_lives();
	}
	if (!session_of(m, ino, session) || !lives(session))
		return false;
	st->st_mode = file_mode[file_of(ino)];
	if (file_of(ino) == TRACE)
		st->st_size = trace_size(session);
	return true;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct dt_mount *m = fuse_req_userdata(req);
	struct fuse_entry_param e = {.ino = 0};
	char session[64];

	if (parent == ROOT && strcmp(name, "log") == 0)
		e.ino = LOG;
	else if (parent == ROOT && strcmp(name, "kernel") == 0 && kernel_lives())
		e.ino = KERNEL;
	else if (parent == KERNEL)
		e.ino = strcmp(name, "ctl") == 0 ? KERNEL_CTL : strcmp(name, "trace") == 0 ? KERNEL_TRACE : 0;
	else if (parent == ROOT && strlen(name) < sizeof(session) && lives(name))
		e.ino = number_of(m, name);
	else if (session_of(m, parent, session) && file_of(parent) == DIRECTORY)
		for (int i = CTL; i < FILES; i++)
			if (strcmp(name, file_name[i]) == 0)
				e.ino = parent + (fuse_ino_t)i;
	if (e.ino && attributes(m, e.ino, &e.attr))
		fuse_reply_entry(req, &e);
	else
		fuse_reply_err(req, ENOENT);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const char *to = kernel_file(ino);

	if (to)
		fuse_reply_readlink(req, to);
	else
		fuse_reply_err(req, EINVAL);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	if (attributes(fuse_req_userdata(req), ino, &st))
		fuse_reply_attr(req, &st, 0);
	else
		fuse_reply_err(req, ENOENT);
}

/* The shell's > truncates: there is nothing to be truncated. Modes and owners stay. */
static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
		       struct fuse_file_info *fi)
{
	if (set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse_reply_err(req, EPERM);
	else
		on_getattr(req, ino, fi);
}

/* ---- directories ---- */

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
	size_t size = fuse_add_direntry(l->req, NULL, 0, name, NULL, 0);

	if (l->n + size > l->room) {
		size_t room = 2 * l->room + size + 4096;
		char *more = realloc(l->text, room);

		l->failed = l->failed || !more;
		if (!more)
			return;
		l->text = more;
		l->room = room;
	}
	fuse_add_direntry(l->req, l->text + l->n, size, name, &st, (off_t)(l->n + size));
	l->n += size;
}

static void add_session(void *ctx, const char *name)
{
	struct listing *l = ctx;

	add_entry(l, name, number_of(l->m, name), S_IFDIR);
}

/* The entries are those there are when the directory is opened. */
static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = calloc(1, sizeof(*l));
	struct stat st;

	if (!l || !attributes(fuse_req_userdata(req), ino, &st)) {
		fuse_reply_err(req, l ? ENOENT : ENOMEM);
		free(l);
		return;
	}
	l->req = req;
	l->m = fuse_req_userdata(req);
	add_entry(l, ".", ino, S_IFDIR);
	add_entry(l, "..", ROOT, S_IFDIR);
	if (ino == ROOT) {
		add_entry(l, "log", LOG, S_IFREG);
		if (kernel_lives())
			add_entry(l, "kernel", KERNEL, S_IFDIR);
		dt_sessions_each(add_session, l, NULL);
	} else if (ino == KERNEL) {
		add_entry(l, "ctl", KERNEL_CTL, S_IFLNK);
		add_entry(l, "trace", KERNEL_TRACE, S_IFLNK);
	} else {
		for (int i = CTL; i < FILES; i++)
			add_entry(l, file_name[i], ino + (fuse_ino_t)i, S_IFREG);
	}
	fi->fh = (uint64_t)(uintptr_t)l;
	fuse_reply_open(req, fi);
}

/*
 * Replies with a copy: as soon as the kernel has the answer, whoever asked may have the handle closed
 * in another thread, and what belongs to it is gone before the write itself has returned.
 */
static void reply_copy(fuse_req_t req, const char *data, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (n)
		memcpy(copy, data, n);
	fuse_reply_buf(req, copy, n);
	free(copy);
}


static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;
	size_t at = (size_t)off, end = at;

	if (l->failed) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	/* whole entries only: each says where the next one begins */
	while (end < l->n) {
		uint64_t next;

		memcpy(&next, l->text + end + 8, sizeof(next));
		if (next - at > size)
			break;
		end = (size_t)next;
	}
	reply_copy(req, at < l->n ? l->text + at : NULL, end - at);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;

	free(l->text);
	free(l);
	fuse_reply_err(req, 0);
}

/* ---- requests to a session ---- */

struct waiter {
	fuse_req_t req;
	struct dt_mount *m;
	unsigned turns; /* since the interrupt */
	bool answered;	/* the caller has been let go */
};

/*
 * Whoever waits in a file can not be stopped or killed until it is answered: so an interrupted
 * caller is let go, and what it asked for goes on. It may be what stops the caller: "detach" of a
 * traced program by itself. A moment of grace keeps programs with timers from seeing EINTR.
 */
static bool keep_waiting(void *ctx)
{
	struct waiter *w = ctx;

	if (fuse_session_exited(w->m->fuse))
		return false;
	if (!w->answered && fuse_req_interrupted(w->req) && ++w->turns >= GRACE) {
		fuse_reply_err(w->req, EINTR);
		w->answered = true;
	}
	return true;
}

/* A request whose caller was let go may still have the handle. False: the caller of this one, too.
 */
static bool lock_for(struct waiter *w, struct handle *h)
{
	for (;;) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += DT_CLIENT_TURN * 1000000L;
		if (until.tv_nsec >= 1000000000L)
			until.tv_sec++, until.tv_nsec -= 1000000000L;
		if (pthread_mutex_clocklock(&h->lock, CLOCK_MONOTONIC, &until) == 0)
			return true;
		if (!keep_waiting(w) && !w->answered) {
			fuse_reply_err(w->req, EIO);
			w->answered = true;
		}
		if (w->answered)
			return false;
	}
}

static int connect_for(struct waiter *w, struct dt_client *c, const char *session,
		       struct dt_error *e)
{
	if (dt_client_open(c, session, e) < 0)
		return -1;
	c->waiting = keep_waiting;
	c->ctx = w;
	return 0;
}

static bool add_text(char **text, size_t *n, const char *more, size_t more_n)
{
	char *p = realloc(*text, *n + more_n + 1);

	if (!p)
		return false;
	memcpy(p + *n, more, more_n);
	*text = p;
	*n += more_n;
	return true;
}

/* ---- ctl ---- */

static int snapshot(struct waiter *w, struct handle *h)
{
	struct dt_client c;
	struct dt_error e;
	int err = 0;

	if (connect_for(w, &c, h->session, &e) < 0 || dt_client_ask(&c, "read", &e) < 0) {
		err = EIO;
	} else {
		free(h->text);
		h->text = c.text;
		h->n = c.n;
		h->at = 0;
		h->begun = true;
		c.text = NULL;
	}
	dt_client_close(&c);
	return err;
}

/* Has n bytes of h->line obeyed. */
static int obey(struct waiter *w, struct handle *h, size_t n)
{
	pid_t pid = fuse_req_ctx(w->req)->pid;
	struct dt_client c;
	struct dt_error e;
	int err = 0;

	if (connect_for(w, &c, h->session, &e) < 0) {
		err = EIO;
	} else if (dt_client_write(&c, h->line, n, (uint32_t)pid, &e) < 0) {
		err = c.n ? EINVAL : EIO; /* a reason given by the session, or none */
	} else if (c.n) {
		/* the answers: to be read by whoever can, and in the log */
		say(w->m, h->session, pid, c.text, c.n);
		if (!h->begun) {
			free(h->text);
			h->text = NULL;
			h->n = h->at = 0;
		}
		if (h->reads && add_text(&h->text, &h->n, c.text, c.n))
			h->begun = true;
	}
	if (err)
		say(w->m, h->session, pid, e.text, strlen(e.text));
	dt_client_close(&c);
	h->line_n -= n;
	memmove(h->line, h->line + n, h->line_n);
	return err;
}

/*
 * The kernel hands over a large write in pieces, cut anywhere: a piece that is as large as one can
 * be is obeyed up to its last newline. A smaller one is the end of its write, and obeyed as it is.
 */
static void write_ctl(struct waiter *w, struct handle *h, const char *text, size_t size)
{
	bool piece = size + 4096 > w->m->max_write; /* pieces begin and end with pages */
	size_t n;
	int err = 0;

	if (h->line_n + size > LINE_MAX_BYTES)
		err = EFBIG;
	else if (!add_text(&h->line, &h->line_n, text, size))
		err = ENOMEM;
	if (!err) {
		n = h->line_n;
		while (piece && n && h->line[n - 1] != '\n')
			n--;
		err = n ? obey(w, h, n) : 0;
	}
	if (err)
		h->line_n = 0;
	if (w->answered)
		return;
	if (err)
		fuse_reply_err(w->req, err);
	else
		fuse_reply_write(w->req, size);
}

/* ---- trace ---- */

/* How many of these records one read can have. */
static size_t records_in(size_t size)
{
	return size / DT_LINE;
}

static int lines_of(struct handle *h, const struct dt_record *r, size_t n)
{
	char *text = realloc(h->text, n * DT_LINE + 1);

	if (!text)
		return ENOMEM;
	h->text = text;
	for (size_t i = 0; i < n; i++) {
		const struct dt_record shown = dt_record_shown(&r[i]);

		dt_text_line(text + i * DT_LINE, &shown);
	}
	h->n = n * DT_LINE;
	return 0;
}

static void say_lost(struct dt_mount *m, const char *session, pid_t pid, uint64_t lost)
{
	char text[128];

	if (lost)
		say(m, session, pid, text,
		    dt_format(text, sizeof(text), "%lu records are missing: the log was full",
			      (unsigned long)lost));
}

static int take_some(struct waiter *w, struct handle *h, struct dt_client *c, size_t max, int ms,
		     long *n)
{
	pid_t pid = fuse_req_ctx(w->req)->pid;
	uint64_t position = 0, lost = 0;
	struct dt_error e;

	*n = dt_client_take(c, max, &position, ms, true, &lost, &e);
	if (*n == -1) {
		say(w->m, h->session, pid, e.text, strlen(e.text));
		return EIO;
	}
	say_lost(w->m, h->session, pid, lost);
	return *n > 0 ? lines_of(h, (const struct dt_record *)c->text, (size_t)*n) : 0;
}

static int take(struct waiter *w, struct handle *h, size_t max)
{
	struct dt_client c;
	struct dt_error e;
	int err = EIO;
	long n;

	if (connect_for(w, &c, h->session, &e) == 0)
		err = take_some(w, h, &c, max, 0, &n);
	dt_client_close(&c);
	return err;
}

/*
 * A turn at a time, so that a caller that is interrupted has taken nothing. The connection is kept:
 * a session that ends lets those who follow take what there is.
 */
static int take_waiting(struct waiter *w, struct handle *h, size_t max, bool may_block)
{
	struct dt_client *c = &h->follower;
	struct dt_error e;
	int err = 0;
	long n = 0;

	if (h->begun && c->fd < 0)
		return 0; /* it has ended */
	h->begun = true;
	if (c->fd < 0 && dt_client_open(c, h->session, &e) < 0)
		return EIO;
	c->waiting = keep_waiting;
	c->ctx = w;
	while (err == 0 && n == 0) {
		err = take_some(w, h, c, max, may_block ? DT_CLIENT_TURN : 0, &n);
		if (n == -1)
			err = c->n ? err : 0; /* killed: the end */
		if (n < 0)
			dt_client_close(c);
		else if (n == 0 && !may_block)
			err = EAGAIN;
		else if (n == 0 &&
			 (fuse_req_interrupted(w->req) || fuse_session_exited(w->m->fuse)))
			err = EINTR;
	}
	return err;
}

static void read_trace(struct waiter *w, struct handle *h, size_t size, bool wait, bool may_block)
{
	int err = 0;

	h->n = 0;
	if (records_in(size))
		err = wait ? take_waiting(w, h, records_in(size), may_block)
			   : take(w, h, records_in(size));
	if (w->answered)
		return;
	if (err)
		fuse_reply_err(w->req, err);
	else
		reply_copy(w->req, h->text, h->n);
}

/* ---- files ---- */

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct waiter w = {.req = req, .m = fuse_req_userdata(req)};
	struct handle *h = calloc(1, sizeof(*h));
	int access = fi->flags & O_ACCMODE, err = 0;

	if (!h) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&h->lock, NULL);
	h->follower.fd = -1;
	h->reads = access != O_WRONLY;
	h->writes = access != O_RDONLY;
	fi->direct_io = 1;
	if (ino == LOG) {
		pthread_mutex_lock(&w.m->lock);
		err = add_text(&h->text, &h->n, w.m->log, w.m->log_n) ? 0 : ENOMEM;
		pthread_mutex_unlock(&w.m->lock);
	} else if (!session_of(w.m, ino, h->session)) {
		err = ENOENT;
	} else if (file_of(ino) == CTL) {
		fi->nonseekable = h->writes && h->reads;
		err = h->writes ? (lives(h->session) ? 0 : EIO) : snapshot(&w, h);
	} else {
		fi->nonseekable = 1;
		err = h->writes ? EACCES : 0;
	}
	fi->fh = (uint64_t)(uintptr_t)h;
	if (!err && !w.answered && fuse_reply_open(req, fi) == 0)
		return;
	if (err && !w.answered)
		fuse_reply_err(req, err);
	pthread_mutex_destroy(&h->lock);
	free(h->text);
	free(h);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = fuse_req_userdata(req)};
	size_t at = (size_t)off;
	int err = 0;

	if (!lock_for(&w, h))
		return;
	if (ino != LOG && file_of(ino) != CTL) {
		read_trace(&w, h, size, file_of(ino) == TRACE_WAIT, !(fi->flags & O_NONBLOCK));
		goto out;
	}
	if (h->writes) {
		/* answers to what has been written, or else how things stand now */
		if (!h->begun)
			err = snapshot(&w, h);
		at = h->at;
	}
	if (w.answered)
		goto out;
	if (err) {
		fuse_reply_err(req, err);
		goto out;
	}
	if (at > h->n)
		at = h->n;
	if (size > h->n - at)
		size = h->n - at;
	h->at = at + size;
	if (!size)
		h->begun = false;
	reply_copy(req, h->text + at, size);
out:
	pthread_mutex_unlock(&h->lock);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = fuse_req_userdata(req)};

	if (!lock_for(&w, h))
		return;
	write_ctl(&w, h, text, size);
	pthread_mutex_unlock(&h->lock);
}

/* close(2) waits for this, and is told when the last line of a large write was wrong. */
static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = fuse_req_userdata(req)};
	int err = 0;

	/* a process that is killed closes its files, and must not wait then for what was killed */
	if (pthread_mutex_trylock(&h->lock) != 0) {
		fuse_reply_err(req, 0);
		return;
	}
	if (h->line_n)
		err = obey(&w, h, h->line_n);
	if (!w.answered)
		fuse_reply_err(req, err);
	pthread_mutex_unlock(&h->lock);
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;

	pthread_mutex_lock(&h->lock); /* a request whose caller was let go may be under way */
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_destroy(&h->lock);
	dt_client_close(&h->follower);
	free(h->line);
	free(h->text);
	free(h);
	fuse_reply_err(req, 0);
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
	.lookup = on_lookup,
	.readlink = on_readlink,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.releasedir = on_releasedir,
	.open = on_open,
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.release = on_release,
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

/* What a mount that was killed has left. */
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

/* Two on one place would hide each other. */
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
	return 0;
}

/* Sessions that begin look here. Another mount of this user's that lives keeps its place. */
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
	if (symlink(m->directory, m->link) < 0)
		m->link[0] = '\0';
}

static void take_link(struct dt_mount *m)
{
	char to[4096];
	ssize_t n = m->link[0] ? readlink(m->link, to, sizeof(to) - 1) : -1;

	if (n < 0)
		return;
	to[n] = '\0';
	if (strcmp(to, m->directory) == 0)
		unlink(m->link);
}

/*
 * fusermount3 stays until this process is gone, to unmount then: it must not keep open what others
 * wait to be closed. What it complains of becomes the error.
 */
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
	rc = fuse_session_mount(m->fuse, m->directory);
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
	/* auto_unmount: also when this process is killed */
	char *argv[] = {"devtrace", "-o",
			"fsname=devtrace,subtype=devtrace,default_permissions,nosuid,nodev,noexec,"
			"auto_unmount",
			NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct dt_mount *m;

	if (needs(e) < 0)
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
	m->fuse = fuse_session_new(&args, &ops, sizeof(ops), m);
	fuse_opt_free_args(&args);
	if (!m->fuse) {
		dt_fail(e, "FUSE can not be used");
		goto fail_directory;
	}
	if (mount_quietly(m, e) < 0)
		goto fail_session;
	m->mounted = true;
	return m;
fail_session:
	fuse_session_destroy(m->fuse);
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
	leave_link(mount);
	return NULL;
}

int dt_mount_serve(struct dt_mount *m, bool aloud, struct dt_error *e)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t thread;
	int rc;

	m->aloud = aloud;
	if (!config)
		return dt_fail(e, "out of memory");
	fuse_loop_cfg_set_max_threads(config, THREADS);
	if (fuse_set_signal_handlers(m->fuse) < 0) {
		fuse_loop_cfg_destroy(config);
		return dt_fail(e, "no signal handlers");
	}
	/* it looks at a file that this process itself is to serve */
	rc = pthread_create(&thread, NULL, link_when_served, m);
	if (rc == 0) {
		rc = fuse_session_loop_mt(m->fuse, config);
		m->mounted = false;
		fuse_session_unmount(m->fuse); /* ends what the thread may be waiting for */
		pthread_join(thread, NULL);
		take_link(m);
		rc = rc < 0 ? dt_fail(e, "serving %s: %s", m->directory, strerror(-rc)) : 0;
	} else {
		rc = dt_fail(e, "no thread: %s", strerror(rc));
	}
	fuse_remove_signal_handlers(m->fuse);
	fuse_loop_cfg_destroy(config);
	return rc;
}

void dt_mount_free(struct dt_mount *m)
{
	if (m->mounted)
		fuse_session_unmount(m->fuse);
	fuse_session_destroy(m->fuse);
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
