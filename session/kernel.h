/* SPDX-License-Identifier: MIT */
/*
 * The kernel's device as a source of records for a session: what the traced processes do in the
 * kernel goes into the same file, on the same clock. devtrace.ko records it, or BPF programs where
 * that is not loaded. Both are root's. doc/kernel.md.
 *
 * Functions that return int give 0, or -1 and an error.
 */
#ifndef DT_SESSION_KERNEL_H
#define DT_SESSION_KERNEL_H

#include <sys/types.h>

#include "core/error.h"
#include "core/record.h"
#include "filter/conditions.h"
#include "session/kernel-names.h"
#include "session/kernel-sums.h"
#include "session/kernel-telling.h"
#include "session/kernel-tracepoints.h"
#include "store/store.h"

struct dt_kernel; /* dt_kernel_take() is called by one thread, everything else by another */

/*
 * Prepares the device, stopped, to trace the functions that match one of the n patterns (n 0:
 * none). everybody: records all processes, not only those given to dt_kernel_watch(), with cgroup
 * those of this control group, by BPF (0: all). names: dt_kernel_told() will be called. threads:
 * which thread runs where is recorded, and who woke it (bpf/record.h), by BPF. chooses:
 * dt_kernel_choose() will be called; sums: with sums, of so many rows at most (0: without). Returns
 * NULL and an error when somebody else uses the device, or when there is none and BPF can not be
 * used.
 */
struct dt_kernel *dt_kernel_open(const char *const *pattern, size_t n, unsigned cores,
				 bool everybody, uint64_t cgroup, bool names, bool threads,
				 bool chooses, unsigned sums, struct dt_error *e);
/* Returns who records: "module" or "bpf". */
const char *dt_kernel_source_name(const struct dt_kernel *k);
/* Are the times of its records of the clock of the core that they were made on? Else they are of
 * the first core's. */
bool dt_kernel_core_clocks(const struct dt_kernel *k);
/* Writes what the user should know, such as functions that are not recorded and why; "": nothing.
 */
void dt_kernel_note(const struct dt_kernel *k, char *text, size_t size);
/* Puts the device back as it was and frees k; NULL is allowed. The kernel puts it back itself when
 * this process is killed before. */
void dt_kernel_close(struct dt_kernel *k);

/* Gives the kernel's device commands of the device language, in whole lines. BPF refuses them. */
int dt_kernel_tell(const struct dt_kernel *k, struct dt_error *e, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns this session's tracepoints in the kernel (session/kernel-ranges.h). */
struct dt_kernel_points *dt_kernel_points(const struct dt_kernel *k);

/* Returns the kernel's own tracepoint that a record's pc stands for; NULL: none. */
const struct dt_kernel_tracepoint *dt_kernel_tracepoint(const struct dt_kernel *k, uint64_t pc);

/* Has process pid recorded, and the children that it makes from now on. One that has ended is no
 * error. */
int dt_kernel_watch(struct dt_kernel *k, pid_t pid, struct dt_error *e);
/* Gives what has been told of threads and processes since the last time: nothing, where the module
 * records. */
void dt_kernel_told(struct dt_kernel *k, const struct dt_kernel_telling *to);
/* Start and stop recording. */
int dt_kernel_start(struct dt_kernel *k, struct dt_error *e);
void dt_kernel_stop(struct dt_kernel *k);

/*
 * Returns the records of a core up to `until' (ticks; ~0: all there are), in the order of time; *n
 * is how many. *lost are missing before the record with index *lost_at, which may be *n: at the
 * end. The records may be in the kernel's own ring and stay valid until the next call for this
 * core.
 */
const struct dt_record *dt_kernel_take(struct dt_kernel *k, unsigned core, uint64_t until,
				       size_t *n, uint64_t *lost, size_t *lost_at);

/* Gives the kernel's stack with that number, of a record of a thread: its return addresses, the
 * innermost first. Returns how many there are; 0: it is not known. */
size_t dt_kernel_stack(const struct dt_kernel *k, uint32_t number, uint64_t *address, size_t most);

/* Tells how many records of a core the device has written, and for how many it had no room, as it
 * counts them itself. Returns -1 when it does not tell. */
int dt_kernel_written(const struct dt_kernel *k, unsigned core, uint64_t *records,
		      uint64_t *dropped);

/*
 * Choosing among calls where they are made: of the function at pc, which the table `function' has
 * in that row, only those calls are recorded from now on of which these conditions are true. The
 * source may not do that, or not for all. sums: what is left out is summed up by these; NULL: it is
 * not. Returns NULL, or why it is not. By the recorder thread, as all of these.
 */
const char *dt_kernel_choose(struct dt_kernel *k, uint64_t pc, uint32_t row,
			     const struct dt_conditions *c, const struct dt_kernel_sums *sums,
			     double ticks_per_ns);
/* All calls are recorded that begin from now on, and of others the ends. */
void dt_kernel_choose_end(struct dt_kernel *k);
/*
 * Begins a round: returns the ticks from which on entries may come later, of calls that are open
 * and whose end decides; ~0: none will. end: nothing is recorded any more, and all of them are
 * given. Their exits come with the other records of their cores.
 */
uint64_t dt_kernel_waits(struct dt_kernel *k, bool end);
/* Returns the entries that came later in this round: after all cores' records have been taken. Each
 * says which core it is of. Valid until the next round. */
const struct dt_record *dt_kernel_late(struct dt_kernel *k, size_t *n);
/* Gives what was left out of the i-th function since it was asked last. False: there are not so
 * many. */
bool dt_kernel_left(struct dt_kernel *k, size_t i, struct dt_left_out_row *row);
/* Gives what has been summed up since it was asked last. end: nothing is recorded any more, and the
 * calls that are open are given, too, once. */
void dt_kernel_sums(struct dt_kernel *k, const struct dt_kernel_summed *to, bool end);

/* Tells whether pc is an address of the kernel. */
static inline bool dt_kernel_address(uint64_t pc)
{
	return pc >> 63;
}

/* Finds the function that contains pc. False: nothing is known. */
bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s);

/* Reads the types of the kernel's functions, by which their signatures are known. Has to be called
 * before functions are recorded, not while they are. -1 and an error: libbpf is missing. */
int dt_kernel_functions(struct dt_kernel *k, struct dt_error *e);

/* Finds the first function with that name. False: there is none. */
bool dt_kernel_named(const struct dt_kernel *k, const char *name, struct dt_kernel_symbol *s);

/* Writes the parameters and the result of the function with that name in the form of
 * symbols/symtab.h, by the kernel's BTF; "": not known. */
void dt_kernel_signature(struct dt_kernel *k, const char *name, char *out, size_t size);

#endif
