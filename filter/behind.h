/* SPDX-License-Identifier: MIT */
/*
 * What the records behind a call's entry, or its exit, say of the call: texts and buffers that
 * arguments lead to, and further arguments. Memory is bounded: a program, or a file, may have as
 * many such records as it likes.
 */
#ifndef DT_FILTER_BEHIND_H
#define DT_FILTER_BEHIND_H

#include "filter/meanings.h"
#include "filter/operand.h"
#include "store/store.h"

#define DT_BEHIND_TEXT 256u	  /* bytes of a text */
#define DT_BEHIND_CALL 64u	  /* texts and records of arguments of a call, at most */
#define DT_BEHIND_MOST (1u << 20) /* of all open calls: some 300 MB */

/* One text or record, and those that came before it. */
struct dt_behind {
	struct dt_behind *next;
	uint32_t function; /* row that describes it: its parameters have the arguments' names */
	uint16_t n;	   /* bytes of the text */
	uint16_t before;   /* how many there are in `next' */
	bool is_values;	   /* `value' has arguments; otherwise `bytes' a text */
	bool ended;	   /* all of the text has come */
	union {
		char bytes[DT_BEHIND_TEXT];
		uint64_t value[4];
	};
};

/* Is a record of such a place (enum dt_site_kind) one of these? */
static inline bool dt_behind_is(uint8_t place)
{
	return place == DT_SITE_POINT_TEXT || place == DT_SITE_POINT_BUFFER ||
	       place == DT_SITE_POINT_MORE;
}

/*
 * Takes the next such record of a call; *all counts those of all calls. What there is no room for
 * is left out, as if it had not been recorded. Returns false when out of memory.
 */
bool dt_behind_take(struct dt_behind **list, uint32_t *all, const struct dt_store_place *at,
		    const uint64_t value[4], bool fault);
/* Forgets the call's. */
void dt_behind_free(struct dt_behind **list, uint32_t *all);

/* Returns the text of the argument of that name, and its length; NULL: none is known. */
const char *dt_behind_text(const struct dt_behind *list, const struct dt_meanings *m,
			   const char *name, size_t *n);
/* Says whether that text is like the pattern: 1, it is not: 0, or -1: none is known. */
int dt_behind_matches(const struct dt_behind *list, const struct dt_meanings *m, const char *name,
		      const char *pattern);
/* Reads the argument of that name. False: it is not in the records. */
bool dt_behind_number(const struct dt_behind *list, const struct dt_meanings *m, const char *name,
		      struct dt_call_number *n);

#endif
