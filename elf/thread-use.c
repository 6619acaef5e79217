/* SPDX-License-Identifier: MIT */
#include "elf/thread-use.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"

#define CHUNK (1u << 16)

static void search(struct dt_thread_use *u, const struct dt_elf *elf, const struct dt_elf_load *l,
		   uint8_t *code)
{
	for (uint64_t done = 0; done < l->filesz; done += CHUNK - DT_THREAD_USE_OVERLAP) {
		uint64_t left = l->filesz - done;
		size_t size = left < CHUNK ? left : CHUNK;

		if (pread(elf->fd, code, size, (off_t)(l->offset + done)) != (ssize_t)size) {
			u->rseq = u->block = u->word = true;
			return;
		}
		u->rseq = u->rseq || dt_code_calls_rseq(code, size);
		u->block = u->block ||
			   dt_code_uses_block(code, size, DT_OWN_UNUSED, DT_OWN_UNUSED_END);
		u->word = u->word || dt_code_uses_block(code, size, DT_OWN_WORD, DT_OWN_WORD + 8);
		u->clones += dt_code_clones(code, size, left <= CHUNK ? 0 : DT_THREAD_USE_OVERLAP);
		if (left <= CHUNK)
			return;
	}
}

void dt_thread_use_read(struct dt_thread_use *u, const struct dt_elf *elf)
{
	uint8_t *code;

	if (u->read)
		return;
	u->read = true;
	code = malloc(CHUNK);
	if (!code) {
		u->rseq = u->block = u->word = true;
		return;
	}
	for (size_t i = 0; i < elf->loads; i++)
		if (elf->load[i].flags & PF_X)
			search(u, elf, &elf->load[i], code);
	free(code);
}
