/* SPDX-License-Identifier: MIT */
/* The instructions of which the code of points is made (arch/x86_64/capture.c). */
#ifndef DT_ARCH_X86_64_CAPTURE_INSN_H
#define DT_ARCH_X86_64_CAPTURE_INSN_H

#include "arch/capture.h"
#include "core/record.h"

#define FRAME 192
#define SAVED 64 /* of these, what is pushed */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 };

/* Returns how far the stack pointer of the instruction is above that of the code. */
static inline uint32_t frame_of(const struct dt_capture *c)
{
	return FRAME + (c->results ? DT_STACK_BLOCK : 0);
}

/* Returns where in the frame a register is saved; -1: it is not, and still has its value. */
static inline int saved_at(unsigned reg)
{
	switch (reg) {
	case R9:
		return 0;
	case R8:
		return 8;
	case RDI:
		return 16;
	case RSI:
		return 24;
	case RDX:
		return 32;
	case RCX:
		return 40;
	case RAX:
		return 48;
	case DT_REGISTER_FLAGS:
		return 56;
	default:
		return -1;
	}
}

static inline uint8_t rex(bool wide, unsigned reg, unsigned rm)
{
	return (uint8_t)(0x40 | wide << 3 | (reg >> 3 & 1) << 2 | (rm >> 3 & 1));
}

/* Emits op %reg, %rm between registers, 64 bits; mov is 0x89, add 0x01, xor 0x31. */
static inline void op_registers(struct dt_emit *o, uint8_t op, unsigned reg, unsigned rm)
{
	dt_emit_byte(o, rex(true, reg, rm));
	dt_emit_byte(o, op);
	dt_emit_byte(o, (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

/* Emits mov (0x8b) or lea (0x8d) of disp(%rsp) to %reg. */
static inline void op_frame(struct dt_emit *o, uint8_t op, unsigned reg, uint32_t disp)
{
	dt_emit_byte(o, rex(true, reg, RSP));
	dt_emit_byte(o, op);
	dt_emit_byte(o, (uint8_t)(0x84 | (reg & 7) << 3));
	dt_emit_byte(o, 0x24);
	dt_emit_u32(o, disp);
}

static inline void move_constant(struct dt_emit *o, unsigned reg, uint64_t v)
{
	if (v == (uint32_t)v) {
		if (reg >= 8)
			dt_emit_byte(o, 0x41);
		dt_emit_byte(o, (uint8_t)(0xb8 | (reg & 7)));
		dt_emit_u32(o, (uint32_t)v);
		return;
	}
	dt_emit_byte(o, rex(true, 0, reg));
	dt_emit_byte(o, (uint8_t)(0xb8 | (reg & 7)));
	dt_emit_u64(o, v);
}

/* Emits code that gets the whole of a register as it was at the instruction. */
static inline void get_register(struct dt_emit *o, unsigned to, unsigned reg,
				const struct dt_capture *c)
{
	if (saved_at(reg) >= 0)
		op_frame(o, 0x8b, to, (uint32_t)saved_at(reg));
	else if (reg == RSP)
		op_frame(o, 0x8d, to, frame_of(c));
	else if (reg == DT_REGISTER_RIP)
		move_constant(o, to, c->address);
	else if (reg < DT_REGISTER_XMM0)
		op_registers(o, 0x89, reg, to);
	else
		move_constant(o, to, 0);
}

/* Emits movq %xmm, %to: there is room for the low eight bytes only. */
static inline void get_vector(struct dt_emit *o, unsigned to, unsigned vector)
{
	dt_emit_byte(o, 0x66);
	dt_emit_byte(o, (uint8_t)(0x48 | (vector >> 3 & 1) << 2 | (to >> 3 & 1)));
	dt_emit_byte(o, 0x0f);
	dt_emit_byte(o, 0x7e);
	dt_emit_byte(o, (uint8_t)(0xc0 | (vector & 7) << 3 | (to & 7)));
}

static inline void call(struct dt_emit *o, uint64_t to)
{
	dt_emit_byte(o, 0xe8);
	dt_emit_u32(o, (uint32_t)(to - dt_emit_here(o) - 4));
}

/* Emits jcc or jmp with a distance to be filled in by land_short(), and returns its offset. */
static inline size_t jump_short(struct dt_emit *o, uint8_t op)
{
	dt_emit_byte(o, op);
	dt_emit_byte(o, 0);
	return o->size - 1;
}

static inline void land_short(struct dt_emit *o, size_t at)
{
	if (at < o->room && o->size <= o->room)
		o->bytes[at] = (uint8_t)(o->size - at - 1);
}

#endif
