/* SPDX-License-Identifier: MIT */
#include "symbols/code-apart.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/elf.h"
#include "symbols/symtab-apart.h"
#include "symbols/symtab-question.h"
#include "symbols/symtab-work.h"

/* ---- the process's side ---- */

static void put(char **to, const void *from, size_t n)
{
	if (n)
		memcpy(*to, from, n);
	*to += n;
}

static size_t marks_of(const struct dt_code *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->regions; i++)
		n += c->region[i].high - c->region[i].low;
	return n;
}

/*
 * Returns the symtab's index of a name, from *from on: the functions come in the order of the
 * symtab.
 */
static uintptr_t index_of(const struct dt_symtab *t, const char *name, size_t *from)
{
	for (; *from < t->functions; ++*from)
		if (t->function[*from].linkage == name)
			return (*from)++;
	return DT_TOLD_NAMELESS;
}

static void put_functions(char **to, const struct dt_code *c, const struct dt_symtab *t)
{
	size_t at = 0;

	for (size_t i = 0; i < c->functions; i++) {
		struct dt_code_function f = c->function[i];
		size_t before = at;
		uintptr_t name = f.name ? index_of(t, f.name, &at) : DT_TOLD_NAMELESS;

		if (name == DT_TOLD_NAMELESS)
			at = before;
		f.frame = NULL;
		f.name = NULL;
		memcpy(&f.name, &name, sizeof(name));
		put(to, &f, sizeof(f));
	}
}

struct dt_told dt_code_told(int file, const char *path, const struct dt_symtab *t)
{
	struct dt_error e = {""};
	struct dt_code *c = dt_code_open_file(dup(file), path, t, &e);
	struct dt_told_code head;
	size_t size;
	char *text, *to;

	if (!c) {
		text = strdup(e.text);
		return (struct dt_told){-1, text, text ? strlen(text) : 0};
	}
	head = (struct dt_told_code){c->regions, c->functions, c->exits,  c->links,
				     c->crosses, c->low,       c->high,	  c->covered,
				     c->left,	 c->found,     c->go_low, c->go_high};
	size = sizeof(head) + c->regions * sizeof(struct dt_told_region) +
	       c->functions * sizeof(*c->function) + c->exits * sizeof(*c->exit) +
	       c->links * sizeof(*c->link) + c->crosses * sizeof(*c->cross) + marks_of(c);
	text = to = malloc(size + 1);
	if (!text) {
		dt_code_close(c);
		return (struct dt_told){0, NULL, 0};
	}
	put(&to, &head, sizeof(head));
	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *r = &c->region[i];
		const struct dt_told_region one = {r->low, r->high, r->offset, r->plt};

		put(&to, &one, sizeof(one));
	}
	put_functions(&to, c, t);
	put(&to, c->exit, c->exits * sizeof(*c->exit));
	put(&to, c->link, c->links * sizeof(*c->link));
	put(&to, c->cross, c->crosses * sizeof(*c->cross));
	for (size_t i = 0; i < c->regions; i++)
		put(&to, c->region[i].mark, c->region[i].high - c->region[i].low);
	*to = '\0';
	dt_code_close(c);
	return (struct dt_told){0, text, size};
}

/* ---- the side that asks ---- */

/*
 * The part of the answer that has not been read. take() returns the next n elements of size bytes
 * each, or NULL if there are not so many.
 */
struct rest {
	char *at;
	size_t left;
};

static void *take(struct rest *r, uint64_t n, size_t size)
{
	void *p = r->at;

	if (n > r->left / size)
		return NULL;
	r->at += n * size;
	r->left -= n * size;
	return p;
}

static uint64_t size_of(int file)
{
	struct stat st;

	return fstat(file, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

/*
 * Takes the regions. Their bytes are read from the file here; a region that goes beyond the file is
 * refused.
 */
static bool take_regions(struct dt_code *c, const struct dt_told_region *from, struct rest *marks,
			 int file)
{
	uint64_t most = 0, size = size_of(file);

	for (size_t i = 0; i < c->regions; i++) {
		struct dt_code_region *r = &c->region[i];
		uint64_t n = from[i].high - from[i].low;
		uint8_t *bytes;

		*r = (struct dt_code_region){
			.low = from[i].low, .high = from[i].high, .plt = from[i].plt != 0};
		most += n;
		if (!dt_code_is_room(c->region, i, r->low, r->high) || n > size ||
		    most > 16 * size || !(r->mark = take(marks, n, 1)))
			return false;
		r->bytes = bytes = malloc(n);
		if (!bytes || pread(file, bytes, n, (off_t)from[i].offset) != (ssize_t)n)
			return false;
	}
	return true;
}

/*
 * Makes a function's bools and its index of a name valid, whatever numbers the other process wrote
 * there.
 */
static void make_function(struct dt_code_function *f, const struct dt_symtab *t)
{
	bool *const all[] = {&f->found, &f->jumped, &f->part,  &f->falls, &f->anywhere, &f->taken,
			     &f->table, &f->points, &f->stays, &f->ends,  &f->calls,	&f->open};
	uintptr_t name;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		dt_bool_settle(all[i]);
	memcpy(&name, &f->name, sizeof(name));
	f->name = name < t->functions ? t->function[name].linkage : NULL;
	f->frame = NULL;
}

static bool is_link(const struct dt_code *c, const struct dt_code_link *l)
{
	const struct dt_code_region *r = dt_code_region_of(c, l->from);

	return r && l->length && l->length <= DT_INSN_MAX && l->length <= r->high - l->from;
}

static bool is_exit(const struct dt_code *c, const struct dt_exit *x)
{
	const struct dt_code_region *r = dt_code_region_of(c, x->address);

	return r && x->length && x->length <= DT_INSN_MAX && x->length <= r->high - x->address &&
	       x->kind <= DT_EXIT_INDIRECT;
}

static bool is_function(const struct dt_code *c, size_t i)
{
	const struct dt_code_function *f = &c->function[i];
	const struct dt_code_region *r = dt_code_region_of(c, f->start);

	return r && f->end >= f->start && f->end <= r->high && (!i || f->start > f[-1].start) &&
	       f->whole < c->functions && f->next_part < c->functions &&
	       f->trouble <= DT_TROUBLE_UNREACHED && f->first_exit <= c->exits &&
	       f->exits <= c->exits - f->first_exit && f->first_link <= c->links &&
	       f->links <= c->links - f->first_link;
}

/*
 * Do the lists of parts end? No part may follow two others, so there are only rows and rings; and
 * from the heads of the rows all parts that follow another must be met, so there are no rings.
 */
static bool parts_end(const struct dt_code *c)
{
	enum { BEHIND = 1, MET = 2 };
	uint8_t *seen = calloc(1, c->functions + 1);
	bool ok = seen != NULL;

	for (size_t i = 0; i < c->functions && ok; i++) {
		uint32_t next = c->function[i].next_part;

		ok = !next || !seen[next];
		if (next && ok)
			seen[next] = BEHIND;
	}
	for (size_t i = 0; i < c->functions && ok; i++) {
		if (seen[i] & BEHIND)
			continue;
		seen[i] |= MET;
		for (uint32_t k = c->function[i].next_part; k; k = c->function[k].next_part)
			seen[k] |= MET;
	}
	for (size_t i = 0; i < c->functions && ok; i++)
		ok = seen[i] & MET;
	free(seen);
	return ok;
}

static bool are_sorted(const struct dt_code *c)
{
	for (size_t i = 1; i < c->exits; i++)
		if (c->exit[i].address < c->exit[i - 1].address)
			return false;
	for (size_t i = 1; i < c->links; i++)
		if (c->link[i].from < c->link[i - 1].from)
			return false;
	for (size_t i = 1; i < c->crosses; i++)
		if (c->cross[i].to < c->cross[i - 1].to)
			return false;
	return true;
}

static bool is_sound(struct dt_code *c, const struct dt_symtab *t)
{
	for (size_t i = 0; i < c->functions; i++) {
		make_function(&c->function[i], t);
		if (!is_function(c, i))
			return false;
	}
	for (size_t i = 0; i < c->exits; i++) {
		dt_bool_settle(&c->exit[i].into);
		if (!is_exit(c, &c->exit[i]))
			return false;
	}
	for (size_t i = 0; i < c->links; i++)
		if (!is_link(c, &c->link[i]))
			return false;
	for (size_t i = 0; i < c->crosses; i++)
		if (!is_link(c, &c->cross[i]))
			return false;
	return are_sorted(c) && parts_end(c);
}

static bool take_all(struct dt_code *c, size_t bytes, const struct dt_symtab *t, int file)
{
	struct rest rest = {c->apart, bytes};
	const struct dt_told_code *h = take(&rest, 1, sizeof(*h));
	const struct dt_told_region *region = h ? take(&rest, h->regions, sizeof(*region)) : NULL;

	if (!region || !h->regions)
		return false;
	c->region = calloc(h->regions, sizeof(*c->region));
	c->regions = c->region ? h->regions : 0;
	c->function = take(&rest, c->functions = h->functions, sizeof(*c->function));
	c->exit = c->function ? take(&rest, c->exits = h->exits, sizeof(*c->exit)) : NULL;
	c->link = c->exit ? take(&rest, c->links = h->links, sizeof(*c->link)) : NULL;
	c->cross = c->link ? take(&rest, c->crosses = h->crosses, sizeof(*c->cross)) : NULL;
	c->low = h->low;
	c->high = h->high;
	c->covered = h->covered;
	c->left = h->left;
	c->found = h->found;
	c->go_low = h->go_low;
	c->go_high = h->go_high;
	return c->region && c->cross && take_regions(c, region, &rest, file) && is_sound(c, t);
}

/* again: if the answer is not sound, it may be asked for again */
static struct dt_code *open_apart(const char *path, const struct dt_symtab *t, bool again,
				  struct dt_error *e)
{
	struct dt_apart_answer a = {0, 0};
	int file = dt_elf_file(path, true, e);
	struct dt_code *c;

	if (file < 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c) {
		dt_fail(e, "out of memory reading %s", path);
		goto fail;
	}
	c->apart = dt_symtab_apart_code(t, size_of(file), &a, &c->lent);
	if (!c->apart) {
		dt_fail(e, "%s: the process that was to read its code has ended, or did not answer",
			path);
		goto fail;
	}
	if (a.result < 0) {
		dt_fail(e, "%s", c->apart);
		goto fail;
	}
	if (!take_all(c, a.bytes, t, file)) {
		if (again && dt_symtab_apart_doubt(t)) {
			dt_code_close(c);
			close(file);
			return open_apart(path, t, false, e);
		}
		dt_fail(e, "%s: what was read of its code can not be, or there is no memory for it",
			path);
		goto fail;
	}
	close(file);
	return c;
fail:
	close(file);
	dt_code_close(c);
	return NULL;
}

struct dt_code *dt_code_open(const char *path, const struct dt_symtab *symtab, struct dt_error *e)
{
	int file;

	if (symtab && dt_symtab_is_apart(symtab))
		return open_apart(path, symtab, true, e);
	if (!symtab && dt_symtab_opens && !dt_symtab_reads_here()) { /* a file that another process
					     was to read is not read here if that has failed */
		dt_fail(e, "%s: its code can not be read, since its symbols can not", path);
		return NULL;
	}
	file = dt_elf_file(path, true, e);
	return file < 0 ? NULL : dt_code_open_file(file, path, symtab, e);
}
