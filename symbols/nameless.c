/* SPDX-License-Identifier: MIT */
#include "symbols/nameless.h"

#include <elf.h>
#include <string.h>

#include "elf/elf.h"
#include "symbols/symtab.h"

void dt_nameless(char *out, size_t size, const char *path, uint64_t address)
{
	const char *slash = strrchr(path, '/');

	dt_format(out, size, "%s+0x%lx", slash ? slash + 1 : path, (unsigned long)address);
}

const char *dt_nameless_address(const char *name)
{
	const char *plus = strrchr(name, '+'), *at = plus ? plus + 1 : name;
	size_t digits;

	if (plus == name || strncmp(at, "0x", 2))
		return NULL;
	digits = strspn(at + 2, "0123456789abcdef");
	return digits && !at[2 + digits] ? at : NULL;
}

bool dt_nameless_program(const char *path)
{
	struct dt_elf *elf = dt_elf_open(path, NULL);
	struct dt_symtab *t = elf && !elf->sleds ? dt_symtab_open(path, NULL, NULL) : NULL;
	uint64_t named = 0, code = 0;
	const struct dt_function *f;
	size_t n = 0;

	f = t ? dt_symtab_functions(t, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (!f[i].start) /* a program may be little more than main */
			named += f[i].size;
	for (size_t i = 0; t && i < elf->loads; i++)
		if (elf->load[i].flags & PF_X)
			code += elf->load[i].filesz;
	dt_symtab_close(t);
	dt_elf_close(elf);
	return code && named < code / 10;
}
