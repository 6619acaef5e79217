/* SPDX-License-Identifier: MIT */
/* The one traced function of the stress program: the only file that is built with sleds. */
#include <stdint.h>

#include "emit.h"

uint64_t emit(uint64_t seq, uint64_t check, uint64_t lane, uint64_t who)
{
	__asm__ volatile("" : "+r"(check), "+r"(who));
	return EMIT_RESULT(seq, lane);
}
