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

/* The program and the command line of a process; "": it has gone. */
void dt_process_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size);

/* A process that was forked and has ended before anything could be done about it. With the lock. */
void dt_process_note_gone(struct dt_session *s, pid_t pid, pid_t ppid);

/* Writes rows for modules of t that have none yet. With the lock held. */
void dt_process_note_modules(struct dt_session *s, struct dt_target *t);

/* Writes t's row: its program, command line and parent, as they are now. With the lock. */
void dt_process_note(struct dt_session *s, struct dt_target *t);

/* Does a process run in the memory of another one of the session (a vfork child)? */
bool dt_process_shares_memory(struct dt_session *s, pid_t pid);

/* Takes into the session the forked children of any process that have not made themselves known.
 * Returns whether there were some. With the lock. */
bool dt_process_adopt_strays(struct dt_session *s);

/* Names those that still run, as "120 (sleep), 122 (sh)", five at most; how many they are. */
size_t dt_process_running(const struct dt_session *s, char *text, size_t size);

/* The process of which one with that memory, whose area begins at that address, was forked: an
 * ancestor, or a brother, which has what the process had at its birth. NULL: none is left. With the
 * lock. */
const struct dt_target *dt_process_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area);

/* The target is to have the memory of its credentials, and has it when it is installed. Owner
 * thread. */
int dt_process_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e);

/* Looks whether a process has other credentials than when it was given its memory, which is said at
 * the end. */
void dt_process_note_user(struct dt_session *s, const struct dt_target *t);

/* The session has t from now on, and owns it: what is chosen is hooked there, and the file is told
 * of it. With the lock. */
void dt_process_add(struct dt_session *s, struct dt_target *t);

/* Tells the file which users' processes are believed only as far as what they record can be true.
 */
void dt_process_store_doubted(struct dt_session *s);

/* The trace file forgets n modules that have gone: their addresses may be others' now. With the
 * lock. */
void dt_process_forget_modules(struct dt_session *s, const struct dt_module *m, size_t n);

#endif
