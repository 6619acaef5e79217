/* SPDX-License-Identifier: MIT */
/*
 * What a session knows: for the files of session/, and whoever tells the user at its end. What each
 * of them owns stands behind the name of its file.
 */
#ifndef DT_SESSION_STATE_H
#define DT_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/device.h"
#include "core/error.h"
#include "hook/target.h"
#include "process/rights.h"
#include "session/kernel.h"
#include "session/log.h"
#include "session/offsets.h"
#include "session/options.h"
#include "session/results.h"
#include "session/rings.h"
#include "session/switches.h"
#include "store/store.h"
#include "symbols/pattern.h"

/* ---- session/pauses.c ---- */

/* Of one domain. */
struct dt_pauses {
	uint64_t stopped;  /* since when, ticks; 0: it is not. Of the first domain only: it is so of
			      all */
	uint64_t last;	   /* ticks of the last record taken from the shared ring */
	uint64_t all_told; /* ticks: all pauses that ended before have been told */
	uint64_t missed;   /* dt_control.missed when it went on last */
	uint32_t thaws;	   /* how many of dt_control.thaws have been told */
	uint64_t moment;   /* in which the last one ended; and how many have been told of it */
	unsigned singles;
	struct dt_pause many; /* of the same moment, to be told as one; times: 0: none */
};

/* ---- session/domain.c ---- */

/* entries of the two tables below; powers of two */
#define DT_DOMAIN_OWNED	 256u
#define DT_DOMAIN_PLACES 1024u

struct dt_domain {
	struct dt_shared *shared;
	unsigned number;	 /* from 0 on */
	struct dt_rights rights; /* of its first process */
	bool has_rights;	 /* it has had a process */
	struct dt_ring_reader
		*reader; /* one for each ring: the cores', then the shared one's. Recorder thread */
	bool forges;	 /* it has told of waits that can not have been; with the lock */
	bool doubted; /* its processes are another user's (session/doubt.h); owner thread writes */
	/* Recorder thread. Hashed: the threads whose records are known to be the domain's own, and
	 * the calls that hooks are known to record, pc << 8 | kind */
	uint32_t owned[DT_DOMAIN_OWNED];
	uint64_t place[DT_DOMAIN_PLACES];
	uint32_t helds; /* of dt_control.helds, so many have been taken; recorder thread */
	struct dt_pauses pauses;
	bool frozen;	    /* as it was last seen; owner thread */
	uint64_t *left_pos; /* owner thread: where the rings were when those that are leaving had
			       ended */
	/* owner thread: who has posted what stands in a request's slot, by our numbers; 0: nobody
	 * known */
	struct {
		pid_t pid, tid;
	} poster[DT_REQUESTS];
};

/* ---- session/tids.c ---- */

struct dt_tid {
	uint32_t inner, outer; /* with tag; ours. inner 0: empty */
};

struct dt_tids {
	struct dt_tid *at; /* hashed by inner; room: a power of two, or 0 */
	size_t n, room;
	size_t unknown; /* have ended before they were asked for */
};

/* ---- session/helds.c ---- */

#define DT_HELD_LOG 65536u /* waits that a session without a file remembers */

/* ---- the session ---- */

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
	struct dt_domain *domain[DT_SHARED_MAX];
	unsigned domains; /* stored with release */

	/* recorder thread */
	pthread_t recorder;
	bool recorder_runs;
	atomic_bool stop_recorder; /* no writer runs any more: drain and end */
	struct dt_error recorder_error;
	atomic_bool recorder_failed;
	atomic_bool drain_now; /* also what a flight recorder holds: see dt_recorder_drain() */

	/* which process a thread belongs to, hashed by tid; with the lock */
	struct dt_thread_entry *thread;
	size_t threads, thread_room; /* room: a power of two, or 0 */

	struct dt_tids tids; /* of threads in other PID namespaces; with the lock */

	char doubted[192]; /* `doubted' of the file: users of the domains that are doubted */
	/* owner thread: where areas have been mapped, in whatever process, each once */
	uint64_t *area;
	size_t areas;

	uint64_t left_ticks; /* owner thread: when those that are leaving had ended */
	bool anybody_leaving;
	bool unanswered;    /* a message that is waited for could not be dealt with now */
	time_t last_looked; /* for children of those that have ended; s */

	/* execs under way: processes we hold by ptrace until their execve is through */
	pid_t exec_tid[64], exec_pid[64], exec_ppid[64];
	size_t execs;

	/* the device: see session/device.h. With the lock */
	struct dt_device device;
	struct dt_log log;
	bool has_log;		 /* records go there */
	atomic_bool log_stalled; /* the recorder waits for room in it */
	size_t log_held;	 /* records that it has and that are not in the log yet... */
	uint64_t log_until; /* ...because they are later than this (ticks); stored with release */
	bool changed;	/* since the command that is being done began, what is recorded has been */
	bool narrowed;	/* and something that was recorded is not any more */
	size_t watches; /* as applied */
	uint64_t read_until; /* ticks: all rings, the kernel's too, have been read up to then */
	bool uniform, frozen, watch_threads; /* as applied */
	struct dt_arm armed;
	enum dt_arm_state arm_state; /* as it was set, or last seen */
	uint64_t events;
	double ticks_per_ns;
	uint64_t began;		      /* ticks */
	bool freezes;		      /* see dt_domains_freeze() */
	struct dt_offset *offset;     /* of each core; NULL: not measured */
	struct dt_switches *switches; /* NULL: not recorded */
	struct dt_kernel *kernel;     /* NULL: not recorded */
	struct dt_kernel_module kernel_module[256];
	size_t kernel_modules;
	struct dt_held_row *held; /* with a log: the last DT_HELD_LOG waits; with the lock */
	uint64_t held_n; /* how many there were: the last is held[(held_n - 1) % DT_HELD_LOG] */
	uint32_t held_refused; /* those that can not have been */
	uint64_t settled;      /* ticks: a record not to be seen after that long will not come */
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
	bool was_frozen;      /* owner thread */
	uint64_t arm_ticks;   /* how long an armed recording is to last; 0: without end */
	uint64_t confined_at; /* ns: when the processes were last asked whether they confine
				 themselves; owner thread */
	char *dump;	      /* where the log goes when a trigger has fired; NULL: nowhere */
	atomic_bool quit;     /* the device has been told so */
	struct dt_server *server;

	uint64_t known_targets; /* ever */
	uint32_t only_pid;	/* the one target while there has been one only */
	size_t points_set;	/* of the options' tracepoints */
	struct dt_results results;
	char *path;   /* of the program that was started; NULL: none was */
	bool refused; /* it was ended at once: nothing of it can be traced, or its tracepoints can
			 not be set, */
	struct dt_error refusal; /* this one, or why */
};

/* The process of that number that has not ended; NULL: there is none. */
static inline struct dt_target *dt_session_find(struct dt_session *s, pid_t pid)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->pid == pid && !t->ended)
			return t;
	return NULL;
}

#endif
