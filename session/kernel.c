/* SPDX-License-Identifier: MIT */
/* Chooses who records the kernel, and knows its names. */
#include "session/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/now.h"
#include "session/kernel-names.h"
#include "session/kernel-points.h"
#include "session/kernel-source.h"
#include "session/options.h"

struct dt_kernel {
	struct dt_kernel_source source;
	struct dt_kernel_names *names;
	struct dt_kernel_points *points;
	struct dt_kernel_tracepoints tracepoints; /* of the kernel itself */
};

int dt_kernel_tell(const struct dt_kernel *k, struct dt_error *e, const char *format, ...)
{
	char command[4096];
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = dt_vformat(command, sizeof(command), format, ap);
	va_end(ap);
	if (n >= sizeof(command))
		return dt_fail(e,
			       "a command for the kernel's device is too long: %zu bytes, at most "
			       "%zu",
			       n, sizeof(command));
	return k->source.ops->tell(k->source.ctx, command, e);
}

/* Is something to be recorded that the module does not: threads, or system calls in full, of which
 * it does not read what their arguments lead to? Returns what, or NULL. */
static const char *not_the_modules(const struct dt_kernel_wanted *w)
{
	if (w->threads)
		return "who wakes threads is recorded";
	if (w->cgroup)
		return "what a control group does is recorded";
	if (w->tracepoints->n)
		return "the kernel's own tracepoints are recorded";
	for (size_t i = 0; i < w->n; i++)
		if (strstr(w->pattern[i], DT_KERNEL_CALLS))
			return "system calls are recorded in full";
	return NULL;
}

/* Opens the module's device or, where the module is not loaded, loads BPF programs. */
static int open_source(struct dt_kernel *k, const struct dt_kernel_wanted *w, struct dt_error *e)
{
	struct dt_error module = {""}, bpf = {""};
	struct dt_kernel_wanted by_bpf = *w;
	const char *what = not_the_modules(w);
	int rc;

	if (what) {
		if (dt_kernel_bpf_open(&k->source, w, k->names, &bpf) == 0)
			return 0;
		return dt_fail(e, "%s by BPF: %s", what, bpf.text);
	}
	rc = dt_kernel_module_open(&k->source, w, &module);
	if (rc <= 0) {
		if (rc < 0)
			dt_fail(e, "%s", module.text);
		return rc;
	}
	by_bpf.in_use = rc == DT_KERNEL_IN_USE;
	if (dt_kernel_bpf_open(&k->source, &by_bpf, k->names, &bpf) == 0)
		return 0;
	if (by_bpf.in_use)
		return dt_fail(e, "%s; and by BPF it is not recorded: %s", module.text, bpf.text);
	return dt_fail(
		e,
		"the kernel's module is not loaded ('modprobe devtrace' loads it once it "
		"is installed: devtrace-kernel(7)), and by BPF it is not recorded either: %s",
		bpf.text);
}

struct dt_kernel *dt_kernel_open(const char *const *pattern, size_t n, unsigned cores,
				 bool everybody, uint64_t cgroup, bool names, bool threads,
				 bool chooses, unsigned sums, struct dt_error *e)
{
	struct dt_kernel *k = calloc(1, sizeof(*k));
	struct dt_kernel_wanted wanted = {
		.pattern = pattern,
		.n = n,
		.cores = cores,
		.everybody = everybody,
		.cgroup = cgroup,
		.names = names,
		.threads = threads,
		.chooses = chooses,
		.sums = sums,
	};

	if (!k || !(k->points = dt_kernel_points_new())) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	wanted.tracepoints = &k->tracepoints;
	if (dt_kernel_tracepoints_choose(&k->tracepoints, pattern, n, e) < 0)
		goto fail;
	k->names = dt_kernel_names_open(e);
	if (!k->names)
		goto fail;
	if (open_source(k, &wanted, e) < 0)
		goto fail_names;
	if (n && dt_kernel_functions(k, e) < 0)
		goto fail_source;
	return k;
fail_source:
	k->source.ops->close(k->source.ctx);
fail_names:
	dt_kernel_names_close(k->names);
fail:
	if (k) {
		dt_kernel_tracepoints_free(&k->tracepoints);
		dt_kernel_points_free(k->points);
	}
	free(k);
	return NULL;
}

void dt_kernel_close(struct dt_kernel *k)
{
	if (!k)
		return;
	k->source.ops->close(k->source.ctx);
	dt_kernel_names_close(k->names);
	dt_kernel_points_free(k->points);
	dt_kernel_tracepoints_free(&k->tracepoints);
	free(k);
}

const char *dt_kernel_source_name(const struct dt_kernel *k)
{
	return k->source.ops->name;
}

bool dt_kernel_core_clocks(const struct dt_kernel *k)
{
	return k->source.ops->core_clocks;
}

void dt_kernel_note(const struct dt_kernel *k, char *text, size_t size)
{
	k->source.ops->note(k->source.ctx, text, size);
}

struct dt_kernel_points *dt_kernel_points(const struct dt_kernel *k)
{
	return k->points;
}

const struct dt_kernel_tracepoint *dt_kernel_tracepoint(const struct dt_kernel *k, uint64_t pc)
{
	return DT_BPF_IS_TRACEPOINT(pc) && DT_BPF_TRACEPOINT_OF(pc) < k->tracepoints.n
		       ? &k->tracepoints.all[DT_BPF_TRACEPOINT_OF(pc)]
		       : NULL;
}

int dt_kernel_functions(struct dt_kernel *k, struct dt_error *e)
{
	return dt_kernel_names_types(k->names, e);
}

bool dt_kernel_named(const struct dt_kernel *k, const char *name, struct dt_kernel_symbol *s)
{
	return dt_kernel_names_named(k->names, name, s);
}

int dt_kernel_watch(struct dt_kernel *k, pid_t pid, struct dt_error *e)
{
	return k->source.ops->watch(k->source.ctx, pid, e);
}

int dt_kernel_start(struct dt_kernel *k, struct dt_error *e)
{
	return k->source.ops->start(k->source.ctx, e);
}

void dt_kernel_stop(struct dt_kernel *k)
{
	k->source.ops->stop(k->source.ctx);
}

const struct dt_record *dt_kernel_take(struct dt_kernel *k, unsigned core, uint64_t until,
				       size_t *n, uint64_t *lost, size_t *lost_at)
{
	return k->source.ops->take(k->source.ctx, core, until, n, lost, lost_at);
}

int dt_kernel_written(const struct dt_kernel *k, unsigned core, uint64_t *records,
		      uint64_t *dropped)
{
	return k->source.ops->written(k->source.ctx, core, records, dropped);
}

size_t dt_kernel_stack(const struct dt_kernel *k, uint32_t number, uint64_t *address, size_t most)
{
	return number && k->source.ops->stack
		       ? k->source.ops->stack(k->source.ctx, number - 1, address, most)
		       : 0;
}

const char *dt_kernel_choose(struct dt_kernel *k, uint64_t pc, uint32_t row,
			     const struct dt_conditions *c, const struct dt_kernel_sums *sums,
			     double ticks_per_ns)
{
	if (k->source.ops->choose)
		return k->source.ops->choose(k->source.ctx, pc, row, c, sums, ticks_per_ns);
	return sums ? "devtrace's module records it" : NULL;
}

void dt_kernel_choose_end(struct dt_kernel *k)
{
	if (k->source.ops->choose_end)
		k->source.ops->choose_end(k->source.ctx);
}

uint64_t dt_kernel_waits(struct dt_kernel *k, bool end)
{
	return k->source.ops->waits ? k->source.ops->waits(k->source.ctx, dt_now_ns(), end) : ~0ull;
}

const struct dt_record *dt_kernel_late(struct dt_kernel *k, size_t *n)
{
	*n = 0;
	return k->source.ops->late ? k->source.ops->late(k->source.ctx, n) : NULL;
}

bool dt_kernel_left(struct dt_kernel *k, size_t i, struct dt_left_out_row *row)
{
	return k->source.ops->left && k->source.ops->left(k->source.ctx, i, row);
}

void dt_kernel_sums(struct dt_kernel *k, const struct dt_kernel_summed *to, bool end)
{
	if (k->source.ops->sums)
		k->source.ops->sums(k->source.ctx, to, end);
}

void dt_kernel_told(struct dt_kernel *k, const struct dt_kernel_telling *to)
{
	if (k->source.ops->told)
		k->source.ops->told(k->source.ctx, to);
}

bool dt_kernel_symbol(struct dt_kernel *k, uint64_t pc, struct dt_kernel_symbol *s)
{
	return dt_kernel_names_find(k->names, pc, s);
}

void dt_kernel_signature(struct dt_kernel *k, const char *name, char *out, size_t size)
{
	dt_kernel_names_signature(k->names, name, out, size);
}
