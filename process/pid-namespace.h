/* SPDX-License-Identifier: MIT */
/*
 * Processes in PID namespaces other than ours. In each namespace processes and threads are numbered
 * separately (1, 2, 3 in each container), and so they are in records and messages. To tell them
 * apart, each namespace gets a tag, which the hooks of its processes put above the 22 bits of a
 * thread id (Linux's PID_MAX_LIMIT is 2^22). The recorder translates the ids to our namespace's:
 * session/tids.h.
 */
#ifndef DT_PROCESS_PID_NAMESPACE_H
#define DT_PROCESS_PID_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DT_TAG_SHIFT 22
/* tags are from 1 to DT_TAGS - 1; numbers from 2^30 on are used by session/lives.h */
#define DT_TAGS 256u

/* The namespaces of a session, by tag. */
struct dt_pid_namespaces {
	struct {
		uint64_t inode; /* of the namespace; 0: the tag was never used */
		pid_t first; /* its process 1, with our number; the namespace ends with it; 0: not
			      * seen */
		uint32_t
			users; /* targets in it that have not ended; 0: the tag may be given away */
	} of[DT_TAGS];
	uint32_t last; /* the tag given last: the search for the next one begins after it */
};

/*
 * Returns the tag of process pid's namespace, shifted to its place in a thread id, and counts the
 * process as its user. 0: the namespace is ours, or the process has ended. If there are more than
 * DT_TAGS - 1 namespaces at once, several share the last tag.
 */
uint32_t dt_pid_namespace_tag(struct dt_pid_namespaces *all, pid_t pid);
/* Counts one user of the tag less. */
void dt_pid_namespace_leave(struct dt_pid_namespaces *all, uint32_t tag);
/* Returns the inode of pid's namespace; 0: the process has ended, or we may not know it. */
uint64_t dt_pid_namespace_of(pid_t pid);

/* Returns the number of thread tid of process pid in its own namespace; 0: it has ended. */
pid_t dt_pid_inner(pid_t pid, pid_t tid);
/* Returns our number of the thread of process pid that is `inner' in its own namespace; 0: there is
 * none. */
pid_t dt_pid_outer_thread(pid_t pid, pid_t inner);
#endif
