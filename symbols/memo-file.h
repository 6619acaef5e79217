/* SPDX-License-Identifier: MIT */
/*
 * The files that memos are kept in: their folder, their form, and what tells whether one still
 * holds. Only symbols/memo.c, whose files are *.elf, and hook/probes-kept.c, whose files are
 * *.plan, include this.
 *
 * A file is a head, the name of the ELF file, the debug files, and the answers. Each part begins at
 * a multiple of 8 bytes; texts are followed by at least one byte 0. Numbers are this machine's: the
 * file is of no use elsewhere. Files are written whole under another name, and renamed.
 */
#ifndef DT_SYMBOLS_MEMO_FILE_H
#define DT_SYMBOLS_MEMO_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define DT_MEMO_MOST (64u << 20) /* bytes of a file; what is longer is not kept */
#define DT_MEMO_YOUNG_S                                                                            \
	2 /* a file that changed less than this ago may change again at the same time */
#define DT_MEMO_FOLDER (256u << 20) /* bytes of all of a kind: the oldest ones go first */

/* Which file it is, and in which state; all zeroes: there is no such file. */
struct dt_memo_identity {
	uint64_t device, inode, size;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
};

struct dt_memo_head {
	char magic[8];
	uint64_t sum;	/* of all that follows this field */
	uint64_t bytes; /* of the whole file */
	uint64_t maker; /* devtrace and the libraries it runs with */
	struct dt_memo_identity file;
	uint64_t path, debugs, answers; /* bytes of the name; how many of the others */
};

/* A debug file: where it was looked for, and what was there. */
struct dt_memo_debug {
	struct dt_memo_identity is;
	const char *path;
};

/* An answer; what followed the question, and the answer's text, follow it. */
struct dt_memo_answer {
	uint32_t what, more;
	uint64_t number[2];
	int64_t result;
	uint64_t bytes;
	uint64_t stored; /* bytes of its text here; fewer than `bytes': it is packed by zstd */
};

/* What has not been taken yet of the bytes read. */
struct dt_memo_rest {
	const char *at;
	size_t left;
};

/* Bytes that are being put together. */
struct dt_memo_out {
	char *bytes;
	size_t n, room;
	bool failed;
};

/* Sets what the open file at path is known by, and `real' (PATH_MAX bytes) to its name; false: what
 * is found out about it can not be kept, since another file may be meant by that later. */
bool dt_memo_identify(int file, const char *path, char *real, struct dt_memo_identity *is);
/* Returns a descriptor of the folder, which stays open; -1: there is none. */
int dt_memo_folder(void);
struct dt_memo_identity dt_memo_identity_of(const struct stat *st);
uint64_t dt_memo_sum(const void *bytes, size_t n, uint64_t from);

/* Maps a memo's file, for the caller to unmap; NULL: there is none that can be read. plan: what a
 * plan was made for, a sum; 0: it is no plan. */
const char *dt_memo_file_map(const char *path, const struct dt_memo_identity *file, uint64_t plan,
			     size_t *n);
/* Completes the head, writes the file, and makes room for it. Failures leave nothing behind. */
void dt_memo_file_write(const char *path, const struct dt_memo_identity *file, uint64_t plan,
			struct dt_memo_out *out);
/* Is the head that of a whole, undamaged memo of that file, by this devtrace? */
bool dt_memo_is_head(const struct dt_memo_head *h, const char *bytes, size_t n,
		     const struct dt_memo_identity *file);

/* These take the next part, and return NULL or false if it is not there. */
const void *dt_memo_take(struct dt_memo_rest *r, size_t n);
const char *dt_memo_take_bytes(struct dt_memo_rest *r, uint64_t n); /* a byte 0 follows them */
bool dt_memo_take_text(struct dt_memo_rest *r, uint64_t n, const char *is);
bool dt_memo_take_debug(struct dt_memo_rest *r, struct dt_memo_debug *d);
const struct dt_memo_answer *dt_memo_take_answer(struct dt_memo_rest *r, const char **more,
						 const char **text);

void dt_memo_put(struct dt_memo_out *o, const void *bytes, size_t n);
/* Puts n bytes and at least one byte 0, up to a multiple of 8. */
void dt_memo_put_text(struct dt_memo_out *o, const char *text, size_t n);
void dt_memo_put_debug(struct dt_memo_out *o, const struct dt_memo_debug *d);
void dt_memo_put_answer(struct dt_memo_out *o, const struct dt_memo_answer *is, const char *more,
			const char *text);
/* Bytes that an answer has in the file. */
size_t dt_memo_answer_size(const struct dt_memo_answer *is);

/* Returns what is at path now; `path' is the caller's. */
struct dt_memo_debug dt_memo_debug_of(const char *path);
bool dt_memo_debug_holds(const struct dt_memo_debug *d);
bool dt_memo_has_debug(const struct dt_memo_debug *d, size_t n, const char *path);

#endif
