/* SPDX-License-Identifier: MIT */
/*
 * "p->next->len": the name is looked up in the scopes around the address, its location there
 * becomes an operand, and each step through a pointer becomes a step of the item. If a value is not
 * available, the error says why, and nothing is guessed: the variable may be optimized away, in
 * pieces, or known only with its value at the function's entry.
 */
#include "symbols/dwarf-variable.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "symbols/dwarf-text.h"
#include "symbols/dwarf-type.h"

#define NO_FRAME   "where its function's frame is at that instruction is not known"
#define MAX_NAME   128
#define MAX_DEPTH  16 /* of unnamed structures in structures */
#define MAX_UNITS  100000
#define MAX_LOOKED 65536 /* members of all structures that are searched for a name */

struct chain {
	const struct dt_variable_context *c;
	const char *text, *p; /* the expression, and how far it has been read */
	struct dt_error *e;
	struct dt_item item;
	Dwarf_Die holder; /* the entry whose DW_AT_type is the type so far */
	bool memory; /* the object is in memory: at the operand or, if started, at the value so far
			plus add */
	bool started;
	int64_t add;
	unsigned looked; /* how many members have been looked at */
};

/* Adds without overflow: offsets come from the file and may be anything. One that is too large does
 * no harm, since it leads to no memory. */
static int64_t plus(int64_t a, uint64_t b)
{
	return (int64_t)((uint64_t)a + b);
}

static int fail(const struct chain *k, const char *why)
{
	return dt_fail(k->e, "devtrace: %s: %s", k->text, why);
}

/* ---- where a variable is ---- */

static void set_memory(struct chain *k, uint8_t base, int64_t value, bool relative)
{
	k->memory = true;
	k->item.relative = relative;
	k->item.from = (struct dt_operand){.kind = DT_OPERAND_MEMORY,
					   .size = 8,
					   .base = base,
					   .index = DT_REGISTER_NONE,
					   .value = value};
}

/* Reads an operation that is a register plus an offset; returns false if it is another. */
static bool based(const Dwarf_Op *op, uint8_t *reg, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*offset = (int64_t)op->number;
		return dt_abi_register_of(op->atom - DW_OP_breg0, reg) && *reg < 16;
	}
	if (op->atom == DW_OP_bregx) {
		*offset = (int64_t)op->number2;
		return dt_abi_register_of(op->number, reg) && *reg < 16;
	}
	return false;
}

/* Finds the canonical frame address at the instruction, as a register and an offset. */
static bool frame_address(const struct dt_variable_context *c, uint8_t *reg, int64_t *offset)
{
	Dwarf_CFI *cfi[2] = {dwarf_getcfi_elf(c->elf), dwarf_getcfi(c->dwarf)};
	bool found = false;

	for (int i = 0; i < 2 && !found; i++) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *op;
		size_t n;

		if (!cfi[i] || dwarf_cfi_addrframe(cfi[i], c->address, &frame) != 0)
			continue;
		found = dwarf_frame_cfa(frame, &op, &n) == 0 && n == 1 && based(op, reg, offset);
		free(frame);
	}
	if (cfi[0])
		dwarf_cfi_end(cfi[0]);
	return found;
}

/* Finds what DW_OP_fbreg is relative to, in the innermost function around the address. */
static bool frame_base(const struct dt_variable_context *c, Dwarf_Die *scopes, int n, uint8_t *reg,
		       int64_t *offset)
{
	for (int i = 0; i < n; i++) {
		Dwarf_Attribute attr;
		Dwarf_Op *op;
		size_t ops;

		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram ||
		    !dwarf_attr_integrate(&scopes[i], DW_AT_frame_base, &attr) ||
		    dwarf_getlocation_addr(&attr, c->address, &op, &ops, 1) != 1 || ops != 1)
			continue;
		if (op->atom == DW_OP_call_frame_cfa)
			return frame_address(c, reg, offset);
		if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
			*offset = 0;
			return dt_abi_register_of(op->atom - DW_OP_reg0, reg) && *reg < 16;
		}
		return based(op, reg, offset);
	}
	return false;
}

static bool constant_of(const Dwarf_Op *op, int64_t *v)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*v = op->atom - DW_OP_lit0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_consts:
		*v = (int64_t)op->number;
		return true;
	}
	return false;
}

static void set_constant(struct chain *k, int64_t v)
{
	k->memory = false;
	k->item.from = (struct dt_operand){.kind = DT_OPERAND_CONSTANT,
					   .size = 8,
					   .base = DT_REGISTER_NONE,
					   .index = DT_REGISTER_NONE,
					   .value = v};
}

static int push_step(struct chain *k, int64_t add, uint8_t size, bool is_signed)
{
	if (k->item.steps == DT_ITEM_STEPS)
		return fail(k, "it leads through too many pointers: 8 at most");
	k->item.step[k->item.steps].add = add;
	k->item.step[k->item.steps].size = size;
	k->item.step[k->item.steps].is_signed = is_signed;
	k->item.step[k->item.steps++].place = false;
	return 0;
}

/* Reads the object's value, so that the result is no longer in memory. */
static int load(struct chain *k, uint8_t size, bool is_signed)
{
	if (!k->memory)
		return 0;
	k->memory = false;
	if (k->started)
		return push_step(k, k->add, size, is_signed);
	k->item.from.size = size;
	k->item.from.is_signed = is_signed;
	return 0;
}

/* Checks that the object is in one place, and that this holds at the instruction. */
static int check_place(struct chain *k, const Dwarf_Op *op, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (op[i].atom) {
		case DW_OP_piece:
		case DW_OP_bit_piece:
			return fail(k, "it is in several places at once there");
		case DW_OP_entry_value:
		case DW_OP_GNU_entry_value:
			return fail(k, "it is optimized away there: only what it was at the "
				       "function's entry is known");
		case DW_OP_form_tls_address:
		case DW_OP_GNU_push_tls_address:
			return fail(k, "it is of each thread's own, which can not be captured");
		}
	return 0;
}

/* Applies the operations after the first one. */
static int apply_rest(struct chain *k, const Dwarf_Op *op, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		switch (op[i].atom) {
		case DW_OP_stack_value: /* the result of the operations is the value itself, not its
					   address */
			if (k->memory && k->started)
				return fail(k, "its value is computed there");
			if (k->memory)
				k->item.place = true;
			k->memory = false;
			break;
		case DW_OP_deref:
			if (!k->memory || load(k, 8, false) < 0)
				return -1;
			k->memory = k->started = true;
			k->add = 0;
			break;
		case DW_OP_plus_uconst:
			if (k->started)
				k->add = plus(k->add, op[i].number);
			else
				k->item.from.value = plus(k->item.from.value, op[i].number);
			break;
		default:
			return fail(k, "its value is computed there from several others");
		}
	}
	return 0;
}

/* Evaluates a location: its first operation says where, the others what is done from there. */
static int locate(struct chain *k, Dwarf_Die *scopes, int n_scopes, Dwarf_Attribute *location,
		  const Dwarf_Op *op, size_t n)
{
	int64_t offset = 0, v;
	uint8_t reg;

	if (!n)
		return fail(k, "it is optimized away there");
	if (check_place(k, op, n) < 0)
		return -1;
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 && n == 1) {
		if (!dt_abi_register_of(op->atom - DW_OP_reg0, &reg))
			return fail(k, "it is in a register that can not be captured");
	} else if (op->atom == DW_OP_regx && n == 1) {
		if (!dt_abi_register_of(op->number, &reg))
			return fail(k, "it is in a register that can not be captured");
	} else {
		reg = DT_REGISTER_NONE;
	}
	if (reg != DT_REGISTER_NONE) {
		k->item.from = (struct dt_operand){.kind = DT_OPERAND_REGISTER,
						   .size = 8,
						   .reg = reg,
						   .base = DT_REGISTER_NONE,
						   .index = DT_REGISTER_NONE};
		return 0;
	}
	if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		Dwarf_Attribute there;
		Dwarf_Addr at;

		if (dwarf_getlocation_attr(location, op, &there) != 0 ||
		    dwarf_formaddr(&there, &at) != 0)
			return fail(k, "its address can not be read");
		set_memory(k, DT_REGISTER_NONE, (int64_t)at, true);
	} else if (op->atom == DW_OP_addr) {
		set_memory(k, DT_REGISTER_NONE, (int64_t)op->number, true);
	} else if (op->atom == DW_OP_fbreg) {
		if (!frame_base(k->c, scopes, n_scopes, &reg, &offset))
			return fail(k, NO_FRAME);
		set_memory(k, reg, plus(offset, op->number), false);
	} else if (op->atom == DW_OP_call_frame_cfa) {
		if (!frame_address(k->c, &reg, &offset))
			return fail(k, NO_FRAME);
		set_memory(k, reg, offset, false);
	} else if (based(op, &reg, &offset)) {
		set_memory(k, reg, offset, false);
	} else if (constant_of(op, &v)) {
		set_constant(k, v);
	} else {
		return fail(k, "where it is there is told in a way that is not understood");
	}
	return apply_rest(k, op, n);
}

/*
 * Is the variable's place not filled yet? Without optimization a variable has one place for the
 * whole function, which is not filled in the prologue; an optimizing compiler records where it is
 * at each instruction.
 */
static bool is_early(const struct chain *k, Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	unsigned form = dwarf_whatform(attr);

	return k->c->address < k->c->body && op->atom == DW_OP_fbreg &&
	       (form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block ||
		form == DW_FORM_block2 || form == DW_FORM_block4);
}

static int locate_die(struct chain *k, Dwarf_Die *scopes, int n_scopes, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Sword number;
	Dwarf_Op *op;
	size_t n;

	k->holder = *die;
	if (dwarf_attr_integrate(die, DW_AT_const_value, &attr) &&
	    dwarf_formsdata(&attr, &number) == 0) {
		set_constant(k, number);
		return 0;
	}
	if (!dwarf_attr_integrate(die, DW_AT_location, &attr))
		return fail(k, "it is optimized away");
	if (dwarf_getlocation_addr(&attr, k->c->address, &op, &n, 1) != 1)
		return fail(k, "it is optimized away at that instruction");
	if (n && is_early(k, &attr, op))
		return dt_fail(
			k->e,
			"devtrace: %s: it is not in its place yet in front of the function's "
			"first line, which begins %lx bytes behind",
			k->text, (unsigned long)(k->c->body - k->c->address));
	return locate(k, scopes, n_scopes, &attr, op, n);
}

/* Finds a variable outside of functions, in any unit. */
static bool find_global(const struct dt_variable_context *c, const char *name, Dwarf_Die *out)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, d;

	for (unsigned i = 0;
	     i < MAX_UNITS && !dwarf_get_units(c->dwarf, cu, &cu, NULL, NULL, &unit, NULL); i++) {
		Dwarf_Off last = 0;

		if (dwarf_child(&unit, &d))
			continue;
		do {
			const char *found;
			Dwarf_Attribute attr;

			if (dwarf_dieoffset(&d) <= last)
				break;
			last = dwarf_dieoffset(&d);
			if (dwarf_tag(&d) != DW_TAG_variable)
				continue;
			found = dwarf_diename(&d);
			if (found && strcmp(found, name) == 0 &&
			    dwarf_attr_integrate(&d, DW_AT_location, &attr)) {
				*out = d;
				return true;
			}
		} while (!dwarf_siblingof(&d, &d));
	}
	return false;
}

static int find_variable(struct chain *k, const char *name)
{
	Dwarf_Die *scopes = NULL, die, unit = k->c->unit;
	Dwarf_Attribute attr;
	int n = dwarf_getscopes(&unit, k->c->address, &scopes), rc;
	int at = n > 0 ? dwarf_getscopevar(scopes, n, name, 0, NULL, 0, 0, &die) : -1;

	/* it is only a declaration; another unit has the variable */
	if (at >= 0 && !dwarf_attr_integrate(&die, DW_AT_location, &attr) &&
	    dwarf_hasattr(&die, DW_AT_declaration) && find_global(k->c, name, &die))
		at = 0;
	if (at >= 0 || find_global(k->c, name, &die))
		rc = locate_die(k, scopes, n, &die);
	else
		rc = fail(k, "no variable of that name is known there");
	free(scopes);
	return rc;
}

/* ---- types ---- */

static int type_of(struct chain *k, Dwarf_Die *type)
{
	return dt_type_peel(&k->holder, type) == 0 ? 0 : fail(k, "its type is not known");
}

static bool is_pointer(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* Goes on to what the pointer leads to. */
static int dereference(struct chain *k)
{
	Dwarf_Die type;

	if (type_of(k, &type) < 0)
		return -1;
	if (dwarf_tag(&type) == DW_TAG_array_type) { /* its first element */
		k->holder = type;
		return k->memory ? 0 : fail(k, "an array that is not in memory");
	}
	if (!is_pointer(&type))
		return fail(k, "it is no pointer");
	if (load(k, 8, false) < 0)
		return -1;
	k->memory = k->started = true;
	k->add = 0;
	k->holder = type;
	return 0;
}

static int move(struct chain *k, int64_t offset)
{
	if (k->memory && k->started)
		k->add = plus(k->add, (uint64_t)offset);
	else if (k->memory)
		k->item.from.value = plus(k->item.from.value, (uint64_t)offset);
	else if (k->item.from.kind == DT_OPERAND_REGISTER && !k->item.steps && offset >= 0 &&
		 offset < 8 && offset + k->item.from.byte < 8)
		k->item.from.byte = (uint8_t)(k->item.from.byte + offset);
	else
		return fail(k, "that part of it is not in one register");
	return 0;
}

/*
 * Finds a member by name. Returns 0 and its offset, 1 if there is none, -1 if it can not be
 * captured.
 */
static int find_member(struct chain *k, Dwarf_Die *type, const char *name, int64_t *offset,
		       Dwarf_Die *member, int depth)
{
	Dwarf_Off last = 0;
	Dwarf_Die d;

	if (depth > MAX_DEPTH || dwarf_child(type, &d))
		return 1;
	do {
		const char *own = dwarf_diename(&d);
		int tag = dwarf_tag(&d), rc;
		Dwarf_Attribute attr;
		Dwarf_Word at = 0;
		Dwarf_Die inner;

		if (dwarf_dieoffset(&d) <= last || ++k->looked > MAX_LOOKED)
			return 1;
		last = dwarf_dieoffset(&d);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		if (dwarf_attr(&d, DW_AT_data_member_location, &attr) &&
		    dwarf_formudata(&attr, &at) != 0)
			continue;
		if (tag == DW_TAG_member && own) {
			if (strcmp(own, name) != 0)
				continue;
			if (dwarf_hasattr(&d, DW_AT_bit_size))
				return fail(k, "a bit field can not be captured");
			*offset = plus(*offset, at);
			*member = d;
			return 0;
		}
		if (dt_type_peel(&d, &inner) != 0)
			continue;
		rc = find_member(k, &inner, name, offset, member, depth + 1);
		if (rc == 0)
			*offset = plus(*offset, at);
		if (rc <= 0)
			return rc;
	} while (!dwarf_siblingof(&d, &d));
	return 1;
}

static int member(struct chain *k, const char *name)
{
	Dwarf_Die type, found;
	int64_t offset = 0;
	int rc;

	if (type_of(k, &type) < 0)
		return -1;
	if (dwarf_tag(&type) != DW_TAG_structure_type && dwarf_tag(&type) != DW_TAG_class_type &&
	    dwarf_tag(&type) != DW_TAG_union_type)
		return dt_fail(k->e, "devtrace: %s: what has a member %s is no structure", k->text,
			       name);
	rc = find_member(k, &type, name, &offset, &found, 0);
	if (rc > 0)
		return dt_fail(k->e, "devtrace: %s: there is no member %s%s", k->text, name,
			       dwarf_hasattr(&type, DW_AT_declaration)
				       ? " known: the structure is only declared there"
				       : "");
	if (rc < 0 || move(k, offset) < 0)
		return -1;
	k->holder = found;
	return 0;
}

static int element(struct chain *k, int64_t i)
{
	Dwarf_Word size;
	Dwarf_Die type, each;

	if (type_of(k, &type) < 0)
		return -1;
	if (dereference(k) < 0)
		return -1;
	if (dt_type_peel(&k->holder, &each) != 0 || dwarf_aggregate_size(&each, &size) != 0)
		return fail(k, "how large an element is is not known");
	return move(k, (int64_t)((uint64_t)i * size));
}

/* ---- the expression ---- */

static void blanks(struct chain *k)
{
	while (*k->p == ' ')
		k->p++;
}

static bool take(struct chain *k, const char *sign)
{
	size_t n = strlen(sign);

	blanks(k);
	if (strncmp(k->p, sign, n) != 0)
		return false;
	k->p += n;
	return true;
}

static int take_name(struct chain *k, char name[MAX_NAME])
{
	size_t n = 0;

	blanks(k);
	while (isalnum((unsigned char)k->p[n]) || k->p[n] == '_')
		n++;
	if (n == 0 || n >= MAX_NAME || isdigit((unsigned char)*k->p))
		return dt_fail(k->e, "devtrace: %s: a name was expected in front of '%s'", k->text,
			       k->p);
	memcpy(name, k->p, n);
	name[n] = '\0';
	k->p += n;
	return 0;
}

static int expression(struct chain *k, int depth);

static int postfix(struct chain *k, int depth)
{
	char name[MAX_NAME];
	int rc;

	if (take(k, "(")) {
		rc = expression(k, depth + 1);
		if (rc == 0 && !take(k, ")"))
			rc = fail(k, "a ) is missing");
	} else {
		rc = take_name(k, name);
		if (rc == 0)
			rc = find_variable(k, name);
	}
	while (rc == 0) {
		if (take(k, "->")) {
			if ((rc = dereference(k)) == 0 && (rc = take_name(k, name)) == 0)
				rc = member(k, name);
		} else if (take(k, ".")) {
			if ((rc = take_name(k, name)) == 0)
				rc = member(k, name);
		} else if (take(k, "[")) {
			char *end;
			long i = strtol(k->p, &end, 0);

			if (end == k->p || i > 1 << 28 || i < -(1 << 28))
				return fail(k, "an index is a number");
			k->p = end;
			if (!take(k, "]"))
				return fail(k, "a ] is missing");
			rc = element(k, i);
		} else {
			break;
		}
	}
	return rc;
}

static int expression(struct chain *k, int depth)
{
	if (depth > MAX_DEPTH)
		return fail(k, "it is too deep");
	if (take(k, "*"))
		return expression(k, depth + 1) < 0 ? -1 : dereference(k);
	return postfix(k, depth);
}

/* Makes the result the address of the object, which must be in memory. */
static int take_place(struct chain *k)
{
	if (!k->memory)
		return fail(k, "it is in a register, so it has no address");
	k->memory = false;
	if (!k->started) {
		k->item.place = true;
		return 0;
	}
	if (push_step(k, k->add, 8, false) < 0)
		return -1;
	k->item.step[k->item.steps - 1].place = true;
	return 0;
}

static bool is_char_array(Dwarf_Die *type, int language)
{
	struct dt_type each;

	if (dwarf_tag(type) != DW_TAG_array_type)
		return false;
	dt_type_of(type, language, &each);
	return each.text[0] == 'c';
}

static void set_type(const struct chain *k, struct dt_variable *v, const struct dt_type *t)
{
	struct text out = {.buf = v->type, .size = sizeof(v->type)};

	dt_type_put(&out, k->c->dwarf, t);
}

static int read_value(struct chain *k, uint8_t size, bool is_signed)
{
	if (k->memory)
		return load(k, size, is_signed);
	if (!k->item.steps && k->item.from.kind == DT_OPERAND_REGISTER) {
		k->item.from.size = size;
		k->item.from.is_signed = is_signed;
	}
	return 0;
}

/*
 * Makes the result the value that is to be shown: scalars as they are, char arrays as text, for
 * anything else its address.
 */
static int finish(struct chain *k, struct dt_variable *v)
{
	struct dt_signature_type shown;
	struct dt_type t;
	Dwarf_Die type;

	if (type_of(k, &type) < 0)
		return -1;
	dt_type_of(&k->holder, k->c->language, &t);
	if (t.text[0] == 'a' || t.text[0] == 'v') {
		bool text = is_char_array(&type, k->c->language);
		uint64_t key = text ? 0 : dt_type_key(k->c->dwarf, &t);
		Dwarf_Word bytes;

		strcpy(v->type, text ? "s" : "p");
		if (key && dwarf_tag(&type) != DW_TAG_array_type &&
		    dwarf_aggregate_size(&type, &bytes) == 0 &&
		    (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
			set_type(k, v, &t);
			return read_value(k, (uint8_t)bytes, false);
		}
		/* a small structure in a register is shown as a number */
		if (!k->memory && dwarf_aggregate_size(&type, &bytes) == 0 && bytes <= 8)
			return 0;
		return take_place(k);
	}
	set_type(k, v, &t);
	if (!dt_signature_type(t.text, strlen(t.text), &shown) || shown.size > 8)
		return fail(k, "it has more than 8 bytes");
	return read_value(k, shown.size, t.text[0] == 'i' || (t.text[0] == 'e' && !t.is_unsigned));
}

int dt_dwarf_variable(const struct dt_variable_context *c, const char *text, struct dt_variable *v,
		      struct dt_error *e)
{
	struct chain k = {.c = c, .text = text, .p = text, .e = e};
	bool place = take(&k, "&");

	*v = (struct dt_variable){.type = "p"};
	if (expression(&k, 0) < 0)
		return -1;
	blanks(&k);
	if (*k.p)
		return dt_fail(
			e, "devtrace: %s: '%s' is not understood; names, ->, ., [n], * and & are",
			text, k.p);
	if ((place ? take_place(&k) : finish(&k, v)) < 0)
		return -1;
	v->item = k.item;
	return 0;
}
