/* SPDX-License-Identifier: MIT */
/* What the parts of the hostile program share. */
#ifndef DT_TEST_HOSTILE_SPOIL_H
#define DT_TEST_HOSTILE_SPOIL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The session's memory, as this process has it mapped; NULL: not found (yet). */
extern volatile uint64_t *memory;
extern size_t bytes;

uint64_t next(void); /* random */
double now(void);
long leaf(long x); /* what is traced */
void scribble(const char *what);
/* Finds the session's memory, and how it is opened once more. */
int find(char *path, size_t size);

/* code.c: calls in threads, whatever becomes of the code; and what becomes of it. */
void code_calls(double seconds);
void code_spoil(pid_t pid, double seconds, const char *how);
/* lives.c: a process that forks, executes and ends; and who kills such ones. */
void lives(double seconds, int depth);
void lives_hunt(pid_t controller, double seconds);
/* requests.c: messages that are not true; old words of the memory. */
void requests_forge(pid_t victim);
void requests_replay(void);

#endif
