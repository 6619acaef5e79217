/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace file: its descriptions, and the records of all cores in the order of time. The
 * memory that a reader takes grows with the number of cores, sites and functions, not with the
 * length of the trace. A file that is still being written can be read: what has been flushed is
 * seen.
 *
 * Functions that return int return -1 on error.
 */
#ifndef DT_STORE_READER_H
#define DT_STORE_READER_H

#include "core/error.h"
#include "core/record.h"
#include "store/info.h"
#include "store/store.h"

struct dt_reader;

/* Totals of the whole file. min_ticks and max_ticks are those of the records, cores counts the
 * rings that have any. */
struct dt_summary {
	uint64_t records, lost, chunks;
	uint64_t min_ticks, max_ticks;
	unsigned cores;
};

/* Opens the trace at path after checking it. NULL on error. */
struct dt_reader *dt_reader_open(const char *path, struct dt_error *e);
/*
 * Opens another reader of the file that r reads; NULL on error, also when that file has been
 * replaced. Only SQLite opens the file for reading: to close any other descriptor of it would drop
 * the locks that other connections of this process have on it.
 */
struct dt_reader *dt_reader_again(const struct dt_reader *r, struct dt_error *e);

/* Returns whether there is another trace at the path, or none, since r was opened. What r has open
 * stays as it was. */
bool dt_reader_is_replaced(const struct dt_reader *r);
/* Closes and frees a reader; r may be NULL. */
void dt_reader_close(struct dt_reader *r);

/* Looks for what has been added to a file that is being written: descriptions and chunks.
 * dt_reader_start() does so itself, and dt_reader_next() when it is called once more after
 * it has found nothing more. */
int dt_reader_refresh(struct dt_reader *r, struct dt_error *e);

/* Computes the totals. */
int dt_reader_summary(struct dt_reader *r, struct dt_summary *s, struct dt_error *e);

/* Looks whether every record that the writers say they wrote is in the file or counted as lost. -1:
 * no, *e says on which core. 0 for a file that does not say what was written. */
int dt_reader_all_written(struct dt_reader *r, struct dt_error *e);

/* Gives the numbers of the rings that have records, ascending, in a malloc'ed array that the caller
 * frees. */
int dt_reader_cores(struct dt_reader *r, unsigned **core, size_t *n, struct dt_error *e);

/* Return the description in row id, or NULL if there is none; ids are dense, from 1. The pointers
 * are valid until the reader is closed or dt_reader_next() is called. */
const struct dt_site *dt_reader_site(const struct dt_reader *r, uint32_t id);
const struct dt_function_info *dt_reader_function(const struct dt_reader *r, uint32_t id);
/* Returns the name of a function for people, with its module if the trace has functions of that
 * name in several (store/shown.h); "?" if it is not known or has none. */
const char *dt_reader_function_name(const struct dt_reader *r, uint32_t id);
const struct dt_module_info *dt_reader_module(const struct dt_reader *r, uint32_t id);
/* Returns the type that the number after a '#' in a signature stands for (symbols/symtab.h); NULL:
 * there is none. */
const char *dt_reader_type(const struct dt_reader *r, uint32_t id);
/*
 * Returns how many of the functions that this one calls were chosen but could not be hooked, so
 * that their time counts as this one's own. names gets the first of their names, with commas
 * between.
 */
size_t dt_reader_unhooked(struct dt_reader *r, uint32_t function, char *names, size_t size);
/* A function that was chosen but could not be hooked. */
struct dt_left_out {
	const char *path, *name, *reason;
	const char *callers; /* names of the known functions that call it, with commas; "": none */
};
/* Calls fn, which may be NULL, for up to `most' of them, by file and address. Returns how many
 * there are. */
size_t dt_reader_left_out(struct dt_reader *r, size_t most,
			  void (*fn)(void *ctx, const struct dt_left_out *l), void *ctx);
uint32_t dt_reader_sites(const struct dt_reader *r);	 /* highest id */
uint32_t dt_reader_functions(const struct dt_reader *r); /* highest id */
uint32_t dt_reader_modules(const struct dt_reader *r);	 /* highest id */
/* Returns the code that processes made at run time, *n pieces; later ones take the place of earlier
 * ones. The pointer is valid until the reader is closed or refreshed. */
const struct dt_jit_info *dt_reader_jit(const struct dt_reader *r, size_t *n);
/* Return all threads (by tid), processes, and execs (by pid and ticks), *n of them. The pointers
 * are valid until the reader is closed or refreshed. */
const struct dt_thread_info *dt_reader_threads(const struct dt_reader *r, size_t *n);
const struct dt_process_info *dt_reader_processes(const struct dt_reader *r, size_t *n);
/* Returns the first of them with that pid; NULL: there is none. */
const struct dt_process_info *dt_reader_process(const struct dt_reader *r, uint32_t pid);
const struct dt_exec_info *dt_reader_execs(const struct dt_reader *r, size_t *n);
/* Returns the tick at which the process executed another program for the first time at or after
 * `from'; UINT64_MAX: never. */
uint64_t dt_reader_exec(const struct dt_reader *r, uint32_t pid, uint64_t from);
/* Returns what is known of a thread; NULL: nothing. */
const struct dt_thread_info *dt_reader_thread(const struct dt_reader *r, uint32_t tid);

/* Returns the number that the kernel had given to a thread or process. It is the one in the file,
 * unless another one of the trace had that number before. */
uint32_t dt_reader_number(const struct dt_reader *r, uint32_t id);

/* Returns the value of a key in table meta; NULL: there is no such key. Valid until the reader is
 * closed. */
const char *dt_reader_meta(const struct dt_reader *r, const char *key);

/* Returns the core that a ring belongs to (core/record.h); DT_SHARED_CORE: it belongs to none, or
 * that is not known. */
uint16_t dt_reader_ring_core(const struct dt_reader *r, unsigned ring);

/*
 * Returns the names of the event with this body; the upper 16 bits of a body are the subsystem, the
 * next 16 the event. If only the subsystem is known, returns its row, where name is "". NULL: not
 * even that is known.
 */
const struct dt_event_row *dt_reader_event(const struct dt_reader *r, uint64_t body);
/* Returns the names of all events, *n of them, sorted by subsystem and event. */
const struct dt_event_row *dt_reader_events(const struct dt_reader *r, size_t *n);

/* Returns how many ticks a core's clock was ahead of core 0's, as measured during recording. */
int64_t dt_reader_clock_offset(const struct dt_reader *r, unsigned core);

/* Returns the time of a tick on the monotonic clock, in ns, computed from the readings of the
 * clocks in the file; without any, from the number of ticks per second, or with 1 tick as 1 ns. */
uint64_t dt_reader_ns(const struct dt_reader *r, uint64_t ticks);
/* Returns the ns of a tick, on average over the trace: for lengths of time. The clock is taken to
 * have run evenly. */
double dt_reader_ns_per_tick(const struct dt_reader *r);
/* Gives the first and the last reading of the clocks; false: there is none. */
bool dt_reader_clock(const struct dt_reader *r, struct dt_clock *first, struct dt_clock *last);
/* Gives the time of a tick on the wall clock, in ns since 1970; false: the file has no reading of
 * that clock. */
bool dt_reader_realtime(const struct dt_reader *r, uint64_t ticks, uint64_t *ns);

/* Records that are missing: how many of a core, made between two ticks; end 0: not known, nothing
 * came after. Among them are context switches, others than these, or both. */
struct dt_lost {
	unsigned core;
	uint64_t lost, begin, end;
	bool switches, others;
};

/* Calls fn for every loss in the file, by core and time. fn returns non-zero to stop, and that is
 * returned. */
int dt_reader_losses(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_lost *l), void *ctx);

/* Calls fn for every stretch of time in which nothing was recorded (store/store.h), by its begin;
 * fn returns non-zero to stop, and that is returned. */
struct dt_pause;
int dt_reader_pauses(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_pause *p),
		     void *ctx);
/* Calls fn for every command that changed what is recorded, by its begin; fn as for
 * dt_reader_pauses(). */
struct dt_change;
int dt_reader_changes(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_change *c),
		      void *ctx);

/*
 * Returns the times, *n of them, in which a thread could not go on because of the tracer: it waited
 * for room in a ring, or was stopped. They do not count as the program's. They are ascending and do
 * not overlap. The pointer is valid until a refresh of the reader changes the number that
 * dt_reader_holds() returns; that is how many such times of all threads are known, before
 * overlapping ones are put together.
 */
const struct dt_times *dt_reader_thread_holds(const struct dt_reader *r, uint32_t tid, size_t *n);
size_t dt_reader_holds(const struct dt_reader *r);

/*
 * Returns the times, *n of them, in which nothing was recorded as far as is known, and the moments
 * at which a command switched something off; by begin. The pointer is valid until the reader is
 * refreshed.
 */
const struct dt_times *dt_reader_pause_times(const struct dt_reader *r, size_t *n);

/* Returns the times in which functions were off because of the budget, *n of them, by function and
 * begin; the pointer as above. *version changes whenever the file has got more, or one is over. */
const struct dt_off *dt_reader_offs(const struct dt_reader *r, size_t *n, size_t *version);

/* Calls fn for every wait of a thread as the file has it (struct dt_held_row), in the order of
 * begin; fn as for dt_reader_pauses(). */
struct dt_held_row;
int dt_reader_helds(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_held_row *h),
		    void *ctx);

/* Calls fn for every chunk of records in the file, in no order. fn returns non-zero to stop, and
 * that is returned; 1 also if a chunk has an impossible number of records. */
int dt_reader_chunks(struct dt_reader *r,
		     int (*fn)(void *ctx, unsigned core, uint64_t records, uint64_t min_ticks,
			       uint64_t max_ticks),
		     void *ctx);

enum dt_order {
	/* Records in the order of their ticks. */
	DT_BY_TIME,
	/* The records of each thread are in the order of time, but one thread may be ahead of
	 * another by up to a batch. Much faster when several cores were busy. */
	DT_BY_THREAD,
};

/* Which records are to be read, and in which order. */
struct dt_reader_range {
	enum dt_order order;
	bool values;	   /* also read the values */
	uint64_t from, to; /* ticks, both inclusive; to 0: no limit */
	bool one_core;	   /* only this ring's records */
	uint16_t core;
	/*
	 * One of several ranges that together are all of the trace, each record in the place where
	 * one pass over everything has it: on each core, from the first record that is not before
	 * `from' up to, but without, the first one that is after `to'. A record that was noted late
	 * comes with those around it, whatever its time.
	 */
	bool part;
};

/* Successive records of one core and one thread, by columns. */
struct dt_span {
	uint32_t n; /* records; 0: the span is only a loss */
	uint32_t tid;
	uint16_t core; /* the ring's number; record_core[] has what each record says */
	const uint64_t *ticks, *sp;
	const uint32_t *site; /* for dt_reader_site() */
	const uint8_t *flags;
	const uint16_t *record_core;
	const uint64_t (*value)[4]; /* NULL unless values were asked for */
	/*
	 * How many records of this core are missing directly before the first one of the span or,
	 * if n is 0, at the end. They were made between the two ticks; lost_end 0: not known,
	 * nothing came after.
	 */
	uint64_t lost, lost_begin, lost_end;
	/* whether context switches are, or may be, among them; and others than these */
	bool lost_switches, lost_others;
};

/* Returns the core on which record i was made; DT_SHARED_CORE: not known. */
static inline uint16_t dt_span_core(const struct dt_span *s, uint32_t i)
{
	return s->core >= DT_FURTHER_CORES ? s->record_core[i] : s->core;
}

/* Returns the core on which the span's record of that tick was made; DT_SHARED_CORE: not known. */
static inline uint16_t dt_span_core_at(const struct dt_span *s, uint64_t ticks)
{
	for (uint32_t i = 0; s->core >= DT_FURTHER_CORES && i < s->n; i++)
		if (s->ticks[i] == ticks)
			return s->record_core[i];
	return s->core >= DT_FURTHER_CORES ? DT_SHARED_CORE : s->core;
}

/* Sets a function that is called, in every pass, for each chunk before its records are handed out,
 * with their number. If it returns false, the pass fails with "interrupted". NULL: no function. */
void dt_reader_watch(struct dt_reader *r, bool (*fn)(void *ctx, uint64_t records), void *ctx);

/* Begins a pass over a range, at its beginning. */
int dt_reader_start(struct dt_reader *r, const struct dt_reader_range *range, struct dt_error *e);

/* Gives the next span and returns 1; 0: there is no more (with a file that is being written, call
 * again later); -1: error. The span's columns are valid until the next call. */
int dt_reader_next(struct dt_reader *r, struct dt_span *span, struct dt_error *e);

/*
 * The records of a core are in the order of time, except for some that were noted late. Returns by
 * how many ticks at most a record that has been read so far is earlier than one before it on its
 * core.
 */
uint64_t dt_reader_back(const struct dt_reader *r);

/* Puts together record i of a span. If the span was read without values, they are 0. */
void dt_span_record(const struct dt_reader *r, const struct dt_span *s, uint32_t i,
		    struct dt_record *out);

#endif
