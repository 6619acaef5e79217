/* SPDX-License-Identifier: MIT */
/* The modules of a traced process: which come and go, and what stays of those that went. */
#include "hook/target-modules.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-from.h"
#include "hook/target-switch.h"
#include "hook/target-rseq.h"
#include "hook/target-threads.h"
#include "hook/target-work.h"
#include "hook/vdso.h"
#include "process/memory.h"

/* Frees an array of modules. */
static void free_all(struct dt_module **module, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		dt_probes_free((*module)[i].probes);
	free(*module);
	*module = NULL;
	*n = 0;
}

void dt_target_free_old(struct dt_target *t)
{
	for (size_t i = 0; i < t->n_old; i++)
		dt_probes_free(t->old[i]);
	free(t->old);
	t->old = NULL;
	t->n_old = 0;
}

void dt_target_close(struct dt_target *t)
{
	if (!t)
		return;
	if (!t->ended)
		dt_target_end(t);
	for (size_t i = 0; i < t->n; i++) {
		dt_probes_keep(&t->module[i]);
		dt_probes_free(t->module[i].probes);
	}
	dt_target_free_old(t);
	free(t->module);
	free_all(&t->gone, &t->n_gone);
	free_all(&t->shelf, &t->n_shelf);
	free(t);
}

void dt_target_fold(struct dt_target *t, struct dt_files *files)
{
	t->last = true;
	for (size_t i = 0; i < t->n; i++) {
		dt_probes_keep(&t->module[i]);
		dt_probes_donate(&t->module[i], files);
		dt_probes_fold(t->module[i].probes);
	}
	free_all(&t->shelf, &t->n_shelf);
	dt_target_free_old(t);
}

void dt_target_leave(struct dt_target *t)
{
	t->left = true;
	for (size_t i = 0; i < t->n; i++) {
		dt_probes_remember(&t->module[i]);
		dt_probes_keep(&t->module[i]);
		dt_probes_free(t->module[i].probes);
		t->module[i].probes = NULL;
	}
	for (size_t i = 0; i < t->n_gone; i++) {
		dt_probes_free(t->gone[i].probes);
		t->gone[i].probes = NULL;
	}
}

/* Moves the modules that have gone to the shelf. Their trampolines are still there, and a plugin
 * that is loaded again is mostly mapped where it was before. */
static void shelve(struct dt_target *t)
{
	struct dt_module *more = realloc(t->shelf, (t->n_shelf + t->n_gone) * sizeof(*more));

	if (!more)
		return;
	t->shelf = more;
	for (size_t i = 0; i < t->n_gone; i++) {
		if (!dt_probes_any(t->gone[i].probes))
			continue;
		more[t->n_shelf++] = t->gone[i];
		t->gone[i].probes = NULL;
	}
}

void dt_target_forget(struct dt_target *t)
{
	if (!t->ended && t->n_gone)
		shelve(t);
	free_all(&t->gone, &t->n_gone);
}

/* Looks whether address is in the module's text or trampolines. */
static bool has_address(const struct dt_module *m, uint64_t address)
{
	uint64_t low, high;

	if (address >= m->low && address < m->high)
		return true;
	for (unsigned i = 0; dt_probes_code(m->probes, i, &low, &high); i++)
		if (address >= low && address < high)
			return true;
	return dt_stubs_code(m, &low, &high) && address >= low && address < high;
}

struct dt_module *dt_target_module(struct dt_target *t, uint64_t address)
{
	for (size_t i = 0; i < t->n; i++)
		if (has_address(&t->module[i], address))
			return &t->module[i];
	for (size_t i = 0; i < t->n_gone; i++)
		if (has_address(&t->gone[i], address))
			return &t->gone[i];
	return NULL;
}

/* Computes run-time address minus virtual address, from the segment that is mapped here; false: no
 * executable segment is. */
static bool find_bias(const struct dt_elf *elf, const struct dt_mapping *m, uint64_t *bias)
{
	for (size_t i = 0; i < elf->loads; i++) {
		const struct dt_elf_load *l = &elf->load[i];
		uint64_t offset = l->offset & ~(PAGE - 1);

		if (!(l->flags & PF_X) || m->offset < offset || m->offset >= l->offset + l->filesz)
			continue;
		*bias = m->low - m->offset + l->offset - l->vaddr;
		return true;
	}
	return false;
}

/* Has the chooser choose the file's sites, once; without a chooser all are chosen. */
static int choose(struct dt_targets *all, struct dt_file *f, struct dt_error *e)
{
	if (!f->elf || f->chosen || f->asked)
		return 0;
	f->asked = true;
	if (all->choose)
		return all->choose(all->choose_ctx, f, e);
	if (!f->elf->sites)
		return 0;
	f->chosen = malloc(f->elf->sites);
	if (!f->chosen)
		return dt_fail(e, "out of memory");
	memset(f->chosen, 1, f->elf->sites);
	f->chosen_sites = f->elf->sites;
	return 0;
}

static struct dt_module *add_module(struct dt_target *t, struct dt_file *f,
				    const struct dt_mapping *m, uint64_t bias, struct dt_error *e)
{
	struct dt_module *module;

	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 32;
		struct dt_module *more = realloc(t->module, room * sizeof(*more));

		if (!more) {
			dt_fail(e, "out of memory");
			return NULL;
		}
		t->module = more;
		t->room = room;
	}
	module = &t->module[t->n++];
	memset(module, 0, sizeof(*module));
	module->file = f;
	module->bias = bias;
	module->low = m->low;
	module->high = m->high;
	module->begin_ticks = dt_ticks();
	return module;
}

/*
 * Returns the known module to which this executable mapping belongs, even if its file has changed
 * since it was mapped; NULL: none.
 */
static struct dt_module *known(struct dt_target *t, const struct dt_mapping *m)
{
	uint64_t bias;

	for (size_t i = 0; i < t->n; i++)
		if (dt_file_is_of(t->module[i].file, m) &&
		    find_bias(t->module[i].file->elf, m, &bias) && t->module[i].bias == bias)
			return &t->module[i];
	return NULL;
}

/* Gives the module the probes that it had when it was mapped at the same place before, if they are
 * on the shelf and fit. */
static void take_from_shelf(struct dt_target *t, struct dt_module *m)
{
	for (size_t i = 0; i < t->n_shelf; i++) {
		const struct dt_module *x = &t->shelf[i];

		if (x->file != m->file || x->bias != m->bias || x->low != m->low ||
		    x->high != m->high || !dt_probes_fit(t, x->probes))
			continue;
		m->probes = x->probes;
		m->again = true;
		t->shelf[i] = t->shelf[--t->n_shelf];
		return;
	}
}

/* Moves a module to t->gone. */
static int remember_gone(struct dt_target *t, const struct dt_module *m, struct dt_error *e)
{
	struct dt_module *more = realloc(t->gone, (t->n_gone + 1) * sizeof(*more));

	if (!more)
		return dt_fail(e, "out of memory");
	t->gone = more;
	t->gone[t->n_gone++] = *m;
	return 0;
}

/* Updates t->module to what is mapped at present. New modules are not hooked yet. */
static int refresh(struct dt_target *t, struct dt_targets *all, struct dt_error *e)
{
	struct dt_maps maps;
	bool *still;
	size_t kept = 0, before = t->n;
	int rc = -1;

	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	still = calloc(before + maps.n + 1, sizeof(*still));
	if (!still) {
		dt_fail(e, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < maps.n; i++) {
		const struct dt_mapping *m = &maps.map[i];
		struct dt_module *module;
		struct dt_file *f;
		uint64_t bias;
		bool vdso;

		vdso = strcmp(m->path, DT_VDSO) == 0;
		if (!m->exec || (!vdso && (m->inode == 0 || m->shared || m->path[0] != '/')))
			continue;
		module = known(t, m);
		if (module) {
			/* a text segment can be several mappings (mprotect splits it) */
			if (m->low < module->low)
				module->low = m->low;
			if (m->high > module->high)
				module->high = m->high;
			still[module - t->module] = true;
			continue;
		}
		f = vdso ? dt_file_of_vdso(&all->files, t->mem, m)
			 : dt_file_of(&all->files, t->pid, m);
		if (!f && vdso)
			continue;
		if (!f) {
			dt_fail(e, "out of memory");
			goto out;
		}
		if (!f->elf || !find_bias(f->elf, m, &bias))
			continue;
		if (choose(all, f, e) < 0)
			goto out;
		module = add_module(t, f, m, bias, e);
		if (!module)
			goto out;
		still[module - t->module] = true;
	}
	for (size_t i = 0; i < t->n; i++) {
		if (still[i])
			t->module[kept++] = t->module[i];
		else if (remember_gone(t, &t->module[i], e) < 0)
			goto out;
	}
	t->n = kept;
	rc = 0;
out:
	free(still);
	dt_maps_free(&maps);
	return rc;
}

/* Finds out the tag of the process's PID namespace, and writes it to the area. */
static int enter_namespace(struct dt_target *t, struct dt_targets *all)
{
	t->tag = dt_pid_namespace_tag(&all->namespaces, t->pid);
	t->namespaces = &all->namespaces;
	return dt_area_tag(t->mem, t->area, t->geometry, t->pid, t->tag);
}

int dt_target_scan(struct dt_target *t, struct dt_targets *all, bool quiet, struct dt_error *e)
{
	int rc;

	if (refresh(t, all, e) < 0)
		return -1;
	if (!t->area)
		return 0;
	if (dt_connect(t, quiet, e) < 0)
		return -1;
	dt_target_check_rseq(t);
	dt_target_find_errno(t);
	if (dt_target_from(t, e) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		if (!t->module[i].complete && !t->module[i].failed && !t->module[i].probes)
			take_from_shelf(t, &t->module[i]);
	t->still = quiet;
	rc = dt_target_hook_new(t, e);
	t->still = false;
	return rc;
}

static const struct dt_module *same_module(const struct dt_target *t, const struct dt_module *m)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].file == m->file && t->module[i].bias == m->bias)
			return &t->module[i];
	return NULL;
}

int dt_target_adopt(struct dt_target *t, struct dt_targets *all, uint64_t area,
		    const struct dt_target *parent, struct dt_error *e)
{
	uint64_t fast[DT_HOOKS] = {0};

	t->area = area;
	t->geometry = &all->shared.geometry;
	if (enter_namespace(t, all) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	if (refresh(t, all, e) < 0 || dt_stubs_find(t, e) < 0)
		return -1;
	dt_area_hooks(t->mem, area, true, fast);
	if (parent)
		t->errno_offset = parent->errno_offset;
	t->patches = dt_connected(t);
	for (size_t i = 0; i < t->n; i++) {
		struct dt_module *m = &t->module[i];
		const struct dt_elf *elf = m->file->elf;
		int which = elf && elf->hooks ? DT_HOOK_ENTRY : DT_HOOK_EVENT;
		uint64_t slot = 0;

		const struct dt_module *theirs = parent ? same_module(parent, m) : NULL;

		if (theirs && theirs->probes)
			dt_probes_inherit(t, m, theirs);
		if (theirs)
			m->complete = theirs->complete;
		if (m->file->probed)
			t->fast = t->fast || (theirs && parent->fast);
		if (!m->file->chosen_sites || !dt_file_has_toggles(m->file))
			continue;
		dt_memory_read(t->mem, m->bias + (elf->hooks ? elf->hooks : elf->event_hooks),
			       &slot, sizeof(slot));
		m->hooked = m->on = dt_target_in_code(t, slot);
		dt_target_note_opted_out(t, m);
		t->fast = t->fast || (slot && slot == fast[which]);
	}
	/* if it has ended meanwhile, what was read may be wrong, and its children would begin with
	 * that */
	if (dt_memory_gone(t->pid))
		return dt_fail(e, "process %d has ended", t->pid);
	return 0;
}

/* Returns the address of the program if it has gates, which need a page of jumps near it; 0: it has
 * none. */
static uint64_t area_near_program(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct dt_file *f = t->module[i].file;

		if (!f->elf->interp)
			continue;
		dt_gates_read(&f->gates, f->elf);
		return f->gates.n ? t->module[i].low : 0;
	}
	return 0;
}

/* Returns the address of libc or the dynamic linker, whose jumps need a page of jumps near them; or
 * of the first module. 0: there is none. */
static uint64_t area_near(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const char *slash = strrchr(t->module[i].file->path, '/');

		if (slash && (strncmp(slash, "/ld-", 4) == 0 || strncmp(slash, "/libc.", 6) == 0))
			return t->module[i].low;
	}
	return t->n ? t->module[0].low : 0;
}

int dt_target_install(struct dt_target *t, struct dt_targets *all, pid_t tid, struct dt_error *e)
{
	uint64_t fs, near[2];

	t->geometry = &all->shared.geometry;
	if (refresh(t, all, e) < 0)
		return -1;
	near[0] = area_near(t);
	near[1] = area_near_program(t);
	if (dt_area_install(t->pid, tid, t->mem, t->shared ? t->shared : &all->shared, near,
			    &t->area, e) < 0)
		return -1;
	if (enter_namespace(t, all) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	fs = dt_thread_pointer(tid);
	dt_target_find_threads(t, tid, fs, true);
	return 0;
}
