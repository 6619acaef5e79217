/* SPDX-License-Identifier: MIT */
/* devtrace check: is a trace sound? */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check.h"
#include "cmd/check-json.h"
#include "cmd/commands.h"
#include "cmd/fleet.h"
#include "cmd/jobs.h"
#include "cmd/open.h"
#include "cmd/progress.h"
#include "core/text.h"
#include "sql/writing.h"
#include "store/budget.h"

#define FIRST "a devtrace of before 2026-11-24 recorded it"
#define SHORT 1000000 /* records: traces up to this are compared with view and sql without -a */

static const char help[] =
	"usage: devtrace check [OPTION]... [FILE]...\n"
	"Proves traces: that every chunk of records can be decoded and the records of each core and\n"
	"thread are in the order of time; that all tables fit together and every place, thread and\n"
	"loss is where it is said to be; that entries and exits pair, or why not; that no call took\n"
	"longer than the trace; and that what is summed up is what there is. Prints a line for each\n"
	"kind of fault: how many there are, and where the first is.\n"
	"\n"
	"  -a, --all    also of traces with more than a million records: sums them up anew as view\n"
	"               does, and asks sql, and compares\n"
	"      --json   print JSON lines: for each kind of fault, and for each trace (doc/json.md)\n"
	"  -j, --jobs N on N threads: the chunks on one, the calls on another; otherwise so if two\n"
	"               cores may be used and the trace is long. What is printed is the same\n"
	"  -q, --quiet  print faults only\n"
	"  -s, --strict find fault with rings, too, that a traced program has written into: what it\n"
	"               recorded from then on is not known; and with exits that have no entry where\n"
	"               a program may have written over it: there, and in those of another user\n"
	"  -h, --help   show this\n"
	"\n"
	"The exit status is 0: all are sound, 1: one is not, 2: wrong usage. FILE is devtrace.db when\n"
	"not given.\n";

struct check_options {
	bool all, quiet, strict, json;
	struct dt_jobs jobs;
};

/* ---- sql ---- */

/* Runs a query with one row of up to three integers; false: it fails. */
static bool ask(struct dt_sql_session *s, const char *text, uint64_t out[3])
{
	sqlite3_stmt *q = NULL;
	bool ok = dt_sql_prepare(s, text, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW;

	for (int i = 0; ok && i < sqlite3_column_count(q) && i < 3; i++)
		out[i] = (uint64_t)sqlite3_column_int64(q, i);
	sqlite3_finalize(q);
	return ok;
}

/*
 * Says whether the trace has changed since it was checked: another file has taken its place; or it
 * is still being written and has more records; or its session has ended, and measured the clock's
 * rate once more.
 */
static bool has_changed(struct dt_reader *r, const struct dt_check *c, uint64_t records)
{
	double rate = dt_reader_ns_per_tick(r);
	struct dt_summary now;

	if (dt_reader_is_replaced(r))
		return true;
	if (dt_reader_refresh(r, NULL))
		return false;
	return dt_reader_ns_per_tick(r) != rate ||
	       (records > c->chunks.records && !dt_reader_summary(r, &now, NULL) &&
		now.records >= records);
}

/* Compares the sums with what sql, which reads the trace in its own way, makes of it. False: the
 * trace has changed meanwhile, so that they can not be compared. */
static bool check_sql(const char *path, struct dt_reader *r, struct dt_check *c)
{
	/* sql has tenths of ns, and, like the calls here, times without the waits for the tracer */
	double ns = (double)c->shown.ticks * dt_reader_ns_per_tick(r), off;
	struct dt_sql_session s;
	struct dt_error e = {""};
	uint64_t calls[3] = {0}, records[1 + 2] = {0}, lost[1 + 2] = {0}, waits[1 + 2] = {0};
	double held = (double)c->chunks.held * dt_reader_ns_per_tick(r);
	bool asked = true;

	if (dt_sql_open(&s, path, false, &e)) {
		asked = !dt_reader_is_replaced(r);
		if (asked)
			dt_faults_add(&c->faults, DT_FAULT_SQL, "%s", e.text);
	} else if (
		!ask(&s,
		     "SELECT count(*), sum(timed), cast(ifnull(sum(iif(timed, duration, 0)), 0) as integer) FROM calls",
		     calls) ||
		!ask(&s, "SELECT count(*) FROM records", records) ||
		!ask(&s, "SELECT ifnull(sum(records), 0) FROM lost", lost) ||
		!ask(&s,
		     "SELECT count(*), cast(ifnull(sum(duration), 0) as integer), "
		     "(SELECT count(*) FROM pauses) FROM held",
		     waits)) {
		asked = !dt_reader_is_replaced(r);
		if (asked)
			dt_faults_add(&c->faults, DT_FAULT_SQL, "it fails: %s",
				      sqlite3_errmsg(s.db));
	} else if (has_changed(r, c, records[0])) {
		asked = false;
	} else {
		if (records[0] != c->chunks.records)
			dt_faults_add(&c->faults, DT_FAULT_SQL, "%lu records, and there are %lu",
				      (unsigned long)records[0], (unsigned long)c->chunks.records);
		if (lost[0] != c->chunks.lost)
			dt_faults_add(&c->faults, DT_FAULT_SQL,
				      "%lu records lost, and there are %lu", (unsigned long)lost[0],
				      (unsigned long)c->chunks.lost);
		off = (double)waits[1] > held ? (double)waits[1] - held : held - (double)waits[1];
		if (waits[0] != c->chunks.holds || off > 2 + (double)waits[0] + held / 1e9)
			dt_faults_add(&c->faults, DT_FAULT_SQL,
				      "%lu waits of %lu ns, and there are %lu of %.0f",
				      (unsigned long)waits[0], (unsigned long)waits[1],
				      (unsigned long)c->chunks.holds, held);
		if (waits[2] != c->pauses)
			dt_faults_add(&c->faults, DT_FAULT_SQL, "%lu pauses, and there are %lu",
				      (unsigned long)waits[2], (unsigned long)c->pauses);
		off = (double)calls[2] > ns ? (double)calls[2] - ns : ns - (double)calls[2];
		if (calls[0] != c->shown.calls || calls[1] != c->shown.timed ||
		    off > 2 + (double)c->shown.timed / 10 + ns / 1e9)
			dt_faults_add(
				&c->faults, DT_FAULT_SQL,
				"%lu calls, %lu timed of %lu ns, and there are %lu, %lu of %.0f",
				(unsigned long)calls[0], (unsigned long)calls[1],
				(unsigned long)calls[2], (unsigned long)c->shown.calls,
				(unsigned long)c->shown.timed, ns);
	}
	dt_sql_close(&s);
	return asked;
}

/* ---- what is said ---- */

static void number(uint64_t n, const char *one, const char *many)
{
	printf("%lu %s", (unsigned long)n, n == 1 ? one : many);
}

static void say_faults(const char *path, const struct dt_check *c)
{
	for (unsigned i = 0; i < DT_FAULTS; i++) {
		const struct dt_fault *f = &c->faults.kind[i];

		if (f->n)
			printf("%s: %lu %s%s: %s\n", path, (unsigned long)f->n,
			       dt_faults_words(i, f->n), f->n == 1 ? "" : "; the first", f->first);
	}
}

/* Makes faults of order in an imported dump mere notes: the dump is kept as it came. */
static void say_imported(const char *path, struct dt_reader *r, struct dt_check *c, bool json)
{
	static const enum dt_fault_kind own[] = {DT_FAULT_ORDER, DT_FAULT_BACK, DT_FAULT_THREAD};

	if (!dt_reader_meta(r, "barrelfish.form"))
		return;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct dt_fault *f = &c->faults.kind[own[i]];

		if (f->n && json)
			dt_check_json_note(path, c, own[i], "it is so in the imported dump");
		else if (f->n)
			printf("%s: note: of the imported dump itself %lu %s%s: %s\n", path,
			       (unsigned long)f->n, dt_faults_words(own[i], f->n),
			       f->n == 1 ? "" : "; the first", f->first);
		f->n = 0;
	}
}

/* Says what an import has left out of another tool's trace: it is not the trace's fault. */
static void say_import(const char *path, const struct dt_reader *r, bool json)
{
	const char *from = dt_reader_meta(r, "imported"), *s = dt_reader_meta(r, "imported_left");
	char line[512];

	if (!from)
		return;
	dt_format(line, sizeof(line), "imported from %s; cores are not known", from);
	if (json)
		dt_check_json_told(path, line, "the trace was imported");
	else
		printf("%s: note: %s\n", path, line);
	for (; s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
		dt_format(line, sizeof(line), "in the import %.*s", (int)strcspn(s, "\n"), s);
		if (json)
			dt_check_json_told(path, line, "the trace was imported");
		else
			printf("%s: note: %s\n", path, line);
	}
}

/* Is the trace of a session of before 2026-11-24? Later ones write a revision, and imported traces
 * have no policy. */
static bool is_first(const struct dt_reader *r)
{
	return !dt_reader_meta(r, "revision") && dt_reader_meta(r, "policy");
}

/* Says what the oldest sessions did wrong that is not seen in their traces. */
static void say_first(const char *path, const struct dt_reader *r, bool json)
{
	static const char *const what[] = {
		"what threads waited for room in the rings is in the times of their calls",
		"which chosen functions were not hooked is not known, nor from when on each library was "
		"recorded: calls may be missing that are not counted as lost, of libraries that were "
		"loaded, of threads that began, and of children that outlived the program",
		"with -k, system calls of devtrace itself are among those of the program"};

	if (!is_first(r))
		return;
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++)
		if (json)
			dt_check_json_told(path, what[i], FIRST);
		else
			printf("%s: note: " FIRST ": %s\n", path, what[i]);
}

/*
 * Makes exits without entries a mere note where a program may have caused them by writing into the
 * rings: another user's program, or one that is known to have done so. Not called with --strict.
 */
static void say_forged(const char *path, const struct dt_reader *r, struct dt_check *c,
		       const struct check_options *o)
{
	const char *doubted = dt_reader_meta(r, "doubted");
	struct dt_fault *f = &c->faults.kind[DT_FAULT_PAIR];

	if (!f->n || (!doubted && !dt_reader_meta(r, "broken_rings")))
		return;
	if (o->json)
		dt_check_json_note(path, c, DT_FAULT_PAIR,
				   "the program can have written that itself");
	else if (!o->quiet)
		printf("%s: note: %lu %s: %s. The program can have written that itself: %s%s\n",
		       path, (unsigned long)f->n, dt_faults_words(DT_FAULT_PAIR, f->n), f->first,
		       doubted ? "it was another user's: " : "it has written into the rings",
		       doubted ? doubted : "");
	f->n = 0;
}

/* Says which of the faults older versions are known to have caused. */
static void say_known(const char *path, struct dt_reader *r, const struct dt_check *c)
{
	const struct dt_fault *f = c->faults.kind;
	const char *missed = dt_reader_meta(r, "held_missed");
	size_t n = missed ? strlen(missed) : 0;

	if (n > 2 && !strcmp(missed + n - 2, " f"))
		printf("%s: an older devtrace recorded it: how long the waits took that it could not tell "
		       "apart is not known\n",
		       path);
	if (is_first(r) && (f[DT_FAULT_ORDER].n || f[DT_FAULT_BACK].n))
		printf("%s: " FIRST ": with -S or -k it put records out "
		       "of order, and what reads them leaves some out; record again\n",
		       path);
}

/* Names the rings that a traced program has written into; false: there are none. */
static bool broken_rings(const struct dt_reader *r, char *out, size_t size)
{
	const char *broken = dt_reader_meta(r, "broken_rings"), *cores = dt_reader_meta(r, "cores");

	if (!broken)
		return false;
	dt_text_rings(out, size, broken, cores ? (unsigned)strtoul(cores, NULL, 10) : 0,
		      dt_reader_meta(r, "domains"));
	return true;
}

/* Says whether all records that were written into the rings are in the file. */
static void say_written(struct dt_reader *r, const struct dt_check *c)
{
	const char *revision = dt_reader_meta(r, "revision");
	char rings[256];

	if (broken_rings(r, rings, sizeof(rings)))
		printf("  not known: what was recorded from some time on by %s: a traced program has "
		       "written into that memory\n",
		       rings);
	else if (c->chunks.written_known)
		printf("  written: as many, by the rings' own counts\n");
	else if (!dt_reader_meta(r, "policy"))
		printf("  not known: how many records were written; this is no recording of a session's own\n");
	else if (!revision || strtol(revision, NULL, 10) < 2)
		printf("  not known: how many records were written; an older devtrace recorded it\n");
	else
		printf("  not known: how many records were written; its session goes on, or was cut off\n");
}

/* Says what is in no call's time (waits for the tracer), and what is in no call (pauses). */
static void say_left_out(struct dt_reader *r, const struct dt_check *c)
{
	struct dt_budget_sum off;

	if (c->chunks.holds) {
		printf("  waits for devtrace: %lu, of %.3f ms together, in no call's time",
		       (unsigned long)c->chunks.holds,
		       (double)c->chunks.held * dt_reader_ns_per_tick(r) / 1e6);
		printf(c->pauses ? "; %lu pauses\n" : "\n", (unsigned long)c->pauses);
	} else if (c->pauses) {
		printf("  pauses: %lu\n", (unsigned long)c->pauses);
	}
	if (!dt_reader_meta(r, "budget"))
		return;
	dt_budget_sum(r, &off);
	printf("  budget of %s %%: %lu functions were off, %lu times in all; some %lu calls of them "
	       "are not in the trace (estimated)\n",
	       dt_reader_meta(r, "budget"), (unsigned long)off.functions, (unsigned long)off.times,
	       (unsigned long)off.calls);
}

static void say_sound(const char *path, struct dt_reader *r, const struct dt_check *c,
		      bool asked_sql)
{
	const struct dt_check_calls *n = &c->calls;

	printf("%s: sound: ", path);
	number(c->chunks.records, "record", "records");
	printf(" in ");
	number(c->chunks.chunks, "chunk", "chunks");
	printf(", %lu lost\n", (unsigned long)c->chunks.lost);
	say_written(r, c);
	printf("  calls: %lu; %lu returned, %lu unwound, %lu ended in a jump, %lu open at the end, %lu "
	       "begun before; of these %lu with losses meanwhile\n",
	       (unsigned long)n->calls, (unsigned long)n->returned, (unsigned long)n->unwound,
	       (unsigned long)n->tail, (unsigned long)n->open, (unsigned long)n->before,
	       (unsigned long)n->lossy);
	if (n->early)
		printf("  not known: the entries of %lu of these; the file was cut off when not all cores had been "
		       "read as far, which they all had up to %.3f ms before its end\n",
		       (unsigned long)n->early,
		       (double)(c->chunks.end - c->whole) * dt_reader_ns_per_tick(r) / 1e6);
	say_left_out(r, c);
	printf("  the same in report%s%s%s\n", c->kept ? ", in what view keeps in the file" : "",
	       c->remade ? ", in view" : "", asked_sql ? ", in sql" : "");
	if (!asked_sql)
		printf("  not asked: sql, and view%s; -a does, in a longer time\n",
		       c->kept ? " itself" : "");
}

static int check_file(const char *path, const struct check_options *o)
{
	struct dt_progress progress;
	struct dt_summary summary = {0};
	struct dt_check_how how;
	struct dt_check c = {.paired = false};
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(path, &e);
	char rings[256];
	bool again;
	int rc;

	if (!r) {
		if (o->json)
			dt_check_json_trace(path, NULL, &c, false, e.text);
		else
			printf("%s\n", e.text);
		return 1;
	}
	again = !dt_reader_summary(r, &summary, NULL) && (o->all || summary.records <= SHORT);
	dt_progress_begin(&progress, r);
	progress.total *= 2; /* every record is read twice: by itself, then as part of a call */
	how = (struct dt_check_how){.again = again,
				    .threads = dt_jobs_for(&o->jobs, summary.records),
				    .watch = progress.watch,
				    .ctx = &progress};
	if (how.threads > 1)
		progress.total /= 2; /* what reads the calls beside does not tell */
	rc = dt_check_trace(r, path, &how, &c, &e);
	dt_progress_end(&progress, r);
	if (!rc && again && c.paired)
		again = check_sql(path, r, &c);
	if (!rc && o->strict && broken_rings(r, rings, sizeof(rings)))
		dt_faults_add(&c.faults, DT_FAULT_WRITTEN,
			      "a traced program has written into the memory of %s", rings);
	if (!rc)
		say_imported(path, r, &c, o->json);
	if (!rc && (o->json || !o->quiet)) {
		say_import(path, r, o->json);
		say_first(path, r, o->json);
	}
	if (!rc && !o->strict)
		say_forged(path, r, &c, o);
	if (o->json) {
		if (!rc)
			dt_check_json_faults(path, &c, NULL);
		dt_check_json_trace(path, r, &c, again, rc ? e.text : NULL);
		rc = rc || dt_faults_sum(&c.faults);
	} else if (rc) {
		rc = dt_cmd_fail("%s: %s", path, e.text);
	} else if (dt_faults_sum(&c.faults)) {
		say_faults(path, &c);
		say_known(path, r, &c);
		if (!c.paired)
			printf("%s: its calls were not looked at\n", path);
		printf("%s: not sound\n", path);
		rc = 1;
	} else if (!o->quiet) {
		say_sound(path, r, &c, again);
	}
	dt_check_free(&c);
	dt_reader_close(r);
	return rc;
}

/* Checks all traces of a fleet, and whether they fit to how it has aligned them. */
static int check_fleet(const char *path, const struct check_options *o)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_fleet_checked c;
	struct dt_reader **reader;
	struct dt_error e;
	struct dt_fleet *f;
	int status = 0;

	if (o->json) {
		dt_cmd_fail("%s: --json is of traces, not of a fleet", path);
		return 2;
	}
	f = dt_fleet_open_all(path, &needs, &reader, &status);
	if (!f)
		return status;
	for (uint32_t i = 0; i < f->hosts; i++)
		status |= check_file(f->host[i].path, o);
	if (dt_fleet_check(f, reader, &c, &e)) {
		status = dt_cmd_fail("%s", e.text);
	} else if (c.backward) {
		printf("%s: %lu of %lu messages are received before they are sent: the fleet is not of "
		       "these traces, or damaged; merge anew\n%s: not sound\n",
		       path, (unsigned long)c.backward, (unsigned long)c.messages, path);
		status = 1;
	} else if (!o->quiet) {
		printf("%s: sound: %u traces; %lu messages between them, none received before it was "
		       "sent",
		       path, f->hosts, (unsigned long)(c.messages - c.doubted));
		if (c.doubted)
			printf("; of %lu more nothing is claimed, as a clock stepped",
			       (unsigned long)c.doubted);
		putchar('\n');
	}
	dt_fleet_close_all(f, reader);
	return status;
}

int dt_cmd_check(int argc, char **argv)
{
	static const struct option options[] = {{"all", no_argument, NULL, 'a'},
						{"quiet", no_argument, NULL, 'q'},
						{"strict", no_argument, NULL, 's'},
						{"json", no_argument, NULL, 'J'},
						{"jobs", required_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct check_options o = {.all = false};
	int c, status = 0;

	while ((c = getopt_long(argc, argv, "aqsj:h", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			o.all = true;
			break;
		case 'q':
			o.quiet = true;
			break;
		case 's':
			o.strict = true;
			break;
		case 'J':
			o.json = true;
			break;
		case 'j':
			if (!dt_jobs_parse(&o.jobs, optarg))
				return 2;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			return dt_cmd_usage("check");
		}
	}
	if (argc - optind == 1 && dt_fleet_is(argv[optind]))
		return check_fleet(argv[optind], &o);
	if (optind == argc)
		dt_needs_add(&needs, DT_NEED_TRACE, DT_DEFAULT_FILE);
	for (int i = optind; i < argc; i++)
		dt_needs_add(&needs, DT_NEED_TRACE, argv[i]);
	status = dt_cmd_confine(&needs);
	if (status)
		return status;
	if (optind == argc)
		return check_file(DT_DEFAULT_FILE, &o);
	for (; optind < argc; optind++)
		status |= check_file(argv[optind], &o);
	if (fflush(stdout) || ferror(stdout))
		return dt_cmd_fail("standard output: cannot write");
	return status;
}
