/* SPDX-License-Identifier: MIT */
/* The memory of another process, through /proc/PID/mem, which can also write to read-only pages. */
#ifndef DT_PROCESS_MEMORY_H
#define DT_PROCESS_MEMORY_H

#include <sys/types.h>
#include "core/error.h"

/* Opens a process's memory. Returns a file descriptor, or -1 with the reason (it has gone, is
 * another user's, or Yama refuses it). */
int dt_memory_open(pid_t pid, struct dt_error *e);
/* Looks whether a process has no memory: it has given it back on its way to its end, or is a thread
 * of the kernel. */
bool dt_memory_gone(pid_t pid);
/* Read or write n bytes at an address of the process; fd: as opened above. 0, or -1 and errno: not
 * all of them could be. */
int dt_memory_read(int fd, uint64_t address, void *buf, size_t n);
int dt_memory_write(int fd, uint64_t address, const void *buf, size_t n);
/* Sets *e to the reason why a process can not be traced; errnum: the kernel's error. Returns -1. */
int dt_memory_refused(pid_t pid, int errnum, struct dt_error *e);

#endif
