/* SPDX-License-Identifier: MIT */
/* DWARF: signatures, types, source lines and variables of every function of an executable. */
#include "symbols/symtab.h"
#include "symbols/variable.h"
#include "test/fuzz/elf.h"

#define MOST 200 /* functions that are looked at */

static struct dt_error error;

/* The types that a described signature has numbers of, and those that these are made of. */
static void types(struct dt_symtab *t, const char *text, int depth)
{
	char buf[4096];

	for (const char *p = strchr(text, '#'); p && depth < 4; p = strchr(p + 1, '#')) {
		uint64_t key = strtoull(p + 1, NULL, 16);

		if (dt_symtab_type(t, key, buf, sizeof(buf)))
			types(t, buf, depth + 1);
	}
}

static void signatures(struct dt_symtab *t, const struct dt_function *f)
{
	static const size_t sizes[] = {4096, 200, 24, 1};
	char buf[4096];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		dt_symtab_signature(t, f, buf, sizes[i]);
		fuzz_must(strlen(buf) < sizes[i]);
		dt_symtab_places(t, f, buf, sizes[i]);
		fuzz_must(strlen(buf) < sizes[i]);
	}
	dt_symtab_described(t, f, buf, sizeof(buf));
	types(t, buf, 0);
}

static void variables(struct dt_symtab *t, uint64_t address)
{
	static const char *const expression[] = {"n",	   "*p",      "p->next->len", "argv[1]",
						 "&point", "point.x", "counter",      "s->inner.b"};
	struct dt_variable v;

	for (size_t i = 0; i < sizeof(expression) / sizeof(*expression); i++)
		if (dt_variable_find(t, address, expression[i], &v, &error) < 0)
			fuzz_must(error.text[0] && !strchr(error.text, '\n'));
}

static void function(struct dt_symtab *t, const struct dt_function *f)
{
	const char *file;
	unsigned line;
	uint64_t back;

	signatures(t, f);
	if (dt_symtab_line(t, f->address, &file, &line))
		dt_symtab_address(t, file, strlen(file), line, &back);
	variables(t, f->address);
	variables(t, f->address + f->size / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dt_function *f;
	struct dt_symtab *t;
	size_t n;

	fuzz_begin();
	t = dt_symtab_open(fuzz_file("input", data, size), "/nonexistent", &error);
	if (!t)
		return 0;
	f = dt_symtab_functions(t, &n);
	for (size_t i = 0; i < n && i < MOST; i++)
		function(t, &f[i]);
	dt_symtab_close(t);
	return 0;
}

static int is_wanted(const char *name)
{
	return strncmp(name, ".debug", 6) == 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return fuzz_elf_mutate(data, size, max, seed, is_wanted);
}
