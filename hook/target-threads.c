/* SPDX-License-Identifier: MIT */
#include "hook/target-threads.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/target-rseq.h"
#include "hook/target-switch.h"
#include "hook/target-work.h"
#include "process/launch.h"
#include "process/memory.h"

/* Returns the module that has the symbol, and sets *address to its run-time address; NULL: none. */
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
 * Finds the offset of the thread id from the thread pointer. glibc tells debuggers where a thread
 * block holds it: _thread_db_pthread_tid is {bits, elements, offset}. Where the block ends at the
 * pointer, its size is to be known as well. A static program may lack
 * that: then the id itself is looked for, first where glibc 2.34 and later have it.
 */
static bool find_tid_offset(struct dt_target *t, pid_t tid, uint64_t fs, int64_t *offset)
{
	uint64_t address, size_at;
	uint32_t field[3], size = 0;

	if (t->tag)
		tid = dt_pid_inner(t->pid, tid);
	if (module_with(t, "_thread_db_pthread_tid", &address)) {
		if (dt_memory_read(t->mem, address, field, sizeof(field)) < 0 || field[0] != 32)
			return false;
		if (DT_THREAD_BELOW && (!module_with(t, "_thread_db_sizeof_pthread", &size_at) ||
					dt_memory_read(t->mem, size_at, &size, sizeof(size)) < 0))
			return false;
		*offset = (int32_t)field[2] - (int64_t)size;
		return holds_tid(t, fs, *offset, tid);
	}
	*offset = DT_GLIBC_TID;
	if (holds_tid(t, fs, *offset, tid))
		return true;
	for (*offset = DT_TID_FROM; *offset < DT_TID_TO; *offset += 4)
		if (holds_tid(t, fs, *offset, tid))
			return true;
	return false;
}

/* Finds the offset of the rseq block from the thread pointer, its size and its signature. */
static bool find_rseq(struct dt_target *t, pid_t tid, uint64_t fs, bool stopped,
		      struct dt_thread_offsets *o)
{
	uint64_t address, at;
	uint32_t registered = 0;

	o->signature = DT_RSEQ_SIGNATURE;
	o->rseq_size = 32;
	/* glibc 2.35 and later export the block's offset, and set its size once it is registered. A
	 * program can register a block of its own for one thread, which says nothing of the others.
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
	/* a static program without symbols, or a process whose libc has not registered it yet: the
	 * kernel knows the address, which must be near the thread pointer, in the thread block */
	if (!stopped || !dt_thread_rseq(tid, &address, &o->rseq_size, &o->signature))
		return false;
	o->rseq = (int64_t)(address - fs);
	if (o->rseq == DT_OWN_RESERVE) /* ours, of a session before this one */
		return false;
	return o->rseq >= -8192 && o->rseq < 8192;
}

bool dt_target_find_threads(struct dt_target *t, pid_t tid, uint64_t fs, bool stopped)
{
	struct dt_thread_offsets o = {.tag = t->tag, .error = t->errno_offset};
	int32_t cpu;

	if (t->fast)
		return true;
	if (!fs)
		return false;
	if ((!find_rseq(t, tid, fs, stopped, &o) || !find_tid_offset(t, tid, fs, &o.tid)) &&
	    !dt_target_own_rseq(t, tid, fs, &o))
		return false;
	if (!o.own) {
		if (o.rseq != (int32_t)o.rseq || o.rseq == 0 ||
		    dt_memory_read(t->mem, fs + (uint64_t)o.rseq + 4, &cpu, sizeof(cpu)) < 0)
			return false;
		/* of a stopped thread, the kernel fills cpu in when it goes on */
		if (cpu < 0 && !stopped)
			return false;
	}
	if (dt_area_make_hooks(t->mem, t->area, t->geometry, &o, NULL) < 0)
		return false;
	t->fast = true;
	t->slow[0] = '\0';
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].hooked)
			dt_target_hook(t, &t->module[i], NULL);
	return true;
}

int dt_target_strange(struct dt_target *t, struct dt_error *e)
{
	struct dt_threads threads;
	int rc;

	if (dt_threads_stop(t->pid, &threads, e) < 0)
		return -1;
	rc = dt_area_note_strange(t->mem, t->area, e);
	dt_threads_release(&threads);
	if (threads.stopped_for > t->stop_ns)
		t->stop_ns = threads.stopped_for;
	dt_format(t->slow, sizeof(t->slow), "%s", DT_SLOW_STRANGE);
	return rc;
}

bool dt_target_is_static(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].file->elf && t->module[i].file->elf->interp)
			return false;
	return true;
}

/* A program that registers no rseq may make no other system call for long, but the hooks' calls
 * show when its block is there. */
static enum dt_launch_call look_at_call(void *ctx, uint64_t ip)
{
	struct dt_target *t = ctx;
	struct dt_thread_offsets o;
	uint64_t fs;

	if (ip - t->area >= DT_CODE_SIZE)
		return DT_LAUNCH_CALL;
	fs = dt_thread_pointer(t->pid);
	return fs && dt_target_own_rseq(t, t->pid, fs, &o) ? DT_LAUNCH_READY : DT_LAUNCH_HOOK;
}

int dt_target_begin(struct dt_target *t, pid_t tid, uint64_t patience)
{
	if (dt_launch_until_rseq(tid, patience, look_at_call, t) < 0)
		return -1;
	if (dt_target_find_threads(t, tid, dt_thread_pointer(tid), true)) {
		dt_connect(t, true, NULL);
		dt_target_check_rseq(t);
	}
	return 0;
}

/* Reads the offset of errno out of libc. False: it is not known (yet). */
static bool read_errno_offset(struct dt_target *t, int64_t *offset)
{
	uint8_t code[DT_THREAD_WORD_CODE];
	uint64_t at, slot;

	if (!module_with(t, "__errno_location", &at) ||
	    dt_memory_read(t->mem, at, code, sizeof(code)) < 0)
		return false;
	switch (dt_thread_word(code, at, offset, &slot)) {
	case 0:
		return false;
	case 2:
		if (dt_memory_read(t->mem, slot, offset, sizeof(*offset)) < 0)
			return false;
	}
	/* in the static block of thread-local variables, which lies on the other side of the
	 * pointer than the thread's own block */
	if (DT_THREAD_BELOW)
		return *offset > 0 && *offset < 1 << 20;
	return *offset < 0 && *offset >= -(1 << 20);
}

void dt_target_find_errno(struct dt_target *t)
{
	struct dt_thread_offsets o;
	struct dt_blob head;
	int64_t offset;

	if (t->errno_offset || !t->area || !read_errno_offset(t, &offset) ||
	    dt_memory_read(t->mem, t->area, &head, sizeof(head)) < 0)
		return;
	o = dt_blob_offsets(&head);
	o.tag = t->tag;
	o.error = offset;
	if (head.hook[0] ? dt_area_make_hooks(t->mem, t->area, t->geometry, &o, NULL) < 0
			 : dt_memory_write(t->mem, t->area + offsetof(struct dt_blob, errno_offset),
					   &offset, sizeof(offset)) < 0)
		return;
	t->errno_offset = offset;
}
