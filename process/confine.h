/* SPDX-License-Identifier: MIT */
/*
 * What a command that only reads does without. It says what it will need, before it looks at
 * anything that it does not trust, and gives up the rest for good: files and TCP by Landlock,
 * system calls by seccomp, root's capabilities, and new rights by what it executes. Where the
 * kernel, or a container, does not have one of these, the others hold: doc/security.md. What it
 * needs by name, and can not know yet, it gets from outside (process/outside.h).
 */
#ifndef DT_PROCESS_CONFINE_H
#define DT_PROCESS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "process/outside.h"

/* AddressSanitizer and its look for leaks at the end need more of the system, and say what they
 * find. */
#ifdef __SANITIZE_ADDRESS__
#define DT_SANITIZED 1
#else
#define DT_SANITIZED 0
#endif

/* Of files, what is there; of folders, what is in them. */
enum dt_need_kind {
	DT_NEED_READ,	 /* a file, or a folder */
	DT_NEED_WRITE,	 /* a file that is there */
	DT_NEED_FOLDER,	 /* files are made, written and removed in it; it is removed in the end */
	DT_NEED_ENTRIES, /* the same, of one that stays */
	DT_NEED_TRACE, /* it is read, with the log beside it, also when another has taken its place
			*/
	DT_NEED_CHANGED, /* a trace that is written to, with a journal beside it */
};

enum {
	DT_NEED_PROGRAMS = 1,	/* ELF files of any name, for what records mean */
	DT_NEED_CLIENTS = 2,	/* connections that others make */
	DT_NEED_SESSIONS = 4,	/* connections to sessions: sockets with a path */
	DT_NEED_CHILDREN = 8,	/* processes of its own, with less still */
	DT_NEED_FORKS = 64,	/* processes of its own that are as it is, and are left alone */
	DT_NEED_ALL_READ = 16,	/* files of any name */
	DT_NEED_ALL_FILES = 32, /* ... and written, made and removed */
};

struct dt_need {
	enum dt_need_kind kind;
	const char *path;
};

/* Zeroed: nothing but the files that are open. dt_confine() frees what is in it. */
struct dt_needs {
	struct dt_need *need;
	size_t n;
	bool no_memory; /* for the list */
	unsigned flags;
	char temporary[512]; /* its folder; "": none */
	bool done;	     /* it is confined */
	struct dt_outside_list
		outside; /* more that is got from outside: what is removed, moved, run, connected */
};

/* Something that is needed; path is the caller's, and stays until dt_confine(). */
void dt_needs_add(struct dt_needs *s, enum dt_need_kind kind, const char *path);
/* A file that may be removed; at_end: it is in the end, whatever becomes of this process. */
void dt_needs_removed(struct dt_needs *s, const char *path, bool at_end);
/* A file that may be moved to `to', or removed. */
void dt_needs_place(struct dt_needs *s, const char *from, const char *to);

/* Files for a while: a folder of the command's own, which TMPDIR leads to from now on. NULL: there
 * is no place for one; it has to do without. */
const char *dt_needs_temporary(struct dt_needs *s);

/* No thread but this one may run yet. -1: it is not confined, or not all that it has to be. */
int dt_confine(struct dt_needs *s, struct dt_error *e);

/* For a program that is run outside, in front of it: all is read, nothing written but what the list
 * has, and the kernel's ways into other processes are closed to it. */
void dt_confine_program(const struct dt_needs *s);

/* What there is of it here: "Landlock 7, seccomp", for people. */
const char *dt_confine_means(char *text, size_t size);

#endif
