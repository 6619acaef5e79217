/* SPDX-License-Identifier: MIT */
/* devtrace report --waits: which functions waited, what for, and how long. */
#include "cmd/report-waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"
#include "cmd/table.h"

/* The waits of a function: those for a processor, or the others. */
struct waits {
	uint32_t function; /* 0: outside of all recorded calls */
	bool preempted;
	uint64_t times, sum, most; /* ticks */
};

struct reading {
	struct waits *of; /* by 2 * function + preempted */
	size_t n;
	bool no_memory;
};

/*
 * What functions of libc wait for. Only the name is known, not the object: whose lock it is, and
 * who holds it, is not in the trace.
 */
static const char *what_for(const char *name)
{
	static const struct {
		const char *word; /* in a function's name, after leading underscores */
		const char *what;
	} known[] = {{"pthread_mutex_", "a lock"},
		     {"pthread_rwlock_", "a lock"},
		     {"pthread_spin_", "a lock"},
		     {"lll_lock_wait", "a lock"},
		     {"pthread_cond_", "another thread"},
		     {"pthread_barrier_", "another thread"},
		     {"pthread_join", "another thread"},
		     {"pthread_timedjoin", "another thread"},
		     {"sem_", "another thread"},
		     {"futex", "another thread"},
		     {"wait", "a child"},
		     {"nanosleep", "time to pass"},
		     {"clock_nanosleep", "time to pass"},
		     {"usleep", "time to pass"},
		     {"sleep", "time to pass"},
		     {"poll", "events on descriptors"},
		     {"ppoll", "events on descriptors"},
		     {"select", "events on descriptors"},
		     {"pselect", "events on descriptors"},
		     {"epoll_", "events on descriptors"},
		     {"accept", "a connection"},
		     {"connect", "a connection"},
		     {"recv", "data to read"},
		     {"read", "data to read"},
		     {"pread", "data to read"},
		     {"fread", "data to read"},
		     {"fgets", "data to read"},
		     {"getline", "data to read"},
		     {"send", "data to be written"},
		     {"write", "data to be written"},
		     {"pwrite", "data to be written"},
		     {"fwrite", "data to be written"},
		     {"fsync", "the disk"},
		     {"fdatasync", "the disk"},
		     {"msync", "the disk"},
		     {"sync", "the disk"}};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i].word, strlen(known[i].word)))
			return known[i].what;
	return "";
}

/* Returns whether the function is one of libc's, whose names tell what they do. */
static bool is_libc(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	return slash && (!strncmp(slash, "/libc.", 6) || !strncmp(slash, "/libc-", 6) ||
			 !strncmp(slash, "/libpthread", 11));
}

static const char *reason(const struct dt_reader *r, const struct waits *w)
{
	const char *what;

	if (w->preempted)
		return "a processor";
	what = is_libc(r, w->function) ? what_for(dt_reader_function(r, w->function)->name) : "";
	return *what ? what : "not known";
}

static void on_end(void *ctx, const struct dt_call *c)
{
	(void)ctx, (void)c;
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted)
{
	struct reading *k = ctx;
	size_t i = 2 * (size_t)(c ? c->function : 0) + preempted;
	struct waits *w;

	(void)tid;
	if (i >= k->n) {
		size_t n = i + 512;
		struct waits *more = realloc(k->of, n * sizeof(*more));

		if (!more) {
			k->no_memory = true;
			return;
		}
		memset(more + k->n, 0, (n - k->n) * sizeof(*more));
		k->of = more;
		k->n = n;
	}
	w = &k->of[i];
	w->function = c ? c->function : 0;
	w->preempted = preempted;
	w->times++;
	w->sum += end - begin;
	w->most = end - begin > w->most ? end - begin : w->most;
}

static int compare(const void *a, const void *b)
{
	const struct waits *x = a, *y = b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Removes what is not to be shown, and sorts the rest. Returns how many there are. */
static size_t sort(struct reading *k, const bool *shown)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (k->of[i].times && shown[k->of[i].function])
			k->of[n++] = k->of[i];
	if (n)
		qsort(k->of, n, sizeof(*k->of), compare);
	return n;
}

static const char *name_of(const struct dt_reader *r, const struct waits *w)
{
	return w->function ? dt_reader_function_name(r, w->function) : "(in no recorded call)";
}

static void print_table(const struct dt_reader *r, const struct waits *w, size_t n)
{
	printf("%11s %10s %11s %11s  %-21s  %s\n", "wait", "times", "avg", "max", "for",
	       "function");
	for (size_t i = 0; i < n; i++) {
		dt_table_time(r, w[i].sum);
		printf(" %10llu", (unsigned long long)w[i].times);
		dt_table_time(r, w[i].sum / w[i].times);
		dt_table_time(r, w[i].most);
		printf("  %-21s  %s\n", reason(r, &w[i]), name_of(r, &w[i]));
	}
	if (!n)
		puts("nothing waited");
}

static void print_json(const struct dt_reader *r, const struct waits *w, size_t n)
{
	double ns = dt_reader_ns_per_tick(r);

	puts("[");
	for (size_t i = 0; i < n; i++) {
		printf("%s {\"function\": ", i ? ",\n" : "");
		if (w[i].function)
			dt_table_json(name_of(r, &w[i]));
		else
			printf("null");
		printf(", \"for\": ");
		dt_table_json(reason(r, &w[i]));
		printf(", \"wait\": %.1f, \"times\": %llu, \"max\": %.1f}", (double)w[i].sum * ns,
		       (unsigned long long)w[i].times, (double)w[i].most * ns);
	}
	puts("\n]");
}

int dt_report_waits(struct dt_reader *r, dt_report_read_fn *read, void *ctx,
		    struct dt_selection *select, uint64_t rows, bool json)
{
	struct reading k = {0};
	struct dt_pair_events events = {.end = on_end, .wait = on_wait, .ctx = &k};
	struct dt_error e = {"out of memory"};
	bool *shown = NULL;
	int status = 1;
	size_t n;

	if (read(ctx, &events, &e) || k.no_memory || !(shown = dt_cmd_shown(r, select))) {
		dt_cmd_fail("%s", e.text);
	} else if (dt_cmd_switches(r)) {
		n = sort(&k, shown);
		n = rows && rows < n ? rows : n;
		(json ? print_json : print_table)(r, k.of, n);
		status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table")
							  : 0;
	}
	free(shown);
	free(k.of);
	return status;
}
