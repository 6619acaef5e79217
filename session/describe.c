/* SPDX-License-Identifier: MIT */
/* What the trace file is told of a pc when it first appears: function, kind of site, values meant. */
#include <string.h>

#include "process/memory.h"
#include "process/probes.h"
#include "session/session.h"

#define ALL_VALUES 0x0f

static uint8_t place_bits(const char *place)
{
	uint8_t bits = 0;

	for (; *place && *place != ',' && *place != ';'; place++)
		if (*place >= '0' && *place <= '3')
			bits |= (uint8_t)(1u << (*place - '0'));
	return bits;
}

/* Of "name:type@place,...;type@place": bits of the parameters' or the result's places. */
static uint8_t meant(const char *signature, bool result)
{
	const char *end = strchr(signature, ';'), *p = signature, *at;
	uint8_t bits = 0;

	if (!end)
		return ALL_VALUES;
	if (result) {
		at = strchr(end, '@');
		return at ? place_bits(at + 1) : 0;
	}
	if (strstr(signature, "...:"))
		return ALL_VALUES; /* variadic: the registers behind the named ones count too */
	while ((at = strchr(p, '@')) && at < end) {
		bits |= place_bits(at + 1);
		p = at + 1;
	}
	return bits;
}

/* The target that recorded r, and its module at pc. */
static struct dt_module *locate(struct dt_session *s, const struct dt_record *r,
				struct dt_target **target)
{
	struct dt_module *m = NULL;
	uint32_t pid = 0;

	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == r->tid)
			pid = s->thread[i].pid;
	for (int any = 0; any < 2; any++)
		for (struct dt_target *t = s->first; t; t = t->next)
			if ((any || (uint32_t)t->pid == pid) &&
			    (m = dt_target_module(t, r->pc)) != NULL) {
				*target = t;
				return m;
			}
	return NULL;
}

/* Where the jump at a tail site leads: its displacement, through the PLT when it is into that. */
static uint64_t jump_target(struct dt_target *t, const struct dt_module *m,
			    const struct dt_elf_site *site)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	unsigned char plt[16];
	int32_t rel;
	uint64_t to, real;
	size_t skip = 0;

	if (m->file->code) { /* the jump has been changed; the file knows where it led */
		if (!site->target)
			return 0;
		to = m->bias + site->target;
	} else {
		if (dt_memory_read(t->mem, m->bias + site->address + 1, &rel, sizeof(rel)) < 0)
			return 0;
		to = m->bias + site->address + 5 + (uint64_t)(int64_t)rel;
	}
	if (dt_memory_read(t->mem, to, plt, sizeof(plt)) < 0)
		return to;
	if (memcmp(plt, endbr64, sizeof(endbr64)) == 0)
		skip = sizeof(endbr64);
	if (plt[skip] == 0xf2) /* bnd */
		skip++;
	if (plt[skip] != 0xff || plt[skip + 1] != 0x25) /* jmp *slot(%rip) */
		return to;
	memcpy(&rel, plt + skip + 2, sizeof(rel));
	if (dt_memory_read(t->mem, to + skip + 6 + (uint64_t)(int64_t)rel, &real, sizeof(real)) < 0)
		return to;
	return real;
}

/* The site whose hook returns to pc: its bytes in front of pc are told by its kind. */
static const struct dt_elf_site *site_of(const struct dt_elf *elf, uint64_t pc)
{
	static const uint8_t before[4] = {0, 5, 6, 10};

	for (int kind = DT_ELF_ENTRY; kind <= DT_ELF_TAIL; kind++) {
		const struct dt_elf_site *site = dt_elf_site_at(elf, pc - before[kind]);

		if (site && site->kind == kind)
			return site;
	}
	return NULL;
}

void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row)
{
	struct dt_session *s = session;
	struct dt_module *m;
	const struct dt_function *f = NULL;
	const struct dt_elf_site *site;
	struct dt_function_row out = {0};
	char signature[2048] = "";
	struct dt_symtab *symtab;
	struct dt_target *t;

	row->function = 0;
	row->kind = DT_SITE_UNKNOWN;
	row->values = r->kind == DT_EXIT ? 1 : ALL_VALUES;
	row->target = 0;
	m = locate(s, r, &t);
	if (!m)
		return;
	site = m->file->code ? dt_probes_site(m, r->pc) : site_of(m->file->elf, r->pc - m->bias);
	if (!site)
		return;
	if (m->file->code)
		row->pc = m->bias + site->address;
	switch (site->kind) {
	case DT_ELF_ENTRY:
		row->kind = site->jumps ? DT_SITE_ENTRY_JUMPS : DT_SITE_ENTRY;
		break;
	case DT_ELF_PROBE_ENTRY:
		row->kind = DT_SITE_ENTRY;
		break;
	case DT_ELF_RETURN:
	case DT_ELF_PROBE_RETURN:
		row->kind = DT_SITE_RETURN;
		break;
	default:
		row->kind = DT_SITE_TAIL;
	}
	symtab = dt_file_symtab(m->file);
	if (symtab)
		f = dt_symtab_find(symtab, site->function);
	out.module = m->row;
	out.address = site->function + m->bias;
	out.name = out.file = out.signature = "";
	if (f) {
		out.name = f->name;
		out.size = f->size;
		dt_symtab_line(symtab, f->address, &out.file, &out.line);
		dt_symtab_signature(symtab, f, signature, sizeof(signature));
		out.signature = signature;
	}
	if (!out.file)
		out.file = "";
	row->function = dt_store_function(s->store, &out, NULL);
	if (row->function < 0)
		row->function = 0;
	if (row->kind == DT_SITE_TAIL) {
		row->values = 0;
		row->target = jump_target(t, m, site);
		if (!row->target && site->target) /* the process has ended: what the file tells */
			row->target = m->bias + site->target;
	}
	else if (signature[0])
		row->values = meant(signature, r->kind == DT_EXIT);
}
