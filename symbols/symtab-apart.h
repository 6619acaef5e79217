/* SPDX-License-Identifier: MIT */
/*
 * A symtab whose file is read by a separate process (process/apart.h), which answers the questions
 * of symtab.h and variable.h. The answers are checked here: their contents can be wrong in any way
 * that the maker of the file likes, but they can do no other harm.
 */
#ifndef DT_SYMBOLS_SYMTAB_APART_H
#define DT_SYMBOLS_SYMTAB_APART_H

#include "process/apart.h"
#include "symbols/symtab-question.h"
#include "symbols/variable.h"

/* Start and stop reading files apart. In between, dt_symtab_open() has every file read by a process
 * of its own, with debug files from the usual folders. tell: the function that answers there,
 * dt_symtab_tell(). Starting returns 0, or -1 with an error. */
int dt_symtab_apart_start(dt_apart_serve *tell, struct dt_error *e);
void dt_symtab_apart_stop(void);

/* Answers a question about a file that this process reads: dt_symtab_told(). */
typedef struct dt_told dt_symtab_teller(struct dt_symtab *t, const struct dt_apart_ask *a,
					const char *more);

/*
 * For an ordinary user, whose files this process reads itself: from now on dt_symtab_open() has
 * them answer from their memos (symbols/memo.h), and reads only what those do not know. Changes
 * nothing if there can be no memos.
 */
void dt_symtab_memos_start(dt_symtab_teller *tell);
/* Has that been called, so that files are read by this process? */
bool dt_symtab_reads_here(void);

/* Opens a file in a separate process; NULL and an error if that fails. */
struct dt_symtab *dt_symtab_apart_open(const char *path, struct dt_error *e);

/*
 * As dt_symtab_apart_open(), with a channel to a process that answers. The channel is closed with
 * the symtab, and also if this fails.
 */
struct dt_symtab *dt_symtab_apart_begin(int channel, const char *path, struct dt_error *e);

/* Asks for the map of the file's code. *lent: it is the memo's (dt_memo_lend()), so it lasts as
 * long as the symtab; otherwise the caller frees it. Returns NULL as dt_apart_ask() does. size:
 * bytes of the file. See code-apart.c. */
char *dt_symtab_apart_code(const struct dt_symtab *t, uint64_t size, struct dt_apart_answer *a,
			   bool *lent);
/* Says that an answer was not sound. Returns whether it may have been the memo's, which is
 * forgotten now: then it can be asked again. */
bool dt_symtab_apart_doubt(const struct dt_symtab *t);

/*
 * Returns the name of a file whose process ended too early or did not answer; NULL if there is
 * none.
 */
const char *dt_symtab_apart_broken(void);

#endif
