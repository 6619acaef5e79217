/* SPDX-License-Identifier: MIT */
/* What numbers mean while recording: functions, modules, threads, processes. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "session/lives.h"
#include "session/thread-table.h"

static char *copied(const char *text)
{
	return strdup(text ? text : "");
}

/* Makes the tables of functions large enough for a row. False: out of memory. */
static bool grow_functions(struct dt_sieve *v, uint32_t row)
{
	uint32_t n = row + 1 + row / 2;
	struct dt_function_info *more = realloc(v->function, n * sizeof(*more));
	bool *changes;

	if (!more)
		return false;
	memset(more + v->functions, 0, (n - v->functions) * sizeof(*more));
	v->function = more;
	changes = realloc(v->changes_stack, n * sizeof(*changes));
	if (!changes)
		return false;
	memset(changes + v->functions, 0, (n - v->functions) * sizeof(*changes));
	v->changes_stack = changes;
	v->functions = n;
	return true;
}

static bool changes_stack(const char *name)
{
	if (strncmp(name, "__", 2) == 0)
		name += 2;
	return !strcmp(name, "swapcontext") || !strcmp(name, "setcontext");
}

void dt_sieve_function(struct dt_sieve *v, int64_t row, const struct dt_function_row *f)
{
	struct dt_function_info *i;

	if (row <= 0 || row > UINT32_MAX / 2)
		return;
	if (row >= v->functions && !grow_functions(v, (uint32_t)row)) {
		v->no_memory = true;
		return;
	}
	i = &v->function[row];
	if (i->name)
		return;
	*i = (struct dt_function_info){.address = f->address,
				       .size = f->size,
				       .module = (uint32_t)f->module,
				       .line = (uint32_t)f->line,
				       .name = copied(f->name),
				       .file = copied(f->file),
				       .signature = copied(f->signature),
				       .others = copied(f->others)};
	if (!i->name || !i->file || !i->signature || !i->others)
		v->no_memory = true;
	else
		v->changes_stack[row] = changes_stack(i->name);
}

static const struct dt_function_info *function(const void *ctx, uint32_t row)
{
	const struct dt_sieve *v = ctx;

	return row < v->functions && v->function[row].name && v->function[row].file &&
			       v->function[row].signature
		       ? &v->function[row]
		       : NULL;
}

/* The rows of modules are asked about when their functions are met first: they are mapped then. */
static const char *module(const void *ctx, uint32_t row)
{
	const struct dt_sieve *v = ctx;
	const struct dt_session *s = v->session;

	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++)
			if (t->module[i].row == row)
				return dt_file_called(t->module[i].file, NULL);
	for (size_t i = 0; i < s->kernel_modules; i++)
		if (s->kernel_module[i].row == row)
			return s->kernel_module[i].name;
	return "";
}

static struct sieve_program *program_of(const struct dt_sieve *v, uint32_t pid)
{
	size_t i = v->programs;

	while (i && v->program[i - 1].pid != pid)
		i--;
	return i ? &v->program[i - 1] : NULL;
}

/* Names are those of the time at which a thread's first call is judged, or its process executes
 * another program. */
static void thread(const void *ctx, uint32_t tid, struct dt_meanings_thread *t)
{
	const struct dt_sieve *v = ctx;
	uint32_t pid = dt_thread_table_process(v->session, tid);
	const struct sieve_program *p = program_of(v, pid ? pid : tid);

	*t = (struct dt_meanings_thread){
		dt_lives_number(v->session, tid), dt_lives_number(v->session, pid ? pid : tid),
		dt_thread_table_known_name(v->session, tid), p ? p->exe : NULL};
}

void dt_sieve_thread(struct dt_sieve *v, uint32_t tid)
{
	dt_filter_forget(v->filter, tid);
}

void dt_sieve_process(struct dt_sieve *v, uint32_t pid, const char *exe)
{
	struct sieve_program *p = program_of(v, pid), *more;
	char *copy = strdup(exe);

	if (!p && v->programs == v->program_room) {
		size_t room = v->program_room ? 2 * v->program_room : 16;

		more = realloc(v->program, room * sizeof(*more));
		v->program = more ? more : v->program;
		v->program_room = more ? room : v->program_room;
	}
	if (!copy || (!p && v->programs == v->program_room)) {
		v->no_memory = true;
		free(copy);
		return;
	}
	if (!p) {
		p = &v->program[v->programs++];
		*p = (struct sieve_program){.pid = pid};
	}
	free(p->exe);
	p->exe = copy;
	dt_filter_forget(v->filter, pid);
}

static const struct dt_event_row *event(const void *ctx, uint64_t body)
{
	return NULL;
}

static const char *type(const void *ctx, uint32_t row)
{
	const struct dt_sieve *v = ctx;

	return dt_store_type_names(v->session->store, row);
}

struct dt_meanings dt_sieve_meanings(const struct dt_sieve *v, double ns_per_tick)
{
	return (struct dt_meanings){v, ns_per_tick, function, module, thread, event, type, false};
}
