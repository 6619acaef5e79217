/* SPDX-License-Identifier: MIT */
/* See go.h. Each Go program has a table of functions (.gopclntab), which says where they are. */
#include "elf/go.h"

#include <string.h>

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

/* The head of the table, as of Go 1.18. */
struct head {
	uint32_t magic;
	uint8_t zero[2];
	uint8_t quantum, pointer; /* the smallest size of an instruction; the size of a pointer */
	uint64_t functions, files;
	uint64_t text; /* address of the first function; 0: a relocation gives it */
	uint64_t names, units, file_table, pcs;
	/*
	 * offset of pairs of numbers, of which the first is where a function begins, relative to
	 * text; after the last pair follows where the code ends
	 */
	uint64_t table;
};

static bool range_of(const uint8_t *bytes, size_t size, uint64_t *low, uint64_t *high)
{
	struct head h;
	uint32_t end;

	if (size < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if ((h.magic != MAGIC_1_18 && h.magic != MAGIC_1_20) || h.pointer != 8 || !h.text ||
	    h.functions > size / 8 || h.table > size - 4 || size - 4 - h.table < 8 * h.functions)
		return false;
	memcpy(&end, bytes + h.table + 8 * h.functions, sizeof(end));
	*low = h.text;
	*high = h.text + end;
	return true;
}

bool dt_go_range(Elf *elf, uint64_t *low, uint64_t *high)
{
	static const char *const mark[] = {".go.buildinfo", ".note.go.buildid", ".gopclntab",
					   ".data.rel.ro.gopclntab"};
	Elf_Scn *s = NULL;
	bool is = false;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((s = elf_nextscn(elf, s))) {
		const char *name = gelf_getshdr(s, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *d;

		for (size_t i = 0; name && i < sizeof(mark) / sizeof(*mark); i++)
			is = is || !strcmp(name, mark[i]);
		if (!name || !strstr(name, ".gopclntab") || sh.sh_type == SHT_NOBITS)
			continue;
		d = elf_rawdata(s, NULL);
		if (d && d->d_buf && range_of(d->d_buf, d->d_size, low, high))
			return true;
	}
	*low = 0;
	*high = UINT64_MAX;
	return is;
}
