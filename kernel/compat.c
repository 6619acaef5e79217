// SPDX-License-Identifier: MIT OR GPL-2.0
/* Functions of the kernel that are not exported. */
#include "kernel/compat.h"

#include <linux/kprobes.h>
#include <linux/module.h>

DEFINE_STATIC_CALL_NULL(dt_kallsyms_lookup_name, dt_like_kallsyms_lookup_name);
DEFINE_STATIC_CALL_NULL(dt_kallsyms_lookup_size_offset, dt_like_kallsyms_lookup_size_offset);
DEFINE_STATIC_CALL_NULL(dt_ftrace_location, dt_like_ftrace_location);
DEFINE_STATIC_CALL_NULL(dt_ftrace_location_range, dt_like_ftrace_location_range);
DEFINE_STATIC_CALL_NULL(dt_rethook_alloc, dt_like_rethook_alloc);
DEFINE_STATIC_CALL_NULL(dt_rethook_free, dt_like_rethook_free);
DEFINE_STATIC_CALL_NULL(dt_kallsyms_on_each_symbol, dt_like_kallsyms_on_each_symbol);
DEFINE_STATIC_CALL_NULL(dt_module_kallsyms_on_each_symbol, dt_like_module_kallsyms_on_each_symbol);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
DEFINE_STATIC_CALL_NULL(dt_rethook_add_node, dt_like_rethook_add_node);
unsigned long dt_rethook_trampoline;
#else
DEFINE_STATIC_CALL_NULL(dt_rethook_try_get, dt_like_rethook_try_get);
DEFINE_STATIC_CALL_NULL(dt_rethook_hook, dt_like_rethook_hook);
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
DEFINE_STATIC_CALL_NULL(dt___module_address, dt_like___module_address);
#endif

/* kallsyms_lookup_name() itself is where a probe that is asked for by that name gets put. */
static unsigned long find_lookup_name(void)
{
	struct kprobe k = {.symbol_name = "kallsyms_lookup_name"};
	unsigned long address;

	if (register_kprobe(&k) < 0)
		return 0;
	address = (unsigned long)k.addr;
	unregister_kprobe(&k);
	/* with endbr64 in front, the probe comes behind that */
	return address & 0xf ? address - 4 : address;
}

/* The address of a function, or 0 with a line in the log. */
static unsigned long find(const char *name)
{
	unsigned long address = static_call(dt_kallsyms_lookup_name)(name);

	if (!address)
		pr_err("devtrace: this kernel has no %s\n", name);
	return address;
}

#define FIND(name)                                                                                 \
	do {                                                                                       \
		unsigned long at = find(#name);                                                    \
                                                                                                   \
		if (!at)                                                                           \
			return -ENOENT;                                                            \
		static_call_update(dt_##name, (typeof(&dt_like_##name))at);                        \
	} while (0)

int dt_find_all(void)
{
	unsigned long lookup = find_lookup_name();

	if (!lookup) {
		pr_err("devtrace: kallsyms_lookup_name can not be found: the kernel needs "
		       "CONFIG_KPROBES and CONFIG_KALLSYMS\n");
		return -ENOENT;
	}
	static_call_update(dt_kallsyms_lookup_name, (typeof(&dt_like_kallsyms_lookup_name))lookup);
	FIND(kallsyms_lookup_size_offset);
	FIND(ftrace_location);
	FIND(ftrace_location_range);
	FIND(rethook_alloc);
	FIND(rethook_free);
	FIND(kallsyms_on_each_symbol);
	FIND(module_kallsyms_on_each_symbol);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	FIND(rethook_add_node);
	dt_rethook_trampoline = find("arch_rethook_trampoline");
	if (!dt_rethook_trampoline)
		return -ENOENT;
#else
	FIND(rethook_try_get);
	FIND(rethook_hook);
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	FIND(__module_address);
#endif
	return 0;
}
