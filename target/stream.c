/* SPDX-License-Identifier: MIT */
/*
 * Streams (core/stream.h): the arguments behind a format of printf's, and arrays of texts. Which
 * values there are is known only here, in the traced process, when the function has been entered.
 *
 * The point's code asks for 32 bytes at a time and keeps nothing in between but three registers, so
 * the stream is made anew each time. Memory may have changed meanwhile: a stream that is another
 * one then is not gone on with. All memory is read by the kernel for us (target/memory.h), so
 * nothing faults, but for what the caller has passed on the first thread's stack; a text is read no
 * further than the function reads it, rounded up to CHUNK bytes.
 */
#include "target/stack.h"
#include "target/memory.h"
#include "target/text.h"

#include "core/stream.h"

#define CHUNK	    64u		    /* bytes that are read at once; a divisor of a page */
#define ROOM	    DT_CAPTURE_TEXT /* bytes of a stream */
#define END_ROOM    6u		    /* of these, for the value that ends it */
#define VALUES	    24u		    /* arguments of a format that are looked at */
#define FORMAT_MOST 8192u	    /* bytes of a format that are looked at */
#define TEXT_MOST   128u	    /* bytes of a text that are recorded */
#define TEXT_LEAST  24u		    /* with less room than this, a text is left for later */
#define ARRAY_MOST  1024u	    /* elements of an array that are counted */
#define VECTORS	    8u
#define NO_LIMIT    0xffffu

typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64;

/* ---- reading ---- */

/* Memory that is read from its beginning on. */
struct source {
	uint64_t at;   /* what is to be read next */
	uint32_t left; /* bytes that may still be read */
	uint32_t i, n; /* bytes of the chunk that have been taken, and that there are */
	uint8_t chunk[CHUNK];
};

static void begin(struct source *s, uint64_t at, uint32_t most)
{
	s->at = at;
	s->left = most;
	s->i = s->n = 0;
}

/* Returns the next byte; -1: it can not be read, or may not. */
static int next(struct source *s)
{
	if (!s->left)
		return -1;
	if (s->i == s->n) {
		uint32_t n = CHUNK - s->at % CHUNK;

		if (dt_own_memory_read(s->at, s->chunk, n) != (long)n)
			return -1;
		s->at += n;
		s->i = 0;
		s->n = n;
	}
	s->left--;
	return s->chunk[s->i++];
}

static bool next_word(struct source *s, uint64_t *v)
{
	*v = 0;
	for (unsigned i = 0; i < 8; i++) {
		int c = next(s);

		if (c < 0)
			return false;
		*v |= (uint64_t)c << 8 * i;
	}
	return true;
}

/* ---- the stream ---- */

struct stream {
	uint32_t n;
	uint8_t bytes[ROOM];
};

static void put_value(struct stream *s, char letter, uint64_t v, unsigned n)
{
	s->bytes[s->n++] = (uint8_t)letter;
	s->bytes[s->n++] = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		s->bytes[s->n++] = (uint8_t)(v >> 8 * i);
}

/* Is there room for a value of n bytes, and for the one that ends the stream? */
static bool has_room(const struct stream *s, unsigned n)
{
	return s->n + 2 + n + END_ROOM <= ROOM;
}

/* Puts a text, of which the function reads `most' bytes at most. False: there is no room. */
static bool put_text(struct stream *s, uint64_t address, unsigned most)
{
	unsigned at = s->n, n = 0, room;
	struct source from;
	int c = 0;

	if (!has_room(s, TEXT_LEAST))
		return false;
	if (!address) {
		put_value(s, DT_STREAM_NULL, 0, 0);
		return true;
	}
	room = ROOM - END_ROOM - 2 - s->n;
	room = room < TEXT_MOST ? room : TEXT_MOST;
	begin(&from, address, most < NO_LIMIT ? most : room + 1);
	put_value(s, DT_STREAM_TEXT, 0, 0);
	while (n < most && (c = next(&from)) > 0 && n < room) {
		s->bytes[s->n++] = (uint8_t)c;
		n++;
	}
	s->bytes[at + 1] = (uint8_t)n;
	if (n < most && c)
		s->bytes[at] = DT_STREAM_CUT;
	if (n < most && c < 0 && !n) {
		s->n = at;
		put_value(s, DT_STREAM_LOST, address, 8);
	}
	return true;
}

/* ---- arrays ---- */

static void put_texts(struct stream *s, struct source *array)
{
	uint32_t more = 0;
	uint64_t text;
	bool ended = false, full = false;

	for (unsigned i = 0; i < ARRAY_MOST && next_word(array, &text); i++) {
		ended = !text;
		if (ended)
			break;
		full = full || !put_text(s, text, NO_LIMIT);
		more += full;
	}
	if (!ended)
		put_value(s, DT_STREAM_END, 0, 0);
	else if (more)
		put_value(s, DT_STREAM_MORE, more, 4);
}

/* ---- formats ---- */

/* An argument that a format asks for. */
struct wanted {
	char letter;	 /* DT_STREAM_...; 0: the format does not say */
	uint8_t size;	 /* bytes; 16: a long double */
	uint8_t most_in; /* of a text: the argument that has its precision; VALUES: none */
	uint16_t most;	 /* its precision; NO_LIMIT: none */
};

struct format {
	struct source from;
	int c;		/* the byte at which it is; 0: its end, -1: it can not be read */
	unsigned after; /* the argument behind the last one */
	struct wanted wanted[VALUES];
};

static void advance(struct format *f)
{
	f->c = next(&f->from);
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number, if there is one; 0: there is none. */
static unsigned number(struct format *f)
{
	unsigned v = 0;

	for (; is_digit(f->c); advance(f))
		v = v < NO_LIMIT ? 10 * v + (unsigned)(f->c - '0') : v;
	return v < NO_LIMIT ? v : NO_LIMIT - 1;
}

/* Notes an argument: the one of that number, counted from 1, or the next one if it is 0. Returns
 * its index; VALUES: it is beyond those that are looked at. */
static unsigned want(struct format *f, unsigned position, char letter, unsigned size)
{
	unsigned i = position ? position - 1 : f->after++;

	if (i >= VALUES)
		return VALUES;
	if (!f->wanted[i].letter) {
		f->wanted[i].letter = letter;
		f->wanted[i].size = (uint8_t)size;
		f->wanted[i].most = NO_LIMIT;
		f->wanted[i].most_in = VALUES;
	}
	return i;
}

/* Reads what stands behind a '*', the number of an argument, and notes that. Returns its index. */
static unsigned star(struct format *f)
{
	unsigned position;

	advance(f);
	position = number(f);
	if (f->c == '$')
		advance(f);
	return want(f, position, DT_STREAM_SIGNED, 4);
}

/* Reads the letters that say how large a number is, and returns its bytes; 16: it is long, or a
 * long double. */
static unsigned size(struct format *f)
{
	unsigned n = 4;

	for (;; advance(f)) {
		if (f->c == 'h')
			n = n == 2 ? 1 : 2;
		else if (f->c == 'l' || f->c == 'j' || f->c == 'z' || f->c == 'Z' || f->c == 't')
			n = n == 16 ? 16 : 8;
		else if (f->c == 'q' || f->c == 'L')
			n = 16;
		else
			return n;
	}
}

/* Returns the letter for a conversion; 0: there is no such one. */
static char letter_of(int c)
{
	switch (c) {
	case 'd':
	case 'i':
		return DT_STREAM_SIGNED;
	case 'u':
	case 'C':
		return DT_STREAM_UNSIGNED;
	case 'x':
	case 'X':
	case 'b':
	case 'B':
		return DT_STREAM_HEX;
	case 'o':
		return DT_STREAM_OCTAL;
	case 'c':
		return DT_STREAM_CHAR;
	case 's':
		return DT_STREAM_TEXT;
	case 'p':
	case 'n':
	case 'S':
		return DT_STREAM_POINTER;
	case 'a':
	case 'A':
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
		return DT_STREAM_FLOAT;
	default:
		return 0;
	}
}

/* Reads a conversion behind its '%'. False: it is not understood, or there are too many. */
static bool convert(struct format *f)
{
	unsigned position = 0, most = NO_LIMIT, most_in = VALUES, n, i;
	char letter;

	advance(f);
	n = f->c == '0' ? 0 : number(f);
	if (n && f->c == '$') {
		position = n;
		advance(f);
	}
	while (f->c == '-' || f->c == '+' || f->c == ' ' || f->c == '#' || f->c == '0' ||
	       f->c == '\'' || f->c == 'I')
		advance(f);
	if (f->c == '*')
		star(f);
	else
		number(f);
	if (f->c == '.') {
		advance(f);
		if (f->c == '*')
			most_in = star(f);
		else
			most = number(f);
	}
	n = size(f);
	if (f->c == '%' || f->c == 'm')
		return true;
	letter = letter_of(f->c);
	if (letter == DT_STREAM_TEXT && n >= 8)
		letter = DT_STREAM_POINTER; /* of wide characters */
	if (letter == DT_STREAM_CHAR)
		letter = n >= 8 ? DT_STREAM_UNSIGNED : letter, n = n >= 8 ? 4 : 1;
	if (letter == DT_STREAM_POINTER || letter == DT_STREAM_TEXT)
		n = 8;
	if (letter == DT_STREAM_FLOAT)
		n = n == 16 ? 16 : 8;
	i = letter ? want(f, position, letter, n > 8 && letter != DT_STREAM_FLOAT ? 8 : n) : VALUES;
	if (i == VALUES)
		return false;
	f->wanted[i].most = (uint16_t)most;
	f->wanted[i].most_in = (uint8_t)most_in;
	return true;
}

/* Reads a format. False: more may follow than what is known then. */
static bool read_format(struct format *f, uint64_t address)
{
	f->after = 0;
	for (unsigned i = 0; i < VALUES; i++)
		f->wanted[i].letter = 0;
	begin(&f->from, address, FORMAT_MOST);
	for (advance(f); f->c > 0; advance(f))
		if (f->c == '%' && !convert(f))
			return false;
	return f->c == 0;
}

/* ---- the arguments ---- */

/* Reads words that the caller has passed. They mostly are on the stack, which can be read directly.
 */
static bool read_passed(const struct text *t, uint64_t address, void *to, unsigned words)
{
	if (!dt_stack_is_first(t, address, 8 * words))
		return dt_own_memory_read(address, to, 8 * words) == (long)(8 * words);
	for (unsigned i = 0; i < words; i++)
		((volatile uint64_t *)to)[i] = ((const volatile any_u64 *)address)[i];
	return true;
}

/* Reads a va_list. False: it can not be read, or is none. */
static bool read_list(const struct text *t, struct dt_passed *a, uint64_t address)
{
	struct dt_passed_list l;

	_Static_assert(sizeof(l) % 8 == 0, "words");
	return read_passed(t, address, &l, sizeof(l) / 8) && dt_passed_by_list(a, &l);
}

/* Takes the next argument of n bytes in memory. */
static bool take_stack(const struct text *t, struct dt_passed *a, uint64_t *v, unsigned n)
{
	if (n > 8)
		a->stack = (a->stack + 15) & ~15ull;
	v[0] = v[1] = 0;
	n = n > 8 ? 16 : 8;
	a->stack += n;
	return read_passed(t, a->stack - n, v, n / 8);
}

/* Takes the next argument of such a kind. False: it is not known. */
static bool take(const struct text *t, struct dt_passed *a, const struct wanted *w, uint64_t *v)
{
	bool is_float = w->letter == DT_STREAM_FLOAT;
	uint32_t i;

	if (is_float && w->size == 8 && a->vectors < DT_PASSED_VECTORS) {
		i = a->vectors++;
		v[0] = a->vector[i];
		return a->saved ? read_passed(t, a->saved + DT_PASSED_LIST_VECTOR(i), v, 1)
				: !a->no_vectors;
	}
	if (!is_float && a->integers < DT_PASSED_INTEGERS) {
		i = a->integers++;
		v[0] = a->integer[i];
		return !a->saved || read_passed(t, a->saved + DT_PASSED_LIST_INTEGER(i), v, 1);
	}
	return take_stack(t, a, v, w->size);
}

/* Puts an argument. False: there is no room. */
static bool put_argument(struct stream *s, const struct wanted *w, const uint64_t *v, bool known,
			 unsigned most)
{
	if (!known && !has_room(s, 0))
		return false;
	if (!known) {
		put_value(s, DT_STREAM_LOST, 0, 0);
		return true;
	}
	if (w->letter == DT_STREAM_TEXT)
		return put_text(s, v[0], most);
	if (!has_room(s, 10))
		return false;
	if (w->size <= 8) {
		put_value(s, w->letter, v[0], w->size);
		return true;
	}
	put_value(s, w->letter, v[0], 8); /* a long double has two bytes more */
	s->bytes[s->n - 9] = 10;
	s->bytes[s->n++] = (uint8_t)v[1];
	s->bytes[s->n++] = (uint8_t)(v[1] >> 8);
	return true;
}

static void put_arguments(struct stream *s, const struct text *t, const struct format *f,
			  struct dt_passed *a, bool complete)
{
	uint32_t more = 0;
	int32_t precision[VALUES];
	unsigned i;

	for (i = 0; i < VALUES && f->wanted[i].letter; i++) {
		const struct wanted *w = &f->wanted[i];
		unsigned most = w->most;
		uint64_t v[2] = {0, 0};
		bool known = take(t, a, w, v);

		precision[i] = (int32_t)v[0];
		/* the precision comes before the text, unless both are said by numbers */
		if (w->most_in != VALUES && w->most_in >= i)
			known = false;
		else if (w->most_in != VALUES) /* a negative one is none */
			most = precision[w->most_in] < 0 || precision[w->most_in] >= (int)NO_LIMIT
				       ? NO_LIMIT
				       : (unsigned)precision[w->most_in];
		more += more || !put_argument(s, w, v, known, most);
	}
	for (; i < VALUES; i++)
		complete = complete && !f->wanted[i].letter;
	if (!complete)
		put_value(s, DT_STREAM_END, 0, 0);
	else if (more)
		put_value(s, DT_STREAM_MORE, more, 4);
}

/* Makes a stream. False: nothing of it can be read. */
static bool make(struct stream *s, const struct text *t)
{
	unsigned kind = t->how >> DT_TEXT_LENGTH & 15, at = t->how >> (DT_TEXT_LENGTH + 4) & 7;
	struct dt_passed a;
	struct format f;
	bool complete;

	s->n = 0;
	if (kind == DT_STREAM_TEXTS) {
		begin(&f.from, t->address, 8 * ARRAY_MOST);
		f.c = next(&f.from);
		if (f.c < 0)
			return false;
		begin(&f.from, t->address, 8 * ARRAY_MOST);
		put_texts(s, &f.from);
		return true;
	}
	complete = read_format(&f, t->address);
	if (f.c < 0 && !f.after)
		return false;
	dt_passed_by_registers(&a, t + 1, at);
	if (kind == DT_STREAM_LIST &&
	    (at >= DT_PASSED_INTEGERS || !read_list(t, &a, a.integer[at])))
		return false;
	put_arguments(s, t, &f, &a, complete);
	return true;
}

static uint32_t hash(const struct stream *s)
{
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < s->n; i++)
		h = (h ^ s->bytes[i]) * 16777619u;
	return h;
}

/*
 * Reads the next bytes of a stream. Between two of these `left' has how many have been recorded, in
 * its low 16 bits, how many there are, in the next, and a hash of them all.
 */
static int stream_piece(struct text *t)
{
	bool first = t->how & DT_TEXT_HEAD;
	uint64_t done = first ? 0 : t->left & 0xffff, made;
	unsigned at = first ? 8 : 0;
	struct stream s;

	for (unsigned i = 0; i < 4; i++)
		((volatile uint64_t *)t->piece)[i] = 0;
	if (!make(&s, t))
		goto lost;
	made = (uint64_t)s.n << 16 | (uint64_t)hash(&s) << 32;
	if (!first && t->left >> 16 != made >> 16)
		goto lost;
	if (first)
		t->piece[0] = (uint64_t)s.n << 32 | s.n;
	for (; at < DT_PIECE && done < s.n; at++, done++)
		t->piece[at / 8] |= (uint64_t)s.bytes[done] << at % 8 * 8;
	t->left = made | done;
	t->how &= ~(uint64_t)DT_TEXT_HEAD;
	if (done == s.n)
		t->address = 0;
	return 0;
lost:
	t->address = 0;
	return -1;
}

int dt_piece(struct text *t)
{
	if (t->how & DT_TEXT_STACK)
		return dt_stack_piece(t);
	return t->how & DT_TEXT_STREAM ? stream_piece(t) : dt_text(t);
}
