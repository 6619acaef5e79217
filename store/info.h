/* SPDX-License-Identifier: MIT */
/* The descriptions in a trace - of sites, functions, threads... - as a reader holds them. */
#ifndef DT_STORE_INFO_H
#define DT_STORE_INFO_H

#include "core/types.h"

/* A site: the place in the code that a record comes from. All strings in this file are owned by the
 * reader and never NULL. */
struct dt_site {
	uint64_t pc;
	uint32_t pid;	   /* 0: not known */
	uint32_t function; /* for dt_reader_function(); 0: not known */
	uint8_t kind;	   /* dt_record.kind */
	uint8_t place;	   /* enum dt_site_kind */
	uint8_t mask;	   /* bit i set: value[i] is meaningful */
	bool entered;	   /* of an exit: others enter its function in the middle, where that is
			      known, so that it may come without an entry */
	bool crossing;	   /* of an entry: it is recorded only where certain modules call it (-l) */
	uint64_t target;   /* run-time address that a tail jump leads to; 0: not known */
};

struct dt_function_info {
	uint64_t address, size;		     /* address: at run time */
	uint32_t module;		     /* for dt_reader_module(); 0: not known */
	uint32_t line;			     /* 0: not known */
	const char *name, *file, *signature; /* signature: symbols/symtab.h */
	const char *shown;		     /* the name for people: store/shown.h */
	/* other names of the same code, with newlines between (symbols/pattern.h); NULL: none */
	const char *others;
};

struct dt_module_info {
	uint32_t pid;
	uint64_t base, low, high, begin_ticks, end_ticks; /* see struct dt_module_row */
	const char *path, *build_id;
	const char *file;   /* the last part of the path, as plain text: core/plain.h */
	const char *called; /* the path, then its other names, with newlines between:
			       symbols/pattern.h */
};

/* tid and pid are those of the file: see dt_reader_number(). */
struct dt_thread_info {
	uint32_t tid, pid;
	const char *name;
};

struct dt_process_info {
	uint32_t pid, ppid;
	const char *exe, *cmdline;
	uint64_t begin_ticks, end_ticks; /* end_ticks 0: its end is not known */
	int status;			 /* as wait(2) gives it; -1: not known */
};

/* Code that a process made at run time, [low, high), of a function that begins at `start'. */
struct dt_jit_info {
	uint64_t low, high, start;
	uint32_t pid;
	const char *name;
};

/* A process executed another program: its calls from before are over. Traces have this since
 * 2026-11-23. */
struct dt_exec_info {
	uint32_t pid;
	uint64_t ticks;
};

/* The names of an event of a program's own; if several rows have the same numbers, the last one
 * counts. A subsystem without events has a row with event DT_NO_EVENT. */
#define DT_NO_EVENT 0xffffffffu
struct dt_event_row {
	uint32_t subsystem, event; /* 16 bits each */
	const char *subsystem_name, *name, *description;
};

/* A reading of the three clocks at one moment; realtime_ns is ns since 1970. */
struct dt_clock {
	uint64_t ticks, monotonic_ns, realtime_ns;
};

/* A stretch of time of one thread, or of all: see dt_reader_thread_holds(),
 * dt_reader_pause_times(). */
struct dt_times {
	uint64_t begin, end; /* ticks */
	bool record; /* the thread waited for room for a record: nothing else happens in it until
			that record */
};

/* A time in which a function (its row) was not recorded, since that cost more than the budget
 * allowed; end UINT64_MAX: to the end of the recording. */
struct dt_off {
	uint32_t function;
	uint64_t begin, end; /* ticks */
};

#endif
