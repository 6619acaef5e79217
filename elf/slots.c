/* SPDX-License-Identifier: MIT */
#include "elf/slots.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"

#define NAME_MOST 4096 /* bytes of a name; longer ones are left out */

/* Adds the slots of one table of relocations. Returns false if there is no memory. */
static bool read_table(struct dt_slots *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_getdata(scn, NULL), *symbols;
	Elf_Scn *of = elf_getscn(elf, sh->sh_link);
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	struct dt_slot *more = n ? realloc(s->slot, (s->n + n) * sizeof(*more)) : NULL;
	GElf_Shdr table;
	GElf_Rela r;
	GElf_Sym sym;

	if (!n || !of || !gelf_getshdr(of, &table) || !(symbols = elf_getdata(of, NULL))) {
		s->slot = more ? more : s->slot;
		return true;
	}
	if (!more)
		return false;
	s->slot = more;
	for (size_t i = 0; i < n; i++) {
		const char *name;

		if (!gelf_getrela(d, (int)i, &r) ||
		    dt_relocation_of(GELF_R_TYPE(r.r_info)) != DT_RELOCATION_SLOT ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym) ||
		    sym.st_shndx != SHN_UNDEF)
			continue;
		name = elf_strptr(elf, table.sh_link, sym.st_name);
		if (name && *name && strnlen(name, NAME_MOST) < NAME_MOST)
			s->slot[s->n++] = (struct dt_slot){r.r_offset, name};
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct dt_slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void dt_slots_read(struct dt_slots *s, Elf *elf)
{
	Elf_Scn *scn = NULL;
	bool ok = gelf_getclass(elf) == ELFCLASS64;
	GElf_Shdr sh;

	*s = (struct dt_slots){0};
	while (ok && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
			ok = read_table(s, elf, scn, &sh);
	if (!ok)
		s->n = 0;
	if (s->n)
		qsort(s->slot, s->n, sizeof(*s->slot), by_address);
}

void dt_slots_free(struct dt_slots *s)
{
	free(s->slot);
	*s = (struct dt_slots){0};
}

const char *dt_slots_find(const struct dt_slots *s, uint64_t address)
{
	size_t low = dt_count_before(s->n, i, s->slot[i].address < address);

	return low < s->n && s->slot[low].address == address ? s->slot[low].name : NULL;
}
