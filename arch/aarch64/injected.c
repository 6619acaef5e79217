/* SPDX-License-Identifier: MIT */
#include "arch/injected.h"

#include <sys/syscall.h>

#include "arch/aarch64/regs.h"
#include "arch/aarch64/word.h"
#include "arch/emit.h"

#define NUMBER 8 /* the register with a system call's number */
#define KEPT   9 /* that keeps the result of the first call */
#define AWAY   17

/* Appends mov register, #v: as few instructions as it takes. */
static void load(struct dt_emit *o, unsigned reg, uint64_t v)
{
	if (~v >> 16)
		dt_word_address(o, reg, v);
	else
		dt_emit_u32(o, 0x92800000 | (uint32_t)(~v & 0xffff) << 5 | reg); /* movn */
}

/* Appends mov to, from. */
static void move(struct dt_emit *o, unsigned to, unsigned from)
{
	dt_emit_u32(o, 0xaa0003e0 | from << 16 | to);
}

/* Appends a system call. It has no mark of the tracer's: the kernel's module, which looks for it,
 * is not there for this processor. */
static void system_call(struct dt_emit *o, uint64_t nr)
{
	load(o, NUMBER, nr);
	dt_emit_u32(o, DT_WORD_SVC);
}

/* Appends rt_sigprocmask(SIG_SETMASK, mask, NULL, 8); the mask stands at the start of the code. */
static void restore_mask(struct dt_emit *o)
{
	load(o, 0, 2);
	dt_emit_u32(o, 0x10000000 | (uint32_t)(-o->size >> 2 & 0x7ffff) << 5 | 1); /* adr x1 */
	load(o, 2, 0);
	load(o, 3, 8);
	system_call(o, SYS_rt_sigprocmask);
}

/*
 * Appends the way back. It has the same length wherever it leads. Where a b does not reach, it
 * takes x17, since nothing else leads further: a thread that is in code which has something in x17
 * loses that if the tracer is killed in these milliseconds, before it has set the registers itself.
 */
static void go_back(struct dt_emit *o, uint64_t to)
{
	size_t end = o->size + 20;

	if (dt_word_reaches(dt_emit_here(o), to, DT_WORD_FAR))
		dt_word_branch(o, 0x14000000, 0, DT_WORD_FAR, to);
	else {
		dt_emit_u32(o, 0x58000040 | AWAY);	/* ldr x17, .+8 */
		dt_emit_u32(o, 0xd61f0000 | AWAY << 5); /* br x17 */
		dt_emit_u64(o, to);
	}
	while (o->size < end)
		dt_emit_u32(o, 0xd4200000); /* brk */
}

size_t dt_injected_code(unsigned char *text, size_t room, uint64_t code, uint64_t mask,
			const struct dt_injected_call *call, size_t n, const struct dt_regs *r)
{
	struct dt_emit o = {.bytes = text, .room = room, .address = code};

	dt_emit_u64(&o, mask);
	for (size_t i = 0; i < n; i++) {
		for (unsigned a = 0; a < 6; a++) {
			if (call[i].arg[a] == DT_INJECTED_FD)
				move(&o, a, KEPT);
			else
				load(&o, a, call[i].arg[a]);
		}
		system_call(&o, call[i].nr);
		if (i == 0)
			move(&o, KEPT, 0);
	}
	restore_mask(&o);
	for (unsigned i = 0; i < 6; i++)
		load(&o, i, r->of.regs[i]);
	load(&o, NUMBER, r->of.regs[NUMBER]);
	load(&o, KEPT, r->of.regs[KEPT]);
	go_back(&o, r->of.pc);
	return o.size < room ? o.size : room;
}
