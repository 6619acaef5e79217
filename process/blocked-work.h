/* SPDX-License-Identifier: MIT */
/* The insides of blocked.c (which call) and blocked-object.c (who is at the other end). */
#ifndef DT_PROCESS_BLOCKED_WORK_H
#define DT_PROCESS_BLOCKED_WORK_H

#include "process/blocked.h"

#define PATH_MAX_SHOWN 160 /* bytes of a path that are looked at */

/* Writes "67 (cat)". */
void dt_blocked_name(pid_t tid, char *out, size_t size);

/* As stat(), by what is known of the file: its file system is not asked, which may not answer. */
struct statx;
bool dt_blocked_stat(const char *path, struct statx *st);

/* Write what a descriptor's link stands for, with who is at the other end. write: the thread
 * writes. */
void dt_blocked_pipe(struct dt_blocked *b, pid_t tid, const char *link, bool write, char *out,
		     size_t size);
void dt_blocked_socket(pid_t tid, const char *link, char *out, size_t size);

/* Writes which file's lock a thread waits for, and who holds it. */
void dt_blocked_lock(pid_t tid, int fd, char *out, size_t size);

#endif
