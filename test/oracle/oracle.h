/* SPDX-License-Identifier: MIT */
/*
 * What a generated program counts with. The counts are in a file that every process of the run maps,
 * so that they outlive forks, execs and kills. They are kept for each phase of the run: what the
 * tracer is told between two phases is true for whole phases.
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
};

#ifdef __cplusplus
extern "C" {
#endif
extern struct oracle_counts *oracle;
#ifdef __cplusplus
}
#endif

#define ORACLE_PHASE() __atomic_load_n(&oracle->phase, __ATOMIC_SEQ_CST)
#define IN(id)	       ((void)__atomic_fetch_add(&oracle->in[ORACLE_PHASE()][id], 1, __ATOMIC_RELAXED))
#define OUT(id)	       ((void)__atomic_fetch_add(&oracle->out[ORACLE_PHASE()][id], 1, __ATOMIC_RELAXED))
#define COUNTED	       __attribute__((noinline, noclone))

#endif
