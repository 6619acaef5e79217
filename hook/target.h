/* SPDX-License-Identifier: MIT */
/*
 * A target: one live traced process, with its modules, their sites, the area, and the few functions
 * of libc and the dynamic linker that are led through the area. The session's lock sees to it that
 * one thread of the controller at a time works on a target.
 */
#ifndef DT_HOOK_TARGET_H
#define DT_HOOK_TARGET_H

#include <sys/types.h>
#include "hook/area.h"
#include "hook/module.h"
#include "process/pid-namespace.h"
#include "process/threads.h"

/* Decides which functions of a file are to be traced, by setting file->chosen. -1 and the reason.
 */
typedef int dt_choose_fn(void *ctx, struct dt_file *file, struct dt_error *e);

/* what dt_target.slow says of a process whose hooks look into no thread block */
#define DT_SLOW_STRANGE "which makes threads that have no thread block of libc's"

/* One traced process. */
struct dt_target {
	struct dt_target *next;		 /* in the session's list, */
	struct dt_target *const *others; /* whose first pointer is here: what was planted in another
					    process can be copied; or NULL */
	pid_t pid;
	pid_t ppid;
	uint32_t id;  /* of the process in the trace file: session/lives.h */
	uint32_t tag; /* of its PID namespace; 0: ours. Records have it in their thread ids */
	struct dt_pid_namespaces
		*namespaces;  /* those that tag is of; NULL: not counted there yet */
	char comm[16];	      /* the name of its first thread when it became known */
	int64_t errno_offset; /* of errno from the thread pointer, as the hooks know it; 0: they do
				 not */
	int mem;	      /* /proc/PID/mem */
	int pidfd;	      /* readable when the process has ended; -1: the kernel has no pidfd */
	uint64_t area;	      /* address of the area; 0: none yet */
	const struct dt_geometry *geometry; /* of the session the area belongs to */
	const struct dt_shared
		*shared; /* the memory that it maps, or is to map; NULL: the session's first */
	bool fast;	 /* the rseq hooks are in use */
	char slow[160];	 /* why its threads have no rseq, so that each record takes long; "": they
			    have, or it is not known yet */
	bool ours;	 /* it is our child: we see its exit status */
	bool named;	 /* the user named it: the programs that it executes are meant, too */
	bool ended;	 /* dt_target_end() was called */
	bool forked;	 /* by a traced process: it began with that one's area and hooks */
	bool executed;	 /* it was a target before, which has executed this program */
	bool descends;	 /* it was no target, but a traced process has made it */
	bool last;	 /* it has ended, and no more children of it can appear */
	bool leaving; /* it has ended, and is needed only for records that are still to be read */
	bool left;    /* these have been read: its probes are freed */
	bool tried;   /* detaching it has been tried, at the session's end */
	bool first_image; /* dt_session_start() began it, and not all its libraries are loaded */
	bool confined;	  /* its hooks know that no system call is to be made for us any more */
	pid_t held;	  /* its only thread, if we have stopped it by other means; 0: it runs */
	bool execing; /* a thread is held until its execve is done: nothing is planted meanwhile */
	bool unwatched; /* none of its sites is to be on: see dt_target_sync() */
	bool opted_out; /* it called DT_DISABLE_PROCESS(): its sites stay off */
	bool busy; /* the last attempt to plant failed since a thread could not be stopped just then
		    */
	uint64_t busy_since; /* ns; 0: it is not busy */
	struct dt_module *module;
	size_t n, room;
	struct dt_module *gone; /* modules that were unmapped, but whose records may not have been
				 * described yet: until dt_target_forget() */
	size_t n_gone;
	struct dt_module *shelf; /* unmapped modules whose records have been described: their probes
				  * are used again if they are mapped once more at the same place */
	size_t n_shelf;
	bool lifts; /* jumps to what is off are lifted: see probes-lift.c */
	bool still; /* no thread of it runs user code at present: see dt_target_scan() */
	struct dt_probes **old; /* found by dt_probes_recover(), to be taken away */
	size_t n_old;
	size_t patches; /* places led through the area, as listed in the blob's head */
	/* of a session with a budget: its processor time when it was last looked at, ns, and that
	 * before it was traced */
	uint64_t taken, taken_before;
	bool taken_known, taken_last; /* it has been looked at; and once more after its end */
	bool taken_up;		      /* its parent has waited for it, and counts what it took */
	uint64_t stop_ns;	      /* longest time for which we have stopped its threads */
	uint64_t switch_ns;	      /* how long the dt_target_switch() of most sites took */
	size_t switched;	      /* how many sites that was */
};

/* Looks whether nothing of the process is to be recorded. */
static inline bool dt_target_is_silent(const struct dt_target *t)
{
	return t->unwatched || t->opted_out;
}

/* What all targets of a session have in common. */
struct dt_targets {
	struct dt_shared shared; /* the first of the session's memories */
	struct dt_files files;
	struct dt_pid_namespaces namespaces;
	dt_choose_fn *choose; /* NULL: all sites */
	void *choose_ctx;
};

/* Makes a target of a live process, without touching the process. dt_target_close() frees it. NULL
 * and the reason. */
struct dt_target *dt_target_open(pid_t pid, struct dt_error *e);
/* Marks the target as ended, and closes its descriptors. Its modules stay, for records not yet
 * described. */
void dt_target_end(struct dt_target *t);
/* Looks whether the process has ended (it may be a zombie). */
bool dt_target_gone(const struct dt_target *t);

/* Returns -1 and the reason when functions were chosen, but nothing could be planted in any module;
 * else 0. */
int dt_target_any(const struct dt_target *t, struct dt_error *e);

/* Looks whether the process's first thread has restricted its system calls by seccomp more than
 * ours are. */
bool dt_target_confined(const struct dt_target *t);
/* Looks whether any thread of the process has. */
bool dt_target_any_confined(const struct dt_target *t);
/* Tells the hooks' slow path to make no system calls any more: see struct dt_blob. */
void dt_target_confine(struct dt_target *t);

/* Looks whether two processes share one address space. False where the kernel can not tell. */
bool dt_same_memory(pid_t a, pid_t b);

/* Returns how many sites are chosen in all modules. *all is how many sites there are; a file that
 * has not been read (unmeant) counts as one. Sites in Go's code are not among *all. */
size_t dt_target_sites(const struct dt_target *t, size_t *all);
/* Looks whether the process has functions of Go, which can not be hooked. */
bool dt_target_has_go(const struct dt_target *t);

#endif
