/* SPDX-License-Identifier: MIT */
/*
 * Kept lines. A line is a word of 64 bits that says which numbers follow and how many bytes each of
 * them has; a number that is as expected is left out.
 */
#include "cmd/kept-lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/open.h"
#include "core/text.h"

#define PIECE	16384u
#define LONGEST 96u /* bytes of a call's line at most, with what put() writes past its end */

/* The parts of the word: */
#define KIND	       3u
#define HAS_FLAGS      (1u << 2)
#define HAS_LEVEL      (1u << 3)
#define HAS_ARGUMENT   (1u << 4)
#define HAS_RESULT     (1u << 5)
#define TICKS_SHIFT    6  /* bytes of the duration, less 1 */
#define VALUES_SHIFT   9  /* bytes of each of up to six values, less 1; for text its length */
#define FUNCTION_SHIFT 32 /* the function's row */

/* Returns how many bytes v needs, less 1. */
static inline unsigned code_of(uint64_t v)
{
	return (63 - (unsigned)__builtin_clzll(v | 1)) / 8;
}

static inline char *put(char *p, uint64_t v, unsigned code)
{
	memcpy(p, &v, sizeof(v));
	return p + code + 1;
}

static inline const char *get(const char *p, uint64_t *v, unsigned code)
{
	memcpy(v, p, sizeof(*v));
	*v &= UINT64_MAX >> (56 - 8 * code);
	return p + code + 1;
}

/* ---- keeping ---- */

static void keep_failed(struct dt_keep *k, const char *what)
{
	if (!k->failed)
		dt_cmd_fail("%s: %s", what, strerror(errno));
	k->failed = true;
}

static void open_file(struct dt_keep *k)
{
	const char *tmp = getenv("TMPDIR");
	char name[4096];

	dt_format(name, sizeof(name), "%s/devtrace-XXXXXX", tmp ? tmp : "/tmp");
	k->fd = mkstemp(name);
	if (k->fd < 0)
		keep_failed(k, name);
	else
		unlink(name);
}

static void write_piece(struct dt_keep *k, const char *from, size_t n)
{
	if (k->fd < 0)
		open_file(k);
	while (n && !k->failed) {
		ssize_t done = pwrite(k->fd, from, n, (off_t)k->size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			keep_failed(k, "a temporary file cannot be written");
			return;
		}
		from += done;
		n -= (size_t)done;
		k->size += (uint64_t)done;
	}
}

/* Makes the thread's buffer, if there is one, a piece, and gives the thread an empty buffer. */
static bool next_buffer(struct dt_keep *k, struct dt_kept *t)
{
	struct dt_kept_piece *p;

	if (k->failed)
		return false;
	if (t->buffer) {
		if (t->pieces == t->room) {
			size_t room = t->room ? 2 * t->room : 4;

			p = realloc(t->piece, room * sizeof(*p));
			if (!p)
				goto no_memory;
			t->piece = p;
			t->room = room;
		}
		p = &t->piece[t->pieces++];
		*p = (struct dt_kept_piece){NULL, k->size, t->n};
		if (k->memory + PIECE <= k->memory_max) {
			k->memory += PIECE;
			p->memory = t->buffer;
			t->buffer = NULL;
		} else {
			write_piece(k, t->buffer, t->n);
		}
	}
	t->n = 0;
	if (!t->buffer)
		t->buffer = malloc(PIECE);
	if (t->buffer)
		return true;
no_memory:
	keep_failed(k, "the lines of a thread");
	return false;
}

static inline char *room(struct dt_keep *k, struct dt_kept *t, size_t n)
{
	if (__builtin_expect(!t->buffer || t->n + n > PIECE, 0) && !next_buffer(k, t))
		return NULL;
	return t->buffer + t->n;
}

void dt_kept_call(struct dt_keep *k, struct dt_kept *t, enum dt_kept_kind kind,
		  const struct dt_call *c, uint32_t level, unsigned values)
{
	char *begin = room(k, t, LONGEST), *p;
	uint64_t head = (uint64_t)c->function << FUNCTION_SHIFT | kind, ticks;
	uint32_t expected = t->level - (kind == DT_KEPT_CLOSE);
	unsigned code, shift = VALUES_SHIFT;

	if (!begin)
		return;
	ticks = kind == DT_KEPT_OPEN ? 0 : dt_call_ticks(c);
	code = code_of(ticks);
	head |= code << TICKS_SHIFT;
	p = put(begin + sizeof(head), ticks, code);
	if (c->flags) {
		head |= HAS_FLAGS;
		p = put(p, c->flags, 3);
	}
	if (__builtin_expect(level != expected, 0)) {
		head |= HAS_LEVEL;
		p = put(p, level, 3);
	}
	t->level = level + (kind == DT_KEPT_OPEN);
	if (c->argument && kind != DT_KEPT_CLOSE) {
		head |= HAS_ARGUMENT;
		for (unsigned m = values & 0xf; m; m &= m - 1, shift += 3) {
			uint64_t v = c->argument[__builtin_ctz(m)];

			code = code_of(v);
			head |= (uint64_t)code << shift;
			p = put(p, v, code);
		}
	}
	if (c->result && kind != DT_KEPT_OPEN) {
		head |= HAS_RESULT;
		for (unsigned m = values >> 4; m; m &= m - 1, shift += 3) {
			uint64_t v = c->result[__builtin_ctz(m)];

			code = code_of(v);
			head |= (uint64_t)code << shift;
			p = put(p, v, code);
		}
	}
	memcpy(begin, &head, sizeof(head));
	t->n = (uint32_t)(p - t->buffer);
}

void dt_kept_text(struct dt_keep *k, struct dt_kept *t, const char *text, size_t n)
{
	/* longer text becomes several lines */
	do {
		size_t part = n < PIECE / 4 ? n : PIECE / 4;
		uint64_t head = DT_KEPT_TEXT | part << VALUES_SHIFT;
		char *p = room(k, t, part + sizeof(head));

		if (!p)
			return;
		memcpy(p, &head, sizeof(head));
		memcpy(p + sizeof(head), text, part);
		t->n += (uint32_t)(part + sizeof(head));
		text += part;
		n -= part;
	} while (n);
}

/* ---- taking out ---- */

void dt_kept_rewind(struct dt_kept_cursor *c, struct dt_keep *k, struct dt_kept *t)
{
	memset(c, 0, sizeof(*c));
	c->keep = k;
	c->kept = t;
}

static bool read_piece(struct dt_kept_cursor *c, const struct dt_kept_piece *p)
{
	uint32_t done = 0;

	if (!c->file_buffer)
		c->file_buffer = malloc(PIECE);
	while (c->file_buffer && done < p->n) {
		ssize_t n = pread(c->keep->fd, c->file_buffer + done, p->n - done,
				  (off_t)(p->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (uint32_t)n;
	}
	if (done < p->n)
		keep_failed(c->keep, "a temporary file cannot be read");
	c->buffer = c->file_buffer;
	return done == p->n;
}

/* Goes on to the next piece, and frees the memory of the last one. */
static bool next_piece(struct dt_kept_cursor *c)
{
	struct dt_kept *t = c->kept;

	if (c->next_piece && c->next_piece <= t->pieces) {
		free(t->piece[c->next_piece - 1].memory);
		t->piece[c->next_piece - 1].memory = NULL;
	}
	if (c->next_piece > t->pieces)
		return false;
	c->at = 0;
	if (c->next_piece == t->pieces) {
		c->buffer = t->buffer;
		c->n = t->n;
	} else {
		const struct dt_kept_piece *p = &t->piece[c->next_piece];

		c->n = p->n;
		c->buffer = p->memory;
		if (!p->memory && !read_piece(c, p))
			return false;
	}
	c->next_piece++;
	return c->n > 0;
}

bool dt_kept_next(struct dt_kept_cursor *c, unsigned (*values_of)(void *ctx, uint32_t function),
		  void *ctx)
{
	struct dt_call *call = &c->call;
	uint64_t head, codes, v;
	unsigned values;
	const char *p;

	if (c->at == c->n && !next_piece(c))
		return false;
	p = c->buffer + c->at;
	memcpy(&head, p, sizeof(head));
	p += sizeof(head);
	c->kind = head & KIND;
	if (c->kind == DT_KEPT_TEXT) {
		c->text = p;
		c->text_n = head >> VALUES_SHIFT;
		c->at += (uint32_t)(c->text_n + sizeof(head));
		return true;
	}
	call->function = (uint32_t)(head >> FUNCTION_SHIFT);
	p = get(p, &call->end, head >> TICKS_SHIFT & 7);
	call->flags = 0;
	if (head & HAS_FLAGS) {
		p = get(p, &v, 3);
		call->flags = (uint32_t)v;
	}
	c->line_level = c->level - (c->kind == DT_KEPT_CLOSE);
	if (head & HAS_LEVEL) {
		p = get(p, &v, 3);
		c->line_level = (uint32_t)v;
	}
	c->level = c->line_level + (c->kind == DT_KEPT_OPEN);
	values = values_of(ctx, call->function);
	codes = head >> VALUES_SHIFT;
	call->argument = call->result = NULL;
	if (head & HAS_ARGUMENT) {
		call->argument = c->argument;
		for (unsigned m = values & 0xf; m; m &= m - 1, codes >>= 3)
			p = get(p, &c->argument[__builtin_ctz(m)], codes & 7);
	}
	if (head & HAS_RESULT) {
		call->result = c->result;
		for (unsigned m = values >> 4; m; m &= m - 1, codes >>= 3)
			p = get(p, &c->result[__builtin_ctz(m)], codes & 7);
	}
	c->at = (uint32_t)(p - c->buffer);
	return true;
}

void dt_kept_end(struct dt_kept_cursor *c)
{
	struct dt_kept *t = c->kept;

	for (size_t i = 0; i < t->pieces; i++)
		free(t->piece[i].memory);
	free(t->piece);
	free(t->buffer);
	free(c->file_buffer);
	memset(t, 0, sizeof(*t));
}

void dt_keep_close(struct dt_keep *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}
