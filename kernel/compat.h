/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What differs between the kernels that the module is built for, 6.1 and later, and the functions of
 * the kernel that it needs and that are not exported: those are found by name once, at loading.
 */
#ifndef DT_KERNEL_COMPAT_H
#define DT_KERNEL_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/rethook.h>
#include <linux/version.h>

struct dt_found {
	unsigned long (*lookup_name)(const char *name);
	unsigned long (*ftrace_location)(unsigned long ip);
	unsigned long (*ftrace_location_range)(unsigned long start, unsigned long end);
	int (*lookup_size)(unsigned long address, unsigned long *size, unsigned long *offset);
	void (*rethook_free)(struct rethook *rh);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	unsigned long rethook_trampoline; /* where functions that are hooked return to */
	struct rethook *(*rethook_alloc)(void *data, rethook_handler_t handler);
	void (*rethook_add_node)(struct rethook *rh, struct rethook_node *node);
#else
	struct rethook *(*rethook_alloc)(void *data, rethook_handler_t handler, int size, int n);
	struct rethook_node *(*rethook_try_get)(struct rethook *rh);
	void (*rethook_hook)(struct rethook_node *node, struct pt_regs *regs, bool mcount);
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	int (*each_symbol)(int (*fn)(void *, const char *, struct module *, unsigned long), void *data);
	int (*each_module_symbol)(int (*fn)(void *, const char *, struct module *, unsigned long),
				  void *data);
#else
	int (*each_symbol)(int (*fn)(void *, const char *, unsigned long), void *data);
	int (*each_module_symbol)(const char *module, int (*fn)(void *, const char *, unsigned long),
				  void *data);
	struct module *(*module_address)(unsigned long address);
#endif
};

extern struct dt_found dt_found;

/* 0, or -ENOENT with a line in the log that names what this kernel has not. */
int dt_find_all(void);

/*
 * The registers that ftrace has saved for a hook: at least those of the arguments, and the stack
 * pointer as it was on entry.
 */
static __always_inline struct pt_regs *dt_regs(struct ftrace_regs *f)
{
#ifdef arch_ftrace_regs
	return &arch_ftrace_regs(f)->regs;
#else
	return &f->regs;
#endif
}

#endif
