/* SPDX-License-Identifier: MIT */
#include "arch/thread-word.h"

#include <string.h>

/*
 * glibc's __errno_location is adrp x0; ldr x0, [x0, #slot]; mrs x1, tpidr_el0; add x0, x1, x0; ret,
 * of which the second and the third may have changed places.
 */
int dt_thread_word(const uint8_t *code, uint64_t address, int64_t *offset, uint64_t *slot)
{
	uint32_t w[DT_THREAD_WORD_CODE / 4], n;
	unsigned at = 0;
	bool pointer = false;
	uint64_t page;

	memcpy(w, code, sizeof(w));
	at += w[at] == 0xd503245f; /* bti c */
	if ((w[at] & 0x9f00001f) != 0x90000000)
		return 0;
	n = (w[at] >> 5 & 0x7ffff) << 2 | (w[at] >> 29 & 3);
	page = (address & ~0xfffull) + ((uint64_t)(int64_t)(int32_t)(n << 11) << 1);
	at++;
	if (w[at] == 0xd53bd041)
		pointer = true, at++;
	if ((w[at] & 0xffc003ff) != 0xf9400000)
		return 0;
	*slot = page + (w[at] >> 10 & 0xfff) * 8;
	*offset = 0;
	at++;
	if (!pointer && w[at++] != 0xd53bd041)
		return 0;
	return (w[at] == 0x8b000020 || w[at] == 0x8b010000) && w[at + 1] == 0xd65f03c0 ? 2 : 0;
}
