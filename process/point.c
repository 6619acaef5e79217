/* SPDX-License-Identifier: MIT */
/* The points of a file. */
#include "process/point.h"

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

/* A signature's punctuation is not for names. */
static void set_label(struct dt_label *l, const char *name, const char *type)
{
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

struct dt_point *dt_points_add(struct dt_points *all, const struct dt_point *p)
{
	struct dt_point *made = malloc(sizeof(*made)), gone = *p;

	if (made && all->n == all->room) {
		uint32_t room = all->room ? 2 * all->room : 16;
		struct dt_point **more = realloc(all->point, room * sizeof(struct dt_point *));

		if (more) {
			all->point = more;
			all->room = room;
		}
	}
	if (!made || all->n == all->room) {
		free(made);
		dt_point_release(&gone);
		return NULL;
	}
	*made = *p;
	made->id = all->n;
	made->site.kind = DT_ELF_POINT;
	all->point[all->n++] = made;
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
	size_t n = 64; /* without items */

	for (unsigned i = 0; i < p->items; i++)
		n += 96 + 80 * p->item[i].steps + (p->item[i].text ? 160 : 0);
	return n + 32 * (p->items / 4 + 1);
}
