/* SPDX-License-Identifier: MIT */
#include "session/unwinder.h"

#include <stdlib.h>
#include <string.h>

#include "hook/target-modules.h"
#include "session/describe.h"
#include "session/state.h"

#define ROWS   2048u /* of unwind tables, that are remembered */
#define PLACES 4096u /* addresses whose function is remembered */
#define STACKS 8192u /* that have been written, and are remembered */
#define ENDED  400

/* What the file's unwind table says at an address of it. */
struct row {
	const struct dt_file *file; /* NULL: not in use */
	uint64_t address;
	int found; /* as dt_symtab_unwind() returns it */
	struct dt_unwind_row row;
};

/* A caller that has been described. */
struct caller {
	int64_t module; /* 0: not in use */
	struct dt_backtrace_frame frame;
	bool is_main;
};

struct dt_unwinder {
	struct dt_session *session;
	struct row *row;
	struct caller *caller;
	struct written {
		uint64_t hash;
		int64_t stack; /* 0: not in use */
	} * written;
};

struct dt_unwinder *dt_unwinder_new(struct dt_session *s)
{
	struct dt_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->session = s;
	u->row = calloc(ROWS, sizeof(*u->row));
	u->caller = calloc(PLACES, sizeof(*u->caller));
	u->written = calloc(STACKS, sizeof(*u->written));
	if (u->row && u->caller && u->written)
		return u;
	dt_unwinder_free(u);
	return NULL;
}

void dt_unwinder_free(struct dt_unwinder *u)
{
	if (!u)
		return;
	free(u->row);
	free(u->caller);
	free(u->written);
	free(u);
}

/* ---- one step ---- */

/* A stack that is being unwound. */
struct unwinding {
	struct dt_unwinder *u;
	const struct dt_unwinder_call *call;
	struct dt_target *target;
	struct dt_unwind_registers r;
	bool exact; /* the address is where a signal came, and not behind a call */
	struct dt_backtrace_frame frame[DT_STACK_FRAMES];
	size_t n;
	char ended[ENDED];
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t hash_of(uint64_t a, uint64_t b)
{
	return (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
}

/* Finds what the table of the module's file says of an address of the file. */
static const struct row *row_of(struct dt_unwinder *u, const struct dt_module *m, uint64_t address)
{
	struct row *x = &u->row[hash_of((uintptr_t)m->file, address) >> 32 & (ROWS - 1)];
	struct dt_symtab *tab;

	if (x->file == m->file && x->address == address)
		return x;
	tab = dt_file_symtab(m->file);
	x->file = m->file;
	x->address = address;
	x->found = tab ? dt_symtab_unwind(tab, address, &x->row) : -1;
	return x;
}

/* Returns the description of a caller. */
static const struct caller *caller_of(struct unwinding *k, const struct dt_module *m, uint64_t pc,
				      const struct row *row)
{
	struct dt_unwinder *u = k->u;
	uint64_t at = k->exact ? pc : pc - 1;
	struct caller *x = &u->caller[hash_of((uint64_t)m->row, at) >> 32 & (PLACES - 1)];
	const char *file = NULL;
	unsigned line = 0;

	if (m->row && x->module == m->row && x->frame.address == pc)
		return x;
	*x = (struct caller){.module = m->row, .frame = {.address = pc, .file = ""}};
	x->frame.function = (uint32_t)dt_describe_caller(
		u->session, m, at - m->bias, row->found == 1 ? row->row.function : 0, &x->is_main);
	if (!dt_file_symtab(m->file) ||
	    !dt_symtab_line(m->file->symtab, at - m->bias, &file, &line) || !file)
		return x;
	x->frame.file = file; /* the symtab's, which lives as long as the session */
	x->frame.line = line;
	return x;
}

static const struct dt_module *module_of(struct unwinding *k, uint64_t pc)
{
	for (size_t i = 0; i < k->target->n; i++) {
		const struct dt_module *m = &k->target->module[i];

		if (pc >= m->low && pc < m->high)
			return m;
	}
	return NULL;
}

/* Says why it is not known who called the last caller. */
static void say_why(struct unwinding *k, const struct dt_module *m, const struct row *row,
		    enum dt_unwind_result result)
{
	const char *name = base_of(m->file->path);

	if (row->found < 0)
		dt_format(k->ended, ENDED, "no unwind table in %.200s", name);
	else if (!row->found)
		dt_format(k->ended, ENDED,
			  "the unwind table of %.200s has nothing about this place", name);
	else if (result == DT_UNWIND_DEEPER && k->call->cut)
		dt_format(k->ended, ENDED,
			  "the stack is deeper than the %lu bytes that were kept: --backtrace-size",
			  (unsigned long)k->call->stack.n);
	else if (result == DT_UNWIND_DEEPER)
		dt_format(k->ended, ENDED,
			  "the next caller is on another stack, or this one ends here");
	else
		dt_format(k->ended, ENDED, "the unwind table of %.200s does not fit the stack",
			  name);
}

/* Adds the caller of which the registers are known, and goes on to the next. False: it ends there.
 */
static bool add_caller(struct unwinding *k)
{
	uint64_t pc = dt_unwind_pc(&k->r);
	const struct dt_module *m = module_of(k, k->exact ? pc : pc - 1);
	enum dt_unwind_result result = DT_UNWIND_WRONG;
	const struct caller *caller;
	const struct row *row;

	if (!m) {
		k->frame[k->n++] = (struct dt_backtrace_frame){.address = pc, .file = ""};
		dt_format(
			k->ended, ENDED,
			"this address is in no file that is mapped: code made at run time, or the "
			"stack was not understood");
		return false;
	}
	row = row_of(k->u, m, (k->exact ? pc : pc - 1) - m->bias);
	caller = caller_of(k, m, pc, row);
	k->frame[k->n++] = caller->frame;
	if (caller->is_main)
		return false;
	if (row->found == 1)
		result = dt_unwind_step(&k->r, &row->row, &k->call->stack);
	if (result == DT_UNWIND_STEPPED) {
		k->exact = row->row.signal;
		return true;
	}
	if (result != DT_UNWIND_OUTERMOST)
		say_why(k, m, row, result);
	return false;
}

/* ---- whole stacks ---- */

static uint64_t hash_stack(const struct unwinding *k)
{
	uint64_t h = 0;

	for (size_t i = 0; i < k->n; i++)
		h = hash_of(hash_of(h, k->frame[i].address), k->frame[i].function);
	for (const char *p = k->ended; *p; p++)
		h = hash_of(h, (unsigned char)*p);
	return h;
}

/* Writes the stack, unless it was written before. */
static int write_stack(struct unwinding *k, struct dt_error *e)
{
	struct dt_unwinder *u = k->u;
	uint64_t hash = hash_stack(k);
	struct written *w = &u->written[hash >> 40 & (STACKS - 1)];
	struct dt_backtrace_row row = {
		.tid = k->call->tid, .function = k->call->function, .ticks = k->call->ticks};

	if (!w->stack || w->hash != hash) {
		w->hash = hash;
		w->stack = dt_store_stack(u->session->store, k->frame, k->n, k->ended, e);
	}
	row.stack = w->stack;
	return w->stack < 0 ? -1 : dt_store_backtrace(u->session->store, &row, e);
}

/* Returns the process with that id (session/lives.h), which may have ended; NULL: it is not known.
 */
static struct dt_target *target_of(struct dt_session *s, uint32_t pid)
{
	struct dt_target *t = s->first;

	while (t && t->id != pid)
		t = t->next;
	return t;
}

int dt_unwinder_keep(struct dt_unwinder *u, const struct dt_unwinder_call *c, struct dt_error *e)
{
	struct unwinding k = {.u = u, .call = c, .target = target_of(u->session, c->pid)};

	if (!k.target)
		dt_format(k.ended, ENDED, "the process of the call is not known");
	else if (!dt_unwind_begin(&k.r, &c->stack, c->kept))
		dt_format(k.ended, ENDED, "the stack could not be read");
	else
		while (add_caller(&k))
			if (k.n == DT_STACK_FRAMES) {
				dt_format(k.ended, ENDED, "further callers, of more than %u",
					  DT_STACK_FRAMES);
				break;
			}
	return write_stack(&k, e);
}
