/* SPDX-License-Identifier: MIT */
#include "elf/slots.h"

#include <gelf.h>
#include <limits.h>
#include <sys/stat.h>

#include "arch/arch.h"

/* Looks for the slot in one table of relocations. */
static const char *look_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t address)
{
	Elf_Data *d = elf_getdata(scn, NULL), *symbols;
	Elf_Scn *of = elf_getscn(elf, sh->sh_link);
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Shdr table;
	GElf_Rela r;
	GElf_Sym sym;

	if (!n || !of || !gelf_getshdr(of, &table) || !(symbols = elf_getdata(of, NULL)))
		return NULL;
	for (size_t i = 0; i < n && i <= INT_MAX; i++)
		if (gelf_getrela(d, (int)i, &r) && r.r_offset == address &&
		    dt_relocation_of(GELF_R_TYPE(r.r_info)) == DT_RELOCATION_SLOT &&
		    gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &sym) &&
		    sym.st_shndx == SHN_UNDEF)
			return elf_strptr(elf, table.sh_link, sym.st_name);
	return NULL;
}

const char *dt_slot_name(Elf *elf, int fd, uint64_t address)
{
	const char *name = NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	struct stat st;
	uint64_t left;

	/* a file can have thousands of tables that are all the same bytes: together they are not
	 * larger than the file */
	if (gelf_getclass(elf) != ELFCLASS64 || fstat(fd, &st) < 0)
		return NULL;
	left = (uint64_t)st.st_size;
	while (!name && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_size > left)
			break;
		left -= sh.sh_size;
		name = look_in(elf, scn, &sh, address);
	}
	return name;
}
