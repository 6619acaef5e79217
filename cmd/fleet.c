/* SPDX-License-Identifier: MIT */
/* What commands do with a fleet as a whole. */
#include "cmd/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/open.h"
#include "fleet/skid.h"

/* Gives by how much a host's wall clock was ahead of the reference's, ns, and how far that may be
 * wrong; false: that is not known. */
static bool ahead(const struct dt_fleet *f, struct dt_reader **reader, uint32_t host, double *ns,
		  double *error, double *likely)
{
	const struct dt_fleet_host *h = &f->host[host], *r = &f->host[f->reference];
	uint64_t tick = h->first + (h->last - h->first) / 2, own, other;
	struct dt_knot k = dt_fleet_place(f, host, tick);

	*error = k.early == DT_UNKNOWN_EARLY || k.late == DT_UNKNOWN_LATE
			 ? INFINITY
			 : fmax((double)(k.late - k.t), (double)(k.t - k.early)) / DT_ALIGN_NS;
	*likely = fmax(*error - (double)k.likely / DT_ALIGN_NS, 0);
	if (!reader || !reader[host] || !reader[f->reference] ||
	    !dt_reader_realtime(reader[host], tick, &own) ||
	    !dt_reader_realtime(reader[f->reference], dt_fleet_ticks(r, k.t), &other))
		return false;
	*ns = (double)(int64_t)(own - other);
	return true;
}

/* Writes a length of time, three digits after the point. */
static const char *length(char text[40], double ns, bool sign)
{
	double a = fabs(ns);
	const char *unit = a < 1e6 ? "us" : a < 1e9 ? "ms" : "s";

	snprintf(text, 40, sign ? "%+.3f %s" : "%.3f %s",
		 ns / (a < 1e6	 ? 1e3
		       : a < 1e9 ? 1e6
				 : 1e9),
		 unit);
	return text;
}

static void print_host(const struct dt_fleet *f, struct dt_reader **reader, uint32_t i)
{
	const struct dt_fleet_host *h = &f->host[i];
	char ahead_text[40] = "?", error_text[64] = "unknown", likely_text[40] = "unknown";
	double ns, error, likely;
	bool known = ahead(f, reader, i, &ns, &error, &likely);

	if (h->clock == f->host[f->reference].clock)
		snprintf(error_text, sizeof(error_text), "%s",
			 i == f->reference ? "reference" : "same clock");
	else if (error < INFINITY)
		length(error_text, error, false);
	if (h->clock == f->host[f->reference].clock)
		likely_text[0] = '\0';
	else if (error < INFINITY)
		length(likely_text, likely, false);
	if (known && (i != f->reference))
		length(ahead_text, ns, true);
	else if (i == f->reference)
		ahead_text[0] = '\0';
	printf("%-16s %12lu  %18s  %14s  %14s  %9lu  %s\n", h->name, (unsigned long)h->records,
	       ahead_text, error_text, likely_text, (unsigned long)f->clock[h->clock].decided,
	       dt_cmd_plain(h->path));
}

static void say_break(const struct dt_fleet *f, const struct dt_fleet_break *b)
{
	const char *name = f->host[b->host].name;
	char text[2][40];

	if (b->kind == DT_CONTRADICTION_FALSE)
		dt_cmd_fail("note: not believed, since it contradicts the rest by %s: %s",
			    length(text[0], (double)b->by / DT_ALIGN_NS, false), b->text);
	else
		dt_cmd_fail(
			"note: the clock of %s %s between ticks %lu and %lu, within %s, by %s: the evidence "
			"before and after does not go together (%s)",
			name,
			b->kind == DT_CONTRADICTION_STEP ? "stepped" : "or another one stepped",
			(unsigned long)b->from_ticks, (unsigned long)b->to_ticks,
			length(text[0],
			       (double)(int64_t)(b->to_ticks - b->from_ticks) *
				       f->host[b->host].ns_per_tick,
			       false),
			length(text[1], (double)b->step / DT_ALIGN_NS, true), b->text);
}

/* Says which TCP connections are of no use, and why. */
static void say_streams(const struct dt_fleet_streams *s)
{
	if (s->unclear)
		dt_cmd_fail(
			"note: of the TCP connections between these machines %lu are evidence, %lu are not: "
			"as many bytes have to be received by calls in the one trace as were sent by calls in "
			"the other, from the connection's beginning to its end (record --sockets)",
			(unsigned long)s->used, (unsigned long)s->unclear);
	if (s->nameless)
		dt_cmd_fail(
			"note: of %lu ends of TCP connections the traces do not say whose they are: "
			"record --sockets asks for the addresses of those that last for some "
			"milliseconds; also those count of which getsockname() was recorded",
			(unsigned long)s->nameless);
	if (s->alike)
		dt_cmd_fail("note: %lu ends of TCP connections are not used, since others have the "
			    "same addresses: it is not known which belongs to which",
			    (unsigned long)s->alike);
}

struct skids {
	const struct dt_fleet *fleet;
	size_t n;
};

#define SKIDS 8 /* that are printed */

static void print_skid(void *ctx, const struct dt_skid *s)
{
	struct skids *k = ctx;
	const struct dt_fleet *f = k->fleet;
	char by[40], error[40];

	if (++k->n > SKIDS)
		return;
	printf("recording froze on %s, and up to %s later on %s", f->host[s->first].name,
	       length(by, s->ns, false), f->host[s->last].name);
	if (s->error == INFINITY)
		printf(", by clocks of which nothing is known");
	else if (s->error > 0)
		printf(" (at most off by %s)", length(error, s->error, false));
	printf("\n");
}

/* Says how far apart the recordings of all machines froze. */
static void print_skids(const struct dt_fleet *f, struct dt_reader **reader)
{
	struct skids k = {.fleet = f};
	struct dt_error e;

	if (dt_fleet_skid(f, reader, print_skid, &k, &e) < 0)
		dt_cmd_fail("%s", e.text);
	if (k.n > SKIDS)
		printf("... and %zu more times\n", k.n - SKIDS);
}

void dt_fleet_print(const struct dt_fleet *f, struct dt_reader **reader)
{
	printf("%-16s %12s  %18s  %14s  %14s  %9s  %s\n", "host", "records", "wall clock ahead",
	       "at most off by", "likely within", "evidence", "trace");
	for (uint32_t i = 0; i < f->hosts; i++)
		print_host(f, reader, i);
	if (reader)
		print_skids(f, reader);
	fflush(stdout);
	for (size_t i = 0; i < f->breaks; i++)
		say_break(f, &f->broken[i]);
	say_streams(&f->streams);
	for (uint32_t i = 0; i < f->hosts; i++)
		if (!f->clock[f->host[i].clock].known)
			dt_cmd_fail(
				"note: how %s's clock was to %s's is unknown: nothing in the traces says so. "
				"It is drawn by the wall clocks, which may be wrong by anything; "
				"--marker or --nest says what you know",
				f->host[i].name, f->host[f->reference].name);
	for (uint32_t i = 0; i < f->hosts; i++)
		for (uint32_t k = 0; k < i; k++)
			if (*f->host[i].boot_id && f->host[i].clock != f->host[k].clock &&
			    !strcmp(f->host[i].boot_id, f->host[k].boot_id))
				dt_cmd_fail(
					"note: %s and %s are of the same boot of a machine, but their wall "
					"clocks do not go together: they are not taken to have the same "
					"clock (a copied machine has the boot of the other one)",
					f->host[k].name, f->host[i].name);
	if (f->wander > 1.01 * DT_ALIGN_WANDER)
		dt_cmd_fail("note: the clocks' rates varied by more than is usual: %.1f ppm are "
			    "allowed for",
			    f->wander * 1e6);
}

/* In a child: reads the fleet, confined to it, and writes the paths of its traces, or of that of
 * one host (NULL: of all), each ended by a NUL; or, after a newline, what is wrong. */
static void write_paths(const char *path, const char *host, int to)
{
	struct dt_needs needs = {.n = 0};
	struct dt_error e;
	struct dt_fleet *f = NULL;
	FILE *out = fdopen(to, "w");

	if (!out)
		_exit(1);
	dt_needs_add(&needs, DT_NEED_READ, path);
	if (dt_confine(&needs, &e) < 0 || !(f = dt_fleet_read(path, &e)))
		fprintf(out, "\n%s", e.text);
	if (f && host && dt_fleet_find(f, host, strlen(host)) == f->hosts)
		fprintf(out, "\n%s has no machine '%s'; `devtrace merge %s` lists them", path, host,
			path);
	for (uint32_t i = 0; f && i < f->hosts; i++)
		if (!host || !strcmp(host, f->host[i].name))
			fwrite(f->host[i].path, 1, strlen(f->host[i].path) + 1, out);
	fclose(out);
	_exit(0);
}

#define PATHS (4u << 20) /* the most bytes of all paths */

/*
 * Returns the paths, one after the other, *n bytes. What a fleet is of says which files are to be
 * read; but before it is looked at, this process is to have confined itself to them. So another one
 * looks first. NULL: reported.
 */
static char *read_paths(const char *path, const char *host, size_t *n)
{
	char *text = malloc(PATHS + 1);
	int pipes[2];
	ssize_t got;
	pid_t child;

	*n = 0;
	if (!text || pipe2(pipes, O_CLOEXEC)) {
		dt_cmd_fail("%s: %s", path, strerror(errno));
		free(text);
		return NULL;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		write_paths(path, host, pipes[1]);
	close(pipes[1]);
	while (child > 0 && *n < PATHS && (got = read(pipes[0], text + *n, PATHS - *n)) != 0)
		if (got > 0)
			*n += (size_t)got;
		else if (errno != EINTR)
			break;
	close(pipes[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	text[*n] = '\0';
	if (*n && text[0] != '\n' && !text[*n - 1])
		return text;
	dt_cmd_fail("%s", *n > 1 ? text + 1 : "the fleet cannot be read");
	free(text);
	return NULL;
}

const char *dt_fleet_path_of(const char *path, const char *host, int *status)
{
	size_t n;
	const char *found = read_paths(path, host, &n);

	*status = !found;
	return found;
}

struct dt_fleet *dt_fleet_open_all(const char *path, struct dt_needs *needs,
				   struct dt_reader ***reader, int *status)
{
	size_t n;
	char *paths = read_paths(path, NULL, &n);
	struct dt_fleet *f = NULL;
	struct dt_error e;

	*reader = NULL;
	*status = 1;
	if (!paths)
		return NULL;
	dt_needs_add(needs, DT_NEED_READ, path);
	for (const char *p = paths; p < paths + n; p += strlen(p) + 1)
		dt_needs_add(needs, DT_NEED_TRACE, p);
	*status = dt_cmd_confine(needs);
	free(paths);
	if (*status)
		return NULL;
	f = dt_fleet_read(path, &e);
	if (!f || !(*reader = calloc(f->hosts, sizeof(**reader)))) {
		*status = dt_cmd_fail("%s", f ? "out of memory" : e.text);
		dt_fleet_free(f);
		return NULL;
	}
	for (uint32_t i = 0; i < f->hosts && !*status; i++) {
		(*reader)[i] = dt_fleet_open(f, i, &e);
		if (!(*reader)[i])
			*status = dt_cmd_fail("%s", e.text);
	}
	if (!*status)
		return f;
	dt_fleet_close_all(f, *reader);
	*reader = NULL;
	return NULL;
}

void dt_fleet_close_all(struct dt_fleet *f, struct dt_reader **reader)
{
	for (uint32_t i = 0; f && reader && i < f->hosts; i++)
		dt_reader_close(reader[i]);
	free(reader);
	dt_fleet_free(f);
}

int dt_fleet_say(const char *path)
{
	struct dt_needs needs = {.n = 0};
	struct dt_reader **reader;
	int status;
	struct dt_fleet *f = dt_fleet_open_all(path, &needs, &reader, &status);

	if (f)
		dt_fleet_print(f, reader);
	dt_fleet_close_all(f, reader);
	return status;
}
