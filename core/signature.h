/* SPDX-License-Identifier: MIT */
/*
 * Reading signatures, and the descriptions of types that they lead to. doc/format.md has the
 * grammar; this is all the code that reads it. Text comes from files that may be damaged: what is
 * not understood is said to be so (letter 0, places 0), and what stands behind it is read all the
 * same.
 */
#ifndef DT_CORE_SIGNATURE_H
#define DT_CORE_SIGNATURE_H

#include "core/types.h"

/* "i4", "p", "e4#12" */
struct dt_signature_type {
	char letter;  /* i u b c p s f e a v, or one of a later version; 0: it is not understood */
	uint8_t size; /* bytes of a value, 1 to 16; of an aggregate those of a place, 8; of v 0 */
	uint32_t row; /* in the table `type' of a file: behind '#', in decimal; 0: none */
	bool keyed;   /* there is a '#'; outside of files, a key in hexadecimal stands behind it */
};

enum dt_place_kind {
	DT_PLACE_VALUE,	 /* 0 to 3: of a record's values; in the text of dt_symtab_places() an
			    integer register */
	DT_PLACE_VECTOR, /* "x0": a vector register */
	DT_PLACE_MEMORY	 /* "m8": bytes above the stack pointer at the entry */
};

/* Eight bytes of a value. */
struct dt_signature_place {
	uint8_t kind; /* enum dt_place_kind */
	uint16_t n;
};

/* A parameter or the result. The texts point into the signature and end where their lengths say. */
struct dt_signature_value {
	const char *name, *typed; /* typed: the type as it is written; a result has no name */
	uint16_t name_length, typed_length;
	struct dt_signature_type type;
	struct dt_signature_place place[2]; /* low half first */
	uint8_t places;			    /* 0: it is not captured */
	bool rest; /* "...": a variadic function's further arguments, none of which is known */
};

/* Is it a signature at all? "" and what has no ';' say nothing of a function. */
bool dt_signature_known(const char *signature);

/* The parameter at *p, which then is behind it; false: there are no more. */
bool dt_signature_next(const char **p, struct dt_signature_value *v);

/* The i-th parameter, from 0; the one of that name; the result. False: the signature has none (a
 * result that is void is there, with the letter v). */
bool dt_signature_parameter(const char *signature, unsigned i, struct dt_signature_value *v);
bool dt_signature_named(const char *signature, const char *name, size_t n,
			struct dt_signature_value *v);
bool dt_signature_result(const char *signature, struct dt_signature_value *v);

/* A type that stands alone, of n characters; false: it is not understood. */
bool dt_signature_type(const char *s, size_t n, struct dt_signature_type *t);

/* Has a record the whole value: do its places have as many bytes as the type? */
static inline bool dt_signature_whole(const struct dt_signature_value *v)
{
	return v->places && v->type.letter && v->type.size <= 8 * v->places;
}

/* Is it one value of a record, and whole in it? Then its number. */
static inline bool dt_signature_single(const struct dt_signature_value *v, uint8_t *index)
{
	if (v->places != 1 || !dt_signature_whole(v) || v->place[0].kind != DT_PLACE_VALUE ||
	    v->place[0].n > 3)
		return false;
	*index = (uint8_t)v->place[0].n;
	return true;
}

/* A member in the description of an aggregate: "x:i4#12@32/3". */
struct dt_signature_member {
	const char *name;
	uint16_t name_length; /* 0: an element of an array, a base class */
	struct dt_signature_type type;
	uint8_t bit;  /* where it begins */
	uint8_t bits; /* 0: as many as its type has */
};

/* The member at *p, which then is behind it. 1; 0: there are no more; -1: it is not understood. */
int dt_signature_member(const char **p, struct dt_signature_member *m);

#endif
