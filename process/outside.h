/* SPDX-License-Identifier: MIT */
/*
 * What a process that has confined itself (process/confine.h) still gets from outside. Before it
 * does so, it forks a small process, the process outside, which keeps its rights and does what it
 * is asked for, if that is on a list made before anything hostile was read: it opens, removes and
 * moves files of listed names, opens executables and source files, and runs the listed program or
 * makes the listed connection. It reads nothing but the requests, and ends when the confined
 * process does.
 */
#ifndef DT_PROCESS_OUTSIDE_H
#define DT_PROCESS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* What may be done with a listed name, as bits. */
enum dt_outside_may {
	DT_OUTSIDE_READ = 1,   /* it may be opened for reading */
	DT_OUTSIDE_WRITE = 2,  /* it may be made, and opened for writing */
	DT_OUTSIDE_REMOVE = 4, /* it may be removed: a file, or an empty folder */
	DT_OUTSIDE_AT_END = 8, /* it is removed at the end; a folder with all that is in it */
};

/* A listed name. */
struct dt_outside_name {
	char *path;
	char *to;     /* where it may be moved to; NULL: nowhere */
	unsigned may; /* enum dt_outside_may */
};

/* All that the process outside may be asked for. */
struct dt_outside_list {
	struct dt_outside_name *name;
	size_t names;
	bool programs;		   /* ELF files of any name may be opened for reading */
	bool sources;		   /* source files (dt_outside_is_source()), likewise */
	char *const *runs;	   /* a program to run, as argv; NULL: none */
	void (*before)(void *ctx); /* called in its process before its execve; NULL: nothing */
	/* make a connection, returning its descriptor or -1, and end it; NULL: there is none */
	int (*connect)(void *ctx, struct dt_error *e);
	void (*disconnect)(void *ctx);
	void *ctx;	 /* for before, connect and disconnect */
	char *temporary; /* the original TMPDIR, for what is run outside; NULL: it was not set */
};

/* Forks the process outside. The functions below ask it from then on; without it, they do
 * everything in this process. -1 and the reason. */
int dt_outside_begin(const struct dt_outside_list *list, struct dt_error *e);
/* Looks whether there is a process outside. */
bool dt_outside_is(void);
/* Makes fd the descriptor by which the process outside is asked, in a child that closes all others.
 * False: there is no such process. */
bool dt_outside_keep(int fd);

/* Says whether a path ends like that of a program's source file: ".c", ".hpp", ".rs"... */
bool dt_outside_is_source(const char *path);

/* Do what open(), unlink() (of a folder, rmdir()) and rename() do: in this process if that is
 * allowed, else by asking the process outside. */
int dt_outside_open(const char *path, int flags, int mode);
int dt_outside_remove(const char *path);
int dt_outside_move(const char *from, const char *to);

/* Has the listed program run, and returns its status as waitpid() gives it; -1 and errno: it could
 * not be started. */
int dt_outside_run(void);

/* Has the listed connection made, and returns its descriptor; -1 and the reason. */
int dt_outside_connect(struct dt_error *e);
/* Has that connection ended. */
void dt_outside_disconnect(void);

#endif
