/* SPDX-License-Identifier: MIT */
/* Reading one value of each call, an argument or the result, for the commands that count values. */
#ifndef DT_CMD_VALUE_H
#define DT_CMD_VALUE_H

#include "cmd/open.h"

/* A value as a number by its type; a value of unknown type is a signed number of 64 bits. */
struct dt_number {
	bool negative;
	uint64_t v; /* its magnitude */
};

/* Which value: "result", "1" to "4", "arg" (the first), or a parameter's name. */
struct dt_value {
	bool result;
	unsigned argument; /* 1 to 4; 0: by name */
	const char *name;
	size_t name_length;
};

/* Parses the first n characters of text; false: an error has been reported. */
bool dt_value_parse(struct dt_value *v, const char *text, size_t n);

/* Where the value is in the records of a function. */
struct dt_value_place {
	uint8_t index; /* into dt_record.value */
	uint8_t size;  /* bytes */
	char type;     /* 'i' signed, 'u' unsigned, 'f' floating: cut to the integer below */
};

/* Finds the place by a signature (symbols/symtab.h), which may be "". False: the function has no
 * such value. */
bool dt_value_find(const struct dt_value *v, const char *signature, struct dt_value_place *place);

/* Returns the number at a place in a record's values. */
struct dt_number dt_value_get(const struct dt_value_place *place, const uint64_t *value);

/* A pass over the values of a trace file or a text trace. */
struct dt_values {
	struct dt_value value;
	struct dt_selection select;
	struct dt_range_options when;
	const char *filter;    /* only calls that these words mean; NULL: all */
	const char *symbols;   /* path of a file with symbols, for a text trace; or NULL */
	const char *option;    /* that the value is named by */
	struct dt_needs needs; /* what the command needs apart from the trace */
	bool durations; /* take, instead of values, the calls' durations in ns, where known */
	int (*take)(void *ctx, uint32_t pid, struct dt_number v); /* -1: out of memory */
	void *ctx;
};

/* The options that such commands share, for getopt_long(). */
#define DT_VALUES_OPTIONS "F:N:f:"
/* clang-format off */
#define DT_VALUES_LONG                                \
	{"function", required_argument, NULL, 'F'},   \
	{"no-function", required_argument, NULL, 'N'}, \
	{"filter", required_argument, NULL, 'f'},     \
	{"from", required_argument, NULL, 301},       \
	{"to", required_argument, NULL, 302},         \
	{"symbols", required_argument, NULL, 303}
/* clang-format on */
/* Takes option o; false: it is none of those above. *status >= 0: exit with that. */
bool dt_values_option(struct dt_values *v, int o, int *status);

/* Calls v->take for each value in the trace argv[optind], which dt_cmd_open() opens, or in a text
 * trace, from standard input for "-". Returns the exit status. */
int dt_values_run(struct dt_values *v, int argc, char **argv, const char *command);

#endif
