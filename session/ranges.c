/* SPDX-License-Identifier: MIT */
/* Ranges become sites that are wanted, and entries of the slow path's table. */
#include "session/ranges.h"
#include "hook/target-modules.h"

#include <stdlib.h>
#include <string.h>

#include "hook/probes.h"
#include "session/arguments.h"
#include "session/capture.h"
#include "session/kernel-ranges.h"
#include "session/places.h"
#include "session/unhooked.h"
#include "session/programs.h"

/* What the provider knows of a range: range->host. */
struct place_of_range {
	struct dt_selection select; /* of a set */
	/* the same for libraries without sleds: "everything" is of the program only */
	struct dt_selection libraries;
	char *arguments;      /* of a set: "path:str,mode", behind '@'; NULL: all of them */
	uint64_t had;	      /* bit i: some function has the i-th of them */
	struct dt_file *file; /* of the others: the range in the file's own addresses */
	uint64_t low, high;
	struct dt_point *point; /* of a tracepoint that is not at a function's site; the file's */
	struct dt_kernel_range *kernel; /* it is the kernel's, and nothing of a process */
};

/* What the hook of a sled records as pc. */
static uint64_t site_pc(const struct dt_elf_site *s)
{
	return s->address + s->back;
}

static int no_process(struct dt_error *e)
{
	return dt_fail(e,
		       "devtrace: no process is traced, so no address means anything; attach one");
}

/* The entry site that an address means: of the function that begins there, or the site itself. */
static const struct dt_elf_site *entry_site(const struct dt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *x = &elf->site[i];

		if (x->address == address || site_pc(x) == address ||
		    ((x->kind == DT_ELF_ENTRY || x->kind == DT_ELF_PROBE_ENTRY) &&
		     x->function == address))
			return x;
	}
	return NULL;
}

/* The file can have points: its code has been looked at. One whose functions have no sleds has
 * sites from then on. */
static int read_code(struct dt_file *f, struct dt_error *e)
{
	if (!f->elf)
		return dt_fail(e, "devtrace: %s can not be read", f->path);
	return dt_file_probes(f, NULL) == 0 ? 0 : dt_file_code(f, e);
}

/* Nothing can be planted at an address that is no instruction: said before anything is changed. */
static int check_instruction(struct dt_module *m, uint64_t address, struct dt_error *e)
{
	const struct dt_code *code = m->file->code;
	size_t f = dt_code_function_at(code, address);
	const struct dt_code_region *r = dt_code_region_of(code, address);
	uint64_t before = address;

	if (f == code->functions || !r)
		return dt_fail(e,
			       "devtrace: invalid address %lx: it is not in the code of any "
			       "function",
			       (unsigned long)(address + m->bias));
	if (code->function[f].trouble || r->mark[address - r->low] & DT_CODE_INSN)
		return 0;
	while (before > code->function[f].start && !(r->mark[before - r->low] & DT_CODE_INSN))
		before--;
	return dt_fail(
		e, "devtrace: no instruction begins at %lx; the one that it is in begins at %lx",
		(unsigned long)(address + m->bias), (unsigned long)(before + m->bias));
}

/* A tracepoint at an instruction, with what it captures. */
static int new_point(struct dt_session *s, struct dt_module *m, struct dt_range *r,
		     struct place_of_range *p, struct dt_error *e)
{
	struct dt_point point = {.site = {.address = r->start - m->bias}};
	size_t f;

	if (read_code(m->file, e) < 0 || check_instruction(m, point.site.address, e) < 0)
		return -1;
	f = dt_code_function_at(m->file->code, point.site.address);
	point.site.function = m->file->code->function[f].start;
	if (r->capture && dt_capture_parse(s, m, r->capture, &point, e) < 0) {
		dt_point_release(&point);
		return -1;
	}
	point.what = strdup(r->capture ? r->capture : "");
	p->point = dt_points_add(&m->file->points, &point);
	return p->point ? 0 : dt_fail(e, "out of memory");
}

/* At a function's site, or at any instruction. */
static int check_point(struct dt_session *s, struct dt_module *m, struct dt_range *r,
		       struct place_of_range *p, struct dt_error *e)
{
	const struct dt_elf_site *site;

	if (m->file->elf && dt_file_probes(m->file, e) < 0 && !m->file->elf->toggles)
		return -1;
	site = m->file->elf ? entry_site(m->file->elf, r->start - m->bias) : NULL;
	if (r->capture || !site)
		return new_point(s, m, r, p, e);
	r->start = r->end = m->bias + site_pc(site);
	return 0;
}

static bool is_everything(const char *pattern)
{
	return strspn(pattern, "*:") == strlen(pattern);
}

/* Which arguments are meant, behind the '@' of a pattern; cut off there. */
static int take_arguments(char *at, const char *word, struct place_of_range *p, struct dt_error *e)
{
	*at++ = '\0';
	if (word[0] == '!')
		return dt_fail(e, "devtrace: '%s@%s': what is taken away has no arguments", word,
			       at);
	if (p->arguments)
		return dt_fail(e,
			       "devtrace: '%s@%s': one list of arguments for a range; make another",
			       word, at);
	if (dt_arguments_check(at, e) < 0)
		return -1;
	p->arguments = strdup(at);
	return p->arguments ? 0 : dt_fail(e, "out of memory");
}

/* Patterns, separated by blanks; one with '!' in front removes. */
static int parse_set(const char *what, struct place_of_range *p, struct dt_error *e)
{
	char *text = strdup(what), *save, *word;
	bool any = false;
	int rc = text ? 0 : dt_fail(e, "out of memory");

	for (word = text ? strtok_r(text, " ", &save) : NULL; word && rc == 0;
	     word = strtok_r(NULL, " ", &save)) {
		bool sign = word[0] == '!' || word[0] == '+';
		char *at = strchr(word, '@');

		if (at && take_arguments(at, word, p, e) < 0) {
			rc = -1;
			break;
		}
		rc = dt_selection_add(&p->select, word + sign, word[0] == '!', e);
		if (rc == 0 && (word[0] == '!' || !is_everything(word + sign)))
			rc = dt_selection_add(&p->libraries, word + sign, word[0] == '!', e);
		any = true;
	}
	free(text);
	/* those that take away would stand for everything else of every library */
	if (rc == 0 && dt_selection_rest(&p->libraries))
		dt_selection_clear(&p->libraries);
	return rc == 0 && !any ? dt_fail(e, "devtrace: an empty pattern") : rc;
}

int dt_ranges_check(struct dt_session *s, struct dt_range *r, struct dt_error *e)
{
	struct dt_target *t = dt_places_reference(s);
	struct place_of_range *p = calloc(1, sizeof(*p));
	struct dt_module *m;
	int rc = 0;

	if (!p)
		return dt_fail(e, "out of memory");
	rc = dt_kernel_range(r, e);
	if (rc > 0) {
		p->kernel = dt_kernel_range_make(s->kernel, r, e);
		rc = p->kernel ? 0 : -1;
	}
	if (p->kernel || rc < 0)
		goto out;
	if (r->kind == DT_RANGE_SET) {
		rc = parse_set(r->what, p, e);
		goto out;
	}
	m = t ? dt_target_module(t, r->start) : NULL;
	if (!t)
		rc = no_process(e);
	else if (!m && r->kind == DT_RANGE_POINT)
		rc = dt_fail(e,
			     "devtrace: invalid address %lx: it is not in the code of any function",
			     (unsigned long)r->start);
	else if (!m || r->end >= m->high)
		rc = dt_fail(
			e, "devtrace: invalid address range: %lx to %lx is not code of one module",
			(unsigned long)r->start, (unsigned long)r->end);
	else if (r->kind == DT_RANGE_POINT)
		rc = check_point(s, m, r, p, e);
	if (rc == 0) {
		p->file = m->file;
		p->low = r->start - m->bias;
		p->high = r->end - m->bias;
	}
out:
	if (rc < 0) {
		dt_selection_clear(&p->select);
		dt_selection_clear(&p->libraries);
		free(p->arguments);
		free(p);
		return -1;
	}
	r->host = p;
	return 0;
}

void dt_ranges_forget(struct dt_range *r)
{
	struct place_of_range *p = r->host;

	if (p) {
		dt_selection_clear(&p->select);
		dt_selection_clear(&p->libraries);
		free(p->arguments);
		if (p->point)
			p->point->idle = true;
		if (p->kernel)
			dt_kernel_range_forget(p->kernel);
	}
	free(p);
	r->host = NULL;
}

/* ---- sites ---- */

static bool kind_wanted(const struct dt_elf_site *site, const struct dt_action *a)
{
	if (site->kind == DT_ELF_EVENT) /* neither the one nor the other */
		return (a->what & DT_DO_ENTRY) && (a->what & DT_DO_EXIT);
	return site->kind == DT_ELF_ENTRY || site->kind == DT_ELF_PROBE_ENTRY
		       ? a->what & DT_DO_ENTRY
		       : a->what & DT_DO_EXIT;
}

/* What a selection wants of a file's functions. */
struct choice {
	const struct dt_symtab *tab;
	const struct dt_function *function; /* of the table */
	bool *chosen;			    /* by function */
	uint64_t unnamed;		    /* the function without a name that was asked of last */
	bool unnamed_chosen;
	uint64_t named; /* the function that is_startup() was asked of last */
	bool startup;
};

/* What a file is called, with the links that patterns name it by. */
static const char *called(struct dt_file *f, const struct dt_selection *select)
{
	for (size_t i = 0; i < select->n; i++)
		if (select->pattern[i].module)
			dt_file_called(f, select->pattern[i].module);
	return dt_file_called(f, NULL);
}

/* Functions without a name are called by their addresses, here as elsewhere. */
static bool is_chosen(struct choice *c, struct dt_selection *select, const char *module,
		      uint64_t address)
{
	const struct dt_function *f = dt_symtab_find(c->tab, address);
	char name[32];

	if (f)
		return c->chosen[f - c->function];
	if (address != c->unnamed) {
		dt_format(name, sizeof(name), "0x%lx", (unsigned long)address);
		c->unnamed = address;
		c->unnamed_chosen =
			dt_selection_match(select, module, (const char *const[]){name}, 1);
	}
	return c->unnamed_chosen;
}

/* An event by its own names and numbers; what asks or opts out follows: dt_file_choose_askers(). */
static bool event_matches(struct place_of_range *p, const struct dt_elf *elf,
			  const struct dt_elf_site *site)
{
	const struct dt_elf_event *v = &elf->event[site->event];
	char subsystem[8], event[8];

	if (!v->kind)
		return false;
	dt_format(subsystem, sizeof(subsystem), "%u", v->subsystem);
	dt_format(event, sizeof(event), "%u", v->event);
	if (v->flags & DT_EVENT_FREE) /* no numbers, but words: message:send, raw: */
		return dt_selection_event(
			&p->select, (const char *const[]){v->subsystem_name, v->subsystem_name},
			(const char *const[]){v->event_name, v->event_name});
	return dt_selection_event(&p->select, (const char *const[]){v->subsystem_name, subsystem},
				  (const char *const[]){v->event_name, event});
}

/* Everything, also where no name is known? */
static bool takes_all(const struct dt_selection *s)
{
	return s->n == 1 && !s->pattern[0].remove && strcmp(s->pattern[0].text, "*") == 0;
}

/* Is the function at address start-up code, which everything does not mean? */
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

/* Calls fn for every site of f that r means. */
static int each_site(struct dt_file *f, struct dt_range *r,
		     void (*fn)(void *ctx, struct dt_file *f, size_t site,
				const struct dt_range *r),
		     void *ctx, struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_elf *elf = f->elf;
	struct dt_selection *select = f->probed && !f->program ? &p->libraries : &p->select;
	struct choice choice = {.unnamed = UINT64_MAX, .named = UINT64_MAX};
	bool everything, events, startup = false;
	size_t n = 0;

	if (!elf || !elf->sites || p->point || p->kernel)
		return 0;
	if (r->kind != DT_RANGE_SET) {
		/* a site begins up to so many bytes in front of its pc */
		for (size_t i = p->file == f ? dt_elf_site_from(elf, p->low > 16 ? p->low - 16 : 0)
					     : elf->sites;
		     i < elf->sites && elf->site[i].address <= p->high; i++)
			if (site_pc(&elf->site[i]) >= p->low && site_pc(&elf->site[i]) <= p->high &&
			    kind_wanted(&elf->site[i], &r->action))
				fn(ctx, f, i, r);
		return 0;
	}
	everything = takes_all(select);
	events = takes_all(&p->select);
	for (size_t i = 0; i < elf->sites; i++)
		if (elf->site[i].kind == DT_ELF_EVENT && kind_wanted(&elf->site[i], &r->action) &&
		    (events || event_matches(p, elf, &elf->site[i]))) {
			p->select.pattern[0].hits += events;
			fn(ctx, f, i, r);
		}
	if (!select->n) /* of libraries: a selection of nothing else would be one of everything */
		return 0;
	choice.tab = dt_file_symtab(f);
	if (!everything) {
		if (!choice.tab)
			return 0;
		choice.function = dt_symtab_functions(choice.tab, &n);
		choice.chosen = calloc(n + 1, sizeof(*choice.chosen));
		if (!choice.chosen ||
		    dt_selection_symtab(select, called(f, select), choice.tab, choice.chosen) < 0) {
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
			     : is_chosen(&choice, select, f->called ? f->called : f->path,
					 elf->site[i].function)))
			fn(ctx, f, i, r);
	free(choice.chosen);
	return 0;
}

/* Chosen is what is wanted, unless it is an event of a subsystem that is off. */
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

static void count_site(struct dt_file *f, size_t site, int add)
{
	f->wanted[site] = (uint16_t)(f->wanted[site] + add);
	choose_site(f, site);
}

static void want(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	(void)ctx, (void)r;
	count_site(f, site, 1);
}

static void want_no_more(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	(void)ctx, (void)r;
	count_site(f, site, -1);
}

static void mask_file(struct dt_session *s, struct dt_file *f)
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

void dt_ranges_masks(struct dt_session *s)
{
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		mask_file(s, f);
}

/* The DWARF index is built now, while nobody waits for a record to be taken. */
static void warm(struct dt_symtab *t)
{
	const struct dt_function *f;
	char text[16];
	size_t n;

	f = dt_symtab_functions(t, &n);
	if (n)
		dt_symtab_signature(t, &f[n / 2], text, sizeof(text));
}

/* May any function of this module be chosen? */
static bool means_module(const struct dt_selection *select, const char *name)
{
	for (size_t i = 0; i < select->n; i++)
		if (!select->pattern[i].remove && dt_pattern_module(&select->pattern[i], name))
			return true;
	return dt_selection_rest(select);
}

/* Does a file that has no sites of its own have functions in this range? Then it gets probes. */
static bool may_probe(struct dt_session *s, const struct dt_range *r, struct dt_file *f)
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
	f->program = dt_session_is_program(s, f);
	if (f->program)
		return means_module(&p->select, called(f, &p->select));
	any = false;
	name = called(f, &p->libraries);
	for (size_t i = 0; i < p->libraries.n; i++) {
		const struct dt_pattern *x = &p->libraries.pattern[i];

		if (x->remove || !dt_pattern_module(x, name))
			continue;
		any = true;
		/* functions that no table names, which are not known before their code is read */
		if (strncmp(x->name, "0x", 2) == 0 || strcmp(x->name, "*") == 0)
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

static int note_file(struct dt_session *s, struct dt_file *f, struct dt_error *e)
{
	if (f->wanted || !f->elf || !f->elf->sites)
		return 0;
	free(f->chosen);
	f->chosen = NULL;
	/* of one that has events only, whose functions may be wanted later; else it has these */
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
			count_site(f, i, 1);
	return 0;
}

/* ---- points: a tracepoint's own, or the USDT probes that a pattern means ---- */

/* The point for a probe, made when it is first wanted. NULL: it can have none. */
static struct dt_point *usdt_point(struct dt_file *f, size_t i)
{
	const struct dt_usdt_probe *u = &f->usdt->probe[i];
	struct dt_point point = {.site = {.address = u->address}, .semaphore = u->semaphore};
	size_t n = strlen(u->provider) + strlen(u->name) + 2, function;

	if (f->usdt_point[i] || read_code(f, NULL) < 0)
		return f->usdt_point[i];
	function = dt_code_function_at(f->code, u->address);
	if (function == f->code->functions)
		return NULL;
	point.site.function = f->code->function[function].start;
	point.name = malloc(n);
	point.what = strdup(u->arguments);
	if (!point.name || !point.what || dt_capture_usdt(f, u->arguments, &point, NULL) < 0) {
		dt_point_release(&point);
		return NULL;
	}
	dt_format(point.name, n, "%s:%s", u->provider, u->name);
	return f->usdt_point[i] = dt_points_add(&f->points, &point);
}

typedef int point_fn(void *ctx, struct dt_point *point, const struct dt_range *r,
		     struct dt_error *e);

/* The point at a function's entry for those of its arguments that the record there lacks. NULL:
 * there are none, or it can have no point. */
static struct dt_point *arguments_point(struct dt_file *f, const struct dt_function *function,
					const char *which, uint64_t *had)
{
	struct dt_point point;
	size_t i;

	if (function->label || dt_arguments_point(f, function, which, had, &point) <= 0)
		return NULL;
	for (uint32_t k = 0; k < f->points.n; k++) {
		struct dt_point *old = f->points.point[k];

		if (old->headless && old->site.address == function->address &&
		    strcmp(old->what, point.what) == 0) {
			dt_point_release(&point);
			return old;
		}
	}
	i = read_code(f, NULL) < 0 ? 0 : dt_code_function_at(f->code, function->address);
	if (!f->code || i == f->code->functions ||
	    f->code->function[i].start != function->address) {
		dt_point_release(&point);
		return NULL;
	}
	return dt_points_add(&f->points, &point);
}

/* The points for the arguments of functions. */
static int each_function(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			 struct dt_error *e)
{
	struct place_of_range *p = r->host;
	struct dt_selection *select = f->program ? &p->select : &p->libraries;
	struct dt_symtab *tab = p->file && p->file != f ? NULL : dt_file_symtab(f);
	const struct dt_function *functions = NULL;
	struct dt_point *point;
	bool *chosen = NULL;
	size_t n = 0;
	int rc = 0;

	if (!tab || !f->elf)
		return 0;
	if (!p->file && !select->n)
		return 0;
	functions = dt_symtab_functions(tab, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	if (!chosen ||
	    (!p->file && dt_selection_symtab(select, called(f, select), tab, chosen) < 0))
		rc = dt_fail(e, "out of memory");
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (p->file)
			chosen[i] =
				functions[i].address >= p->low && functions[i].address <= p->high;
		point = chosen[i] ? arguments_point(f, &functions[i], p->arguments, &p->had) : NULL;
		if (point)
			rc = fn(ctx, point, r, e);
	}
	free(chosen);
	return rc;
}

/* Calls fn for every point of f that r means. */
static int each_point(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
		      struct dt_error *e)
{
	struct place_of_range *p = r->host;
	const struct dt_usdt *u;
	struct dt_selection *select;
	bool everything;
	int rc = 0;

	if (p->point)
		return p->file == f ? fn(ctx, p->point, r, e) : 0;
	if (p->kernel)
		return 0;
	if (((r->action.what & DT_DO_ARGS) || p->arguments) && (r->action.what & DT_DO_ENTRY) &&
	    each_function(f, r, fn, ctx, e) < 0)
		return -1;
	if (r->kind != DT_RANGE_SET || !(r->action.what & DT_DO_ENTRY) ||
	    !(r->action.what & DT_DO_EXIT))
		return 0;
	u = dt_file_usdt(f);
	select = f->program ? &p->select : &p->libraries;
	everything = f->program && select->n == 1 && is_everything(select->pattern[0].text);
	for (size_t i = 0; u && i < u->n && rc == 0; i++) {
		struct dt_point *point;
		/* a semaphore makes the program do what it does not do otherwise: only who asks for
		 * the probe by its name wants that */
		bool guarded = u->probe[i].semaphore != 0;

		if (!dt_selection_usdt(select, u->probe[i].provider, u->probe[i].name, guarded) &&
		    (!everything || guarded))
			continue;
		point = usdt_point(f, i);
		if (point)
			rc = fn(ctx, point, r, e);
	}
	return rc;
}

static int want_point(void *ctx, struct dt_point *point, const struct dt_range *r,
		      struct dt_error *e)
{
	(void)ctx, (void)e;
	point->wanted += r->on ? 1 : -1u;
	point->used = true;
	return 0;
}

/* What is on of a file that is new: dt_choose_fn. */
int dt_ranges_choose(void *ctx, struct dt_file *f, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_symtab *tab;

	f->program = dt_session_is_program(s, f);
	f->unmeant = f->program && !f->elf->sites && !f->probed;
	for (size_t i = 0; !f->elf->sites && !f->probed && i < s->device.n; i++)
		if (s->device.range[i].on && may_probe(s, &s->device.range[i], f)) {
			f->unmeant = false;
			dt_file_probes(f, NULL);
		}
	for (size_t i = 0; i < s->device.n; i++)
		if (s->device.range[i].on && s->device.range[i].kind == DT_RANGE_SET)
			each_point(f, &s->device.range[i], want_point, NULL, NULL);
	if (!f->elf->sites)
		return 0;
	tab = dt_file_symtab(f);
	if (tab)
		warm(tab);
	if (note_file(s, f, e) < 0)
		return -1;
	for (size_t i = 0; i < s->device.n; i++)
		if (s->device.range[i].on && each_site(f, &s->device.range[i], want, NULL, e) < 0)
			return -1;
	mask_file(s, f);
	return 0;
}

/* ---- the table of the slow path ---- */

struct actions {
	const struct dt_range **of; /* by site: the range that decides */
};

static void note_action(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	struct actions *a = ctx;
	const struct dt_range *old = a->of[site];

	/* points before ranges, those with options before those without */
	(void)f;
	if (!old || (r->kind == DT_RANGE_POINT && old->kind != DT_RANGE_POINT) ||
	    (old->kind != DT_RANGE_POINT && (r->action.what & DT_DO_CAREFUL) &&
	     !(old->action.what & DT_DO_CAREFUL)))
		a->of[site] = r;
}

struct table {
	struct dt_table_entry *entry;
	size_t n, room;
};

static int add_entry(struct table *t, const struct dt_table_entry *x, struct dt_error *e)
{
	struct dt_table_entry *more;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		more = realloc(t->entry, t->room * sizeof(*more));
		if (!more)
			return dt_fail(e, "out of memory");
		t->entry = more;
	}
	t->entry[t->n++] = *x;
	return 0;
}

static bool same_action(const struct dt_table_entry *x, const struct dt_action *a)
{
	return x->what == a->what && x->pid == a->pid && x->late == a->late &&
	       x->constant == a->constant;
}

/* Neighbouring sites with the same action share an entry. */
static int module_table(struct dt_session *s, struct dt_module *m, struct table *t,
			struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	struct actions a = {.of = calloc(elf->sites, sizeof(*a.of))};
	bool joined = false;
	int rc = a.of ? 0 : dt_fail(e, "out of memory");

	for (size_t i = 0; rc == 0 && i < s->device.n; i++)
		if (s->device.range[i].on)
			rc = each_site(m->file, &s->device.range[i], note_action, &a, e);
	for (size_t i = 0; rc == 0 && i < elf->sites; i++) {
		const struct dt_range *r = a.of[i];
		bool probe = dt_elf_is_probe(&elf->site[i]);
		uint64_t pc = probe ? dt_probes_pc(m, i) : m->bias + site_pc(&elf->site[i]);
		struct dt_table_entry x;

		if (!r || !pc || (!s->device.uniform && !(r->action.what & DT_DO_CAREFUL))) {
			joined = false;
			continue;
		}
		if (joined && !probe && same_action(&t->entry[t->n - 1], &r->action)) {
			t->entry[t->n - 1].end = pc;
			continue;
		}
		x = (struct dt_table_entry){
			pc, pc, r->action.what, r->action.pid, r->action.late, r->action.constant};
		rc = add_entry(t, &x, e);
		joined = !probe; /* trampolines stand in an order of their own */
	}
	free(a.of);
	return rc;
}

struct point_table {
	const struct dt_module *m;
	struct table *t;
};

/*
 * A point's records: what begins something is done by the first, what ends something by the last,
 * so that what belongs together is recorded together.
 */
static int point_entries(void *ctx, struct dt_point *point, const struct dt_range *r,
			 struct dt_error *e)
{
	const struct point_table *k = ctx;
	const struct dt_module *m = k->m;
	uint64_t pc[DT_CAPTURE_PCS];
	size_t n = dt_probes_point_pcs(m, point->id, pc, DT_CAPTURE_PCS);
	unsigned last = point->items ? (point->items - 1) / 4 * 4 : 0;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		struct dt_table_entry x = {pc[i],	  pc[i],	  r->action.what,
					   r->action.pid, r->action.late, r->action.constant};
		unsigned first;
		bool text;

		dt_probes_point(m, pc[i], &first, &text);
		if (text || first)
			x.what &= ~(uint32_t)(DT_DO_UNFREEZE | DT_DO_BASE | DT_DO_ADJACENT |
					      DT_DO_CONST);
		if (text || first != last)
			x.what &= ~(uint32_t)(DT_DO_FREEZE | DT_DO_LATEFREEZE);
		rc = add_entry(k->t, &x, e);
	}
	return rc;
}

static int points_table(struct dt_session *s, const struct dt_module *m, struct table *t,
			struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < s->device.n && rc == 0; i++) {
		const struct dt_range *r = &s->device.range[i];
		struct point_table k = {m, t};

		if (r->on && (s->device.uniform || (r->action.what & DT_DO_CAREFUL)))
			rc = each_point(m->file, r, point_entries, &k, e);
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct dt_table_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int dt_ranges_table(struct dt_session *s, struct dt_target *target, struct dt_error *e)
{
	struct table t = {0};
	int rc = 0;

	if (!target->area || target->ended)
		return 0;
	for (size_t i = 0; rc == 0 && i < target->n; i++) {
		if (target->module[i].file->elf && target->module[i].file->chosen_sites)
			rc = module_table(s, &target->module[i], &t, e);
		if (rc == 0 && target->module[i].file->points.n)
			rc = points_table(s, &target->module[i], &t, e);
	}
	if (t.n)
		qsort(t.entry, t.n, sizeof(*t.entry), by_start);
	if (rc == 0)
		rc = dt_area_table(target->mem, target->area, t.entry, t.n, e);
	free(t.entry);
	return rc < 0 && dt_target_gone(target) ? 0 : rc;
}

int dt_ranges_switch(struct dt_session *s, struct dt_range *r, struct dt_error *e)
{
	const struct place_of_range *p = r->host;
	int rc = 0;

	if (p->kernel)
		return dt_kernel_range_switch(p->kernel, r, e);
	for (struct dt_file *f = s->targets.files.first; f && rc == 0; f = f->next) {
		if (r->kind == DT_RANGE_SET)
			f->program = dt_session_is_program(s, f);
		rc = each_point(f, r, want_point, NULL, e);
	}
	if (rc < 0 || p->point)
		return rc;
	/* files that had no sites may have some from here on */
	for (struct dt_file *f = s->targets.files.first; f && rc == 0 && r->on; f = f->next)
		if (f->elf && !f->wanted && may_probe(s, r, f) &&
		    (f->elf->toggles || dt_file_probes(f, e) == 0))
			rc = note_file(s, f, e);
	for (struct dt_file *f = s->targets.files.first; f && rc == 0; f = f->next)
		if (f->wanted && (!p->file || p->file == f))
			if ((rc = each_site(f, r, r->on ? want : want_no_more, NULL, e)) == 0)
				dt_file_choose_askers(f);
	return rc;
}

bool dt_ranges_kernel(const struct dt_range *r)
{
	const struct place_of_range *p = r->host;

	return p->kernel;
}

bool dt_ranges_went_off(struct dt_session *s)
{
	bool any = false;

	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		any = any || f->went_off;
		f->went_off = false;
	}
	return any;
}

int dt_ranges_kernel_change(const struct dt_range *before, const struct dt_range *r,
			    struct dt_error *e)
{
	const struct place_of_range *old = before->host, *p = r->host;

	return dt_kernel_range_change(old->kernel, p->kernel, r, e);
}

void dt_ranges_uniform(struct dt_session *s, bool uniform)
{
	if (uniform == s->uniform)
		return;
	s->uniform = uniform;
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		for (size_t i = 0; f->wanted && i < f->elf->sites; i++)
			count_site(f, i, uniform ? 1 : -1);
}

const struct dt_file *dt_ranges_file(const struct dt_range *r, uint64_t *low, uint64_t *high)
{
	const struct place_of_range *p = r->host;

	/* a site begins up to so many bytes in front of its pc */
	*low = p->file && p->low > 32 ? p->low - 32 : 0;
	*high = p->file ? p->high : ~0ull;
	return p->file;
}

int dt_ranges_planted(struct dt_session *s, const struct dt_range *r, struct dt_error *e)
{
	const struct place_of_range *p = r->host;

	if (!r->on || !p->point)
		return 0;
	for (struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *m = &t->module[i];
			uint64_t near;
			const char *why = m->file == p->file
						  ? dt_probes_refused(m, p->point->id, &near)
						  : NULL;

			if (why)
				return dt_fail(e, "devtrace: no tracepoint can be at %lx: %s",
					       (unsigned long)(m->bias + p->point->site.address),
					       why);
		}
	return 0;
}

struct unhooked {
	struct dt_session *s;
	bool any;	 /* something is hooked */
	const char *why; /* something is not, and can not be */
};

static void note_unhooked(void *ctx, struct dt_file *f, size_t site, const struct dt_range *r)
{
	struct unhooked *u = ctx;
	bool planted;
	const char *why = dt_unhooked_why(u->s, f, site, &planted);

	(void)r;
	u->any = u->any || planted;
	u->why = why ? why : u->why;
}

const char *dt_ranges_unhooked(struct dt_session *s, struct dt_range *r)
{
	struct place_of_range *p = r->host;
	struct unhooked u = {.s = s};
	uint64_t hits[2] = {0};

	/* of many functions some can not be hooked, which is said at the end: here it is asked each
	 * time */
	if (p->point || p->kernel || (r->kind == DT_RANGE_SET && strpbrk(r->what, "*?[, ")))
		return NULL;
	hits[0] = p->select.n ? p->select.pattern[0].hits : 0;
	hits[1] = p->libraries.n ? p->libraries.pattern[0].hits : 0;
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		each_site(f, r, note_unhooked, &u, NULL);
	if (p->select.n)
		p->select.pattern[0].hits = hits[0];
	if (p->libraries.n)
		p->libraries.pattern[0].hits = hits[1];
	return u.any ? NULL : u.why;
}

uint64_t dt_ranges_matched(const struct dt_range *r, char *missing, size_t size)
{
	const struct place_of_range *p = r->host;
	uint64_t n = 0;

	for (size_t i = 0; i < p->select.n; i++)
		n += p->select.pattern[i].hits;
	for (size_t i = 0; i < p->libraries.n; i++)
		n += p->libraries.pattern[i].hits;
	dt_arguments_missing(p->arguments ? p->arguments : "", p->had, missing, size);
	return n;
}

void dt_ranges_hits(const struct dt_range *r, struct dt_selection *select)
{
	const struct place_of_range *p = r->host;

	for (size_t i = 0; i < select->n && i < p->select.n; i++)
		select->pattern[i].hits = p->select.pattern[i].hits;
	/* those for libraries are some of them, in the same order */
	for (size_t i = 0, k = 0; i < select->n && k < p->libraries.n; i++)
		if (strcmp(select->pattern[i].text, p->libraries.pattern[k].text) == 0)
			select->pattern[i].hits += p->libraries.pattern[k++].hits;
}
