/* SPDX-License-Identifier: MIT */
/*
 * The map has an entry of 32 bytes for each place that XRay can switch on: where the place is,
 * where its function is, and what kind it is of. Functions are numbered from 1 on, in the order of
 * the map. Since version 2 of an entry both are relative to where they stand.
 */
#include "import/xray-program.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "symbols/symtab.h"

#define ENTRY	      32u
#define MOST	      (1u << 24)
#define FUNCTION      8u /* in an entry */
#define VERSION_PLACE 18u

static uint64_t little(const char *p)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < 8; i++)
		v |= (uint64_t)(uint8_t)p[i] << 8 * i;
	return v;
}

static int add(struct dt_xray_program *p, const struct dt_symtab *t, uint64_t address,
	       struct dt_error *e)
{
	const struct dt_function *f = dt_symtab_find(t, address);
	char *name = f ? strdup(f->name) : NULL;

	if (!(p->n & (p->n - 1))) {
		char **more = realloc(p->name, (p->n ? p->n * 2 : 1) * sizeof(*more));

		if (!more) {
			free(name);
			return dt_fail(e, "out of memory");
		}
		p->name = more;
	}
	p->name[p->n++] = name;
	return 0;
}

static int read_map(struct dt_xray_program *p, const struct dt_symtab *t, const char *map,
		    uint64_t size, uint64_t vaddr, const char *path, struct dt_error *e)
{
	uint64_t before = 0;

	if (size / ENTRY > MOST)
		return dt_fail(e, "%s: its xray_instr_map is too large", path);
	for (uint64_t at = 0; at + ENTRY <= size; at += ENTRY) {
		uint64_t function = little(map + at + FUNCTION);

		if (map[at + VERSION_PLACE] < 2)
			return dt_fail(e,
				       "%s: it was compiled by a clang older than 11, whose "
				       "xray_instr_map can not be read",
				       path);
		function += vaddr + at + FUNCTION;
		if (at && function == before)
			continue;
		before = function;
		if (add(p, t, function, e))
			return -1;
	}
	return 0;
}

int dt_xray_program_read(struct dt_xray_program *p, const char *path, struct dt_error *e)
{
	uint64_t size = 0, vaddr = 0;
	struct dt_symtab *t;
	struct dt_elf *elf = dt_elf_open(path, e);
	char *map;
	int rc = -1;

	if (!elf)
		return -1;
	map = dt_elf_section(elf, "xray_instr_map", &size, &vaddr);
	t = map ? dt_symtab_open(path, NULL, e) : NULL;
	if (t)
		rc = read_map(p, t, map, size, vaddr, path, e);
	else if (!map)
		dt_fail(e, "%s: it has no xray_instr_map, so it was not compiled for XRay", path);
	dt_symtab_close(t);
	free(map);
	dt_elf_close(elf);
	return rc;
}

void dt_xray_program_free(struct dt_xray_program *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->name[i]);
	free(p->name);
	*p = (struct dt_xray_program){.n = 0};
}
