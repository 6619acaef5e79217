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

#include "cmd/asking.h"
#include "cmd/beside.h"
#include "cmd/browser.h"
#include "cmd/commands.h"
#include "cmd/fetched.h"
#include "cmd/live.h"
#include "cmd/meant.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "store/store.h"
#include "view/http.h"
#include "view/source.h"

static const char help[] =
	"usage: devtrace view [OPTION]... [FILE | -s SESSION]\n"
	"       devtrace view [OPTION]... [--align WORDS] A B\n"
	"       devtrace view --from ADDRESS [OPTION]... [FILE | -s SESSION]\n"
	"Shows a trace as a time line in a browser: cores, threads and their calls, events. "
	"Prints\n"
	"the address, and opens it if there is a desktop; Ctrl-C ends it.\n"
	"\n"
	"  -s, --session NAME    the trace that this session records, as it comes; so does the "
	"FILE\n"
	"                        of a session\n"
	"      --from ADDRESS    fetch it from there first, as devtrace fetch does, and keep it "
	"only\n"
	"                        for this; FILE or SESSION there, with ssh:HOST\n"
	"      --ssh COMMAND, --remote COMMAND  as for fetch\n"
	"  -n, --no-open         do not open a browser\n"
	"      --listen ADDRESS  listen there, as ADDRESS:PORT, instead of on this machine only\n"
	"                        at any port; whoever has the whole address can see the trace,\n"
	"                        and it is not encrypted\n"
	"  -i, --index           only make what makes it fast, put it into FILE, and end\n"
	"      --align WORDS     of two traces A and B: draw them so that this is at the same time in\n"
	"                        both: the first call that the words mean, as in 'parse arg1=5', an\n"
	"                        event ('event:net:*'), or a note ('note:TEXT'); main when not given\n"
	"      --source FOLDER   show the text of functions' source files that are in it; no other\n"
	"                        file is opened for that\n"
	"      --anyway          draw also a trace that does not add up\n"
	"  -h, --help            show this\n"
	"\n"
	"The first time, the trace is summed up and that is put into FILE, so that it opens at "
	"once\n"
	"afterwards. FILE is devtrace.db when not given. Two traces are shown as one, beside each\n"
	"other: what became slower in B has another colour, and notes say where they differ first.\n";

/* Says whether a signal has asked the command to end; waits up to ns nanoseconds for one, or, with
 * ns < 0, until one comes. */
static bool is_ended(const sigset_t *signals, long ns)
{
	const struct timespec t = {0, ns};
	int rc;

	do
		rc = ns < 0 ? sigwaitinfo(signals, NULL) : sigtimedwait(signals, NULL, &t);
	while (rc < 0 && errno == EINTR);
	return rc > 0;
}

/* Waits until the pyramid is complete, showing the progress on a terminal. Returns true if a signal
 * has asked the command to end before. If the trace can not be read, it reports the error and sets
 * *status to the exit status. */
static bool wait_complete(struct dt_view *v, const sigset_t *signals, int *status)
{
	bool terminal = isatty(2), complete = false, ended = false;
	uint64_t records, total;
	struct dt_error e = {""};

	/* after a signal, look once more for an error: the page may have shown one, and the user
	 * has ended the command because of it */
	while (!complete) {
		complete = dt_view_progress(v, &records, &total, &e);
		if (e.text[0]) {
			*status = dt_cmd_fail("%s", e.text);
			return ended;
		}
		if (terminal && total)
			fprintf(stderr, "\r%3u %% of %lu records%s",
				(unsigned)(100.0 * (double)records / (double)total),
				(unsigned long)total, complete ? "\n" : "");
		if (ended)
			break;
		ended = !complete && is_ended(signals, 50000000);
	}
	if (complete && *dt_view_not_kept(v))
		fprintf(stderr, "devtrace: the summary is not kept: %s\n", dt_view_not_kept(v));
	return ended;
}

struct asked {
	const char *path, *session, *listen;
	const char *other, *align; /* a second trace, and what is brought to the same time */
	const char *address, *ssh, *remote; /* --from, and its options */
	const char *folder;		    /* the folder of a fetched trace; NULL: none */
	const char *source;
	bool open, index, anyway;
};

/* Opens the server's address, prepares the browser, and confines the process: all before anything
 * of the trace is read. Returns 0, or the exit status. */
static int prepare(const struct asked *a, const char *path, struct dt_live *live,
		   struct dt_http **s, struct dt_browser *browser, int *sources)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS | DT_NEED_CLIENTS};
	struct dt_error e = {""};

	if (!a->index && !(*s = dt_http_listen(a->listen, &e)))
		return dt_cmd_fail("%s", e.text);
	if (*s && a->open && dt_browser_prepare(browser, dt_http_address(*s), &needs, &e) < 0)
		fprintf(stderr, "devtrace: no browser is opened: %s\n", e.text);
	if (a->source && (*sources = dt_source_folder(a->source, &e)) < 0)
		return dt_cmd_fail("%s", e.text);
	if (a->source)
		dt_needs_add(&needs, DT_NEED_READ, a->source);
	dt_needs_add(&needs, DT_NEED_CHANGED, path);
	if (live->trace.folder[0])
		dt_needs_add(&needs, DT_NEED_FOLDER, live->trace.folder);
	if (a->folder)
		dt_needs_add(&needs, DT_NEED_FOLDER, a->folder);
	return dt_cmd_confine(&needs);
}

static int show(const struct asked *a)
{
	const char *path = a->path;
	struct dt_view_live from;
	struct dt_live live;
	struct dt_formats formats = {0};
	struct dt_browser browser = {.path = ""};
	struct dt_http *s = NULL;
	struct dt_asking *asking = NULL;
	struct dt_view_sql sql;
	struct dt_view *v = NULL;
	struct dt_reader *r = NULL;
	struct dt_error e = {""};
	sigset_t signals;
	int status = 0, sources = -1;

	/* blocked in all threads; is_ended() waits for them */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (a->session && dt_live_open(&live, a->session, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	path = a->session ? live.file
	       : a->other ? dt_cmd_beside(path, a->other, a->align, &status)
			  : dt_cmd_one_trace(path, &status);
	if (!path)
		return status;
	if (!a->session)
		dt_live_find(&live, path);
	asking = dt_asking_new(path);
	sql = dt_asking_view(asking);
	from = dt_live_view(&live);
	status = prepare(a, path, &live, &s, &browser, &sources);
	if (status)
		goto out;
	r = dt_live_begin(&live, &e) < 0 ? NULL : dt_reader_open(path, &e);
	if (!r) {
		status = dt_cmd_fail("%s%s", e.text, dt_cmd_meant_hint());
		goto out;
	}
	formats.reader = r;
	v = dt_view_open(path, &formats, a->anyway, live.name && !a->index ? &from : NULL, &e);
	if (v)
		dt_view_use_sources(v, sources);
	if (v && asking)
		dt_view_use_sql(v, &sql);
	if (!v || (s && dt_http_start(s, v, &e) < 0)) {
		status = dt_cmd_fail("%s", e.text);
		goto out;
	}
	if (s) {
		printf("%s\n", dt_http_address(s));
		fflush(stdout);
		dt_browser_open(&browser);
	}
	/* after an error, too: the page shows it until the command is ended */
	if (dt_view_is_live(v) || (!wait_complete(v, &signals, &status) && s))
		is_ended(&signals, -1);
out:
	dt_browser_close(&browser);
	dt_http_stop(s);
	dt_view_close(v);
	dt_asking_free(asking);
	if (sources >= 0)
		close(sources);
	dt_formats_free(&formats);
	dt_reader_close(r);
	if (r && live.name && !a->index)
		dt_store_settle(path);
	dt_live_close(&live);
	return status;
}

static void word(struct dt_fetched *f, const char *option, const char *value)
{
	if (value) {
		f->word[f->words++] = option;
		f->word[f->words++] = value;
	}
}

/* Fetches a trace from another host, shows it, and removes it. */
static int show_from(const struct asked *a)
{
	struct asked here = *a;
	struct dt_fetched f = {.words = 0};
	int status;

	word(&f, "-s", a->session);
	word(&f, "--ssh", a->ssh);
	word(&f, "--remote", a->remote);
	word(&f, "--", a->address);
	if (a->path)
		f.word[f.words++] = a->path;
	status = dt_fetched_get(&f);
	here.path = f.trace.path;
	here.folder = f.trace.folder;
	here.session = NULL;
	if (status == 0)
		status = show(&here);
	dt_temporary_remove(&f.trace);
	return status;
}

/* Returns what is wrong with the options together; NULL: nothing. */
static const char *contradiction(const struct asked *a)
{
	if (!a->address && (a->ssh || a->remote))
		return "--ssh and --remote go with --from";
	if (a->address && a->index)
		return "what --from brings is not kept: there is nothing to put into a file";
	if (a->other && (a->session || a->address))
		return "two traces are shown beside each other when both are files here";
	if (a->session && a->path)
		return "a session has its own file";
	if (a->other && a->index)
		return "two traces beside each other are made for the time they are shown: there "
		       "is nothing to put into a file";
	if (a->align && !a->other)
		return "--align is for two traces: devtrace view --align WORDS A B";
	if (a->session && a->index)
		return "a session's file is summed up when it has ended";
	return NULL;
}

int dt_cmd_view(int argc, char **argv)
{
	static const struct option options[] = {
		{"no-open", no_argument, NULL, 'n'},	  {"session", required_argument, NULL, 's'},
		{"listen", required_argument, NULL, 'l'}, {"index", no_argument, NULL, 'i'},
		{"from", required_argument, NULL, 'f'},	  {"ssh", required_argument, NULL, 'e'},
		{"remote", required_argument, NULL, 'r'}, {"anyway", no_argument, NULL, 'a'},
		{"source", required_argument, NULL, 'o'}, {"align", required_argument, NULL, 'A'},
		{"help", no_argument, NULL, 'h'},	  {0}};
	struct asked a = {.open = true};
	const char *why;
	int o;

	while ((o = getopt_long(argc, argv, "nihs:", options, NULL)) != -1) {
		switch (o) {
		case 'n':
			a.open = false;
			break;
		case 'i':
			a.index = true;
			break;
		case 'l':
			a.listen = optarg;
			break;
		case 's':
			a.session = optarg;
			break;
		case 'f':
			a.address = optarg;
			break;
		case 'e':
			a.ssh = optarg;
			break;
		case 'r':
			a.remote = optarg;
			break;
		case 'o':
			a.source = optarg;
			break;
		case 'A':
			a.align = optarg;
			break;
		case 'a':
			a.anyway = true;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			return dt_cmd_usage("view");
		}
	}
	if (argc - optind > 2) {
		dt_cmd_fail("one trace, or two beside each other, not also '%s'", argv[optind + 2]);
		return dt_cmd_usage("view");
	}
	a.path = argv[optind]; /* NULL at the end */
	if (a.path)
		a.other = argv[optind + 1];
	why = contradiction(&a);
	if (why) {
		dt_cmd_fail("%s", why);
		return dt_cmd_usage("view");
	}
	if (a.address)
		return show_from(&a);
	if (!a.path)
		a.path = DT_DEFAULT_FILE;
	return show(&a);
}
