/* SPDX-License-Identifier: MIT */
/* Whose code a record's pc is in, and what is there. */
#include "session/whose.h"

#include <string.h>

#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-modules.h"
#include "process/status.h"
#include "session/lives.h"
#include "session/thread-table.h"

/* Returns the sled whose hook returns to pc, with no other site between; NULL: there is none. */
static const struct dt_elf_site *site_of(const struct dt_elf *elf, uint64_t pc)
{
	size_t behind = dt_elf_site_from(elf, pc);
	const struct dt_elf_site *site = behind ? &elf->site[behind - 1] : NULL;

	return site && site->back && site->address + site->back == pc ? site : NULL;
}

const struct dt_elf_site *dt_whose_call_site(const struct dt_module *m, uint64_t pc)
{
	return m->file->probed ? dt_probes_site(m, pc)
	       : m->stubs      ? dt_stubs_site(m, pc)
			       : site_of(m->file->elf, pc - m->bias);
}

/* What is at a pc of a module: a function's entry or exit, a point, an event; NULL: nothing is. */
static const void *what_is_at(const struct dt_module *m, uint64_t pc)
{
	const void *at = dt_elf_event_at(m->file->elf, pc - m->bias);
	unsigned first, text;

	if (!at)
		at = dt_probes_point(m, pc, &first, &text);
	if (!at)
		at = dt_whose_call_site(m, pc);
	/* records of execve's calls are of no hook */
	return at || !dt_file_execve(m->file) || pc - (m->bias + m->file->execve) > DT_EXEC_EXIT
		       ? at
		       : &m->file->execve;
}

/* Finds the module in the tables of the process with that id. */
static struct dt_module *in_process(struct dt_session *s, uint32_t id, uint64_t pc,
				    struct dt_target **target)
{
	struct dt_module *m = NULL;

	for (struct dt_target *t = id ? s->first : NULL; t && !m; t = t->next)
		if (t->id == id && (m = dt_target_module(t, pc)) != NULL)
			*target = t;
	return m;
}

/* Returns whether two files that are the same build, such as a program and its copy for another
 * user, have the same place of a function at that pc. */
static bool is_same_place(const struct dt_module *a, const struct dt_module *b, uint64_t pc)
{
	const struct dt_elf_site *x = dt_whose_call_site(a, pc), *y = dt_whose_call_site(b, pc);
	const struct dt_elf *e = a->file->elf, *f = b->file->elf;

	return x && y && e->build_id[0] && !strcmp(e->build_id, f->build_id) &&
	       a->bias == b->bias && x->address == y->address && x->kind == y->kind;
}

/* Finds it in all processes that agree on it. */
static struct dt_module *in_any(struct dt_session *s, uint64_t pc, struct dt_target **target)
{
	struct dt_module *m = NULL;
	const void *found = NULL;

	for (struct dt_target *t = s->first; t; t = t->next) {
		struct dt_module *other = dt_target_module(t, pc);
		const void *at = other ? what_is_at(other, pc) : NULL;

		if (!at || at == found || (found && is_same_place(m, other, pc)))
			continue;
		if (found)
			return NULL;
		found = at;
		m = other;
		*target = t;
	}
	return m;
}

struct dt_module *dt_whose_module(struct dt_session *s, const struct dt_record *r,
				  struct dt_target **target)
{
	uint32_t pid = dt_thread_table_process(s, r->tid), parent = 0;
	struct dt_module *m = in_process(s, pid, r->pc, target);

	if (m)
		return m;
	if (pid && !dt_lives_target(s, pid) && dt_lives_is_last(s, pid))
		parent = (uint32_t)dt_status_parent((pid_t)dt_lives_number(s, pid));
	parent = parent ? dt_lives_now(s, parent) : pid ? dt_lives_parent(s, pid) : 0;
	m = in_process(s, parent, r->pc, target);
	return m ? m : in_any(s, r->pc, target);
}
