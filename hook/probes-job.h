/* SPDX-License-Identifier: MIT */
/* One planting: shared by probes-plan.c and probes-alike.c, which make what is to be written, and
 * probes-plant.c, which writes it. Not for other files. */
#ifndef DT_HOOK_PROBES_JOB_H
#define DT_HOOK_PROBES_JOB_H

#include "hook/probes-work.h"

/* A window whose place another one takes. */
struct gone {
	uint32_t index,
		by; /* its index in the plan, and the other's (NONE: a function's windows) */
	struct dt_plan_window was;
	bool undone; /* its bytes are to be put back */
};

#define DT_JOB_BLOCK 65536u /* bytes of code that are read at a time */

/* What is about to be written. All of it is made before any thread is stopped. */
struct job {
	struct dt_target *t;
	struct dt_module *m;
	struct dt_probes *p;
	struct made made;
	size_t far_fixed; /* how many of made.far_fixes are of trampolines that are made */
	uint64_t thunk[WAYS];
	/* of p: those with a smaller index are planted already */
	size_t first_window, first_patch, first_moved;
	struct dt_plan_mark mark;      /* where the plan ended before this planting */
	uint64_t *toggle;	       /* as p->toggle, but of the new sites only */
	struct dt_captured **captured; /* by point id, of the points in new windows; or NULL */
	bool *failed;		       /* by function: its new windows are not planted */
	bool no_memory;
	bool changed;  /* something is left out because memory differs from the file */
	bool *skipped; /* by point id: no longer wanted, so its window is made without it */
	struct gone *gone;
	size_t n_gone;
	struct patch *undo; /* patches of windows that are gone, sorted by address */
	size_t undos;
	uint8_t *text;	     /* a block of the process's code as it is in memory; NULL: none yet */
	uint64_t text_at;    /* its address; 0: nothing has been read */
	bool no_text;	     /* it can not be read as a whole */
	struct pc_entry *pc; /* the new ones */
	size_t pcs;
};

/* Takes n free bytes for trampolines within reach of everything that the module maps. */
bool dt_job_room(struct job *j, uint64_t n, uint64_t *at);
/* Makes room in p for the states of n points. */
int dt_job_points(struct dt_probes *p, uint32_t n, struct dt_error *e);
/* Begins an empty plan for a file's code. */
int dt_job_plan_begin(struct dt_plan *plan, const struct dt_file *f, struct dt_error *e);
/* Begins the module's plan if it has none, and sets its claim function and context (as in struct
 * dt_plan_options). */
int dt_job_begin(struct job *j, dt_plan_claim claim, void *claimer, struct dt_error *e);
/* Plans the wanted functions (an array by function of the code; NULL: none), and the wanted points
 * that are untried. */
int dt_job_plan(struct job *j, const bool *wanted, struct dt_error *e);
/* Makes the trampolines of all windows that this planting has added to the plan. */
int dt_job_make(struct job *j, struct dt_error *e);
/* Drops all new windows of each function of which one window could not be made: functions are
 * planted as a whole or not at all. */
void dt_job_drop_failed(struct job *j);
/* Reads n bytes of the process's memory at address. */
int dt_job_read(struct job *j, uint64_t address, uint8_t *bytes, size_t n);
/*
 * For a module's first planting: copies what was made for another process of the session, or in an
 * earlier run of devtrace, for the same file and the same functions. 1: the copy is complete, and
 * what was made for the other one is still there to be copied; 2: it was taken from an earlier run;
 * 0: there is nothing to copy; -1: no memory. After 1 and 2 the tables have to be made (j->pc, and
 * what is behind the code).
 */
int dt_job_take(struct job *j, const bool *wanted, struct dt_error *e);
/*
 * Returns what an earlier run of devtrace made for the module's file and kept (hook/probes-kept.c),
 * when it is for exactly these functions: probes without `pc', for the caller to free. *bias is
 * where the file was mapped. NULL: there are none that are of use.
 */
struct dt_probes *dt_job_recall(struct job *j, const bool *wanted, uint64_t *bias);
/* Looks whether plans of the file can be kept, and this is worth while: dt_job_recall() has looked
 * for one. */
bool dt_kept_is_wanted(const struct dt_file *f);
/* Frees what is known of a file's kept plans. kept may be NULL. */
void dt_kept_free(struct dt_plans_kept *kept);
/* Undoes the job in p after a failure, so that p describes only what was planted before, and marks
 * the wanted functions and points as untried. */
void dt_job_give_back(struct job *j, const bool *wanted);

#endif
