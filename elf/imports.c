/* SPDX-License-Identifier: MIT */
#include "elf/imports.h"

#include <elf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 1024	/* bytes of a text that is taken for a name */
#define MOST	1000000 /* names; further ones are left out */

struct dt_imports {
	char *symbols, *strings, *texts; /* sections of the file, in which the names are */
	struct hsearch_data table;
	const char **name;
	size_t n, room;
	bool looks_up; /* it calls dlsym or its like */
};

void dt_imports_free(struct dt_imports *m)
{
	if (!m)
		return;
	hdestroy_r(&m->table);
	free(m->name);
	free(m->symbols);
	free(m->strings);
	free(m->texts);
	free(m);
}

static bool add(struct dt_imports *m, const char *name)
{
	if (m->n == MOST)
		return true;
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 512;
		const char **more = realloc(m->name, room * sizeof(*more));

		if (!more)
			return false;
		m->name = more;
		m->room = room;
	}
	m->name[m->n++] = name;
	return true;
}

/* Adds the undefined symbols that may be functions. */
static bool add_symbols(struct dt_imports *m, struct dt_elf *f)
{
	uint64_t size, strings;

	m->symbols = dt_elf_section(f, ".dynsym", &size, NULL);
	m->strings = dt_elf_section(f, ".dynstr", &strings, NULL); /* a NUL follows it */
	for (uint64_t at = 0; m->symbols && m->strings && at + sizeof(Elf64_Sym) <= size;
	     at += sizeof(Elf64_Sym)) {
		unsigned char type;
		Elf64_Sym s;

		memcpy(&s, m->symbols + at, sizeof(s));
		type = ELF64_ST_TYPE(s.st_info);
		if (s.st_shndx != SHN_UNDEF || s.st_name >= strings ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		if (!m->strings[s.st_name])
			continue;
		if (!add(m, m->strings + s.st_name))
			return false;
		m->looks_up = m->looks_up || strcmp(m->strings + s.st_name, "dlsym") == 0 ||
			      strcmp(m->strings + s.st_name, "dlvsym") == 0;
	}
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Adds the texts that could be names of functions. */
static bool add_texts(struct dt_imports *m, struct dt_elf *f)
{
	uint64_t size, begin = 0;

	m->texts = dt_elf_section(f, ".rodata", &size, NULL);
	for (uint64_t i = 0; m->texts && i < size; i++) {
		char c = m->texts[i];

		if (is_letter(c) || (i > begin && c >= '0' && c <= '9'))
			continue;
		if (!c && i > begin && i - begin < LONGEST && !add(m, m->texts + begin))
			return false;
		/* a name begins after a NUL; what is after another byte ends no name either */
		if (c)
			while (i < size && m->texts[i])
				i++;
		begin = i + 1;
	}
	return true;
}

struct dt_imports *dt_imports_read(struct dt_elf *f)
{
	struct dt_imports *m = calloc(1, sizeof(*m));

	if (!m || !add_symbols(m, f) || (m->looks_up && !add_texts(m, f)) ||
	    !hcreate_r(m->n + m->n / 2 + 1, &m->table))
		goto fail;
	for (size_t i = 0; i < m->n; i++) {
		ENTRY *found, entry = {.key = (char *)(uintptr_t)m->name[i]};

		if (!hsearch_r(entry, ENTER, &found, &m->table))
			goto fail;
	}
	return m;
fail:
	dt_imports_free(m);
	return NULL;
}

bool dt_imports_has(const struct dt_imports *m, const char *name)
{
	ENTRY *found, entry = {.key = (char *)(uintptr_t)name};

	return hsearch_r(entry, FIND, &found, (struct hsearch_data *)(uintptr_t)&m->table) != 0;
}
