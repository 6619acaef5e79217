/* SPDX-License-Identifier: MIT */
/*
 * A module: an ELF file mapped into a process. The file's own facts (sites, symbols) are read once
 * per file and shared by all processes of the session.
 */
#ifndef DT_PROCESS_MODULE_H
#define DT_PROCESS_MODULE_H

#include <sys/types.h>
#include "core/error.h"
#include "process/elf.h"
#include "process/maps.h"
#include "process/symtab.h"

struct dt_file {
	struct dt_file *next;
	uint64_t inode;
	unsigned dev_major, dev_minor;
	char *path;	     /* as the process sees it */
	char *readable;	     /* where the controller can open it */
	struct dt_elf *elf;  /* NULL: not a file devtrace can use */
	struct dt_symtab *symtab; /* NULL until asked for, see dt_file_symtab() */
	bool no_symtab;
	uint8_t *chosen;     /* per site: is to be switched on */
	size_t chosen_sites;
};

struct dt_files {
	struct dt_file *first;
};

struct dt_module {
	struct dt_file *file;
	uint64_t bias;	    /* run-time address minus the file's virtual address */
	uint64_t low, high; /* the executable mapping */
	bool hooked;	    /* its hook slots are set */
	bool on;	    /* its chosen sites are switched on */
	int64_t row;	    /* of the trace file; 0: not written yet */
	uint64_t begin_ticks;
};

/* Picks sites of a file. */
typedef bool dt_which_fn(void *ctx, const struct dt_file *f, const struct dt_elf_site *site);

/* Chooses the sites that `which' picks, or leaves them out. */
void dt_file_choose(struct dt_file *f, dt_which_fn *which, void *ctx, bool on);
/*
 * Sites that record nothing follow the others: one that asks for a subsystem is chosen when an event
 * of that is, the one that opts out when anything of the file is.
 */
void dt_file_choose_askers(struct dt_file *f);

/* The file behind a mapping of pid, from the cache or read now. Never NULL but without memory. */
struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
void dt_files_free(struct dt_files *files);
/* Its symbols; NULL when they can not be read. */
struct dt_symtab *dt_file_symtab(struct dt_file *f);

#endif
