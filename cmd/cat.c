/* SPDX-License-Identifier: MIT */
/* devtrace cat: the records of a trace as lines of text, in the order of time. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "arch/arch.h"
#include "cmd/cat-work.h"
#include "cmd/commands.h"
#include "fleet/fleet.h"
#include "core/search.h"
#include "show/event.h"
#include "cmd/follow.h"
#include "cmd/one-trace.h"
#include "core/signature.h"
#include "core/processor.h"

static const char help[] =
	"usage: devtrace cat [-l|-c|-3|-k|--json] [--cpu] [--from TIME] [--to TIME] [FILE]\n"
	"Prints the records of a trace, one line each, in the order of time.\n"
	"\n"
	"A line has 121 bytes: kind (E entry, X exit), pc, ticks, thread, and the four\n"
	"arguments or the result, in hexadecimal.\n"
	"\n"
	"  -l, --long        key=value lines, with function names; also what was lost\n"
	"  -c, --compact     short lines, each to be read after those before it; also what was\n"
	"                    lost\n"
	"  -3, --32          the line of 32-bit machines: 64 bytes, three values, low 32 bits\n"
	"      --cpu         with the core's number, in the line of 121 bytes and in that of\n"
	"                    32-bit machines, which then has 69\n"
	"  -k, --kitrace     Kitrace's line: function+offset, date and time, seconds since the\n"
	"                    record before or the last BASE, flags, thread and values\n"
	"      --json        JSON lines, for programs: devtrace-json(5)\n"
	"      --from TIME   begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME     end there\n"
	"  -s, --session SESSION  the records of a running session: they are taken out of its log\n"
	"  -f, --follow           go on until the session ends (of the only session, without -s)\n"
	"  -p, --peek             leave them in the log\n" DT_TERMINAL_HELP
	"  -h, --help        show this\n"
	"\n"
	"FILE is devtrace.db when not given. Of a fleet (devtrace merge), lines have the machine's\n"
	"name before them, or host=, and are in the order of the fleet's time.\n";

static void print_loss(struct dt_out *o, const struct dt_reader *r, const struct dt_span *s)
{
	dt_out_text(o, "kind=LOSS core=");
	dt_out_decimal(o, dt_reader_ring_core(r, s->core));
	dt_out_text(o, " lost=");
	dt_out_decimal(o, s->lost);
	dt_out_text(o, " begin=");
	dt_out_decimal(o, s->lost_begin);
	if (s->lost_end) {
		dt_out_text(o, " end=");
		dt_out_decimal(o, s->lost_end);
	}
	dt_out_char(o, '\n');
}

static const char *short_name(const struct dt_reader *r, uint32_t function)
{
	const char *name = function ? dt_reader_function_name(r, function) : NULL;

	return name && strlen(name) > LONGEST_NAME ? "?" : name;
}

/* Adds to the line of a record about a thread the thread's name, if it is known. */
static void print_thread(struct dt_out *o, const struct dt_reader *r, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(r, tid);

	if (!t || !*t->name || strlen(t->name) > LONGEST_NAME)
		return;
	o->n--; /* the newline goes after the name */
	dt_out_text(o, " thread=");
	o->n = (size_t)(dt_text_name(dt_out_room(o, 2 * LONGEST_NAME + 2), t->name) - o->buffer);
	dt_out_char(o, '\n');
}

static void print_long(struct cat *k, const struct dt_span *s)
{
	struct dt_out *o = &k->out;

	if (s->lost)
		print_loss(o, k->reader, s);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
		char *p = dt_out_room(o, DT_LONG_LINE + 2 * LONGEST_NAME);
		struct dt_record record;

		dt_span_record(k->reader, s, i, &record);
		dt_out_used(o, dt_text_long(p, &record, short_name(k->reader, site->function),
					    site->mask));
		if (record.kind == DT_EVENT && dt_reader_event(k->reader, record.value[0])) {
			o->n--; /* the newline goes after the name */
			dt_out_text(o, " event=");
			dt_event_name(o, k->reader, record.value[0]);
			dt_out_char(o, '\n');
		}
		if (dt_reader_number(k->reader, s->tid) != s->tid) {
			o->n--; /* as before */
			dt_out_text(o, " number=");
			dt_out_decimal(o, dt_reader_number(k->reader, s->tid));
			dt_out_char(o, '\n');
		}
		if (dt_kind_is_about(record.kind))
			print_thread(o, k->reader, record.tid);
	}
}

static void print_compact(struct cat *k, const struct dt_span *s)
{
	if (s->lost) {
		dt_out_char(&k->out, '#');
		print_loss(&k->out, k->reader, s);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		char *p = dt_out_room(&k->out, DT_COMPACT_TEXT);
		struct dt_record record;

		dt_span_record(k->reader, s, i, &record);
		dt_out_used(&k->out, dt_compact_put(&k->compact, p, &record,
						    dt_reader_site(k->reader, s->site[i])->mask));
	}
}

static int by_address(const void *a, const void *b, void *reader)
{
	const struct dt_function_info *x = dt_reader_function(reader, *(const uint32_t *)a);
	const struct dt_function_info *y = dt_reader_function(reader, *(const uint32_t *)b);

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Sorts the functions' rows by address; done again when a live file has gained functions. */
static void sort_functions(struct cat *k)
{
	uint32_t n = dt_reader_functions(k->reader);
	uint32_t *p = realloc(k->by_address, (n + 1) * sizeof(*p));

	if (!p)
		return;
	for (uint32_t i = 0; i < n; i++)
		p[i] = i + 1;
	qsort_r(p, n, sizeof(*p), by_address, k->reader);
	k->by_address = p;
	k->sorted = n;
}

/* Returns the name of the process's function that contains the address, if the trace has it; or
 * NULL. pid 0: of any process. */
static const char *function_at(struct cat *k, uint32_t pid, uint64_t address, uint64_t *offset)
{
	size_t low;

	if (k->sorted != dt_reader_functions(k->reader))
		sort_functions(k);
	low = dt_count_before(k->sorted, i,
			      dt_reader_function(k->reader, k->by_address[i])->address <= address);
	/* functions of several processes can have the same address */
	for (uint64_t at = 0; low-- > 0;) {
		uint32_t row = k->by_address[low];
		const struct dt_function_info *f = dt_reader_function(k->reader, row);
		const struct dt_module_info *m = dt_reader_module(k->reader, f->module);

		if (at && f->address != at)
			break;
		at = f->address;
		*offset = address - at;
		if (*offset < (f->size ? f->size : 1) && (!m || !pid || m->pid == pid))
			return short_name(k->reader, row);
	}
	return NULL;
}

/* Does what function_at() does, and otherwise looks in the process's files, which have functions
 * that were not recorded, and variables. */
static const char *symbol_at(struct cat *k, uint32_t pid, uint64_t address, uint64_t *offset)
{
	const char *name = function_at(k, pid, address, offset);

	if (name || !address)
		return name;
	if (!k->pointers)
		k->pointers = dt_pointers_new(k->reader);
	if (!k->pointers || !dt_pointers_any(k->pointers, address))
		return NULL;
	name = dt_pointers_name(k->pointers, pid, address, offset);
	return name && strlen(name) > LONGEST_NAME ? NULL : name;
}

/* Writes n bytes of a text, at most 32, and a NUL; a byte that can not be printed becomes a dot. */
static void put_text(char out[40], const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = bytes[i] >= ' ' && bytes[i] != 0x7f && bytes[i] != '"' ? bytes[i] : '.';
	out[n] = '\0';
}

/* Finds the names of a point's values, by a signature like "rax:p@0,count:i4@1;v". They are copied
 * to text, each ended by a NUL. */
static void point_names(const char *signature, char *text, size_t size, const char *name[4])
{
	const char *p = signature ? signature : "";
	struct dt_signature_value v;

	for (unsigned i = 0; i < 4; i++)
		name[i] = "?";
	while (dt_signature_next(&p, &v) && v.name_length < size) {
		for (unsigned i = 0; i < v.places; i++)
			if (v.place[i].n < 4)
				name[v.place[i].n] = text;
		memcpy(text, v.name, v.name_length);
		text[v.name_length] = '\0';
		text += v.name_length + 1;
		size -= v.name_length + 1u;
	}
}

static void print_kitrace_record(struct cat *k, const struct dt_span *s, uint32_t i, int64_t zone)
{
	static const char *const numbers[4] = {"v0", "v1", "v2", "v3"};
	const struct dt_processor *processor = dt_processor(dt_reader_meta(k->reader, "processor"));
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	const struct dt_function_info *f = dt_reader_function(k->reader, site->function);
	const char *name[4];
	char labels[512], text[40];
	const char *piece;
	size_t bytes;
	struct dt_kitrace_item item[4];
	struct dt_kitrace_record line = {.offset = site->pc,
					 .date = true,
					 .flags = s->flags[i],
					 .tid = s->tid,
					 .item = item};
	uint64_t ns = 0;

	memcpy(name, site->kind == DT_ENTRY ? processor->entry : numbers, sizeof(name));
	if (s->flags[i] & DT_LATEFREEZE)
		line.flags |= DT_KITRACE_LATEFREEZE;
	if ((s->flags[i] & DT_NARGS) == DT_ADJACENT)
		line.flags |= DT_KITRACE_ADJACENT;
	dt_reader_realtime(k->reader, s->ticks[i], &ns);
	line.us = (k->fleet_us ? k->fleet_us : ns / 1000) + (uint64_t)(zone * 1000000);
	if (f) {
		line.symbol = short_name(k->reader, site->function);
		line.offset = site->pc - f->address;
	}
	if (site->place == DT_SITE_POINT || site->place == DT_SITE_POINT_MORE ||
	    site->place == DT_SITE_POINT_TEXT || site->place == DT_SITE_POINT_BUFFER)
		point_names(f ? f->signature : NULL, labels, sizeof(labels), name);
	for (unsigned j = 0; j < 4; j++) {
		struct dt_kitrace_item *it = &item[line.items];

		if (!(site->mask >> j & 1) || (site->kind == DT_EXIT && j > 0))
			continue;
		*it = (struct dt_kitrace_item){.name = name[j], .value = s->value[i][j]};
		piece = dt_text_piece(site, s->value[i], &bytes);
		if (piece) { /* its four values are one text */
			put_text(text, piece, bytes);
			it->text = text;
			it->value = 0;
			line.items++;
			break;
		}
		it->bad = (s->flags[i] & DT_FAULT) &&
			  (site->kind == DT_POINT || site->kind == DT_MORE) &&
			  dt_capture_is_bad(it->value);
		if (site->kind == DT_EXIT)
			it->name = processor->exit[0];
		if (!it->bad)
			it->symbol = symbol_at(k, site->pid, it->value, &it->offset);
		line.items++;
	}
	dt_out_used(&k->out,
		    dt_kitrace_line(&k->kitrace,
				    dt_out_room(&k->out, DT_KITRACE_TEXT + 6 * LONGEST_NAME),
				    &line));
}

static void print_kitrace(struct cat *k, const struct dt_span *s)
{
	struct tm tm;
	uint64_t ns;
	time_t t;

	if (!s->n)
		return;
	/* the time zone's offset can change (summer time); it is taken once for a span */
	dt_reader_realtime(k->reader, s->ticks[0], &ns);
	t = (time_t)(ns / 1000000000);
	localtime_r(&t, &tm);
	for (uint32_t i = 0; i < s->n; i++)
		print_kitrace_record(k, s, i, tm.tm_gmtoff);
}

static void print_lines(struct dt_out *o, const struct dt_reader *r, const struct dt_span *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct dt_record record;

		dt_span_record(r, s, i, &record);
		dt_text_line(dt_out_room(o, DT_LINE), &record);
		dt_out_used(o, DT_LINE);
	}
}

static void print_layout(struct cat *k, const struct dt_span *s)
{
	size_t n = dt_layout_size(k->layout);

	for (uint32_t i = 0; i < s->n; i++) {
		struct dt_record record;

		dt_span_record(k->reader, s, i, &record);
		k->cut += !dt_layout_line(dt_out_room(&k->out, n), k->layout, &record);
		dt_out_used(&k->out, n);
	}
	k->lines += s->n;
}

void dt_cat_span(struct cat *k, const struct dt_span *s)
{
	switch (k->format) {
	case 'l':
		print_long(k, s);
		break;
	case 'c':
		print_compact(k, s);
		break;
	case 'k':
		print_kitrace(k, s);
		break;
	case 'j':
		dt_cat_json_span(&k->json, s);
		break;
	default:
		if (k->layout == DT_LAYOUT_64)
			print_lines(&k->out, k->reader, s);
		else
			print_layout(k, s);
	}
}

/* Prints the records of a span that are to be shown. */
static void print_span(struct cat *k, const struct dt_span *s)
{
	struct dt_span part = *s;

	if (k->switches) {
		dt_cat_span(k, s);
		return;
	}
	for (uint32_t i = 0, end; i < s->n || part.lost; i = end + 1) {
		for (end = i; end < s->n; end++)
			if (dt_feed_is_unasked(k->reader,
					       dt_reader_site(k->reader, s->site[end])->kind))
				break;
		part.n = end - i;
		part.ticks = s->ticks + i;
		part.sp = s->sp + i;
		part.site = s->site + i;
		part.flags = s->flags + i;
		part.record_core = s->record_core ? s->record_core + i : NULL;
		part.value = s->value ? s->value + i : NULL;
		if (part.n || part.lost)
			dt_cat_span(k, &part);
		part.lost = 0;
	}
}

static int print(struct cat *k, const struct dt_reader_range *range)
{
	struct dt_error e;
	struct dt_span s;
	uint64_t ns;
	int rc;

	if (k->format == 'k' && !dt_reader_realtime(k->reader, 0, &ns))
		return dt_cmd_fail("the trace has no reading of the wall clock, which -k prints");
	if (k->format == 'j' && dt_cat_json_begin(&k->json, k->reader, &k->out, &e))
		return dt_cmd_fail("%s", e.text);
	if (k->format == 'c')
		dt_out_used(&k->out,
			    dt_compact_begin(&k->compact, dt_out_room(&k->out, DT_COMPACT_TEXT)));
	k->switches = dt_feed_switches_asked(k->reader);
	rc = dt_reader_start(k->reader, range, &e);
	while (!rc && !k->out.failed && (rc = dt_reader_next(k->reader, &s, &e)) > 0) {
		print_span(k, &s);
		rc = 0;
	}
	if (rc < 0) {
		dt_out_flush(&k->out);
		return dt_cmd_fail("%s", e.text);
	}
	rc = dt_out_end(&k->out);
	if (k->cut)
		dt_cmd_fail("note: %llu of %llu lines do not hold all that was recorded: a "
			    "32-bit line has the low 32 bits of the pc and of three values",
			    (unsigned long long)k->cut, (unsigned long long)k->lines);
	return rc;
}

/* Returns the name of the option that chooses a format. */
static const char *option_of(int format)
{
	static const char name[][7] = {"--json", "-l", "-c", "-3", "-k"};

	for (size_t i = 1; i < sizeof(name) / sizeof(*name); i++)
		if (format == name[i][1])
			return name[i];
	return name[0];
}

/* Notes the chosen format; false: another one was chosen before, which is reported. */
static bool choose(struct cat *k, int option)
{
	if (k->format && k->format != option) {
		dt_cmd_fail("%s and %s are different lines; choose one", option_of(k->format),
			    option_of(option));
		return false;
	}
	k->format = (char)option;
	return true;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct cat *k, struct dt_range_options *when)
{
	static const struct option options[] = {{"long", no_argument, NULL, 'l'},
						{"compact", no_argument, NULL, 'c'},
						{"32", no_argument, NULL, '3'},
						{"kitrace", no_argument, NULL, 'k'},
						{"json", no_argument, NULL, 'j'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"cpu", no_argument, NULL, 3},
						{"session", required_argument, NULL, 's'},
						{"follow", no_argument, NULL, 'f'},
						{"peek", no_argument, NULL, 'p'},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	bool cpu = false;
	int o, status = -1;

	while ((o = getopt_long(argc, argv, "lc3ks:fph", options, NULL)) != -1) {
		switch (o) {
		case 'l':
		case 'c':
		case '3':
		case 'k':
		case 'j':
			if (!choose(k, o))
				return dt_cmd_usage("cat");
			break;
		case 's':
			k->session = optarg;
			k->live = true;
			break;
		case 'f':
			k->follow = k->live = true;
			break;
		case 'p':
			k->peek = k->live = true;
			break;
		case 1:
			when->from = optarg;
			break;
		case 2:
			when->to = optarg;
			break;
		case 3:
			cpu = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!dt_terminal_option(&k->terminal, o, &status))
				return dt_cmd_usage("cat");
			if (status >= 0)
				return status;
		}
	}
	if (cpu && k->format && k->format != '3') {
		dt_cmd_fail("--cpu adds the core to lines of fixed columns, not to those of %s",
			    option_of(k->format));
		return dt_cmd_usage("cat");
	}
	if (k->format == '3')
		k->layout = cpu ? DT_LAYOUT_32_CPU : DT_LAYOUT_32;
	else if (cpu)
		k->layout = DT_LAYOUT_64_CPU;
	return -1;
}

int dt_cmd_cat(int argc, char **argv)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	static struct cat k = {.out.fd = STDOUT_FILENO};
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_range_options when = {0};
	int status = parse(argc, argv, &k, &when);

	if (status >= 0)
		return status;
	if (k.live &&
	    (optind < argc || when.from || when.to || (k.format && k.format != 'l') || k.layout)) {
		dt_cmd_fail("of a running session, -s, there are all records, in the line of 121 "
			    "bytes or with -l: no FILE, --from, --to, -k or --json");
		return dt_cmd_usage("cat");
	}
	if (k.live)
		return dt_cmd_follow(k.session, k.follow, !k.peek, k.format == 'l');
	dt_terminal_listing(&k.terminal, k.format != 'j');
	if (k.terminal.columns)
		k.out.file = stdout;
	if (argc - optind == 1 && dt_fleet_is(argv[optind]))
		return dt_cat_fleet(&k, argv[optind], &when);
	k.reader = dt_cmd_open_one(argc, argv, "cat", &needs, &status);
	if (!k.reader)
		return status;
	status = dt_cmd_range(k.reader, &when, &range) ? print(&k, &range) : 2;
	if (k.format != 'l')
		dt_cmd_say_lost(k.reader, status);
	dt_reader_close(k.reader);
	free(k.by_address);
	dt_pointers_free(k.pointers);
	return status;
}
