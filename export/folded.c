/* SPDX-License-Identifier: MIT */
/* Folded stacks: "thread;main;f;g 1234", a line for each stack that had time of its own, with that
 * time in ns. */
#include <stdlib.h>

#include "export/export.h"
#include "analyse/stacks.h"

#define DEPTH 65536

/* Writes a name; it may have neither a ';' nor the end of a line in it. */
static void write_name(FILE *f, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name == '\n' ? ' ' : *name, f);
}

static void write_stack(const struct dt_stacks *s, struct dt_reader *r,
			struct dt_export_names *names, FILE *f, uint32_t i, uint32_t *way)
{
	const struct dt_thread_info *t;
	uint32_t n = 0;

	for (; i && n < DEPTH; i = s->node[i].parent)
		way[n++] = i;
	while (n--) {
		const struct dt_stack_node *node = &s->node[way[n]];

		if (node->thread) {
			t = dt_reader_thread(r, node->function);
			write_name(f,
				   node->function == DT_NO_TID
					   ? "interrupts"
					   : dt_export_named(names, node->function,
							     t && *t->name ? t->name : "thread"));
		} else {
			putc(';', f);
			write_name(f, dt_reader_function_name(r, node->function));
		}
	}
}

int dt_export_folded(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		     const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	double ns = dt_reader_ns_per_tick(r);
	uint32_t *way = malloc(DEPTH * sizeof(*way));
	struct dt_stacks s = {.chosen = chosen};
	struct dt_export_names names = {0};
	int rc = -1;

	if (!way) {
		dt_fail(e, "out of memory");
		goto out;
	}
	if (dt_export_names(&names, r, e))
		goto out;
	rc = dt_stacks_read(&s, r, &(struct dt_reader_range){.order = DT_BY_THREAD}, e);
	for (uint32_t i = 1; rc == 0 && i < s.n; i++) {
		uint64_t own = (uint64_t)((double)s.node[i].self * ns + 0.5);

		if (!own)
			continue;
		write_stack(&s, r, &names, f, i, way);
		fprintf(f, " %lu\n", (unsigned long)own);
	}
out:
	dt_stacks_free(&s);
	dt_hosts_free(&names.hosts);
	free(way);
	return rc;
}
