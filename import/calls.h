/* SPDX-License-Identifier: MIT */
/*
 * Calls and events of another tool's trace, gathered in whatever order they come, and then written
 * as the records of a trace file. All of them are held in memory: at most 200 bytes for each.
 *
 * On which core something was is not known, so all records are of DT_SHARED_CORE; a tick is a
 * nanosecond. Addresses and stack pointers are made up: a function's tells it from others, and a
 * call's is its depth.
 */
#ifndef DT_IMPORT_CALLS_H
#define DT_IMPORT_CALLS_H

#include "import/names.h"
#include "store/store.h"

/* What is left out, or is not in the trace as it was in the file. */
enum dt_import_left {
	DT_LEFT_ENDS,	 /* ends without a beginning */
	DT_LEFT_CROSSED, /* calls that overlap others */
	DT_LEFT_DEEP,
	DT_LEFT_CUT,	 /* calls that were cut to their callers' ends */
	DT_LEFT_RENAMED, /* ends with another name than the call's */
	DT_LEFT_ROUNDED,
	DT_LEFT_NO_TIME,
	DT_LEFT_ARGUMENTS,
	DT_LEFT_ASYNC,
	DT_LEFT_FRACTIONS, /* values of counters */
	DT_LEFT_WIDE,
	DT_LEFT_KINDS, /* of events, more than a file can name */
	DT_LEFT_OBJECTS,
	DT_LEFT_SAMPLES,
	DT_LEFT_MEMORY,
	DT_LEFT_CLOCKS,
	DT_LEFT_METADATA,
	DT_LEFT_UNKNOWN,
	DT_LEFT_SECTIONS,
	DT_LEFT_LOST,
	DT_LEFT_OPEN_END,
	DT_LEFT_NO_NAME,
	DT_LEFT_NO_CLOCK,
	DT_LEFT_PACKETS,
	DT_LEFT_PACKED,
	DT_LEFT_LEGACY,
	DT_LEFT_KERNEL,
	DT_LEFT_SWITCHES,
	DT_LEFT_NO_END,
	DT_LEFT_BACK,
	DT_LEFT_KERNEL_FILES,
	DT_LEFT_FRAMES,
	DT_LEFT_LINES,
	DT_LEFT_NUMBERS,
	DT_LEFTS
};

/* What an item is. */
enum dt_import_kind {
	DT_IMPORT_GONE, /* nothing any more */
	DT_IMPORT_CALL,
	DT_IMPORT_BEGIN, /* becomes a call when its end is found */
	DT_IMPORT_END,
	DT_IMPORT_EVENT, /* name: in `events'; value: its argument */
	DT_IMPORT_BODY,	 /* an event of devtrace's own, with its body in value */
	DT_IMPORT_SEND,
	DT_IMPORT_RECEIVE, /* value: the channel */
	DT_IMPORT_HELD,	   /* a time in which the thread was held by devtrace */
};

struct dt_import_item {
	int64_t ns, end; /* end: of calls and times; INT64_MAX: not known */
	uint64_t value;
	uint32_t thread, name; /* numbers in the lists below */
	uint32_t order;	       /* in the file */
	uint32_t end_order;
	uint8_t kind; /* enum dt_import_kind */
};

/* From `ns' on a thread runs on a core. */
struct dt_import_switch {
	int64_t ns;
	/* numbers in `threads', + 1; 0: none, or it is not known */
	uint32_t to, from;
	uint32_t order; /* in the file */
	uint16_t core;
	bool preempted; /* the one that ran before could have gone on */
};

#define DT_IMPORT_CORES	  4096u	 /* at most */
#define DT_IMPORT_DEEPEST 65536u /* calls within each other, at most */

/* Zeroed: nothing. */
struct dt_imported {
	struct dt_name_list functions; /* "file\nname" */
	struct dt_name_list events;    /* "subsystem\nname" */
	struct dt_name_list threads;   /* "process\nthread": as the file has them */
	struct dt_name_list processes;
	struct dt_name_list names; /* of threads and processes */
	/* number of the name + 1, 0: none; elements as in the lists above */
	uint32_t *thread_name, *process_name;
	uint32_t thread_names, process_names; /* elements */
	struct dt_import_item *item;
	size_t n, size;
	struct dt_import_switch *change; /* switches */
	size_t changes, changes_size;
	const char *program;	/* the caller's: has the names of XRay's functions; NULL: none */
	char clock[48];		/* of which the times are; "": the file does not say */
	uint64_t calls, others; /* that were written */
	uint64_t left[DT_LEFTS];
};

void dt_imported_free(struct dt_imported *m);
/* Adds an item, whose order it sets. Returns -1 on error, as the others do. */
int dt_imported_add(struct dt_imported *m, const struct dt_import_item *x, struct dt_error *e);
/* Returns the number of a thread, by the texts that the file has for it and its process. */
int64_t dt_imported_thread(struct dt_imported *m, const char *pid, const char *tid,
			   struct dt_error *e);
int64_t dt_imported_thread_of(struct dt_imported *m, int32_t pid, int32_t tid, struct dt_error *e);
/* Adds a switch, whose order it sets; one of a core beyond DT_IMPORT_CORES is counted as left out.
 */
int dt_imported_switch(struct dt_imported *m, const struct dt_import_switch *x, struct dt_error *e);
int dt_imported_name_thread(struct dt_imported *m, uint32_t thread, const char *name,
			    struct dt_error *e);
bool dt_imported_thread_is_named(const struct dt_imported *m, uint32_t thread);
int dt_imported_name_process(struct dt_imported *m, const char *pid, const char *name,
			     struct dt_error *e);

/* Says in words what was left out, by kinds: "%lu" is its number. */
const char *dt_import_left_words(enum dt_import_left kind);

#endif
