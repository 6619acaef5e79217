/* SPDX-License-Identifier: MIT */
/* Describes types, in the form of rows of the table `type'. */
#include "symbols/dwarf-type-work.h"

#include <dwarf.h>
#include <string.h>

#include "symbols/dwarf-text.h"

#define MAX_PARTS 4096 /* enumerators, members, elements: a type with more is not described */

static void put_name(struct text *t, const char *name)
{
	for (; *name; name++)
		dt_dwarf_put(t, "%c", strchr(",;:@#= \t\n", *name) ? '_' : *name);
}

int64_t dt_type_size(const struct dt_type *t)
{
	Dwarf_Die die = t->die;

	return die.addr ? dt_type_size_of(&die, 0) : -1;
}

/* Makes a type's key from its offset, and whether that is in the file which dwz shares. */
uint64_t dt_type_key(Dwarf *dwarf, const struct dt_type *t)
{
	Dwarf_Die die = t->die, same;
	bool alt;
	Dwarf *of;

	if (!die.addr || t->reference || (t->text[0] != 'e' && t->text[0] != 'a') ||
	    (t->text[0] == 'a' && (dt_type_size_of(&die, 0) <= 0 || dt_type_size_of(&die, 0) > 16)))
		return 0;
	of = dwarf_cu_getdwarf(die.cu);
	alt = of != dwarf;
	if (alt && of != dwarf_getalt(dwarf))
		return 0;
	/* a type that has a section of its own is not found by that offset */
	if (!dwarf_offdie(of, dwarf_dieoffset(&die), &same) || same.addr != die.addr)
		return 0;
	return (uint64_t)dwarf_dieoffset(&die) << 1 | alt;
}

void dt_type_put(struct text *t, Dwarf *dwarf, const struct dt_type *type)
{
	uint64_t key = dwarf ? dt_type_key(dwarf, type) : 0;

	if (key && type->is_unsigned)
		dt_dwarf_put(t, "u%s", type->text + 1);
	else
		dt_dwarf_put(t, "%s", type->text);
	if (key)
		dt_dwarf_put(t, DT_KEY_FORMAT, (unsigned long long)key);
}

static void put_part(struct text *t, Dwarf *dwarf, const char *name, Dwarf_Die *typed, int language,
		     uint64_t bit, uint64_t bits)
{
	struct dt_type type;

	dt_type_of(typed, language, &type);
	dt_dwarf_put(t, t->parts++ ? "," : "");
	put_name(t, name);
	dt_dwarf_put(t, ":");
	dt_type_put(t, dwarf, &type);
	dt_dwarf_put(t, "@%llu", (unsigned long long)bit);
	if (bits)
		dt_dwarf_put(t, "/%llu", (unsigned long long)bits);
}

/*
 * Reads an enumerator's value. The forms of one, two and four bytes do not say whether they are
 * signed: gcc writes a value that is not negative in the smallest of them that holds it, and a
 * negative value in a signed form. If the form is as wide as the type, both have the same bits.
 */
static bool enumerator(Dwarf_Attribute *attr, Dwarf_Sword *v)
{
	Dwarf_Word bits;

	switch (dwarf_whatform(attr)) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		if (dwarf_formudata(attr, &bits))
			return false;
		*v = (Dwarf_Sword)bits;
		return true;
	default:
		return !dwarf_formsdata(attr, v);
	}
}

static void put_enumerators(struct text *t, Dwarf_Die *type)
{
	uint64_t last = 0;
	Dwarf_Die d;

	if (dwarf_child(type, &d))
		return;
	do {
		Dwarf_Attribute attr;
		Dwarf_Sword v;

		if (dwarf_dieoffset(&d) <= last)
			return;
		last = dwarf_dieoffset(&d);
		if (dwarf_tag(&d) != DW_TAG_enumerator ||
		    !dwarf_attr(&d, DW_AT_const_value, &attr) || !enumerator(&attr, &v))
			continue;
		dt_dwarf_put(t, t->parts++ ? "," : "");
		put_name(t, dt_type_name_of(&d));
		dt_dwarf_put(t, "=%lld", (long long)v);
	} while (!dwarf_siblingof(&d, &d) && t->parts <= MAX_PARTS);
}

static void put_elements(struct text *t, Dwarf *dwarf, Dwarf_Die *type, int language)
{
	int64_t n = dt_type_elements(type), each;
	Dwarf_Die of;

	if (n <= 0 || dt_type_peel(type, &of) || (each = dt_type_size_of(&of, 0)) <= 0)
		return;
	for (int64_t i = 0; i < n && i * each < 16; i++)
		put_part(t, dwarf, "", type, language, (uint64_t)(i * each * 8), 0);
}

static void put_members(struct text *t, Dwarf *dwarf, Dwarf_Die *type, int language)
{
	uint64_t last = 0, in, bits, at, old;
	Dwarf_Die d, of;

	if (dwarf_child(type, &d))
		return;
	do {
		int tag = dwarf_tag(&d);

		if (dwarf_dieoffset(&d) <= last)
			return;
		last = dwarf_dieoffset(&d);
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dt_type_flag(&d, DW_AT_external) || dt_type_flag(&d, DW_AT_declaration))
			continue;
		in = bits = 0;
		if (dt_type_flag(&d, DW_AT_data_member_location) &&
		    !dt_type_number(&d, DW_AT_data_member_location, &in))
			continue;
		if (dt_type_peel(&d, &of) || dt_type_size_of(&of, 0) <= 0)
			continue;
		at = in * 8;
		if (dt_type_number(&d, DW_AT_bit_size, &bits) && bits) {
			if (dt_type_number(&d, DW_AT_data_bit_offset, &old))
				at = old;
			else if (dt_type_number(&d, DW_AT_bit_offset, &old))
				at = (in + (uint64_t)dt_type_size_of(&of, 0)) * 8 - old - bits;
		}
		if (at < 128)
			put_part(t, dwarf, tag == DW_TAG_member ? dt_type_name_of(&d) : "", &d,
				 language, at, bits);
	} while (!dwarf_siblingof(&d, &d) && t->parts <= MAX_PARTS);
}

bool dt_type_describe(Dwarf *dwarf, uint64_t key, char *buf, size_t size)
{
	Dwarf *of = key & 1 ? dwarf_getalt(dwarf) : dwarf;
	struct text t = {buf, size, 0, 0};
	Dwarf_Die die, unit;
	int language;

	if (!key || !of || !dwarf_offdie(of, key >> 1, &die) ||
	    !dwarf_diecu(&die, &unit, NULL, NULL))
		return false;
	language = dwarf_srclang(&unit);
	dt_dwarf_put(&t, dwarf_tag(&die) == DW_TAG_enumeration_type ? "e:" : "a:");
	put_name(&t, dt_type_name_of(&die));
	dt_dwarf_put(&t, ";");
	switch (dwarf_tag(&die)) {
	case DW_TAG_enumeration_type:
		put_enumerators(&t, &die);
		break;
	case DW_TAG_array_type:
		put_elements(&t, dwarf, &die, language);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		put_members(&t, dwarf, &die, language);
		break;
	}
	return t.parts && t.parts <= MAX_PARTS && t.len < size;
}
