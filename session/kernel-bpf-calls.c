/* SPDX-License-Identifier: MIT */
/* Which system calls BPF is to record, by the kernel's functions for them or in full. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/choice.h"
#include "session/kernel-bpf-work.h"
#include "session/options.h"
#include "symbols/call.h"

#define IN_TABLE 512u /* numbers in the kernel's own table are below */

/* ---- in full ---- */

/* Is the system call of that name chosen by a pattern such as "syscall:open*"? */
static bool is_chosen(const struct dt_kernel_bpf *k, const char *name)
{
	struct dt_choice choice = {0};
	char word[256];

	for (size_t i = 0; i < k->wanted->n; i++)
		for (const char *p = k->wanted->pattern[i]; *p;) {
			size_t n = strcspn(p, " "), sign = *p == '!' || *p == '+';

			if (strncmp(p + sign, DT_KERNEL_CALLS, strlen(DT_KERNEL_CALLS)) == 0) {
				sign += strlen(DT_KERNEL_CALLS);
				dt_format(word, sizeof(word), "%.*s", (int)(n - sign), p + sign);
				dt_choice_note(&choice, *p == '!', fnmatch(word, name, 0) == 0);
			}
			p += n + strspn(p + n, " ");
		}
	return dt_choice_made(&choice);
}

/* Returns the first pattern of system calls; NULL: there is none. */
static const char *first_pattern(const struct dt_kernel_bpf *k)
{
	for (size_t i = 0; i < k->wanted->n; i++) {
		const char *found = strstr(k->wanted->pattern[i], DT_KERNEL_CALLS);

		if (found)
			return found;
	}
	return NULL;
}

int dt_bpf_calls_choose(struct dt_kernel_bpf *k, struct dt_error *e)
{
	const char *pattern = first_pattern(k);
	struct dt_call_info c;

	if (!pattern)
		return 0;
	for (const char *at = NULL; dt_call_next(&at, &c);)
		k->full += is_chosen(k, c.name);
	if (k->full)
		return 0;
	return dt_fail(e, "there is no system call '%.*s'",
		       (int)strcspn(pattern + strlen(DT_KERNEL_CALLS), " "),
		       pattern + strlen(DT_KERNEL_CALLS));
}

int dt_bpf_calls_tell(struct dt_kernel_bpf *k, int map, struct dt_error *e)
{
	struct dt_bpf_call call;
	struct dt_call_info c;

	for (const char *at = NULL; k->full && dt_call_next(&at, &c);) {
		uint32_t i = c.kind * DT_BPF_CALLS + c.number;

		if (!is_chosen(k, c.name) || c.number >= DT_BPF_CALLS)
			continue;
		dt_call_items(&c, &call);
		call.wanted = 1;
		if (dt_bpf.bpf_map_update_elem(map, &i, &call, BPF_ANY) < 0)
			return dt_fail(e, "the BPF programs can not be told of the system call %s",
				       c.name);
	}
	return 0;
}

/* ---- by their functions ---- */

/* A system call's function that is chosen. */
struct chosen {
	const char *name; /* belongs to the names of the kernel */
	uint64_t address;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct chosen *)a)->name, ((const struct chosen *)b)->name);
}

/* Finds the chosen functions of system calls, sorted by name; -1: no memory. */
static int list_chosen(struct dt_kernel_bpf *k, struct chosen **out, size_t *n)
{
	struct dt_kernel_symbol s;
	bool exact;

	*n = 0;
	*out = calloc(k->calls + 1, sizeof(**out));
	for (size_t i = 0; *out && *n < k->calls && dt_kernel_names_at(k->names, i, &s); i++)
		if (dt_bpf_is_call(s.name) && dt_bpf_chosen(k, &s, &exact))
			(*out)[(*n)++] = (struct chosen){s.name, s.address};
	if (*out)
		qsort(*out, *n, sizeof(**out), by_name);
	return *out ? 0 : -1;
}

/* Returns the address of the function of a call if it is chosen, else 0. */
static uint64_t address_of(const struct dt_call_info *c, const struct chosen *all, size_t n)
{
	static const char *const prefix[DT_BPF_KINDS][2] = {{"__x64_sys_", "__x64_sys_"},
							    {"__ia32_sys_", "__ia32_compat_sys_"},
							    {"__x64_sys_", "__x64_compat_sys_"}};
	char name[128];
	struct chosen key = {name, 0};
	const struct chosen *found;

	dt_format(name, sizeof(name), "%s%s", prefix[c->kind][c->compat], c->function);
	found = bsearch(&key, all, n, sizeof(*all), by_name);
	return found ? found->address : 0;
}

/* Leaves those of the kernel's own table, which `survey' has read, that are chosen; returns how
 * many there are. */
static size_t keep_chosen(struct dt_kernel_bpf *k, int map)
{
	size_t found = 0;
	bool exact;

	for (uint32_t i = 0; i < IN_TABLE; i++) {
		struct dt_kernel_symbol s;
		uint64_t f = 0;

		if (dt_bpf.bpf_map_lookup_elem(map, &i, &f) < 0 || !f)
			continue;
		if (dt_kernel_names_find(k->names, f, &s) && s.address == f &&
		    dt_bpf_chosen(k, &s, &exact)) {
			found++;
			continue;
		}
		f = 0;
		dt_bpf.bpf_map_update_elem(map, &i, &f, BPF_ANY);
	}
	return found;
}

int dt_bpf_calls_find(struct dt_kernel_bpf *k, int map, struct dt_error *e)
{
	size_t found = keep_chosen(k, map), n;
	bool tabled = dt_kernel_names_calls(k->names);
	struct dt_call_info c;
	struct chosen *all;

	if (list_chosen(k, &all, &n) < 0)
		return dt_fail(e, "out of memory");
	for (const char *at = NULL; k->calls && dt_call_next(&at, &c);) {
		uint32_t i = c.kind * DT_BPF_CALLS + c.number;
		uint64_t f = address_of(&c, all, n);

		/* the kernel's own table says it better */
		if (!f || (c.kind == 0 && tabled) || c.number >= DT_BPF_CALLS)
			continue;
		dt_bpf.bpf_map_update_elem(map, &i, &f, BPF_ANY);
		found++;
	}
	free(all);
	if (k->calls && !found)
		return dt_fail(e, "the kernel's system calls can not be found, so they are not "
				  "recorded");
	k->calls = found;
	return 0;
}
