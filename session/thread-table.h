/* SPDX-License-Identifier: MIT */
/* The threads of a session: which process each belongs to, and which domains' memory it has had.
 * Threads and processes are known by their ids (session/lives.h), where nothing else is said. */
#ifndef DT_SESSION_THREAD_TABLE_H
#define DT_SESSION_THREAD_TABLE_H

#include "session/state.h"

/* Returns the process that a thread belongs to; 0: it is not known. With the lock. */
uint32_t dt_thread_table_process(const struct dt_session *s, uint32_t tid);

/* Returns the name with which a thread was described; "": none is known. With the lock. */
const char *dt_thread_table_known_name(const struct dt_session *s, uint32_t tid);

/* Has the thread been described? With the lock. */
bool dt_thread_table_recorded(const struct dt_session *s, uint32_t tid);

/* Notes that thread tid belongs to process pid, and writes it to the file with that name; name
 * NULL: it is not written yet. With the lock. */
void dt_thread_table_note(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name);

/* Notes what is told of a thread: its process and name, with which it is written, now or when its
 * first record is read. With the lock. */
void dt_thread_table_told(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name);

/* Writes a thread to the file that appears there in something else than a record. With the lock. */
void dt_thread_table_describe(struct dt_session *s, uint32_t tid);

/*
 * Tells whether the thread that had that number of ours at that time may be domain d's. A process
 * can write into its domain's memory what it likes, also records of others' threads. A thread that
 * was once the domain's stays so: it may have another memory later, after an execve that gave it
 * other rights. For a thread that has gone the answer is true, with *known false: nobody knows, and
 * nobody is harmed. With the lock.
 */
bool dt_thread_table_owns(struct dt_session *s, const struct dt_domain *d, uint32_t number,
			  uint64_t ticks, bool *known);

/* Notes that thread tid has domain d's memory from now on. With the lock. */
void dt_thread_table_join(struct dt_session *s, const struct dt_domain *d, uint32_t tid);

/* Writes all threads that are known to a store that is new. With the lock. */
void dt_thread_table_store(struct dt_session *s);
/* Writes a row of table process for each process that has records and was no target, with its
 * maker, whose program and command line it is given; not where its maker is not known. To be called
 * once, at the session's end. With the lock. */
void dt_thread_table_store_unlisted(struct dt_session *s);

/* Reads the name of the thread with that number of ours from /proc; "": it has gone. */
void dt_thread_table_name(uint32_t number, char *name, size_t size);

/* Writes the thread of a record to the file, unless that has been done. With the lock. */
void dt_thread_table_new(struct dt_session *s, const struct dt_record *r);
/* The same of a record that the kernel has made of its thread: the thread's own first record will
 * describe it again. */
void dt_thread_table_met(struct dt_session *s, const struct dt_record *r);

#endif
