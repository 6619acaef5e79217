/* SPDX-License-Identifier: MIT */
/* The hooks are in the blob itself (target/hook.S): making them is filling in their data. */
#include "arch/hooks.h"

#include <string.h>

#include "arch/aarch64/blob.h"

#define ADRP	  0x90000000u
#define ADRP_MASK 0x9f000000u

/* Behind struct dt_hook_data in the blob: a struct rseq_cs for each hook, by enum dt_hook. */
struct sequence {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

/* Returns an adrp that leads so many pages further. */
static uint32_t moved_adrp(uint32_t word, uint64_t pages)
{
	uint32_t n = ((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3)) + (uint32_t)pages;

	return (word & ~(0x7ffffu << 5 | 3u << 29)) | (n >> 2 & 0x7ffff) << 5 | (n & 3) << 29;
}

/* Code finds everything by its distance. Only that to the session's memory depends on the session:
 * where the two builds differ, there is an adrp of it. */
void dt_blob_relocate(unsigned char *image, size_t size, uint64_t area, const struct dt_geometry *g)
{
	uint64_t up = dt_area_session(area, g) - (area + DT_AREA_SESSION);
	uint32_t one, other;

	for (size_t i = 0; i + sizeof(one) <= size; i += sizeof(one)) {
		memcpy(&one, dt_blob_image + i, sizeof(one));
		memcpy(&other, dt_blob_other + i, sizeof(other));
		if (one == other || (one & ADRP_MASK) != ADRP)
			continue;
		one = moved_adrp(one, up >> 12);
		memcpy(image + i, &one, sizeof(one));
	}
}

/* They take no room beside the blob. */
uint64_t dt_hooks_size(uint64_t cores)
{
	return 0;
}

void dt_hooks_make(unsigned char image[DT_CODE_SIZE], uint64_t area, const struct dt_geometry *g,
		   const struct dt_thread_offsets *o, unsigned char *out)
{
	const struct dt_blob *b = dt_blob_head();
	struct dt_blob *head = (struct dt_blob *)image;
	struct dt_hook_data *data = (struct dt_hook_data *)(image + b->fixups);
	struct sequence *cs = (struct sequence *)(data + 1);

	*data = (struct dt_hook_data){.rseq = o->rseq,
				      .tid = o->tid,
				      .rings = dt_area_session(area, g) + DT_CONTROL_SIZE,
				      .stride = g->stride,
				      .mask = g->ring_size - 1,
				      .tag = o->tag,
				      .error = o->error};
	for (int i = 0; i < DT_HOOKS; i++) {
		const struct dt_template *t = &b->hook_template[i];

		if (!t->hook)
			continue;
		cs[i] = (struct sequence){.start = area + t->start,
					  .length = t->commit - t->start,
					  .abort = area + t->abort};
		memcpy(image + t->abort - 4, &o->signature, sizeof(o->signature));
		head->hook[i] = area + t->hook;
		head->again[i] = area + t->again;
	}
}

bool dt_hooks_read_pointer(void)
{
	return true;
}
