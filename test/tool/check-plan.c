/* SPDX-License-Identifier: MIT */
/*
 * Checks the plan for a program against what its compiler knew: the labels of its code that
 * anything refers to. -Wa,-L and -Wl,--discard-none keep them in the symbol table.
 * usage: check-plan FILE ASSEMBLY
 *   FILE      the program
 *   ASSEMBLY  what it was made of (cc -S)
 *
 * - Every label is a target in the map of the code, or its function's targets are not known.
 * - What a window overwrites, and what an exit's window moves, has no label inside, but where
 *   everything that jumps there is in the window itself or made to jump elsewhere. Who jumps is
 *   found here anew, by decoding every function.
 * - No two changes touch the same byte; what a punned jump relies on is not changed.
 * - Every function has an entry and as many exits as the map says, or a reason.
 *
 * A line for each thing that is wrong, a line of counts at the end.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/space.h"
#include "symbols/code.h"
#include "symbols/symtab.h"

struct jump {
	uint64_t from, to;
};

static uint64_t *label;
static size_t labels, label_room;
static struct jump *jumps;
static size_t n_jumps, jump_room;
static unsigned wrong;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	printf("wrong: ");
	vprintf(format, ap);
	printf("\n");
	va_end(ap);
	wrong++;
}

static void *grow(void *p, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return p;
	*room = *room ? 2 * *room : 1024;
	p = realloc(p, *room * size);
	if (!p)
		abort();
	return p;
}

/* gcc: .L12; clang: .LBB3_12. Other local labels stand where nothing jumps to. */
static bool is_label(const char *name)
{
	if (!strncmp(name, ".LBB", 4))
		return strchr(name, '_') != NULL;
	if (name[0] != '.' || name[1] != 'L' || !name[2])
		return false;
	return strspn(name + 2, "0123456789") == strlen(name + 2);
}

/* Does the text mention the label other than where it is? */
static bool is_used(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p += n) {
		bool starts = p == text || p[-1] == '\n';

		if ((p[n] >= '0' && p[n] <= '9') || p[n] == '_' || (starts && p[n] == ':'))
			continue;
		return true;
	}
	return false;
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	if (!f || getdelim(&text, &n, 0, f) < 0) {
		fprintf(stderr, "check-plan: %s cannot be read\n", path);
		exit(2);
	}
	fclose(f);
	return text;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_to(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

static void read_labels(const char *path, const char *text, const struct dt_code *c)
{
	int fd = open(path, O_RDONLY);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while (elf && (s = elf_nextscn(elf, s))) {
		Elf_Data *d;
		GElf_Sym sym;

		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		d = elf_getdata(s, NULL);
		for (int i = 0; d && gelf_getsym(d, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (!name || !is_label(name) || !dt_code_region_of(c, sym.st_value) ||
			    !is_used(text, name))
				continue;
			label = grow(label, labels, &label_room, sizeof(*label));
			label[labels++] = sym.st_value;
		}
	}
	if (labels)
		qsort(label, labels, sizeof(*label), by_value);
	elf_end(elf);
	close(fd);
}

static void read_jumps(const struct dt_code *c)
{
	for (size_t i = 0; i < c->functions; i++) {
		const struct dt_code_function *f = &c->function[i];
		const struct dt_code_region *r = dt_code_region_of(c, f->start);
		struct dt_insn in;

		for (uint64_t at = f->start; at < f->end; at += in.length) {
			if (!dt_insn_decode(&in, r->bytes + (at - r->low), f->end - at, at))
				break;
			if (!dt_insn_direct(&in))
				continue;
			jumps = grow(jumps, n_jumps, &jump_room, sizeof(*jumps));
			jumps[n_jumps++] = (struct jump){at, in.target};
		}
	}
	if (n_jumps)
		qsort(jumps, n_jumps, sizeof(*jumps), by_to);
}

/* Where the map says that it does not know, every instruction counts as a target. */
static bool is_target(const struct dt_code *c, uint64_t at)
{
	size_t f = dt_code_function_at(c, at);

	if (dt_code_mark(c, at) & DT_CODE_TARGET)
		return true;
	return f < c->functions && c->function[c->function[f].whole].anywhere;
}

static void check_map(const struct dt_code *c)
{
	for (size_t i = 0; i < labels; i++)
		if (dt_code_mark(c, label[i]) & DT_CODE_INSN && !is_target(c, label[i]))
			complain("the label at %lx is no target in the map",
				 (unsigned long)label[i]);
}

static bool redirected(const struct dt_plan *p, const struct dt_plan_window *w, uint64_t from)
{
	for (size_t i = w->first_retarget; i < w->first_retarget + w->retargets; i++)
		if (p->retarget[i].from == from)
			return true;
	return (from >= w->start && from < w->start + w->size) ||
	       (from >= w->host && from < w->host + w->host_size);
}

/* Is there someone who jumps to at, and are all of them led to the window's copy? */
static bool all_redirected(const struct dt_plan *p, const struct dt_plan_window *w, uint64_t at)
{
	bool any = false;

	for (size_t i = 0; i < n_jumps; i++)
		if (jumps[i].to == at) {
			any = true;
			if (!redirected(p, w, jumps[i].from))
				return false;
		}
	return any;
}

static void check_window(const struct dt_plan *p, const struct dt_plan_window *w)
{
	uint64_t end = w->start + w->patch;
	/* without a jump at its start nobody may come there either */
	uint64_t low = w->patch ? w->start + 1 : w->start;

	for (size_t i = w->first_site; i < w->first_site + w->sites; i++)
		if (p->site[i].kind != DT_PLAN_ENTRY && p->site[i].address + 1 > end)
			end = p->site[i].address + 1;
	for (size_t i = 0; i < labels; i++)
		if (w->host_size && label[i] > w->host && label[i] < w->host + w->host_size &&
		    !all_redirected(p, w, label[i]))
			complain("the host %lx-%lx has the label %lx inside",
				 (unsigned long)w->host, (unsigned long)w->host + w->host_size,
				 (unsigned long)label[i]);
	for (size_t i = 0; i < labels; i++)
		if (label[i] >= low && label[i] < end &&
		    !(w->inner && label[i] == w->start + w->inner) &&
		    !all_redirected(p, w, label[i]))
			complain("the window %lx-%lx (%s, %u bytes) has the label %lx inside",
				 (unsigned long)w->start, (unsigned long)w->start + w->size,
				 dt_tactic_name(w->tactic), w->patch, (unsigned long)label[i]);
}

static void touch(const struct dt_code *c, uint8_t **touched, uint64_t at, const char *what)
{
	for (size_t i = 0; i < c->regions; i++)
		if (at >= c->region[i].low && at < c->region[i].high) {
			if (touched[i][at - c->region[i].low]++)
				complain("the byte at %lx is changed twice (%s)", (unsigned long)at,
					 what);
			return;
		}
	complain("the byte at %lx, to be changed, is no code (%s)", (unsigned long)at, what);
}

static void emit_nothing(struct dt_emit *o, const struct dt_plan_site *s, void *ctx)
{
	dt_emit_byte(o, 0x90);
}

#define THERE 0x2aaa00400000ull /* how far the file is moved, and how far its trampolines */
#define HERE  0x2aaa00123000ull

/* What was made, moved, is what is made at the new place. */
static void check_moved(const struct dt_plan *p, size_t window, const struct dt_emit *made,
			const struct dt_trampoline *t)
{
	static const struct dt_plan_hook hook = {.emit = emit_nothing};
	bool punned = p->window[window].tactic == DT_TACTIC_PUNNED;
	uint64_t here = punned ? THERE : HERE;
	uint8_t bytes[4096];
	struct dt_emit o = {.bytes = bytes, .room = sizeof(bytes), .address = made->address + here};
	struct dt_trampoline x;
	struct dt_error e;

	if (made->fixes->pinned)
		return;
	if (dt_plan_emit(p, window, THERE, &hook, &o, &x, &e)) {
		complain("moved: %s", e.text);
		return;
	}
	for (size_t i = 0; i < made->fixes->n; i++)
		if (!dt_fix_apply(&made->fixes->fix[i], made->bytes, here, THERE))
			complain("the trampoline at %lx can not be moved",
				 (unsigned long)made->address);
	if (o.size != made->size || memcmp(o.bytes, made->bytes, o.size) != 0)
		complain("the trampoline at %lx, moved, is another one",
			 (unsigned long)made->address);
	for (unsigned k = 0; k < t->patches; k++) {
		struct dt_patch now = t->patch[k];
		uint32_t distance;

		if (now.leads) {
			memcpy(&distance, now.bytes + now.length - 4, 4);
			distance += (uint32_t)(here - THERE);
			memcpy(now.bytes + now.length - 4, &distance, 4);
		}
		if (now.address + THERE != x.patch[k].address || now.length != x.patch[k].length ||
		    memcmp(now.bytes, x.patch[k].bytes, now.length) != 0)
			complain("the change at %lx, moved, is another one",
				 (unsigned long)now.address);
	}
}

/* All bytes that are changed or relied on, each once. */
static void check_patches(const struct dt_plan *p)
{
	static const struct dt_plan_hook hook = {.emit = emit_nothing};
	const struct dt_code *c = p->code;
	uint8_t **touched = calloc(c->regions, sizeof(*touched));
	struct dt_fixes fixes = {0};
	size_t pinned = 0;

	for (size_t i = 0; i < c->regions; i++)
		touched[i] = calloc(1, c->region[i].high - c->region[i].low);
	for (size_t i = 0; i < p->windows; i++) {
		const struct dt_plan_window *w = &p->window[i];
		uint8_t bytes[4096];
		struct dt_emit o = {.bytes = bytes, .room = sizeof(bytes), .fixes = &fixes};
		struct dt_trampoline t;
		struct dt_error e;
		uint64_t from = w->start + w->patch;

		fixes.n = 0;
		fixes.pinned = false;
		o.address = w->tactic == DT_TACTIC_PUNNED ? w->at : c->high + 0x100000;
		if (dt_plan_emit(p, i, 0, &hook, &o, &t, &e)) {
			complain("%s", e.text);
			continue;
		}
		for (unsigned k = 0; k < t.patches; k++)
			for (unsigned b = 0; b < t.patch[k].length; b++)
				touch(c, touched, t.patch[k].address + b,
				      dt_tactic_name(w->tactic));
		if (w->tactic == DT_TACTIC_PUNNED)
			for (; from < w->start + w->prefixes + 5; from++)
				touch(c, touched, from, "relied on");
		pinned += fixes.pinned;
		check_moved(p, i, &o, &t);
	}
	if (pinned)
		complain("%zu trampolines can not be moved", pinned);
	free(fixes.fix);
	for (size_t i = 0; i < c->regions; i++)
		free(touched[i]);
	free(touched);
}

static void check_function(const struct dt_plan *p, size_t index, const struct dt_plan_function *x)
{
	const struct dt_code *c = p->code;
	const struct dt_code_function *f = &c->function[index];
	size_t exits = 0, entries = 0;

	if (x->refusal) {
		if (!x->why[0])
			complain("%lx is refused without a reason", (unsigned long)f->start);
		return;
	}
	for (size_t i = 0; i < c->functions; i++)
		if (c->function[i].whole == index)
			exits += c->function[i].exits;
	for (size_t i = x->first_site; i < x->first_site + x->sites; i++)
		entries += p->site[i].kind == DT_PLAN_ENTRY;
	if (entries != 1 || x->sites != exits + 1)
		complain("%lx has %zu entries and %u sites for %zu exits", (unsigned long)f->start,
			 entries, x->sites, exits);
}

int main(int argc, char **argv)
{
	struct dt_space space = {0};
	struct dt_plan_options options = {.claim = dt_space_claim, .ctx = &space, .hook = 8};
	size_t hooked = 0, functions = 0;
	struct dt_plan_function x;
	struct dt_symtab *symtab;
	struct dt_error e;
	struct dt_code *c;
	struct dt_plan p;
	bool *crowded;
	char *text;

	if (argc != 3) {
		fprintf(stderr, "usage: check-plan FILE ASSEMBLY\n");
		return 2;
	}
	symtab = dt_symtab_open(argv[1], NULL, &e);
	c = symtab ? dt_code_open(argv[1], symtab, &e) : NULL;
	if (!c || dt_plan_begin(&p, c, &options, &e) ||
	    dt_space_add(&space, c->high + 0x2000000, c->low + 0x7fff0000, &e) ||
	    (!c->low && dt_space_add(&space, c->low - 0x7fff0000, c->low - 0x2000000, &e))) {
		fprintf(stderr, "check-plan: %s\n", e.text);
		return 2;
	}
	text = read_text(argv[2]);
	read_labels(argv[1], text, c);
	free(text);
	read_jumps(c);
	crowded = calloc(c->functions + 1, sizeof(*crowded));
	if (!crowded)
		return 2;
	/* first without int3, then with the room of others, last with int3 */
	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < c->functions; i++) {
			if (c->function[i].part || (round && !crowded[i]))
				continue;
			p.options.no_traps = round < 2;
			if (round == 1)
				dt_plan_function_among(&p, i, &x);
			else
				dt_plan_function(&p, i, &x);
			crowded[i] = x.refusal == DT_REFUSED_TAKEN;
			check_function(&p, i, &x);
			functions += !round;
			hooked += !x.refusal;
		}
	free(crowded);
	check_map(c);
	for (size_t i = 0; i < p.windows; i++)
		check_window(&p, &p.window[i]);
	check_patches(&p);
	printf("%zu labels, %zu of %zu functions hooked, %zu windows, %u wrong\n", labels, hooked,
	       functions, p.windows, wrong);
	dt_plan_end(&p);
	dt_code_close(c);
	dt_symtab_close(symtab);
	dt_space_free(&space);
	free(label);
	free(jumps);
	return wrong ? 1 : 0;
}
