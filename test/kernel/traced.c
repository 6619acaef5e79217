// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the tests in a kernel trace: functions with known arguments and results in every context,
 * and events. /proc/traced tells where they are, and takes one command a write:
 *
 *	calls N        traced_call(0..N-1, 2, 3, 4) in this process
 *	nest N         traced_nest(N), which calls itself
 *	registers      traced_known, with known values in its registers at traced_here
 *	hard N, soft N traced_call() in a hardirq, a softirq
 *	event S E X A  an event of subsystem S
 *	nmi S E X A    the same in the next NMI; nmi ends waiting for one
 *	sleep MS       traced_sleep(), which sleeps
 *	timecalls N    the same as calls: prints the cycles
 *	time N         N calls of traced_empty(): prints the cycles
 *	storm MS       traced_call() all the time, and in interrupts that come as often as can be
 *	hold, release  the module "gone" stays half unloaded in between: its end has been told of,
 *	               and its functions are there yet
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/nmi.h>
#include <asm/msr.h>

#include "include/devtrace-kernel.h"

noinline long traced_call(long a, long b, long c, long d);
noinline long traced_call(long a, long b, long c, long d)
{
	barrier();
	return a % 3 == 2 ? -a : a * 1000 + b * 100 + c * 10 + d;
}

noinline long traced_nest(long n);
noinline long traced_nest(long n)
{
	long r = n > 0 ? traced_nest(n - 1) : 0;

	barrier();
	return r + 1;
}

noinline void traced_empty(void);
noinline void traced_empty(void)
{
	barrier();
}

noinline void traced_sleep(unsigned int ms);
noinline void traced_sleep(unsigned int ms)
{
	msleep(ms);
	barrier();
}

/* Every register is known at traced_here, but rsp; rbp leads to traced_words. */
unsigned long traced_words[4] = {0xf0, 0xf8, 0xf100, 0xf108};
unsigned long traced_datum = 0xda7a;
void traced_known(void);
extern char traced_here[];
asm(".text\n"
    ".globl traced_known, traced_here\n"
    ".type traced_known, @function\n"
    "traced_known:\n"
    "	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "	sub $16, %rsp\n"
    "	movq $0x5ac0, 0(%rsp)\n"
    "	movq $0x5ac8, 8(%rsp)\n"
    "	lea traced_words+16(%rip), %rbp\n"
    "	mov $0x1111111111111111, %rax\n"
    "	mov $0x2222222222222222, %rbx\n"
    "	mov $0x3333333333333333, %rcx\n"
    "	mov $0x4444444444444444, %rdx\n"
    "	mov $0x5555555555555555, %rsi\n"
    "	mov $0x6666666666666666, %rdi\n"
    "	mov $0x7777777777777777, %r8\n"
    "	mov $0x9999999999999999, %r9\n"
    "	mov $0xaaaaaaaaaaaaaaaa, %r10\n"
    "	mov $0xbbbbbbbbbbbbbbbb, %r11\n"
    "	mov $0xcccccccccccccccc, %r12\n"
    "	mov $0xdddddddddddddddd, %r13\n"
    "	mov $0xeeeeeeeeeeeeeeee, %r14\n"
    "	mov $0xffffffffffffff01, %r15\n"
    "	stc\n"
    "traced_here:\n"
    "	mov %rax, %rsi\n"
    "	mov %rax, %rdi\n"
    "	add $16, %rsp\n"
    "	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "	jmp __x86_return_thunk\n"
    ".size traced_known, . - traced_known\n"
    ".previous\n");

static long left; /* calls still to be made in an interrupt */

static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	while (left > 0)
		traced_call(--left, 2, 3, 4);
	return HRTIMER_NORESTART;
}

static void in_interrupt_context(long n, bool soft)
{
	struct hrtimer t;
	enum hrtimer_mode mode = soft ? HRTIMER_MODE_REL_SOFT : HRTIMER_MODE_REL_HARD;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init_on_stack(&t, CLOCK_MONOTONIC, mode);
	t.function = on_timer;
#else
	hrtimer_setup_on_stack(&t, on_timer, CLOCK_MONOTONIC, mode);
#endif
	WRITE_ONCE(left, n);
	hrtimer_start(&t, ns_to_ktime(1000000), mode);
	while (READ_ONCE(left))
		msleep(1);
	hrtimer_cancel(&t);
	destroy_hrtimer_on_stack(&t);
}

/* Interrupts of it come as soon as the one before has ended. */
static enum hrtimer_restart on_storm(struct hrtimer *t)
{
	traced_call(7, 2, 3, 4);
	hrtimer_forward_now(t, ns_to_ktime(20000));
	return HRTIMER_RESTART;
}

static void storm(unsigned int ms)
{
	u64 end = ktime_get_ns() + ms * 1000000ull;
	struct hrtimer t;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init_on_stack(&t, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	t.function = on_storm;
#else
	hrtimer_setup_on_stack(&t, on_storm, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#endif
	hrtimer_start(&t, ns_to_ktime(20000), HRTIMER_MODE_REL_HARD);
	while (ktime_get_ns() < end)
		for (long i = 0; i < 100; i++)
			traced_call(i, 2, 3, 4);
	hrtimer_cancel(&t);
	destroy_hrtimer_on_stack(&t);
}

static bool holds;

/* Behind all others that are told. */
static int on_module(struct notifier_block *b, unsigned long state, void *module)
{
	if (state == MODULE_STATE_GOING && !strcmp(((struct module *)module)->name, "gone"))
		for (int i = 0; READ_ONCE(holds) && i < 10000; i++)
			msleep(1);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = {.notifier_call = on_module, .priority = -1};

/* The event that the next NMI of any core makes; whoever makes one comes by here. */
static unsigned int nmi_subsystem, nmi_event, nmi_argument;
static unsigned long nmi_value;
static atomic_t nmi_waits;
static bool nmi_registered;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (atomic_cmpxchg(&nmi_waits, 1, 0) == 1)
		DEVTRACE_EVENT(nmi_subsystem, nmi_event, nmi_argument, nmi_value);
	return NMI_DONE;
}

static void wait_for_nmi(bool waits)
{
	if (nmi_registered)
		unregister_nmi_handler(NMI_LOCAL, "traced");
	nmi_registered = waits && register_nmi_handler(NMI_LOCAL, on_nmi, 0, "traced") == 0;
	atomic_set(&nmi_waits, waits);
}

static ssize_t on_write(struct file *f, const char __user *from, size_t n, loff_t *at)
{
	char text[64] = "";
	unsigned int s, e, x;
	unsigned long a;
	long v = 0;

	if (n >= sizeof(text) || copy_from_user(text, from, n))
		return -EINVAL;
	if (sscanf(text, "calls %ld", &v) == 1) {
		for (long i = 0; i < v; i++)
			traced_call(i, 2, 3, 4);
	} else if (sscanf(text, "nest %ld", &v) == 1) {
		traced_nest(v);
	} else if (!strncmp(text, "registers", 9)) {
		traced_known();
	} else if (sscanf(text, "hard %ld", &v) == 1) {
		in_interrupt_context(v, false);
	} else if (sscanf(text, "soft %ld", &v) == 1) {
		in_interrupt_context(v, true);
	} else if (sscanf(text, "event %u %u %u %lu", &s, &e, &x, &a) == 4) {
		DEVTRACE_EVENT(s, e, x, a);
	} else if (sscanf(text, "nmi %u %u %u %lu", &nmi_subsystem, &nmi_event, &nmi_argument,
			  &nmi_value) == 4) {
		wait_for_nmi(true);
	} else if (!strncmp(text, "nmi", 3)) {
		wait_for_nmi(false);
	} else if (sscanf(text, "sleep %ld", &v) == 1) {
		traced_sleep((unsigned int)v);
	} else if (sscanf(text, "storm %ld", &v) == 1) {
		storm((unsigned int)v);
	} else if (!strncmp(text, "hold", 4)) {
		WRITE_ONCE(holds, true);
	} else if (!strncmp(text, "release", 7)) {
		WRITE_ONCE(holds, false);
	} else if (sscanf(text, "timecalls %ld", &v) == 1) {
		u64 begin = rdtsc_ordered();

		for (long i = 0; i < v; i++)
			traced_call(i, 2, 3, 4);
		pr_info("traced: %llu for %ld calls\n", rdtsc_ordered() - begin, v);
	} else if (sscanf(text, "time %ld", &v) == 1) {
		u64 begin = rdtsc_ordered();

		for (long i = 0; i < v; i++)
			traced_empty();
		pr_info("traced: %llu for %ld calls\n", rdtsc_ordered() - begin, v);
	} else {
		return -EINVAL;
	}
	return (ssize_t)n;
}

/* Where all this is, by name: a grep through all of kallsyms takes an emulated machine a second. */
static ssize_t on_read(struct file *f, char __user *to, size_t n, loff_t *at)
{
	static const struct {
		const char *name;
		const void *address;
	} known[] = {
		{"traced_call", traced_call},	{"traced_nest", traced_nest},
		{"traced_empty", traced_empty}, {"traced_known", traced_known},
		{"traced_here", traced_here},	{"traced_words", traced_words},
	};
	char text[512];
	int length = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++)
		length += scnprintf(text + length, sizeof(text) - (size_t)length, "%s %px\n",
				    known[i].name, known[i].address);
	return simple_read_from_buffer(to, n, at, text, (size_t)length);
}

static const struct proc_ops operations = {.proc_read = on_read, .proc_write = on_write};

static int __init traced_load(void)
{
	if (!proc_create("traced", 0666, NULL, &operations))
		return -ENOMEM;
	register_module_notifier(&module_notifier);
	return 0;
}

static void __exit traced_unload(void)
{
	remove_proc_entry("traced", NULL);
	unregister_module_notifier(&module_notifier);
	wait_for_nmi(false);
}

module_init(traced_load);
module_exit(traced_unload);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("what devtrace's tests trace");
