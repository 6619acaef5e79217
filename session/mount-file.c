/* SPDX-License-Identifier: MIT */
/* Open files: commands and state in ctl, records in trace and trace.wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/text.h"
#include "session/client.h"
#include "session/mount-work.h"

#define LINE_MAX_BYTES (64u << 20)	      /* of commands that no newline has ended yet */
#define GRACE	       (400 / DT_CLIENT_TURN) /* turns of waiting until an interrupted caller is let go */

/* An open file. Its lock is held while a request on it is under way. */
struct handle {
	pthread_mutex_t lock;
	char session[64];
	struct dt_client follower; /* of trace.wait: its connection, from the first read on */
	bool reads, writes;
	bool begun;   /* `text' holds what is to be read; of trace.wait: it has been read */
	char *text;   /* a snapshot, or answers to what was written */
	size_t n, at; /* at: where the next read begins, of a file that is also open for writing */
	char *line;   /* commands written, but not ended by a newline yet */
	size_t line_n;
};

/* ---- requests to a session ---- */

/* A FUSE request that may have to wait for a session. */
struct waiter {
	fuse_req_t req;
	struct dt_mount *m;
	unsigned turns; /* turns of waiting since the caller was interrupted */
	bool answered;	/* the caller has been let go */
};

/*
 * Called every turn while a request waits; false: give up. A caller that waits in a file can not be
 * stopped or killed until it is answered. So an interrupted caller is let go, and what it asked for
 * goes on. That may be the very thing that stops the caller: "detach" of a traced program by
 * itself. A moment of grace keeps programs with timers from seeing EINTR.
 */
static bool keep_waiting(void *ctx)
{
	struct waiter *w = ctx;

	if (dt_fuse.session_exited(w->m->fuse))
		return false;
	if (!w->answered && dt_fuse.req_interrupted(w->req) && ++w->turns >= GRACE) {
		dt_fuse.reply_err(w->req, EINTR);
		w->answered = true;
	}
	return true;
}

/* Locks a handle, which a request whose caller was let go may still have. False: this caller has
 * been answered meanwhile, too. */
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
			dt_fuse.reply_err(w->req, EIO);
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

/* Has the first n bytes of h->line obeyed; returns 0 or an errno. */
static int obey(struct waiter *w, struct handle *h, size_t n)
{
	pid_t pid = dt_fuse.req_ctx(w->req)->pid;
	struct dt_client c;
	struct dt_error e;
	int err = 0;

	if (connect_for(w, &c, h->session, &e) < 0) {
		err = EIO;
	} else if (dt_client_write(&c, h->line, n, (uint32_t)pid, &e) < 0) {
		err = c.n ? EINVAL : EIO; /* EINVAL when the session has given a reason */
	} else if (c.n) {
		/*
		 * answers go to the log, and can be read from a file that is also open for reading
		 */
		dt_mount_say(w->m, h->session, pid, c.text, c.n);
		if (!h->begun) {
			free(h->text);
			h->text = NULL;
			h->n = h->at = 0;
		}
		if (h->reads && add_text(&h->text, &h->n, c.text, c.n))
			h->begun = true;
	}
	if (err)
		dt_mount_say(w->m, h->session, pid, e.text, strlen(e.text));
	dt_client_close(&c);
	h->line_n -= n;
	memmove(h->line, h->line + n, h->line_n);
	return err;
}

/*
 * Obeys what was written. The kernel hands over a large write in pieces, cut anywhere: of a piece
 * of the largest size the text up to its last newline is obeyed. A smaller piece is the end of its
 * write, and is obeyed as it is.
 */
static void write_ctl(struct waiter *w, struct handle *h, const char *text, size_t size)
{
	bool piece = size + 4096 > w->m->max_write; /* pieces begin and end at pages */
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
		dt_fuse.reply_err(w->req, err);
	else
		dt_fuse.reply_write(w->req, size);
}

/* ---- trace ---- */

/* Returns how many records fit into a read of that size. */
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
		dt_mount_say(m, session, pid, text,
			     dt_format(text, sizeof(text),
				       "%lu records are missing: the log was full",
				       (unsigned long)lost));
}

static int take_some(struct waiter *w, struct handle *h, struct dt_client *c, size_t max, int ms,
		     long *n)
{
	pid_t pid = dt_fuse.req_ctx(w->req)->pid;
	uint64_t position = 0, lost = 0;
	struct dt_error e;

	*n = dt_client_take(c, max, &position, ms, true, &lost, &e);
	if (*n == -1) {
		dt_mount_say(w->m, h->session, pid, e.text, strlen(e.text));
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
 * Takes records for trace.wait, waiting a turn at a time, so that for an interrupted caller nothing
 * has been taken. The connection is kept, since a session that ends lets clients that follow it
 * take what there is.
 */
static int take_waiting(struct waiter *w, struct handle *h, size_t max, bool may_block)
{
	struct dt_client *c = &h->follower;
	struct dt_error e;
	int err = 0;
	long n = 0;

	if (h->begun && c->fd < 0)
		return 0; /* the session has ended */
	h->begun = true;
	if (c->fd < 0 && dt_client_open(c, h->session, &e) < 0)
		return EIO;
	c->waiting = keep_waiting;
	c->ctx = w;
	while (err == 0 && n == 0) {
		err = take_some(w, h, c, max, may_block ? DT_CLIENT_TURN : 0, &n);
		if (n == -1)
			err = c->n ? err : 0; /* the session was killed: the file ends */
		if (n < 0)
			dt_client_close(c);
		else if (n == 0 && !may_block)
			err = EAGAIN;
		else if (n == 0 &&
			 (dt_fuse.req_interrupted(w->req) || dt_fuse.session_exited(w->m->fuse)))
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
		dt_fuse.reply_err(w->req, err);
	else
		dt_mount_reply(w->req, h->text, h->n);
}

/* ---- files ---- */

void dt_mount_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct waiter w = {.req = req, .m = dt_fuse.req_userdata(req)};
	struct handle *h = calloc(1, sizeof(*h));
	int access = fi->flags & O_ACCMODE, err = 0;

	if (!h) {
		dt_fuse.reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_init(&h->lock, NULL);
	h->follower.fd = -1;
	h->reads = access != O_WRONLY;
	h->writes = access != O_RDONLY;
	fi->direct_io = 1;
	if (ino == DT_MOUNT_LOG) {
		pthread_mutex_lock(&w.m->lock);
		err = add_text(&h->text, &h->n, w.m->log, w.m->log_n) ? 0 : ENOMEM;
		pthread_mutex_unlock(&w.m->lock);
	} else if (!dt_mount_session(w.m, ino, h->session)) {
		err = ENOENT;
	} else if (dt_mount_kind_of(ino) == DT_MOUNT_CTL) {
		fi->nonseekable = h->writes && h->reads;
		err = h->writes ? (dt_mount_lives(h->session) ? 0 : EIO) : snapshot(&w, h);
	} else {
		fi->nonseekable = 1;
		err = h->writes ? EACCES : 0;
	}
	fi->fh = (uint64_t)(uintptr_t)h;
	if (!err && !w.answered && dt_fuse.reply_open(req, fi) == 0)
		return;
	if (err && !w.answered)
		dt_fuse.reply_err(req, err);
	pthread_mutex_destroy(&h->lock);
	free(h->text);
	free(h);
}

void dt_mount_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		   struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = dt_fuse.req_userdata(req)};
	size_t at = (size_t)off;
	int err = 0;

	if (!lock_for(&w, h))
		return;
	if (ino != DT_MOUNT_LOG && dt_mount_kind_of(ino) != DT_MOUNT_CTL) {
		read_trace(&w, h, size, dt_mount_kind_of(ino) == DT_MOUNT_WAIT,
			   !(fi->flags & O_NONBLOCK));
		goto out;
	}
	if (h->writes) {
		/* answers to what has been written, or else a snapshot */
		if (!h->begun)
			err = snapshot(&w, h);
		at = h->at;
	}
	if (w.answered)
		goto out;
	if (err) {
		dt_fuse.reply_err(req, err);
		goto out;
	}
	if (at > h->n)
		at = h->n;
	if (size > h->n - at)
		size = h->n - at;
	h->at = at + size;
	if (!size)
		h->begun = false;
	dt_mount_reply(req, h->text + at, size);
out:
	pthread_mutex_unlock(&h->lock);
}

void dt_mount_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = dt_fuse.req_userdata(req)};

	if (!lock_for(&w, h))
		return;
	write_ctl(&w, h, text, size);
	pthread_mutex_unlock(&h->lock);
}

/* Obeys a last line without a newline. close(2) waits for this, and fails when the last line of a
 * large write was wrong. */
void dt_mount_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	struct waiter w = {.req = req, .m = dt_fuse.req_userdata(req)};
	int err = 0;

	/* a process that is killed closes its files, and must not wait then for a request of its
	 * own */
	if (pthread_mutex_trylock(&h->lock) != 0) {
		dt_fuse.reply_err(req, 0);
		return;
	}
	if (h->line_n)
		err = obey(&w, h, h->line_n);
	if (!w.answered)
		dt_fuse.reply_err(req, err);
	pthread_mutex_unlock(&h->lock);
}

void dt_mount_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;

	pthread_mutex_lock(&h->lock); /* a request whose caller was let go may be under way */
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_destroy(&h->lock);
	dt_client_close(&h->follower);
	free(h->line);
	free(h->text);
	free(h);
	dt_fuse.reply_err(req, 0);
}
