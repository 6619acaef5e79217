/* SPDX-License-Identifier: MIT */
/*
 * libdevtrace: reading what devtrace has recorded, in a program of your own. Compile with
 * `pkg-config --cflags --libs libdevtrace`; libdevtrace(3) has an example. (devtrace.h is another
 * header: that is for programs which are traced.)
 *
 * A trace is opened, and its calls or records are taken from it one by one, or many at a time by
 * columns. A file that is still being written can be read, up to what has been written so far.
 *
 * Rules for all of it:
 * - Errors are values: a function that fails returns NULL or -1 and writes one line into *e, which
 *   may be NULL. Nothing is printed, and the program is never ended.
 * - One thread at a time uses a trace and what was begun on it; different traces are independent,
 *   also if they are of the same file.
 * - Strings belong to the library. They are valid until the trace is closed, unless another end is
 *   given. They are never NULL, and may hold any bytes but NUL: names come from the file.
 * - Files may come from anybody: what they hold is checked, and reading ends with an error where a
 *   file is damaged. But no sandbox is around the reader, as there is around devtrace's commands
 *   (doc/security.md in its sources).
 * - Structures only grow at their end. Where the caller provides one, its size is a parameter, so
 *   that a program works with later versions of the library.
 * - Ids of threads and processes are those of the kernel, unless the trace has had that number
 *   before: see `number' of their descriptions.
 */
#ifndef LIBDEVTRACE_H
#define LIBDEVTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface: later ones add to it, and keep what was there. */
#define DEVTRACE_INTERFACE 1

#define DEVTRACE_UNKNOWN INT64_MIN  /* a time in ns that is not known */
#define DEVTRACE_NONE	 UINT32_MAX /* no thread, no process */
#define DEVTRACE_NO_CORE UINT16_MAX /* a core that is not known */

/* One line of text that says what was wrong and what would be right. */
struct devtrace_error {
	char text[512];
};

/* An open trace. */
struct devtrace;

/* Returns DEVTRACE_INTERFACE of the library that is being used. */
int devtrace_interface(void);

/* Opens the trace file at path after checking it. NULL on error. */
struct devtrace *devtrace_open(const char *path, struct devtrace_error *e);
/* Closes a trace, when all that was begun on it has been ended; t may be NULL. */
void devtrace_close(struct devtrace *t);
/* Looks for what has been added to a file that is being written: descriptions, and the summary.
 * Returns -1 on error. */
int devtrace_refresh(struct devtrace *t, struct devtrace_error *e);

/* ---- the whole ---- */

struct devtrace_summary {
	uint64_t records, lost; /* records that the file has, and that are known to be missing */
	uint64_t first, last;	/* ticks of the first and the last record */
	double ns_per_tick;	/* on average, for lengths of time */
	int64_t begin_realtime; /* the first record's time, ns since 1970; DEVTRACE_UNKNOWN */
	uint32_t cores, threads, processes, modules, functions; /* how many there are */
};

/* Fills in what fits into `size' bytes, which is sizeof(*s). */
void devtrace_get_summary(struct devtrace *t, struct devtrace_summary *s, size_t size);

/* Returns the value of a key of the recording (doc/format.md, "meta"), such as "version" or
 * "command"; NULL: there is none. */
const char *devtrace_meta(struct devtrace *t, const char *key);

/* Returns the time of a tick, in ns from the first record. Ticks before that have negative times.
 */
int64_t devtrace_ns(struct devtrace *t, uint64_t ticks);
/* Returns the first tick of the trace whose time is ns or later; behind the end: the tick after the
 * last one. */
uint64_t devtrace_ticks(struct devtrace *t, int64_t ns);

/* ---- descriptions ---- */

struct devtrace_thread {
	uint32_t id, process, number; /* number: the kernel's */
	const char *name;
};

struct devtrace_process {
	uint32_t id, parent, number;
	int32_t status;			 /* as wait(2) gives it; -1: not known */
	uint64_t begin_ticks, end_ticks; /* end 0: not known */
	const char *program, *command;
};

struct devtrace_module {
	uint32_t id, process;
	uint64_t base, low, high; /* where it was mapped */
	const char *path, *build_id;
};

struct devtrace_function {
	uint32_t id, module;	/* module 0: not known */
	uint64_t address, size; /* at run time */
	uint32_t line;		/* 0: not known */
	const char *name;	/* "?": not known */
	const char *shown; /* the name as devtrace's commands show it: with its module, if there are
			      several of that name */
	const char *file;  /* the source file, "": not known */
};

/* Fill in what fits into `size' bytes. They return 0, or -1 if there is none. Threads and processes
 * are numbered from 0, modules and functions by their ids, from 1. What the summary does not count
 * yet, because it was written after the trace was opened, is looked for in the file. */
int devtrace_get_thread(struct devtrace *t, uint32_t i, struct devtrace_thread *out, size_t size);
int devtrace_get_process(struct devtrace *t, uint32_t i, struct devtrace_process *out, size_t size);
int devtrace_get_module(struct devtrace *t, uint32_t id, struct devtrace_module *out, size_t size);
int devtrace_get_function(struct devtrace *t, uint32_t id, struct devtrace_function *out,
			  size_t size);

/* ---- what is wanted ---- */

/* Flags of a choice. */
#define DEVTRACE_VALUES 1u /* read arguments and results */
/* Make texts of calls, too, as `devtrace calls' prints them; with it arguments beyond the fourth,
 * and what pointers led to, as far as they were recorded. It implies DEVTRACE_VALUES. */
#define DEVTRACE_TEXTS 2u
/* In the order of time; otherwise a thread may be ahead of another one, which is faster. Calls come
 * when they end. */
#define DEVTRACE_BY_TIME 4u
/*
 * In texts, say what pointers into code and data lead to, as the commands do. For this the files
 * that the trace names are opened and read: not for traces from somebody you do not trust. Without
 * it, no file but the trace is opened.
 */
#define DEVTRACE_POINTER_NAMES 8u

/* All zero: everything, without values. */
struct devtrace_choice {
	size_t size;	    /* sizeof(struct devtrace_choice) */
	uint32_t flags;	    /* DEVTRACE_VALUES, ... */
	const char *filter; /* of calls only, in the words of `devtrace calls -f'; NULL: all */
	/* Only the records between these ticks are read, both inclusive; to 0: to the end. Of a
	 * call that began before, or ends after, only that is known. */
	uint64_t from, to;
};

/* ---- calls ---- */

/* How a call ended or began: devtrace_call.flags. Several may be set. */
enum devtrace_call_flag {
	DEVTRACE_UNWOUND = 1,	    /* without an exit: longjmp, an exception, an exit, an execve */
	DEVTRACE_TAIL = 2,	    /* by a jump to another function, which returned in its place */
	DEVTRACE_INFERRED = 4,	    /* with TAIL: when it ended is when it was seen to be gone */
	DEVTRACE_OPEN = 8,	    /* it had not ended when what was read ended */
	DEVTRACE_NO_ENTRY = 16,	    /* its begin is not known: before the trace, or lost */
	DEVTRACE_TAILED = 32,	    /* it began by a tail jump from the call that it is in */
	DEVTRACE_LOSS = 64,	    /* records were lost while it was open */
	DEVTRACE_RECURSIVE = 128,   /* it is within another call of its function in its thread */
	DEVTRACE_OTHER_STACK = 256, /* the first on its stack, while another stack has calls */
	DEVTRACE_LEFT = 512,	    /* with TAIL: its end is that of the jump */
	DEVTRACE_DOUBTFUL = 1024,   /* its caller may be another one */
	DEVTRACE_NO_EXIT = 2048,    /* exits of its function are not recorded */
	DEVTRACE_BACKWARD = 4096,   /* it seemed to end before it began */
	DEVTRACE_PAUSED = 8192,	    /* recording was stopped while it was open */
	DEVTRACE_WAITED = 16384,    /* its thread was on no processor for a time */
	DEVTRACE_FOLDS = 65536,	    /* a call that it made by a jump is a part of it (-l) */
};

/* With one of these flags, a duration is not known or does not count in sums. */
#define DEVTRACE_UNTIMED                                                                           \
	(DEVTRACE_OPEN | DEVTRACE_NO_ENTRY | DEVTRACE_LOSS | DEVTRACE_BACKWARD | DEVTRACE_PAUSED | \
	 DEVTRACE_NO_EXIT)

/* In what devtrace_calls_fill() says of its rows only: thread or process of one is not known. */
#define DEVTRACE_SOME_UNKNOWN (1u << 31)

/*
 * A call: an entry, and the exit of the same thread, function and stack pointer. The time in which
 * devtrace held the thread counts as nobody's, so durations may be less than end - begin.
 */
struct devtrace_call {
	uint64_t id;	 /* from 1, as calls begin, anew in each pass; 0: its entry is not known */
	uint64_t parent; /* id of the call that it was made in; 0: none known */
	uint64_t begin_ticks, end_ticks;
	int64_t begin_ns, end_ns; /* from the trace's first record, or DEVTRACE_UNKNOWN */
	/* NaN: begin or end is not known; `self': without the calls that it made */
	double duration_ns, self_ns;
	uint32_t thread, process;	 /* ids, or DEVTRACE_NONE */
	uint32_t function;		 /* id; 0: not known */
	uint32_t depth;			 /* 0: the outermost that is known */
	uint32_t flags;			 /* enum devtrace_call_flag */
	uint16_t core;			 /* on which it ended */
	uint8_t arguments, results;	 /* bit i: argument[i], result[i] is known */
	uint64_t argument[4], result[4]; /* registers as recorded */
};

struct devtrace_calls;

/* Begins a pass over the calls. choice may be NULL. NULL on error. */
struct devtrace_calls *devtrace_calls_begin(struct devtrace *t,
					    const struct devtrace_choice *choice,
					    struct devtrace_error *e);
/* Ends it, at any time; c may be NULL. */
void devtrace_calls_end(struct devtrace_calls *c);

/* Gives the next call, valid until the next call of a function with c. 1: there is one, 0: there is
 * none, -1: error. */
int devtrace_calls_next(struct devtrace_calls *c, const struct devtrace_call **call,
			struct devtrace_error *e);

/* Return what DEVTRACE_TEXTS makes of the call that was given last, valid as long as that:
 * "f(a=1, b=0x2) = 3", and the arguments by name as JSON, {"a":1,"b":2}. "" without that flag;
 * NULL: out of memory. */
const char *devtrace_calls_text(struct devtrace_calls *c);
const char *devtrace_calls_arguments(struct devtrace_calls *c);

/* Returns how a call with these flags ended, in a word: "returned", "tail", "unwound", "open",
 * "unseen", "lost", "paused", "backward" (doc/sql.md). */
const char *devtrace_ended(uint32_t flags);

/* Columns of calls: of which member of struct devtrace_call, and of which type. */
enum devtrace_call_column {
	DEVTRACE_COLUMN_ID = 1,		 /* uint64_t */
	DEVTRACE_COLUMN_PARENT,		 /* uint64_t */
	DEVTRACE_COLUMN_BEGIN_TICKS,	 /* uint64_t */
	DEVTRACE_COLUMN_END_TICKS,	 /* uint64_t */
	DEVTRACE_COLUMN_BEGIN_NS,	 /* int64_t */
	DEVTRACE_COLUMN_END_NS,		 /* int64_t */
	DEVTRACE_COLUMN_DURATION_NS,	 /* double */
	DEVTRACE_COLUMN_SELF_NS,	 /* double */
	DEVTRACE_COLUMN_THREAD,		 /* uint32_t */
	DEVTRACE_COLUMN_PROCESS,	 /* uint32_t */
	DEVTRACE_COLUMN_FUNCTION,	 /* uint32_t */
	DEVTRACE_COLUMN_DEPTH,		 /* uint32_t */
	DEVTRACE_COLUMN_FLAGS,		 /* uint32_t */
	DEVTRACE_COLUMN_CORE,		 /* uint16_t */
	DEVTRACE_COLUMN_ARGUMENTS_KNOWN, /* uint8_t: bit i: argument[i] is known */
	DEVTRACE_COLUMN_RESULTS_KNOWN,	 /* uint8_t */
	DEVTRACE_COLUMN_ARGUMENT,	 /* uint64_t[4] */
	DEVTRACE_COLUMN_RESULT,		 /* uint64_t[4] */
	/* const char *, valid until the next call of a function with the same pass */
	DEVTRACE_COLUMN_TEXT,
	DEVTRACE_COLUMN_ARGUMENTS_TEXT,
};

struct devtrace_column {
	enum devtrace_call_column which;
	void *at; /* an array of that type, of as many elements as rows are asked for */
};

/* Fills the columns with the next calls, `rows' of them at most; *flags, if flags is not NULL, is
 * what devtrace_call.flags of any of them have, and DEVTRACE_SOME_UNKNOWN. Returns how many there
 * are, 0: no more, -1: error.
 */
int64_t devtrace_calls_fill(struct devtrace_calls *c, const struct devtrace_column *column,
			    unsigned columns, size_t rows, uint32_t *flags,
			    struct devtrace_error *e);

/* At the end of a pass: returns a line that whoever looks at its result should read, such as that
 * the filter asks about texts that were not recorded; "": nothing. Valid as long as the pass. */
const char *devtrace_calls_note(struct devtrace_calls *c);

/* ---- records ---- */

/* A record, as it is in the file. */
struct devtrace_record {
	uint64_t ticks, sp, pc; /* pc: address of the instruction; 0: none */
	uint64_t value[4];
	uint32_t thread, function; /* ids; DEVTRACE_NONE, 0: not known */
	uint16_t core;
	/* a letter: doc/format.md; '!': `value[0]' records of this core are missing here, which
	 * were made between the ticks value[1] and value[2] (0: not known) */
	char kind;
	uint8_t values; /* bit i: value[i] is known */
	uint8_t flags;	/* doc/format.md */
};

struct devtrace_records;

/* As for calls. A filter is an error: it means calls. */
struct devtrace_records *devtrace_records_begin(struct devtrace *t,
						const struct devtrace_choice *choice,
						struct devtrace_error *e);
void devtrace_records_end(struct devtrace_records *r);
int devtrace_records_next(struct devtrace_records *r, const struct devtrace_record **record,
			  struct devtrace_error *e);

#ifdef __cplusplus
}
#endif

#endif
