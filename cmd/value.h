/* SPDX-License-Identifier: MIT */
/* One value of each call: an argument or the result, for the commands that count values. */
#ifndef DT_CMD_VALUE_H
#define DT_CMD_VALUE_H

#include "cmd/open.h"

/* A value as its type says; of a type that is not known, a signed number of 64 bits. */
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

/* The first n characters of text; false: an error was said. */
bool dt_value_parse(struct dt_value *v, const char *text, size_t n);

/* Where a value of a function is. */
struct dt_value_place {
	uint8_t index; /* into dt_record.value */
	uint8_t size;  /* bytes */
	char type;     /* i signed, u not, f floating: then cut to the integer below */
};

/* From a signature (symbols/symtab.h), which may be "". False: it has no such value. */
bool dt_value_find(const struct dt_value *v, const char *signature, struct dt_value_place *place);

struct dt_number dt_value_get(const struct dt_value_place *place, const uint64_t *value);

/* A pass over the values of a trace file or a text trace. */
struct dt_values {
	struct dt_value value;
	struct dt_selection select;
	struct dt_range_options when;
	const char *symbols;   /* for text */
	struct dt_needs needs; /* beside the file */
	bool durations; /* instead of values: how long calls took, in ns, where that is known */
	int (*take)(void *ctx, uint32_t pid, struct dt_number v); /* -1: out of memory */
	void *ctx;
};

/* Options that such commands share: true when o was one, *status >= 0: stop with that. */
#define DT_VALUES_OPTIONS "F:N:"
/* clang-format off */
#define DT_VALUES_LONG                                \
	{"function", required_argument, NULL, 'F'},   \
	{"no-function", required_argument, NULL, 'N'}, \
	{"from", required_argument, NULL, 101},       \
	{"to", required_argument, NULL, 102},         \
	{"symbols", required_argument, NULL, 103}
/* clang-format on */
bool dt_values_option(struct dt_values *v, int o, int *status);

/* Reads argv[optind], as dt_cmd_open(); text from standard input for "-". The exit status. */
int dt_values_run(struct dt_values *v, int argc, char **argv, const char *command);

#endif
