/* SPDX-License-Identifier: MIT */
#include "session/last.h"

#include <string.h>

#include "session/sieve.h"
#include "session/state.h"

#define PARTS 16u /* of the time that is kept: it is longer by one at most */

int dt_last_turn(struct dt_session *s, uint64_t until, struct dt_error *e)
{
	struct dt_last *l = &s->last;
	/* Ages are those at the newest record: the last of a program is kept, however long the
	 * recorder comes behind it. */
	uint64_t now = dt_sieve_newest(s->sieve);
	uint64_t keep = (uint64_t)((double)s->options.last_ns * s->ticks_per_ns);
	unsigned old = 0;
	int64_t chunk;

	if (until > now)
		until = now;
	if (l->marks && now - l->mark[l->marks - 1].ticks < keep / PARTS)
		return 0;
	/* what is held undecided would be put behind the mark */
	if (dt_sieve_settle(s->sieve, e) || dt_store_flush(s->store, e))
		return -1;
	chunk = dt_store_last_chunk(s->store);
	while (old < l->marks && now - l->mark[old].ticks > keep)
		old++;
	if (old) {
		const struct dt_last_mark *m = &l->mark[old - 1];

		if (dt_store_prune(s->store, m->chunk, m->ticks, e))
			return -1;
		l->marks -= old;
		memmove(l->mark, l->mark + old, l->marks * sizeof(*l->mark));
	}
	if (l->marks == DT_LAST_MARKS) /* not with PARTS of them in the time */
		return 0;
	l->mark[l->marks++] = (struct dt_last_mark){until, chunk};
	return 0;
}
