/* SPDX-License-Identifier: MIT */
/* What pointers lead to. A file's range of addresses is read when the trace names the file, its
 * symbols when the first pointer leads into it. */
#include "show/pointer.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "core/text.h"
#include "elf/elf.h"
#include "symbols/symtab.h"
#include "store/sites.h"

#define FOUND	   1024 /* answers that are kept in the cache; a power of two */
#define NAME_BYTES (DT_POINTER_TEXT - 32)

/* A file, which several processes may have mapped. */
struct file {
	const char *path, *build_id;
	uint64_t low, high;	  /* the file's own addresses; equal: it is gone, or has changed */
	struct dt_symtab *symtab; /* NULL: not opened, or not readable */
	bool opened;
};

/* Where a process has a file mapped, [low, high). */
struct mapping {
	uint32_t pid, file; /* file: an index; UINT32_MAX: ambiguous */
	uint64_t low, high, base;
};

/* An answer in the cache. */
struct found {
	uint64_t address;
	uint32_t pid;
	uint32_t offset;  /* of the address from where `name' begins */
	const char *name; /* NULL: nothing is known there */
	bool used;
};

/* Code that was made at run time: the row of the trace, counted from 0. */
struct jit {
	struct dt_jit_info code;
	size_t row;
};

struct dt_pointers {
	const struct dt_reader *reader;
	uint32_t modules; /* rows that have been looked at */
	struct file *file;
	size_t files;
	struct mapping *mapping; /* sorted by pid, then low */
	size_t mappings;
	uint64_t low, high; /* bounds of all mappings */
	struct jit *jit;    /* code made at run time, by process and address */
	size_t jits;
	uint64_t jit_low, jit_high; /* bounds of all of it */
	struct found found[FOUND];
};

static int by_jit(const void *a, const void *b)
{
	const struct jit *x = a, *y = b;

	if (x->code.pid != y->code.pid)
		return x->code.pid < y->code.pid ? -1 : 1;
	if (x->code.low != y->code.low)
		return x->code.low < y->code.low ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Sorts the code that was made at run time; what a live trace gains later is not seen. */
static void read_jit(struct dt_pointers *p)
{
	size_t n;
	const struct dt_jit_info *code = dt_reader_jit(p->reader, &n);

	p->jit = n ? malloc(n * sizeof(*p->jit)) : NULL;
	if (!p->jit)
		return;
	p->jit_low = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		p->jit[i] = (struct jit){code[i], i};
		p->jit_low = code[i].low < p->jit_low ? code[i].low : p->jit_low;
		p->jit_high = code[i].high > p->jit_high ? code[i].high : p->jit_high;
	}
	p->jits = n;
	qsort(p->jit, n, sizeof(*p->jit), by_jit);
}

#define BACK 8 /* pieces that are looked at: of one file they do not overlap, and there are two */

/* Returns the code made at run time that has the address; NULL: there is none. */
static const struct dt_jit_info *jit_at(const struct dt_pointers *p, uint32_t pid, uint64_t address)
{
	const struct jit *m = p->jit;
	size_t at = dt_count_before(p->jits, i,
				    m[i].code.pid < pid ||
					    (m[i].code.pid == pid && m[i].code.low <= address));

	for (size_t i = 0; i < BACK && at-- && m[at].code.pid == pid; i++)
		if (address < m[at].code.high)
			return &m[at].code;
	return NULL;
}

struct dt_pointers *dt_pointers_new(const struct dt_reader *r)
{
	struct dt_pointers *p = calloc(1, sizeof(*p));

	if (p) {
		p->reader = r;
		p->low = UINT64_MAX;
		read_jit(p);
	}
	return p;
}

void dt_pointers_free(struct dt_pointers *p)
{
	for (size_t i = 0; p && i < p->files; i++)
		dt_symtab_close(p->file[i].symtab);
	if (p) {
		free(p->file);
		free(p->mapping);
		free(p->jit);
	}
	free(p);
}

/* Returns the index of a module's file; -1: out of memory. */
static int file_of(struct dt_pointers *p, const struct dt_module_info *m)
{
	struct dt_elf *elf;
	struct file *f;

	for (size_t i = 0; i < p->files; i++)
		if (!strcmp(p->file[i].path, m->path) && !strcmp(p->file[i].build_id, m->build_id))
			return (int)i;
	f = realloc(p->file, (p->files + 1) * sizeof(*f));
	if (!f)
		return -1;
	p->file = f;
	f += p->files;
	*f = (struct file){.path = m->path, .build_id = m->build_id};
	elf = dt_elf_open(m->path, NULL);
	if (elf && !strcmp(elf->build_id, m->build_id)) {
		f->low = elf->low;
		f->high = elf->high;
	}
	dt_elf_close(elf);
	return (int)p->files++;
}

static int by_place(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->low < y->low ? -1 : x->low > y->low;
}

/* Marks places where a process had two files at different times: which of them a pointer meant is
 * not known. */
static void drop_ambiguous(struct dt_pointers *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->mappings; i++) {
		struct mapping *m = &p->mapping[i], *last = n ? &p->mapping[n - 1] : NULL;

		if (!last || last->pid != m->pid || last->high <= m->low) {
			p->mapping[n++] = *m;
		} else if (last->file != m->file || last->base != m->base) {
			last->file = UINT32_MAX;
			if (m->high > last->high)
				last->high = m->high;
		}
	}
	p->mappings = n;
}

/* Adds the modules that a live trace has gained since the last call. */
static void look(struct dt_pointers *p)
{
	uint32_t n = dt_reader_modules(p->reader);
	struct mapping *all;

	if (__builtin_expect(n == p->modules, 1))
		return;
	all = realloc(p->mapping, (p->mappings + n - p->modules) * sizeof(*all));
	if (!all)
		return;
	p->mapping = all;
	memset(p->found, 0, sizeof(p->found));
	for (; p->modules < n; p->modules++) {
		const struct dt_module_info *m = dt_reader_module(p->reader, p->modules + 1);
		int file = m && m->path[0] ? file_of(p, m) : -1;
		struct mapping *to = &all[p->mappings];

		if (file < 0 || p->file[file].low == p->file[file].high)
			continue;
		*to = (struct mapping){.pid = m->pid,
				       .file = (uint32_t)file,
				       .low = m->base + p->file[file].low,
				       .high = m->base + p->file[file].high,
				       .base = m->base};
		if (to->low >= to->high)
			continue;
		p->low = to->low < p->low ? to->low : p->low;
		p->high = to->high > p->high ? to->high : p->high;
		p->mappings++;
	}
	qsort(all, p->mappings, sizeof(*all), by_place);
	drop_ambiguous(p);
}

bool dt_pointers_any(struct dt_pointers *p, uint64_t address)
{
	look(p);
	if (address >= p->jit_low && address < p->jit_high)
		return true;
	if (address < p->low || address >= p->high)
		return false;
	for (size_t i = 0; i < p->mappings; i++)
		if (address >= p->mapping[i].low && address < p->mapping[i].high)
			return true;
	return false;
}

static const struct mapping *mapping_of(const struct dt_pointers *p, uint32_t pid, uint64_t address)
{
	const struct mapping *m = p->mapping;
	size_t low = dt_count_before(p->mappings, i,
				     m[i].pid < pid || (m[i].pid == pid && m[i].low <= address));

	if (!low || p->mapping[low - 1].pid != pid || address >= p->mapping[low - 1].high ||
	    p->mapping[low - 1].file == UINT32_MAX)
		return NULL;
	return &p->mapping[low - 1];
}

static void find(struct dt_pointers *p, struct found *out)
{
	const struct dt_jit_info *jit = jit_at(p, out->pid, out->address);
	const struct mapping *m = mapping_of(p, out->pid, out->address);
	const struct dt_function *function;
	const struct dt_object *object;
	struct file *f;
	uint64_t at;

	out->name = NULL;
	/* a mapped file comes first: nobody else says what is there */
	if (!m && jit && jit->start <= out->address && out->address - jit->start <= UINT32_MAX) {
		out->name = jit->name;
		out->offset = (uint32_t)(out->address - jit->start);
	}
	if (!m)
		return;
	f = &p->file[m->file];
	at = out->address - m->base;
	if (!f->opened) {
		f->opened = true;
		f->symtab = dt_symtab_open_late(f->path);
	}
	if (!f->symtab)
		return;
	object = dt_symtab_object(f->symtab, at);
	function = object ? NULL : dt_symtab_find(f->symtab, at);
	if (!object && !function)
		return;
	at -= object ? object->address : function->address;
	if (at > UINT32_MAX)
		return;
	out->offset = (uint32_t)at;
	out->name = object ? object->name : function->name;
}

const char *dt_pointers_name(struct dt_pointers *p, uint32_t pid, uint64_t address,
			     uint64_t *offset)
{
	struct found *f = &p->found[dt_hash(address + pid) & (FOUND - 1)];

	look(p);
	if (!f->used || f->address != address || f->pid != pid) {
		*f = (struct found){.used = true, .address = address, .pid = pid};
		find(p, f);
	}
	*offset = f->offset;
	return f->name;
}

char *dt_pointers_put(struct dt_pointers *p, char *out, uint32_t pid, uint64_t address)
{
	uint64_t offset;
	const char *name = dt_pointers_name(p, pid, address, &offset);
	size_t n;

	if (!name)
		return out;
	n = strnlen(name, NAME_BYTES);
	*out++ = ' ';
	*out++ = '<';
	memcpy(out, name, n);
	out += n;
	if (name[n])
		out = stpcpy(out, "...");
	if (offset) {
		*out++ = '+';
		out += dt_text_hex(out, offset);
	}
	*out++ = '>';
	return out;
}
