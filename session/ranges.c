/* SPDX-License-Identifier: MIT */
/* Ranges: what they mean, how they are switched, and questions about them. */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "hook/target-modules.h"
#include "hook/probes.h"
#include "session/arguments.h"
#include "session/capture.h"
#include "session/kernel-ranges.h"
#include "session/places.h"
#include "session/unhooked.h"
#include "session/programs.h"

uint64_t dt_ranges_site_pc(const struct dt_elf_site *s)
{
	return s->address + s->back;
}

static int no_process(struct dt_error *e)
{
	return dt_fail(e,
		       "devtrace: no process is traced, so no address means anything; attach one");
}

/* Returns the site that an address means: the entry of the function that begins there, or the site
 * at the address itself; NULL: there is none. */
static const struct dt_elf_site *entry_site(const struct dt_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *x = &elf->site[i];

		if (x->address == address || dt_ranges_site_pc(x) == address ||
		    ((x->kind == DT_ELF_ENTRY || x->kind == DT_ELF_PROBE_ENTRY) &&
		     x->function == address))
			return x;
	}
	return NULL;
}

int dt_ranges_read_code(struct dt_file *f, struct dt_error *e)
{
	if (!f->elf)
		return dt_fail(e, "devtrace: %s can not be read", f->path);
	return dt_file_probes(f, NULL) == 0 ? 0 : dt_file_code(f, e);
}

/* Checks that an instruction begins at an address, before anything is changed: nothing can be
 * planted elsewhere. */
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

/* Makes a tracepoint at an instruction, with what it captures. */
static int new_point(struct dt_session *s, struct dt_module *m, struct dt_range *r,
		     struct place_of_range *p, struct dt_error *e)
{
	struct dt_point point = {.site = {.address = r->start - m->bias}};
	size_t f;

	if (dt_ranges_read_code(m->file, e) < 0 || check_instruction(m, point.site.address, e) < 0)
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

/*
 * Finds out what a tracepoint is at: a function's site, which needs no point, or any instruction.
 */
static int check_point(struct dt_session *s, struct dt_module *m, struct dt_range *r,
		       struct place_of_range *p, struct dt_error *e)
{
	const struct dt_elf_site *site;

	if (m->file->elf && dt_file_probes(m->file, e) < 0 && !m->file->elf->toggles)
		return -1;
	site = m->file->elf ? entry_site(m->file->elf, r->start - m->bias) : NULL;
	if (r->capture || !site)
		return new_point(s, m, r, p, e);
	r->start = r->end = m->bias + dt_ranges_site_pc(site);
	return 0;
}

bool dt_ranges_is_everything(const char *pattern)
{
	return strspn(pattern, "*:") == strlen(pattern);
}

/* Keeps the list of arguments after the '@' of a pattern, and cuts the pattern off there. */
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

/* Keeps the module after a '^': only its calls of other modules are meant. */
static int take_from(const char *module, struct place_of_range *p, struct dt_error *e)
{
	char pattern[DT_NAME_MAX + 8];

	if (p->from)
		return dt_fail(e, "devtrace: '^%s': one module for a range, '^%s' is there", module,
			       p->from);
	if (strchr(module, ':') || strlen(module) > DT_NAME_MAX)
		return dt_fail(
			e, "devtrace: '^%s': ^ needs the name of a module, such as ^libfoo.so.1",
			module);
	p->from = strdup(module);
	dt_format(pattern, sizeof(pattern), "%s:*", module);
	return !p->from	 ? dt_fail(e, "out of memory")
	       : *module ? dt_selection_add(&p->callers, pattern, false, e)
			 : 0;
}

/* Refuses a second module whose calls are asked for: the hooks know one set of callers. */
static int check_from(const struct dt_session *s, const struct dt_range *r,
		      const struct place_of_range *p, struct dt_error *e)
{
	for (size_t i = 0; p->from && i < s->device.n; i++) {
		const struct place_of_range *x = s->device.range[i].host;

		if (&s->device.range[i] == r || !x || !x->from || strcmp(x->from, p->from) == 0)
			continue;
		return dt_fail(
			e,
			"devtrace: '^%s': calls from '^%s' are recorded by '%s'; remove that "
			"first, or name both by one pattern",
			p->from, x->from, s->device.range[i].name);
	}
	return 0;
}

/* Parses the patterns of a set, which are separated by blanks; one that begins with '!' removes
 * functions. */
static int parse_set(const char *what, struct place_of_range *p, struct dt_error *e)
{
	char *text = strdup(what), *save, *word;
	bool any = false;
	int rc = text ? 0 : dt_fail(e, "out of memory");

	for (word = text ? strtok_r(text, " ", &save) : NULL; word && rc == 0;
	     word = strtok_r(NULL, " ", &save)) {
		if (word[0] == '^') {
			rc = take_from(word + 1, p, e);
			continue;
		}
		bool sign = word[0] == '!' || word[0] == '+';
		char *at = strchr(word, '@');

		if (at && take_arguments(at, word, p, e) < 0) {
			rc = -1;
			break;
		}
		rc = dt_selection_add(&p->select, word + sign, word[0] == '!', e);
		if (rc == 0 && (word[0] == '!' || !dt_ranges_is_everything(word + sign)))
			rc = dt_selection_add(&p->libraries, word + sign, word[0] == '!', e);
		any = true;
	}
	free(text);
	if (rc == 0 && p->from && p->select.n &&
	    dt_ranges_is_everything(p->select.pattern[0].text)) {
		p->imports = true;
		for (size_t i = 1; i < p->select.n; i++)
			if (!p->select.pattern[i].remove)
				return dt_fail(
					e,
					"devtrace: '%s': * with ^MODULE means all that MODULE "
					"imports; beside it there can only be !PATTERN",
					what);
		return 0;
	}
	/* patterns that only remove functions would mean everything else in every library */
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
		if (rc == 0)
			rc = check_from(s, r, p, e);
		p->files = &s->targets.files;
		p->stacks = s->options.backtrace ? &s->stack_points : NULL;
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
		dt_selection_clear(&p->callers);
		free(p->arguments);
		free(p->from);
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
		dt_selection_clear(&p->callers);
		dt_across_free(p->across);
		free(p->arguments);
		free(p->from);
		if (p->point)
			p->point->idle = true;
		if (p->kernel)
			dt_kernel_range_forget(p->kernel);
	}
	free(p);
	r->host = NULL;
}

static int choose_sites(struct dt_session *s, struct dt_file *f, struct dt_error *e)
{
	struct dt_symtab *tab;

	f->program = dt_program_is_known(s, f);
	f->unmeant = f->program && !f->elf->sites && !f->probed;
	if (dt_ranges_note_caller(s, f, e) < 0)
		return -1;
	for (size_t i = 0; !f->elf->sites && !f->probed && i < s->device.n; i++)
		if (s->device.range[i].on && dt_ranges_may_probe(s, &s->device.range[i], f)) {
			f->unmeant = false;
			dt_file_probes(f, NULL);
		}
	for (size_t i = 0; i < s->device.n; i++)
		if (s->device.range[i].on && s->device.range[i].kind == DT_RANGE_SET)
			dt_ranges_each_point(f, &s->device.range[i], dt_ranges_want_point, NULL,
					     NULL);
	if (!f->elf->sites)
		return 0;
	tab = dt_file_symtab(f);
	if (tab)
		dt_ranges_warm(tab);
	if (dt_ranges_note_file(s, f, e) < 0)
		return -1;
	for (size_t i = 0; i < s->device.n; i++)
		if (s->device.range[i].on &&
		    dt_ranges_each_site(f, &s->device.range[i], dt_ranges_want, NULL, e) < 0)
			return -1;
	dt_ranges_mask_file(s, f);
	return 0;
}

int dt_ranges_choose(void *ctx, struct dt_file *f, struct dt_error *e)
{
	return choose_sites(ctx, f, e) < 0 ? -1 : dt_ranges_follow_across(ctx, e);
}

int dt_ranges_switch(struct dt_session *s, struct dt_range *r, struct dt_error *e)
{
	struct place_of_range *p = r->host;
	int rc = 0;

	if (p->kernel)
		return dt_kernel_range_switch(p->kernel, r, e);
	if (p->from && r->on)
		dt_ranges_note_callers(s);
	for (struct dt_file *f = s->targets.files.first; f && rc == 0; f = f->next) {
		if (r->kind == DT_RANGE_SET)
			f->program = dt_program_is_known(s, f);
		rc = dt_ranges_each_point(f, r, dt_ranges_want_point, NULL, e);
	}
	if (rc < 0 || p->point)
		return rc;
	/* files that had no sites may get some here */
	for (struct dt_file *f = s->targets.files.first; f && rc == 0 && r->on; f = f->next)
		if (f->elf && !f->wanted && dt_ranges_may_probe(s, r, f) &&
		    (f->elf->toggles || dt_file_probes(f, e) == 0))
			rc = dt_ranges_note_file(s, f, e);
	for (struct dt_file *f = s->targets.files.first; f && rc == 0; f = f->next)
		if (f->wanted && (!p->file || p->file == f))
			if ((rc = dt_ranges_each_site(
				     f, r, r->on ? dt_ranges_want : dt_ranges_want_no_more, NULL,
				     e)) == 0)
				dt_file_choose_askers(f);
	if (rc == 0 && r->on)
		rc = dt_ranges_follow_across(s, e);
	if (!r->on) {
		dt_across_free(p->across);
		p->across = NULL;
	}
	if (p->from && !r->on)
		dt_ranges_note_callers(s);
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
			dt_ranges_count_site(f, i, uniform ? 1 : -1);
}

const struct dt_file *dt_ranges_file(const struct dt_range *r, uint64_t *low, uint64_t *high)
{
	const struct place_of_range *p = r->host;

	/* a site begins up to so many bytes before its pc */
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

/* What dt_ranges_unhooked() finds out about the sites of a range. */
struct unhooked {
	struct dt_session *s;
	bool any;	 /* something is hooked */
	const char *why; /* why something is not hooked and can not be; NULL: nothing is */
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

	/* of many functions some can usually not be hooked, which is said at the end; here it is
	 * asked each time ctl is read */
	if (p->point || p->kernel || (r->kind == DT_RANGE_SET && strpbrk(r->what, "*?[, ")))
		return NULL;
	hits[0] = p->select.n ? p->select.pattern[0].hits : 0;
	hits[1] = p->libraries.n ? p->libraries.pattern[0].hits : 0;
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		dt_ranges_each_site(f, r, note_unhooked, &u, NULL);
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
	/* the patterns for libraries are some of these, in the same order */
	for (size_t i = 0, k = 0; i < select->n && k < p->libraries.n; i++)
		if (strcmp(select->pattern[i].text, p->libraries.pattern[k].text) == 0)
			select->pattern[i].hits += p->libraries.pattern[k++].hits;
}
