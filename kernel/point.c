// SPDX-License-Identifier: MIT OR GPL-2.0
/* Tracepoints at instructions. */
#include "kernel/point.h"

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/words.h"
#include "kernel/compat.h"
#include "kernel/hook.h"
#include "kernel/symbol.h"

#define ITEMS 32u
#define BAD   0xbadbadba00000000ull /* as in a process: in place of what can not be read */

/* One value: of a register, or in memory at a register's value plus an offset. */
struct item {
	bool memory;
	u8 size, shift; /* of a register: bytes, and how far up they begin */
	u16 reg;	/* offset in struct pt_regs; NONE: no register */
	s64 offset;
};

#define NONE 0xffff

/* What happens at a hit; replaced as a whole. */
struct program {
	struct dt_action action;
	bool plain; /* the record and nothing else */
	unsigned int n;
	struct item item[];
};

/* The probe at one address. Whoever holds the device's lock changes it. */
struct probe {
	struct kprobe kprobe;
	u64 address; /* as it was asked for: the kernel may put the probe behind an endbr64 there */
	struct list_head list;
	unsigned int uses;
	bool plain;		 /* the point that is on asks for its record and nothing else */
	struct program *program; /* of the point that is on; freed behind dt_settle() */
};

struct host {
	struct probe *probe;
	struct program *program; /* of this point; may be the probe's */
};

static LIST_HEAD(probes);

static const struct {
	const char *name[4]; /* 64, 32, 16, 8 bits */
	u16 at;
} reg[] = {
#define R(a, b, c, d, field)                                                                       \
	{                                                                                          \
		{a, b, c, d}, offsetof(struct pt_regs, field)                                      \
	}
	R("rax", "eax", "ax", "al", ax),       R("rbx", "ebx", "bx", "bl", bx),
	R("rcx", "ecx", "cx", "cl", cx),       R("rdx", "edx", "dx", "dl", dx),
	R("rsi", "esi", "si", "sil", si),      R("rdi", "edi", "di", "dil", di),
	R("rbp", "ebp", "bp", "bpl", bp),      R("rsp", "esp", "sp", "spl", sp),
	R("r8", "r8d", "r8w", "r8b", r8),      R("r9", "r9d", "r9w", "r9b", r9),
	R("r10", "r10d", "r10w", "r10b", r10), R("r11", "r11d", "r11w", "r11b", r11),
	R("r12", "r12d", "r12w", "r12b", r12), R("r13", "r13d", "r13w", "r13b", r13),
	R("r14", "r14d", "r14w", "r14b", r14), R("r15", "r15d", "r15w", "r15b", r15),
	R("rip", "rip", "rip", "rip", ip),     R("rflags", "eflags", "eflags", "eflags", flags),
#undef R
};

/* ---- what is captured ---- */

struct parsing {
	struct item item[ITEMS];
	unsigned int n;
	struct dt_error *e;
};

static int add(struct parsing *k, struct item i)
{
	if (k->n == ITEMS)
		return dt_fail(k->e, "devtrace: at most %u values are captured at one place",
			       ITEMS);
	k->item[k->n++] = i;
	return 0;
}

static int add_register(struct parsing *k, const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(reg); i++)
		for (unsigned int w = 0; w < 4; w++)
			if (dt_word_is(name, reg[i].name[w]))
				return add(k, (struct item){.reg = reg[i].at, .size = 8 >> w});
	return dt_fail(k->e,
		       "devtrace: '%s' is no register; rax, eax, ax, al and their like, r8 to r15, "
		       "rip and rflags are",
		       name);
}

static int add_offset(struct parsing *k, const char *what, u16 base, const char *word)
{
	bool negative = word[0] == '-';
	u64 offset;

	if (!dt_word_hex(word + negative, &offset) || offset > 0x7fffffff)
		return dt_fail(k->e,
			       "devtrace: %s %s: an offset is a hexadecimal number of bytes, such "
			       "as 8 or -10",
			       what, word);
	return add(k, (struct item){.memory = true,
				    .size = 8,
				    .reg = base,
				    .offset = negative ? -(s64)offset : (s64)offset});
}

/* A sum of symbols and hexadecimal numbers. */
static int add_location(struct parsing *k, const char *word)
{
	char term[128];
	u64 sum = 0, v;

	for (const char *p = word; *p;) {
		size_t n = strcspn(p, "+");
		struct dt_place place;

		if (!n || n >= sizeof(term))
			return dt_fail(k->e, "devtrace: LOC %s: a symbol, or an address in hex",
				       word);
		memcpy(term, p, n);
		term[n] = '\0';
		if (dt_symbol_place(term, &place))
			sum += place.start;
		else if (dt_word_hex(term, &v))
			sum += v;
		else
			return dt_fail(k->e,
				       "devtrace: LOC %s: '%s' is neither a symbol nor a "
				       "hexadecimal number",
				       word, term);
		p += n + (p[n] == '+' && p[n + 1]);
	}
	return add(k, (struct item){.memory = true, .size = 8, .reg = NONE, .offset = (s64)sum});
}

static int parse(struct parsing *k, const struct dt_words *w)
{
	int rc = 0;

	for (unsigned int i = 0; i < w->n && rc == 0; i++) {
		const char *what = w->word[i], *behind = i + 1 < w->n ? w->word[i + 1] : "";

		if (dt_word_is(what, "ALLREGS")) {
			for (unsigned int r = 0; r < ARRAY_SIZE(reg) && rc == 0; r++)
				rc = add_register(k, reg[r].name[0]);
			continue;
		}
		if (dt_word_is(what, "PSR")) {
			rc = add_register(k, "rflags");
			continue;
		}
		i++;
		if (dt_word_is(what, "REG"))
			rc = add_register(k, behind);
		else if (dt_word_is(what, "STACK"))
			rc = add_offset(k, what, offsetof(struct pt_regs, sp), behind);
		else if (dt_word_is(what, "FRAME"))
			rc = add_offset(k, what, offsetof(struct pt_regs, bp), behind);
		else if (dt_word_is(what, "LOC"))
			rc = add_location(k, behind);
		else
			rc = dt_fail(
				k->e,
				"devtrace: %s needs the kernel's debugging information, which the "
				"module has not; REG, STACK, FRAME and LOC can be asked for",
				what);
	}
	return rc;
}

static struct program *compile(const struct dt_range *r, struct dt_error *e)
{
	struct parsing *k = kzalloc(sizeof(*k), GFP_KERNEL);
	struct program *p = NULL;
	char *word[2 * ITEMS + 2], *text = NULL;
	struct dt_words w = {.word = word, .room = ARRAY_SIZE(word)};
	int rc = 0;

	if (!k)
		goto no_memory;
	k->e = e;
	if (r->capture) {
		text = kstrdup(r->capture, GFP_KERNEL);
		if (!text)
			goto no_memory;
		rc = dt_words_split(&w, text, strlen(text), e);
		if (rc == 0)
			rc = parse(k, &w);
		if (rc < 0)
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
 * The kernel comes to a probe by an exception, which counts as an NMI and as an interrupt: what was
 * there below it is meant. (A probe that has become a jump in a real NMI is taken for less.)
 */
static __always_inline u32 was_who(void)
{
	u32 n = preempt_count(), pid = (u32)current->pid;

	/* in one exception, and it came from outside of interrupts */
	if ((n & (NMI_MASK | HARDIRQ_MASK)) == (NMI_OFFSET | HARDIRQ_OFFSET))
		n &= ~(NMI_MASK | HARDIRQ_MASK);
	return unlikely(n & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)) || unlikely(!pid)
		       ? DT_NO_TID
		       : pid;
}

static u64 value_of(const struct item *i, const struct pt_regs *regs, u64 pc, bool *bad)
{
	u64 v = i->reg == NONE ? 0 : *(const unsigned long *)((const char *)regs + i->reg);

	if (i->reg == offsetof(struct pt_regs, ip)) /* a handler sees the byte behind */
		return pc;

	if (!i->memory)
		return i->size == 8 ? v : v & ((1ull << 8 * i->size) - 1);
	v += (u64)i->offset;
	if (copy_from_kernel_nofault(&v, (const void *)v, sizeof(v)) == 0)
		return v;
	*bad = true;
	return BAD;
}

static void append_items(struct dt_core *core, u32 tid, const struct program *p, u64 pc,
			 const struct pt_regs *regs, u8 flags)
{
	u64 v[4];
	unsigned int i = 0;

	do {
		unsigned int n = 0;
		bool bad = false;
		u8 kind = i ? DT_MORE : DT_POINT, f = i ? 0 : flags;

		for (; n < 4 && i < p->n; n++, i++)
			v[n] = value_of(&p->item[i], regs, pc, &bad);
		if ((f & DT_NARGS) != DT_ADJACENT)
			f |= n;
		for (unsigned int k = n; k < 4; k++)
			v[k] = 0;
		/* the two flags are one bit: what could not be read is told by its value, too */
		dt_append(core, tid, pc, regs->sp, kind, f | (bad ? DT_FAULT : 0), v[0], v[1], v[2],
			  v[3]);
	} while (i < p->n);
	if (p->action.what & DT_DO_CONST)
		dt_append(core, tid, pc, regs->sp, DT_MORE, 1, p->action.constant, 0, 0, 0);
}

/* All but the usual. */
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
	if (dt_wanted(mode, tid) && dt_obey(&p->action, DT_POINT, &flags)) {
		append_items(core, tid, p, probe->address, regs, flags);
		if (READ_ONCE(dt_mode) & DT_LOOKING)
			dt_counted();
	}
	dt_end(core);
	return 0;
}
NOKPROBE_SYMBOL(on_careful_hit);

/* Nothing is asked for but the record, in a thread: without a register that needs to be kept. */
static int on_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	const struct probe *probe = container_of(kprobe, struct probe, kprobe);
	u32 mode = READ_ONCE(dt_mode), pid = (u32)current->pid;
	struct dt_core *core;

	if (unlikely(mode != DT_ON) || unlikely(!READ_ONCE(probe->plain)) || unlikely(!pid) ||
	    unlikely(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)))
		return on_careful_hit(probe, regs, mode);
	/* kprobes have preemption off, and do not hit themselves: no deeper than DT_NEST_MAX */
	core = this_cpu_ptr(&dt_core);
	core->nest++;
	barrier();
	dt_count(&core->in);
	dt_append(core, pid, probe->address, regs->sp, DT_POINT, 0, 0, 0, 0, 0);
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

static int refused(u64 address, int rc, struct dt_error *e)
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

static struct probe *probe_make(u64 address, struct dt_error *e)
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

static void set_program(struct probe *probe, struct program *p)
{
	WRITE_ONCE(probe->plain, false);
	smp_store_release(&probe->program, p);
	dt_settle();
	WRITE_ONCE(probe->plain, p && p->plain);
}

int dt_point_make(struct dt_range *r, struct dt_error *e)
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
	r->host = h;
	return 0;
fail:
	kfree(h->program);
	kfree(h);
	return -1;
}

void dt_point_forget(struct dt_range *r)
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

int dt_point_switch(struct dt_range *r, bool on, struct dt_error *e)
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

	/* both have the same probe; the old program is freed with its host */
	if (h->probe->program == old->program)
		set_program(h->probe, h->program);
	return 0;
}
