/* SPDX-License-Identifier: MIT */
/* devtrace record, devtrace attach, and devtrace PROG. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/terminal.h"
#include "cmd/trace.h"
#include "symbols/debuginfod.h"
#include "symbols/symtab-apart.h"

#define OPTIONS                                                                                             \
	"  -F, --function=PATTERN     trace the functions that match; without -F, all that have\n"          \
	"                             sleds, and of files without sleds those of the program\n"             \
	"  -N, --no-function=PATTERN  do not trace those that match\n"                                      \
	"  -A, --arguments=PATTERN    as -F, with all arguments and the texts they point to; also\n"        \
	"                             PATTERN@NAME:str,NAME: these (devtrace-ctl(5))\n"                     \
	"                             'syscall:open*': system calls, as strace prints them; needs root\n"   \
	"  -l, --libcalls[=MODULE]    the calls of libraries that the program, or MODULE, makes, with\n"    \
	"                             arguments and texts; not those that libraries make themselves.\n"     \
	"                             Without -F, only these are traced\n"                                  \
	"  -T, --trace=POINT          set a tracepoint: 'FILE.c:123 VALUE p->len', 'sync+1c REG rax';\n"    \
	"                             devtrace-ctl(5). Without -F, only tracepoints are traced;\n"          \
	"                             'kernel:vfs_read+9 REG rdi': one in the kernel, as with -k;\n"        \
	"                             'tracepoint:sched:*': the kernel's own; needs root\n"                 \
	"      --filter=WORDS         write only calls that these words mean, and sums of the others:\n"    \
	"                             'time>10us', 'in:parse* -leaf', 'depth<4', 'size>4096', 'failed'\n"   \
	"      --sum=WORDS            sum up calls while recording, and write none (without --filter):\n"   \
	"                             'count by function, error', 'hist(size) by caller if malloc';\n"      \
	"                             devtrace-sum(1) has the words, and prints the sums\n"                 \
	"      --until=WORDS          end the recording with the first call that these words mean\n"        \
	"      --last=TIME            keep only what was recorded in the last 10s, 500ms: as --until\n"     \
	"                             finds it, what led to that call\n"                                    \
	"      --signal='SIG if WORDS'  send the process a signal at the first such call: STOP, ABRT\n"     \
	"      --snapshot='FILE if WORDS'  at the first such call, the trace as it is then goes to\n"       \
	"                             FILE, too (with --last the last so long), and all goes on\n"          \
	"  -B, --backtrace[=WORDS]    keep the stack of each call that these words mean (failed): who\n"    \
	"                             called it, also functions that are not recorded, without frame\n"     \
	"                             pointers; 'failed', 'open path=/etc/*'. devtrace calls -B shows it\n" \
	"      --backtrace-size=SIZE  bytes of a stack that are looked at (16K)\n"                          \
	"      --budget=SHARE         recording may cost so much of the program's processor time (5%):\n"   \
	"                             functions that cost most are switched off for a time, and the\n"      \
	"                             file says when\n"                                                     \
	"      --sockets              what libc's functions do with sockets, whoever calls them, and\n"     \
	"                             the sockets' addresses: devtrace merge finds from bytes of TCP\n"     \
	"                             connections how two machines' clocks were. Without -F, only\n"        \
	"                             these are traced\n"                                                   \
	"      --pong=ADDRESS:PORT    answer exchanges that another machine's session makes by --ping,\n"   \
	"      --ping=ADDRESS:PORT    so that devtrace merge can bring the two clocks together\n"           \
	"  -o, --output=FILE          the trace file (devtrace.db)\n"                                       \
	"  -p, --policy=POLICY        when a ring is full: wait (lossless, the default),\n"                 \
	"                             drop (keep the oldest), overwrite (keep the newest)\n"                \
	"  -b, --buffer=SIZE          of the ring of each core, a power of two (4M)\n"                      \
	"      --recorder-threads=N   that may compress records at a time, 1 to 64 (2, or\n"                \
	"                             1 where devtrace may use one core only)\n"                            \
	"  -s, --session=NAME         what the session is called (its process id)\n"                        \
	"  -k, --kernel[=PATTERN]     record too what they do in the kernel: functions that match\n"        \
	"                             (system calls, vfs_*), by devtrace.ko or, where that is\n"            \
	"                             not loaded, by BPF; needs root\n"                                     \
	"  -S, --switches             record too which thread runs on which core when, and print\n"         \
	"                             it; without it that is tried, for what calls waited\n"                \
	"      --no-switches          do not try\n"                                                         \
	"      --cgroup=NAME          with attach -k and no process: only the processes of a container,\n"  \
	"                             unit or control group: its number or name, or '/PATH'\n"              \
	"      --pid=PID,...          the same for these processes and their children, which other\n"       \
	"                             sessions may trace\n"                                                 \
	"      --wakers               as -S, and who woke each thread, from where in the kernel, and\n"     \
	"                             where it waited there; by BPF, needs root\n"                          \
	"      --stopped              record nothing yet: 'devtrace ctl start' begins, or 'arm'\n"          \
	"      --no-debuginfod        download no debug files (DEBUGINFOD_URLS)\n"                          \
	"  -v, --verbose              say more at the end\n"                                                \
	"  -h, --help\n"                                                                                    \
	"\nA PATTERN is a shell pattern, MODULE:NAME or NAME: 'luaH_*', 'libfoo.so:*', 'ns::*'.\n"

#define DEFAULT_FILE "devtrace.db"

static const char record_usage[] =
	"usage: devtrace record [OPTION]... PROG [ARG]...\n"
	"Runs PROG and writes a trace of every call to a file. Exits as PROG does.\n\n"
	"      --hosts=HOST,...       run PROG on all these machines, each of which has devtrace, "
	"and\n"
	"                             make one trace of all; -o is a folder for it "
	"(devtrace-machines(7))\n"
	"  -e, --ssh=COMMAND          with --hosts: instead of 'ssh %h': 'docker exec -i %h sh -c'\n"
	"      --remote=COMMAND       with --hosts: instead of 'devtrace' there\n"
	"      --push[=PROGRAM]       with --hosts: bring this devtrace there for the time, or PROGRAM,\n"
	"                             one of 'make static'; --remote is then what starts it ('sudo')\n"
	"  -f, --follow               PROG may be a script or a test driver: trace each program "
	"that it\n"
	"                             runs as if it was named, and wait for what it leaves "
	"running\n"
	"      --failed               write only calls that failed: as --filter=failed; without "
	"options\n"
	"                             that choose functions, those of libraries (-l)\n" OPTIONS;

static const char attach_usage[] =
	"usage: devtrace attach [OPTION]... PID...; devtrace attach -k[PATTERN]\n"
	"       devtrace attach --hosts=HOST:PID[+PID]...,... [OPTION]...\n"
	"Traces running processes until they end, or Ctrl-C; or the kernel alone.\n\n"
	"  -d, --detach               go on in the background: prints the session's name; "
	"'devtrace ctl'\n"
	"                             tells it what to trace (nothing, without -F "
	"and -o) and when to\n"
	"                             quit; without -o its records stay in its log, "
	"for\n"
	"                             'devtrace cat -s'\n"
	"      --hosts=HOST:PID,...   trace these processes of these machines, and make one trace\n"
	"                             of all; -o is a folder for it (devtrace-machines(7))\n"
	"  -e, --ssh=COMMAND          with --hosts: instead of 'ssh %h': 'docker exec -i %h sh -c'\n"
	"      --remote=COMMAND       with --hosts: instead of 'devtrace' there\n"
	"      --push[=PROGRAM]       with --hosts: bring this devtrace there for the time, or PROGRAM,\n"
	"                             one of 'make static'; --remote is then what starts it ('sudo')\n"
	"      --failed               write only calls that failed: as --filter=failed\n" OPTIONS;

static const char run_usage[] =
	"usage: devtrace [OPTION]... PROG [ARG]...\n"
	"Runs PROG and prints the tree of its calls. Exits as PROG does.\n\n"
	"  -f, --follow               PROG may be a script or a test driver: trace each program "
	"that it\n"
	"                             runs as if it was named, and wait for what it leaves "
	"running\n"
	"  -c, --summary              print a table of the functions instead of the calls: how often,\n"
	"                             how long, and how long waiting\n"
	"      --failed               print only calls that failed, with the reason; without options\n"
	"                             that choose functions, those of libraries (-l); of more than\n"
	"                             20 the last ones come first, then all\n"
	"  -O, --fields=LIST          the columns, as calls and, with -c, report have them\n"
	"      --units=UNIT, --color=WHEN  as calls has them\n" OPTIONS;

static int attach(struct dt_trace_command *c, char **pids);

/* Has --failed choose calls as --filter does, beside the words that are given there; *words: what
 * is to be freed. -1: out of memory. */
static int choose_failed(struct dt_trace_command *c, char **words)
{
	const char *filter = c->options.filter;

	*words = NULL;
	if (!c->failed)
		return 0;
	if (asprintf(words, "%s%sfailed", filter ? filter : "", filter ? " " : "") < 0) {
		*words = NULL;
		return -1;
	}
	c->options.filter = *words;
	c->nameless = true;
	return 0;
}

static int trace(struct dt_trace_command *c, int argc, char **argv, const char *what,
		 int (*run)(struct dt_trace_command *c, char **argv))
{
	int first = dt_trace_options(c, argc, argv), status;
	char *filter;

	if (first < 0)
		return first == -1 ? 0 : 2;
	if (c->table) {
		fprintf(stderr,
			"devtrace: -c is for 'devtrace PROG'; 'devtrace report' prints the table\n");
		return 2;
	}
	if (c->fields || c->units || c->color) {
		fprintf(stderr,
			"devtrace: --fields, --units and --color are for 'devtrace PROG', and for "
			"'devtrace calls' and 'report', which print the trace\n");
		return 2;
	}
	if (run == attach && c->hosts && c->detach) {
		fprintf(stderr,
			"devtrace: -d is for processes of this machine: not with --hosts\n");
		return 2;
	}
	/* only the kernel is traced: for all processes */
	c->options.everybody = c->options.kernel && first == argc && run == attach;
	if (first == argc && !c->options.everybody && (run != attach || !c->hosts)) {
		fprintf(stderr, "devtrace: which %s?\n%s", what, c->usage);
		return 2;
	}
	c->options.keep_old = !c->options.output || strcmp(c->options.output, DEFAULT_FILE) == 0;
	if (choose_failed(c, &filter) < 0)
		return dt_cmd_fail("out of memory");
	if (!c->here && (c->hosts || c->by || c->remote || c->push))
		status = dt_trace_hosts(c, argc, argv, first);
	else
		status = run(c, argv + first);
	dt_selection_clear(&c->options.select);
	free(filter);
	return status;
}

static int record(int argc, char **argv, int news)
{
	struct dt_trace_command c = {
		.name = "record",
		.usage = record_usage,
		.options = {.policy = DT_WAIT, .output = DEFAULT_FILE, .news = news},
		.summary = true,
		.here = news > 0};

	return trace(&c, argc, argv, "program", dt_trace_program);
}

int dt_cmd_record(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--here"))
		return dt_trace_here(argc - 1, argv + 1, "record", record);
	return record(argc, argv, 0);
}

/* Attaches to processes. A session in the background without a file keeps its records in its log;
 * if nothing to record was given, it begins recording when `devtrace ctl' tells it to. */
static int attach(struct dt_trace_command *c, char **pids)
{
	struct dt_options *o = &c->options;

	if (!c->detach && !o->output)
		o->output = DEFAULT_FILE;
	o->idle = c->detach && !o->select.n && !o->points && !o->arguments && !o->libcalls &&
		  !o->sockets && !o->output;
	if (c->detach && !o->output) { /* -p is for the log; the rings' policy follows from it */
		c->log_policy = c->policy ? o->policy : DT_OVERWRITE;
		o->policy = c->log_policy == DT_WAIT ? DT_WAIT : DT_DROP;
	}
	return dt_trace_processes(c, pids);
}

static int attach_to(int argc, char **argv, int news)
{
	struct dt_trace_command c = {.name = "attach",
				     .usage = attach_usage,
				     .options = {.policy = DT_WAIT, .news = news},
				     .summary = true,
				     .here = news > 0};

	return trace(&c, argc, argv, "process", attach);
}

int dt_cmd_attach(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--here"))
		return dt_trace_here(argc - 1, argv + 1, "attach", attach_to);
	return attach_to(argc, argv, 0);
}

/* Paths of the trace that `devtrace PROG' prints and does not keep, and of SQLite's beside it. */
static char temporary[3][PATH_MAX + 8];

static void remove_temporary(void)
{
	for (int i = 0; i < 3; i++)
		unlink(temporary[i]);
}

/* Ends the command on SIGPIPE: the reader of the tree (head, less) has seen enough. */
static void on_pipe(int sig)
{
	remove_temporary();
	_exit(128 + sig);
}

static void remove_at_signals(const char *file)
{
	static const char *const more[] = {"", "-wal", "-shm"};

	for (int i = 0; i < 3; i++)
		dt_format(temporary[i], sizeof(temporary[i]), "%s%s", file, more[i]);
	signal(SIGPIPE, on_pipe);
}

/* Prints the calls, or the table of functions, in a child, which confines itself. */
static void print_trace(int n, char **words, int (*command)(int argc, char **argv))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dt_symtab_apart_stop();
		dt_debuginfod_leave();
		dt_cmd_unhooked_said();
		optind = 0; /* it reads options, too: from the beginning, and in any order */
		exit(command(n, words));
	}
	if (pid < 0) {
		perror("devtrace: the calls can not be printed");
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
}

/* Puts the options of the command that prints the trace behind two words. Returns how many words
 * there are. */
static int put_options(char **words, const struct dt_trace_command *c)
{
	int n = 2;

	if (c->failed) {
		words[n++] = "--failed";
	} else if (c->table) {
		words[n++] = "-n";
		words[n++] = "20";
	}
	/* the program has had the terminal: what comes now follows what it has written there */
	words[n++] = "--no-pager";
	if (c->fields) {
		words[n++] = "--fields";
		words[n++] = (char *)(uintptr_t)c->fields;
	}
	if (c->units) {
		words[n++] = "--units";
		words[n++] = (char *)(uintptr_t)c->units;
	}
	if (c->color) {
		words[n++] = "--color";
		words[n++] = (char *)(uintptr_t)c->color;
	}
	if (c->options.backtrace)
		words[n++] = "-B";
	/* of many failures the last ones are the most likely to have ended the program */
	if (c->failed && !c->table && !c->options.backtrace) {
		words[n++] = "--last";
		words[n++] = "10";
	}
	return n;
}

/* Says whether what is to be printed can be printed so, before the program runs. False: it can not,
 * which has been reported. */
static bool can_print(const struct dt_trace_command *c)
{
	struct dt_terminal t = {.columns = 0};
	int status = -1;

	if (c->options.sums && (c->fields || c->units)) {
		dt_cmd_fail("--fields and --units are of calls: --sum prints sums");
		return false;
	}
	if (c->table && c->units) {
		dt_cmd_fail("--units is of calls: the times of a table have the unit that fits");
		return false;
	}
	optarg = (char *)(uintptr_t)c->color;
	if (c->color && dt_terminal_option(&t, DT_TERMINAL_COLOUR, &status) && status >= 0)
		return false;
	return c->table ? dt_report_can_print(c->fields)
			: dt_calls_can_print(c->fields, c->units, dt_trace_has_switches(c));
}

int dt_cmd_run(int argc, char **argv)
{
	struct stat st;
	const char *tmp = getenv("TMPDIR");
	char file[PATH_MAX];
	char *words[16] = {"calls", file};
	struct dt_trace_command c = {.name = "",
				     .usage = run_usage,
				     .options = {.policy = DT_WAIT, .output = NULL},
				     .nameless = true};
	int first = dt_trace_options(&c, argc, argv), status, fd = -1;
	bool keep = c.options.output != NULL;

	if (first < 0)
		return first == -1 ? 0 : 2;
	if (c.hosts || c.by || c.remote || c.push) {
		fprintf(stderr,
			"devtrace: --hosts, --ssh, --remote and --push are for 'devtrace record' and "
			"'devtrace attach'\n");
		return 2;
	}
	if (first == argc) {
		fprintf(stderr, "devtrace: which program?\n%s", run_usage);
		return 2;
	}
	if (!keep) {
		dt_format(file, sizeof(file), "%s/devtrace-XXXXXX", tmp && *tmp ? tmp : "/tmp");
		fd = mkstemp(file);
		if (fd < 0) {
			fprintf(stderr, "devtrace: %s: cannot be made: %s\n", file,
				strerror(errno));
			return 1;
		}
		close(fd);
		c.options.output = file;
		c.options.passing = true;
	} else {
		words[1] = (char *)(uintptr_t)c.options.output;
	}
	if (c.table && !c.no_switches) {
		c.options.switches_or_not = !c.options.switches;
		c.options.switches = true;
	}
	if (c.options.sums && (c.table || c.failed)) {
		fprintf(stderr, "devtrace: --sum prints sums in place of the calls: not with %s\n",
			c.table ? "-c" : "--failed");
		if (!keep)
			unlink(file);
		return 2;
	}
	if (!can_print(&c)) {
		if (!keep)
			unlink(file);
		return 2;
	}
	if (c.options.backtrace && (c.table || c.options.sums)) {
		fprintf(stderr, "devtrace: -B prints stacks below calls, and %s prints no calls\n",
			c.table ? "-c" : "--sum");
		if (!keep)
			unlink(file);
		return 2;
	}
	if (!keep)
		remove_at_signals(file);
	status = dt_trace_program(&c, argv + first);
	if (!c.no_trace && stat(words[1], &st) == 0 && st.st_size > 0) {
		fflush(stdout);
		print_trace(put_options(words, &c), words,
			    c.options.sums ? dt_cmd_sum
			    : c.table	   ? dt_cmd_report
					   : dt_cmd_calls);
	}
	if (!keep)
		remove_temporary();
	dt_selection_clear(&c.options.select);
	return status;
}
