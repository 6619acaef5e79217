/* SPDX-License-Identifier: MIT */
/*
 * What functions jump to in other files. A library's function that a range means may end in a jump
 * to a function of another library (OpenSSL's CRYPTO_free, to free): that function's exit is the
 * end of the call. The names of the slots through which the jumps lead say which functions these
 * are. They may be in files that come later, and may jump on.
 */
#include "session/ranges-work.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"
#include "elf/ifunc.h"
#include "hook/probes.h"
#include "symbols/passes.h"

#define MASK 4096  /* bits */
#define MOST 65536 /* names */

/* What a range means of a file, by function of its code. */
struct reach {
	const struct dt_file *file;
	bool *landing; /* other files jump to it */
	/* it is chosen, or what is chosen or a landing goes on in it: its exits are wanted */
	bool *reached;
	bool told;	/* the names of what these jump to are in the list */
	size_t matched; /* with how many of the names the file has been compared */
};

struct dt_across {
	struct reach *file;
	size_t files, room;
	char **name;	  /* in the order in which they were met; owned */
	uint32_t *sorted; /* their indices, sorted by name */
	size_t names, names_room;
	uint64_t mask[MASK / 64]; /* bits of these: most names that are asked for are not */
	bool no_memory;
};

void dt_across_free(struct dt_across *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->files; i++) {
		free(a->file[i].landing);
		free(a->file[i].reached);
	}
	for (size_t i = 0; i < a->names; i++)
		free(a->name[i]);
	free(a->file);
	free(a->name);
	free(a->sorted);
	free(a);
}

/* ---- names ---- */

static unsigned bit_of(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;
	size_t n = strlen(name);

	return n ? (unsigned)(n * 977 + p[0] * 59u + p[n / 2] * 331u + p[n - 1] * 13u) % MASK : 0;
}

/* Returns the place of a name among those that are sorted. */
static size_t place_of(const struct dt_across *a, const char *name)
{
	return dt_count_before(a->names, i, strcmp(a->name[a->sorted[i]], name) < 0);
}

/* Returns the index of a name; a->names: it is none of them. */
static size_t index_of(const struct dt_across *a, const char *name)
{
	unsigned bit = bit_of(name);
	size_t at;

	if (!(a->mask[bit / 64] >> bit % 64 & 1))
		return a->names;
	at = place_of(a, name);
	return at < a->names && strcmp(a->name[a->sorted[at]], name) == 0 ? a->sorted[at]
									  : a->names;
}

static bool make_room(struct dt_across *a)
{
	size_t room = a->names_room ? 2 * a->names_room : 64;
	char **names;
	uint32_t *sorted;

	if (a->names < a->names_room)
		return true;
	names = realloc(a->name, room * sizeof(*names));
	if (names)
		a->name = names;
	sorted = realloc(a->sorted, room * sizeof(*sorted));
	if (sorted)
		a->sorted = sorted;
	if (names && sorted)
		a->names_room = room;
	return names && sorted;
}

/* Adds a name, unless it is there. */
static void add_name(void *ctx, size_t slot, const char *name)
{
	struct dt_across *a = ctx;
	unsigned bit = bit_of(name);
	size_t at;
	char *copy;

	(void)slot;
	if (!*name || a->names == MOST || index_of(a, name) < a->names)
		return;
	copy = make_room(a) ? strdup(name) : NULL;
	if (!copy) {
		a->no_memory = true;
		return;
	}
	at = place_of(a, name);
	memmove(a->sorted + at + 1, a->sorted + at, (a->names - at) * sizeof(*a->sorted));
	a->sorted[at] = (uint32_t)a->names;
	a->name[a->names++] = copy;
	a->mask[bit / 64] |= 1ull << bit % 64;
}

uint64_t dt_across_slot(const struct dt_code *c, const struct dt_exit *x)
{
	const struct dt_code_region *r = dt_code_region_of(c, x->address);
	struct dt_insn in;

	if (x->kind == DT_EXIT_TAIL || x->kind == DT_EXIT_BRANCH)
		return x->target ? dt_passes_slot(c, x->target) : 0;
	if (x->kind != DT_EXIT_INDIRECT || !r ||
	    !dt_insn_decode(&in, r->bytes + (x->address - r->low), r->high - x->address,
			    x->address))
		return 0;
	return in.relative ? in.memory : 0;
}

/* Adds the names of what the functions that are reached jump to. */
static void tell_names(struct dt_across *a, struct reach *k)
{
	const struct dt_code *c = k->file->code;
	struct dt_elf_slot *slot = NULL;
	size_t n = 0, room = 0;

	k->told = true;
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (uint32_t x = 0; k->reached[f->whole] && x < f->exits; x++) {
			uint64_t at = dt_across_slot(c, &c->exit[f->first_exit + x]);

			if (at && n == room) {
				size_t more = room ? 2 * room : 64;
				struct dt_elf_slot *s = realloc(slot, more * sizeof(*s));

				if (!s) {
					a->no_memory = true;
					goto out;
				}
				slot = s;
				room = more;
			}
			if (at)
				slot[n++] = (struct dt_elf_slot){at, 0, 0};
		}
	}
	if (n)
		dt_elf_slot_names(k->file->elf, slot, n, add_name, a);
out:
	free(slot);
}

/* ---- files ---- */

static struct reach *find(struct dt_across *a, const struct dt_file *f)
{
	for (size_t i = 0; a && i < a->files; i++)
		if (a->file[i].file == f)
			return &a->file[i];
	return NULL;
}

static struct reach *find_or_add(struct dt_across *a, const struct dt_file *f)
{
	struct reach *k = find(a, f);

	if (k)
		return k;
	if (a->files == a->room) {
		size_t room = a->room ? 2 * a->room : 16;
		struct reach *more = realloc(a->file, room * sizeof(*more));

		if (!more)
			return NULL;
		a->file = more;
		a->room = room;
	}
	k = &a->file[a->files++];
	*k = (struct reach){.file = f};
	return k;
}

/* Makes the lists of a file whose code is known. */
static bool make_lists(struct reach *k)
{
	size_t n = k->file->code->functions + 1;

	if (!k->landing)
		k->landing = calloc(n, sizeof(*k->landing));
	if (!k->reached)
		k->reached = calloc(n, sizeof(*k->reached));
	return k->landing && k->reached;
}

void dt_across_landings(struct place_of_range *p, const struct dt_file *f, bool *next)
{
	const struct reach *k = find(p->across, f);

	for (size_t i = 0; k && k->landing && i < f->code->functions; i++)
		next[i] |= k->landing[i];
}

void dt_across_reached(struct place_of_range *p, const struct dt_file *f, const bool *chosen,
		       const bool *next)
{
	struct reach *k;

	if (!p->across && !(p->across = calloc(1, sizeof(*p->across))))
		return;
	k = find_or_add(p->across, f);
	if (!k || !make_lists(k)) {
		p->across->no_memory = true;
		return;
	}
	for (size_t i = 0; i < f->code->functions; i++) {
		bool is = chosen[i] || next[i];

		k->told &= k->reached[i] == is;
		k->reached[i] = is;
	}
}

/* What looks for functions of the names that a file has not been compared with. */
struct match {
	struct dt_across *a;
	struct reach *k;
	struct dt_file *file;
	uint64_t *function;
	size_t n, room;
};

static void note(struct match *m, uint64_t address)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 16;
		uint64_t *more = realloc(m->function, room * sizeof(*more));

		if (!more) {
			m->a->no_memory = true;
			return;
		}
		m->function = more;
		m->room = room;
	}
	m->function[m->n++] = address;
}

static void match_name(void *ctx, uint64_t address, const char *name)
{
	struct match *m = ctx;
	size_t i = m->file->vdso && !dt_ifunc_is_left(name) ? m->a->names : index_of(m->a, name);

	if (i < m->a->names && i >= m->k->matched)
		note(m, address);
}

/* Reads the code of a file in which nothing has been chosen yet. Returns whether its functions can
 * be hooked. */
static bool prepare(struct dt_session *s, struct dt_file *f)
{
	if (!f->probed && dt_file_probes(f, NULL) < 0)
		return false;
	return f->code && (f->wanted || dt_ranges_note_file(s, f, NULL) == 0) && f->wanted;
}

/*
 * Wants the exits of the functions that have been found and not been wanted before, and of those
 * that these go on in. Returns 1 if there were such; -1: no memory.
 */
static int land(struct dt_session *s, struct dt_range *r, struct match *m)
{
	const struct dt_code *c;
	struct reach *k = m->k;
	bool *next, any = false;

	if (!prepare(s, m->file))
		return 0;
	c = m->file->code;
	next = make_lists(k) ? calloc(c->functions + 1, sizeof(*next)) : NULL;
	if (!next)
		return -1;
	for (size_t i = 0; i < m->n; i++) {
		size_t at = dt_code_function_at(c, m->function[i]);

		if (at == c->functions || c->function[at].start != m->function[i])
			continue;
		at = c->function[at].whole;
		k->landing[at] = true;
		any |= !k->reached[at];
		next[at] |= !k->reached[at];
	}
	if (any) {
		dt_ranges_mark_followers(m->file, k->reached, true, next);
		dt_ranges_each_exit(m->file, r, next, dt_ranges_want, NULL);
		for (size_t i = 0; i < c->functions; i++)
			k->reached[i] |= next[i];
		k->told = false;
	}
	free(next);
	return any;
}

/* Looks for the names in a file that have not been looked for there. Returns as land(). */
static int match(struct dt_session *s, struct dt_range *r, struct dt_across *a, struct dt_file *f)
{
	struct match m = {.a = a, .k = find_or_add(a, f), .file = f};
	const struct dt_symtab *tab;
	const struct dt_function *function;
	size_t n;
	int rc = 0;

	if (!m.k)
		return -1;
	tab = m.k->matched < a->names ? dt_file_symtab(f) : NULL;
	if (tab) {
		function = dt_symtab_functions(tab, &n);
		for (size_t i = 0; i < n; i++)
			if (function[i].linkage && !function[i].label)
				match_name(&m, function[i].address, function[i].linkage);
		dt_symtab_aliases(tab, match_name, &m);
	}
	m.k->matched = a->names;
	if (m.n)
		rc = land(s, r, &m);
	free(m.function);
	return rc;
}

/* Follows the jumps of what one range means. */
static int follow(struct dt_session *s, struct dt_range *r, struct dt_error *e)
{
	struct place_of_range *p = r->host;
	struct dt_across *a = p->across;
	bool more = a != NULL;
	int rc;

	while (more) {
		more = false;
		for (size_t i = 0; i < a->files; i++)
			if (a->file[i].reached && !a->file[i].told)
				tell_names(a, &a->file[i]);
		for (struct dt_file *f = s->targets.files.first; f && a->names; f = f->next) {
			if (!f->asked || !f->elf || dt_ranges_calls_from(r, f))
				continue;
			rc = match(s, r, a, f);
			if (rc < 0 || a->no_memory)
				return dt_fail(e, "out of memory");
			more |= rc > 0;
		}
	}
	return 0;
}

int dt_ranges_follow_across(struct dt_session *s, struct dt_error *e)
{
	for (size_t i = 0; i < s->device.n; i++) {
		struct dt_range *r = &s->device.range[i];
		const struct place_of_range *p = r->host;

		if (r->on && r->kind == DT_RANGE_SET && p && p->imports &&
		    (r->action.what & DT_DO_EXIT) && follow(s, r, e) < 0)
			return -1;
	}
	return 0;
}
