/* SPDX-License-Identifier: MIT */
/* Functions that were chosen and are not hooked, and their callers. */
#include "session/unhooked.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "symbols/nameless.h"
#include "symbols/pattern.h"
#include "hook/probes.h"
#include "session/state.h"

static bool is_planted(const struct dt_session *s, const struct dt_file *f, size_t site)
{
	if (f->hooked && f->hooked[site])
		return true;
	/* calls of execve are recorded where it is led through devtrace's code */
	if (f->execve && f->elf->site[site].function == f->execve)
		return true;
	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++)
			if (t->module[i].file == f && dt_probes_pc(&t->module[i], site))
				return true;
	return false;
}

const char *dt_unhooked_why(const struct dt_session *s, const struct dt_file *f, size_t site,
			    bool *planted)
{
	size_t k;

	*planted = is_planted(s, f, site);
	if (*planted || !f->probed || !f->code || !f->refused)
		return NULL;
	k = dt_code_function_at(f->code, f->elf->site[site].function);
	return k < f->code->functions ? f->refused[k] : NULL;
}

static void name_of(struct dt_file *f, const struct dt_code_function *g, char *out, size_t size)
{
	if (g->name)
		dt_format(out, size, "%s", g->name);
	else
		dt_file_nameless(f, g->start, out, size);
}

static void add_name(struct dt_unhooked *u, const struct dt_file *f, const char *name)
{
	size_t n = strlen(u->names);

	if (!n)
		u->path = f->path;
	if (u->more)
		return;
	u->more = n + strlen(name) + 8 >= sizeof(u->names);
	dt_format(u->names + n, sizeof(u->names) - n, "%s%s", n ? ", " : "",
		  u->more ? "..." : name);
}

/* A set of addresses that may have more than were put into it: most of a program's calls lead to
 * functions that are hooked, and are told apart quickly. */
struct starts {
	uint8_t bit[8192];
};

static unsigned bit_of(uint64_t address)
{
	return (unsigned)(address * 0x9e3779b97f4a7c15u >> 48);
}

static void add_start(struct starts *s, uint64_t address)
{
	s->bit[bit_of(address) / 8] |= (uint8_t)(1u << bit_of(address) % 8);
}

static bool has_start(const struct starts *s, uint64_t address)
{
	return s->bit[bit_of(address) / 8] >> bit_of(address) % 8 & 1;
}

/* Stores the direct calls and jumps to functions that are not hooked, from the code of others. */
static void note_callers(struct dt_session *s, const struct dt_file *f, const bool *left)
{
	const struct dt_code *c = f->code;
	struct starts all = {{0}};

	for (size_t i = 0; i < c->functions; i++)
		if (left[i])
			add_start(&all, c->function[i].start);
	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *r = &c->region[i];

		for (uint64_t at = r->low; at < r->high; at++) {
			const uint8_t *p = r->bytes + (at - r->low);
			size_t from, to;
			uint64_t target;

			if (!(r->mark[at - r->low] & DT_CODE_INSN) ||
			    !dt_reaches_far(p, r->high - at, at, &target) ||
			    !has_start(&all, target))
				continue;
			to = dt_code_function_at(c, target);
			if (to == c->functions || !left[to] || c->function[to].start != target)
				continue;
			from = dt_code_function_at(c, at);
			if (from == c->functions)
				continue;
			from = c->function[from].whole;
			if (from != to && !left[from])
				dt_store_unhooked_caller(s->store, f->path, c->function[from].start,
							 c->function[to].start, NULL);
		}
	}
}

/* Tells whether a function is a version for other processors than this one: another function of its
 * name is the one that is called. */
static bool is_idle_version(const struct dt_file *f, size_t k)
{
	const struct dt_code *c = f->code;

	if (!f->picked || f->picked[k] || !c->function[k].name)
		return false;
	for (size_t i = 0; i < c->functions; i++)
		if (f->picked[i] && c->function[i].name &&
		    strcmp(c->function[i].name, c->function[k].name) == 0)
			return true;
	return false;
}

static void note_file(struct dt_session *s, struct dt_file *f, struct dt_unhooked *u)
{
	bool *left = calloc(f->code->functions + 1, sizeof(*left));
	bool any = false;

	for (size_t i = 0; left && i < f->elf->sites; i++) {
		const struct dt_code_function *g;
		char name[DT_NAMELESS];
		size_t k;

		if (!(f->once ? f->once[i] : f->chosen[i]) ||
		    f->elf->site[i].kind != DT_ELF_PROBE_ENTRY)
			continue;
		k = dt_code_function_at(f->code, f->elf->site[i].function);
		if (k == f->code->functions || dt_name_is_startup(f->code->function[k].name))
			continue;
		if (f->refused && f->refused[k] && !is_planted(s, f, i) && is_idle_version(f, k))
			continue;
		u->chosen++;
		if (!f->refused || !f->refused[k] || is_planted(s, f, i))
			continue;
		g = &f->code->function[k];
		name_of(f, g, name, sizeof(name));
		u->left_out++;
		u->own += f->program;
		add_name(u, f, name);
		left[k] = true;
		/* where only certain modules' calls are recorded, no callers in this file matter */
		any = any || !dt_file_is_crossing(f, i);
		if (s->store)
			dt_store_unhooked(s->store, f->path, g->start, name, f->refused[k], NULL);
	}
	if (any && s->store)
		note_callers(s, f, left);
	free(left);
}

void dt_unhooked_note(struct dt_session *s, struct dt_unhooked *u)
{
	*u = (struct dt_unhooked){0};
	pthread_mutex_lock(&s->lock);
	for (int own = 1; own >= 0; own--)
		for (struct dt_file *f = s->targets.files.first; f; f = f->next)
			if (f->program == own && f->probed && f->code && f->chosen)
				note_file(s, f, u);
	pthread_mutex_unlock(&s->lock);
}
