/* SPDX-License-Identifier: MIT */
/*
 * Processes in PID namespaces other than ours. Such a process numbers itself and its threads in its
 * own way, and so do its records and messages: 1, 2, 3 in each container. So that they are not
 * taken for each other's, a process gets a tag, one for each namespace, which its hooks put above
 * the 22 bits of a thread id (Linux's PID_MAX_LIMIT is 2^22). The recorder makes our numbers of
 * these: session/tids.h.
 */
#ifndef DT_PROCESS_PID_NAMESPACE_H
#define DT_PROCESS_PID_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DT_TAG_SHIFT 22
#define DT_TAGS	     1023u /* tags are from 1 to DT_TAGS - 1; all bits set would be DT_NO_TID */

struct dt_pid_namespaces {
	struct {
		uint64_t inode; /* of the namespace; 0: free */
		pid_t first;	/* its process 1, by our numbers, with which it ends; 0: not seen */
		uint32_t users; /* targets that live */
	} of[DT_TAGS];
	uint32_t last; /* the tag given last: the next is looked for behind it */
};

/*
 * The tag of process pid, shifted to where it belongs in a thread id, and one user more of it: 0
 * when its namespace is ours, or when it has ended. With more than DT_TAGS - 1 namespaces at once
 * the last tag is that of several.
 */
uint32_t dt_pid_namespace_tag(struct dt_pid_namespaces *all, pid_t pid);
/* A user less. */
void dt_pid_namespace_leave(struct dt_pid_namespaces *all, uint32_t tag);
/* The inode of pid's namespace; 0: it has ended, or we may not know. */
uint64_t dt_pid_namespace_of(pid_t pid);

/* How thread tid of process pid is numbered in its own namespace; 0: it has ended. */
pid_t dt_pid_inner(pid_t pid, pid_t tid);
/* Which thread of process pid is `inner' in its own namespace, by our numbers; 0: none. */
pid_t dt_pid_outer_thread(pid_t pid, pid_t inner);
#endif
