/* SPDX-License-Identifier: MIT */
/*
 * Ranges of the kernel's functions that a session's language makes while it records: each has
 * functions and links of its own. A function that two ranges have is attached to once; when the
 * range that it was attached for goes, it is attached to for another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/kernel-bpf-work.h"

struct dt_bpf_range {
	struct dt_bpf_range *next;
	unsigned number;
	bool by_address;
	char *pattern;
	uint64_t begin, end;	   /* by_address: its functions begin there, end included */
	struct dt_kernel_bpf part; /* its functions that are attached to, and links */
};

/* Has a function programs already, by -k or by a range? */
static bool is_attached(const struct dt_kernel_bpf *k, uint64_t address)
{
	for (size_t i = 0; i < k->functions; i++)
		if (k->function[i].symbol.address == address)
			return true;
	for (const struct dt_bpf_range *r = k->range; r; r = r->next)
		for (size_t i = 0; i < r->part.functions; i++)
			if (r->part.function[i].symbol.address == address)
				return true;
	return false;
}

/* Finds the functions of a range. */
static int choose(struct dt_kernel_bpf *k, struct dt_bpf_range *r, struct dt_error *e)
{
	const char *const pattern[] = {r->pattern};
	struct dt_kernel_wanted wanted = {.pattern = pattern, .n = 1};
	int rc;

	r->part = (struct dt_kernel_bpf){.object = k->object, .names = k->names, .wanted = &wanted};
	rc = r->by_address ? dt_bpf_choose_between(&r->part, r->begin, r->end, e)
			   : dt_bpf_choose(&r->part, e);
	r->part.wanted = NULL;
	if (rc < 0)
		return -1;
	if (r->part.calls)
		return dt_fail(e,
			       "by BPF, functions of system calls are chosen when a session begins "
			       "(-k), not while it records");
	return 0;
}

static void release(struct dt_bpf_range *r)
{
	dt_bpf_functions_detach(&r->part);
	free(r->part.function);
	r->part.function = NULL;
	r->part.functions = r->part.room = 0;
}

/* Attaches to those functions of a range that have no programs yet. */
static int attach(struct dt_kernel_bpf *k, struct dt_bpf_range *r, struct dt_error *e)
{
	struct dt_bpf_function *all;
	size_t n = 0, functions;

	if (choose(k, r, e) < 0)
		return -1;
	all = r->part.function;
	functions = r->part.functions;
	r->part.functions = 0; /* so that its own do not count as attached to */
	for (size_t i = 0; i < functions; i++)
		if (!is_attached(k, all[i].symbol.address))
			all[n++] = all[i];
	r->part.functions = n;
	return dt_bpf_functions_attach(&r->part, e);
}

/* Reads "'vfs_* !vfs_read'", or two addresses. */
static int parse(struct dt_bpf_range *r, const char *set, size_t n, struct dt_error *e)
{
	unsigned long begin, end;

	if (n > 2 && set[0] == '\'' && set[n - 1] == '\'') {
		r->pattern = strndup(set + 1, n - 2);
	} else if (sscanf(set, "%lx %lx", &begin, &end) == 2) {
		r->by_address = true;
		r->begin = begin;
		r->end = end;
		r->pattern = strdup("");
	} else {
		return dt_fail(e, "'%.*s' is no range of the kernel's functions", (int)n, set);
	}
	return r->pattern ? 0 : dt_fail(e, "out of memory");
}

static void forget(struct dt_bpf_range *r)
{
	release(r);
	free(r->pattern);
	free(r);
}

/* What the other ranges have in common with one that is gone is attached to for them. */
static void attach_rest(struct dt_kernel_bpf *k)
{
	for (struct dt_bpf_range *r = k->range; r; r = r->next) {
		struct dt_bpf_range more = {.pattern = r->pattern,
					    .by_address = r->by_address,
					    .begin = r->begin,
					    .end = r->end};
		struct dt_bpf_range *rest;

		if (attach(k, &more, NULL) < 0 || !more.part.functions ||
		    !(rest = malloc(sizeof(*rest)))) {
			release(&more);
			continue;
		}
		*rest = more;
		rest->number = r->number;
		rest->pattern = strdup("");
		rest->next = r->next;
		r->next = rest;
		r = rest;
	}
}

static void delete (struct dt_kernel_bpf *k, unsigned number)
{
	struct dt_bpf_range **p = &k->range;
	bool any = false;

	while (*p) {
		struct dt_bpf_range *r = *p;

		if (r->number != number) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		k->misses_gone += dt_bpf_links_missed(&r->part);
		forget(r);
		any = true;
	}
	if (any)
		attach_rest(k);
}

/* Makes a range, or with on false only looks whether it can be made. */
static int make(struct dt_kernel_bpf *k, const char *set, size_t n, unsigned number, bool on,
		struct dt_error *e)
{
	struct dt_bpf_range *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return dt_fail(e, "out of memory");
	r->number = number;
	rc = parse(r, set, n, e);
	if (rc == 0)
		rc = on ? attach(k, r, e) : choose(k, r, e);
	if (rc < 0 || !on) {
		forget(r);
		return rc;
	}
	r->next = k->range;
	k->range = r;
	return 0;
}

int dt_bpf_ranges_tell(struct dt_kernel_bpf *k, const char *command, struct dt_error *e)
{
	const char *named = strstr(command, " new s"), *options, *line = strchr(command, '\n');
	char *end;
	unsigned number;
	int rc = 0;

	if (strncmp(command, "trace 0x", 8) == 0 || strncmp(command, "delete 0x", 9) == 0)
		return dt_fail(e, "by BPF, only functions can be recorded: a tracepoint at an "
				  "instruction needs devtrace's module (devtrace-kernel(7))");
	if (k->forbidden[0])
		return dt_fail(e, "BPF may not probe the kernel's functions: %s", k->forbidden);
	if (!k->loaded)
		return dt_fail(e,
			       "this session has no programs for functions of the kernel: begin it "
			       "with -k and some of them");
	pthread_mutex_lock(&k->lock);
	if (sscanf(command, "delete s%u", &number) == 1) {
		delete (k, number);
	} else if (strncmp(command, "trace ", 6) == 0 && named && line && named < line) {
		number = (unsigned)strtoul(named + 6, &end, 10);
		options = end;
		if (options != line)
			rc = dt_fail(e,
				     "by BPF, entries and exits are recorded, without options: "
				     "'%.*s' needs devtrace's module (devtrace-kernel(7))",
				     (int)(line - options - 1), options + 1);
		else
			rc = make(k, command + 6, (size_t)(named - command - 6), number,
				  line[1] != '\0', e);
	} else {
		rc = dt_fail(e, "'%.*s' needs devtrace's module (devtrace-kernel(7))",
			     (int)strcspn(command, "\n"), command);
	}
	pthread_mutex_unlock(&k->lock);
	return rc;
}

uint64_t dt_bpf_ranges_missed(struct dt_kernel_bpf *k)
{
	uint64_t n;

	pthread_mutex_lock(&k->lock);
	n = k->misses_gone;
	for (const struct dt_bpf_range *r = k->range; r; r = r->next)
		n += dt_bpf_links_missed(&r->part);
	pthread_mutex_unlock(&k->lock);
	return n;
}

void dt_bpf_ranges_free(struct dt_kernel_bpf *k)
{
	while (k->range) {
		struct dt_bpf_range *r = k->range;

		k->range = r->next;
		forget(r);
	}
}
