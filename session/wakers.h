/* SPDX-License-Identifier: MIT */
/*
 * Who wakes threads, and where threads wait in the kernel: the records of BPF's (bpf/record.h) get
 * numbers of rows of the trace file in their sp.
 *
 *	W  tid: the thread that is woken, by the core that the record is of. sp: DT_WAKER_SP() of
 *	   who woke it (store/wakers.h). In the log of a session without a file: as BPF made it, and
 *	   pc is the place in the kernel
 *	S  with which a thread leaves a core: sp, the kernel's stack there
 */
#ifndef DT_SESSION_WAKERS_H
#define DT_SESSION_WAKERS_H

#include "session/state.h"

struct dt_wakers_seen;

/* NULL: no memory. */
struct dt_wakers_seen *dt_wakers_seen_new(void);
void dt_wakers_seen_free(struct dt_wakers_seen *w);

/* Gives these records their numbers, and writes the rows. With the session's lock; recorder thread.
 * What can not be written makes the store fail, which its next user is told. */
void dt_wakers_take(struct dt_session *s, struct dt_wakers_seen *w, struct dt_record *r, size_t n);

/* Returns how many wake-ups have no row since there were too many different ones. */
uint64_t dt_wakers_unknown(const struct dt_wakers_seen *w);

#endif
