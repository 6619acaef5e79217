/* SPDX-License-Identifier: MIT */
/* The device language, on a provider that is only an array: what is on, what was asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/address.h"
#include "core/device.h"
#include "core/words.h"
#include "test/unit/share.h"

#define BASE 0xffffffff80000000ull
#define END  0xffffffff80ffffffull

struct host {
	struct dt_device d;
	uint64_t records, injected[5], injected_pid;
	bool active, all, frozen, fail; /* fail: the next apply does */
	unsigned applied, resets, live; /* live: ranges that have been checked and not forgotten */
	char answer[65536];
	size_t n;
};

static const struct {
	const char *name;
	uint64_t start, end;
} symbol[] = {
	{"rtctime", BASE + 0x119f61, BASE + 0x11aa00}, {"sync", BASE + 0x1000, BASE + 0x10ff},
	{"add", BASE + 0x2000, BASE + 0x20ff},	       {"operator+", BASE + 0x3000, BASE + 0x30ff},
	{"link", BASE + 0x4000, BASE + 0x40ff},
};

static void *host_resize(void *ctx, void *p, size_t bytes)
{
	if (bytes)
		return realloc(p, bytes);
	free(p);
	return NULL;
}

static int host_place(void *ctx, const char *text, struct dt_place *place, struct dt_error *e)
{
	if (strcmp(text, "twice") == 0)
		return dt_fail(e, "'twice' names 2 functions: a:1000, b:2000");
	for (size_t i = 0; i < sizeof(symbol) / sizeof(*symbol); i++) {
		if (strcmp(text, symbol[i].name) != 0)
			continue;
		place->start = symbol[i].start;
		place->end = symbol[i].end;
		return 1;
	}
	return 0;
}

static void host_text(void *ctx, uint64_t *base, uint64_t *end)
{
	*base = BASE;
	*end = END;
}

static int host_check(void *ctx, struct dt_range *r, struct dt_error *e)
{
	struct host *h = ctx;

	if (r->kind == DT_RANGE_POINT && (r->start & 1))
		return dt_fail(e, "no instruction begins at %lx", (unsigned long)r->start);
	h->live++;
	r->host = h;
	return 0;
}

static void host_forget(void *ctx, struct dt_range *r)
{
	struct host *h = ctx;

	if (r->host)
		h->live--;
	r->host = NULL;
}

static int host_apply(void *ctx, struct dt_range *r, struct dt_error *e)
{
	struct host *h = ctx;

	if (h->fail)
		return dt_fail(e, "the provider can not");
	h->applied++;
	return 0;
}

static int host_start(void *ctx, bool active, bool all, struct dt_error *e)
{
	struct host *h = ctx;

	h->active = active;
	h->all = all;
	return 0;
}

static int host_freeze(void *ctx, bool frozen, struct dt_error *e)
{
	((struct host *)ctx)->frozen = frozen;
	return 0;
}

static int host_size(void *ctx, uint64_t records, struct dt_error *e)
{
	((struct host *)ctx)->records = records;
	return 0;
}

static int host_reset(void *ctx, struct dt_error *e)
{
	((struct host *)ctx)->resets++;
	return 0;
}

static int host_inject(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t v[4],
		       struct dt_error *e)
{
	struct host *h = ctx;

	h->injected[0] = pc;
	memcpy(h->injected + 1, v, 4 * sizeof(*v));
	h->injected_pid = who->pid;
	return 0;
}

static void host_counters(void *ctx, struct dt_counters *n)
{
	n->frozen = ((struct host *)ctx)->frozen;
}

static int host_subsystem(void *ctx, const char *name, uint16_t *number)
{
	*number = 7;
	return strcmp(name, "bench") == 0;
}

static const struct dt_device_ops ops = {
	.resize = host_resize,
	.place = host_place,
	.text = host_text,
	.check = host_check,
	.forget = host_forget,
	.apply = host_apply,
	.start = host_start,
	.freeze = host_freeze,
	.size = host_size,
	.reset = host_reset,
	.inject = host_inject,
	.counters = host_counters,
	.subsystem = host_subsystem,
};

static void take_answer(void *ctx, const char *line, size_t n)
{
	struct host *h = ctx;

	assert_true(h->n + n < sizeof(h->answer));
	memcpy(h->answer + h->n, line, n);
	h->n += n;
	h->answer[h->n] = '\0';
}

static struct dt_error error;

static int write_text(struct host *h, const char *text)
{
	struct dt_asker who = {.pid = 572, .answer = take_answer, .ctx = h};

	h->n = 0;
	h->answer[0] = '\0';
	return dt_device_write(&h->d, &who, text, strlen(text), &error);
}

struct text {
	char p[1 << 20];
	size_t n;
};

static void take_line(void *ctx, const char *line, size_t n)
{
	struct text *t = ctx;

	assert_true(t->n + n < sizeof(t->p));
	memcpy(t->p + t->n, line, n);
	t->n += n;
	t->p[t->n] = '\0';
}

static char *read_text(struct host *h)
{
	static struct text t;

	t.n = 0;
	t.p[0] = '\0';
	dt_device_read(&h->d, take_line, &t);
	return t.p;
}

/* What restores the state: without comments. */
static char *commands(struct host *h)
{
	char *text = strdup(read_text(h)), *out = text;

	for (char *p = text, *next; *p; p = next) {
		next = strchr(p, '\n') + 1;
		if (*p == '#')
			continue;
		memmove(out, p, (size_t)(next - p));
		out += next - p;
	}
	*out = '\0';
	return text;
}

static int begin(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	dt_device_init(&h->d, &ops, h);
	*state = h;
	return 0;
}

static int end(void **state)
{
	struct host *h = *state;

	dt_device_free(&h->d);
	assert_int_equal(h->live, 0);
	free(h);
	return 0;
}

#define OK(text) assert_int_equal(write_text(h, text), 0)

/* The command fails, says so, and changes nothing. */
static void refused(struct host *h, const char *text, const char *why)
{
	char *before = commands(h), *after;
	struct host was = *h;

	assert_int_equal(write_text(h, text), -1);
	if (!strstr(error.text, why))
		fail_msg("'%s': says '%s', not '%s'", text, error.text, why);
	assert_null(strchr(error.text, '\n'));
	after = commands(h);
	assert_string_equal(before, after);
	assert_int_equal(h->active, was.active);
	assert_int_equal(h->live, was.live);
	assert_int_equal(h->records, was.records);
	free(before);
	free(after);
	assert_non_null(strstr(read_text(h), "\n#error "));
}

static void fresh_has_eight_lines(void **state)
{
	assert_string_equal(read_text(*state), "logsize 8192\n"
					       "#tracehits 0, in queue 0\n"
					       "#tracelog 0000000000000000\n"
					       "#newplfail 0\n"
					       "#traceactive 0\n"
					       "#slothits 0\n"
					       "#traceinhits 0\n"
					       "watch 0\n");
}

static void check_017_short_and_full_addresses(void **state)
{
	struct host *h = *state;

	OK("trace 119f61 11aac8 new rtc");
	OK("trace rtc on");
	OK("start");
	assert_string_equal(read_text(h), "logsize 8192\n"
					  "trace ffffffff80119f61 ffffffff8011aac8 new rtc\n"
					  "#trace ffffffff80119f61 traced? 0000000000000001\n"
					  "trace rtc on\n"
					  "#tracehits 0, in queue 0\n"
					  "#tracelog 0000000000000000\n"
					  "#newplfail 0\n"
					  "#traceactive 1\n"
					  "#slothits 1\n"
					  "#traceinhits 0\n"
					  "watch 0\n"
					  "start\n");
	OK("trace rtc remove");
	OK("trace ffffffff80119f61 0xffffffff8011aac8 new rtc");
	assert_non_null(strstr(read_text(h), "trace ffffffff80119f61 ffffffff8011aac8 new rtc\n"));
}

static void check_018_symbols_before_numbers(void **state)
{
	struct host *h = *state;
	struct dt_place p;

	assert_int_equal(dt_address(&h->d, "add", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0x2000 && p.end == BASE + 0x20ff);
	assert_int_equal(dt_address(&h->d, "0xadd", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0xadd);
	assert_int_equal(dt_address(&h->d, "sync+10", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0x1010);
	assert_int_equal(dt_address(&h->d, "sync+10+0x4", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0x1014);
	assert_int_equal(dt_address(&h->d, "operator+", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0x3000);
	assert_int_equal(dt_address(&h->d, "10+sync", &p, "", NULL), 0);
	assert_true(p.start == BASE + 0x1010);
	assert_int_equal(dt_address(&h->d, "sync+", &p, "", NULL), -1);
	assert_int_equal(dt_address(&h->d, "nobody", &p, "", NULL), -1);
	assert_int_equal(dt_address(&h->d, "11111111111111111", &p, "", NULL), -1);
}

static void check_014_overlap_is_refused(void **state)
{
	struct host *h = *state;

	OK("trace 1000 2000 new a");
	refused(h, "trace 1000 2000 new b", "overlaps with existing trace 'a'"); /* exact */
	refused(h, "trace 0800 1800 new b", "overlaps");
	refused(h, "trace 0800 2800 new b", "overlaps"); /* enclosing */
	refused(h, "trace 1800 1900 new b", "overlaps"); /* enclosed */
	refused(h, "trace 2000 2800 new b", "overlaps"); /* a shared end */
	refused(h, "trace 0800 1000 new b", "overlaps");
	refused(h, "trace 1000 2800 new b", "overlaps");
	OK("trace 2001 2800 new b");
	OK("trace 0800 0fff new c");
	OK("trace a remove");
	OK("trace 1000 2000 new a");
}

static void check_015_016_bad_ranges(void **state)
{
	struct host *h = *state;

	OK("trace 1000 2000 new a");
	refused(h, "trace 3000 4000 new a", "trace with that name already exists: 'a'");
	refused(h, "trace xyz 4000 new b", "start address not in recognized format: 'xyz'");
	refused(h, "trace 3000 xyz new b", "end address not in recognized format: 'xyz'");
	refused(h, "trace 4000 3000 new b", "invalid address range");
	refused(h, "trace 4000 f0000000 new b", "invalid address range");
	refused(h, "trace twice 4000 new b", "names 2 functions");
	refused(h, "trace 3000 4000 new", "usage: trace");
	refused(h, "trace 3000 4000 new b FROST", "'FROST' is no option");
	refused(h, "trace 3000 4000 new b ONLYPID", "needs a number");
	refused(h, "trace 3000 4000 new b LATEFREEZE many", "not 'many'");
	refused(h, "trace 3000 4000 new b REG g1", "REG");
	refused(h, "trace b on", "trace not found: 'b'");
	refused(h, "trace a on now", "usage: trace <name> on");
	refused(h, "trace", "usage: trace");
	OK("trace 3000 3000 new one"); /* D6: a range may be one address */
}

static void check_007_013_names(void **state)
{
	char text[256];
	struct host *h = *state;

	memset(text, 0, sizeof(text));
	snprintf(text, sizeof(text), "trace 1000 2000 new %.*s", DT_NAME_MAX,
		 "123456789012345678901234567890123456789012345678901234567890123");
	OK(text);
	snprintf(text, sizeof(text), "trace 3000 4000 new %s",
		 "1234567890123456789012345678901234567890123456789012345678901234");
	refused(h, text, "has 64 bytes; at most 63");
	OK("trace 3000 4000 new 'it''s a name'\ntrace 'it''s a name' on");
	assert_non_null(strstr(read_text(h), "\ntrace 'it''s a name' on\n"));
	OK("trace 'it''s a name' rename b");
	refused(h, "trace 'it''s a name' off", "not found");
	assert_true(dt_device_find(&h->d, "b")->on);
	OK("trace b mv c");
	refused(h, "trace c mv", "usage: trace <name> rename");
	refused(h, "trace 'c on", "quote");
}

static void check_011_012_tracepoints(void **state)
{
	struct host *h = *state;

	OK("trace sync PID FREEZE sync+50 ONLYPID 12 link");
	assert_int_equal(h->d.n, 3);
	OK("list");
	assert_string_equal(h->answer, "sync                     PID FREEZE\n"
				       "sync+50                  ONLYPID 12\n"
				       "link\n");
	OK("trace sync BASE UNFREEZE");
	assert_string_equal(h->answer, "kitrace: Tracepoint at sync already exists, updating\n");
	/* other ways to write an address are the same point */
	OK("trace 1050");
	assert_string_equal(h->answer, "kitrace: Tracepoint at sync+50 already exists, updating\n");
	OK("list");
	assert_string_equal(h->answer, "sync                     UNFREEZE BASE\n"
				       "sync+50\n"
				       "link\n");
	refused(h, "trace sync+51", "no instruction");
	refused(h, "trace add sync+51 PID", "no instruction"); /* nothing of a command that fails */
	refused(h, "delete sync nobody", "trace not found: 'nobody'");
	OK("delete sync 1050");
	OK("list");
	assert_string_equal(h->answer, "link\n");
	/* a point may lie in a range: its options go before the range's */
	OK("trace 4000 4fff new r\ntrace r on");
	assert_int_equal(dt_device_at(&h->d, BASE + 0x4000)->kind, DT_RANGE_POINT);
	assert_int_equal(dt_device_at(&h->d, BASE + 0x4002)->kind, DT_RANGE_ADDRESS);
	/* each is on or off for itself */
	OK("trace link off\nquery 4000");
	assert_string_equal(h->answer, "Probing is enabled\n");
	assert_int_equal(dt_device_at(&h->d, BASE + 0x4000)->kind, DT_RANGE_ADDRESS);
	assert_int_equal(dt_device_point(&h->d, BASE + 0x4000)->kind, DT_RANGE_POINT);
	OK("trace r off\nquery 4000");
	assert_string_equal(h->answer, "Probing is disabled\n");
	assert_null(dt_device_at(&h->d, BASE + 0x4002));
	OK("trace link on\nquery 4000");
	assert_string_equal(h->answer, "Probing is enabled\n");
	assert_int_equal(dt_device_at(&h->d, BASE + 0x4000)->kind, DT_RANGE_POINT);
	assert_null(dt_device_at(&h->d, BASE + 0x4001));
}

static void check_031_query_answers_the_asker(void **state)
{
	struct host *h = *state;

	OK("trace 1000 2000 new a\nquery 1800");
	assert_string_equal(h->answer, "Probing is disabled\n");
	OK("trace a on\nquery 1800");
	assert_string_equal(h->answer, "Probing is enabled\n");
	OK("query ffffffffffffffff");
	assert_string_equal(h->answer, "Invalid PC ffffffffffffffff\nProbing is disabled\n");
	refused(h, "query", "usage: query <addr>");
	assert_int_equal(h->d.lookups, 1 + 3); /* the query that found it, and refused()'s reads */
}

static void check_032_testtracein(void **state)
{
	struct host *h = *state;

	OK("trace 1000 2000 new a\ntrace a on");
	OK("testtracein 1004 1 2 0x3 ffffffffffffffff");
	assert_true(h->injected[0] == BASE + 0x1004);
	assert_true(h->injected[1] == 1 && h->injected[3] == 3 && h->injected[4] == ~0ull);
	assert_int_equal(h->injected_pid, 572);
	h->injected[0] = 0;
	OK("testtracein 3000 1 2 3 4");		  /* not traced */
	OK("watch 84\ntesttracein 1004 1 2 3 4"); /* not watched */
	assert_true(h->injected[0] == 0);
	/* who asks is watched, first, in the middle, last */
	for (unsigned i = 0; i < 3; i++) {
		static const char *const watched[] = {"watch 900 572 901", "watch 1 572",
						      "watch 572"};

		OK("watch 0");
		OK(watched[i]);
		h->injected[0] = 0;
		OK("testtracein 1004 1 2 3 4");
		assert_true(h->injected[0] == BASE + 0x1004);
	}
	OK("watch 0\nwatch 571 573");
	h->injected[0] = 0;
	OK("testtracein 1004 1 2 3 4");
	assert_true(h->injected[0] == 0);
	OK("all\ntesttracein 1004 1 2 3 4");
	assert_true(h->injected[0] == BASE + 0x1004);
	refused(h, "testtracein 1004 1 2 3", "usage: testtracein");
	refused(h, "testtracein 1004 1 2 3 x", "'x' is no hexadecimal number");
}

static void check_020_021_watch(void **state)
{
	struct host *h = *state;
	char text[32];

	OK("watch 84");
	assert_non_null(strstr(read_text(h), "\nwatch 84\n"));
	for (int i = 100; i < 200; i++) {
		snprintf(text, sizeof(text), "watch %d", i);
		OK(text);
	}
	OK("watch 84");
	assert_int_equal(h->d.watches, 101);
	refused(h, "watch -3", "PID must be greater than zero.");
	refused(h, "watch me", "'me' is no process");
	refused(h, "watch 5 0", "stands alone");
	refused(h, "watch", "usage: watch");
	h->fail = true;
	refused(h, "watch 7", "can not");
	refused(h, "watch 84 7 150 7", "can not"); /* two of these are watched already */
	refused(h, "watch 0", "can not");
	h->fail = false;
	OK("watch 0");
	assert_non_null(strstr(read_text(h), "\nwatch 0\n"));
}

static void check_033_start_stop_all(void **state)
{
	struct host *h = *state;

	OK("start");
	assert_true(h->active && !h->all);
	OK("all");
	assert_true(h->active && h->all);
	OK("stop");
	assert_true(!h->active && !h->all);
	assert_false(h->d.all);
	refused(h, "start now", "usage: start");
	refused(h, "stop it", "usage: stop");
	refused(h, "all of it", "usage: all");
}

static void check_060_size(void **state)
{
	struct host *h = *state;

	OK("size 4");
	assert_non_null(strstr(read_text(h), "logsize 16\n"));
	assert_int_equal(h->records, 16);
	OK("size 0x0d");
	assert_int_equal(h->records, 8192);
	OK("size 0");
	assert_int_equal(h->records, 1);
	h->records = 99;
	OK("logsize 1"); /* so it is: nothing is dropped */
	assert_int_equal(h->records, 99);
	OK("logsize 64");
	assert_int_equal(h->records, 64);
	refused(h, "size", "usage: size <exponent>");
	refused(h, "size big", "size not in recognized format");
	refused(h, "size 63", "can't allocate that much");
	refused(h, "logsize 100", "no power of two");
}

static void check_091_bad_commands_change_nothing(void **state)
{
	struct host *h = *state;
	static char long_line[1 << 20];

	OK("trace 1000 2000 new a\ntrace a on\nstart\nwatch 5");
	refused(h, "", "empty command");
	refused(h, "tarce 1 2 new b", "unknown command 'tarce'");
	refused(h, "delete", "usage: delete");
	refused(h, "policy maybe", "policy overwrite|drop|wait");
	refused(h, "uniform", "uniform on|off");
	refused(h, "arm 1", "usage: arm");
	refused(h, "arm 1:2 -", "'1:2' is no event");
	refused(h, "arm 65536:0:0 -", "is no event");
	refused(h, "arm - - 5 parsecs", "usage: arm");
	refused(h, "arm - - 5parsecs", "no duration");
	refused(h, "subsystem 65536 on", "there are 65536");
	refused(h, "subsystem mars on", "none of that name");
	assert_int_equal(dt_device_write(&h->d, NULL, "start\0stop", 10, &error), -1);
	assert_non_null(strstr(error.text, "NUL byte"));
	assert_int_equal(dt_device_write(&h->d, NULL, "start\0", 6, &error), 0);
	memset(long_line, 'x', sizeof(long_line) - 1);
	refused(h, long_line, "unknown command 'xxxx");
	memset(long_line, ' ', sizeof(long_line) - 1);
	for (size_t i = 0; i < sizeof(long_line) - 1; i += 2)
		long_line[i] = 'x';
	refused(h, long_line, "words in one command");
	/* the reason goes with the next command that is right */
	OK("\n  \n# a comment\nlogsize 8192\n");
	assert_null(strstr(read_text(h), "#error"));
	/* those before the one that fails have been obeyed */
	assert_int_equal(write_text(h, "watch 6\nfoo\nwatch 7"), -1);
	assert_string_equal(error.text, "line 2: devtrace: unknown command 'foo'; help lists them");
	assert_int_equal(h->d.watches, 2);
}

static void failing_provider_changes_nothing(void **state)
{
	struct host *h = *state;

	OK("trace 1000 2000 new a\ntrace sync PID");
	h->fail = true;
	refused(h, "trace a on", "can not");
	refused(h, "trace link", "can not");
	refused(h, "trace sync FREEZE", "can not");
	refused(h, "uniform on", "can not");
	refused(h, "policy drop", "can not");
	refused(h, "events 5", "can not");
	refused(h, "arm 1 2", "can not");
}

static void check_027_subsystems(void **state)
{
	struct host *h = *state;

	assert_true(dt_device_subsystem(&h->d, 7));
	OK("subsystem bench off");
	assert_false(dt_device_subsystem(&h->d, 7));
	OK("subsystem all off\nsubsystem 9 on");
	assert_false(dt_device_subsystem(&h->d, 8));
	assert_true(dt_device_subsystem(&h->d, 9));
	assert_non_null(strstr(read_text(h), "subsystem all off\nsubsystem 9 on\n"));
}

static void check_039_arm(void **state)
{
	struct host *h = *state;

	OK("arm 40960:1:17 a000000100000012 600ms");
	assert_true(h->d.arm.start == 0xa000000100000011);
	assert_true(h->d.arm.stop == 0xa000000100000012);
	assert_true(h->d.arm.duration == 600000000);
	assert_non_null(
		strstr(read_text(h), "arm a000000100000011 a000000100000012 600000000ns\n"));
	OK("arm bench:1:0 - 0");
	assert_true(h->d.arm.start == 0x0007000100000000 && !h->d.arm.has_stop);
	/* what is read back is read again, however long */
	OK("arm 1:2:3 - 92092s");
	OK("arm 1:2:3 - 92092000000000ns");
	assert_true(h->d.arm.duration == 92092000000000);
	refused(h, "arm 1:2:3 - 99999999999s", "no duration");
	refused(h, "arm 1:2:3 - 99999999999999999999ns", "no duration");
	OK("disarm");
	assert_null(strstr(read_text(h), "arm"));
}

/* What ctl says, written to a new device, gives a device that says the same. */
static void replay(struct host *h)
{
	char *text = strdup(read_text(h)), *state = commands(h), *again;
	struct host *other;

	begin((void **)&other);
	if (dt_device_write(&other->d, NULL, text, strlen(text), &error) < 0)
		fail_msg("%s", error.text);
	again = commands(other);
	assert_string_equal(state, again);
	end((void **)&other);
	free(text);
	free(state);
	free(again);
}

static void check_077_ctl_replays(void **state)
{
	struct host *h = *state;
	char text[128];

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "trace %x %x new 'r %d'%s", 0x10000 + i * 16,
			 0x1000f + i * 16, i, i % 3 ? "" : " EXIT ONLYPID 77 BASE");
		OK(text);
		snprintf(text, sizeof(text), "trace 'r %d' on\nwatch %d", i, 1000 + i);
		if (i % 2)
			OK(text);
	}
	OK("trace 'luaH_* !luaH_x' new tables COUNT\ntrace +plain new p\ntrace p on");
	OK("trace sync LATEFREEZE 50 CONST 17 sync+50\ntrace sync+50 off\ntrace sync rename s");
	OK("policy wait\nuniform on\nevents 100\narm 1 2 3s\nsubsystem 4 off\nsize 5\nall");
	replay(h);
}

/* Random commands, right and wrong: never a crash, nothing changes on error, always replayable. */
static void random_commands(void **state)
{
	static const char *const piece[] = {
		"trace",   "new",	  "on",	     "off",	  "remove",	"rename",
		"a",	   "b",		  "1000",    "1fff",	  "2000",	"2fff",
		"sync",	   "link",	  "add",     "sync+10",	  "x*",		"ENTRY",
		"EXIT",	   "FREEZE",	  "PID",     "BASE",	  "delete",	"list",
		"watch",   "0",		  "7",	     "8",	  "size",	"4",
		"start",   "stop",	  "all",     "freeze",	  "arm",	"-",
		"1:2:3",   "10ms",	  "\n",	     "policy",	  "drop",	"wait",
		"uniform", "#",		  "''",	     "'q x'",	  "disarm",	"help",
		"status",  "query",	  "events",  "subsystem", "LATEFREEZE", "unfreeze",
		"!y",	   "testtracein", "logsize", "16",	  "reset",	"CONST",
		"ONLYPID",
	};
	struct host *h = *state;
	unsigned seed = share_seed(1), ok = 0;

	for (unsigned round = 0; round < share_of(200000); round++) {
		char text[256] = "", *before, *after;
		unsigned n = 1 + (seed >> 20) % 7;

		for (unsigned i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			/* mostly beginning as a command that can be right */
			strcat(text,
			       i == 0 && seed >> 31
				       ? "trace"
				       : piece[(seed >> 8) % (sizeof(piece) / sizeof(*piece))]);
			strcat(text, " ");
		}
		seed = seed * 1103515245 + 12345;
		if (strchr(text, '\n'))
			continue;
		before = commands(h);
		if (write_text(h, text) == 0) {
			ok++;
		} else {
			after = commands(h);
			assert_string_equal(before, after);
			free(after);
		}
		free(before);
		if (round % 200 == 0)
			replay(h);
	}
	if (ok < share_of(5000))
		fail_msg("only %u were right", ok);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
		T(fresh_has_eight_lines),
		T(check_017_short_and_full_addresses),
		T(check_018_symbols_before_numbers),
		T(check_014_overlap_is_refused),
		T(check_015_016_bad_ranges),
		T(check_007_013_names),
		T(check_011_012_tracepoints),
		T(check_031_query_answers_the_asker),
		T(check_032_testtracein),
		T(check_020_021_watch),
		T(check_033_start_stop_all),
		T(check_060_size),
		T(check_091_bad_commands_change_nothing),
		T(failing_provider_changes_nothing),
		T(check_027_subsystems),
		T(check_039_arm),
		T(check_077_ctl_replays),
		T(random_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
