/* SPDX-License-Identifier: MIT */
/*
 * The truth about a program's calls, told by the program itself: each function says on entering
 * and leaving what it is, into a shared file that survives exec and every way to die. The telling
 * is inlined everywhere and calls nothing, so that it changes no call tree and leaves leaf
 * functions leaves. Without DT_TRUTH in the environment nothing is told.
 */
#ifndef DT_TEST_TRUTH_H
#define DT_TEST_TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRUTH_EVENTS (1u << 20)

enum truth_kind {
	TRUTH_NONE, /* not written: its thread was killed while it was about to */
	TRUTH_ENTER,
	TRUTH_LEAVE,
	TRUTH_TAIL,    /* its last act is to call a traced function and return what that returns */
	TRUTH_OUTSIDE, /* the same with a function that is not traced */
};

enum truth_result {
	RESULT_NONE,
	RESULT_INTEGER,	       /* rax */
	RESULT_WIDE,	       /* rax, rdx */
	RESULT_VECTOR,	       /* xmm0: up to 16 bytes */
	RESULT_INTEGER_VECTOR, /* rax, xmm0 */
	RESULT_VECTOR_INTEGER, /* xmm0, rax */
};

struct truth_value {
	uint64_t bits;
	uint8_t size; /* bytes that are meant; 0: not told */
};

struct truth_event {
	uint32_t tid;
	int32_t depth; /* calls around this one on its stack */
	uint8_t kind;  /* enum truth_kind, written last */
	uint8_t result;
	uint8_t stack; /* which of the thread's stacks */
	uint8_t async; /* inside a handler of a signal that comes at any time */
	uint8_t size[4];
	uint64_t value[4]; /* arguments, or the result */
	char name[64];
	uint64_t spare;
};

struct truth_log {
	uint64_t count;
	uint64_t spare[15];
	struct truth_event event[TRUTH_EVENTS];
};

#ifdef __cplusplus
extern "C" {
#endif
extern struct truth_log *truth_log;
extern __thread int truth_depth;
extern __thread uint8_t truth_stack, truth_async;
#ifdef __cplusplus
}
#endif

#ifdef TRUTH_MAIN /* exactly one file of a program defines it */
struct truth_log *truth_log;
__thread int truth_depth;
__thread uint8_t truth_stack, truth_async;
#endif

#define TRUTH_INLINE static inline __attribute__((always_inline, unused))

#ifdef __clang__
#define FN __attribute__((noinline))
#else
#define FN __attribute__((noipa))
#endif

/* Before anything is told: at the start of main, and of whatever runs before it. */
TRUTH_INLINE void truth_start(void)
{
	const char *path = getenv("DT_TRUTH");
	int fd;

	if (truth_log || !path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*truth_log))) {
		perror(path);
		exit(99);
	}
	truth_log = (struct truth_log *)mmap(NULL, sizeof(*truth_log), PROT_READ | PROT_WRITE,
					     MAP_SHARED, fd, 0);
	if (truth_log == MAP_FAILED) {
		perror(path);
		exit(99);
	}
	close(fd);
}

TRUTH_INLINE uint32_t truth_tid(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(SYS_gettid) : "rcx", "r11", "memory");
	return (uint32_t)ret;
}

TRUTH_INLINE struct truth_event *truth_new(const char *name, size_t n)
{
	struct truth_event *e;
	uint64_t i = __atomic_fetch_add(&truth_log->count, 1, __ATOMIC_RELAXED);

	if (i >= TRUTH_EVENTS)
		__builtin_trap();
	e = &truth_log->event[i];
	e->tid = truth_tid();
	e->depth = truth_depth;
	e->stack = truth_stack;
	e->async = truth_async;
	__builtin_memcpy(e->name, name, n);
	return e;
}

TRUTH_INLINE void truth_done(struct truth_event *e, enum truth_kind kind)
{
	__atomic_store_n(&e->kind, (uint8_t)kind, __ATOMIC_RELEASE);
}

TRUTH_INLINE void truth_enter(const char *name, size_t n, const struct truth_value *v, int values)
{
	if (truth_log) {
		struct truth_event *e = truth_new(name, n);

		for (int i = 0; i < values && i < 4; i++) {
			e->value[i] = v[i].bits;
			e->size[i] = v[i].size;
		}
		truth_done(e, TRUTH_ENTER);
	}
	truth_depth++;
}

TRUTH_INLINE void truth_leave(const char *name, size_t n, enum truth_result result, uint64_t low,
			      uint64_t high, uint8_t size)
{
	truth_depth--;
	if (truth_log) {
		struct truth_event *e = truth_new(name, n);

		e->result = (uint8_t)result;
		e->value[0] = low;
		e->value[1] = high;
		e->size[0] = size;
		truth_done(e, TRUTH_LEAVE);
	}
}

TRUTH_INLINE void truth_tail(const char *name, size_t n, enum truth_kind kind)
{
	truth_depth--;
	if (truth_log)
		truth_done(truth_new(name, n), kind);
}

/* An argument in an integer register; UNTOLD for one that is there but not compared. */
#define ARG(x)                                                                                     \
	{                                                                                          \
		(uint64_t)(x), (uint8_t)sizeof(x)                                                  \
	}
#define UNTOLD                                                                                     \
	{                                                                                          \
		0, 0                                                                               \
	}

#define TRUTH_NAME __func__, sizeof(__func__)
#define ENTER(...)                                                                                 \
	do {                                                                                       \
		const struct truth_value truth_args[] = {__VA_ARGS__};                             \
		truth_enter(TRUTH_NAME, truth_args,                                                \
			    (int)(sizeof(truth_args) / sizeof(truth_args[0])));                    \
	} while (0)
#define ENTER0() truth_enter(TRUTH_NAME, NULL, 0)

#define LEAVE() truth_leave(TRUTH_NAME, RESULT_NONE, 0, 0, 0)

/* Returns an integer or pointer. */
#define RETURN(x)                                                                                  \
	do {                                                                                       \
		__typeof__(x) truth_x = (x);                                                       \
		truth_leave(TRUTH_NAME, RESULT_INTEGER, (uint64_t)truth_x, 0, sizeof(truth_x));    \
		return truth_x;                                                                    \
	} while (0)

/* Returns anything else of at most 16 bytes, and says how it is passed. */
#define RETURN_AS(how, x)                                                                          \
	do {                                                                                       \
		__typeof__(x) truth_x = (x);                                                       \
		uint64_t truth_bits[2] = {0, 0};                                                   \
		__builtin_memcpy(truth_bits, &truth_x, sizeof(truth_x));                           \
		truth_leave(TRUTH_NAME, how, truth_bits[0], truth_bits[1], sizeof(truth_x));       \
		return truth_x;                                                                    \
	} while (0)

/* Returns what is not in registers a record has. */
#define RETURN_UNTOLD(x)                                                                           \
	do {                                                                                       \
		__typeof__(x) truth_x = (x);                                                       \
		LEAVE();                                                                           \
		return truth_x;                                                                    \
	} while (0)

#define RETURN_TAIL(call)                                                                          \
	do {                                                                                       \
		truth_tail(TRUTH_NAME, TRUTH_TAIL);                                                \
		return call;                                                                       \
	} while (0)

#define RETURN_OUTSIDE(call)                                                                       \
	do {                                                                                       \
		truth_tail(TRUTH_NAME, TRUTH_OUTSIDE);                                             \
		return call;                                                                       \
	} while (0)

#endif
