/* SPDX-License-Identifier: MIT */
/* Finds what can be reached from what is known, and what never returns: for code-called.c. */
#include "symbols/code-called-work.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/code-work.h"

void dt_called_push(struct search *s, uint64_t at)
{
	const uint8_t *m = dt_called_mark_at(s, at);

	if (!m || *m & (DT_CODE_INSN | INNER))
		return;
	if (dt_called_grow(s, &s->todo, s->todos, &s->todo_room, sizeof(*s->todo)))
		s->todo[s->todos++] = at;
}

static void take(struct search *s, uint64_t at)
{
	uint8_t *m = dt_called_mark_at(s, at);

	/* code that nothing leads to may be data, so its addresses do not count */
	if (m && !s->sweeping)
		*m |= TAKEN;
	dt_called_push(s, at);
}

uint64_t dt_called_taken_by(const struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	if (in->relative)
		return dt_insn_makes_address(in) ? in->memory : 0;
	return s->r->fixed ? dt_insn_puts(in, code) : 0;
}

bool dt_called_find_table(const struct search *s, const struct dt_insn *jump, struct table *table)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, jump->address);
	struct dt_jump_table_code text;
	size_t left;

	if (!g)
		return false;
	text = (struct dt_jump_table_code){g->low, g->bytes, g->mark, DT_CODE_INSN};
	if (!dt_jump_table_find(&text, jump, s->r->fixed, &table->is))
		return false;
	table->bytes = dt_symfile_bytes(s->r->elf, table->is.table, &left);
	return table->bytes && left >= (size_t)table->is.entries * table->is.size;
}

uint64_t dt_called_leads_to(const struct table *table, uint32_t i)
{
	return dt_jump_table_to(&table->is, table->bytes, i);
}

static void walk_switch(struct search *s, const struct dt_insn *in)
{
	struct table table;

	if (dt_called_find_table(s, in, &table))
		for (uint32_t i = 0; i < table.is.entries; i++) {
			uint8_t *m = dt_called_mark_at(s, dt_called_leads_to(&table, i));

			if (m)
				*m |= LABEL;
			dt_called_push(s, dt_called_leads_to(&table, i));
		}
}

static void walk_insn(struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	uint64_t at = dt_called_taken_by(s, in, code);
	uint8_t *m;

	if (at)
		take(s, at);
	if (dt_insn_direct(in))
		dt_called_push(s, in->target);
	m = in->kind == DT_INSN_CALL ? dt_called_mark_at(s, in->target) : NULL;
	if (m && in->target != in->address + in->length)
		*m |= START;
	if (in->kind == DT_INSN_JUMP_INDIRECT)
		walk_switch(s, in);
}

/* Walks straight on from an address, until it meets what has been walked before. */
static void walk(struct search *s, uint64_t at)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, at);
	uint64_t end, low = at;
	struct dt_insn in;

	if (!dt_called_is_open(s, at))
		return;
	end = dt_called_end_of_gap(s->c, at);
	for (; at < end && !s->r->failed; at += in.length) {
		uint8_t *m = &g->mark[at - g->low];
		bool meets = *m & (DT_CODE_INSN | INNER) ||
			     !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at);

		for (unsigned k = 1; !meets && k < in.length; k++)
			meets = m[k] & DT_CODE_INSN;
		if (meets)
			break;
		*m |= DT_CODE_INSN;
		for (unsigned k = 1; k < in.length; k++)
			m[k] |= INNER;
		if (in.kind != DT_INSN_PLAIN || in.relative || s->r->fixed)
			walk_insn(s, &in, g->bytes + (at - g->low));
		if (dt_insn_ends(&in)) {
			at += in.length;
			break;
		}
	}
	if (s->sweeping && at > low &&
	    dt_called_grow(s, &s->swept, s->swepts, &s->swept_room, sizeof(*s->swept)))
		s->swept[s->swepts++] = (struct piece){.low = low, .high = at};
}

void dt_called_walk_all(struct search *s)
{
	while (s->todos && !s->r->failed)
		walk(s, s->todo[--s->todos]);
}

/* Walks the known functions, for what they lead to. */
static void walk_known(struct search *s, const struct dt_code_function *f)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, f->start);
	struct dt_insn in;

	for (uint64_t at = f->start; at < f->end; at += in.length) {
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), f->end - at, at))
			return;
		if (in.kind == DT_INSN_PLAIN && !in.relative && !s->r->fixed)
			continue;
		if (in.kind == DT_INSN_JUMP_INDIRECT) /* its tables are read elsewhere */
			continue;
		walk_insn(s, &in, g->bytes + (at - g->low));
	}
}

static void note_word(void *ctx, uint64_t where, uint64_t value)
{
	struct search *s = ctx;

	if (dt_code_text_at(s->c, value) &&
	    dt_called_grow(s, &s->word, s->words, &s->word_room, sizeof(*s->word)))
		s->word[s->words++] = (struct word){where, value};
}

static int by_where(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return x->where < y->where ? -1 : x->where > y->where;
}

const struct word *dt_called_word_at(const struct search *s, uint64_t where)
{
	const struct word key = {.where = where};

	return s->words ? bsearch(&key, s->word, s->words, sizeof(key), by_where) : NULL;
}

static void walk_dynamic(struct search *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	GElf_Dyn d;

	if (gelf_getehdr(s->r->elf, &eh))
		dt_called_push(s, eh.e_entry);
	while ((scn = elf_nextscn(s->r->elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC
					 ? elf_getdata(scn, NULL)
					 : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &d); i++)
			if (d.d_tag == DT_INIT || d.d_tag == DT_FINI)
				dt_called_push(s, d.d_un.d_ptr);
	}
}

void dt_called_walk_code(struct search *s)
{
	for (size_t i = 0; i < s->c->functions && !s->r->failed; i++) {
		walk_known(s, &s->c->function[i]);
		dt_called_walk_all(s);
	}
	walk_dynamic(s);
	dt_called_walk_all(s);
	s->r->note = note_word;
	s->r->note_ctx = s;
	dt_code_read_data(s->r);
	s->r->note = NULL;
	if (s->words)
		qsort(s->word, s->words, sizeof(*s->word), by_where);
	for (size_t i = 0; i < s->words; i++) {
		/* in a file at a fixed address it may be any number, or an entry of a switch */
		if (!s->r->fixed)
			take(s, s->word[i].value);
		else if (s->word[i].where % 8 == 0) {
			*dt_called_mark_at(s, s->word[i].value) |= WORD;
			dt_called_push(s, s->word[i].value);
		}
		dt_called_walk_all(s);
	}
}

static bool never_returns(const char *name)
{
	static const char *const names[] = {"abort",
					    "exit",
					    "_exit",
					    "_Exit",
					    "quick_exit",
					    "pthread_exit",
					    "thrd_exit",
					    "__stack_chk_fail",
					    "__chk_fail",
					    "__fortify_fail",
					    "__assert_fail",
					    "__assert_perror_fail",
					    "__assert",
					    "longjmp",
					    "_longjmp",
					    "siglongjmp",
					    "__longjmp_chk",
					    "__libc_start_main",
					    "err",
					    "errx",
					    "verr",
					    "verrx",
					    "_Unwind_Resume",
					    "__cxa_throw",
					    "__cxa_rethrow",
					    "__cxa_bad_cast",
					    "__cxa_bad_typeid",
					    "__cxa_throw_bad_array_new_length",
					    "_ZSt9terminatev"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}

static void read_slots(struct search *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *table = elf_getscn(s->r->elf, sh->sh_link);
	Elf_Data *d = elf_getdata(scn, NULL), *symbols = table ? elf_getdata(table, NULL) : NULL;
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Shdr of;
	GElf_Rela rela;
	GElf_Sym sym;

	for (size_t i = 0; i < n && symbols && gelf_getshdr(table, &of); i++) {
		const char *name;

		if (!gelf_getrela(d, (int)i, &rela) ||
		    dt_relocation_of(GELF_R_TYPE(rela.r_info)) != DT_RELOCATION_SLOT ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(s->r->elf, of.sh_link, sym.st_name);
		if (name && never_returns(name) &&
		    dt_called_grow(s, &s->slot, s->slots, &s->slot_room, sizeof(*s->slot)))
			s->slot[s->slots++] = rela.r_offset;
	}
}

/* Marks the PLT entries that jump through the word of a function that never returns. */
static void mark_stubs(struct search *s, const struct dt_code_region *g)
{
	struct dt_insn in;

	for (uint64_t at = g->low, stub = at; at < g->high; at += in.length) {
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), g->high - at, at))
			return;
		if (in.kind == DT_INSN_JUMP_INDIRECT && in.relative && s->slots &&
		    bsearch(&in.memory, s->slot, s->slots, sizeof(*s->slot), dt_called_by_number))
			g->mark[stub - g->low] |= NEVER;
		if (at % 8 + in.length >= 8 || dt_insn_ends(&in))
			stub = in.kind == DT_INSN_JUMP_INDIRECT ? (at + in.length + 7) / 8 * 8
								: stub;
		if ((at + in.length) % ALIGNED == 0)
			stub = at + in.length;
	}
}

void dt_called_find_never(struct search *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(s->r->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
			read_slots(s, scn, &sh);
	if (s->slots)
		qsort(s->slot, s->slots, sizeof(*s->slot), dt_called_by_number);
	for (size_t i = 0; i < s->c->regions; i++)
		if (s->c->region[i].plt)
			mark_stubs(s, &s->c->region[i]);
}
