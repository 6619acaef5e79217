/* SPDX-License-Identifier: MIT */
/*
 * The trace file: a SQLite database, most of which are compressed chunks of one core's records.
 * Format: doc/format.md. One process writes it; any number may read it, also while it grows.
 *
 * A struct dt_store has no lock of its own: threads that share one need the caller's. Functions
 * that return int return -1 on error, and those that return the number of a row (int64_t) do so
 * too. After an error of writing the store has failed, and every later call returns that error
 * again.
 */
#ifndef DT_STORE_STORE_H
#define DT_STORE_STORE_H

#include "core/error.h"
#include "core/record.h"
#include "store/info.h"
#include "store/pool.h"

#define DT_STORE_SCHEMA 2

enum dt_site_kind {
	DT_SITE_ENTRY = 'E',
	DT_SITE_ENTRY_JUMPS = 'J', /* entry of a function that may end in a tail call without a
				    * record: it has an indirect jump */
	DT_SITE_ENTRY_ALONE = 'e', /* entry of a function whose exits are not recorded */
	DT_SITE_RETURN = 'X',
	DT_SITE_TAIL = 'T',  /* an exit that is recorded before a jump to another function */
	DT_SITE_EVENT = 'V', /* an event or a message: its record has the body, and more values */
	DT_SITE_TEXT = 'S',  /* an event whose argument is the length of a text that follows in
				records with DT_SITE_MORE */
	DT_SITE_MORE = 'c',  /* more of that text: same thread, same sp */
	DT_SITE_POINT = 'P', /* a tracepoint at an instruction; the name of its "function" says what
				the values are called */
	DT_SITE_POINT_MORE =
		'p', /* further values of the DT_SITE_POINT before it: same thread, same sp */
	DT_SITE_POINT_TEXT = 's',    /* 32 bytes of the text that one of the point's values points
				      * to; the signature's one parameter is that value; a NUL
				      * ends the text */
	DT_SITE_POINT_BUFFER = 'b',  /* the beginning of a buffer that the value points to, and its
				      * length (arch/capture.h, DT_CAPTURE_HEAD); more of it
				      * is in records with DT_SITE_POINT_TEXT */
	DT_SITE_POINT_LEAVING = 'l', /* the function was done: what it has filled in follows, in
				      * records of the places above, before its exit's */
	DT_SITE_UNKNOWN = '?',
};

/* In the file, the letter of a return or a tail jump whose function others enter in its middle is
 * this one. */
static inline uint8_t dt_site_letter_entered(uint8_t kind)
{
	return kind == DT_SITE_RETURN ? 'x' : kind == DT_SITE_TAIL ? 't' : kind;
}

/* The letter of an entry that is recorded only where certain modules call the function (-l). */
static inline uint8_t dt_site_letter_crossing(uint8_t kind)
{
	return kind == DT_SITE_ENTRY ? 'i' : kind == DT_SITE_ENTRY_JUMPS ? 'j' : kind;
}

/* A code mapping of a process. Times are ticks; end_ticks 0: the mapping was still there when
 * recording ended. */
struct dt_module_row {
	uint32_t pid;
	uint64_t base;	    /* load bias: the run-time address of the file's virtual address 0 */
	uint64_t low, high; /* the executable mapping, [low, high) */
	const char *path, *build_id; /* build_id in hex, "" when there is none */
	uint64_t begin_ticks, end_ticks;
};

/* A function, or what takes its place for a tracepoint or an event: see variant. */
struct dt_function_row {
	int64_t module;	  /* row id that dt_store_module() gave; 0: none */
	uint64_t address; /* run-time address */
	uint64_t size;
	const char *name;      /* demangled */
	const char *file;      /* source file, "" if not known */
	uint32_t line;	       /* 0: not known */
	const char *signature; /* see symbols/symtab.h; "" if not known */
	uint64_t variant;   /* 0 for a function; otherwise it tells tracepoints and events with one
			       address apart */
	const char *others; /* its other names, as in dt_function_info; NULL: none */
};

/* What the writer must know of a (pc, kind) when it meets it for the first time. */
struct dt_site_row {
	uint64_t pc; /* pc to be stored; set to the record's before the callback, which may change
			it */
	int64_t function; /* row id that dt_store_function() gave; 0: not known */
	uint8_t kind;	  /* enum dt_site_kind */
	uint8_t values;	  /* bit i set: value[i] is meaningful and stored; others read back as 0 */
	/* run-time address: DT_SITE_TAIL: that it jumps to; DT_SITE_ENTRY_JUMPS: of the function
	 * that it runs into; 0: not known, or none */
	uint64_t target;
	bool entered;	/* DT_SITE_RETURN, DT_SITE_TAIL: others enter the function in its middle,
			   so its record may come without an entry */
	bool crossing;	/* DT_SITE_ENTRY, DT_SITE_ENTRY_JUMPS: recorded only where certain modules
			   call the function */
	bool by_target; /* its records say in value[0] where it jumps to: each target gets a row of
			   its own */
};

/* The most rows of sites with by_target in a file; further targets are stored as not known. */
#define DT_STORE_TARGETS 65536

struct dt_store; /* the writer of a trace */

/*
 * Called by dt_store_put() for a (pc, kind) that has not been described yet. tid of *r is the
 * thread that recorded it. The callback fills *row; it may call dt_store_function(), _event(),
 * _module() and _type() on the same store. It cannot fail: DT_SITE_UNKNOWN and values 0xf say that
 * nothing is known.
 */
typedef void dt_describe_fn(void *ctx, const struct dt_record *r, struct dt_site_row *row);

/* Creates a trace at path; describe is called with ctx. What is at path already is replaced if it
 * is a devtrace trace or an empty file, otherwise nothing is done. NULL on error. */
struct dt_store *dt_store_create(const char *path, dt_describe_fn *describe, void *ctx,
				 struct dt_error *e);

/*
 * Creates a trace at path as dt_store_create() does, but leaves a trace that is there already in
 * its place until the new one has records: then the new one replaces it. If the new one never has
 * any, the old one stays. keep_old: the old trace is kept, as path.old.
 */
struct dt_store *dt_store_create_late(const char *path, bool keep_old, dt_describe_fn *describe,
				      void *ctx, struct dt_error *e);

/* The trace will be read once and removed: it need not get to the disk. */
void dt_store_pass(struct dt_store *s);

/* Creates one in memory, which is never written: it knows what records come from
 * (dt_store_place()), and no records are put into it. */
struct dt_store *dt_store_create_memory(dt_describe_fn *describe, void *ctx, struct dt_error *e);

/* Returns whether the store is of dt_store_create_late() and has no record yet, so that the old
 * trace is still at the path, or will be put back there. */
bool dt_store_is_late(const struct dt_store *s);
/* Puts a late store at its path at once, with or without records, because somebody wants to read it
 * there; and flushes it. */
int dt_store_show(struct dt_store *s, struct dt_error *e);

/* Looks whether a trace may be created at path: there is nothing, a trace, or an empty file. -1:
 * no, *e says why. */
int dt_store_check_room(const char *path, struct dt_error *e);

/*
 * Appends n records of one core, in the order of time (a record that says core 0 is of that core
 * too). lost: how many records of this core are missing directly before r[0]; n may be 0, to note a
 * loss at the end. The records are encoded at once; a chunk is written out when it is full or
 * dt_store_flush() is called. Returns -1 on error, for example when the disk is full; what was
 * committed before stays readable.
 */
int dt_store_put(struct dt_store *s, unsigned core, const struct dt_record *r, size_t n,
		 uint64_t lost, struct dt_error *e);

/* Where a record comes from, as it is described in the file. */
struct dt_store_place {
	uint32_t function; /* row; 0: not known */
	uint8_t place;	   /* enum dt_site_kind */
	bool crossing;	   /* as in struct dt_site_row */
};

/* Returns the process of a thread; 0: not known. */
uint32_t dt_store_pid(const struct dt_store *s, uint32_t tid);

/* Tells where a record comes from, and describes that if it has not been met yet. Returns -1 on
 * error. */
int dt_store_place(struct dt_store *s, const struct dt_record *r, struct dt_store_place *place,
		   struct dt_error *e);

/*
 * Notes that records of a core are missing before those that are put next, and that the first was
 * lost after begin_ticks (0: after the beginning). This is for a core whose records come from
 * several sources, one of which has lost some. `switches' of those lost are context switches; of
 * what dt_store_put() is told, that is not known, nor if it is DT_NOT_KNOWN.
 */
int dt_store_lose(struct dt_store *s, unsigned core, uint64_t lost, uint64_t switches,
		  uint64_t begin_ticks, struct dt_error *e);

/*
 * Forgets what is known of a process's sites in [low, high), after an exec or a dlclose, so that
 * they are described again.
 */
void dt_store_forget(struct dt_store *s, uint32_t pid, uint64_t low, uint64_t high);
/* Gives up the memory that is held for a process that has ended, all of whose records have been
 * put. */
void dt_store_leave(struct dt_store *s, uint32_t pid);

/* Returns the number of the last chunk that has been written; 0: there is none. */
int64_t dt_store_last_chunk(const struct dt_store *s);
/*
 * Removes the chunks up to that number, and the losses among their records. No record behind them
 * is earlier than `ticks'. How many records have gone is counted as left out (table left_records),
 * and noted as `pruned' in table meta. Returns -1 on error.
 */
int dt_store_prune(struct dt_store *s, int64_t chunk, uint64_t ticks, struct dt_error *e);

/* Makes everything put so far durable against the death of this process. */
int dt_store_flush(struct dt_store *s, struct dt_error *e);

/*
 * Has chunks compressed by a pool of that many threads (store/pool.h), of which the caller's is
 * one; 1: none. Before anything is put. The three functions below are for a recorder that does not
 * want its lock to be held while chunks are compressed; without them the store waits where it has
 * to.
 */
int dt_store_threads(struct dt_store *s, unsigned threads, struct dt_error *e);
/* Without the lock: compresses chunks until those that are put next need not wait for it. */
void dt_store_help(struct dt_store *s);
/* Begins a flush: hands over open chunks for which there is room. True: there are more of them;
 * dt_store_help(), then again. Otherwise dt_store_finish(), then dt_store_flush(). */
bool dt_store_begin_flush(struct dt_store *s);
/* Without the lock: waits until all chunks that were handed over have been compressed. */
void dt_store_finish(struct dt_store *s);
/* Returns what the pool has done so far. */
struct dt_pool_counts dt_store_pool_counts(struct dt_store *s);

/* Sets the value of a key in table meta. */
int dt_store_meta(struct dt_store *s, const char *key, const char *value, struct dt_error *e);
/* Adds a mapping and returns the number of its row. */
int64_t dt_store_module(struct dt_store *s, const struct dt_module_row *m, struct dt_error *e);
/* Notes another name of a module. */
int dt_store_module_name(struct dt_store *s, int64_t module, const char *name, struct dt_error *e);
/* Notes that everything that was chosen of the module when it was mapped is recorded from `ticks'
 * on. */
int dt_store_complete(struct dt_store *s, int64_t module, uint64_t ticks, struct dt_error *e);
/*
 * Notes a function that was chosen but is not recorded: its file, its address there, its name and
 * the reason; and a function that calls it, whose own time therefore includes that of the calls.
 * Both addresses are those in the file at path.
 */
int dt_store_unhooked(struct dt_store *s, const char *path, uint64_t address, const char *name,
		      const char *reason, struct dt_error *e);
int dt_store_unhooked_caller(struct dt_store *s, const char *path, uint64_t caller, uint64_t callee,
			     struct dt_error *e);
/* Adds a piece of the code that a process made at run time. */
struct dt_jit_code;
int dt_store_jit(struct dt_store *s, uint32_t pid, const struct dt_jit_code *code,
		 struct dt_error *e);
/* Notes when a mapping went away (dlclose, exec). */
int dt_store_module_end(struct dt_store *s, int64_t module, uint64_t end_ticks, struct dt_error *e);
/* Returns the number of a function's row, adding it unless it was put before (same module, address
 * and variant). */
int64_t dt_store_function(struct dt_store *s, const struct dt_function_row *f, struct dt_error *e);

/* Calls fn for each function that has a row. Returns -1 and an error. */
int dt_store_functions(struct dt_store *s,
		       void (*fn)(void *ctx, int64_t row, const struct dt_function_row *f),
		       void *ctx, struct dt_error *e);
/* Returns the number of the row of a type's description (symbols/symtab.h), adding it unless the
 * same text was put before. */
int64_t dt_store_type(struct dt_store *s, const char *text, struct dt_error *e);
/* Returns the description in that row, if it has names for values and is not very long; otherwise
 * NULL. */
const char *dt_store_type_names(const struct dt_store *s, int64_t row);
/* Adds a process. */
int dt_store_process(struct dt_store *s, uint32_t pid, uint32_t ppid, const char *exe,
		     const char *cmdline, uint64_t begin_ticks, struct dt_error *e);
/* The same, of a process whose program is that of another one, and so is its command line unless it
 * is given. There is none if nothing is known of the other one. */
int dt_store_process_like(struct dt_store *s, uint32_t pid, uint32_t ppid, uint32_t like,
			  const char *cmdline, uint64_t begin_ticks, struct dt_error *e);
/* Notes the end of a process. status: as wait(2) gives it; -1: not known. */
int dt_store_process_end(struct dt_store *s, uint32_t pid, int status, uint64_t end_ticks,
			 struct dt_error *e);
/*
 * Notes that the process has executed another program: the old program's calls are over, and
 * nothing of the new one has been recorded yet. The row of the new one, dt_store_process(), comes
 * after this.
 */
int dt_store_exec(struct dt_store *s, uint32_t pid, uint64_t ticks, struct dt_error *e);
/* Adds a thread or gives it another name: its records from here on are of this process. */
int dt_store_thread(struct dt_store *s, uint32_t tid, uint32_t pid, const char *name,
		    struct dt_error *e);
/* Notes which number the kernel had given to a thread, or a process, that has another one in the
 * file because others have had that number before. */
int dt_store_again(struct dt_store *s, uint32_t tid, uint32_t number, struct dt_error *e);
/* A stretch of time in which a session recorded nothing, because it was told not to. */
#define DT_NOT_KNOWN (~0ull)
struct dt_pause {
	uint64_t begin, end; /* ticks; begin 0: before the first record */
	bool stopped;	     /* by the command `stop'; otherwise by a freeze */
	uint64_t times;	 /* how often, between begin and end: more than once if often within a short
			    time */
	uint64_t missed; /* events that came and were not recorded, or DT_NOT_KNOWN */
};
int dt_store_pause(struct dt_store *s, const struct dt_pause *p, struct dt_error *e);

/* A command that changed what is recorded, while recording. Between begin and end it may have been
 * carried out partly. */
struct dt_change {
	uint64_t begin, end; /* ticks */
	const char *command; /* its text */
	bool off;	     /* something that was recorded before it is not recorded after it */
};
int dt_store_change(struct dt_store *s, const struct dt_change *c, struct dt_error *e);

/* A stretch of time in which a thread could not go on because of the tracer. It does not count as
 * the program's. */
struct dt_held_row {
	uint32_t tid;
	uint64_t begin, end; /* ticks */
	const char *why;     /* "room", "modules", "exec", "fork" or "stop" */
};
int dt_store_held(struct dt_store *s, const struct dt_held_row *row, struct dt_error *e);

/*
 * How many records a source has written for a core, by the source's own count, which does not
 * depend on what dt_store_put() and dt_store_lose() are given: so a reader can check those. To be
 * noted once all records have been put.
 */
struct dt_written_row {
	unsigned core;
	const char *source; /* "ring", "switches", "kernel" */
	uint64_t records;   /* written into the ring */
	uint64_t dropped;   /* dropped, because there was no room */
};
int dt_store_written(struct dt_store *s, const struct dt_written_row *row, struct dt_error *e);

/* What a thread waited for, as it was seen between two ticks, both of them within its wait. */
struct dt_waited_row {
	uint32_t tid;
	uint64_t begin, end;
	const char *text;
};
int dt_store_waited(struct dt_store *s, const struct dt_waited_row *row, struct dt_error *e);

/* What a process used at a time: bytes of memory that are its own or files', and the processor time
 * that it had taken, ns. */
struct dt_usage_row {
	uint32_t pid;
	uint64_t ticks, memory, cpu_ns;
};
int dt_store_usage(struct dt_store *s, const struct dt_usage_row *row, struct dt_error *e);

/*
 * What brings this machine's clock together with others' (align/align.h): something that happened
 * between two ticks. "sent" and "received": the two ends of a message, with the same id in both
 * machines' traces. "realtime": CLOCK_REALTIME, in ns since 1970, was right to `bound' ns.
 * "socket": a descriptor was a TCP socket, whose addresses id has: session/socket-names.h.
 */
struct dt_sync_row {
	const char *kind, *id;
	uint64_t begin, end; /* ticks */
	int64_t ns, bound;   /* bound -1: nobody vouches for it */
};
int dt_store_sync(struct dt_store *s, const struct dt_sync_row *row, struct dt_error *e);

/* What a session has left out of a function's calls, since its filter did not want them. */
struct dt_left_out_row {
	uint32_t function;
	uint64_t calls, untimed; /* calls of which it is known how long they took, and others */
	/* ticks: of calls that are in no other call of the function; less the calls in them; of the
	 * shortest and the longest call */
	uint64_t total, self, min, max;
};
/* Notes the sums so far; an earlier row of the function is replaced. */
int dt_store_left_out(struct dt_store *s, const struct dt_left_out_row *row, struct dt_error *e);
/* A time in which a function was not recorded, since that cost more than the budget allowed. At its
 * edges, between the first of the function's sites that was switched and the last one, calls may be
 * recorded, or one end of them. */
struct dt_budget_row {
	uint32_t function;
	uint64_t begin, end; /* ticks, edges included; end 0: it was off to the end */
	double rate;	     /* calls in a second of the program's processor time before it */
	uint64_t calls;	     /* so many are thought to have been made in it */
	double rate_after;   /* as rate, after it; negative: not known */
	uint64_t cpu_ns; /* the program's own processor time in it; 0: not known (older files) */
};
/* Notes it; an earlier row of the same function and begin is replaced. */
int dt_store_budget(struct dt_store *s, const struct dt_budget_row *row, struct dt_error *e);

/* Notes that so many more records of a core were left out. */
int dt_store_left_records(struct dt_store *s, unsigned core, uint64_t records, struct dt_error *e);

/* Adds the names of an event. */
int dt_store_event(struct dt_store *s, const struct dt_event_row *row, struct dt_error *e);

/*
 * Adds n names of events to a trace file, which may be complete or still be written by another
 * process; all are added or none. An old file without the table gets it.
 */
int dt_store_name_events(const char *path, const struct dt_event_row *row, size_t n,
			 struct dt_error *e);

/* Adds one reading of the clocks. To be called at the start, every few seconds, and at the end. */
int dt_store_clock(struct dt_store *s, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
		   struct dt_error *e);

/*
 * Closes and frees the store without leaving a trace: what was at its path before is there again.
 */
void dt_store_discard(struct dt_store *s);

/* A trace that was being read when it was completed still has a log beside it. Puts the log into
 * the file, unless somebody is still reading or writing it. */
void dt_store_settle(const char *path);

/* Flushes and closes the store, and always frees it. What was at its path before is then gone, or
 * kept as path.old: see dt_store_create_late(). s may be NULL. */
int dt_store_close(struct dt_store *s, struct dt_error *e);

#endif
