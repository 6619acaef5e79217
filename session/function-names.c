/* SPDX-License-Identifier: MIT */
/* Under which of its names a function is written to the trace file, and which others it has. */
#include "session/function-names.h"

#include <string.h>

/* Is it a name that only compilers read? */
static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
}

/* Looks for a name of a function by which a caller imports it. */
struct imported {
	const struct dt_files *files;
	const char *name; /* NULL: none yet */
};

static bool note_import(void *ctx, const char *name)
{
	struct imported *k = ctx;

	for (struct dt_file *f = k->files->first; f && !k->name; f = f->next)
		if (f->caller && dt_file_imports(f, name))
			k->name = name;
	return k->name;
}

const char *dt_function_name(struct dt_session *s, struct dt_file *file,
			     const struct dt_function *f)
{
	struct imported k = {&s->targets.files, NULL};

	if (!file->crossing || note_import(&k, f->linkage))
		return f->name;
	dt_symtab_aliases_of(dt_file_symtab(file), f->address, note_import, &k);
	return k.name && !is_mangled(k.name) ? k.name : f->name;
}

/* Collects the other names, with newlines between. */
struct others {
	const char *own;
	char *text; /* of DT_OTHER_NAMES bytes */
	size_t n;
};

static bool note_other(void *ctx, const char *name)
{
	struct others *o = ctx;
	size_t n = strlen(name);

	if (n && strcmp(name, o->own) != 0 && !is_mangled(name) && !strchr(name, '\n') &&
	    o->n + n + 2 <= DT_OTHER_NAMES)
		o->n += dt_format(o->text + o->n, DT_OTHER_NAMES - o->n, "%s%s", o->n ? "\n" : "",
				  name);
	return false;
}

const char *dt_function_others(const struct dt_symtab *symtab, const struct dt_function *f,
			       const char *own, char text[DT_OTHER_NAMES])
{
	struct others o = {own, text, 0};

	text[0] = '\0';
	note_other(&o, f->name);
	dt_symtab_aliases_of(symtab, f->address, note_other, &o);
	return text;
}
