/* SPDX-License-Identifier: MIT */
/*
 * What the controller does for the programs of BPF, without a kernel: which functions are chosen,
 * by made-up symbols; what the programs are told of conditions; and what is taken of calls whose
 * end they wait for, and summed up of those that they have left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "session/kernel-bpf-work.h"

/* ---- the kernel ---- */

static const struct {
	const char *name, *module;
	uint64_t address;
	uint32_t type;
} symbols[] = {
	{"vfs_read", "vmlinux", 0x1000, 7},   {"vfs_write", "vmlinux", 0x1100, 8},
	{"vfs_open", "vmlinux", 0x1200, 0},   {"twice", "vmlinux", 0x1300, 9},
	{"twice", "vmlinux", 0x1400, 9},      {"__x64_sys_read", "vmlinux", 0x1500, 3},
	{"ext4_read", "ext4", 0x9000, 5},     {"vfs_init", "vmlinux", 0x2010, 4},
	{"_sinittext", "vmlinux", 0x2000, 0}, {"_einittext", "vmlinux", 0x2100, 0},
	{"vfs_last", "vmlinux", 0x2100, 6},
};
#define SYMBOLS (sizeof(symbols) / sizeof(*symbols))

static bool made_up_at(size_t i, struct dt_kernel_symbol *s)
{
	if (i >= SYMBOLS)
		return false;
	*s = (struct dt_kernel_symbol){symbols[i].address, symbols[i].address + 0x10,
				       symbols[i].name, symbols[i].module};
	return true;
}

static bool made_up_named(const char *name, struct dt_kernel_symbol *s)
{
	for (size_t i = 0; made_up_at(i, s); i++)
		if (!strcmp(s->name, name))
			return true;
	return false;
}

static uint32_t made_up_type(const char *name)
{
	for (size_t i = 0; i < SYMBOLS; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].type;
	return 0;
}

#define dt_kernel_names_at(k, i, s)    made_up_at(i, s)
#define dt_kernel_names_named(k, n, s) made_up_named(n, s)
#define dt_kernel_names_type(k, n)     made_up_type(n)
#define dt_bpf_calls_choose(k, e)      0
#define dt_kernel_clock_ticks(c, ns)   (3 * (ns))
#define dt_kernel_clock_look(c)	       looks++
#define dt_bpf_sums_tell(...)	       true
static unsigned looks;
#include "session/kernel-bpf-choice.c"
#include "session/kernel-bpf-choose.c"

/* ---- which functions ---- */

static struct dt_kernel_bpf bpf;
static struct dt_kernel_wanted wanted;
static struct dt_kernel_tracepoints no_tracepoints;
static struct dt_error e;

/* Chooses by up to two patterns; returns the names of what is chosen, in that order. */
static const char *chosen(const char *one, const char *two)
{
	static char text[512];
	const char *pattern[] = {one, two};
	size_t n = 0;

	free(bpf.function);
	wanted = (struct dt_kernel_wanted){.pattern = pattern, .n = two ? 2 : 1};
	bpf = (struct dt_kernel_bpf){.wanted = &wanted, .tracepoints = &no_tracepoints};
	text[0] = '\0';
	if (dt_bpf_choose(&bpf, &e) < 0)
		return e.text;
	for (size_t i = 0; i < bpf.functions; i++) {
		const struct dt_bpf_function *f = &bpf.function[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s", n ? " " : "",
				      f->symbol.name, f->exact ? "=" : "");
		assert_int_equal(f->fd[0], -1);
		assert_int_equal(f->type, strcmp(f->symbol.module, "vmlinux") == 0
						  ? made_up_type(f->symbol.name)
						  : 0);
	}
	if (bpf.calls)
		snprintf(text + n, sizeof(text) - n, " +%zu", bpf.calls);
	return text;
}

static void test_patterns(void **state)
{
	assert_string_equal(chosen("vfs_*", NULL), "vfs_last vfs_open vfs_read vfs_write");
	assert_string_equal(chosen("vfs_* !vfs_open", NULL), "vfs_last vfs_read vfs_write");
	assert_string_equal(chosen("!vfs_open  vfs_*", NULL), "vfs_last vfs_read vfs_write");
	assert_string_equal(chosen("vfs_*", "!vfs_w*"), "vfs_last vfs_open vfs_read");
	assert_string_equal(chosen("vfs_read +ext4_*", NULL), "ext4_read vfs_read=");
	assert_string_equal(chosen("ext4:*", NULL), "ext4_read");
	assert_string_equal(chosen("ext?:ext4_read", NULL), "ext4_read");
	assert_string_equal(chosen("vmlinux:*_read", NULL), "vfs_read +1");
	assert_string_equal(chosen("*_read !ext4:*", NULL), "vfs_read +1");
	assert_string_equal(chosen("twice", NULL), "twice= twice=");
	assert_string_equal(chosen("vfs_init", NULL),
			    "no function of the kernel matches 'vfs_init'");
	assert_string_equal(chosen("tracepoint:vfs_read vfs_write", NULL), "vfs_write=");
	assert_string_equal(chosen("!vfs_*", NULL), "_einittext ext4_read twice twice +1");
	assert_string_equal(chosen("", NULL), "no function of the kernel matches ''");
	assert_string_equal(chosen("nothing", NULL), "no function of the kernel matches 'nothing'");
	assert_true(dt_bpf_is_call("__x64_sys_read"));
	assert_true(dt_bpf_is_call("__ia32_compat_sys_x"));
	assert_false(dt_bpf_is_call("__x64_sy"));
	assert_false(dt_bpf_is_call("ksys_read"));
}

static void test_typed(void **state)
{
	chosen("vfs_* twice ext4_*", NULL);
	assert_int_equal(dt_bpf_choose_typed(&bpf, &e), -1);
	assert_non_null(strstr(e.text, "'twice' has no type of its own"));
	chosen("vfs_* twic? ext4_*", NULL);
	assert_int_equal(dt_bpf_choose_typed(&bpf, &e), 0);
	assert_int_equal(bpf.functions, 3);
	assert_string_equal(bpf.function[0].symbol.name, "vfs_last");
	assert_string_equal(bpf.function[1].symbol.name, "vfs_read");
	assert_string_equal(bpf.function[2].symbol.name, "vfs_write");
	assert_int_equal(bpf.untyped.n, 3);
	assert_string_equal(bpf.untyped.names, "ext4_read twice vfs_open");
	chosen("twic?", NULL);
	assert_int_equal(dt_bpf_choose_typed(&bpf, &e), -1);
	assert_non_null(strstr(e.text, "may not probe them: twice"));
	/* the first three names, as far as there is room */
	for (unsigned i = 0; i < 5; i++)
		dt_bpf_leave_out(&bpf.untyped, "another_one_with_a_name");
	assert_int_equal(bpf.untyped.n, 6);
	assert_string_equal(bpf.untyped.names,
			    "twice another_one_with_a_name another_one_with_a_name");
}

static void test_between(void **state)
{
	free(bpf.function);
	bpf = (struct dt_kernel_bpf){.wanted = &wanted};
	assert_int_equal(dt_bpf_choose_between(&bpf, 0x1100, 0x1300, &e), 0);
	assert_int_equal(bpf.functions, 3);
	assert_int_equal(dt_bpf_choose_between(&bpf, 0x1500, 0x1500, &e), 0);
	assert_int_equal(bpf.functions, 3);
	assert_int_equal(bpf.calls, 1);
	bpf.functions = bpf.calls = 0;
	assert_int_equal(dt_bpf_choose_between(&bpf, 0x1101, 0x11ff, &e), -1);
	assert_string_equal(e.text, "no function of the kernel begins between 1101 and 11ff");
}

/* ---- conditions ---- */

#define CORES 3u

static struct dt_bpf_left left[4][CORES]; /* by function, as the programs count */
static struct dt_bpf_chosen told[4];
static unsigned tells, room;

static int possible(void)
{
	return CORES;
}
static int map_fd(const struct bpf_map *m)
{
	return (int)(uintptr_t)m;
}

static struct bpf_map *by_map_name(const struct bpf_object *o, const char *name)
{
	return (struct bpf_map *)(uintptr_t)(strcmp(name, "left_out") == 0 ? 1 : 2);
}

static int update(int fd, const void *key, const void *value, __u64 flags)
{
	uint64_t pc = *(const uint64_t *)key;

	if (tells >= room)
		return -1;
	tells++;
	if (fd == 2)
		told[pc] = *(const struct dt_bpf_chosen *)value;
	else
		memcpy(left[pc], value, sizeof(left[pc]));
	return 0;
}

static int look_up(int fd, const void *key, void *value)
{
	uint64_t pc = *(const uint64_t *)key;

	assert_int_equal(fd, 1);
	memcpy(value, left[pc], sizeof(left[pc]));
	return 0;
}

struct dt_bpf dt_bpf = {.libbpf_num_possible_cpus = possible,
			.bpf_map__fd = map_fd,
			.bpf_object__find_map_by_name = by_map_name,
			.bpf_map_update_elem = update,
			.bpf_map_lookup_elem = look_up};

static struct dt_bpf_state state_of_all;
static struct dt_bpf_core core[CORES];

static void begin(void)
{
	free(bpf.function);
	wanted = (struct dt_kernel_wanted){.n = 0};
	bpf = (struct dt_kernel_bpf){.wanted = &wanted,
				     .state = &state_of_all,
				     .core = core,
				     .cores = CORES,
				     .multi = true};
	memset(left, 0xff, sizeof(left));
	memset(told, 0, sizeof(told));
	memset(core, 0, sizeof(core));
	tells = 0;
	room = 100;
	assert_int_equal(dt_bpf_choosing_open(&bpf, &e), 0);
}

static void test_conditions(void **state)
{
	struct dt_conditions c = {.n = 2,
				  .condition = {{.at = 1, .size = 4, .op = '<', .number = 5},
						{.at = 0,
						 .size = 8,
						 .of_exit = true,
						 .has_sign = true,
						 .op = '=',
						 .number = 6}}};

	begin();
	assert_null(dt_bpf_choosing_tell(&bpf, 1, 11, &(struct dt_conditions){0}, NULL, 3));
	assert_int_equal(tells, 0);
	assert_null(dt_bpf_choosing_tell(&bpf, 1, 11, &c, NULL, 3));
	assert_int_equal(state_of_all.choose, 1);
	assert_int_equal(told[1].n, 2);
	assert_int_equal(told[1].least, 0);
	assert_int_equal(told[1].ends, 1);
	assert_int_equal(told[1].condition[0].at, 1);
	assert_int_equal(told[1].condition[0].shift, 32);
	assert_int_equal(told[1].condition[0].op, '<');
	assert_int_equal(told[1].condition[0].number, 5);
	assert_int_equal(told[1].condition[1].shift, 0);
	assert_int_equal(told[1].condition[1].of_exit, 1);
	assert_int_equal(told[1].condition[1].has_sign, 1);
	/* what is counted begins with nothing; of the same function once */
	assert_int_equal(left[1][0].calls, 0);
	assert_int_equal(left[1][CORES - 1].max, 0);
	tells = 0;
	assert_null(dt_bpf_choosing_tell(&bpf, 1, 11, &c, NULL, 3));
	assert_int_equal(tells, 0);
	/* a length in ticks, which are another clock's: it is a little less in ns */
	c = (struct dt_conditions){.least = 30000};
	assert_null(dt_bpf_choosing_tell(&bpf, 2, 12, &c, NULL, 3));
	assert_int_equal(told[2].ends, 1);
	assert_int_equal(told[2].least, 10000 - 10 - 500);
	c = (struct dt_conditions){.never = true};
	assert_null(dt_bpf_choosing_tell(&bpf, 0, 10, &c, NULL, 3));
	assert_int_equal(told[0].never, 1);
	assert_int_equal(told[0].ends, 0);
	room = 0;
	assert_non_null(dt_bpf_choosing_tell(&bpf, 3, 13, &c, NULL, 3));
	room = 100;
	dt_bpf_choosing_end(&bpf);
	assert_int_equal(state_of_all.choose, 0);
	assert_null(dt_bpf_choosing_tell(&bpf, 3, 13, &(struct dt_conditions){.n = 1}, NULL, 3));
	assert_int_equal(told[3].n, 0);
	dt_bpf_choosing_free(&bpf);
}

static void test_left_out(void **state)
{
	struct dt_left_out_row row;

	begin();
	assert_null(dt_bpf_choosing_tell(&bpf, 1, 11, &(struct dt_conditions){.n = 1}, NULL, 2));
	left[1][0] = (struct dt_bpf_left){
		.calls = 3, .untimed = 1, .total = 100, .self = 50, .min = 11, .max = 60};
	left[1][2] = (struct dt_bpf_left){
		.calls = 4, .untimed = 2, .total = 300, .self = 70, .min = 6, .max = 40};
	assert_true(dt_bpf_choosing_left(&bpf, 0, &row));
	assert_int_equal(row.function, 11);
	assert_int_equal(row.calls, 7);
	assert_int_equal(row.untimed, 3);
	assert_int_equal(row.total, 800);
	assert_int_equal(row.self, 240);
	assert_int_equal(row.min, 10); /* one more than it is */
	assert_int_equal(row.max, 120);
	/* only what is new is told the next time, and calls that had not ended once */
	left[1][1] = (struct dt_bpf_left){.calls = 1, .total = 5, .self = 5, .min = 100, .max = 1};
	note_open(&bpf.choosing, 1);
	note_open(&bpf.choosing, 2);
	assert_true(dt_bpf_choosing_left(&bpf, 0, &row));
	assert_int_equal(row.calls, 1);
	assert_int_equal(row.untimed, 1);
	assert_int_equal(row.total, 10);
	assert_int_equal(row.min, 10);
	assert_true(dt_bpf_choosing_left(&bpf, 0, &row));
	assert_int_equal(row.calls + row.untimed + row.total, 0);
	assert_false(dt_bpf_choosing_left(&bpf, 1, &row));
	dt_bpf_choosing_free(&bpf);
}

/* ---- calls that wait ---- */

static struct dt_bpf_thread *blocks;

static struct dt_bpf_frame *frame(unsigned block, unsigned i, enum dt_bpf_state_is is, uint64_t ns)
{
	struct dt_bpf_frame *f = &blocks[block].frame[i];

	blocks[block].owner = 1000 + block;
	*f = (struct dt_bpf_frame){.state = ns << DT_BPF_STATE_BITS | is,
				   .pc = 0x1000 + i,
				   .sp = 0x7000 + i,
				   .who = (uint64_t)5 << 40 | (uint64_t)DT_ENTRY << 32 | (50 + i),
				   .core = block % (CORES + 1),
				   .value = {1 + i, 2, 3, 4}};
	return f;
}

static void test_waiting(void **state)
{
	const uint64_t now = 1000000000;
	struct dt_bpf_frame *soon, *comes, *old, *older, *gone;
	const struct dt_bpf_frame *is;

	begin();
	blocks = calloc(DT_BPF_BLOCKS, sizeof(*blocks));
	assert_non_null(blocks);
	assert_true(dt_bpf_choosing_waits(&bpf, now, false) == UINT64_MAX);
	bpf.blocks = blocks;
	looks = 0;
	/* calls that have just begun are not seen yet */
	assert_true(dt_bpf_choosing_waits(&bpf, now, false) == 3 * (now - SETTLED));
	assert_true(dt_bpf_choosing_waits(&bpf, now, true) == UINT64_MAX);
	looks--;
	assert_int_equal(looks, 1);
	soon = frame(3, 1, DT_BPF_WAITS, now - PATIENCE / 2);
	comes = frame(3, 2, DT_BPF_COMES, now - PATIENCE / 4);
	old = frame(DT_BPF_BLOCKS - 1, DT_BPF_FRAMES - 1, DT_BPF_WAITS, now - 2 * PATIENCE);
	older = frame(5, 0, DT_BPF_WAITS, now - 3 * PATIENCE);
	gone = frame(6, 0, DT_BPF_WAITS, now - 3 * PATIENCE);
	blocks[6].owner = 0;
	frame(7, 0, DT_BPF_LEFT, now - 5 * PATIENCE);
	/* what has waited for long is taken, the first of the others is waited for */
	assert_true(dt_bpf_choosing_waits(&bpf, now, false) == 3 * (now - PATIENCE / 2));
	assert_int_equal(bpf.choosing.entries, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct dt_record *r = &bpf.choosing.entry[i];

		is = i ? old : older;
		assert_int_equal(DT_BPF_STATE(is->state), DT_BPF_WRITTEN);
		assert_true(r->ticks == 3 * (is->state >> DT_BPF_STATE_BITS));
		assert_true(r->pc == is->pc && r->sp == is->sp);
		assert_true(r->tid == (uint32_t)is->who && r->kind == DT_ENTRY && r->flags == 5);
		assert_int_equal(r->core, is->core);
		assert_memory_equal(r->value, is->value, sizeof(r->value));
	}
	assert_int_equal(core[5 % (CORES + 1)].late, 1);
	assert_int_equal(DT_BPF_STATE(soon->state), DT_BPF_WAITS);
	assert_int_equal(DT_BPF_STATE(comes->state), DT_BPF_COMES);
	assert_int_equal(DT_BPF_STATE(gone->state), DT_BPF_WAITS);
	/* they are not taken twice */
	assert_true(dt_bpf_choosing_waits(&bpf, now, false) == 3 * (now - PATIENCE / 2));
	assert_int_equal(bpf.choosing.entries, 0);
	soon->state = 0;
	assert_true(dt_bpf_choosing_waits(&bpf, now, false) == 3 * (now - PATIENCE / 4));
	free(blocks);
	bpf.blocks = NULL;
	dt_bpf_choosing_free(&bpf);
}

/* Entries that the programs have written to the further rings, which are full once. */
static void test_further(void **state)
{
	static struct dt_bpf_head head[2 * CORES];
	static struct dt_bpf_record ring[2 * CORES << 2];
	const struct dt_record *r;
	size_t n;

	begin();
	bpf.blocks = blocks = calloc(DT_BPF_BLOCKS, sizeof(*blocks));
	bpf.head = head;
	bpf.records = ring;
	bpf.shift = 2;
	for (unsigned i = 0; i < 3; i++)
		ring[(CORES + 1) * 4 + i] = (struct dt_bpf_record){
			.ns = 100 + i, .who = (uint64_t)DT_ENTRY << 32 | 7, .pc = 0x10 + i};
	ring[(CORES + 1) * 4 + 2].who = 0; /* it is being written */
	head[CORES + 1].end = 3;
	r = dt_bpf_choosing_take(&bpf, &n);
	assert_int_equal(n, 2);
	assert_true(r[0].ticks == 300 && r[1].ticks == 303 && r[1].pc == 0x11);
	assert_int_equal(r[0].core, 1);
	assert_int_equal(head[CORES + 1].begin, 2);
	assert_int_equal(ring[(CORES + 1) * 4].who, 0);
	bpf.choosing.entries = 0;
	ring[(CORES + 1) * 4 + 2].who = (uint64_t)DT_ENTRY << 32 | 7;
	dt_bpf_choosing_take(&bpf, &n);
	assert_int_equal(n, 1);
	assert_int_equal(core[1].late, 3);
	/* an end that can not be true is not followed further than the ring is long */
	bpf.choosing.entries = 0;
	for (unsigned i = 0; i < 4; i++)
		ring[(CORES + 1) * 4 + i].who = (uint64_t)DT_ENTRY << 32 | 7;
	head[CORES + 1].end = 1ull << 40;
	dt_bpf_choosing_take(&bpf, &n);
	assert_int_equal(n, 4);
	assert_int_equal(head[CORES + 1].begin, 7);
	free(blocks);
	bpf.blocks = NULL;
	dt_bpf_choosing_free(&bpf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_typed),
		cmocka_unit_test(test_between),	 cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_left_out), cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
