/* SPDX-License-Identifier: MIT */
/*
 * The trace file: a SQLite database whose bulk are compressed chunks of one core's records.
 * Format: doc/format.md. One writer; any number of readers, also while it grows.
 *
 * Not safe to share one struct between threads without the caller's lock.
 */
#ifndef DT_STORE_STORE_H
#define DT_STORE_STORE_H

#include "core/error.h"
#include "core/record.h"
#include "store/info.h"

#define DT_STORE_SCHEMA 1

enum dt_site_kind {
	DT_SITE_ENTRY = 'E',
	DT_SITE_ENTRY_JUMPS = 'J', /* entry of a function that may end in a tail call without a
				    * record: it has an indirect jump */
	DT_SITE_ENTRY_ALONE = 'e', /* entry of a function whose exits are not recorded */
	DT_SITE_RETURN = 'X',
	DT_SITE_TAIL = 'T',  /* exit record written in front of a jump to another function */
	DT_SITE_EVENT = 'V', /* an event or a message: its body, and more values */
	DT_SITE_TEXT = 'S',  /* an event whose argument is the length of a text that follows */
	DT_SITE_MORE = 'c',  /* more of that text, of the same thread at the same sp */
	DT_SITE_POINT = 'P', /* an instruction; its "function" says what the values are called */
	DT_SITE_POINT_MORE =
		'p', /* the next values of the point before, of the same thread and sp */
	DT_SITE_POINT_TEXT = 's', /* 32 bytes of the text that one of them points to; the
				   * signature's one parameter is that value; a NUL ends the text */
	DT_SITE_UNKNOWN = '?',
};

/* A code mapping of a process. Times are ticks; end_ticks 0: still there when recording ended. */
struct dt_module_row {
	uint32_t pid;
	uint64_t base;	    /* address the file's virtual address 0 is loaded at (load bias) */
	uint64_t low, high; /* the executable mapping, [low, high) */
	const char *path, *build_id; /* build_id in hex, "" when there is none */
	uint64_t begin_ticks, end_ticks;
};

struct dt_function_row {
	int64_t module;	  /* row id that dt_store_module() gave; 0: none */
	uint64_t address; /* run-time address */
	uint64_t size;
	const char *name;      /* demangled */
	const char *file;      /* source file, "" if not known */
	uint32_t line;	       /* 0: not known */
	const char *signature; /* see symbols/symtab.h; "" if not known */
	uint64_t variant;      /* of what is no function, but captured there: tells several apart */
};

/* What the writer must know of a pc the first time it meets it. */
struct dt_site_row {
	uint64_t pc;	  /* what the file is to have; it is the record's before it is described */
	int64_t function; /* row id that dt_store_function() gave; 0: not known */
	uint8_t kind;	  /* enum dt_site_kind */
	uint8_t values;	  /* bit i set: value[i] is meant and is stored; others read back as 0 */
	uint64_t target;  /* DT_SITE_TAIL: run-time address it jumps to; 0: not known */
	bool by_target; /* its records say in value[0] where it jumps to: each target gets a row */
};

#define DT_STORE_TARGETS 65536 /* such rows in a file, at most; further targets are not known */

struct dt_store; /* writer */

/*
 * Called by dt_store_put() for a (pc, kind) that has not been described yet. tid: the thread that
 * recorded it. Fills *row (it may call dt_store_function(), _event(), _module() and _type() on the
 * same store). It cannot fail: what is not known is said by DT_SITE_UNKNOWN and values 0xf.
 */
typedef void dt_describe_fn(void *ctx, const struct dt_record *r, struct dt_site_row *row);

/* Creates path, refusing to overwrite anything that is not a devtrace trace (unless it is empty).
 */
struct dt_store *dt_store_create(const char *path, dt_describe_fn *describe, void *ctx,
				 struct dt_error *e);

/*
 * The same, but a trace that is there stays there until the new one has records, which is then put
 * in its place; and for good when it never has. keep_old: what was there is kept, as path.old.
 */
struct dt_store *dt_store_create_late(const char *path, bool keep_old, dt_describe_fn *describe,
				      void *ctx, struct dt_error *e);

/* Has no record been put yet, so that the trace that was there is at the path still, or will be
 * again? */
bool dt_store_is_late(const struct dt_store *s);
/* Somebody wants to read it where it is, records or not. */
int dt_store_show(struct dt_store *s, struct dt_error *e);

/* Is what is at path, if anything is, a trace or empty, and so to be replaced? -1: no. */
int dt_store_check_room(const char *path, struct dt_error *e);

/*
 * Appends n records of one core, in time order (one that says core 0 is of that core too); lost:
 * how many records of this core are missing directly before r[0] (n may be 0 to note a loss at the
 * end). Encodes at once; a chunk is written out when it is full or dt_store_flush() is called. -1
 * and an error when the disk is full; what was committed before stays readable.
 */
int dt_store_put(struct dt_store *s, unsigned core, const struct dt_record *r, size_t n,
		 uint64_t lost, struct dt_error *e);

/*
 * Notes that records of a core are missing in front of what is put next, since a time: for a core
 * whose records are of several sources, of which one has lost them. begin_ticks 0: since the
 * beginning.
 */
int dt_store_lose(struct dt_store *s, unsigned core, uint64_t lost, uint64_t begin_ticks,
		  struct dt_error *e);

/*
 * Forgets what is known of the sites in [low, high) of a process (exec, dlclose), so that they are
 * described again.
 */
void dt_store_forget(struct dt_store *s, uint64_t low, uint64_t high);

/* Makes everything put so far durable against the death of this process. */
int dt_store_flush(struct dt_store *s, struct dt_error *e);

int dt_store_meta(struct dt_store *s, const char *key, const char *value, struct dt_error *e);
int64_t dt_store_module(struct dt_store *s, const struct dt_module_row *m, struct dt_error *e);
/* It is called so, too. */
int dt_store_module_name(struct dt_store *s, int64_t module, const char *name, struct dt_error *e);
/* From ticks on all that was chosen of the module when it was mapped is recorded. */
int dt_store_complete(struct dt_store *s, int64_t module, uint64_t ticks, struct dt_error *e);
/* A function that was chosen and is not recorded: its file and address there, and why; and one that
 * calls it, whose own time its calls are in. */
int dt_store_unhooked(struct dt_store *s, const char *path, uint64_t address, const char *name,
		      const char *reason, struct dt_error *e);
int dt_store_unhooked_caller(struct dt_store *s, const char *path, uint64_t caller, uint64_t callee,
			     struct dt_error *e);
/* The mapping is gone (dlclose, exec). */
int dt_store_module_end(struct dt_store *s, int64_t module, uint64_t end_ticks, struct dt_error *e);
/* The row of a function; one that was put before (same module and address) is not put again. */
int64_t dt_store_function(struct dt_store *s, const struct dt_function_row *f, struct dt_error *e);
/* The row of a type's description (symbols/symtab.h); one with the same words is not put again. */
int64_t dt_store_type(struct dt_store *s, const char *text, struct dt_error *e);
int dt_store_process(struct dt_store *s, uint32_t pid, uint32_t ppid, const char *exe,
		     const char *cmdline, uint64_t begin_ticks, struct dt_error *e);
/* status: as wait(2) gives it, -1: not known */
int dt_store_process_end(struct dt_store *s, uint32_t pid, int status, uint64_t end_ticks,
			 struct dt_error *e);
/* The process has executed another program: nothing of the old one's calls is left, and nothing of
 * the new one's has been recorded yet. Its row comes after. */
int dt_store_exec(struct dt_store *s, uint32_t pid, uint64_t ticks, struct dt_error *e);
int dt_store_thread(struct dt_store *s, uint32_t tid, uint32_t pid, const char *name,
		    struct dt_error *e);
/* Time in which a session recorded nothing, because it was told not to. */
#define DT_NOT_KNOWN (~0ull)
struct dt_pause {
	uint64_t begin, end; /* ticks; begin 0: before the first record */
	bool stopped;	     /* by the command; else it was frozen */
	uint64_t times;	     /* that it was, between begin and end: more than once when often */
	uint64_t missed;     /* events that came and were not recorded; DT_NOT_KNOWN */
};
int dt_store_pause(struct dt_store *s, const struct dt_pause *p, struct dt_error *e);

/* A command that changed what is recorded, while it was. In between it may be partly done. */
struct dt_change {
	uint64_t begin, end; /* ticks */
	const char *command; /* its text */
	bool off;	     /* something that was recorded before is not recorded behind it */
};
int dt_store_change(struct dt_store *s, const struct dt_change *c, struct dt_error *e);

/* Time in which a thread could not go on because of the tracer: it is not the program's. */
struct dt_held_row {
	uint32_t tid;
	uint64_t begin, end; /* ticks */
	const char *why;     /* a word: "room", "modules", "exec", "fork", "stop" */
};
int dt_store_held(struct dt_store *s, const struct dt_held_row *row, struct dt_error *e);

/*
 * How many records a source has written for a core, as the source itself counts: of those that
 * dt_store_put() and dt_store_lose() are told of, nobody needs to be believed. Once all have been
 * put.
 */
struct dt_written_row {
	unsigned core;
	const char *source; /* "ring", "switches", "kernel" */
	uint64_t records;   /* that had a place */
	uint64_t dropped;   /* that had none */
};
int dt_store_written(struct dt_store *s, const struct dt_written_row *row, struct dt_error *e);

int dt_store_event(struct dt_store *s, const struct dt_event_row *row, struct dt_error *e);

/*
 * Adds names to a trace file that has been written, or is being written by somebody else; all or
 * none. Files from before there were events get the table.
 */
int dt_store_name_events(const char *path, const struct dt_event_row *row, size_t n,
			 struct dt_error *e);

/* One reading of the clocks: call at the start, every few seconds, and at the end. */
int dt_store_clock(struct dt_store *s, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
		   struct dt_error *e);

/* Closes without a trace: what was at its path before is there again. */
void dt_store_discard(struct dt_store *s);

/* A trace that was read while it was completed has a log beside it: puts it into the file, unless
 * somebody still reads or writes it. */
void dt_store_settle(const char *path);

/* Flushes and closes; always frees. What was at its path before is gone now, or kept: see above. */
int dt_store_close(struct dt_store *s, struct dt_error *e);

#endif
