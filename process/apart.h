/* SPDX-License-Identifier: MIT */
/*
 * Processes apart: what root's controller has read that it does not trust, and that much code of
 * others reads (ELF and DWARF by elfutils, names by libiberty), is read by processes that have no
 * rights, one for each file: as a user that nobody else is, without capabilities, confined
 * (process/confine.h) to reading what everybody may. One process is forked before the controller
 * has anything worth taking; it reads nothing, and forks the others. Each is asked by messages, and
 * its answers are data of others: whoever asks checks them.
 *
 * An ordinary user's controller has none; it has no rights to lose but his, which the traced
 * program has too.
 */
#ifndef DT_PROCESS_APART_H
#define DT_PROCESS_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* What the process of a file has: open for reading, but the channel. */
struct dt_apart_file {
	const char *path; /* what it is called */
	int fd;
	/* what lies beside it and may be its debug file (dt_elf_debuglink()), in the same folder
	 * and in .debug there; -1: nothing */
	int beside[2];
};

/* Runs in the process of a file: answers what comes on the channel. Whoever asks has closed it when
 * it returns. */
typedef void dt_apart_serve(int channel, const struct dt_apart_file *file);

struct dt_apart_ask {
	uint32_t what;	/* the language is serve()'s */
	uint32_t bytes; /* that follow */
	uint64_t number[2];
};

struct dt_apart_answer {
	int64_t result;
	uint64_t bytes;
};

#define DT_APART_ASK_MAX (1u << 16) /* bytes behind a question */

/* Before there are other threads, and other descriptors than everybody's. */
int dt_apart_begin(dt_apart_serve *serve, struct dt_error *e);
/* In a process that is forked, and does without. */
void dt_apart_leave(void);

/* Was a process needed when there was nobody to make it? */
bool dt_apart_gone(void);

/* A process for the file at path, which is opened here. The channel to it, or -1 with the reason.
 */
int dt_apart_connect(const char *path, struct dt_error *e);

/* How long an answer is waited for, in all, ns: a minute; tests have less patience. */
extern uint64_t dt_apart_patience;

/*
 * The answer, of at most `most' bytes, which is to be freed, with a byte 0 behind its a->bytes.
 * NULL: the process has ended, has more to say, or has not said it in time: the channel is of
 * no use any more.
 */
char *dt_apart_ask(int channel, const struct dt_apart_ask *ask, const void *more, size_t most,
		   struct dt_apart_answer *a);

/* For serve(): the next question; NULL: no more. What comes behind it is to be freed, with a byte 0
 * behind. */
char *dt_apart_next(int channel, struct dt_apart_ask *ask);
bool dt_apart_tell(int channel, int64_t result, const void *more, size_t bytes);

#endif
