/* SPDX-License-Identifier: MIT */
/* Buffered output to a descriptor, for text written by the gigabyte. */
#ifndef DT_SHOW_OUT_H
#define DT_SHOW_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DT_OUT_BUFFER (1 << 18)

struct dt_out {
	int fd;	     /* -1: what is written is kept, for dt_out_kept() */
	bool failed; /* said on stderr */
	char *kept;
	size_t kept_n, kept_room;
	size_t n;
	char buffer[DT_OUT_BUFFER];
};

void dt_out_flush(struct dt_out *o);

/*
 * The n bytes that have been written since dt_out_forget(), of any number, valid until more is
 * written. NULL: no memory, which has been said.
 */
const char *dt_out_kept(struct dt_out *o, size_t *n);
void dt_out_forget(struct dt_out *o);

/* Room for size bytes (at most half the buffer) to be written into; then dt_out_used(). */
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

/* Flushes; the exit status: 0, or 1 when something could not be written. */
int dt_out_end(struct dt_out *o);

#endif
