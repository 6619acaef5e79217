/* SPDX-License-Identifier: MIT */
#include "symbols/jit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"

#define PIECE                                                                                      \
	65536u	 /* bytes that are read at a time; longer lines and names are not understood       \
		  */
#define PRINT 64 /* bytes by which a file is known again */

/* A name as it was read; a later one is nearer to the array's end. */
struct entry {
	uint64_t low, high;
	uint64_t name; /* offset in text; NOBODY: what was there has gone */
};

#define NOBODY UINT64_MAX

struct dt_jit {
	enum dt_jit_kind kind;
	/* the file: which it is, up to where it has been read, and its bytes in front of that */
	dev_t device;
	ino_t inode;
	uint64_t offset;
	uint8_t print[PRINT];
	size_t printed;
	bool refused; /* its head is that of no such file */

	struct entry *entry;
	size_t n, room;
	char *text;
	size_t used, text_room;
	size_t unread;
	bool skips; /* the rest of a line that is too long is still to come */

	struct dt_jit_code *code; /* what dt_jit_all() returned; NULL: to be made */
	size_t codes;
};

struct dt_jit *dt_jit_new(enum dt_jit_kind kind)
{
	struct dt_jit *m = calloc(1, sizeof(*m));

	if (m)
		m->kind = kind;
	return m;
}

void dt_jit_free(struct dt_jit *m)
{
	if (!m)
		return;
	free(m->entry);
	free(m->text);
	free(m->code);
	free(m);
}

size_t dt_jit_unread(const struct dt_jit *m)
{
	return m->unread;
}

/* ---- entries ---- */

static bool make_room(struct dt_jit *m, size_t bytes)
{
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 256;
		struct entry *more = realloc(m->entry, room * sizeof(*more));

		if (!more)
			return false;
		m->entry = more;
		m->room = room;
	}
	if (m->text_room - m->used < bytes) {
		size_t room = 2 * m->text_room + bytes + 4096;
		char *more = realloc(m->text, room);

		if (!more)
			return false;
		m->text = more;
		m->text_room = room;
	}
	return true;
}

/* Adds a name, of n bytes; NULL: there is nothing any more. */
static void add(struct dt_jit *m, uint64_t low, uint64_t size, const char *name, size_t n)
{
	n = name ? strnlen(name, n < DT_JIT_NAME ? n : DT_JIT_NAME) : 0;
	if (!size || low + size < low || (name && !n) || m->n == DT_JIT_MOST ||
	    m->used + n >= DT_JIT_BYTES || !make_room(m, n + 1)) {
		m->unread++;
		return;
	}
	m->entry[m->n++] = (struct entry){low, low + size, name ? m->used : NOBODY};
	if (name) {
		memcpy(m->text + m->used, name, n);
		m->text[m->used + n] = '\0';
		m->used += n + 1;
	}
}

/* ---- map files ---- */

static int digit(char c)
{
	return c >= '0' && c <= '9'		    ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* Reads a number in hexadecimal, with "0x" or without, and the space behind it. */
static bool number(const char **p, const char *end, uint64_t *v)
{
	unsigned n = 0;

	*v = 0;
	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] | 32) == 'x')
		*p += 2;
	for (; *p < end && digit(**p) >= 0; ++*p, n++)
		*v = *v << 4 | (unsigned)digit(**p);
	if (!n || n > 16 || *p == end || **p != ' ')
		return false;
	while (*p < end && **p == ' ')
		++*p;
	return true;
}

static void take_line(struct dt_jit *m, const char *line, const char *end)
{
	uint64_t low, size;

	if (number(&line, end, &low) && number(&line, end, &size) && line < end)
		add(m, low, size, line, (size_t)(end - line));
	else
		m->unread++;
}

/* Takes the whole lines of n bytes. Returns how many bytes these are. */
static size_t take_lines(struct dt_jit *m, const char *bytes, size_t n)
{
	const char *at = bytes, *end;

	while ((end = memchr(at, '\n', n - (size_t)(at - bytes)))) {
		if (!m->skips)
			take_line(m, at, end);
		m->skips = false;
		at = end + 1;
	}
	if (at == bytes && n == PIECE) {
		m->unread += !m->skips;
		m->skips = true;
		return n;
	}
	return (size_t)(at - bytes);
}

static void read_map(struct dt_jit *m, int file, uint64_t size)
{
	char bytes[PIECE];

	while (m->offset < size) {
		ssize_t n = pread(file, bytes, sizeof(bytes), (off_t)m->offset);
		size_t taken = n > 0 ? take_lines(m, bytes, (size_t)n) : 0;

		if (!taken)
			return;
		m->offset += taken;
	}
}

/* ---- jitdump ---- */

#define MAGIC 0x4a695444u /* of a file of this processor's byte order */

struct head {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

enum { LOAD = 0, MOVE = 1 };

/* What each record begins with. size: of the whole record. */
struct record {
	uint32_t id, size;
	uint64_t time;
};

/* Behind that, of LOAD; then come the name with its NUL, and the code. */
struct load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* Reads n bytes at offset. */
static bool get(int file, uint64_t offset, void *to, size_t n)
{
	return pread(file, to, n, (off_t)offset) == (ssize_t)n;
}

static void take_load(struct dt_jit *m, int file, uint64_t at, uint64_t left)
{
	char name[DT_JIT_NAME];
	struct load l;
	ssize_t n;

	if (left < sizeof(l) || !get(file, at, &l, sizeof(l))) {
		m->unread++;
		return;
	}
	left -= sizeof(l);
	n = pread(file, name, left < sizeof(name) ? left : sizeof(name), (off_t)(at + sizeof(l)));
	if (n > 0)
		add(m, l.address, l.size, name, (size_t)n);
	else
		m->unread++;
}

#define STEPS 4096 /* names that are looked at to find the one that is moved */

static void take_move(struct dt_jit *m, int file, uint64_t at, uint64_t left)
{
	struct move v;
	char name[DT_JIT_NAME + 1];

	if (left >= sizeof(v) && get(file, at, &v, sizeof(v)))
		for (size_t i = m->n; i-- > 0 && m->n - i <= STEPS;) {
			if (m->entry[i].low != v.from || m->entry[i].name == NOBODY)
				continue;
			/* the text may be moved when more is added */
			strcpy(name, m->text + m->entry[i].name);
			add(m, v.from, m->entry[i].high - m->entry[i].low, NULL, 0);
			add(m, v.to, v.size, name, strlen(name));
			return;
		}
	m->unread++;
}

static void read_dump(struct dt_jit *m, int file, uint64_t size)
{
	struct record r;
	struct head h;

	if (!m->offset) {
		if (!get(file, 0, &h, sizeof(h)))
			return;
		m->refused = h.magic != MAGIC || h.size < sizeof(h) || h.machine != DT_MACHINE;
		m->offset = h.size;
	}
	while (!m->refused && m->offset + sizeof(r) <= size &&
	       get(file, m->offset, &r, sizeof(r)) && r.size <= size - m->offset) {
		if (r.size < sizeof(r)) { /* nothing says where the next one begins */
			m->refused = true;
			m->unread++;
			return;
		}
		if (r.id == LOAD)
			take_load(m, file, m->offset + sizeof(r), r.size - sizeof(r));
		else if (r.id == MOVE)
			take_move(m, file, m->offset + sizeof(r), r.size - sizeof(r));
		m->offset += r.size;
	}
}

/* ---- reading ---- */

/* Are the bytes in front of where reading ended still the same? */
static bool is_same(const struct dt_jit *m, int file, const struct stat *st)
{
	uint8_t print[PRINT];

	return st->st_dev == m->device && st->st_ino == m->inode &&
	       (uint64_t)st->st_size >= m->offset &&
	       (!m->printed || (get(file, m->offset - m->printed, print, m->printed) &&
				!memcmp(print, m->print, m->printed)));
}

bool dt_jit_read(struct dt_jit *m, int file)
{
	size_t before = m->n, unread = m->unread;
	bool anew = false;
	struct stat st;
	uint64_t size;

	if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (!is_same(m, file, &st)) {
		anew = m->n || m->unread;
		m->n = m->used = m->unread = m->printed = 0;
		m->offset = 0;
		m->refused = m->skips = false;
	}
	m->device = st.st_dev;
	m->inode = st.st_ino;
	size = (uint64_t)st.st_size < DT_JIT_FILE ? (uint64_t)st.st_size : DT_JIT_FILE;
	if (m->kind == DT_JIT_MAP)
		read_map(m, file, size);
	else
		read_dump(m, file, size);
	m->printed = m->offset < PRINT ? (size_t)m->offset : PRINT;
	if (!get(file, m->offset - m->printed, m->print, m->printed))
		m->printed = 0;
	if (!anew && m->n == before && m->unread == unread)
		return false;
	free(m->code);
	m->code = NULL;
	return true;
}

/* ---- which name an address has ---- */

static int by_low(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	if ((*x)->low != (*y)->low)
		return (*x)->low < (*y)->low ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* Names that cover the address that a sweep has come to: the latest one is on top. */
struct heap {
	const struct entry **entry;
	size_t n;
};

static void push(struct heap *h, const struct entry *e)
{
	size_t i = h->n++;

	for (; i && h->entry[(i - 1) / 2] < e; i = (i - 1) / 2)
		h->entry[i] = h->entry[(i - 1) / 2];
	h->entry[i] = e;
}

static void pop(struct heap *h)
{
	const struct entry *e = h->entry[--h->n];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < h->n; i = k) {
		k += k + 1 < h->n && h->entry[k + 1] > h->entry[k];
		if (h->entry[k] < e)
			break;
		h->entry[i] = h->entry[k];
	}
	h->entry[i] = e;
}

/* Adds [low, high), which has the name of e. */
static void put(struct dt_jit *m, const struct entry *e, uint64_t low, uint64_t high)
{
	struct dt_jit_code *last = m->codes ? &m->code[m->codes - 1] : NULL;

	if (e->name == NOBODY || low == high)
		return;
	if (last && last->high == low && last->start == e->low && last->name == m->text + e->name)
		last->high = high;
	else
		m->code[m->codes++] = (struct dt_jit_code){low, high, e->low, m->text + e->name};
}

/* Goes through the addresses in which names begin or end; each is given to the latest name. */
static void sweep(struct dt_jit *m, const struct entry **sorted, struct heap *h)
{
	uint64_t at = 0;

	for (size_t i = 0; i < m->n || h->n;) {
		uint64_t next;

		while (h->n && h->entry[0]->high <= at)
			pop(h);
		if (!h->n) {
			if (i == m->n)
				return;
			at = sorted[i]->low;
		}
		for (; i < m->n && sorted[i]->low <= at; i++)
			push(h, sorted[i]);
		next = h->entry[0]->high;
		if (i < m->n && sorted[i]->low < next)
			next = sorted[i]->low;
		put(m, h->entry[0], at, next);
		at = next;
	}
}

const struct dt_jit_code *dt_jit_all(struct dt_jit *m, size_t *n)
{
	const struct entry **sorted;
	struct heap h = {0};

	*n = 0;
	if (m->code || !m->n) {
		*n = m->n ? m->codes : 0;
		return m->n ? m->code : NULL;
	}
	sorted = malloc(m->n * sizeof(*sorted));
	h.entry = malloc(m->n * sizeof(*h.entry));
	/* each name begins and ends once: so many pieces at most */
	m->code = malloc(2 * m->n * sizeof(*m->code));
	m->codes = 0;
	if (sorted && h.entry && m->code) {
		for (size_t i = 0; i < m->n; i++)
			sorted[i] = &m->entry[i];
		qsort(sorted, m->n, sizeof(*sorted), by_low);
		sweep(m, sorted, &h);
		*n = m->codes;
	} else {
		free(m->code);
		m->code = NULL;
	}
	free(sorted);
	free(h.entry);
	return m->code;
}
