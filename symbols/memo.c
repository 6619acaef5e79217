/* SPDX-License-Identifier: MIT */
#include "symbols/memo.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "symbols/memo-file.h"

#define BUCKETS	    1024
#define ANSWERS_MAX 65536u
#define LONG	    (8u << 20) /* bytes; answers of so many are packed */
#define LEVEL	    1	       /* of zstd */

struct entry {
	struct dt_memo_answer is;
	const char *more, *text;
	bool own; /* `text' is this entry's, and freed with it; `more' is behind the entry */
	struct entry *next;
	struct entry *older;
};

struct dt_memo {
	char *path;
	struct dt_memo_identity file;
	const char *bytes; /* the memo's file, mapped, which entries point into */
	size_t mapped;
	struct entry *bucket[BUCKETS];
	struct entry *last;	  /* all entries, through `older' */
	const struct entry *lent; /* whoever has it may have changed it; NULL: none is */
	size_t n, size;		  /* how many, and their bytes in a file */
	bool news;
	time_t opened;
	struct dt_memo_debug *debug; /* the debug files that the memo's file named */
	size_t debugs;
};

static size_t bucket_of(const struct dt_apart_ask *a, const char *more)
{
	uint64_t h = dt_memo_sum(more, a->bytes, a->what);

	h = (h ^ a->number[0]) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29 ^ a->number[1]) * 0xbf58476d1ce4e5b9u;
	return h >> 40 & (BUCKETS - 1);
}

static bool is_asked(const struct entry *x, const struct dt_apart_ask *a, const char *more)
{
	return x->is.what == a->what && x->is.more == a->bytes && x->is.number[0] == a->number[0] &&
	       x->is.number[1] == a->number[1] && !memcmp(x->more, more, a->bytes);
}

/* Maps the memo's file a second time; NULL: it is not the same any more. */
static const char *map_again(const struct dt_memo *m)
{
	size_t n = 0;
	const char *bytes = dt_memo_file_map(m->path, &m->file, 0, &n);

	if (bytes && n == m->mapped && !memcmp(bytes, m->bytes, sizeof(struct dt_memo_head)))
		return bytes;
	if (bytes)
		munmap((void *)(uintptr_t)bytes, n);
	return NULL;
}

/* Returns a copy of the text of an answer that is lent, as the file has it. */
static char *copy_of_lent(const struct dt_memo *m)
{
	const struct entry *x = m->lent;
	const char *bytes = map_again(m);
	char *text = bytes ? malloc(x->is.bytes + 1) : NULL;

	if (text)
		memcpy(text, bytes + (x->text - m->bytes), x->is.bytes + 1);
	if (bytes)
		munmap((void *)(uintptr_t)bytes, m->mapped);
	return text;
}

/* Returns a copy of an answer's text; NULL: it is damaged, or there is no memory. */
static char *copy_of(const struct dt_memo *m, const struct entry *x)
{
	char *text;

	if (x == m->lent)
		return copy_of_lent(m);
	text = malloc(x->is.bytes + 1);
	if (!text)
		return NULL;
	text[x->is.bytes] = '\0';
	if (x->is.stored == x->is.bytes)
		return memcpy(text, x->text, x->is.bytes);
	if (ZSTD_decompress(text, x->is.bytes, x->text, x->is.stored) == x->is.bytes)
		return text;
	free(text);
	return NULL;
}

/* Returns the entry that answers; NULL: there is none, or it is longer than `most'. */
static const struct entry *entry_of(const struct dt_memo *m, const struct dt_apart_ask *ask,
				    const char *more, size_t most)
{
	const struct entry *x = m->bucket[bucket_of(ask, more)];

	while (x && !is_asked(x, ask, more))
		x = x->next;
	return x && x->is.bytes <= most ? x : NULL;
}

char *dt_memo_recall(const struct dt_memo *m, const struct dt_apart_ask *ask, const char *more,
		     size_t most, struct dt_apart_answer *a)
{
	const struct entry *x = entry_of(m, ask, more, most);

	if (!x)
		return NULL;
	*a = (struct dt_apart_answer){x->is.result, x->is.bytes};
	return copy_of(m, x);
}

char *dt_memo_lend(struct dt_memo *m, const struct dt_apart_ask *ask, size_t most,
		   struct dt_apart_answer *a)
{
	const struct entry *x = m->lent ? NULL : entry_of(m, ask, "", most);

	/* the mapping is private: what is written there gets pages of its own */
	if (!x || x->own || x->is.stored != x->is.bytes || (uintptr_t)x->text % 8 ||
	    mprotect((void *)(uintptr_t)m->bytes, m->mapped, PROT_READ | PROT_WRITE) < 0)
		return NULL;
	m->lent = x;
	*a = (struct dt_apart_answer){x->is.result, x->is.bytes};
	return (char *)(uintptr_t)x->text;
}

bool dt_memo_has(const struct dt_memo *m, uint32_t what, int64_t result)
{
	for (const struct entry *x = m->last; x; x = x->older)
		if (x->is.what == what && x->is.result == result)
			return true;
	return false;
}

/* Adds an entry whose text lies in memory already. own: the entry frees it. */
static bool add(struct dt_memo *m, const struct dt_memo_answer *is, const char *more,
		const char *text, bool own)
{
	const struct dt_apart_ask ask = {is->what, is->more, {is->number[0], is->number[1]}};
	struct entry *x = malloc(sizeof(*x) + is->more + 1u);
	struct entry **to = &m->bucket[bucket_of(&ask, more)];

	if (!x)
		return false;
	*x = (struct entry){*is, (char *)(x + 1), text, own, *to, m->last};
	memcpy(x + 1, more, is->more);
	*to = m->last = x;
	m->n++;
	m->size += dt_memo_answer_size(is);
	return true;
}

/* Returns a copy of an answer's text, packed if it is long; NULL: it would take too much room, or
 * memory is out. */
static char *pack(const char *text, size_t n, uint64_t *stored)
{
	size_t room = n >= LONG ? n / 2 : n;
	char *copy = room < DT_MEMO_MOST ? malloc(room + 1) : NULL, *less;

	*stored = n;
	if (!copy)
		return NULL;
	if (n < LONG)
		return memcpy(copy, text, n);
	*stored = ZSTD_compress(copy, room, text, n, LEVEL);
	if (ZSTD_isError(*stored)) {
		free(copy);
		return NULL;
	}
	less = realloc(copy, *stored + 1);
	if (less)
		copy = less;
	return copy;
}

void dt_memo_add(struct dt_memo *m, const struct dt_apart_ask *ask, const char *more,
		 const struct dt_apart_answer *a, const char *text)
{
	struct dt_memo_answer is = {.what = ask->what,
				    .more = ask->bytes,
				    .number = {ask->number[0], ask->number[1]},
				    .result = a->result,
				    .bytes = a->bytes};
	char *copy;

	if (m->n >= ANSWERS_MAX)
		return;
	copy = pack(text, a->bytes, &is.stored);
	if (copy && m->size + dt_memo_answer_size(&is) <= DT_MEMO_MOST &&
	    add(m, &is, more, copy, true))
		m->news = true;
	else
		free(copy);
}

bool dt_memo_has_news(const struct dt_memo *m)
{
	return m->news;
}

void dt_memo_forget(struct dt_memo *m)
{
	for (struct entry *x = m->last, *older; x; x = older) {
		older = x->older;
		if (x->own)
			free((void *)(uintptr_t)x->text);
		free(x);
	}
	memset(m->bucket, 0, sizeof(m->bucket));
	m->last = NULL;
	m->lent = NULL;
	m->n = m->size = 0;
	m->news = true;
	if (m->bytes)
		munmap((void *)(uintptr_t)m->bytes, m->mapped);
	free(m->debug);
	m->bytes = NULL;
	m->debug = NULL;
	m->debugs = 0;
}

/* ---- reading ---- */

/* Takes what the memo's file says, if it is all sound and still holds. */
static bool take_all(struct dt_memo *m, const char *bytes, size_t n)
{
	struct dt_memo_rest rest = {bytes, n};
	const struct dt_memo_head *h = dt_memo_take(&rest, sizeof(*h));

	if (!h || !dt_memo_is_head(h, bytes, n, &m->file) ||
	    !dt_memo_take_text(&rest, h->path, m->path) || h->debugs > DT_TRIED_MOST ||
	    h->answers > ANSWERS_MAX)
		return false;
	m->debug = calloc(h->debugs + 1, sizeof(*m->debug));
	for (; m->debug && m->debugs < h->debugs; m->debugs++)
		if (!dt_memo_take_debug(&rest, &m->debug[m->debugs]) ||
		    !dt_memo_debug_holds(&m->debug[m->debugs]))
			return false;
	for (uint64_t i = 0; m->debug && i < h->answers; i++) {
		const char *more, *text;
		const struct dt_memo_answer *is = dt_memo_take_answer(&rest, &more, &text);

		if (!is || !add(m, is, more, text, false))
			return false;
	}
	return m->debug && !rest.left;
}

/* Memos can be wrong only if the folder's owner wants it; what is taken from them is checked all
 * the same. */
static void read_file(struct dt_memo *m)
{
	m->bytes = dt_memo_file_map(m->path, &m->file, 0, &m->mapped);
	if (!m->bytes || take_all(m, m->bytes, m->mapped))
		return;
	dt_memo_forget(m);
	m->news = false;
}

bool dt_memo_possible(void)
{
	return dt_memo_folder() >= 0;
}

struct dt_memo *dt_memo_open(int file, const char *path)
{
	char real[PATH_MAX];
	struct dt_memo_identity is;
	struct dt_memo *m;

	if (!dt_memo_identify(file, path, real, &is))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m || !(m->path = strdup(real))) {
		free(m);
		return NULL;
	}
	m->opened = time(NULL);
	m->file = is;
	read_file(m);
	return m;
}

/* ---- writing ---- */

static void put_entry(struct dt_memo_out *o, const struct dt_memo *m, const struct entry *x)
{
	char *copy = x == m->lent ? copy_of_lent(m) : NULL;

	o->failed = o->failed || (x == m->lent && !copy);
	if (!o->failed)
		dt_memo_put_answer(o, &x->is, x->more, copy ? copy : x->text);
	free(copy);
}

static void put(struct dt_memo_out *o, const struct dt_memo *m,
		const struct dt_symfile_tried *tried)
{
	struct dt_memo_head h = {
		.file = m->file, .path = strlen(m->path), .debugs = m->debugs, .answers = m->n};

	for (size_t i = 0; i < tried->n; i++)
		h.debugs += !dt_memo_has_debug(m->debug, m->debugs, tried->path[i]);
	dt_memo_put(o, &h, sizeof(h));
	dt_memo_put_text(o, m->path, h.path);
	for (size_t i = 0; i < m->debugs; i++)
		dt_memo_put_debug(o, &m->debug[i]);
	for (size_t i = 0; i < tried->n; i++) {
		struct dt_memo_debug d = dt_memo_debug_of(tried->path[i]);

		if (dt_memo_has_debug(m->debug, m->debugs, tried->path[i]))
			continue;
		/* it may not be what was read */
		o->failed = o->failed || tried->there[i] != (d.is.inode != 0) ||
			    (d.is.inode && d.is.changed_s > m->opened - DT_MEMO_YOUNG_S);
		dt_memo_put_debug(o, &d);
	}
	for (const struct entry *x = m->last; x; x = x->older)
		put_entry(o, m, x);
}

/* Writes the memo, unless the file, or what is where its name leads, has changed meanwhile. */
static void write_file(const struct dt_memo *m, const struct dt_symfile_tried *tried)
{
	struct dt_memo_out out = {NULL, 0, 0, false};
	struct dt_memo_identity is;
	struct stat st;

	if (stat(m->path, &st) < 0)
		return;
	is = dt_memo_identity_of(&st);
	if (memcmp(&is, &m->file, sizeof(is)) != 0)
		return;
	put(&out, m, tried);
	if (!out.failed)
		dt_memo_file_write(m->path, &m->file, 0, &out);
	free(out.bytes);
}

void dt_memo_close(struct dt_memo *m, const struct dt_symfile_tried *tried)
{
	if (!m)
		return;
	if (m->news && tried && !tried->spoiled)
		write_file(m, tried);
	dt_memo_forget(m);
	free(m->path);
	free(m);
}
