/* SPDX-License-Identifier: MIT */
/* What is said of a tracing session: what matched nothing, what could not be hooked, what is
 * missing. */
#include "cmd/trace-work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "hook/probes.h"
#include "session/device.h"
#include "session/processes.h"
#include "symbols/symtab-apart.h"

void dt_trace_say_summary(const struct dt_trace_command *c, const struct dt_session *s)
{
	if (s->note[0])
		fprintf(stderr, "%s: %s\n", c->name, s->note);
	if (s->users > 1)
		fprintf(stderr,
			"%s: processes changed their user while they were traced (%u, %u%s): whoever "
			"they are now could go on reading and changing the records of the user they were\n",
			c->name, s->user[0], s->user[1], s->users > 2 ? ", ..." : "");
	if (s->clockless)
		fprintf(stderr,
			"%s: %lu calls are not recorded: the program had forbidden itself to read the "
			"clock then (prctl PR_SET_TSC, or strict seccomp)\n",
			c->name, (unsigned long)s->clockless);
	if (s->tids.unknown)
		fprintf(stderr,
			"%s: %zu threads of other PID namespaces ended before their numbers here were known: "
			"they stand as their own ones, with %u and more added\n",
			c->name, s->tids.unknown, 1u << DT_TAG_SHIFT);
	if (s->unopened)
		fprintf(stderr,
			"%s: of %lu processes only the calls of functions that their parents had are recorded, not what "
			"they loaded, nor whether they still run: %s\n",
			c->name, (unsigned long)s->unopened, s->unopened_why.text);
	if (s->unfollowed)
		fprintf(stderr,
			"%s: %lu program%s that processes executed %s not recorded%s process %d: %s\n",
			c->name, (unsigned long)s->unfollowed, s->unfollowed == 1 ? "" : "s",
			s->unfollowed == 1 ? "is" : "are",
			s->unfollowed == 1 ? ", of" : "; the first, of", s->unfollowed_pid,
			s->unfollowed_why.text);
	if (s->unsent)
		fprintf(stderr,
			"%s: what a process did that had confined itself by seccomp was not followed "
			"%lu times: a library it loaded, a child, or a program it executed\n",
			c->name, (unsigned long)s->unsent);
	if (s->broken[0]) {
		char rings[512];

		dt_text_rings(rings, sizeof(rings), s->broken, s->targets.shared.geometry.cores,
			      s->domain_users[0] ? s->domain_users : NULL);
		fprintf(stderr,
			"%s: a traced program has written into the memory of the rings: what was recorded "
			"there from then on is not known, and what was before may be wrong: %s\n",
			c->name, rings);
	}
	if (s->lost)
		fprintf(stderr,
			"%s: %lu records, %lu lost: larger rings (-b) lose fewer, -p wait none%s\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost,
			s->options.kernel ? " of the processes'; the kernel does not wait" : "");
	else if (s->left_as_it_was)
		fprintf(stderr, "%s: nothing was recorded; %s is the trace that it was\n", c->name,
			s->options.output);
	else if (c->summary && isatty(2))
		fprintf(stderr, "%s: %lu records in %s\n", c->name, (unsigned long)s->taken,
			s->options.output);
	if (c->verbose)
		fprintf(stderr,
			"%s: %lu records, %lu lost, waited %lu times for room; %lu sites switched "
			"in %lu us; "
			"longest stop %lu us\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost,
			(unsigned long)s->stalls, (unsigned long)s->switched,
			(unsigned long)s->switch_ns / 1000, (unsigned long)s->stop_ns / 1000);
}

static void near_events(struct dt_near *near, const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->events; i++)
		if (elf->event[i].kind)
			dt_near_offer(near, elf->event[i].event_name);
}

/* A pattern that chose nothing gets the nearest names. */
static void say_unmatched(const struct dt_trace_command *c, struct dt_session *s,
			  const char *pattern, const char *what)
{
	struct dt_near near;

	dt_near_start(&near, pattern);
	pthread_mutex_lock(&s->lock); /* commands look names up, too */
	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (f->elf && f->elf->sites && dt_file_symtab(f))
			dt_near_symtab(&near, dt_file_symtab(f));
		if (f->elf)
			near_events(&near, f->elf);
	}
	pthread_mutex_unlock(&s->lock);
	fprintf(stderr, "%s: no function matches '%s'%s", c->name, pattern, what);
	for (size_t k = 0; k < near.n; k++)
		fprintf(stderr, "%s%s", k ? ", " : "; near names: ", near.name[k]);
	fputc('\n', stderr);
}

bool dt_trace_unmatched_pattern(const struct dt_trace_command *c, struct dt_session *s, bool yet)
{
	struct dt_selection *sel = &s->options.select;
	bool any = false;

	dt_session_device_hits(s, sel);
	for (size_t i = 0; i < sel->n; i++) {
		if (sel->pattern[i].hits || sel->pattern[i].remove || sel->pattern[i].told)
			continue;
		say_unmatched(c, s, sel->pattern[i].text,
			      yet ? " yet, and no event" : ", and no event");
		any = true;
	}
	return any;
}

bool dt_trace_unmatched_arguments(const struct dt_trace_command *c, struct dt_session *s)
{
	bool any = false;

	for (size_t i = 0; i < s->options.arguments; i++) {
		const char *of = s->options.argument[i];
		char missing[512], pattern[256];

		dt_format(pattern, sizeof(pattern), "%.*s", (int)strcspn(of, "@"), of);
		if (s->options.arguments_told >> i & 1)
			continue;
		if (!dt_session_device_matched(s, i, missing, sizeof(missing))) {
			say_unmatched(c, s, pattern, "");
			any = true;
		} else if (missing[0]) {
			fprintf(stderr, "%s: no function that matches '%s' has an argument %s\n",
				c->name, pattern, missing);
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

bool dt_trace_nothing_hooked(const struct dt_trace_command *c, const struct dt_session *s)
{
	const char *path = NULL;

	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++)
			if (t->module[i].file->probed && dt_probes_any(t->module[i].probes))
				return false;
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (!is_probe_chosen(f))
			continue;
		if (f->hooked)
			return false;
		path = f->path;
	}
	if (!path)
		return false;
	fprintf(stderr,
		"%s: %s: no function that was chosen can be hooked; 'devtrace list -v' says why\n",
		c->name, path);
	return true;
}

static bool is_hooked(const struct dt_session *s, const struct dt_file *f, uint64_t address)
{
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

/*
 * Is it one of several that are chosen from when the program begins, and another is hooked? Which
 * one is called only the processor decides.
 */
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

/* One that was asked for by its name, and is there, but can not be hooked. */
static size_t say_unhooked(const struct dt_trace_command *c, const struct dt_session *s,
			   struct dt_file *f, const struct dt_pattern *p)
{
	const struct dt_symtab *tab = dt_file_symtab(f);
	struct dt_probe_way *way = NULL;
	size_t said = 0;

	if (is_choice(s, f, p->name))
		return 0;
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *g = &f->code->function[i];
		const struct dt_function *sym = tab ? dt_symtab_find(tab, g->start) : NULL;

		/* by the name as it is written, that of C++ too, or as the linker has it */
		if (!g->name || g->part || !sym || sym->address != g->start ||
		    (!dt_pattern_name(p, sym->name) && !dt_pattern_name(p, g->name)) ||
		    is_hooked(s, f, g->start))
			continue;
		if (!way)
			way = dt_file_probe_ways(f, NULL);
		if (way && !way[i].hooked && ++said)
			fprintf(stderr, "%s: %s: %s is not recorded: %s\n", c->name, f->path,
				sym->name, way[i].how);
	}
	free(way);
	return said;
}

/* In a file with sleds only these are hooked: one that was asked for by its name has none. */
static bool say_sledless(const struct dt_trace_command *c, struct dt_file *f,
			 const struct dt_pattern *p)
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
			fprintf(stderr,
				"%s: %s: calls of %s are not recorded: it has no sled, and in a "
				"file that has sleds nothing else is hooked\n",
				c->name, f->path, p->name);
	}
	return any;
}

bool dt_trace_unhooked(const struct dt_trace_command *c, const struct dt_session *s, size_t *said)
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
				*said += say_unhooked(c, s, f, p);
			else if (!f->probed && f->elf && f->elf->sleds)
				sledless |= say_sledless(c, f, p);
		}
	}
	return sledless;
}

void dt_trace_say_go(const struct dt_trace_command *c, const struct dt_session *s)
{
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next)
		if (dt_file_go_sites(f, true))
			fprintf(stderr,
				"%s: %s: its functions of Go are not traced: Go's stacks are too "
				"small for a hook, and are moved\n",
				c->name, f->path);
}

void dt_trace_say_unnamed(const struct dt_trace_command *c)
{
	if (dt_symtab_apart_broken())
		fprintf(stderr,
			"%s: %s: the process that read its symbols and debug information ended, or "
			"did not "
			"answer: names, types and lines of it are missing from then on\n",
			c->name, dt_symtab_apart_broken());
}

void dt_trace_say_left_out(const struct dt_trace_command *c, const struct dt_unhooked *u)
{
	size_t hooked = u->chosen - u->left_out;

	if (!u->left_out && c->summary && isatty(2) && u->chosen)
		fprintf(stderr, "%s: %zu functions chosen, all hooked\n", c->name, u->chosen);
	if (u->left_out)
		fprintf(stderr,
			"%s: %zu functions chosen, %zu hooked, %zu not: %s ('devtrace list -v %s' says why)\n",
			c->name, u->chosen, hooked, u->left_out, u->names, u->path);
}
