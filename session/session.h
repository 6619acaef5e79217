/* SPDX-License-Identifier: MIT */
/*
 * A session: one set of rings, the processes that append to them, and a recorder that takes the
 * records into a trace file.
 *
 * Two threads. The owner thread (the one that called dt_session_create()) does everything with
 * processes, since ptrace belongs to a thread: it starts, attaches, follows, detaches. The recorder
 * thread takes records out of the rings and writes them. `lock' guards the targets, the files and the store.
 */
#ifndef DT_SESSION_SESSION_H
#define DT_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "core/error.h"
#include "process/pattern.h"
#include "process/target.h"
#include "session/rings.h"
#include "store/store.h"

#define DT_NO_SLEDS                                                                                \
	"%s: has no sleds; build it with CFLAGS=\"$(pkg-config --cflags devtrace)\", or use "         \
	"--follow to trace the programs that it runs"

struct dt_options {
	enum dt_policy policy;
	uint64_t ring_size; /* bytes per core; 0: the default */
	const char *output; /* NULL: nothing is stored, records are only taken and counted */
	struct dt_selection select;
	bool follow; /* the program itself need not have sleds */
};

struct dt_thread_entry {
	uint32_t tid, pid;
};

struct dt_session {
	struct dt_options options;
	struct dt_targets targets;
	struct dt_target *first;
	pthread_mutex_t lock;
	struct dt_store *store;
	struct dt_ring_reader *reader; /* cores + 1 of them */

	/* recorder thread */
	pthread_t recorder;
	bool recorder_runs;
	atomic_bool stop_recorder; /* no writer runs any more: drain and end */
	struct dt_error recorder_error;
	atomic_bool recorder_failed;
	atomic_bool drain_now; /* also what a flight recorder holds: see drained() */
	uint64_t taken, lost, stalls; /* totals; valid when the recorder has ended */

	/* which process a thread belongs to; recorder only */
	struct dt_thread_entry *thread;
	size_t threads, thread_room;

	/* execs under way: processes we hold by ptrace until their execve is through */
	pid_t exec_tid[64], exec_pid[64], exec_ppid[64];
	size_t execs;

	bool rechosen; /* dt_session_switch() was called: a child may not know */
	uint64_t known_targets; /* ever */
	uint32_t only_pid;	/* the one target while there has been one only */
	uint64_t stop_ns, switch_ns, switched; /* largest of any target */
	char note[256];		/* something the user should know at the end */
	bool no_sleds;		/* the program turned out to have none: it was ended at once */
};

int dt_session_create(struct dt_session *s, const struct dt_options *o, struct dt_error *e);
/* Ends the recorder when it runs, closes the file, frees. */
int dt_session_close(struct dt_session *s, struct dt_error *e);

/* The same, but nothing was traced: the file that was there before is there again. */
void dt_session_discard(struct dt_session *s);

/* Starts a program under trace; returns its target, running. */
struct dt_target *dt_session_start(struct dt_session *s, const char *path, char *const argv[],
				   struct dt_error *e);
/* Attaches to a running process. */
struct dt_target *dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e);

/* Begins recording: the rings are open, the recorder thread runs. */
int dt_session_record(struct dt_session *s, struct dt_error *e);

/*
 * Serves the traced processes' messages and ends of processes for up to timeout_ms. Returns the
 * number of processes that are still traced.
 */
size_t dt_session_serve(struct dt_session *s, int timeout_ms);

/*
 * Chooses the sites that `which' picks, in every file there is, or leaves them out, and switches
 * them in every process while it runs. Files that come later are chosen by the session's patterns.
 */
int dt_session_switch(struct dt_session *s, dt_which_fn *which, void *ctx, bool on,
		      struct dt_error *e);
/* Picks the events of a subsystem; ctx: int *, its number; -1: of all. Raw events belong to none. */
bool dt_which_subsystem(void *number, const struct dt_file *f, const struct dt_elf_site *site);

/* Stops recording, detaches every process, takes the last records. */
int dt_session_end(struct dt_session *s, struct dt_error *e);

/* --- between the files of session/ */
void *dt_recorder_main(void *session);
void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row);
int dt_choose(void *session, struct dt_file *f, struct dt_error *e);
/* Writes rows for modules of t that have none yet. With the lock held. */
void dt_session_note_modules(struct dt_session *s, struct dt_target *t);
void dt_session_note_process(struct dt_session *s, struct dt_target *t);
void dt_session_clock(struct dt_session *s);
/* Does a process with these mappings have this session's memory? */
bool dt_session_maps(struct dt_session *s, const struct dt_maps *maps);
/* Does a process run in the memory of another one of the session (a vfork child)? */
bool dt_session_shares(struct dt_session *s, pid_t pid);
/* Answers what is asked, and lets go every thread that is held until its execve is through. */
void dt_session_let_execs_go(struct dt_session *s);
struct dt_target *dt_session_find(struct dt_session *s, pid_t pid);
void dt_session_add(struct dt_session *s, struct dt_target *t);

#endif
