/* SPDX-License-Identifier: MIT */
/*
 * Having the threads of a process use an rseq of ours, where its libc registers none.
 *
 * Without rseq each record goes through the slow path, and costs ten times as much. The kernel
 * keeps an rseq for any thread that asks, but one only. So it is asked for where nothing shows that
 * the program or a library wants that for itself: the place of struct dt_own_rseq must be known not
 * to be in use, and no code may make the system call.
 */
#ifndef DT_HOOK_TARGET_RSEQ_H
#define DT_HOOK_TARGET_RSEQ_H

#include "hook/target.h"

/*
 * Looks whether threads of the process may have an rseq of ours. fs: thread pointer of its thread
 * tid, whose libc has set up its block. True: *o has what the hooks need, but for errno and the
 * tag.
 */
bool dt_target_own_rseq(struct dt_target *t, pid_t tid, uint64_t fs, struct dt_thread_offsets *o);

/*
 * Looks once more, after modules have been added and connected: if one of them wants an rseq for
 * itself, or what makes children in their maker's thread block is not all led through the area, the
 * process's threads go without from then on.
 */
void dt_target_check_rseq(struct dt_target *t);

/*
 * Has stopped threads give it back, before the area goes. Returns false if one may still have it:
 * then the part of the area at DT_AREA_THREADS must stay, since the kernel writes there.
 */
bool dt_target_return_rseq(struct dt_target *t, const struct dt_threads *threads);

#endif
