/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes whose numbers others have had before. The kernel gives a number again when
 * its thread has ended. The first thread of a session that has a number keeps it in the trace file;
 * each later one has another number there, its id, from DT_AGAIN on, of which table `again' has the
 * kernel's number. All records, and rows of all tables, are about ids.
 *
 * Each thread tells of its birth before it records anything (struct dt_birth), and births are taken
 * after the records of a ring, before these are looked at: so a record's time says whose it is.
 * What /proc, ptrace and the language know are the kernel's numbers.
 */
#ifndef DT_SESSION_LIVES_H
#define DT_SESSION_LIVES_H

#include "session/state.h"

/* Ids of threads whose numbers had been used begin here, and fit into 31 bits, which other tools
 * want; numbers with a tag of a PID namespace are below (process/pid-namespace.h). */
#define DT_AGAIN 0x40000000u

/* Notes that there is a thread with that id, of which nobody may have told when it began; ticks: of
 * a record of it. With the lock. */
void dt_lives_seen(struct dt_session *s, uint32_t id, uint64_t ticks);
/* Begins the life of a thread with that number of ours, unless it is known to have begun then.
 * made: see struct dt_birth. told: by a process, which is not in the session's list yet. With the
 * lock. */
void dt_lives_begin(struct dt_session *s, uint32_t number, uint32_t process, uint64_t ticks,
		    uint64_t made, bool told);
/* Notes which process has made a process that has told of its birth. With the lock. */
void dt_lives_made_by(struct dt_session *s, uint32_t number, uint32_t parent);
/* Returns the id of that process; 0: not known. With the lock. */
uint32_t dt_lives_parent(const struct dt_session *s, uint32_t id);
/* Begins the lives of all threads of a process that is about to be attached to. With the lock. */
void dt_lives_begin_all(struct dt_session *s, pid_t pid);
/*
 * Returns the id of a process that comes into the session's list. ticks: when its life began, if it
 * has not told of its birth; if it still will, it will tell of that time. With the lock.
 */
uint32_t dt_lives_process(struct dt_session *s, pid_t pid, uint64_t ticks);
/*
 * Returns the id of the process with that number that told of its birth first of those that are not
 * in the session's list: it has ended, perhaps others have its number by now. lives: the last one
 * that had it has not. 0: there is none. It is not returned again. With the lock.
 */
uint32_t dt_lives_gone(struct dt_session *s, uint32_t number, bool lives);
/* Returns the id of the thread that has a number now, or had it last. With the lock. */
uint32_t dt_lives_now(const struct dt_session *s, uint32_t number);
/* Returns the id of the thread that had a number at that time. With the lock. */
uint32_t dt_lives_at(const struct dt_session *s, uint32_t number, uint64_t ticks);
/* Returns the kernel's number of the thread with that id. With the lock. */
uint32_t dt_lives_number(const struct dt_session *s, uint32_t id);
/* Tells whether the thread with that id is the last one that had its number: it may live. */
bool dt_lives_is_last(const struct dt_session *s, uint32_t id);
/* Returns the id of the process of a thread, as told at its birth; 0: not known. With the lock. */
uint32_t dt_lives_process_of(const struct dt_session *s, uint32_t id);
/* Returns the process in the session's list with that id that has not ended; NULL: there is none.
 * With the lock. */
struct dt_target *dt_lives_target(const struct dt_session *s, uint32_t id);
/* Replaces numbers by ids in n records in the order of a core's. With the lock. */
void dt_lives_correct(struct dt_session *s, struct dt_record *r, size_t n);
/* Frees what is known. */
void dt_lives_free(struct dt_lives *l);

#endif
