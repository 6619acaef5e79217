/* SPDX-License-Identifier: MIT */
/*
 * Prints the calls of a trace as `devtrace export --csv' does, without the columns of names:
 * process, thread, call, caller, depth, begin, end, duration, self, how it ended. An example for
 * libdevtrace(3).
 *
 *	gcc read-trace.c $(pkg-config --cflags --libs libdevtrace) -o read-trace
 */
#include <inttypes.h>
#include <stdio.h>
#include <libdevtrace.h>

static void print_time(int64_t ns)
{
	putchar(',');
	if (ns != DEVTRACE_UNKNOWN)
		printf("%" PRId64, ns);
}

/* NaN is not equal to itself. */
static void print_duration(double ns)
{
	putchar(',');
	if (ns == ns)
		printf("%.1f", ns);
}

static void print(const struct devtrace_call *c)
{
	if (c->thread == DEVTRACE_NONE)
		printf(",,");
	else
		printf("%" PRIu32 ",%" PRIu32 ",", c->process == DEVTRACE_NONE ? 0 : c->process,
		       c->thread);
	printf("%" PRIu64 ",%" PRIu64 ",%" PRIu32, c->id, c->parent, c->depth);
	print_time(c->begin_ns);
	print_time(c->end_ns);
	print_duration(c->duration_ns);
	print_duration(c->self_ns);
	printf(",%s\n", devtrace_ended(c->flags));
}

int main(int argc, char **argv)
{
	struct devtrace_choice choice = {.size = sizeof(choice), .flags = DEVTRACE_BY_TIME};
	struct devtrace_error e;
	const struct devtrace_call *call;
	struct devtrace *t = devtrace_open(argc > 1 ? argv[1] : "devtrace.db", &e);
	struct devtrace_calls *c = t ? devtrace_calls_begin(t, &choice, &e) : NULL;
	int rc = -1;

	while (c && (rc = devtrace_calls_next(c, &call, &e)) > 0)
		print(call);
	if (rc < 0)
		fprintf(stderr, "%s\n", e.text);
	devtrace_calls_end(c);
	devtrace_close(t);
	return rc < 0;
}
