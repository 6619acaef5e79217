/* SPDX-License-Identifier: MIT */
/*
 * Reading a trace file: its descriptions, and the records of all cores in the order of time. Memory
 * is bounded by the number of cores, sites and functions, not by the length of the trace. A file
 * that is still being written can be read; what was flushed is seen.
 */
#ifndef DT_STORE_READER_H
#define DT_STORE_READER_H

#include "core/error.h"
#include "core/record.h"
#include "store/info.h"
#include "store/store.h"

struct dt_reader;

struct dt_summary {
	uint64_t records, lost, chunks;
	uint64_t min_ticks, max_ticks;
	unsigned cores;
};

struct dt_reader *dt_reader_open(const char *path, struct dt_error *e);
/* Another reader of the same file; an error when that has been replaced. Nothing but SQLite touches
 * the file: closing a descriptor of it would drop the locks that other connections of this process
 * have on it. */
struct dt_reader *dt_reader_again(const struct dt_reader *r, struct dt_error *e);

/* Is another trace at the path by now, or none? What r has open stays as it was. */
bool dt_reader_is_replaced(const struct dt_reader *r);
void dt_reader_close(struct dt_reader *r);

/* Looks for what a file that is being written has gained: descriptions, chunks. Starting a range,
 * and going on behind its end, do so by themselves. */
int dt_reader_refresh(struct dt_reader *r, struct dt_error *e);

int dt_reader_summary(struct dt_reader *r, struct dt_summary *s, struct dt_error *e);

/* Is every record here, or counted as lost, that its writers say they wrote? -1: no, *e says where.
 * Of files that do not have it, it is not asked. */
int dt_reader_all_written(struct dt_reader *r, struct dt_error *e);

/* The numbers of the rings that have records, ascending; malloc'ed. */
int dt_reader_cores(struct dt_reader *r, unsigned **core, size_t *n, struct dt_error *e);

/* Row ids are small and dense. NULL: there is none. Pointers hold until the reader is closed or
 * dt_reader_next() is called. */
const struct dt_site *dt_reader_site(const struct dt_reader *r, uint32_t id);
const struct dt_function_info *dt_reader_function(const struct dt_reader *r, uint32_t id);
/* Its name; "?": it is not known, or has none. */
const char *dt_reader_function_name(const struct dt_reader *r, uint32_t id);
const struct dt_module_info *dt_reader_module(const struct dt_reader *r, uint32_t id);
/* What the number behind a '#' in a signature means: symbols/symtab.h. NULL: there is none. */
const char *dt_reader_type(const struct dt_reader *r, uint32_t id);
/*
 * How many of the functions that this one calls were chosen and could not be hooked, so that their
 * time is in its own; names: the first ones, with commas.
 */
size_t dt_reader_unhooked(struct dt_reader *r, uint32_t function, char *names, size_t size);
/* What was chosen and could not be hooked, by file and address. */
struct dt_left_out {
	const char *path, *name, *reason;
	const char *callers; /* names of those that call it and are known, with commas; "": none */
};
/* Up to `most' of them to fn, which may be NULL; how many there are. */
size_t dt_reader_left_out(struct dt_reader *r, size_t most,
			  void (*fn)(void *ctx, const struct dt_left_out *l), void *ctx);
uint32_t dt_reader_sites(const struct dt_reader *r);	 /* highest id */
uint32_t dt_reader_functions(const struct dt_reader *r); /* highest id */
uint32_t dt_reader_modules(const struct dt_reader *r);	 /* highest id */
const struct dt_thread_info *dt_reader_threads(const struct dt_reader *r, size_t *n);
const struct dt_process_info *dt_reader_processes(const struct dt_reader *r, size_t *n);
const struct dt_exec_info *dt_reader_execs(const struct dt_reader *r,
					   size_t *n); /* by pid, ticks */
/* When the process first executed another program, from that tick on; UINT64_MAX: never. */
uint64_t dt_reader_exec(const struct dt_reader *r, uint32_t pid, uint64_t from);
const struct dt_thread_info *dt_reader_thread(const struct dt_reader *r, uint32_t tid);

/* NULL when there is no such key. Valid until the reader is closed. */
const char *dt_reader_meta(const struct dt_reader *r, const char *key);

/* The core that a ring belongs to (core/record.h); DT_SHARED_CORE: to none, or that is not known.
 */
uint16_t dt_reader_ring_core(const struct dt_reader *r, unsigned ring);

/* What is known of an event with this body, of which the subsystem is the upper 16 bits and the
 * event the next 16; NULL: nothing. Of an event that is not known, its subsystem, if that is: then
 * name is "". */
const struct dt_event_row *dt_reader_event(const struct dt_reader *r, uint64_t body);
/* All of them, sorted by subsystem and event. */
const struct dt_event_row *dt_reader_events(const struct dt_reader *r, size_t *n);

/* How much a core's clock is ahead of core 0's, in ticks, as measured when it was recorded. */
int64_t dt_reader_clock_offset(const struct dt_reader *r, unsigned core);

/* Monotonic clock of a tick, from the clock readings in the file; without any, 1 tick is 1 ns. */
uint64_t dt_reader_ns(const struct dt_reader *r, uint64_t ticks);
/* Length of a time; a trace's clock is taken to have run evenly. */
double dt_reader_ns_per_tick(const struct dt_reader *r);
/* The readings themselves: the first and the last. False when there is none. */
bool dt_reader_clock(const struct dt_reader *r, struct dt_clock *first, struct dt_clock *last);
/* Wall clock of a tick, in ns since 1970; false: the file has no reading of that clock. */
bool dt_reader_realtime(const struct dt_reader *r, uint64_t ticks, uint64_t *ns);

/* Every loss in the file, by core and time; end 0: not known. fn returns non-zero to stop. */
int dt_reader_losses(struct dt_reader *r,
		     int (*fn)(void *ctx, unsigned core, uint64_t lost, uint64_t begin,
			       uint64_t end),
		     void *ctx);

/* Every time in which nothing was recorded (store/store.h), by its begin. fn as above. */
struct dt_pause;
int dt_reader_pauses(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_pause *p),
		     void *ctx);
/* Likewise the commands that changed what is recorded, by their begin. */
struct dt_change;
int dt_reader_changes(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_change *c),
		      void *ctx);

/*
 * Times in which a thread could not go on because of the tracer: from its wait for room in a ring,
 * or being stopped. They are not the program's. Those of a thread are ascending and apart, and
 * valid until the reader is refreshed and dt_reader_holds(), which counts what is known, is
 * another; 0: none.
 */
const struct dt_times *dt_reader_thread_holds(const struct dt_reader *r, uint32_t tid, size_t *n);
size_t dt_reader_holds(const struct dt_reader *r);

/* Times in which nothing was recorded, as far as is known; likewise. */
const struct dt_times *dt_reader_pause_times(const struct dt_reader *r, size_t *n);

/* Every one of them as it was told (store/store.h), in the order of begin. fn as above. */
struct dt_held_row;
int dt_reader_helds(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_held_row *h),
		    void *ctx);

/* Every chunk of records in the file, in no order. fn returns non-zero to stop. */
int dt_reader_chunks(struct dt_reader *r,
		     int (*fn)(void *ctx, unsigned core, uint64_t records, uint64_t min_ticks,
			       uint64_t max_ticks),
		     void *ctx);

enum dt_order {
	/* Records in the order of their ticks. */
	DT_BY_TIME,
	/* The records of each thread are in the order of time, but different threads may be ahead
	 * of each other by up to a batch. Much faster when several cores were busy. */
	DT_BY_THREAD,
};

struct dt_reader_range {
	enum dt_order order;
	bool values;	   /* also read the values */
	uint64_t from, to; /* ticks, both included; to 0: no limit */
	bool one_core;	   /* only this ring's records */
	uint16_t core;
};

/* Records of one core and one thread, one after another; by columns. */
struct dt_span {
	uint32_t n; /* may be 0: only a loss */
	uint32_t tid;
	uint16_t core; /* the ring's; record_core[] is what each record says */
	const uint64_t *ticks, *sp;
	const uint32_t *site; /* for dt_reader_site() */
	const uint8_t *flags;
	const uint16_t *record_core;
	const uint64_t (*value)[4]; /* NULL unless asked for */
	/* Records of this core that are missing directly before the first one of the span, or, with
	 * n 0, at the end. Their ticks lie between; end 0: not known, nothing came after. */
	uint64_t lost, lost_begin, lost_end;
};

/* On which core record i was made; DT_SHARED_CORE: not known. */
static inline uint16_t dt_span_core(const struct dt_span *s, uint32_t i)
{
	return s->core >= DT_FURTHER_CORES ? s->record_core[i] : s->core;
}

/* fn is told of each chunk of records before they are handed out, on whatever pass; when it says
 * false, the pass fails with "interrupted". NULL: no more. */
void dt_reader_watch(struct dt_reader *r, bool (*fn)(void *ctx, uint64_t records), void *ctx);

/* Starts (again) at the beginning of the range. */
int dt_reader_start(struct dt_reader *r, const struct dt_reader_range *range, struct dt_error *e);

/* 1 and a span; 0: no more (call again later for what a live file has gained); -1: error. The
 * span's columns are valid until the next call. */
int dt_reader_next(struct dt_reader *r, struct dt_span *span, struct dt_error *e);

/* Records of a core come in the order of time, but for what was told late: so many ticks later than
 * it should be at most, of what has been read so far. */
uint64_t dt_reader_back(const struct dt_reader *r);

/* Assembles record i of a span that was read with its values. */
void dt_span_record(const struct dt_reader *r, const struct dt_span *s, uint32_t i,
		    struct dt_record *out);

#endif
