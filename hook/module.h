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
#include "elf/thread-use.h"
#include "elf/imports.h"
#include "process/maps.h"
#include "symbols/names.h"
#include "hook/point.h"
#include "symbols/symtab.h"
#include "elf/usdt.h"

/* An ELF file that some process of the session has mapped. Fields called "the chooser's" are set
 * only by the session's dt_choose_fn and what belongs to it (session/ranges*.c). */
struct dt_file {
	struct dt_file *next; /* in struct dt_files */
	uint64_t inode;
	unsigned dev_major, dev_minor;
	struct timespec changed; /* time of the last modification, and */
	int64_t size;		 /* bytes, when the file was first seen */
	char *path;		 /* as the process sees it */
	char *called;	    /* its path, soname and names of links to it, separated by newlines;
			       NULL: only the path */
	char *readable;	    /* path by which the controller can open it; NULL: none */
	bool vdso;	    /* it is the kernel's vdso (hook/vdso.h), whose bytes are in: */
	int image;	    /* a file without a name */
	bool opened;	    /* dt_file_of() has read it, so elf is set: */
	struct dt_elf *elf; /* NULL: not a file devtrace can use */
	struct dt_symtab *symtab; /* NULL until asked for, see dt_file_symtab() */
	bool no_symtab;		  /* reading the symbols has failed */
	struct dt_names *names;	  /* NULL until asked for */
	bool asked;		  /* dt_choose_fn has been called for it */
	uint8_t *chosen;	  /* per site: 1: is to be switched on */
	size_t chosen_sites;	  /* how many are */
	bool went_off;		  /* the chooser's: a site that was chosen no longer is */
	uint8_t *once; /* the chooser's, per site: was chosen at some time. NULL: as in chosen */
	bool program;  /* the executable of a process that was named, not a library */
	bool caller;  /* the chooser's: crossing sites are recorded in calls that this file makes */
	bool unmeant; /* the chooser's: no function of it is asked for, so its code has not been
			 read */
	struct dt_code *code; /* NULL until asked for: see dt_file_code() in hook/probes.h */
	bool targets_read; /* sites whose target was a PLT entry have what that leads to, if it is
			      in this file */
	bool errno_read;   /* sets_errno has been found out: */
	bool sets_errno;   /* it is a library whose functions say by errno why they have failed */
	bool looked_for_execve;
	uint64_t execve; /* see dt_file_execve() */
	bool looked_for_clone3;
	uint64_t clone3; /* see dt_file_clone3() */
	bool probed;	 /* its functions have no sleds: its sites are its events and the places
			  * where probes can be */
	struct dt_passes *passes;   /* NULL until asked for: dt_file_nameless() */
	struct dt_imports *imports; /* NULL until asked for: dt_file_imports() */
	struct dt_points points;    /* needs code to be set */
	struct dt_gates gates;	    /* filled in by dt_gates_read() */
	uint32_t *by_function;	    /* the sites, in the order of their functions; NULL until
				     * asked for: dt_file_sites_of() */
	size_t indexed;		    /* how many sites there were then */
	/*
	 * The probes of a process that has ended, mapped at bias, from low to high: those that come
	 * get what was made for it (hook/probes-alike.c). NULL: none
	 */
	struct {
		struct dt_probes *probes;
		uint64_t bias, low, high, bytes;
	} donor;
	struct dt_plans_kept
		*kept;		  /* hook/probes-kept.c; NULL: nothing of it has been planted yet */
	struct dt_thread_use use; /* filled in by dt_thread_use_read() */
	struct dt_usdt *usdt;	  /* the USDT probes in it; NULL until asked for */
	struct dt_point **usdt_point; /* by USDT probe: its point, if it was ever wanted */
	/* the chooser's, by site: 1: an event of a subsystem that is off, or a site of a function
	 * that the budget does not allow */
	uint8_t *masked;
	bool late; /* what was masked last is not so in all processes yet: session/throttle.c */
	uint16_t *wanted; /* the chooser's, by site: by how many ranges it is wanted */
	/* the chooser's, by site: how many of these ranges want only the calls that certain modules
	 * make; NULL: none does */
	uint16_t *crossing;
	bool *hooked;	      /* by site: was hooked in a process that has ended; NULL: none was */
	const char **refused; /* by function of the code: one line saying why it could not be
			       * hooked, or NULL. NULL altogether: none was refused */
	/* by function of the code: the file calls it through its PLT, so of several versions for
	 * different processors it is the one in use; NULL: not known */
	bool *picked;
	struct dt_file_type {
		uint64_t key; /* dt_symtab_type() */
		int64_t row;  /* in the trace file; 0: none */
	} * type;	      /* types that have been written to the trace file */
	size_t types;
	/* the session's: where a module of this file was that has rows of functions in the trace
	 * file, and its row; row 0: there is none */
	struct {
		uint64_t bias;
		int64_t row;
	} described;
};

/* All files of a session. */
struct dt_files {
	struct dt_file *first;
	uint64_t donated; /* bytes of all donors */
	bool other_vdso;  /* a process had a vdso that is not ours: it is not hooked */
};

/* A file mapped in one process. */
struct dt_module {
	struct dt_file *file;
	uint64_t bias;	      /* run-time address minus the file's virtual address */
	uint64_t low, high;   /* the executable mapping */
	bool hooked;	      /* its hook slots are set */
	bool on;	      /* its chosen sites are switched on */
	int64_t row;	      /* its row in the trace file; 0: not written yet */
	int64_t functions;    /* row of the module whose rows of functions are this one's, too: its
				 own, or that of the same file at the same place in another process */
	uint64_t begin_ticks; /* when it was first seen mapped */
	uint64_t complete;  /* ticks since when all that is chosen of it is recorded; 0: nothing is
			       recorded yet */
	bool complete_told; /* the trace file has `complete' */
	bool again;  /* its probes are from when it was mapped here before: only their jumps are
		      * missing */
	bool failed; /* nothing could be planted in it, and planting is not tried again; */
	bool failed_told;	  /* this has been reported */
	bool unheard;		  /* it is a caller (dt_file.caller), but the hooks know as many
				     callers of the process as they can: see hook/target-from.h */
	bool unheard_told;	  /* this has been reported */
	char why[160];		  /* the reason */
	struct dt_probes *probes; /* of functions without sleds, and points; NULL: none planted */
	uint64_t stubs;		  /* of its sleds: hook/stubs.h; 0: none */
};

/*
 * Returns how many of the file's sites (chosen: of its chosen sites) are in Go's code, where there
 * can be no probes (elf/go.h).
 */
size_t dt_file_go_sites(const struct dt_file *f, bool chosen);

/*
 * Returns the indices of the sites of the function at an address, *n of them. NULL when there is no
 * memory, or none.
 */
const uint32_t *dt_file_sites_of(struct dt_file *f, uint64_t function, size_t *n);

/* Looks whether a site is wanted only in calls that certain modules make (hook/target-from.h). */
static inline bool dt_file_is_crossing(const struct dt_file *f, size_t site)
{
	return f->crossing && f->crossing[site] && f->crossing[site] == f->wanted[site];
}

/* Looks whether the records of the exits of its functions are to have errno instead of the high
 * half of xmm0: libraries none of whose functions returns a vector. */
bool dt_file_sets_errno(struct dt_file *f);

/* Looks whether the file has sites that are toggled in place (sleds, events), and so has hook
 * slots. */
bool dt_file_has_toggles(const struct dt_file *f);

/*
 * Chooses the sites that record nothing but call the hook to ask for something: one that asks for a
 * subsystem is chosen when an event of that subsystem is; a control site (by which a process opts
 * out) whenever f->chosen is set.
 */
void dt_file_choose_askers(struct dt_file *f);

/*
 * Returns the file's address of libc's instruction that puts clone3's number into eax before the
 * system call; 0: the file has none, or several. It is found by its bytes, since no symbol of
 * libc's clone3 survives stripping.
 */
uint64_t dt_file_clone3(struct dt_file *f);
/* Returns the address of execve in glibc, whose calls are recorded where it is led through the area
 * (target/exec.c): dt_file_execve_site() its entry's site, which is never hooked. 0, -1: it has
 * none. */
uint64_t dt_file_execve(struct dt_file *f);
int64_t dt_file_execve_site(struct dt_file *f);

/* Returns the file of a mapping of pid, from the cache or read from disk. NULL only when there is
 * no memory. The file is owned by `files'. */
struct dt_file *dt_file_of(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
/* Does what dt_file_of() does, but without reading the ELF file; a later dt_file_of() reads it. */
struct dt_file *dt_file_noted(struct dt_files *files, pid_t pid, const struct dt_mapping *m);
/*
 * Returns the names by which patterns may call the file, separated by newlines; the file owns the
 * text. name: a module's name from a pattern, or NULL. If it is that of a link to the file in the
 * file's own directory, with or without ".so", it belongs to the names from here on.
 */
const char *dt_file_called(struct dt_file *f, const char *name);
/* Frees all files and what belongs to them. */
void dt_files_free(struct dt_files *files);
/* Looks whether this is the file of a mapping, by device, inode and path. Its content may have
 * changed since. */
bool dt_file_is_of(const struct dt_file *f, const struct dt_mapping *m);
/* Returns the file's functions by name, owned by the file; NULL when there are none. */
const struct dt_names *dt_file_names(struct dt_file *f);
/* Returns the file's USDT probes, owned by the file; NULL: it has none, or it has events
 * (include/devtrace.h), whose notes look like USDT probes. */
const struct dt_usdt *dt_file_usdt(struct dt_file *f);
/* Looks whether the file may call functions of other files by that name (elf/imports.h). */
bool dt_file_imports(struct dt_file *f, const char *name);
/* Writes what the function at an address is called that the symbols do not name. What it passes on
 * to is known once the file's code has been read. */
void dt_file_nameless(struct dt_file *f, uint64_t address, char *out, size_t size);
/* Returns the file's symbols, owned by the file; NULL when they can not be read. */
struct dt_symtab *dt_file_symtab(struct dt_file *f);

#endif
