/* SPDX-License-Identifier: MIT */
#include "arch/connection.h"

#include <stddef.h>
#include <string.h>

#include "arch/aarch64/word.h"
#include "arch/area.h"

/* clone and clone3 are not there yet: the child has no rseq before libc has registered one for it,
 * and what libc does until then is not recorded, unless libc itself has sleds. */
size_t dt_connections(const struct dt_blob *b, struct dt_connection c[DT_CONNECTIONS])
{
	const struct dt_connection all[] = {
		/* ret */
		{.name = "_dl_debug_state",
		 .head = {0xc0, 0x03, 0x5f, 0xd6},
		 .head_size = 4,
		 .stub = b->modules,
		 .linker = true},
		/* mov x8, #221; svc #0 */
		{.name = "execve",
		 .head = {0xa8, 0x1b, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
		 .head_size = 8,
		 .stub = b->execve,
		 .back_at = offsetof(struct dt_blob, execve_back),
		 .back = 8,
		 .within = 8},
		/* mov x8, #281; svc #0 */
		{.name = "execveat",
		 .head = {0x28, 0x23, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
		 .head_size = 8,
		 .stub = b->execveat,
		 .back_at = offsetof(struct dt_blob, execveat_back),
		 .back = 8,
		 .within = 16},
		/* mov x8, #220; svc #0 */
		{.name = "vfork",
		 .head = {0x88, 0x1b, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
		 .head_size = 8,
		 .stub = b->vfork,
		 .back_at = offsetof(struct dt_blob, vfork_back),
		 .back = 8,
		 .needs_rseq = true,
		 .within = 16},
	};

	memcpy(c, all, sizeof(all));
	return sizeof(all) / sizeof(*all);
}

/* It is a b. */
bool dt_lead_write(unsigned char out[DT_LEAD], uint64_t from, uint64_t to)
{
	uint32_t word = 0x14000000 | ((uint32_t)((to - from) >> 2) & 0x3ffffff);

	memcpy(out, &word, sizeof(word));
	return dt_word_reaches(from, to, DT_WORD_FAR);
}

bool dt_lead_read(const unsigned char code[DT_LEAD], uint64_t from, uint64_t *to)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	*to = from + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
	return word >> 26 == 5;
}

/* It is ldr x16, its address; br x16: where a function begins, x16 is free. */
void dt_lead_far(unsigned char out[DT_LEAD_FAR], uint64_t to)
{
	static const uint32_t code[] = {0x58000050, 0xd61f0200};

	memcpy(out, code, sizeof(code));
	memcpy(out + sizeof(code), &to, sizeof(to));
}
