/* SPDX-License-Identifier: MIT */
/*
 * See jump-table.h. The instructions are looked at backwards from the jump, in the order of their
 * addresses. What is wanted is followed from register to register through the copies that were made
 * of it.
 */
#include "arch/jump-table.h"

#include "arch/insn.h"

#include <string.h>

#include "core/site.h"

#define NEAR 40	 /* most instructions to go back for all but the table's address, */
#define FAR  400 /* and for that, which may be taken before a loop */
#define NONE 0xff

/* Where a value is: in a register, or in memory as an instruction names it. */
struct place {
	uint8_t reg; /* NONE: in memory */
	uint8_t modrm, sib;
	bool base_ext, index_ext;
	int32_t disp;
};

/* The state of the search: what is known, and what is still looked for. */
struct look {
	const struct dt_jump_table_code *text;
	struct dt_insn in; /* the instruction that is looked at */
	const uint8_t *code;
	uint8_t sum[2];	 /* registers whose sum is the target; NONE: none */
	uint8_t base;	 /* register with the table's address; NONE: the address is known */
	uint8_t pair[2]; /* registers of which one is base, the other the index in bytes; NONE: none
			  */
	uint8_t loaded;	 /* register to which the entry is loaded; NONE: the load has been found */
	struct place index;
	bool above;	   /* a ja follows, and nothing in between depends on flags or sets them */
	struct place less; /* what had `limit' subtracted from it before a ja */
	uint64_t limit;
	uint64_t table;
	int64_t bound; /* the highest index; negative: not known */
	bool absolute;
};

/* Looks whether [at, end) has only nops, as there may be after a jump. */
static bool is_filler(const struct dt_jump_table_code *g, uint64_t at, uint64_t end)
{
	struct dt_insn in;

	for (; at < end; at += in.length)
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at) ||
		    in.kind != DT_INSN_NOP)
			return false;
	return true;
}

/* Goes back by one instruction; false: it is not known. */
static bool back(struct look *l)
{
	uint64_t at = l->in.address;

	for (uint64_t k = 1; k <= 2 * DT_INSN_MAX && k <= at - l->text->low; k++) {
		if (!(l->text->mark[at - k - l->text->low] & l->text->begins))
			continue;
		l->code = l->text->bytes + (at - k - l->text->low);
		return dt_insn_decode(&l->in, l->code, k, at - k) &&
		       is_filler(l->text, at - k + l->in.length, at);
	}
	return false;
}

static struct place in_register(unsigned reg)
{
	return (struct place){.reg = (uint8_t)reg};
}

/* Returns the operand that ModRM names. */
static struct place operand(const struct dt_insn *in)
{
	if (in->modrm >> 6 == 3)
		return in_register(dt_insn_rm(in));
	return (struct place){NONE,	    in->modrm & 0xc7, in->sib_at ? in->sib : 0,
			      in->base_ext, in->index_ext,    in->disp};
}

static bool same(const struct place *a, const struct place *b)
{
	if (a->reg != NONE || b->reg != NONE)
		return a->reg == b->reg;
	return a->modrm == b->modrm && a->sib == b->sib && a->base_ext == b->base_ext &&
	       a->index_ext == b->index_ext && a->disp == b->disp;
}

static bool has_index(const struct dt_insn *in)
{
	return in->sib_at && ((in->sib >> 3 & 7) != 4 || in->index_ext);
}

static uint8_t index_of(const struct dt_insn *in)
{
	return (uint8_t)((in->sib >> 3 & 7u) | (in->index_ext ? 8u : 0));
}

static uint8_t base_of(const struct dt_insn *in)
{
	return (uint8_t)((in->sib & 7u) | (in->base_ext ? 8u : 0));
}

/* Looks whether the operand is table(,%index,8). */
static bool is_absolute(const struct dt_insn *in)
{
	return has_index(in) && in->sib >> 6 == 3 && (in->sib & 7) == 5 && in->modrm >> 6 == 0;
}

/* Notes table and index of such an operand. */
static void take_absolute(struct look *l)
{
	l->absolute = true;
	l->table = (uint64_t)(int64_t)l->in.disp;
	l->base = l->loaded = NONE;
	l->index = in_register(index_of(&l->in));
}

static uint64_t immediate(const struct look *l)
{
	uint32_t v = 0;

	if (l->in.imm_size == 1)
		return (uint64_t)(int64_t)(int8_t)l->code[l->in.imm_at];
	memcpy(&v, l->code + l->in.imm_at, l->in.imm_size < 4 ? l->in.imm_size : 4);
	return v;
}

/* Notes table and index of the instruction that loads the entry: from (%base,%index,4), or from
 * (%one,%other) with an index in bytes. False: it is not understood. */
static bool take_load(struct look *l)
{
	uint8_t a = base_of(&l->in), b = index_of(&l->in);

	if (l->in.modrm >> 6 == 3 || l->in.disp || !has_index(&l->in))
		return false;
	l->loaded = NONE;
	if (l->in.sib >> 6 == 2) {
		if (l->base != NONE || !l->table)
			l->base = a;
		l->index = in_register(b);
		return true;
	}
	if (l->in.sib >> 6)
		return false;
	l->pair[0] = a;
	l->pair[1] = b;
	l->index.reg = NONE;
	return true;
}

/* Begins with what the jump itself and the instructions right before it tell. */
static bool begin(struct look *l, const struct dt_insn *jump)
{
	l->in = *jump;
	l->base = l->loaded = l->sum[0] = l->sum[1] = l->pair[0] = l->pair[1] = NONE;
	l->less.reg = NONE - 1;
	l->bound = -1;
	if (jump->modrm < 0xc0) {
		if (!is_absolute(jump))
			return false;
		take_absolute(l);
		return true;
	}
	for (unsigned i = 0; i < 4; i++) {
		uint16_t written, read;
		bool whole = true;

		if (!back(l) || l->in.kind > DT_INSN_NOP)
			return false;
		dt_insn_registers(l->code, l->in.length, &written, &read);
		if (!(written & 1 << dt_insn_rm(jump)))
			continue;
		whole = l->in.map == 0 && l->in.modrm >> 6 == 3 && l->in.wide;
		if (whole && (l->in.opcode == 0x01 || l->in.opcode == 0x03)) {
			l->sum[0] = (uint8_t)dt_insn_rm(&l->in);
			l->sum[1] = (uint8_t)dt_insn_reg(&l->in);
			l->loaded = NONE - 1;
			return true;
		}
		if (l->in.map || l->in.opcode != 0x8b || !is_absolute(&l->in))
			return false;
		take_absolute(l);
		return true;
	}
	return false;
}

/* Looks at an instruction between the load of the entry and the jump: finds out which register of
 * the sum has the table's address, and which the distance. False: it is not understood. */
static bool before_load(struct look *l, uint16_t written)
{
	const struct dt_insn *in = &l->in;
	unsigned to = dt_insn_reg(in);
	bool mine = to == l->sum[0] || to == l->sum[1];

	if (in->map == 0 && in->opcode == 0x8d && in->relative && mine) {
		l->table = in->memory;
		l->loaded = to == l->sum[0] ? l->sum[1] : l->sum[0];
		return true;
	}
	if (in->map == 0 && (in->opcode == 0x63 || in->opcode == 0x8b) && mine) {
		uint8_t other = (uint8_t)(to == l->sum[0] ? l->sum[1] : l->sum[0]);
		uint64_t table = l->table;

		if (!take_load(l))
			return false;
		/* an address that was taken after the load is the same as before it */
		if (!table && l->base != NONE && l->base != other)
			return false;
		l->table = table;
		if (table)
			l->base = NONE;
		return true;
	}
	if (in->map == 0 && in->opcode == 0x98)
		return true;
	return !(written & (1u << l->sum[0] | 1u << l->sum[1]));
}

/* Looks for comparisons of the index, and subtractions that count as such; true: the instruction
 * was one. */
static bool compare(struct look *l)
{
	static const struct {
		uint8_t opcode, kind; /* kind: of ModRM, or NONE: of rax */
	} forms[] = {{0x80, 7},	   {0x81, 7}, {0x83, 7}, {0x3c, NONE},
		     {0x3d, NONE}, {0x81, 5}, {0x83, 5}, {0x2d, NONE}};
	const struct dt_insn *in = &l->in;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		bool subtracts = forms[i].kind == 5 || forms[i].opcode == 0x2d;
		struct place what;

		if (in->map || in->opcode != forms[i].opcode ||
		    (forms[i].kind != NONE && (in->modrm >> 3 & 7) != forms[i].kind))
			continue;
		what = forms[i].kind == NONE ? in_register(0) : operand(in);
		if (in->opcode == 0x80 && what.reg != NONE && what.reg >= 4 && in->head == 0xff)
			return false; /* ah, ch, dh, bh */
		if (!l->above)
			return !subtracts;
		l->above = false;
		if (!subtracts && same(&what, &l->index)) {
			l->bound = (int64_t)immediate(l);
		} else if (subtracts && same(&what, &l->index)) {
			return false;
		} else if (subtracts) {
			l->less = what;
			l->limit = immediate(l);
		}
		return true;
	}
	return false;
}

/* Looks for a copy of the index, and follows it to where it was copied from. */
static bool follow_copy(struct look *l)
{
	const struct dt_insn *in = &l->in;
	struct place from = operand(in), to = in_register(dt_insn_reg(in));
	bool copies = (in->map == 0 && (in->opcode == 0x8b || in->opcode == 0x63)) ||
		      (in->map == 1 && (in->opcode == 0xb6 || in->opcode == 0xb7));

	if (in->map == 0 && in->opcode == 0x89) {
		struct place swap = from;

		from = to;
		to = swap;
		copies = true;
	}
	/* lea 0(,%reg,4) */
	if (in->map == 0 && in->opcode == 0x8d && has_index(in) && in->sib >> 6 == 2 &&
	    (in->sib & 7) == 5 && in->modrm >> 6 == 0 && !in->disp && to.reg == l->index.reg) {
		l->index = in_register(index_of(in));
		return true;
	}
	if (!copies || in->relative || !same(&to, &l->index))
		return false;
	if (in->map == 1 && in->opcode == 0xb6 && from.reg != NONE && from.reg >= 4 &&
	    in->head == 0xff)
		return false;
	l->index = from;
	if (l->less.reg != NONE - 1 && same(&l->less, &l->index))
		l->bound = (int64_t)l->limit;
	return true;
}

/* Looks whether one register of the pair gets the table's address; the other is then the index. */
static void split_pair(struct look *l)
{
	unsigned to = dt_insn_reg(&l->in);

	if (l->pair[0] == NONE || l->in.map || l->in.opcode != 0x8d)
		return;
	if (l->in.relative && (to == l->pair[0] || to == l->pair[1])) {
		l->table = l->in.memory;
		l->index = in_register(to == l->pair[0] ? l->pair[1] : l->pair[0]);
		l->base = l->pair[0] = l->pair[1] = NONE;
	}
}

/* Looks at an instruction before the load of the entry. False: it is not understood. */
static bool before(struct look *l, uint16_t written)
{
	const struct dt_insn *in = &l->in;

	if (l->pair[0] != NONE && in->map == 0 && in->opcode == 0x8d && in->relative) {
		split_pair(l);
		return true;
	}
	if (l->pair[0] != NONE)
		return !(written & (1u << l->pair[0] | 1u << l->pair[1])) || in->opcode == 0x98;
	if (l->base != NONE && in->map == 0 && in->opcode == 0x8d && in->relative &&
	    dt_insn_reg(in) == l->base) {
		l->table = in->memory;
		l->base = NONE;
		return true;
	}
	if (dt_insn_calls(in))
		written |= DT_INSN_LOST;
	if (l->base != NONE && written & 1u << l->base)
		return false;
	if (l->bound >= 0)
		return true;
	if (in->kind == DT_INSN_BRANCH) {
		l->above = in->opcode == 0x77 || (in->map == 1 && in->opcode == 0x87);
		return l->above;
	}
	if (in->kind > DT_INSN_NOP)
		return false;
	if (compare(l) || follow_copy(l))
		return true;
	if (in->map == 0 && (in->opcode == 0x83 || in->opcode == 0x81) && in->modrm >> 6 == 3 &&
	    (in->modrm >> 3 & 7) == 4 && dt_insn_rm(in) == l->index.reg) {
		uint64_t mask = immediate(l);

		l->bound = (mask & (mask + 1)) || mask >= DT_JUMP_TABLE_MOST ? -1 : (int64_t)mask;
		return l->bound >= 0;
	}
	/* cltq, and mov %eax,%eax */
	if (in->map == 0 && in->opcode == 0x98 && l->index.reg == 0)
		return true;
	if (l->less.reg < 16 && written & 1u << l->less.reg)
		l->less.reg = NONE - 1;
	if (in->map || (in->opcode != 0x8b && in->opcode != 0x89 && in->opcode != 0x8d))
		l->above = false;
	return l->index.reg == NONE || !(written & 1u << l->index.reg);
}

bool dt_jump_table_find(const struct dt_jump_table_code *text, const struct dt_insn *jump,
			bool fixed, struct dt_jump_table *s)
{
	struct look l = {.text = text};

	if (!begin(&l, jump) || (l.absolute && !fixed))
		return false;
	for (unsigned i = 0; l.bound < 0 || !l.table || l.base != NONE; i++) {
		uint16_t written, read;

		if (i > (l.bound < 0 ? NEAR : FAR) || !back(&l))
			return false;
		dt_insn_registers(l.code, l.in.length, &written, &read);
		if (l.loaded != NONE ? l.in.kind > DT_INSN_NOP || !before_load(&l, written)
				     : !before(&l, written))
			return false;
	}
	s->entries = (uint32_t)l.bound + 1;
	s->table = l.table;
	s->size = l.absolute ? 8 : 4;
	return l.bound < DT_JUMP_TABLE_MOST;
}

uint64_t dt_jump_table_to(const struct dt_jump_table *s, const uint8_t *table, uint32_t i)
{
	uint64_t to;

	if (s->size == 4)
		return dt_site_distance(table + 4ull * i, s->table);
	memcpy(&to, table + 8ull * i, sizeof(to));
	return to;
}
