/* SPDX-License-Identifier: MIT */
/* Steps of unwinding, as DWARF 5 (6.4.4, 2.5) and the System V ABI for x86-64 describe them. */
#include "arch/unwind.h"

#include <dwarf.h>
#include <string.h>

#define SP	 7
#define RETURN	 16
#define DEPTH	 32  /* values that an expression may have at a time */
#define MOST_OPS 512 /* of an expression; it may have loops */

/* rbx, rbp, r12 to r15 */
const uint8_t dt_unwind_kept[DT_UNWIND_KEPT] = {3, 6, 12, 13, 14, 15};
const uint8_t dt_unwind_kept_register[DT_UNWIND_KEPT] = {3, 5, 12, 13, 14, 15};

bool dt_unwind_row_is(const struct dt_unwind_row *row)
{
	const struct dt_unwind_rule *all[DT_UNWIND_REGISTERS + 1] = {&row->cfa};

	for (unsigned i = 0; i < DT_UNWIND_REGISTERS; i++)
		all[i + 1] = &row->reg[i];
	for (unsigned i = 0; i <= DT_UNWIND_REGISTERS; i++)
		if (all[i]->how >= DT_UNWIND_HOWS || all[i]->reg >= DT_UNWIND_REGISTERS ||
		    all[i]->from + all[i]->size > DT_UNWIND_EXPRESSIONS)
			return false;
	return row->start < row->end;
}

/* ---- memory ---- */

static enum dt_unwind_result read_stack(const struct dt_unwind_stack *s, uint64_t at, unsigned size,
					uint64_t *v)
{
	uint64_t from = at - s->low;

	if (at < s->low)
		return DT_UNWIND_WRONG;
	if (from > s->n || s->n - from < size)
		return DT_UNWIND_DEEPER;
	*v = 0;
	memcpy(v, s->bytes + from, size);
	return DT_UNWIND_STEPPED;
}

/* ---- expressions ---- */

/* An expression that is being executed. */
struct machine {
	const uint8_t *begin, *p, *end;
	uint64_t stack[DEPTH];
	unsigned n;
	const struct dt_unwind_registers *r;
	const struct dt_unwind_stack *s;
	enum dt_unwind_result result;
};

static uint64_t take(struct machine *m, unsigned size)
{
	uint64_t v = 0;

	if ((size_t)(m->end - m->p) < size) {
		m->result = DT_UNWIND_WRONG;
		m->p = m->end;
		return 0;
	}
	memcpy(&v, m->p, size);
	m->p += size;
	return v;
}

static int64_t take_signed(struct machine *m, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(take(m, size) << shift) >> shift;
}

static uint64_t take_leb(struct machine *m, bool is_signed)
{
	uint64_t v = 0;

	for (unsigned shift = 0;;) {
		uint8_t b = (uint8_t)take(m, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80)
			continue;
		return is_signed && b & 0x40 && shift < 64 ? v | ~0ull << shift : v;
	}
}

static void push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		m->result = DT_UNWIND_WRONG;
	else
		m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	m->result = DT_UNWIND_WRONG;
	return 0;
}

static void pick(struct machine *m, unsigned i)
{
	if (i < m->n)
		push(m, m->stack[m->n - 1 - i]);
	else
		m->result = DT_UNWIND_WRONG;
}

static void push_register(struct machine *m, unsigned reg)
{
	int64_t n = (int64_t)take_leb(m, true);

	if (reg >= DT_UNWIND_REGISTERS || !(m->r->known >> reg & 1))
		m->result = DT_UNWIND_WRONG;
	else
		push(m, m->r->value[reg] + (uint64_t)n);
}

static void read_there(struct machine *m, unsigned size)
{
	uint64_t v = 0;
	enum dt_unwind_result result =
		size && size <= 8 ? read_stack(m->s, pop(m), size, &v) : DT_UNWIND_WRONG;

	if (result != DT_UNWIND_STEPPED)
		m->result = result;
	push(m, v);
}

static void jump(struct machine *m, bool is)
{
	int64_t by = take_signed(m, 2);

	if (!is)
		return;
	if (by < m->begin - m->p || by > m->end - m->p)
		m->result = DT_UNWIND_WRONG;
	else
		m->p += by;
}

/* Does an operation of one value. False: it is another one. */
static bool do_one(struct machine *m, uint8_t op)
{
	uint64_t v;

	switch (op) {
	case DW_OP_abs:
		v = pop(m);
		push(m, (int64_t)v < 0 ? -v : v);
		return true;
	case DW_OP_neg:
		push(m, -pop(m));
		return true;
	case DW_OP_not:
		push(m, ~pop(m));
		return true;
	case DW_OP_plus_uconst:
		push(m, pop(m) + take_leb(m, false));
		return true;
	}
	return false;
}

/* Does an operation of two values. False: it is another one. */
static bool do_two(struct machine *m, uint8_t op)
{
	uint64_t b = m->n ? m->stack[m->n - 1] : 0, a = m->n > 1 ? m->stack[m->n - 2] : 0, v;
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		v = a & b;
		break;
	case DW_OP_or:
		v = a | b;
		break;
	case DW_OP_xor:
		v = a ^ b;
		break;
	case DW_OP_plus:
		v = a + b;
		break;
	case DW_OP_minus:
		v = a - b;
		break;
	case DW_OP_mul:
		v = a * b;
		break;
	case DW_OP_shl:
		v = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		v = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		v = b < 63 ? (uint64_t)(sa >> b) : sa < 0 ? ~0ull : 0;
		break;
	case DW_OP_le:
		v = sa <= sb;
		break;
	case DW_OP_ge:
		v = sa >= sb;
		break;
	case DW_OP_eq:
		v = a == b;
		break;
	case DW_OP_ne:
		v = a != b;
		break;
	case DW_OP_lt:
		v = sa < sb;
		break;
	case DW_OP_gt:
		v = sa > sb;
		break;
	default:
		return false;
	}
	pop(m);
	pop(m);
	push(m, v);
	return true;
}

/* Pushes what an operation says itself. False: it is another one. */
static bool do_constant(struct machine *m, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(m, op - DW_OP_lit0);
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
		push(m, take(m, 1));
		return true;
	case DW_OP_const1s:
		push(m, (uint64_t)take_signed(m, 1));
		return true;
	case DW_OP_const2u:
		push(m, take(m, 2));
		return true;
	case DW_OP_const2s:
		push(m, (uint64_t)take_signed(m, 2));
		return true;
	case DW_OP_const4u:
		push(m, take(m, 4));
		return true;
	case DW_OP_const4s:
		push(m, (uint64_t)take_signed(m, 4));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, take(m, 8));
		return true;
	case DW_OP_constu:
		push(m, take_leb(m, false));
		return true;
	case DW_OP_consts:
		push(m, take_leb(m, true));
		return true;
	}
	return false;
}

static void do_op(struct machine *m, uint8_t op)
{
	if (do_constant(m, op) || do_one(m, op) || do_two(m, op))
		return;
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(m, op - DW_OP_breg0);
		return;
	}
	switch (op) {
	case DW_OP_bregx:
		push_register(m, (unsigned)(take_leb(m, false) & 0xff));
		break;
	case DW_OP_dup:
		pick(m, 0);
		break;
	case DW_OP_over:
		pick(m, 1);
		break;
	case DW_OP_pick:
		pick(m, (unsigned)take(m, 1));
		break;
	case DW_OP_drop:
		pop(m);
		break;
	case DW_OP_deref:
		read_there(m, 8);
		break;
	case DW_OP_deref_size:
		read_there(m, (unsigned)take(m, 1));
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bra:
		jump(m, pop(m) != 0);
		break;
	case DW_OP_nop:
		break;
	default:
		m->result = DT_UNWIND_WRONG;
	}
}

/* first: what is on the stack of the expression at its beginning; NULL: nothing. */
static enum dt_unwind_result execute(const struct dt_unwind_row *row,
				     const struct dt_unwind_rule *rule,
				     const struct dt_unwind_registers *r,
				     const struct dt_unwind_stack *s, const uint64_t *first,
				     uint64_t *v)
{
	const uint8_t *begin = row->expression + rule->from;
	struct machine m = {.begin = begin, .p = begin, .end = begin + rule->size, .r = r, .s = s};

	if (first)
		push(&m, *first);
	for (unsigned i = 0; m.p < m.end && m.result == DT_UNWIND_STEPPED; i++) {
		if (i == MOST_OPS)
			return DT_UNWIND_WRONG;
		do_op(&m, (uint8_t)take(&m, 1));
	}
	*v = pop(&m);
	return m.result;
}

/* ---- steps ---- */

static enum dt_unwind_result find_cfa(const struct dt_unwind_row *row,
				      const struct dt_unwind_registers *r,
				      const struct dt_unwind_stack *s, uint64_t *cfa)
{
	if (row->cfa.how == DT_UNWIND_VALUE)
		return execute(row, &row->cfa, r, s, NULL, cfa);
	if (row->cfa.how != DT_UNWIND_SUM)
		return DT_UNWIND_WRONG;
	if (!(r->known >> row->cfa.reg & 1))
		return DT_UNWIND_DEEPER; /* it is saved where nothing was kept */
	*cfa = r->value[row->cfa.reg] + (uint64_t)row->cfa.n;
	return DT_UNWIND_STEPPED;
}

/* Finds what the caller had in a register. LOST: OUTERMOST. */
static enum dt_unwind_result find_register(const struct dt_unwind_row *row, unsigned i,
					   const struct dt_unwind_registers *r,
					   const struct dt_unwind_stack *s, uint64_t cfa,
					   uint64_t *v)
{
	const struct dt_unwind_rule *rule = &row->reg[i];
	unsigned from = rule->how == DT_UNWIND_REGISTER ? rule->reg : i;
	enum dt_unwind_result result;

	switch (rule->how) {
	case DT_UNWIND_SAVED:
		return read_stack(s, cfa + (uint64_t)rule->n, 8, v);
	case DT_UNWIND_SUM:
		*v = cfa + (uint64_t)rule->n;
		return DT_UNWIND_STEPPED;
	case DT_UNWIND_SAVED_AT:
		result = execute(row, rule, r, s, &cfa, v);
		return result == DT_UNWIND_STEPPED ? read_stack(s, *v, 8, v) : result;
	case DT_UNWIND_VALUE:
		return execute(row, rule, r, s, &cfa, v);
	case DT_UNWIND_SAME:
	case DT_UNWIND_REGISTER:
		*v = r->value[from];
		return r->known >> from & 1 ? DT_UNWIND_STEPPED : DT_UNWIND_DEEPER;
	}
	return DT_UNWIND_OUTERMOST;
}

bool dt_unwind_begin(struct dt_unwind_registers *r, const struct dt_unwind_stack *s,
		     const uint64_t kept[DT_UNWIND_KEPT])
{
	*r = (struct dt_unwind_registers){.known = 1u << SP | 1u << RETURN};
	for (unsigned i = 0; i < DT_UNWIND_KEPT; i++) {
		r->value[dt_unwind_kept[i]] = kept[i];
		r->known |= 1u << dt_unwind_kept[i];
	}
	r->value[SP] = s->low + 8;
	return read_stack(s, s->low, 8, &r->value[RETURN]) == DT_UNWIND_STEPPED;
}

enum dt_unwind_result dt_unwind_step(struct dt_unwind_registers *r, const struct dt_unwind_row *row,
				     const struct dt_unwind_stack *s)
{
	struct dt_unwind_registers caller = {.known = 0};
	enum dt_unwind_result result;
	uint64_t cfa;

	result = find_cfa(row, r, s, &cfa);
	if (result != DT_UNWIND_STEPPED)
		return result;
	/* each caller's frame is further up; only a signal may have come on another stack */
	if (!row->signal && cfa <= r->value[SP])
		return DT_UNWIND_WRONG;
	for (unsigned i = 0; i < DT_UNWIND_REGISTERS; i++) {
		result = find_register(row, i, r, s, cfa, &caller.value[i]);
		if (result == DT_UNWIND_STEPPED)
			caller.known |= 1u << i;
		else if (i == RETURN)
			return result;
	}
	if (row->reg[SP].how == DT_UNWIND_SAME) {
		caller.value[SP] = cfa;
		caller.known |= 1u << SP;
	}
	if (!caller.value[RETURN])
		return DT_UNWIND_OUTERMOST;
	*r = caller;
	return DT_UNWIND_STEPPED;
}
