/* SPDX-License-Identifier: MIT */
/* Parses the words that say what is captured. */
#include "session/capture.h"

#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "elf/usdt.h"
#include "symbols/variable.h"
#include "session/places.h"

struct parsing {
	struct dt_session *s;
	const struct dt_module *m;
	struct dt_point *p;
};

/* Finds the address of a symbol in the module's own file, or else in any file of the reference
 * process. */
static bool find_data(const struct parsing *k, const char *name, uint64_t *address)
{
	struct dt_target *t = dt_places_reference(k->s);
	uint64_t at;

	if (k->m->file->elf && dt_elf_symbol(k->m->file->elf, name, &at, NULL) == 0) {
		*address = at + k->m->bias;
		return true;
	}
	for (size_t i = 0; t && i < t->n; i++)
		if (t->module[i].file->elf &&
		    dt_elf_symbol(t->module[i].file->elf, name, &at, NULL) == 0) {
			*address = at + t->module[i].bias;
			return true;
		}
	return false;
}

static bool on_symbol(void *ctx, const char *name, uint64_t *address)
{
	const struct parsing *k = ctx;
	struct dt_place place;

	if (find_data(k, name, address))
		return true;
	if (dt_places_find(k->s, name, &place, NULL) != 1)
		return false;
	*address = place.start;
	return true;
}

static int add_variable(const struct parsing *k, const struct dt_capture_asked *c,
			struct dt_error *e)
{
	struct dt_symtab *tab = dt_file_symtab(k->m->file);
	struct dt_variable v;

	if (dt_variable_find(tab, k->p->site.address, c->variable, &v, e) < 0)
		return -1;
	if (c->text && v.type[0] != 's' && v.type[0] != 'p')
		return dt_fail(e,
			       "devtrace: TEXT %s: it is no pointer; VALUE shows it as what it is",
			       c->variable);
	if (c->text || v.type[0] == 's')
		v.item.text = DT_CAPTURE_TEXT;
	return dt_point_item(k->p, &v.item, c->label, c->text ? "s" : v.type, e);
}

static int on_item(void *ctx, const struct dt_capture_asked *c, struct dt_error *e)
{
	const struct parsing *k = ctx;
	const struct dt_elf *elf = k->m->file->elf;
	struct dt_item item = {.from = {.kind = c->memory ? DT_OPERAND_MEMORY : DT_OPERAND_REGISTER,
					.size = c->size,
					.reg = c->reg,
					.base = c->memory ? c->reg : DT_REGISTER_NONE,
					.index = DT_REGISTER_NONE,
					.value = c->offset}};

	if (c->variable)
		return add_variable(k, c, e);
	/* an address in the file itself is right in every process, one in another file only in this
	 * process */
	if (c->memory && c->reg == DT_REGISTER_NONE) {
		uint64_t at = (uint64_t)c->offset - k->m->bias;

		item.relative = at >= elf->low && at < elf->high;
		if (item.relative)
			item.from.value = (int64_t)at;
	}
	return dt_point_item(k->p, &item, c->label, c->type, e);
}

int dt_capture_parse(struct dt_session *s, const struct dt_module *m, const char *words,
		     struct dt_point *p, struct dt_error *e)
{
	static const struct dt_capture_ops ops = {.symbol = on_symbol, .item = on_item};
	struct parsing k = {s, m, p};
	size_t n = strlen(words);
	char *text = malloc(n + 1);
	int rc;

	if (!text)
		return dt_fail(e, "out of memory");
	memcpy(text, words, n + 1);
	rc = dt_capture_words(text, n, &ops, &k, e);
	free(text);
	return rc;
}

/* ---- USDT ---- */

/* Replaces the symbol that a memory operand names by its address. */
static void resolve(const struct dt_file *f, struct dt_item *item)
{
	char name[256];
	uint64_t at;

	if (!item->from.symbol)
		return;
	memcpy(name, item->from.symbol, item->from.symbol_length);
	name[item->from.symbol_length] = '\0';
	item->from.symbol = NULL;
	if (dt_elf_symbol(f->elf, name, &at, NULL) < 0) {
		item->from.kind = DT_OPERAND_UNKNOWN;
		return;
	}
	if (item->from.base == DT_REGISTER_RIP)
		item->from.base = DT_REGISTER_NONE;
	item->from.value += (int64_t)at;
	item->relative = true;
}

int dt_capture_usdt(const struct dt_file *f, const char *arguments, struct dt_point *p,
		    struct dt_error *e)
{
	struct dt_operand operand[DT_USDT_ARGUMENTS];
	size_t n = dt_usdt_arguments(arguments, operand, DT_USDT_ARGUMENTS);

	for (size_t i = 0; i < n && i < DT_USDT_ARGUMENTS; i++) {
		struct dt_item item = {.from = operand[i]};
		char name[16], type[4] = "i8";

		resolve(f, &item);
		if (item.from.size != 1 && item.from.size != 2 && item.from.size != 4)
			item.from.size = 8;
		type[0] = item.from.is_float ? 'f' : item.from.is_signed ? 'i' : 'u';
		type[1] = (char)('0' + item.from.size);
		if (item.from.is_float && item.from.size < 4)
			type[0] = 'u';
		if (type[0] == 'u' && item.from.size == 8)
			type[0] = 'p'; /* pointers are described as unsigned, too */
		dt_format(name, sizeof(name), "arg%zu", i + 1);
		if (dt_point_item(p, &item, name, type, e) < 0)
			return -1;
	}
	return 0;
}
