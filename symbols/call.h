/* SPDX-License-Identifier: MIT */
/*
 * System calls: their numbers, names, parameters, and what these lead to, for callers of 64 bits,
 * of 32 bits, and x32. The tables are made from the kernel's headers by
 * symbols/prototypes/calls.py.
 */
#ifndef DT_SYMBOLS_CALL_H
#define DT_SYMBOLS_CALL_H

#include "bpf/record.h"
#include "core/types.h"

/* The name, in signatures of items, of what is known of a result (show/full-arguments.h). */
#define DT_CALL_RESULT "->"

/* A system call. */
struct dt_call_info {
	unsigned kind; /* of its callers: 0 64-bit, 1 32-bit, 2 x32 */
	unsigned number;
	char name[40];		/* as programs know it: "stat" */
	char function[48];	/* the kernel's, without its prefix: "newstat" */
	bool compat;		/* of kind 1: it has a function of its own for these callers */
	const char *parameters; /* of the table's line, from behind the '(' on */
};

/* Gives the call of the table's line at *at, NULL for the first, and moves *at to the next. False:
 * there are no more. */
bool dt_call_next(const char **at, struct dt_call_info *c);
/* Finds a call by its number. */
bool dt_call_find(unsigned kind, unsigned number, struct dt_call_info *c);

/* Writes its signature, as symbols/prototype.h does; the fifth and sixth parameter are in no value.
 */
void dt_call_signature(const struct dt_call_info *c, char *buf, size_t size);
/* Writes that of the record with the fifth and sixth. */
void dt_call_further(const struct dt_call_info *c, char *buf, size_t size);
/* Writes that of the records of an item: what it is called, and its type. */
void dt_call_item(const struct dt_call_info *c, unsigned item, char *buf, size_t size);
/* Writes the signature of what is recorded of a signal that is delivered. */
void dt_call_signals(char *buf, size_t size);
/* Fills in how many parameters and items it has, and the items. */
void dt_call_items(const struct dt_call_info *c, struct dt_bpf_call *out);

#endif
