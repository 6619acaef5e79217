/* SPDX-License-Identifier: MIT */
/*
 * session/wakers.c: who woke threads, by a kernel whose functions and stacks are made up, and a
 * file that only notes what is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/wakers.c"

/* ---- a kernel: its functions have 0x100 bytes each ---- */

#define TEXT 0xffffffff81000000ul

static const char *const name[] = {
	"startup",
	"bpf_prog_123",
	"__traceiter_sched_waking",
	"try_to_wake_up",
	"wake_up_process",
	"hrtimer_wakeup",
	"__do_softirq",
	"sysvec_apic_timer_interrupt",
	"exc_nmi",
	"pipe_write",
	"ksys_write",
	"complete",
	"complete_signal",
	"default_wake_function",
	"handle_softirqs",
	"common_interrupt",
};

enum {
	STARTUP,
	PROG,
	ITER,
	WAKE,
	WAKE_PROCESS,
	TIMER,
	SOFTIRQ,
	SYSVEC,
	NMI,
	PIPE,
	WRITE,
	COMPLETE,
	COMPLETE_SIGNAL,
	DEFAULT,
	HANDLE,
	COMMON,
	FUNCTIONS
};

static uint64_t in(unsigned function)
{
	return TEXT + 0x100 * function + 0x10;
}

bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	uint64_t i = (pc - TEXT) / 0x100;

	if (i >= FUNCTIONS)
		return false;
	*s = (struct dt_kernel_symbol){.address = TEXT + 0x100 * i,
				       .end = TEXT + 0x100 * (i + 1),
				       .name = name[i],
				       .module = "vmlinux"};
	return true;
}

static uint64_t stacks[8][DT_BPF_STACK_DEPTH];
static size_t depths[8], asked;

size_t dt_kernel_stack(const struct dt_kernel *k, uint32_t number, uint64_t *address, size_t most)
{
	asked++;
	assert_in_range(number, 1, 7);
	assert_true(depths[number] <= most);
	memcpy(address, stacks[number], depths[number] * sizeof(*address));
	return depths[number];
}

static void set_stack(unsigned number, size_t n, const unsigned *function)
{
	depths[number] = n;
	for (size_t i = 0; i < n; i++)
		stacks[number][i] = in(function[i]);
}

/* ---- a file ---- */

static struct dt_waker written[1000];
static char names[1000][17];
static int64_t rows, stack_rows, fails;
static struct dt_backtrace_frame frames[DT_BPF_STACK_DEPTH];
static size_t frames_n;
static char ended[32];

/* The row of a function is 100 and its place. */
int64_t dt_describe_kernel_function(struct dt_session *s, uint64_t address)
{
	return (address - TEXT) / 0x100 < FUNCTIONS ? 100 + (int64_t)((address - TEXT) / 0x100) : 0;
}

int64_t dt_store_stack(struct dt_store *s, const struct dt_backtrace_frame *frame, size_t n,
		       const char *why, struct dt_error *e)
{
	memcpy(frames, frame, n * sizeof(*frame));
	frames_n = n;
	strcpy(ended, why);
	return fails ? -1 : 50 + ++stack_rows;
}

int64_t dt_store_waker(struct dt_store *s, const struct dt_waker *w, struct dt_error *e)
{
	if (fails)
		return -1;
	if (rows < 1000) {
		written[rows] = *w;
		strcpy(names[rows], w->name);
	}
	return ++rows;
}

/* ---- */

static struct dt_session session;
static struct dt_wakers_seen *seen;

static int begin(void **state)
{
	session = (struct dt_session){.store = (struct dt_store *)&session};
	rows = stack_rows = fails = 0;
	asked = 0;
	seen = dt_wakers_seen_new();
	return seen ? 0 : -1;
}

static int end(void **state)
{
	dt_wakers_seen_free(seen);
	return 0;
}

/* Who: process and thread. Returns the record as it comes out. */
static struct dt_record wake(uint32_t pid, uint32_t tid, uint64_t number, const char *comm)
{
	struct dt_record r = {.kind = DT_WAKE, .tid = 7, .pc = 9, .sp = 11};

	r.value[0] = (uint64_t)pid << 32 | tid;
	r.value[1] = number;
	memcpy(&r.value[2], comm, strnlen(comm, 16));
	dt_wakers_take(&session, seen, &r, 1);
	return r;
}

/* A record of who woke has the number of a row with that; the same one again has the same row. */
static void test_rows(void **state)
{
	struct dt_record a, b;

	set_stack(1, 3, (const unsigned[]){WAKE, PIPE, WRITE});
	a = wake(20, 21, 1, "sixteen-letters!");
	assert_int_equal(DT_WAKER_OF(a.sp), 1);
	assert_int_equal(a.sp >> 63, 1);
	assert_int_equal(written[0].pid, 20);
	assert_int_equal(written[0].tid, 21);
	assert_string_equal(names[0], "sixteen-letters!");
	assert_int_equal(written[0].context, DT_WAKE_THREAD);
	assert_false(written[0].made);
	assert_int_equal(written[0].function, 100 + PIPE);
	assert_int_equal(written[0].stack, 51);
	b = wake(20, 21, 1, "sixteen-letters!");
	assert_int_equal(b.sp, a.sp);
	/* another thread, name or stack is another one; so is one that has made the thread */
	assert_int_equal(DT_WAKER_OF(wake(20, 22, 1, "sixteen-letters!").sp), 2);
	assert_int_equal(DT_WAKER_OF(wake(21, 21, 1, "sixteen-letters!").sp), 3);
	assert_int_equal(DT_WAKER_OF(wake(20, 21, 1, "sixteen-letters?").sp), 4);
	assert_int_equal(DT_WAKER_OF(wake(20, 21, 0, "sixteen-letters!").sp), 5);
	assert_int_equal(DT_WAKER_OF(wake(20, 21, 1 | DT_BPF_WAKE_NEW, "sixteen-letters!").sp), 6);
	assert_int_equal(written[4].stack, 0);
	assert_int_equal(written[4].function, 0);
	assert_true(written[5].made);
	assert_int_equal(written[5].stack, 51);
	assert_int_equal(rows, 6);
	assert_int_equal(asked, 1); /* a stack is read once */
	assert_int_equal(DT_WAKER_OF(wake(20, 21, 1, "sixteen-letters!").sp), 1);
	assert_int_equal(dt_wakers_unknown(seen), 0);
}

static void test_stacks(void **state)
{
	static const struct {
		size_t n;
		unsigned stack[10];
		unsigned function, own; /* own: how many frames are not the kernel's own business */
		enum dt_wake_context context;
	} is[] = {
		{4, {PROG, ITER, WAKE, PIPE}, PIPE, 2, DT_WAKE_THREAD},
		/* programs have no names everywhere: what is in front of the last one goes, too */
		{5, {FUNCTIONS + 1, PROG, FUNCTIONS + 1, ITER, PIPE}, PIPE, 4, DT_WAKE_THREAD},
		{5, {WAKE, WAKE_PROCESS, TIMER, SYSVEC, WRITE}, TIMER, 0, DT_WAKE_INTERRUPT},
		/* the innermost one counts */
		{5, {WAKE, SOFTIRQ, SYSVEC, WRITE, STARTUP}, SOFTIRQ, 0, DT_WAKE_SOFTIRQ},
		{4, {DEFAULT, HANDLE, COMMON, NMI}, HANDLE, 0, DT_WAKE_SOFTIRQ},
		{3, {WAKE, NMI, SYSVEC}, NMI, 0, DT_WAKE_NMI},
		{3, {COMPLETE, COMMON, WRITE}, COMMON, 0, DT_WAKE_INTERRUPT},
		/* of a name that only begins so it is the whole one */
		{3, {WAKE, COMPLETE_SIGNAL, WRITE}, COMPLETE_SIGNAL, 0, DT_WAKE_THREAD},
		/* one that is watching, but too far up to be ours */
		{10,
		 {WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, PROG, PIPE},
		 WRITE,
		 0,
		 DT_WAKE_THREAD},
		{10,
		 {WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, PROG, PIPE, WRITE},
		 PIPE,
		 8,
		 DT_WAKE_THREAD},
	};

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		end(NULL);
		begin(NULL);
		set_stack(2, is[i].n, is[i].stack);
		wake(1, 1, 2, "x");
		assert_int_equal(written[0].function, 100 + is[i].function);
		assert_int_equal(written[0].context, is[i].context);
		assert_int_equal(frames_n, is[i].n - is[i].own);
		assert_string_equal(ended, "");
		for (size_t k = 0; k < frames_n; k++) {
			unsigned f = is[i].stack[is[i].own + k];

			assert_int_equal(frames[k].address, in(f));
			assert_int_equal(frames[k].function, f < FUNCTIONS ? 100 + f : 0);
		}
	}
	/* a return address behind a function's end is that function's */
	end(NULL);
	begin(NULL);
	set_stack(3, 1, (const unsigned[]){PIPE});
	stacks[3][0] = TEXT + 0x100 * (PIPE + 1);
	wake(1, 1, 3, "x");
	assert_int_equal(written[0].function, 100 + PIPE);
	/* as deep as is looked */
	set_stack(4, DT_BPF_STACK_DEPTH, (const unsigned[DT_BPF_STACK_DEPTH]){WAKE});
	wake(1, 1, 4, "x");
	assert_int_equal(frames_n, DT_BPF_STACK_DEPTH);
	assert_string_equal(ended, "there are more");
	/* none, and all of them ours */
	set_stack(5, 0, NULL);
	wake(1, 1, 5, "x");
	set_stack(6, 2, (const unsigned[]){PROG, ITER});
	wake(1, 1, 6, "x");
	assert_int_equal(written[2].stack, 0);
	assert_int_equal(written[3].stack, 0);
	assert_int_equal(written[3].function, 0);
	/* a number that there is not */
	asked = 0;
	wake(1, 1, DT_BPF_STACKS + 1, "x");
	wake(1, 1, UINT32_MAX, "x");
	assert_int_equal(asked, 0);
	assert_int_equal(written[4].stack, 0);
}

/* With a switch by which a thread leaves a core comes where it waits. */
static void test_switches(void **state)
{
	struct dt_record r[] = {{.kind = DT_SWITCH, .sp = 3, .value = {5, 1}},
				{.kind = DT_SWITCH, .sp = 3, .value = {5, 0}},
				{.kind = DT_ENTRY, .sp = 3, .value = {5, 1}},
				{.kind = DT_SWITCH, .sp = 3, .value = {6, 1}}};

	set_stack(1, 2, (const unsigned[]){PIPE, WRITE});
	dt_wakers_take(&session, seen, r, 4);
	assert_int_equal(DT_WAKER_OF(r[0].sp), 51);
	assert_int_equal(r[0].value[0], 5);
	assert_int_equal(r[0].value[1], 0);
	assert_int_equal(r[1].sp, 3);
	assert_int_equal(r[2].sp, 3);
	assert_int_equal(r[2].value[1], 1);
	assert_int_equal(r[3].sp, r[0].sp);
	assert_int_equal(rows, 0);
	assert_int_equal(stack_rows, 1);
}

/* A session without a file has the place in the kernel in its log. */
static void test_log(void **state)
{
	struct dt_record r;

	session.store = NULL;
	set_stack(1, 3, (const unsigned[]){WAKE, PIPE, WRITE});
	r = wake(20, 21, 1, "a");
	assert_int_equal(r.pc, TEXT + 0x100 * PIPE);
	assert_int_equal(r.sp, 11);
	assert_int_equal(r.value[1], 1);
	assert_int_equal(rows + stack_rows, 0);
	assert_int_equal(dt_wakers_unknown(seen), 0);
}

/* Each of many different ones keeps its row; those beyond what a file has are counted. */
static void test_many(void **state)
{
	for (uint32_t i = 1; i <= 3000; i++)
		assert_int_equal(DT_WAKER_OF(wake(i / 7, i, 0, "x").sp), i);
	for (uint32_t i = 1; i <= 3000; i++)
		assert_int_equal(DT_WAKER_OF(wake(i / 7, i, 0, "x").sp), i);
	assert_int_equal(rows, 3000);
	fails = 1;
	assert_int_equal(wake(1, 5000, 0, "x").sp, 0);
	fails = 0;
	assert_int_equal(dt_wakers_unknown(seen), 1);
	/* it can be written later */
	assert_int_equal(DT_WAKER_OF(wake(1, 5000, 0, "x").sp), 3001);
	for (uint32_t i = 10000; seen->n < DT_WAKERS_MOST && dt_wakers_unknown(seen) == 1; i++)
		wake(9, i, 0, "x");
	for (uint32_t i = 1; i <= 200000 && dt_wakers_unknown(seen) < 6; i++)
		wake(10, i, 0, "x");
	assert_int_equal(dt_wakers_unknown(seen), 6);
	/* those that are known stay so */
	assert_int_equal(DT_WAKER_OF(wake(3000 / 7, 3000, 0, "x").sp), 3000);
	assert_int_equal(dt_wakers_unknown(seen), 6);
	assert_true(rows <= 2 * (int64_t)DT_WAKERS_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, begin, end),
		cmocka_unit_test_setup_teardown(test_stacks, begin, end),
		cmocka_unit_test_setup_teardown(test_switches, begin, end),
		cmocka_unit_test_setup_teardown(test_log, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
