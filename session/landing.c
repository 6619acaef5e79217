/* SPDX-License-Identifier: MIT */
#include "session/landing.h"

#include "elf/ifunc.h"

/* What is looked for. */
struct landing {
	struct dt_target *target;
	const struct dt_module *in; /* the module that is looked through */
	bool exits;		    /* only what has exits that are recorded */
	bool picked;		    /* only what the file's own PLT leads to (dt_file.picked) */
	uint64_t found;		    /* 0: nothing yet */
	bool several;
};

bool dt_landing_is_plt(const struct dt_module *m, uint64_t address)
{
	const struct dt_code_region *r =
		m->file->code ? dt_code_region_of(m->file->code, address - m->bias) : NULL;

	return r && r->plt;
}

/* Looks whether a function has an exit that is chosen. */
static bool has_exit(struct dt_file *f, uint64_t function)
{
	size_t n = 0;
	const uint32_t *site = f->chosen ? dt_file_sites_of(f, function, &n) : NULL;

	for (size_t i = 0; site && i < n; i++)
		if (f->chosen[site[i]] && dt_elf_is_probe(&f->elf->site[site[i]]) &&
		    f->elf->site[site[i]].kind != DT_ELF_PROBE_ENTRY)
			return true;
	return false;
}

static void note(void *ctx, const struct dt_function *function)
{
	struct landing *x = ctx;
	struct dt_file *f = x->in->file;
	uint64_t at = x->in->bias + function->address;
	size_t i = dt_code_function_at(f->code, function->address);

	if (function->label || at == x->found || i == f->code->functions ||
	    (x->picked && !(f->picked && f->picked[i])) ||
	    (x->exits && !has_exit(f, function->address)))
		return;
	x->several |= x->found != 0;
	x->found = at;
}

static void on_name(void *ctx, size_t slot, const char *name)
{
	struct landing *x = ctx;
	struct dt_target *t = x->target;
	bool left = dt_ifunc_is_left(name);

	(void)slot;
	x->found = 0;
	x->several = false;
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_names *names;

		x->in = &t->module[i];
		if (left && x->in->file->vdso) { /* libc has its own version, which is not in use */
			x->found = 0;
			x->several = false;
		}
		names = x->in->file->code && x->in->file->chosen_sites ? dt_file_names(x->in->file)
								       : NULL;
		if (names)
			dt_names_find(names, name, note, x);
		if (left && x->in->file->vdso && x->found)
			break;
	}
}

uint64_t dt_landing(struct dt_target *t, const struct dt_module *m, uint64_t at, bool exits)
{
	struct dt_elf_slot slot = {.slot = at};
	struct landing x = {.target = t, .exits = exits, .several = true};

	if (at)
		dt_elf_slot_names(m->file->elf, &slot, 1, on_name, &x);
	/* of several versions for different processors, that in use */
	x.picked = at && x.several;
	if (x.picked)
		dt_elf_slot_names(m->file->elf, &slot, 1, on_name, &x);
	return x.several ? 0 : x.found;
}
