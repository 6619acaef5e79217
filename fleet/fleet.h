/* SPDX-License-Identifier: MIT */
/*
 * A fleet: the traces of several machines, and how their clocks were to each other. It is kept in a
 * small SQLite file; the traces stay as they are, each in its own file. Times of the fleet are
 * those of one machine's clock, the reference, from its first record on, in units of 1/16 ns.
 */
#ifndef DT_FLEET_FLEET_H
#define DT_FLEET_FLEET_H

#include "align/align.h"
#include "align/knots.h"
#include "store/reader.h"

#define DT_FLEET_HOSTS	500 /* the most traces in one: SQLite joins no more selects to one view */
#define DT_FLEET_FORMAT 1

struct dt_fleet_host {
	char *name;    /* unique: without '@', blanks and ':' */
	char *path;    /* as it can be opened */
	char *boot_id; /* "": not known */
	uint32_t clock;
	/* its clock's time x of a tick: (ticks - zero) * ns_per_tick; the same for all of a clock
	 */
	uint64_t zero;
	double ns_per_tick;
	uint64_t first, last, records; /* ticks of the records, and their number */
};

/* A piece of evidence: enum dt_evidence_kind. The event at from_ticks of one host was not after
 * that at to_ticks of another one plus the slack. A host that is REAL is the real time, and its
 * ticks are ns since 1970. */
#define DT_FLEET_REAL UINT32_MAX
struct dt_fleet_piece {
	uint8_t kind, fate;
	uint32_t from, to;
	uint64_t from_ticks, to_ticks;
	int64_t slack;
	uint32_t item;
};

/* A contradiction; host: whose clock stepped, or whose evidence is not believed. */
struct dt_fleet_break {
	enum dt_contradiction_kind kind;
	uint32_t host;
	uint64_t from_ticks, to_ticks; /* of a step */
	int64_t step, by;
	char *text; /* in words, with the evidence */
};

/* What became of the ends of TCP connections that the traces have; 0 in a fleet that was read. */
struct dt_fleet_streams {
	uint64_t used;	   /* connections whose bytes are evidence */
	uint64_t unclear;  /* both ends are here, but calls may be missing */
	uint64_t nameless; /* ends of which it is not known which client's they are */
	uint64_t alike;	   /* ends to which several others could belong */
	uint64_t apart;	   /* ends whose other one is in no trace */
};

struct dt_fleet {
	struct dt_fleet_host *host;
	uint32_t hosts, clocks, reference; /* reference: a host */
	struct dt_aligned_clock *clock;
	struct dt_fleet_piece *piece;
	size_t pieces;
	struct dt_fleet_break *broken;
	size_t breaks;
	double rate, wander;
	struct dt_fleet_streams streams;
};

/* Something somebody knows: an event of one host was not after one of another, but for a slack. */
struct dt_fleet_marker {
	uint32_t from, to;
	uint64_t from_ticks, to_ticks;
	int64_t slack;
	uint32_t item; /* those of one thing that was said have the same */
};

struct dt_fleet_input {
	struct dt_reader **reader;
	const char *const *path, *const *name; /* name[i] NULL: the trace's own host's */
	uint32_t n, reference;
	const struct dt_fleet_marker *marker;
	size_t markers;
	struct dt_align_assumed assumed;
};

/* Aligns traces by the evidence that is in them, and the markers. NULL: *e says why not. */
struct dt_fleet *dt_fleet_make(const struct dt_fleet_input *in, struct dt_error *e);
void dt_fleet_free(struct dt_fleet *f);

/* Writes a fleet as a file; path must not exist. Paths of traces are written relative to its folder
 * if `beside', else as whole paths. -1 on error. */
int dt_fleet_write(const struct dt_fleet *f, const char *path, bool beside, struct dt_error *e);
/* Says whether there is a fleet at path. */
bool dt_fleet_is(const char *path);
/* Reads the fleet at path, which may be from anybody: all numbers are checked. NULL: *e says why
 * not. */
struct dt_fleet *dt_fleet_read(const char *path, struct dt_error *e);
/* Opens a host's trace, if it still is the one that was aligned. NULL: *e says why not. */
struct dt_reader *dt_fleet_open(const struct dt_fleet *f, uint32_t host, struct dt_error *e);

/* Gives the fleet's times of a host's tick. */
struct dt_knot dt_fleet_place(const struct dt_fleet *f, uint32_t host, uint64_t ticks);
/* Gives a clock's time of a tick, and back. */
int64_t dt_fleet_x(const struct dt_fleet_host *h, uint64_t ticks);
uint64_t dt_fleet_ticks(const struct dt_fleet_host *h, int64_t x);
/* Gives the tick of a host that is drawn at a time of the fleet, or the first one after it. */
uint64_t dt_fleet_ticks_at(const struct dt_fleet *f, uint32_t host, int64_t t);
/* Returns the host of that name, or hosts. */
uint32_t dt_fleet_find(const struct dt_fleet *f, const char *name, size_t length);
/* Returns the first time at which a record of any host is drawn. */
int64_t dt_fleet_begin(const struct dt_fleet *f);

/* What dt_fleet_check() has looked at: messages between hosts; those at times at which nothing is
 * claimed; those that are drawn as received before they were sent, which is a fault. */
struct dt_fleet_checked {
	uint64_t messages, doubted, backward;
};

/* Looks whether the fleet fits to the messages that are in its traces. -1: error. */
int dt_fleet_check(const struct dt_fleet *f, struct dt_reader **reader, struct dt_fleet_checked *to,
		   struct dt_error *e);

#endif
