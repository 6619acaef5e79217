/* SPDX-License-Identifier: MIT */
/* Finds where data leads in the code: relocations, plain addresses, landing pads, tables. See
 * code.h. */
#include <stdlib.h>
#include <string.h>

#include "symbols/code-work.h"
#include "arch/arch.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

/* Reads a restartable sequence: the struct rseq_cs at address. */
static void read_sequence(struct reader *r, uint64_t address, uint64_t start)
{
	size_t left, i;
	const uint8_t *p = dt_symfile_bytes(r->elf, address, &left);
	uint64_t size;

	if (!p || left < 32)
		return;
	memcpy(&size, p + 16, sizeof(size));
	for (uint64_t at = start; at <= start + size && size < 4096; at++) {
		dt_code_set_mark(r->c, at, DT_CODE_HARD);
		i = dt_code_function_at(r->c, at);
		if (i < r->c->functions)
			dt_code_set_trouble(&r->c->function[i], DT_TROUBLE_SEQUENCE, start);
	}
}

static void relocated(struct reader *r, uint64_t where, uint64_t value)
{
	if (r->note) {
		r->note(r->note_ctx, where, value);
		return;
	}
	dt_code_take_address(r, value, !r->fixed);
	if (where < r->sequence_low || where >= r->sequence_high)
		return;
	if ((where - r->sequence_low) % 32 == 8)
		read_sequence(r, where - 8, value);
	if ((where - r->sequence_low) % 32 == 24) /* the kernel reads the signature before it */
		for (uint64_t at = value - 4; at < value; at++)
			dt_code_set_mark(r->c, at, DT_CODE_HARD);
}

static void read_rela(struct reader *r, Elf_Scn *s, const GElf_Shdr *sh)
{
	Elf_Scn *table = elf_getscn(r->elf, sh->sh_link);
	Elf_Data *d = elf_getdata(s, NULL), *symbols = table ? elf_getdata(table, NULL) : NULL;
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Rela rela;
	GElf_Sym sym;

	for (size_t i = 0; i < n; i++) {
		uint64_t value;

		if (!gelf_getrela(d, (int)i, &rela))
			continue;
		value = (uint64_t)rela.r_addend;
		switch (dt_relocation_of(GELF_R_TYPE(rela.r_info))) {
		case DT_RELOCATION_RELATIVE:
		case DT_RELOCATION_IRELATIVE:
			break;
		case DT_RELOCATION_SYMBOL:
		case DT_RELOCATION_SLOT:
			if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym) ||
			    sym.st_shndx == SHN_UNDEF)
				continue;
			value += sym.st_value;
			break;
		case DT_RELOCATION_OTHER:
			continue;
		}
		relocated(r, rela.r_offset, value);
	}
}

static void relocated_word(struct reader *r, uint64_t where)
{
	size_t left;
	const uint8_t *p = dt_symfile_bytes(r->elf, where, &left);
	uint64_t value;

	if (!p || left < 8)
		return;
	memcpy(&value, p, sizeof(value));
	relocated(r, where, value);
}

/*
 * Reads relative relocations in the form of a list of places and bitmaps of the 63 words after a
 * place (gABI, SHT_RELR).
 */
static void read_relr(struct reader *r, Elf_Scn *s)
{
	Elf_Data *d = elf_rawdata(s, NULL);
	uint64_t where = 0, entry;

	for (size_t i = 0; d && d->d_buf && i + 8 <= d->d_size; i += 8) {
		memcpy(&entry, (const uint8_t *)d->d_buf + i, sizeof(entry));
		if (!(entry & 1)) {
			relocated_word(r, entry);
			where = entry + 8;
			continue;
		}
		for (unsigned k = 0; k < 63; k++)
			if (entry >> (k + 1) & 1)
				relocated_word(r, where + 8 * k);
		where += 63 * 8;
	}
}

/* Reads plain words. In a file at a fixed address any aligned word may be the address of code. */
static void read_words(struct reader *r, Elf_Scn *s, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_rawdata(s, NULL);
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < r->c->regions; i++) {
		if (r->c->region[i].low < low)
			low = r->c->region[i].low;
		if (r->c->region[i].high > high)
			high = r->c->region[i].high;
	}
	for (size_t i = 0; d && d->d_buf && i + 8 <= d->d_size; i += 8) {
		uint64_t v;

		memcpy(&v, (const uint8_t *)d->d_buf + i, sizeof(v));
		if (v >= low && v < high)
			relocated(r, sh->sh_addr + i, v);
	}
}

void dt_code_read_data(struct reader *r)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(r->elf, s))) {
		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_type == SHT_RELA)
			read_rela(r, s, &sh);
		else if (sh.sh_type == SHT_RELR)
			read_relr(r, s);
		else if (r->fixed && sh.sh_type != SHT_NOBITS && !(sh.sh_flags & SHF_EXECINSTR))
			read_words(r, s, &sh);
	}
}

struct landing {
	struct reader *r;
	size_t function;
};

/* Notes that the function leads to address other than by a jump. */
static void add_join(struct reader *r, size_t function, uint64_t address)
{
	if (function < r->c->functions &&
	    dt_code_grow(r, (void **)&r->join, r->joins, &r->join_room, sizeof(*r->join)))
		r->join[r->joins++] = (struct lea){address, (uint32_t)function};
}

static void landing(void *ctx, uint64_t address)
{
	struct landing *l = ctx;

	dt_code_set_mark(l->r->c, address, DT_CODE_HARD);
	add_join(l->r, l->function, address);
}

void dt_code_read_landings(struct reader *r)
{
	for (size_t i = 0; i < r->c->frames->n; i++) {
		const struct dt_frame *f = &r->c->frames->frame[i];
		struct landing l = {r, dt_code_function_at(r->c, f->start)};

		if (f->lsda)
			dt_frame_landings(r->c->frames, f, landing, &l);
	}
}

/* May a table of function f lead to address, that is, to f itself or to a part that has no name? */
static bool may_lead(const struct dt_code *c, size_t f, uint64_t address)
{
	const struct dt_code_function *to;
	size_t i;

	if (!(dt_code_mark(c, address) & DT_CODE_INSN))
		return false;
	if (address >= c->function[f].start && address < c->function[f].end)
		return true;
	i = dt_code_function_at(c, address);
	to = &c->function[i];
	return i < c->functions && (!to->name || strstr(to->name, ".cold"));
}

static int by_table(const void *a, const void *b)
{
	const struct lea *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Returns the next address after that of a table which an instruction computes; what is behind it
 * is something else. */
static uint64_t next_object(const struct reader *r, size_t i)
{
	uint64_t table = r->lea[i].table;

	while (i < r->leas && r->lea[i].table == table)
		i++;
	return i < r->leas ? r->lea[i].table : UINT64_MAX;
}

/*
 * Reads tables of 32-bit distances from their own beginning, as gcc and clang make for a switch.
 * Every address that an instruction computes may be one; a table ends at the first entry that leads
 * nowhere. Behind a table there is mostly the next one, whose distances are from elsewhere, so that
 * they may lead to an instruction of any function by chance: that is kept free of hooks, but says
 * nothing about whose part that function is.
 */
void dt_code_read_tables(struct reader *r)
{
	struct dt_code *c = r->c;
	const uint8_t *p = NULL;
	uint64_t base = 0;
	size_t left = 0;

	if (r->leas)
		qsort(r->lea, r->leas, sizeof(*r->lea), by_table);
	for (size_t i = 0; i < r->leas; i++) {
		const struct lea *l = &r->lea[i];
		uint64_t next;
		size_t n;

		if (i && !by_table(l, l - 1))
			continue;
		next = next_object(r, i);
		/* sorted, so it is mostly in the same section as the previous one */
		if (!p || l->table - base >= left) {
			p = dt_symfile_bytes(r->elf, l->table, &left);
			base = l->table;
		}
		for (n = l->table - base; p && n + 4 <= left; n += 4) {
			int32_t d;
			uint64_t to;

			memcpy(&d, p + n, sizeof(d));
			to = l->table + (uint64_t)(int64_t)d;
			if (!may_lead(c, l->function, to))
				break;
			dt_code_set_mark(c, to, DT_CODE_HARD);
			c->function[l->function].table = true;
			if (base + n < next)
				add_join(r, l->function, to);
		}
	}
}
