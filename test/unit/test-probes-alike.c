/* SPDX-License-Identifier: MIT */
/*
 * hook/probes-alike.c: what was made for one process is made up, and copied for another one, in
 * which the file and the trampolines are elsewhere. Each address is computed once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hook/probes-job.h"

static int made_up_read(struct job *j, uint64_t address, uint8_t *bytes, size_t n);
static bool made_up_room(struct job *j, uint64_t n, uint64_t *at);
static struct dt_probes *made_up_recall(struct job *j, const bool *wanted, uint64_t *bias);

#define dt_job_read(...)   made_up_read(__VA_ARGS__)
#define dt_job_room(...)   made_up_room(__VA_ARGS__)
#define dt_job_recall(...) made_up_recall(__VA_ARGS__)
#include "hook/probes-alike.c"

#define LOW	  0x401000ull /* of the module, in the process that it was made for */
#define HIGH	  0x408000ull /* its end */
#define NEAR	  0x900000ull /* the trampolines there */
#define CODE	  0x300u      /* bytes of them, before their tables */
#define SIZE	  0x1000u     /* of their region */
#define FUNCTIONS 3
#define SITES	  5
#define PATCHES	  4

static struct dt_elf_site site[SITES];
static struct dt_elf elf = {.site = site, .sites = SITES};
static struct dt_code code = {.functions = FUNCTIONS};
static uint8_t chosen[SITES] = {1, 0, 1, 1, 1};
static struct dt_file file = {.elf = &elf, .code = &code, .chosen = chosen}, other_file;
static bool wanted[FUNCTIONS] = {true, false, true};

/* of both processes */
static struct dt_target from, to;
static struct dt_module donor, module;
static struct dt_target *all = &from;
static struct dt_probes was, is;
static uint64_t toggle[SITES];
static struct job job;

static uint64_t shift, region_shift; /* by how much the module and the region are elsewhere */
static bool differs, no_room;
static struct dt_probes *recalled;
static unsigned recalls;

static void *copied(const void *p, size_t n)
{
	void *q = malloc(n);

	assert_non_null(q);
	memcpy(q, p, n);
	return q;
}

static uint8_t old_byte(uint64_t address)
{
	return (uint8_t)(address * 37 >> 3);
}

/* the code of the process that is copied to, as it is in the file */
static int made_up_read(struct job *j, uint64_t address, uint8_t *bytes, size_t n)
{
	assert_ptr_equal(j, &job);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = address + i - shift;

		bytes[i] = (uint8_t)(old_byte(at) ^ (differs && at == LOW + 0x24));
	}
	return 0;
}

static bool made_up_room(struct job *j, uint64_t n, uint64_t *at)
{
	*at = NEAR + 0x5550000;
	return !no_room && n == SIZE;
}

static struct dt_probes *made_up_recall(struct job *j, const bool *wants, uint64_t *bias)
{
	struct dt_probes *p = recalled;

	recalls++;
	recalled = NULL;
	*bias = 0;
	return p;
}

/* Makes what a planting has left in the first process; fars: with a punned trampoline, right behind
 * the region. */
static void make(struct dt_probes *p, unsigned fars)
{
	static const uint8_t state[FUNCTIONS] = {PLANTED, UNTRIED, REFUSED};
	struct region region[] = {{NEAR, NEAR + SIZE}, {NEAR + SIZE, NEAR + 2 * SIZE}};
	struct window window[] = {
		{.start = LOW + 0x10, .at = NEAR + 0x40, .copy = NEAR + 0x60, .end = NEAR + 0x80},
		{.start = LOW + 0x20, .at = NEAR, .copy = NEAR, .end = NEAR + CODE},
		/* the punned one */
		{.start = LOW + 0x60,
		 .at = NEAR + SIZE,
		 .copy = NEAR + SIZE + 8,
		 .end = NEAR + SIZE + 0x20},
		/* it has no trampoline: its copy is in the module */
		{.start = LOW + 0x70, .at = LOW + 0x74, .copy = LOW + 0x74, .end = LOW + 0x80},
	};
	struct patch patch[PATCHES] = {
		{.address = LOW + 0x10, .length = 5, .leads = true, .lifted = true},
		{.address = LOW + 0x20, .length = 5, .leads = true},
		{.address = LOW + 0x60, .length = 2},
		{.address = LOW + 0x70, .length = 6, .leads = true},
	};
	static const struct dt_moved_at moved[] = {{0, 0}, {3, 9}, {5, 11}};
	struct dt_extent far = {NEAR + SIZE, NEAR + SIZE + 0x20};

	*p = (struct dt_probes){.plan = {.code = &code},
				.state = copied(state, sizeof(state)),
				.toggle = calloc(SITES + 1, sizeof(uint64_t)),
				.region = copied(region, sizeof(region)),
				.regions = fars ? 2 : 1,
				.windows = fars ? 4 : 2,
				.n_moved = 3,
				.moved = copied(moved, sizeof(moved)),
				.patches = PATCHES,
				.made = {.near = {.address = NEAR, .size = SIZE},
					 .size = SIZE,
					 .code = CODE,
					 .fars = fars}};
	for (size_t i = 0; i < PATCHES; i++)
		for (unsigned k = 0; k < patch[i].length; k++) {
			patch[i].old[k] = old_byte(patch[i].address + k);
			patch[i].new[k] = (uint8_t)(0x10 * i + k);
		}
	p->window = copied(window, sizeof(window));
	p->patch = copied(patch, sizeof(patch));
	p->toggle[0] = NEAR + 0x48;
	p->toggle[1] = NEAR;
	p->toggle[3] = NEAR + CODE - 1;
	p->toggle[4] = fars ? NEAR + SIZE + 4 : 0;
	p->made.near.bytes = malloc(SIZE);
	memset(p->made.near.bytes, 0xcc, SIZE);
	if (fars) {
		p->made.far = copied(&far, sizeof(far));
		p->made.far_bytes = calloc(1, LONGEST);
		assert_non_null(p->made.far_bytes);
		memset(p->made.far_bytes[0], 0xdd, LONGEST);
	}
}

/* Begins a job for the second process: there the module is elsewhere, and so is what is free. */
static void begin(uint64_t by, bool free_there)
{
	struct dt_error e;

	shift = by;
	region_shift = free_there ? by : 0x5550000;
	differs = no_room = false;
	recalls = 0;
	from = (struct dt_target){.next = &to, .module = &donor, .n = 1};
	to = (struct dt_target){.module = &module, .n = 1, .others = &all};
	donor = (struct dt_module){.file = &file, .low = LOW, .high = HIGH, .probes = &was};
	module = (struct dt_module){
		.file = &file, .bias = by, .low = LOW + by, .high = HIGH + by, .probes = &is};
	is = (struct dt_probes){.state = calloc(FUNCTIONS, 1)};
	memset(toggle, 0, sizeof(toggle));
	job = (struct job){.t = &to, .m = &module, .p = &is, .toggle = toggle};
	if (free_there)
		assert_int_equal(dt_space_add(&is.space, NEAR + by, NEAR + by + SIZE, &e), 0);
	assert_int_equal(dt_space_add(&is.space, NEAR + by + SIZE, NEAR + by + 2 * SIZE, &e), 0);
}

static void end(void)
{
	dt_made_free(&job.made);
	free(is.patch);
	free(is.window);
	free(is.moved);
	free(is.state);
	dt_plan_end(&is.plan);
	dt_space_free(&is.space);
	memset(&is, 0, sizeof(is));
}

static void drop(struct dt_probes *p)
{
	dt_made_free(&p->made);
	free(p->patch);
	free(p->window);
	free(p->moved);
	free(p->state);
	free(p->toggle);
	free(p->region);
	memset(p, 0, sizeof(*p));
}

/* where an address of the first process is in the second one */
static uint64_t there(uint64_t at)
{
	return at >= NEAR && at < NEAR + SIZE ? at + region_shift : at + shift;
}

/* Checks what has been taken, against what make() makes. */
static void check_taken(unsigned fars, bool silent)
{
	struct dt_probes p;

	make(&p, fars);
	assert_int_equal(job.made.near.address, NEAR + region_shift);
	assert_int_equal(job.made.near.size, CODE); /* the tables come behind it */
	assert_int_equal(job.made.near.room, SIZE);
	assert_int_equal(job.made.size, SIZE);
	assert_int_equal(job.made.code, CODE);
	assert_int_equal(job.made.fars, fars);
	for (uint64_t i = 0; i < SIZE; i++) {
		uint8_t want = i < CODE ? 0xcc : 0;

		for (size_t k = 0; k < SITES; k++)
			if (p.toggle[k] == NEAR + i)
				want = chosen[k] && !silent ? DT_HOOK_CALL_ON : DT_HOOK_CALL_OFF;
		assert_int_equal(job.made.near.bytes[i], want);
	}
	for (size_t k = 0; k < SITES; k++)
		assert_int_equal(toggle[k], p.toggle[k] ? there(p.toggle[k]) : 0);
	if (fars) {
		assert_int_equal(job.made.far[0].low, NEAR + SIZE + shift);
		assert_int_equal(job.made.far[0].high, NEAR + SIZE + 0x20 + shift);
		for (unsigned i = 0; i < 0x20; i++)
			assert_int_equal(job.made.far_bytes[0][i], i != 4   ? 0xdd
								   : silent ? DT_HOOK_CALL_OFF
									    : DT_HOOK_CALL_ON);
	}
	assert_int_equal(is.windows, p.windows);
	assert_int_equal(is.window_room, p.windows);
	for (size_t i = 0; i < p.windows; i++) {
		assert_int_equal(is.window[i].start, p.window[i].start + shift);
		assert_int_equal(is.window[i].at, there(p.window[i].at));
		assert_int_equal(is.window[i].copy, there(p.window[i].copy));
		assert_int_equal(is.window[i].end, there(p.window[i].end));
	}
	assert_int_equal(is.patches, PATCHES);
	assert_int_equal(is.patch_room, PATCHES);
	for (size_t i = 0; i < PATCHES; i++) {
		const struct patch *x = &is.patch[i];
		uint8_t want[8];

		memcpy(want, p.patch[i].new, sizeof(want));
		if (x->leads) /* its distance, the last four bytes, is another one */
			dt_patch_shift(want, x->length, region_shift - shift);
		assert_int_equal(x->address, p.patch[i].address + shift);
		assert_false(x->lifted);
		assert_memory_equal(x->new, want, sizeof(want));
		assert_memory_equal(x->old, p.patch[i].old, sizeof(want));
	}
	assert_int_equal(is.n_moved, 3);
	assert_int_equal(is.moved_room, 3);
	assert_memory_equal(is.moved, p.moved, 3 * sizeof(*p.moved));
	assert_memory_equal(is.state, p.state, FUNCTIONS);
	drop(&p);
}

static int take_it(void)
{
	struct dt_error e;

	return dt_job_take(&job, wanted, &e);
}

static void test_copied(void **state)
{
	static const uint64_t by[] = {0, 0x10000, 0x7f0000000000};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned how = 0; how < 8; how++) {
			bool free_there = how & 1, fars = how & 2, silent = how & 4;
			bool pinned = fars && !free_there;

			make(&was, fars);
			begin(by[i], free_there);
			to.unwatched = silent;
			assert_int_equal(take_it(), !pinned);
			if (!pinned)
				check_taken(fars, silent);
			assert_int_equal(recalls, 0);
			/* the first process still has its own */
			assert_int_equal(was.window[0].start, LOW + 0x10);
			assert_int_equal(was.made.near.bytes[0x48], 0xcc);
			end();
			drop(&was);
		}
	/* nowhere is room */
	make(&was, 0);
	begin(0x10000, false);
	no_room = true;
	assert_int_equal(take_it(), 0);
	end();
	drop(&was);
}

/* What an earlier run has left is taken as it is. */
static void test_recalled(void **state)
{
	for (unsigned fars = 0; fars < 2; fars++) {
		recalled = calloc(1, sizeof(*recalled));
		assert_non_null(recalled);
		make(recalled, fars);
		recalled->made.kept = 77;
		make(&was, 0);
		begin(0x20000, true);
		from.left = true;
		assert_int_equal(take_it(), 2);
		assert_int_equal(recalls, 1);
		assert_int_equal(job.made.kept, 77);
		check_taken(fars, false);
		end();
		drop(&was);
	}
}

/* From which processes nothing is copied; without any, an earlier run is asked. */
static void test_not_alike(void **state)
{
	for (unsigned how = 0; how < 14; how++) {
		unsigned asked = 1;
		int want = 0;

		make(&was, 0);
		begin(0x10000, true);
		switch (how) {
		case 0: /* it is alike */
			want = 1, asked = 0;
			break;
		case 1: /* it has ended */
			from.last = true;
			break;
		case 2: /* and its probes are gone */
			from.left = true;
			break;
		case 3: /* other functions were wanted there, */
			was.state[1] = PLANTED;
			break;
		case 4: /* or fewer */
			was.state[2] = UNTRIED;
			break;
		case 5: /* one that could not be hooked is the same */
			was.state[0] = CROWDED;
			break;
		case 6: /* nothing has been kept */
			free(was.made.near.bytes);
			was.made.near.bytes = NULL;
			break;
		case 7:
			donor.file = &other_file;
			break;
		case 8: /* it is right at its own place only */
			was.made.fixes.pinned = true;
			break;
		case 9:
			was.made.far_fixes.pinned = true;
			break;
		case 10: /* another piece of it is mapped */
			donor.low -= 0x1000;
			break;
		case 11:
			donor.high += 0x1000;
			break;
		case 12: /* nobody else is there */
			to.others = NULL;
			break;
		case 13: /* the code there is another one */
			differs = true;
			asked = 0;
			break;
		}
		if (how == 5)
			want = 1, asked = 0;
		if (take_it() != want)
			fail_msg("%u", how);
		assert_int_equal(recalls, asked);
		end();
		drop(&was);
	}
	/* at the same place, what is pinned can be copied; a module that is mapped otherwise not */
	for (unsigned how = 0; how < 3; how++) {
		make(&was, 0);
		begin(0, true);
		was.made.fixes.pinned = true;
		module.low += how == 1 ? 0x1000 : 0;
		module.high += how == 2 ? 0x1000 : 0;
		assert_int_equal(take_it(), !how);
		end();
		drop(&was);
	}
	/* with points in the file nothing is copied, or asked for */
	make(&was, 0);
	begin(0, true);
	file.points.n = 1;
	assert_int_equal(take_it(), 0);
	assert_int_equal(recalls, 0);
	file.points.n = 0;
	end();
	drop(&was);
}

/* A process that ends leaves what was made for it. */
static void test_donated(void **state)
{
	struct dt_files files = {.first = &file};
	uint64_t bytes;

	make(&was, 1);
	begin(0x30000, true);
	dt_probes_donate(&donor, &files);
	assert_non_null(file.donor.probes);
	assert_null(was.patch);
	assert_null(was.made.near.bytes);
	assert_int_equal(was.windows, 0);
	assert_non_null(was.toggle); /* what its last records need is still there */
	assert_non_null(was.region);
	bytes = files.donated;
	assert_true(bytes >= SIZE + LONGEST);
	/* from then on it is copied of that one, though the process is not there */
	from.left = true;
	assert_int_equal(take_it(), 1);
	check_taken(1, false);
	end();
	drop(&was);
	/* one that had the same changes nothing, */
	make(&was, 1);
	struct dt_probes *first = file.donor.probes;
	dt_probes_donate(&donor, &files);
	assert_ptr_equal(file.donor.probes, first);
	assert_non_null(was.patch);
	assert_int_equal(files.donated, bytes);
	/* one that had more takes its place */
	was.state[1] = PLANTED;
	dt_probes_donate(&donor, &files);
	assert_int_equal(file.donor.probes->state[1], PLANTED);
	assert_int_equal(files.donated, bytes);
	drop(&was);
	/* and one that nothing is known of does not */
	make(&was, 1);
	was.plan.code = NULL;
	dt_probes_donate(&donor, &files);
	assert_int_equal(file.donor.probes->state[1], PLANTED);
	drop(&was);
	/* not more than so much is kept of all */
	make(&was, 1);
	files.donated = DONATED;
	dt_probes_donate(&donor, &files);
	assert_int_equal(file.donor.probes->state[1], UNTRIED);
	assert_int_equal(files.donated, DONATED);
	drop(&was);
	make(&was, 1);
	was.state[1] = PLANTED;
	files.donated = DONATED + 1;
	dt_probes_donate(&donor, &files);
	assert_null(file.donor.probes);
	assert_int_equal(files.donated, DONATED + 1 - bytes);
	assert_non_null(was.patch);
	files.donated = 0;
	dt_probes_donate(&donor, &files);
	assert_int_equal(files.donated, bytes);
	dt_probes_free_donors(&files);
	assert_null(file.donor.probes);
	assert_int_equal(files.donated, 0);
	drop(&was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_recalled),
		cmocka_unit_test(test_not_alike),
		cmocka_unit_test(test_donated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
