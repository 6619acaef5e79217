/* SPDX-License-Identifier: MIT */
/*
 * A session without processes: what the recorder makes of records in the rings, which the test puts
 * there itself; and of a kernel's, which is played here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "core/control.h"
#include "session/device.h"
#include "session/kernel-ranges.h"
#include "session/session.h"
#include "session/state.h"
#include "test/unit/test-trace-scratch.h"
#include "session/ctl.h"
#include "session/kernel-points.h"
#include "session/recorder.h"

#define AHEAD 5000000 /* ticks */

static const char *self;

/* Instead of session/kernel.c: what a device would have recorded on each core. */
struct dt_kernel {
	struct {
		struct dt_record record[16];
		size_t n, taken;
		uint64_t dropped; /* what was lost, once it has been taken */
		uint64_t lost;	  /* in front of the one at lost_at */
		size_t lost_at;
	} core[2];
};

static struct dt_kernel *kernel; /* of the next session; NULL: none */
static void fill_both(struct dt_session *s, struct dt_kernel *k, int64_t ahead);
static void (*fill)(struct dt_session *s, struct dt_kernel *k, int64_t ahead) = fill_both;

struct dt_kernel *dt_kernel_open(const char *const *pattern, size_t n, unsigned cores,
				 bool everybody, uint64_t cgroup, bool names, bool threads,
				 bool chooses, unsigned sums, struct dt_error *e)
{
	return NULL;
}

const char *dt_kernel_choose(struct dt_kernel *k, uint64_t pc, uint32_t row,
			     const struct dt_conditions *c, const struct dt_kernel_sums *sums,
			     double ticks_per_ns)
{
	return NULL;
}

void dt_kernel_told(struct dt_kernel *k, const struct dt_kernel_telling *to)
{
}

void dt_kernel_choose_end(struct dt_kernel *k)
{
}

uint64_t dt_kernel_waits(struct dt_kernel *k, bool end)
{
	return ~0ull;
}

const struct dt_record *dt_kernel_late(struct dt_kernel *k, size_t *n)
{
	*n = 0;
	return NULL;
}

bool dt_kernel_left(struct dt_kernel *k, size_t i, struct dt_left_out_row *row)
{
	return false;
}

void dt_kernel_sums(struct dt_kernel *k, const struct dt_kernel_summed *to, bool end)
{
}

size_t dt_kernel_stack(const struct dt_kernel *k, uint32_t number, uint64_t *address, size_t most)
{
	return 0;
}

const struct dt_kernel_tracepoint *dt_kernel_tracepoint(const struct dt_kernel *k, uint64_t pc)
{
	return NULL;
}

void dt_kernel_close(struct dt_kernel *k)
{
}

const char *dt_kernel_source_name(const struct dt_kernel *k)
{
	return "module";
}

bool dt_kernel_core_clocks(const struct dt_kernel *k)
{
	return true;
}

void dt_kernel_note(const struct dt_kernel *k, char *text, size_t size)
{
	text[0] = '\0';
}

int dt_kernel_watch(struct dt_kernel *k, pid_t pid, struct dt_error *e)
{
	return 0;
}

int dt_kernel_start(struct dt_kernel *k, struct dt_error *e)
{
	return 0;
}

void dt_kernel_stop(struct dt_kernel *k)
{
}

const struct dt_record *dt_kernel_take(struct dt_kernel *k, unsigned core, uint64_t until,
				       size_t *n, uint64_t *lost, size_t *lost_at)
{
	const struct dt_record *r;

	*n = *lost_at = 0;
	*lost = 0;
	if (core >= 2)
		return NULL;
	r = k->core[core].record + k->core[core].taken;
	*lost_at = k->core[core].lost_at - k->core[core].taken;
	while (k->core[core].taken < __atomic_load_n(&k->core[core].n, __ATOMIC_ACQUIRE) &&
	       r[*n].ticks <= until) {
		++*n;
		k->core[core].taken++;
	}
	if (k->core[core].lost && *lost_at < *n) {
		*lost = k->core[core].lost;
		k->core[core].dropped = *lost;
		k->core[core].lost = 0;
	}
	return r;
}

int dt_kernel_written(const struct dt_kernel *k, unsigned core, uint64_t *records,
		      uint64_t *dropped)
{
	*records = core < 2 ? k->core[core].n : 0;
	*dropped = core < 2 ? k->core[core].dropped : 0;
	return 0;
}

bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	return false;
}

int dt_kernel_functions(struct dt_kernel *k, struct dt_error *e)
{
	return 0;
}

bool dt_kernel_named(const struct dt_kernel *k, const char *name, struct dt_kernel_symbol *s)
{
	return false;
}

int dt_kernel_tell(const struct dt_kernel *k, struct dt_error *e, const char *format, ...)
{
	return 0;
}

struct dt_kernel_points *dt_kernel_points(const struct dt_kernel *k)
{
	static struct dt_kernel_points *none;

	if (!none)
		none = dt_kernel_points_new();
	return none;
}

void dt_kernel_signature(struct dt_kernel *k, const char *name, char *out, size_t size)
{
	out[0] = '\0';
}

/* As a hook does on that core. */
static void append(struct dt_session *s, unsigned core, uint64_t ticks, uint64_t value)
{
	const struct dt_shared *m = &s->targets.shared;
	struct dt_ring *r = dt_ring_at(m->control, m->geometry.stride, core);

	dt_ring_records(r)[(r->pos & (m->geometry.ring_size - 1)) / 64] =
		(struct dt_record){.ticks = ticks,
				   .pc = 0x1000,
				   .tid = 7,
				   .kind = DT_EVENT,
				   .flags = 1,
				   .core = (uint16_t)core,
				   .value = {value}};
	__atomic_store_n(&r->pos, r->pos + 64, __ATOMIC_RELEASE);
}

/* The session's cores: 0 is right, 1 is ahead. */
static struct dt_session *begin_with(const char *output, int64_t ahead, enum dt_policy policy,
				     uint64_t ring_size)
{
	const struct dt_options o = {.policy = policy, .ring_size = ring_size, .output = output};
	struct dt_error e = {""};
	struct dt_session *s = dt_session_create(&o, &e);

	if (!s)
		fail_msg("%s", e.text);
	if (s->targets.shared.geometry.cores < 2) {
		print_message("a machine with one core: nothing to be set right\n");
		dt_session_close(s, NULL, NULL);
		skip();
	}
	assert_non_null(s->offset);
	s->kernel = kernel;
	for (unsigned i = 0; i < s->targets.shared.geometry.cores; i++)
		s->offset[i] = (struct dt_offset){i == 1 ? ahead : 0, 100};
	if (kernel)
		fill(s, kernel, ahead);
	if (dt_session_record(s, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

static struct dt_session *begin(const char *output, int64_t ahead)
{
	return begin_with(output, ahead, DT_WAIT, 1 << 16);
}

/* Values 0 to 9, alternately by the two cores, 1,000 ticks from one to the next. */
static void append_alternately(struct dt_session *s, int64_t ahead)
{
	uint64_t now;

	/* these are late, as no hook's are: the recorder, which looks often when it begins, must
	 * not look at one ring before them and at the other one after them */
	usleep(50000);
	now = __builtin_ia32_rdtsc() - 100 * AHEAD;
	for (unsigned i = 0; i < 10; i++)
		append(s, i % 2, now + 1000 * i + (i % 2 ? (uint64_t)ahead : 0), i);
}

static struct dt_results end(struct dt_session *s)
{
	struct dt_error e = {""};
	struct dt_results r;

	if (dt_session_end(s, &e) < 0 || dt_session_close(s, &r, &e) < 0)
		fail_msg("%s", e.text);
	return r;
}

/* The clock of a core that is ahead is set right in a trace file... */
static void check_127_offset_in_a_file(void **state)
{
	struct dt_session *s;
	char command[512], line[1024];
	unsigned n = 0, core;
	uint64_t ticks, last = 0, value;
	FILE *f;

	s = begin(trace_path, AHEAD);
	append_alternately(s, AHEAD);
	end(s);
	snprintf(command, sizeof(command), "%.*s/../../devtrace cat -l %s",
		 (int)(strrchr(self, '/') - self), self, trace_path);
	f = popen(command, "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		assert_int_equal(sscanf(line, "kind=V ticks=%lu core=%u", &ticks, &core), 2);
		assert_int_equal(sscanf(strstr(line, "v0="), "v0=%lx", &value), 1);
		assert_int_equal(value, n);
		assert_int_equal(core, n % 2);
		if (n)
			assert_int_equal(ticks - last, 1000);
		last = ticks;
	}
	assert_int_equal(pclose(f), 0);
	assert_int_equal(n, 10);
	unlink(trace_path);
}

/* ...and in a log; what is less than the error of its measurement is left alone. */
static void check_127_offset_in_a_log(void **state)
{
	static const int64_t ahead[] = {AHEAD, -AHEAD, 100};
	struct dt_record record[16];
	struct dt_session *s;
	uint64_t from, lost;

	for (unsigned k = 0; k < 3; k++) {
		s = begin(NULL, ahead[k]);
		append_alternately(s, ahead[k]);
		dt_recorder_drain(s);
		from = 0;
		assert_int_equal(dt_log_read(&s->log, record, 16, &from, &lost, 0, true), 10);
		for (unsigned i = 0; i < 10; i++) {
			assert_int_equal(record[i].value[0], i);
			assert_int_equal(record[i].core, i % 2);
			if (i)
				assert_int_equal(record[i].ticks - record[i - 1].ticks,
						 k < 2	 ? 1000
						 : i % 2 ? 1100
							 : 900);
		}
		assert_int_equal(lost, 0);
		end(s);
	}
}

/* One record of the process, one of the kernel, 500 ticks apart, on either core by turns. */
static void fill_both(struct dt_session *s, struct dt_kernel *k, int64_t ahead)
{
	uint64_t now = __builtin_ia32_rdtsc() - 100 * AHEAD;

	for (unsigned i = 0; i < 10; i++) {
		uint64_t at = now + 1000 * i + (i % 2 ? (uint64_t)ahead : 0);

		append(s, i % 2, at, 2 * i);
		k->core[i % 2].record[k->core[i % 2].n++] =
			(struct dt_record){.ticks = at + 500,
					   .pc = 0xffffffff81000000,
					   .tid = 7,
					   .kind = DT_ENTRY,
					   .flags = 1,
					   .core = (uint16_t)(i % 2),
					   .value = {2 * i + 1}};
	}
}

/* What the kernel's device records on a core is by that core's clock, too. */
static void check_127_offset_of_kernel_records(void **state)
{
	static const int64_t ahead[] = {AHEAD, -AHEAD};
	struct dt_record record[32];
	struct dt_session *s;
	static struct dt_kernel k;
	uint64_t from, lost;

	for (unsigned turn = 0; turn < 2; turn++) {
		k = (struct dt_kernel){.core[0].n = 0};
		kernel = &k;
		s = begin(NULL, ahead[turn]);
		do
			from = 0;
		while (dt_log_read(&s->log, record, 32, &from, &lost, -1, false) < 20);
		for (unsigned i = 0; i < 20; i++) {
			assert_int_equal(record[i].value[0], i);
			assert_int_equal(record[i].core, i / 2 % 2);
			if (i)
				assert_int_equal(record[i].ticks - record[i - 1].ticks, 500);
		}
		end(s);
	}
	kernel = NULL;
}

/* The number of records in a line of ctl. */
static void find_hits(void *hits, const char *text, size_t n)
{
	sscanf(text, "#tracehits %lu,", (unsigned long *)hits);
}

/* What ctl says counts the kernel's records that are not in the file yet. */
static void test_counted_with_the_kernel(void **state)
{
	struct dt_session *s;
	struct dt_results r;
	static struct dt_kernel k;
	unsigned long hits = 0, before;

	kernel = &k;
	s = begin(trace_path, 0);
	dt_ctl_read(s, find_hits, &hits);
	before = hits;
	for (unsigned i = 0; i < 6; i++) {
		size_t n = k.core[i % 2].n;

		k.core[i % 2].record[n] = (struct dt_record){.ticks = __builtin_ia32_rdtsc(),
							     .pc = 0xffffffff81000000,
							     .tid = 7,
							     .kind = DT_ENTRY,
							     .flags = 1,
							     .core = (uint16_t)(i % 2)};
		__atomic_store_n(&k.core[i % 2].n, n + 1, __ATOMIC_RELEASE);
		dt_ctl_read(s, find_hits, &hits);
		assert_int_equal(hits, before + i + 1);
	}
	/* as does what is said at the end */
	r = end(s);
	assert_int_equal(r.taken, before + 6);
	assert_int_equal(r.lost, 0);
	kernel = NULL;
	unlink(trace_path);
}

/* How many records a file has of core 0, which are in the order of time. */
static size_t in_order(void)
{
	char command[512], line[1024];
	uint64_t ticks, last = 0;
	unsigned core;
	size_t n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "%.*s/../../devtrace cat -l %s",
		 (int)(strrchr(self, '/') - self), self, trace_path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "kind=LOSS", 9) == 0)
			continue;
		assert_int_equal(sscanf(line, "kind=%*c ticks=%lu core=%u", &ticks, &core), 2);
		if (core)
			continue;
		if (ticks < last)
			fail_msg("record %zu: %lu after %lu", n, ticks, last);
		last = ticks;
		n++;
	}
	assert_int_equal(pclose(f), 0);
	return n;
}

/* The n-th loss of core 0 is this one. */
static void lost(unsigned n, uint64_t records, uint64_t begin, uint64_t end)
{
	sqlite3_stmt *q;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT lost, begin_ticks, end_ticks FROM loss "
					    "WHERE core=0 ORDER BY after LIMIT 1 OFFSET ?",
					    -1, &q, NULL),
			 SQLITE_OK);
	sqlite3_bind_int(q, 1, (int)n);
	assert_int_equal(sqlite3_step(q), records ? SQLITE_ROW : SQLITE_DONE);
	if (records) {
		assert_int_equal(sqlite3_column_int64(q, 0), records);
		assert_int_equal(sqlite3_column_int64(q, 1), begin);
		assert_int_equal(sqlite3_column_int64(q, 2), end);
	}
	sqlite3_finalize(q);
	sqlite3_close(db);
}

#define MANY 40000u /* more than are taken at a time, twice; the last time less */

static uint64_t first_of_many;

/* And the kernel's, spread over them. */
static void fill_many(struct dt_session *s, struct dt_kernel *k, int64_t ahead)
{
	first_of_many = __builtin_ia32_rdtsc() - 100 * AHEAD;
	for (unsigned i = 0; i < MANY; i++)
		append(s, 0, first_of_many + 1000 * i, i);
	for (; k->core[0].n < 16; k->core[0].n++)
		k->core[0].record[k->core[0].n] =
			(struct dt_record){.ticks = first_of_many + 500 + 2500000 * k->core[0].n,
					   .pc = 0xffffffff81000000,
					   .tid = 7,
					   .kind = DT_ENTRY,
					   .flags = 1};
}

/* What the sources themselves say that they have written is what is there, with what is lost. */
static void all_written(void)
{
	static const char sql[] =
		"SELECT core, (SELECT sum(records) FROM chunk c WHERE c.core=w.core),"
		" (SELECT ifnull(sum(lost), 0) FROM loss l WHERE l.core=w.core), sum(records + dropped)"
		" FROM written w WHERE core<>65535 GROUP BY core";
	unsigned cores = 0;
	sqlite3_stmt *q;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(trace_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	for (; sqlite3_step(q) == SQLITE_ROW; cores++)
		assert_int_equal(sqlite3_column_int64(q, 1) + sqlite3_column_int64(q, 2),
				 sqlite3_column_int64(q, 3));
	assert_int_equal(cores, 1);
	sqlite3_finalize(q);
	sqlite3_close(db);
}

/* Records stay in order where more are in a ring than are taken at a time. */
static void test_batches_in_order(void **state)
{
	struct dt_session *s;
	static struct dt_kernel k;

	kernel = &k;
	fill = fill_many;
	s = begin_with(trace_path, 0, DT_WAIT, 1 << 22);
	end(s);
	assert_int_equal(in_order(), MANY + 16);
	lost(0, 0, 0, 0);
	all_written();
	kernel = NULL;
	fill = fill_both;
	unlink(trace_path);
}

/* Waits that found no place to be told: how many, and how long they took. */
static void test_untold_waits(void **state)
{
	struct dt_session *s;
	unsigned long n = 0, ns = 0;
	sqlite3_stmt *q;
	sqlite3 *db;

	s = begin(trace_path, 0);
	append(s, 0, __builtin_ia32_rdtsc(), 1);
	s->targets.shared.control->held_missed = 7;
	s->targets.shared.control->held_missed_ticks = (uint64_t)(3e6 * s->ticks_per_ns);
	end(s);
	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key='held_missed'",
					    -1, &q, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_int_equal(sscanf((const char *)sqlite3_column_text(q, 0), "%lu %lu", &n, &ns), 2);
	assert_int_equal(n, 7);
	assert_in_range(ns, 2999998, 3000000);
	sqlite3_finalize(q);
	sqlite3_close(db);
	unlink(trace_path);
}

/* A thread that waited for room, and whose record was not kept since recording ended meanwhile, is
 * described. */
static void test_waits_of_a_thread_without_records(void **state)
{
	struct dt_session *s;
	struct dt_control *c;
	sqlite3_stmt *q;
	uint64_t now;
	sqlite3 *db;

	s = begin(trace_path, 0);
	now = __builtin_ia32_rdtsc();
	c = s->targets.shared.control;
	c->held[3] = (struct dt_held){.tid = (uint32_t)getpid(),
				      .why = DT_HELD_ROOM,
				      .begin = now - 2000,
				      .end = now - 1000};
	/* these two can not have been: before the session, and for nothing. Behind them none is
	 * believed */
	c->held[4] = (struct dt_held){
		.tid = (uint32_t)getpid(), .why = DT_HELD_ROOM, .begin = 1000, .end = 2000};
	c->held[5] = (struct dt_held){
		.tid = (uint32_t)getpid(), .why = 99, .begin = now - 2000, .end = now - 1000};
	for (unsigned i = 3; i < 6; i++)
		__atomic_store_n(&c->held[i].state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	__atomic_store_n(&c->helds, 3, __ATOMIC_RELEASE);
	end(s);
	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(
				 db,
				 "SELECT count(*), sum(tid IN (SELECT tid FROM thread)) FROM hold",
				 -1, &q, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(q, 0), 1);
	assert_int_equal(sqlite3_column_int(q, 1), 1);
	sqlite3_finalize(q);
	sqlite3_close(db);
	unlink(trace_path);
}

/* A wait that began on one core and ended on another, whose clock is ahead: each time is that of
 * the first core. */
static void test_waits_by_clocks_of_cores(void **state)
{
	struct dt_session *s = begin(trace_path, AHEAD);
	/* the last one says a core that there is not: it can not be set right */
	const unsigned none = s->targets.shared.geometry.cores;
	const unsigned cores[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {none, none}};
	struct dt_control *c = s->targets.shared.control;
	uint64_t now = __builtin_ia32_rdtsc();
	sqlite3_stmt *q;
	sqlite3 *db;

	usleep(10000); /* they are over */
	for (unsigned i = 0; i < 5; i++) {
		c->held[i] = (struct dt_held){.tid = (uint32_t)getpid(),
					      .why = DT_HELD_ROOM,
					      .begin = now + 10000 * i,
					      .end = now + 10000 * i + 1000,
					      .core_begin = (uint16_t)cores[i][0],
					      .core_end = (uint16_t)cores[i][1]};
		c->held[i].begin += cores[i][0] == 1 ? AHEAD : 0;
		c->held[i].end += cores[i][1] == 1 ? AHEAD : 0;
		__atomic_store_n(&c->held[i].state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&c->helds, 5, __ATOMIC_RELEASE);
	end(s);
	assert_int_equal(sqlite3_open(trace_path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(
			db, "SELECT begin_ticks, end_ticks, why FROM hold ORDER BY begin_ticks", -1,
			&q, NULL),
		SQLITE_OK);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(sqlite3_step(q), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int64(q, 0), now + 10000 * i);
		assert_int_equal(sqlite3_column_int64(q, 1), now + 10000 * i + 1000);
		assert_string_equal(sqlite3_column_text(q, 2), "room");
	}
	assert_int_equal(sqlite3_step(q), SQLITE_DONE);
	sqlite3_finalize(q);
	sqlite3_close(db);
	unlink(trace_path);
}

/* What one source has lost is missing between records of that source, not of another. */
static void test_losses_of_each_source(void **state)
{
	struct dt_session *s;
	static struct dt_kernel k = {.core[0] = {.lost = 5, .lost_at = 3}};

	kernel = &k;
	fill = fill_many;
	s = begin_with(trace_path, 0, DT_OVERWRITE, 1 << 16);
	end(s);
	assert_int_equal(in_order(), 1023 + 16);
	lost(0, 5, first_of_many + 500 + 2500000 * 2, first_of_many + 500 + 2500000 * 3);
	lost(1, MANY - 1023, 0, first_of_many + 1000 * (MANY - 1023));
	lost(2, 0, 0, 0);
	all_written();
	kernel = NULL;
	fill = fill_both;
	unlink(trace_path);
}

/* A record of a core waits until the other one has been read up to its time. */
static void test_log_in_order(void **state)
{
	struct dt_session *s;
	struct dt_record record[16];
	uint64_t from = 0, lost, soon;

	s = begin(NULL, 0);
	soon = __builtin_ia32_rdtsc() + (uint64_t)(50e6 * s->ticks_per_ns);
	append(s, 0, soon, 2);
	dt_shared_bell_ring(&s->targets.shared);
	while (!__atomic_load_n(&s->log_held, __ATOMIC_ACQUIRE))
		;
	append(s, 1, soon - 1000, 1);
	while (dt_log_read(&s->log, record, 16, &from, &lost, -1, false) < 2)
		;
	assert_true(__builtin_ia32_rdtsc() > soon);
	assert_int_equal(record[0].value[0], 1);
	assert_int_equal(record[1].value[0], 2);
	end(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_127_offset_in_a_file),
		cmocka_unit_test(check_127_offset_in_a_log),
		cmocka_unit_test(check_127_offset_of_kernel_records),
		cmocka_unit_test(test_counted_with_the_kernel),
		cmocka_unit_test(test_batches_in_order),
		cmocka_unit_test(test_losses_of_each_source),
		cmocka_unit_test(test_untold_waits),
		cmocka_unit_test(test_waits_of_a_thread_without_records),
		cmocka_unit_test(test_waits_by_clocks_of_cores),
		cmocka_unit_test(test_log_in_order),
	};

	self = argv[0];
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
