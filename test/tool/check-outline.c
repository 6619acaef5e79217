/* SPDX-License-Identifier: MIT */
/*
 * Unfolds all of the tree of calls that devtrace tui shows (analyse/outline.h), and compares it
 * with all bars of the trace, one by one: every call must be in it once, in the call of the next
 * smaller depth that was open when it began. Then looks for calls by their place, and for some of
 * some functions forwards and backwards, and compares.
 *
 * usage: check-outline [-f FILTER] FILE SEARCHES
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/meanings.h"
#include "analyse/outline.h"

static struct dt_error error;
static struct dt_pyramid *pyramid;
static struct dt_outline outline;

struct tracked {
	uint32_t track;
	struct dt_bar bar;
};

static struct tracked *all, *seen;
static size_t n, room, nseen, seen_room;
static uint64_t together; /* calls that can not be told apart: of one tick */

static void die(const char *what)
{
	fprintf(stderr, "check-outline: %s: %s\n", what, error.text);
	exit(1);
}

static void add(struct tracked **to, size_t *count, size_t *size, uint32_t track,
		const struct dt_bar *x)
{
	if (*count == *size)
		*to = realloc(*to, (*size = *size ? 2 * *size : 65536) * sizeof(**to));
	if (!*to)
		die("memory");
	(*to)[(*count)++] = (struct tracked){track, *x};
}

static void on_bar(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *x)
{
	const struct dt_track *t = dt_pyramid_track(pyramid, kind, id);

	if (!t)
		die("a track is missing");
	if (kind == DT_TRACK_THREAD)
		add(&all, &n, &room, (uint32_t)(t - pyramid->track), x);
}

static void read_all(const char *path, const char *filter_text)
{
	struct dt_reader *r = dt_reader_open(path, &error);
	struct dt_feed_to to = {.bar = on_bar};
	struct dt_filter *filter = NULL;
	struct dt_feed *f;
	struct dt_span s;
	int rc;

	if (!r || (filter_text && !(filter = dt_meanings_filter(filter_text, r, &error))))
		die("opening");
	f = dt_feed_new(r, &to, true, filter);
	if (!f || dt_reader_start(r, &(struct dt_reader_range){.order = DT_BY_TIME, .values = true},
				  &error))
		die("reading");
	while ((rc = dt_reader_next(r, &s, &error)) > 0)
		if (dt_feed_span(f, &s))
			die("reading");
	if (rc < 0)
		die("reading");
	dt_feed_finish(f);
	dt_feed_free(f);
	dt_filter_free(filter);
	dt_reader_close(r);
}

static int compare(const void *a, const void *b)
{
	const struct tracked *x = a, *y = b;
	uint64_t left[] = {x->track, x->bar.begin, x->bar.depth, x->bar.end, x->bar.what};
	uint64_t right[] = {y->track, y->bar.begin, y->bar.depth, y->bar.end, y->bar.what};

	for (int i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Looks at what is in a node, and forgets it again: all at once would be too many. */
static void look_into(uint32_t node)
{
	uint32_t before = outline.n;
	uint64_t last = 0;

	if (dt_outline_load(&outline, node, &error) < 0)
		die("unfolding");
	for (uint32_t c = outline.node[node].child; c; c = outline.node[c].next) {
		const struct dt_outline_node *x = &outline.node[c], *in = &outline.node[node];

		if (x->kind != DT_OUTLINE_THREAD && x->bar.begin < last)
			die("not in the order of time");
		last = x->bar.begin;
		while (in->kind == DT_OUTLINE_CALLS)
			in = &outline.node[in->parent];
		if (in->kind == DT_OUTLINE_CALL &&
		    (x->bar.depth != in->bar.depth + 1 || x->bar.begin < in->bar.begin ||
		     x->bar.begin > in->bar.end))
			die("a call is not in its caller");
		if (x->kind == DT_OUTLINE_CALL)
			add(&seen, &nseen, &seen_room, x->track, &x->bar);
		else if (x->kind == DT_OUTLINE_CALLS && !dt_outline_has_more(&outline, c))
			together += x->bar.count;
		if (dt_outline_has_more(&outline, c))
			look_into(c);
	}
	if (node) {
		outline.node[node].child = 0;
		outline.node[node].loaded = false;
		outline.n = before;
	}
}

/* Compares what was seen with all there is. */
static void check_all(bool nested)
{
	size_t missing = 0, doubled = 0, i = 0, k = 0;

	qsort(all, n, sizeof(*all), compare);
	qsort(seen, nseen, sizeof(*seen), compare);
	while (i < n || k < nseen) {
		int c = i == n ? 1 : k == nseen ? -1 : compare(&all[i], &seen[k]);

		if (c > 0) {
			/* of coroutines, a call may be in two */
			doubled += !(k && !compare(&seen[k], &seen[k - 1]));
			k++;
			continue;
		}
		missing += c < 0;
		i++;
		k += c == 0;
	}
	printf("%zu calls, %zu seen one by one, %lu together\n", n, nseen, (unsigned long)together);
	if (doubled || missing > together || (missing < together && nested))
		die("other calls are in the tree than in the trace");
	if (missing != together)
		die("calls are missing");
}

static void search(unsigned searches)
{
	uint32_t functions = dt_reader_functions(dt_windows_reader(outline.windows)) + 1;
	bool *wanted = calloc(functions, 1);

	for (unsigned s = 0; s < searches && n; s++) {
		const struct tracked *from = &all[(size_t)random() % n];
		const struct tracked *of = &all[(size_t)random() % n], *right = NULL;
		bool forward = random() & 1;
		struct dt_outline_found f = {from->track, from->bar};
		uint32_t node;
		int rc;

		memset(wanted, 0, functions);
		wanted[of->bar.what] = true;
		/* they are sorted by track, begin and depth */
		for (size_t k = 1; k < n && !right; k++) {
			size_t at = (size_t)(from - all);
			const struct tracked *x = forward ? &all[at + k] : &all[at - k];

			if (forward ? at + k >= n : k > at)
				break;
			if (x->bar.what == of->bar.what &&
			    (x->track != from->track || x->bar.begin != from->bar.begin ||
			     x->bar.depth != from->bar.depth))
				right = x;
		}
		rc = dt_outline_find(&outline, &f, forward, wanted, functions, &error);
		if (rc < 0)
			die("searching");
		if ((rc > 0) != (right != NULL) ||
		    (right && (f.track != right->track || f.bar.begin != right->bar.begin ||
			       f.bar.depth != right->bar.depth)))
			die("another call was found");
		if (!right)
			continue;
		node = dt_outline_reveal(&outline, f.track, f.bar.begin, f.bar.depth, &error);
		if (!node || outline.node[node].bar.begin != right->bar.begin ||
		    outline.node[node].bar.end != right->bar.end)
			if (right->bar.end != right->bar.begin)
				die("a call was not found in the tree");
	}
	free(wanted);
}

int main(int argc, char **argv)
{
	const char *filter = NULL, *path;
	struct dt_windows *w;
	struct dt_reader *r;
	int c, rc;

	while ((c = getopt(argc, argv, "f:")) != -1)
		filter = c == 'f' ? optarg : filter;
	if (argc != optind + 2)
		return 2;
	path = argv[optind];
	srandom(1);
	r = dt_reader_open(path, &error);
	pyramid = !r	   ? NULL
		  : filter ? dt_pyramid_filtered(r, filter, &error)
			   : dt_pyramid_open(r, path, &error);
	w = pyramid ? dt_windows_new(pyramid, path, &error) : NULL;
	if (!w || dt_outline_begin(&outline, w, pyramid, &error) < 0)
		die("opening");
	pyramid->anyway = true;
	while ((rc = dt_pyramid_build(pyramid, 1, &error)) > 0)
		;
	if (rc < 0)
		die("building");
	read_all(path, filter);
	look_into(0);
	check_all(!filter);
	search((unsigned)atoi(argv[optind + 1]));
	dt_outline_free(&outline);
	dt_windows_free(w);
	dt_pyramid_close(pyramid);
	dt_reader_close(r);
	free(all);
	free(seen);
	return 0;
}
