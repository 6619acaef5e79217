// SPDX-License-Identifier: MIT
/*
 * Plans all functions of a file, and prints the plan, for plan.py to compare with objdump's
 * disassembly. Each trampoline is made at two places, and the first one moved to the second is the
 * same as that made there.
 *
 * usage: plan FILE
 *
 *	F START END WHOLE STATE...	a function or part; STATE: hooked, part, or why it is not
 *	S KIND ADDRESS WINDOW WHOLE	a site: e r t b i (enum dt_plan_site_kind)
 *	P ADDRESS WORD WINDOW		a word that is changed, for a window
 *	T ADDRESS AT COPY WORD...	a window's trampoline; HOOK where a hook would be called
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "symbols/code.h"
#include "symbols/symtab.h"

#define HOOK 0xd503251fu /* a hint that no compiler makes */
#define MOVE 0x555000ull /* by how much the module is moved, */
#define MORE 0x77000ull	 /* and the trampolines more than it */

static void emit_mark(struct dt_emit *o, const struct dt_plan_site *site, void *ctx)
{
	dt_emit_u32(o, HOOK);
}

static const struct dt_plan_hook mark = {.emit = emit_mark};

static int fail(const char *what, const struct dt_error *e)
{
	fprintf(stderr, "plan: %s: %s\n", what, e ? e->text : "");
	exit(1);
}

static void print_trampoline(const struct dt_plan_window *w, const struct dt_emit *o,
			     const struct dt_trampoline *t)
{
	uint32_t word;

	for (unsigned i = 0; i < t->patches; i++) {
		memcpy(&word, t->patch[i].bytes, sizeof(word));
		printf("P %lx %x %lx\n", (unsigned long)t->patch[i].address, word,
		       (unsigned long)w->start);
	}
	printf("T %lx %lx %lx", (unsigned long)w->start, (unsigned long)t->address,
	       (unsigned long)t->copy);
	for (size_t i = 0; i < o->size; i += 4) {
		memcpy(&word, o->bytes + i, sizeof(word));
		printf(" %x", word);
	}
	printf("\n");
}

/* Moves the trampoline, and compares it with one that is made at the new place. */
static void check_moved(const struct dt_plan *p, size_t window, struct dt_emit *made,
			const struct dt_trampoline *t)
{
	uint8_t bytes[4096];
	struct dt_emit o = {
		.bytes = bytes, .room = sizeof(bytes), .address = made->address + MOVE + MORE};
	struct dt_trampoline x;
	struct dt_error e;

	if (made->fixes->pinned)
		fail("a trampoline can not be moved", NULL);
	if (dt_plan_emit(p, window, MOVE, &mark, &o, &x, &e))
		fail("moved", &e);
	for (size_t i = 0; i < made->fixes->n; i++)
		if (!dt_fix_apply(&made->fixes->fix[i], made->bytes, MOVE + MORE, MOVE))
			fail("a distance is too long", NULL);
	if (o.size != made->size || memcmp(made->bytes, bytes, o.size))
		fail("a trampoline, moved, is another one", NULL);
	for (unsigned i = 0; i < t->patches; i++) {
		struct dt_patch now = t->patch[i];

		dt_patch_shift(now.bytes, now.length, MORE);
		if (!now.leads || now.length != 4 || memcmp(now.bytes, x.patch[i].bytes, 4))
			fail("a change, moved, is another one", NULL);
	}
}

int main(int argc, char **argv)
{
	struct dt_plan_options options = {.hook = 4, .no_traps = true};
	struct dt_plan_function out;
	struct dt_fixes fixes = {0};
	struct dt_symtab *symtab;
	struct dt_error e;
	struct dt_code *c;
	struct dt_plan p;

	symtab = argc == 2 ? dt_symtab_open(argv[1], NULL, &e) : NULL;
	c = symtab ? dt_code_open(argv[1], symtab, &e) : NULL;
	if (!c || dt_plan_begin(&p, c, &options, &e))
		return fail(argc == 2 ? argv[1] : "usage: plan FILE", argc == 2 ? &e : NULL);
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];

		dt_plan_function(&p, i, &out);
		printf("F %lx %lx %lx %s\n", (unsigned long)f->start, (unsigned long)f->end,
		       (unsigned long)c->function[f->whole].start,
		       f->part	      ? "part"
		       : !out.refusal ? "hooked"
				      : out.why);
		for (uint32_t k = 0; k < (out.refusal ? 0 : out.sites); k++) {
			const struct dt_plan_site *s = &p.site[out.first_site + k];

			printf("S %c %lx %lx %lx\n", "ertbi"[s->kind], (unsigned long)s -> address,
			       (unsigned long)p.window[s->window].start, (unsigned long)f->start);
		}
	}
	for (size_t i = 0; i < p.windows; i++) {
		uint8_t bytes[4096];
		struct dt_emit o = {.bytes = bytes,
				    .room = sizeof(bytes),
				    .address = c->high + 0x100000,
				    .fixes = &fixes};
		struct dt_trampoline t;

		fixes.n = 0;
		fixes.pinned = false;
		if (dt_plan_emit(&p, i, 0, &mark, &o, &t, &e))
			return fail("plan", &e);
		print_trampoline(&p.window[i], &o, &t);
		check_moved(&p, i, &o, &t);
	}
	free(fixes.fix);
	dt_plan_end(&p);
	dt_code_close(c);
	dt_symtab_close(symtab);
	return 0;
}
