// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tracepoints at instructions, by kprobes. */
#include "kernel/point.h"

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/capture.h"
#include "kernel/compat.h"
#include "kernel/hook.h"
#include "kernel/symbol.h"
#include "include/devtrace-ioctl.h"

/* One value that is captured: a register, or memory at a register's value plus an offset. */
struct item {
	bool memory;
	u8 size; /* of a register: how many of its bytes, from the lowest */
	u16 reg; /* offset in struct pt_regs; NONE: no register */
	s64 offset;
};

#define NONE 0xffff

/* What happens at a hit; replaced as a whole. */
struct program {
	struct dt_action action;
	bool plain; /* nothing is asked for but the record */
	u8 serial; /* one more than that of the program which this one replaced; 0: it replaced none
		    */
	unsigned int n;
	struct item item[];
};

/* The probe at one address. It is changed only under the device's lock. */
struct probe {
	struct kprobe kprobe;
	u64 address; /* the address asked for: the kernel may put the probe after an endbr64 there
		      */
	struct list_head list;
	unsigned int uses;
	bool plain;		 /* the point that is on asks for nothing but its record */
	u8 serial;		 /* the serial of its program, while it is plain */
	struct program *program; /* that of the point that is on; freed only after dt_settle() */
};

struct host {
	struct probe *probe;
	struct program *program; /* that of this point; may also be the probe's */
};

static LIST_HEAD(probes);

/* Where the registers are in struct pt_regs, by the processor's numbers. */
static const u16 at_number[16] = {
	offsetof(struct pt_regs, ax),  offsetof(struct pt_regs, cx),  offsetof(struct pt_regs, dx),
	offsetof(struct pt_regs, bx),  offsetof(struct pt_regs, sp),  offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si),  offsetof(struct pt_regs, di),  offsetof(struct pt_regs, r8),
	offsetof(struct pt_regs, r9),  offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13), offsetof(struct pt_regs, r14),
	offsetof(struct pt_regs, r15),
};

/* ---- what is captured ---- */

struct parsing {
	struct item item[DT_CAPTURE_ITEMS];
	unsigned int n;
};

static bool on_symbol(void *ctx, const char *name, u64 *address)
{
	struct dt_place place;

	if (!dt_symbol_place(name, &place))
		return false;
	*address = place.start;
	return true;
}

static __cold int on_item(void *ctx, const struct dt_capture_asked *c, struct dt_error *e)
{
	struct parsing *k = ctx;
	struct item i = {.memory = c->memory, .size = c->size, .offset = c->offset};

	if (c->variable)
		return dt_fail(
			e,
			"devtrace: %s %s needs the kernel's debugging information, which the "
			"module has not; REG, STACK, FRAME and LOC can be asked for",
			c->text ? "TEXT" : "VALUE", c->variable);
	if (c->reg < ARRAY_SIZE(at_number))
		i.reg = at_number[c->reg];
	else if (c->reg == DT_REGISTER_RIP)
		i.reg = offsetof(struct pt_regs, ip);
	else if (c->reg == DT_REGISTER_FLAGS)
		i.reg = offsetof(struct pt_regs, flags);
	else if (c->reg == DT_REGISTER_NONE)
		i.reg = NONE;
	else
		return dt_fail(e, "devtrace: REG %s: the kernel has no vector registers at hand",
			       c->label);
	k->item[k->n++] = i;
	return 0;
}

static __cold struct program *compile(const struct dt_range *r, struct dt_error *e)
{
	static const struct dt_capture_ops ops = {.symbol = on_symbol, .item = on_item};
	struct parsing *k = kzalloc(sizeof(*k), GFP_KERNEL);
	struct program *p = NULL;
	char *text = NULL;

	if (!k)
		goto no_memory;
	if (r->capture) {
		text = kstrdup(r->capture, GFP_KERNEL);
		if (!text)
			goto no_memory;
		if (dt_capture_words(text, strlen(text), &ops, k, e) < 0)
			goto out;
	}
	p = kzalloc(struct_size(p, item, k->n), GFP_KERNEL);
	if (!p)
		goto no_memory;
	p->action = r->action;
	p->n = k->n;
	p->plain = !k->n && !(r->action.what & DT_DO_CAREFUL);
	memcpy(p->item, k->item, k->n * sizeof(*k->item));
	goto out;
no_memory:
	dt_fail(e, "out of memory");
out:
	kfree(text);
	kfree(k);
	return p;
}

/* ---- hits ---- */

/*
 * Returns the thread that was interrupted by the probe. The kernel comes to a probe by an
 * exception, which counts as an NMI and as an interrupt, so the context below that is what matters.
 * (A probe that has become a jump, in a real NMI, is mistaken for a thread's.)
 */
static __always_inline u32 was_who(void)
{
	u32 n = preempt_count(), pid = (u32)current->pid;

	/* there is only one exception, which came from outside of interrupts */
	if ((n & (NMI_MASK | HARDIRQ_MASK)) == (NMI_OFFSET | HARDIRQ_OFFSET))
		n &= ~(NMI_MASK | HARDIRQ_MASK);
	return unlikely(n & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)) || unlikely(!pid)
		       ? DT_NO_TID
		       : pid;
}

static u64 value_of(const struct item *i, const struct pt_regs *regs, u64 pc, bool *bad)
{
	u64 v = i->reg == NONE ? 0 : *(const unsigned long *)((const char *)regs + i->reg);

	/* a handler sees the address after the breakpoint */
	if (i->reg == offsetof(struct pt_regs, ip))
		return pc;

	if (!i->memory)
		return i->size == 8 ? v : v & ((1ull << 8 * i->size) - 1);
	v += (u64)i->offset;
	if (copy_from_kernel_nofault(&v, (const void *)v, sizeof(v)) == 0)
		return v;
	*bad = true;
	return DT_CAPTURE_BAD;
}

static void append_items(struct dt_core *core, u32 tid, const struct program *p, u64 pc,
			 const struct pt_regs *regs, u8 flags)
{
	u64 v[4];
	unsigned int i = 0;

	do {
		unsigned int n = 0, part = i / 4;
		bool bad = false;
		u8 f = part ? 0 : flags;

		for (; n < 4 && i < p->n; n++, i++)
			v[n] = value_of(&p->item[i], regs, pc, &bad);
		if ((f & DT_NARGS) != DT_ADJACENT)
			f |= n;
		for (unsigned int k = n; k < 4; k++)
			v[k] = 0;
		/*
		 * DT_FAULT and DT_INTERRUPT are the same bit, so an unreadable value is also marked
		 * by DT_CAPTURE_BAD
		 */
		f |= bad ? DT_FAULT : 0;
		dt_append_seldom(core, tid, pc, regs->sp, part ? DT_MORE : DT_POINT,
				 f | DT_PART(part | p->serial << 8), v[0], v[1], v[2], v[3]);
	} while (i < p->n);
	if (p->action.what & DT_DO_CONST)
		dt_append_seldom(core, tid, pc, regs->sp, DT_MORE,
				 1 | DT_PART(DEVTRACE_CONST | p->serial << 8), p->action.constant,
				 0, 0, 0);
}

/* Handles all hits other than the usual ones. */
static noinline int on_careful_hit(const struct probe *probe, const struct pt_regs *regs, u32 mode)
{
	struct dt_core *core = this_cpu_ptr(&dt_core);
	const struct program *p = READ_ONCE(probe->program);
	u8 flags = 0;
	u32 tid;

	if (!(mode & DT_ON) || !p || !dt_begin(core))
		return 0;
	tid = was_who();
	dt_count(&core->in);
	if (dt_wanted(mode, tid) && dt_obey(&p->action, DT_POINT, &flags))
		append_items(core, dt_number(mode, tid), p, probe->address, regs, flags);
	else
		dt_leave_out(core, mode);
	dt_end(core);
	return 0;
}
NOKPROBE_SYMBOL(on_careful_hit);

/*
 * Handles a hit. The usual one, in a thread and with nothing asked for but the record, needs no
 * register that would have to be saved.
 */
static int on_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct probe *probe = container_of(kprobe, struct probe, kprobe);
	u32 mode = READ_ONCE(dt_mode), pid = (u32)current->pid;
	struct dt_core *core;

	if (unlikely(mode != DT_ON) || unlikely(!READ_ONCE(probe->plain)) || unlikely(!pid) ||
	    unlikely(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)))
		return on_careful_hit(probe, regs, mode);
	/*
	 * kprobes have preemption off and do not hit themselves, so this is never deeper than
	 * DT_NEST_MAX
	 */
	core = this_cpu_ptr(&dt_core);
	core->nest++;
	barrier();
	dt_count(&core->in);
	dt_append(core, pid, probe->address, regs->sp, DT_POINT, DT_PART(probe->serial << 8), 0, 0,
		  0, 0);
	dt_end(core);
	return 0;
}
NOKPROBE_SYMBOL(on_hit);

/* ---- making ---- */

static struct probe *probe_at(u64 address)
{
	struct probe *p;

	list_for_each_entry(p, &probes, list) if (p->address == address) return p;
	return NULL;
}

static __cold int refused(u64 address, int rc, struct dt_error *e)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol(symbol, address);
	switch (rc) {
	case -EILSEQ:
		return dt_fail(e,
			       "devtrace: %s is in the middle of an instruction, or one that can "
			       "not be moved",
			       symbol);
	case -EINVAL:
	case -ENOENT:
		return dt_fail(
			e,
			"devtrace: no tracepoint can be at %s: it is no code, or code that the "
			"kernel allows no probe in (/sys/kernel/debug/kprobes/blacklist)",
			symbol);
	default:
		return dt_fail(e, "devtrace: the kernel refuses a tracepoint at %s: error %d",
			       symbol, -rc);
	}
}

static __cold struct probe *probe_make(u64 address, struct dt_error *e)
{
	struct probe *p = probe_at(address);
	int rc;

	if (p) {
		p->uses++;
		return p;
	}
	if (within_module((unsigned long)address, THIS_MODULE)) {
		dt_fail(e, "devtrace: %lx is in the tracer itself", (unsigned long)address);
		return NULL;
	}
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	p->address = address;
	p->kprobe.addr = (kprobe_opcode_t *)(unsigned long)address;
	p->kprobe.pre_handler = on_hit;
	p->kprobe.flags = KPROBE_FLAG_DISABLED;
	p->uses = 1;
	rc = register_kprobe(&p->kprobe);
	if (rc < 0) {
		kfree(p);
		refused(address, rc, e);
		return NULL;
	}
	list_add(&p->list, &probes);
	return p;
}

static void probe_put(struct probe *p)
{
	if (--p->uses)
		return;
	list_del(&p->list);
	unregister_kprobe(&p->kprobe);
	kfree(p);
}

static __cold void set_program(struct probe *probe, struct program *p)
{
	WRITE_ONCE(probe->plain, false);
	smp_store_release(&probe->program, p);
	dt_settle(); /* no hook is left that saw it plain and is about to read the serial */
	probe->serial = p ? p->serial : 0;
	smp_store_release(&probe->plain, p && p->plain);
}

int __cold dt_point_make(struct dt_range *r, struct dt_error *e)
{
	struct host *h = kzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return dt_fail(e, "out of memory");
	h->program = compile(r, e);
	if (!h->program)
		goto fail;
	h->probe = probe_make(r->start, e);
	if (!h->probe)
		goto fail;
	/*
	 * if a point here is on, the serial tells this one's records from those of the one it
	 * replaces
	 */
	h->program->serial = h->probe->program ? h->probe->program->serial + 1 : 0;
	r->host = h;
	return 0;
fail:
	kfree(h->program);
	kfree(h);
	return -1;
}

void __cold dt_point_forget(struct dt_range *r)
{
	struct host *h = r->host;

	if (!h)
		return;
	if (h->probe->program == h->program)
		set_program(h->probe, NULL);
	probe_put(h->probe);
	kfree(h->program);
	kfree(h);
	r->host = NULL;
}

int __cold dt_point_switch(struct dt_range *r, bool on, struct dt_error *e)
{
	struct host *h = r->host;
	int rc = 0;

	if (on) {
		set_program(h->probe, h->program);
		rc = enable_kprobe(&h->probe->kprobe);
		if (rc < 0)
			set_program(h->probe, NULL);
	} else if (h->probe->program == h->program) {
		disable_kprobe(&h->probe->kprobe);
		set_program(h->probe, NULL);
	}
	return rc < 0 ? refused(r->start, rc, e) : 0;
}

int dt_point_update(struct dt_range *before, struct dt_range *r, struct dt_error *e)
{
	struct host *h = r->host, *old = before->host;

	/* both have the same probe; the old program is freed with its own host */
	if (h->probe->program == old->program)
		set_program(h->probe, h->program);
	return 0;
}
