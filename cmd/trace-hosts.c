/* SPDX-License-Identifier: MIT */
/*
 * devtrace record --hosts: runs a program on several machines, each under a devtrace of its own
 * that is started there by ssh or another command (cmd/trace-here.c has the other end, and what
 * they say to each other), fetches the traces, and merges them. What comes from a host is not
 * trusted: a host that says something else is left out, and the others go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/trace-hosts-work.h"
#include "cmd/trace.h"
#include "core/version.h"
#include "process/now.h"

#define COMMAND	       65536	    /* bytes of the command for one host */
#define PATIENCE       30000000000u /* ns until a host has greeted */
#define TELL	       10000000000u /* ns between lines about the progress, without a terminal */
#define SPREADS	       20	    /* commands for all hosts in a second */
#define DEFAULT_FOLDER "fleet"

static volatile sig_atomic_t interrupts;

static void on_interrupt(int sig)
{
	interrupts++;
}

/* ---- hosts that fail ---- */

static void lose(struct host *h, const char *why, const char *more)
{
	dt_cmd_fail("%s: %s%s", h->name, why, dt_cmd_plain(more));
	h->doing = FAILED;
	if (h->fd >= 0) {
		close(h->fd);
		h->fd = -1;
		unlink(h->path);
	}
	dt_there_end(&h->there);
}

/* The command has closed its end. */
static void lose_ended(struct host *h)
{
	enum doing was = h->doing;
	char text[160];
	int status = dt_there_end(&h->there);

	if (was == SENDS)
		dt_format(text, sizeof(text),
			  "the connection broke: %lu of %lu bytes of the trace had come",
			  (unsigned long)h->come, (unsigned long)h->bytes);
	else if (was == GREETS && status == 127)
		dt_format(text, sizeof(text), "cannot be started there (%s): ",
			  h->pushed ? "--push=PROGRAM, one of `make static', needs no libraries"
				    : "--remote and -e say how, --push brings devtrace there");
	else if (was == GREETS)
		dt_format(text, sizeof(text), "cannot record (exit status %d)%s", status,
			  *h->last ? ": " : "");
	else
		dt_format(text, sizeof(text),
			  "the connection broke while it recorded: its trace is lost");
	lose(h, text, was == GREETS ? h->last : "");
}

/* ---- what a host says ---- */

/* Makes the list of addresses for others; only what can be in an address is let through. */
static bool take_addresses(struct host *h, char *list)
{
	size_t n = 0;
	char *save = NULL;

	h->ping[0] = '\0';
	if (!strcmp(list, "-") || !h->port)
		return true;
	for (char *a = strtok_r(list, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
		bool six = strchr(a, ':') != NULL;

		if (strspn(a, "0123456789abcdef.:") != strlen(a) || n >= sizeof(h->ping) - 80)
			return false;
		n += dt_format(h->ping + n, sizeof(h->ping) - n, "%s%s%s%s:%u", n ? "," : "",
			       six ? "[" : "", a, six ? "]" : "", h->port);
	}
	return true;
}

static void take_greeting(struct host *h, char *line)
{
	char version[64], list[LINE];

	if (strncmp(line, DT_HOSTS_GREETING, strlen(DT_HOSTS_GREETING)) ||
	    sscanf(line + strlen(DT_HOSTS_GREETING), "%63s %u %1023s", version, &h->port, list) !=
		    3) {
		lose(h, "is no devtrace for --hosts, or another version; it says: ", line);
		return;
	}
	if (strcmp(version, DT_VERSION)) {
		lose(h, "has another version of devtrace than " DT_VERSION ": ", version);
		return;
	}
	if (h->port > 65535 || !take_addresses(h, list))
		lose(h, "gives addresses that are none: ", list);
	else
		h->doing = READY;
}

static void take_end(struct host *h, const char *line)
{
	unsigned long bytes;

	if (sscanf(line, "ended %d %lu", &h->status, &bytes) != 2) {
		lose(h, "this is not what --hosts understands: ", line);
		return;
	}
	h->bytes = bytes;
	h->doing = SENDS;
	if (!bytes) {
		lose(h, "has recorded nothing", "");
		return;
	}
	h->fd = open(h->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (h->fd < 0)
		lose(h, "its trace cannot be written here: ", strerror(errno));
}

static void take_line(struct host *h, char *line)
{
	unsigned long size;

	if (h->doing == GREETS)
		take_greeting(h, line);
	else if (h->doing == RECORDS && sscanf(line, "size %lu", &size) == 1)
		h->size = size;
	else if (h->doing == RECORDS && strcmp(line, "over") == 0)
		h->news = NEWS_OVER;
	else if (h->doing == RECORDS && strcmp(line, "frozen") == 0)
		h->news = h->news == NEWS_OVER ? NEWS_OVER : NEWS_FROZEN;
	else if (h->doing == RECORDS && strcmp(line, "unfrozen") == 0)
		h->news = h->news == NEWS_OVER ? NEWS_OVER : NEWS_THAWED;
	else if (h->doing == RECORDS)
		take_end(h, line);
	else
		lose(h, "this is not what --hosts understands: ", line);
}

/* Writes bytes of the trace; what is more than was announced is no part of it. */
static void take_bytes(struct host *h, const char *p, size_t n)
{
	while (n && h->come < h->bytes) {
		size_t some = n < h->bytes - h->come ? n : (size_t)(h->bytes - h->come);
		ssize_t done = write(h->fd, p, some);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			lose(h, "no room for its trace here: ", strerror(errno));
			return;
		}
		p += done;
		n -= (size_t)done;
		h->come += (size_t)done;
	}
	if (h->come < h->bytes)
		return;
	if (close(h->fd)) {
		h->fd = -1;
		lose(h, "no room for its trace here: ", strerror(errno));
		return;
	}
	h->fd = -1;
	h->doing = DONE;
}

static void take(struct host *h, char *p, size_t n)
{
	while (n && h->doing < SENDS) {
		char *end = memchr(p, '\n', n);
		size_t some = end ? (size_t)(end - p) : n;

		if (h->n_line + some >= LINE) {
			lose(h, "says a line that is too long", "");
			return;
		}
		memcpy(h->line + h->n_line, p, some);
		h->n_line += some;
		h->line[h->n_line] = '\0';
		n -= some + (end != NULL);
		p += some + (end != NULL);
		if (end) {
			h->n_line = 0;
			take_line(h, h->line);
		}
	}
	if (h->doing == SENDS)
		take_bytes(h, p, n);
}

/* Prints what the program and devtrace print there, line by line, with the host's name. */
static void take_said(struct host *h, const char *p, size_t n, bool end)
{
	for (size_t i = 0; i < n || end; i++) {
		if (i < n && p[i] != '\n' && h->n_said + 1 < LINE) {
			h->said[h->n_said++] = p[i];
			continue;
		}
		h->said[h->n_said] = '\0';
		if (end && !h->n_said)
			break;
		if (h->doing == GREETS) /* it is part of why not, if it does not get ready */
			memcpy(h->last, h->said, h->n_said + 1);
		else
			fprintf(stderr, "%s: %s\n", h->name, dt_cmd_plain(h->said));
		h->n_said = 0;
		if (i < n && p[i] != '\n')
			h->said[h->n_said++] = p[i];
		if (i >= n)
			break;
	}
}

/* Reads all that it has printed so far. */
static void read_said(struct host *h)
{
	char buffer[4096];
	ssize_t n;

	while (h->there.said >= 0 && (n = read(h->there.said, buffer, sizeof(buffer))) != 0) {
		if (n < 0)
			return;
		take_said(h, buffer, (size_t)n, false);
	}
	if (h->there.said >= 0) {
		take_said(h, "", 0, true);
		close(h->there.said);
		h->there.said = -1;
	}
}

static void read_host(struct host *h)
{
	char buffer[65536];
	ssize_t n = read(h->there.fd, buffer, sizeof(buffer));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		take(h, buffer, (size_t)n);
		return;
	}
	usleep(1000); /* what it has printed last may come a moment later */
	read_said(h);
	if (h->n_said)
		take_said(h, "", 0, true);
	if (h->doing == DONE)
		dt_there_end(&h->there);
	else
		lose_ended(h);
}

/* ---- all of them ---- */

static unsigned count(const struct hosts *a, enum doing doing)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n; i++)
		n += a->host[i].doing == doing;
	return n;
}

static void tell(struct host *h, const char *text)
{
	if (h->there.fd >= 0 &&
	    send(h->there.fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
		lose(h, "the connection broke", "");
}

/* Tells the others what has become of a host's recording: theirs is to do the same. What they say
 * of that themselves is no news. */
static void spread(struct hosts *a, struct host *from)
{
	static const char *const command[] = {
		[NEWS_FROZEN] = "freeze\n", [NEWS_THAWED] = "unfreeze\n", [NEWS_OVER] = "quit\n"};
	enum news news = from->news;
	bool freezes = news == NEWS_FROZEN, ends = news == NEWS_OVER;

	from->news = NO_NEWS;
	if (a->over || (!ends && freezes == a->frozen))
		return;
	a->over = ends;
	a->frozen = freezes;
	a->spreads++;
	fprintf(stderr, "devtrace: %s: %s, and with it the others\n", from->name,
		ends	  ? "what --until waits for has come: recording ends"
		: freezes ? "recording is frozen"
			  : "recording goes on");
	for (unsigned i = 0; i < a->n; i++)
		if (&a->host[i] != from && a->host[i].doing == RECORDS)
			tell(&a->host[i], command[news]);
}

/* Sends more of devtrace itself. */
static void push(const struct hosts *a, struct host *h)
{
	size_t before = h->pushed;

	/* the reason why it is gone comes from there */
	if (dt_push_send(&a->push, h->there.fd, &h->pushed))
		h->pushed = a->push.size;
	if (h->pushed > before)
		h->since = dt_now_ns();
}

/* Waits for something, at most a moment, and takes it. */
static void turn(struct hosts *a)
{
	struct pollfd p[2 * HOSTS];

	for (unsigned i = 0; i < a->n; i++) {
		bool pushes = a->host[i].pushed < a->push.size;

		p[2 * i] = (struct pollfd){a->host[i].there.fd, POLLIN | (pushes ? POLLOUT : 0), 0};
		p[2 * i + 1] = (struct pollfd){a->host[i].there.said, POLLIN, 0};
	}
	if (poll(p, 2 * a->n, 200) <= 0)
		return;
	for (unsigned i = 0; i < a->n; i++) {
		if (p[2 * i + 1].revents)
			read_said(&a->host[i]);
		if (p[2 * i].revents & POLLOUT && a->host[i].there.fd >= 0)
			push(a, &a->host[i]);
		if (p[2 * i].revents & ~POLLOUT && a->host[i].there.fd >= 0)
			read_host(&a->host[i]);
	}
}

/* Passes on what hosts have said of their recordings, in the end as it is: not each change, if one
 * says so again and again, since the others have to read it. */
static void spread_all(struct hosts *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		if (dt_now_ns() - a->second > 1000000000u) {
			a->second = dt_now_ns();
			a->spreads = 0;
		}
		if (a->host[i].news && a->spreads < SPREADS)
			spread(a, &a->host[i]);
	}
}

/* Waits until each host is ready or has failed. */
static void gather(struct hosts *a)
{
	while (count(a, GREETS) && !interrupts) {
		turn(a);
		for (unsigned i = 0; i < a->n; i++)
			if (a->host[i].doing == GREETS && dt_now_ns() - a->host[i].since > PATIENCE)
				lose(&a->host[i], "has not answered within 30 s", "");
	}
}

/* Lets all begin. The first one answers pings, the others ask it. */
static void begin(struct hosts *a)
{
	const struct host *first = NULL;

	for (unsigned i = 0; i < a->n; i++) {
		struct host *h = &a->host[i];
		char line[LINE + 64];

		if (h->doing != READY)
			continue;
		dt_format(line, sizeof(line), "go %s %s\n", a->word,
			  first && *first->ping ? first->ping : "-");
		first = first ? first : h;
		h->doing = RECORDS;
		tell(h, line);
	}
}

static void show_progress(const struct hosts *a, bool over)
{
	if (a->terminal)
		fputs("\r\033[K", stderr);
	for (unsigned i = 0; i < a->n && !over; i++)
		if (a->host[i].doing == RECORDS || a->host[i].doing == SENDS)
			fprintf(stderr, "%s: %s %.1f MB%s", a->host[i].name,
				a->host[i].doing == SENDS ? "fetched" : "recorded",
				(double)(a->host[i].doing == SENDS ? a->host[i].come
								   : a->host[i].size) /
					1e6,
				a->terminal ? "  " : "\n");
	fflush(stderr);
}

/* Lets them record until all have ended, and fetches the traces. */
static void record(struct hosts *a)
{
	uint64_t told = dt_now_ns();
	unsigned seen = 0;

	while (count(a, RECORDS) || count(a, SENDS)) {
		turn(a);
		spread_all(a);
		if (dt_now_ns() - told > (a->terminal ? 500000000 : TELL)) {
			told = dt_now_ns();
			show_progress(a, false);
		}
		if ((unsigned)interrupts == seen)
			continue;
		seen = (unsigned)interrupts;
		for (unsigned i = 0; i < a->n; i++) {
			if (a->host[i].doing == RECORDS && seen == 1)
				tell(&a->host[i], "stop\n");
			else if (a->host[i].doing < DONE && seen > 1)
				lose(&a->host[i], "interrupted again: its trace is left", "");
		}
	}
	if (a->terminal)
		show_progress(a, true);
}

/* Returns how many of a trace's records are context switches that nobody has asked for. */
static uint64_t unasked(const struct dt_reader *r)
{
	const char *n = dt_reader_meta(r, "switches.records");

	return n ? strtoull(n, NULL, 10) : 0;
}

/* Finds out how much a trace has, in a child that may do nothing else: the host may have sent
 * anything. False: reported. */
static bool summarise(const struct host *h, struct dt_summary *sum)
{
	struct dt_needs needs = {.n = 0};
	struct dt_error e;
	int pipes[2], status;
	bool got;
	pid_t pid;

	fflush(NULL);
	if (pipe2(pipes, O_CLOEXEC))
		return dt_cmd_fail("%s: %s", h->name, strerror(errno)), false;
	pid = fork();
	if (pid == 0) {
		struct dt_reader *r = NULL;

		dt_needs_add(&needs, DT_NEED_TRACE, h->path);
		status = dt_cmd_confine(&needs);
		if (!status &&
		    (!(r = dt_reader_open(h->path, &e)) || dt_reader_summary(r, sum, &e)))
			status = dt_cmd_fail("%s: %s", h->name, dt_cmd_plain(e.text));
		if (!status && unasked(r) <= sum->records)
			sum->records -= unasked(r);
		if (!status && write(pipes[1], sum, sizeof(*sum)) != sizeof(*sum))
			status = 1;
		dt_reader_close(r);
		_exit(status);
	}
	close(pipes[1]);
	got = pid > 0 && read(pipes[0], sum, sizeof(*sum)) == sizeof(*sum);
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return got;
}

/* Says what each has recorded. Returns how many traces there are that have something in them; path
 * and name get the words for merge. */
static unsigned conclude(struct hosts *a, char **word)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->n; i++) {
		struct host *h = &a->host[i];
		struct dt_summary sum;

		read_said(h);
		dt_there_end(&h->there);
		if (h->doing != DONE)
			continue;
		if (!summarise(h, &sum)) {
			h->doing = FAILED;
			continue;
		}
		fprintf(stderr, "devtrace: %s: %lu records, %lu lost%s", h->name,
			(unsigned long)sum.records, (unsigned long)sum.lost,
			h->status ? "; exit status " : "\n");
		if (h->status)
			fprintf(stderr, "%d\n", h->status);
		if (sum.records && asprintf(&word[n], "%s=%s", h->name, h->path) > 0)
			n++;
	}
	return n;
}

static int merge(const struct hosts *a, char **words, unsigned n)
{
	char fleet[4096];
	char *argv[HOSTS + 4] = {"merge", "-o", fleet};

	dt_format(fleet, sizeof(fleet), "%s/fleet.db", a->folder);
	if (n < 2) {
		dt_cmd_fail("%s", n ? "there is one trace only: no fleet is made of it"
				    : "there is no trace");
		return 1;
	}
	memcpy(argv + 3, words, n * sizeof(*words));
	optind = 1;
	return dt_cmd_merge((int)n + 3, argv);
}

/* ---- the command ---- */

static void start(struct hosts *a, struct dt_trace_command *c, int argc, char **argv, int options)
{
	/* "--" is what ends the options, not one of them */
	int n = options - 1 - !strcmp(argv[options - 1], "--");
	char *text = malloc(COMMAND);
	struct dt_error e;

	for (unsigned i = 0; i < a->n && text; i++) {
		struct host *h = &a->host[i];
		char number[16];
		size_t at;

		dt_format(number, sizeof(number), "%d", n);
		if (a->push.bytes)
			at = dt_push_command(&a->push, text, 0, COMMAND, c->remote);
		else
			at = dt_format(text, COMMAND, "exec %s",
				       c->remote ? c->remote : "devtrace");
		at = dt_there_quote(text, at, COMMAND, a->attaches ? "attach" : "record");
		at = dt_there_quote(text, at, COMMAND, "--here");
		h->since = dt_now_ns();
		at = dt_there_quote(text, at, COMMAND, h->name);
		at = dt_there_quote(text, at, COMMAND, number);
		for (int k = 1; k <= n; k++)
			at = dt_there_quote(text, at, COMMAND, argv[k]);
		for (int k = options; k < argc; k++)
			at = dt_there_quote(text, at, COMMAND, argv[k]);
		for (char *save = NULL, *p = strtok_r(h->pids, "+", &save); p;
		     p = strtok_r(NULL, "+", &save))
			at = dt_there_quote(text, at, COMMAND, p);
		if (at >= COMMAND)
			lose(h, "the command is too long for another host", "");
		else if (dt_there_start(&h->there, c->by ? c->by : "ssh", h->address, text, &e))
			lose(h, e.text, "");
	}
	free(text);
}

/* Makes the word of pings: 128 random bits. */
static void make_word(struct hosts *a)
{
	uint64_t bits[2] = {0};

	if (getrandom(bits, sizeof(bits), 0) == sizeof(bits))
		dt_format(a->word, sizeof(a->word), "%016lx%016lx", (unsigned long)bits[0],
			  (unsigned long)bits[1]);
}

int dt_trace_hosts(struct dt_trace_command *c, int argc, char **argv, int options)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt};
	static struct hosts a;
	char *word[HOSTS] = {NULL};
	struct dt_error e;
	int status = 0;
	unsigned n;

	a.folder = !c->options.output || !strcmp(c->options.output, "devtrace.db")
			   ? DEFAULT_FOLDER
			   : c->options.output;
	a.terminal = isatty(2);
	a.attaches = !strcmp(c->name, "attach");
	if (!c->hosts || (options == argc) != a.attaches)
		return dt_cmd_fail("%s", !c->hosts    ? "--ssh, --remote and --push are for "
							"--hosts"
					 : a.attaches ? "with --hosts, processes are named with "
							"their hosts: HOST:PID"
						      : "which program?") +
		       1;
	if (c->options.ping || c->options.pong)
		return dt_cmd_fail("--hosts makes pings itself: not with --ping or --pong") + 1;
	if (!dt_hosts_parse(&a, c->hosts))
		return 2;
	for (unsigned i = 0; i < a.n && a.attaches && !c->options.kernel; i++)
		if (!*a.host[i].pids)
			return dt_cmd_fail("which process of %s? Say %s:PID", a.host[i].name,
					   a.host[i].address) +
			       1;
	if (c->push && dt_push_open(&a.push, c->pushed, &e))
		return dt_cmd_fail("--push: %s", e.text);
	if (mkdir(a.folder, 0700))
		return dt_cmd_fail("%s: %s%s", a.folder, strerror(errno),
				   errno == EEXIST ? ": name another folder by -o" : "");
	make_word(&a);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &interrupt, NULL);
	signal(SIGPIPE, SIG_IGN);
	start(&a, c, argc, argv, options);
	gather(&a);
	if (!interrupts)
		begin(&a);
	record(&a);
	dt_push_close(&a.push);
	n = conclude(&a, word);
	for (unsigned i = 0; i < a.n; i++)
		status = a.host[i].doing != DONE ? 1 : status ? status : a.host[i].status;
	if (count(&a, DONE) < a.n)
		dt_cmd_fail("%u of %u hosts have no trace here", a.n - count(&a, DONE), a.n);
	if (!n)
		rmdir(a.folder);
	if (merge(&a, word, n))
		status = status ? status : 1;
	while (n)
		free(word[--n]);
	return status;
}
