/* SPDX-License-Identifier: MIT */
/* The processes of a session: those that come, and what the file is told of them. */
#ifndef DT_SESSION_PROCESSES_H
#define DT_SESSION_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

struct dt_module;
struct dt_session;
struct dt_shared;
struct dt_target;

/* Its program and command line; "": it has gone. */
void dt_session_read_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size);

/* A process that was forked and has ended before anything could be done about it. With the lock. */
void dt_session_note_gone(struct dt_session *s, pid_t pid, pid_t ppid);

/* Writes rows for modules of t that have none yet. With the lock held. */
void dt_session_note_modules(struct dt_session *s, struct dt_target *t);

void dt_session_note_process(struct dt_session *s, struct dt_target *t);

/* Does a process run in the memory of another one of the session (a vfork child)? */
bool dt_session_shares(struct dt_session *s, pid_t pid);

/* Forked children that have not made themselves known, in any process: they are now. With the lock.
 */
bool dt_session_adopt_strays(struct dt_session *s);

/* Names those that still run, as "120 (sleep), 122 (sh)", five at most; how many they are. */
size_t dt_session_running(const struct dt_session *s, char *text, size_t size);

const struct dt_target *dt_session_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area);

/* The target is to have the memory of its credentials, and has it when it is installed. Owner
 * thread. */
int dt_session_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e);

/* A process that has a memory may have other credentials now: that is to be said. */
void dt_session_note_user(struct dt_session *s, const struct dt_target *t);

void dt_session_add(struct dt_session *s, struct dt_target *t);

/* Who is believed only as far as it can be true, into the file. */
void dt_session_store_doubted(struct dt_session *s);

/* The trace file forgets n modules that have gone: their addresses may be others' now. With the
 * lock. */
void dt_session_forget_modules(struct dt_session *s, const struct dt_module *m, size_t n);

#endif
