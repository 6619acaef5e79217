/* SPDX-License-Identifier: MIT */
#include "analyse/held-calls.h"

#include <stdlib.h>

#include "core/record.h"

static struct dt_held_call **slot_of(struct dt_held_calls *h, uint64_t id)
{
	struct dt_held_call **p = &h->slot[id & (DT_HELD_SLOTS - 1)];

	while (*p && (*p)->id != id)
		p = &(*p)->next;
	return p;
}

struct dt_held_call *dt_held_call_find(struct dt_held_calls *h, uint64_t id)
{
	return id ? *slot_of(h, id) : NULL;
}

struct dt_held_call *dt_held_call_add(struct dt_held_calls *h, uint64_t id)
{
	struct dt_held_call **p = slot_of(h, id);

	if (!*p) {
		*p = calloc(1, sizeof(**p));
		h->no_memory |= !*p;
		if (*p)
			(*p)->id = id;
	}
	return *p;
}

static void drop(struct dt_held_calls *h, struct dt_held_call **p)
{
	struct dt_held_call *old = *p;

	*p = old->next;
	dt_behind_free(&old->behind, &h->behinds);
	free(old);
}

void dt_held_call_drop(struct dt_held_calls *h, uint64_t id)
{
	struct dt_held_call **p = slot_of(h, id);

	if (*p)
		drop(h, p);
}

static bool take_caller(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

void dt_held_calls_take(struct dt_held_calls *h, struct dt_pair *p, const struct dt_site *site,
			const struct dt_span *s, uint32_t i)
{
	const struct dt_store_place at = {.function = site->function, .place = site->place};
	const struct dt_call *c = NULL;
	struct dt_held_call *of;

	if (!dt_behind_is(site->place))
		return;
	dt_pair_callers(p, take_caller, &c);
	of = c && c->sp == s->sp[i] ? dt_held_call_find(h, c->id) : NULL;
	if (of)
		h->no_memory |= !dt_behind_take(&of->behind, &h->behinds, &at, s->value[i],
						s->flags[i] & DT_FAULT);
}

void dt_held_calls_free(struct dt_held_calls *h)
{
	for (unsigned i = 0; i < DT_HELD_SLOTS; i++)
		while (h->slot[i])
			drop(h, &h->slot[i]);
}
