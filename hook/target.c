/* SPDX-License-Identifier: MIT */
/* A traced process: modules, hooks, sites. */
#include "hook/target.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "process/memory.h"
#include "hook/probes.h"
#include "hook/target-work.h"

#define OPTED_OUT 0xffffffffu /* include/devtrace.h: last of a module's words for events */

/* by enum dt_elf_kind; 0: not toggled in place */
const unsigned char dt_target_off[DT_ELF_KINDS] = {
	0, 0xa9, 0xc3, 0xe9, 0xa9, [DT_ELF_JUMP] = 0xff, [DT_ELF_JUMP_DIRECT] = 0xe9};
const unsigned char dt_target_on[DT_ELF_KINDS] = {
	0, 0xe8, 0x90, 0xa9, 0xe9, [DT_ELF_JUMP] = 0x85, [DT_ELF_JUMP_DIRECT] = 0xa9};

/* Descriptors that are left for everything else: the file and its journal, /proc, what is read. */
#define SPARE_FILES 20

/* Is a descriptor one of the last that we may have? */
static bool is_scarce(int fd, rlim_t *most)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*most = limit.rlim_cur;
	return (rlim_t)fd + SPARE_FILES >= limit.rlim_cur;
}

struct dt_target *dt_target_open(pid_t pid, struct dt_error *e)
{
	rlim_t most = 0;
	struct dt_target *t = calloc(1, sizeof(*t));

	if (!t) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	t->pid = pid;
	t->mem = dt_memory_open(pid, e);
	if (t->mem < 0) {
		free(t);
		return NULL;
	}
	if (is_scarce(t->mem, &most)) {
		dt_fail(e,
			"too many processes at once for the %lu files that may be open (ulimit -n)",
			(unsigned long)most);
		close(t->mem);
		free(t);
		return NULL;
	}
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return t;
}

void dt_target_free_old(struct dt_target *t)
{
	for (size_t i = 0; i < t->n_old; i++)
		dt_probes_free(t->old[i]);
	free(t->old);
	t->old = NULL;
	t->n_old = 0;
}

static void free_all(struct dt_module **module, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		dt_probes_free((*module)[i].probes);
	free(*module);
	*module = NULL;
	*n = 0;
}

void dt_target_close(struct dt_target *t)
{
	if (!t)
		return;
	if (!t->ended)
		dt_target_end(t);
	for (size_t i = 0; i < t->n; i++)
		dt_probes_free(t->module[i].probes);
	dt_target_free_old(t);
	free(t->module);
	free_all(&t->gone, &t->n_gone);
	free_all(&t->shelf, &t->n_shelf);
	free(t);
}

void dt_target_end(struct dt_target *t)
{
	t->ended = true;
	if (t->namespaces)
		dt_pid_namespace_leave(t->namespaces, t->tag);
	close(t->mem);
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->mem = t->pidfd = -1;
}

void dt_target_fold(struct dt_target *t)
{
	t->last = true;
	for (size_t i = 0; i < t->n; i++)
		dt_probes_fold(t->module[i].probes);
	free_all(&t->shelf, &t->n_shelf);
	dt_target_free_old(t);
}

void dt_target_leave(struct dt_target *t)
{
	t->left = true;
	for (size_t i = 0; i < t->n; i++) {
		dt_probes_remember(&t->module[i]);
		dt_probes_free(t->module[i].probes);
		t->module[i].probes = NULL;
	}
	for (size_t i = 0; i < t->n_gone; i++) {
		dt_probes_free(t->gone[i].probes);
		t->gone[i].probes = NULL;
	}
}

/* Their trampolines are still there: a plugin that is loaded again is mostly where it was before.
 */
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

bool dt_target_gone(const struct dt_target *t)
{
	struct pollfd p = {t->pidfd, POLLIN, 0};

	return t->pidfd < 0 ? kill(t->pid, 0) < 0 : poll(&p, 1, 0) > 0;
}

/* Its text, or its trampolines. */
static bool has_address(const struct dt_module *m, uint64_t address)
{
	uint64_t low, high;

	if (address >= m->low && address < m->high)
		return true;
	for (unsigned i = 0; dt_probes_code(m->probes, i, &low, &high); i++)
		if (address >= low && address < high)
			return true;
	return false;
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

size_t dt_target_sites(const struct dt_target *t, size_t *all)
{
	size_t chosen = 0;

	*all = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_file *f = t->module[i].file;

		if (f->elf)
			*all += f->elf->sites - dt_file_go_sites(f, false);
		chosen += f->chosen_sites;
	}
	return chosen;
}

bool dt_target_has_go(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (dt_file_go_sites(t->module[i].file, false))
			return true;
	return false;
}

/* Run-time address minus virtual address, from the segment that is mapped here. */
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
 * The module that this executable mapping belongs to, if it is known already: also when its file
 * has changed since it was mapped.
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

/* What was planted in it when it was there before. */
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

static int remember_gone(struct dt_target *t, const struct dt_module *m, struct dt_error *e)
{
	struct dt_module *more = realloc(t->gone, (t->n_gone + 1) * sizeof(*more));

	if (!more)
		return dt_fail(e, "out of memory");
	t->gone = more;
	t->gone[t->n_gone++] = *m;
	return 0;
}

/* Makes t->module what is mapped now. New modules are not hooked yet. */
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

		if (!m->exec || m->inode == 0 || m->shared || m->path[0] != '/')
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
		f = dt_file_of(&all->files, t->pid, m);
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

void dt_target_event_words(const struct dt_module *m, uint64_t area, const uint64_t *hook,
			   uint64_t word[4])
{
	const struct dt_elf *elf = m->file->elf;
	uint64_t ret = 0;

	for (int i = 0; i < 3 && !ret; i++)
		ret = elf->thunk_event[i] ? m->bias + elf->thunk_event[i] + THUNK : 0;
	word[0] = area ? hook[DT_HOOK_EVENT] : ret;
	word[1] = area ? hook[DT_HOOK_EVENT4] : ret;
	word[2] = area ? area + dt_blob_head()->opt_out : ret;
	word[3] = area != 0;
}

/* Has the module called DT_DISABLE_PROCESS(), in this session or before? */
static void opted_out(struct dt_target *t, const struct dt_module *m)
{
	uint32_t word = 0;

	if (m->file->elf->event_hooks &&
	    dt_memory_read(t->mem, m->bias + m->file->elf->event_hooks + 24, &word, sizeof(word)) ==
		    0 &&
	    word == OPTED_OUT)
		t->opted_out = true;
}

/* Writes the module's hook slots: nothing is switched on yet, or all slots were valid before. */
static int hook(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	static const enum dt_hook slots[] = {DT_HOOK_ENTRY, DT_HOOK_EXIT, DT_HOOK_JUMP};
	const struct dt_elf *elf = m->file->elf;
	uint64_t slot[DT_HOOKS], word[4];

	if (m->probes && dt_probes_hook(t, m->probes, e) < 0)
		return -1;
	if (!dt_file_has_toggles(m->file))
		return 0;
	if (dt_area_hooks(t->mem, t->area, t->fast, slot) < 0)
		return dt_fail(e, "the area of process %d can not be read", t->pid);
	for (unsigned i = 0; elf->hooks && i < sizeof(slots) / sizeof(*slots); i++)
		if (dt_memory_write(t->mem, m->bias + elf->hooks + 8u * i, &slot[slots[i]],
				    sizeof(slot[i])) < 0)
			goto fail;
	dt_target_event_words(m, t->area, slot, word);
	opted_out(t, m);
	if (t->opted_out)
		word[3] = OPTED_OUT;
	for (unsigned i = 0; elf->event_hooks && i < 4; i++)
		if (dt_memory_write(t->mem, m->bias + elf->event_hooks + 8u * i, &word[i],
				    sizeof(word[i])) < 0)
			goto fail;
	m->hooked = true;
	return 0;
fail:
	return dt_fail(e, "%s: its hook slots can not be written: %s", m->file->path,
		       strerror(errno));
}

/*
 * One byte a site: valid before and after, so nobody has to stop. The chosen ones are to be on or
 * off; others: what is not chosen is to be off.
 */
static int switch_sites(struct dt_target *t, const struct dt_module *m, bool on, bool others,
			size_t *switched, struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	unsigned char page[PAGE];
	uint64_t have = ~0ull;

	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		bool to_on = on && m->file->chosen[i];
		unsigned char from = to_on ? dt_target_off[s->kind] : dt_target_on[s->kind];
		unsigned char to = to_on ? dt_target_on[s->kind] : dt_target_off[s->kind];
		uint64_t at = m->bias + s->address;

		if (!to || (!m->file->chosen[i] && !others))
			continue;
		if ((at & ~(PAGE - 1)) != have) {
			have = at & ~(PAGE - 1);
			if (dt_memory_read(t->mem, have, page, PAGE) < 0)
				return dt_fail(e, "%s: its code at 0x%lx can not be read: %s",
					       m->file->path, (unsigned long)at, strerror(errno));
		}
		if (page[at - have] != from) /* a debugger's breakpoint, say: not ours to change */
			continue;
		if (dt_memory_write(t->mem, at, &to, 1) < 0)
			return dt_fail(e, "%s: site 0x%lx can not be switched: %s", m->file->path,
				       (unsigned long)at, strerror(errno));
		++*switched;
	}
	return 0;
}

static int switch_module(struct dt_target *t, struct dt_module *m, bool on, size_t *switched,
			 struct dt_error *e)
{
	if (m->on == on || !m->file->chosen)
		return 0;
	/* those of probes are in trampolines, and are left to dt_probes_sync() */
	if (dt_file_has_toggles(m->file) && switch_sites(t, m, on, false, switched, e) < 0)
		return -1;
	m->on = on;
	return 0;
}

int dt_target_switch(struct dt_target *t, bool on, struct dt_error *e)
{
	uint64_t begin = dt_now_ns();
	size_t switched = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n && rc == 0; i++)
		if (!on || (t->module[i].hooked && !dt_target_is_silent(t)))
			rc = switch_module(t, &t->module[i], on, &switched, e);
	if (switched > t->switched) {
		t->switch_ns = dt_now_ns() - begin;
		t->switched = switched;
	}
	return rc;
}

static int sync_module(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		       struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	unsigned char page[PAGE];
	uint64_t have = ~0ull;

	if ((m->file->probed || m->file->points.n) && dt_probes_sync(t, m, low, high, e) < 0)
		return -1;
	if (!m->file->chosen || !dt_file_has_toggles(m->file))
		return 0;
	if (m->file->chosen_sites && !t->unwatched && !m->hooked && hook(t, m, e) < 0)
		return -1;
	for (size_t i = dt_elf_site_from(elf, low); i < elf->sites && elf->site[i].address <= high;
	     i++) {
		const struct dt_elf_site *s = &elf->site[i];
		bool on = m->file->chosen[i] && !dt_target_is_silent(t) && m->hooked;
		unsigned char from = on ? dt_target_off[s->kind] : dt_target_on[s->kind];
		unsigned char to = on ? dt_target_on[s->kind] : dt_target_off[s->kind];
		uint64_t at = m->bias + s->address;

		if (!to)
			continue;
		if ((at & ~(PAGE - 1)) != have) {
			have = at & ~(PAGE - 1);
			if (dt_memory_read(t->mem, have, page, PAGE) < 0)
				return dt_fail(e, "%s: its code at 0x%lx can not be read: %s",
					       m->file->path, (unsigned long)at, strerror(errno));
		}
		if (page[at - have] != from)
			continue;
		if (dt_memory_write(t->mem, at, &to, 1) < 0)
			return dt_fail(e, "%s: site 0x%lx can not be switched: %s", m->file->path,
				       (unsigned long)at, strerror(errno));
	}
	m->on = m->hooked && m->file->chosen_sites && !t->unwatched;
	return 0;
}

int dt_target_sync(struct dt_target *t, const struct dt_file *f, uint64_t low, uint64_t high,
		   bool watched, struct dt_error *e)
{
	bool all = t->unwatched ==
		   (watched &&
		    !t->opted_out); /* it was the other way round: every site is concerned */
	int rc = 0;

	t->unwatched = !watched || t->opted_out;
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		struct dt_module *m = &t->module[i];

		if ((!m->file->chosen && !m->file->points.n) || (f && m->file != f && !all))
			continue;
		if (all)
			rc = sync_module(t, m, 0, ~0ull, e);
		else
			rc = sync_module(t, m, low, high, e);
	}
	/* one that has ended has nothing to be switched */
	return rc < 0 && (dt_target_gone(t) || dt_memory_gone(t->pid)) ? 0 : rc;
}

bool dt_target_wants(const struct dt_target *t, const struct dt_file *f, uint64_t low,
		     uint64_t high)
{
	for (size_t i = 0; i < t->n; i++)
		if ((!f || t->module[i].file == f) && dt_probes_wants(t, &t->module[i], low, high))
			return true;
	return false;
}

int dt_target_opt_out(struct dt_target *t, struct dt_error *e)
{
	t->opted_out = true;
	/* every module is told; their sites go off */
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].hooked && hook(t, &t->module[i], e) < 0)
			return -1;
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].probes && dt_probes_off(t, t->module[i].probes, e) < 0)
			return -1;
	return dt_target_switch(t, false, e);
}

/* What is chosen of a module, once. One in which nothing can be planted does not keep others from
 * it. */
static int plant_module(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	const struct dt_file *f = m->file;
	bool probes = (f->probed && f->chosen_sites) || f->points.n;
	bool sleds = dt_file_has_toggles(f) && f->chosen_sites;
	struct dt_error why;
	int rc = 0;

	if (m->complete || m->failed || (!probes && !sleds))
		return 0;
	t->busy = false;
	if (m->again && (rc = dt_probes_again(t, m, &why)) == 0)
		m->again = false;
	if (probes && rc == 0)
		rc = dt_probes_sync(t, m, 0, ~0ull, &why);
	if (rc == 0 && sleds && !m->hooked)
		rc = hook(t, m, &why);
	if (rc == 0) {
		m->complete = dt_ticks();
		return 0;
	}
	if (t->busy || dt_target_gone(t) || dt_memory_gone(t->pid)) {
		if (e)
			*e = why;
		return -1;
	}
	m->failed = true;
	dt_format(m->why, sizeof(m->why), "%s", why.text);
	return 0;
}

static int hook_new(struct dt_target *t, struct dt_error *e)
{
	/* before anything is planted in one that wants nothing */
	for (size_t i = 0; i < t->n; i++)
		if (dt_file_has_toggles(t->module[i].file) && !t->module[i].hooked)
			opted_out(t, &t->module[i]);
	for (size_t i = 0; i < t->n; i++)
		if (plant_module(t, &t->module[i], e) < 0)
			return -1;
	return dt_target_switch(t, true, e);
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
	for (size_t i = 0; i < t->n; i++)
		if (!t->module[i].complete && !t->module[i].failed && !t->module[i].probes)
			take_from_shelf(t, &t->module[i]);
	t->still = quiet;
	rc = hook_new(t, e);
	t->still = false;
	return rc;
}

int dt_target_any(const struct dt_target *t, struct dt_error *e)
{
	const char *why = NULL;

	for (size_t i = 0; i < t->n; i++) {
		if (t->module[i].complete)
			return 0;
		if (t->module[i].failed && !why)
			why = t->module[i].why;
	}
	return why ? dt_fail(e, "%s", why) : 0;
}

static const struct dt_module *same_module(const struct dt_target *t, const struct dt_module *m)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].file == m->file && t->module[i].bias == m->bias)
			return &t->module[i];
	return NULL;
}

bool dt_target_in_code(const struct dt_target *t, uint64_t address)
{
	uint64_t low, high;

	for (unsigned i = 0; dt_area_code(t->geometry, t->area, i, &low, &high); i++)
		if (address >= low && address < high)
			return true;
	return false;
}

static int enter_namespace(struct dt_target *t, struct dt_targets *all)
{
	t->tag = dt_pid_namespace_tag(&all->namespaces, t->pid);
	t->namespaces = &all->namespaces;
	return dt_area_tag(t->mem, t->area, t->geometry, t->pid, t->tag);
}

int dt_target_adopt(struct dt_target *t, struct dt_targets *all, uint64_t area,
		    const struct dt_target *parent, struct dt_error *e)
{
	uint64_t fast[DT_HOOKS] = {0};

	t->area = area;
	t->geometry = &all->shared.geometry;
	if (enter_namespace(t, all) < 0)
		return dt_fail(e, "the area can not be written: %s", strerror(errno));
	if (refresh(t, all, e) < 0)
		return -1;
	dt_area_hooks(t->mem, area, true, fast);
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
		opted_out(t, m);
		t->fast = t->fast || (slot && slot == fast[which]);
	}
	/* what was read of one that ends meanwhile may be nothing: its children would begin with
	 * that */
	if (dt_memory_gone(t->pid))
		return dt_fail(e, "process %d has ended", t->pid);
	return 0;
}

/* --- where threads keep their id and their rseq block */

static struct dt_module *module_with(struct dt_target *t, const char *symbol, uint64_t *address)
{
	for (size_t i = 0; i < t->n; i++) {
		struct dt_file *f = t->module[i].file;

		if (f->elf && dt_elf_symbol(f->elf, symbol, address, NULL) == 0) {
			*address += t->module[i].bias;
			return &t->module[i];
		}
	}
	return NULL;
}

static bool holds_tid(struct dt_target *t, uint64_t fs, int64_t offset, pid_t tid)
{
	uint32_t value;

	return dt_memory_read(t->mem, fs + (uint64_t)offset, &value, sizeof(value)) == 0 &&
	       value == (uint32_t)tid;
}

/*
 * glibc tells debuggers where a thread block holds the thread id: _thread_db_pthread_tid is {bits,
 * elements, offset}. A static program may lack it: then the id is looked for, first where
 * glibc 2.34 and later have it.
 */
static bool find_tid_offset(struct dt_target *t, pid_t tid, uint64_t fs, int64_t *offset)
{
	uint64_t address;
	uint32_t field[3];

	if (t->tag)
		tid = dt_pid_inner(t->pid, tid);
	if (module_with(t, "_thread_db_pthread_tid", &address)) {
		if (dt_memory_read(t->mem, address, field, sizeof(field)) < 0 || field[0] != 32)
			return false;
		*offset = (int32_t)field[2];
		return holds_tid(t, fs, *offset, tid);
	}
	*offset = 0x2d0;
	if (holds_tid(t, fs, *offset, tid))
		return true;
	for (*offset = 0x100; *offset < 0x900; *offset += 4)
		if (holds_tid(t, fs, *offset, tid))
			return true;
	return false;
}

static bool find_rseq(struct dt_target *t, pid_t tid, uint64_t fs, bool stopped,
		      struct dt_thread_offsets *o)
{
	uint64_t address, at;
	uint32_t registered = 0;

	o->signature = 0x53053053; /* glibc's RSEQ_SIG for x86 */
	o->rseq_size = 32;
	/* glibc 2.35 and later export where it is, and set the size when it is registered. A
	 * program can register a block of its own for one thread: that says nothing of the others.
	 */
	if (module_with(t, "__rseq_size", &at)) {
		if (dt_memory_read(t->mem, at, &registered, sizeof(registered)) < 0 ||
		    (!registered && !stopped) || !module_with(t, "__rseq_offset", &at) ||
		    dt_memory_read(t->mem, at, &o->rseq, sizeof(o->rseq)) < 0)
			return false;
		if (registered)
			return !stopped ||
			       !dt_thread_rseq(tid, &address, &o->rseq_size, &o->signature) ||
			       (int64_t)(address - fs) == o->rseq;
	}
	/* a static program without symbols, or just begun, whose libc has not said it yet: near the
	 * thread pointer, where a thread block is */
	if (!stopped || !dt_thread_rseq(tid, &address, &o->rseq_size, &o->signature))
		return false;
	o->rseq = (int64_t)(address - fs);
	return o->rseq >= -8192 && o->rseq < 8192;
}

bool dt_target_find_threads(struct dt_target *t, pid_t tid, uint64_t fs, bool stopped)
{
	struct dt_thread_offsets o = {.tag = t->tag};
	int32_t cpu;

	if (t->fast)
		return true;
	if (!fs || !find_rseq(t, tid, fs, stopped, &o) || !find_tid_offset(t, tid, fs, &o.tid))
		return false;
	if (o.rseq != (int32_t)o.rseq || o.rseq == 0 ||
	    dt_memory_read(t->mem, fs + (uint64_t)o.rseq + 4, &cpu, sizeof(cpu)) < 0)
		return false;
	/* the kernel fills it in when a stopped thread goes on */
	if (cpu < 0 && !stopped)
		return false;
	if (dt_area_make_hooks(t->mem, t->area, t->geometry, &o, NULL) < 0)
		return false;
	t->fast = true;
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].hooked)
			hook(t, &t->module[i], NULL);
	return true;
}

/* --- beginning and end */

/* The program, if it is to be led through the area and is far from libc; 0: it need not be. */
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

/* The jumps from libc and the dynamic linker must reach the area. */
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
	fs = dt_thread_fs(tid);
	dt_target_find_threads(t, tid, fs, true);
	return 0;
}

struct seccomp {
	int mode;	  /* 0: none, 1: strict, 2: filters, */
	unsigned filters; /* so many */
};

static struct seccomp seccomp_of(pid_t pid, pid_t tid)
{
	struct seccomp s = {0, 0};
	char path[64], line[128];
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &s.mode) != 1 &&
		    sscanf(line, "Seccomp_filters: %u", &s.filters) == 1)
			break;
	if (f)
		fclose(f);
	return s;
}

/* What we are confined to ourselves, as in a container, we can do. */
static bool is_more_confined(pid_t pid, pid_t tid)
{
	static struct seccomp own = {.mode = -1};
	struct seccomp s = seccomp_of(pid, tid);

	if (own.mode < 0)
		own = seccomp_of(getpid(), getpid());
	return s.mode != own.mode || s.filters > own.filters;
}

bool dt_target_confined(const struct dt_target *t)
{
	return is_more_confined(t->pid, t->pid);
}

bool dt_target_any_confined(const struct dt_target *t)
{
	char path[64];
	struct dirent *entry;
	bool any = false;
	DIR *d;

	dt_format(path, sizeof(path), "/proc/%d/task", t->pid);
	d = opendir(path);
	while (d && !any && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		any = tid > 0 && is_more_confined(t->pid, tid);
	}
	if (d)
		closedir(d);
	return any;
}

void dt_target_confine(struct dt_target *t)
{
	uint64_t one = 1;

	if (t->area && dt_memory_write(t->mem, t->area + offsetof(struct dt_blob, confined), &one,
				       sizeof(one)) == 0)
		t->confined = true;
}

bool dt_same_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}
