/* SPDX-License-Identifier: MIT */
/* Splits commands into words: separated by white space, 'quoted as in Plan 9' where '' stands for
 * one quote. */
#ifndef DT_CORE_WORDS_H
#define DT_CORE_WORDS_H

#include "core/error.h"

/* The words of a command. */
struct dt_words {
	char *text; /* changed by the splitting; the words point into it */
	char **word;
	unsigned n, room; /* words there are; words that fit into word[] */
};

/*
 * Splits text, which has n bytes and room for one more, into w->word, at most w->room words.
 * Returns 0, or -1 with an error for a quote that is not closed, a NUL byte, or too many words.
 */
int dt_words_split(struct dt_words *w, char *text, size_t n, struct dt_error *e);

/* Are the two words equal? */
bool dt_word_is(const char *word, const char *other);
/* Returns the bytes of the word, without its NUL. */
size_t dt_word_length(const char *word);

/*
 * Read the whole word as a number. They return false if the word is not such a number or it does
 * not fit into 64 bits.
 */
bool dt_word_hex(const char *word, uint64_t *v);     /* with or without 0x */
bool dt_word_decimal(const char *word, uint64_t *v); /* digits */
/* as in C: 0x for hexadecimal, 0 for octal, otherwise decimal */
bool dt_word_number(const char *word, uint64_t *v);

/* Is the word a shell pattern, that is, does it contain *, ? or [ ? */
bool dt_word_is_pattern(const char *word);

/* Does the word need quotes to be read back as one word? */
bool dt_word_quoted(const char *word);

#endif
