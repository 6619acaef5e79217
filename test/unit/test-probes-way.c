/* SPDX-License-Identifier: MIT */
/*
 * hook/probes-way.c: calls of hooks in memory of our own, as a planting leaves them, are led the
 * way that they are to have once what is wanted has changed; which one that is is said here once
 * more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "hook/probes-work.h"

static bool sets_errno, can_not_stop;
static unsigned stops, releases;

static int made_up_stop(struct dt_threads *threads, struct dt_error *e)
{
	threads->stopped_for = 100 * (stops + 1);
	if (can_not_stop)
		return dt_fail(e, "thread 17 can not be stopped");
	stops++;
	return 0;
}

/* the compiler does not look into it */
static int (*volatile stop)(struct dt_threads *threads, struct dt_error *e) = made_up_stop;

#define dt_file_sets_errno(f)	   sets_errno
#define dt_threads_stop(pid, t, e) stop(t, e)
#define dt_threads_release(t)	   releases++
#include "hook/probes-way.c"

#define SITES 600u
#define ALL   0, ~0ull

static _Alignas(4096) uint8_t area[1 << 18];
static struct dt_elf_site site[SITES];
static struct dt_elf elf = {.site = site, .sites = SITES};
static uint8_t chosen[SITES];
static uint16_t wanted[SITES], crossing[SITES];
static struct dt_file file = {
	.elf = &elf, .chosen = chosen, .wanted = wanted, .crossing = crossing, .probed = true};
static struct region region[2];
static uint64_t toggle[SITES];
static struct dt_probes probes = {.region = region, .regions = 2, .toggle = toggle};
static struct dt_module module = {.file = &file, .probes = &probes};
static struct dt_target target = {.pid = 1};
static bool jumps[SITES];
static uint64_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* The way that a site is to have, as doc/probes.md says it. */
static unsigned way_of(size_t i)
{
	bool from = crossing[i] && crossing[i] == wanted[i];

	if (i % 2 == 0)
		return from ? WAY_ENTRY_FROM : WAY_ENTRY;
	if (jumps[i])
		return from ? WAY_JUMP_FROM : WAY_JUMP;
	if (sets_errno)
		return from ? WAY_EXIT_ERRNO_FROM : WAY_EXIT_ERRNO;
	return from ? WAY_EXIT_FROM : WAY_EXIT;
}

/* Where the ways of a region begin: behind its head, one after the other. */
static uint64_t ways_at(size_t r, unsigned way)
{
	return region[r].low + sizeof(struct head) + way * dt_hook_way_size(true);
}

/* Which way a call leads, and that of its own region. */
static unsigned led(size_t i)
{
	size_t r = toggle[i] >= region[1].low;
	uint64_t to = dt_hook_call_target(toggle[i], (const uint8_t *)toggle[i]);

	assert_in_range(to, ways_at(r, 0), ways_at(r, WAY_JUMP_FROM + 1) - 1);
	return (unsigned)((to - ways_at(r, 0)) / dt_hook_way_size(true));
}

/* Plants all sites, with what is wanted then; some of them not at all. */
static void plant(void)
{
	size_t ways = sizeof(struct head) + WAYS * dt_hook_way_size(true);

	for (size_t r = 0; r < 2; r++)
		region[r] = (struct region){(uint64_t)area + r * sizeof(area) / 2,
					    (uint64_t)area + (r + 1) * sizeof(area) / 2};
	for (size_t i = 0; i < SITES; i++) {
		size_t r = i >= SITES / 2;
		struct dt_emit o = {.room = DT_HOOK_CALL};

		site[i] = (struct dt_elf_site){.address = 0x1000 + 16 * i,
					       .kind = i % 2 ? DT_ELF_PROBE_RETURN
							     : DT_ELF_PROBE_ENTRY};
		/* some of them lie on a page's border */
		toggle[i] = region[r].low + ways + 67 * (i % (SITES / 2));
		o.bytes = (uint8_t *)toggle[i];
		o.address = toggle[i];
		wanted[i] = (uint16_t)(1 + any(3));
		crossing[i] = (uint16_t)any(4);
		chosen[i] = any(8) > 0;
		jumps[i] = any(3) == 0;
		dt_hook_call_emit(&o, ways_at(r, way_of(i)), any(2));
		if (!any(9))
			toggle[i] = 0;
	}
}

static void begin(void)
{
	target.mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	assert_true(target.mem >= 0);
	target.held = target.busy = can_not_stop = sets_errno = false;
	target.stop_ns = stops = releases = 0;
	plant();
}

static bool is_in(size_t i, uint64_t low, uint64_t high)
{
	return site[i].address >= low && site[i].address <= high;
}

/* Changes what is wanted; then the sites between the addresses have to follow, and no others. */
static void change(uint64_t low, uint64_t high)
{
	unsigned was[SITES], before = stops, others = 0;
	struct dt_error e = {""};
	uint8_t first[SITES];

	for (size_t i = 0; i < SITES; i++)
		if (toggle[i]) {
			was[i] = led(i);
			first[i] = *(uint8_t *)toggle[i];
			others += chosen[i] && is_in(i, low, high) && was[i] != way_of(i);
		}
	assert_int_equal(dt_probe_ways_differ(&target, &module, low, high), others > 0);
	assert_int_equal(dt_probe_ways_change(&target, &module, low, high, &e), 0);
	assert_int_equal(stops, before + (others > 0 && !target.held));
	assert_int_equal(releases, stops);
	for (size_t i = 0; i < SITES; i++) {
		if (!toggle[i])
			continue;
		assert_int_equal(led(i), chosen[i] && is_in(i, low, high) ? way_of(i) : was[i]);
		assert_int_equal(*(uint8_t *)toggle[i], first[i]);
	}
	assert_false(dt_probe_ways_differ(&target, &module, low, high));
}

static void want_others(void)
{
	for (unsigned n = any(20); n; n--) {
		unsigned i = any(SITES);

		crossing[i] = any(2) ? wanted[i] : 0;
	}
}

static void test_changes(void **state)
{
	begin();
	change(ALL);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t low = site[any(SITES)].address, high = site[any(SITES)].address;

		target.held = !any(4);
		want_others();
		change(low < high ? low : high, low < high ? high : low);
	}
	target.held = false;
	change(ALL);
	/* what stopping takes is the longest of all */
	assert_int_equal(target.stop_ns, 100 * stops);
	close(target.mem);
}

static void test_errno(void **state)
{
	begin();
	sets_errno = true;
	change(ALL);
	want_others();
	change(ALL);
	close(target.mem);
}

/* Nothing is to be done where nobody looks at callers, or nothing is planted. */
static void test_nothing(void **state)
{
	struct dt_error e = {""};

	begin();
	for (size_t i = 0; i < SITES; i++)
		crossing[i] = crossing[i] == wanted[i] ? 0 : wanted[i];
	assert_true(dt_probe_ways_differ(&target, &module, ALL));
	file.crossing = NULL;
	assert_false(dt_probe_ways_differ(&target, &module, ALL));
	file.crossing = crossing;
	file.probed = false;
	assert_int_equal(dt_probe_ways_change(&target, &module, ALL, &e), 0);
	file.probed = true;
	module.probes = NULL;
	assert_int_equal(dt_probe_ways_change(&target, &module, ALL, &e), 0);
	module.probes = &probes;
	file.chosen = NULL;
	assert_int_equal(dt_probe_ways_change(&target, &module, ALL, &e), 0);
	file.chosen = chosen;
	assert_int_equal(stops, 0);
	close(target.mem);
}

/* A thread that can not be stopped, memory that can not be written. */
static void test_refused(void **state)
{
	struct dt_error e = {""};

	begin();
	for (size_t i = 0; i < SITES; i++)
		crossing[i] = crossing[i] == wanted[i] ? 0 : wanted[i];
	can_not_stop = true;
	assert_int_equal(dt_probe_ways_change(&target, &module, ALL, &e), -1);
	assert_true(target.busy);
	assert_string_equal(e.text, "thread 17 can not be stopped");
	assert_int_equal(releases, 0);
	can_not_stop = target.busy = false;
	close(target.mem);
	target.mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dt_probe_ways_change(&target, &module, ALL, &e), -1);
	assert_int_equal(releases, 1);
	assert_false(target.busy);
	close(target.mem);
	/* what can not be read is left alone */
	assert_false(dt_probe_ways_differ(&target, &module, ALL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
