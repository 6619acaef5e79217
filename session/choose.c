/* SPDX-License-Identifier: MIT */
/* Which sites of a file are to be switched on, by the session's patterns. */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

static size_t index_of(const struct dt_function *f, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : n;
}

/* The DWARF index is built now, while nobody waits for a record to be taken. */
static void warm(struct dt_symtab *t)
{
	const struct dt_function *f;
	char text[16];
	size_t n;

	f = dt_symtab_functions(t, &n);
	if (n)
		dt_symtab_signature(t, &f[n / 2], text, sizeof(text));
}

int dt_choose(void *session, struct dt_file *file, struct dt_error *e)
{
	struct dt_session *s = session;
	struct dt_symtab *t = dt_file_symtab(file);
	const struct dt_elf *elf = file->elf;
	const struct dt_function *f;
	bool *wanted;
	size_t n = 0;

	if (t)
		warm(t);
	if (s->options.select.n == 0) {
		memset(file->chosen, 1, elf->sites);
		file->chosen_sites = elf->sites;
		return 0;
	}
	if (!t)
		return 0; /* without names, no pattern matches */
	f = dt_symtab_functions(t, &n);
	wanted = calloc(n + 1, sizeof(*wanted));
	if (!wanted || dt_selection_symtab(&s->options.select, file->path, t, wanted) < 0) {
		free(wanted);
		return dt_fail(e, "out of memory");
	}
	for (size_t i = 0; i < elf->sites; i++) {
		size_t k = index_of(f, n, elf->site[i].function);

		file->chosen[i] = k < n && wanted[k];
		file->chosen_sites += file->chosen[i];
	}
	free(wanted);
	return 0;
}
