/* SPDX-License-Identifier: MIT */
/*
 * session/unwinder.c: stacks of made-up modules, many of them more than once, so that what was
 * remembered is taken again. What must be written of each is computed once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "hook/target-modules.h"
#include "session/describe.h"
#include "session/state.h"
#include "session/unwinder.h"

#define FILES 4u
#define DEEP  (DT_STACK_FRAMES + 40)
#define MOST  30000u /* stacks that are written */

static struct dt_file made_file[FILES];
static struct dt_module module[FILES];
static struct dt_target target = {.id = 7, .module = module, .n = FILES};
static struct dt_session session = {.first = &target};

/* The stack that is being unwound: addresses, the innermost first, and why the last one is. */
static uint64_t made_pc[DEEP];
static size_t pcs, step;
static enum dt_unwind_result outermost;

/* What was written: of each stack a sum. */
static uint64_t made_sum[MOST];
static int64_t stacks, last;
static unsigned looked_up;
static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- the files: 0 has all, 1 has main at its first function, 2 no symbols, 3 half a table ---- */

static struct dt_symtab *made_up_symtab(const struct dt_file *f)
{
	return f == &made_file[2] ? NULL : (struct dt_symtab *)(uintptr_t)f;
}

static int made_up_unwind(const struct dt_symtab *t, uint64_t address, struct dt_unwind_row *row)
{
	looked_up++;
	assert_true(address < 0x100000);
	row->function = address / 16;
	row->signal = address / 16 % 8 == 4;
	return (const struct dt_file *)t == &made_file[3] && address >= 0x80000 ? 0 : 1;
}

static bool made_up_line(const struct dt_symtab *t, uint64_t address, const char **name,
			 unsigned *line)
{
	*name = address / 16 % 5 ? "made.c" : NULL;
	*line = (unsigned)(address / 16 + 1);
	return address / 16 % 3 != 0;
}

static int64_t made_up_caller(const struct dt_module *m, uint64_t address, uint64_t start,
			      bool *is_main)
{
	*is_main = m == &module[1] && address < 16;
	return (m - module) * 0x100000 + (int64_t)(address / 16) + (start ? 0x1000000 : 0);
}

static bool made_up_begin(void)
{
	step = 0;
	return pcs > 0;
}

static enum dt_unwind_result made_up_step(const struct dt_unwind_row *row)
{
	uint64_t here = made_pc[step];

	/* the row is that of the function where it is */
	assert_true(row->function == (here & 0xfffff) / 16 ||
		    row->function == ((here - 1) & 0xfffff) / 16);
	if (step + 1 == pcs)
		return outermost;
	step++;
	return DT_UNWIND_STEPPED;
}

static uint64_t sum_of(const struct dt_backtrace_frame *f, size_t n, const char *ended)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = h * 31 + f[i].address;
		h = h * 31 + f[i].function;
		h = h * 31 + f[i].line;
		for (const char *p = f[i].file; *p; p++)
			h = h * 31 + (unsigned char)*p;
	}
	for (; *ended; ended++)
		h = h * 31 + (unsigned char)*ended;
	return h;
}

static int64_t made_up_stack(const struct dt_backtrace_frame *f, size_t n, const char *ended)
{
	assert_true(stacks + 1 < MOST);
	made_sum[++stacks] = sum_of(f, n, ended);
	return stacks;
}

static int made_up_backtrace(const struct dt_backtrace_row *r)
{
	assert_true(r->tid == 5 && r->function == 6 && r->ticks == 1234);
	last = r->stack;
	return 0;
}

#define dt_file_symtab(f)			    made_up_symtab(f)
#define dt_symtab_unwind(t, address, row)	    made_up_unwind(t, address, row)
#define dt_symtab_line(t, address, name, line)	    made_up_line(t, address, name, line)
#define dt_describe_caller(s, m, address, start, x) made_up_caller(m, address, start, x)
#define dt_unwind_begin(r, stack, kept)		    made_up_begin()
#define dt_unwind_pc(r)				    made_pc[step]
#define dt_unwind_step(r, row, stack)		    made_up_step(row)
#define dt_store_stack(s, f, n, ended, e)	    made_up_stack(f, n, ended)
#define dt_store_backtrace(s, row, e)		    made_up_backtrace(row)
#include "session/unwinder.c"

/* ---- what is right ---- */

/* Which module has an address; FILES: none. */
static unsigned module_with(uint64_t address)
{
	for (unsigned i = 0; i < FILES; i++)
		if (address >= module[i].low && address < module[i].high)
			return i;
	return FILES;
}

/* Writes the frames of the stack that is set, and why it ends. */
static size_t frames_of(const struct dt_unwinder_call *c, struct dt_backtrace_frame *f, char *ended)
{
	bool exact = false;
	size_t n = 0;

	ended[0] = '\0';
	for (size_t i = 0; i < pcs; i++) {
		uint64_t where = exact ? made_pc[i] : made_pc[i] - 1;
		unsigned m = module_with(where);
		uint64_t address = where & 0xfffff;
		const char *name = NULL;
		unsigned line = 0;
		bool is_main = false;

		if (n == DT_STACK_FRAMES) {
			snprintf(ended, ENDED, "further callers, of more than %u", DT_STACK_FRAMES);
			break;
		}
		f[n] = (struct dt_backtrace_frame){.address = made_pc[i], .file = ""};
		if (m == FILES) {
			snprintf(ended, ENDED,
				 "this address is in no file that is mapped: code made at run "
				 "time, or the stack was not understood");
			return n + 1;
		}
		f[n].function = (uint32_t)made_up_caller(
			&module[m], address,
			m == 2 || (m == 3 && address >= 0x80000) ? 0 : address / 16, &is_main);
		if (m != 2 && made_up_line(NULL, address, &name, &line) && name) {
			f[n].file = name;
			f[n].line = line;
		}
		n++;
		if (is_main)
			return n;
		if (m == 2) {
			snprintf(ended, ENDED, "no unwind table in lib2.so");
			return n;
		}
		if (m == 3 && address >= 0x80000) {
			snprintf(ended, ENDED,
				 "the unwind table of lib3.so has nothing about this place");
			return n;
		}
		if (i + 1 == pcs && outermost == DT_UNWIND_WRONG)
			snprintf(ended, ENDED,
				 "the unwind table of lib%u.so does not fit the stack", m);
		else if (i + 1 == pcs && outermost == DT_UNWIND_DEEPER && c->cut)
			snprintf(ended, ENDED,
				 "the stack is deeper than the %lu bytes that were kept: "
				 "--backtrace-size",
				 (unsigned long)c->stack.n);
		else if (i + 1 == pcs && outermost == DT_UNWIND_DEEPER)
			snprintf(ended, ENDED,
				 "the next caller is on another stack, or this one ends here");
		exact = address / 16 % 8 == 4;
	}
	return n;
}

/* An address behind a call, or where a signal came. These are at the beginnings of functions of
 * which no caller is. */
static uint64_t any_pc(bool exact, unsigned places)
{
	unsigned m = any(40) ? any(20) ? any(2) : 2 + any(2) : FILES;

	return 0x10000000ull * (m + 1) + 16ull * (2 * any(places) + (exact ? 2 : 1));
}

static void make_stack(unsigned places)
{
	bool exact = false;

	pcs = 1 + (any(50) ? any(12) : any(DEEP - 1));
	for (size_t i = 0; i < pcs; i++) {
		made_pc[i] = any_pc(exact, places);
		exact = ((exact ? made_pc[i] : made_pc[i] - 1) & 0xfffff) / 16 % 8 == 4;
	}
	outermost = any(3) ? DT_UNWIND_OUTERMOST : any(2) ? DT_UNWIND_DEEPER : DT_UNWIND_WRONG;
}

static void unwind(struct dt_unwinder *u, const struct dt_unwinder_call *c)
{
	struct dt_backtrace_frame f[DT_STACK_FRAMES];
	struct dt_error e = {""};
	char ended[ENDED];
	size_t n = frames_of(c, f, ended);

	last = 0;
	assert_int_equal(dt_unwinder_keep(u, c, &e), 0);
	assert_in_range(last, 1, stacks);
	assert_true(made_sum[last] == sum_of(f, n, ended));
}

static void begin(struct dt_unwinder **u)
{
	for (unsigned i = 0; i < FILES; i++) {
		static char path[FILES][32];

		snprintf(path[i], sizeof(path[i]), "/usr/lib%s/lib%u.so", i & 1 ? "" : "/x", i);
		made_file[i].path = path[i];
		module[i] = (struct dt_module){.file = &made_file[i],
					       .row = i + 1,
					       .bias = 0x10000000ull * (i + 1),
					       .low = 0x10000000ull * (i + 1),
					       .high = 0x10000000ull * (i + 1) + 0x100000};
	}
	*u = dt_unwinder_new(&session);
	assert_non_null(*u);
	stacks = 0;
}

static void test_stacks(void **state)
{
	struct dt_unwinder_call c = {
		.tid = 5, .pid = 7, .function = 6, .ticks = 1234, .stack.n = 4096};
	struct dt_unwinder *u;

	begin(&u);
	/* few places first, and then more than there is room for */
	for (unsigned i = 0; i < 6000; i++) {
		make_stack(i < 3000 ? 40 : 0x7000);
		c.cut = any(2);
		unwind(u, &c);
		if (!any(4))
			unwind(u, &c);
	}
	dt_unwinder_free(u);
}

static void test_once(void **state)
{
	struct dt_unwinder_call c = {.tid = 5, .pid = 7, .function = 6, .ticks = 1234};
	int64_t before;
	struct dt_unwinder *u;

	begin(&u);
	pcs = 3;
	outermost = DT_UNWIND_OUTERMOST;
	made_pc[0] = module[0].low + 0x50;
	made_pc[1] = module[0].low + 0x90;
	made_pc[2] = module[1].low + 0x70;
	unwind(u, &c);
	before = stacks;
	looked_up = 0;
	unwind(u, &c);
	assert_int_equal(stacks, before);
	assert_int_equal(looked_up, 0);
	/* the borders of a module */
	pcs = 1;
	made_pc[0] = module[0].low;
	unwind(u, &c);
	made_pc[0] = module[0].low + 1;
	unwind(u, &c);
	made_pc[0] = module[0].high;
	unwind(u, &c);
	made_pc[0] = module[0].high + 1;
	unwind(u, &c);
	dt_unwinder_free(u);
}

/* Stacks of which nothing is known. */
static void test_nothing(void **state)
{
	struct dt_unwinder_call c = {.tid = 5, .pid = 8, .function = 6, .ticks = 1234};
	struct dt_error e = {""};
	struct dt_unwinder *u;

	begin(&u);
	pcs = 1;
	assert_int_equal(dt_unwinder_keep(u, &c, &e), 0);
	assert_true(made_sum[last] == sum_of(NULL, 0, "the process of the call is not known"));
	c.pid = 7;
	pcs = 0;
	assert_int_equal(dt_unwinder_keep(u, &c, &e), 0);
	assert_true(made_sum[last] == sum_of(NULL, 0, "the stack could not be read"));
	dt_unwinder_free(u);
	dt_unwinder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
