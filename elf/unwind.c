/* SPDX-License-Identifier: MIT */
/* Executes the instructions (DW_CFA_*) of an FDE and its CIE, as DWARF 5 (6.4) describes them. */
#include "elf/unwind.h"

#include <dwarf.h>

#include "elf/cursor.h"

#define STATES 8 /* states that can be remembered at the same time; compilers use one */

/* What the instructions say so far; an expression's bytes are in the file. */
struct rule {
	uint8_t how; /* enum dt_unwind_how */
	uint8_t reg;
	int64_t n;
	const uint8_t *bytes;
	uint64_t size;
};

struct rules {
	struct rule cfa, reg[DT_UNWIND_REGISTERS];
};

/* The execution of one description. */
struct run {
	const struct dt_frame *f;
	struct rules now, initial, kept[STATES];
	unsigned depth;
	struct rule ignored;	       /* of registers that nothing is wanted of */
	uint64_t at, from, to, wanted; /* [from, to): where `now' has held when it has ended */
};

static struct rule *rule_of(struct run *k, uint64_t reg)
{
	return reg < DT_UNWIND_REGISTERS ? &k->now.reg[reg] : &k->ignored;
}

static uint8_t register_of(uint64_t reg)
{
	return reg < DT_UNWIND_REGISTERS ? (uint8_t)reg : DT_UNWIND_REGISTERS;
}

/* Returns how many bytes so many units are. */
static int64_t scaled(const struct run *k, uint64_t n)
{
	return (int64_t)(n * (uint64_t)(int64_t)k->f->data_align);
}

/* Takes an expression: its length, and its bytes. */
static void take_expression(struct dt_frame_cursor *c, struct rule *r, uint8_t how)
{
	uint64_t n = dt_take_uleb(c);

	if (n > (size_t)(c->end - c->p)) {
		c->bad = true;
		return;
	}
	*r = (struct rule){.how = how, .bytes = c->p, .size = n};
	c->p += n;
}

/* Does an instruction about the CFA. False: it is another one. */
static bool define_base(struct run *k, struct dt_frame_cursor *c, uint8_t op)
{
	struct rule *cfa = &k->now.cfa;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		reg = dt_take_uleb(c);
		*cfa = (struct rule){.how = DT_UNWIND_SUM, .reg = register_of(reg)};
		cfa->n = op == DW_CFA_def_cfa ? (int64_t)dt_take_uleb(c)
					      : scaled(k, (uint64_t)dt_take_sleb(c));
		return true;
	case DW_CFA_def_cfa_register:
		cfa->reg = register_of(dt_take_uleb(c));
		return true;
	case DW_CFA_def_cfa_offset:
		cfa->n = (int64_t)dt_take_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		cfa->n = scaled(k, (uint64_t)dt_take_sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		take_expression(c, cfa, DT_UNWIND_VALUE);
		return true;
	}
	return false;
}

/* Does an instruction about another register. False: it is none. */
static bool define_register(struct run *k, struct dt_frame_cursor *c, uint8_t op)
{
	uint64_t reg;

	if (op == DW_CFA_GNU_args_size) {
		dt_take_uleb(c);
		return true;
	}
	if (!(op >= DW_CFA_offset_extended && op <= DW_CFA_register) && op != DW_CFA_expression &&
	    op != DW_CFA_offset_extended_sf &&
	    !(op >= DW_CFA_val_offset && op <= DW_CFA_val_expression))
		return false;
	reg = dt_take_uleb(c);
	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
		*rule_of(k, reg) = (struct rule){.how = op == DW_CFA_val_offset ? DT_UNWIND_SUM
										: DT_UNWIND_SAVED,
						 .n = scaled(k, dt_take_uleb(c))};
		break;
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		*rule_of(k, reg) = (struct rule){
			.how = op == DW_CFA_val_offset_sf ? DT_UNWIND_SUM : DT_UNWIND_SAVED,
			.n = scaled(k, (uint64_t)dt_take_sleb(c))};
		break;
	case DW_CFA_restore_extended:
		*rule_of(k, reg) = reg < DT_UNWIND_REGISTERS ? k->initial.reg[reg] : k->ignored;
		break;
	case DW_CFA_undefined:
		*rule_of(k, reg) = (struct rule){.how = DT_UNWIND_LOST};
		break;
	case DW_CFA_same_value:
		*rule_of(k, reg) = (struct rule){.how = DT_UNWIND_SAME};
		break;
	case DW_CFA_register:
		*rule_of(k, reg) = (struct rule){.how = DT_UNWIND_REGISTER,
						 .reg = register_of(dt_take_uleb(c))};
		break;
	case DW_CFA_expression:
		take_expression(c, rule_of(k, reg), DT_UNWIND_SAVED_AT);
		break;
	case DW_CFA_val_expression:
		take_expression(c, rule_of(k, reg), DT_UNWIND_VALUE);
		break;
	default:
		return false;
	}
	return true;
}

/* Notes that what is known now holds up to an address. Returns whether that is beyond the one that
 * is wanted. */
static bool advance(struct run *k, uint64_t by)
{
	k->at += by;
	if (k->at > k->wanted) {
		k->to = k->at;
		return true;
	}
	k->from = k->at;
	return false;
}

/* Does an instruction of the address. Returns whether it is one; *ended: it is beyond. */
static bool define_address(struct run *k, struct dt_frame_cursor *c, uint8_t op, bool *ended)
{
	uint64_t step;

	if ((op & 0xc0) == DW_CFA_advance_loc)
		step = op & 0x3f;
	else if (op == DW_CFA_advance_loc1)
		step = dt_take_bytes(c, 1);
	else if (op == DW_CFA_advance_loc2)
		step = dt_take_bytes(c, 2);
	else if (op == DW_CFA_advance_loc4)
		step = dt_take_bytes(c, 4);
	else
		return false;
	*ended = !c->bad && advance(k, step * k->f->code_align);
	return true;
}

/* Executes instructions until they are about addresses above the wanted one. False: one is not
 * understood. */
static bool execute(struct run *k, const uint8_t *begin, const uint8_t *end)
{
	struct dt_frame_cursor c = {begin, end, 0, false};
	bool ended = false;

	while (c.p < c.end && !c.bad && !ended) {
		uint8_t op = (uint8_t)dt_take_bytes(&c, 1);

		if (define_address(k, &c, op, &ended) || define_base(k, &c, op) || op == DW_CFA_nop)
			continue;
		if ((op & 0xc0) == DW_CFA_offset) {
			*rule_of(k, op & 0x3f) = (struct rule){.how = DT_UNWIND_SAVED,
							       .n = scaled(k, dt_take_uleb(&c))};
		} else if ((op & 0xc0) == DW_CFA_restore) {
			if ((op & 0x3f) < DT_UNWIND_REGISTERS)
				k->now.reg[op & 0x3f] = k->initial.reg[op & 0x3f];
		} else if (op == DW_CFA_remember_state && k->depth < STATES) {
			k->kept[k->depth++] = k->now;
		} else if (op == DW_CFA_restore_state && k->depth) {
			k->now = k->kept[--k->depth];
		} else if (!define_register(k, &c, op)) {
			return false;
		}
	}
	return !c.bad;
}

/* Writes a rule into the row, with its expression behind those of others. False: it does not fit.
 */
static bool put_rule(struct dt_unwind_row *row, struct dt_unwind_rule *to, const struct rule *from,
		     size_t *used)
{
	if (from->reg >= DT_UNWIND_REGISTERS || from->size > DT_UNWIND_EXPRESSIONS - *used)
		return false;
	*to = (struct dt_unwind_rule){.how = from->how,
				      .reg = from->reg,
				      .from = (uint16_t)*used,
				      .size = (uint16_t)from->size,
				      .n = from->n};
	if (from->size)
		memcpy(row->expression + *used, from->bytes, from->size);
	*used += from->size;
	return true;
}

bool dt_unwind_row(const struct dt_frame *f, uint64_t address, struct dt_unwind_row *row)
{
	struct run k = {.f = f,
			.now.cfa.how = DT_UNWIND_LOST,
			.at = f->start,
			.from = f->start,
			.wanted = UINT64_MAX};
	size_t used = 0;

	if (!execute(&k, f->initial, f->initial_end))
		return false;
	k.initial = k.now;
	k.at = k.from = f->start;
	k.wanted = address;
	k.to = f->end;
	if (!execute(&k, f->code, f->code_end))
		return false;
	memset(row, 0, sizeof(*row)); /* also what is between its members */
	*row = (struct dt_unwind_row){.start = k.from < address ? k.from : address,
				      .end = k.to,
				      .function = f->start,
				      .signal = f->signal};
	if (!put_rule(row, &row->cfa, &k.now.cfa, &used))
		return false;
	for (unsigned i = 0; i < DT_UNWIND_REGISTERS; i++)
		if (!put_rule(row, &row->reg[i], &k.now.reg[i], &used))
			row->reg[i] = (struct dt_unwind_rule){.how = DT_UNWIND_LOST};
	return dt_unwind_row_is(row);
}
