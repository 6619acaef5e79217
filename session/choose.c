/* SPDX-License-Identifier: MIT */
/* Which sites of a file are to be switched on, by the session's patterns. */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

static size_t index_of(const struct dt_function *f, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : n;
}

/* The DWARF index is built now, while nobody waits for a record to be taken. */
static void warm(struct dt_symtab *t)
{
	const struct dt_function *f;
	char text[16];
	size_t n;

	f = dt_symtab_functions(t, &n);
	if (n)
		dt_symtab_signature(t, &f[n / 2], text, sizeof(text));
}

/* An event by its own name; what has none by whether its subsystem, or anything, is chosen. */
static void choose_events(struct dt_session *s, struct dt_file *file)
{
	const struct dt_elf *elf = file->elf;

	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_event *v;
		char subsystem[8], event[8];

		if (elf->site[i].kind != DT_ELF_EVENT)
			continue;
		v = &elf->event[elf->site[i].event];
		if (!v->kind)
			continue;
		dt_format(subsystem, sizeof(subsystem), "%u", v->subsystem);
		dt_format(event, sizeof(event), "%u", v->event);
		if (v->flags & DT_EVENT_FREE) /* no numbers, but words: message:send, raw: */
			file->chosen[i] = dt_selection_event(
				&s->options.select,
				(const char *const[]){v->subsystem_name, v->subsystem_name},
				(const char *const[]){v->event_name, v->event_name});
		else
			file->chosen[i] = dt_selection_event(
				&s->options.select,
				(const char *const[]){v->subsystem_name, subsystem},
				(const char *const[]){v->event_name, event});
		file->chosen_sites += file->chosen[i];
	}
	dt_file_choose_askers(file);
}

int dt_choose(void *session, struct dt_file *file, struct dt_error *e)
{
	struct dt_session *s = session;
	struct dt_symtab *t = dt_file_symtab(file);
	const struct dt_elf *elf = file->elf;
	const struct dt_function *f;
	bool *wanted;
	size_t n = 0;

	if (t)
		warm(t);
	if (s->options.select.n == 0) {
		memset(file->chosen, 1, elf->sites);
		file->chosen_sites = elf->sites;
		dt_file_choose_askers(file);
		return 0;
	}
	choose_events(s, file);
	if (!t)
		return 0; /* without names, no pattern matches */
	f = dt_symtab_functions(t, &n);
	wanted = calloc(n + 1, sizeof(*wanted));
	if (!wanted || dt_selection_symtab(&s->options.select, file->path, t, wanted) < 0) {
		free(wanted);
		return dt_fail(e, "out of memory");
	}
	for (size_t i = 0; i < elf->sites; i++) {
		size_t k = index_of(f, n, elf->site[i].function);

		if (elf->site[i].kind == DT_ELF_EVENT)
			continue;
		file->chosen[i] = k < n && wanted[k];
		file->chosen_sites += file->chosen[i];
	}
	free(wanted);
	return 0;
}

int dt_session_switch(struct dt_session *s, dt_which_fn *which, void *ctx, bool on,
		      struct dt_error *e)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	s->rechosen = true;
	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		dt_file_choose(f, which, ctx, on);
	for (struct dt_target *t = s->first; t && rc == 0; t = t->next)
		if (!t->ended && t->area)
			rc = dt_target_apply(t, e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

bool dt_which_subsystem(void *ctx, const struct dt_file *f, const struct dt_elf_site *site)
{
	const struct dt_elf_event *v = site->kind == DT_ELF_EVENT ? &f->elf->event[site->event] : NULL;
	const int *number = ctx;

	return v && !(v->flags & DT_EVENT_FREE) && (*number < 0 || v->subsystem == *number);
}
