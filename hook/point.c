/* SPDX-License-Identifier: MIT */
/* The points of a file. */
#include "hook/point.h"

#include <stdlib.h>
#include <string.h>

void dt_point_release(struct dt_point *p)
{
	free(p->name);
	free(p->what);
	free(p->item);
	free(p->label);
	*p = (struct dt_point){.site = p->site};
}

/* Sets name and type. Characters that separate parts of a signature are replaced in the name. */
static void set_label(struct dt_label *l, const char *name, const char *type)
{
	l->pair = false;
	dt_format(l->name, sizeof(l->name), "%s", name);
	dt_format(l->type, sizeof(l->type), "%s", type);
	for (char *c = l->name; *c; c++)
		if (strchr(",;:@ \t\n", *c))
			*c = '_';
}

int dt_point_item(struct dt_point *p, const struct dt_item *item, const char *name,
		  const char *type, struct dt_error *e)
{
	struct dt_item *items;
	struct dt_label *labels;

	if (p->items == DT_CAPTURE_ITEMS)
		return dt_fail(e, "devtrace: at most %d values can be captured at one place",
			       DT_CAPTURE_ITEMS);
	items = realloc(p->item, (p->items + 1) * sizeof(*items));
	if (items)
		p->item = items;
	labels = realloc(p->label, (p->items + 1) * sizeof(*labels));
	if (labels)
		p->label = labels;
	if (!items || !labels)
		return dt_fail(e, "out of memory");
	p->item[p->items] = *item;
	set_label(&p->label[p->items++], name, type);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same(const struct dt_point *a, const struct dt_point *b)
{
	/* the items are compared too: the same words can mean another address in another process */
	return a->site.address == b->site.address && a->leaves == b->leaves && a->slot == b->slot &&
	       a->kept.tag == b->kept.tag && a->results == b->results &&
	       a->headless == b->headless && a->crossing == b->crossing &&
	       same_text(a->name, b->name) && same_text(a->what, b->what) && a->items == b->items &&
	       (!a->items || memcmp(a->item, b->item, a->items * sizeof(*a->item)) == 0);
}

/* Returns an idle point that equals *p, or else one that was never used; NULL: there is neither. */
static struct dt_point *idle_point(struct dt_points *all, const struct dt_point *p)
{
	struct dt_point *fresh = NULL;

	for (uint32_t i = 0; i < all->n; i++) {
		struct dt_point *x = all->point[i];

		if (x->idle && x->used && same(x, p))
			return x;
		if (x->idle && !x->used)
			fresh = x;
	}
	return fresh;
}

/* Appends an empty point; NULL: no memory. */
static struct dt_point *new_point(struct dt_points *all)
{
	struct dt_point *made;

	if (all->n == all->room) {
		uint32_t room = all->room ? 2 * all->room : 16;
		struct dt_point **more = realloc(all->point, room * sizeof(struct dt_point *));

		if (!more)
			return NULL;
		all->point = more;
		all->room = room;
	}
	made = calloc(1, sizeof(*made));
	if (made) {
		made->id = all->n;
		all->point[all->n++] = made;
	}
	return made;
}

struct dt_point *dt_points_add(struct dt_points *all, const struct dt_point *p)
{
	struct dt_point *made = idle_point(all, p), given = *p;
	uint32_t id;

	if (!made)
		made = new_point(all);
	if (!made || made->used) {
		dt_point_release(&given);
		if (made)
			made->idle = false;
		return made;
	}
	id = made->id;
	dt_point_release(made);
	*made = given;
	made->id = id;
	made->site.kind = DT_ELF_POINT;
	return made;
}

void dt_points_free(struct dt_points *all)
{
	for (uint32_t i = 0; i < all->n; i++) {
		dt_point_release(all->point[i]);
		free(all->point[i]);
	}
	free(all->point);
	*all = (struct dt_points){0};
}

size_t dt_point_size(const struct dt_point *p)
{
	/* of a point without items */
	size_t n = 64 + DT_CAPTURE_CROSSING + (p->kept.tag ? 224 : 0) +
		   (p->results ? DT_CAPTURE_RESULTS : 0);

	for (unsigned i = 0; i < p->items; i++)
		n += 96 + (p->kept.tag ? 64 : 0) + 80 * p->item[i].steps +
		     (p->item[i].text ? 288 : 0);
	return n + 32 * (p->items / 4 + 1);
}
