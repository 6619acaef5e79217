/* SPDX-License-Identifier: MIT */
/*
 * The ways of a module's sites to the hooks. A site is planted with the way that it has then. When
 * ranges come or go, it may have to get another: one that looks at the caller, or one that does
 * not.
 */
#include "hook/probes-work.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

unsigned dt_probe_way(struct dt_file *f, size_t site, bool entry, bool jump)
{
	bool crossing = site < f->elf->sites && dt_file_is_crossing(f, site);

	if (entry)
		return crossing ? WAY_ENTRY_FROM : WAY_ENTRY;
	if (jump)
		return crossing ? WAY_JUMP_FROM : WAY_JUMP;
	if (dt_file_sets_errno(f))
		return crossing ? WAY_EXIT_ERRNO_FROM : WAY_EXIT_ERRNO;
	return crossing ? WAY_EXIT_FROM : WAY_EXIT;
}

/* Returns where the thunks of a way begin in a region that begins at `low'. */
static uint64_t thunks(uint64_t low, unsigned way)
{
	uint64_t at = low + sizeof(struct head);

	for (unsigned i = 0; i < way; i++)
		at += dt_hook_way_size(dt_way_is_switched(i));
	return at;
}

/* Returns the way whose thunks have the address, and sets *low to the beginning of their region;
 * WAYS: none has. */
static unsigned way_at(const struct dt_probes *p, uint64_t address, uint64_t *low)
{
	for (size_t i = 0; i < p->regions; i++) {
		if (address < p->region[i].low || address >= p->region[i].high)
			continue;
		*low = p->region[i].low;
		for (unsigned way = 0; way < WAYS; way++)
			if (dt_way_is_switched(way) && address >= thunks(*low, way) &&
			    address < thunks(*low, way + 1))
				return way;
	}
	return WAYS;
}

/* The code of hooks that was read last: calls of hooks lie close to each other. */
struct code {
	uint64_t low;
	size_t n; /* 0: none yet */
	uint8_t bytes[4096];
};

static bool read_call(const struct dt_target *t, struct code *code, uint64_t at,
		      uint8_t call[DT_HOOK_CALL])
{
	const uint64_t page = sizeof(code->bytes);

	if (at < code->low || at - code->low + DT_HOOK_CALL > code->n) {
		/* to the end of the page: what follows may not be mapped */
		code->low = at;
		code->n = page - at % page;
		if (code->n < DT_HOOK_CALL)
			code->n = DT_HOOK_CALL;
		if (dt_memory_read(t->mem, at, code->bytes, code->n) < 0) {
			code->n = 0;
			return false;
		}
	}
	memcpy(call, code->bytes + (at - code->low), DT_HOOK_CALL);
	return true;
}

/* Finds out whether the call of a site's hook leads another way than it is to lead, and which bytes
 * it has to have after its first one. */
static bool is_other(const struct dt_target *t, const struct dt_module *m, size_t site,
		     struct code *code, uint8_t call[DT_HOOK_CALL])
{
	uint64_t at = m->probes->toggle[site], low;
	unsigned is, wanted;

	if (!read_call(t, code, at, call))
		return false;
	is = way_at(m->probes, dt_hook_call_target(at, call), &low);
	if (is == WAYS)
		return false;
	wanted = dt_probe_way(m->file, site, dt_probe_is_entry(&m->file->elf->site[site]),
			      is == WAY_JUMP || is == WAY_JUMP_FROM);
	if (is == wanted)
		return false;
	dt_hook_call_aim(at, thunks(low, wanted), call);
	return true;
}

/* Returns the first site from i on that leads another way than it is to lead, up to the address
 * `high', and the bytes that its call has to have; NONE: there is none. */
static size_t next_other(const struct dt_target *t, const struct dt_module *m, size_t i,
			 uint64_t high, uint8_t call[DT_HOOK_CALL])
{
	const struct dt_elf *elf = m->file->elf;
	struct code code = {.n = 0};

	for (; i < elf->sites && elf->site[i].address <= high; i++)
		if (m->file->chosen[i] && m->probes->toggle[i] && is_other(t, m, i, &code, call))
			return i;
	return NONE;
}

bool dt_probe_ways_differ(const struct dt_target *t, const struct dt_module *m, uint64_t low,
			  uint64_t high)
{
	uint8_t call[DT_HOOK_CALL];

	/* without the chooser's array no site has ever looked at its caller */
	return m->file->crossing && m->file->chosen && m->file->probed && m->probes &&
	       next_other(t, m, dt_elf_site_from(m->file->elf, low), high, call) != NONE;
}

/* Leads all of them the right way. No thread runs. */
static int change_all(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		      struct dt_error *e)
{
	size_t i = dt_elf_site_from(m->file->elf, low);
	uint8_t call[DT_HOOK_CALL];

	while ((i = next_other(t, m, i, high, call)) != NONE)
		if (dt_memory_write(t->mem, m->probes->toggle[i++] + 1, call + 1,
				    DT_HOOK_CALL - 1) < 0)
			return dt_fail(e, "process %d: a site can not be led to another hook: %s",
				       t->pid, strerror(errno));
	return 0;
}

int dt_probe_ways_change(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
			 struct dt_error *e)
{
	struct dt_threads threads;
	int rc;

	if (!dt_probe_ways_differ(t, m, low, high))
		return 0;
	if (!t->held && dt_threads_stop(t->pid, &threads, e) < 0) {
		t->busy = true;
		return -1;
	}
	rc = change_all(t, m, low, high, e);
	if (!t->held) {
		dt_threads_release(&threads);
		if (threads.stopped_for > t->stop_ns)
			t->stop_ns = threads.stopped_for;
	}
	return rc;
}
