/* SPDX-License-Identifier: MIT */
/* Which sites of a file a range means. */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "hook/probes.h"
#include "symbols/nameless.h"
#include "session/programs.h"

static bool kind_wanted(const struct dt_elf_site *site, const struct dt_action *a)
{
	if (site->kind == DT_ELF_EVENT) /* an event is neither an entry nor an exit */
		return (a->what & DT_DO_ENTRY) && (a->what & DT_DO_EXIT);
	return site->kind == DT_ELF_ENTRY || site->kind == DT_ELF_PROBE_ENTRY
		       ? a->what & DT_DO_ENTRY
		       : a->what & DT_DO_EXIT;
}

/* Which of a file's functions a selection chooses. */
struct choice {
	const struct dt_symtab *tab;
	const struct dt_function *function; /* the functions of the symbol table */
	bool *chosen;			    /* for each of them */
	uint64_t unnamed; /* address of the last function without a name that was looked at */
	bool unnamed_chosen;
	uint64_t named; /* address of the function that is_startup() last looked at */
	bool startup;
};

const char *dt_ranges_called(struct dt_file *f, const struct dt_selection *select)
{
	for (size_t i = 0; i < select->n; i++)
		if (select->pattern[i].module)
			dt_file_called(f, select->pattern[i].module);
	return dt_file_called(f, NULL);
}

/* Tells whether the function at an address is chosen. Functions without a name are matched by what
 * they are called then. */
static bool is_chosen(struct choice *c, struct dt_selection *select, struct dt_file *file,
		      uint64_t address)
{
	const struct dt_function *f = dt_symtab_find(c->tab, address);
	char name[DT_NAMELESS];

	if (f)
		return c->chosen[f - c->function];
	if (!select) /* what is imported has a name */
		return false;
	if (address != c->unnamed) {
		dt_file_nameless(file, address, name, sizeof(name));
		c->unnamed = address;
		c->unnamed_chosen =
			dt_selection_match(select, file->called ? file->called : file->path,
					   (const char *const[]){name}, 1);
	}
	return c->unnamed_chosen;
}

/* Tells whether a set's patterns match an event by its names or numbers. Whether a site that asks
 * or opts out is chosen follows from the others: dt_file_choose_askers(). */
static bool event_matches(struct place_of_range *p, const struct dt_elf *elf,
			  const struct dt_elf_site *site)
{
	const struct dt_elf_event *v = &elf->event[site->event];
	char subsystem[8], event[8];

	if (!v->kind)
		return false;
	dt_format(subsystem, sizeof(subsystem), "%u", v->subsystem);
	dt_format(event, sizeof(event), "%u", v->event);
	if (v->flags & DT_EVENT_FREE) /* it has words instead of numbers: message:send, raw: */
		return dt_selection_event(
			&p->select, (const char *const[]){v->subsystem_name, v->subsystem_name},
			(const char *const[]){v->event_name, v->event_name});
	return dt_selection_event(&p->select, (const char *const[]){v->subsystem_name, subsystem},
				  (const char *const[]){v->event_name, event});
}

/* Tells whether a selection takes everything, also functions whose names are not known. */
static bool takes_all(const struct dt_selection *s)
{
	return s->n == 1 && !s->pattern[0].remove && strcmp(s->pattern[0].text, "*") == 0;
}

/*
 * Tells whether the function at an address is start-up code, which `everything' does not include.
 */
static bool is_startup(const struct dt_symtab *tab, uint64_t address, struct choice *c)
{
	const struct dt_function *f;

	if (address == c->named)
		return c->startup;
	f = tab ? dt_symtab_find(tab, address) : NULL;
	c->named = address;
	c->startup = f && f->address == address && dt_name_is_startup(f->linkage);
	return c->startup;
}

int dt_ranges_each_site(struct dt_file *f, struct dt_range *r, dt_ranges_site_fn *fn, void *ctx,
			struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_elf *elf = f->elf;
	struct dt_selection *select = f->probed && !f->program ? &p->libraries : &p->select;
	struct choice choice = {.unnamed = UINT64_MAX, .named = UINT64_MAX};
	bool everything, events, startup = false;
	size_t n = 0;
	int rc;

	if (!elf || !elf->sites || p->point || p->kernel || dt_ranges_calls_from(r, f) ||
	    dt_ranges_leaves_vdso(r, f))
		return 0;
	if (r->kind != DT_RANGE_SET) {
		/* a site begins up to so many bytes before its pc */
		for (size_t i = p->file == f ? dt_elf_site_from(elf, p->low > 16 ? p->low - 16 : 0)
					     : elf->sites;
		     i < elf->sites && elf->site[i].address <= p->high; i++)
			if (dt_ranges_site_pc(&elf->site[i]) >= p->low &&
			    dt_ranges_site_pc(&elf->site[i]) <= p->high &&
			    kind_wanted(&elf->site[i], &r->action))
				fn(ctx, f, i, r);
		return 0;
	}
	everything = takes_all(select) && !p->imports;
	events = takes_all(&p->select);
	for (size_t i = 0; i < elf->sites && !p->from; i++)
		if (elf->site[i].kind == DT_ELF_EVENT && kind_wanted(&elf->site[i], &r->action) &&
		    (events || event_matches(p, elf, &elf->site[i]))) {
			p->select.pattern[0].hits += events;
			fn(ctx, f, i, r);
		}
	if (!select->n &&
	    !p->imports) /* no pattern is for libraries; an empty selection would mean everything */
		return 0;
	choice.tab = dt_file_symtab(f);
	if (!everything) {
		if (!choice.tab)
			return 0;
		choice.function = dt_symtab_functions(choice.tab, &n);
		choice.chosen = calloc(n + 1, sizeof(*choice.chosen));
		if (!choice.chosen || dt_ranges_chosen(f, r, choice.tab, choice.chosen) < 0) {
			free(choice.chosen);
			return dt_fail(e, "out of memory");
		}
	} else {
		select->pattern[0].hits += elf->sites;
		startup = dt_symtab_has_startup(choice.tab);
	}
	for (size_t i = 0; i < elf->sites; i++)
		if (elf->site[i].kind != DT_ELF_EVENT && kind_wanted(&elf->site[i], &r->action) &&
		    (everything
			     ? !startup || !is_startup(choice.tab, elf->site[i].function, &choice)
			     : is_chosen(&choice, p->imports ? NULL : select, f,
					 elf->site[i].function)))
			fn(ctx, f, i, r);
	rc = choice.chosen && (r->action.what & DT_DO_EXIT)
		     ? dt_ranges_each_follower(f, r, choice.tab, choice.chosen, p->imports, fn, ctx,
					       e)
		     : 0;
	free(choice.chosen);
	return rc;
}

/* Updates whether a site is chosen: it is when it is wanted, unless it is an event of a subsystem
 * that is off. */
static void choose_site(struct dt_file *f, size_t site)
{
	bool on = f->wanted[site] && !f->masked[site];

	if (f->chosen[site] == on)
		return;
	f->chosen[site] = on;
	f->once[site] |= on;
	f->went_off |= !on;
	f->chosen_sites += on ? 1 : (size_t)-1;
}

void dt_ranges_count_site(struct dt_file *f, size_t site, int add)
{
	f->wanted[site] = (uint16_t)(f->wanted[site] + add);
	choose_site(f, site);
}

/* Counts a range that wants only calls made by certain modules. Without memory for the count all
 * calls are recorded. */
static void count_crossing(struct dt_file *f, size_t site, const struct dt_range *r, int add)
{
	const struct place_of_range *p = r->host;

	if (!p->from)
		return;
	if (!f->crossing)
		f->crossing = calloc(f->elf->sites, sizeof(*f->crossing));
	if (f->crossing)
		f->crossing[site] = (uint16_t)(f->crossing[site] + add);
}

void dt_ranges_want(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	(void)ctx;
	count_crossing(f, site, r, 1);
	dt_ranges_count_site(f, site, 1);
}

void dt_ranges_want_no_more(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	(void)ctx;
	count_crossing(f, site, r, -1);
	dt_ranges_count_site(f, site, -1);
}

void dt_ranges_mask_file(struct dt_session *s, struct dt_file *f)
{
	for (size_t i = 0; f->wanted && i < f->elf->sites; i++) {
		const struct dt_elf_event *v;

		if (f->elf->site[i].kind != DT_ELF_EVENT)
			continue;
		v = &f->elf->event[f->elf->site[i].event];
		f->masked[i] = v->kind && !(v->flags & DT_EVENT_FREE) &&
			       !dt_device_subsystem(&s->device, v->subsystem);
		choose_site(f, i);
	}
	if (f->wanted)
		dt_file_choose_askers(f);
}

size_t dt_ranges_mask_function(struct dt_file *f, uint64_t function, bool off)
{
	size_t sites, n = 0;
	const uint32_t *site = f->masked ? dt_file_sites_of(f, function, &sites) : NULL;

	for (size_t i = 0; site && i < sites; i++) {
		if (f->elf->site[site[i]].kind == DT_ELF_EVENT)
			continue;
		f->masked[site[i]] = off;
		choose_site(f, site[i]);
		n++;
	}
	return n;
}

void dt_ranges_masks(struct dt_session *s)
{
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		dt_ranges_mask_file(s, f);
}

void dt_ranges_warm(struct dt_symtab *t)
{
	const struct dt_function *f;
	char text[16];
	size_t n;

	f = dt_symtab_functions(t, &n);
	if (n)
		dt_symtab_signature(t, &f[n / 2], text, sizeof(text));
}

/* Tells whether any function of this module may be chosen. */
static bool means_module(const struct dt_selection *select, const char *name)
{
	for (size_t i = 0; i < select->n; i++)
		if (!select->pattern[i].remove && dt_pattern_module(&select->pattern[i], name))
			return true;
	return dt_selection_rest(select);
}

bool dt_ranges_may_probe(struct dt_session *s, const struct dt_range *r, struct dt_file *f)
{
	struct place_of_range *p = r->host;
	struct dt_symtab *tab;
	const char *name;
	bool *chosen, any;
	size_t n;

	if (p->kernel)
		return false;
	if (r->kind != DT_RANGE_SET)
		return p->file == f;
	f->program = dt_program_is_known(s, f);
	if (dt_ranges_calls_from(r, f) || dt_ranges_leaves_vdso(r, f))
		return false;
	if (p->imports) {
		tab = dt_file_symtab(f);
		if (!tab)
			return false;
		dt_symtab_functions(tab, &n);
		chosen = calloc(n + 1, sizeof(*chosen));
		any = chosen && dt_ranges_imported(p, f, tab, chosen) > 0;
		free(chosen);
		return any;
	}
	if (f->program)
		return means_module(&p->select, dt_ranges_called(f, &p->select));
	any = false;
	name = dt_ranges_called(f, &p->libraries);
	for (size_t i = 0; i < p->libraries.n; i++) {
		const struct dt_pattern *x = &p->libraries.pattern[i];

		if (x->remove || !dt_pattern_module(x, name))
			continue;
		any = true;
		/* functions that no table names are not known before the code is read */
		if (strcmp(x->name, "*") == 0 || dt_pattern_by_address(x, name))
			return true;
	}
	if (!any)
		return false;
	tab = dt_file_symtab(f);
	if (!tab)
		return false;
	dt_symtab_functions(tab, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	any = chosen && dt_selection_symtab(&p->libraries, name, tab, chosen) > 0;
	free(chosen);
	return any;
}

int dt_ranges_note_file(struct dt_session *s, struct dt_file *f, struct dt_error *e)
{
	if (f->wanted || !f->elf || !f->elf->sites)
		return 0;
	free(f->chosen);
	f->chosen = NULL;
	/* a file that has only events may have its functions wanted later */
	if (!f->elf->sleds)
		dt_file_probes(f, NULL);
	f->chosen = calloc(f->elf->sites, sizeof(*f->chosen));
	f->wanted = calloc(f->elf->sites, sizeof(*f->wanted));
	f->masked = calloc(f->elf->sites, sizeof(*f->masked));
	f->once = calloc(f->elf->sites, sizeof(*f->once));
	if (!f->chosen || !f->wanted || !f->masked || !f->once)
		return dt_fail(e, "out of memory");
	f->chosen_sites = 0;
	if (s->uniform)
		for (size_t i = 0; i < f->elf->sites; i++)
			dt_ranges_count_site(f, i, 1);
	return 0;
}
