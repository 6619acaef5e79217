/* SPDX-License-Identifier: MIT */
#include "session/kernel-constants.h"

#include <stdlib.h>
#include <string.h>

#include "session/btf.h"

struct dt_kernel_constant {
	const char *name; /* the BTF's */
	uint64_t value;
	bool doubtful; /* another enumeration has the name with another value */
};

static int by_name(const void *a, const void *b)
{
	const struct dt_kernel_constant *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static uint64_t value_of(const struct btf_type *t, unsigned i)
{
	const struct btf_enum *e = btf_enum(t);

	if (btf_is_enum64(t))
		return btf_enum64_value(btf_enum64(t) + i);
	return btf_kflag(t) ? (uint64_t)(int64_t)e[i].val : (uint32_t)e[i].val;
}

static const char *name_of(const struct btf *b, const struct btf_type *t, unsigned i)
{
	return dt_btf.name_by_offset(b, btf_is_enum64(t) ? btf_enum64(t)[i].name_off
							 : btf_enum(t)[i].name_off);
}

/* Makes one of those that have the same name. */
static void join_same(struct dt_kernel_constant_table *t)
{
	size_t n = 0;

	qsort(t->all, t->n, sizeof(*t->all), by_name);
	for (size_t i = 0; i < t->n; i++) {
		if (n && strcmp(t->all[n - 1].name, t->all[i].name) == 0)
			t->all[n - 1].doubtful |= t->all[n - 1].value != t->all[i].value;
		else
			t->all[n++] = t->all[i];
	}
	t->n = n;
}

/* Lists the constants of a BTF, from its type `first' on. */
static void list(struct dt_kernel_constant_table *t, uint32_t first)
{
	uint32_t types = dt_btf.type_cnt(t->btf);
	size_t n = 0;

	for (uint32_t i = first; i < types; i++) {
		const struct btf_type *type = dt_btf.type_by_id(t->btf, i);

		n += btf_is_any_enum(type) ? btf_vlen(type) : 0;
	}
	t->all = calloc(n ? n : 1, sizeof(*t->all));
	for (uint32_t i = first; t->all && i < types; i++) {
		const struct btf_type *type = dt_btf.type_by_id(t->btf, i);

		for (unsigned k = 0; btf_is_any_enum(type) && k < btf_vlen(type); k++)
			t->all[t->n++] = (struct dt_kernel_constant){
				.name = name_of(t->btf, type, k), .value = value_of(type, k)};
	}
	if (t->all)
		join_same(t);
}

static void read_kernel(struct dt_kernel_constants *c)
{
	struct dt_error ignored;

	c->tried = true;
	if (dt_btf_load(&ignored) < 0)
		return;
	c->kernel.btf = dt_btf.load_vmlinux_btf();
	if (c->kernel.btf)
		list(&c->kernel, 1);
}

/* The module has the types that the kernel itself has not. */
static void read_module(struct dt_kernel_constants *c)
{
	c->module_tried = true;
	if (!c->module || !c->kernel.btf)
		return;
	c->own.btf = dt_btf.load_module_btf(c->module, c->kernel.btf);
	if (c->own.btf)
		list(&c->own, dt_btf.type_cnt(c->kernel.btf));
}

static void free_table(struct dt_kernel_constant_table *t)
{
	free(t->all);
	if (t->btf)
		dt_btf.free(t->btf);
	*t = (struct dt_kernel_constant_table){NULL};
}

void dt_kernel_constants_of(struct dt_kernel_constants *c, const char *name)
{
	free_table(&c->own);
	c->module = name;
	c->module_tried = false;
}

static const struct dt_kernel_constant *find(const struct dt_kernel_constant_table *t,
					     const char *name)
{
	const struct dt_kernel_constant key = {.name = name};

	return t->n ? bsearch(&key, t->all, t->n, sizeof(*t->all), by_name) : NULL;
}

bool dt_kernel_constant_value(struct dt_kernel_constants *c, const char *name, size_t n,
			      uint64_t *value)
{
	const struct dt_kernel_constant *found;
	char text[128];

	if (!n || n >= sizeof(text))
		return false;
	memcpy(text, name, n);
	text[n] = '\0';
	if (!c->tried)
		read_kernel(c);
	found = find(&c->kernel, text);
	if (!found && !c->module_tried)
		read_module(c);
	if (!found)
		found = find(&c->own, text);
	if (!found || found->doubtful)
		return false;
	*value = found->value;
	return true;
}

void dt_kernel_constants_free(struct dt_kernel_constants *c)
{
	free_table(&c->own);
	free_table(&c->kernel);
}
