/* SPDX-License-Identifier: MIT */
/* Finds the variables of an ELF file. */
#include "symbols/symtab-work.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

struct objects {
	struct dt_symtab *t;
	struct dt_object *object;
	size_t n, room;
	size_t read, named; /* symbols read; bytes of all names */
	bool damaged;
};

/* Looks whether headers put more tables and names into the file than it has bytes. */
static bool is_damaged(const struct objects *all)
{
	size_t most = dt_symtab_bytes(all->t);

	return all->read > most / sizeof(Elf32_Sym) + 1 ||
	       all->named / DT_SYMTAB_NAMES_SHARE > most;
}

static int add_object(struct objects *all, const GElf_Sym *s, const char *name)
{
	const char *version = strchr(name + 1, '@');

	if (all->n == all->room) {
		size_t room = all->room ? all->room * 2 : 256;
		struct dt_object *p = realloc(all->object, room * sizeof(*p));

		if (!p)
			return -1;
		all->object = p;
		all->room = room;
	}
	if (version)
		name = dt_symtab_keep(all->t, name, (size_t)(version - name));
	if (!name)
		return -1;
	all->object[all->n++] = (struct dt_object){s->st_value, s->st_size, name};
	return 0;
}

static bool read_objects(struct objects *all, const struct dt_symfile *f, uint32_t type)
{
	size_t before = all->n;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym s;

	while ((scn = elf_nextscn(f->elf, scn))) {
		Elf_Data *d;
		size_t n;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type || !(d = elf_getdata(scn, NULL)))
			continue;
		n = d->d_size / sizeof(Elf64_Sym);
		all->read += n;
		if (is_damaged(all)) {
			all->damaged = true;
			return false;
		}
		for (size_t i = 1; i < n; i++) {
			const char *name;

			if (!gelf_getsym(d, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_OBJECT ||
			    s.st_shndx == SHN_UNDEF || !s.st_size || s.st_size > 1ull << 40)
				continue;
			name = elf_strptr(f->elf, sh.sh_link, s.st_name);
			if (!name || !name[0])
				continue;
			all->named += strlen(name);
			if (add_object(all, &s, name) < 0)
				return false;
		}
	}
	return all->n > before;
}

/* Sorts by address; at one address the larger one first, then the better name. */
static int objects_by_address(const void *a, const void *b)
{
	const struct dt_object *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	if (dt_symtab_underscores(x->name) != dt_symtab_underscores(y->name))
		return dt_symtab_underscores(x->name) < dt_symtab_underscores(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void open_objects(struct dt_symtab *t)
{
	struct objects all = {.t = t};
	uint64_t end = 0;

	t->objects_read = true;
	/* what else there is in a file with a table of its own hangs on its functions */
	if (t->late && !dt_symtab_has_table(&t->main))
		dt_symtab_debug_file(t);
	else
		dt_symtab_need_functions(t);
	if (!read_objects(&all, &t->main, SHT_SYMTAB) && t->debug.fd >= 0)
		read_objects(&all, &t->debug, SHT_SYMTAB);
	read_objects(&all, &t->main, SHT_DYNSYM);
	if (all.damaged || is_damaged(&all)) {
		free(all.object);
		return;
	}
	if (all.n)
		qsort(all.object, all.n, sizeof(*all.object), objects_by_address);
	t->object = all.object;
	for (size_t i = 0; i < all.n; i++) {
		struct dt_object *o = &all.object[i];
		const char *name;

		if (o->address + o->size <= end)
			continue; /* inside a previous one, or a repetition of it */
		name = dt_symtab_demangle(t, o->name);
		t->object[t->objects] = *o;
		if (name)
			t->object[t->objects].name = name;
		t->objects++;
		end = o->address + o->size;
	}
}

const struct dt_object *dt_symtab_object(struct dt_symtab *t, uint64_t address)
{
	size_t low;

	if (t->apart)
		return t->apart->object(t, address);
	if (!t->objects_read)
		open_objects(t);
	low = dt_count_before(t->objects, i, t->object[i].address <= address);
	if (!low || address - t->object[low - 1].address >= t->object[low - 1].size)
		return NULL;
	return &t->object[low - 1];
}
