/* SPDX-License-Identifier: MIT */
/* Texts by number: each text has one number, from 0 on in the order in which they were met. */
#ifndef DT_IMPORT_NAMES_H
#define DT_IMPORT_NAMES_H

#include "core/error.h"

struct dt_name_text {
	uint32_t number;
	char text[];
};

/* Zeroed: none. */
struct dt_name_list {
	void *root; /* a tree (tsearch(3)): no choice of texts makes it slow */
	struct dt_name_text **at;
	uint32_t n, size;
};

/* Returns the number of a text, which it adds if it is new; -1: out of memory. */
int64_t dt_name_number(struct dt_name_list *l, const char *text, struct dt_error *e);
/* Returns the number of the text "a\nb", with a cut at its first newline. */
int64_t dt_name_pair(struct dt_name_list *l, const char *a, const char *b, struct dt_error *e);
void dt_name_list_free(struct dt_name_list *l);

#endif
