/* SPDX-License-Identifier: MIT */
/* Finds values of calls, and reads them. */
#include "filter/operand.h"

#include <string.h>

#include "core/signature.h"

static bool find_value(const char *signature, const struct dt_call_operand *o,
		       struct dt_signature_value *v)
{
	if (o->what == DT_OPERAND_RESULT)
		return dt_signature_result(signature, v);
	if (o->what == DT_OPERAND_NAMED)
		return dt_signature_named(signature, o->name, strlen(o->name), v);
	return dt_signature_parameter(signature, o->index, v);
}

void dt_operand_find(struct dt_call_operand_place *w, const char *signature,
		     const struct dt_call_operand *o)
{
	struct dt_signature_value v;

	w->known = 1;
	w->place = w->second = 0xff;
	w->row = 0;
	if (!find_value(signature, o, &v)) {
		/* nothing is known of the function: take what is in the register */
		if (!dt_signature_known(signature) && o->what != DT_OPERAND_NAMED) {
			w->place = o->what == DT_OPERAND_ARGUMENT ? (uint8_t)o->index : 0;
			w->letter = 'i';
			w->size = 8;
			w->place = w->place < 4 ? w->place : 0xff;
		}
		return;
	}
	w->letter = v.type.letter;
	w->size = v.type.size;
	w->row = v.type.row;
	if (!w->size) /* void, or a type that is not understood: no value */
		return;
	if (dt_signature_single(&v, &w->place))
		return;
	/* a number of up to 16 bytes */
	if ((w->letter == 'i' || w->letter == 'u') && v.places == 2 && dt_signature_whole(&v) &&
	    v.place[0].n < 4 && v.place[1].n < 4) {
		w->place = (uint8_t)v.place[0].n;
		w->second = (uint8_t)v.place[1].n;
	}
}

static double floating(const struct dt_call_operand_place *w, uint64_t v)
{
	uint32_t low = (uint32_t)v;
	double real;
	float single;

	if (w->size == 4) {
		memcpy(&single, &low, sizeof(single));
		return (double)single;
	}
	memcpy(&real, &v, sizeof(real));
	return real;
}

bool dt_operand_number(const struct dt_call_operand_place *w, const uint64_t *value,
		       struct dt_call_number *n)
{
	bool has_sign = w->letter == 'i' || w->letter == 'c' || w->letter == 'e';
	unsigned shift = 128 - 8u * w->size;
	unsigned __int128 v;

	*n = (struct dt_call_number){0};
	if (w->place == 0xff || !value || !w->size || w->size > 16)
		return false;
	if (w->letter == 'f') {
		n->real = true;
		n->floating = floating(w, value[w->place]);
		return true;
	}
	v = value[w->place];
	if (w->second != 0xff)
		v |= (unsigned __int128)value[w->second] << 64;
	v <<= shift;
	n->number = has_sign ? (__int128)v >> shift : (__int128)(v >> shift);
	n->floating = (double)n->number;
	return true;
}
