/* SPDX-License-Identifier: MIT */
/* Buffered output to a descriptor, for text written by the gigabyte. */
#ifndef DT_SHOW_OUT_H
#define DT_SHOW_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DT_OUT_BUFFER (1 << 18)

/* Set `fd', all else zero. */
struct dt_out {
	int fd;	     /* -1: what is written is kept in memory, for dt_out_kept() */
	FILE *file;  /* not NULL: it is written there, not to fd */
	bool failed; /* an error was reported on stderr; nothing more is written */
	char *kept;  /* what was flushed, with fd -1 */
	size_t kept_n, kept_room;
	size_t n; /* bytes in `buffer' */
	char buffer[DT_OUT_BUFFER];
};

/* Writes out the buffer. */
void dt_out_flush(struct dt_out *o);

/*
 * With fd -1: returns all *n bytes that have been written since dt_out_forget(), valid until more
 * is written. NULL: out of memory, which has been reported.
 */
const char *dt_out_kept(struct dt_out *o, size_t *n);
/* With fd -1: drops what has been written. */
void dt_out_forget(struct dt_out *o);

/* Returns a place in the buffer with room for size bytes (at most half the buffer). The caller
 * writes there, then says by dt_out_used() how many bytes. */
static inline char *dt_out_room(struct dt_out *o, size_t size)
{
	if (o->n + size > DT_OUT_BUFFER)
		dt_out_flush(o);
	return o->buffer + o->n;
}

static inline void dt_out_used(struct dt_out *o, size_t n)
{
	o->n += n;
}

void dt_out_bytes(struct dt_out *o, const char *s, size_t n);

static inline void dt_out_text(struct dt_out *o, const char *s)
{
	dt_out_bytes(o, s, strlen(s));
}

static inline void dt_out_char(struct dt_out *o, char c)
{
	*dt_out_room(o, 1) = c;
	o->n++;
}

void dt_out_decimal(struct dt_out *o, uint64_t v);
void dt_out_signed(struct dt_out *o, int64_t v);
void dt_out_hex(struct dt_out *o, uint64_t v); /* with 0x */
void dt_out_spaces(struct dt_out *o, size_t n);

/* Flushes, and returns the exit status: 0, or 1 when something could not be written. */
int dt_out_end(struct dt_out *o);

#endif
