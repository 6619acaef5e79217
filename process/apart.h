/* SPDX-License-Identifier: MIT */
/*
 * Processes apart. Files that root's controller does not trust, and that take much third-party code
 * to read (ELF and DWARF by elfutils, names by libiberty), are read by processes without rights,
 * one for each file. Such a process runs as a user that nothing else runs as, without capabilities,
 * and confined (process/confine.h) to reading what everybody may read. One process is forked before
 * the controller holds anything worth stealing; it reads nothing, and forks the others. Each is
 * asked by messages, and the controller checks its answers, since they can not be trusted.
 *
 * An ordinary user's controller does without: it has no rights to lose but the user's, which the
 * traced program has too.
 */
#ifndef DT_PROCESS_APART_H
#define DT_PROCESS_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define DT_APART_MORE	2		    /* files that the caller hands over, at most */
#define DT_APART_HANDED (2 + DT_APART_MORE) /* and two that are found beside the file */

/* What the process of a file gets: descriptors, open for reading. */
struct dt_apart_file {
	const char *path; /* the file's name */
	int fd;		  /* the file itself */
	/* files that may be its debug files; -1: none. They lie beside it (dt_elf_debuglink()), in
	 * the same folder and in .debug there, or were handed over by the caller */
	int handed[DT_APART_HANDED];
};

/* Runs in the process of a file, and answers the questions on the channel, until the controller
 * closes that. */
typedef void dt_apart_serve(int channel, const struct dt_apart_file *file);

/* A question; what its fields mean is up to serve(). */
struct dt_apart_ask {
	uint32_t what;
	uint32_t bytes; /* how many follow */
	uint64_t number[2];
};

/* An answer. */
struct dt_apart_answer {
	int64_t result;
	uint64_t bytes; /* how many follow */
};

#define DT_APART_ASK_MAX (1u << 16) /* most bytes that follow a question */

/* Forks the process that forks the others. To be called before there are other threads, and other
 * descriptors than 0, 1 and 2. -1 and the reason. */
int dt_apart_begin(dt_apart_serve *serve, struct dt_error *e);
/* Lets go of that process, in a forked child that does without it. */
void dt_apart_leave(void);

/* Looks whether a process for a file was needed and could not be had. */
bool dt_apart_gone(void);

/* Has a process made for a file, which is open (path: its name), and to which `more' are handed
 * over too (-1: none; NULL: none at all). All of them stay the caller's. Returns the channel to the
 * process, or -1 with the reason. */
int dt_apart_connect(int file, const char *path, const int more[DT_APART_MORE], struct dt_error *e);

/* The longest time to wait for a whole answer, ns: a minute; tests set less. */
extern uint64_t dt_apart_patience;

/*
 * Asks a question, with ask->bytes bytes at `more' following it. Returns the a->bytes bytes of the
 * answer, at most `most', followed by a byte 0; the caller frees them. NULL: the process has ended,
 * its answer is longer, or did not come in time; the channel can not be used any more.
 */
char *dt_apart_ask(int channel, const struct dt_apart_ask *ask, const void *more, size_t most,
		   struct dt_apart_answer *a);

/* For serve(): waits for the next question, and returns the bytes that follow it, and a byte 0
 * after them; the caller frees them. NULL: there are no more questions. */
char *dt_apart_next(int channel, struct dt_apart_ask *ask);
/* For serve(): sends an answer. False: nobody receives it. */
bool dt_apart_tell(int channel, int64_t result, const void *more, size_t bytes);

#endif
