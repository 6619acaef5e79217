/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON (RFC 8259) as a stream: the caller takes one token after another, and nothing is
 * kept but the text of the last one, so that a file of any size needs no more memory than its
 * longest string. The input may be from anybody.
 */
#ifndef DT_IMPORT_JSON_H
#define DT_IMPORT_JSON_H

#include <stdio.h>

#include "core/error.h"

#define DT_JSON_DEPTH 200 /* values within each other, at most */

/* What a token is; the punctuation is its own character. */
enum {
	DT_TOKEN_ERROR = -1,
	DT_TOKEN_END = 0, /* the input is over */
	DT_TOKEN_STRING = 's',
	DT_TOKEN_NUMBER = 'n',
	DT_TOKEN_WORD = 'w', /* true, false, null */
};

struct dt_json_reader {
	FILE *f;	    /* the caller's */
	const char *path;   /* for errors: "PATH:LINE: ..." */
	unsigned long line; /* from 1 */
	struct dt_error *e;
	/* of the last string (decoded to UTF-8, without the quotes), number or word; ends with a
	 * NUL, and has no other: \u0000 is read as U+FFFD */
	char *text;
	size_t length, size;
	char *name; /* of the last member of an object, likewise; until the next one is taken */
	size_t name_size;
	unsigned depth; /* of the value that is being skipped */
};

/* Begins; dt_json_reader_free() at the end. */
void dt_json_reader_init(struct dt_json_reader *j, FILE *f, const char *path, struct dt_error *e);
void dt_json_reader_free(struct dt_json_reader *j);
/* Fails with a text behind the path and the line. Returns -1. */
int dt_json_wrong(struct dt_json_reader *j, const char *what);

/* Takes a token and returns what it is; DT_TOKEN_ERROR: the error says why. */
int dt_json_token(struct dt_json_reader *j);

/*
 * In an object, of which '{' has been taken: takes the name of the next member, which is then in
 * j->name, and the first token of its value. first: set to true before the first call. Returns the
 * token; DT_TOKEN_END: '}' was taken; DT_TOKEN_ERROR.
 */
int dt_json_read_member(struct dt_json_reader *j, bool *first);
/* In an array, likewise: takes the first token of the next element, or ']'. */
int dt_json_read_element(struct dt_json_reader *j, bool *first);

/* Skips the rest of the value whose first token was taken. Returns -1 on error. */
int dt_json_skip(struct dt_json_reader *j, int token);

#endif
