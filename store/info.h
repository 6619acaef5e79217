/* SPDX-License-Identifier: MIT */
/* What a trace says of what its records came from, as a reader holds it. */
#ifndef DT_STORE_INFO_H
#define DT_STORE_INFO_H

#include "core/types.h"

/* A site: where a record comes from. Strings everywhere are owned by the reader, never NULL. */
struct dt_site {
	uint64_t pc;
	uint32_t pid;	   /* 0: not known */
	uint32_t function; /* for dt_reader_function(); 0: not known */
	uint8_t kind;	   /* dt_record.kind */
	uint8_t place;	   /* enum dt_site_kind */
	uint8_t mask;	   /* the values that are meant */
	uint64_t target;   /* of a tail jump; 0: not known */
};

struct dt_function_info {
	uint64_t address, size;
	uint32_t module; /* for dt_reader_module(); 0: not known */
	uint32_t line;
	const char *name, *file, *signature;
};

struct dt_module_info {
	uint32_t pid;
	uint64_t base, low, high, begin_ticks, end_ticks;
	const char *path, *build_id;
	const char *file;   /* the end of the path, as plain text: core/plain.h */
	const char *called; /* the path, and behind newlines its other names: symbols/pattern.h */
};

struct dt_thread_info {
	uint32_t tid, pid;
	const char *name;
};

struct dt_process_info {
	uint32_t pid, ppid;
	const char *exe, *cmdline;
	uint64_t begin_ticks, end_ticks; /* end_ticks 0: not known to have ended */
	int status;			 /* as wait(2) gives it; -1: not known */
};

/* A process executed another program: calls from before are over. Told since 2026-11-23. */
struct dt_exec_info {
	uint32_t pid;
	uint64_t ticks;
};

/* What an event of a program's own is called; of several with the same numbers the last one counts.
 * The name of a subsystem without events: event DT_NO_EVENT. */
#define DT_NO_EVENT 0xffffffffu
struct dt_event_row {
	uint32_t subsystem, event; /* 16 bits each */
	const char *subsystem_name, *name, *description;
};

/* A reading of the clocks. */
struct dt_clock {
	uint64_t ticks, monotonic_ns, realtime_ns;
};

/* A time of a thread, or of all: see dt_reader_thread_holds(), dt_reader_pause_times(). */
struct dt_times {
	uint64_t begin, end; /* ticks */
	bool record; /* it was for a record: until the thread's next one nothing else happened */
};

#endif
