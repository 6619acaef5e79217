/* SPDX-License-Identifier: MIT */
/* What pairing has to know of each site. */
#include "analyse/pair-work.h"

#include <stdlib.h>
#include <string.h>

/* A function whose entries or exits are recorded, and where it is. */
struct head {
	uint64_t address;
	uint32_t pid, function;
};

static int by_address(const void *a, const void *b)
{
	const struct head *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static uint32_t pid_of(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;

	return m ? m->pid : 0;
}

/* Returns all such functions, sorted by address. NULL: out of memory. */
static struct head *heads(const struct dt_pair *p, size_t *n)
{
	uint32_t sites = dt_reader_sites(p->reader);
	struct head *all = malloc((sites + 1) * sizeof(*all));

	*n = 0;
	for (uint32_t i = 1; all && i <= sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);
		const struct dt_function_info *f = dt_reader_function(p->reader, site->function);

		if ((site->kind == DT_ENTRY || site->kind == DT_EXIT) && f)
			all[(*n)++] = (struct head){f->address, pid_of(p->reader, site->function),
						    p->same.first[site->function]};
	}
	if (all)
		qsort(all, *n, sizeof(*all), by_address);
	return all;
}

/* Returns the function at an address of a process whose entries or exits are recorded; 0: none. */
static uint32_t head_at(const struct head *all, size_t n, uint64_t address, uint32_t pid)
{
	struct head key = {address, pid, 0};
	const struct head *h = n ? bsearch(&key, all, n, sizeof(key), by_address) : NULL;

	return h ? h->function : 0;
}

static bool is_named(const struct dt_pair *p, uint32_t function, const char *name)
{
	const struct dt_function_info *f = dt_reader_function(p->reader, function);

	return f && (!strcmp(f->name, name) ||
		     (!strncmp(f->name, "__", 2) && !strcmp(f->name + 2, name)));
}

/* Returns whether this is one of libc's functions that load the stack pointer and jump. */
static bool changes_stack(const struct dt_pair *p, uint32_t function)
{
	static const char *const names[] = {"swapcontext", "setcontext", "longjmp", "_longjmp",
					    "__longjmp_chk"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(p, function, names[i]))
			return true;
	return false;
}

/*
 * Brings the facts up to date: a file that is still being written may have new sites and functions.
 */
int dt_facts_renew(struct dt_pair *p)
{
	uint32_t sites = dt_reader_sites(p->reader) + 1;
	uint32_t functions = dt_reader_functions(p->reader);
	struct head *head;
	struct fact *f;
	bool *entered; /* by function: its entries are recorded */
	size_t n;

	f = realloc(p->fact, sites * sizeof(*f));
	if (!f || dt_same_update(&p->same, p->reader))
		return -1;
	p->fact = f;
	p->facts = sites;
	p->fact_functions = functions;
	head = heads(p, &n);
	entered = head ? calloc(functions + 1, sizeof(*entered)) : NULL;
	if (!entered) {
		free(head);
		return -1;
	}
	for (uint32_t i = 1; i < sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);

		if (site->kind == DT_ENTRY)
			entered[p->same.first[site->function]] = true;
	}
	for (uint32_t i = 1; i < sites; i++) {
		const struct dt_site *site = dt_reader_site(p->reader, i);

		f[i] = (struct fact){.function = p->same.first[site->function],
				     .kind = site->kind,
				     .tail = site->place == DT_SITE_TAIL,
				     .alone = site->place == DT_SITE_ENTRY_ALONE,
				     .leaving = site->place == DT_SITE_POINT_LEAVING,
				     .keeps = is_named(p, site->function, "swapcontext")};
		f[i].arrives = changes_stack(p, site->function);
		f[i].folds = site->crossing && !p->unfolded && !f[i].keeps && !f[i].arrives;
		f[i].exits_only = !entered[f[i].function];
		if (site->target)
			f[i].lands =
				head_at(head, n, site->target, pid_of(p->reader, site->function));
	}
	free(entered);
	free(head);
	return 0;
}
