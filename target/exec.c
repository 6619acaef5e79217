/* SPDX-License-Identifier: MIT */
#include "target/exec.h"
#include "target/append.h"
#include "target/birth.h"
#include "target/calls.h"
#include "target/memory.h"
#include "target/request.h"

/*
 * A forked child that has recorded nothing has told nobody of itself: its block is wiped still. The
 * number that it has may have been another process's, whose end the controller has not noticed, and
 * for which its new program would be taken. If the execve fails, its first record tells of the same
 * birth again (target/birth.c).
 */
static void tell_birth(void)
{
	bool counted, known = process_block.cores || process_block.shared_only ||
			      __atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE);

	if (known)
		return;
	counted = dt_calling_begin();
	if (dt_has_parent())
		dt_birth_tell(DT_BIRTH_FORKED);
	dt_calling_end(counted);
}

void dt_before_exec(uint64_t path)
{
	tell_birth();
	dt_request_exec(path, -1);
}

void dt_before_execat(const uint64_t *argument)
{
	tell_birth();
	dt_request_exec(argument[1], (int)argument[0]);
}

void dt_after_exec(void)
{
	dt_request_tell(DT_REQUEST_EXEC_FAILED, true);
}

/*
 * Calls of execve have no hooks: the function's first instructions are what leads here. So their
 * records are made here, as the hooks of a process without rseq make them; session/describe.c knows
 * their places, which are no instructions of the function.
 */

/* Returns whether a call is recorded that returns to that address. */
static bool is_recorded(uint64_t back)
{
	uint64_t crossing = blob.exec_crossing;

	if (!blob.exec_site || !crossing)
		return blob.exec_site;
	for (unsigned i = 0; i < DT_FROM_MAX; i++)
		if (back - blob.from[i].begin < blob.from[i].size)
			return true;
	return false;
}

static void append(const struct dt_exec_call *c, uint8_t kind, uint64_t place,
		   const uint64_t value[4])
{
	struct dt_record rec;

	do {
		rec.ticks = 0;
		rec.pc = blob.exec_site + place;
		rec.tid = 0;
		rec.kind = kind;
		rec.flags = kind == DT_EXIT ? 1 : 4;
		rec.core = DT_SHARED_CORE;
		rec.sp = (uint64_t)&c->back - 8; /* as of a hook that the function has called */
		for (unsigned i = 0; i < 4; i++)
			rec.value[i] = value[i];
	} while (dt_slow(&rec));
}

/* Records the text at path, 256 bytes at most. */
static void append_path(const struct dt_exec_call *c)
{
	for (unsigned at = 0; at < 256; at += 32) {
		uint64_t piece[4] = {0, 0, 0, 0};
		long n = dt_own_memory_read(c->path + at, piece, sizeof(piece));
		bool ended = n < (long)sizeof(piece);

		for (long i = 0; i < n && !ended; i++)
			ended = !((const char *)piece)[i];
		if (n > 0)
			append(c, DT_MORE, DT_EXEC_PATH, piece);
		if (ended)
			return;
	}
}

void dt_exec_entered(const struct dt_exec_call *c)
{
	const uint64_t value[4] = {c->path, c->argv, c->envp, 0};

	dt_before_exec(c->path);
	if (!DT_EXEC_CALLS || !is_recorded(c->back))
		return;
	append(c, DT_ENTRY, DT_EXEC_ENTRY, value);
	append_path(c);
}

void dt_exec_failed(const struct dt_exec_call *c)
{
	const uint64_t value[4] = {-1ull, 0, 0, -c->path};

	if (DT_EXEC_CALLS && is_recorded(c->back))
		append(c, DT_EXIT, DT_EXEC_EXIT, value);
	dt_after_exec();
}
