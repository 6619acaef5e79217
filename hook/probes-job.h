/* SPDX-License-Identifier: MIT */
/* One planting, for probes-plan.c, which makes what is to be written, and probes-plant.c, which
 * writes it; for nobody else. */
#ifndef DT_HOOK_PROBES_JOB_H
#define DT_HOOK_PROBES_JOB_H

#include "hook/probes-work.h"

/* A window that another takes the place of. */
struct gone {
	uint32_t index, by; /* of the plan */
	struct dt_plan_window was;
	bool undone; /* its bytes are to be put back */
};

/* What is about to be written: all of it is made before anybody is stopped. */
struct job {
	struct dt_target *t;
	struct dt_module *m;
	struct dt_probes *p;
	struct made made;
	uint64_t thunk[WAYS];
	size_t first_window, first_patch; /* those before are planted */
	struct dt_plan_mark mark;	  /* the same of the plan */
	uint64_t *toggle;		  /* as p->toggle, of the sites that are new */
	struct dt_captured **captured;	  /* by id, of the points in new windows; or NULL */
	bool *failed;			  /* by function: its new windows are left alone */
	bool no_memory;
	bool changed;  /* something is left out: the process's memory is not what the file has */
	bool *skipped; /* by id: nobody wants the point any more, its window is made without it */
	struct gone *gone;
	size_t n_gone;
	struct patch *undo; /* patches of windows that are gone */
	size_t undos;
	uint8_t *
		text; /* the module's code as it is in memory; NULL until something of it is read */
	bool no_text; /* not all of it can be */
	struct pc_entry *pc; /* new ones */
	size_t pcs;
};

/* Room for the states of the file's points. */
int dt_job_points(struct dt_probes *p, uint32_t n, struct dt_error *e);
/* The module's plan, begun if it has none. claim: as in struct dt_plan_options. */
int dt_job_begin(struct job *j, dt_plan_claim claim, void *claimer, struct dt_error *e);
/* Plans the wanted functions (by function of the code; NULL: none), and points that are untried. */
int dt_job_plan(struct job *j, const bool *wanted, struct dt_error *e);
/* Makes the trampolines of all windows that the plan has more than before. */
int dt_job_make(struct job *j, struct dt_error *e);
/* Takes back what was made of functions of which something can not be: whole functions only. */
void dt_job_drop_failed(struct job *j);
/* What is in the process's memory at address. */
int dt_job_read(struct job *j, uint64_t address, uint8_t *bytes, size_t n);
/*
 * A first planting: takes what was made for another process of the session that has the same code
 * at the same place and wanted the same. 1: it is made then, and to be written; 0: there is none.
 */
int dt_job_take(struct job *j, const bool *wanted, struct dt_error *e);
/* Nothing has been planted: what was there before is all there is. It may be tried again. */
void dt_job_give_back(struct job *j, const bool *wanted);

#endif
