/* SPDX-License-Identifier: MIT */
/*
 * session/throttle.c: processor time of families of processes that come and go, of which it is
 * known what each has used; records counted by place, against another count; and what the budget
 * does not go with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session/state.h"

static uint64_t taken_by(pid_t pid), made_at(pid_t pid);
static uint32_t process_with(uint32_t tid);

#define dt_status_taken(pid)		taken_by(pid)
#define dt_status_made(pid)		made_at(pid)
#define dt_thread_table_process(s, tid) process_with(tid)
#include "session/throttle.c"

static struct dt_session session;
static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- processor time ---- */

#define MOST 400

/* A process: what it has used itself, and what children that it has waited for have. */
static struct made {
	struct dt_target target;
	uint64_t own, waited;
	uint64_t before; /* what it had used when it was attached to */
	uint64_t made;	 /* when */
	bool zombie, gone;
} process[MOST];
static unsigned processes;

static struct made *process_of(pid_t pid)
{
	return pid > 0 && (unsigned)pid <= processes ? &process[pid - 1] : NULL;
}

static uint64_t taken_by(pid_t pid)
{
	const struct made *p = process_of(pid);

	return p->gone ? 0 : p->own + p->waited;
}

static uint64_t made_at(pid_t pid)
{
	return process_of(pid)->made;
}

static void begin_process(pid_t parent, bool forked)
{
	struct made *p = &process[processes++];
	struct dt_target **last = &session.first;

	*p = (struct made){.target = {.pid = (pid_t)processes,
				      .id = processes,
				      .ppid = parent,
				      .forked = forked}};
	if (!forked) { /* attached to; or begun by the session, and not known at once */
		p->made = session.made + (any(2) ? 5 : -5ull);
		p->own = 1000 + any(1000);
		p->before = p->made < session.made ? p->own : 0;
	}
	while (*last)
		last = &(*last)->next;
	*last = &p->target;
}

/* Its parent waits for it at once, or init does. */
static void reap(struct made *p)
{
	struct made *parent = process_of(p->target.ppid);

	if (parent && !parent->zombie && !parent->gone)
		parent->waited += p->own + p->waited;
	p->gone = true;
	p->zombie = false;
}

static void end_process(struct made *p)
{
	p->zombie = p->target.ended = true;
	/* children of it are init's from now on, which waits for them */
	processor_time(&session);
	reap(p);
}

/* What all have used since they are traced: what one that was waited for has used before counts at
 * its parent, which can not know better. */
static uint64_t used(void)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < processes; i++)
		all += process[i].own - process[i].before;
	return all;
}

static void test_families(void **state)
{
	for (unsigned round = 0; round < 40; round++) {
		memset(&session, 0, sizeof(session));
		session.made = 100000;
		processes = 0;
		for (unsigned i = 1 + any(3); i; i--)
			begin_process(0, false);
		processor_time(&session);
		for (unsigned step = 0; step < 200 && processes < MOST; step++) {
			struct made *p = &process[any(processes)];

			if (p->gone)
				continue;
			switch (any(p->target.forked ? 6 : 5)) {
			case 0:
				begin_process(p->target.pid, true);
				break;
			case 5:
				end_process(p);
				break;
			default:
				p->own += any(5000);
			}
			assert_int_equal(processor_time(&session), used());
		}
	}
}

/* Without a parent that is traced, what it took last counts for ever. */
static void test_alone(void **state)
{
	memset(&session, 0, sizeof(session));
	session.made = 100000;
	processes = 0;
	begin_process(0, false);
	begin_process(77, true); /* a parent that is not traced */
	processor_time(&session);
	process[1].own = 500;
	assert_int_equal(processor_time(&session), used());
	end_process(&process[1]);
	assert_int_equal(processor_time(&session), used());
	/* the parent ends first */
	begin_process(1, true);
	process[2].own = 300;
	assert_int_equal(processor_time(&session), used());
	end_process(&process[0]);
	end_process(&process[2]);
	assert_int_equal(processor_time(&session), used());
	/* one that could never be read counts nothing */
	begin_process(0, true);
	process[3].gone = true;
	process[3].target.ended = true;
	assert_int_equal(processor_time(&session), used());
}

/* ---- counting ---- */

#define PLACES	4000u
#define THREADS 9u

static uint64_t count_of[3][PLACES];

static uint32_t process_with(uint32_t tid)
{
	return tid % 3 + 1;
}

static void test_counts(void **state)
{
	const struct dt_costs costs = {.ticks = 60};
	uint64_t between = 0, unknown = 0, taken = 0, all = 0;
	struct dt_throttle *k;
	size_t places = 0;

	memset(&session, 0, sizeof(session));
	session.options.budget = 0.02;
	session.ticks_per_ns = 2;
	session.throttle = k = dt_throttle_new(&session, &costs);
	assert_non_null(k);
	assert_true(k->budget.share == 0.02 && k->budget.hook_ns == 30);
	k->from = 1000;
	for (unsigned i = 0; i < 3000; i++) {
		struct dt_record r[40];
		size_t n = any(40);

		for (size_t j = 0; j < n; j++) {
			uint32_t tid = any(3) && j ? r[j - 1].tid : 10 + any(THREADS);
			uint32_t place = any(i < 1500 ? 50 : PLACES);

			r[j] = (struct dt_record){.tid = tid,
						  .pc = 0x400000 + 16 * place + tid % 3,
						  .kind = any(2) ? DT_ENTRY : DT_EXIT,
						  .ticks = any(50) ? 1000 + any(1000) : any(1000)};
			if (!any(20))
				r[j].kind = DT_POINT;
			taken++;
			if (r[j].ticks < 1000)
				between++;
			else if (r[j].kind == DT_POINT)
				unknown++;
			else
				count_of[tid % 3][place]++;
		}
		dt_throttle_count(&session, r, n);
	}
	assert_int_equal(k->taken, taken);
	assert_int_equal(k->budget.between, between);
	assert_int_equal(k->unknown, unknown);
	for (unsigned p = 0; p < 3; p++)
		for (unsigned i = 0; i < PLACES; i++) {
			const struct count *c =
				slot_of(k->count, k->counts, 0x400000 + 16 * i + p, p + 1);

			assert_int_equal(c->n, count_of[p][i]);
			assert_int_equal(c->pid, c->n ? p + 1 : 0);
			places += c->n > 0;
			all += c->n;
		}
	assert_int_equal(all, taken - between - unknown);
	assert_int_equal(k->used, places);
	assert_true(2 * k->used <= k->counts);
	dt_throttle_free(k);
	/* without a measure of a record's cost, the slow path's is taken */
	k = dt_throttle_new(&session, &(struct dt_costs){0});
	assert_true(k->budget.hook_ns == 300);
	dt_throttle_free(k);
	dt_throttle_free(NULL);
}

/* ---- what it does not go with ---- */

static void refused(const struct dt_options *with, const char *what)
{
	struct dt_options o = *with;
	struct dt_error e = {""};

	o.budget = 0.02;
	assert_int_equal(dt_throttle_check(&o, &e), what ? -1 : 0);
	if (what) {
		assert_non_null(strstr(e.text, "--budget does not go with "));
		assert_non_null(strstr(e.text, what));
	}
	o.budget = 0;
	assert_int_equal(dt_throttle_check(&o, &e), 0);
}

static void test_refused(void **state)
{
#define WITH(...) &(struct dt_options){.output = "t.db", .policy = DT_WAIT, __VA_ARGS__}
	refused(&(struct dt_options){.output = "t.db", .policy = DT_WAIT}, NULL);
	refused(&(struct dt_options){.output = NULL}, "a session without a file (-o): the file is");
	refused(&(struct dt_options){.output = "t.db", .policy = DT_OVERWRITE},
		"-p overwrite: records are read at the end");
	refused(WITH(.libcalls = "*"), "-l or --failed: only functions of programs");
	refused(WITH(.sockets = true), "--sockets: only functions of programs");
	refused(WITH(.kernel = true), "-k: only functions of programs");
	refused(WITH(.backtrace = "f"), "--backtrace: it looks at every call");
#undef WITH
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
