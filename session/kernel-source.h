/* SPDX-License-Identifier: MIT */
/*
 * Who records the kernel for a session: the module's device, or BPF programs where the module is
 * not loaded. session/kernel.c chooses, and calls them.
 */
#ifndef DT_SESSION_KERNEL_SOURCE_H
#define DT_SESSION_KERNEL_SOURCE_H

#include <sys/types.h>

#include "core/error.h"
#include "core/record.h"
#include "filter/conditions.h"
#include "session/kernel-names.h"
#include "session/kernel-sums.h"
#include "session/kernel-telling.h"
#include "session/kernel-tracepoints.h"
#include "store/store.h"

/* What a source can do; each as the function of session/kernel.h whose name it has. ctx: the
 * source's own. */
struct dt_kernel_source_ops {
	const char *name; /* "module" or "bpf" */
	bool core_clocks; /* times are of the clock of the core that they were made on */
	void (*close)(void *ctx);
	int (*tell)(void *ctx, const char *command, struct dt_error *e);
	int (*watch)(void *ctx, pid_t pid, struct dt_error *e);
	int (*start)(void *ctx, struct dt_error *e);
	void (*stop)(void *ctx);
	const struct dt_record *(*take)(void *ctx, unsigned core, uint64_t until, size_t *n,
					uint64_t *lost, size_t *lost_at);
	int (*written)(void *ctx, unsigned core, uint64_t *records, uint64_t *dropped);
	/* Writes what the user should know: what is not recorded; "": nothing. */
	void (*note)(void *ctx, char *text, size_t size);
	size_t (*stack)(void *ctx, uint32_t id, uint64_t *address, size_t most);
	/* Choosing among calls where they are made; NULL: all are recorded. As the functions
	 * dt_kernel_choose(), _choose_end(), _waits(), _late(), _left() and _sums(). */
	const char *(*choose)(void *ctx, uint64_t pc, uint32_t row, const struct dt_conditions *c,
			      const struct dt_kernel_sums *sums, double ticks_per_ns);
	void (*choose_end)(void *ctx);
	uint64_t (*waits)(void *ctx, uint64_t now_ns, bool end);
	const struct dt_record *(*late)(void *ctx, size_t *n);
	bool (*left)(void *ctx, size_t i, struct dt_left_out_row *row);
	void (*sums)(void *ctx, const struct dt_kernel_summed *to, bool end);
	/* As dt_kernel_told(); NULL: nothing is told. */
	void (*told)(void *ctx, const struct dt_kernel_telling *to);
};

struct dt_kernel_source {
	const struct dt_kernel_source_ops *ops;
	void *ctx;
};

/* What is to be recorded: dt_kernel_open(). */
struct dt_kernel_wanted {
	const char *const *pattern;
	size_t n;
	unsigned cores;
	bool everybody;
	uint64_t cgroup; /* of these only those of this control group; 0: all */
	const struct dt_kernel_tracepoints *tracepoints; /* of the kernel itself */
	bool names;    /* tell of threads and processes: dt_kernel_told() */
	bool threads;  /* record which thread runs where, and who woke it */
	bool chooses;  /* dt_kernel_choose() will be called, */
	unsigned sums; /* with sums, that have so many rows at most; 0: without */
	bool in_use;   /* of BPF: the module's device is in use */
};

/* The module's device is another session's, or is used by hand. */
#define DT_KERNEL_IN_USE 2

/* Opens the module's device. 0; -1 and an error; 1 and an error: it is not loaded;
 * DT_KERNEL_IN_USE and an error. */
int dt_kernel_module_open(struct dt_kernel_source *s, const struct dt_kernel_wanted *w,
			  struct dt_error *e);
/* Loads BPF programs. names must stay as long as the source. */
int dt_kernel_bpf_open(struct dt_kernel_source *s, const struct dt_kernel_wanted *w,
		       struct dt_kernel_names *names, struct dt_error *e);

#endif
