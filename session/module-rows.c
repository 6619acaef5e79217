/* SPDX-License-Identifier: MIT */
#include "session/module-rows.h"

#include <string.h>

static void note_names(struct dt_session *s, const struct dt_module *m)
{
	const char *called = dt_file_called(m->file, NULL);
	char name[256];

	for (const char *p = strchr(called, '\n'); p; p = strchr(p + 1, '\n')) {
		dt_format(name, sizeof(name), "%.*s", (int)strcspn(p + 1, "\n"), p + 1);
		dt_store_module_name(s->store, m->row, name, NULL);
	}
}

void dt_module_note_complete(struct dt_session *s, struct dt_module *m)
{
	if (!m->complete || m->complete_told || !m->row)
		return;
	dt_store_complete(s->store, m->row, m->complete, NULL);
	m->complete_told = true;
}

/* Lets a module have the rows of functions of one that is the same file at the same place: a server
 * that forks for each connection would have its functions described for each. */
static void share_functions(struct dt_module *m)
{
	struct dt_file *f = m->file;

	if (!f->described.row || f->described.bias != m->bias) {
		f->described.bias = m->bias;
		f->described.row = m->row;
	}
	m->functions = f->described.row;
}

void dt_module_note(struct dt_session *s, const struct dt_target *t, struct dt_module *m)
{
	struct dt_module_row row = {
		.pid = t->id,
		.base = m->bias,
		.low = m->low,
		.high = m->high,
		.path = m->file->path,
		.build_id = m->file->elf ? m->file->elf->build_id : "",
		.begin_ticks = m->begin_ticks,
	};

	if (!s->store || m->row)
		return;
	m->row = dt_store_module(s->store, &row, NULL);
	if (m->row < 0)
		m->row = 0;
	else
		note_names(s, m);
	share_functions(m);
	dt_module_note_complete(s, m);
}
