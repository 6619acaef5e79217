/* SPDX-License-Identifier: MIT */
#include "hook/target-rseq.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/text.h"
#include "hook/connect.h"
#include "process/inject.h"
#include "process/memory.h"

#define WORDS 8 /* of the thread block that are looked at */

#define UNREGISTER 1 /* RSEQ_FLAG_UNREGISTER */

static bool kernel_has_rseq(void)
{
	return syscall(SYS_rseq, NULL, 0, 0, 0) == 0 || errno != ENOSYS;
}

/* Looks whether the file is glibc's: its own call of rseq is made, if at all, before a program
 * begins. */
static bool is_glibc(struct dt_elf *elf)
{
	uint64_t at;

	return dt_elf_symbol(elf, "gnu_get_libc_version", &at, NULL) == 0 ||
	       dt_elf_symbol(elf, "__rseq_size", &at, NULL) == 0;
}

static bool refuse(struct dt_target *t, const char *file, const char *why)
{
	const char *slash = strrchr(file, '/');

	dt_format(t->slow, sizeof(t->slow), "%s%s", slash ? slash + 1 : file, why);
	return false;
}

/* Looks whether code of the process may want an rseq of its own, or our place for it. */
static bool is_wanted(struct dt_target *t, enum dt_own own)
{
	for (size_t i = 0; i < t->n; i++) {
		struct dt_file *f = t->module[i].file;

		if (f->vdso)
			continue;
		if (!f->elf)
			return !refuse(t, f->path, " can not be read");
		dt_thread_use_read(&f->use, f->elf);
		if (f->use.rseq && !is_glibc(f->elf))
			return !refuse(t, f->path, " may register one itself");
		if (f->use.word || (own == DT_OWN_BLOCK && f->use.block))
			return !refuse(t, f->path, " may use the place where it would be");
	}
	return false;
}

/*
 * Looks whether all that makes a child in its maker's thread block is led through the area: of musl
 * all places in its code that may do so; of glibc vfork and clone, which are found by name.
 */
static bool are_led(struct dt_target *t, enum dt_own own)
{
	for (size_t i = 0; i < t->n; i++) {
		struct dt_file *f = t->module[i].file;

		if (own == DT_OWN_TABLE &&
		    (f->use.clones != f->gates.clones || !dt_connect_has_gates(t, &t->module[i])))
			return refuse(t, f->path, " may make children in a way that is not known");
	}
	return own == DT_OWN_TABLE || dt_connect_has_clones(t) ||
	       refuse(t, "its libc", "'s vfork or clone is not known");
}

/* Looks whether the block at fs, whose first words are given, is musl's, and sets *offset to that
 * of the thread id. */
static bool is_musl(struct dt_target *t, pid_t tid, uint64_t fs, const uint64_t word[WORDS],
		    int64_t *offset)
{
	static const int64_t musl_tid[] = DT_MUSL_TID;
	uint64_t before, after;
	uint32_t id;

	if (dt_memory_read(t->mem, word[DT_MUSL_PREVIOUS] + 8 * DT_MUSL_NEXT, &before,
			   sizeof(before)) < 0 ||
	    dt_memory_read(t->mem, word[DT_MUSL_NEXT] + 8 * DT_MUSL_PREVIOUS, &after,
			   sizeof(after)) < 0 ||
	    before != fs || after != fs)
		return false;
	for (size_t i = 0; i < sizeof(musl_tid) / sizeof(*musl_tid); i++) {
		*offset = musl_tid[i];
		if (dt_memory_read(t->mem, fs + (uint64_t)*offset, &id, sizeof(id)) == 0 &&
		    id == (uint32_t)tid)
			return true;
	}
	return false;
}

/* Looks whether the block is glibc's, and the place for our rseq in it is not in use. */
static bool is_glibcs(struct dt_target *t, pid_t tid, uint32_t inner, uint64_t fs,
		      const uint64_t word[WORDS])
{
	uint8_t place[sizeof(struct dt_own_rseq)] = {0}, none[sizeof(place)] = {0};
	uint64_t address;
	uint32_t id, size, signature;
	bool found = false;

	for (size_t i = 0; i < t->n; i++) {
		struct dt_elf *elf = t->module[i].file->elf;

		found = found || (elf && (is_glibc(elf) || dt_elf_symbol(elf, "__libc_setup_tls",
									 &address, NULL) == 0));
	}
	if (!found || word[2] != fs || fs % 32 ||
	    dt_memory_read(t->mem, fs + DT_GLIBC_TID, &id, sizeof(id)) < 0 || (id && id != inner) ||
	    dt_memory_read(t->mem, fs + DT_OWN_RESERVE, place, sizeof(place)) < 0)
		return false;
	/* a session before this one may have left something there */
	return memcmp(place, none, sizeof(place)) == 0 ||
	       (dt_thread_rseq(tid, &address, &size, &signature) &&
		address == fs + DT_OWN_RESERVE) ||
	       memcmp(place + offsetof(struct dt_own_rseq, tid), &inner, sizeof(inner)) == 0;
}

bool dt_target_own_rseq(struct dt_target *t, pid_t tid, uint64_t fs, struct dt_thread_offsets *o)
{
	/* its number as the process itself sees it */
	pid_t inner = t->tag ? dt_pid_inner(t->pid, tid) : tid;
	uint64_t word[WORDS];

	if (getenv("DEVTRACE_NO_RSEQ")) /* for tests of the slow path */
		return refuse(t, "DEVTRACE_NO_RSEQ", " is set");
	if (!DT_OWN_RSEQ)
		return refuse(t, "its libc",
			      " registers none (glibc does from 2.35 on), and devtrace can not "
			      "on " DT_MACHINE_NAME " yet");
	if (!kernel_has_rseq())
		return refuse(t, "the kernel", " has none");
	if (dt_memory_read(t->mem, fs, word, sizeof(word)) < 0 || word[0] != fs)
		return refuse(t, "its threads", " have no block as a libc makes it");
	if (is_musl(t, inner, fs, word, &o->tid))
		o->own = DT_OWN_TABLE;
	else if (is_glibcs(t, tid, (uint32_t)inner, fs, word))
		o->own = DT_OWN_BLOCK;
	else
		return refuse(t, "its libc", " is not known, or not ready");
	if (o->own == DT_OWN_BLOCK)
		o->tid = DT_GLIBC_TID;
	o->rseq = o->own == DT_OWN_BLOCK ? DT_OWN_RESERVE : 0;
	o->rseq_size = 32;
	o->signature = DT_RSEQ_SIGNATURE;
	if (is_wanted(t, o->own))
		o->own = DT_OWN_NONE;
	return o->own != DT_OWN_NONE;
}

/* Returns whether the process's hooks use an rseq of ours; *head: its area's head. */
static bool has_own(const struct dt_target *t, struct dt_blob *head)
{
	return t->area && dt_memory_read(t->mem, t->area, head, sizeof(*head)) == 0 && head->own;
}

/* Looks whether the rseq that a thread has is ours; *at: its address. */
static bool is_ours(const struct dt_target *t, const struct dt_blob *head, pid_t tid, uint64_t *at)
{
	uint32_t size, signature;

	if (!dt_thread_rseq(tid, at, &size, &signature))
		return false;
	if (head->own == DT_OWN_BLOCK)
		return *at == dt_thread_pointer(tid) + DT_OWN_RESERVE;
	return *at - (t->area + DT_AREA_THREADS) < DT_AREA_SESSION - DT_AREA_THREADS;
}

/* Has one thread give it back. Returns false if it may still have it. */
static bool give_back(struct dt_target *t, const struct dt_blob *head, pid_t tid)
{
	struct dt_injected_call call = {"giving rseq back",
					SYS_rseq,
					{0, head->rseq_size, UNREGISTER, head->rseq_signature},
					0,
					false};
	uint64_t at, nothing[sizeof(struct dt_own_rseq) / 8] = {0};

	if (!is_ours(t, head, tid, &at))
		return true;
	call.arg[0] = at;
	if (dt_inject(tid, t->mem, NULL, t->area + DT_AREA_STUB, &call, 1, NULL) < 0)
		return false;
	dt_memory_write(t->mem, at, nothing, sizeof(nothing));
	return true;
}

/* Clears the word of musl's block that led to the table, or that a thread has begun with. */
static void clear_word(struct dt_target *t, pid_t tid)
{
	uint64_t at = dt_thread_pointer(tid) + DT_OWN_WORD, word, none = 0;

	if (at != DT_OWN_WORD && dt_memory_read(t->mem, at, &word, sizeof(word)) == 0 && word &&
	    word < DT_OWN_MAX * sizeof(struct dt_own_rseq))
		dt_memory_write(t->mem, at, &none, sizeof(none));
}

bool dt_target_return_rseq(struct dt_target *t, const struct dt_threads *threads)
{
	struct dt_blob head;
	bool all = true;

	if (!has_own(t, &head))
		return true;
	for (size_t i = 0; i < threads->n; i++) {
		all = give_back(t, &head, threads->tid[i]) && all;
		if (head.own == DT_OWN_TABLE)
			clear_word(t, threads->tid[i]);
	}
	/* in a thread block it does no harm */
	return all || head.own == DT_OWN_BLOCK;
}

void dt_target_check_rseq(struct dt_target *t)
{
	uint64_t at = t->area + DT_AREA_KEPT + offsetof(struct dt_kept_block, no_own);
	struct dt_threads threads;
	struct dt_blob head;
	uint32_t no = 0;

	if (!has_own(t, &head) || dt_memory_read(t->mem, at, &no, sizeof(no)) < 0 || no)
		return;
	if (!is_wanted(t, (enum dt_own)head.own) && are_led(t, (enum dt_own)head.own))
		return;
	no = 1;
	dt_memory_write(t->mem, at, &no, sizeof(no));
	/* one that we hold has registered nothing yet */
	if (t->held || dt_threads_stop(t->pid, &threads, NULL) < 0)
		return;
	dt_target_return_rseq(t, &threads);
	dt_threads_release(&threads);
}
