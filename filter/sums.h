/* SPDX-License-Identifier: MIT */
/*
 * Sums over calls, as words ask for them (man/devtrace-sum.1 describes them for users):
 *
 *	WHAT [by KEY[, KEY]...] [if WORDS]
 *
 * WHAT is `count'; a value, whose sum, mean, least and greatest are found: `time', `self',
 * `result', `arg1' or the name of an argument; or `hist(VALUE)', also how the value is distributed.
 * A KEY is function, caller, callers, thread, process, core, depth, result, error, arg1 or the name
 * of an argument: there is a row for each value, or each combination of values, that calls have.
 * WORDS are those of a filter (filter/filter.h): only calls that they mean count.
 *
 * The user pairs records into calls, and passes each on when it has ended. Memory is bounded: there
 * are at most DT_SUMS_ROWS rows, of DT_SUMS_ROOM bytes; calls that would need more are counted
 *together.
 */
#ifndef DT_FILTER_SUMS_H
#define DT_FILTER_SUMS_H

#include "core/error.h"
#include "filter/behind.h"
#include "filter/call.h"
#include "filter/meanings.h"

#define DT_SUMS_MOST	     8u		    /* sums at a time */
#define DT_SUMS_KEYS	     6u		    /* keys of a sum */
#define DT_SUMS_ROWS	     65536u	    /* rows of a sum */
#define DT_SUMS_ROOM	     (64u << 20)    /* bytes of all rows of a sum */
#define DT_SUMS_CALLERS_MOST 32u	    /* callers that `callers' looks at */
#define DT_SUMS_TEXT	     DT_BEHIND_TEXT /* bytes of a text in a key */

/* What a value is, or a key. */
enum dt_sums_what {
	DT_SUMS_COUNT, /* no value */
	DT_SUMS_TIME,  /* ticks, as the call's own time: */
	DT_SUMS_SELF,
	DT_SUMS_RESULT,
	DT_SUMS_ARGUMENT, /* by place or name */
	DT_SUMS_FUNCTION, /* from here on: keys only; a row of table function, 0: not known */
	DT_SUMS_CALLER,
	DT_SUMS_CALLERS, /* rows, from the innermost outwards */
	DT_SUMS_THREAD,
	DT_SUMS_PROCESS,
	DT_SUMS_CORE,
	DT_SUMS_DEPTH, /* 1: in no other call */
	DT_SUMS_ERROR, /* an errno; 0: the call has not failed */
};

/* A value or a key that words name. */
struct dt_sums_term {
	enum dt_sums_what what;
	unsigned index; /* of an argument, from 0; UINT32_MAX: it has a name */
	char name[64];	/* as it was given */
};

/* What the words of a sum say. */
struct dt_sums_words {
	struct dt_sums_term value, key[DT_SUMS_KEYS];
	unsigned keys;
	bool hist;
	const char *filter; /* in the text that was parsed; NULL: there is no `if' */
};

/* Parses the words. Returns -1 and an error that says what would be right. */
int dt_sums_parse(struct dt_sums_words *w, const char *text, struct dt_error *e);

/*
 * Buckets of a distribution: [0] to [63] for negative values, the greatest magnitudes first; [64]
 * for 0, and what is between -1 and 1; [64 + i] for 2^(i-1) up to 2^i - 1.
 */
#define DT_SUMS_BUCKETS 129u
unsigned dt_sums_bucket(__int128 number);
/* Returns the least number of a bucket. */
__int128 dt_sums_lowest(unsigned bucket);

/* A row: the calls that have the same keys. Times are ticks, but for buckets, which are of ns. */
struct dt_sums_row {
	uint32_t function;	 /* whose calls they are; 0: several functions' */
	uint64_t calls, unknown; /* calls; those of them whose value is not known */
	bool real;		 /* values are in `floating': some were no whole numbers */
	bool changed;		 /* since dt_sums_each_changed() has passed it on */
	uint32_t number;	 /* of the row in its sum, from 0 */
	__int128 sum, least, greatest;
	struct {
		double sum, least, greatest;
	} floating;
	uint64_t *bucket; /* DT_SUMS_BUCKETS of them; NULL: no distribution is asked for */
	uint32_t n;	  /* bytes of key */
	uint8_t key[];	  /* for dt_sums_part() */
};

/* One key of a row. */
struct dt_sums_part {
	enum {
		DT_SUMS_UNKNOWN, /* such calls have no such value, or it could not be read */
		DT_SUMS_NUMBER,
		DT_SUMS_BYTES, /* a text */
		DT_SUMS_PATH,  /* numbers of functions */
		DT_SUMS_REAL,  /* a double: `number' has its bits */
	} kind;
	uint64_t number; /* of a negative number the two's complement */
	bool negative;
	const uint8_t *bytes; /* of a text; of a path four bytes each, of this machine's order */
	uint32_t n;	      /* bytes */
};

/* Reads the key behind *at, which is 0 at first, and moves it on. */
struct dt_sums_part dt_sums_part(const struct dt_sums_row *row, uint32_t *at);

struct dt_sums;

/* Makes sums of n texts, at most DT_SUMS_MOST; what *meanings refers to must live as long. NULL: *e
 * says what is wrong with a text, or that memory is out. */
struct dt_sums *dt_sums_new(const char *const *text, size_t n, const struct dt_meanings *meanings,
			    struct dt_error *e);
void dt_sums_free(struct dt_sums *s);

/* Adds a sum behind the others; -1 and an error: there are too many, or its words are wrong. */
int dt_sums_add(struct dt_sums *s, const char *text, struct dt_error *e);
/* Takes a sum away: those behind it move up. */
void dt_sums_remove(struct dt_sums *s, size_t i);
/* Forgets the rows of a sum, and what it has counted. */
void dt_sums_clear(struct dt_sums *s, size_t i);
/* Passes all rows for changed: dt_sums_each() has to pass them on again. */
void dt_sums_touch(struct dt_sums *s);

/*
 * The notes of open calls, after a sum has been added, and after the i-th has been removed. caller:
 * the new note of the call that it is in. The call does not count for the new sum, since it has
 * begun before it. function 0: the note of nobody.
 */
uint32_t dt_sums_note_with(const struct dt_sums *s, uint32_t note, uint32_t caller,
			   uint32_t function);
uint32_t dt_sums_note_without(uint32_t note, size_t i);
/* Returns whether memory was out: then the sums are not to be trusted. */
bool dt_sums_failed(const struct dt_sums *s);

/* Returns how many there are; the words of one; and whether one looks at
 * arguments, which may be in records behind the entry. */
size_t dt_sums_count(const struct dt_sums *s);
const struct dt_sums_words *dt_sums_words(const struct dt_sums *s, size_t i);
bool dt_sums_wants_arguments(const struct dt_sums *s);

/* Returns the filter of a sum; NULL: it has none. */
struct dt_filter *dt_sums_filter(const struct dt_sums *s, size_t i);

/* A sum's filter may ask about something that only readers of traces know, such as "core:": returns
 * how the word begins; NULL: none does. */
const char *dt_sums_beyond_calls(const struct dt_sums *s);

/*
 * What the sums know of an open call, for the calls in it and for its end: four bits for each sum.
 * dt_sums_begin() returns it for a call that begins, by that of the call that it is made in;
 * dt_sums_nobody() is for a call in no other one.
 */
uint32_t dt_sums_nobody(const struct dt_sums *s);
uint32_t dt_sums_begin(struct dt_sums *s, const struct dt_call *c, uint32_t caller);
/* Returns whether a call with this note counts, if its end is as it is wanted. */
bool dt_sums_counts(uint32_t note);

/* What is known of a call beside struct dt_call. What is not known is NULL or 0. */
struct dt_sums_around {
	const void *ctx;
	uint32_t pid;
	unsigned core; /* of its beginning */
	/* Fills in the functions of the calls around the call, the innermost first; returns how
	 * many, at most `most'. */
	unsigned (*callers)(const void *ctx, uint32_t *function, unsigned most);
	const struct dt_behind *behind; /* what records behind the entry say */
};

/* Adds a call that has ended. note: from its dt_sums_begin(). c->argument and c->result have to be
 * set, if they are known. */
void dt_sums_end(struct dt_sums *s, const struct dt_call *c, uint32_t note,
		 const struct dt_sums_around *a);

/* Calls of one function with the same keys, which somebody else has counted. */
struct dt_sums_given {
	uint32_t function;
	uint64_t calls, unknown; /* as in struct dt_sums_row */
	unsigned bucket;	 /* that their values are in, if there is one */
	__int128 sum, least, greatest;
	bool key_known[DT_SUMS_KEYS];
	__int128 key[DT_SUMS_KEYS];
};

/* Adds such calls to sum i. */
void dt_sums_give(struct dt_sums *s, size_t i, const struct dt_sums_given *g);
/* Adds calls of which the keys are not known, since there were too many. */
void dt_sums_give_others(struct dt_sums *s, size_t i, uint64_t calls);

/* Of sum i: how many calls counted, and how many of them are in no row, since there were too many.
 */
struct dt_sums_totals {
	uint64_t calls, others;
};
struct dt_sums_totals dt_sums_totals(const struct dt_sums *s, size_t i);

/* Calls fn for the rows of a sum, in the order in which they were made; changed: only for those
 * that have changed since. Returns what fn returned when it was not 0. */
int dt_sums_each(struct dt_sums *s, size_t i, bool changed,
		 int (*fn)(void *ctx, const struct dt_sums_row *row), void *ctx);

#endif
