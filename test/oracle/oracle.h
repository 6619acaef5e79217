/* SPDX-License-Identifier: MIT */
/*
 * What a generated program counts with. The counts are in a file that every process of the run
 * maps, so that they outlive forks, execs and kills. They are kept for each phase of the run: what
 * the tracer is told between two phases is true for whole phases.
 */
#ifndef ORACLE_H
#define ORACLE_H

#define ORACLE_FUNCTIONS 256
#define ORACLE_PHASES	 24 /* even: as told; odd: while the tracer is being told something */

struct oracle_counts {
	unsigned phase;
	unsigned pad;
	unsigned long in[ORACLE_PHASES][ORACLE_FUNCTIONS];
	unsigned long out[ORACLE_PHASES][ORACLE_FUNCTIONS];
	unsigned calls[ORACLE_FUNCTIONS][ORACLE_FUNCTIONS]; /* by whom: [0] when that is not said */
};

#ifdef __cplusplus
extern "C" {
#endif
extern struct oracle_counts *oracle;
extern __thread volatile unsigned oracle_caller; /* who makes the next call in this thread */
#ifdef __cplusplus
}
#endif

#define ORACLE_PHASE() __atomic_load_n(&oracle->phase, __ATOMIC_SEQ_CST)
#define IN(id)                                                                                     \
	((void)__atomic_fetch_add(&oracle->in[ORACLE_PHASE()][id], 1, __ATOMIC_RELAXED),           \
	 (void)__atomic_fetch_add(&oracle->calls[oracle_caller][id], 1, __ATOMIC_RELAXED),         \
	 (void)(oracle_caller = 0))
#define OUT(id) ((void)__atomic_fetch_add(&oracle->out[ORACLE_PHASE()][id], 1, __ATOMIC_RELAXED))
/* a call of a counted function by another; what it hands over calls none */
#define BY(id, call) (oracle_caller = (id), (call))
#define COUNTED	     __attribute__((noinline, noclone))

#endif
