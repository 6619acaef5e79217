/* SPDX-License-Identifier: MIT */
#include "elf/mini.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY (128u << 20) /* bytes that xz may take: `xz -9' needs 65 MiB */

/* Decompresses n bytes. The caller frees the result; NULL if it is damaged or too large. */
static uint8_t *decompress(const uint8_t *bytes, size_t n, size_t *size)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret rc = lzma_stream_decoder(&s, MEMORY, 0);
	uint8_t *out = NULL;
	size_t room = 0;

	s.next_in = bytes;
	s.avail_in = n;
	while (rc == LZMA_OK && room < DT_MINI_MOST) {
		size_t done = room, more = room ? 2 * room : 1 << 16;
		uint8_t *p = realloc(out, more);

		if (!p)
			break;
		out = p;
		room = more;
		s.next_out = out + done;
		s.avail_out = room - done;
		rc = lzma_code(&s, LZMA_FINISH);
	}
	*size = s.total_out;
	lzma_end(&s);
	if (rc == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
}

bool dt_mini_open(struct dt_symfile *mini, const struct dt_symfile *main)
{
	Elf_Scn *s = dt_symfile_section(main, ".gnu_debugdata");
	Elf_Data *d = s ? elf_rawdata(s, NULL) : NULL;
	uint8_t *image;
	size_t size;

	*mini = (struct dt_symfile){.fd = -1};
	if (!d || !d->d_buf || !d->d_size || !(image = decompress(d->d_buf, d->d_size, &size)))
		return false;
	mini->image = image;
	mini->image_size = size;
	mini->path = strdup(main->path);
	mini->elf = elf_memory((char *)image, size);
	if (mini->path && mini->elf && elf_kind(mini->elf) == ELF_K_ELF)
		return true;
	dt_symfile_close(mini);
	return false;
}
