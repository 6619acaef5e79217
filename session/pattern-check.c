/* SPDX-License-Identifier: MIT */
/* Looks for matches of patterns in a program and in the libraries that it needs. */
#include "session/pattern-check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/needed.h"
#include "elf/ifunc.h"
#include "elf/usdt.h"
#include "session/unresolved.h"

/* The program, or one of the libraries that it needs. */
struct file {
	char *called; /* its names for dt_pattern_module(), one a line */
	char *path;
	struct dt_elf *elf;
	struct dt_symtab *symtab;
	bool system; /* libc or the dynamic linker: it can load libraries, but only when it is told
			to */
};

struct files {
	struct file *file; /* the program first */
	size_t n;
	bool all; /* all libraries that the program needs are in file[] */
	bool asked;
};

static void add_file(void *ctx, const char *name, const char *path)
{
	struct files *k = ctx;
	struct file *more = realloc(k->file, (k->n + 1) * sizeof(*more)), *f;
	char *real, text[4096 * 2 + 1024];
	struct dt_elf *elf = dt_elf_open(path, NULL);

	if (more)
		k->file = more;
	if (!more || !elf) { /* a file that can not be read, such as the vdso */
		dt_elf_close(elf);
		return;
	}
	f = &k->file[k->n];
	*f = (struct file){.elf = elf, .path = strdup(path)};
	real = realpath(path, NULL);
	if (real && *real) {
		free(f->path);
		f->path = strdup(real);
	}
	name = strrchr(name, '/') ? "" : name; /* a path is no name of a module (hook/module.c) */
	dt_format(text, sizeof(text), "%s\n%s\n%s%s%s", real ? real : path, path, name,
		  elf->soname[0] ? "\n" : "", elf->soname);
	free(real);
	f->called = strdup(text);
	f->system = strncmp(elf->soname, "libc.", 5) == 0 || strncmp(elf->soname, "ld-", 3) == 0 ||
		    strncmp(elf->soname, "libpthread.", 11) == 0 ||
		    strncmp(elf->soname, "libdl.", 6) == 0;
	if (f->called && f->path)
		k->n++;
}

static void free_files(struct files *k)
{
	for (size_t i = 0; i < k->n; i++) {
		dt_symtab_close(k->file[i].symtab);
		dt_elf_close(k->file[i].elf);
		free(k->file[i].called);
		free(k->file[i].path);
	}
	free(k->file);
}

static struct dt_symtab *symtab(struct file *f)
{
	if (!f->symtab)
		f->symtab = dt_symtab_open(f->path, NULL, NULL);
	return f->symtab;
}

/* Tells whether the pattern means this file: by one of its names, or by a symbolic link beside it,
 * as dt_file_called() does. */
static bool is_in(struct file *f, const struct dt_pattern *p)
{
	static const char *const end[] = {"", ".so"};
	const char *slash = strrchr(f->path, '/');
	struct stat own, st;
	char path[4096];

	if (dt_pattern_module(p, f->called))
		return true;
	for (int i = 0; i < 2 && !strpbrk(p->module, "/*?["); i++) {
		dt_format(path, sizeof(path), "%.*s%s%s", slash ? (int)(slash + 1 - f->path) : 0,
			  f->path, p->module, end[i]);
		if (stat(path, &st) == 0 && stat(f->path, &own) == 0 && st.st_ino == own.st_ino &&
		    st.st_dev == own.st_dev)
			return true;
	}
	return false;
}

/* Tells whether the file has an event or a USDT probe that the pattern matches. */
static bool has_event(struct file *f, struct dt_selection *one)
{
	struct dt_usdt usdt = {0};
	bool has = false;

	for (size_t i = 0; i < f->elf->events && !has; i++) {
		const struct dt_elf_event *v = &f->elf->event[i];
		char subsystem[8], event[8];

		dt_format(subsystem, sizeof(subsystem), "%u", v->subsystem);
		dt_format(event, sizeof(event), "%u", v->event);
		has = v->kind &&
		      dt_selection_event(one, (const char *const[]){v->subsystem_name, subsystem},
					 (const char *const[]){v->event_name, event});
	}
	if (!has && !f->elf->events && dt_usdt_read(f->elf, &usdt, NULL) == 0)
		for (size_t i = 0; i < usdt.n && !has; i++)
			has = dt_selection_usdt(one, usdt.probe[i].provider, usdt.probe[i].name,
						false);
	dt_usdt_free(&usdt);
	return has;
}

/* Tells whether the pattern may mean functions without names, which are found by their addresses
 * only once the program runs. */
static bool may_be_unnamed(const struct file *f, const struct dt_pattern *p)
{
	return strchr("*?[", p->name[0]) || dt_pattern_by_address(p, f->called);
}

static bool has_function(struct file *f, struct dt_selection *one)
{
	const struct dt_pattern *p = &one->pattern[0];
	struct dt_selection name = {0};
	bool *chosen, has;
	size_t n;

	if (!is_in(f, p))
		return false;
	if (may_be_unnamed(f, p) || !symtab(f))
		return true;
	dt_selection_add(&name, p->name, false, NULL);
	dt_symtab_functions(f->symtab, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	has = !chosen || dt_selection_symtab(&name, "", f->symtab, chosen) != 0;
	dt_selection_clear(&name);
	free(chosen);
	return has;
}

/* Adds the libraries that the program needs. It takes a millisecond, so it is done only when the
 * program itself has no match. */
static void ask(struct files *k)
{
	if (k->asked)
		return;
	k->asked = true;
	if (!k->file[0].elf->interp)
		k->all = true;
	else if (dt_needed_each(k->file[0].path, k->file[0].elf->interp, add_file, k) == 0)
		k->all = true;
}

static bool is_there(struct files *k, struct dt_selection *one)
{
	for (size_t i = 0; i < k->n; i++) {
		if (has_function(&k->file[i], one) || has_event(&k->file[i], one))
			return true;
		if (i == 0)
			ask(k);
	}
	return false;
}

/* Tells whether the pattern can never match: the file that it names is there and has no match, or
 * nothing can be loaded later. */
static bool is_certain(struct files *k, const struct dt_pattern *p)
{
	bool grows = false;

	if (!k->all)
		return false;
	for (size_t i = 0; i < k->n && p->module && !strpbrk(p->module, "*?["); i++)
		if (is_in(&k->file[i], p))
			return true;
	if (!k->file[0].elf->interp) /* a static program: how it makes system calls is not known */
		return false;
	for (size_t i = 0; i < k->n; i++)
		grows = grows || (!k->file[i].system && dt_needed_grows(k->file[i].elf));
	return !grows;
}

static void offer_modules(struct dt_near *near, const struct files *k)
{
	for (size_t i = 0; i < k->n; i++)
		for (const char *p = k->file[i].called; p; p = strchr(p, '\n')) {
			char name[256], *base;

			p += *p == '\n';
			dt_format(name, sizeof(name), "%.*s", (int)strcspn(p, "\n"), p);
			base = strrchr(name, '/');
			dt_near_offer(near, base ? base + 1 : name);
		}
}

/* Tells whether the pattern names a subsystem of which the file has events. */
static bool has_subsystem(const struct file *f, const struct dt_pattern *p)
{
	for (size_t i = 0; i < f->elf->events; i++)
		if (f->elf->event[i].kind && f->elf->event[i].subsystem_name &&
		    strcmp(f->elf->event[i].subsystem_name, p->module) == 0)
			return true;
	return false;
}

static void offer_functions(struct dt_near *near, struct files *k, const struct dt_pattern *p)
{
	/* names of the program first, and of its libraries only if none there is near */
	for (size_t i = 0; i < k->n && (p->module || !near->n); i++) {
		bool in = is_in(&k->file[i], p);

		if (in && symtab(&k->file[i]))
			dt_near_symtab(near, k->file[i].symtab);
		for (size_t v = 0;
		     v < k->file[i].elf->events && (in || has_subsystem(&k->file[i], p)); v++)
			if (k->file[i].elf->event[v].kind)
				dt_near_offer(near, k->file[i].elf->event[v].event_name);
	}
}

static bool has_no_names(struct file *f)
{
	size_t n = 0;

	if (symtab(f))
		dt_symtab_functions(f->symtab, &n);
	return n == 0;
}

/* Says it if only the resolver of an IFUNC has the name, which can not be followed. */
static bool say_unresolved(const struct dt_say *say, struct files *k, const struct dt_pattern *p)
{
	for (size_t i = 0; i < k->n; i++)
		if (is_in(&k->file[i], p) && symtab(&k->file[i]) &&
		    dt_unresolved(k->file[i].symtab, p->name)) {
			dt_unresolved_say(say, k->file[i].path, p->name);
			return true;
		}
	return false;
}

static void say_unmatched(const struct dt_say *say, struct files *k, const struct dt_pattern *p,
			  const char *option, bool certain)
{
	char names[DT_NEAR_TEXT];
	bool module = !p->module;
	struct dt_near near;

	if (!*option && say_unresolved(say, k, p))
		return;
	for (size_t i = 0; i < k->n; i++)
		module = module || is_in(&k->file[i], p) || has_subsystem(&k->file[i], p);
	dt_near_start(&near, module ? p->text : p->module);
	if (module)
		offer_functions(&near, k, p);
	else
		offer_modules(&near, k);
	if (module && has_no_names(&k->file[0]) && is_in(&k->file[0], p)) {
		dt_say(say,
		       "no function matches %s'%s'%s, and no event: %s has no names of functions, "
		       "which go by their addresses then ('devtrace list -v' shows them)",
		       option, p->text, certain ? "" : " yet", k->file[0].path);
		return;
	}
	dt_near_text(&near, names);
	dt_say(say, "no function matches %s'%s'%s, and no event%s%s%s%s", option, p->text,
	       certain ? "" : " yet", module ? "" : ": no module '", module ? "" : p->module,
	       module	 ? ""
	       : certain ? "' is loaded"
			 : "' is loaded at the start",
	       names);
}

/* Says it if the pattern means a function that libc leaves to the kernel's vdso. */
static void say_vdso(const struct dt_say *say, struct files *k, const struct dt_pattern *p)
{
	for (size_t i = 0; i < k->n; i++)
		for (size_t v = 0; v < DT_IFUNC_LEFT; v++) {
			struct dt_selection resolver = {0};
			char text[64];

			dt_format(text, sizeof(text), "%s%s.resolver", p->module ? "*:" : "",
				  dt_ifunc_left[v]);
			if (!k->file[i].system || strcmp(p->name, dt_ifunc_left[v]) ||
			    !is_in(&k->file[i], p) ||
			    dt_selection_add(&resolver, text, false, NULL) < 0)
				continue;
			if (has_function(&k->file[i], &resolver))
				dt_say(say,
				       "'%s' is left to the kernel's vdso: its calls are recorded by "
				       "-l; here, only those of what libc has for kernels without a "
				       "vdso would be",
				       p->text);
			dt_selection_clear(&resolver);
		}
}

enum found { THERE, LATER, NEVER };

/* Checks one pattern, and says what is to be said about it. option: "", or the option it was given
 * by and a blank. */
static enum found check_one(const struct dt_say *say, struct files *k, const char *text,
			    const char *option)
{
	struct dt_selection one = {0};
	enum found found = THERE;

	/* a text that is no pattern is refused later, where it is used */
	if (strpbrk(text, "' \n") || dt_selection_add(&one, text, false, NULL) < 0)
		return THERE;
	if (is_there(k, &one)) {
		if (!*option)
			say_vdso(say, k, &one.pattern[0]);
	} else {
		found = is_certain(k, &one.pattern[0]) ? NEVER : LATER;
		say_unmatched(say, k, &one.pattern[0], option, found == NEVER);
	}
	dt_selection_clear(&one);
	return found;
}

/*
 * Looks for the module whose calls of libraries are asked for. Returns false, and says so, if there
 * is none and there will be none.
 */
static bool check_caller(const struct dt_say *say, struct files *k, const char *module)
{
	struct dt_selection one = {0};
	char text[512], names[DT_NEAR_TEXT];
	bool found, certain = false;
	struct dt_near near;

	dt_format(text, sizeof(text), "%s:*", module);
	if (!*module || strpbrk(module, "' \n:") || dt_selection_add(&one, text, false, NULL) < 0)
		return true;
	found = is_there(k, &one); /* which reads the libraries */
	for (size_t i = 0; i < k->n && !found; i++)
		found = is_in(&k->file[i], &one.pattern[0]);
	if (!found) {
		certain = is_certain(k, &one.pattern[0]);
		dt_near_start(&near, module);
		offer_modules(&near, k);
		dt_near_text(&near, names);
		if (certain)
			dt_say(say,
			       "no module '%s' is loaded whose calls of libraries could be "
			       "recorded%s",
			       module, names);
		else
			dt_say(say,
			       "no module '%s' is loaded at the start: its calls of libraries are "
			       "recorded from when it is%s",
			       module, names);
	}
	dt_selection_clear(&one);
	return found || !certain;
}

bool dt_pattern_check(struct dt_options *o, const char *program, const struct dt_say *say)
{
	const char *slash = strrchr(program, '/');
	struct files k = {0};
	size_t asked = 0, never = 0;

	/* what a script will execute is not known */
	if (o->follow)
		return true;
	add_file(&k, slash ? slash + 1 : program, program);
	if (k.n && o->libcalls && !check_caller(say, &k, o->libcalls)) {
		free_files(&k);
		return false;
	}
	for (size_t i = 0; k.n && i < o->select.n; i++) {
		struct dt_pattern *p = &o->select.pattern[i];

		if (p->remove) { /* it takes away: the program is run all the same */
			check_one(say, &k, p->text, "-N ");
			continue;
		}
		p->told = check_one(say, &k, p->text, "") == NEVER;
		never += p->told;
		asked++;
	}
	for (size_t i = 0; k.n && i < o->arguments; i++) {
		char text[512];

		dt_format(text, sizeof(text), "%.*s", (int)strcspn(o->argument[i], "@"),
			  o->argument[i]);
		if (check_one(say, &k, text, "") == NEVER) {
			o->arguments_told |= 1ull << i;
			never++;
		}
		asked++;
	}
	free_files(&k);
	return !asked || never < asked || o->points;
}
