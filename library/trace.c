/* SPDX-License-Identifier: MIT */
/* libdevtrace: opening a trace, and its descriptions. */
#include "library/trace-work.h"

#include <stdlib.h>
#include <string.h>

#define FLAGS (DEVTRACE_VALUES | DEVTRACE_TEXTS | DEVTRACE_BY_TIME | DEVTRACE_POINTER_NAMES)

int dt_library_fail(struct devtrace_error *e, const struct dt_error *why)
{
	_Static_assert(sizeof(e->text) == sizeof(why->text), "an error fits");
	if (e)
		memcpy(e->text, why->text, sizeof(e->text));
	return -1;
}

void dt_library_give(void *out, size_t size, const void *from, size_t n)
{
	memcpy(out, from, size < n ? size : n);
	if (size > n)
		memset((char *)out + n, 0, size - n);
}

int dt_library_choice(const struct devtrace_choice *choice, struct devtrace_choice *to,
		      struct dt_reader_range *range, struct dt_error *e)
{
	*to = (struct devtrace_choice){.size = sizeof(*to)};
	if (choice && (choice->size < sizeof(choice->size) || choice->size > 4096))
		return dt_fail(e,
			       "the choice's size is %zu; it has to be "
			       "sizeof(struct devtrace_choice)",
			       choice->size);
	if (choice) {
		const char *p = (const char *)choice;

		for (size_t i = sizeof(*to); i < choice->size; i++)
			if (p[i])
				return dt_fail(e, "the choice has members that this version of "
						  "libdevtrace does not know: use a later one");
		memcpy(to, choice, choice->size < sizeof(*to) ? choice->size : sizeof(*to));
	}
	if (to->flags & ~FLAGS)
		return dt_fail(e,
			       "this version of libdevtrace does not know the flags 0x%x of the "
			       "choice: use a later one",
			       to->flags & ~FLAGS);
	if (to->flags & DEVTRACE_TEXTS)
		to->flags |= DEVTRACE_VALUES;
	*range = (struct dt_reader_range){.order = to->flags & DEVTRACE_BY_TIME ? DT_BY_TIME
										: DT_BY_THREAD,
					  .values = to->flags & DEVTRACE_VALUES,
					  .from = to->from,
					  .to = to->to};
	return 0;
}

PUBLIC int devtrace_interface(void)
{
	return DEVTRACE_INTERFACE;
}

PUBLIC struct devtrace *devtrace_open(const char *path, struct devtrace_error *e)
{
	struct devtrace *t = calloc(1, sizeof(*t));
	struct dt_error why = {""};

	if (!t)
		dt_fail(&why, "out of memory");
	else if (!path)
		dt_fail(&why, "no path was given");
	else if ((t->reader = dt_reader_open(path, &why)) &&
		 dt_reader_summary(t->reader, &t->summary, &why) == 0)
		return t;
	devtrace_close(t);
	dt_library_fail(e, &why);
	return NULL;
}

PUBLIC void devtrace_close(struct devtrace *t)
{
	if (!t)
		return;
	dt_reader_close(t->reader);
	free(t);
}

PUBLIC int devtrace_refresh(struct devtrace *t, struct devtrace_error *e)
{
	struct dt_error why = {""};

	if (dt_reader_refresh(t->reader, &why) || dt_reader_summary(t->reader, &t->summary, &why))
		return dt_library_fail(e, &why);
	return 0;
}

/* ---- the whole ---- */

PUBLIC void devtrace_get_summary(struct devtrace *t, struct devtrace_summary *s, size_t size)
{
	struct devtrace_summary all = {.records = t->summary.records,
				       .lost = t->summary.lost,
				       .first = t->summary.min_ticks,
				       .last = t->summary.max_ticks,
				       .ns_per_tick = dt_reader_ns_per_tick(t->reader),
				       .begin_realtime = DEVTRACE_UNKNOWN,
				       .cores = t->summary.cores,
				       .modules = dt_reader_modules(t->reader),
				       .functions = dt_reader_functions(t->reader)};
	size_t threads, processes;
	uint64_t ns;

	dt_reader_threads(t->reader, &threads);
	dt_reader_processes(t->reader, &processes);
	all.threads = (uint32_t)threads;
	all.processes = (uint32_t)processes;
	if (t->summary.records && dt_reader_realtime(t->reader, t->summary.min_ticks, &ns))
		all.begin_realtime = (int64_t)ns;
	dt_library_give(s, size, &all, sizeof(all));
}

PUBLIC const char *devtrace_meta(struct devtrace *t, const char *key)
{
	return dt_reader_meta(t->reader, key);
}

PUBLIC int64_t devtrace_ns(struct devtrace *t, uint64_t ticks)
{
	return dt_library_ns(t->reader, dt_reader_ns(t->reader, t->summary.min_ticks), ticks);
}

PUBLIC uint64_t devtrace_ticks(struct devtrace *t, int64_t ns)
{
	uint64_t low = t->summary.min_ticks, high = t->summary.max_ticks;

	/* the last tick has none after it */
	high += high < UINT64_MAX;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (devtrace_ns(t, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- descriptions ---- */

/* Says whether there is an i-th of n things; looks into the file, if there is not. */
#define THERE(t, i, n) ((i) < (n) || (devtrace_refresh(t, NULL) == 0 && (i) < (n)))

static size_t threads_of(struct devtrace *t)
{
	size_t n;

	dt_reader_threads(t->reader, &n);
	return n;
}

static size_t processes_of(struct devtrace *t)
{
	size_t n;

	dt_reader_processes(t->reader, &n);
	return n;
}

PUBLIC int devtrace_get_thread(struct devtrace *t, uint32_t i, struct devtrace_thread *out,
			       size_t size)
{
	const struct dt_thread_info *x;
	size_t n;

	if (!THERE(t, i, threads_of(t)))
		return -1;
	x = dt_reader_threads(t->reader, &n) + i;
	dt_library_give(out, size,
			&(struct devtrace_thread){x->tid, x->pid,
						  dt_reader_number(t->reader, x->tid), x->name},
			sizeof(struct devtrace_thread));
	return 0;
}

PUBLIC int devtrace_get_process(struct devtrace *t, uint32_t i, struct devtrace_process *out,
				size_t size)
{
	const struct dt_process_info *x;
	struct devtrace_process p;
	size_t n;

	if (!THERE(t, i, processes_of(t)))
		return -1;
	x = dt_reader_processes(t->reader, &n) + i;
	p = (struct devtrace_process){.id = x->pid,
				      .parent = x->ppid,
				      .number = dt_reader_number(t->reader, x->pid),
				      .status = x->status,
				      .begin_ticks = x->begin_ticks,
				      .end_ticks = x->end_ticks,
				      .program = x->exe,
				      .command = x->cmdline};
	dt_library_give(out, size, &p, sizeof(p));
	return 0;
}

PUBLIC int devtrace_get_module(struct devtrace *t, uint32_t id, struct devtrace_module *out,
			       size_t size)
{
	const struct dt_module_info *x;
	struct devtrace_module m;

	if (!id || !THERE(t, id - 1, dt_reader_modules(t->reader)))
		return -1;
	x = dt_reader_module(t->reader, id);
	m = (struct devtrace_module){id, x->pid, x->base, x->low, x->high, x->path, x->build_id};
	dt_library_give(out, size, &m, sizeof(m));
	return 0;
}

PUBLIC int devtrace_get_function(struct devtrace *t, uint32_t id, struct devtrace_function *out,
				 size_t size)
{
	const struct dt_function_info *x;
	struct devtrace_function f;

	if (!id || !THERE(t, id - 1, dt_reader_functions(t->reader)))
		return -1;
	x = dt_reader_function(t->reader, id);
	f = (struct devtrace_function){.id = id,
				       .module = x->module,
				       .address = x->address,
				       .size = x->size,
				       .line = x->line,
				       .name = *x->name ? x->name : "?",
				       .shown = dt_reader_function_name(t->reader, id),
				       .file = x->file};
	dt_library_give(out, size, &f, sizeof(f));
	return 0;
}
