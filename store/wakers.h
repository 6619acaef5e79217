/* SPDX-License-Identifier: MIT */
/*
 * Who woke threads, in a trace file: a row for each combination of waker and place. The sp of a W
 * record is DT_WAKER_SP() of a row.
 */
#ifndef DT_STORE_WAKERS_H
#define DT_STORE_WAKERS_H

#include "store/reader.h"
#include "store/store.h"

/* A number in the sp of a record that the kernel makes about a thread: it is no address of the
 * program. Of a switch with which a thread leaves a core it is the number of a stack of the kernel
 * (table stack). 0: none. */
#define DT_WAKER_SP(number) ((number) ? 1ull << 63 | (number) : 0)
#define DT_WAKER_OF(sp)	    ((sp) >> 63 ? (uint32_t)(sp) : 0)

#define DT_WAKERS_MOST 1000000u /* rows of a file */

struct dt_waker {
	uint32_t tid, pid; /* of the thread that ran; 0: none, or it is not known */
	const char *name;  /* its name then */
	uint32_t context;  /* enum dt_wake_context: did the thread do it, or an interrupt? */
	bool made;	   /* the woken thread is new: this one has made it */
	uint32_t function; /* row: which of the kernel's functions woke it; 0: not known */
	int64_t stack;	   /* of the kernel, number in table stack; 0: not known */
};

/* Writes a row, and returns its number; -1: error. */
int64_t dt_store_waker(struct dt_store *s, const struct dt_waker *w, struct dt_error *e);

/* ---- reading ---- */

/* The rows, from number 1 on: row[number - 1]. All zero at first. */
struct dt_wakers {
	struct dt_waker *row;
	size_t n, room;
};

/* Returns a row, which is read if it has come since others were; NULL: there is none. Valid until
 * the next call. */
const struct dt_waker *dt_wakers_row(struct dt_wakers *w, struct dt_reader *r, uint32_t number);
void dt_wakers_free(struct dt_wakers *w);

/* Returns whether the trace has records of who woke threads. */
bool dt_wakers_any(const struct dt_reader *r);

#define DT_WAKER_TEXT 512 /* bytes that are enough for dt_waker_put() */

/* Writes who it was, without a NUL: "io (123) in pipe_write", "an interrupt in hrtimer_wakeup".
 * numbers: with the thread's. Returns the end. */
char *dt_waker_put(char *p, const struct dt_reader *r, const struct dt_waker *w, bool numbers);

/* Returns the word for a context: "thread", "softirq", "interrupt", "nmi". */
const char *dt_waker_context(const struct dt_waker *w);

#endif
