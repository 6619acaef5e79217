/* SPDX-License-Identifier: MIT */
/* Calls as text: name(argument=value, ...) and results, by their signatures (symbols/symtab.h). */
#ifndef DT_SHOW_FORMAT_H
#define DT_SHOW_FORMAT_H

#include "core/signature.h"
#include "show/full-arguments.h"
#include "show/shape.h"
#include "store/reader.h"

struct dt_format_item;
struct dt_pointers;
struct dt_format_text;

/* A function's signature, parsed once for printing. */
struct dt_call_format {
	char *text;		     /* name and parameter names, cut into pieces by the items */
	struct dt_format_item *item; /* the parameters, then the result */
	uint32_t name_length;	     /* of the function, in `text' */
	uint32_t pid;		     /* the process whose pointers are printed; 0: not known */
	struct dt_signature_value result; /* for core/failure.h; its texts may be gone */
	uint16_t items;
	bool ready, has_result, known; /* known: there is a signature */
	uint8_t values;		       /* which are printed: bits 0-3 arguments, 4-7 results */
};

/* The formats of a trace's functions. Set `reader' and `plain', all else zero; then
 * dt_formats_free(). For one thread. */
struct dt_formats {
	const struct dt_reader *reader;
	struct dt_call_format *function; /* by function row */
	uint32_t functions;
	struct dt_format_text *text;  /* cache: texts of values */
	struct dt_pointers *pointers; /* made when the first pointer is printed */
	struct dt_shapes shapes;
	char *room;			 /* for the text of one value */
	const struct dt_format_item *at; /* the value that dt_format_number() is of */
	bool plain;			 /* print pointers without the names of what they lead to */
};

/* Bytes of room for each function below that writes at p: more than any call or result takes. */
#define DT_CALL_TEXT 65536

/* Writes "name(a=1, b=0x2)", or with argument NULL "name(...)". This and the functions below that
 * return char * return the end of what they wrote; there is no NUL. */
char *dt_format_call(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument);

/* As dt_format_call(), with the values in `full' (from records after the entry): in place of the
 * parameters of their names, or, where there is no such parameter, after all others. */
char *dt_format_full(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument,
		     const struct dt_full *full);

/* Calls fn for each argument that dt_format_full() writes, with its name and its text. full NULL:
 * there were no records after the entry. */
void dt_format_each_full(struct dt_formats *f, uint32_t function, const uint64_t *argument,
			 const struct dt_full *full,
			 void (*fn)(void *ctx, const char *name, size_t n, const char *text,
				    size_t length),
			 void *ctx);

/* Calls fn for each value that dt_format_point() writes, with its name and its text. */
void dt_format_each(struct dt_formats *f, uint32_t function, const uint64_t *value, bool faults,
		    void (*fn)(void *ctx, const char *name, size_t n, const char *text,
			       size_t length),
		    void *ctx);

/* A value as a number. */
struct dt_format_number {
	/* none: it is in two registers, or not known as one value */
	enum { DT_NUMBER_NONE, DT_NUMBER_SIGNED, DT_NUMBER_UNSIGNED, DT_NUMBER_REAL } kind;
	uint64_t u; /* SIGNED: as int64_t */
	double real;
};

/* In a call of dt_format_each_full()'s or dt_format_each()'s fn: returns the number of the value
 * that fn was called for. value: the record's values. */
struct dt_format_number dt_format_number(const struct dt_formats *f, const uint64_t *value);

/* Returns the number of a result that dt_format_result() has written. */
struct dt_format_number dt_format_result_number(const struct dt_formats *f, uint32_t function,
						const uint64_t *result);

/* Writes the function's name, cut where it is very long. */
char *dt_format_name(struct dt_formats *f, char *p, uint32_t function);

/* Writes a point's record as dt_format_call() does a call. faults: the record has DT_FAULT, and
 * a value that could not be read is written as "?". */
char *dt_format_point(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		      bool faults);

/* Writes only the values of such a record: "a=1, b=0x2". */
char *dt_format_more(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		     bool faults);

/* Writes " = 5", or nothing for a function without a result or with result NULL. */
char *dt_format_result(struct dt_formats *f, char *p, uint32_t function, const uint64_t *result);

/* Writes what dt_format_result() does and, if the call has failed and the reason is known, that as
 * well: " = -1 ENOENT (No such file or directory)". */
char *dt_format_outcome(struct dt_formats *f, char *p, uint32_t function, const uint64_t *result);

/* Does the result say that the call failed? *error is the number of the reason, 0: not known. */
bool dt_format_failed(struct dt_formats *f, uint32_t function, const uint64_t *result,
		      uint32_t *error);

/* Does what dt_format_values() does, for a function whose signature has not been parsed. */
unsigned dt_format_new_values(struct dt_formats *f, uint32_t function);

/* Returns which values of the function's calls are printed: bits 0-3 arguments, 4-7 results (two at
 * most). */
static inline unsigned dt_format_values(struct dt_formats *f, uint32_t function)
{
	if (__builtin_expect(function < f->functions && f->function[function].ready, 1))
		return f->function[function].values;
	return dt_format_new_values(f, function);
}

void dt_formats_free(struct dt_formats *f);

#endif
