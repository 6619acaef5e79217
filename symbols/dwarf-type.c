/* SPDX-License-Identifier: MIT */
/*
 * Classifies types. DWARF that is read here may be damaged: chains are followed a bounded number of
 * steps, and anything odd makes the type UNKNOWN rather than wrong.
 */
#include "symbols/dwarf-type-work.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHAIN   64	/* typedefs and qualifiers in a row, at most */
#define MAX_DEPTH   16	/* structures in structures, at most */
#define MAX_MEMBERS 512 /* read for one type, at most */

struct walk {
	enum dt_class *class;
	int members;
	int depth;
	bool wide; /* a vector of more than 16 bytes */
};

static void classify(struct walk *w, Dwarf_Die *type, uint64_t offset);

int dt_type_peel(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die at = *die;

	for (int i = 0; i < MAX_CHAIN; i++) {
		if (!dwarf_attr_integrate(&at, DW_AT_type, &attr))
			return 1;
		if (!dwarf_formref_die(&attr, type))
			return -1;
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
		case DW_TAG_packed_type:
		case DW_TAG_shared_type:
			at = *type;
			continue;
		}
		/* a stand-in for a type that has a unit of its own */
		if (dwarf_attr(type, DW_AT_signature, &attr) && !dwarf_formref_die(&attr, type))
			return -1;
		return 0;
	}
	return -1;
}

bool dt_type_number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &v))
		return false;
	*value = v;
	return true;
}

bool dt_type_flag(Dwarf_Die *die, unsigned name)
{
	return dwarf_hasattr(die, name);
}

const char *dt_type_name_of(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? name : "";
}

int64_t dt_type_elements(Dwarf_Die *array)
{
	uint64_t n = 1, v, last = 0;
	Dwarf_Die d;

	if (dwarf_child(array, &d))
		return -1;
	do {
		if (dwarf_dieoffset(&d) <= last)
			return -1;
		last = dwarf_dieoffset(&d);
		if (dwarf_tag(&d) != DW_TAG_subrange_type)
			continue;
		if (!dt_type_number(&d, DW_AT_count, &v)) {
			if (!dt_type_number(&d, DW_AT_upper_bound, &v))
				return 0; /* a flexible array member */
			v++;
		}
		if (v > 1 << 20 || n * v > 1 << 20)
			return -1;
		n *= v;
	} while (!dwarf_siblingof(&d, &d));
	return (int64_t)n;
}

int64_t dt_type_size_of(Dwarf_Die *type, int depth)
{
	uint64_t size;
	int64_t n, each;
	Dwarf_Die of;

	if (dt_type_number(type, DW_AT_byte_size, &size))
		return size < 1ull << 40 ? (int64_t)size : -1;
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type:
		return 8;
	case DW_TAG_ptr_to_member_type:
		return !dt_type_peel(type, &of) && dwarf_tag(&of) == DW_TAG_subroutine_type ? 16
											    : 8;
	case DW_TAG_array_type:
		n = dt_type_elements(type);
		if (depth > MAX_DEPTH || n < 0 || dt_type_peel(type, &of))
			return -1;
		each = dt_type_size_of(&of, depth + 1);
		return each < 0 || each > 1 << 20 ? -1 : n * each;
	case DW_TAG_enumeration_type:
		if (depth > MAX_DEPTH || dt_type_peel(type, &of))
			return -1;
		return dt_type_size_of(&of, depth + 1);
	}
	return -1;
}

static void set(struct walk *w, uint64_t offset, enum dt_class c)
{
	enum dt_class *at;

	if (offset >= 16) {
		w->class[0] = DT_CLASS_MEMORY;
		return;
	}
	at = &w->class[offset / 8];
	if (w->class[0] == DT_CLASS_UNKNOWN || c == DT_CLASS_UNKNOWN)
		w->class[0] = DT_CLASS_UNKNOWN;
	else if (w->class[0] == DT_CLASS_MEMORY || c == DT_CLASS_MEMORY)
		w->class[0] = DT_CLASS_MEMORY;
	else if (*at == DT_CLASS_NONE || *at == c)
		*at = c;
	else if (*at == DT_CLASS_INTEGER || c == DT_CLASS_INTEGER)
		*at = DT_CLASS_INTEGER;
	else if (*at >= DT_CLASS_X87 || c >= DT_CLASS_X87)
		w->class[0] = DT_CLASS_MEMORY;
	else
		*at = DT_CLASS_SSE;
}

/* Adds a scalar of that size. One that is packed so that it is not aligned is passed in memory. */
static void set_scalar(struct walk *w, uint64_t offset, uint64_t size, enum dt_class low,
		       enum dt_class high)
{
	if (!size)
		return;
	if (size > 16 || (size & (size - 1)))
		set(w, offset, size > 16 ? DT_CLASS_MEMORY : DT_CLASS_UNKNOWN);
	else if (offset % size)
		set(w, offset, DT_CLASS_MEMORY);
	else {
		set(w, offset, low);
		if (size == 16)
			set(w, offset + 8, high);
	}
}

static void set_float(struct walk *w, uint64_t offset, uint64_t size, const char *name)
{
	/* a long double has 80 bits in 16 bytes, unlike __float128 with its 128 bits */
	if (size == 16 && strstr(name, "long double"))
		set_scalar(w, offset, size, DT_CLASS_X87, DT_CLASS_X87UP);
	else
		set_scalar(w, offset, size, DT_CLASS_SSE, DT_CLASS_SSEUP);
}

static void classify_base(struct walk *w, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
	uint64_t encoding = 0;

	dt_type_number(type, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_float:
		set_float(w, offset, size, dt_type_name_of(type));
		break;
	case DW_ATE_decimal_float:
		set_scalar(w, offset, size, DT_CLASS_SSE, DT_CLASS_SSEUP);
		break;
	case DW_ATE_complex_float:
		/* complex long double is passed in memory, but returned in two x87 registers */
		if (size > 16) {
			set(w, offset,
			    strstr(dt_type_name_of(type), "128") ? DT_CLASS_MEMORY : DT_CLASS_X87);
			break;
		}
		set_float(w, offset, size / 2, "");
		set_float(w, offset + size / 2, size / 2, "");
		break;
	case DW_ATE_signed:
	case DW_ATE_unsigned:
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_boolean:
	case DW_ATE_UTF:
	case DW_ATE_address:
		set_scalar(w, offset, size, DT_CLASS_INTEGER, DT_CLASS_INTEGER);
		break;
	default:
		set(w, offset, DT_CLASS_UNKNOWN);
	}
}

static void classify_array(struct walk *w, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
	int64_t n = dt_type_elements(type), each;
	Dwarf_Die of;

	if (dt_type_flag(type, DW_AT_GNU_vector)) {
		if (size < 8 || dt_type_peel(type, &of) || offset % size)
			set(w, offset, DT_CLASS_UNKNOWN);
		else if (size == 8)
			set(w, offset, DT_CLASS_SSE);
		else if (size <= 16)
			set_scalar(w, offset, size, DT_CLASS_SSE, DT_CLASS_SSEUP);
		else { /* in one wide register, if the unit was compiled for such registers */
			w->wide = true;
			set(w, offset, w->depth > 1 ? DT_CLASS_UNKNOWN : DT_CLASS_SSE);
		}
		return;
	}
	if (n < 0 || dt_type_peel(type, &of) || (each = dt_type_size_of(&of, 0)) < 0) {
		set(w, offset, DT_CLASS_UNKNOWN);
		return;
	}
	if (size > 16) {
		set(w, offset, DT_CLASS_MEMORY);
		return;
	}
	for (int64_t i = 0; each && i < n; i++)
		classify(w, &of, offset + (uint64_t)(i * each));
}

/* Adds a bit-field to the pieces in which its bits are. Returns false if the member is none. */
static bool classify_bits(struct walk *w, Dwarf_Die *member, Dwarf_Die *type, uint64_t offset,
			  uint64_t in)
{
	uint64_t bits, at, old;

	if (!dt_type_number(member, DW_AT_bit_size, &bits) || !bits)
		return false;
	if (dt_type_number(member, DW_AT_data_bit_offset, &at))
		at += offset * 8;
	else if (dt_type_number(member, DW_AT_bit_offset, &old)) /* it counts from the high end */
		at = (offset + in + (uint64_t)dt_type_size_of(type, 0)) * 8 - old - bits;
	else
		at = (offset + in) * 8;
	set(w, at / 8, DT_CLASS_INTEGER);
	set(w, (at + bits - 1) / 8, DT_CLASS_INTEGER);
	return true;
}

static void classify_member(struct walk *w, Dwarf_Die *member, uint64_t offset)
{
	uint64_t in = 0;
	Dwarf_Die type;

	if (++w->members > MAX_MEMBERS || dt_type_peel(member, &type) ||
	    (dt_type_flag(member, DW_AT_data_member_location) &&
	     !dt_type_number(member, DW_AT_data_member_location, &in)) ||
	    in > 1 << 20) {
		set(w, offset, DT_CLASS_UNKNOWN);
		return;
	}
	if (!classify_bits(w, member, &type, offset, in))
		classify(w, &type, offset + in);
}

static void classify_aggregate(struct walk *w, Dwarf_Die *type, uint64_t offset, uint64_t size)
{
	uint64_t last = 0;
	Dwarf_Die d;

	if (dt_type_flag(type, DW_AT_declaration)) {
		set(w, offset, DT_CLASS_UNKNOWN);
		return;
	}
	if (dwarf_child(type, &d))
		return;
	do {
		if (dwarf_dieoffset(&d) <= last)
			break;
		last = dwarf_dieoffset(&d);
		switch (dwarf_tag(&d)) {
		case DW_TAG_member: /* static members are declarations */
			if (!dt_type_flag(&d, DW_AT_external) &&
			    !dt_type_flag(&d, DW_AT_declaration))
				classify_member(w, &d, offset);
			break;
		case DW_TAG_inheritance:
			classify_member(w, &d, offset);
			break;
		case DW_TAG_variant_part:
			set(w, offset, DT_CLASS_UNKNOWN);
			break;
		}
	} while (!dwarf_siblingof(&d, &d));
	/*
	 * a whole wide vector is passed in a vector register even inside; anything else this big is
	 * passed in memory
	 */
	if (size > 16 && w->class[0] != DT_CLASS_UNKNOWN)
		w->class[0] = DT_CLASS_MEMORY;
}

/* Adds the classes of a type that lies at that offset in the value. */
static void classify(struct walk *w, Dwarf_Die *type, uint64_t offset)
{
	int64_t size = dt_type_size_of(type, 0);

	if (size < 0 || ++w->depth > MAX_DEPTH) {
		set(w, offset, DT_CLASS_UNKNOWN);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		classify_base(w, type, offset, (uint64_t)size);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_enumeration_type:
		set_scalar(w, offset, (uint64_t)size, DT_CLASS_INTEGER, DT_CLASS_INTEGER);
		break;
	case DW_TAG_ptr_to_member_type: /* 8 bytes, or 16 for a member function */
		set(w, offset, DT_CLASS_INTEGER);
		if (size == 16)
			set(w, offset + 8, DT_CLASS_INTEGER);
		break;
	case DW_TAG_unspecified_type:
		set(w, offset,
		    strstr(dt_type_name_of(type), "nullptr") ? DT_CLASS_INTEGER : DT_CLASS_UNKNOWN);
		break;
	case DW_TAG_array_type:
		classify_array(w, type, offset, (uint64_t)size);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		classify_aggregate(w, type, offset, (uint64_t)size);
		break;
	default:
		set(w, offset, DT_CLASS_UNKNOWN);
	}
	w->depth--;
}

static bool is_cxx(int language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 */
	case 0x2d: /* C++20 */
	case 0x3a: /* C++23 */
	case DW_LANG_ObjC_plus_plus:
		return true;
	}
	return false;
}

enum triviality {
	TRIVIAL,
	NONTRIVIAL,
	UNSURE,
};

/* it is not known for a class that has more, including those in its members */
#define MAX_PARTS_SEEN 65536
#define MAX_CLASSES    64

/*
 * The classes inside a class that have been judged, since the same class can be inside in very many
 * places.
 */
struct seen {
	unsigned parts, classes;
	struct {
		const void *class;
		enum triviality is;
	} of[MAX_CLASSES];
};

static enum triviality class_triviality(Dwarf_Die *class, int depth, struct seen *s);

/* Is the function a constructor that takes a reference to its own class? */
static bool is_copy(Dwarf_Die *function, Dwarf_Die *class)
{
	uint64_t last = 0;
	Dwarf_Die d, of, to;

	/* the constructor of "v<int>" is called "v" */
	if (strncmp(dt_type_name_of(function), dt_type_name_of(class),
		    strcspn(dt_type_name_of(class), "<")) ||
	    dt_type_name_of(function)[0] == '~' || dwarf_child(function, &d))
		return false;
	do {
		int tag;

		if (dwarf_dieoffset(&d) <= last)
			return false;
		last = dwarf_dieoffset(&d);
		if (dwarf_tag(&d) != DW_TAG_formal_parameter || dt_type_flag(&d, DW_AT_artificial))
			continue;
		tag = dt_type_peel(&d, &of) ? 0 : dwarf_tag(&of);
		return (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) &&
		       !dt_type_peel(&of, &to) &&
		       (to.addr == class->addr ||
			!strcmp(dt_type_name_of(&to), dt_type_name_of(class)));
	} while (!dwarf_siblingof(&d, &d));
	return false;
}

/* Judges by one part of a class whether the class can be copied bit by bit. */
static enum triviality part_triviality(Dwarf_Die *d, Dwarf_Die *class, int depth, struct seen *s)
{
	uint64_t v;
	Dwarf_Die at, of;

	switch (dwarf_tag(d)) {
	case DW_TAG_subprogram:
		if (dt_type_number(d, DW_AT_virtuality, &v) && v != DW_VIRTUALITY_none)
			return NONTRIVIAL;
		if (dt_type_name_of(d)[0] != '~' && !is_copy(d, class))
			return TRIVIAL;
		if (dt_type_flag(d, DW_AT_deleted))
			return UNSURE;
		/* made by the compiler, so it is as trivial as the members are */
		if (dt_type_flag(d, DW_AT_artificial) ||
		    (dt_type_number(d, DW_AT_defaulted, &v) && v == 1))
			return TRIVIAL;
		return NONTRIVIAL;
	case DW_TAG_inheritance:
		if (dt_type_number(d, DW_AT_virtuality, &v) && v != DW_VIRTUALITY_none)
			return NONTRIVIAL;
		break;
	case DW_TAG_member:
		if (dt_type_flag(d, DW_AT_external) || dt_type_flag(d, DW_AT_declaration))
			return TRIVIAL;
		break;
	default:
		return TRIVIAL;
	}
	at = *d;
	for (int i = 0;
	     !dt_type_peel(&at, &of) && i < MAX_DEPTH && dwarf_tag(&of) == DW_TAG_array_type; i++)
		at = of;
	switch (dt_type_peel(&at, &of) ? 0 : dwarf_tag(&of)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return class_triviality(&of, depth + 1, s);
	}
	return TRIVIAL;
}

/* Derives from a class's members how it is passed, for compilers that do not say so. */
static enum triviality derive_triviality(Dwarf_Die *class, int depth, struct seen *s)
{
	enum triviality all = TRIVIAL;
	uint64_t last = 0;
	Dwarf_Die d;

	if (depth > MAX_DEPTH || dt_type_flag(class, DW_AT_declaration))
		return UNSURE;
	if (dwarf_child(class, &d))
		return TRIVIAL;
	do {
		enum triviality part = UNSURE;

		if (dwarf_dieoffset(&d) <= last || ++s->parts > MAX_PARTS_SEEN)
			return UNSURE;
		part = part_triviality(&d, class, depth, s);
		last = dwarf_dieoffset(&d);
		if (part == NONTRIVIAL)
			return NONTRIVIAL;
		if (part == UNSURE)
			all = UNSURE;
	} while (!dwarf_siblingof(&d, &d));
	return all;
}

static enum triviality class_triviality(Dwarf_Die *class, int depth, struct seen *s)
{
	enum triviality is;

	for (unsigned i = 0; i < s->classes; i++)
		if (s->of[i].class == class->addr)
			return s->of[i].is;
	is = derive_triviality(class, depth, s);
	if (s->classes < MAX_CLASSES) {
		s->of[s->classes].class = class->addr;
		s->of[s->classes++].is = is;
	}
	return is;
}

/*
 * Classifies a Rust aggregate. Only fat pointers have been passed in the same way by all versions
 * of the compiler.
 */
static bool rust_aggregate(Dwarf_Die *type, struct dt_type *t)
{
	if (dt_type_name_of(type)[0] == '&' && dt_type_size_of(type, 0) == 16)
		t->class[0] = t->class[1] = DT_CLASS_INTEGER;
	else
		t->class[0] = DT_CLASS_UNKNOWN;
	return true;
}

static bool special_class(Dwarf_Die *type, int language, struct dt_type *t)
{
	uint64_t convention;
	int tag = dwarf_tag(type);
	struct seen seen = {0};

	if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type)
		return false;
	if (language == DW_LANG_Rust)
		return rust_aggregate(type, t);
	if (!is_cxx(language))
		return false;
	if (dt_type_number(type, DW_AT_calling_convention, &convention)) {
		t->reference = convention == DW_CC_pass_by_reference;
		return t->reference;
	}
	switch (class_triviality(type, 0, &seen)) {
	case NONTRIVIAL:
		t->reference = true;
		return true;
	case UNSURE:
		t->class[0] = DT_CLASS_UNKNOWN;
		return true;
	default:
		return false;
	}
}

/* Is the enumeration unsigned, by its own entry or by its underlying type? */
static bool is_unsigned(Dwarf_Die *enumeration)
{
	uint64_t encoding = 0;
	Dwarf_Die of;

	if (!dt_type_number(enumeration, DW_AT_encoding, &encoding) &&
	    !dt_type_peel(enumeration, &of))
		dt_type_number(&of, DW_AT_encoding, &encoding);
	return encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
	       encoding == DW_ATE_boolean || encoding == DW_ATE_UTF;
}

static void letter(Dwarf_Die *type, struct dt_type *t)
{
	int64_t size = dt_type_size_of(type, 0);
	uint64_t encoding = 0;
	Dwarf_Die to;
	char c = 'a';

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		c = 'p';
		if (!dt_type_peel(type, &to) && dwarf_tag(&to) == DW_TAG_base_type &&
		    !strcmp(dt_type_name_of(&to), "char"))
			c = 's';
		break;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type:
		c = 'p';
		break;
	case DW_TAG_ptr_to_member_type:
		c = size == 8 ? 'p' : 'a';
		break;
	case DW_TAG_enumeration_type:
		c = 'e';
		t->is_unsigned = is_unsigned(type);
		break;
	case DW_TAG_base_type:
		dt_type_number(type, DW_AT_encoding, &encoding);
		if (encoding == DW_ATE_boolean)
			c = 'b';
		else if (size == 1 && !strcmp(dt_type_name_of(type), "char"))
			c = 'c';
		else if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char)
			c = 'i';
		else if (encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
			 encoding == DW_ATE_UTF || encoding == DW_ATE_address)
			c = 'u';
		else if (encoding == DW_ATE_float && t->class[0] == DT_CLASS_X87)
			size = 10, c = 'f';
		else if (encoding == DW_ATE_float && (size == 4 || size == 8))
			c = 'f';
		break;
	}
	if (c == 'b' && size != 1)
		c = 'u';
	if (!strchr("iufe", c))
		snprintf(t->text, sizeof(t->text), "%c", c);
	else if (size == 1 || size == 2 || size == 4 || size == 8 || size == 10 || size == 16)
		snprintf(t->text, sizeof(t->text), "%c%d", c, (int)size);
}

void dt_type_of(Dwarf_Die *die, int language, struct dt_type *t)
{
	struct walk w = {.class = t->class};
	Dwarf_Die type;
	int found = dt_type_peel(die, &type);

	*t = (struct dt_type){.text = "a"};
	if (found == 1) {
		strcpy(t->text, "v");
		return;
	}
	if (found < 0) {
		t->class[0] = DT_CLASS_UNKNOWN;
		return;
	}
	t->die = type;
	if (dwarf_tag(&type) == DW_TAG_base_type && dt_type_size_of(&type, 0) == 0) {
		strcpy(t->text, "v"); /* Rust's () and ! */
		return;
	}
	if (!special_class(&type, language, t)) {
		t->class[0] = DT_CLASS_NONE;
		classify(&w, &type, 0);
		t->wide = w.wide;
		if (t->class[0] != DT_CLASS_UNKNOWN && t->class[1] == DT_CLASS_X87UP &&
		    t->class[0] != DT_CLASS_X87)
			t->class[0] = DT_CLASS_MEMORY;
		if (t->class[1] == DT_CLASS_SSEUP && t->class[0] != DT_CLASS_SSE)
			t->class[1] = DT_CLASS_SSE;
	}
	letter(&type, t);
	if (t->reference)
		strcpy(t->text, "p");
}
