/* SPDX-License-Identifier: MIT */
/* devtrace view: the time line of a trace, in a browser. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/live.h"
#include "cmd/open.h"
#include "cmd/say.h"
#include "store/store.h"
#include "view/http.h"

static const char help[] =
	"usage: devtrace view [OPTION]... [FILE | -s SESSION]\n"
	"Shows a trace as a time line in a browser: cores, threads and their calls, events. "
	"Prints\n"
	"the address, and opens it if there is a desktop; Ctrl-C ends it.\n"
	"\n"
	"  -s, --session NAME    the trace that this session records, as it comes; so does the "
	"FILE\n"
	"                        of a session\n"
	"  -n, --no-open         do not open a browser\n"
	"      --listen ADDRESS  listen there, as ADDRESS:PORT, instead of on this machine only\n"
	"                        at any port; whoever has the whole address can see the trace,\n"
	"                        and it is not encrypted\n"
	"  -i, --index           only make what makes it fast, put it into FILE, and end\n"
	"  -h, --help            show this\n"
	"\n"
	"The first time, the trace is summed up and that is put into FILE, so that it opens at "
	"once\n"
	"afterwards. FILE is devtrace.db when not given.\n";

/* Has it been asked to end? Waits so long for that; ns < 0: until it is. */
static bool is_ended(const sigset_t *signals, long ns)
{
	const struct timespec t = {0, ns};
	int rc;

	do
		rc = ns < 0 ? sigwaitinfo(signals, NULL) : sigtimedwait(signals, NULL, &t);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

/* Waits for the pyramid; progress on a terminal. False: it was ended before, or *status says why.
 */
static bool wait_complete(struct dt_view *v, const sigset_t *signals, int *status)
{
	bool terminal = isatty(2), complete = false;
	uint64_t records, total;
	struct dt_error e = {""};

	while (!complete) {
		complete = dt_view_progress(v, &records, &total, &e);
		if (e.text[0]) {
			*status = dt_cmd_fail("%s", e.text);
			return false;
		}
		if (terminal && total)
			fprintf(stderr, "\r%3u %% of %lu records%s",
				(unsigned)(100.0 * (double)records / (double)total),
				(unsigned long)total, complete ? "\n" : "");
		if (!complete && is_ended(signals, 50000000))
			return false;
	}
	if (*dt_view_not_kept(v))
		fprintf(stderr, "devtrace view: the summary is not kept: %s\n",
			dt_view_not_kept(v));
	return true;
}

static void open_browser(const char *address)
{
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	if (fork() == 0) {
		if (fork() == 0) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(1);
			execlp("xdg-open", "xdg-open", address, (char *)NULL);
		}
		_exit(0);
	}
}

int dt_cmd_view(int argc, char **argv)
{
	static const struct option options[] = {
		{"no-open", no_argument, NULL, 'n'},	  {"session", required_argument, NULL, 's'},
		{"listen", required_argument, NULL, 'l'}, {"index", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},	  {0}};
	const char *listen = NULL, *session = NULL, *path;
	struct dt_view_live from;
	struct dt_live live;
	struct dt_formats formats = {0};
	struct dt_reader *r;
	struct dt_http *s = NULL;
	struct dt_view *v = NULL;
	bool open = true, index = false;
	struct dt_error e = {""};
	sigset_t signals;
	int o, status;

	while ((o = getopt_long(argc, argv, "nihs:", options, NULL)) != -1) {
		if (o == 'h')
			return fputs(help, stdout) == EOF;
		if (o == '?')
			return dt_cmd_usage("view");
		open = open && o != 'n';
		index = index || o == 'i';
		if (o == 'l')
			listen = optarg;
		if (o == 's')
			session = optarg;
	}
	if (session && (optind < argc || index)) {
		dt_cmd_fail("view: a session has its own file; it is summed up when it has ended");
		return dt_cmd_usage("view");
	}
	path = optind < argc ? argv[optind] : DT_DEFAULT_FILE;
	if (session && dt_live_open(&live, session, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (!session)
		dt_live_find(&live, path);
	if (session)
		path = live.file;
	from = dt_live_view(&live);
	r = session ? dt_reader_open(path, &e) : dt_cmd_open(argc, argv, "view", &status);
	if (!r) {
		if (session)
			status = dt_cmd_fail("%s", e.text);
		dt_live_close(&live);
		return status;
	}
	status = 0;
	formats.reader = r;
	/* by all threads; they are waited for */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	v = dt_view_open(path, &(struct dt_view_words){dt_say_more, dt_say_result, &formats},
			 live.name && !index ? &from : NULL, &e);
	if (v && !index)
		s = dt_http_start(v, listen, &e);
	if (!v || (!s && !index)) {
		status = dt_cmd_fail("%s", e.text);
		goto out;
	}
	if (s) {
		printf("%s\n", dt_http_address(s));
		fflush(stdout);
		if (open)
			open_browser(dt_http_address(s));
	}
	if (dt_view_is_live(v) || (wait_complete(v, &signals, &status) && s))
		is_ended(&signals, -1);
out:
	dt_http_stop(s);
	dt_view_close(v);
	dt_formats_free(&formats);
	dt_reader_close(r);
	if (live.name && !index)
		dt_store_settle(path);
	dt_live_close(&live);
	return status;
}
