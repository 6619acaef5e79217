/* SPDX-License-Identifier: MIT */
#include "elf/imports.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

#define LONGEST	     4096    /* bytes of a name that is imported */
#define LONGEST_TEXT 256     /* bytes of a text that is taken for a name */
#define MOST	     1000000 /* names of either kind */

/* Names that are sorted. They are in the file's sections. */
struct names {
	struct name {
		const char *p; /* not ended by a NUL */
		uint32_t n;    /* bytes */
	} * name;
	size_t n, room;
};

#define MASK 4096 /* bits */

struct dt_imports {
	char *symbols, *strings, *texts; /* sections of the file, in which the names are */
	struct names imported;		 /* sorted from their first bytes on */
	uint64_t mask[MASK / 64];	 /* bits of these: most names that are asked for are not */
	/* sorted from their last bytes on: of two texts of which one ends as the other, the linker
	 * keeps only the longer one */
	struct names looked_up;
	bool all; /* there are more names than have been read */
};

void dt_imports_free(struct dt_imports *m)
{
	if (!m)
		return;
	free(m->imported.name);
	free(m->looked_up.name);
	free(m->symbols);
	free(m->strings);
	free(m->texts);
	free(m);
}

/* Returns false if there is no room for more. */
static bool add(struct names *k, const char *name, size_t n)
{
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 512;
		struct name *more = k->n < MOST ? realloc(k->name, room * sizeof(*more)) : NULL;

		if (!more)
			return false;
		k->name = more;
		k->room = room;
	}
	k->name[k->n++] = (struct name){name, (uint32_t)n};
	return true;
}

/* Adds the undefined symbols that may be functions. Returns whether the file looks names up. */
static bool add_symbols(struct dt_imports *m, struct dt_elf *f)
{
	bool looks_up = false;
	uint64_t size, strings;

	m->symbols = dt_elf_section(f, ".dynsym", &size, NULL);
	m->strings = dt_elf_section(f, ".dynstr", &strings, NULL); /* a NUL follows it */
	for (uint64_t at = 0; m->symbols && m->strings && at + sizeof(Elf64_Sym) <= size;
	     at += sizeof(Elf64_Sym)) {
		unsigned char type;
		const char *name;
		Elf64_Sym s;
		size_t n;

		memcpy(&s, m->symbols + at, sizeof(s));
		type = ELF64_ST_TYPE(s.st_info);
		if (s.st_shndx != SHN_UNDEF || s.st_name >= strings ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		name = m->strings + s.st_name;
		n = strnlen(name, LONGEST + 1);
		if (n)
			m->all = m->all || n > LONGEST || !add(&m->imported, name, n);
		looks_up = looks_up || strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
	}
	return looks_up;
}

/* Returns the bit of a name, by its length and some of its bytes. */
static unsigned bit_of(const char *name, size_t n)
{
	const unsigned char *p = (const unsigned char *)name;

	return n ? (unsigned)(n * 977 + p[0] * 59u + p[n / 2] * 331u + p[n - 1] * 13u) % MASK : 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Adds the texts that could be names of functions: what a NUL follows, back to a byte that is in no
 * name. Of longer ones only the end can be one. */
static void add_texts(struct dt_imports *m, struct dt_elf *f)
{
	uint64_t size, begin = 0;

	m->texts = dt_elf_section(f, ".rodata", &size, NULL);
	for (uint64_t i = 0; m->texts && i < size && !m->all; i++) {
		if (is_letter(m->texts[i]))
			continue;
		if (i - begin > LONGEST_TEXT)
			begin = i - LONGEST_TEXT;
		if (!m->texts[i] && i > begin)
			m->all = !add(&m->looked_up, m->texts + begin, i - begin);
		begin = i + 1;
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return order ? order : x->n < y->n ? -1 : x->n > y->n;
}

static int by_end(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	for (size_t i = 1; i <= x->n && i <= y->n; i++)
		if (x->p[x->n - i] != y->p[y->n - i])
			return x->p[x->n - i] < y->p[y->n - i] ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

struct dt_imports *dt_imports_read(struct dt_elf *f)
{
	struct dt_imports *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	if (add_symbols(m, f) && !m->all)
		add_texts(m, f);
	for (size_t i = 0; i < m->imported.n; i++) {
		unsigned bit = bit_of(m->imported.name[i].p, m->imported.name[i].n);

		m->mask[bit / 64] |= 1ull << bit % 64;
	}
	if (m->imported.n)
		qsort(m->imported.name, m->imported.n, sizeof(struct name), by_begin);
	if (m->looked_up.n)
		qsort(m->looked_up.name, m->looked_up.n, sizeof(struct name), by_end);
	return m;
}

bool dt_imports_has(const struct dt_imports *m, const char *name)
{
	const struct names *k = &m->imported;
	struct name key = {name, (uint32_t)strnlen(name, LONGEST + 1)};
	const struct name *found;
	unsigned bit = bit_of(name, key.n);
	size_t at;

	if (m->all)
		return true;
	if (m->mask[bit / 64] >> bit % 64 & 1) {
		at = dt_count_before(k->n, i, by_begin(&k->name[i], &key) < 0);
		if (at < k->n && by_begin(&k->name[at], &key) == 0)
			return true;
	}
	k = &m->looked_up;
	at = dt_count_before(k->n, i, by_end(&k->name[i], &key) < 0);
	found = &k->name[at];
	return at < k->n && key.n && found->n >= key.n &&
	       memcmp(found->p + found->n - key.n, name, key.n) == 0;
}
