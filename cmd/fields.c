/* SPDX-License-Identifier: MIT */
#include "cmd/fields.h"

#include <string.h>

#include "cmd/open.h"

void dt_fields_add(struct dt_fields *f, unsigned field)
{
	if (!dt_fields_has(f, field))
		f->field[f->n++] = (uint8_t)field;
}

bool dt_fields_has(const struct dt_fields *f, unsigned field)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->field[i] == field)
			return true;
	return false;
}

static bool add_word(struct dt_fields *f, const char *word, size_t length, const char *const *name,
		     unsigned n)
{
	char all[512];
	size_t at = 0;

	for (unsigned i = 0; i < n; i++)
		if (strlen(name[i]) == length && !memcmp(name[i], word, length)) {
			dt_fields_add(f, i);
			return true;
		}
	for (unsigned i = 0; i < n && at < sizeof(all); i++)
		at += dt_format(all + at, sizeof(all) - at, "%s%s", i ? ", " : "", name[i]);
	dt_cmd_fail("--fields: '%.*s' is none; there are %s; and none, for no column at all",
		    (int)(length < 100 ? length : 100), word, all);
	return false;
}

bool dt_fields_parse(struct dt_fields *f, const char *text, const char *const *name, unsigned n)
{
	bool also = *text == '+';

	*f = (struct dt_fields){.chosen = true, .also = also};
	if (!strcmp(text, "none"))
		return true;
	for (text += also;; text++) {
		size_t length = strcspn(text, ",");

		if (!add_word(f, text, length, name, n))
			return false;
		text += length;
		if (!*text)
			return true;
	}
}
