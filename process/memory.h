/* SPDX-License-Identifier: MIT */
/* The memory of another process, through /proc/PID/mem: it can write read-only pages of ours. */
#ifndef DT_PROCESS_MEMORY_H
#define DT_PROCESS_MEMORY_H

#include <sys/types.h>
#include "core/error.h"

/* Returns a file descriptor, or -1 with the reason (gone, another user's, refused by Yama). */
int dt_memory_open(pid_t pid, struct dt_error *e);
/* Has it given its memory back, on its way to its end? Threads of the kernel have none either. */
bool dt_memory_gone(pid_t pid);
/* All of n bytes or -1. */
int dt_memory_read(int fd, uint64_t address, void *buf, size_t n);
int dt_memory_write(int fd, uint64_t address, const void *buf, size_t n);
/* A line for a process we may not touch; errnum as the kernel gave it. Always -1. */
int dt_memory_refused(pid_t pid, int errnum, struct dt_error *e);

#endif
