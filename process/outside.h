/* SPDX-License-Identifier: MIT */
/*
 * What a process that has confined itself (process/confine.h) still gets from outside. A small
 * process is forked before that, stays as it is, and does what is asked of it, if it was stated
 * before anything hostile was read: it opens, removes and moves files of stated names, opens
 * executables, and runs a stated program or makes a stated connection. It reads nothing but the
 * requests, and ends with who asks.
 */
#ifndef DT_PROCESS_OUTSIDE_H
#define DT_PROCESS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

enum dt_outside_may {
	DT_OUTSIDE_READ = 1,   /* open, for reading */
	DT_OUTSIDE_WRITE = 2,  /* open, for writing, too; make */
	DT_OUTSIDE_REMOVE = 4, /* a file, or an empty folder */
	DT_OUTSIDE_AT_END = 8, /* is removed in the end, a folder with the files that are in it */
};

struct dt_outside_name {
	char *path;
	char *to; /* where it may be moved to; NULL: nowhere */
	unsigned may;
};

struct dt_outside_list {
	struct dt_outside_name *name;
	size_t names;
	bool programs;		   /* ELF files may be opened, of any name, for reading */
	char *const *runs;	   /* a program, and what it is given; NULL: none */
	void (*before)(void *ctx); /* is called in its process, in front of it; NULL: nothing */
	/* a connection is made, and ended; NULL: none */
	int (*connect)(void *ctx, struct dt_error *e);
	void (*disconnect)(void *ctx);
	void *ctx;
	char *temporary; /* TMPDIR as it was, for what is run there; NULL: it was not set */
};

/* Forks it. What follows is asked of it from then on; before, and without it, all is done here. */
int dt_outside_begin(const struct dt_outside_list *list, struct dt_error *e);
bool dt_outside_is(void);
/* In a child that closes what it does not need: what it is asked by is this descriptor. False:
 * there is none. */
bool dt_outside_keep(int fd);

/* As open(), unlink() (of a folder, rmdir()) and rename(); done here where that is allowed. */
int dt_outside_open(const char *path, int flags, int mode);
int dt_outside_remove(const char *path);
int dt_outside_move(const char *from, const char *to);

/* What waitpid() says of the program; -1: it could not be started, see errno. */
int dt_outside_run(void);

int dt_outside_connect(struct dt_error *e);
void dt_outside_disconnect(void);

#endif
