/* SPDX-License-Identifier: MIT */
/*
 * The parts of the area (arch/area.h) as the code of this folder sees them. That code runs
 * inside the traced process, whenever a traced function can run: in signal handlers, in a forked
 * child, with any lock held. So it uses no libc, no lock and no allocation, makes system calls only
 * where said, and never waits for a controller that has gone.
 */
#ifndef DT_TARGET_PARTS_H
#define DT_TARGET_PARTS_H

#include "arch/inside.h"
#include "core/control.h"

/* hidden: addressed relative to the instruction, wherever the area is mapped */
#pragma GCC visibility push(hidden)
extern struct dt_blob blob;
extern struct dt_process_block process_block;
extern uint32_t seen_pages[DT_SEEN];
extern struct dt_kept_block kept_block;
extern struct dt_own_rseq own_rseq[DT_OWN_MAX];
extern struct dt_control session;
#pragma GCC visibility pop

#define DT_MS 1000000L /* ns */

#endif
