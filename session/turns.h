/* SPDX-License-Identifier: MIT */
/*
 * What numbers of threads mean, by time. The kernel gives a number again when its thread has ended;
 * each thread that has it has a turn, which lasts until the next one's begins. Of turns that nobody
 * can ask for any more only the last one is kept.
 */
#ifndef DT_SESSION_TURNS_H
#define DT_SESSION_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dt_turn {
	uint64_t begin;	 /* ticks of the first core's clock; 0: from the beginning */
	uint64_t seen;	 /* ticks when it was met, if nobody had told of it; 0: somebody had */
	uint64_t met;	 /* ticks of the record by which it was met; 0: somebody had told of it */
	uint64_t made;	 /* ticks since which the kernel may have had the thread run */
	uint32_t means;	 /* the number that stands for it from here on; 0: it is not known yet */
	uint32_t pid;	 /* the process of the thread, as the file numbers it; 0: not known */
	uint32_t parent; /* of a process that was forked: the process that made it; 0: not known */
	bool told;	 /* a process has told it, and is not in the session's list yet */
	struct dt_turn *before; /* the turn before; NULL: there is none, or nobody asks for it */
};

/* A number and its last turn. */
struct dt_turn_entry {
	uint32_t number; /* 0: an empty entry */
	struct dt_turn last;
};

/* Numbers hashed; room is a power of two, or 0. */
struct dt_turns {
	struct dt_turn_entry *at;
	size_t n, room;
};

/* Returns the last turn of a number; NULL: there is none. Valid until the next dt_turns_begin(). */
struct dt_turn *dt_turns_last(const struct dt_turns *t, uint32_t number);
/* Returns the turn of a number that lasts at that time, or the first one known if all are later;
 * NULL: there is none. */
struct dt_turn *dt_turns_at(const struct dt_turns *t, uint32_t number, uint64_t ticks);
/* Returns the turn of a number that a switch at that time is of. */
struct dt_turn *dt_turns_of_switch(const struct dt_turns *t, uint32_t number, uint64_t ticks);
/* Adds a turn, which is returned; NULL: out of memory. forget: nobody asks for an earlier time than
 * this. */
struct dt_turn *dt_turns_begin(struct dt_turns *t, uint32_t number, uint64_t ticks, uint32_t means,
			       uint64_t forget);
/* Frees all of them. */
void dt_turns_free(struct dt_turns *t);

#endif
