// SPDX-License-Identifier: MIT OR GPL-2.0
/* Functions of the kernel that are not exported. */
#include "kernel/compat.h"

#include <linux/kprobes.h>
#include <linux/module.h>

struct dt_found dt_found;

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

int dt_find_all(void)
{
	static const struct {
		const char *name;
		void *where;
	} want[] = {
		{"ftrace_location", &dt_found.ftrace_location},
		{"ftrace_location_range", &dt_found.ftrace_location_range},
		{"kallsyms_lookup_size_offset", &dt_found.lookup_size},
		{"kallsyms_on_each_symbol", &dt_found.each_symbol},
		{"module_kallsyms_on_each_symbol", &dt_found.each_module_symbol},
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
		{"__module_address", &dt_found.module_address},
#endif
		{"rethook_alloc", &dt_found.rethook_alloc},
		{"rethook_free", &dt_found.rethook_free},
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
		{"rethook_add_node", &dt_found.rethook_add_node},
		{"arch_rethook_trampoline", &dt_found.rethook_trampoline},
#else
		{"rethook_try_get", &dt_found.rethook_try_get},
		{"rethook_hook", &dt_found.rethook_hook},
#endif
	};

	dt_found.lookup_name = (void *)find_lookup_name();
	if (!dt_found.lookup_name) {
		pr_err("devtrace: kallsyms_lookup_name can not be found: the kernel needs CONFIG_KPROBES and CONFIG_KALLSYMS\n");
		return -ENOENT;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++) {
		unsigned long address = dt_found.lookup_name(want[i].name);

		if (!address) {
			pr_err("devtrace: this kernel has no %s\n", want[i].name);
			return -ENOENT;
		}
		*(unsigned long *)want[i].where = address;
	}
	return 0;
}
