/* SPDX-License-Identifier: MIT */
/* The threads of a session: which process each belongs to, and whose memory it has. */
#ifndef DT_SESSION_THREAD_TABLE_H
#define DT_SESSION_THREAD_TABLE_H

#include "session/state.h"

/* Which process a thread belongs to; 0: it is not known. */
uint32_t dt_thread_table_process(const struct dt_session *s, uint32_t tid);

/* That it does. name: what the file is told; NULL: nothing yet. With the lock. */
void dt_thread_table_note(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name);

/* A thread of which something else than a record comes into the file: it is described, too. With
 * the lock. */
void dt_thread_table_describe(struct dt_session *s, uint32_t tid);

/*
 * May that be a thread of the domain? Whoever has a memory can write there what he likes, also of
 * others' threads. Once it is, it stays so: it may have another memory later, behind an execve that
 * gave it other rights. Of one that has gone nobody knows (*known is false), and nobody is harmed.
 * With the lock.
 */
bool dt_thread_table_owns(struct dt_session *s, const struct dt_domain *d, uint32_t tid,
			  bool *known);

/* It is, from now on: thread tid has the domain's memory now. With the lock. */
void dt_thread_table_join(struct dt_session *s, const struct dt_domain *d, uint32_t tid);

/* What /proc calls a thread; "": it has gone. */
void dt_thread_table_name(uint32_t tid, char *name, size_t size);

/* The thread of a record is told to the file, once. With the lock. */
void dt_thread_table_new(struct dt_session *s, const struct dt_record *r);

#endif
