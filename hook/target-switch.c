/* SPDX-License-Identifier: MIT */
/* Hooking the modules of a traced process, and switching their sites. */
#include "hook/target-switch.h"
#include "hook/target-from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-work.h"
#include "process/memory.h"
#include "process/now.h"

#define OPTED_OUT 0xffffffffu /* value of the last of a module's words: include/devtrace.h */

void dt_target_event_words(const struct dt_module *m, uint64_t area, const uint64_t *hook,
			   uint64_t word[4])
{
	const struct dt_elf *elf = m->file->elf;
	uint64_t ret = 0;

	for (int i = 0; i < 3 && !ret; i++)
		ret = elf->thunk_event[i] ? m->bias + elf->thunk_event[i] + DT_SLED_THUNK : 0;
	word[0] = area ? hook[DT_HOOK_EVENT] : ret;
	word[1] = area ? hook[DT_HOOK_EVENT4] : ret;
	word[2] = area ? area + dt_blob_head()->opt_out : ret;
	word[3] = area != 0;
}

/* DT_DISABLE_PROCESS() writes OPTED_OUT to the last of the module's words. */
void dt_target_note_opted_out(struct dt_target *t, const struct dt_module *m)
{
	uint32_t word = 0;

	if (m->file->elf->event_hooks &&
	    dt_memory_read(t->mem, m->bias + m->file->elf->event_hooks + 24, &word, sizeof(word)) ==
		    0 &&
	    word == OPTED_OUT)
		t->opted_out = true;
}

/*
 * Looks whether all sleds that are chosen are wanted only in calls that certain modules make: a
 * module's sleds have their hooks in common.
 */
static bool is_crossing(const struct dt_file *f)
{
	bool any = false;

	for (size_t i = 0; f->crossing && f->chosen && i < f->elf->sites; i++) {
		if (!f->chosen[i] || f->elf->site[i].kind == DT_ELF_EVENT)
			continue;
		if (!dt_file_is_crossing(f, i))
			return false;
		any = true;
	}
	return any;
}

int dt_target_hook(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	static const enum dt_hook all[] = {DT_HOOK_ENTRY, DT_HOOK_EXIT, DT_HOOK_JUMP};
	static const enum dt_hook crossing[] = {DT_HOOK_ENTRY_FROM, DT_HOOK_EXIT_FROM,
						DT_HOOK_JUMP_FROM};
	const enum dt_hook *slots = is_crossing(m->file) ? crossing : all;
	const struct dt_elf *elf = m->file->elf;
	uint64_t slot[DT_HOOKS], word[4];

	if (m->probes && dt_probes_hook(t, m->probes, e) < 0)
		return -1;
	if (!dt_file_has_toggles(m->file))
		return 0;
	if (dt_area_hooks(t->mem, t->area, t->fast, slot) < 0)
		return dt_fail(e, "the area of process %d can not be read", t->pid);
	if (dt_stubs_make(t, m, (uint64_t[]){slot[slots[0]], slot[slots[1]], slot[slots[2]]}, e) <
	    0)
		return -1;
	for (unsigned i = 0; elf->hooks && i < sizeof(all) / sizeof(*all); i++)
		if (dt_memory_write(t->mem, m->bias + elf->hooks + 8u * i, &slot[slots[i]],
				    sizeof(slot[i])) < 0)
			goto fail;
	dt_target_event_words(m, t->area, slot, word);
	dt_target_note_opted_out(t, m);
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

/* The page of the code that was read last. */
struct code_page {
	uint64_t at; /* ~0: none yet */
	unsigned char bytes[PAGE];
};

/* Sets `now' to the bytes at a site. -1: they can not be read. */
static int read_site(struct dt_target *t, uint64_t at, unsigned size, struct code_page *page,
		     unsigned char *now)
{
	if ((at & (PAGE - 1)) + size > PAGE)
		return dt_memory_read(t->mem, at, now, size);
	if ((at & ~(PAGE - 1)) != page->at) {
		page->at = at & ~(PAGE - 1);
		if (dt_memory_read(t->mem, page->at, page->bytes, PAGE) < 0)
			return -1;
	}
	memcpy(now, page->bytes + (at - page->at), size);
	return 0;
}

/*
 * Switches the i-th site by changing its toggle: the code is valid before and after, so no thread
 * has to stop. 1: done; 0: there was nothing to do, or what is there is not ours to change (a
 * debugger's breakpoint).
 */
static int switch_site(struct dt_target *t, const struct dt_module *m, size_t i, bool on,
		       struct code_page *page, struct dt_error *e)
{
	const struct dt_elf_site *s = &m->file->elf->site[i];
	uint64_t at = m->bias + s->address;
	unsigned char now[DT_TOGGLE_MAX];
	struct dt_toggle toggle;

	if (!dt_sled_toggle(s->kind, at, dt_stubs_of(m, i), &toggle))
		return 0;
	if (read_site(t, at, toggle.size, page, now) < 0)
		return dt_fail(e, "%s: its code at 0x%lx can not be read: %s", m->file->path,
			       (unsigned long)at, strerror(errno));
	if (memcmp(now, on ? toggle.off : toggle.on, toggle.size) != 0)
		return 0;
	if (dt_memory_write(t->mem, at, on ? toggle.on : toggle.off, toggle.size) < 0)
		return dt_fail(e, "%s: site 0x%lx can not be switched: %s", m->file->path,
			       (unsigned long)at, strerror(errno));
	return 1;
}

/* Switches the chosen sites on or off; others: switches those that are not chosen off. Adds to
 * *switched how many were changed. */
static int switch_sites(struct dt_target *t, const struct dt_module *m, bool on, bool others,
			size_t *switched, struct dt_error *e)
{
	struct code_page page = {.at = ~0ull};

	for (size_t i = 0; i < m->file->elf->sites; i++) {
		int n = m->file->chosen[i] || others
				? switch_site(t, m, i, on && m->file->chosen[i], &page, e)
				: 0;

		if (n < 0)
			return -1;
		*switched += (size_t)n;
	}
	return 0;
}

static int switch_module(struct dt_target *t, struct dt_module *m, bool on, size_t *switched,
			 struct dt_error *e)
{
	if (m->on == on || !m->file->chosen)
		return 0;
	/* the sites of probes are in trampolines, and are left to dt_probes_sync() */
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
	struct code_page page = {.at = ~0ull};

	if ((m->file->probed || m->file->points.n) && dt_probes_sync(t, m, low, high, e) < 0)
		return -1;
	if (!m->file->chosen || !dt_file_has_toggles(m->file))
		return 0;
	if (m->file->chosen_sites && !t->unwatched && !m->hooked && dt_target_hook(t, m, e) < 0)
		return -1;
	for (size_t i = dt_elf_site_from(elf, low); i < elf->sites && elf->site[i].address <= high;
	     i++) {
		bool on = m->file->chosen[i] && !dt_target_is_silent(t) && m->hooked;

		if (switch_site(t, m, i, on, &page, e) < 0)
			return -1;
	}
	m->on = m->hooked && m->file->chosen_sites && !t->unwatched;
	return 0;
}

int dt_target_sync(struct dt_target *t, const struct dt_file *f, uint64_t low, uint64_t high,
		   bool watched, struct dt_error *e)
{
	bool all = t->unwatched ==
		   (watched && !t->opted_out); /* it changes: every site is concerned */
	int rc = 0;

	t->unwatched = !watched || t->opted_out;
	if (t->area && !dt_target_gone(t))
		rc = dt_target_from(t, e);
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		struct dt_module *m = &t->module[i];

		if ((!m->file->chosen && !m->file->points.n) || (f && m->file != f && !all))
			continue;
		if (all)
			rc = sync_module(t, m, 0, ~0ull, e);
		else
			rc = sync_module(t, m, low, high, e);
	}
	/* in a process that has ended there is nothing to switch */
	return rc < 0 && (dt_target_gone(t) || dt_memory_gone(t->pid)) ? 0 : rc;
}

bool dt_target_wants(const struct dt_target *t, const struct dt_file *f, uint64_t low,
		     uint64_t high)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_module *m = &t->module[i];

		if ((!f || m->file == f) &&
		    (dt_stubs_are_missing(m) || dt_probes_wants(t, m, low, high)))
			return true;
	}
	return false;
}

int dt_target_opt_out(struct dt_target *t, struct dt_error *e)
{
	t->opted_out = true;
	/* first every module's last word becomes OPTED_OUT, then the sites go off */
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].hooked && dt_target_hook(t, &t->module[i], e) < 0)
			return -1;
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].probes && dt_probes_off(t, t->module[i].probes, e) < 0)
			return -1;
	return dt_target_switch(t, false, e);
}

/* Plants and hooks what is chosen of a module, once. A module in which nothing can be planted is
 * marked as failed, and does not keep the others from being hooked: 0 too. */
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
		rc = dt_target_hook(t, m, &why);
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

int dt_target_hook_new(struct dt_target *t, struct dt_error *e)
{
	/* first, so that nothing is planted in a process that has opted out */
	for (size_t i = 0; i < t->n; i++)
		if (dt_file_has_toggles(t->module[i].file) && !t->module[i].hooked)
			dt_target_note_opted_out(t, &t->module[i]);
	for (size_t i = 0; i < t->n; i++)
		if (plant_module(t, &t->module[i], e) < 0)
			return -1;
	return dt_target_switch(t, true, e);
}
