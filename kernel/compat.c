// SPDX-License-Identifier: MIT OR GPL-2.0
/* Finds functions of the kernel that are not exported. */
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

/*
 * Finds kallsyms_lookup_name() itself, by where the kernel puts a probe that is asked for by that
 * name.
 */
static __init unsigned long find_lookup_name(void)
{
	struct kprobe k = {.symbol_name = "kallsyms_lookup_name"};
	unsigned long address, behind = 0;
	char text[KSYM_SYMBOL_LEN], *plus;

	if (register_kprobe(&k) < 0)
		return 0;
	address = (unsigned long)k.addr;
	unregister_kprobe(&k);
	/* if the function begins with endbr64, the probe is after that: the kernel's own table says
	 * how far */
	sprint_symbol(text, address); /* name+0xOFFSET/0xSIZE */
	plus = strchr(text, '+');
	if (!plus || sscanf(plus, "+0x%lx", &behind) != 1)
		return 0;
	return address - behind;
}

/*
 * What is to be found, and its address. All of it is looked for in one pass over the symbols,
 * because before 6.2 each look-up by name is a pass of its own.
 */
enum {
	SIZE_OFFSET,
	LOCATION,
	LOCATION_RANGE,
	ALLOC,
	FREE,
	EACH,
	MODULE_EACH,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	ADD_NODE,
	TRAMPOLINE,
#else
	TRY_GET,
	HOOK,
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	MODULE_ADDRESS,
#endif
	SYMBOLS
};

static struct {
	const char *name;
	unsigned long at;
} symbol[SYMBOLS] __initdata = {
	[SIZE_OFFSET] = {"kallsyms_lookup_size_offset"},
	[LOCATION] = {"ftrace_location"},
	[LOCATION_RANGE] = {"ftrace_location_range"},
	[ALLOC] = {"rethook_alloc"},
	[FREE] = {"rethook_free"},
	[EACH] = {"kallsyms_on_each_symbol"},
	[MODULE_EACH] = {"module_kallsyms_on_each_symbol"},
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	[ADD_NODE] = {"rethook_add_node"},
	[TRAMPOLINE] = {"arch_rethook_trampoline"},
#else
	[TRY_GET] = {"rethook_try_get"},
	[HOOK] = {"rethook_hook"},
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	[MODULE_ADDRESS] = {"__module_address"},
#endif
};

static __init int note(dt_each_symbol_fn *each, const char *name, unsigned long at)
{
	for (unsigned int i = 0; i < SYMBOLS; i++)
		if (!symbol[i].at && !strcmp(symbol[i].name, name))
			symbol[i].at = at;
	each(name, at);
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static __init int on_symbol(void *ctx, const char *name, struct module *m, unsigned long at)
{
	return note((dt_each_symbol_fn *)ctx, name, at);
}
#else
static __init int on_symbol(void *ctx, const char *name, unsigned long at)
{
	return note((dt_each_symbol_fn *)ctx, name, at);
}
#endif

#define SET(name, i) static_call_update(dt_##name, (typeof(&dt_like_##name))symbol[i].at)

int __init dt_find_all(void (*each)(const char *name, unsigned long at))
{
	unsigned long lookup = find_lookup_name();

	if (!lookup) {
		pr_err("devtrace: kallsyms_lookup_name can not be found: the kernel needs "
		       "CONFIG_KPROBES and CONFIG_KALLSYMS\n");
		return -ENOENT;
	}
	static_call_update(dt_kallsyms_lookup_name, (typeof(&dt_like_kallsyms_lookup_name))lookup);
	symbol[EACH].at = static_call(dt_kallsyms_lookup_name)(symbol[EACH].name);
	if (symbol[EACH].at) {
		SET(kallsyms_on_each_symbol, EACH);
		static_call(dt_kallsyms_on_each_symbol)(on_symbol, each);
	}
	for (unsigned int i = 0; i < SYMBOLS; i++)
		if (!symbol[i].at) {
			pr_err("devtrace: this kernel has no %s\n", symbol[i].name);
			return -ENOENT;
		}
	SET(kallsyms_lookup_size_offset, SIZE_OFFSET);
	SET(ftrace_location, LOCATION);
	SET(ftrace_location_range, LOCATION_RANGE);
	SET(rethook_alloc, ALLOC);
	SET(rethook_free, FREE);
	SET(module_kallsyms_on_each_symbol, MODULE_EACH);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	SET(rethook_add_node, ADD_NODE);
	dt_rethook_trampoline = symbol[TRAMPOLINE].at;
#else
	SET(rethook_try_get, TRY_GET);
	SET(rethook_hook, HOOK);
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	SET(__module_address, MODULE_ADDRESS);
#endif
	return 0;
}
