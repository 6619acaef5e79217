/* SPDX-License-Identifier: MIT */
/* Calls as text: name(argument=value, ...) and results, by their signatures (symbols/symtab.h). */
#ifndef DT_SHOW_FORMAT_H
#define DT_SHOW_FORMAT_H

#include "show/full-arguments.h"
#include "show/shape.h"
#include "store/reader.h"

struct dt_format_item;
struct dt_pointers;
struct dt_format_text;

/* A function's signature, made ready for printing. */
struct dt_call_format {
	char *text;		     /* name and parameter names, cut into pieces by the items */
	struct dt_format_item *item; /* parameters; then the result */
	uint32_t name_length;
	uint32_t pid; /* whose pointers these are; 0: not known */
	uint16_t items;
	bool ready, has_result, known; /* known: there is a signature */
	uint8_t values;		       /* that are printed: bits 0-3 arguments, 4-7 results */
};

struct dt_formats {
	const struct dt_reader *reader;
	struct dt_call_format *function; /* by function row */
	uint32_t functions;
	struct dt_format_text *text;  /* of values */
	struct dt_pointers *pointers; /* made when the first one is printed */
	struct dt_shapes shapes;
	bool plain; /* pointers without what they lead to */
};

/* More than any call or result takes. */
#define DT_CALL_TEXT 65536

/* "name(a=1, b=0x2)"; argument NULL: "name(...)". Returns the end of what it wrote. */
char *dt_format_call(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument);

/* The same with what came behind the entry, in the places of those arguments, or behind them all.
 */
char *dt_format_full(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument,
		     const struct dt_full *full);

/* Tells of each argument by itself, as that has them. full NULL: nothing came behind the entry. */
void dt_format_each_full(struct dt_formats *f, uint32_t function, const uint64_t *argument,
			 const struct dt_full *full,
			 void (*fn)(void *ctx, const char *name, size_t n, const char *text,
				    size_t length),
			 void *ctx);

/* Tells of each of a point's values by itself. */
void dt_format_each(struct dt_formats *f, uint32_t function, const uint64_t *value, bool faults,
		    void (*fn)(void *ctx, const char *name, size_t n, const char *text,
			       size_t length),
		    void *ctx);

char *dt_format_name(struct dt_formats *f, char *p, uint32_t function);

/* The same of a point: of a record with faults, what could not be read is "?". */
char *dt_format_point(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		      bool faults);

/* Only the values, "a=1, b=0x2". */
char *dt_format_more(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		     bool faults);

/* " = 5"; nothing for a function without a result. */
char *dt_format_result(struct dt_formats *f, char *p, uint32_t function, const uint64_t *result);

/* As dt_format_values(), of a function whose signature has not been looked at. */
unsigned dt_format_new_values(struct dt_formats *f, uint32_t function);

/* The values that are printed of such a call: bits 0-3 arguments, 4-7 results (two at most). */
static inline unsigned dt_format_values(struct dt_formats *f, uint32_t function)
{
	if (__builtin_expect(function < f->functions && f->function[function].ready, 1))
		return f->function[function].values;
	return dt_format_new_values(f, function);
}

void dt_formats_free(struct dt_formats *f);

#endif
