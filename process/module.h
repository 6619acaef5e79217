/* SPDX-License-Identifier: MIT */
/*
 * A module: an ELF file mapped into a process. The file's own facts (sites, symbols) are read once
 * per file and shared by all processes of the session.
 */
#ifndef DT_PROCESS_MODULE_H
#define DT_PROCESS_MODULE_H

#include <sys/types.h>
#include "core/error.h"
#include "process/code.h"
#include "process/elf.h"
#include "process/maps.h"
#include "process/names.h"
#include "process/point.h"
#include "process/symtab.h"
#include "process/usdt.h"

struct dt_file {
	struct dt_file *next;
	uint64_t inode;
	unsigned dev_major, dev_minor;
	char *path;	     /* as the process sees it */
	char *readable;	     /* where the controller can open it */
	struct dt_elf *elf;  /* NULL: not a file devtrace can use */
	struct dt_symtab *symtab; /* NULL until asked for, see dt_file_symtab() */
	bool no_symtab;
	struct dt_names *names;	  /* NULL until asked for */
	bool asked;	     /* dt_choose_fn has been */
	uint8_t *chosen;     /* per site: is to be switched on */
	size_t chosen_sites;
	bool program;	      /* of a process that was named, not a library */
	struct dt_code *code; /* NULL until asked for: see process/probes.h */
	bool probed;	      /* its functions have no sleds: its sites are where probes can be, and
			       * its events */
	struct dt_points points;  /* of a file that has code */
	struct dt_usdt *usdt;	  /* the probes it has in itself; NULL until asked for */
	struct dt_point **usdt_point; /* by probe, those that have been wanted */
	uint8_t *masked;     /* by site: an event of a subsystem that is off */
	uint16_t *wanted;    /* the chooser's: by how many each is */
	bool *hooked;	     /* by site: it was, in a process that has ended; NULL: none */
	struct dt_file_type {
		uint64_t key; /* dt_symtab_type() */
		int64_t row;  /* in the trace file; 0: none */
	} *type;	      /* those that have been described */
	size_t types;
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
	struct dt_probes *probes; /* of functions without sleds, and points; NULL: none planted */
};

/* Has it sites that are toggled where they are: sleds, events? Then it has hook slots. */
bool dt_file_has_toggles(const struct dt_file *f);

/*
 * Sites that record nothing follow the others: one that asks for a subsystem is chosen when an event
 * of that is, the one that opts out when anything of the file is.
 */
void dt_file_choose_askers(struct dt_file *f);

/* The file behind a mapping of pid, from the cache or read now. Never NULL but without memory. */
struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
void dt_files_free(struct dt_files *files);
/* Its functions by name; NULL when there are none. */
const struct dt_names *dt_file_names(struct dt_file *f);
/* Its USDT probes; NULL: none, or they are only its own events (include/devtrace.h). */
const struct dt_usdt *dt_file_usdt(struct dt_file *f);
/* Its symbols; NULL when they can not be read. */
struct dt_symtab *dt_file_symtab(struct dt_file *f);

#endif
