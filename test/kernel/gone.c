// SPDX-License-Identifier: MIT OR GPL-2.0
/* A module whose functions are traced when it goes. */
#include <linux/module.h>

noinline long gone_call(long a);
noinline long gone_call(long a)
{
	barrier();
	return a + 1;
}

static int __init gone_load(void)
{
	return gone_call(1) == 2 ? 0 : -EINVAL;
}

static void __exit gone_unload(void)
{
	gone_call(2);
}

module_init(gone_load);
module_exit(gone_unload);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("what devtrace's tests unload");
