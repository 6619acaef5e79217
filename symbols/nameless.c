/* SPDX-License-Identifier: MIT */
#include "symbols/nameless.h"

#include <elf.h>
#include <string.h>

#include "elf/elf.h"
#include "symbols/symtab.h"

void dt_nameless(char *out, size_t size, const char *path, uint64_t address, const char *passes)
{
	const char *slash = strrchr(path, '/');

	dt_format(out, size, "%s+0x%lx%s%s", slash ? slash + 1 : path, (unsigned long)address,
		  passes ? "->" : "", passes ? passes : "");
}

/* Returns the length of an address at text, behind which the name ends or says what is passed on
 * to; 0: there is none. */
static size_t address_at(const char *text)
{
	size_t digits = strncmp(text, "0x", 2) ? 0 : strspn(text + 2, "0123456789abcdef");

	return digits && (!text[2 + digits] || !strncmp(text + 2 + digits, "->", 2)) ? 2 + digits
										     : 0;
}

const char *dt_nameless_address(const char *name, size_t *n)
{
	*n = address_at(name);
	if (*n)
		return name;
	for (const char *p = *name ? name + 1 : name; (p = strchr(p, '+')); p++)
		if ((*n = address_at(p + 1)))
			return p + 1;
	return NULL;
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
		if (!f[i].start && !f[i].go) /* a program may be little more than main; Go's
					   functions are not hooked */
			named += f[i].size;
	for (size_t i = 0; t && i < elf->loads; i++)
		if (elf->load[i].flags & PF_X)
			code += elf->load[i].filesz;
	dt_symtab_close(t);
	dt_elf_close(elf);
	return code && named < code / 10;
}
