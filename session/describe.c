/* SPDX-License-Identifier: MIT */
/* What the trace file is told of a pc when it first appears: function, kind of site, values meant. */
#include <string.h>

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
static struct dt_module *locate(struct dt_session *s, const struct dt_record *r)
{
	struct dt_module *m = NULL;
	uint32_t pid = 0;

	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == r->tid)
			pid = s->thread[i].pid;
	for (struct dt_target *t = s->first; t; t = t->next)
		if ((uint32_t)t->pid == pid && (m = dt_target_module(t, r->pc)) != NULL)
			return m;
	for (struct dt_target *t = s->first; t; t = t->next)
		if ((m = dt_target_module(t, r->pc)) != NULL)
			return m;
	return NULL;
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
	struct dt_module *m = locate(s, r);
	const struct dt_function *f = NULL;
	const struct dt_elf_site *site;
	struct dt_function_row out = {0};
	char signature[2048] = "";
	struct dt_symtab *t;

	row->function = 0;
	row->kind = DT_SITE_UNKNOWN;
	row->values = r->kind == DT_EXIT ? 1 : ALL_VALUES;
	if (!m)
		return;
	site = site_of(m->file->elf, r->pc - m->bias);
	if (!site)
		return;
	row->kind = site->kind == DT_ELF_ENTRY	  ? DT_SITE_ENTRY
		    : site->kind == DT_ELF_RETURN ? DT_SITE_RETURN
						  : DT_SITE_TAIL;
	t = dt_file_symtab(m->file);
	if (t)
		f = dt_symtab_find(t, site->function);
	out.module = m->row;
	out.address = site->function + m->bias;
	out.name = out.file = out.signature = "";
	if (f) {
		out.name = f->name;
		out.size = f->size;
		dt_symtab_line(t, f->address, &out.file, &out.line);
		dt_symtab_signature(t, f, signature, sizeof(signature));
		out.signature = signature;
	}
	if (!out.file)
		out.file = "";
	row->function = dt_store_function(s->store, &out, NULL);
	if (row->function < 0)
		row->function = 0;
	if (row->kind == DT_SITE_TAIL)
		row->values = 0;
	else if (signature[0])
		row->values = meant(signature, r->kind == DT_EXIT);
}
