/* SPDX-License-Identifier: MIT */
/* Buffered output. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "show/out.h"
#include "core/text.h"

/* Moves the buffer's bytes to `kept'. */
static void keep(struct dt_out *o)
{
	if (o->kept_n + o->n > o->kept_room) {
		size_t room = 2 * (o->kept_n + o->n);
		char *more = realloc(o->kept, room);

		if (!more) {
			if (!o->failed)
				fprintf(stderr, "devtrace: out of memory\n");
			o->failed = true;
			o->n = 0;
			return;
		}
		o->kept = more;
		o->kept_room = room;
	}
	memcpy(o->kept + o->kept_n, o->buffer, o->n);
	o->kept_n += o->n;
	o->n = 0;
}

const char *dt_out_kept(struct dt_out *o, size_t *n)
{
	/* text that was never flushed is still in the buffer */
	if (o->kept_n)
		keep(o);
	*n = o->kept_n ? o->kept_n : o->n;
	return o->failed ? NULL : o->kept_n ? o->kept : o->buffer;
}

void dt_out_forget(struct dt_out *o)
{
	o->n = o->kept_n = 0;
}

static void say_failed(struct dt_out *o)
{
	fprintf(stderr, "devtrace: cannot write: %s\n", strerror(errno));
	o->failed = true;
}

void dt_out_flush(struct dt_out *o)
{
	size_t done = 0;

	if (o->fd < 0) {
		keep(o);
		return;
	}
	if (o->file && o->n && !o->failed && fwrite(o->buffer, 1, o->n, o->file) != o->n)
		say_failed(o);
	while (!o->file && done < o->n && !o->failed) {
		ssize_t n = write(o->fd, o->buffer + done, o->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			say_failed(o);
			break;
		}
		done += (size_t)n;
	}
	o->n = 0;
}

void dt_out_bytes(struct dt_out *o, const char *s, size_t n)
{
	while (n) {
		size_t part = n < DT_OUT_BUFFER / 2 ? n : DT_OUT_BUFFER / 2;

		memcpy(dt_out_room(o, part), s, part);
		o->n += part;
		s += part;
		n -= part;
	}
}

void dt_out_decimal(struct dt_out *o, uint64_t v)
{
	o->n += dt_text_decimal(dt_out_room(o, DT_DIGITS), v);
}

void dt_out_signed(struct dt_out *o, int64_t v)
{
	if (v < 0)
		dt_out_char(o, '-');
	dt_out_decimal(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void dt_out_hex(struct dt_out *o, uint64_t v)
{
	char *p = dt_out_room(o, 2 + DT_DIGITS);

	p[0] = '0';
	p[1] = 'x';
	o->n += 2 + dt_text_hex(p + 2, v);
}

void dt_out_spaces(struct dt_out *o, size_t n)
{
	while (n) {
		size_t part = n < 256 ? n : 256;

		memset(dt_out_room(o, part), ' ', part);
		o->n += part;
		n -= part;
	}
}

int dt_out_end(struct dt_out *o)
{
	dt_out_flush(o);
	if (o->file && !o->failed && fflush(o->file))
		say_failed(o);
	return o->failed ? 1 : 0;
}
