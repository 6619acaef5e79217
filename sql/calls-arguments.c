/* SPDX-License-Identifier: MIT */
/* The arguments of calls: what came after their entries, and where pairing did not meet the entry,
 * its record is looked up. */
#include "sql/calls-work.h"

#include <string.h>

#include "show/entry-records.h"
#include "sql/walk.h"

#define BEHIND 10000000 /* ticks after an entry within which the rest of it comes */

/* ---- what came after the entry ---- */

void dt_sql_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct scan *x = ctx;

	(void)depth;
	dt_further_take(&x->further, s, i);
	x->failed |= dt_further_failed(&x->further);
}

/* ---- arguments of calls that began before pairing did ---- */

struct looking {
	struct scan *x;
	struct dt_fulls fulls; /* of the one call, with id 1 */
	const uint64_t *argument;
};

static void on_looked_text(void *ctx, const struct dt_text *t)
{
	struct looking *l = ctx;

	dt_entry_records_text(&l->fulls, 1, l->x->of->pass->reader, t, l->argument);
}

/* Looks up the entry's record, at the tick when the call began, and the records after it that
 * belong to it. */
static int look_up(struct scan *x, struct row *r, struct dt_error *e)
{
	struct looking l = {.x = x, .argument = r->argument};
	struct dt_texts texts = {.fn = on_looked_text, .ctx = &l};
	struct dt_reader *reader;
	struct dt_sql_walk w;
	bool behind, found = false;
	int rc;

	if (!x->other && !(x->other = dt_sql_pass_again(x->of->pass->source, e)))
		return -1;
	reader = x->other->reader;
	behind = dt_further_any(reader);
	if (dt_sql_walk_begin(&w, reader, r->call.begin, r->call.begin + (behind ? BEHIND : 0),
			      true, e) < 0)
		return -1;
	while ((rc = dt_sql_walk_next(&w, e)) > 0) {
		const struct dt_site *site = dt_reader_site(reader, w.span.site[w.at]);
		struct dt_record record;

		if (w.span.tid != r->call.tid)
			continue;
		if (found && !dt_further_is(site))
			break;
		if (found) {
			dt_span_record(reader, &w.span, w.at, &record);
			if (!dt_texts_take(&texts, site, &record))
				dt_entry_records_values(&l.fulls, 1, &x->of->pass->formats, site,
							&record, l.argument);
			continue;
		}
		if (w.span.ticks[w.at] > r->call.begin)
			break;
		if (w.span.site[w.at] != r->call.entry || w.span.sp[w.at] != r->call.sp)
			continue;
		memcpy(r->argument, w.span.value[w.at], sizeof(r->argument));
		r->call.argument = r->argument;
		found = true;
		if (!behind)
			break;
	}
	dt_texts_end(&texts);
	r->full = dt_full_take(&l.fulls, 1);
	if (texts.failed || l.fulls.failed)
		rc = dt_fail(e, "out of memory");
	dt_fulls_free(&l.fulls);
	return rc < 0 ? -1 : 0;
}

/* Returns a call's arguments; NULL: they are not known, or SQLite was given an error. */
const uint64_t *dt_sql_calls_arguments(struct scan *x, struct row *r, sqlite3_context *to)
{
	struct dt_error e = {""};

	if (r->call.flags & DT_CALL_NO_ENTRY)
		return NULL;
	if (!r->call.argument && look_up(x, r, &e) < 0) {
		sqlite3_result_error(to, e.text, -1);
		return NULL;
	}
	/* call.argument may be stale: rows may have moved */
	return r->call.argument ? r->argument : NULL;
}
