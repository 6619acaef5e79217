/* SPDX-License-Identifier: MIT */
/* Table messages: what was sent, and where it was received. */
#include "analyse/messages.h"

#include <stdlib.h>

#include "sql/walk.h"

enum { STATE, CHANNEL, SENT, RECEIVED, TOOK, SENDER, RECEIVER, SENT_CORE, RECEIVED_CORE };

static const struct dt_sql_column columns[] = {
	[STATE] = {"state", "TEXT", DT_SQL_PLAIN},
	[CHANNEL] = {"key", "INTEGER", DT_SQL_PLAIN},
	[SENT] = {"sent", "INTEGER", DT_SQL_PLAIN},
	[RECEIVED] = {"received", "INTEGER", DT_SQL_PLAIN},
	[TOOK] = {"duration", "REAL", DT_SQL_PLAIN},
	[SENDER] = {"sender", "INTEGER", DT_SQL_PLAIN},
	[RECEIVER] = {"receiver", "INTEGER", DT_SQL_PLAIN},
	[SENT_CORE] = {"sent_core", "INTEGER", DT_SQL_PLAIN},
	[RECEIVED_CORE] = {"received_core", "INTEGER", DT_SQL_PLAIN},
	{"file", "TEXT HIDDEN", DT_SQL_FILE},
	{0},
};

struct scan {
	struct dt_sql_walk walk;
	struct dt_messages *messages;
	struct dt_message *row; /* rows to be handed out: from `first' on; the one before it is the
				   current row */
	size_t first, n, room;
	uint64_t *lost;	     /* tick after each loss, sorted */
	size_t losses, loss; /* loss: the first one that has not been passed */
	uint64_t last;
	double ns; /* ns per tick */
	bool ended, failed;
};

static void on_message(void *ctx, const struct dt_message *m)
{
	struct scan *x = ctx;

	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		struct dt_message *more = realloc(x->row, room * sizeof(*more));

		if (!more) {
			x->failed = true;
			return;
		}
		x->row = more;
		x->room = room;
	}
	x->row[x->n++] = *m;
}

static int on_loss(void *ctx, const struct dt_lost *lost)
{
	struct scan *x = ctx;
	uint64_t *more = x->losses & (x->losses + 1)
				 ? x->lost
				 : realloc(x->lost, 2 * (x->losses + 1) * sizeof(*more));

	if (!more)
		return -1;
	x->lost = more;
	if (lost->others)
		x->lost[x->losses++] = lost->end ? lost->end : lost->begin;
	return 0;
}

static int by_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int begin(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = calloc(1, sizeof(*x));

	s->state = x;
	if (!x)
		return dt_fail(e, "out of memory");
	x->ns = dt_reader_ns_per_tick(s->pass->reader);
	x->messages = dt_messages_new((uint64_t)(DT_MESSAGE_AHEAD_NS / x->ns), on_message, x);
	if (!x->messages || dt_reader_losses(s->pass->reader, on_loss, x))
		return dt_fail(e, "out of memory");
	if (x->losses)
		qsort(x->lost, x->losses, sizeof(*x->lost), by_ticks);
	return dt_sql_walk_begin(&x->walk, s->pass->reader, 0, UINT64_MAX, true, e);
}

static void take(struct scan *x)
{
	uint8_t kind = dt_sql_walk_site(&x->walk)->kind;
	uint64_t ticks = x->walk.span.ticks[x->walk.at];

	if (kind != DT_SEND && kind != DT_RECEIVE)
		return;
	if (x->loss < x->losses && x->lost[x->loss] <= ticks)
		dt_messages_lost(x->messages, ticks);
	while (x->loss < x->losses && x->lost[x->loss] <= ticks)
		x->loss++;
	dt_messages_record(x->messages, kind, x->walk.span.value[x->walk.at][0], ticks,
			   x->walk.span.tid, dt_sql_walk_core(&x->walk));
	x->last = ticks;
}

static int next(struct dt_sql_scan *s, struct dt_error *e)
{
	struct scan *x = s->state;
	int rc;

	if (x->first == x->n)
		x->first = x->n = 0;
	while (x->first == x->n && !x->ended) {
		rc = dt_sql_walk_next(&x->walk, e);
		if (rc < 0)
			return -1;
		if (rc) {
			take(x);
		} else {
			dt_messages_finish(x->messages, x->last);
			x->ended = true;
		}
		if (x->failed)
			return dt_fail(e, "out of memory");
	}
	if (x->first == x->n)
		return 0;
	x->first++;
	return 1;
}

static void value(struct dt_sql_scan *s, sqlite3_context *to, int column)
{
	static const char *const states[] = {"whole", "backward", "unreceived", "unsent"};
	const struct scan *x = s->state;
	const struct dt_message *m = &x->row[x->first - 1];
	bool sent = m->state != DT_MESSAGE_UNSENT, received = m->state != DT_MESSAGE_UNRECEIVED;

	switch (column) {
	case STATE:
		dt_sql_put_text(to, states[m->state]);
		break;
	case CHANNEL:
		sqlite3_result_int64(to, (int64_t)m->key);
		break;
	case SENT:
		if (sent)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, m->sent));
		break;
	case RECEIVED:
		if (received)
			sqlite3_result_int64(to, dt_sql_ns(s->pass, m->received));
		break;
	case TOOK:
		if (sent && received)
			dt_sql_put_duration(to, (double)(int64_t)(m->received - m->sent) * x->ns);
		break;
	case SENDER:
		if (sent)
			dt_sql_put_thread(to, m->sender);
		break;
	case RECEIVER:
		if (received)
			dt_sql_put_thread(to, m->receiver);
		break;
	case SENT_CORE:
		if (sent)
			dt_sql_put_core(to, m->sent_core);
		break;
	default:
		if (received)
			dt_sql_put_core(to, m->received_core);
	}
}

static void end(struct dt_sql_scan *s)
{
	struct scan *x = s->state;

	dt_messages_free(x->messages);
	free(x->lost);
	free(x->row);
	free(x);
}

const struct dt_sql_table dt_sql_messages = {
	.name = "messages",
	.column = columns,
	.begin = begin,
	.next = next,
	.value = value,
	.end = end,
};
