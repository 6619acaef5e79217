// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Traces a function with an entry, an exit and a tracepoint, and checks that the records say what
 * it does.
 */
#include "kernel/selftest.h"

#include <linux/slab.h>

#include "core/device.h"
#include "kernel/compat.h"
#include "kernel/hook.h"
#include "kernel/ring.h"

#define CALLS 10u

/* The only function of the module that can be hooked: this file is compiled for ftrace. */
noinline long dt_selftest_function(long a, long b, long c, long d);
noinline long dt_selftest_function(long a, long b, long c, long d)
{
	barrier();
	return a * 1000 + b * 100 + c * 10 + d;
}

static __init int check(const struct dt_record *r, long n, unsigned long ip, struct dt_error *e)
{
	u64 last = 0;

	if (n != 2 * CALLS)
		return dt_fail(e, "%ld records of %u calls", n, CALLS);
	for (unsigned int i = 0; i < 2 * CALLS; i++, r++) {
		bool entry = !(i & 1);
		u64 v = i / 2;

		if (r->kind != (entry ? DT_ENTRY : DT_EXIT) || r->pc != ip || r->ticks < last ||
		    r->tid != (u32)current->pid || r->sp != (r - (i & 1))->sp)
			return dt_fail(e, "record %u is wrong: kind %c, pc %lx", i, r->kind,
				       (unsigned long)r->pc);
		if (entry &&
		    (r->value[0] != v || r->value[1] != 2 || r->value[2] != 3 || r->value[3] != 4))
			return dt_fail(e, "the arguments of call %lu are wrong", (unsigned long)v);
		if (!entry && r->value[0] != v * 1000 + 234)
			return dt_fail(e, "the result of call %lu is wrong", (unsigned long)v);
		last = r->ticks;
	}
	return 0;
}

int __init dt_selftest(struct dt_error *e)
{
	struct dt_record *r = kcalloc(2 * CALLS + 1, sizeof(*r), GFP_KERNEL);
	unsigned long ip = static_call(dt_ftrace_location)((unsigned long)dt_selftest_function);
	struct dt_error end;
	size_t gone;
	int rc = -1;

	if (!r) {
		dt_fail(e, "out of memory");
	} else if (!ip) {
		dt_fail(e, "ftrace does not know a function of this module");
	} else if (dt_hooks_set(&ip, 1, NULL, 0, NULL, &gone, e) == 0) {
		long (*volatile f)(long, long, long, long) = dt_selftest_function;

		dt_hooks_mode(DT_ON, 0);
		rc = 0;
		for (long i = 0; i < CALLS && rc == 0; i++)
			if (f(i, 2, 3, 4) != i * 1000 + 234)
				rc = dt_fail(e, "a function that is hooked gives another result");
		dt_hooks_mode(0, DT_ON);
		if (rc == 0)
			rc = check(r, dt_rings_take(r, 2 * CALLS + 1), ip, e);
	}
	dt_hooks_set(NULL, 0, NULL, 0, NULL, &gone, &end);
	kfree(r);
	dt_rings_reset();
	return rc;
}
