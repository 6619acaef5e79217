/* SPDX-License-Identifier: MIT */
/* What the command, the keeper and the loader tell each other: see debuginfod.h. No other file
 * includes this. */
#ifndef DT_SYMBOLS_DEBUGINFOD_WORK_H
#define DT_SYMBOLS_DEBUGINFOD_WORK_H

#include "core/error.h"
#include "elf/build-id.h"

/* What the keeper is asked for. */
struct dt_debuginfod_ask {
	char build_id[DT_BUILD_ID];
	char named; /* a bool: the file has names of its own; if servers know nothing of it, nothing
		       is said */
};

enum dt_debuginfod_what {
	DT_DEBUGINFOD_PROGRESS, /* done and total are set; more messages follow */
	DT_DEBUGINFOD_FOUND,	/* a descriptor comes with it */
	DT_DEBUGINFOD_NOT,	/* `why', which is "" if it has been said before */
};

/* How a download failed: an errno value of the library, or one of these. */
enum {
	DT_DEBUGINFOD_LARGE = 10000, /* it is larger than allowed */
	DT_DEBUGINFOD_MISSING,	     /* the library can not be loaded; `why' says more */
	DT_DEBUGINFOD_RIGHTS,	     /* root's rights can not be given up */
	DT_DEBUGINFOD_LATE,	     /* the time is up */
	DT_DEBUGINFOD_STOPPED,	     /* the command has ended, or does not wait any more */
};

/* A message from the loader to the keeper, or from the keeper to the command. */
struct dt_debuginfod_told {
	uint32_t what;
	int32_t error; /* of DT_DEBUGINFOD_NOT */
	uint64_t done, total;
	struct dt_error why;
};

/* What a loader may take. */
struct dt_debuginfod_limit {
	uint64_t bytes;
	unsigned seconds;
};

/* Sends a message, with a descriptor if that is not -1. False: nobody receives it. */
bool dt_debuginfod_send(int channel, const struct dt_debuginfod_told *told, int file);
/* Receives one; *file: the descriptor that came with it, or -1. False: there are no more, or it is
 * no such message. */
bool dt_debuginfod_receive(int channel, struct dt_debuginfod_told *told, int *file);

/* Runs in the keeper, and returns when the command closes the channel. */
void dt_debuginfod_keep(int channel, void *unused);

/* Runs in the loader: downloads the debug file of a build id into the folder, tells how far it has
 * come, and then what came of it. */
void dt_debuginfod_load(int channel, int folder, const char *build_id,
			const struct dt_debuginfod_limit *limit);

#endif
