/* SPDX-License-Identifier: MIT */
#include "arch/sled.h"

#include <string.h>

#include "arch/insn.h"

/* by kind; 0: such a site is not toggled in place */
static const unsigned char off[DT_ELF_KINDS] = {
	0, 0xa9, 0xc3, 0xe9, 0xa9, [DT_ELF_JUMP] = 0xff, [DT_ELF_JUMP_DIRECT] = 0xe9};
static const unsigned char on[DT_ELF_KINDS] = {
	0, 0xe8, 0x90, 0xa9, 0xe9, [DT_ELF_JUMP] = 0x85, [DT_ELF_JUMP_DIRECT] = 0xa9};

const uint8_t dt_sled_size[DT_ELF_KINDS] = {0, DT_SLED_ENTRY, 7, 15, 5};

bool dt_sled_toggle(enum dt_elf_kind kind, uint64_t at, uint64_t stub, struct dt_toggle *t)
{
	*t = (struct dt_toggle){.size = 1, .off = {off[kind]}, .on = {on[kind]}};
	return on[kind] != 0;
}

void dt_sled_way_emit(struct dt_emit *o, uint64_t hook)
{
}

void dt_sled_stub_emit(struct dt_emit *o, enum dt_elf_kind kind, uint64_t at, const uint8_t *behind,
		       uint64_t way)
{
}

static const uint8_t *code_at(const struct dt_sled_code *c, uint64_t address, uint64_t n)
{
	return c->at(c->ctx, address, n);
}

/* A thunk is jmp *slot(%rip), with or without notrack. */
bool dt_sled_is_thunk(const struct dt_sled_code *c, uint64_t address, uint64_t slot)
{
	const uint8_t *p = code_at(c, address, 7);

	if (p && p[0] == 0x3e && p[1] == 0xff && p[2] == 0x25)
		return dt_site_distance(p + 3, address + 7) == slot;
	p = code_at(c, address, 6);
	return p && p[0] == 0xff && p[1] == 0x25 && dt_site_distance(p + 2, address + 6) == slot;
}

/*
 * Makes the bytes of a sled's jump from the push of the same operand, which stands after it, and
 * sets *toggled to the index of the byte that is toggled. Returns how many bytes; 0: it is no such
 * push.
 */
static unsigned jump_of_push(const struct dt_insn *in, const uint8_t *push,
			     uint8_t jump[DT_INSN_MAX], unsigned *toggled)
{
	unsigned length = in->length;
	uint32_t distance;

	memcpy(jump, push, length);
	if (in->map == 0 && in->opcode >= 0x50 && in->opcode < 0x58) { /* of a register */
		jump[length - 1] = 0xff;
		jump[length] = (uint8_t)(0xe0 | (in->opcode & 7));
		*toggled = length - 1;
		return length + 1;
	}
	if (in->map != 0 || in->opcode != 0xff || !in->modrm_at || (in->modrm >> 3 & 7) != 6)
		return 0;
	*toggled = in->modrm_at - 1u;
	jump[in->modrm_at] = (uint8_t)((in->modrm & 0xc7) | 4 << 3);
	if (in->relative) {
		memcpy(&distance, jump + in->disp_at, sizeof(distance));
		distance += length;
		memcpy(jump + in->disp_at, &distance, sizeof(distance));
	}
	return length;
}

/*
 * Checks the sled of a jump through a register or memory. The table has the address after the jump,
 * where the operand is pushed; the jump, which stands before that, is toggled. Returns where its
 * call leads; 0: it is no such sled.
 */
static uint64_t check_jump(const struct dt_sled_code *c, struct dt_elf_site *s)
{
	static const uint8_t pop[] = {0x48, 0x8d, 0x64, 0x24, 0x08};
	uint8_t jump[DT_INSN_MAX + 1];
	uint64_t behind = s->address;
	unsigned length, toggled = 0;
	const uint8_t *p, *q;
	struct dt_insn in;

	/* 13 bytes: the shortest push, the call, the pop, and the shortest jump. Prefixes before
	 * the push are the assembler's padding */
	while ((p = code_at(c, behind, 13)) &&
	       (*p == 0x2e || *p == 0x3e || *p == 0x26 || *p == 0x36) && behind - s->address < 8)
		behind++;
	if (!p || !dt_insn_decode(&in, p, 13, behind))
		return 0;
	length = jump_of_push(&in, p, jump, &toggled);
	p = code_at(c, behind + in.length, 5 + sizeof(pop) + 2);
	if (!length || !p || p[0] != 0xe8 || memcmp(p + 5, pop, sizeof(pop)))
		return 0;
	q = code_at(c, s->address - length, length);
	if (in.relative && behind != s->address) /* then the jump's distance is not known */
		return 0;
	if (q && !memcmp(q, jump, length)) {
		s->kind = DT_ELF_JUMP;
		s->address -= length - toggled;
	} else if ((q = code_at(c, s->address - 6, 6)) && q[0] == 0xe9 && q[5] == 0x90 &&
		   in.relative) {
		s->target = dt_site_distance(q + 1, s->address - 1);
		s->kind = DT_ELF_JUMP_DIRECT;
		s->address -= 6;
	} else {
		return 0;
	}
	s->back = (uint8_t)(behind + in.length + 5 - s->address);
	return dt_site_distance(p + 1, behind + in.length + 5);
}

uint64_t dt_sled_check(const struct dt_sled_code *c, struct dt_elf_site *s)
{
	uint64_t a = s->address;
	const uint8_t *p;

	switch (s->kind) {
	case DT_ELF_ENTRY:
		p = code_at(c, a, 5);
		if (!p || p[0] != 0xa9)
			return 0;
		s->back = 5;
		return dt_site_distance(p + 1, a + 5);
	case DT_ELF_RETURN:
		p = code_at(c, a, 7);
		if (!p || p[0] != 0xc3 || p[1] != 0xe8 || p[6] != 0xc3)
			return 0;
		s->back = 6;
		return dt_site_distance(p + 2, a + 6);
	case DT_ELF_TAIL:
		p = code_at(c, a, 15);
		if (!p || p[0] != 0xe9 || p[5] != 0xe8 || p[10] != 0xe9 ||
		    dt_site_distance(p + 1, a + 5) != dt_site_distance(p + 11, a + 15))
			return 0;
		s->back = 10;
		s->target = dt_site_distance(p + 1, a + 5);
		return dt_site_distance(p + 6, a + 10);
	case DT_SLED_TABLE_JUMP:
		return check_jump(c, s);
	}
	return 0;
}

uint64_t dt_sled_call(const struct dt_sled_code *c, uint64_t pc, uint8_t kind, uint8_t values)
{
	const uint8_t *p = code_at(c, pc - 5, 10), *thunk;
	uint64_t to;

	if (!p || p[0] != 0xe8 || p[5] != 0xa9 || p[6] != kind || p[7] != values || p[8] || p[9])
		return 0;
	to = dt_site_distance(p + 1, pc);
	thunk = code_at(c, to, DT_SLED_THUNK + 1);
	return thunk && thunk[0] == 0x3e && thunk[DT_SLED_THUNK] == 0xc3 ? to : 0;
}

bool dt_sled_event(const struct dt_sled_code *c, uint64_t address)
{
	const uint8_t *p = code_at(c, address, 5);

	return p && p[0] == 0xa9 && code_at(c, dt_site_distance(p + 1, address + 5), 5);
}
