/* SPDX-License-Identifier: MIT */
/* devtrace graph --by host: a graph for each machine of a fleet, by its own clock. */
#include <stdio.h>
#include <string.h>

#include "cmd/fleet.h"
#include "cmd/graph-work.h"

/* Prints the graph of one machine. *found: some of the functions that are asked for are there. */
static int print_host(struct graph *k, struct dt_reader *r, const char *name, bool first,
		      char **word, int words, bool *found)
{
	int status;

	k->reader = r;
	k->host = name;
	k->graph = (struct dt_graph){.focuses = 0};
	if (k->form == TEXT)
		printf("%shost %s\n", first ? "" : "\n", name);
	status = dt_graph_run(k, word, words);
	*found |= k->has_focus;
	if (!status && words && !k->has_focus && k->form == TEXT)
		puts("no calls of these functions");
	return status;
}

int dt_graph_fleet(struct graph *k, const char *path, char **word, int words)
{
	struct dt_needs needs = {.n = 0};
	struct dt_reader **reader;
	struct dt_fleet *f;
	const struct dt_range_options when = k->when;
	struct dt_fleet_window window;
	bool found = false;
	int status;

	if (!dt_fleet_is(path)) {
		dt_cmd_fail("%s: is no fleet: --by host is for traces of several machines "
			    "(devtrace merge)",
			    path);
		return 2;
	}
	if (k->form == DOT) {
		dt_cmd_fail("--dot draws one graph: say %s@HOST", path);
		return 2;
	}
	if (k->threads.tids || k->threads.pids) {
		dt_cmd_fail("%s: --thread and --process are of one machine's trace: say %s@HOST",
			    path, path);
		return 2;
	}
	f = dt_fleet_open_all(path, &needs, &reader, &status);
	if (!f)
		return status;
	for (uint32_t i = 0; i < f->hosts && !status; i++) {
		status = dt_fleet_window(&window, f, reader, &when, i) ? 0 : 2;
		k->when = window.when;
		if (!status)
			status = print_host(k, reader[i], f->host[i].name, i == 0, word, words,
					    &found);
	}
	if (!status && words && !found)
		status = dt_cmd_fail("no function that was called on any of the machines is %s'%s'",
				     words > 1 ? "one of those, as " : "", word[0]);
	if (status != 2)
		dt_fleet_say_lost(f, reader);
	dt_fleet_close_all(f, reader);
	return status;
}
