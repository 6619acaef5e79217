/* SPDX-License-Identifier: MIT */
/*
 * Ranges that mean the calls which one module makes of others (^MODULE): who the callers are, and
 * which functions they import.
 */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "elf/ifunc.h"
#include "hook/entered.h"
#include "hook/probes.h"

/*
 * Functions by which a program reads a variable, or that belong to its start and end: macros and
 * the compiler call them, not the programmer. A range for all imports leaves them out.
 */
static const char *const not_meant[] = {
	"__libc_start_main", "__cxa_finalize",	    "__gmon_start__",
	"__stack_chk_fail",  "__errno_location",    "__ctype_get_mb_cur_max",
	"__ctype_b_loc",     "__ctype_tolower_loc", "__ctype_toupper_loc",
};

static bool is_meant(const char *name)
{
	/* what the linker's stubs go through where a call is made for the first time */
	if (strncmp(name, "_dl_runtime_", strlen("_dl_runtime_")) == 0)
		return false;
	for (size_t i = 0; i < sizeof(not_meant) / sizeof(*not_meant); i++)
		if (strcmp(name, not_meant[i]) == 0)
			return false;
	return true;
}

/* Notes each function one of whose names is imported by a caller. */
struct imported {
	const struct dt_files *files;
	const struct dt_symtab *tab;
	const struct dt_function *function;
	bool *chosen;
	int64_t n;
	bool vdso; /* the functions are the vdso's */
};

/* Does a caller import that name? Of the vdso, only what libc leaves to it is meant. */
static bool is_imported(const struct imported *k, const char *name)
{
	if (k->vdso && !dt_ifunc_is_left(name))
		return false;
	for (struct dt_file *from = k->files->first; from; from = from->next)
		if (from->caller && dt_file_imports(from, name) && is_meant(name))
			return true;
	return false;
}

static void note(struct imported *k, size_t function)
{
	k->n += !k->chosen[function];
	k->chosen[function] = true;
}

static void note_alias(void *ctx, uint64_t address, const char *name)
{
	struct imported *k = ctx;
	const struct dt_function *f = is_imported(k, name) ? dt_symtab_find(k->tab, address) : NULL;

	if (f && f->address == address)
		note(k, (size_t)(f - k->function));
}

/* Takes away the functions that the other patterns remove. */
static int64_t leave_out_removed(struct place_of_range *p, struct dt_file *f,
				 const struct dt_symtab *tab, bool *chosen, size_t n)
{
	bool *kept = calloc(n + 1, sizeof(*kept));
	int64_t left = 0;

	if (!kept ||
	    dt_selection_symtab(&p->select, dt_ranges_called(f, &p->select), tab, kept) < 0)
		left = -1;
	for (size_t i = 0; i < n && left >= 0; i++) {
		chosen[i] = chosen[i] && kept[i];
		left += chosen[i];
	}
	free(kept);
	return left;
}

/* Marks the functions of the file that callers import. Returns how many; -1: no memory. */
int64_t dt_ranges_imported(struct place_of_range *p, struct dt_file *f, const struct dt_symtab *tab,
			   bool *chosen)
{
	struct imported k = {.files = p->files, .tab = tab, .chosen = chosen, .vdso = f->vdso};
	size_t n;

	k.function = dt_symtab_functions(tab, &n);
	for (size_t i = 0; i < n; i++)
		if (k.function[i].linkage && is_imported(&k, k.function[i].linkage))
			note(&k, i);
	dt_symtab_aliases(tab, note_alias, &k);
	return k.n && p->select.n > 1 ? leave_out_removed(p, f, tab, chosen, n) : k.n;
}

bool dt_ranges_means_import(const struct dt_range *r, struct dt_file *f, const char *name)
{
	const struct place_of_range *p = r->host;

	for (size_t k = 1; k < p->select.n; k++)
		if (dt_pattern_name(&p->select.pattern[k], name))
			return false;
	return is_meant(name) && dt_file_imports(f, name);
}

bool dt_ranges_import(struct dt_session *s, const char *name)
{
	for (size_t i = 0; i < s->device.n; i++) {
		const struct dt_range *r = &s->device.range[i];
		const struct place_of_range *p = r->host;

		if (r->kind != DT_RANGE_SET || !p->imports)
			continue;
		for (struct dt_file *f = s->targets.files.first; f; f = f->next)
			if (f->caller && dt_ranges_calls_from(r, f) &&
			    dt_ranges_means_import(r, f, name))
				return true;
	}
	return false;
}

int dt_ranges_chosen(struct dt_file *f, const struct dt_range *r, const struct dt_symtab *tab,
		     bool *chosen)
{
	struct place_of_range *p = r->host;
	struct dt_selection *select = f->probed && !f->program ? &p->libraries : &p->select;
	int64_t n;

	if (!p->imports)
		return dt_selection_symtab(select, dt_ranges_called(f, select), tab, chosen) < 0
			       ? -1
			       : 0;
	n = dt_ranges_imported(p, f, tab, chosen);
	if (n > 0 && p->select.n == 1)
		p->select.pattern[0].hits += (uint64_t)n;
	return n < 0 ? -1 : 0;
}

bool dt_ranges_calls_from(const struct dt_range *r, struct dt_file *f)
{
	const struct place_of_range *p = r->host;

	if (!p->from)
		return false;
	return p->callers.n
		       ? dt_pattern_module(&p->callers.pattern[0], dt_ranges_called(f, &p->callers))
		       : f->program;
}

bool dt_ranges_leaves_vdso(const struct dt_range *r, const struct dt_file *f)
{
	const struct place_of_range *p = r->host;

	return f->vdso && r->kind == DT_RANGE_SET && !p->imports;
}

/* Adds the sites and points that a range which is on means of a file, or takes them off. */
static int count_range(struct dt_session *s, struct dt_file *f, struct dt_range *r, bool on,
		       struct dt_error *e)
{
	int rc;

	r->on = on;
	rc = dt_ranges_each_point(f, r, dt_ranges_want_point, NULL, e);
	r->on = true;
	if (rc < 0)
		return -1;
	if (on && f->elf && !f->wanted && dt_ranges_may_probe(s, r, f) &&
	    (f->elf->toggles || dt_file_probes(f, NULL) == 0) && dt_ranges_note_file(s, f, e) < 0)
		return -1;
	return f->wanted ? dt_ranges_each_site(f, r, on ? dt_ranges_want : dt_ranges_want_no_more,
					       NULL, e)
			 : 0;
}

/* Does the same for all ranges that mean what callers import, in all files but this one. */
static int count_imports(struct dt_session *s, const struct dt_file *caller, bool on,
			 struct dt_error *e)
{
	for (size_t i = 0; i < s->device.n; i++) {
		struct dt_range *r = &s->device.range[i];
		const struct place_of_range *p = r->host;

		if (!r->on || !p->imports)
			continue;
		for (struct dt_file *f = s->targets.files.first; f; f = f->next)
			if (f != caller && f->asked && count_range(s, f, r, on, e) < 0)
				return -1;
	}
	return 0;
}

int dt_ranges_note_caller(struct dt_session *s, struct dt_file *f, struct dt_error *e)
{
	bool caller = false;

	for (size_t i = 0; i < s->device.n && !caller; i++)
		caller = s->device.range[i].on && dt_ranges_calls_from(&s->device.range[i], f);
	if (f->caller || !caller)
		return 0;
	/* what is taken off has to be what was added */
	if (count_imports(s, f, false, e) < 0)
		return -1;
	f->caller = true;
	return count_imports(s, f, true, e);
}

void dt_ranges_note_callers(struct dt_session *s)
{
	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		bool caller = false;

		for (size_t i = 0; i < s->device.n && !caller && f->elf; i++)
			caller = s->device.range[i].on &&
				 dt_ranges_calls_from(&s->device.range[i], f);
		f->caller = caller;
	}
}

/* Marks the code's function `to', which one that is chosen or followed goes on in. Returns whether
 * it is new. */
static bool mark_follower(const struct dt_code *code, size_t from, size_t to, const bool *chosen,
			  bool *next)
{
	from = code->function[from].whole;
	to = code->function[to].whole;
	if ((!chosen[from] && !next[from]) || chosen[to] || next[to])
		return false;
	return next[to] = true;
}

/*
 * Marks in `next', by function of the code, the functions that chosen ones go on in instead of
 * returning, and those that these go on in: by a jump (if jumps), or because the end of their code
 * runs into the other one (strcasecmp, which looks up the locale, and then is strcasecmp_l). Their
 * exits are the ends of the calls.
 */
void dt_ranges_mark_followers(const struct dt_file *f, const bool *chosen, bool jumps, bool *next)
{
	const struct dt_code *code = f->code;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i + 1 < code->functions; i++)
			if (dt_runs_into(code, i))
				more |= mark_follower(code, i, i + 1, chosen, next);
		for (size_t i = 0; i < f->elf->sites && jumps; i++) {
			const struct dt_elf_site *x = &f->elf->site[i];
			size_t from, to;

			/* what is found out later must not change what the set means */
			if (x->kind != DT_ELF_PROBE_TAIL || !x->target || x->late)
				continue;
			from = dt_code_function_at(code, x->function);
			to = dt_code_function_at(code, x->target);
			if (from == code->functions || to == code->functions ||
			    code->function[to].start != x->target)
				continue;
			more |= mark_follower(code, from, to, chosen, next);
		}
	}
}

void dt_ranges_each_exit(struct dt_file *f, const struct dt_range *r, const bool *next,
			 dt_ranges_site_fn *fn, void *ctx)
{
	const struct dt_code *code = f->code;

	for (size_t i = 0; i < f->elf->sites; i++) {
		const struct dt_elf_site *x = &f->elf->site[i];
		size_t at = dt_elf_is_probe(x) && x->kind != DT_ELF_PROBE_ENTRY
				    ? dt_code_function_at(code, x->function)
				    : code->functions;

		if (at < code->functions && next[code->function[at].whole])
			fn(ctx, f, i, r);
	}
}

int dt_ranges_each_follower(struct dt_file *f, const struct dt_range *r,
			    const struct dt_symtab *tab, const bool *chosen, bool jumps,
			    dt_ranges_site_fn *fn, void *ctx, struct dt_error *e)
{
	const struct dt_code *code = f->code;
	const struct dt_function *function;
	bool *from, *next;
	size_t n;

	if (!code)
		return 0;
	function = dt_symtab_functions(tab, &n);
	from = calloc(2 * code->functions + 2, sizeof(*from));
	if (!from)
		return dt_fail(e, "out of memory");
	next = from + code->functions + 1;
	for (size_t i = 0; i < n; i++) {
		size_t at = chosen[i] ? dt_code_function_at(code, function[i].address)
				      : code->functions;

		if (at < code->functions)
			from[code->function[at].whole] = true;
	}
	if (jumps)
		dt_across_landings(r->host, f, next);
	dt_ranges_mark_followers(f, from, jumps, next);
	if (jumps)
		dt_across_reached(r->host, f, from, next);
	dt_ranges_each_exit(f, r, next, fn, ctx);
	free(from);
	return 0;
}
