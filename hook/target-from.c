/* SPDX-License-Identifier: MIT */
#include "hook/target-from.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "process/memory.h"

/* Tells the code that libc's execve is led through whether its calls are recorded. */
static int tell_exec(struct dt_target *t, struct dt_error *e)
{
	uint64_t is[2] = {0}, now[2], at = t->area + offsetof(struct dt_blob, exec_site);

	for (size_t i = 0; i < t->n && !is[0] && !t->unwatched; i++) {
		struct dt_file *f = t->module[i].file;
		int64_t site = dt_file_execve_site(f);

		if (site >= 0 && f->chosen && f->chosen[site]) {
			is[0] = t->module[i].bias + f->execve;
			is[1] = dt_file_is_crossing(f, (size_t)site);
		}
	}
	if (dt_memory_read(t->mem, at, now, sizeof(now)) == 0 && memcmp(now, is, sizeof(now)) == 0)
		return 0;
	return dt_memory_write(t->mem, at, is, sizeof(is)) == 0
		       ? 0
		       : dt_fail(e, "the area of process %d can not be written", t->pid);
}

int dt_target_from(struct dt_target *t, struct dt_error *e)
{
	struct dt_from from[DT_FROM_MAX] = {{0}}, now[DT_FROM_MAX];
	uint64_t at = t->area + offsetof(struct dt_blob, from);
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct dt_module *m = &t->module[i];

		if (!m->file->caller)
			continue;
		if (n < DT_FROM_MAX)
			from[n++] = (struct dt_from){m->low, m->high - m->low};
		else
			m->unheard = true;
	}
	if (tell_exec(t, e) < 0)
		return -1;
	if (dt_memory_read(t->mem, at, now, sizeof(now)) == 0 &&
	    memcmp(now, from, sizeof(now)) == 0)
		return 0;
	/*
	 * A module that goes and another that comes in its place may be looked for with the address
	 * of the one and the size of the other for a moment; both are then being loaded.
	 */
	return dt_memory_write(t->mem, at, from, sizeof(from)) == 0
		       ? 0
		       : dt_fail(e, "the area of process %d can not be written", t->pid);
}
