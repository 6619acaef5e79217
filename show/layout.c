/* SPDX-License-Identifier: MIT */
/* The bytes come from traced processes, the descriptions from the file: neither is trusted. */
#include "show/layout.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/record.h"
#include "core/signature.h"
#include "show/quoted.h"
#include "show/shape.h"
#include "show/sockaddr.h"

#define DEPTH	 4  /* structures in structures */
#define ELEMENTS 32 /* of an array are written */

/* What is being written. */
struct put {
	struct dt_out *o;
	struct dt_shapes *shapes;
	const char *bytes;
	uint32_t n;
};

/* The parsed descriptions of the trace whose bytes were written last. */
static struct dt_shapes *shapes_of(const struct dt_reader *r)
{
	static struct dt_shapes shapes;

	if (shapes.reader != r) {
		dt_shapes_free(&shapes);
		shapes = (struct dt_shapes){.reader = r};
	}
	return &shapes;
}

static uint64_t number_at(const struct put *p, uint64_t at, unsigned size)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)(unsigned char)p->bytes[at + i] << 8 * i;
	return v;
}

static int64_t signed_of(uint64_t v, unsigned size)
{
	return size >= 8 ? (int64_t)v : (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size);
}

/* Never called: sets of constants have no values without a name of their own. */
static char *no_plain(char *p, char letter, unsigned size, uint64_t v)
{
	(void)letter, (void)size, (void)v;
	return p;
}

static void put_number(const struct put *p, const struct dt_signature_type *t, uint64_t v)
{
	char text[DT_SHAPE_TEXT], *end = NULL;

	if (t->row)
		end = dt_shape_put(p->shapes, text, t->row, t->size, v, 0, no_plain);
	if (end)
		dt_out_bytes(p->o, text, (size_t)(end - text));
	else if (t->letter == 'i')
		dt_out_signed(p->o, signed_of(v, t->size));
	else if (t->letter == 'p' || t->row)
		dt_out_hex(p->o, v);
	else
		dt_out_decimal(p->o, v);
}

static void put_members(const struct put *p, const char *members, uint64_t base, unsigned depth);

/* Writes a member whose first byte is `at'. */
static void put_member(const struct put *p, const struct dt_signature_member *m, uint64_t at,
		       unsigned depth)
{
	const char *text = m->type.row ? dt_reader_type(p->shapes->reader, m->type.row) : NULL;
	size_t room = at < p->n ? p->n - at : 0;

	if (m->type.letter == 'a') {
		text = text && text[0] == 'm' ? strchr(text, ';') : NULL;
		if (text && depth < DEPTH)
			put_members(p, text + 1, at, depth + 1);
		else
			dt_out_char(p->o, '?');
	} else if (m->type.letter == 's') {
		room = room < m->bits ? room : m->bits;
		dt_quoted_put(p->o, p->bytes + at, (uint32_t)strnlen(p->bytes + at, room));
	} else if (m->type.size > 8 || room < m->type.size) {
		dt_out_char(p->o, '?');
	} else {
		put_number(p, &m->type, number_at(p, at, m->type.size));
	}
}

/* Is it of a mask of bits, which has brackets of its own? */
static bool is_mask(const struct put *p, const char *members)
{
	struct dt_signature_member m;
	const char *text = dt_signature_in_memory(&members, &m) > 0 && m.type.row
				   ? dt_reader_type(p->shapes->reader, m.type.row)
				   : NULL;

	return text && text[0] == 'k';
}

/* Writes the members of a structure that begins at `base'. Nameless ones are an array. */
static void put_members(const struct put *p, const char *members, uint64_t base, unsigned depth)
{
	bool array = members[0] == ':', plain = array && is_mask(p, members);
	const char *separator = "";
	struct dt_signature_member m;

	dt_out_text(p->o, plain ? "" : array ? "[" : "{");
	while (dt_signature_in_memory(&members, &m) > 0) {
		bool opens = m.name_length && m.type.letter == 'b', closes = m.type.letter == 'c';

		if (!closes)
			dt_out_text(p->o, separator);
		separator = opens ? "" : ", ";
		dt_out_bytes(p->o, m.name, m.name_length);
		if (m.type.letter == 'v') /* "...": there are more */
			continue;
		if (m.name_length)
			dt_out_char(p->o, '=');
		if (opens || closes)
			dt_out_char(p->o, opens ? '[' : ']');
		else
			put_member(p, &m, base + m.bit, depth);
	}
	dt_out_text(p->o, plain ? "" : array ? "]" : "}");
}

/* Writes as many structures as there are: "m:stat*144;st_mode:u4#3@24,...". */
static void put_structures(const struct put *p, const char *described, uint64_t length)
{
	const char *star = strchr(described, '*'), *members = strchr(described, ';');
	uint64_t size = star ? strtoull(star + 1, NULL, 10) : 0;
	uint64_t count = size ? length / size : 0;

	if (!members || !size) {
		dt_out_char(p->o, '?');
		return;
	}
	if (length == size) {
		put_members(p, members + 1, 0, 0);
		return;
	}
	dt_out_char(p->o, '[');
	for (uint64_t i = 0; i < count; i++) {
		dt_out_text(p->o, i ? ", " : "");
		if (i == ELEMENTS || (i + 1) * size > p->n) {
			dt_out_text(p->o, "...");
			break;
		}
		put_members(p, members + 1, i * size, 0);
	}
	dt_out_char(p->o, ']');
}

/* Writes the pieces of memory that begin at `at'. */
static void put_pieces(const struct put *p, uint64_t at)
{
	const char *separator = "";
	struct dt_bpf_piece piece;

	dt_out_char(p->o, '[');
	while (at + sizeof(piece) <= p->n) {
		memcpy(&piece, p->bytes + at, sizeof(piece));
		at += sizeof(piece);
		dt_out_text(p->o, separator);
		dt_out_text(p->o, "{iov_base=");
		separator = ", ";
		if (piece.n > p->n - at) { /* it could not be read */
			dt_out_hex(p->o, piece.base);
			piece.n = 0;
		} else {
			dt_quoted_put(p->o, p->bytes + at, (uint32_t)piece.n);
			dt_out_text(p->o, piece.n < piece.length ? "..." : "");
		}
		at += piece.n;
		dt_out_text(p->o, ", iov_len=");
		dt_out_decimal(p->o, piece.length);
		dt_out_char(p->o, '}');
	}
	dt_out_char(p->o, ']');
}

static void put_message(const struct put *p)
{
	char text[DT_SOCKADDR_TEXT], *end;
	struct dt_bpf_message m;

	if (p->n < sizeof(m)) {
		dt_out_char(p->o, '?');
		return;
	}
	memcpy(&m, p->bytes, sizeof(m));
	dt_out_text(p->o, "{msg_name=");
	if (m.name && m.name_n <= p->n - sizeof(m) && m.name_n) {
		end = dt_sockaddr_bytes(text, p->bytes + sizeof(m), m.name_n, m.name_length);
		dt_out_bytes(p->o, text, (size_t)(end - text));
	} else {
		dt_out_hex(p->o, m.name);
		m.name_n = 0;
	}
	dt_out_text(p->o, ", msg_namelen=");
	dt_out_decimal(p->o, m.name_length);
	dt_out_text(p->o, ", msg_iov=");
	put_pieces(p, sizeof(m) + m.name_n);
	dt_out_text(p->o, ", msg_iovlen=");
	dt_out_decimal(p->o, m.count);
	if (m.control_length) {
		dt_out_text(p->o, ", msg_control=");
		dt_out_hex(p->o, m.control);
	}
	dt_out_text(p->o, ", msg_controllen=");
	dt_out_decimal(p->o, m.control_length);
	dt_out_text(p->o, ", msg_flags=");
	dt_out_hex(p->o, m.flags);
	dt_out_char(p->o, '}');
}

/* Writes a descriptor and the name of what it stands for: 3</etc/passwd>. A name is what is behind
 * its number. */
static void put_file(const struct put *p)
{
	int32_t fd = p->n >= 4 ? (int32_t)number_at(p, 0, 4) : -1;

	if (fd == -100)
		dt_out_text(p->o, "AT_FDCWD");
	else
		dt_out_signed(p->o, fd);
	dt_out_char(p->o, '<');
	for (uint32_t i = 4; i < p->n; i++) {
		unsigned char c = (unsigned char)p->bytes[i];

		/* nothing that a terminal could understand */
		dt_out_char(p->o, c < ' ' || c == 127 || (c >= 128 && c < 160) ? '?' : (char)c);
	}
	dt_out_char(p->o, '>');
}

bool dt_layout_put(struct dt_out *o, const struct dt_reader *r, const char *described,
		   const char *bytes, uint32_t n, uint64_t length)
{
	struct put p = {o, NULL, bytes, n};

	if (!described[0] || described[1] != ':' || !strchr("mqhd", described[0]))
		return false;
	p.shapes = shapes_of(r);
	if (described[0] == 'm')
		put_structures(&p, described, length);
	else if (described[0] == 'q')
		put_pieces(&p, 0);
	else if (described[0] == 'h')
		put_message(&p);
	else
		put_file(&p);
	return true;
}
