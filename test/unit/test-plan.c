/* SPDX-License-Identifier: MIT */
/*
 * elf/frames.c, code.c, plan.c and space.c on functions whose answers are known: those of
 * test/probe/odd.S, and some that compilers make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "hook/space.h"
#include "test/unit/test-elf-scratch.h"
#include "elf/frames.h"
#include "symbols/code.h"
#include "symbols/symtab.h"

struct file {
	struct dt_symtab *symtab;
	struct dt_code *code;
	struct dt_space space;
	struct dt_plan plan;
};

static const char *root(void)
{
	static char here[PATH_MAX];
	const char *given = getenv("DEVTRACE_ROOT");

	return given ? given : getcwd(here, sizeof(here));
}

static void open_file(struct file *f, const char *name)
{
	struct dt_plan_options options = {.claim = dt_space_claim, .ctx = &f->space, .hook = 16};
	struct dt_error e = {""};

	*f = (struct file){.symtab = dt_symtab_open(scratch_path(name), "/nowhere", &e)};
	if (!f->symtab)
		fail_msg("%s", e.text);
	f->code = dt_code_open(scratch_path(name), f->symtab, &e);
	if (!f->code)
		fail_msg("%s", e.text);
	assert_int_equal(dt_space_add(&f->space, f->code->high + 0x1000000, 0x70000000, &e), 0);
	assert_int_equal(dt_plan_begin(&f->plan, f->code, &options, &e), 0);
}

static void close_file(struct file *f)
{
	dt_plan_end(&f->plan);
	dt_code_close(f->code);
	dt_symtab_close(f->symtab);
	dt_space_free(&f->space);
}

static size_t named(const struct file *f, const char *name)
{
	for (size_t i = 0; i < f->code->functions; i++)
		if (f->code->function[i].name && !strcmp(f->code->function[i].name, name))
			return i;
	fail_msg("there is no function %s", name);
	return 0;
}

static void build_odd(void)
{
	assert_int_equal(scratch_run("gcc -O1 -no-pie -o odd '%s/test/probe/odd.c' "
				     "'%s/test/probe/odd.S'",
				     root(), root()),
			 0);
}

enum { JUMP = DT_TACTIC_JUMP, PAD, SHARED, SHORT, INNER, PUN, TRAP, NO = -1 };

/* Each function's entry, and its exits in the order of their addresses. */
static const struct {
	const char *name;
	int entry, exit[4], exits, windows;
	bool loops;
} expected[] = {
	{"plain", JUMP, {PAD}, 1, 2, false},
	{"one_byte", TRAP, {TRAP}, 1, 1, false},
	{"two_bytes", PAD, {PAD}, 1, 1, false},
	{"one_byte_padded", PAD, {PAD}, 1, 1, false},
	{"loop_to_entry", JUMP, {PAD}, 1, 2, false},
	{"loop_moved", JUMP, {JUMP}, 1, 2, true},
	{"far_loop_to_entry", JUMP, {JUMP}, 1, 2, false},
	{"target_inside", SHORT, {PAD}, 1, 2, false},
	{"shared_exit", JUMP, {SHARED}, 1, 2, false},
	{"behind_shared_exit", JUMP, {PAD}, 1, 2, false},
	{"shared_exit_short", JUMP, {SHARED}, 1, 2, false},
	/* the branch to the first of the cold ones is moved itself */
	{"cold_exits", JUMP, {PAD, SHORT, SHARED}, 3, 4, false},
	{"branches_out", JUMP, {JUMP, JUMP, PAD}, 3, 3, false},
	{"skips_lock", JUMP, {PAD}, 1, 2, false},
	{"skips_lock_alone", JUMP, {PAD}, 1, 2, false},
	{"counts_down", JUMP, {PAD}, 1, 2, false},
	{"calls_first", JUMP, {PAD}, 1, 2, false},
	{"has_endbr", JUMP, {PAD}, 1, 2, false},
	{"pops", JUMP, {PAD}, 1, 2, false},
	{"reads_itself", JUMP, {JUMP}, 1, 1, false},
	{"returns_to_two", JUMP, {INNER}, 1, 2, false},
	{"moves_call", JUMP, {INNER}, 1, 2, false},
	{"moves_entry", INNER, {INNER}, 1, 1, false},
	{"runs_into_two", JUMP, {INNER}, 1, 2, false},
	{"room_elsewhere", JUMP, {INNER}, 1, 2, false},
	{"across_page", JUMP, {TRAP}, 1, 2, false},
};

static void test_tactics(void **state)
{
	struct dt_plan_function x;
	struct file f;

	build_odd();
	open_file(&f, "odd");
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		int exits = 0;

		dt_plan_function(&f.plan, named(&f, expected[i].name), &x);
		if (x.refusal)
			fail_msg("%s: %s", expected[i].name, x.why);
		for (uint32_t k = x.first_site; k < x.first_site + x.sites; k++) {
			const struct dt_plan_site *s = &f.plan.site[k];
			int tactic = f.plan.window[s->window].tactic, want;

			want = s->kind == DT_PLAN_ENTRY ? expected[i].entry
							: expected[i].exit[exits++];
			/* filler is as good as an instruction's own bytes */
			if (tactic != want && !(tactic < SHARED && want < SHARED))
				fail_msg("%s: site %u is %s, not %s", expected[i].name,
					 k - x.first_site, dt_tactic_name((unsigned)tactic),
					 dt_tactic_name((unsigned)want));
		}
		assert_int_equal(exits, expected[i].exits);
		if ((int)x.windows != expected[i].windows)
			fail_msg("%s has %u windows", expected[i].name, x.windows);
		assert_int_equal(x.loops, expected[i].loops);
	}
	close_file(&f);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *name, *why;
	} refused[] = {
		{"traps", "an instruction there cannot be moved"},
		{"has_data", "something in it is not an instruction"},
		{"takes_itself", "something in it is not an instruction"},
		{"overlaps", "something jumps into the middle of one of its instructions"},
		{"far_return", "it leaves by a far return"},
	};
	struct dt_plan_function x;
	struct file f;

	build_odd();
	open_file(&f, "odd");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		dt_plan_function(&f.plan, named(&f, refused[i].name), &x);
		assert_int_not_equal(x.refusal, DT_REFUSED_NOT);
		assert_string_equal(x.why, refused[i].why);
		assert_int_equal(x.sites, 0);
	}
	/* nothing of them is left */
	assert_int_equal(f.plan.windows, 0);
	assert_int_equal(f.plan.sites, 0);
	for (size_t i = 0; i < f.code->regions; i++)
		for (uint64_t k = 0; k < (f.code->region[i].high - f.code->region[i].low) / 8; k++)
			assert_int_equal(f.plan.taken[i][k], 0);
	close_file(&f);
}

/* Without int3 a function that needs one is refused; without moved calls another way is found. */
static void test_options(void **state)
{
	struct dt_plan_function x;
	struct file f;

	build_odd();
	open_file(&f, "odd");
	/* endbr64 stays where it is */
	dt_plan_function(&f.plan, named(&f, "has_endbr"), &x);
	assert_int_equal(f.plan.window[x.first_window].start,
			 f.code->function[named(&f, "has_endbr")].start + 4);
	f.plan.options.no_traps = true;
	dt_plan_function(&f.plan, named(&f, "one_byte"), &x);
	assert_int_equal(x.refusal, DT_REFUSED_TAKEN);
	f.plan.options.no_calls = true;
	dt_plan_function(&f.plan, named(&f, "calls_first"), &x);
	assert_int_not_equal(x.refusal, DT_REFUSED_NOT);
	dt_plan_function(&f.plan, named(&f, "plain"), &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	close_file(&f);
}

/* A punned jump leads to where the bytes behind it say. */
static void test_punned(void **state)
{
	static const struct dt_plan_hook none = {.emit = NULL};
	struct dt_plan_point x;
	const struct dt_plan_window *w;
	struct dt_trampoline t;
	uint8_t bytes[200], jump[8] = {0};
	struct dt_emit o = {.bytes = bytes, .room = sizeof(bytes)};
	struct dt_error e;
	int32_t distance;
	struct file f;

	/* mov is bb 78 56 34 12: four bytes of that are the distance of a jump in front */
	assert_int_equal(
		scratch_run(
			"printf '.globl main, point\\nmain: ret\\n"
			".type point, @function\\npoint: push %%%%rax\\n"
			"1: mov $0x12345678, %%%%ebx\\n jmp 1b\\n"
			".size point, . - point\\n"
			".section .note.GNU-stack,\"\",@progbits\\n' >p.s && gcc -o p p.s -no-pie"),
		0);
	open_file(&f, "p");
	dt_plan_point(&f.plan, f.code->function[named(&f, "point")].start, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	w = &f.plan.window[x.window];
	assert_int_equal(w->tactic, DT_TACTIC_PUNNED);
	assert_int_equal(w->patch, 1);
	assert_int_equal(w->size, 1);
	o.address = w->at + 0x1000;
	assert_int_equal(dt_plan_emit(&f.plan, x.window, 0, &none, &o, &t, &e), -1);
	o.address = w->at;
	f.plan.window[x.window].sites = 0; /* no hook is needed here */
	assert_int_equal(dt_plan_emit(&f.plan, x.window, 0, &none, &o, &t, &e), 0);
	assert_int_equal(t.patches, 1);
	assert_int_equal(t.patch[0].length, 1);
	/* what is executed then */
	for (size_t i = 0; i < f.code->regions; i++)
		if (w->start >= f.code->region[i].low && w->start < f.code->region[i].high)
			memcpy(jump, f.code->region[i].bytes + (w->start - f.code->region[i].low),
			       5);
	jump[0] = t.patch[0].bytes[0];
	assert_int_equal(jump[0], 0xe9);
	memcpy(&distance, jump + 1, 4);
	assert_int_equal(w->start + 5 + (uint64_t)(int64_t)distance, w->at);
	close_file(&f);
}

/* The addresses of a window's points, in order; how many there are. */
static unsigned points_of(const struct file *f, uint32_t window, uint64_t *at)
{
	const struct dt_plan_window *w = &f->plan.window[window];
	unsigned n = 0;

	for (uint32_t i = 0; i < w->sites; i++)
		if (f->plan.site[w->first_site + i].kind == DT_PLAN_POINT)
			at[n++] = f->plan.site[w->first_site + i].address;
	return n;
}

static void test_points(void **state)
{
	struct dt_plan_point x;
	uint64_t plain, lock, at[8];
	uint32_t first;
	struct file f;

	build_odd();
	open_file(&f, "odd");
	plain = f.code->function[named(&f, "plain")].start;
	lock = f.code->function[named(&f, "skips_lock")].start;
	dt_plan_point(&f.plan, plain + 3, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_equal(points_of(&f, x.window, at), 1);
	assert_int_equal(at[0], plain + 3);
	first = x.window;
	/* again: another window in its place */
	dt_plan_point(&f.plan, plain + 3, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_not_equal(x.window, first);
	assert_int_equal(x.n_gone, 1);
	assert_int_equal(x.gone[0].index, first);
	assert_int_equal(f.plan.window[first].sites, 0);
	assert_int_equal(points_of(&f, x.window, at), 1);
	dt_plan_point(&f.plan, plain + 4, &x);
	assert_int_equal(x.refusal, DT_REFUSED_BOUNDARY);
	assert_int_equal(x.at, plain + 3);
	/* the one in front has not enough bytes before that: the two share a window */
	dt_plan_point(&f.plan, plain, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_equal(x.n_gone, 1);
	assert_int_equal(f.plan.window[x.window].start, plain);
	assert_int_equal(points_of(&f, x.window, at), 2);
	assert_int_equal(at[0], plain);
	assert_int_equal(at[1], plain + 3);
	dt_plan_point(&f.plan, f.code->function[named(&f, "traps")].start, &x);
	assert_int_equal(x.refusal, DT_REFUSED_IMMOVABLE);
	dt_plan_point(&f.plan, f.code->function[named(&f, "has_data")].start, &x);
	assert_int_equal(x.refusal, DT_REFUSED_TROUBLE);
	dt_plan_point(&f.plan, 0x10, &x);
	assert_int_equal(x.refusal, DT_REFUSED_OUTSIDE);
	/* lea, mov, cmp, je, lock: the byte after it is jumped to, so no jump may cover it */
	dt_plan_point(&f.plan, lock + 13, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_equal(f.plan.window[x.window].patch, 1);
	close_file(&f);
}

/* A point in a function that is hooked joins its windows; one that was there first gives way. */
static void test_points_in_functions(void **state)
{
	struct dt_plan_function whole;
	struct dt_plan_point x;
	uint64_t plain, at[8];
	struct dt_plan_gone gone[4];
	struct file f;
	size_t index;

	build_odd();
	open_file(&f, "odd");
	index = named(&f, "plain");
	plain = f.code->function[index].start;
	dt_plan_point(&f.plan, plain + 3, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_equal(dt_plan_drop_points(&f.plan, index, gone, 4), 1);
	assert_int_equal(gone[0].index, x.window);
	dt_plan_function(&f.plan, index, &whole);
	assert_int_equal(whole.refusal, DT_REFUSED_NOT);
	dt_plan_point(&f.plan, plain + 3, &x);
	assert_int_equal(x.refusal, DT_REFUSED_NOT);
	assert_int_equal(x.n_gone, 1);
	assert_int_equal(x.gone[0].index, whole.first_window);
	/* the entry is still there, in front of the point */
	assert_int_equal(f.plan.window[x.window].sites, 2);
	assert_int_equal(f.plan.site[f.plan.window[x.window].first_site].kind, DT_PLAN_ENTRY);
	assert_int_equal(points_of(&f, x.window, at), 1);
	assert_int_equal(at[0], plain + 3);
	/* nothing but points is given back */
	assert_int_equal(dt_plan_drop_points(&f.plan, index, gone, 4), 0);
	close_file(&f);
}

/* A point in what makes room for an exit joins the exit's window; without the exit it needs one
 * itself. */
static void test_points_in_rooms(void **state)
{
	static const struct {
		const char *name;
		unsigned point[4]; /* from the function's start */
	} rooms[] = {{"returns_to_two", {12, 16, 25, 26}},
		     {"moves_call", {8, 13, 18, 19}},
		     {"moves_entry", {4, 8, 13, 14}},
		     {"runs_into_two", {60, 64, 72, 73}}};
	struct dt_plan_function whole;
	struct dt_plan_gone gone[4];
	struct dt_plan_point x;
	uint64_t start, at[8];
	struct file f;

	build_odd();
	open_file(&f, "odd");
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
		size_t index = named(&f, rooms[i].name);
		unsigned points = 0;
		uint32_t window;

		start = f.code->function[index].start;
		/* an exit by itself, which gives way to the function */
		dt_plan_point(&f.plan, f.code->function[index].end - 2, &x);
		assert_int_equal(x.refusal, DT_REFUSED_NOT);
		assert_int_equal(f.plan.window[x.window].tactic, DT_TACTIC_INNER);
		assert_int_equal(dt_plan_drop_points(&f.plan, index, gone, 4), 1);
		dt_plan_function(&f.plan, index, &whole);
		assert_int_equal(whole.refusal, DT_REFUSED_NOT);
		window = f.plan.site[whole.first_site + whole.sites - 1].window;
		for (unsigned k = 0; k < 4; k++) {
			const struct dt_plan_window *w, *was;

			dt_plan_point(&f.plan, start + rooms[i].point[k], &x);
			assert_int_equal(x.refusal, DT_REFUSED_NOT);
			assert_int_equal(x.n_gone, 1);
			assert_int_equal(x.gone[0].index, window);
			w = &f.plan.window[x.window];
			was = &x.gone[0].was;
			assert_int_equal(w->tactic, DT_TACTIC_INNER);
			assert_int_equal(w->start, was->start);
			assert_int_equal(w->host, was->host);
			assert_int_equal(w->host_size, was->host_size);
			assert_int_equal(w->inner, was->inner);
			assert_int_equal(w->sites, was->sites + 1);
			assert_int_equal(points_of(&f, x.window, at), ++points);
			window = x.window;
		}
	}
	close_file(&f);
}

/* What was planned can be given back, and then be planned in the same way. */
static void test_back(void **state)
{
	struct dt_plan_function whole;
	struct dt_plan_point first, again;
	struct dt_plan_mark mark;
	uint64_t plain;
	struct file f;
	size_t index;

	build_odd();
	open_file(&f, "odd");
	index = named(&f, "plain");
	plain = f.code->function[index].start;
	dt_plan_point(&f.plan, plain + 3, &first);
	assert_int_equal(first.refusal, DT_REFUSED_NOT);
	for (int i = 0; i < 3; i++) {
		mark = dt_plan_mark(&f.plan);
		/* one in its place, which takes another byte range */
		dt_plan_point(&f.plan, plain, &again);
		assert_int_equal(again.refusal, DT_REFUSED_NOT);
		assert_int_equal(again.n_gone, 1);
		assert_int_equal(again.gone[0].index, first.window);
		assert_int_equal(f.plan.window[again.window].sites, 2);
		/* and other functions, with boards and branches that lead elsewhere */
		for (size_t k = 0; k < f.code->functions; k++)
			if (k != index)
				dt_plan_function(&f.plan, k, &whole);
		dt_plan_back(&f.plan, &mark);
		dt_plan_restore(&f.plan, &again.gone[0]);
		assert_int_equal(f.plan.windows, mark.windows);
		assert_int_equal(f.plan.window[first.window].sites, 1);
		assert_int_equal(f.plan.window[first.window].start, plain + 3);
	}
	/* nothing is left taken: all of it can be planned as in a new plan */
	assert_int_equal(dt_plan_drop_points(&f.plan, index, &again.gone[0], 1), 1);
	for (size_t i = 0; i < f.code->regions; i++)
		for (uint64_t at = 0; at < (f.code->region[i].high - f.code->region[i].low) / 8;
		     at++)
			assert_int_equal(f.plan.taken[i][at], 0);
	close_file(&f);
}

/* Jump tables and landing pads are targets; a switch is no exit; a cold part is a part. */
static void test_compiled(void **state)
{
	static const char source[] =
		"#include <stdlib.h>\n"
		"extern \"C\" void note(int);\n"
		"struct guard { ~guard() { note(1); } };\n"
		"extern \"C\" __attribute__((noinline)) int pads(int n) {\n"
		"	guard g; try { if (n > 3) throw n; note(2); } catch (int k) { return k; }\n"
		"	return n * 2; }\n"
		"extern \"C\" __attribute__((noinline)) int sw(int n) { switch (n) {\n"
		"	case 0: note(4); return 5; case 1: note(9); return 7; case 2: note(3);\n"
		"	return 9; case 3: note(8); return 1; case 4: note(5); return 3;\n"
		"	case 5: note(7); return 8; } return 0; }\n"
		"extern \"C\" void note(int n) { if (__builtin_expect(n > 100, 0)) abort(); }\n"
		"int main(int argc, char **argv) { return pads(argc) + sw(argc); }\n";
	const struct dt_code_function *fn;
	const struct dt_frame *frame;
	size_t targets = 0;
	struct file f;

	scratch_write("c.cc", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("g++ -O2 -fno-inline -fPIC -pie -o c c.cc"), 0);
	open_file(&f, "c");
	fn = &f.code->function[named(&f, "sw")];
	assert_true(fn->table);
	assert_false(fn->anywhere);
	for (uint32_t i = fn->first_exit; i < fn->first_exit + fn->exits; i++)
		assert_int_not_equal(f.code->exit[i].kind, DT_EXIT_INDIRECT);
	for (uint64_t at = fn->start + 1; at < fn->end; at++)
		if (dt_code_mark(f.code, at) & DT_CODE_HARD)
			targets++;
	assert_true(targets >= 6 + 6); /* cases, and the calls' return addresses */
	fn = &f.code->function[named(&f, "pads")];
	assert_non_null(fn->frame);
	assert_true(fn->frame->lsda != 0);
	assert_int_equal(dt_frame_depth(fn->frame, fn->start), 8);
	assert_true(dt_frame_pushes(fn->frame));
	frame = dt_frames_find(f.code->frames, fn->start + 1);
	assert_ptr_equal(frame, fn->frame);
	assert_null(dt_frames_find(f.code->frames, 0x10));
	/* gcc puts what throws apart */
	fn = &f.code->function[named(&f, "pads.cold")];
	assert_true(fn->part);
	assert_int_equal(fn->whole, named(&f, "pads"));
	close_file(&f);
}

/* Code that the kernel or a debugger looks at by its address. */
static void test_looked_at(void **state)
{
	static const char source[] =
		".globl main, sequence, back, other\n"
		".type sequence, @function\n.type back, @function\n.type other, @function\n"
		"main: ret\n"
		"sequence: mov $1, %eax\n1: mov $2, %ecx\n mov %ecx, -8(%rsp)\n2: ret\n"
		".byte 0x0f, 0xb9, 0x3d\n.long 0x53053053\n" /* as an instruction, ud1 */
		"3: jmp 1b\n.size sequence, . - sequence\n"
		"other: mov $1, %eax\n ret\n.size other, . - other\n"
		".cfi_startproc\n.cfi_signal_frame\nnop\nback: mov $15, %rax\n syscall\n"
		".size back, . - back\n.cfi_endproc\n"
		".section __rseq_cs, \"aw\"\n.balign 32\n"
		".long 0, 0\n.quad 1b, 2b - 1b, 3b\n"
		".section .note.GNU-stack, \"\", @progbits\n";
	static const char *const flags[] = {"-no-pie", "-pie", "-pie -Wl,-z,pack-relative-relocs"};
	struct dt_plan_function x;
	struct file f;

	scratch_write("r.s", source, sizeof(source) - 1);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		assert_int_equal(scratch_run("gcc -o r r.s %s", flags[i]), 0);
		open_file(&f, "r");
		dt_plan_function(&f.plan, named(&f, "sequence"), &x);
		assert_string_equal(x.why, "it is a restartable sequence");
		dt_plan_function(&f.plan, named(&f, "back"), &x);
		assert_string_equal(x.why, "signal handlers return to it");
		dt_plan_function(&f.plan, named(&f, "other"), &x);
		assert_string_equal(x.why, "");
		close_file(&f);
	}
}

/* Which function each is a part of, by name; NULL: it is one itself. */
static const struct {
	const char *name, *whole;
} parts[] = {
	{"warm", NULL},	      {"warm.cold", "warm"}, {"older", NULL}, {"older.cold.3", "older"},
	{"jumper", NULL},     {"called", NULL}, /* what is called is a function, whoever jumps there
						   too */
	{"alone", "jumper2"},			/* nobody calls it, and only one jumps there */
	{"jumper2", NULL},    {"shared", NULL}, /* several do */
};

/*
 * Which part of the code belongs to which function: by the names that compilers give to cold paths,
 * and without names by who gets there.
 */
static void test_parts(void **state)
{
	static const char source[] =
		".macro begin n\n.type \\n, @function\n\\n: .cfi_startproc\n.endm\n"
		".macro finish n\n.cfi_endproc\n.size \\n, . - \\n\n.endm\n.globl main\n"
		"begin main\n call called\n call warm\n call older\n call jumper\n call jumper2\n ret\nfinish main\n"
		"begin warm\n test %edi, %edi\n jne warm.cold\n xor %eax, %eax\n1: ret\nfinish warm\n"
		"begin older\n test %edi, %edi\n jne older.cold.3\n xor %eax, %eax\n2: ret\nfinish older\n"
		"begin jumper\n mov $1, %edi\n test %esi, %esi\n je shared\n jmp called\nfinish jumper\n"
		"begin called\n mov %edi, %eax\n add $3, %eax\n ret\nfinish called\n"
		"begin jumper2\n test %esi, %esi\n je shared\n jmp alone\nfinish jumper2\n"
		"begin shared\n mov $4, %eax\n nop\n ret\nfinish shared\n"
		"begin alone\n mov $5, %eax\n nop\n ret\nfinish alone\n"
		"begin warm.cold\n mov $6, %eax\n nop\n ret\nfinish warm.cold\n"
		"begin older.cold.3\n mov $7, %eax\n nop\n ret\nfinish older.cold.3\n"
		".section .note.GNU-stack, \"\", @progbits\n";
	struct file f, bare;

	scratch_write("q.s", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -no-pie -o q q.s && strip -o bare q"), 0);
	open_file(&f, "q");
	open_file(&bare, "bare");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t at = named(&f, parts[i].name),
		       k = dt_code_function_at(bare.code, f.code->function[at].start);
		size_t whole = parts[i].whole ? named(&f, parts[i].whole) : at;
		bool cold = strstr(parts[i].name, ".cold");
		const struct dt_code_function *x = &f.code->function[at],
					      *y = &bare.code->function[k];

		/* with names it is these that count: one that has another is a function */
		if (cold || !parts[i].whole)
			assert_int_equal(x->whole, whole);
		assert_int_equal(x->part, cold);
		assert_int_equal(y->start, x->start);
		if (bare.code->function[y->whole].start != f.code->function[whole].start)
			fail_msg("without names %s belongs to %lx", parts[i].name,
				 (unsigned long)bare.code->function[y->whole].start);
	}
	close_file(&f);
	close_file(&bare);
}

/* Where other code gets into the middle of a function, no window goes across; labels whose
 * addresses are taken are code. */
static void test_ways_in(void **state)
{
	static const char source[] =
		".macro begin n\n.type \\n, @function\n\\n: .cfi_startproc\n.endm\n"
		".macro finish n\n.cfi_endproc\n.size \\n, . - \\n\n.endm\n.globl main\n"
		"begin main\n call entered\n call enters\n call frames\n call computed\n ret\nfinish main\n"
		/* another function's jump, near and from far away */
		"begin entered\n xor %eax, %eax\n0: inc %eax\n lea 3(%rax), %rax\n inc %eax\n"
		" ret\nfinish entered\n"
		"begin enters\n mov $1, %eax\n test %edi, %edi\n jne 0b\n jmp 1f\nfinish enters\n"
		".skip 200, 0x90\n"
		"begin entered2\n xor %eax, %eax\n1: inc %eax\n lea 3(%rax), %rax\n inc %eax\n ret\n"
		"finish entered2\n"
		/* what is unwound in another way from there on */
		"begin frames\n xor %eax, %eax\n.cfi_endproc\n.cfi_startproc\n inc %eax\n lea 3(%rax), %rax\n ret\n"
		"finish frames\n"
		/* a computed goto, and what it leads to */
		"begin computed\n lea 3f(%rip), %rax\n lea 4f(%rip), %rcx\n test %edi, %edi\n cmove %rcx, %rax\n jmp *%rax\n"
		"3: mov $1, %eax\n ret\n4: mov $2, %eax\n ret\nfinish computed\n"
		".section .note.GNU-stack, \"\", @progbits\n";
	static const struct {
		const char *name;
		unsigned in; /* where it is entered, from its start */
		uint8_t mark;
	} entered[] = {{"entered", 2, DT_CODE_CROSS},
		       {"entered2", 2, DT_CODE_CROSS},
		       {"frames", 2, DT_CODE_HARD}};
	struct dt_plan_function x;
	struct file f;

	scratch_write("w.s", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("gcc -no-pie -o w w.s"), 0);
	open_file(&f, "w");
	for (size_t i = 0; i < sizeof(entered) / sizeof(*entered); i++) {
		size_t at = named(&f, entered[i].name);
		uint64_t in = f.code->function[at].start + entered[i].in;

		assert_true(dt_code_mark(f.code, in) & entered[i].mark);
		dt_plan_function(&f.plan, at, &x);
		for (uint32_t k = x.first_window; k < x.first_window + x.windows; k++) {
			const struct dt_plan_window *w = &f.plan.window[k];

			if (w->start < in && w->start + w->size > in)
				fail_msg("%s: a window goes across where it is entered",
					 entered[i].name);
		}
	}
	dt_plan_function(&f.plan, named(&f, "computed"), &x);
	assert_string_equal(x.why, "");
	close_file(&f);
}

static void test_space(void **state)
{
	struct dt_space s = {0};
	uint64_t at;

	assert_int_equal(dt_space_add(&s, 0x1000, 0x2000, NULL), 0);
	assert_int_equal(dt_space_add(&s, 0x5000, 0x5000, NULL), 0); /* nothing */
	assert_int_equal(dt_space_add(&s, 0x8000, 0x9000, NULL), 0);
	assert_true(dt_space_claim(&s, 0x1800, 0x1900, 0x100, &at));
	assert_int_equal(at, 0x1800);
	assert_true(dt_space_claim(&s, 0x1800, 0x1900, 0x100, &at));
	assert_int_equal(at, 0x1900);
	assert_false(dt_space_claim(&s, 0x1800, 0x19ff, 1, &at));
	assert_true(dt_space_claim(&s, 0, UINT64_MAX, 0x700, &at));
	assert_int_equal(at, 0x1000);
	assert_true(dt_space_claim(&s, 0, UINT64_MAX, 0x700, &at));
	assert_int_equal(at, 0x8000);
	assert_true(dt_space_claim(&s, 0, 0x1fff, 0x600, &at));
	assert_int_equal(at, 0x1a00);
	assert_false(dt_space_claim(&s, 0, UINT64_MAX, 0x1000, &at));
	assert_true(dt_space_claim(&s, 0x1000, 0x1fff, 0x100, &at));
	assert_int_equal(at, 0x1700);
	assert_false(dt_space_claim(&s, 0x1000, 0x1fff, 1, &at));
	dt_space_free(&s);
}

static uint64_t seed = 4711;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* Whatever is in the file, the map and the plan stay inside it (the sanitizers see that). */
static void test_damage(void **state)
{
	unsigned char *good, *bad;
	char path[64];
	size_t n;
	int fd = memfd_create("damaged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	build_odd();
	good = scratch_read("odd", &n);
	bad = malloc(n);
	assert_non_null(bad);
	for (int i = 0; i < 300; i++) {
		struct dt_plan_options options = {.hook = 16};
		struct dt_symtab *symtab;
		struct dt_code *code;
		struct dt_plan plan;

		memcpy(bad, good, n);
		for (uint32_t k = any(30) + 1; k; k--)
			bad[any(4) ? 0x1000 + any((uint32_t)n - 0x1000) : any((uint32_t)n)] =
				(unsigned char)any(256);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bad, n, 0), n);
		symtab = dt_symtab_open(path, "/nowhere", NULL);
		code = dt_code_open(path, symtab, NULL);
		if (code && !dt_plan_begin(&plan, code, &options, NULL)) {
			for (size_t k = 0; k < code->functions; k++) {
				struct dt_plan_function x;

				dt_plan_function(&plan, k, &x);
				assert_non_null(x.why);
			}
			dt_plan_end(&plan);
		}
		dt_code_close(code);
		dt_symtab_close(symtab);
	}
	free(good);
	free(bad);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tactics),		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_options),		cmocka_unit_test(test_punned),
		cmocka_unit_test(test_points),		cmocka_unit_test(test_points_in_functions),
		cmocka_unit_test(test_points_in_rooms), cmocka_unit_test(test_back),
		cmocka_unit_test(test_compiled),	cmocka_unit_test(test_looked_at),
		cmocka_unit_test(test_parts),		cmocka_unit_test(test_ways_in),
		cmocka_unit_test(test_space),		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
