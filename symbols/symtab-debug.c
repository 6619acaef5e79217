/* SPDX-License-Identifier: MIT */
/* Answers what the debug information of an ELF file says, through its symtab. */
#include "symbols/symtab-work.h"

#include <string.h>

#include "symbols/dwarf.h"

static bool has_dwarf(const struct dt_symfile *f)
{
	return dt_symfile_section(f, ".debug_info") || dt_symfile_section(f, ".zdebug_info");
}

bool dt_symtab_debug_file(struct dt_symtab *t)
{
	return t->debug.fd >= 0 || dt_symfile_debug(&t->debug, &t->main, t->dirs);
}

bool dt_symtab_lacks(struct dt_symtab *t, char id[DT_BUILD_ID])
{
	const struct dt_symfile *f = &t->main;
	struct dt_symfile alt;

	if (!has_dwarf(f)) {
		if (!t->main.build_id[0])
			return false;
		if (!dt_symtab_debug_file(t)) {
			memcpy(id, t->main.build_id, DT_BUILD_ID);
			return true;
		}
		f = &t->debug;
	}
	if (!dt_symfile_alt_id(f, id))
		return false;
	if (!dt_symfile_alt(&alt, f, t->dirs))
		return true;
	dt_symfile_close(&alt);
	return false;
}

static struct dt_dwarf *dwarf_of(struct dt_symtab *t)
{
	const struct dt_symfile *f = &t->main;

	if (t->dwarf_tried)
		return t->dwarf;
	t->dwarf_tried = true;
	if (!has_dwarf(f)) {
		if (!dt_symtab_debug_file(t))
			return NULL;
		f = &t->debug;
	}
	t->dwarf = dt_dwarf_open(f, t->dirs);
	return t->dwarf;
}

bool dt_symtab_has_debug(struct dt_symtab *t)
{
	return t->apart ? !t->bare : dwarf_of(t) != NULL;
}

bool dt_symtab_line(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line)
{
	struct dt_dwarf *d;

	if (t->apart)
		return t->apart->line(t, address, file, line);
	d = dwarf_of(t);
	return d && dt_dwarf_line(d, address, file, line);
}

bool dt_symtab_address(struct dt_symtab *t, const char *file, size_t length, unsigned line,
		       uint64_t *address)
{
	struct dt_dwarf *d;

	if (t->apart)
		return t->apart->address(t, file, length, line, address);
	d = dwarf_of(t);
	return d && dt_dwarf_address(d, file, length, line, address);
}

int dt_variable_find(struct dt_symtab *t, uint64_t address, const char *expression,
		     struct dt_variable *v, struct dt_error *e)
{
	struct dt_dwarf *d;

	if (t && t->apart)
		return t->apart->variable(t, address, expression, v, e);
	d = t ? dwarf_of(t) : NULL;
	if (!d)
		return dt_fail(e,
			       "devtrace: %s: there is no debug information (-g, or a package with "
			       "-dbgsym) that tells of variables",
			       expression);
	return dt_dwarf_variable_at(d, t->main.elf, address, expression, v, e);
}

/*
 * Is the function one with other parameters than DWARF says? Copies of a function that the compiler
 * made for some of its callers are, and C++ thunks, which have those of the function they lead to.
 */
static bool is_clone(const char *linkage)
{
	if (!strncmp(linkage, "_ZT", 3))
		return true;
	return strstr(linkage, ".constprop.") || strstr(linkage, ".isra.") ||
	       strstr(linkage, ".part.") || strstr(linkage, ".cold");
}

static void signature_of(struct dt_symtab *t, const struct dt_function *f,
			 enum dt_dwarf_signature how, char *buf, size_t size)
{
	struct dt_dwarf *d;

	if (!size)
		return;
	if (t->apart) {
		t->apart->signature(t, f, how, buf, size);
		return;
	}
	buf[0] = '\0';
	if (is_clone(f->linkage) || !(d = dwarf_of(t)))
		return;
	dt_dwarf_signature(d, f,
			   f >= t->function && f < t->function + t->functions
				   ? t->local[f - t->function]
				   : false,
			   how, buf, size);
}

void dt_symtab_signature(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size)
{
	signature_of(t, f, DT_SIGNATURE_PLAIN, buf, size);
}

void dt_symtab_described(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size)
{
	signature_of(t, f, DT_SIGNATURE_KEYS, buf, size);
}

void dt_symtab_places(struct dt_symtab *t, const struct dt_function *f, char *buf, size_t size)
{
	signature_of(t, f, DT_SIGNATURE_PLACES, buf, size);
}

bool dt_symtab_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size)
{
	struct dt_dwarf *d;

	if (t->apart)
		return t->apart->type(t, key, buf, size);
	d = dwarf_of(t);
	return d && dt_dwarf_type(d, key, buf, size);
}
