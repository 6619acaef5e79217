/* SPDX-License-Identifier: MIT */
#include "hook/target-from.h"

#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "process/memory.h"

int dt_target_from(struct dt_target *t, struct dt_error *e)
{
	struct dt_from from[DT_FROM_MAX] = {{0}}, now[DT_FROM_MAX];
	uint64_t at = t->area + offsetof(struct dt_blob, from);
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct dt_module *m = &t->module[i];

		if (!m->file->caller)
			continue;
		if (n < DT_FROM_MAX) {
			from[n++] = (struct dt_from){m->low, m->high - m->low};
		} else if (!m->failed) {
			m->failed = true;
			dt_format(m->why, sizeof(m->why),
				  "its calls of libraries are not recorded: that is done for %d "
				  "modules of a process at most",
				  DT_FROM_MAX);
		}
	}
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

/* Reads the offset of errno out of libc, or of a static program. False: it is not known (yet). */
static bool read_offset(struct dt_target *t, int64_t *offset)
{
	uint8_t code[DT_THREAD_WORD_CODE];
	uint64_t at, slot;

	for (size_t i = 0; i < t->n; i++) {
		const struct dt_module *m = &t->module[i];

		if (!m->file->elf || dt_elf_symbol(m->file->elf, "__errno_location", &at, NULL) < 0)
			continue;
		at += m->bias;
		if (dt_memory_read(t->mem, at, code, sizeof(code)) < 0)
			return false;
		switch (dt_thread_word(code, at, offset, &slot)) {
		case 0:
			return false;
		case 2:
			if (dt_memory_read(t->mem, slot, offset, sizeof(*offset)) < 0)
				return false;
		}
		/* in the static block of thread-local variables, which lies below the pointer */
		return *offset < 0 && *offset >= -(1 << 20);
	}
	return false;
}

void dt_target_find_errno(struct dt_target *t)
{
	struct dt_blob head;
	int64_t offset;

	if (t->errno_offset || !t->area || !read_offset(t, &offset) ||
	    dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return;
	if (head.hook[0]
		    ? dt_area_make_hooks(t->mem, t->area, t->geometry,
					 &(struct dt_thread_offsets){
						 head.tid_offset, head.rseq_offset, head.rseq_size,
						 head.rseq_signature, t->tag, offset},
					 NULL) < 0
		    : dt_memory_write(t->mem, t->area + offsetof(struct dt_blob, errno_offset),
				      &offset, sizeof(offset)) < 0)
		return;
	t->errno_offset = offset;
}
