/* SPDX-License-Identifier: MIT */
/* The unwind table of a file whose symbols are read. */
#include "elf/unwind.h"

#include <stdlib.h>
#include <unistd.h>

#include "symbols/symtab-work.h"

int dt_symtab_unwind(struct dt_symtab *t, uint64_t address, struct dt_unwind_row *row)
{
	const struct dt_frame *f;

	if (t->apart)
		return t->apart->unwind(t, address, row);
	if (!t->frames) {
		t->frames = calloc(1, sizeof(*t->frames));
		/* without memory it has none */
		if (!t->frames || dt_frames_begin(t->frames, dup(t->main.fd), t->main.path, NULL))
			return -1;
	}
	if (!t->frames->n)
		return -1;
	f = dt_frames_find(t->frames, address);
	return f && dt_unwind_row(f, address, row);
}

void dt_symtab_forget_unwind(struct dt_symtab *t)
{
	if (t->frames)
		dt_frames_close(t->frames);
	free(t->frames);
	t->frames = NULL;
}
