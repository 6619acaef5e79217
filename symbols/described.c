/* SPDX-License-Identifier: MIT */
/* Takes the best of what debug information and prototypes say of a function. */
#include "symbols/described.h"

#include <string.h>

#include "symbols/prototype.h"

#define SIGNATURE 4096

/* Looks for a prototype by a further name of the function. */
struct looking {
	const char *path;
	bool places;
	char *buf;
	size_t size;
};

static bool try_alias(void *ctx, const char *linkage)
{
	struct looking *l = ctx;

	dt_prototype(l->path, linkage, l->places, l->buf, l->size);
	return l->buf[0];
}

void dt_described(struct dt_symtab *t, const char *path, const struct dt_function *f, bool places,
		  char *buf, size_t size)
{
	char prototype[SIGNATURE] = "", *end;
	struct looking l = {path, places, prototype, sizeof(prototype)};

	if (places)
		dt_symtab_places(t, f, buf, size);
	else
		dt_symtab_described(t, f, buf, size);
	/* what functions are sure to read is believed of prototypes only */
	end = strchr(buf, ';');
	for (char *c = buf; end && (c = memchr(c, '!', (size_t)(end - c)));)
		*c = '_';
	if (!dt_prototype_file(path))
		return;
	dt_prototype(path, f->name, places, prototype, sizeof(prototype));
	if (!prototype[0])
		dt_symtab_aliases_of(t, f->address, try_alias, &l);
	if (prototype[0] && (!buf[0] || dt_prototype_fits(prototype, buf)))
		dt_format(buf, size, "%s", prototype);
}

/* Looks for what a function fills in by a further name of it. */
struct filling {
	const char *path;
	struct dt_filled *out;
	unsigned most, n;
};

static bool try_filling(void *ctx, const char *linkage)
{
	struct filling *l = ctx;

	l->n = dt_prototype_outputs(l->path, linkage, l->out, l->most);
	return l->n;
}

unsigned dt_described_outputs(struct dt_symtab *t, const char *path, const struct dt_function *f,
			      struct dt_filled *out, unsigned most)
{
	char prototype[SIGNATURE] = "", signature[SIGNATURE];
	struct looking l = {path, true, prototype, sizeof(prototype)};
	struct filling filling = {path, out, most, 0};

	if (!dt_prototype_file(path) ||
	    (!try_filling(&filling, f->name) &&
	     (dt_symtab_aliases_of(t, f->address, try_filling, &filling), !filling.n)))
		return 0;
	if (!try_alias(&l, f->name))
		dt_symtab_aliases_of(t, f->address, try_alias, &l);
	dt_symtab_places(t, f, signature, sizeof(signature));
	return !signature[0] || dt_prototype_fits(prototype, signature) ? filling.n : 0;
}

bool dt_described_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size)
{
	if (dt_prototype_is_type(key))
		return dt_prototype_type(key, buf, size);
	return t && dt_symtab_type(t, key, buf, size);
}
