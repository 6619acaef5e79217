/* SPDX-License-Identifier: MIT */
/* The columns that a person chooses by --fields: "since,duration", "+since" (these before the usual
 * ones), "none". */
#ifndef DT_CMD_FIELDS_H
#define DT_CMD_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#define DT_FIELDS_MOST 32

/* Numbers of columns, as the command counts them. None: the usual ones. */
struct dt_fields {
	uint8_t field[DT_FIELDS_MOST]; /* each once */
	unsigned n;
	bool chosen; /* --fields was given */
	bool also;   /* beside the usual ones, which are still to be added */
};

/* Parses what --fields says; name: of the n columns there are. False: it is wrong, which has been
 * reported, with all names. */
bool dt_fields_parse(struct dt_fields *f, const char *text, const char *const *name, unsigned n);

/* Adds a column behind the others, once. */
void dt_fields_add(struct dt_fields *f, unsigned field);

bool dt_fields_has(const struct dt_fields *f, unsigned field);

#endif
