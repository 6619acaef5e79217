/* SPDX-License-Identifier: MIT */
/*
 * A module: an ELF file mapped into a process. The file's own facts (sites, symbols) are read once
 * per file and shared by all processes of the session.
 */
#ifndef DT_HOOK_MODULE_H
#define DT_HOOK_MODULE_H

#include <sys/types.h>
#include <time.h>
#include "core/error.h"
#include "symbols/code.h"
#include "elf/elf.h"
#include "elf/gates.h"
#include "process/maps.h"
#include "symbols/names.h"
#include "hook/point.h"
#include "symbols/symtab.h"
#include "elf/usdt.h"

struct dt_file {
	struct dt_file *next;
	uint64_t inode;
	unsigned dev_major, dev_minor;
	struct timespec changed; /* its content, */
	int64_t size;		 /* as it was when it was first seen */
	char *path;		 /* as the process sees it */
	char *called;	    /* its path, and behind newlines its soname and names of links to it */
	char *readable;	    /* where the controller can open it */
	bool opened;	    /* has been looked into: */
	struct dt_elf *elf; /* NULL: not a file devtrace can use */
	struct dt_symtab *symtab; /* NULL until asked for, see dt_file_symtab() */
	bool no_symtab;
	struct dt_names *names; /* NULL until asked for */
	bool asked;		/* dt_choose_fn has been */
	uint8_t *chosen;	/* per site: is to be switched on */
	size_t chosen_sites;
	bool went_off; /* the chooser's: a site has, which was chosen */
	uint8_t *once; /* the chooser's, per site: has been chosen at some time. NULL: as chosen */
	bool program;  /* of a process that was named, not a library */
	bool unmeant;  /* the chooser's: none of its functions is meant, so its code has not been
			  looked at */
	struct dt_code *code; /* NULL until asked for: see hook/probes.h */
	bool looked_for_clone3;
	uint64_t clone3; /* see dt_file_clone3() */
	bool probed;	 /* its functions have no sleds: its sites are where probes can be, and
			  * its events */
	struct dt_points points;      /* of a file that has code */
	struct dt_gates gates;	      /* once they have been read */
	struct dt_usdt *usdt;	      /* the probes it has in itself; NULL until asked for */
	struct dt_point **usdt_point; /* by probe, those that have been wanted */
	uint8_t *masked;	      /* by site: an event of a subsystem that is off */
	uint16_t *wanted;	      /* the chooser's: by how many each is */
	bool *hooked;		      /* by site: it was, in a process that has ended; NULL: none */
	const char **refused; /* by function of the code: why it could not be hooked, in a line;
			       * NULL: it could, or was not tried. NULL: all could */
	struct dt_file_type {
		uint64_t key; /* dt_symtab_type() */
		int64_t row;  /* in the trace file; 0: none */
	} * type;	      /* those that have been described */
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
	uint64_t complete;  /* ticks: from then on all that was chosen of it is recorded; 0: nothing
			       is */
	bool complete_told; /* the file has that */
	bool again;  /* its probes are those it had when it was here before: their jumps are missing
		      */
	bool failed; /* nothing could be planted in it, and is not tried again: */
	bool failed_told;
	char why[160];
	struct dt_probes *probes; /* of functions without sleds, and points; NULL: none planted */
};

/*
 * How many of its sites are in Go's code, where there can be no probes (elf/go.h); chosen: of
 * those that are chosen.
 */
size_t dt_file_go_sites(const struct dt_file *f, bool chosen);

/* Has it sites that are toggled where they are: sleds, events? Then it has hook slots. */
bool dt_file_has_toggles(const struct dt_file *f);

/*
 * Sites that record nothing follow the others: one that asks for a subsystem is chosen when an
 * event of that is, the one that opts out when anything of the file is.
 */
void dt_file_choose_askers(struct dt_file *f);

/*
 * The instruction of libc that puts clone3's number into eax, in front of the system call; 0: the
 * file has none. libc's clone3 has no name that stripping leaves.
 */
uint64_t dt_file_clone3(struct dt_file *f);

/* The file behind a mapping of pid, from the cache or read now. Never NULL but without memory. */
struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
/* The same without a look into it, which dt_file_of() has later. */
struct dt_file *dt_file_noted(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
/*
 * By what it is called in patterns. name: a module of theirs, which may be that of a link beside
 * the file, and then belongs to its names from here on; NULL: none.
 */
const char *dt_file_called(struct dt_file *f, const char *name);
void dt_files_free(struct dt_files *files);
/* Is it the file of a mapping, by number and name? Its content may have changed. */
bool dt_file_is_of(const struct dt_file *f, const struct dt_mapping *m);
/* Its functions by name; NULL when there are none. */
const struct dt_names *dt_file_names(struct dt_file *f);
/* Its USDT probes; NULL: none, or they are only its own events (include/devtrace.h). */
const struct dt_usdt *dt_file_usdt(struct dt_file *f);
/* Its symbols; NULL when they can not be read. */
struct dt_symtab *dt_file_symtab(struct dt_file *f);

#endif
