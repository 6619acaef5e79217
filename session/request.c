/* SPDX-License-Identifier: MIT */
/* Answers what is asked over a connection to a session: doc/protocol.md. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/text.h"
#include "session/clock.h"
#include "session/ctl.h"
#include "session/device.h"
#include "session/helds.h"
#include "session/places.h"
#include "session/processes.h"
#include "session/recorder.h"
#include "session/send.h"
#include "session/server-work.h"
#include "session/thread-table.h"
#include "session/lives.h"

#define COMMAND_MAX (64u << 20) /* bytes of one write: enough for a ctl with a million ranges */
#define SYMBOLS_MAX 256u	/* in one answer */
#define RECORDS_MAX 16384u	/* in one answer */

/* ---- answers ---- */

static void add_text(void *ctx, const char *text, size_t n)
{
	struct connection *c = ctx;

	if (c->n + n > c->room) {
		size_t room = c->n + n + 65536;
		char *more = realloc(c->text, room);

		if (!more) {
			c->short_of_memory = true;
			return;
		}
		c->text = more;
		c->room = room;
	}
	memcpy(c->text + c->n, text, n);
	c->n += n;
}

/* Sends the answer: "WORD N MORE AND_MORE", then the N bytes that were added. */
static int answer(struct connection *c, const char *word, uint64_t more, uint64_t and_more)
{
	static const char no_memory[] = "error 28 0 0\nout of memory for the answer";
	char head[96];
	size_t n = dt_format(head, sizeof(head), "%s %zu %lu %lu\n", word, c->n,
			     (unsigned long)more, (unsigned long)and_more);
	int rc;

	if (c->short_of_memory) {
		c->short_of_memory = false;
		c->n = 0;
		return dt_send_all(c->fd, no_memory, sizeof(no_memory) - 1);
	}
	rc = dt_send_all(c->fd, head, n) < 0 || dt_send_all(c->fd, c->text, c->n) < 0 ? -1 : 0;
	c->n = 0;
	return rc;
}

static int refuse(struct connection *c, const char *why)
{
	c->n = 0;
	add_text(c, why, strlen(why));
	return answer(c, "error", 0, 0);
}

/* ---- requests ---- */

struct input {
	int fd;
	char data[4096];
	size_t n, at;
};

static int next_byte(struct input *in)
{
	if (in->at == in->n) {
		ssize_t n;

		do
			n = read(in->fd, in->data, sizeof(in->data));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -1;
		in->n = (size_t)n;
		in->at = 0;
	}
	return (unsigned char)in->data[in->at++];
}

static bool read_line(struct input *in, char *line, size_t size)
{
	size_t n = 0;
	int c;

	while ((c = next_byte(in)) >= 0 && c != '\n') {
		if (n + 1 == size)
			return false;
		line[n++] = (char)c;
	}
	line[n] = '\0';
	return c == '\n';
}

static int do_write(struct connection *c, struct input *in, const char *line)
{
	struct dt_session *s = c->server->session;
	struct dt_asker who = {.pid = c->pid, .answer = add_text, .ctx = c};
	char *end, *text;
	size_t n = strtoul(line, &end, 10);
	uint32_t pid = (uint32_t)strtoul(end, NULL, 10);
	struct dt_error e;
	int rc;

	/* a mount writes on behalf of other processes, all of this user */
	if (pid)
		who.pid = pid;
	if (n > COMMAND_MAX)
		return refuse(c, "more than 64 MiB of commands at once"), -1;
	text = malloc(n + 1);
	if (!text)
		return refuse(c, "out of memory"), -1;
	for (size_t i = 0; i < n; i++) {
		int byte = next_byte(in);

		if (byte < 0) {
			free(text);
			return -1;
		}
		text[i] = (char)byte;
	}
	rc = dt_ctl_write(s, &who, text, n, &e);
	free(text);
	if (atomic_load(&s->quit))
		atomic_store(&c->quits, true);
	return rc < 0 ? refuse(c, e.text) : answer(c, "ok", 0, 0);
}

/* Obeys "take MAX FROM WAIT_MS consume|keep|look": sends records after "ok BYTES POSITION LOST".
 * FROM 0: from the oldest. Waiting ends when the other side has gone. */
static int do_take(struct connection *c, const char *line)
{
	struct dt_session *s = c->server->session;
	unsigned long max, position;
	struct dt_record *record;
	uint64_t from, lost = 0;
	char how[16] = "";
	size_t n;
	int ms;

	if (sscanf(line, "%lu %lu %d %15s", &max, &position, &ms, how) != 4 || !max)
		return refuse(c, "take MAX FROM WAIT_MS consume|keep|look");
	if (!s->has_log)
		return refuse(c, "this session's records go to a file: read that");
	if (max > RECORDS_MAX)
		max = RECORDS_MAX;
	record = malloc(max * sizeof(*record));
	if (!record)
		return refuse(c, "out of memory");
	atomic_store(&c->follows, ms != 0);
	dt_recorder_drain(s);
	do {
		struct pollfd gone = {c->fd, POLLIN, 0};
		int now = ms < 0 || ms > 200 ? 200 : ms;

		from = position;
		n = dt_log_read(&s->log, record, max, &from, how[0] == 'l' ? NULL : &lost, now,
				how[0] == 'c');
		if (n && s->log_stalled) /* there is room in the log again */
			dt_shared_bell_ring(&s->targets.shared);
		ms -= ms > 0 ? now : 0;
		if (!n && ms && poll(&gone, 1, 0) > 0)
			break; /* the client has sent another request, or has gone */
	} while (!n && !lost && ms && !s->log.closed && !s->ending);
	add_text(c, (const char *)record, n * sizeof(*record));
	free(record);
	if (s->log.closed && !n)
		atomic_store(&c->follows, false);
	return answer(c, s->log.closed && !n ? "end" : "ok", from, lost);
}

static void add_line(void *ctx, const char *text)
{
	add_text(ctx, text, strlen(text));
	add_text(ctx, "\n", 1);
}

static int do_position(struct connection *c)
{
	struct dt_session *s = c->server->session;
	uint64_t oldest, next;

	if (!s->has_log)
		return refuse(c, "this session's records go to a file: read that");
	dt_recorder_drain(s);
	dt_log_positions(&s->log, &oldest, &next);
	return answer(c, "ok", oldest, next);
}

/* Tells the process of a thread, and the thread's name: the client may have given up its right to
 * look into /proc. */
static int do_thread(struct connection *c, const char *line)
{
	struct dt_session *s = c->server->session;
	uint32_t tid = (uint32_t)strtoul(line, NULL, 10), pid, number;
	char name[64] = "";

	pthread_mutex_lock(&s->lock);
	pid = dt_thread_table_process(s, tid);
	number = dt_lives_number(s, tid);
	if (pid && dt_lives_is_last(s, tid))
		dt_thread_table_name(number, name, sizeof(name));
	pthread_mutex_unlock(&s->lock);
	add_text(c, name, strlen(name));
	return answer(c, "ok", pid, number);
}

/* Tells the program of a traced process, in one line, and its command line. */
static int do_process(struct connection *c, const char *line)
{
	struct dt_session *s = c->server->session;
	uint32_t id = (uint32_t)strtoul(line, NULL, 10), number;
	char exe[4096], cmdline[4096];
	const struct dt_target *t;
	pid_t pid = 0;

	pthread_mutex_lock(&s->lock);
	t = dt_lives_target(s, id);
	if (t)
		pid = t->pid;
	number = dt_lives_number(s, id);
	pthread_mutex_unlock(&s->lock);
	if (pid) {
		dt_process_program(pid, exe, sizeof(exe), cmdline, sizeof(cmdline));
		add_text(c, exe, strcspn(exe, "\n"));
		add_text(c, "\n", 1);
		add_text(c, cmdline, strlen(cmdline));
	}
	return answer(c, "ok", number, 0);
}

static int do_name(struct connection *c, const char *line, bool offset)
{
	unsigned long pc, tid;
	char name[1024];

	if (sscanf(line, "%lx %lu", &pc, &tid) != 2)
		return refuse(c, "name|place PC THREAD");
	dt_place_name(c->server->session, (uint32_t)tid, pc, offset, name, sizeof(name));
	add_text(c, name, strlen(name));
	return answer(c, "ok", 0, 0);
}

static int do_point(struct connection *c, const char *line)
{
	unsigned long pc;
	char text[DT_CAPTURE_ITEMS * sizeof(struct dt_label) + 4096] = "";

	if (sscanf(line, "%lx", &pc) != 1)
		return refuse(c, "point PC");
	dt_place_point(c->server->session, pc, text, sizeof(text));
	add_text(c, text, strlen(text));
	return answer(c, "ok", 0, 0);
}

/* Tells a tick, the time of day when it was, how many ticks there are in a second, and
 * CLOCK_MONOTONIC of the same moment. */
static int do_clock(struct connection *c)
{
	struct dt_session *s = c->server->session;
	struct dt_clocks now = dt_clocks_read();
	/* since the session's begin: the longer ago, the more exact */
	double per_ns = (double)(now.ticks - s->began) / (double)(now.mono - s->began_ns);
	char text[128];

	add_text(c, text,
		 dt_format(text, sizeof(text), "%lu %lu %lu %lu", (unsigned long)now.ticks,
			   (unsigned long)now.real, (unsigned long)(per_ns * 1e9),
			   (unsigned long)now.mono));
	return answer(c, "ok", 0, 0);
}

/* Tells in which times threads waited for devtrace, in a session without a file; a file has them
 * itself. */
static int do_held(struct connection *c, const char *line)
{
	struct dt_session *s = c->server->session;
	uint64_t from = strtoul(line, NULL, 10), first = from, next;

	pthread_mutex_lock(&s->lock);
	dt_helds_take(s);
	next = dt_helds_list(s, from, &first, add_text, c);
	pthread_mutex_unlock(&s->lock);
	return answer(c, "ok", next, first);
}

/* Answers when the triggers have fired or the session ends. The client's other requests wait
 * meanwhile. */
static int do_wait(struct connection *c)
{
	struct dt_session *s = c->server->session;
	bool armed = true;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		enum dt_arm_state state = dt_shared_arm_state(&s->targets.shared);

		armed = s->events || state != DT_ARM_NONE;
		if (s->ending || c->server->stopping || !armed || state == DT_ARM_DONE ||
		    (state == DT_ARM_NONE && dt_rings_frozen(&s->targets.shared)))
			break;
		pthread_cond_wait(&s->asked, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	if (!armed)
		return refuse(c, "nothing is armed: arm, or events n, goes before wait");
	return answer(c, "ok", 0, 0);
}

static int do_status(struct connection *c)
{
	struct dt_session *s = c->server->session;
	char line[PATH_MAX + 16], path[PATH_MAX];

	pthread_mutex_lock(&s->lock);
	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended)
			add_text(c, line, dt_format(line, sizeof(line), "process %d\n", t->pid));
	if (s->options.output)
		add_text(c, line,
			 dt_format(line, sizeof(line), "file %s\n",
				   realpath(s->options.output, path) ? path : s->options.output));
	pthread_mutex_unlock(&s->lock);
	return answer(c, "ok", 0, 0);
}

/* Makes everything recorded so far readable where the session keeps it. The answer is the path of
 * its file, or empty when that is its log. */
static int do_flush(struct connection *c)
{
	struct dt_session *s = c->server->session;
	struct dt_error e = {""};
	char *path;

	dt_recorder_drain(s);
	pthread_mutex_lock(&s->lock);
	if (dt_session_has_file(s) && dt_store_show(s->store, &e) < 0)
		dt_format(s->device.error, sizeof(s->device.error), "%s", e.text);
	pthread_mutex_unlock(&s->lock);
	if (e.text[0])
		return refuse(c, e.text);
	path = s->options.output ? realpath(s->options.output, NULL) : NULL;
	if (s->options.output && !path)
		return refuse(c, "the session's file is not where it was");
	if (path)
		add_text(c, path, strlen(path));
	free(path);
	return answer(c, "ok", 0, 0);
}

static int request(struct connection *c, struct input *in, char *line)
{
	char *space = strchr(line, ' ');
	const char *rest = space ? space + 1 : "";

	if (space)
		*space = '\0';
	if (strcmp(line, "write") == 0)
		return do_write(c, in, rest);
	if (strcmp(line, "take") == 0)
		return do_take(c, rest);
	if (strcmp(line, "name") == 0)
		return do_name(c, rest, false);
	if (strcmp(line, "place") == 0)
		return do_name(c, rest, true);
	if (strcmp(line, "thread") == 0)
		return do_thread(c, rest);
	if (strcmp(line, "process") == 0)
		return do_process(c, rest);
	if (strcmp(line, "point") == 0)
		return do_point(c, rest);
	if (strcmp(line, "symbols") == 0) {
		dt_place_symbols(c->server->session, rest, SYMBOLS_MAX, add_line, c);
		return answer(c, "ok", 0, 0);
	}
	if (strcmp(line, "read") == 0) {
		dt_ctl_read(c->server->session, add_text, c);
		return answer(c, "ok", 0, 0);
	}
	if (strcmp(line, "clear") == 0) {
		dt_log_clear(&c->server->session->log, strtoul(rest, NULL, 10));
		dt_shared_bell_ring(&c->server->session->targets.shared);
		return answer(c, "ok", 0, 0);
	}
	if (strcmp(line, "position") == 0)
		return do_position(c);
	if (strcmp(line, "clock") == 0)
		return do_clock(c);
	if (strcmp(line, "held") == 0)
		return do_held(c, rest);
	if (strcmp(line, "wait") == 0)
		return do_wait(c);
	if (strcmp(line, "flush") == 0)
		return do_flush(c);
	if (strcmp(line, "status") == 0)
		return do_status(c);
	return refuse(c, "requests are write, read, take, clear, position, name, place, thread, "
			 "process, point, symbols, clock, held, wait, flush, status");
}

void dt_request_answer_all(struct connection *c)
{
	struct input in = {.fd = c->fd};
	char line[256];

	while (read_line(&in, line, sizeof(line)))
		if (request(c, &in, line) < 0)
			break;
}
