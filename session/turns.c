/* SPDX-License-Identifier: MIT */
/* What numbers of threads mean, by time. */
#include "session/turns.h"

#include <stdlib.h>

static struct dt_turn_entry *entry_of(const struct dt_turns *t, uint32_t number)
{
	size_t i = (number * 2654435761u) & (t->room - 1);

	while (t->at[i].number && t->at[i].number != number)
		i = (i + 1) & (t->room - 1);
	return &t->at[i];
}

/* Makes room so that at most half of the table is in use. False: out of memory. */
static bool grow(struct dt_turns *t)
{
	struct dt_turns more = {.room = t->room ? 2 * t->room : 128, .n = t->n};

	if (2 * (t->n + 1) <= t->room)
		return true;
	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return false;
	for (size_t i = 0; i < t->room; i++)
		if (t->at[i].number)
			*entry_of(&more, t->at[i].number) = t->at[i];
	free(t->at);
	*t = more;
	return true;
}

struct dt_turn *dt_turns_last(const struct dt_turns *t, uint32_t number)
{
	struct dt_turn_entry *e = t->room ? entry_of(t, number) : NULL;

	return e && e->number ? &e->last : NULL;
}

struct dt_turn *dt_turns_at(const struct dt_turns *t, uint32_t number, uint64_t ticks)
{
	struct dt_turn *turn = dt_turns_last(t, number);

	while (turn && ticks < turn->begin && turn->before)
		turn = turn->before;
	return turn;
}

struct dt_turn *dt_turns_of_switch(const struct dt_turns *t, uint32_t number, uint64_t ticks)
{
	struct dt_turn *turn = dt_turns_last(t, number);

	while (turn && ticks < turn->made && turn->before)
		turn = turn->before;
	return turn;
}

static void free_from(struct dt_turn *turn)
{
	while (turn) {
		struct dt_turn *before = turn->before;

		free(turn);
		turn = before;
	}
}

struct dt_turn *dt_turns_begin(struct dt_turns *t, uint32_t number, uint64_t ticks, uint32_t means,
			       uint64_t forget)
{
	struct dt_turn_entry *e;
	struct dt_turn *old;

	if (!grow(t))
		return NULL;
	e = entry_of(t, number);
	if (!e->number) {
		t->n++;
		*e = (struct dt_turn_entry){number,
					    {.begin = ticks, .made = ticks, .means = means}};
		return &e->last;
	}
	if (e->last.begin <= forget) {
		free_from(e->last.before);
		e->last.before = NULL;
	}
	old = malloc(sizeof(*old));
	if (!old)
		return NULL;
	*old = e->last;
	e->last = (struct dt_turn){.begin = ticks, .made = ticks, .means = means, .before = old};
	return &e->last;
}

void dt_turns_free(struct dt_turns *t)
{
	for (size_t i = 0; i < t->room; i++)
		if (t->at[i].number)
			free_from(t->at[i].last.before);
	free(t->at);
	*t = (struct dt_turns){0};
}
