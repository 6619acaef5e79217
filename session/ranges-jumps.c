/* SPDX-License-Identifier: MIT */
/*
 * Jumps by which a caller's functions end, to functions of other files, where a library has called
 * them: a comparison for qsort that ends in a jump to strcmp. What is jumped to returns to the
 * library, so that its own hooks do not take it for a call of the caller's. A point at the jump
 * records its entry. That is done for functions of which the address is taken, which nobody else
 * can call, and for those that they jump to.
 */
#include "session/ranges-work.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/search.h"

#define VALUES	  4	      /* arguments that an entry's record has */
#define MOST	  4096	      /* jumps of a file */
#define MOST_FILE (8ll << 20) /* bytes: the code of a larger file is not read for this */

/* ---- which functions' addresses are taken ---- */

/* The functions of which the address is taken, by function of the code. */
struct taken {
	const struct dt_code *code;
	bool *function;
};

static void take(void *ctx, uint64_t address)
{
	const struct taken *x = ctx;
	const struct dt_code *c = x->code;
	size_t i;

	if (address < c->low || address >= c->high)
		return;
	i = dt_code_function_at(c, address);
	if (i < c->functions && c->function[i].start == address)
		x->function[c->function[i].whole] = true;
}

/* Looks for addresses in the file's data, and in the table of what is put there. */
static void take_words(const struct dt_file *f, struct taken *x)
{
	static const char *const name[] = {".data", ".data.rel.ro", ".rodata", ".rela.dyn"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		uint64_t size, at;
		char *bytes = dt_elf_section(f->elf, name[i], &size, &at);

		for (at = -at & 7; bytes && at + 8 <= size; at += 8) {
			uint64_t word;

			memcpy(&word, bytes + at, sizeof(word));
			take(x, word);
		}
		free(bytes);
	}
}

/* ---- points ---- */

/* The jumps of a file, and what is asked for each. */
struct jumps {
	struct dt_file *file;
	const struct dt_range *range;
	const struct dt_exit *exit[MOST];
	uint64_t slot[MOST];
	struct dt_elf_slot of[MOST];
	size_t n;
	point_fn *fn;
	void *ctx;
	struct dt_error *e;
	int rc;
};

static struct dt_point *point_at(struct dt_file *f, const struct dt_exit *x, uint64_t slot)
{
	struct dt_point point = {.site = {.address = x->address}, .slot = slot};

	for (uint32_t i = 0; i < f->points.n; i++)
		if (f->points.point[i]->slot == slot &&
		    f->points.point[i]->site.address == x->address)
			return f->points.point[i];
	point.site.function = f->code->function[dt_code_function_at(f->code, x->address)].start;
	point.what = strdup("");
	for (unsigned i = 0; i < VALUES; i++) {
		struct dt_item item = {.from = {.kind = DT_OPERAND_REGISTER,
						.size = 8,
						.reg = dt_abi_register[i],
						.base = DT_REGISTER_NONE,
						.index = DT_REGISTER_NONE}};

		if (!point.what || dt_point_item(&point, &item, "", "p", NULL) < 0) {
			dt_point_release(&point);
			return NULL;
		}
	}
	return dt_points_add(&f->points, &point);
}

static void on_name(void *ctx, size_t i, const char *name)
{
	struct jumps *j = ctx;
	struct dt_point *point;

	if (j->rc || !dt_ranges_means_import(j->range, j->file, name))
		return;
	point = point_at(j->file, j->exit[i], j->slot[i]);
	j->rc = point ? j->fn(j->ctx, point, j->range, j->e) : dt_fail(j->e, "out of memory");
}

/* Notes the jumps of the functions that are marked. */
static void note_jumps(struct jumps *j, const bool *marked)
{
	const struct dt_code *c = j->file->code;

	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		for (uint32_t k = 0; marked[f->whole] && k < f->exits && j->n < MOST; k++) {
			const struct dt_exit *x = &c->exit[f->first_exit + k];
			/* a conditional one may not be taken */
			uint64_t slot = x->kind == DT_EXIT_BRANCH ? 0 : dt_across_slot(c, x);

			if (!slot)
				continue;
			j->exit[j->n] = x;
			j->slot[j->n] = slot;
			j->of[j->n] = (struct dt_elf_slot){slot, 0, j->n};
			j->n++;
		}
	}
}

bool dt_ranges_unread(struct dt_session *s, struct dt_file *f)
{
	bool is = false;

	for (size_t i = 0; i < s->device.n && DT_POINTS && f->elf && f->size > MOST_FILE; i++) {
		const struct dt_range *r = &s->device.range[i];
		const struct place_of_range *p = r->host;

		is |= r->kind == DT_RANGE_SET && p->imports && dt_ranges_calls_from(r, f);
	}
	return is;
}

int dt_ranges_each_jump(struct dt_file *f, const struct dt_range *r, point_fn *fn, void *ctx,
			struct dt_error *e)
{
	struct jumps *j;
	bool *taken, *next;
	struct taken x;
	int rc;

	if (!DT_POINTS || !f->elf || f->size > MOST_FILE || dt_ranges_read_code(f, NULL) < 0 ||
	    !f->code || f->code->go_high)
		return 0;
	j = calloc(1, sizeof(*j));
	taken = calloc(2 * f->code->functions + 2, sizeof(*taken));
	if (!j || !taken) {
		free(j);
		free(taken);
		return dt_fail(e, "out of memory");
	}
	x = (struct taken){f->code, taken};
	next = taken + f->code->functions + 1;
	*j = (struct jumps){.file = f, .range = r, .fn = fn, .ctx = ctx, .e = e};
	memset(next, 1, f->code->functions);
	note_jumps(j, next); /* mostly there are none */
	if (j->n) {
		memset(next, 0, f->code->functions);
		take_words(f, &x);
		for (size_t i = 0; i < f->code->regions; i++)
			dt_insn_each_taken(f->code->region[i].bytes,
					   f->code->region[i].high - f->code->region[i].low,
					   f->code->region[i].low, f->elf->type == ET_EXEC, take,
					   &x);
		dt_ranges_mark_followers(f, taken, true, next);
		for (size_t i = 0; i < f->code->functions; i++)
			next[i] |= taken[i];
		j->n = 0;
		note_jumps(j, next);
		dt_elf_slot_names(f->elf, j->of, j->n, on_name, j);
	}
	rc = j->rc;
	free(taken);
	free(j);
	return rc;
}
