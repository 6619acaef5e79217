/* SPDX-License-Identifier: MIT */
/* devtrace merge: traces of several machines as one, with bounds of how far their clocks may be
 * off. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/fleet.h"
#include "cmd/new-trace.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/output.h"
#include "fleet/nest.h"
#include "store/copy.h"

#define DEFAULT_FLEET "fleet.db"
#define MARKERS	      1000

static const char help[] =
	"usage: devtrace merge [OPTION]... [NAME=]FILE [NAME=]FILE...\n"
	"       devtrace merge [--one FILE] FLEET\n"
	"Puts the traces of several machines together: finds by how much their clocks\n"
	"differed at each moment, and how far that may be wrong, from what is in the traces.\n"
	"The traces stay as they are. With a fleet: says what is in it, or makes one trace of\n"
	"it, as commands do for which there has to be one.\n"
	"\n"
	"  -o, --output FILE     write the fleet there (fleet.db)\n"
	"      --copy            make FILE a folder, with fleet.db and copies of the traces\n"
	"      --one FILE        make FILE a trace with all of the fleet's, at the times of the\n"
	"                        reference's clock\n"
	"      --reference NAME  the machine whose clock is the fleet's (the first one)\n"
	"      --marker 'A@TIME B@TIME ERROR'\n"
	"                        what happened on A at that time happened on B at that one, but\n"
	"                        for the error; a time is 1.5ms after the trace's first record,\n"
	"                        or a number of ticks; an error is 100us\n"
	"      --nest 'A:FUNCTION B:FUNCTION'\n"
	"                        each call of A's function has one call of B's in it\n"
	"      --rate PPM        clocks' rates differ by at most so much (250)\n"
	"      --wander PPM      ...and vary by at most so much (0.5)\n"
	"  -h, --help            show this\n"
	"\n"
	"devtrace-machines(7) says what is taken for evidence.\n";

struct merge {
	const char *output, *reference, *one;
	const char *marker[MARKERS], *nest[MARKERS];
	unsigned markers, nests;
	bool copy;
	double rate, wander; /* ppm */
	uint32_t n;
	char **argument; /* [NAME=]FILE */
	const char **path, **name;
	struct dt_reader **reader;
	struct dt_fleet_marker *known;
	size_t knowns;
	uint32_t item;
};

/* ---- what is known by hand ---- */

static int add_known(struct merge *m, struct dt_fleet_marker k)
{
	struct dt_fleet_marker *more = realloc(m->known, (m->knowns + 1) * sizeof(*more));

	if (!more)
		return dt_cmd_fail("out of memory");
	m->known = more;
	k.item = m->item;
	more[m->knowns++] = k;
	return 0;
}

/* Returns the trace of that name; n: there is none, or several, which is reported. */
static uint32_t find(const struct merge *m, const char *name, size_t length)
{
	uint32_t found = m->n;

	for (uint32_t i = 0; i < m->n; i++) {
		const char *own = m->name[i] ? m->name[i] : dt_reader_meta(m->reader[i], "host");

		if (!own || strlen(own) != length || strncmp(own, name, length))
			continue;
		if (found < m->n) {
			dt_cmd_fail("%s and %s are both of '%s': give them names, as NAME=%s",
				    m->path[found], m->path[i], own, m->path[found]);
			return m->n;
		}
		found = i;
	}
	if (found < m->n)
		return found;
	dt_cmd_fail("there is no machine '%.*s': name a trace so, as %.*s=FILE", (int)length, name,
		    (int)length, name);
	return m->n;
}

/* Takes "HOST<sign>REST" from a word. False: reported. */
static bool split(const struct merge *m, const char *word, char sign, uint32_t *host,
		  const char **rest)
{
	const char *p = strchr(word, sign);

	if (!p || p == word || !p[1]) {
		dt_cmd_fail("'%s' is not a machine's name, '%c' and a %s", word, sign,
			    sign == '@' ? "time" : "function");
		return false;
	}
	*host = find(m, word, (size_t)(p - word));
	*rest = p + 1;
	return *host < m->n;
}

static int take_marker(struct merge *m, const char *text)
{
	char *copy = strdup(text), *save = NULL, *word[4] = {NULL};
	struct dt_fleet_marker k = {0}, back;
	const char *a, *b;
	uint64_t error;
	int status = 2;

	for (int i = 0; copy && i < 4; i++)
		word[i] = strtok_r(i ? NULL : copy, " ", &save);
	if (!copy || !word[2] || word[3]) {
		dt_cmd_fail("'%s' is not a marker: say A@TIME B@TIME ERROR", text);
	} else if (split(m, word[0], '@', &k.from, &a) && split(m, word[1], '@', &k.to, &b) &&
		   dt_cmd_time(m->reader[k.from], a, &k.from_ticks) &&
		   dt_cmd_time(m->reader[k.to], b, &k.to_ticks) &&
		   dt_cmd_duration(m->reader[k.from], word[2], &error)) {
		k.slack = (int64_t)((double)error * dt_reader_ns_per_tick(m->reader[k.from]) *
				    DT_ALIGN_NS) +
			  1;
		back = (struct dt_fleet_marker){.from = k.to,
						.to = k.from,
						.from_ticks = k.to_ticks,
						.to_ticks = k.from_ticks,
						.slack = k.slack};
		status = add_known(m, k) || add_known(m, back);
		m->item++;
	}
	free(copy);
	return status;
}

static int nest_calls(struct merge *m, uint32_t outer, const struct dt_times *o, uint32_t inner,
		      const struct dt_times *i, size_t n)
{
	int status = 0;

	for (size_t c = 0; c < n && !status; c++, m->item++)
		status = add_known(m, (struct dt_fleet_marker){.from = outer,
							       .to = inner,
							       .from_ticks = o[c].begin,
							       .to_ticks = i[c].begin}) ||
			 add_known(m, (struct dt_fleet_marker){.from = inner,
							       .to = outer,
							       .from_ticks = i[c].end,
							       .to_ticks = o[c].end});
	return status;
}

static int take_nest(struct merge *m, const char *text)
{
	char *copy = strdup(text), *save = NULL, *word[3] = {NULL};
	struct dt_times *outer = NULL, *inner = NULL;
	size_t n = 0, k = 0;
	uint32_t a, b;
	const char *f, *g;
	struct dt_error e;
	int status = 2;

	for (int i = 0; copy && i < 3; i++)
		word[i] = strtok_r(i ? NULL : copy, " ", &save);
	if (!copy || !word[1] || word[2]) {
		dt_cmd_fail("'%s' does not say what nests: say A:FUNCTION B:FUNCTION", text);
	} else if (split(m, word[0], ':', &a, &f) && split(m, word[1], ':', &b, &g)) {
		if (dt_nest_calls(m->reader[a], f, &outer, &n, &e) ||
		    dt_nest_calls(m->reader[b], g, &inner, &k, &e))
			status = dt_cmd_fail("--nest '%s': %s", text, e.text);
		else if (n != k)
			status = dt_cmd_fail(
				"--nest '%s': %lu calls and %lu calls: it is not known which belongs to "
				"which; say single ones by --marker",
				text, (unsigned long)n, (unsigned long)k);
		else
			status = nest_calls(m, a, outer, b, inner, n);
	}
	free(outer);
	free(inner);
	free(copy);
	return status;
}

/* ---- the command ---- */

/* Splits NAME=FILE, if it is that: a name has no slash. */
static void name_files(struct merge *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		char *sign = strchr(m->argument[i], '=');
		size_t n = sign ? (size_t)(sign - m->argument[i]) : 0;

		m->path[i] = m->argument[i];
		if (!n || strcspn(m->argument[i], "/ :@") < n || access(m->argument[i], F_OK) == 0)
			continue;
		*sign = '\0';
		m->name[i] = m->argument[i];
		m->path[i] = sign + 1;
	}
}

static int open_all(struct merge *m)
{
	struct dt_error e;

	for (uint32_t i = 0; i < m->n; i++) {
		m->reader[i] = dt_reader_open(m->path[i], &e);
		if (!m->reader[i])
			return dt_cmd_fail("%s", e.text);
		for (uint32_t k = 0; k < i; k++) {
			const char *a = m->name[i], *b = m->name[k];

			if (a && b && !strcmp(a, b))
				return dt_cmd_fail("two machines are called '%s'", a);
		}
	}
	return 0;
}

static struct dt_fleet *make(struct merge *m, int *status)
{
	struct dt_fleet_input in = {.reader = m->reader,
				    .path = m->path,
				    .name = m->name,
				    .n = m->n,
				    .assumed = {m->rate * 1e-6, m->wander * 1e-6}};
	struct dt_fleet *f;
	struct dt_error e;

	*status = open_all(m);
	if (!*status && m->reference) {
		in.reference = find(m, m->reference, strlen(m->reference));
		*status = in.reference == m->n ? 2 : 0;
	}
	for (unsigned i = 0; i < m->markers && !*status; i++)
		*status = take_marker(m, m->marker[i]);
	for (unsigned i = 0; i < m->nests && !*status; i++)
		*status = take_nest(m, m->nest[i]);
	if (*status)
		return NULL;
	in.marker = m->known;
	in.markers = m->knowns;
	f = dt_fleet_make(&in, &e);
	if (!f)
		*status = dt_cmd_fail("%s", e.text);
	return f;
}

/* Copies the traces into the folder, and makes the fleet's paths lead there. */
static int copy_traces(struct dt_fleet *f, const char *folder)
{
	struct dt_error e;

	for (uint32_t i = 0; i < f->hosts; i++) {
		char *to = NULL, *name = NULL;
		int fd = -1, status = 0;

		if (asprintf(&name, "%s.db", f->host[i].name) < 0 ||
		    asprintf(&to, "%s/%s", folder, name) < 0)
			return dt_cmd_fail("out of memory");
		fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			status = dt_cmd_fail("%s: %s", to, strerror(errno));
		else if (dt_copy_trace(f->host[i].path, fd, &e) < 0)
			status = dt_cmd_fail("%s", e.text);
		if (fd >= 0 && close(fd) && !status)
			status = dt_cmd_fail("%s: %s", to, strerror(errno));
		free(to);
		free(f->host[i].path);
		f->host[i].path = name;
		if (status)
			return status;
	}
	return 0;
}

static int make_folder(struct merge *m, struct dt_needs *needs)
{
	struct dt_output folder;
	struct dt_fleet *f = NULL;
	struct dt_error e;
	char *path = NULL;
	int status;

	if (!dt_output_open_folder(&folder, m->output))
		return 1;
	dt_output_needs(&folder, needs);
	status = dt_cmd_confine(needs);
	if (!status)
		f = make(m, &status);
	if (f) {
		dt_fleet_print(f, m->reader);
		if (mkdir(folder.name, 0700))
			status = dt_cmd_fail("%s: %s", m->output, strerror(errno));
		if (!status)
			status = copy_traces(f, folder.name);
		if (!status && asprintf(&path, "%s/%s", folder.name, DEFAULT_FLEET) < 0)
			status = dt_cmd_fail("out of memory");
		if (!status && dt_fleet_write(f, path, true, &e))
			status = dt_cmd_fail("%s", e.text);
	}
	free(path);
	dt_fleet_free(f);
	return dt_output_end(&folder, !status) || status;
}

static int make_file(struct merge *m, struct dt_needs *needs)
{
	struct dt_new_trace aside;
	struct dt_fleet *f = NULL;
	struct dt_error e;
	int status;

	if (dt_new_trace_open(&aside, m->output, needs, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	status = dt_cmd_confine(needs);
	if (!status)
		f = make(m, &status);
	if (f) {
		dt_fleet_print(f, m->reader);
		if (dt_fleet_write(f, aside.trace, false, &e) || dt_new_trace_place(&aside, &e))
			status = dt_cmd_fail("%s", e.text);
	}
	dt_new_trace_close(&aside);
	dt_fleet_free(f);
	return status;
}

static int merge(struct merge *m)
{
	struct dt_needs needs = {.n = 0};
	int status;

	if (!m->copy && access(m->output, F_OK) == 0 && !dt_fleet_is(m->output))
		return dt_cmd_fail("%s: exists and is not a fleet; not overwritten", m->output);
	m->path = calloc(m->n, sizeof(*m->path));
	m->name = calloc(m->n, sizeof(*m->name));
	m->reader = calloc(m->n, sizeof(*m->reader));
	if (!m->path || !m->name || !m->reader)
		return dt_cmd_fail("out of memory");
	name_files(m);
	for (uint32_t i = 0; i < m->n; i++)
		dt_needs_add(&needs, DT_NEED_TRACE, m->path[i]);
	status = m->copy ? make_folder(m, &needs) : make_file(m, &needs);
	for (uint32_t i = 0; i < m->n; i++)
		dt_reader_close(m->reader[i]);
	free(m->path);
	free(m->name);
	free(m->reader);
	free(m->known);
	return status;
}

static bool parse_ppm(const char *text, double *to)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || v > 100000) {
		dt_cmd_fail("'%s' is not a number of parts per million above 0, up to 100000",
			    text);
		return false;
	}
	*to = v;
	return true;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct merge *m)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},  {"copy", no_argument, NULL, 1},
		{"reference", required_argument, NULL, 2}, {"marker", required_argument, NULL, 3},
		{"nest", required_argument, NULL, 4},	   {"rate", required_argument, NULL, 5},
		{"wander", required_argument, NULL, 6},	   {"one", required_argument, NULL, 7},
		{"help", no_argument, NULL, 'h'},	   {0}};
	int c;

	while ((c = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			m->output = optarg;
			break;
		case 1:
			m->copy = true;
			break;
		case 2:
			m->reference = optarg;
			break;
		case 7:
			m->one = optarg;
			break;
		case 3:
		case 4:
			if (m->markers == MARKERS || m->nests == MARKERS)
				return dt_cmd_fail("more than %d markers", MARKERS);
			if (c == 3)
				m->marker[m->markers++] = optarg;
			else
				m->nest[m->nests++] = optarg;
			break;
		case 5:
		case 6:
			if (!parse_ppm(optarg, c == 5 ? &m->rate : &m->wander))
				return 2;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("merge");
		}
	}
	return -1;
}

int dt_cmd_merge(int argc, char **argv)
{
	static struct merge m = {.output = DEFAULT_FLEET,
				 .rate = DT_ALIGN_RATE * 1e6,
				 .wander = DT_ALIGN_WANDER * 1e6};
	int status = parse(argc, argv, &m);

	if (status >= 0)
		return status;
	m.n = (uint32_t)(argc - optind);
	m.argument = argv + optind;
	if (m.n == 1 && dt_fleet_is(m.argument[0]))
		return m.one ? dt_cmd_make_one(m.argument[0], m.one) : dt_fleet_say(m.argument[0]);
	if (m.one) {
		dt_cmd_fail("--one makes a trace of one fleet: write that first, with -o");
		return dt_cmd_usage("merge");
	}
	if (m.n < 2 || m.n > DT_FLEET_HOSTS) {
		dt_cmd_fail("name the traces of two machines, or more (up to %d), or one fleet",
			    DT_FLEET_HOSTS);
		return dt_cmd_usage("merge");
	}
	return merge(&m);
}
