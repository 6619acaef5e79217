/* SPDX-License-Identifier: MIT */
/* What the parts of the import from uftrace share; it is for them only. */
#ifndef DT_IMPORT_UFTRACE_WORK_H
#define DT_IMPORT_UFTRACE_WORK_H

#include "import/calls.h"
#include "import/folder.h"
#include "import/keys.h"

struct symbol {
	uint64_t address; /* in the file, or where it was mapped: has_absolute */
	char *name;	  /* NULL: what is before it ends here */
};

struct symbols {
	struct symbol *symbol; /* by address */
	size_t n, size;
};

struct mapping {
	uint64_t low, high;
	char *path;
	int64_t symbols; /* in uftrace.symbols */
};

/* The address space of the programs of a session, which has a file. */
struct map {
	struct mapping *mapping;
	size_t n, size;
};

/* A process has a map from a time on. */
struct space {
	uint32_t pid, map;
	int64_t ns;
};

struct task {
	uint32_t pid, parent; /* parent: of a process that was forked; 0: not known */
};

struct uftrace {
	struct dt_imported *m;
	struct dt_folder folder;
	struct dt_error *e;
	bool relative, sizes; /* of the symbols' addresses; they have sizes */
	struct space *space;  /* by process and time */
	uint32_t spaces, space_size;
	struct dt_name_list sessions;
	struct map *map; /* of each of these */
	uint32_t map_size;
	struct dt_key_list tids;
	struct task *task; /* of each of these */
	uint32_t task_size;
	struct dt_name_list symbol_files;
	struct symbols *symbols; /* of each of these */
	uint32_t symbols_size;
	struct dt_key_list known; /* functions: map and address */
	uint32_t *function;	  /* of each of these: in m->functions, + 1 */
	uint32_t function_size;
};

/* Reads which processes and threads there were (task.txt), with their maps and symbols. */
int dt_uftrace_tasks(struct uftrace *u);
void dt_uftrace_tasks_free(struct uftrace *u);
/* Returns the process of a thread. */
uint32_t dt_uftrace_process(const struct uftrace *u, uint32_t tid);
/* Returns the number of the map of a process at a time; -1: it is not known. *until: it is so until
 * then. */
int64_t dt_uftrace_map(const struct uftrace *u, uint32_t pid, int64_t ns, int64_t *until);
/* Returns the function of an address; -1: error. */
int64_t dt_uftrace_function(struct uftrace *u, int64_t map, uint64_t address);

#endif
