/* SPDX-License-Identifier: MIT */
/* Tells the user which patterns matched nothing, and which chosen functions could not be hooked. */
#include "session/findings.h"

#include <stdlib.h>
#include <string.h>

#include "elf/ifunc.h"
#include "hook/probes.h"
#include "session/device.h"
#include "session/ranges.h"
#include "session/sieve.h"
#include "session/state.h"
#include "session/unhooked.h"
#include "session/unresolved.h"
#include "symbols/symtab-apart.h"

static void near_events(struct dt_near *near, const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->events; i++)
		if (elf->event[i].kind)
			dt_near_offer(near, elf->event[i].event_name);
}

/* Says that a pattern matched nothing, with the names nearest to it. what: the end of that
 * sentence. */
static void say_unmatched(struct dt_session *s, const struct dt_say *say, const char *pattern,
			  const char *what)
{
	char names[DT_NEAR_TEXT];
	struct dt_near near;

	dt_near_start(&near, pattern);
	pthread_mutex_lock(&s->lock); /* server threads look names up, too */
	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (f->elf && f->elf->sites && dt_file_symtab(f))
			dt_near_symtab(&near, dt_file_symtab(f));
		if (f->elf)
			near_events(&near, f->elf);
	}
	pthread_mutex_unlock(&s->lock);
	dt_near_text(&near, names);
	dt_say(say, "no function matches '%s'%s%s", pattern, what, names);
}

/* Says it if only the resolver of an IFUNC has the name, which can not be followed. */
static bool say_unresolved(struct dt_session *s, const struct dt_say *say,
			   const struct dt_pattern *p)
{
	bool said = false;

	pthread_mutex_lock(&s->lock);
	for (struct dt_file *f = s->targets.files.first; f && !said; f = f->next)
		if ((!p->module || dt_pattern_module(p, dt_file_called(f, p->module))) &&
		    dt_file_symtab(f) && dt_unresolved(dt_file_symtab(f), p->name)) {
			dt_unresolved_say(say, f->path, p->name);
			said = true;
		}
	pthread_mutex_unlock(&s->lock);
	return said;
}

/* Says which patterns matched nothing; returns whether there was one. yet: recording goes on, and a
 * library that is loaded later may match. */
static bool unmatched_pattern(struct dt_session *s, const struct dt_say *say, bool yet)
{
	struct dt_selection *sel = &s->options.select;
	bool any = false;

	dt_session_device_hits(s, sel);
	for (size_t i = 0; i < sel->n; i++) {
		if (sel->pattern[i].hits || sel->pattern[i].remove || sel->pattern[i].told)
			continue;
		if (!say_unresolved(s, say, &sel->pattern[i]))
			say_unmatched(s, say, sel->pattern[i].text,
				      yet ? " yet, and no event" : ", and no event");
		any = true;
	}
	return any;
}

/* Says which patterns for arguments (-A) matched no function, or no function with that argument;
 * returns whether there was one. */
static bool unmatched_arguments(struct dt_session *s, const struct dt_say *say)
{
	bool any = false;

	for (size_t i = 0; i < s->options.arguments; i++) {
		const char *of = s->options.argument[i];
		char missing[512], pattern[256];

		dt_format(pattern, sizeof(pattern), "%.*s", (int)strcspn(of, "@"), of);
		if (s->options.arguments_told >> i & 1)
			continue;
		if (!dt_session_device_matched(s, i, missing, sizeof(missing))) {
			say_unmatched(s, say, pattern, "");
			any = true;
		} else if (missing[0]) {
			dt_say(say, "no function that matches '%s' has an argument %s", pattern,
			       missing);
			any = true;
		}
	}
	return any;
}

static bool is_probe_chosen(const struct dt_file *f)
{
	for (size_t i = 0; f->chosen && i < f->elf->sites; i++)
		if (f->chosen[i] && dt_elf_is_probe(&f->elf->site[i]))
			return true;
	return false;
}

/* Returns whether calls of execve are recorded, which has no hooks. */
static bool is_exec_chosen(const struct dt_file *f)
{
	for (size_t i = 0; f->execve && f->chosen && i < f->elf->sites; i++)
		if (f->chosen[i] && f->elf->site[i].function == f->execve)
			return true;
	return false;
}

/* Says it if functions without sleds were chosen and none of them could be hooked; returns that. */
static bool nothing_hooked(const struct dt_session *s, const struct dt_say *say)
{
	const char *path = NULL;

	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++)
			if (t->module[i].file->probed && dt_probes_any(t->module[i].probes))
				return false;
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (!is_probe_chosen(f))
			continue;
		if (f->hooked || is_exec_chosen(f))
			return false;
		path = f->path;
	}
	if (!path)
		return false;
	dt_say(say, "%s: no function that was chosen can be hooked; 'devtrace list -v' says why",
	       path);
	return true;
}

static bool is_hooked(const struct dt_session *s, const struct dt_file *f, uint64_t address)
{
	if (f->execve && address == f->execve) /* its calls are recorded all the same */
		return true;
	for (size_t k = 0; f->hooked && k < f->elf->sites; k++)
		if (f->elf->site[k].function == address && f->hooked[k])
			return true;
	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *m = &t->module[i];

			for (size_t k = 0; m->file == f && k < f->elf->sites; k++)
				if (f->elf->site[k].function == address && dt_probes_pc(m, k))
					return true;
		}
	return false;
}

/* Tells whether the function is one of several among which a resolver (IFUNC) chooses when the
 * program starts, and another one of these is hooked. */
static bool is_choice(const struct dt_session *s, const struct dt_file *f, const char *name)
{
	char resolver[1024];
	bool chosen = false, hooked = false;

	dt_format(resolver, sizeof(resolver), "%s.resolver", name);
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *g = &f->code->function[i];

		chosen = chosen || (g->name && strcmp(g->name, resolver) == 0);
		hooked = hooked ||
			 (g->name && strcmp(g->name, name) == 0 && is_hooked(s, f, g->start));
	}
	return chosen && hooked;
}

/* Says which functions that were asked for by an exact name are in the file but could not be
 * hooked; returns how many. */
static size_t say_unhooked(const struct dt_session *s, const struct dt_say *say, struct dt_file *f,
			   const struct dt_pattern *p)
{
	const struct dt_symtab *tab = dt_file_symtab(f);
	struct dt_probe_way *way = NULL;
	size_t said = 0;

	if (is_choice(s, f, p->name))
		return 0;
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *g = &f->code->function[i];
		const struct dt_function *sym = tab ? dt_symtab_find(tab, g->start) : NULL;

		/* by the name as it is written in the source, or as the linker has it */
		if (!g->name || g->part || !sym || sym->address != g->start ||
		    (!dt_pattern_name(p, sym->name) && !dt_pattern_name(p, g->name)) ||
		    is_hooked(s, f, g->start))
			continue;
		if (!way)
			way = dt_file_probe_ways(f, NULL);
		if (way && !way[i].hooked && ++said)
			dt_say(say, "%s: %s is not recorded: %s", f->path, sym->name, way[i].how);
	}
	free(way);
	return said;
}

/* In a file with sleds only functions with sleds are hooked: says it if one that was asked for by
 * an exact name has none; returns whether there was one. */
static bool say_sledless(const struct dt_say *say, struct dt_file *f, const struct dt_pattern *p)
{
	const struct dt_symtab *tab = dt_file_symtab(f);
	const struct dt_function *g;
	bool any = false;
	size_t n = 0;

	g = tab ? dt_symtab_functions(tab, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		bool sled = false;

		if (g[i].label || strcmp(g[i].name, p->name) != 0)
			continue;
		for (size_t k = dt_elf_site_from(f->elf, g[i].address);
		     k < f->elf->sites && f->elf->site[k].address < g[i].address + g[i].size; k++)
			sled = sled || f->elf->site[k].kind == DT_ELF_ENTRY;
		any = any || !sled;
		if (!sled)
			dt_say(say,
			       "%s: calls of %s are not recorded: it has no sled, and in a file "
			       "that has sleds nothing else is hooked",
			       f->path, p->name);
	}
	return any;
}

/* Says which functions that were asked for by exact names are not hooked. Returns whether one of
 * them has no sled in a file with sleds; adds to *said the lines about functions of other files. */
static bool unhooked(const struct dt_session *s, const struct dt_say *say, size_t *said)
{
	const struct dt_selection *sel = &s->options.select;
	bool sledless = false;

	for (size_t i = 0; i < sel->n; i++) {
		const struct dt_pattern *p = &sel->pattern[i];

		if (p->remove || !p->hits || strpbrk(p->name, "*?["))
			continue;
		for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
			if (p->module && !dt_pattern_module(p, dt_file_called(f, p->module)))
				continue;
			if (f->probed && f->code && f->chosen_sites)
				*said += say_unhooked(s, say, f, p);
			else if (!f->probed && f->elf && f->elf->sleds)
				sledless |= say_sledless(say, f, p);
		}
	}
	return sledless;
}

/* Says which files have functions of Go, which are not traced; their C code is. */
static void say_go(const struct dt_session *s, const struct dt_say *say)
{
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next)
		if (dt_file_go_sites(f, true))
			dt_say(say,
			       "%s: its functions of Go are not traced: Go's stacks are too small "
			       "for a hook, and are moved",
			       f->path);
}

/* Says it if the process without rights that reads names for root has ended before its time: a
 * hostile file may do that. */
static void say_unnamed(const struct dt_say *say)
{
	if (dt_symtab_apart_broken())
		dt_say(say,
		       "%s: the process that read its symbols and debug information ended, or did "
		       "not answer: names, types and lines of it are missing from then on",
		       dt_symtab_apart_broken());
}

/* Looks whether the vdso's function of that name has been hooked in some process. */
static bool is_hooked_in_vdso(struct dt_session *s, const char *name)
{
	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		bool planted = s->targets.files.other_vdso;
		uint64_t address;

		if (!f->vdso || !f->once || planted ||
		    dt_elf_symbol(f->elf, name, &address, NULL) < 0)
			continue;
		for (size_t i = 0; i < f->elf->sites && !planted; i++)
			if (f->elf->site[i].function == address && f->once[i])
				dt_unhooked_why(s, f, i, &planted);
		if (planted)
			return true;
	}
	return false;
}

/* Says which functions that a module imports have no calls, since libc leaves them to the kernel's
 * vdso, and that could not be hooked. */
static void say_vdso(struct dt_session *s, const struct dt_say *say)
{
	char names[64] = "";
	size_t n;

	for (unsigned i = 0; i < DT_IFUNC_LEFT; i++) {
		const char *name = dt_ifunc_left[i];
		char resolver[32];
		bool left = false;

		dt_format(resolver, sizeof(resolver), "%s.resolver", name);
		for (struct dt_file *f = s->targets.files.first; f && !left; f = f->next) {
			const struct dt_function *g =
				f->symtab ? dt_symtab_functions(f->symtab, &n) : NULL;

			for (size_t k = 0; g && k < n && !left; k++)
				left = strcmp(g[k].name, resolver) == 0;
		}
		n = strlen(names);
		if (left && dt_ranges_import(s, name) && !is_hooked_in_vdso(s, name))
			dt_format(names + n, sizeof(names) - n, "%s%s", n ? " and " : "", name);
	}
	if (names[0])
		dt_say(say,
		       "calls of %s are not recorded: libc leaves them to the kernel's vdso, whose "
		       "code could not be hooked",
		       names);
}

/* What dt_unresolved_each() is to say of a file whose functions are imported. */
struct unresolved {
	struct dt_session *s;
	const struct dt_say *say;
	const struct dt_file *f;
};

static void say_import(void *ctx, const char *name)
{
	struct unresolved *u = ctx;

	if (dt_ranges_import(u->s, name) && dt_unresolved(u->f->symtab, name))
		dt_unresolved_say(u->say, u->f->path, name);
}

/* The same of those whose resolvers can not be followed. */
static void say_imports(struct dt_session *s, const struct dt_say *say)
{
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next) {
		struct unresolved u = {.s = s, .say = say, .f = f};

		if (f->symtab)
			dt_unresolved_each(f->symtab, say_import, &u);
	}
}

/* Says of which files calls may be missing that functions end in by a jump (dt_ranges_unread()). */
static void say_unread(struct dt_session *s, const struct dt_say *say)
{
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		if (f->caller && dt_ranges_unread(s, f))
			dt_say(say,
			       "%s: where a library calls a function of it that ends in a jump to "
			       "a library's function (a comparison for qsort, to strcmp), that call "
			       "is not recorded: of files above 8 MiB such jumps are not looked for",
			       f->path);
}

/* Says it if the module whose calls of libraries are asked for never came. */
static bool no_caller(const struct dt_session *s, const struct dt_say *say)
{
	const char *module = s->options.libcalls;
	struct dt_selection one = {0};
	bool found = !module || !*module;
	char text[512];

	dt_format(text, sizeof(text), "%s:*", module ? module : "");
	if (!found && dt_selection_add(&one, text, false, NULL) == 0)
		for (struct dt_file *f = s->targets.files.first; f && !found; f = f->next)
			found = dt_pattern_module(&one.pattern[0],
						  dt_file_called(f, one.pattern[0].module));
	dt_selection_clear(&one);
	if (!found)
		dt_say(say, "no module '%s' was loaded whose calls of libraries could be recorded",
		       module);
	return !found;
}

static void say_left_out(const struct dt_unhooked *u, bool all, const struct dt_say *say)
{
	if (u->left_out)
		dt_say(say,
		       "%zu functions chosen, %zu hooked, %zu not: %s ('devtrace list -v %s' says "
		       "why)",
		       u->chosen, u->chosen - u->left_out, u->left_out, u->names, u->path);
	else if (all && u->chosen)
		dt_say(say, "%zu functions chosen, all hooked", u->chosen);
}

void dt_findings_unmatched(struct dt_session *s, const struct dt_say *say)
{
	unmatched_pattern(s, say, true);
}

bool dt_findings_say(struct dt_session *s, bool all, const struct dt_say *say)
{
	bool none = s->results.taken == 0, nothing, why;
	struct dt_unhooked u;
	size_t said = 0;

	why = unmatched_pattern(s, say, false) | unmatched_arguments(s, say);
	if (s->sieve)
		dt_sieve_unmet(s->sieve, say);
	why = no_caller(s, say) || why;
	nothing = none && nothing_hooked(s, say);
	why = unhooked(s, say, &said) || nothing || why;
	say_go(s, say);
	say_unnamed(say);
	say_vdso(s, say);
	say_imports(s, say);
	say_unread(s, say);
	dt_unhooked_note(s, &u);
	if (!nothing && (said < u.left_out || !said))
		say_left_out(&u, all, say);
	return none && why;
}
