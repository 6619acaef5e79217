/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of sleds and events in a file: doc/sleds.md. The code at each site is checked.
 */
#include "elf/elf-work.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/record.h"
#include "core/search.h"

/* A stretch of executable bytes of the file, for checking sites. */
struct code {
	uint8_t *bytes;
	uint64_t vaddr, size;
};

/* All executable bytes of the file. */
struct text {
	struct code *code;
	size_t n;
};

/*
 * Returns the bytes at [address, address + n), or NULL if not all of them are executable and in the
 * file.
 */
static const uint8_t *code_at(const struct code *c, size_t n_code, uint64_t address, uint64_t n)
{
	for (size_t i = 0; i < n_code; i++) {
		uint64_t at = address - c[i].vaddr;

		if (address >= c[i].vaddr && at < c[i].size && n <= c[i].size - at)
			return c[i].bytes + at;
	}
	return NULL;
}

static const uint8_t *site_code(void *ctx, uint64_t address, uint64_t n)
{
	const struct text *t = ctx;

	return code_at(t->code, t->n, address, n);
}

/* Does the site have the bytes of its kind, and lead to a thunk of this module? */
static bool check_site(struct dt_elf *f, const struct dt_sled_code *c, struct dt_elf_site *s)
{
	uint64_t *known = &f->thunk_exit, slot = f->hooks + 8, to;
	uint8_t kind = s->kind;

	if (kind == DT_ELF_ENTRY) {
		known = &f->thunk_entry;
		slot = f->hooks;
	} else if (kind == DT_SLED_TABLE_JUMP) {
		known = &f->thunk_jump;
		slot = f->hooks + 16;
	}
	to = dt_sled_check(c, s);
	if (!to || !DT_SLED_THUNKS)
		return to != 0;
	if (to == *known)
		return true;
	if (!dt_sled_is_thunk(c, to, slot))
		return false;
	if (!*known)
		*known = to;
	return true;
}

/*
 * Does a stub call this module's thunk so that the hook returns to pc, as the table says, and is
 * the call followed by this kind and number of values?
 */
static bool check_call(struct dt_elf *f, const struct dt_sled_code *c, uint64_t pc, uint8_t kind,
		       uint8_t values)
{
	uint64_t to = dt_sled_call(c, pc, kind, values);

	for (int i = 0; to && i < 3; i++) {
		if (!dt_sled_is_thunk(c, to, f->event_hooks + 8u * (unsigned)i))
			continue;
		f->thunk_event[i] = to;
		return true;
	}
	return false;
}

static bool check_event(struct dt_elf *f, const struct dt_sled_code *c, const struct dt_elf_site *s,
			const struct dt_elf_event *v)
{
	if (!dt_sled_event(c, s->address))
		return false;
	if (v->flags & DT_EVENT_CONTROL)
		return !v->kind && !v->more && check_call(f, c, v->pc, 0, 0);
	if (!v->kind)
		return !v->pc && !v->more;
	if (v->kind != DT_EVENT && v->kind != DT_SEND && v->kind != DT_RECEIVE)
		return false;
	if (v->values < 1 || v->values > 4 || !check_call(f, c, v->pc, v->kind, v->values))
		return false;
	return (v->flags & DT_EVENT_TEXT) ? check_call(f, c, v->more, DT_MORE, 4) : !v->more;
}

static int by_address(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void sort_sites(struct dt_elf *f)
{
	size_t kept = 0;

	qsort(f->site, f->sites, sizeof(*f->site), by_address);
	for (size_t i = 0; i < f->sites; i++)
		if (!kept || f->site[i].address != f->site[kept - 1].address)
			f->site[kept++] = f->site[i];
	f->bad_sites += f->sites - kept;
	f->sites = kept;
}

/* Returns the slot through which the PLT entry at address jumps; 0 if there is no PLT entry. */
static uint64_t plt_slot(const struct text *t, uint64_t address)
{
	const uint8_t *p = code_at(t->code, t->n, address, DT_PLT);

	return p ? dt_plt_slot(p, address) : 0;
}

static int by_slot(const void *a, const void *b)
{
	const struct dt_elf_slot *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* What is known of the functions that get into slots. */
struct slots {
	struct dt_elf_slot *slot; /* sorted */
	size_t n;
	const Elf64_Sym *symbol;
	size_t symbols;
	const char *strings; /* names of the symbols, ended by a NUL; NULL: nobody asks for them */
	uint64_t strings_size;
	void (*fn)(void *ctx, size_t site, const char *name);
	void *ctx;
};

static void fill_slot(const struct slots *s, struct dt_elf_slot *slot, const Elf64_Sym *symbol)
{
	slot->function = symbol->st_shndx == SHN_UNDEF ? 0 : symbol->st_value;
	if (s->strings && symbol->st_name < s->strings_size)
		s->fn(s->ctx, slot->site, s->strings + symbol->st_name);
}

/* Fills in the functions of slots that one table of relocations names. */
static void fill_slots(const struct slots *s, const struct dt_elf_section *table,
		       const Elf64_Rela *rela)
{
	for (size_t k = 0; k < table->size / sizeof(*rela); k++) {
		size_t at = dt_count_before(s->n, x, s->slot[x].slot < rela[k].r_offset);
		size_t of = ELF64_R_SYM(rela[k].r_info);

		for (; at < s->n && s->slot[at].slot == rela[k].r_offset && of < s->symbols; at++)
			fill_slot(s, &s->slot[at], &s->symbol[of]);
	}
}

static void read_slots(const struct dt_elf *f, struct slots *to)
{
	const struct dt_elf_section *names = NULL;
	uint64_t left = f->file_size; /* all tables together are not larger than the file */
	Elf64_Sym *symbol = NULL;
	char *strings = NULL;

	qsort(to->slot, to->n, sizeof(*to->slot), by_slot);
	for (size_t i = 0; i < f->sections && to->n; i++) {
		const struct dt_elf_section *s = &f->section[i];
		Elf64_Rela *rela;

		if (s->type != SHT_RELA || s->link >= f->sections ||
		    f->section[s->link].type != SHT_DYNSYM || s->size > left)
			continue;
		/* a file has one of these */
		if (!names) {
			names = &f->section[s->link];
			to->symbol = symbol = dt_elf_read_piece(f, names->offset, names->size);
			to->symbols = names->size / sizeof(*symbol);
			if (to->fn && names->link < f->sections) {
				to->strings_size = f->section[names->link].size;
				to->strings = strings =
					dt_elf_read_piece(f, f->section[names->link].offset,
							  f->section[names->link].size);
			}
		}
		if (!symbol || names != &f->section[s->link])
			continue;
		left -= s->size;
		rela = dt_elf_read_piece(f, s->offset, s->size);
		if (rela)
			fill_slots(to, s, rela);
		free(rela);
	}
	free(strings);
	free(symbol);
}

void dt_elf_slot_functions(const struct dt_elf *f, struct dt_elf_slot *slot, size_t n)
{
	struct slots s = {.slot = slot, .n = n};

	read_slots(f, &s);
}

void dt_elf_slot_names(const struct dt_elf *f, struct dt_elf_slot *slot, size_t n,
		       void (*fn)(void *ctx, size_t site, const char *name), void *ctx)
{
	struct slots s = {.slot = slot, .n = n, .fn = fn, .ctx = ctx};

	read_slots(f, &s);
}

/*
 * Replaces PLT entries as targets of tail jumps by the functions they lead to, as far as this file
 * alone shows that.
 */
static void resolve_targets(struct dt_elf *f, const struct text *t)
{
	struct dt_elf_slot *slot = calloc(f->sites + 1, sizeof(*slot));
	size_t n = 0;

	for (size_t i = 0; slot && i < f->sites; i++) {
		uint64_t at = f->site[i].target ? plt_slot(t, f->site[i].target) : 0;

		if (at)
			slot[n++] = (struct dt_elf_slot){at, 0, i};
	}
	if (n)
		dt_elf_slot_functions(f, slot, n);
	for (size_t i = 0; i < n; i++)
		if (slot[i].function)
			f->site[slot[i].site].target = slot[i].function;
	free(slot);
}

static struct code *read_code(const struct dt_elf *f, size_t *n)
{
	struct code *c = calloc(f->loads, sizeof(*c));

	*n = 0;
	for (size_t i = 0; c && i < f->loads; i++) {
		const struct dt_elf_load *l = &f->load[i];

		if (!(l->flags & PF_X) || !l->filesz)
			continue;
		c[*n].bytes = dt_elf_read_piece(f, l->offset, l->filesz);
		if (!c[*n].bytes)
			continue;
		c[*n].vaddr = l->vaddr;
		c[(*n)++].size = l->filesz;
	}
	return c;
}

static void free_code(struct text *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->code[i].bytes);
	free(t->code);
}

static int read_table(struct dt_elf *f, const struct dt_elf_section *table, struct dt_error *e)
{
	uint64_t count = table->size / 12;
	struct text text = {NULL, 0};
	const struct dt_sled_code code = {site_code, &text};
	uint8_t *raw = dt_elf_read_piece(f, table->offset, table->size);
	int ret = -1;

	if (!raw) {
		ret = dt_fail(e, "%s is damaged: its table of sleds ends behind the file", f->path);
		goto out;
	}
	f->site = calloc(count + 1, sizeof(*f->site));
	text.code = read_code(f, &text.n);
	if (!text.code || !f->site) {
		dt_fail(e, "out of memory reading %s", f->path);
		goto out;
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = table->vaddr + 12 * i;
		const uint8_t *p = raw + 12 * i;
		struct dt_elf_site s = {
			.address = dt_site_distance(p, at),
			.function = dt_site_distance(p + 4, at + 4),
			.kind = p[8],
			.jumps = p[9] & 1,
		};

		if (!(p[9] & ~1) && !memcmp(p + 10, "\0", 2) && check_site(f, &code, &s))
			f->site[f->sites++] = s;
		else
			f->bad_sites++;
	}
	sort_sites(f);
	f->sleds = f->toggles = f->sites;
	resolve_targets(f, &text);
	ret = 0;
out:
	free_code(&text);
	free(raw);
	return ret;
}

/*
 * Returns the address in a field of an entry, which is relative to the field itself; 0 if the field
 * is empty.
 */
static uint64_t field(const uint8_t *p, uint64_t at)
{
	static const uint8_t none[4];

	return memcmp(p, none, 4) ? dt_site_distance(p, at) : 0;
}

/*
 * Reads one entry of the table of events, whose size is known to fit. Returns false if it makes no
 * sense.
 */
static bool parse_event(const char *p, size_t size, uint64_t at, struct dt_elf_site *s,
			struct dt_elf_event *v)
{
	const uint8_t *b = (const uint8_t *)p;
	size_t first;

	first = strnlen(p + 24, size - 24);
	if (first == size - 24 || strnlen(p + 25 + first, size - 25 - first) == size - 25 - first)
		return false;
	s->address = s->function = dt_site_distance(b, at);
	v->pc = field(b + 4, at + 4);
	v->more = field(b + 8, at + 8);
	v->kind = b[12];
	v->values = b[13];
	memcpy(&v->subsystem, b + 16, 2);
	memcpy(&v->event, b + 18, 2);
	memcpy(&v->flags, b + 22, 2);
	v->subsystem_name = p + 24;
	v->event_name = p + 25 + first;
	return !b[14] && !b[15];
}

/* Adds the file's events to its sites. */
static int read_events(struct dt_elf *f, const struct dt_elf_section *table, struct dt_error *e)
{
	struct text text = {NULL, 0};
	const struct dt_sled_code code = {site_code, &text};
	size_t room = table->size / 28 + 1;
	char *raw = f->event_table = dt_elf_read_piece(f, table->offset, table->size);
	struct dt_elf_site *site;
	int ret = -1;

	/* checked before memory is taken for as many events as the table claims to have */
	if (!raw)
		return dt_fail(e, "%s is damaged: its table of events ends behind the file",
			       f->path);
	text.code = read_code(f, &text.n);
	site = realloc(f->site, (f->sites + room) * sizeof(*site));
	if (site)
		f->site = site;
	f->event = calloc(room, sizeof(*f->event));
	if (!text.code || !site || !f->event) {
		dt_fail(e, "out of memory reading %s", f->path);
		goto out;
	}
	for (uint64_t at = 0; table->size - at >= 28;) {
		struct dt_elf_site s = {.kind = DT_ELF_EVENT, .event = (uint32_t)f->events};
		struct dt_elf_event *v = &f->event[f->events];
		uint16_t size;

		memcpy(&size, raw + at + 20, 2);
		if (size < 28 || size % 4 || size > table->size - at) {
			f->bad_sites++; /* the entries after it can not be found */
			break;
		}
		if (parse_event(raw + at, size, table->vaddr + at, &s, v) &&
		    check_event(f, &code, &s, v)) {
			f->site[f->sites++] = s;
			f->events++;
		} else {
			f->bad_sites++;
		}
		at += size;
	}
	sort_sites(f);
	f->toggles = f->sites;
	ret = 0;
out:
	free_code(&text);
	return ret;
}

const struct dt_elf_section *dt_elf_find_section(const struct dt_elf *f, const char *strings,
						 uint64_t size, const char *name)
{
	for (size_t i = 0; i < f->sections; i++)
		if (f->section[i].name < size && !strcmp(strings + f->section[i].name, name))
			return &f->section[i];
	return NULL;
}

int dt_elf_read_sites(struct dt_elf *f, uint32_t names, struct dt_error *e)
{
	const struct dt_elf_section *table, *hooks;
	char *strings;
	int ret = 0;

	if (names >= f->sections)
		return 0;
	strings = dt_elf_read_piece(f, f->section[names].offset, f->section[names].size);
	if (!strings)
		return 0;
	table = dt_elf_find_section(f, strings, f->section[names].size, "devtrace_sites");
	hooks = dt_elf_find_section(f, strings, f->section[names].size, "devtrace_hooks");
	if (DT_SLED_THUNKS && hooks && (!hooks->vaddr || hooks->size < 32))
		hooks = NULL;
	if (table && table->type == SHT_PROGBITS && (hooks || !DT_SLED_THUNKS)) {
		f->hooks = DT_SLED_THUNKS ? hooks->vaddr : 0;
		ret = read_table(f, table, e);
	}
	table = dt_elf_find_section(f, strings, f->section[names].size, "devtrace_events");
	hooks = dt_elf_find_section(f, strings, f->section[names].size, "devtrace_event_hooks");
	if (!ret && table && hooks && table->type == SHT_PROGBITS && hooks->vaddr &&
	    hooks->size >= 32) {
		f->event_hooks = hooks->vaddr;
		ret = read_events(f, table, e);
	}
	free(strings);
	return ret;
}
