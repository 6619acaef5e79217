/* SPDX-License-Identifier: MIT */
/*
 * The device for one live process: its modules, their sites, the area, and the few functions of
 * libc and the dynamic linker that are led through it. One thread of the controller works on a
 * target at a time (the session's lock).
 */
#ifndef DT_HOOK_TARGET_H
#define DT_HOOK_TARGET_H

#include <sys/types.h>
#include "hook/area.h"
#include "hook/module.h"
#include "process/pid-namespace.h"
#include "process/threads.h"

/* Which functions of a file are to be traced: sets file->chosen. */
typedef int dt_choose_fn(void *ctx, struct dt_file *file, struct dt_error *e);

struct dt_target {
	struct dt_target *next;		 /* the session's list, */
	struct dt_target *const *others; /* and where it begins: what is planted there is planted
					    here alike; or NULL */
	pid_t pid;
	pid_t ppid;
	uint32_t tag; /* of its PID namespace, 0: ours. Its threads' ids have it in records */
	struct dt_pid_namespaces *namespaces; /* that it is counted in; NULL: not yet */
	int mem;			      /* /proc/PID/mem */
	int pidfd;     /* readable when the process has ended; -1: the kernel has none */
	uint64_t area; /* 0: none yet */
	const struct dt_geometry *geometry; /* of the session the area belongs to */
	const struct dt_shared
		*shared; /* the memory that it has, or is to have; NULL: the session's first */
	bool fast;	 /* the rseq hooks are in use */
	bool ours;	 /* our child: we see its exit status */
	bool ended;
	bool forked;	  /* of one that is traced: it began with what that one had */
	bool last;	  /* it has ended, and nobody is to begin with what it had */
	bool leaving;	  /* it has ended, and only records that are still to be read need it */
	bool left;	  /* these have been read: its probes are gone */
	bool tried;	  /* to be detached, at the end */
	bool first_image; /* what dt_session_start() began, its libraries not all loaded yet */
	bool confined;	/* the hooks have been told: no system call is made in it for us any more */
	pid_t held;	/* its only thread, stopped by us by other means; 0: it runs */
	bool execing;	/* a thread of it is held until its execve is through: nothing is planted */
	bool unwatched; /* none of its sites is to be on: see dt_target_sync() */
	bool opted_out; /* by DT_DISABLE_PROCESS(): its sites stay off */
	bool busy; /* the last attempt to plant failed because a thread could not be stopped now */
	uint64_t busy_since; /* ns; 0: it has not */
	struct dt_module *module;
	size_t n, room;
	struct dt_module *gone; /* unmapped, but their records may not have been described yet:
				 * until dt_target_forget() */
	size_t n_gone;
	struct dt_module *shelf; /* these have been described: only their probes are of use, when
				  * they are mapped once more where they were */
	size_t n_shelf;
	bool still;		/* no thread of it runs user code now: see dt_target_scan() */
	struct dt_probes **old; /* what a controller that was killed has left; to be taken away */
	size_t n_old;
	size_t patches;	    /* of libc functions, counted in the blob's head */
	uint64_t stop_ns;   /* longest time its threads were stopped by us */
	uint64_t switch_ns; /* how long the largest switching took */
	size_t switched;    /* sites that one switched */
};

/* Nothing of it is to be recorded. */
static inline bool dt_target_is_silent(const struct dt_target *t)
{
	return t->unwatched || t->opted_out;
}

/* How the session's targets are treated alike. */
struct dt_targets {
	struct dt_shared shared; /* the first of the session's memories */
	struct dt_files files;
	struct dt_pid_namespaces namespaces;
	dt_choose_fn *choose; /* NULL: all sites */
	void *choose_ctx;
};

struct dt_target *dt_target_open(pid_t pid, struct dt_error *e);
/* Marks it as ended, and gives its descriptors back: its modules stay, for records not yet
 * described. */
void dt_target_end(struct dt_target *t);
/* The process has ended (it may be a zombie). */
bool dt_target_gone(const struct dt_target *t);

/* -1 and why, when functions were chosen, but nothing could be planted in any module. */
int dt_target_any(const struct dt_target *t, struct dt_error *e);

/* Has it, by its first thread, restricted its system calls by seccomp to fewer than we have? */
bool dt_target_confined(const struct dt_target *t);
/* The same of all its threads. */
bool dt_target_any_confined(const struct dt_target *t);
/* No system calls from the hooks' slow path any more: see struct dt_blob. */
void dt_target_confine(struct dt_target *t);

/* Do two processes run in one memory? False where the kernel can not tell. */
bool dt_same_memory(pid_t a, pid_t b);

/* How many chosen sites there are in all modules; *all: how many sites, a file that has not been
 * looked at (unmeant) counting as one. */
size_t dt_target_sites(const struct dt_target *t, size_t *all);
/* Has it functions of Go, which can not be hooked? They are not among those sites. */
bool dt_target_has_go(const struct dt_target *t);

#endif
