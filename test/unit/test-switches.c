/* SPDX-License-Identifier: MIT */
/*
 * session/switches.c: what it makes of what the kernel tells. The kernel's buffer is played here,
 * so that every switch and every loss is known, also those that wrap around its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/switches.c"

#define NS 1000 /* from one switch to the next: more than two clocks differ by */

static struct dt_switches *w;
static uint64_t now; /* CLOCK_MONOTONIC_RAW of the next switch */

static int open_one(void **state)
{
	struct dt_error e = {""};
	uint64_t ticks;

	w = dt_switches_open(2, DT_SWITCHES_ASKED, &e);
	assert_non_null(w);
	assert_int_equal(dt_switches_ready(w, &e), 0);
	w->core[1].page = mmap(NULL, w->core[1].size + PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w->core[1].page, MAP_FAILED);
	dt_clock_pair(CLOCK_MONOTONIC_RAW, &ticks, &now);
	now -= 100000000;
	return 0;
}

static int close_one(void **state)
{
	dt_switches_close(w);
	return 0;
}

/* As the kernel writes. */
static void tell(const void *record, size_t n)
{
	struct perf_event_mmap_page *page = w->core[1].page;
	char *data = (char *)page + PAGE;

	assert_true(page->data_head + n - page->data_tail <= w->core[1].size);
	for (size_t i = 0; i < n; i++)
		data[(page->data_head + i) % (w->core[1].size)] = ((const char *)record)[i];
	page->data_head += n;
}

static void tell_switch(uint32_t tid, uint16_t misc)
{
	struct perf_switch s = {{PERF_RECORD_SWITCH, misc, sizeof(s)}, tid / 10, tid, now, 1, 0};

	now += NS;
	tell(&s, sizeof(s));
}

static void tell_lost(uint64_t lost)
{
	/* with what sample_id_all puts behind each record */
	struct {
		struct perf_lost l;
		uint64_t id[3];
	} x = {.l = {{PERF_RECORD_LOST, 0, sizeof(x)}, 7, lost}};

	tell(&x, sizeof(x));
}

static const struct dt_switch *take(uint64_t until, size_t n, uint64_t lost)
{
	uint64_t missing = 99;
	size_t got = 99;
	const struct dt_switch *s = dt_switches_take(w, 1, until, &got, &missing);

	assert_int_equal(got, n);
	assert_int_equal(missing, lost);
	return s;
}

/* Who comes and goes, whose process it is, who was there before, and who still wanted to run. */
static void test_switches(void **state)
{
	const struct dt_switch *s;

	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	tell_switch(80, 0);
	tell_switch(80, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	tell_switch(90, 0);
	tell_switch(91, 0);
	s = take(~0ull, 6, 0);
	static const struct {
		uint32_t tid;
		uint64_t process, left;
	} want[] = {{70, 7, DT_NO_TID}, {DT_NO_TID, 0, 70},
		    {80, 8, DT_NO_TID}, {DT_NO_TID, 0, 80 | 1ull << 32},
		    {90, 9, DT_NO_TID}, {91, 9, 90}};
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(s[i].record.kind, DT_SWITCH);
		assert_int_equal(s[i].record.tid, want[i].tid);
		assert_int_equal(s[i].record.value[0], want[i].tid);
		assert_int_equal(s[i].record.value[2], want[i].process);
		assert_int_equal(s[i].record.value[3], want[i].left);
		assert_int_equal(s[i].lost, 0);
		assert_true(!i || s[i].record.ticks > s[i - 1].record.ticks);
	}
	take(~0ull, 0, 0);
}

/* A loss is in front of the switch that came next, once; behind the last one it is told at the end,
 * once. */
static void test_losses(void **state)
{
	const struct dt_switch *s;

	tell_lost(3);
	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	tell_lost(4);
	tell_lost(5);
	tell_switch(80, 0);
	tell_lost(6);
	s = take(w->ticks, 3, 0);
	assert_int_equal(s[0].lost, 3);
	assert_int_equal(s[1].lost, 0);
	assert_int_equal(s[2].lost, 9);
	take(w->ticks, 0, 0);
	take(~0ull, 0, 6);
	take(~0ull, 0, 0);
	tell_lost(2);
	tell_switch(80, PERF_RECORD_MISC_SWITCH_OUT);
	s = take(~0ull, 1, 0);
	assert_int_equal(s[0].lost, 2);
	take(~0ull, 0, 0);
}

/* Only those up to a tick are taken; a loss waits with the switch behind it. */
static void test_until(void **state)
{
	const struct dt_switch *s;
	uint64_t third;

	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	tell_lost(8);
	tell_switch(80, 0);
	tell_switch(80, PERF_RECORD_MISC_SWITCH_OUT);
	dt_switches_keep(w);
	assert_int_equal(w->core[1].n, 4);
	assert_int_equal(w->core[1].page->data_tail, w->core[1].page->data_head);
	third = w->core[1].pending[2].record.ticks;
	take(third - 1, 2, 0);
	take(third - 1, 0, 0);
	s = take(third, 1, 0);
	assert_int_equal(s[0].lost, 8);
	assert_int_equal(s[0].record.tid, 80);
	take(~0ull, 1, 0);
}

/* Many rounds of the buffer: records at its end lie in two pieces. */
static void test_wrapping(void **state)
{
	uint64_t lost = 0, taken = 0, told = 0, gone = 0;

	for (unsigned round = 0; round < 50; round++) {
		const struct dt_switch *s;
		uint64_t missing;
		size_t n;

		for (unsigned i = 0; i < 1000; i++) {
			tell_switch(100000 + (uint32_t)told % 1000,
				    told & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
			if (++told % 37 == 0) {
				tell_lost(told % 5 + 1);
				gone += told % 5 + 1;
			}
		}
		s = dt_switches_take(w, 1, ~0ull, &n, &missing);
		for (size_t i = 0; i < n; i++, taken++) {
			uint32_t tid = 100000 + (uint32_t)taken % 1000;

			assert_int_equal(s[i].record.tid, taken & 1 ? DT_NO_TID : tid);
			lost += s[i].lost;
		}
		lost += missing;
	}
	assert_int_equal(taken, told);
	assert_int_equal(lost, gone);
}

/* When nobody takes, the older half goes, and counts as lost in front of what is left. */
static void test_kept(void **state)
{
	const struct dt_switch *s;

	for (unsigned i = 0; i < KEPT + 10; i++) {
		tell_switch(70, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
		if (i == 5)
			tell_lost(11);
		if (i % 1000 == 0)
			dt_switches_keep(w);
	}
	s = take(~0ull, KEPT / 2 + 10, 0);
	assert_int_equal(s[0].lost, KEPT / 2 + 11);
	assert_int_equal(s[1].lost, 0);
}

/* Threads that were there are told with their names; of a process that has gone nothing. */
static void test_rundown(void **state)
{
	struct dt_record r;
	unsigned core = 99;

	assert_true(look(getpid(), getpid(), &r, &core));
	assert_int_equal(r.kind, DT_RUNDOWN);
	assert_int_equal(r.value[0], getpid());
	assert_int_equal(r.value[2], getpid());
	assert_int_equal(r.value[3], 1);
	assert_memory_equal(&r.value[1], "test-swi", 8);
	assert_true(core < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
	assert_false(look(getpid(), 4194302, &r, &core));
	/* one that comes late stands where its time is */
	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	dt_switches_keep(w);
	r.ticks = w->core[1].pending[1].record.ticks - 1;
	assert_int_equal(keep(&w->core[1], &r), 0);
	assert_int_equal(take(~0ull, 3, 0)[1].record.kind, DT_RUNDOWN);
}

/* What was lost after the last record stays there when an earlier record comes in between. */
static void test_late_and_losses(void **state)
{
	struct dt_record r = {.kind = DT_RUNDOWN};
	const struct dt_switch *s;

	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	tell_lost(5);
	dt_switches_keep(w);
	r.ticks = w->core[1].pending[1].record.ticks - 1;
	assert_int_equal(keep(&w->core[1], &r), 0);
	tell_switch(80, 0);
	dt_switches_keep(w);
	s = take(~0ull, 4, 0);
	assert_int_equal(s[1].record.kind, DT_RUNDOWN);
	assert_int_equal(s[0].lost + s[1].lost + s[2].lost, 0);
	assert_int_equal(s[3].lost, 5);
}

/* ---- those that nobody has asked for */

static int open_cheap(void **state)
{
	open_one(state);
	w->how = DT_SWITCHES_CHEAP;
	dt_switches_begin(w, 1);
	return 0;
}

static bool is_over(uint64_t *ticks)
{
	return dt_switches_over(w, ticks) != NULL;
}

/* At a rate that may be: so many in each ms, looked at in each. */
static void test_cheap_rate(void **state)
{
	uint64_t ticks;

	for (unsigned ms = 0; ms < 100; ms++) {
		for (unsigned i = 0; i < CHEAP_RATE / 1000; i++)
			tell_switch(70, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
		dt_switches_keep(w);
		usleep(1000);
	}
	assert_false(is_over(&ticks));
	assert_int_equal(ticks, 0);
	take(~0ull, CHEAP_RATE / 10, 0);
}

/* A burst may be as long as it may, and then one more is too many: what has come until then is
 * there, and nothing comes any more. */
static void test_cheap_burst(void **state)
{
	uint64_t ticks, before = dt_ticks();

	for (unsigned i = 0; i < CHEAP_BURST; i++) {
		tell_switch(70, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
		if (i % 1000 == 999) {
			/* as if no time had passed */
			w->core[1].looked = dt_ticks();
			dt_switches_keep(w);
			assert_false(is_over(&ticks));
		}
	}
	for (unsigned i = 0; i < 2000; i++)
		tell_switch(70, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
	w->core[1].looked = dt_ticks();
	dt_switches_keep(w);
	assert_true(is_over(&ticks));
	assert_true(ticks > before && ticks <= dt_ticks());
	assert_non_null(strstr(dt_switches_over(w, &ticks), "so often"));
	assert_null(w->core[1].page);
	take(~0ull, CHEAP_BURST + 2000, 0);
	take(~0ull, 0, 0);
}

/* Before there are records of others only what a core does now is kept; then it is given out, with
 * the time of the first of these. */
static void test_cheap_begin(void **state)
{
	const struct dt_switch *s;
	uint64_t ticks, records, dropped;

	w->begun = false;
	for (unsigned i = 0; i < 101; i++)
		tell_switch(70 + i % 2, i & 1 ? PERF_RECORD_MISC_SWITCH_OUT : 0);
	take(~0ull, 0, 0);
	dt_switches_written(w, 1, &records, &dropped);
	assert_int_equal(records, 0);
	ticks = dt_ticks();
	dt_switches_begin(w, ticks);
	s = take(~0ull, 1, 0);
	assert_int_equal(s[0].record.tid, 70);
	assert_int_equal(s[0].record.ticks, ticks);
	dt_switches_written(w, 1, &records, &dropped);
	assert_int_equal(records, 1);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	take(~0ull, 1, 0);
	dt_switches_written(w, 1, &records, &dropped);
	assert_int_equal(records, 2);
}

/* A loss is their end, at what came before it: it is not counted as lost records. */
static void test_cheap_loss(void **state)
{
	const struct dt_switch *s;
	uint64_t ticks;

	tell_switch(70, 0);
	tell_switch(70, PERF_RECORD_MISC_SWITCH_OUT);
	tell_lost(5);
	tell_switch(80, 0);
	s = take(~0ull, 2, 0);
	assert_true(is_over(&ticks));
	assert_int_equal(ticks, s[1].record.ticks);
	assert_int_equal(w->core[1].dropped, 0);
	assert_non_null(strstr(dt_switches_over(w, &ticks), "faster than"));
}

/* There is an event for each thread on each core: as many files as there may be. */
static void test_files(void **state)
{
	struct dt_error e = {""};
	struct rlimit before, few, limit;
	struct dt_switches *other;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){64, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	other = dt_switches_open(1, DT_SWITCHES_OTHERS, &e);
	assert_non_null(other);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, before.rlim_max);
	dt_switches_close(other);
	setrlimit(RLIMIT_NOFILE, &before);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, open_one, close_one)
#define CHEAP(name) cmocka_unit_test_setup_teardown(name, open_cheap, close_one)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_switches),	    TEST(test_losses),	    TEST(test_until),
		TEST(test_wrapping),	    TEST(test_kept),	    TEST(test_rundown),
		TEST(test_late_and_losses), TEST(test_files),	    CHEAP(test_cheap_rate),
		CHEAP(test_cheap_burst),    CHEAP(test_cheap_loss), CHEAP(test_cheap_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
