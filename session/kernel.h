/* SPDX-License-Identifier: MIT */
/*
 * The kernel's device as a source of records for a session: what the traced processes do in the
 * kernel goes into the same file, on the same clock. Needs devtrace.ko, and whoever may open
 * /dev/tracectl: root. doc/kernel.md.
 */
#ifndef DT_SESSION_KERNEL_H
#define DT_SESSION_KERNEL_H

#include <sys/types.h>

#include "core/error.h"
#include "core/record.h"
#include "session/kernel-names.h"

struct dt_kernel; /* dt_kernel_take() by one thread, everything else by another */

/*
 * Prepares the device: functions that match one of the n patterns (n 0: none), stopped. everybody:
 * not only who dt_kernel_watch() is told of. NULL and an error when there is no device, when
 * somebody else uses it, or when it can not be used.
 */
struct dt_kernel *dt_kernel_open(const char *const *pattern, size_t n, unsigned cores,
				 bool everybody, struct dt_error *e);
/* How many functions are not traced, since they have gone with their modules meanwhile. */
unsigned long dt_kernel_gone(const struct dt_kernel *k);
/* The device is as it was at first; by the kernel, if this process is killed before. */
void dt_kernel_close(struct dt_kernel *k);

/* Commands of the device's language, whole lines. */
int dt_kernel_tell(const struct dt_kernel *k, struct dt_error *e, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Tracepoints of this session there, session/kernel-ranges.h. */
struct dt_kernel_points *dt_kernel_points(const struct dt_kernel *k);

/* Records what this process does, and the children that it makes from now on. */
int dt_kernel_watch(struct dt_kernel *k, pid_t pid, struct dt_error *e);
int dt_kernel_start(struct dt_kernel *k, struct dt_error *e);
void dt_kernel_stop(struct dt_kernel *k);

/*
 * Records of a core up to `until' (ticks; ~0: all there are), in the order of time; *n: how many.
 * *lost: missing in front of the one at *lost_at of them, or behind them all. They are the kernel's
 * own, in its ring, and stay there until the next call for this core.
 */
const struct dt_record *dt_kernel_take(struct dt_kernel *k, unsigned core, uint64_t until,
				       size_t *n, uint64_t *lost, size_t *lost_at);

/* How many records of a core the device has written, and for how many it had no place, as it counts
 * them itself. -1: it does not tell. */
int dt_kernel_written(const struct dt_kernel *k, unsigned core, uint64_t *records,
		      uint64_t *dropped);

/* Is it an address of the kernel? */
static inline bool dt_kernel_address(uint64_t pc)
{
	return pc >> 63;
}

/* What the kernel calls the function at pc. False: nothing is known. */
bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s);

/* Functions are going to be recorded: their signatures are needed. Not while they are. */
void dt_kernel_functions(struct dt_kernel *k);

/* The first function of that name. */
bool dt_kernel_named(const struct dt_kernel *k, const char *name, struct dt_kernel_symbol *s);

/* Its parameters and result as symbols/symtab.h describes them, by the kernel's BTF; "": not known.
 */
void dt_kernel_signature(struct dt_kernel *k, const char *name, char *out, size_t size);

#endif
