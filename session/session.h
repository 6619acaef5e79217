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
#include "core/device.h"
#include "core/error.h"
#include "process/launch.h"
#include "symbols/pattern.h"
#include "hook/target.h"
#include "session/kernel.h"
#include "session/log.h"
#include "session/offsets.h"
#include "session/domain.h"
#include "session/pauses.h"
#include "session/rings.h"
#include "session/switches.h"
#include "session/tids.h"
#include "store/store.h"

#define DT_NO_SLEDS                                                                                \
	"%s: has no function that could be traced ('devtrace list -v' says why); build it with "   \
	"CFLAGS=\"$(pkg-config --cflags devtrace)\", or use --follow to trace the programs that "  \
	"it runs"

#define DT_GO                                                                                      \
	"is a Go program: Go's stacks are too small for a hook, and are moved. What can be "       \
	"traced of it: C libraries that it uses (-F 'libc.so.6:*'), programs that it runs "        \
	"(--follow), what it does in the kernel (-k)"

struct dt_options {
	enum dt_policy policy;
	uint64_t ring_size; /* bytes per core; 0: the default */
	const char *output; /* NULL: nothing is stored, records are only taken and counted */
	bool keep_old;	    /* a trace that is there becomes output.old */
	struct dt_selection select;
	bool follow; /* what it executes is traced as it is, and the program itself need not have anything
		      * to be traced */
	bool switches; /* which thread runs where is recorded too */
	bool kernel; /* what they do in the kernel is recorded too, */
	const char *const *kernel_pattern; /* these functions of it */
	size_t kernel_patterns;
	bool everybody; /* of the kernel: whoever it is, not only the processes of the session */
	bool contexts; /* libc's swapcontext() and setcontext() are recorded too, for who pairs the calls */
	bool idle;   /* nothing is traced until the device is told so */
	bool stopped; /* all is chosen, and recorded from the device's `start' or a trigger on */
	const char *const *point; /* tracepoints, each as the command trace has it behind its name */
	size_t points;
	const char *const *argument; /* patterns: functions whose arguments are recorded in full */
	uint64_t arguments_told; /* bit i: as dt_pattern.told */
	size_t arguments; /* with these or points, and an empty selection, only they are recorded */
};

/* What other threads ask the owner thread to do. */
enum dt_ask { DT_ASK_NONE, DT_ASK_ATTACH, DT_ASK_DETACH, DT_ASK_SYNC, DT_ASK_DONE };

/* A module of the kernel that has a row in the file. */
struct dt_kernel_module {
	char name[64];
	int64_t row;
};

struct dt_thread_entry {
	uint32_t tid, pid; /* tid 0: empty */
	uint32_t domains;  /* bit n: it has been in the session's n-th */
	bool recorded;	   /* the file tells of it, if there is one */
};

struct dt_program {
	uint64_t inode;
	unsigned dev_major, dev_minor;
};

struct dt_session {
	struct dt_options options;
	struct dt_targets targets;
	struct dt_target *first;
	pthread_mutex_t lock;
	pthread_mutex_t writing; /* ctl is being written; taken before the lock */
	pthread_t owner;
	struct dt_store *store;
	struct dt_domain *domain[DT_SHARED_MAX]; /* see session/domain.h */
	unsigned domains;			 /* stored with release */

	/* recorder thread */
	pthread_t recorder;
	bool recorder_runs;
	atomic_bool stop_recorder; /* no writer runs any more: drain and end */
	struct dt_error recorder_error;
	atomic_bool recorder_failed;
	atomic_bool drain_now; /* also what a flight recorder holds: see dt_session_drained() */
	uint64_t taken, lost, stalls; /* totals; valid when the recorder has ended */

	/* which process a thread belongs to, hashed by tid; with the lock */
	struct dt_thread_entry *thread;
	size_t threads, thread_room; /* room: a power of two, or 0 */

	struct dt_tids tids; /* of threads in other PID namespaces; with the lock */

	char domain_users[192]; /* of the domains, in order, when it has ended and there were several */
	char doubted[192];	/* `doubted' of the file: users of the domains that are doubted */
	char broken[256]; /* rings whose positions somebody has written to, by core, when the session has ended */

	/* owner thread: where areas have been mapped, in whatever process, each once */
	uint64_t *area;
	size_t areas;

	uint64_t left_ticks; /* owner thread: when those that are leaving had ended */
	bool anybody_leaving;
	bool unanswered; /* a message that is waited for could not be dealt with now */
	time_t last_looked; /* for children of those that have ended; s */

	/* execs under way: processes we hold by ptrace until their execve is through */
	pid_t exec_tid[64], exec_pid[64], exec_ppid[64];
	size_t execs;

	/* the device: see session/device.h. With the lock */
	struct dt_device device;
	struct dt_log log;
	bool has_log;	     /* records go there */
	atomic_bool log_stalled; /* the recorder waits for room in it */
	size_t log_held;     /* records that it has and that are not in the log yet... */
	uint64_t log_until;  /* ...because they are later than this (ticks); stored with release */
	bool changed;	     /* since the command that is being done began, what is recorded has been */
	bool narrowed;	     /* and something that was recorded is not any more */
	size_t watches;	     /* as applied */
	uint64_t read_until; /* ticks: all rings, the kernel's too, have been read up to then */
	bool uniform, frozen, watch_threads; /* as applied */
	struct dt_arm armed;
	enum dt_arm_state arm_state; /* as it was set, or last seen */
	uint64_t events;
	double ticks_per_ns;
	uint64_t began;		  /* ticks */
	bool freezes;		  /* see dt_domains_freeze() */
	struct dt_offset *offset; /* of each core; NULL: not measured */
	struct dt_switches *switches; /* NULL: not recorded */
	struct dt_kernel *kernel; /* NULL: not recorded */
	struct dt_kernel_module kernel_module[256];
	size_t kernel_modules;
	struct dt_held_row *held; /* with a log: the last DT_HELD_LOG waits; with the lock */
	uint64_t held_n;	  /* how many there were: the last is held[(held_n - 1) % DT_HELD_LOG] */
	uint32_t held_refused;	  /* those that can not have been */
	uint64_t settled; /* ticks: a record not to be seen after that long will not come */
	uint64_t filtered_in_seen, filtered_out_seen; /* at the last reset */
	uint64_t ring_lost_in, ring_lost_out;	      /* to be added to the rings' counts */
	enum dt_ask ask;
	pid_t ask_pid;
	const struct dt_file *ask_file; /* DT_ASK_SYNC: which sites */
	uint64_t ask_low, ask_high;
	int ask_result;
	struct dt_error ask_error;
	pthread_cond_t asked;
	struct dt_program *program; /* of the processes that were named; when following, of all */
	size_t programs, program_room;
	bool ending;
	uid_t user[8]; /* whose processes have had a memory together, each once; the first ones. 0:
			  each its own */
	unsigned users;
	bool was_frozen; /* owner thread */
	uint64_t arm_ticks; /* how long an armed recording is to last; 0: without end */
	uint64_t confined_at; /* ns: when the processes were last asked whether they confine themselves; owner thread */
	char *dump;	 /* where the log goes when a trigger has fired; NULL: nowhere */
	atomic_bool quit; /* the device has been told so */
	struct dt_server *server;

	uint64_t known_targets; /* ever */
	uint32_t only_pid;	/* the one target while there has been one only */
	uint64_t stop_ns, switch_ns, switched; /* largest of any target */
	bool left_as_it_was;	/* closed: no record came, so the file is the one from before */
	char note[256];		/* something the user should know at the end */
	/* at the end: calls of threads that had forbidden themselves to read the clock; what processes
	 * that had confined themselves could not tell us */
	uint64_t clockless, unsent;
	size_t points_set;	/* of the options' tracepoints */
	struct dt_error point_error; /* why the next one can not be: the program was ended at once */
	bool no_point;
	/* children that could not be opened: what they load and execute is not known. Their calls are recorded */
	uint64_t unopened;
	struct dt_error unopened_why;
	/* executed, but could not be traced: how many, the first of them and why */
	uint64_t unfollowed;
	pid_t unfollowed_pid;
	struct dt_error unfollowed_why;
	bool no_sleds;		/* the program turned out to have none: it was ended at once; */
	bool go;		/* it is Go */
};

int dt_session_create(struct dt_session *s, const struct dt_options *o, struct dt_error *e);
/* Ends the recorder when it runs, closes the file, frees. */
int dt_session_close(struct dt_session *s, struct dt_error *e);

/* The same, but nothing was traced: the file that was there before is there again. */
void dt_session_discard(struct dt_session *s);

/* Starts a program that waits (process/launch.h) under trace; returns its target, running. */
struct dt_target *dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e);
/* Attaches to a running process. */
struct dt_target *dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e);

/* Sets the tracepoints of the options, after the attaching. Owner thread. */
int dt_session_points(struct dt_session *s, struct dt_error *e);

/* Begins recording: the rings are open, the recorder thread runs. */
int dt_session_record(struct dt_session *s, struct dt_error *e);

/*
 * Serves the traced processes' messages and ends of processes for up to timeout_ms. Returns the
 * number of processes that are still traced.
 */
size_t dt_session_serve(struct dt_session *s, int timeout_ms);

/* Stops recording, detaches every process, takes the last records. */
int dt_session_end(struct dt_session *s, struct dt_error *e);

/* --- between the files of session/ */
void *dt_recorder_main(void *session);
/* Which process a thread belongs to; 0: it is not known. */
uint32_t dt_recorder_process(const struct dt_session *s, uint32_t tid);
/* That it does. name: what the file is told; NULL: nothing yet. With the lock. */
void dt_recorder_note(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name);
/* A thread of which something else than a record comes into the file: it is described, too. With the lock. */
void dt_recorder_thread(struct dt_session *s, uint32_t tid);
/*
 * May that be a thread of the domain? Whoever has a memory can write there what he likes, also of
 * others' threads. Once it is, it stays so: it may have another memory later, behind an execve that
 * gave it other rights. Of one that has gone nobody knows (*known is false), and nobody is harmed.
 * With the lock.
 */
bool dt_recorder_owns(struct dt_session *s, const struct dt_domain *d, uint32_t tid, bool *known);
/* It is, from now on: thread tid has the domain's memory now. With the lock. */
void dt_recorder_join(struct dt_session *s, const struct dt_domain *d, uint32_t tid);
/* What /proc calls a thread; "": it has gone. */
void dt_session_read_name(uint32_t tid, char *name, size_t size);
/* Its program and command line; "": it has gone. */
void dt_session_read_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size);
/* A process that was forked and has ended before anything could be done about it. With the lock. */
void dt_session_note_gone(struct dt_session *s, pid_t pid, pid_t ppid);
void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row);

/* Is r's pc a place where a hook records calls? r is a program's. */
bool dt_describe_is_call(struct dt_session *s, const struct dt_record *r);
/* What a point is called: its event, or its function and how far in. */
void dt_describe_name(const struct dt_module *m, const struct dt_point *point, char *out,
		      size_t size);
/* Every record there is now has been taken out of the rings, or a second has passed. Without the lock. */
void dt_session_drained(struct dt_session *s);
/* Writes rows for modules of t that have none yet. With the lock held. */
void dt_session_note_modules(struct dt_session *s, struct dt_target *t);
void dt_session_note_process(struct dt_session *s, struct dt_target *t);
void dt_session_clock(struct dt_session *s);
/* Whose child a process is now; 0: it has ended. */
pid_t dt_session_parent_of(pid_t pid);
/* Does a process run in the memory of another one of the session (a vfork child)? */
bool dt_session_shares(struct dt_session *s, pid_t pid);
/* Answers what is asked, and lets go every thread that is held until its execve is through. */
void dt_session_let_execs_go(struct dt_session *s);
struct dt_target *dt_session_find(struct dt_session *s, pid_t pid);
/* What a process runs is a program that was named. Before its modules are looked at. */
void dt_session_note_program(struct dt_session *s, pid_t pid);
/* Is it the program of a process that was named, rather than a library, or what that process runs? */
bool dt_session_is_program(const struct dt_session *s, const struct dt_file *f);
/* Forked children that have not made themselves known, in any process: they are now. With the lock. */
bool dt_session_adopt_strays(struct dt_session *s);
const struct dt_target *dt_session_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area);
/* The target is to have the memory of its credentials, and has it when it is installed. Owner
 * thread. */
int dt_session_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e);
/* A process that has a memory may have other credentials now: that is to be said. */
void dt_session_note_user(struct dt_session *s, const struct dt_target *t);
void dt_session_add(struct dt_session *s, struct dt_target *t);

#endif
