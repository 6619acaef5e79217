/* SPDX-License-Identifier: MIT */
/* Two traces beside each other, in a temporary file. */
#include "cmd/beside.h"

#include "analyse/match.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "fleet/beside.h"

struct two {
	const char *path[2], *words;
};

/* Finds what is brought to the same time. Returns the exit status. */
static int align(struct dt_beside *b, const struct two *two)
{
	const char *words = two->words ? two->words : "main";
	struct dt_error e;
	int found[2];

	for (unsigned side = 0; side < 2; side++) {
		found[side] = dt_beside_find(b->reader[side], words, &b->at[side], &e);
		if (found[side] < 0)
			return dt_cmd_fail("--align: %s", e.text);
		if (!found[side] && two->words)
			return dt_cmd_fail("--align: '%s' is nothing in %s: name a call, as in "
					   "'parse arg1=5', an event ('event:net:*') or a note "
					   "('note:TEXT') that both have",
					   words, two->path[side]);
	}
	b->words = words;
	if (found[0] && found[1])
		return 0;
	b->words = "";
	for (unsigned side = 0; side < 2; side++) {
		found[side] = dt_beside_find(b->reader[side], "", &b->at[side], &e);
		if (found[side] <= 0)
			return dt_cmd_fail("%s%s", found[side] ? e.text : two->path[side],
					   found[side] ? "" : ": there are no records in it");
	}
	return 0;
}

static int make(const void *ctx, const char *to, struct dt_needs *needs)
{
	struct dt_beside b = {.words = ""};
	const struct two *two = ctx;
	struct dt_error e;
	int status;

	for (unsigned side = 0; side < 2; side++)
		dt_needs_add(needs, DT_NEED_TRACE, two->path[side]);
	status = dt_cmd_confine(needs);
	for (unsigned side = 0; side < 2 && !status; side++) {
		b.reader[side] = dt_reader_open(two->path[side], &e);
		if (!b.reader[side])
			status = dt_cmd_fail("%s", e.text);
	}
	if (!status)
		status = align(&b, two);
	if (!status && dt_beside_write(&b, to, &e))
		status = dt_cmd_fail("%s", e.text);
	for (unsigned side = 0; side < 2; side++)
		dt_reader_close(b.reader[side]);
	return status;
}

const char *dt_cmd_beside(const char *a, const char *b, const char *words, int *status)
{
	struct two two = {.words = words};
	char name[256];

	two.path[0] = dt_cmd_one_trace(a, status);
	two.path[1] = two.path[0] ? dt_cmd_one_trace(b, status) : NULL;
	if (!two.path[1])
		return NULL;
	dt_format(name, sizeof(name), "%.100s and %.100s", dt_match_base(a), dt_match_base(b));
	return dt_cmd_made_apart(name, make, &two, status);
}
