/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Hides what differs between the kernels that the module is built for, 6.1 and later, and provides
 * the functions of the kernel that it needs and that are not exported: these are found by name
 * once, when the module is loaded.
 */
#ifndef DT_KERNEL_COMPAT_H
#define DT_KERNEL_COMPAT_H

#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/rethook.h>
#include <linux/static_call.h>
#include <linux/version.h>

/*
 * Declares a function of the kernel that is called by a static call, that is, directly: on kernels
 * with IBT, a function whose address is never taken may not be called through a pointer.
 */
#define DT_FUNCTION(result, name, ...)                                                             \
	result dt_like_##name(__VA_ARGS__);                                                        \
	DECLARE_STATIC_CALL(dt_##name, dt_like_##name)

DT_FUNCTION(unsigned long, kallsyms_lookup_name, const char *name);
DT_FUNCTION(int, kallsyms_lookup_size_offset, unsigned long address, unsigned long *size,
	    unsigned long *offset);
DT_FUNCTION(unsigned long, ftrace_location, unsigned long ip);
DT_FUNCTION(unsigned long, ftrace_location_range, unsigned long start, unsigned long end);
DT_FUNCTION(void, rethook_free, struct rethook *rh);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
DT_FUNCTION(struct rethook *, rethook_alloc, void *data, rethook_handler_t handler);
DT_FUNCTION(void, rethook_add_node, struct rethook *rh, struct rethook_node *node);
extern unsigned long dt_rethook_trampoline; /* the address to which hooked functions return */
#else
DT_FUNCTION(struct rethook *, rethook_alloc, void *data, rethook_handler_t handler, int size,
	    int n);
DT_FUNCTION(struct rethook_node *, rethook_try_get, struct rethook *rh);
DT_FUNCTION(void, rethook_hook, struct rethook_node *node, struct pt_regs *regs, bool mcount);
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
DT_FUNCTION(int, kallsyms_on_each_symbol,
	    int (*fn)(void *, const char *, struct module *, unsigned long), void *data);
DT_FUNCTION(int, module_kallsyms_on_each_symbol,
	    int (*fn)(void *, const char *, struct module *, unsigned long), void *data);
#else
DT_FUNCTION(int, kallsyms_on_each_symbol, int (*fn)(void *, const char *, unsigned long),
	    void *data);
DT_FUNCTION(int, module_kallsyms_on_each_symbol, const char *module,
	    int (*fn)(void *, const char *, unsigned long), void *data);
DT_FUNCTION(struct module *, __module_address, unsigned long address);
#endif

/*
 * Sets the flags of a mapping so that it can not be made writable or executable later, and children
 * do not get it.
 */
static inline void dt_map_read_only(struct vm_area_struct *area)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	area->vm_flags &= ~(VM_MAYWRITE | VM_MAYEXEC);
	area->vm_flags |= VM_DONTCOPY;
#else
	vm_flags_mod(area, VM_DONTCOPY, VM_MAYWRITE | VM_MAYEXEC);
#endif
}

/* Finds all functions above. Returns 0, or -ENOENT with a line in the kernel's log that names what
 * this kernel lacks. each: called for every symbol that the kernel has. */
typedef void dt_each_symbol_fn(const char *name, unsigned long at);
int dt_find_all(dt_each_symbol_fn *each);

/*
 * Returns the registers that ftrace has saved for a hook: at least those of the arguments, and the
 * stack pointer as it was on entry.
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
