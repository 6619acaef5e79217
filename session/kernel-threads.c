/* SPDX-License-Identifier: MIT */
/* Names of threads of which only the kernel is recorded. */
#include "session/kernel-threads.h"

#include <stdlib.h>
#include <string.h>

#include "process/status.h"
#include "session/kernel.h"
#include "session/lives.h"
#include "session/processes.h"
#include "session/thread-table.h"
#include "store/sites.h"

#define NONE	 UINT32_MAX
#define PROGRAMS 512 /* that are kept of processes of which no record has been read yet */

/* What a process has executed, as it was told. */
struct program {
	uint32_t process; /* 0: none */
	uint64_t ticks;
	char *program, *arguments;
};

struct dt_kernel_threads {
	struct dt_pids noted;	 /* processes that have a row: their parents */
	struct dt_pids parents;	 /* of the others, as it was told */
	struct dt_pids executed; /* those that have executed something: 1 */
	struct program program[PROGRAMS];
	unsigned next; /* of `program' */
};

struct dt_kernel_threads *dt_kernel_threads_new(void)
{
	return calloc(1, sizeof(struct dt_kernel_threads));
}

static void drop(struct program *p)
{
	free(p->program);
	free(p->arguments);
	*p = (struct program){0};
}

void dt_kernel_threads_free(struct dt_kernel_threads *t)
{
	for (unsigned i = 0; t && i < PROGRAMS; i++)
		drop(&t->program[i]);
	if (t) {
		dt_pids_free(&t->noted);
		dt_pids_free(&t->parents);
		dt_pids_free(&t->executed);
	}
	free(t);
}

/* ---- processes ---- */

/* Writes that a process has executed a program. first: nothing was written of it before. */
static void store(struct dt_session *s, uint32_t process, const struct program *p, bool first)
{
	uint32_t parent = dt_pids_get(&s->kernel_threads->noted, process);
	uint32_t id = dt_lives_now(s, process);

	parent = parent == NONE ? 0 : dt_lives_now(s, parent);
	if (!s->store)
		return;
	/* the program that the process was, by which it does not want to be called */
	if (strcmp(p->program, "/proc/self/exe") == 0)
		dt_store_process_like(s->store, id, parent, first ? parent : id, p->arguments,
				      p->ticks, NULL);
	else
		dt_store_process(s->store, id, parent, p->program, p->arguments, p->ticks, NULL);
}

/* Writes the programs that a process has executed before it was noted. False: none was told. */
static bool store_told(struct dt_session *s, uint32_t process)
{
	struct dt_kernel_threads *t = s->kernel_threads;
	bool any = false;

	for (unsigned i = 0; i < PROGRAMS; i++) {
		struct program *p = &t->program[(t->next + i) % PROGRAMS];

		if (p->process != process)
			continue;
		store(s, process, p, !any);
		drop(p);
		any = true;
	}
	return any;
}

/*
 * Notes a process of which the first record is read, unless it has been noted. lives: it was in
 * /proc a moment ago; one that has gone, and has executed nothing, was as its parent.
 */
static void note(struct dt_session *s, uint32_t process, uint64_t ticks, bool lives)
{
	struct dt_kernel_threads *t = s->kernel_threads;
	char program[4096] = "", arguments[4096] = "";
	uint32_t parent = 0;
	bool like;

	if (dt_pids_get(&t->noted, process))
		return;
	if (lives) {
		parent = (uint32_t)dt_status_parent((pid_t)process);
		dt_process_program((pid_t)process, program, sizeof(program), arguments,
				   sizeof(arguments));
	}
	if (lives && !program[0]) { /* a thread of the kernel, or it has ended since */
		dt_kernel_threads_told(s);
		lives = false;
	}
	if (!parent)
		parent = dt_pids_get(&t->parents, process);
	/* the parent may not be known, or be in another PID namespace */
	if (dt_pids_set(&t->noted, process, parent ? parent : NONE) || store_told(s, process))
		return;
	/* what it has executed may have been told, and have had no room */
	parent = parent == NONE || dt_pids_get(&t->executed, process) ? 0 : parent;
	like = !lives && parent && dt_pids_get(&t->noted, parent);
	if (like && s->store)
		dt_store_process_like(s->store, dt_lives_now(s, process), dt_lives_now(s, parent),
				      dt_lives_now(s, parent), NULL, ticks, NULL);
	if (like)
		return;
	if (!lives && parent)
		dt_process_program((pid_t)parent, program, sizeof(program), arguments,
				   sizeof(arguments));
	store(s, process, &(struct program){process, ticks, program, arguments}, true);
}

/* ---- threads ---- */

/* Is the thread that has a number now the one that had it when r was made? What /proc tells of its
 * beginning is in steps of 10 ms. */
static bool is_same(const struct dt_session *s, const struct dt_record *r)
{
	uint64_t made = dt_status_made((pid_t)dt_lives_number(s, r->tid)), now = dt_status_now();
	double ago = (double)(int64_t)(dt_ticks() - r->ticks) / s->ticks_per_ns;

	return made && (double)made <= (double)now + 2 - ago / 1e7;
}

/* Finds the process of a thread of whose records the first is r, by its number, and its name; 0: it
 * is not known. */
static uint32_t find(struct dt_session *s, const struct dt_record *r, char *name, size_t size)
{
	uint32_t number = dt_lives_number(s, r->tid), process;
	unsigned tgid;

	name[0] = '\0';
	if (is_same(s, r) && dt_status_number((pid_t)number, "Tgid", &tgid) && tgid)
		dt_thread_table_name(number, name, size);
	if (name[0]) {
		note(s, tgid, r->ticks, true);
		return tgid;
	}
	/* it may have ended since the last telling, or while /proc was read: then it has told */
	dt_kernel_threads_told(s);
	process = dt_lives_number(s, dt_thread_table_process(s, r->tid));
	dt_format(name, size, "%s", dt_thread_table_known_name(s, r->tid));
	if (process)
		note(s, process, r->ticks, false);
	return process;
}

void dt_kernel_threads_note(struct dt_session *s, const struct dt_record *r)
{
	char name[64];
	uint32_t process;

	if (r->tid == DT_NO_TID || dt_thread_table_recorded(s, r->tid))
		return;
	if (r->kind && !dt_kind_is_about(r->kind))
		dt_lives_seen(s, r->tid, r->ticks);
	/* before /proc is looked at: what is told later has happened later */
	dt_kernel_threads_told(s);
	process = find(s, r, name, sizeof(name));
	dt_thread_table_note(s, r->tid, process ? dt_lives_now(s, process) : 0, name);
}

static void on_thread(void *ctx, uint32_t tid, uint32_t process, uint32_t parent, bool born,
		      const char *name)
{
	struct dt_session *s = ctx;

	/* what one that was there before has executed is not known */
	if (!dt_pids_get(&s->kernel_threads->noted, process))
		dt_pids_set(&s->kernel_threads->parents, process, born && parent ? parent : NONE);
	dt_thread_table_told(s, dt_lives_now(s, tid), dt_lives_now(s, process), name);
}

/* Returns the whole path of a program that was named relative to some folder, if the process is
 * still there, and still it; else its name. */
static const char *whole(uint32_t process, const char *program, char *path, size_t size)
{
	const char *name = strrchr(program, '/'), *found;
	char arguments[2];

	if (program[0] == '/')
		return program;
	dt_process_program((pid_t)process, path, size, arguments, sizeof(arguments));
	found = strrchr(path, '/');
	return found && strcmp(found + 1, name ? name + 1 : program) == 0 ? path : program;
}

static void on_program(void *ctx, uint32_t process, uint64_t ticks, const char *told,
		       const char *arguments)
{
	struct dt_session *s = ctx;
	struct dt_kernel_threads *t = s->kernel_threads;
	struct program *p = &t->program[t->next];
	char path[4096];
	const char *program = whole(process, told, path, sizeof(path));

	if (dt_pids_get(&t->noted, process)) {
		store(s, process,
		      &(struct program){process, ticks, (char *)program, (char *)arguments}, false);
		return;
	}
	dt_pids_set(&t->executed, process, 1);
	drop(p);
	*p = (struct program){process, ticks, strdup(program), strdup(arguments)};
	if (!p->program || !p->arguments)
		drop(p);
	t->next = (t->next + 1) % PROGRAMS;
}

void dt_kernel_threads_told(struct dt_session *s)
{
	dt_kernel_told(s->kernel, &(struct dt_kernel_telling){s, on_thread, on_program});
}
