/* SPDX-License-Identifier: MIT */
/* Recording the kernel by BPF: what session/kernel-bpf*.c share. */
#ifndef DT_SESSION_KERNEL_BPF_WORK_H
#define DT_SESSION_KERNEL_BPF_WORK_H

#include <pthread.h>

#include "bpf/record.h"
#include "session/bpf.h"
#include "session/kernel-clock.h"
#include "session/kernel-source.h"

/* A function that is to be recorded, and its programs. */
struct dt_bpf_function {
	struct dt_kernel_symbol symbol;
	uint32_t type; /* of the kernel's BTF; 0: none */
	bool exact;    /* it was asked for by its name, not by a pattern */
	/* the programs of entry and exit, and what attaches them, if it has its own; -1: none */
	int fd[4];
};

/* What was asked for and is not recorded. */
struct dt_bpf_left_out {
	size_t n;
	char names[64]; /* the first ones */
};

/* A core's ring. */
struct dt_bpf_core {
	uint64_t begin; /* records below that have been read */
	uint64_t told;	/* lost records that the ring has counted and that have been noted */
	uint64_t lost, lost_at; /* lost records not reported yet; missing before that position */
	uint64_t last;		/* ticks of the latest record */
	uint64_t further;	/* records of its further ring below that have been read */
	uint64_t late;		/* entries of it that were taken late */
	uint64_t unkept;	/* such entries for which there was no memory: lost */
	struct dt_record *out;	/* what the last take has given */
	size_t room;
};

/* A function that the programs have conditions for. */
struct dt_bpf_told {
	uint64_t pc;
	uint32_t row;		 /* in the table `function' */
	struct dt_bpf_left told; /* of what was left out, so much has been told */
	uint64_t open;		 /* calls that had not ended when recording did */
	/* what its calls are to each of the sums: has the value a sign, is it a time, and, by bits,
	 * which keys have a sign */
	struct {
		uint8_t has_sign, is_time, key_signs;
	} sum[DT_BPF_SUMS];
};

/* What has been told of a row of sums. */
struct dt_bpf_row_told {
	uint64_t calls, unknown;
	unsigned __int128 sum;
};

/* Choosing among calls in the kernel: session/kernel-bpf-choose.c. */
struct dt_bpf_choosing {
	struct dt_bpf_told *function;
	size_t functions, function_room;
	struct dt_record *entry; /* those taken in this round */
	size_t entries, entry_room;
	struct dt_bpf_left *sum; /* room for what each core has counted; NULL: nothing is chosen */
	unsigned possible;	 /* cores in it */
	double ticks_per_ns;
	bool over; /* the words are others now: the recorder chooses */
	bool counted;
	unsigned sum_rows; /* rows of sums, at most; 0: what is left out is not summed up */
	struct dt_bpf_sum_row *row;
	struct dt_bpf_row_told *row_told;
	size_t row_room;
	uint64_t others_told[DT_BPF_SUMS];
};

struct dt_kernel_bpf {
	struct bpf_object *object;
	struct dt_kernel_names *names;
	const struct dt_kernel_wanted *wanted; /* while it is opened */
	struct dt_bpf_function *function;
	size_t functions, room;
	struct dt_bpf_left_out untyped, refused;
	char forbidden[192]; /* why the kernel loads no programs for functions; "": it does */
	bool multi;	     /* programs are attached to many functions at once, by: */
	int *link;
	size_t links, link_room;
	size_t calls; /* functions of system calls that are recorded */
	size_t full;  /* system calls that are recorded in full */
	const struct dt_kernel_tracepoints *tracepoints; /* of the kernel itself, */
	int *happening;					 /* and what attaches the program to each */
	int tracepoint[11];		 /* what attaches the other programs; -1: none */
	bool in_use;			 /* the module's device is */
	bool threads;			 /* which thread runs where is recorded, and who woke it */
	uint64_t started;		 /* CLOCK_MONOTONIC, ns: since then names are told */
	bool names_told;		 /* by programs, of threads and processes, in these maps: */
	int thread_names, program_names; /* descriptors */
	int stacks;			 /* descriptor of the map of the kernel's stacks */
	unsigned depth;			 /* of these, at most */
	unsigned cores, shift;
	struct dt_bpf_head *head;
	struct dt_bpf_record *records;
	struct dt_bpf_state *state;
	struct dt_bpf_thread *blocks; /* DT_BPF_BLOCKS; NULL: calls are not chosen among */
	struct dt_bpf_choosing choosing;
	struct dt_bpf_core *core;
	struct dt_kernel_clock clock;
	bool loaded;	      /* the programs for functions are */
	pthread_mutex_t lock; /* commands change what follows, the recorder reads it */
	struct dt_bpf_range *range;
	uint64_t misses_gone; /* of ranges that are gone */
	uint64_t misses;      /* hits at which the kernel has not run the program */
};

/* Finds the functions that are to be recorded. -1 and an error: there is none, or one that was
 * asked for by its name can not be. */
int dt_bpf_choose(struct dt_kernel_bpf *k, struct dt_error *e);
/* Does a pattern choose this function of the kernel? *exact: by its name. */
bool dt_bpf_chosen(const struct dt_kernel_bpf *k, const struct dt_kernel_symbol *s, bool *exact);
/* Leaves only those functions that have one type, since others can not have programs of their own.
 * -1 and an error as dt_bpf_choose(). */
int dt_bpf_choose_typed(struct dt_kernel_bpf *k, struct dt_error *e);
/* Notes a function that is not recorded. */
void dt_bpf_leave_out(struct dt_bpf_left_out *l, const char *name);

/* Finds those whose addresses are from `begin' to `end', as dt_bpf_choose(). */
int dt_bpf_choose_between(struct dt_kernel_bpf *k, uint64_t begin, uint64_t end,
			  struct dt_error *e);
/* Attach the programs to the functions that were found, and undo that. -1 and an error: as
 * dt_bpf_choose(). */
int dt_bpf_functions_attach(struct dt_kernel_bpf *k, struct dt_error *e);
void dt_bpf_functions_detach(struct dt_kernel_bpf *k);
/* Counts the hits that these functions have missed, beside those that dt_bpf_programs_missed()
 * counts for all. */
uint64_t dt_bpf_links_missed(const struct dt_kernel_bpf *k);

/* Carries out a command of session/kernel-ranges.c. */
int dt_bpf_ranges_tell(struct dt_kernel_bpf *k, const char *command, struct dt_error *e);
uint64_t dt_bpf_ranges_missed(struct dt_kernel_bpf *k);
void dt_bpf_ranges_free(struct dt_kernel_bpf *k);

/* Is it, by its name, the function of a system call? */
bool dt_bpf_is_call(const char *name);
/* Counts the system calls that are to be recorded in full. -1 and an error: some were asked for and
 * there are none. */
int dt_bpf_calls_choose(struct dt_kernel_bpf *k, struct dt_error *e);
/* Put those into the map `full'; and the functions of the others that are chosen into `calls',
 * which has the kernel's own table already if that can be found. */
int dt_bpf_calls_tell(struct dt_kernel_bpf *k, int map, struct dt_error *e);
int dt_bpf_calls_find(struct dt_kernel_bpf *k, int map, struct dt_error *e);

/* Attach the program to the kernel's own tracepoints, and undo that. map: `tracepoints'; program:
 * `happened'. -1 and an error: the kernel does not allow it. */
int dt_bpf_tracepoints_attach(struct dt_kernel_bpf *k, int map, int program, struct dt_error *e);
void dt_bpf_tracepoints_detach(struct dt_kernel_bpf *k);
/* Does the kernel count the hits at which it has not run the program? */
bool dt_bpf_tracepoints_counted(void);

/* Prepare for choosing among calls, and free what it has. */
int dt_bpf_choosing_open(struct dt_kernel_bpf *k, struct dt_error *e);
void dt_bpf_choosing_free(struct dt_kernel_bpf *k);
/* As the functions of session/kernel-source.h with these names. */
const char *dt_bpf_choosing_tell(void *ctx, uint64_t pc, uint32_t row,
				 const struct dt_conditions *c, const struct dt_kernel_sums *sums,
				 double ticks_per_ns);
void dt_bpf_choosing_end(void *ctx);
uint64_t dt_bpf_choosing_waits(void *ctx, uint64_t now_ns, bool end);
const struct dt_record *dt_bpf_choosing_take(void *ctx, size_t *n);
bool dt_bpf_choosing_left(void *ctx, size_t i, struct dt_left_out_row *row);
void dt_bpf_sums_take(void *ctx, const struct dt_kernel_summed *to, bool end);
/* As dt_kernel_told(). */
void dt_bpf_names_take(void *ctx, const struct dt_kernel_telling *to);

/* Makes the condition that the programs have. */
struct dt_bpf_condition dt_bpf_condition_of(const struct dt_condition *c);
/* Tells the programs what the sums want of the calls of a function, the n-th that is chosen among.
 * False: they can not be told. */
bool dt_bpf_sums_tell(struct dt_kernel_bpf *k, struct dt_bpf_told *f, uint32_t n,
		      const struct dt_kernel_sums *sums);

/* Loads the programs and attaches them; nothing is recorded yet. */
int dt_bpf_programs_load(struct dt_kernel_bpf *k, struct dt_error *e);
/* Removes them, and what is mapped. */
void dt_bpf_programs_unload(struct dt_kernel_bpf *k);
/* Counts the hits that programs have missed so far. */
uint64_t dt_bpf_programs_missed(const struct dt_kernel_bpf *k);

#endif
