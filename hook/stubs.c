/* SPDX-License-Identifier: MIT */
#include "hook/stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "hook/target-work.h"
#include "process/inject.h"
#include "process/memory.h"

#define MAGIC 0x7362757473766474ull /* "tdvstubs" */
#define WAYS  3			    /* entry, exit, jump */
#define MOST  64		    /* regions of one process that are unmapped at once */

/* Bytes of a stub, not 0 on any processor. */
#define STUB ((uint64_t)(DT_SLED_STUB ? DT_SLED_STUB : 1))

/* The beginning of a region, by which it is found again. The process may have changed it: nothing
 * that it says is used but to compare it. */
struct head {
	uint64_t magic, bias, sites, unused;
};

/* Offsets in a region: of the ways, and of the first stub. */
#define WAYS_AT	 sizeof(struct head)
#define STUBS_AT (WAYS_AT + (uint64_t)WAYS * DT_SLED_WAY)

static uint64_t size_of(const struct dt_module *m)
{
	return (STUBS_AT + m->file->elf->sites * STUB + PAGE - 1) & ~(PAGE - 1);
}

bool dt_stubs_are_missing(const struct dt_module *m)
{
	return DT_SLED_STUB && !m->stubs && m->file->chosen_sites && dt_file_has_toggles(m->file);
}

/* Returns which way the stub of a site takes. */
static unsigned way_of(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_ENTRY ? 0 : s->kind == DT_ELF_JUMP ? 2 : 1;
}

/* Writes a region for the module to out, which has size_of() bytes of zeros. */
static int make_region(struct dt_target *t, const struct dt_module *m, uint64_t at,
		       const uint64_t hook[WAYS], uint8_t *out)
{
	const struct dt_elf *elf = m->file->elf;
	struct head head = {.magic = MAGIC, .bias = m->bias, .sites = elf->sites};
	struct dt_emit o = {
		.bytes = out + WAYS_AT, .room = STUBS_AT - WAYS_AT, .address = at + WAYS_AT};

	memcpy(out, &head, sizeof(head));
	for (unsigned i = 0; i < WAYS; i++)
		dt_sled_way_emit(&o, hook[i]);
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		uint64_t stub = STUBS_AT + i * STUB;
		uint8_t behind[4];

		if (dt_memory_read(t->mem, m->bias + s->address + 4, behind, sizeof(behind)) < 0)
			return -1;
		o = (struct dt_emit){.bytes = out + stub, .room = STUB, .address = at + stub};
		dt_sled_stub_emit(&o, s->kind, m->bias + s->address, behind,
				  at + WAYS_AT + way_of(s) * (uint64_t)DT_SLED_WAY);
	}
	return 0;
}

/* Reads the head of the region of stubs that begins at a mapping; false: it is none. */
static bool read_head(struct dt_target *t, const struct dt_mapping *m, struct head *h)
{
	return DT_SLED_STUB && m->exec && !m->inode && !m->path[0] &&
	       dt_memory_read(t->mem, m->low, h, sizeof(*h)) == 0 && h->magic == MAGIC;
}

/* Has a stopped thread map the region; one that a library has left that was mapped there before is
 * unmapped. */
static int map_region(struct dt_target *t, struct dt_module *m, pid_t tid, uint64_t *at,
		      struct dt_error *e)
{
	uint64_t size = size_of(m), text = m->high - m->low, reach;
	struct dt_injected_call call[2] = {0};
	struct dt_maps maps;
	size_t n = 0;
	int rc = -1;

	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	for (size_t i = 0; i < maps.n && !n; i++) {
		struct head h;

		if (read_head(t, &maps.map[i], &h) && h.bias == m->bias)
			call[n++] = (struct dt_injected_call){
				"unmapping old stubs",
				SYS_munmap,
				{maps.map[i].low, maps.map[i].high - maps.map[i].low},
				0,
				false};
	}
	reach = text + size < DT_REACH_BESIDE ? DT_REACH_BESIDE - text - size : 0;
	*at = reach ? dt_maps_gap(&maps, m->low, size, reach, ~0ull) : 0;
	if (!*at) {
		dt_fail(e,
			"%s: there are no %lu KiB of free addresses near it for the stubs of "
			"its sleds",
			m->file->path, (unsigned long)(size >> 10));
		goto out;
	}
	call[n++] = (struct dt_injected_call){"mapping stubs",
					      SYS_mmap,
					      {*at, size, PROT_READ | PROT_EXEC,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					       (uint64_t)-1, 0},
					      0,
					      false};
	rc = dt_inject(tid, t->mem, &maps, t->area + DT_AREA_STUB, call, n, e);
	if (rc == 0 && (uint64_t)call[n - 1].result != *at)
		rc = dt_fail(e, "process %d: the kernel gave other addresses than asked for",
			     t->pid);
out:
	dt_maps_free(&maps);
	return rc;
}

/* Maps the region while one thread stands still for a moment. */
static int map_stopped(struct dt_target *t, struct dt_module *m, uint64_t *at, struct dt_error *e)
{
	struct dt_threads one;
	int rc;

	if (!t->confined && dt_target_any_confined(t))
		dt_target_confine(t);
	if (t->confined)
		return dt_fail(e,
			       "process %d has confined itself by seccomp: no stubs can be mapped "
			       "in it any more",
			       t->pid);
	if (t->held)
		return map_region(t, m, t->held, at, e);
	if (dt_threads_stop_one(t->pid, t->pid, &one, e) < 0) {
		t->busy = true;
		return -1;
	}
	rc = map_region(t, m, t->pid, at, e);
	dt_threads_release(&one);
	if (one.stopped_for > t->stop_ns)
		t->stop_ns = one.stopped_for;
	return rc;
}

/* Leads stubs that are there to these hooks: a way has its hook's address as data, in its last
 * eight bytes. */
static int lead(struct dt_target *t, const struct dt_module *m, const uint64_t hook[WAYS])
{
	for (unsigned i = 0; i < WAYS; i++)
		if (dt_memory_write(t->mem,
				    m->stubs + WAYS_AT + (i + 1) * (uint64_t)DT_SLED_WAY - 8,
				    &hook[i], sizeof(hook[i])) < 0)
			return -1;
	return 0;
}

int dt_stubs_make(struct dt_target *t, struct dt_module *m, const uint64_t hook[WAYS],
		  struct dt_error *e)
{
	uint8_t *out;
	uint64_t at;
	int rc;

	if (!DT_SLED_STUB)
		return 0;
	if (m->stubs) {
		rc = lead(t, m, hook);
		goto out;
	}
	if (map_stopped(t, m, &at, e) < 0)
		return -1;
	out = calloc(1, size_of(m));
	if (!out)
		return dt_fail(e, "out of memory");
	rc = make_region(t, m, at, hook, out);
	if (rc == 0)
		rc = dt_memory_write(t->mem, at, out, size_of(m));
	free(out);
	if (rc == 0)
		m->stubs = at;
out:
	return rc < 0 ? dt_fail(e, "%s: the stubs of its sleds can not be written: %s",
				m->file->path, strerror(errno))
		      : 0;
}

int dt_stubs_find(struct dt_target *t, struct dt_error *e)
{
	struct dt_maps maps;

	if (!DT_SLED_STUB)
		return 0;
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	for (size_t i = 0; i < maps.n; i++) {
		const struct dt_mapping *x = &maps.map[i];
		struct head h;

		if (!read_head(t, x, &h))
			continue;
		for (size_t k = 0; k < t->n; k++) {
			struct dt_module *m = &t->module[k];

			if (dt_file_has_toggles(m->file) && h.bias == m->bias &&
			    h.sites == m->file->elf->sites && x->high - x->low == size_of(m))
				m->stubs = x->low;
		}
	}
	dt_maps_free(&maps);
	return 0;
}

uint64_t dt_stubs_of(const struct dt_module *m, size_t site)
{
	return m->stubs ? m->stubs + STUBS_AT + site * STUB : 0;
}

const struct dt_elf_site *dt_stubs_site(const struct dt_module *m, uint64_t pc)
{
	const struct dt_elf *elf = m->file->elf;
	uint64_t i = (pc - m->stubs - STUBS_AT) / STUB;

	if (!m->stubs || pc < m->stubs + STUBS_AT || i >= elf->sites ||
	    pc != dt_stubs_of(m, i) + DT_SLED_STUB_BACK(elf->site[i].kind))
		return NULL;
	return &elf->site[i];
}

bool dt_stubs_code(const struct dt_module *m, uint64_t *low, uint64_t *high)
{
	*low = m->stubs;
	*high = m->stubs ? m->stubs + size_of(m) : 0;
	return m->stubs != 0;
}

int dt_stubs_remove(struct dt_target *t, pid_t tid, struct dt_error *e)
{
	struct dt_injected_call call[MOST] = {0};
	struct dt_maps maps;
	size_t n = 0;
	int rc = 0;

	if (!DT_SLED_STUB)
		return 0;
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	for (size_t i = 0; i < maps.n && n < MOST; i++) {
		struct head h;

		if (read_head(t, &maps.map[i], &h))
			call[n++] = (struct dt_injected_call){
				"unmapping stubs",
				SYS_munmap,
				{maps.map[i].low, maps.map[i].high - maps.map[i].low},
				0,
				false};
	}
	for (size_t i = 0; i < n && rc == 0; i += DT_CALL_MAX)
		rc = dt_inject(tid, t->mem, &maps, t->area + DT_AREA_STUB, call + i,
			       n - i < DT_CALL_MAX ? n - i : DT_CALL_MAX, e);
	dt_maps_free(&maps);
	return rc;
}

void dt_stubs_forget(struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->module[i].stubs = 0;
}
