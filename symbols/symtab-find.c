/* SPDX-License-Identifier: MIT */
/* Finds functions in a symtab; names are demangled when they are first asked for. */
#include "symbols/symtab-work.h"

#include "core/search.h"

static void name_function(struct dt_symtab *t, struct dt_function *f)
{
	if (f->name)
		return;
	if (t->apart) {
		t->apart->name(t, f);
		return;
	}
	dt_symtab_name(t, f, dt_symtab_demangle(t, f->linkage));
}

/*
 * Casts const away: for callers the symtab does not change, but names are filled in when first
 * asked for.
 */
static struct dt_symtab *mutable(const struct dt_symtab *t)
{
	return (struct dt_symtab *)(uintptr_t)t;
}

const struct dt_function *dt_symtab_functions(const struct dt_symtab *t, size_t *n)
{
	dt_symtab_need_functions(mutable(t));
	if (t->apart)
		t->apart->names(mutable(t));
	for (size_t i = 0; i < t->functions; i++)
		name_function(mutable(t), &t->function[i]);
	*n = t->functions;
	return t->function;
}

/*
 * Returns the index + 1 of the last function that begins at or below address; 0 if there is none.
 */
static size_t below(const struct dt_symtab *t, uint64_t address)
{
	return dt_count_before(t->functions, i, t->function[i].address <= address);
}

const struct dt_function *dt_symtab_find(const struct dt_symtab *t, uint64_t address)
{
	size_t i;

	if (t->late)
		dt_symtab_need_functions(mutable(t));
	i = below(t, address);

	/*
	 * mostly it is the first one tried; the loop goes back only where functions lie inside
	 * others
	 */
	for (; i && (t->reach[i - 1] > address || t->function[i - 1].address == address); i--) {
		struct dt_function *f = &t->function[i - 1];

		if (address == f->address || (address - f->address < f->size && !f->label)) {
			name_function(mutable(t), f);
			return f;
		}
	}
	return NULL;
}

const char *dt_symtab_build_id(const struct dt_symtab *t)
{
	return t->main.build_id;
}

void dt_symtab_aliases(const struct dt_symtab *t,
		       void (*fn)(void *ctx, uint64_t address, const char *name), void *ctx)
{
	dt_symtab_need_functions(mutable(t));
	if (t->apart)
		t->apart->names(mutable(t));
	for (size_t i = 0; i < t->aliases; i++) {
		struct dt_symtab_alias *a = &t->alias[i];

		fn(ctx, a->address, a->linkage);
		if (!a->name && !t->apart)
			a->name = dt_symtab_demangle(mutable(t), a->linkage);
		if (a->name)
			fn(ctx, a->address, a->name);
	}
}

void dt_symtab_aliases_of(const struct dt_symtab *t, uint64_t address,
			  bool (*fn)(void *ctx, const char *linkage), void *ctx)
{
	size_t i;

	dt_symtab_need_functions(mutable(t));
	i = dt_count_before(t->aliases, k, t->alias[k].address < address);
	while (i < t->aliases && t->alias[i].address == address && !fn(ctx, t->alias[i].linkage))
		i++;
}
