/* SPDX-License-Identifier: MIT */
/* The slow path: everything rare that an append can meet. */
#ifndef DT_TARGET_APPEND_H
#define DT_TARGET_APPEND_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/*
 * Called by a hook that could not append rec by rseq. Returns 1 when the hook is to try again, 0
 * when rec is done with: appended, counted as lost, or not wanted.
 */
int dt_slow(struct dt_record *rec);
#pragma GCC visibility pop

#endif
