/* SPDX-License-Identifier: MIT */
/*
 * The sieve: chooses calls while recording, by the words of a filter (filter/filter.h), between the
 * rings and the trace file, or the log. What calls mean it knows from the store, into which they
 * are described; a session without a file has one in memory for that. The hooks record every call,
 * and the recorder passes the records of all rings through here in the order of time. A call whose
 * end matters is held until it has returned, or is known to be long enough; what is behind it in
 * its ring waits meanwhile, so that the file's records stay in order. A call that is held for too
 * long is written whatever becomes of it. Calls that are not wanted are counted and summed by
 * function (table left_out).
 *
 * What the file has is never less than what the same words mean when the whole trace is read. It
 * may be more: calls that were held for too long, the other calls of a chain of tail calls of which
 * one is wanted, what was open when records were lost, and everything that a thread calls once it
 * has changed its stack (swapcontext()).
 *
 * All functions are called with the session's lock; those that take records, by the recorder
 * thread.
 */
#ifndef DT_SESSION_SIEVE_H
#define DT_SESSION_SIEVE_H

#include "session/say.h"
#include "session/mix.h"
#include "session/state.h"

/* Checks words that are to choose while recording. Returns -1 and an error if they mean nothing, or
 * something that only readers of traces can choose by. */
int dt_sieve_check(const char *words, struct dt_error *e);

/* Checks the words of sums and triggers in the same way. */
int dt_sieve_check_sums(const struct dt_options *o, struct dt_error *e);

/* Makes the sieve of a session, which has a store, if only one in memory, with the filter, sums and
 * triggers that its options ask for. Without a filter, no call is written if there are sums,
 * otherwise all are. NULL and an error. */
struct dt_sieve *dt_sieve_new(struct dt_session *s, struct dt_error *e);
void dt_sieve_free(struct dt_sieve *v);

/* Makes the sieve of a session that has written all calls so far, and goes on to write all: those
 * that are open then are written, and are not known as callers of others. NULL and an error. */
struct dt_sieve *dt_sieve_late(struct dt_session *s, struct dt_error *e);

/* Chooses by other words from now on, "" for all calls. Open calls of which the end should have
 * decided are written. Returns -1 and an error, and nothing has changed. */
int dt_sieve_change(struct dt_sieve *v, const char *words, struct dt_error *e);

/* Returns all words so far, each after ", then "; and those of now, "" for all calls. */
const char *dt_sieve_said(const struct dt_sieve *v);
const char *dt_sieve_chosen(const struct dt_sieve *v);

/* Takes what has been mixed of a ring, which the store knows as `core'. stays: the records stay
 * where they are until dt_sieve_run() has run; else they are copied. Returns -1 and an error. */
int dt_sieve_take(struct dt_sieve *v, unsigned ring, unsigned core, const struct dt_mix *m,
		  bool stays, struct dt_error *e);

/* Takes a record of a core that comes late, between those that have not been chosen among. Returns
 * -1 and an error. */
int dt_sieve_insert(struct dt_sieve *v, unsigned core, const struct dt_record *r,
		    struct dt_error *e);

/* Returns whether a session with these options can have the kernel leave calls out before they are
 * recorded: session/sieve-early.c. */
bool dt_sieve_chooses_early(const struct dt_options *o);
/* Returns how many rows of sums the kernel needs for that; 0: it sums nothing up. */
unsigned dt_sieve_early_rows(const struct dt_options *o);
/* Writes where calls of the kernel were summed up, behind "; "; "": there is nothing to say. */
void dt_sieve_early_note(const struct dt_sieve *v, char *text, size_t size);

/* Where the records go in a session without a file, and how many entries and exits were left out.
 */
struct dt_sieve_log {
	void *ctx;
	/* Takes the next records of a core, with the pcs that a log has. Returns -1: out of memory.
	 */
	int (*put)(void *ctx, unsigned core, const struct dt_record *r, size_t n);
	/* as dt_place_translate() */
	void (*translate)(struct dt_session *s, struct dt_record *r, size_t n);
	uint64_t in, out;
};

/* Chooses among the records up to a time up to which all rings have been read, and puts into the
 * file, or the log, what is decided. end: nothing more comes, and everything is decided. Returns -1
 * and an error. */
int dt_sieve_run(struct dt_sieve *v, uint64_t until, bool end, struct dt_sieve_log *log,
		 struct dt_error *e);

/* Puts everything that has been chosen among into the file, also calls that are still open: code is
 * about to go, and its records can not be described later. Without a file, they are only decided
 * about. */
int dt_sieve_settle(struct dt_sieve *v, struct dt_error *e);

/* Has each record that waits to be put described: what says where some of them come from is about
 * to go. */
void dt_sieve_describe(struct dt_sieve *v);

/* A process has ended, and none of its records that may still be taken is later than `ticks': once
 * they are decided about and put, what is held for its threads goes, in the store, too. */
void dt_sieve_leave(struct dt_sieve *v, uint32_t pid, uint64_t ticks);

/* Returns how many records wait for others to be read before they are chosen among. */
uint64_t dt_sieve_waiting(const struct dt_sieve *v);

/* Returns the ticks of the newest record that has been chosen among; 0: none has. */
uint64_t dt_sieve_newest(const struct dt_sieve *v);

/* Returns up to when, at most `until', all records that are written are in the file. */
uint64_t dt_sieve_until(const struct dt_sieve *v, uint64_t until);

/* Notes what a row of table function means. */
void dt_sieve_function(struct dt_sieve *v, int64_t row, const struct dt_function_row *f);

/* Notes that a thread has been described in the thread table, maybe anew. */
void dt_sieve_thread(struct dt_sieve *v, uint32_t tid);
/* Notes the path of the program that a process executes from now on. */
void dt_sieve_process(struct dt_sieve *v, uint32_t pid, const char *exe);

/* Notes that devtrace had a thread wait, before records that follow are taken. tid: as in them;
 * record: for room for its next record */
void dt_sieve_held(struct dt_sieve *v, uint32_t tid, uint64_t begin, uint64_t end, bool record);

/* When what the sieve has counted is written. */
enum dt_sieve_when {
	DT_SIEVE_RUNNING, /* now and then: sums of many keys not each time, since that takes long */
	DT_SIEVE_SNAPSHOT, /* what is in the file is looked at next */
	DT_SIEVE_END,	   /* and how many records of each core were left out */
};

/* Writes the sums so far, and how many calls were left out. Returns -1 and an error. */
int dt_sieve_account(struct dt_sieve *v, enum dt_sieve_when when, struct dt_error *e);

/* ---- the list of sums and triggers (session/sieve-list.c) ---- */

#define DT_SIEVE_NAME	   32u /* bytes of a sum's name, with its NUL */
#define DT_SIEVE_SUM	   0
#define DT_SIEVE_UNTIL	   (-1)
#define DT_SIEVE_SNAPSHOT  (-2)
#define DT_SIEVE_BACKTRACE (-3)

struct dt_sieve_item {
	const char *name;  /* of a sum */
	const char *words; /* of a trigger: those that wait for a call */
	const char *file;  /* of a snapshot */
	int signal;	   /* DT_SIEVE_SUM, DT_SIEVE_UNTIL: recording ends, DT_SIEVE_SNAPSHOT,
			      DT_SIEVE_BACKTRACE; otherwise        the signal that is sent */
	bool acted;	   /* of a trigger */
	uint64_t calls;
};

/* Returns how many there are; and one of them, whose texts are valid until the list changes. */
size_t dt_sieve_items(struct dt_sieve *v);
struct dt_sieve_item dt_sieve_item(const struct dt_sieve *v, size_t i);

/* Adds one. Calls count that begin from then on. name NULL: a sum gets a number. Returns -1 and an
 * error, and nothing has changed. */
int dt_sieve_add(struct dt_sieve *v, const char *name, int signal, const char *words,
		 struct dt_error *e);
/* The same of a snapshot, which is written to that file. */
int dt_sieve_add_snapshot(struct dt_sieve *v, const char *file, const char *words,
			  struct dt_error *e);
/* Takes one away, also out of the file. Returns -1 and an error: the file can not be written. */
int dt_sieve_remove(struct dt_sieve *v, size_t i, struct dt_error *e);
/* Has a sum count from 0 again, or a trigger wait for the next call. */
int dt_sieve_clear(struct dt_sieve *v, size_t i, struct dt_error *e);

/* Reads "STOP if WORDS": returns the number of the signal, or -1 and an error. */
int dt_sieve_signal(const char *text, const char **words, struct dt_error *e);

/* Reads "FILE if WORDS": returns the length of FILE, or -1 and an error. */
long dt_sieve_snapshot(const char *text, const char **words, struct dt_error *e);

/* Returns the table of a sum as text, which the caller frees; NULL: out of memory. rows: how many,
 * at most. */
char *dt_sieve_table(const struct dt_sieve *v, size_t i, uint64_t rows);

/* Says which functions and arguments the words name that no recorded call has had, with near names:
 * at the end, when all that can come has come (session/sieve-unmet.c). */
void dt_sieve_unmet(const struct dt_sieve *v, const struct dt_say *say);

/* Returns whether triggers wait for calls of a function, by its row, or for calls in them: a budget
 * has to leave it on. The answers may be others when *changes is. */
bool dt_sieve_waits_for(const struct dt_sieve *v, uint32_t function);
uint64_t dt_sieve_changes(const struct dt_sieve *v);

/* How much was left out; kept: how many calls were written undecided, held for too long; whole: how
 * many threads were written whole from some time on, since they change their stacks. */
struct dt_sieve_counts {
	uint64_t calls, records, kept, whole;
	/* of --backtrace: calls whose stacks were kept, and calls that had none */
	uint64_t stacks, stackless;
};
struct dt_sieve_counts dt_sieve_counts(const struct dt_sieve *v);

#endif
