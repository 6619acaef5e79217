/* SPDX-License-Identifier: MIT */
/*
 * devtrace calls of a fleet: the calls of all machines, as with --merge, in the order of the
 * fleet's time. Each trace has a tree of its own; their lines go where they belong.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/calls-work.h"
#include "cmd/fleet.h"

#define LONGEST 40 /* columns that a machine's name is padded to */

static void begin_host(struct calls *k, const struct calls *options, const struct dt_fleet *f,
		       uint32_t i, struct dt_reader *r)
{
	*k = *options;
	k->reader = r;
	k->host = f->host[i].name;
	k->when = (struct dt_range_options){NULL}; /* of the fleet, not of this trace */
	k->merge = true;
	for (uint32_t h = 0; h < f->hosts; h++) {
		size_t n = strlen(f->host[h].name);

		if (n > k->host_room)
			k->host_room = (unsigned)n;
	}
}

static int print(struct calls *k, uint32_t hosts, struct dt_fleet_merge *m)
{
	struct dt_error e = {""};
	struct dt_span s;
	uint32_t last = hosts;
	int rc, status = 0;

	while ((rc = dt_fleet_merge_next(m, &s, &e)) > 0) {
		struct calls *now = &k[m->host];

		rc = 0;
		if (now->failed || now->out->failed || now->keep.failed)
			break;
		if (last < hosts && last != m->host)
			dt_calls_let_go(&k[last]);
		last = m->host;
		rc = dt_calls_take(now, &s, &e);
		if (rc)
			break;
	}
	for (uint32_t i = 0; i < hosts; i++) {
		int ended = dt_calls_end(&k[i], rc, &e);

		status = status ? status : ended;
		rc = 0; /* an error is said once */
	}
	return status;
}

static bool has_thread(const struct dt_reader *r, uint32_t number)
{
	size_t n;
	const struct dt_thread_info *t = dt_reader_threads(r, &n);

	for (size_t i = 0; i < n; i++)
		if (dt_reader_number(r, t[i].tid) == number)
			return true;
	return false;
}

/* Says which threads no host has; returns whether there is one. */
static bool unmet_thread(const struct calls *k, uint32_t hosts, struct dt_reader **reader)
{
	bool unmet = false;

	for (size_t i = 0; i < k->threads; i++) {
		uint32_t h = 0;

		while (h < hosts && !has_thread(reader[h], k->thread[i]))
			h++;
		if (h < hosts)
			continue;
		unmet = true;
		dt_cmd_fail("--thread %u: no host of the fleet has such a thread", k->thread[i]);
	}
	return unmet;
}

int dt_calls_fleet(struct calls *options, const char *path)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_reader_range unused;
	struct dt_fleet_merge m;
	struct dt_reader **reader;
	struct dt_fleet *f;
	struct calls *k = NULL;
	uint32_t begun = 0;
	int status;

	if (options->fields.list.chosen || options->last.most) {
		dt_cmd_fail("%s: of a fleet there are the usual lines, and --json: --fields and "
			    "--last are of one machine's trace: say %s@HOST",
			    path, path);
		return 2;
	}
	f = dt_fleet_open_all(path, &needs, &reader, &status);
	if (!f)
		return status;
	for (uint32_t i = 0; i < f->hosts; i++)
		if (strlen(f->host[i].name) > LONGEST)
			f->host[i].name[LONGEST] = '\0';
	status = dt_fleet_merge_begin(&m, f, reader, &options->when, false);
	if (!status && unmet_thread(options, f->hosts, reader))
		status = 1;
	k = calloc(f->hosts, sizeof(*k));
	if (!k && !status)
		status = dt_cmd_fail("out of memory");
	for (uint32_t i = 0; i < f->hosts && !status; i++, begun++) {
		begin_host(&k[i], options, f, i, reader[i]);
		k[i].header = options->header && i == 0;
		k[i].out = i ? k[0].out : NULL;
		status = dt_calls_begin(&k[i], &unused);
	}
	if (!status)
		status = print(k, f->hosts, &m);
	options->out = begun ? k[0].out : NULL;
	for (uint32_t i = 0; i < begun; i++)
		options->met |= k[i].met;
	if (!status)
		dt_calls_say_none(options);
	for (uint32_t i = 0; i < begun; i++)
		dt_calls_free(&k[i]);
	free(k);
	dt_fleet_merge_end(&m);
	if (status != 2)
		dt_fleet_say_lost(f, reader);
	dt_fleet_close_all(f, reader);
	return status;
}
