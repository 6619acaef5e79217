/* SPDX-License-Identifier: MIT */
/*
 * Plans probes for every function of a program or library, and counts.
 * usage: plan-stats [-v] [-l] [-x] FILE...
 *   -v   also a line for each function that is refused or needs an int3, with the reason
 *   -l   also a line for each function, with what its sites cost
 *   -x   also a line for each window, with the bytes of its patches and of its trampoline
 *
 * What is free for punned jumps is made up: 2 GiB on both sides of the file, but for a distance
 * that neighbours could occupy. A live process has about that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/space.h"
#include "symbols/symtab.h"
#include "symbols/code.h"

#define NEIGHBOURS 0x2000000ull /* bytes on both sides */
#define LOWEST	   0x10000ull	/* vm.mmap_min_addr */

struct counts {
	size_t functions, parts, hooked, trapped, anywhere, falls, loops;
	size_t entry[DT_TACTICS], exit[DT_TACTICS];
	size_t refused[8];
	size_t bytes, patches;
};

static bool verbose, list, bytes_too;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void emit_hook(struct dt_emit *o, const struct dt_plan_site *s, void *ctx)
{
	dt_emit_bytes(o, "\xe8\0\0\0\0", 5);
}

static void print_bytes(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

static void print_window(const struct dt_plan_window *w, const struct dt_trampoline *t,
			 const struct dt_emit *o)
{
	printf("  %lx %s:", (unsigned long)w->start, dt_tactic_name(w->tactic));
	for (unsigned i = 0; i < t->patches; i++) {
		printf(" %lx=", (unsigned long)t->patch[i].address);
		print_bytes(t->patch[i].bytes, t->patch[i].length);
	}
	printf(" to ");
	print_bytes(o->bytes, o->size);
	printf("\n");
}

/* Every window's bytes can be made, too. */
static int emit_all(const struct dt_plan *p, size_t from, struct counts *n, struct dt_error *e)
{
	static const struct dt_plan_hook hook = {.emit = emit_hook};
	uint8_t bytes[4096];

	for (size_t i = from; i < p->windows; i++) {
		struct dt_trampoline t;
		struct dt_emit o = {.bytes = bytes, .room = sizeof(bytes)};

		o.address = p->window[i].tactic == DT_TACTIC_PUNNED ? p->window[i].at
								    : p->code->high + 0x10000;
		if (dt_plan_emit(p, i, 0, &hook, &o, &t, e))
			return -1;
		if (o.size > sizeof(bytes))
			return dt_fail(e, "the trampoline of 0x%lx has %zu bytes",
				       (unsigned long)p->window[i].start, o.size);
		if (bytes_too)
			print_window(&p->window[i], &t, &o);
		n->bytes += o.size;
		n->patches += t.patches;
	}
	return 0;
}

static const char *name_of(const struct dt_code_function *f)
{
	return f->name ? f->name : "?";
}

static void count(struct dt_plan *p, const struct dt_code_function *f,
		  const struct dt_plan_function *x, struct counts *n)
{
	bool trapped = x->tactic == DT_TACTIC_TRAP && !x->refusal;

	n->functions++;
	n->refused[x->refusal]++;
	n->hooked += !x->refusal;
	n->trapped += trapped;
	n->anywhere += f->anywhere;
	n->falls += f->falls;
	n->loops += x->loops;
	for (size_t i = x->first_site; i < x->first_site + x->sites; i++) {
		unsigned tactic = p->window[p->site[i].window].tactic;

		p->site[i].kind == DT_PLAN_ENTRY ? n->entry[tactic]++ : n->exit[tactic]++;
		if (verbose && tactic == DT_TACTIC_TRAP)
			printf("  %lx %s: int3 at %lx\n", (unsigned long)f->start, name_of(f),
			       (unsigned long)p->site[i].address);
	}
	if ((verbose || list) && x->refusal)
		printf("  %lx %s: refused: %s (%lx)\n", (unsigned long)f->start, name_of(f), x->why,
		       (unsigned long)x->at);
	else if (list)
		printf("  %lx %s: %s, %u sites in %u windows\n", (unsigned long)f->start,
		       name_of(f), dt_tactic_name(x->tactic), x->sites, x->windows);
}

static void print_tactics(const char *what, const size_t n[DT_TACTICS])
{
	size_t all = 0;

	for (unsigned i = 0; i < DT_TACTICS; i++)
		all += n[i];
	printf("%s %zu:", what, all);
	for (unsigned i = 0; i < DT_TACTICS; i++)
		printf("  %s %zu (%.2f %%)", dt_tactic_name(i), n[i],
		       all ? 100.0 * (double)n[i] / (double)all : 0);
	printf("\n");
}

static int plan(const char *path, struct dt_error *e)
{
	struct dt_symtab *symtab;
	struct dt_space space = {0};
	struct dt_plan_options options = {.claim = dt_space_claim, .ctx = &space, .hook = 32};
	struct dt_plan_function *result = NULL;
	struct counts n = {0};
	double t[5];
	struct dt_code *c;
	struct dt_plan p;
	size_t functions;
	int ret = -1;

	t[0] = now();
	symtab = dt_symtab_open(path, NULL, NULL);
	if (symtab)
		dt_symtab_functions(symtab, &functions);
	t[1] = now();
	c = dt_code_open(path, symtab, e);
	if (!c)
		goto out;
	t[2] = now();
	result = calloc(c->functions + 1, sizeof(*result));
	if (!result || dt_plan_begin(&p, c, &options, e))
		goto close;
	if (c->low > LOWEST + NEIGHBOURS)
		dt_space_add(&space, c->low > 0x80000000 ? c->low - 0x7fff0000 : LOWEST,
			     c->low - NEIGHBOURS, e);
	dt_space_add(&space, c->high + NEIGHBOURS, c->low + 0x7fff0000, e);
	if (c->low < LOWEST) /* mapped anywhere: there is room below, where numbers wrap */
		dt_space_add(&space, c->low - 0x7fff0000, c->low - NEIGHBOURS, e);
	for (size_t i = 0; i < c->functions; i++)
		if (c->function[i].part)
			n.parts++;
		else
			dt_plan_function(&p, i, &result[i]);
	for (size_t i = 0; i < c->functions; i++)
		if (result[i].refusal == DT_REFUSED_TAKEN)
			dt_plan_function_among(&p, i, &result[i]);
	t[3] = now();
	ret = emit_all(&p, 0, &n, e);
	t[4] = now();
	printf("%s\n", path);
	for (size_t i = 0; i < c->functions; i++)
		if (!c->function[i].part)
			count(&p, &c->function[i], &result[i], &n);
	printf("functions %zu (and %zu cold parts): hooked %zu (%.2f %%), with an int3 %zu (%.2f "
	       "%%); refused %zu; jump targets unknown in %zu, running into the next %zu, "
	       "loops taken for calls %zu\n",
	       n.functions, n.parts, n.hooked, 100.0 * (double)n.hooked / (double)n.functions,
	       n.trapped, 100.0 * (double)n.trapped / (double)n.functions, n.functions - n.hooked,
	       n.anywhere, n.falls, n.loops);
	print_tactics("entries", n.entry);
	print_tactics("exits", n.exit);
	printf("windows %zu, patches %zu, trampolines %zu bytes\n", p.windows, n.patches, n.bytes);
	printf("seconds: symbols %.3f, code %.3f, plan %.3f, trampolines %.3f; %.3f per 10,000 "
	       "functions without symbols\n",
	       t[1] - t[0], t[2] - t[1], t[3] - t[2], t[4] - t[3],
	       1e4 * (t[4] - t[1]) / (double)n.functions);
	dt_plan_end(&p);
close:
	dt_code_close(c);
out:
	dt_symtab_close(symtab);
	dt_space_free(&space);
	free(result);
	return ret;
}

int main(int argc, char **argv)
{
	struct dt_error e = {""};
	int c, bad = 0;

	while ((c = getopt(argc, argv, "vlx")) != -1)
		switch (c) {
		case 'v':
			verbose = true;
			break;
		case 'l':
			list = true;
			break;
		case 'x':
			bytes_too = true;
			break;
		default:
			return 2;
		}
	if (optind == argc) {
		fprintf(stderr, "usage: plan-stats [-v] [-l] [-x] FILE...\n");
		return 2;
	}
	for (int i = optind; i < argc; i++)
		if (plan(argv[i], &e)) {
			fprintf(stderr, "plan-stats: %s\n", e.text);
			bad = 1;
		}
	return bad;
}
