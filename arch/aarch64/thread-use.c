/* SPDX-License-Identifier: MIT */
#include "arch/thread-use.h"

#include <string.h>

/* Threads get no rseq of ours on this processor (DT_OWN_RSEQ), so it is not asked who else
 * may want one. */
bool dt_code_calls_rseq(const uint8_t *code, size_t size)
{
	return true;
}

bool dt_code_uses_block(const uint8_t *code, size_t size, uint32_t low, uint32_t high)
{
	return true;
}

size_t dt_code_clones(const uint8_t *code, size_t size, size_t end)
{
	return 0;
}
