/* SPDX-License-Identifier: MIT */
/* Addresses and names in a session's processes. */
#include "session/places.h"
#include "hook/target-modules.h"

#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "symbols/pattern.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "session/kernel-ranges.h"
#include "session/describe.h"
#include "session/whose.h"

/* The list has the youngest process first, so the last one found is the oldest. */
struct dt_target *dt_places_reference(struct dt_session *s)
{
	struct dt_target *first = NULL;

	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended && t->n)
			first = t;
	return first;
}

/* A search for the functions with a name: the first eight found, and how many there are. */
struct names {
	const char *want;
	struct dt_target *t;
	struct dt_module *module;
	const struct dt_function *found[8];
	struct dt_module *found_in[8];
	size_t n;
};

static void note_name(struct names *n, const struct dt_function *f)
{
	for (size_t i = 0; i < n->n && i < 8; i++)
		if (n->found[i] == f)
			return;
	if (n->n < 8) {
		n->found[n->n] = f;
		n->found_in[n->n] = n->module;
	}
	n->n++;
}

static void on_function(void *ctx, const struct dt_function *f)
{
	note_name(ctx, f);
}

static void names_in(struct names *n)
{
	const struct dt_names *names = dt_file_names(n->module->file);

	if (names)
		dt_names_find(names, n->want, on_function, n);
}

/* Tells whether the first n bytes of `name' are one of the module's names, with or without what
 * follows its first ".so". */
static bool is_module(const struct dt_module *m, const char *name, size_t n)
{
	char module[256];
	struct dt_pattern p = {.module = module};

	if (n >= sizeof(module))
		return false;
	memcpy(module, name, n);
	module[n] = '\0';
	return dt_pattern_module(&p, dt_file_called(m->file, module));
}

static int several(const struct names *n, struct dt_error *e)
{
	size_t at;

	dt_fail(e, "devtrace: '%s' names %zu functions:", n->want, n->n);
	for (size_t i = 0; e && i < n->n && i < 8; i++) {
		const struct dt_module *m = n->found_in[i];
		const char *slash = strrchr(m->file->path, '/');

		at = strlen(e->text);
		dt_format(e->text + at, sizeof(e->text) - at, "%s %s:%lx", i ? "," : "",
			  slash ? slash + 1 : m->file->path,
			  (unsigned long)(m->bias + n->found[i]->address));
	}
	at = e ? strlen(e->text) : 0;
	if (e)
		dt_format(e->text + at, sizeof(e->text) - at, "; write MODULE:NAME or the address");
	return -1;
}

static int line_place(struct dt_session *s, const char *text, const char *colon,
		      struct dt_place *place, struct dt_error *e);

/* Finds a symbol that is no function, so that it is later reported as not being code rather than as
 * unknown. */
static int data_place(const struct names *n, const char *module, size_t length,
		      struct dt_place *place)
{
	uint64_t number;

	/* numbers are not looked for among all symbols, which would take long */
	if (dt_word_hex(n->want, &number))
		return 0;
	for (size_t i = 0; i < n->t->n; i++) {
		const struct dt_module *m = &n->t->module[i];
		uint64_t at;

		if (!m->file->elf || (module && !is_module(m, module, length)) ||
		    dt_elf_symbol(m->file->elf, n->want, &at, NULL) < 0)
			continue;
		*place = (struct dt_place){.start = at + m->bias, .end = at + m->bias};
		return 1;
	}
	return 0;
}

int dt_places_find(struct dt_session *s, const char *text, struct dt_place *place,
		   struct dt_error *e)
{
	const char *colon = strchrnul(text, ':');
	bool qualified = *colon && colon[1] && colon[1] != ':' && !strchr(colon + 1, ':');
	struct names n = {.want = qualified ? colon + 1 : text, .t = dt_places_reference(s)};
	uint64_t number;

	if (strncmp(text, DT_KERNEL_PREFIX, strlen(DT_KERNEL_PREFIX)) == 0)
		return dt_kernel_place(s->kernel, text + strlen(DT_KERNEL_PREFIX), place, e);
	if (!n.t)
		return 0;
	if (qualified && dt_word_decimal(colon + 1, &number))
		return line_place(s, text, colon, place, e);
	/* a name in the program takes precedence over one in its libraries */
	for (size_t i = 0; i < n.t->n && (n.n == 0 || qualified); i++) {
		n.module = &n.t->module[i];
		if (!qualified || is_module(n.module, text, (size_t)(colon - text)))
			names_in(&n);
	}
	if (n.n > 1)
		return several(&n, e);
	if (n.n == 0)
		return data_place(&n, qualified ? text : NULL, (size_t)(colon - text), place);
	place->start = n.found_in[0]->bias + n.found[0]->address;
	place->end = place->start + (n.found[0]->size ? n.found[0]->size - 1 : 0);
	place->at = 0;
	return 1;
}

/* Returns the line at which the last function of a source file begins; 0: none is known. */
static unsigned last_function(const struct dt_target *t, const char *name, size_t length)
{
	unsigned last = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct dt_symtab *tab = dt_file_symtab(t->module[i].file);
		const struct dt_function *f;
		size_t n;

		if (!tab)
			continue;
		f = dt_symtab_functions(tab, &n);
		for (size_t k = 0; k < n; k++) {
			const char *file, *base;
			unsigned line;

			if (!dt_symtab_line(tab, f[k].address, &file, &line) || line <= last)
				continue;
			base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
			if ((strlen(base) == length && strncmp(base, name, length) == 0) ||
			    (strlen(file) == length && strncmp(file, name, length) == 0))
				last = line;
		}
	}
	return last;
}

/* Finds the function in which a line of a source file is. */
static int line_place(struct dt_session *s, const char *text, const char *colon,
		      struct dt_place *place, struct dt_error *e)
{
	struct dt_target *t = dt_places_reference(s);
	uint64_t want = strtoull(colon + 1, NULL, 10);
	size_t length = (size_t)(colon - text);
	unsigned best;

	for (size_t i = 0; i < t->n && want < 1u << 30; i++) {
		struct dt_symtab *tab = dt_file_symtab(t->module[i].file);
		const struct dt_function *f;
		uint64_t at;

		if (!tab || !dt_symtab_address(tab, text, length, (unsigned)want, &at) ||
		    !(f = dt_symtab_find(tab, at)))
			continue;
		*place = (struct dt_place){.start = t->module[i].bias + f->address,
					   .end = t->module[i].bias + f->address +
						  (f->size ? f->size - 1 : 0),
					   .at = t->module[i].bias + at};
		return 1;
	}
	best = last_function(t, text, length);
	if (best)
		return dt_fail(
			e,
			"devtrace: %.*s has no code at line %s or after it; its last function "
			"begins at line %u",
			(int)length, text, colon + 1, best);
	return dt_fail(e,
		       "devtrace: no function is known to be at %s; are there line numbers (-g)?",
		       text);
}

void dt_places_text(struct dt_session *s, uint64_t *base, uint64_t *end)
{
	struct dt_target *t = dt_places_reference(s);

	*base = t ? t->module[0].bias : 0;
	if (t && t->module[0].file->elf && t->module[0].file->elf->type == 2 /* ET_EXEC */)
		*base = t->module[0].file->elf->low;
	*end = ~0ull;
}

void dt_place_name(struct dt_session *s, uint32_t tid, uint64_t pc, bool offset, char *out,
		   size_t size)
{
	const struct dt_function *f = NULL;
	struct dt_module *m = NULL;

	(void)tid;
	dt_format(out, size, "%lx", (unsigned long)pc);
	pthread_mutex_lock(&s->lock);
	for (struct dt_target *t = s->first; t && !m; t = t->next)
		m = dt_target_module(t, pc);
	if (m && dt_file_symtab(m->file))
		f = dt_symtab_find(m->file->symtab, pc - m->bias);
	if (f && offset && pc - m->bias > f->address)
		dt_format(out, size, "%s+%lx", f->name, (unsigned long)(pc - m->bias - f->address));
	else if (f)
		dt_format(out, size, "%s", f->name);
	pthread_mutex_unlock(&s->lock);
}

/* Returns the address of the instruction that a record is of, with the point's number above it. */
static uint64_t instruction_of(struct dt_session *s, const struct dt_record *r)
{
	struct dt_target *t;
	struct dt_module *m = dt_whose_module(s, r, &t);
	const struct dt_elf_site *site = !m	     ? NULL
					 : m->stubs  ? dt_stubs_site(m, r->pc)
					 : m->probes ? dt_probes_site(m, r->pc)
						     : NULL;
	const struct dt_point *point;
	unsigned first, text;

	if (!site)
		return r->pc;
	point = dt_probes_point(m, r->pc, &first, &text);
	return (m->bias + site->address) |
	       (point && point->id < 0xffff ? (uint64_t)(point->id + 1) << 48 : 0);
}

/* A run of records of a thread with the same pc is translated once. */
void dt_place_translate(struct dt_session *s, struct dt_record *r, size_t n)
{
	uint64_t pc = 0, original = 0;
	uint32_t tid = 0;

	for (size_t i = 0; i < n; i++) {
		if (r[i].pc != pc || r[i].tid != tid) {
			pc = original = r[i].pc;
			tid = r[i].tid;
			if (s->kernel && dt_kernel_address(pc)) {
				unsigned first;
				const struct dt_point *point =
					dt_kernel_point(s->kernel, pc, &first);

				original = point ? point->site.address : pc;
				r[i].pc = original;
				continue;
			}
			original = instruction_of(s, &r[i]);
		}
		r[i].pc = original;
	}
}

bool dt_place_point(struct dt_session *s, uint64_t pc, char *out, size_t size)
{
	const struct dt_record r = {.kind = DT_POINT, .pc = pc};
	uint64_t address = dt_record_pc(&r);
	const struct dt_point *point = NULL;
	struct dt_module *m = NULL;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (struct dt_target *t = s->first; t && !m; t = t->next)
		m = dt_target_module(t, address);
	if (m && DT_RECORD_POINT(pc) && DT_RECORD_POINT(pc) <= m->file->points.n)
		point = m->file->points.point[DT_RECORD_POINT(pc) - 1];
	if (point) {
		dt_describe_name(m, point, out, size);
		n = strlen(out);
		for (unsigned i = 0; i < point->items && n < size; i++)
			n += dt_format(out + n, size - n, "%c%s:%s%s", i ? ',' : '\n',
				       point->label[i].name, point->label[i].type,
				       point->item[i].text ? "*" : "");
	}
	pthread_mutex_unlock(&s->lock);
	return point != NULL;
}

void dt_place_symbols(struct dt_session *s, const char *prefix, size_t max,
		      void (*fn)(void *ctx, const char *name), void *ctx)
{
	size_t length = strlen(prefix), n = 0;
	struct dt_target *t;

	pthread_mutex_lock(&s->lock);
	t = dt_places_reference(s);
	/* functions of files with sites; those of other libraries only when there are none */
	for (int any = 0; any < 2 && n == 0; any++)
		for (size_t i = 0; t && i < t->n; i++) {
			const struct dt_elf *elf = t->module[i].file->elf;
			struct dt_symtab *tab = elf && (any || elf->sites)
							? dt_file_symtab(t->module[i].file)
							: NULL;
			const struct dt_function *f = NULL;
			size_t functions = 0;

			if (tab)
				f = dt_symtab_functions(tab, &functions);
			for (size_t k = 0; k < functions && n < max; k++) {
				if (strncmp(f[k].name, prefix, length) != 0)
					continue;
				fn(ctx, f[k].name);
				n++;
			}
		}
	pthread_mutex_unlock(&s->lock);
}
