/* SPDX-License-Identifier: MIT */
/* Leaving a traced process as it was: switched off, put back, unmapped. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/target-detach.h"
#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/target-modules.h"
#include "hook/target-rseq.h"
#include "hook/target-switch.h"
#include "process/memory.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-work.h"

/* about half a second: a signal handler that interrupted a hook may take that long */
#define LEAVE_TRIES 60

/* Fails if a site that is toggled in place is still switched on. */
static int verify_module(struct dt_target *t, const struct dt_module *m, struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	unsigned char page[PAGE];
	uint64_t have = ~0ull;

	if (!m->file->chosen || !dt_file_has_toggles(m->file))
		return 0;
	for (size_t i = 0; i < elf->sites; i++) {
		uint64_t at = m->bias + elf->site[i].address;
		struct dt_toggle toggle;

		if (!dt_sled_toggle(elf->site[i].kind, at, dt_stubs_of(m, i), &toggle))
			continue;
		if ((at & ~(PAGE - 1)) != have) {
			have = at & ~(PAGE - 1);
			if (dt_memory_read(t->mem, have, page, PAGE) < 0)
				return 0; /* unmapped meanwhile */
		}
		if (at - have + toggle.size <= PAGE &&
		    !memcmp(page + (at - have), toggle.on, toggle.size))
			return dt_fail(e, "%s: the code at 0x%lx could not be put back",
				       m->file->path, (unsigned long)at);
	}
	return 0;
}

/*
 * Clears rseq_cs of threads where it points into the area: the kernel reads it when it next
 * interrupts the thread, and it must not lead into memory that is gone.
 */
static void clear_rseq_cs(struct dt_target *t, const struct dt_threads *threads)
{
	struct dt_blob head = {0};

	dt_memory_read(t->mem, t->area, &head, sizeof(head));
	for (size_t i = 0; i < threads->n; i++) {
		uint64_t address, cs, zero = 0;
		uint32_t size, signature;

		/* kernels before 5.13 do not say where rseq is; it is where the hooks use it */
		if (!dt_thread_rseq(threads->tid[i], &address, &size, &signature))
			address = head.rseq_offset ? dt_thread_pointer(threads->tid[i]) +
							     (uint64_t)head.rseq_offset
						   : 0;
		if (address && dt_memory_read(t->mem, address + 8, &cs, sizeof(cs)) == 0 &&
		    dt_target_in_code(t, cs))
			dt_memory_write(t->mem, address + 8, &zero, sizeof(zero));
	}
}

/*
 * Looks whether a thread is, or will return to, in trampolines, a module's thunk, or the area's
 * code. Sites are off: threads that are in there leave, and no others come.
 */
static bool any_inside(struct dt_target *t, const struct dt_ips *ips)
{
	uint64_t low, high;

	for (size_t i = 0; i < t->n; i++) {
		const struct dt_elf *elf = t->module[i].file->elf;
		uint64_t thunk[3];

		if (dt_probes_inside(t->module[i].probes, ips) ||
		    (dt_stubs_code(&t->module[i], &low, &high) && dt_ips_inside(ips, low, high)))
			return true;
		if (!elf || !t->module[i].hooked)
			continue;
		thunk[0] = elf->thunk_entry, thunk[1] = elf->thunk_exit, thunk[2] = elf->thunk_jump;
		for (int k = 0; k < 3; k++) {
			low = t->module[i].bias + thunk[k];
			if (thunk[k] && dt_ips_inside(ips, low, low + DT_SLED_THUNK))
				return true;
		}
	}
	for (size_t i = 0; i < t->n_old; i++)
		if (dt_probes_inside(t->old[i], ips))
			return true;
	for (unsigned i = 0; dt_area_code(t->geometry, t->area, i, &low, &high); i++)
		if (dt_ips_inside(ips, low, high))
			return true;
	return false;
}

/* Looks whether there is a place in the original code at which a thread at ip can go on. */
static bool can_go_back(void *ctx, uint64_t ip)
{
	const struct dt_target *t = ctx;

	for (size_t i = 0; i < t->n; i++)
		if (dt_probes_back(t->module[i].probes, ip))
			return true;
	for (size_t i = 0; i < t->n_old; i++)
		if (dt_probes_back(t->old[i], ip))
			return true;
	return false;
}

/* Looks whether a stopped thread is in our code in a place from which it can not be sent back. */
static bool occupied(struct dt_target *t, struct dt_threads *threads)
{
	struct dt_ips ips;
	bool any;

	dt_threads_ips(threads, t->mem, can_go_back, t, &ips);
	any = any_inside(t, &ips);
	dt_ips_free(&ips);
	return any;
}

/* Looks whether another process shares this one's memory (a vfork child, a clone), and so may be in
 * the area. */
static bool shares_memory(const struct dt_target *t)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	bool shares = false;

	while (d && !shares && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		shares = pid > 0 && pid != t->pid && dt_same_memory(pid, t->pid);
	}
	if (d)
		closedir(d);
	return shares;
}

static void release(struct dt_target *t, struct dt_threads *threads)
{
	dt_threads_release(threads);
	if (threads->stopped_for > t->stop_ns)
		t->stop_ns = threads->stopped_for;
}

/* Sets the modules' hook slots back to what they were. */
static void unhook(struct dt_target *t)
{
	uint64_t zero[3] = {0}, now[2], word[4];

	for (size_t i = 0; i < t->n; i++) {
		struct dt_module *m = &t->module[i];
		const struct dt_elf *elf = m->file->elf;

		if (!dt_file_has_toggles(m->file)) {
			m->hooked = false;
			continue;
		}
		/* another module may have been mapped there: only slots that lead to us are changed
		 */
		if (m->hooked && elf->hooks &&
		    dt_memory_read(t->mem, m->bias + elf->hooks, now, sizeof(now)) == 0 &&
		    dt_target_in_code(t, now[0]) && dt_target_in_code(t, now[1]))
			dt_memory_write(t->mem, m->bias + elf->hooks, zero, sizeof(zero));
		dt_target_event_words(m, 0, NULL, word);
		if (m->hooked && elf->event_hooks &&
		    dt_memory_read(t->mem, m->bias + elf->event_hooks, now, sizeof(now)) == 0 &&
		    dt_target_in_code(t, now[0]) && dt_target_in_code(t, now[1]))
			dt_memory_write(t->mem, m->bias + elf->event_hooks, word,
					t->opted_out ? 24 : sizeof(word));
		m->hooked = false;
	}
}

/*
 * Removes all probes: of modules, of libraries that have gone, and in t->old. strays: t->old is
 * read once more before, since what is under the known probes shows only when these have been
 * removed.
 */
static int remove_probes(struct dt_target *t, const struct dt_threads *threads, bool strays,
			 struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < t->n && rc == 0; i++) {
		struct dt_module *m = &t->module[i];

		if (!m->probes)
			continue;
		rc = dt_probes_remove(t, m->probes, threads, e);
		if (rc == 0 && !dt_file_has_toggles(m->file))
			m->hooked = m->on = false;
	}
	/* libraries that have gone: only trampolines are left */
	for (size_t i = 0; i < t->n_shelf && rc == 0; i++)
		rc = dt_probes_remove(t, t->shelf[i].probes, threads, e);
	if (strays && rc == 0) {
		dt_target_free_old(t);
		rc = dt_probes_recover(t, &t->old, &t->n_old, e);
	}
	for (size_t i = 0; i < t->n_old && rc == 0; i++)
		rc = dt_probes_remove(t, t->old[i], threads, e);
	return rc;
}

/* Puts the code back where our memory has to stay, since a thread may still return there. */
static int put_back(struct dt_target *t, const struct dt_threads *threads, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < t->n && rc == 0; i++)
		if (t->module[i].probes)
			rc = dt_probes_put_back(t, t->module[i].probes, threads, e);
	for (size_t i = 0; i < t->n_old && rc == 0; i++)
		rc = dt_probes_put_back(t, t->old[i], threads, e);
	return rc;
}

/* Says what stays where not all could be taken away. */
static int say_left(const struct dt_target *t, struct dt_error *e)
{
	struct dt_error why = *e;

	return dt_fail(
		e,
		"process %d keeps memory of devtrace, and may keep jumps that lead there, all "
		"switched off: %s",
		t->pid, why.text);
}

/* Switches off the sites that are in trampolines. */
static int probes_off(struct dt_target *t, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; i < t->n && rc == 0; i++)
		if (t->module[i].probes)
			rc = dt_probes_off(t, t->module[i].probes, e);
	return rc;
}

int dt_target_detach(struct dt_target *t, size_t *left, struct dt_error *e)
{
	struct dt_threads threads;
	bool disconnected = false, strays = false;
	int rc = 0;

	*left = 0;
	if (!t->area)
		return 0;
	if (dt_target_switch(t, false, e) < 0)
		return -1;
	/*
	 * A forked child can have probes that were not found in the process taken for its parent:
	 * that process may have been a sibling between two plantings, or may have had more planted
	 * since, or may have been detached already.
	 */
	if (!t->n_old) {
		if (dt_probes_recover(t, &t->old, &t->n_old, e) < 0)
			return -1;
		strays = t->n_old > 0;
	}
	for (size_t i = 0; i < t->n; i++)
		if (verify_module(t, &t->module[i], e) < 0)
			return -1;
	for (size_t i = 0; i < t->n; i++)
		if (dt_probes_rest(t, &t->module[i], e) < 0)
			return -1;
	for (size_t i = 0; i < t->n_old; i++)
		if (dt_probes_off(t, t->old[i], e) < 0)
			return -1;
	for (int tries = 0;; tries++) {
		if (dt_threads_stop(t->pid, &threads, e) < 0) {
			if (tries >= LEAVE_TRIES || dt_target_gone(t))
				return -1;
			usleep(1000);
			continue;
		}
		/* first the jumps from libc, or there may always be some thread inside */
		if (!disconnected)
			rc = dt_disconnect(t, e);
		disconnected = true;
		if (!occupied(t, &threads) && !shares_memory(t))
			break;
		if (tries == LEAVE_TRIES) {
			*left = DT_CODE_SIZE;
			/* a process that has the same memory is not stopped, and may be anywhere */
			if (rc == 0 && !shares_memory(t))
				rc = put_back(t, &threads, e);
			break;
		}
		release(t, &threads);
		/* usually no thread is in a hook: switching all sites off is worth it only if one
		 * is */
		if (tries == 0 && probes_off(t, e) < 0)
			return -1;
		usleep(tries < 10 ? 50 : 10000);
	}
	if (*left == 0 && rc == 0)
		rc = remove_probes(t, &threads, strays, e);
	if (*left == 0 && rc == 0) {
		bool returned;

		clear_rseq_cs(t, &threads);
		unhook(t);
		if (!t->confined && dt_target_any_confined(t))
			dt_target_confine(t);
		if (t->confined) /* a system call made for us might kill it */
			*left = DT_CODE_SIZE;
		else {
			returned = dt_target_return_rseq(t, &threads);
			*left = returned ? 0 : DT_AREA_SESSION - DT_AREA_THREADS;
			rc = dt_stubs_remove(t, threads.tid[0], e);
			if (rc == 0)
				rc = dt_area_remove(t->pid, threads.tid[0], t->mem, t->area,
						    t->geometry, !returned, e);
		}
		t->area = 0;
	}
	release(t, &threads);
	return rc < 0 && e ? say_left(t, e) : rc;
}
