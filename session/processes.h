/* SPDX-License-Identifier: MIT */
/* The processes of a session: how they are taken in, and what is written to the file about them. */
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

/* Reads the path of a process's program, and its command line; both "" when it has gone. */
void dt_process_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size);

/* Notes a process that was forked and ended before it could be taken into the session. With the
 * lock. */
void dt_process_note_gone(struct dt_session *s, uint32_t id, pid_t ppid);

/* Writes rows for modules of t that have none yet; not for the vdso. With the lock held. */
void dt_process_note_modules(struct dt_session *s, struct dt_target *t);

/* Writes t's row: its program, command line and parent, as they are now. With the lock. */
void dt_process_note(struct dt_session *s, struct dt_target *t);

/* Tells whether a process runs in the memory of another one of the session, as a child of vfork
 * does. */
bool dt_process_shares_memory(struct dt_session *s, pid_t pid);

/* Takes into the session forked children of any process that have not made themselves known.
 * Returns whether there were some. With the lock. */
bool dt_process_adopt_strays(struct dt_session *s);

/* Writes the names of the processes that still run, such as "120 (sleep), 122 (sh)", five at most;
 * returns how many run. */
size_t dt_process_running(const struct dt_session *s, char *text, size_t size);

/* Returns a process from which a forked child with memory m and its area at that address inherited
 * its state: its parent, an older ancestor, or a sibling. NULL: none is left. With the lock. */
const struct dt_target *dt_process_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area);

/* Chooses the memory (domain) that the target gets when it is installed, by its credentials.
 * Returns 0, or -1 and an error. Owner thread, with the lock. */
int dt_process_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e);

/* Notes why the process's threads have no rseq, if that is so. */
void dt_process_note_slow(struct dt_session *s, const struct dt_target *t);

/* Looks whether a process has other credentials than when it was given its memory, and if so notes
 * both users for the message at the end of the session. */
void dt_process_note_user(struct dt_session *s, const struct dt_target *t);

/* Takes t into the session, which owns it from now on: hooks there what is chosen, and writes its
 * rows to the file. With the lock. */
void dt_process_add(struct dt_session *s, struct dt_target *t);

/* Writes to the file of which users' processes records are believed only as far as they can be
 * true. */
void dt_process_store_doubted(struct dt_session *s);

/* Has the trace file forget the addresses of n modules that a process no longer has, since other
 * code may be there now. With the lock. */
void dt_process_forget_modules(struct dt_session *s, uint32_t id, const struct dt_module *m,
			       size_t n);

#endif
