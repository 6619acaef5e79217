/* SPDX-License-Identifier: MIT */
/*
 * session/kernel-ranges.c with a kernel that only notes what it is told: which ranges are the
 * kernel's, what they are called there, and to which tracepoint a record belongs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "core/error.h"
#include "session/kernel.h"

static char told[1024];
static const char *refuses; /* what begins so is refused */
static struct dt_kernel_points *points;
static uint64_t now;
static bool no_functions;

static int made_up_functions(struct dt_error *e)
{
	return no_functions ? dt_fail(e, "no functions") : 0;
}

static int made_up_tell(struct dt_error *e, const char *format, ...)
{
	size_t n = strlen(told);
	va_list a;

	va_start(a, format);
	vsnprintf(told + n, sizeof(told) - n, format, a);
	va_end(a);
	return refuses && strncmp(told + n, refuses, strlen(refuses)) == 0 ? dt_fail(e, "refused")
									   : 0;
}

static bool made_up_named(const char *name, struct dt_kernel_symbol *s)
{
	*s = (struct dt_kernel_symbol){.address = 0xffffffff81000100, .end = 0xffffffff81000200};
	return strcmp(name, "there") == 0;
}

#define dt_kernel_functions(k, e) made_up_functions(e)
#define dt_kernel_tell(k, e, ...) made_up_tell(e, __VA_ARGS__)
#define dt_kernel_named(k, n, s)  made_up_named(n, s)
#define dt_kernel_points(k)	  points
#define dt_ticks()		  now
#include "session/kernel-ranges.c"
#undef dt_kernel_points

static struct dt_kernel *const kernel = (struct dt_kernel *)1;
static struct dt_error e;

/* ---- which ranges are the kernel's ---- */

static const struct {
	const char *what;
	int is; /* -1: only some of it is */
	const char *set;
} sets[] = {
	{"kernel:vfs_read", 1, "'vfs_read'"},
	{"vfs_read", 0, NULL},
	{"kernel:vfs_* kernel:ksys_*", 1, "'vfs_* ksys_*'"},
	{"kernel:vfs_* !kernel:vfs_read", 1, "'vfs_* !vfs_read'"},
	{"kernel:a +kernel:b", 1, "'a +b'"},
	{"!kernel:a", 1, "'!a'"},
	{"kernel:", 1, "''"},
	{"kernel:xkernel:y", 1, "'xkernel:y'"},
	{"prog:f lib:g", 0, NULL},
	{"prog:f kernel:g", -1, NULL},
	{"kernel:f prog:g", -1, NULL},
	{"kernel:f !prog:g", -1, NULL},
	{"prog:f !kernel:g", -1, NULL},
	{"mykernel:f", 0, NULL},
	{"kernel", 0, NULL},
	{" kernel:f", 1, "' f'"},
	{"kernel:f ", 1, "'f '"},
	{"kernel:f  kernel:g", 1, "'f  g'"},
	{"   ", 0, NULL},
	{"", 0, NULL},
};

static void which(void **state)
{
	struct dt_range r = {.kind = DT_RANGE_SET};

	alarm(60); /* a text that is read for ever */
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		r.what = (char *)(uintptr_t)sets[i].what;
		assert_int_equal(dt_kernel_range(&r, &e), sets[i].is);
	}
	alarm(0);
	r = (struct dt_range){.kind = DT_RANGE_ADDRESS, .start = 0xffffffff81000000};
	assert_int_equal(dt_kernel_range(&r, &e), 1);
	r.start = 0x401000;
	assert_int_equal(dt_kernel_range(&r, &e), 0);
}

static void places(void **state)
{
	struct dt_place p;

	assert_int_equal(dt_kernel_place(kernel, "there", &p, &e), 1);
	assert_true(p.start == 0xffffffff81000100 && p.end == 0xffffffff810001ff);
	assert_int_equal(dt_kernel_place(kernel, "elsewhere", &p, &e), -1);
	assert_string_equal(e.text, "devtrace: the kernel has no function 'elsewhere'");
	assert_int_equal(dt_kernel_place(NULL, "there", &p, &e), -1);
	assert_non_null(strstr(e.text, "does not record the kernel"));
}

/* ---- functions ---- */

/* What the kernel is told, with the range's number as N. */
static void is_told(const struct dt_kernel_range *x, const char *wanted)
{
	char text[1024] = "";
	size_t n = 0;

	for (const char *p = wanted; *p; p++)
		n += (size_t)(*p == '@' ? snprintf(text + n, sizeof(text) - n, "s%u", x->number)
					: snprintf(text + n, sizeof(text) - n, "%c", *p));
	assert_string_equal(told, text);
	told[0] = '\0';
}

static void functions(void **state)
{
	struct dt_kernel_range *x, *y;
	struct dt_range r = {.kind = DT_RANGE_SET, .action.what = DT_DO_ENTRY | DT_DO_EXIT};
	char text[128];

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		if (sets[i].is <= 0)
			continue;
		r.what = (char *)(uintptr_t)sets[i].what;
		x = dt_kernel_range_make(kernel, &r, &e);
		assert_non_null(x);
		/* it is tried, and taken away */
		snprintf(text, sizeof(text), "trace %s new @\ndelete @\n", sets[i].set);
		is_told(x, text);
		r.on = true;
		assert_int_equal(dt_kernel_range_switch(x, &r, &e), 0);
		snprintf(text, sizeof(text), "trace %s new @\ntrace @ on\n", sets[i].set);
		is_told(x, text);
		r.on = false;
		assert_int_equal(dt_kernel_range_switch(x, &r, &e), 0);
		is_told(x, "delete @\n");
		dt_kernel_range_forget(x);
	}
	r = (struct dt_range){.kind = DT_RANGE_ADDRESS,
			      .start = 0xffffffff81000000,
			      .end = 0xffffffff81000fff,
			      .on = true,
			      .action.what = DT_DO_ENTRY};
	x = dt_kernel_range_make(kernel, &r, &e);
	is_told(x, "trace ffffffff81000000 ffffffff81000fff new @\ndelete @\n");
	y = dt_kernel_range_make(kernel, &r, &e);
	assert_int_not_equal(x->number, y->number);
	told[0] = '\0';
	dt_kernel_range_forget(y);
	assert_int_equal(dt_kernel_range_switch(x, &r, &e), 0);
	is_told(x, "trace ffffffff81000000 ffffffff81000fff new @ ENTRY\ntrace @ on\n");
	/* what is refused is taken away again */
	refuses = "trace";
	assert_int_equal(dt_kernel_range_switch(x, &r, &e), -1);
	is_told(x, "trace ffffffff81000000 ffffffff81000fff new @ ENTRY\ntrace @ on\ndelete @\n");
	dt_kernel_range_forget(x);
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	assert_string_equal(e.text, "refused");
	refuses = NULL;
	no_functions = true;
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	no_functions = false;
	r.kind = DT_RANGE_SET;
	r.what = "kernel:it's";
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	r.what = "kernel:f\nstop";
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	assert_null(dt_kernel_range_make(NULL, &r, &e));
	told[0] = '\0';
}

/* ---- tracepoints ---- */

#define PLACES 3u
#define MADE   40u

static struct dt_kernel_range *made[MADE];
static struct dt_range range[MADE];
static uint64_t begun[MADE], ended[MADE];
static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* Points come and go at a few addresses; one is replaced by another while it is on. */
static void come_and_go(void)
{
	unsigned on[PLACES] = {0}; /* index + 1 */

	for (unsigned i = 0; i < MADE; i++) {
		unsigned p = any(PLACES), old = on[p];

		now += 10 + any(10);
		range[i] = (struct dt_range){.kind = DT_RANGE_POINT,
					     .start = 0xffffffff81000000 + 16 * p,
					     .on = true,
					     .action.what = DT_DO_ENTRY};
		made[i] = dt_kernel_range_make(kernel, &range[i], &e);
		assert_non_null(made[i]);
		if (old && any(2)) {
			assert_int_equal(
				dt_kernel_range_change(made[old - 1], made[i], &range[i], &e), 0);
			assert_int_equal(made[i]->serial, made[old - 1]->serial + 1);
			ended[old - 1] = now;
		} else {
			if (old) {
				range[old - 1].on = false;
				assert_int_equal(
					dt_kernel_range_switch(made[old - 1], &range[old - 1], &e),
					0);
				ended[old - 1] = now;
			}
			now += 5;
			assert_int_equal(dt_kernel_range_switch(made[i], &range[i], &e), 0);
		}
		begun[i] = now;
		ended[i] = ~0ull;
		on[p] = i + 1;
		told[0] = '\0';
	}
}

static void tracepoints(void **state)
{
	struct dt_record r = {.kind = DT_POINT, .pc = 0xffffffff81000000};
	unsigned first, found = 0;

	points = dt_kernel_points_new();
	assert_true(dt_kernel_point_pc(kernel, &r) == r.pc);
	come_and_go();
	for (uint64_t t = 0; t < now + 20; t++)
		for (unsigned p = 0; p < 2 * PLACES; p++)
			for (unsigned serial = 0; serial < 4; serial++) {
				unsigned part = any(3);
				int of = -1;
				uint64_t pc;

				for (unsigned i = 0; i < MADE; i++)
					if (range[i].start == 0xffffffff81000000 + 8 * p &&
					    made[i]->serial == serial && t >= begun[i] &&
					    t <= ended[i])
						of = (int)i;
				r = (struct dt_record){.kind = part ? DT_MORE : DT_POINT,
						       .pc = 0xffffffff81000000 + 8 * p,
						       .ticks = t,
						       .core = (uint16_t)(serial << 8 | part)};
				pc = dt_kernel_point_pc(kernel, &r);
				if (of < 0) {
					assert_true(pc == r.pc);
					continue;
				}
				found++;
				assert_ptr_equal(dt_kernel_point(kernel, pc, &first),
						 made[of]->point);
				assert_int_equal(first, 4 * part);
				r.kind = DT_ENTRY;
				assert_true(dt_kernel_point_pc(kernel, &r) == r.pc);
			}
	assert_true(found > 500);
	r = (struct dt_record){.kind = DT_POINT,
			       .pc = range[MADE - 1].start,
			       .ticks = now,
			       .core = (uint16_t)(made[MADE - 1]->serial << 8 | DEVTRACE_CONST)};
	dt_kernel_point(kernel, dt_kernel_point_pc(kernel, &r), &first);
	assert_int_equal(first, DT_KERNEL_CONST);
	/* no points */
	assert_null(dt_kernel_point(kernel, 0xff, &first));
	assert_null(dt_kernel_point(kernel, 1ull << 63, &first));
	assert_null(dt_kernel_point(kernel, 1ull << 63 | (uint64_t)(MADE + 1) << 8, &first));
	assert_non_null(dt_kernel_point(kernel, 1ull << 63 | (uint64_t)MADE << 8, &first));
	assert_null(dt_kernel_point(kernel, 0xffffffff81000000, &first));
	for (unsigned i = 0; i < MADE; i++)
		dt_kernel_range_forget(made[i]);
	for (unsigned i = 0; i < MADE; i++)
		assert_true(points->all.point[i]->idle);
	dt_kernel_points_free(points);
}

/* What the kernel is told of a point; one that it refuses has no records. */
static void one_point(void **state)
{
	struct dt_range r = {.kind = DT_RANGE_POINT,
			     .start = 0xffffffff81000009,
			     .capture = "REG rdi",
			     .on = true,
			     .action.what = DT_DO_ENTRY};
	struct dt_record record = {.kind = DT_POINT, .pc = r.start};
	struct dt_kernel_range *x;

	points = dt_kernel_points_new();
	now = 100;
	x = dt_kernel_range_make(kernel, &r, &e);
	assert_non_null(x);
	assert_string_equal(x->point->what, "REG rdi");
	assert_string_equal(told, "");
	assert_int_equal(dt_kernel_range_switch(x, &r, &e), 0);
	assert_string_equal(told, "trace 0xffffffff81000009 REG rdi\n");
	record.ticks = now = 200;
	assert_true(dt_kernel_point_pc(kernel, &record) != r.start);
	r.on = false;
	told[0] = '\0';
	assert_int_equal(dt_kernel_range_switch(x, &r, &e), 0);
	assert_string_equal(told, "delete 0xffffffff81000009\n");
	told[0] = '\0';
	record.ticks = now = 300;
	refuses = "trace";
	r.on = true;
	assert_int_equal(dt_kernel_range_switch(x, &r, &e), -1);
	refuses = NULL;
	record.ticks = now = 301;
	assert_true(dt_kernel_point_pc(kernel, &record) == r.start);
	dt_kernel_range_forget(x);
	r.capture = "VALUE jiffies";
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	assert_non_null(strstr(e.text, "VALUE jiffies: variables of the kernel's source"));
	r.capture = "nonsense";
	assert_null(dt_kernel_range_make(kernel, &r, &e));
	told[0] = '\0';
	dt_kernel_points_free(points);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which),     cmocka_unit_test(places),
		cmocka_unit_test(functions), cmocka_unit_test(tracepoints),
		cmocka_unit_test(one_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
