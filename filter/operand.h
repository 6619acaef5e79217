/* SPDX-License-Identifier: MIT */
/* A value of a call that words refer to: an argument by its place or name, or the result. */
#ifndef DT_FILTER_OPERAND_H
#define DT_FILTER_OPERAND_H

#include "core/types.h"

enum dt_call_operand_what { DT_OPERAND_ARGUMENT, DT_OPERAND_NAMED, DT_OPERAND_RESULT };

struct dt_call_operand {
	enum dt_call_operand_what what;
	unsigned index;	  /* ARGUMENT: from 0 */
	const char *name; /* NAMED */
};

/* Where the records of a function have that value. */
struct dt_call_operand_place {
	uint8_t known, place, size; /* known 1: it was looked up; place: index of the value, 0xff:
				       there is none; size in bytes */
	uint8_t second;		    /* index of its upper half; 0xff: it has 8 bytes at most */
	char letter;		    /* of its type: core/signature.h */
	uint32_t row;		    /* of its type in the table `type'; 0: none */
};

/* Looks the value up in a function's signature. If nothing is known of the function, a place stands
 * for the register. */
void dt_operand_find(struct dt_call_operand_place *w, const char *signature,
		     const struct dt_call_operand *o);

/* A number, as it is in a record. */
struct dt_call_number {
	bool real;	 /* it is in `floating' */
	__int128 number; /* 0 if it is real */
	double floating; /* the same, as nearly as a double can have it */
};

/* Reads the value from a record's four. False: the record does not have it. */
bool dt_operand_number(const struct dt_call_operand_place *w, const uint64_t *value,
		       struct dt_call_number *n);

#endif
