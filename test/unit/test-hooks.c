/* SPDX-License-Identifier: MIT */
/* The hooks as they are made for machines of other sizes, tried out in this process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <sched.h>
#include <unistd.h>

#include "hook/calibrate.h"
#include "session/rings.h"

static void with_cores(unsigned cores)
{
	struct dt_shared scratch;
	struct dt_error e = {""};
	cpu_set_t all, one;
	struct dt_costs costs;

	assert_int_equal(dt_shared_create(&scratch, cores, DT_RING_MIN, DT_OVERWRITE, &e), 0);
	dt_rings_start(&scratch);
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		if (dt_calibrate(&scratch, &costs, &e) < 0)
			fail_msg("%u cores, on core %d: %s", cores, cpu, e.text);
		assert_true(costs.ticks > 0);
		/* one record after another takes no less than the fastest batch did, and has been
		 * seen */
		assert_true(costs.entry.n > 1000 && costs.exit.n > 1000 && costs.point.n > 1000);
		assert_true(costs.entry.median > costs.ticks / 2);
		assert_true(costs.point.median > costs.ticks / 2);
		assert_true(costs.point.mean > 0 && costs.point.interval >= 0);
		/* and the records are in this core's ring */
		assert_true(dt_shared_ring_pos(&scratch, (unsigned)cpu) > 0);
	}
	sched_setaffinity(0, sizeof(all), &all);
	dt_shared_destroy(&scratch);
}

static void test_this_machine(void **state)
{
	with_cores((unsigned)sysconf(_SC_NPROCESSORS_CONF));
}

/* where the hook goes over from a chain of copies to a table */
static void test_sizes(void **state)
{
	unsigned here = (unsigned)sysconf(_SC_NPROCESSORS_CONF);

	for (unsigned cores = here; cores < here + 8; cores++)
		with_cores(cores);
	with_cores(here + 64);
	with_cores(here + 510);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
