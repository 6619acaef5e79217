/* SPDX-License-Identifier: MIT */
/* What symtab.c and symtab-apart.c share; for nobody else. */
#ifndef DT_SYMBOLS_SYMTAB_WORK_H
#define DT_SYMBOLS_SYMTAB_WORK_H

#include "elf/symtab-file.h"
#include "symbols/symtab.h"
#include "symbols/variable.h"

struct dt_symtab_alias {
	uint64_t address;
	const char *linkage;
	const char *name; /* demangled once asked for */
};

/* Who answers for a file that another process reads (symtab-apart.c): as the functions of symtab.h
 * and variable.h. */
struct dt_symtab_answers {
	void (*name)(struct dt_symtab *t, struct dt_function *f);
	void (*names)(struct dt_symtab *t); /* all of them */
	bool (*line)(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line);
	bool (*address)(struct dt_symtab *t, const char *file, size_t length, unsigned line,
			uint64_t *address);
	void (*signature)(struct dt_symtab *t, const struct dt_function *f, unsigned how, char *buf,
			  size_t size);
	bool (*type)(struct dt_symtab *t, uint64_t key, char *buf, size_t size);
	const struct dt_object *(*object)(struct dt_symtab *t, uint64_t address);
	int (*variable)(struct dt_symtab *t, uint64_t address, const char *expression,
			struct dt_variable *v, struct dt_error *e);
};

struct dt_symtab {
	struct dt_symfile main, debug; /* debug.fd -1: none */
	char *dirs;
	struct dt_function *function; /* name is NULL until asked for */
	bool *local;		      /* per function; of one apart, who reads it has that */
	uint64_t *reach;	      /* highest end of the functions up to this one */
	size_t functions;
	struct dt_symtab_alias *alias; /* sorted by address */
	size_t aliases;
	struct dt_object
		*object; /* sorted by address; none inside another; read when first asked for */
	size_t objects;
	bool objects_read;
	struct dt_symtab_kept *kept;
	struct dt_dwarf *dwarf;
	bool dwarf_tried;

	const struct dt_symtab_answers *apart; /* NULL: it is read here */
	int channel;			       /* to who reads it; -1: not any more */
	bool named;			       /* all names have been asked for */
	bool bare;			       /* it has no debug information */
	/* what was asked for last, of the address `at': its line, in source, NULL: not known; and
	 * its signature, as dt_symtab_described() */
	struct {
		uint64_t at;
		const char *source;
		unsigned line;
		char *signature;
	} last;
	struct dt_symtab_kept *file; /* names of sources, the last one that was asked for first */
};

/* Text that lives as long as the symtab. */
struct dt_symtab_kept {
	struct dt_symtab_kept *next;
	char text[];
};

const char *dt_symtab_keep(struct dt_symtab *t, const char *text, size_t n);
/* Has it debug information, or, of one apart, may it have some? */
bool dt_symtab_has_debug(struct dt_symtab *t);
/* Looks for the ends of functions that have no sizes, and makes `reach'. */
void dt_symtab_fill_sizes(struct dt_symtab *t);

/* A demangled name without parameters; "f [clone .cold]" becomes "f.cold". NULL: not mangled. */
const char *dt_symtab_demangle(struct dt_symtab *t, const char *linkage);
size_t dt_symtab_underscores(const char *name);

#endif
