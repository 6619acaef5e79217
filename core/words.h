/* SPDX-License-Identifier: MIT */
/* Commands as words: separated by white space, 'quoted as in Plan 9' where '' stands for one quote.
 */
#ifndef DT_CORE_WORDS_H
#define DT_CORE_WORDS_H

#include "core/error.h"

struct dt_words {
	char *text; /* changed by the splitting: the words are pieces of it */
	char **word;
	unsigned n, room;
};

/*
 * Splits text, which is n bytes and has room for one more, into w->word, at most w->room of them.
 * -1: a quote that is not closed, a NUL byte, or more words than there is room for.
 */
int dt_words_split(struct dt_words *w, char *text, size_t n, struct dt_error *e);

bool dt_word_is(const char *word, const char *other);
size_t dt_word_length(const char *word);

/* Whole words only; false when the word is no such number, or does not fit. */
bool dt_word_hex(const char *word, uint64_t *v);     /* with or without 0x */
bool dt_word_decimal(const char *word, uint64_t *v); /* digits */
bool dt_word_number(const char *word, uint64_t *v);  /* as in C: 0x, 0 or decimal */

/* Is it a shell pattern: does it have *, ? or [ ? */
bool dt_word_is_pattern(const char *word);

/* Does it need quotes to be read back as one word? */
bool dt_word_quoted(const char *word);

#endif
