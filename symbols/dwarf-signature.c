/* SPDX-License-Identifier: MIT */
/*
 * Makes signatures: which register each parameter is in at the function's entry. The calling
 * convention says that. If an optimizing compiler recorded the location of a parameter at the
 * entry, the two are compared, because compilers change the parameters of functions that no other
 * file can call.
 */
#include "symbols/dwarf-signature.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "symbols/dwarf-text.h"
#include "symbols/dwarf-type.h"

#define MAX_PARAMETERS	  64
#define INTEGER_REGISTERS DT_ABI_INTEGERS
#define VECTOR_REGISTERS  DT_ABI_VECTORS
#define CAPTURED	  4 /* integer registers in a record */

enum evidence {
	NOTHING,  /* it has no location at the entry */
	ON_STACK, /* it has a place in the function's frame, so it was passed as the convention says
		   */
	IN_REGISTER,
	BY_CALLER, /* it is in memory that the caller filled */
	ELSEWHERE, /* it is a constant or an expression */
};

struct parameter {
	Dwarf_Die die;	   /* has name and type */
	Dwarf_Die located; /* has the location: the same as die, or the entry of this copy of the
			      function */
	bool has_location;
	struct dt_type type;
	int place[2]; /* indices of integer registers; -1: none, or not captured */
	enum evidence evidence;
	int found;	  /* IN_REGISTER: index of the integer register; -1: another kind */
	int found_vector; /* index of the vector register; -1: another kind */
	int piece[2];	  /* places of its halves: integer registers, or as below; NONE */
};

/* Values of parameter.piece. */
#define NONE	-1
#define VECTOR	16 /* plus the register's number */
#define STACKED 64 /* plus the distance from the stack pointer at the entry */

/* DWARF's number of xmm0 */
#define DWARF_VECTOR 17

struct signature {
	const struct dt_signature_context *c;
	struct parameter p[MAX_PARAMETERS];
	int n;
	bool variadic;
	bool special; /* it has hidden parameters of C++ constructors */
	bool unknown; /* it has more parameters than there is room for, or the DWARF is damaged */
	struct dt_type result;
};

static bool same_die(Dwarf_Die *a, Dwarf_Die *b)
{
	return a->addr == b->addr;
}

/* Follows DW_AT_abstract_origin to its end; returns false if there is none. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *origin)
{
	Dwarf_Attribute attr;
	Dwarf_Die at = *die;
	int steps = 0;

	while (dwarf_attr(&at, DW_AT_abstract_origin, &attr) && steps++ < 16) {
		if (!dwarf_formref_die(&attr, origin))
			return steps > 1;
		at = *origin;
	}
	return steps > 0;
}

static void add_parameter(struct signature *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (name && (!strcmp(name, "__in_chrg") || !strcmp(name, "__vtt_parm")))
		s->special = true;
	if (name && !strcmp(name, "__in_chrg"))
		return;
	if (s->n == MAX_PARAMETERS) {
		s->unknown = true;
		return;
	}
	s->p[s->n++] = (struct parameter){
		.die = *die, .located = *die, .place = {-1, -1}, .piece = {NONE, NONE}};
}

static void list_parameters(struct signature *s, Dwarf_Die *of, int depth)
{
	Dwarf_Off last = 0;
	Dwarf_Die d;

	if (dwarf_child(of, &d))
		return;
	do {
		if (dwarf_dieoffset(&d) <= last || depth > 4) {
			s->unknown = true;
			return;
		}
		last = dwarf_dieoffset(&d);
		switch (dwarf_tag(&d)) {
		case DW_TAG_formal_parameter:
			add_parameter(s, &d);
			break;
		case DW_TAG_GNU_formal_parameter_pack:
			list_parameters(s, &d, depth + 1);
			break;
		case DW_TAG_unspecified_parameters:
			s->variadic = true;
			break;
		}
	} while (!dwarf_siblingof(&d, &d));
}

/* Pairs the parameters of the abstract function with those of this copy of it. */
static void locate_parameters(struct signature *s, Dwarf_Die *copy)
{
	struct signature own = {.c = s->c};
	Dwarf_Die origin;

	list_parameters(&own, copy, 0);
	for (int i = 0; i < s->n; i++)
		s->p[i].located.addr = NULL;
	for (int i = 0; i < own.n; i++)
		for (int k = 0; k < s->n; k++)
			if (origin_of(&own.p[i].die, &origin) && same_die(&origin, &s->p[k].die))
				s->p[k].located = own.p[i].die;
}

static void read_parameters(struct signature *s, Dwarf_Die *die)
{
	Dwarf_Die origin;

	if (!origin_of(die, &origin)) {
		list_parameters(s, die, 0);
		return;
	}
	list_parameters(s, &origin, 0);
	if (s->special) {
		/* which parameters are hidden depends on the copy, so its own list is taken */
		s->n = 0;
		s->special = false;
		list_parameters(s, die, 0);
		return;
	}
	locate_parameters(s, die);
}

static int integer_index(int reg)
{
	for (int i = 0; i < INTEGER_REGISTERS; i++)
		if (dt_abi_dwarf[i] == reg)
			return i;
	return -1;
}

/* Is the frame base the address above the return address, as in gcc's code? */
static bool base_is_cfa(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attr) &&
	       !dwarf_getlocation(&attr, &op, &n) && n == 1 && op->atom == DW_OP_call_frame_cfa;
}

/* Finds where DWARF says the parameter is at the entry. */
static void find_evidence(struct parameter *p, uint64_t entry, bool cfa)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	p->evidence = NOTHING;
	p->found_vector = -1;
	if (!p->located.addr || !dwarf_attr(&p->located, DW_AT_location, &attr))
		return;
	if (dwarf_getlocation_addr(&attr, entry, &op, &n, 1) != 1 || !n)
		return;
	p->evidence = ELSEWHERE;
	if (op->atom == DW_OP_fbreg || op->atom == DW_OP_call_frame_cfa) {
		p->evidence = cfa && op->atom == DW_OP_fbreg && (int64_t)op->number >= 0 ? BY_CALLER
											 : ON_STACK;
	} else if (n == 1 && op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		p->evidence = IN_REGISTER;
		p->found = integer_index(op->atom - DW_OP_reg0);
		p->found_vector = op->atom - DW_OP_reg0 - DWARF_VECTOR;
	}
}

static int count_class(const struct dt_type *t, enum dt_class c)
{
	return (t->class[0] == c) + (t->class[1] == c);
}

static bool by_memory(const struct dt_type *t)
{
	return t->class[0] == DT_CLASS_MEMORY || t->class[0] == DT_CLASS_X87;
}

/* Assigns the next free registers to the pieces of a parameter that is passed in registers. */
static void assign_pieces(struct parameter *p, int integers, int vectors)
{
	for (int k = 0; k < 2; k++) {
		enum dt_class c =
			p->type.reference ? k ? DT_CLASS_NONE : DT_CLASS_INTEGER : p->type.class[k];

		if (c == DT_CLASS_INTEGER)
			p->piece[k] = integers++;
		else if (c == DT_CLASS_SSE)
			p->piece[k] = VECTOR + vectors++;
		/* it is not passed in pieces of 8 bytes */
		else if (c != DT_CLASS_NONE || p->type.wide)
			p->piece[0] = p->piece[1] = NONE;
		if (p->piece[0] == NONE)
			return;
	}
}

/*
 * Assigns the next place on the stack. *at is its distance from the stack pointer at the entry, 0
 * once that is not known any more; it is not known after a parameter that may have to be aligned to
 * 16 bytes.
 */
static void assign_stack(struct parameter *p, int *at)
{
	int64_t size = p->type.reference ? 8 : dt_type_size(&p->type);

	if (*at == 0 || size <= 0 || size > 1 << 16 || size % 16 == 0 ||
	    (p->type.text[1] && p->type.text[2])) {
		*at = 0;
		return;
	}
	if (size <= 8)
		p->piece[0] = STACKED + *at;
	*at += (int)(size + 7) / 8 * 8;
}

/* Gives each parameter its registers as the calling convention does. */
static void assign_places(struct signature *s)
{
	const struct dt_type *r = &s->result;
	int stack = 8; /* above the return address */
	int integers = r->reference || r->class[0] == DT_CLASS_MEMORY, vectors = 0;
	bool unsure = false; /* there may be fewer vectors than that */

	/* there may be a hidden first parameter: gcc returns a wide vector in memory in code that
	 * is not compiled for wide registers */
	if (r->class[0] == DT_CLASS_UNKNOWN || (!r->reference && r->wide))
		return;
	for (int i = 0; i < s->n; i++) {
		struct parameter *p = &s->p[i];
		int want_i = p->type.reference ? 1 : count_class(&p->type, DT_CLASS_INTEGER);
		int want_v = p->type.reference ? 0 : count_class(&p->type, DT_CLASS_SSE);

		if (!p->type.reference && p->type.class[0] == DT_CLASS_UNKNOWN)
			return; /* the places of the parameters after it are not known either */
		if ((!p->type.reference && by_memory(&p->type)) ||
		    integers + want_i > INTEGER_REGISTERS || vectors + want_v > VECTOR_REGISTERS) {
			if (unsure && want_v && integers + want_i <= INTEGER_REGISTERS)
				return; /* it may be in registers after all */
			/* it is wholly on the stack, and takes no register */
			assign_stack(p, &stack);
			continue;
		}
		if (!p->type.reference && p->type.wide) {
			/* in code that is not compiled for wide registers it is on the stack */
			unsure = true;
			stack = 0;
		}
		if (!want_v || !unsure)
			assign_pieces(p, integers, vectors);
		if (!want_v)
			for (int k = 0; k < want_i; k++)
				p->place[k] = integers + k;
		integers += want_i;
		vectors += want_v;
	}
}

/*
 * Compares the places with what DWARF says of the entry. A parameter in another register than the
 * convention gives it means that the compiler changed the function; then only what DWARF says
 * counts.
 */
static void check_places(struct signature *s, Dwarf_Die *die)
{
	bool changed = false, doubt = s->c->rewrites && s->c->local, cfa = base_is_cfa(die);

	for (int i = 0; i < s->n; i++) {
		struct parameter *p = &s->p[i];

		find_evidence(p, s->c->address, cfa);
		/* a parameter passed in a register has its place in the function's own frame,
		 * unless another convention applies (ms_abi) */
		if (p->evidence == BY_CALLER && p->place[0] >= 0)
			changed = true;
		if (p->evidence == IN_REGISTER && p->place[0] >= 0 && p->place[1] < 0 &&
		    p->found != p->place[0])
			changed = true;
	}
	for (int i = 0; i < s->n; i++) {
		struct parameter *p = &s->p[i];

		/* DWARF is also used if the convention gives no place */
		if ((changed || p->place[0] < 0) && p->evidence == IN_REGISTER && p->found >= 0 &&
		    (p->type.reference || p->type.class[0] == DT_CLASS_INTEGER) &&
		    p->type.class[1] == DT_CLASS_NONE) {
			p->place[0] = p->piece[0] = p->found;
			p->piece[1] = NONE;
		} else if (changed && p->evidence == IN_REGISTER && p->found_vector >= 0 &&
			   p->type.class[0] == DT_CLASS_SSE && p->type.class[1] == DT_CLASS_NONE) {
			p->piece[0] = VECTOR + p->found_vector;
		} else if (changed ||
			   (doubt && p->evidence != IN_REGISTER && p->evidence != ON_STACK)) {
			p->place[0] = p->place[1] = -1;
			p->piece[0] = p->piece[1] = NONE;
		}
	}
	if (changed)
		s->result.class[0] = DT_CLASS_UNKNOWN;
}

static void put_name(struct text *t, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	for (; name && *name; name++)
		dt_dwarf_put(t, "%c", strchr(",;:@ \t\n", *name) ? '_' : *name);
}

static void put_piece(struct text *t, int piece)
{
	if (piece >= STACKED)
		dt_dwarf_put(t, "m%d", piece - STACKED);
	else if (piece >= VECTOR)
		dt_dwarf_put(t, "x%d", piece - VECTOR);
	else
		dt_dwarf_put(t, "%d", piece);
}

static void put_pieces(struct text *t, const struct parameter *p)
{
	dt_dwarf_put(t, "@");
	if (p->piece[0] == NONE) {
		dt_dwarf_put(t, "-");
		return;
	}
	put_piece(t, p->piece[0]);
	if (p->piece[1] != NONE) {
		dt_dwarf_put(t, "+");
		put_piece(t, p->piece[1]);
	}
}

static void put_place(struct text *t, const struct parameter *p)
{
	if (p->place[0] < 0 || p->place[0] >= CAPTURED || p->place[1] >= CAPTURED)
		dt_dwarf_put(t, "@-");
	else if (p->place[1] < 0)
		dt_dwarf_put(t, "@%d", p->place[0]);
	else
		dt_dwarf_put(t, "@%d+%d", p->place[0], p->place[1]);
}

/*
 * Writes the result and its place. The record of an exit has two integer registers as values 0 and
 * 1, and a vector register as values 2 and 3.
 */
static void put_result(struct text *t, const struct dt_signature_context *c,
		       const struct dt_type *r)
{
	enum dt_class a = r->class[0], b = r->class[1];
	bool aggregate = r->text[0] == 'a';

	if (r->text[0] == 'v') {
		dt_dwarf_put(t, ";v");
		return;
	}
	/* a class that is returned through a pointer is not itself a pointer */
	dt_dwarf_put(t, r->reference ? ";a" : ";");
	if (!r->reference)
		dt_type_put(t, c->keys, r);
	if (r->reference || r->wide || (a != DT_CLASS_INTEGER && a != DT_CLASS_SSE))
		dt_dwarf_put(t, "@-");
	else if (a == DT_CLASS_INTEGER)
		dt_dwarf_put(t, b == DT_CLASS_INTEGER ? "@0+1" : b == DT_CLASS_SSE ? "@0+2" : "@0");
	else if (b == DT_CLASS_INTEGER)
		dt_dwarf_put(t, "@2+0");
	else if (b == DT_CLASS_SSEUP)
		dt_dwarf_put(t, "@2+3");
	else /* the second of two vector registers is not captured, nor all of a wide one */
		dt_dwarf_put(t, aggregate && b == DT_CLASS_SSE ? "@-" : "@2");
}

static bool known_language(int language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 */
	case 0x2c: /* C17 */
	case 0x2d: /* C++20 */
	case 0x3a: /* C++23 */
	case 0x3e: /* C23 */
	case DW_LANG_ObjC:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_Rust:
		return true;
	}
	return false;
}

static bool usual_convention(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return !dwarf_attr_integrate(die, DW_AT_calling_convention, &attr) ||
	       (!dwarf_formudata(&attr, &v) && (v == DW_CC_normal || v == DW_CC_program));
}

void dt_dwarf_signature_text(Dwarf_Die *die, const struct dt_signature_context *c, char *buf,
			     size_t size)
{
	struct signature s = {.c = c};
	struct text t = {.buf = buf, .size = size};

	buf[0] = '\0';
	if (!known_language(c->language) || !usual_convention(die))
		return;
	read_parameters(&s, die);
	if (s.unknown)
		return;
	dt_type_of(die, c->language, &s.result);
	for (int i = 0; i < s.n; i++)
		dt_type_of(&s.p[i].die, c->language, &s.p[i].type);
	assign_places(&s);
	check_places(&s, die);
	for (int i = 0; i < s.n; i++) {
		dt_dwarf_put(&t, i ? "," : "");
		put_name(&t, &s.p[i].die);
		dt_dwarf_put(&t, ":");
		dt_type_put(&t, c->keys, &s.p[i].type);
		if (c->places)
			put_pieces(&t, &s.p[i]);
		else
			put_place(&t, &s.p[i]);
	}
	if (s.variadic)
		dt_dwarf_put(&t, "%s...:a@-", s.n ? "," : "");
	put_result(&t, c, &s.result);
	if (t.len >= size)
		buf[0] = '\0';
}
