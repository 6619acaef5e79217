/* SPDX-License-Identifier: MIT */
/* What the head of the blob says. */
#include "arch/hooks.h"

const struct dt_blob *dt_blob_head(void)
{
	return (const struct dt_blob *)dt_blob_image;
}

struct dt_thread_offsets dt_blob_offsets(const struct dt_blob *b)
{
	return (struct dt_thread_offsets){.tid = b->tid_offset,
					  .rseq = b->rseq_offset,
					  .rseq_size = b->rseq_size,
					  .signature = b->rseq_signature,
					  .error = b->errno_offset,
					  .own = (enum dt_own)b->own};
}
