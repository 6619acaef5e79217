/* SPDX-License-Identifier: MIT */
/* Where a thread is woken from: for the BPF programs, too. */
#ifndef DT_CORE_WAKE_H
#define DT_CORE_WAKE_H

enum dt_wake_context {
	DT_WAKE_THREAD, /* by a thread */
	/* in its time, by: */
	DT_WAKE_SOFTIRQ,
	DT_WAKE_INTERRUPT,
	DT_WAKE_NMI,
	DT_WAKE_CONTEXTS,
};

#endif
