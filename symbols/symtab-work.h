/* SPDX-License-Identifier: MIT */
/* What the files that implement symtab.h share. No other file includes this. */
#ifndef DT_SYMBOLS_SYMTAB_WORK_H
#define DT_SYMBOLS_SYMTAB_WORK_H

#include "elf/frames.h"
#include "elf/symtab-file.h"
#include "symbols/memo.h"
#include "symbols/symtab.h"
#include "symbols/variable.h"

/* A further name of a function. */
struct dt_symtab_alias {
	uint64_t address;
	const char *linkage;
	const char *name; /* demangled; NULL until it is asked for */
};

/* The functions that answer for a file which another process reads (symtab-apart.c), in place of
 * those of symtab.h and variable.h. */
struct dt_symtab_answers {
	void (*name)(struct dt_symtab *t, struct dt_function *f);
	void (*names)(struct dt_symtab *t); /* fills in all names */
	bool (*line)(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line);
	bool (*address)(struct dt_symtab *t, const char *file, size_t length, unsigned line,
			uint64_t *address);
	void (*signature)(struct dt_symtab *t, const struct dt_function *f, unsigned how, char *buf,
			  size_t size);
	bool (*type)(struct dt_symtab *t, uint64_t key, char *buf, size_t size);
	const struct dt_object *(*object)(struct dt_symtab *t, uint64_t address);
	int (*unwind)(struct dt_symtab *t, uint64_t address, struct dt_unwind_row *row);
	int (*variable)(struct dt_symtab *t, uint64_t address, const char *expression,
			struct dt_variable *v, struct dt_error *e);
	void (*end)(struct dt_symtab *t); /* nothing is asked any more */
};

/* The symbols of one file. */
struct dt_symtab {
	struct dt_symfile main, debug; /* debug.fd -1: none */
	struct dt_symfile mini;	       /* what main has in .gnu_debugdata; elf NULL: not read */
	char *dirs;
	struct dt_function *function; /* name is NULL until it is asked for */
	bool *local; /* one per function; NULL if the file is read apart, where the other process
			has it */
	uint64_t *reach; /* one per function: the highest end of the functions up to it */
	size_t functions;
	struct dt_symtab_alias *alias; /* sorted by address */
	size_t aliases;
	struct dt_object
		*object; /* sorted by address; none is inside another; read when first asked for */
	size_t objects;
	bool objects_read;
	struct dt_frames *frames; /* the unwind table; NULL: not read */
	struct dt_symtab_kept *kept;
	struct dt_dwarf *dwarf;
	bool dwarf_tried;
	bool late;		 /* the functions have not been read */
	bool named_whole;	 /* it has a .symtab: its own, or that of its debug file */
	char lacks[DT_BUILD_ID]; /* read apart: the debug file that is missing, "": none is */

	const struct dt_symtab_answers *apart; /* NULL: the file is read in this process */
	int channel;			       /* to the process that reads it; -1: it is closed */
	/* The file's memo; NULL: none. Who answers what is not in it, the process at `channel' or
	 * `reader' in this process, is only made when it is needed: unread. `tried' is reader's. */
	struct dt_memo *memo;
	struct dt_symtab *reader;
	struct dt_symfile_tried tried;
	bool unread;
	bool named; /* all names have been filled in */
	bool bare;  /* it has no debug information */
	/* The last answer, for the address `at': its line in source (NULL: not known), and its
	 * signature as from dt_symtab_described(). */
	struct {
		uint64_t at;
		const char *source;
		unsigned line;
		char *signature;
	} last;
	struct dt_symtab_kept *file; /* names of source files, most recently used first */
};

/*
 * Text that lives as long as the symtab. dt_symtab_keep() makes a copy, of n bytes and a NUL; NULL
 * if there is no memory.
 */
struct dt_symtab_kept {
	struct dt_symtab_kept *next;
	char text[];
};

const char *dt_symtab_keep(struct dt_symtab *t, const char *text, size_t n);
/* Does the file have debug information or, if it is read apart, may it have some? */
bool dt_symtab_has_debug(struct dt_symtab *t);
/*
 * Finds out whether a debug file is missing that would tell more of the file: its own, or the one
 * that dwz shares. Returns true and its build id if so. Not for a file that is read apart.
 */
bool dt_symtab_lacks(struct dt_symtab *t, char id[DT_BUILD_ID]);
/* Opens the debug file, unless it is open; false: there is none. */
bool dt_symtab_debug_file(struct dt_symtab *t);
/* Frees what dt_symtab_unwind() has read. */
void dt_symtab_forget_unwind(struct dt_symtab *t);
/* Reads the functions, unless they have been read. */
void dt_symtab_need_functions(struct dt_symtab *t);
/* Has the file a .symtab? */
bool dt_symtab_has_table(const struct dt_symfile *f);
/* bytes of all names per byte of the file, at most: few names share bytes with others */
#define DT_SYMTAB_NAMES_SHARE 8
/*
 * Returns the bytes of the file, its debug file and its .gnu_debugdata, which limit how many
 * symbols are read and how many bytes of names are copied: headers can put many tables and many
 * names into the same bytes of a file.
 */
size_t dt_symtab_bytes(const struct dt_symtab *t);
/* Finds the ends of functions that have no sizes, and fills in `reach'. */
void dt_symtab_fill_sizes(struct dt_symtab *t);

/*
 * Returns the demangled name without parameters, with "f [clone .cold]" as "f.cold"; NULL if the
 * name is not mangled. The symtab owns it.
 */
const char *dt_symtab_demangle(struct dt_symtab *t, const char *linkage);
/* Gives a function its names: full, which the symtab owns, or, if that is NULL, its linkage name.
 */
void dt_symtab_name(struct dt_symtab *t, struct dt_function *f, const char *full);
/* Returns how many underscores the name begins with. */
size_t dt_symtab_underscores(const char *name);

#endif
