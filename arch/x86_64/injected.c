/* SPDX-License-Identifier: MIT */
#include "arch/injected.h"

#include "arch/x86_64/regs.h"

#include <sys/syscall.h>

#include "include/devtrace-ioctl.h"

/* A buffer for code: bytes beyond its room are dropped. */
struct stub {
	unsigned char *text;
	size_t n, room;
};

static void byte(struct stub *s, unsigned b)
{
	if (s->n < s->room)
		s->text[s->n++] = (unsigned char)b;
}

static void number(struct stub *s, uint64_t v, int bytes)
{
	while (bytes-- > 0) {
		byte(s, v & 0xff);
		v >>= 8;
	}
}

/* Writes mov $v, register, which changes no flags; reg: its number in instructions. */
static void load(struct stub *s, unsigned reg, uint64_t v)
{
	if (v <= 0xffffffffull) {
		if (reg >= 8)
			byte(s, 0x41);
		byte(s, 0xb8 + (reg & 7));
		number(s, v, 4);
	} else {
		byte(s, reg >= 8 ? 0x49 : 0x48);
		byte(s, 0xb8 + (reg & 7));
		number(s, v, 8);
	}
}

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/*
 * Writes a syscall after mov $MARK, %r15, which is always in its long form. By the mark the
 * kernel's device knows that the call is not the program's.
 */
static void system_call(struct stub *s, uint64_t code)
{
	byte(s, 0x49), byte(s, 0xbf);
	number(s, (code + s->n + 8 + 2) ^ DEVTRACE_OWN_CALL, 8);
	byte(s, 0x0f), byte(s, 0x05);
}

/* Writes rt_sigprocmask(SIG_SETMASK, mask, NULL, 8); the mask stands at the start of the stub. */
static void restore_mask(struct stub *s, uint64_t code)
{
	load(s, RDI, 2);
	load(s, RSI, code);
	load(s, RDX, 0);
	load(s, R10, 8);
	load(s, RAX, SYS_rt_sigprocmask);
	system_call(s, code);
}

/* Writes the mask, the calls, and the way back to the registers *r. */
static void assemble(struct stub *s, uint64_t code, uint64_t mask,
		     const struct dt_injected_call *call, size_t n,
		     const struct user_regs_struct *r)
{
	static const unsigned reg[6] = {RDI, RSI, RDX, R10, R8, R9};

	number(s, mask, 8);
	for (size_t i = 0; i < n; i++) {
		for (int a = 0; a < 6; a++) {
			if (call[i].arg[a] != DT_INJECTED_FD) {
				load(s, reg[a], call[i].arg[a]);
				continue;
			}
			/* mov %r12, reg */
			byte(s, reg[a] >= 8 ? 0x4d : 0x4c);
			byte(s, 0x89);
			byte(s, 0xe0 | (reg[a] & 7));
		}
		load(s, RAX, call[i].nr);
		system_call(s, code);
		if (i == 0) { /* mov %rax, %r12 */
			byte(s, 0x49), byte(s, 0x89), byte(s, 0xc4);
		}
	}
	restore_mask(s, code);
	load(s, RAX, r->rax);
	load(s, RCX, r->rcx);
	load(s, RDX, r->rdx);
	load(s, RSI, r->rsi);
	load(s, RDI, r->rdi);
	load(s, R8, r->r8);
	load(s, R9, r->r9);
	load(s, R10, r->r10);
	load(s, R11, r->r11);
	load(s, R12, r->r12);
	load(s, R15, r->r15);
	/* jmp *0(%rip), followed by the address */
	byte(s, 0xff), byte(s, 0x25), number(s, 0, 4);
	number(s, r->rip, 8);
}

size_t dt_injected_code(unsigned char *text, size_t room, uint64_t code, uint64_t mask,
			const struct dt_injected_call *call, size_t n, const struct dt_regs *r)
{
	struct stub s = {text, 0, room};

	assemble(&s, code, mask, call, n, &r->of);
	return s.n;
}
