/* SPDX-License-Identifier: MIT */
/* Decides by a result whether the call that returned it has failed. */
#include "core/failure.h"

/* Returns the value of a result, of which only its type's bytes count; with its sign, if it has
 * one. */
static int64_t number(const struct dt_signature_value *r, const uint64_t *value, uint8_t place)
{
	unsigned shift = 64 - 8u * r->type.size;
	uint64_t v = value[place] << shift;

	if (r->type.letter == 'i' || r->type.letter == 'e' || r->type.letter == 'c')
		return (int64_t)v >> shift;
	return (int64_t)(v >> shift);
}

/* Has the result the value that its signature calls a failure by `-'? */
static bool is_negative(const struct dt_signature_value *r, int64_t v)
{
	if (r->type.letter == 'i' || r->type.letter == 'e' || r->type.letter == 'c')
		return v < 0;
	return (uint64_t)v == UINT64_MAX >> (64 - 8u * r->type.size);
}

bool dt_failure_is(const struct dt_signature_value *result, const uint64_t *value)
{
	const struct dt_failure *f = &result->failure;
	uint8_t place;
	int64_t v;

	/* a floating-point number never says it */
	if (!f->when || !dt_signature_single(result, &place) || result->type.letter == 'f' ||
	    !result->type.size)
		return false;
	if (f->needs_error && !value[f->error & 3])
		return false;
	v = number(result, value, place);
	for (unsigned i = 0; i < f->others; i++)
		if (f->other[i] == v)
			return false;
	switch (f->when) {
	case DT_FAILURE_NEGATIVE:
		return is_negative(result, v);
	case DT_FAILURE_MINUS:
		return v == -1 || (uint64_t)v == UINT64_MAX >> (64 - 8u * result->type.size);
	case DT_FAILURE_ZERO:
		return v == 0;
	case DT_FAILURE_NONZERO:
		return v != 0;
	case DT_FAILURE_NONE:
		return v == 0 || is_negative(result, v);
	case DT_FAILURE_ERROR:
		return v != 0;
	case DT_FAILURE_KERNEL:
		return v < 0 && v > -DT_FAILURE_ERRORS;
	default:
		return false;
	}
}

uint32_t dt_failure_error(const struct dt_signature_value *result, const uint64_t *value)
{
	const struct dt_failure *f = &result->failure;
	uint64_t error = 0;
	uint8_t place;

	if (!dt_signature_single(result, &place))
		return 0;
	if (f->when == DT_FAILURE_ERROR)
		error = (uint64_t)number(result, value, place);
	else if (f->when == DT_FAILURE_KERNEL)
		error = -(uint64_t)number(result, value, place);
	else if (f->has_error && f->error < 4)
		error = value[f->error];
	return error < DT_FAILURE_ERRORS ? (uint32_t)error : 0;
}
