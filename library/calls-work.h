/* SPDX-License-Identifier: MIT */
/* A pass over a trace's calls: for calls.c (pairing), calls-columns.c and calls-texts.c only. */
#ifndef DT_LIBRARY_CALLS_WORK_H
#define DT_LIBRARY_CALLS_WORK_H

#include "analyse/chosen.h"
#include "analyse/pair.h"
#include "library/trace-work.h"
#include "show/further.h"
#include "show/json.h"

/* A call that waits to be handed out; call.argument and call.result are only looked at for NULL. */
struct row {
	struct dt_call call;
	uint64_t argument[4], result[4];
	struct dt_full full; /* what came after the entry; all 0: nothing */
	uint16_t core;	     /* on which it ended */
};

/* Room for texts that are handed out together. */
struct block {
	struct block *next;
	size_t used, size;
	char bytes[];
};

struct devtrace_calls {
	struct devtrace_choice choice;
	struct dt_reader *reader;
	struct dt_pair *pair;
	struct dt_choosing choosing; /* its filter NULL: all calls */
	struct dt_span span;
	uint64_t first_ns;
	double ns_per_tick;
	struct row *row; /* rows from `first' on are to be handed out */
	size_t first, n, room;
	struct devtrace_call call; /* that was handed out last, and its row; NULL: there is none */
	const struct row *current;
	bool ended, failed;
	struct dt_error why; /* failed: this, again and again */
	uint32_t tid, pid;   /* the thread that was looked up last, and its process */
	char note[512];
	/* texts */
	struct dt_formats formats;
	struct dt_further further;
	struct dt_json json;
	char *text;
	struct block *block; /* of the last devtrace_calls_fill() */
};

/* Sees to it that there is a row to be handed out. 1: there is one, 0: there are no more, -1:
 * error, which c->why has. */
int dt_library_calls_more(struct devtrace_calls *c);

/* Returns which values of a record of this site are known, a bit each. */
uint8_t dt_library_calls_known(const struct devtrace_calls *c, uint32_t site);
/* Returns the process of a thread, or DEVTRACE_NONE. */
uint32_t dt_library_calls_process(struct devtrace_calls *c, uint32_t tid);
/* Return the times of a call, DEVTRACE_UNKNOWN or NaN where there is none. */
int64_t dt_library_calls_begin(const struct devtrace_calls *c, const struct dt_call *x);
int64_t dt_library_calls_end(const struct devtrace_calls *c, const struct dt_call *x);
double dt_library_calls_duration(const struct devtrace_calls *c, const struct dt_call *x);
double dt_library_calls_self(const struct devtrace_calls *c, const struct dt_call *x);

/* ---- calls-columns.c ---- */

/* Frees the texts that the last fill has handed out. */
void dt_library_calls_forget_texts(struct devtrace_calls *c);

/* ---- calls-texts.c ---- */

/* For struct dt_pair_events: ctx is the struct devtrace_calls. */
void dt_library_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
/* Return a row's texts, *n bytes and a NUL; NULL: out of memory. */
const char *dt_library_calls_text(struct devtrace_calls *c, const struct row *r, size_t *n);
const char *dt_library_calls_named(struct devtrace_calls *c, const struct row *r, size_t *n);
/* Frees all that this file made. */
void dt_library_calls_free_texts(struct devtrace_calls *c);

#endif
