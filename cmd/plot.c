/* SPDX-License-Identifier: MIT */
/*
 * devtrace plot: the picture of Plan 9's devtrace: time to the right, a row for each call in the
 * order in which they end, a bar from its entry to its exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "analyse/stackify.h"
#include "analyse/stats.h"
#include "cmd/commands.h"
#include "cmd/lines.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/unmet.h"
#include "show/out.h"
#include "cmd/output.h"
#include "core/plain.h"
#include "process/outside.h"

#define ROWS 100 /* rows in the picture, about, when no duration is asked for */

static const char help[] =
	"usage: devtrace plot [-o FILE.svg|FILE.png|FILE.gp] [-t TIME] [OPTION]... [FILE]\n"
	"Draws the calls of a trace over time with gnuplot: a row for each call, a bar from its\n"
	"entry to its exit. A bar that spans another in time is its caller.\n"
	"\n"
	"  -o, --output PICTURE   an .svg or .png file (devtrace.svg); .gp: what gnuplot draws it\n"
	"                         from, calls and commands in one file\n"
	"  -t, --time TIME        only calls that took at least TIME: ticks, or 10us, 1.5ms;\n"
	"                         without it, about the 100 longest\n"
	"  -F, --function PAT     only functions that match the shell pattern\n"
	"  -N, --no-function PAT  not those\n"
	"      --from TIME        begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME          end there\n"
	"      --text             print what would be drawn instead, as lines of text: the\n"
	"                         middle, row, half and half of the duration (ticks), and name\n"
	"      --text-input       FILE is text, as cat prints it (as a rule this is noticed)\n"
	"      --symbols FILE     for text input: addresses and names, as nm prints them\n"
	"  -h, --help             show this\n"
	"\n"
	"FILE is devtrace.db when not given.\n";

struct plot {
	const char *output, *time, *symbols, *input;
	struct dt_selection select;
	struct dt_range_options when;
	bool text, text_input, script;
	bool *shown;
	struct dt_reader *reader;
	struct dt_stackify lines;
	struct dt_function_stats all; /* durations of all calls, to choose which are drawn */
	struct dt_out *out;	      /* NULL: calls are only counted */
	bool no_memory;
	struct dt_output part; /* the output */
	struct dt_needs needs;
	char data[600], commands[600]; /* temporary files, for gnuplot */
	char *gnuplot[3];
};

#define LABEL 40 /* characters of a name that the picture shows */

/*
 * Returns a name in the form for gnuplot's data: it stands between tabs in a line, and must have no
 * quote, which would begin a word. (Names in a trace have neither tabs nor ends of lines, see
 * core/plain.h; those in a text trace may.) gnuplot does not execute `...` or @macro in data.
 */
static const char *gnuplot_name(const char *name)
{
	static char clean[4 * 4096 + 1];
	size_t n = dt_plain(clean, name, strlen(name));

	clean[n] = '\0';
	for (char *p = clean; *p; p++)
		if (*p == '"')
			*p = '\'';
	return clean;
}

static void add_line(struct plot *k, uint64_t begin, uint64_t end, const char *name)
{
	char *p, label[LABEL + 4];

	if (strlen(name) > 4096)
		name = "?";
	/* long names (C++) would leave no room for the bars in the picture: their ends are the most
	 * telling part */
	if (!k->text && strlen(name) > LABEL) {
		const char *from = name + strlen(name) - LABEL;

		while ((*from & 0xc0) == 0x80)
			from++;
		dt_format(label, sizeof(label), "...%s", from);
		name = label;
	}
	name = k->text ? dt_cmd_plain(name) : gnuplot_name(name);
	p = dt_out_room(k->out, DT_STACKIFY_LINE + 4 * 4096 + 1);
	dt_out_used(k->out, dt_stackify_call(&k->lines, p, begin, end, name));
}

/* Counts a call, or writes its line. */
static void take(struct plot *k, uint64_t begin, uint64_t end, const char *name)
{
	struct dt_stats one = {.function = &k->all, .functions = 1};
	struct dt_call c = {.begin = begin, .end = end};

	if (k->out) {
		add_line(k, begin, end, name);
		return;
	}
	dt_stats_call(&one, &c);
	k->no_memory |= one.no_memory;
}

static void on_line(void *ctx, uint64_t first, uint64_t begin, uint64_t end, const char *name)
{
	struct plot *k = ctx;

	k->lines.first = first;
	take(k, begin, end, name);
}

static void on_call(void *ctx, const struct dt_call *c)
{
	struct plot *k = ctx;

	if (!(c->flags & DT_CALL_UNTIMED) && k->shown[c->function])
		take(k, c->begin, c->end, dt_reader_function_name(k->reader, c->function));
}

/* Reads all of the input once. Returns 0, or the exit status. */
static int pass(struct plot *k)
{
	struct dt_pair_events events = {.end = on_call, .ctx = k};
	struct dt_reader_range range = {.order = DT_BY_TIME};
	struct dt_error e;
	FILE *f;
	int rc;

	if (k->reader) {
		if (!dt_cmd_range(k->reader, &k->when, &range))
			return 2;
		rc = dt_pair_run(k->reader, &range, &events, &e);
		return rc ? dt_cmd_fail("%s", e.text) : 0;
	}
	f = fopen(k->input, "re");
	if (!f)
		return dt_cmd_fail("%s: %s", k->input, strerror(errno));
	rc = dt_lines_calls(f, k->input, k->symbols, on_line, k, &e);
	fclose(f);
	return rc ? dt_cmd_fail("%s", e.text) : 0;
}

/* Chooses a minimum duration that leaves about ROWS rows. Returns 0, or the exit status. */
static int choose_time(struct plot *k)
{
	int rc = pass(k);

	if (rc)
		return rc;
	if (k->no_memory)
		return dt_cmd_fail("out of memory");
	if (!k->all.timed)
		return dt_cmd_fail("no finished calls to draw");
	if (k->all.timed > ROWS) {
		k->lines.min =
			dt_stats_quantile(&k->all, 1.0 - (double)ROWS / (double)k->all.timed);
		dt_cmd_fail("drawing the calls that took at least %llu ticks, of %llu; "
			    "choose with -t",
			    (unsigned long long)k->lines.min, (unsigned long long)k->all.timed);
	}
	return 0;
}

static const char *quoted(char *to, const char *s)
{
	char *p = to;

	for (; *s; s++) {
		if (*s == '\'')
			*p++ = '\'';
		*p++ = *s;
	}
	*p = '\0';
	return to;
}

/* Writes gnuplot's commands to draw the calls in `data': a quoted file name, or a data block. */
static void write_commands(FILE *f, unsigned long rows, const char *data)
{
	fprintf(f,
		"set termoption noenhanced\nset datafile separator \"\\t\"\nunset key\nset xlabel 'ticks'\n"
		"set yrange [-1:%lu]\nset xrange [0:*]\nset format x '%%.0f'\n"
		"set rmargin 10\nset ytics font ',9'\nset bars small\n"
		"plot %s using 1:2:3%s with xerrorbars pointtype 0 linecolor rgb 'red'\n",
		rows, data, rows <= 2000 ? ":ytic(5)" : "");
}

static unsigned long height(unsigned long rows)
{
	unsigned long h = 120 + 14 * (rows > 2000 ? 2000 : rows);

	return h < 300 ? 300 : h;
}

static int write_script(FILE *f, const struct plot *k)
{
	const char *dot = strrchr(k->output, '.'), *to = k->part.name ? k->part.name : k->output;
	char *name = malloc(2 * strlen(to) + 1), from[sizeof(k->data) + 2];

	if (!name)
		return -1;
	fprintf(f, "set terminal %s size 1200,%lu noenhanced\n",
		!strcmp(dot, ".png") ? "png" : "svg", height(k->lines.row));
	fprintf(f, "set output '%s'\n", quoted(name, to));
	dt_format(from, sizeof(from), "'%s'", k->data);
	write_commands(f, k->lines.row, from);
	free(name);
	return 0;
}

/* Confines the process that is to become gnuplot, since its input was made from a trace. It may
 * write only the picture and fontconfig's caches. */
static void confine_gnuplot(void *plot)
{
	const struct plot *k = plot;
	const char *home = getenv("HOME");
	struct dt_needs needs = {.n = 0};
	char fonts[PATH_MAX];

	dt_needs_add(&needs, DT_NEED_WRITE, k->part.name ? k->part.name : k->output);
	dt_needs_add(&needs, DT_NEED_ENTRIES, "/var/cache/fontconfig");
	if (home && dt_format(fonts, sizeof(fonts), "%s/.cache/fontconfig", home) < sizeof(fonts))
		dt_needs_add(&needs, DT_NEED_ENTRIES, fonts);
	dt_confine_program(&needs);
}

/* Has gnuplot, started outside the confinement, draw what is in the temporary file. */
static int draw(const struct plot *k)
{
	FILE *f = fopen(k->commands, "we");
	int status, rc;

	if (!f || write_script(f, k)) {
		rc = dt_cmd_fail("%s: %s", k->commands, strerror(errno));
		goto out;
	}
	rc = 0;
	fflush(f);
	status = dt_outside_run();
	if (status < 0)
		rc = dt_cmd_fail("cannot run gnuplot: %s; install it (Debian: gnuplot-nox), or use "
				 "--text",
				 strerror(errno));
	else if (!WIFEXITED(status) || WEXITSTATUS(status) == 127)
		rc = dt_cmd_fail("cannot run gnuplot; install it (Debian: gnuplot-nox), or use "
				 "--text");
	else if (WEXITSTATUS(status))
		rc = dt_cmd_fail("gnuplot could not draw %s", k->output);
out:
	if (f)
		fclose(f);
	return rc;
}

/* Writes the calls and gnuplot's commands into one file. */
static int plot_script(struct plot *k)
{
	static struct dt_out out;
	int rc;

	if (!k->time && (rc = choose_time(k)))
		return rc;
	out.fd = fileno(k->part.file);
	k->out = &out;
	k->lines.separator = '\t';
	dt_out_text(&out,
		    "# calls of a trace, by devtrace: middle, row, half and half of the duration "
		    "(ticks), function\n"
		    "# gnuplot -p FILE, or gnuplot -e \"set terminal svg noenhanced; set output "
		    "'calls.svg'\" FILE\n"
		    "$calls << END_OF_CALLS\n");
	rc = pass(k);
	dt_out_text(&out, "END_OF_CALLS\n");
	if (dt_out_end(&out))
		rc = 1;
	if (!rc && !k->lines.row)
		rc = dt_cmd_fail("no call took at least %llu ticks",
				 (unsigned long long)k->lines.min);
	if (!rc)
		write_commands(k->part.file, k->lines.row, "$calls");
	return rc;
}

static int plot_picture(struct plot *k)
{
	static struct dt_out out;
	int rc;

	if (!k->time) {
		rc = choose_time(k);
		if (rc)
			return rc;
	}
	out.fd = open(k->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out.fd < 0)
		return dt_cmd_fail("%s: %s", k->data, strerror(errno));
	k->out = &out;
	k->lines.separator = '\t';
	rc = pass(k);
	if (!rc)
		rc = dt_out_end(&out);
	if (!rc && !k->lines.row)
		rc = dt_cmd_fail("no call took at least %llu ticks",
				 (unsigned long long)k->lines.min);
	if (!rc)
		rc = draw(k);
	if (!rc && isatty(STDERR_FILENO))
		fprintf(stderr, "devtrace: drew %llu calls into %s\n",
			(unsigned long long)k->lines.row, k->output);
	close(out.fd);
	return rc;
}

static int plot_text(struct plot *k)
{
	static struct dt_out out = {.fd = STDOUT_FILENO};
	int rc;

	k->out = &out;
	k->lines.separator = ' ';
	rc = pass(k);
	return dt_out_end(&out) || rc ? (rc ? rc : 1) : 0;
}

/* Opens a trace file; a text trace is not opened yet, k->input names it. */
static int open_input(struct plot *k, int argc, char **argv)
{
	struct dt_summary s;
	struct dt_error e;
	int status;

	if (argc - optind == 1 && (k->text_input || dt_lines_is(argv[optind]))) {
		char *end;

		k->input = argv[optind];
		k->lines.min = k->time ? strtoull(k->time, &end, 10) : 0;
		if (k->time && (*end || k->time[0] == '-')) {
			dt_cmd_fail("'%s': a text trace knows only ticks, so -t takes a number",
				    k->time);
			return 2;
		}
		return 0;
	}
	k->reader = dt_cmd_open(argc, argv, "plot", &k->needs, &status);
	if (!k->reader)
		return status;
	if (k->time && !dt_cmd_duration(k->reader, k->time, &k->lines.min))
		return 2;
	if (dt_reader_summary(k->reader, &s, &e))
		return dt_cmd_fail("%s", e.text);
	k->lines.first = s.min_ticks;
	if (dt_cmd_unmet_patterns(k->reader, &k->select))
		return 1;
	k->shown = dt_cmd_shown(k->reader, &k->select);
	return k->shown ? 0 : dt_cmd_fail("out of memory");
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct plot *k)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"time", required_argument, NULL, 't'},
						{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"text", no_argument, NULL, 3},
						{"text-input", no_argument, NULL, 4},
						{"symbols", required_argument, NULL, 5},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_error e;
	const char *dot;
	int c;

	while ((c = getopt_long(argc, argv, "o:t:F:N:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			k->output = optarg;
			dot = strrchr(optarg, '.');
			k->script = dot && !strcmp(dot, ".gp");
			if (dot && (!strcmp(dot, ".svg") || !strcmp(dot, ".png") || k->script))
				break;
			dt_cmd_fail(
				"'%s': the picture's name must end in .svg or .png, or in .gp for "
				"gnuplot's commands",
				optarg);
			return 2;
		case 't':
			k->time = optarg;
			break;
		case 'F':
		case 'N':
			if (dt_selection_add(&k->select, optarg, c == 'N', &e)) {
				dt_cmd_fail("%s", e.text);
				return 2;
			}
			break;
		case 1:
			k->when.from = optarg;
			break;
		case 2:
			k->when.to = optarg;
			break;
		case 3:
			k->text = true;
			break;
		case 4:
			k->text_input = true;
			break;
		case 5:
			k->symbols = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("plot");
		}
	}
	return -1;
}

/* Opens the output and prepares gnuplot, then confines the process: all before anything of the
 * trace is read. */
static int prepare(struct plot *k, int argc, char **argv)
{
	struct dt_needs *n = &k->needs;
	const char *folder = dt_needs_temporary(n);

	dt_needs_add(n, DT_NEED_TRACE, optind < argc ? argv[optind] : DT_DEFAULT_FILE);
	if (k->symbols)
		dt_needs_add(n, DT_NEED_READ, k->symbols);
	if (!k->text && !dt_output_open(&k->part, k->output))
		return 1;
	dt_output_needs(&k->part, n);
	if (!k->text && !k->script) {
		if (!folder)
			return dt_cmd_fail("there is no place for temporary files: %s",
					   strerror(errno));
		dt_format(k->data, sizeof(k->data), "%s/calls", folder);
		dt_format(k->commands, sizeof(k->commands), "%s/commands", folder);
		k->gnuplot[0] = "gnuplot";
		k->gnuplot[1] = k->commands;
		n->outside.runs = k->gnuplot;
		n->outside.before = confine_gnuplot;
		n->outside.ctx = k;
	}
	return dt_cmd_confine(n);
}

int dt_cmd_plot(int argc, char **argv)
{
	struct plot k = {.output = "devtrace.svg", .all.min = UINT64_MAX};
	int status = parse(argc, argv, &k);

	if (status >= 0)
		goto out;
	status = optind < argc ? dt_cmd_one_trace_word(&argv[optind]) : 0;
	if (!status)
		status = prepare(&k, argc, argv);
	if (!status)
		status = open_input(&k, argc, argv);
	if (!status)
		status = k.text ? plot_text(&k) : k.script ? plot_script(&k) : plot_picture(&k);
	if (k.part.said && dt_output_end(&k.part, !status) && !status)
		status = 1;
out:
	dt_reader_close(k.reader);
	dt_selection_clear(&k.select);
	free(k.shown);
	free(k.all.bucket);
	return status;
}
