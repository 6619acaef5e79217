/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a stretch of a thread's time, as of a call: where that time went. It is
 * found backwards from the end. While the thread ran, the time is its own. While it waited for
 * another thread, the time is what that one did meanwhile, which is found in the same way, from the
 * moment at which it ended the wait, back to the wait's beginning. There the path returns to the
 * thread that waited. So the pieces of a path follow one another without gaps, and are as long
 * together as the time itself.
 *
 * Who ended a wait is known from records of wake-ups, from messages and streams whose two ends were
 * recorded, or from what a look at the thread has told. Nothing is guessed: where nobody is known,
 * the piece is a wait of its own.
 */
#ifndef DT_ANALYSE_PATH_H
#define DT_ANALYSE_PATH_H

#include "store/reader.h"
#include "store/wakers.h"

enum dt_path_kind {
	DT_PATH_RAN,	   /* the thread ran */
	DT_PATH_PROCESSOR, /* it could go on, and waited for a processor */
	DT_PATH_UNDERWAY,  /* what it waited for was on its way to it: a message that had been sent
			    */
	DT_PATH_WAITED,	   /* it waited; for whom is not known, or nothing is known of that one */
	DT_PATH_HELD,	   /* devtrace held it */
	DT_PATH_UNKNOWN,   /* whether it ran or waited is not known */
	DT_PATH_KINDS,
};

/* How a piece of another thread ended the wait that comes after it, in time. */
enum dt_path_link {
	DT_PATH_SAME,	 /* the next piece is of the same thread */
	DT_PATH_RETURNS, /* the next piece's thread is looked at since this one begins to wait */
	DT_PATH_WOKE,	 /* its thread woke the next one's */
	DT_PATH_MADE,	 /* it made the next one's thread or process */
	DT_PATH_SENT,	 /* it sent a message that the next one received */
	DT_PATH_STREAM,	 /* it sent bytes of a connection that the next one received */
	DT_PATH_LOCK,	 /* it held what the next one waited for: a lock */
	DT_PATH_PIPE,	 /* it held the other end of what the next one waited for: a pipe */
	DT_PATH_ENDED,	 /* it ended, which the next one waited for */
	DT_PATH_LINKS,
};

struct dt_path_piece {
	uint64_t begin, end; /* ticks */
	uint32_t tid;
	uint8_t kind;	   /* enum dt_path_kind */
	uint8_t link;	   /* enum dt_path_link: to the piece that follows */
	bool open;	   /* of WAITED: it is not known when it began to wait: before `begin' */
	uint32_t level;	   /* how many threads wait for this one: 0 for the path's own */
	uint32_t waker;	   /* who ended the wait: number of a row of table waker; 0: not known */
	uint32_t what;	   /* what a look at the wait has told: dt_path_what(); 0: nothing */
	uint32_t function; /* the innermost recorded function in which most of it was; 0: none known
			    */
	size_t part, parts; /* its functions: of the path's parts */
};

/* How long a piece was in a function, as the innermost recorded one; 0: in none that is known. */
struct dt_path_part {
	uint32_t function;
	uint64_t ticks;
};

struct dt_path {
	/* what is asked for; the caller sets them */
	uint32_t tid;
	uint64_t from, to; /* ticks */
	/* the answer: pieces by time, from `from' to `to' */
	struct dt_path_piece *piece;
	size_t n, room;
};

/* Something that one thread sent and another one received, of which a caller knows. */
struct dt_path_edge {
	uint32_t sender, receiver;
	uint64_t sent, received; /* ticks */
	uint8_t link;		 /* DT_PATH_SENT or DT_PATH_STREAM */
};

/* Paths, and what they have in common. All zero at first. */
struct dt_paths {
	struct dt_reader *reader;
	struct dt_path *path;
	size_t n;
	const struct dt_path_edge *edge; /* in any order; NULL: none */
	size_t edges;
	struct dt_path_part *part; /* of all paths' pieces */
	size_t parts;
	struct dt_path_texts *texts;
};

/* Finds the paths. Records are read from the earliest of their beginnings to the latest of their
 * ends, and as much again, at most, around them. -1 on error. dt_paths_free() in any case, which
 * frees the pieces, not the array of paths. */
int dt_paths_find(struct dt_paths *p, struct dt_error *e);
void dt_paths_free(struct dt_paths *p);

/* Return what a look at a wait has told, and who ended it; "" and NULL: nothing, nobody. Valid
 * until the next call. */
const char *dt_paths_what(struct dt_paths *p, uint32_t number);
const struct dt_waker *dt_paths_waker(struct dt_paths *p, uint32_t number);

/* Returns the thread whose record is the last one in a range, apart from those that the kernel
 * makes about it; DT_NO_TID: there is none. *ticks: of that record. */
uint32_t dt_path_last_thread(struct dt_reader *r, uint64_t from, uint64_t to, uint64_t *ticks,
			     struct dt_error *e);

#endif
