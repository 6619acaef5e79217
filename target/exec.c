/* SPDX-License-Identifier: MIT */
#include "target/exec.h"
#include "target/birth.h"
#include "target/calls.h"
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
