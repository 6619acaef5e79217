/* SPDX-License-Identifier: MIT */
/*
 * Reads signatures, and the descriptions of types that they refer to. doc/format.md has the
 * grammar; no other code reads it. The text comes from files that may be damaged: what is not
 * understood is marked so (letter 0, places 0), and what follows it is read nevertheless.
 */
#ifndef DT_CORE_SIGNATURE_H
#define DT_CORE_SIGNATURE_H

#include "core/types.h"

/* A type such as "i4", "p", "e4#12". */
struct dt_signature_type {
	char letter;  /* i u b c p s f e a v, or one of a later version; 0: it is not understood */
	uint8_t size; /* bytes of a value, 1 to 16; of an aggregate 8, those of a place; of v 0 */
	uint32_t row; /* its row in the table `type' of a file: the decimal number after '#'; 0:
			 none */
	bool keyed;   /* there is a '#'; outside of files a hexadecimal key follows it */
};

/* Where eight bytes of a value are. */
enum dt_place_kind {
	DT_PLACE_VALUE,	 /* one of a record's values, 0 to 3; in the text of dt_symtab_places() an
			    integer register */
	DT_PLACE_VECTOR, /* "x0": a vector register */
	DT_PLACE_MEMORY, /* "m8": bytes above the stack pointer at the entry */
	DT_PLACE_POINTED /* "*0": in memory to which that value leads, this piece or the next; only
			    in the text of dt_symtab_places() */
};

/* The place of eight bytes of a value. */
struct dt_signature_place {
	uint8_t kind; /* enum dt_place_kind */
	uint16_t n;   /* number of the value or register; bytes, of memory */
};

/* Values that are no failure although the sign says so, at most. */
#define DT_FAILURE_OTHERS 4

/* When a result says that the call has failed; core/failure.h decides by it. All 0: it never does.
 */
struct dt_failure {
	char when; /* one of the characters in core/failure.h, or of a later version; 0: never */
	bool has_error;			  /* a value of the record has the reason, an errno: */
	uint8_t error;			  /* the number of that value */
	bool needs_error;		  /* it has failed only if that value is not 0 */
	uint8_t others;			  /* how many of `other' are used */
	int32_t other[DT_FAILURE_OTHERS]; /* results that are no failure in spite of `when' */
};

/*
 * What a function is sure to do with the text that a parameter points to, as prototypes say it
 * (symbols/prototypes/reads.txt). It is only in the text of dt_described() with places, and there
 * only of a prototype.
 */
struct dt_signature_reads {
	/* 'f': it reads the first byte at once; 'a': all of it; 'n': it may not. 'p': the parameter
	 * is what a format of printf's asks for, "..." or a va_list, and bound[0] is the format's
	 * register; 't': it points to texts, up to a NULL */
	char sure;
	bool differ;	/* only if its first two parameters are not equal */
	uint8_t bounds; /* of how many parameters the product bounds the text: 0 to 2 */
	struct {
		uint8_t n; /* the parameter's integer register */
		bool low;  /* only its low 4 bytes count */
	} bound[2];
};

/*
 * A parameter or the result. The texts point into the signature and have no NUL: their lengths say
 * where they end.
 */
struct dt_signature_value {
	const char *name, *typed; /* typed: the text of the type; a result has no name */
	uint16_t name_length, typed_length;
	struct dt_signature_type type;
	struct dt_signature_place place[2]; /* the low half comes first */
	uint8_t places;			    /* how many are used; 0: the value is not captured */
	bool rest; /* "...": a variadic function's further arguments, none of which is known */
	struct dt_failure failure;	 /* of a result */
	struct dt_signature_reads reads; /* of a parameter */
	uint8_t when;	    /* a parameter that is not always passed: this value of the record */
	uint64_t when_bits; /* has one of these bits if it is; 0: it is always passed */
};

/* Does the text say anything of a function? "" and text without a ';' do not. */
bool dt_signature_known(const char *signature);

/* Reads the parameter at *p and moves *p to after it; returns false if there are no more. */
bool dt_signature_next(const char **p, struct dt_signature_value *v);

/* Read the i-th parameter (from 0), the parameter of that name, and the result. They return false
 * if the signature has none; a void result exists, with the letter v. */
bool dt_signature_parameter(const char *signature, unsigned i, struct dt_signature_value *v);
bool dt_signature_named(const char *signature, const char *name, size_t n,
			struct dt_signature_value *v);
bool dt_signature_result(const char *signature, struct dt_signature_value *v);

/* Reads a type that stands alone, of n characters; returns false if it is not understood. */
bool dt_signature_type(const char *s, size_t n, struct dt_signature_type *t);

/* Is the parameter passed in the call whose record has these four values? */
static inline bool dt_signature_passed(const struct dt_signature_value *v, const uint64_t *value)
{
	return !v->when_bits || value[v->when] & v->when_bits;
}

/*
 * Does a record have the whole value, that is, do its places have at least as many bytes as the
 * type?
 */
static inline bool dt_signature_whole(const struct dt_signature_value *v)
{
	return v->places && v->type.letter && v->type.size <= 8 * v->places;
}

/* Is it exactly one value of a record, and whole there? Then *index is the number of that value. */
static inline bool dt_signature_single(const struct dt_signature_value *v, uint8_t *index)
{
	if (v->places != 1 || !dt_signature_whole(v) || v->place[0].kind != DT_PLACE_VALUE ||
	    v->place[0].n > 3)
		return false;
	*index = (uint8_t)v->place[0].n;
	return true;
}

/* A member in the description of an aggregate, such as "x:i4#12@32/3". */
struct dt_signature_member {
	const char *name;
	uint16_t name_length; /* 0: an element of an array, a base class */
	struct dt_signature_type type;
	uint16_t bit; /* the bit of the aggregate at which it begins; in memory, the byte */
	uint8_t bits; /* its bits; 0: as many as its type has; in memory, the bytes of a text */
};

/*
 * Reads the member at *p and moves *p to after it. Returns 1, 0 if there are no more, -1 if it is
 * not understood.
 */
int dt_signature_member(const char **p, struct dt_signature_member *m);

/* The same for a structure in memory, such as "st_size:i8@48": places are bytes. */
int dt_signature_in_memory(const char **p, struct dt_signature_member *m);

#endif
