/* SPDX-License-Identifier: MIT */
/* Events as text. */
#include <stdlib.h>
#include <string.h>
#include "arch/arch.h"
#include "analyse/messages.h"
#include "show/event.h"
#include "store/text-piece.h"
#include "core/signature.h"
#include "include/devtrace.h"
#include "show/layout.h"
#include "show/option.h"
#include "show/quoted.h"
#include "show/sockaddr.h"
#include "show/stream.h"

#define FIRST 24 /* bytes of a text in its first record */
#define MORE  32 /* in each further one */

#define BUFFER 8192 /* bytes of a buffer that are recorded, at most */

bool dt_event_is(const struct dt_record *r)
{
	return r->kind == DT_EVENT || r->kind == DT_SEND || r->kind == DT_RECEIVE;
}

/* ---- texts ---- */

/* Returns where the text is linked that r goes on with: of r's thread and stack pointer; or the
 * end of the list. */
static struct dt_text **find(struct dt_texts *t, const struct dt_record *r)
{
	struct dt_text **p = &t->first;

	while (*p && ((*p)->head.tid != r->tid || (*p)->head.sp != r->sp))
		p = &(*p)->next;
	return p;
}

static void end(struct dt_texts *t, struct dt_text **p)
{
	struct dt_text *old = *p;

	*p = old->next;
	t->fn(t->ctx, old);
	free(old);
}

static void append(struct dt_text *x, const uint64_t *value, uint32_t room)
{
	uint32_t n = x->wanted - x->n;

	if (n > room)
		n = room;
	memcpy(x->bytes + x->n, value, n);
	x->n += n;
}

static void begin(struct dt_texts *t, struct dt_text **p, const struct dt_record *r)
{
	uint32_t length = DT_BODY_ARGUMENT(r->value[0]);
	struct dt_text *x;

	if (length > DT_TEXT_MAX)
		length = DT_TEXT_MAX;
	x = malloc(sizeof(*x) + length);
	if (!x) {
		t->failed = true;
		return;
	}
	*x = (struct dt_text){.next = *p, .head = *r, .wanted = length};
	append(x, r->value + 1, FIRST);
	*p = x;
	if (x->n == x->wanted)
		end(t, p);
}

const char *dt_text_piece(const struct dt_site *site, const uint64_t *value, size_t *n)
{
	size_t full;
	const char *bytes = dt_text_bytes(site->place, value, n, &full);

	if (site->place == DT_SITE_POINT_TEXT)
		*n = strnlen(bytes, *n);
	return bytes;
}

/* Begins a text that a point's value leads to; NULL: out of memory. */
static struct dt_text *begin_pointed(struct dt_texts *t, struct dt_text **p,
				     const struct dt_site *site, const struct dt_record *r)
{
	/* of a buffer the first record says how much was recorded; the kernel's are larger */
	uint32_t room =
		site->place == DT_SITE_POINT_BUFFER && (uint32_t)r->value[0] > DT_CAPTURE_TEXT
			? BUFFER
			: DT_CAPTURE_TEXT;
	struct dt_text *x = malloc(sizeof(*x) + room);

	if (!x) {
		t->failed = true;
		return NULL;
	}
	*x = (struct dt_text){.head = *r, .function = site->function, .wanted = room, .next = *p};
	*p = x;
	return x;
}

/*
 * Takes a record of a text that a point's value leads to. The text ends at a NUL, or at
 * DT_CAPTURE_TEXT bytes; a buffer has as many bytes as its first record says.
 */
static void take_pointed(struct dt_texts *t, struct dt_text **p, const struct dt_site *site,
			 const struct dt_record *r)
{
	size_t n;
	const char *bytes = dt_text_piece(site, r->value, &n);
	struct dt_text *x = *p;

	/* the last records of the text before have been lost */
	if (x && site->place == DT_SITE_POINT_BUFFER) {
		end(t, p);
		x = NULL;
	}
	if (!x)
		x = begin_pointed(t, p, site, r);
	if (!x)
		return;
	if (site->place == DT_SITE_POINT_BUFFER) {
		x->buffer = true;
		if ((uint32_t)r->value[0] < x->wanted)
			x->wanted = (uint32_t)r->value[0];
	}
	if (r->flags & DT_FAULT)
		x->head.flags |= DT_FAULT;
	if (x->buffer && r->flags & DT_FAULT) {
		x->wanted = x->n;
	} else if (x->buffer) {
		append(x, (const uint64_t *)(const void *)bytes,
		       site->place == DT_SITE_POINT_BUFFER ? FIRST : MORE);
	} else {
		memcpy(x->bytes + x->n, bytes, n);
		x->n += (uint32_t)n;
		if (n < MORE)
			x->wanted = x->n;
	}
	if (x->n == x->wanted)
		end(t, p);
}

bool dt_text_of_point(const struct dt_text *t)
{
	return t->head.kind == DT_MORE;
}

bool dt_texts_take(struct dt_texts *t, const struct dt_site *site, const struct dt_record *r)
{
	struct dt_text **p;

	if (site->place != DT_SITE_TEXT && site->place != DT_SITE_MORE &&
	    site->place != DT_SITE_POINT_TEXT && site->place != DT_SITE_POINT_BUFFER)
		return false;
	p = find(t, r);
	if (site->place == DT_SITE_POINT_TEXT || site->place == DT_SITE_POINT_BUFFER) {
		take_pointed(t, p, site, r);
		return true;
	}
	if (site->place == DT_SITE_TEXT) {
		/* the last records of an earlier text of this thread and frame have been lost */
		if (*p)
			end(t, p);
		begin(t, p, r);
	} else if (*p) {
		append(*p, r->value, MORE);
		if ((*p)->n == (*p)->wanted)
			end(t, p);
	}
	return true;
}

void dt_texts_end(struct dt_texts *t)
{
	while (t->first)
		end(t, &t->first);
}

/* ---- printing ---- */

void dt_event_name(struct dt_out *o, const struct dt_reader *r, uint64_t body)
{
	const struct dt_event_row *row = dt_reader_event(r, body);

	if (row && row->subsystem_name[0])
		dt_out_text(o, row->subsystem_name);
	else
		dt_out_decimal(o, DT_BODY_SUBSYSTEM(body));
	dt_out_char(o, ':');
	if (row && row->name[0])
		dt_out_text(o, row->name);
	else
		dt_out_decimal(o, DT_BODY_EVENT(body));
}

/* Writes an event's text; where bytes are missing, because it is longer than what is recorded or
 * records were lost, it says how many there are of how many. */
static void print_text(struct dt_out *o, const struct dt_text *t)
{
	uint32_t length = DT_BODY_ARGUMENT(t->head.value[0]);

	dt_quoted_put(o, t->bytes, t->n);
	if (t->n == length)
		return;
	dt_out_text(o, "... ");
	dt_out_decimal(o, t->n);
	dt_out_text(o, " of ");
	dt_out_decimal(o, length);
	dt_out_text(o, " bytes");
}

/* Returns the bytes of a buffer that a description, "l:text;2", "l:text;2/4" or "l:text;1*2", finds
 * by the values of the entry; UINT64_MAX: it does not say. */
static uint64_t length_of(const char *described, const uint64_t *argument)
{
	const char *p = described ? strchr(described, ';') : NULL;
	uint64_t n = 1, v;

	if (!p || !argument || described[0] != 'l')
		return UINT64_MAX;
	do {
		if (*++p < '0' || *p > '3')
			return UINT64_MAX;
		v = argument[*p++ - '0'];
		if (p[0] == '/' && p[1] == '4') { /* the rest of the register is not meant */
			v = (uint32_t)v;
			p += 2;
		}
		if (__builtin_mul_overflow(n, v, &n))
			return UINT64_MAX;
	} while (*p == '*');
	return *p ? UINT64_MAX : n;
}

/* Writes what a buffer means that is no text; length: the bytes that it has. False: only its bytes
 * are known. */
static bool print_meant(struct dt_out *o, const struct dt_reader *r, const char *described,
			const struct dt_text *t, uint64_t length, const uint64_t *argument)
{
	uint32_t n = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX - 1;
	char text[DT_SOCKADDR_TEXT], *end = NULL;

	if (described && dt_layout_put(o, r, described, t->bytes, t->n, length))
		return true;
	if (dt_stream_is(described)) {
		dt_stream_put(o, described, t->bytes, t->n, t->n >= length);
		return true;
	}
	if (described && described[0] == 'n')
		end = dt_sockaddr_bytes(text, t->bytes, t->n, n);
	else if (described && described[0] == 'y' && argument)
		end = dt_option_put(text, (uint32_t)argument[1], (uint32_t)argument[2], t->bytes,
				    t->n, n);
	if (end)
		dt_out_bytes(o, text, (size_t)(end - text));
	return end;
}

void dt_text_print(struct dt_out *o, const struct dt_reader *r, const struct dt_text *t,
		   const uint64_t *argument)
{
	const struct dt_function_info *f = dt_reader_function(r, t->function);
	const char *described = NULL;
	uint64_t length = UINT64_MAX;
	struct dt_signature_value v;

	if (f && f->signature && dt_signature_parameter(f->signature, 0, &v)) {
		dt_out_bytes(o, v.name, v.name_length);
		described = v.type.row ? dt_reader_type(r, v.type.row) : NULL;
		if (!t->buffer)
			length = length_of(described, argument);
	}
	if (t->buffer) {
		length = t->head.value[0] >> 32;
		/* then nothing is known of it, not even its length */
		length |= !t->n && t->head.flags & DT_FAULT;
	}
	dt_out_char(o, '=');
	if (!t->n && t->head.flags & DT_FAULT && length)
		dt_out_char(o, '?');
	else if (t->buffer && print_meant(o, r, described, t, length, argument))
		return;
	else
		dt_quoted_put(o, t->bytes, t->n < length ? t->n : (uint32_t)length);
	/* of a buffer in an older file, what follows a NUL was not recorded */
	if (length == UINT64_MAX ? t->n == DT_CAPTURE_TEXT || (t->n && t->head.flags & DT_FAULT)
				 : length > t->n && (t->n || !(t->head.flags & DT_FAULT)))
		dt_out_text(o, "...");
}

void dt_event_print(struct dt_out *o, const struct dt_reader *r, const struct dt_record *record,
		    unsigned mask, const struct dt_text *t)
{
	uint64_t body = record->value[0];

	if (record->kind != DT_EVENT) {
		dt_out_text(o, record->kind == DT_SEND ? "send(" : "receive(");
		dt_out_hex(o, dt_message_channel(body));
	} else {
		dt_event_name(o, r, body);
		dt_out_char(o, '(');
		if (t)
			print_text(o, t);
		else
			dt_out_decimal(o, DT_BODY_ARGUMENT(body));
	}
	for (int i = 1; i < 4 && !t; i++) {
		if (!(mask >> i & 1))
			continue;
		dt_out_text(o, ", ");
		dt_out_hex(o, record->value[i]);
	}
	dt_out_char(o, ')');
}
