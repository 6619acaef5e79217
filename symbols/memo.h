/* SPDX-License-Identifier: MIT */
/*
 * Memos: answers about ELF files (symbols/symtab-question.h) that are kept in files of their own,
 * so that the next command need not read the same program and libraries again. A memo is one ELF
 * file's. It holds for that file as it was: the same device, inode, size and times (ctime, which
 * nobody sets at will, among them), the same name, the same debug files beside it or none, read by
 * the same devtrace with the same libraries. A memo of anything else, or a damaged one, is taken
 * for none, and made anew.
 *
 * The folder is /var/cache/devtrace for root, otherwise $XDG_CACHE_HOME/devtrace or
 * ~/.cache/devtrace; $DEVTRACE_MEMOS names another one, and none at all if it is empty. It is used
 * only if it belongs to the user and nobody else may write to it. What is taken from a memo is
 * checked as the answer of another process is (process/apart.h).
 */
#ifndef DT_SYMBOLS_MEMO_H
#define DT_SYMBOLS_MEMO_H

#include "elf/symtab-file.h"
#include "process/apart.h"

struct dt_memo;

/* Can memos be kept at all? If not, the functions below find none. */
bool dt_memo_possible(void);

/*
 * Returns the memo of the open file, which may be empty; path: its name. NULL: none can be kept of
 * it, as it was changed just now, or is on a file system whose numbers may come again.
 */
struct dt_memo *dt_memo_open(int file, const char *path);

/* Returns a copy of the answer to a question, followed by a byte 0, for the caller to free; NULL:
 * there is none, it is longer than `most', or memory is out. more: what follows the question,
 * ask->bytes bytes. */
char *dt_memo_recall(const struct dt_memo *m, const struct dt_apart_ask *ask, const char *more,
		     size_t most, struct dt_apart_answer *a);

/*
 * Returns the answer itself, which lies in the memo's memory until the memo is closed or forgotten:
 * the caller may change it, and what is kept in the file stays as it was. NULL: there is no such
 * answer, or it can not be lent (one can), so that it has to be recalled.
 */
char *dt_memo_lend(struct dt_memo *m, const struct dt_apart_ask *ask, size_t most,
		   struct dt_apart_answer *a);

/* Is that a result of any question `what'? */
bool dt_memo_has(const struct dt_memo *m, uint32_t what, int64_t result);

/* Adds an answer, which is copied. Without memory or room for it, it is left out. */
void dt_memo_add(struct dt_memo *m, const struct dt_apart_ask *ask, const char *more,
		 const struct dt_apart_answer *a, const char *text);

/* Forgets all answers: one of them was not sound. */
void dt_memo_forget(struct dt_memo *m);

/* Have answers been added since the memo was read? */
bool dt_memo_has_news(const struct dt_memo *m);

/*
 * Frees the memo; NULL is allowed. If there is news it is written first, with the debug files that
 * were looked for meanwhile. tried NULL: it is not known which; nothing is written.
 */
void dt_memo_close(struct dt_memo *m, const struct dt_symfile_tried *tried);

#endif
