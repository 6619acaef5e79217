/* SPDX-License-Identifier: MIT */
/* devtrace cat -s: the records of a session, as they come. */
#include "cmd/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/open.h"
#include "show/out.h"
#include "core/text.h"
#include "session/client.h"

#define RECORDS 16384u
#define NAMES	4096u /* names that are kept in the cache, by pc */

struct name {
	uint64_t pc;
	char *text;
};

struct lines {
	struct dt_client records, names; /* two: names are asked for while records are in use */
	struct name *name;
	struct dt_out out;
};

static const char *name_of(struct lines *l, const struct dt_record *r)
{
	struct name *n = &l->name[(r->pc ^ r->pc >> 12) % NAMES];

	if (!n->text || n->pc != r->pc) {
		free(n->text);
		n->pc = r->pc;
		n->text = strdup(dt_cmd_plain(dt_client_name(&l->names, r->pc, r->tid)));
	}
	return n->text ? n->text : "?";
}

static void put(struct lines *l, const struct dt_record *record, bool long_lines)
{
	const struct dt_record shown = dt_record_shown(record), *r = &shown;
	char line[DT_LONG_LINE + 2048];

	if (!long_lines) {
		dt_text_line(dt_out_room(&l->out, DT_LINE), r);
		dt_out_used(&l->out, DT_LINE);
		return;
	}
	dt_out_bytes(&l->out, line,
		     dt_text_long(line, r, name_of(l, r), (1u << dt_record_values(r)) - 1));
}

static int print_all(struct lines *l, bool follow, bool consume, bool long_lines)
{
	uint64_t position = 0, lost, all_lost = 0;
	struct dt_error e;
	long n;

	while ((n = dt_client_take(&l->records, RECORDS, &position, follow ? -1 : 0, consume, &lost,
				   &e)) >= 0) {
		const struct dt_record *r = (const struct dt_record *)l->records.text;

		all_lost += lost;
		for (long i = 0; i < n; i++)
			put(l, &r[i], long_lines);
		position += (uint64_t)n;
		if (follow)
			dt_out_flush(&l->out);
		else if (n == 0)
			break;
	}
	if (dt_out_end(&l->out))
		return 1;
	if (all_lost)
		fprintf(stderr, "devtrace: %lu records are missing: the log was full\n",
			(unsigned long)all_lost);
	return n == -1 ? dt_cmd_fail("%s", e.text) : 0;
}

int dt_cmd_follow(const char *session, bool follow, bool consume, bool long_lines)
{
	struct lines *l = calloc(1, sizeof(*l));
	struct dt_needs needs = {.n = 0};
	struct dt_error e;
	int status = 1;

	if (!l || !(l->name = calloc(NAMES, sizeof(*l->name)))) {
		free(l);
		return dt_cmd_fail("out of memory");
	}
	l->out.fd = STDOUT_FILENO;
	if (dt_client_open(&l->records, session, &e) < 0) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	if (dt_client_open(&l->names, session, &e) == 0)
		status = dt_cmd_confine(&needs) ? 1 : print_all(l, follow, consume, long_lines);
	else
		dt_cmd_fail("%s", e.text);
	dt_client_close(&l->names);
	dt_client_close(&l->records);
out:
	for (unsigned i = 0; i < NAMES; i++)
		free(l->name[i].text);
	free(l->name);
	free(l);
	return status;
}
