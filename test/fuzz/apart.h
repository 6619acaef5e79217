/* SPDX-License-Identifier: MIT */
/* What is asked of a process apart, in this order, by test/fuzz/apart.c and by who makes its seeds,
 * test/tool/tell-apart.c. */
#ifndef DT_TEST_FUZZ_APART_H
#define DT_TEST_FUZZ_APART_H

#include <string.h>

#include "symbols/code.h"
#include "symbols/symtab.h"
#include "symbols/variable.h"

#define FUZZ_APART_FUNCTIONS 4 /* that more is asked of */

static inline void fuzz_apart_count(void *ctx, uint64_t address, const char *name)
{
	*(uint64_t *)ctx += address + strlen(name);
}

/* Returns the map of the code, or NULL. */
static inline struct dt_code *fuzz_apart_ask(struct dt_symtab *t, const char *path,
					     struct dt_error *e)
{
	const struct dt_function *f;
	struct dt_variable v;
	const char *file;
	uint64_t sum = 0;
	unsigned line;
	char text[256];
	size_t n;

	f = dt_symtab_functions(t, &n);
	dt_symtab_aliases(t, fuzz_apart_count, &sum);
	for (size_t i = 0; i < n && i < FUZZ_APART_FUNCTIONS; i++) {
		dt_symtab_line(t, f[i].address, &file, &line);
		dt_symtab_described(t, &f[i], text, sizeof(text));
		dt_symtab_places(t, &f[i], text, sizeof(text));
		dt_symtab_object(t, f[i].address);
		dt_variable_find(t, f[i].address, "p->next", &v, e);
	}
	dt_symtab_type(t, 0x30, text, sizeof(text));
	dt_symtab_address(t, "seed.c", 6, 3, &sum);
	return dt_code_open(path, t, e);
}

#endif
