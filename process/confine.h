/* SPDX-License-Identifier: MIT */
/*
 * Giving up rights, for a command that only reads. Before it looks at anything that it does not
 * trust, it lists what it will need, and gives up the rest for good: files and TCP by Landlock,
 * system calls by seccomp, root's capabilities, and gaining rights by executing a program. Where
 * the kernel or a container lacks one of these, the others still hold: doc/security.md. Files whose
 * names it can not know yet it gets from outside (process/outside.h).
 */
#ifndef DT_PROCESS_CONFINE_H
#define DT_PROCESS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "process/outside.h"

/* AddressSanitizer, and its search for leaks at the end, need more of the system. */
#ifdef __SANITIZE_ADDRESS__
#define DT_SANITIZED 1
#else
#define DT_SANITIZED 0
#endif

/* What is needed of a file, or of a folder and all that is in it. */
enum dt_need_kind {
	DT_NEED_READ,	 /* a file or a folder to read */
	DT_NEED_WRITE,	 /* a file that exists, to write */
	DT_NEED_FOLDER,	 /* a folder for making, writing and removing files; removed at the end */
	DT_NEED_ENTRIES, /* a folder for making, writing and removing files, which stays */
	DT_NEED_TRACE,	 /* a trace to read, with its log beside it, even if another file takes its
			  * name meanwhile */
	DT_NEED_CHANGED, /* a trace to write, with a journal beside it */
};

/* Flags for what else is needed. */
enum {
	DT_NEED_PROGRAMS = 1,  /* ELF files of any name, for the meaning of records */
	DT_NEED_CLIENTS = 2,   /* connections that others make */
	DT_NEED_SESSIONS = 4,  /* connections to sessions: sockets with a path */
	DT_NEED_CHILDREN = 8,  /* child processes, which confine themselves further */
	DT_NEED_FORKS = 64,    /* child processes as confined as itself, which it does not signal */
	DT_NEED_ALL_READ = 16, /* reading files of any name */
	DT_NEED_SOURCES = 128, /* source files of any name: dt_outside_is_source() */
	DT_NEED_ALL_FILES = 32, /* reading, writing, making and removing files of any name */
};

/* One file or folder that is needed. */
struct dt_need {
	enum dt_need_kind kind;
	const char *path;
};

/* All that is needed. Zeroed: nothing but the descriptors that are open. dt_confine() frees what it
 * holds. */
struct dt_needs {
	struct dt_need *need;
	size_t n;
	bool no_memory;	     /* the lists are not complete */
	unsigned flags;	     /* DT_NEED_PROGRAMS and the like */
	char temporary[512]; /* folder made by dt_needs_temporary(); "": none */
	bool done;	     /* dt_confine() has succeeded */
	struct dt_outside_list
		outside; /* what is got from outside: what is removed, moved, run, connected */
};

/* Adds a file or folder. path belongs to the caller, and must stay until dt_confine(). */
void dt_needs_add(struct dt_needs *s, enum dt_need_kind kind, const char *path);
/* Adds a file that may be removed; at_end: it is removed at the end, however this process ends. */
void dt_needs_removed(struct dt_needs *s, const char *path, bool at_end);
/* Adds a file that may be moved to `to', or removed. */
void dt_needs_place(struct dt_needs *s, const char *from, const char *to);

/* Makes a folder for the command's temporary files, to which TMPDIR leads from then on. Returns its
 * path, in *s; NULL: it can not be made, and the command has to do without. */
const char *dt_needs_temporary(struct dt_needs *s);

/* Confines this process to what it needs. It must have no other thread yet. -1 and the reason: it
 * is not confined, or not as far as it has to be. */
int dt_confine(struct dt_needs *s, struct dt_error *e);

/* Confines this process before it executes a program that is run outside: the program can read
 * everything, write only what *s has, and not use the kernel's ways into other processes. */
void dt_confine_program(const struct dt_needs *s);

/* Writes to text which means of confining there are here, for people: "Landlock 7, seccomp".
 * Returns text. */
const char *dt_confine_means(char *text, size_t size);

#endif
