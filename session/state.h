/* SPDX-License-Identifier: MIT */
/* What a session knows. It is for the files of session/, and for whatever tells the user about the
 * session at its end. What one file alone owns stands under the name of that file. */
#ifndef DT_SESSION_STATE_H
#define DT_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/device.h"
#include "core/error.h"
#include "hook/target.h"
#include "process/rights.h"
#include "session/kernel-only.h"
#include "session/log.h"
#include "session/offsets.h"
#include "session/options.h"
#include "session/results.h"
#include "session/rings.h"
#include "session/stack-points.h"
#include "session/switches.h"
#include "session/turns.h"
#include "store/store.h"
#include "symbols/pattern.h"

/* ---- session/pauses.c ---- */

/* The pauses of one domain, as far as they have been told to the trace file. */
struct dt_pauses {
	uint64_t stopped;     /* ticks since when recording is stopped; 0: it is not. Only the first
				 domain's is set: all stop together */
	uint64_t last;	      /* ticks of the last record taken from the shared ring */
	uint64_t all_told;    /* ticks: all pauses that ended before this have been told */
	uint64_t missed;      /* dt_control.missed when recording last went on */
	uint32_t thaws;	      /* how many of dt_control.thaws have been dealt with */
	uint64_t moment;      /* in which the last pause ended, in units of 2^23 ticks */
	unsigned singles;     /* pauses of that moment that have been told one by one */
	struct dt_pause many; /* further pauses of that moment, to be told as one; times 0: there
				 are none */
};

/* ---- session/domain.c ---- */

/* entries of the two tables below; powers of two */
#define DT_DOMAIN_OWNED	 256u
#define DT_DOMAIN_PLACES 1024u

/* A domain of the session (session/domain.h), with its memory and the readers of its rings. */
struct dt_domain {
	struct dt_shared *shared;
	unsigned number;	       /* its index in dt_session.domain */
	struct dt_rights rights;       /* credentials of its processes */
	bool has_rights;	       /* it has had a process */
	struct dt_ring_reader *reader; /* one for each ring: first the cores', then the shared
					  ring's; recorder thread */
	bool forges;  /* its processes have reported waits that can not have happened; with the lock
		       */
	bool doubted; /* its processes are another user's (session/doubt.h); written by the owner
			 thread */
	/* Both are the recorder thread's, and hashed: threads whose records are known to be the
	 * domain's own, and calls that hooks are known to record, as pc << 8 | kind. */
	uint32_t owned[DT_DOMAIN_OWNED];
	size_t owned_again; /* dt_lives.again when owned was begun */
	uint64_t place[DT_DOMAIN_PLACES];
	uint32_t helds;	 /* how many of dt_control.helds have been taken; with the lock */
	uint32_t births; /* the same of dt_control.births */
	struct dt_pauses pauses;
	bool frozen;	    /* whether recording was frozen when last looked at; owner thread */
	uint64_t *left_pos; /* owner thread: position of each ring when the processes that are
			       leaving had ended */
	/* Owner thread: who has posted the message in each slot, by our numbers of the process and
	 * the thread; 0: not known. */
	struct {
		pid_t pid, tid;
	} poster[DT_REQUESTS];
};

/* ---- session/tids.c ---- */

/* The threads of other PID namespaces that have been asked for. */
struct dt_tids {
	struct dt_turns turns; /* by their numbers there, with the namespace's tag: our numbers */
	size_t unknown;	       /* how many had ended before they were asked for */
};

/* ---- session/lives.c ---- */

/* The threads that have told of their births, and those whose numbers others have had before. */
struct dt_lives {
	struct dt_turns turns; /* by our numbers: ids */
	uint32_t *number;      /* our number of each id, from DT_AGAIN on */
	size_t again, room;    /* how many these are */
	uint32_t refused;      /* births for which there was no id */
};

/* ---- session/helds.c ---- */

#define DT_HELD_LOG 65536u /* waits that a session without a file remembers */

/* ---- the session ---- */

/* What another thread asks the owner thread to do. DT_ASK_DONE: the owner thread has done it, and
 * the other thread has not fetched the result yet. */
enum dt_ask { DT_ASK_NONE, DT_ASK_ATTACH, DT_ASK_DETACH, DT_ASK_SYNC, DT_ASK_DONE };

/* The kernel or one of its modules that has a row in the trace file. */
struct dt_kernel_module {
	char name[64];
	int64_t row;
};

/* What the session knows of one thread. */
struct dt_thread_entry {
	uint32_t tid, pid; /* ids (session/lives.h); tid 0: empty */
	uint32_t domains;  /* bit n: it has been in the domain with that number */
	bool recorded;	   /* it has been described in the trace file, if there is one */
	char name[16];	   /* as it was described; "": not known */
	uint64_t unlisted; /* the first thread of a process that is no target, as a child of vfork,
			      which has its maker's memory: ticks of its first record; 0: it is
			      not such */
	bool met;	   /* it has been described, and has no records of its own yet */
};

/* An executable file, identified by its inode and device. */
struct dt_program {
	uint64_t inode;
	unsigned dev_major, dev_minor;
};

#define DT_LAST_MARKS 64u /* at a time */

/* What --last knows: session/last.h. */
struct dt_last {
	struct dt_last_mark {
		uint64_t ticks; /* no record before it is later, and none behind it as early */
		int64_t chunk;	/* the last one before it */
	} mark[DT_LAST_MARKS];	/* the oldest first */
	unsigned marks;
};

/* Snapshots that are to be written, and one that is being written: session/snapshot.h. With the
 * lock. */
struct dt_snapshots {
	struct dt_snapshot *due; /* the oldest first */
	struct dt_snapshot *now; /* that the thread writes; NULL: none */
	pthread_t thread;
	uint64_t asked, over;  /* the number of the last one that was asked for; that is over... */
	bool failed;	       /* ...and could not be written, */
	struct dt_error error; /* for this reason */
};

/* A session. A field with "owner thread" or "recorder thread" is that thread's alone; one with
 * "with the lock" is read and written with `lock' held. */
struct dt_session {
	struct dt_options options;
	struct dt_targets targets;
	struct dt_target *first; /* list of the processes, youngest first */
	pthread_mutex_t lock;
	pthread_mutex_t writing; /* held while ctl is being written; taken before `lock' */
	pthread_t owner;
	/* the trace file; in a session without one, what the sieve needs of one, in memory: see
	 * dt_session_has_file(). NULL: neither */
	struct dt_store *store;
	struct dt_last last; /* what --last knows */
	struct dt_snapshots snapshots;
	struct dt_sieve
		*sieve; /* what chooses among calls before they are written; NULL: all are */
	struct dt_stack_points stack_points; /* with --backtrace */
	struct dt_unwinder *unwinder;	     /* finds callers; NULL: nobody asks for them */
	struct dt_domain *domain[DT_SHARED_MAX];
	unsigned domains; /* how many there are; stored with release */

	struct dt_ends *ends; /* rings the bell when a process ends; NULL: nothing does */

	/* recorder thread */
	pthread_t recorder;
	bool recorder_runs;
	atomic_bool stop_recorder; /* no writer runs any more: the recorder takes what is left and
				      ends */
	struct dt_error recorder_error;
	atomic_bool recorder_failed;
	atomic_uint drains; /* calls of dt_recorder_drain() that are waiting: while there are some,
			       records are taken also where a flight recorder leaves them */

	/* the session's threads, hashed by tid; with the lock */
	struct dt_thread_entry *thread;
	size_t threads, thread_room; /* thread_room is a power of two, or 0 */

	struct dt_tids tids;   /* threads of other PID namespaces; with the lock */
	struct dt_lives lives; /* threads, by time; with the lock */

	char doubted[192]; /* what has been written to the file as `doubted': the users of the
			      doubted domains */
	/* Owner thread: the addresses at which areas have been mapped in any process, each once. */
	uint64_t *area;
	size_t areas;

	uint64_t left_ticks; /* owner thread: ticks when the processes that are leaving had ended */
	bool anybody_leaving; /* owner thread: some processes have ended, and their records are
				 still to be read */
	bool unanswered; /* a message could not be dealt with yet, and has to be looked at again
			    soon */
	struct dt_session_jit *jit; /* owner thread: see session/jit.h */
	uint64_t jit_looked;	    /* when it was last looked for, ns */
	time_t last_looked;	    /* when children of ended processes were last searched for; s */

	/* Owner thread: execs under way. We hold these threads by ptrace until their execve is
	 * through. */
	pid_t exec_tid[64], exec_pid[64], exec_ppid[64];
	size_t execs;

	/* The device, see session/device.h; with the lock. */
	struct dt_device device;
	struct dt_log log;
	bool has_log;		 /* records go to the log */
	atomic_bool log_stalled; /* the recorder waits for room in it */
	size_t log_held;    /* records that the recorder has and has not put into the log yet... */
	uint64_t log_until; /* ...since they are later than this (ticks); both are stored with
			       release */
	bool changed;	/* the write to ctl that is being obeyed has changed what is recorded... */
	bool narrowed;	/* ...and something that was recorded is no longer recorded */
	size_t watches; /* the device's number of watched ids, as last applied */
	uint64_t read_until; /* ticks up to which all rings, also the kernel's, have been read */
	bool uniform, frozen, watch_threads; /* as last applied */
	struct dt_arm armed;		     /* the triggers as last applied */
	enum dt_arm_state arm_state;	     /* as set, or as last seen in the shared memory */
	uint64_t events; /* argument of the command `events' as last applied: freeze after so many
			    records; 0: do not */
	double ticks_per_ns;
	uint64_t began;	   /* ticks when the session was created */
	uint64_t began_ns; /* CLOCK_MONOTONIC then */
	bool freezes; /* something may freeze the recording, or could once: dt_domains_freeze() */
	struct dt_offset *offset;     /* of each core's cycle counter; NULL: not measured */
	struct dt_ping *ping, *pong;  /* exchanges with other machines; NULL: none */
	struct dt_throttle *throttle; /* keeps to the budget; NULL: there is none. With the lock */
	bool lifts;		      /* jumps to what is off are lifted (hook/probes-lift.c) */
	struct dt_switches *switches; /* NULL: not recorded */
	struct dt_error no_switches;  /* why not, although they were to be, unasked */
	/* since when what followed processes make is followed: in ticks, as dt_status_made() has it
	 */
	uint64_t switches_since, switches_since_made;
	bool switches_told;		   /* the file says why there are none, or no more */
	struct dt_kernel *kernel;	   /* NULL: not recorded */
	struct dt_kernel_only kernel_only; /* processes that it alone is recorded of */
	/* of these, or of all processes: their names; NULL: others are recorded. With the lock */
	struct dt_kernel_threads *kernel_threads;
	struct dt_kernel_module kernel_module[256];
	size_t kernel_modules;
	struct dt_held_row *held; /* only with a log: the last DT_HELD_LOG waits; with the lock */
	uint64_t held_n;       /* how many waits there were in all: the last is held[(held_n - 1) %
				  DT_HELD_LOG] */
	uint32_t held_refused; /* how many reported waits were not believed */
	uint64_t settled; /* ticks (10 us): a record that is not visible so long after its time will
			     not come */
	uint64_t filtered_in_seen, filtered_out_seen; /* at the last reset of the device */
	uint64_t ring_lost_in, ring_lost_out; /* added to the rings' counts of lost records; makes
						 them count from the last reset */
	enum dt_ask ask; /* what follows, up to `asked', is the request to the owner thread and its
			    result; with the lock */
	pid_t ask_pid;
	const struct dt_file *ask_file; /* DT_ASK_SYNC: the file whose sites are meant, NULL for
					   all; and the range of addresses in it */
	uint64_t ask_low, ask_high;
	int ask_result;
	struct dt_error ask_error;
	pthread_cond_t asked; /* signals changes of `ask', the end of the session, and triggers that
				 fired */
	struct dt_program *program; /* programs of the processes that were named; when following, of
				       all processes */
	size_t programs, program_room;
	bool ending;	  /* the session ends: nothing waits for the owner thread any more */
	bool said_frozen; /* owner thread: what has been said last to options.news */
	bool was_frozen;  /* owner thread: whether triggers had frozen recording when last looked at
			   */
	uint64_t arm_ticks; /* how long an armed recording lasts from its start event on; 0: without
			       end */
	uint64_t confined_at; /* owner thread: ns when we last looked whether processes have
				 confined themselves (seccomp) */
	char *dump; /* path to which the log is written when a trigger has fired; NULL: none */
	atomic_bool quit;	  /* the command `quit' has been given */
	struct dt_server *server; /* NULL: the session has no socket */

	/* processes that were made before this session was: owner thread */
	struct dt_older {
		pid_t pid;
		ino_t ino;
	} older[1024];
	bool no_strays; /* there are no children that are not known, and nobody who can make any */
	uint64_t made;	/* before any memory of the session was there: dt_status_now() less one */
	uint64_t known_targets; /* how many processes there have been in all */
	uint32_t only_pid; /* the id of the only process, as long as there has been only one; 0:
			      there were several */
	size_t points_set; /* how many of the options' tracepoints have been set */
	struct dt_results results;
	char *path;   /* path of the program that was started; NULL: none was */
	bool refused; /* the program was ended at once: nothing of it can be traced, or its
			 tracepoints can not be set... */
	struct dt_error refusal;	      /* ...and this says why */
	struct dt_usage *usage;		      /* NULL: there is no file for it */
	struct dt_socket_names *socket_names; /* NULL: addresses of sockets are not wanted */
};

/* Returns the process with that pid that has not ended; NULL: there is none. With the lock, or by
 * the owner thread. */
static inline struct dt_target *dt_session_find(struct dt_session *s, pid_t pid)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->pid == pid && !t->ended)
			return t;
	return NULL;
}

static inline bool dt_session_has_file(const struct dt_session *s)
{
	return s->store && !s->has_log;
}

#endif
