/* SPDX-License-Identifier: MIT */
/* devtrace list: what can be traced in a program or a process. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "process/launch.h"
#include "session/client.h"
#include "process/maps.h"
#include "process/module.h"
#include "process/usdt.h"

static const char usage[] =
	"usage: devtrace list [-v] PROG|PID...\n"
	"What can be traced, one a line: module:function, and with -v its address, sites\n"
	"(entries, returns, tail jumps), source and parameters. Then the events that the\n"
	"program has in itself, \"event SUBSYSTEM:EVENT\", and its USDT probes, which can not be\n"
	"traced yet, \"usdt PROVIDER:NAME\"; with -v every place of each, and its arguments.\n";

/* What one function has; sites are sorted by address, so a function's stand together. */
struct tally {
	uint64_t function;
	unsigned count[DT_ELF_KINDS];
};

static void print(const char *module, struct dt_symtab *t, const struct tally *f, bool verbose)
{
	const struct dt_function *sym = t ? dt_symtab_find(t, f->function) : NULL;
	char signature[2048] = "";
	const char *file = NULL;
	unsigned line = 0;

	if (!sym) {
		printf("%s:0x%lx", module, (unsigned long)f->function);
	} else {
		printf("%s:%s", module, sym->name);
	}
	if (verbose) {
		printf("\t0x%lx\tsled %u+%u+%u", (unsigned long)f->function, f->count[DT_ELF_ENTRY],
		       f->count[DT_ELF_RETURN], f->count[DT_ELF_TAIL]);
		if (sym && dt_symtab_line(t, sym->address, &file, &line))
			printf("\t%s:%u", file, line);
		if (sym)
			dt_symtab_signature(t, sym, signature, sizeof(signature));
		if (signature[0])
			printf("\t%s", signature);
	}
	putchar('\n');
}

static int by_function(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

static size_t list_file(const char *module, const struct dt_elf *elf, struct dt_symtab *t,
			bool verbose)
{
	struct dt_elf_site *site;
	size_t n = 0, i = 0;
	const char *slash = strrchr(module, '/');

	if (!elf->sites)
		return 0;
	site = malloc(elf->sites * sizeof(*site));
	if (!site)
		return 0;
	memcpy(site, elf->site, elf->sites * sizeof(*site));
	qsort(site, elf->sites, sizeof(*site), by_function);
	while (i < elf->sites) {
		if (site[i].kind == DT_ELF_EVENT) {
			i++;
			continue;
		}
		struct tally f = {.function = site[i].function};

		for (; i < elf->sites && site[i].function == f.function &&
		       site[i].kind != DT_ELF_EVENT;
		     i++)
			f.count[site[i].kind]++;
		print(slash ? slash + 1 : module, t, &f, verbose);
		n++;
	}
	free(site);
	return n;
}

/* --- events and probes */

struct place {
	char *name; /* "event net:send", as it is printed and sorted */
	uint64_t address;
	const struct dt_elf_event *event;    /* one of the two */
	const struct dt_usdt_probe *probe;
};

struct places {
	struct place *p;
	size_t n, room;
};

static void add_place(struct places *l, const struct place *place, const char *kind, const char *a,
		      const char *b)
{
	size_t size = strlen(kind) + strlen(a) + strlen(b) + 3;

	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct place *more = realloc(l->p, room * sizeof(*more));

		if (!more)
			return;
		l->p = more;
		l->room = room;
	}
	l->p[l->n] = *place;
	l->p[l->n].name = malloc(size);
	if (l->p[l->n].name)
		dt_format(l->p[l->n++].name, size, "%s %s:%s", kind, a, b);
}

static int by_name(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : x->address < y->address ? -1 : x->address > y->address;
}

static void print_arguments(const char *text)
{
	struct dt_operand o[DT_USDT_ARGUMENTS];
	size_t n = dt_usdt_arguments(text, o, DT_USDT_ARGUMENTS);
	char line[128];

	for (size_t i = 0; i < n && i < DT_USDT_ARGUMENTS; i++) {
		dt_usdt_operand_text(line, sizeof(line), &o[i]);
		printf("%s%s", i ? ", " : "\t", line);
	}
	if (n > DT_USDT_ARGUMENTS)
		printf(", %zu more", n - DT_USDT_ARGUMENTS);
}

static void print_place(const char *module, struct dt_symtab *t, const struct place *p)
{
	const struct dt_function *f = t ? dt_symtab_find(t, p->address) : NULL;

	printf("\t0x%lx\t%s%s%s", (unsigned long)p->address, module, f ? ":" : "", f ? f->name : "");
	if (p->event && !(p->event->flags & DT_EVENT_FREE))
		printf("\t%u:%u", p->event->subsystem, p->event->event);
	if (p->event && p->event->flags & DT_EVENT_TEXT)
		printf("\ttext");
	else if (p->event)
		printf("\t%u value%s", p->event->values, p->event->values == 1 ? "" : "s");
	if (p->probe && p->probe->semaphore)
		printf("\tsemaphore 0x%lx", (unsigned long)p->probe->semaphore);
	if (p->probe)
		print_arguments(p->probe->arguments);
}

/* Each name once, or with -v each place. */
static size_t list_places(const char *path, struct dt_elf *elf, struct dt_symtab *t, bool verbose)
{
	const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : path;
	struct places l = {0};
	struct dt_usdt usdt = {0};
	struct dt_error e;

	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		const struct dt_elf_event *v = elf->event + s->event;

		if (s->kind == DT_ELF_EVENT && v->kind)
			add_place(&l, &(struct place){.address = s->address, .event = v}, "event",
				  v->subsystem_name, v->event_name);
	}
	if (dt_usdt_read(elf, &usdt, &e))
		fprintf(stderr, "devtrace list: %s\n", e.text);
	for (size_t i = 0; i < usdt.n; i++) {
		const struct dt_usdt_probe *p = &usdt.probe[i];
		const struct dt_elf_site *s = dt_elf_site_at(elf, p->address);

		/* our own have notes too, for other tools */
		if (!s || s->kind != DT_ELF_EVENT)
			add_place(&l, &(struct place){.address = p->address, .probe = p}, "usdt",
				  p->provider, p->name);
	}
	if (l.n)
		qsort(l.p, l.n, sizeof(*l.p), by_name);
	for (size_t i = 0; i < l.n; i++) {
		if (!verbose && i && !strcmp(l.p[i].name, l.p[i - 1].name))
			continue;
		fputs(l.p[i].name, stdout);
		if (verbose)
			print_place(module, t, &l.p[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < l.n; i++)
		free(l.p[i].name);
	free(l.p);
	dt_usdt_free(&usdt);
	return l.n;
}

static int list_process(pid_t pid, bool verbose)
{
	struct dt_files files = {NULL};
	struct dt_maps maps;
	struct dt_error e;
	size_t n = 0;

	if (dt_maps_read(pid, &maps, &e) < 0) {
		fprintf(stderr, "devtrace list: %s\n", e.text);
		return 1;
	}
	for (size_t i = 0; i < maps.n; i++) {
		const struct dt_mapping *m = &maps.map[i];
		struct dt_file *f;

		if (!m->exec || !m->inode || m->path[0] != '/')
			continue;
		f = dt_file_of(&files, pid, m);
		if (f && f->elf && !f->chosen) {
			f->chosen = calloc(1, 1); /* each file once */
			n += list_file(f->path, f->elf, dt_file_symtab(f), verbose);
			n += list_places(f->path, f->elf, dt_file_symtab(f), verbose);
		}
	}
	dt_maps_free(&maps);
	dt_files_free(&files);
	if (n == 0) {
		fprintf(stderr, "devtrace list: process %d has no sleds; build its program with "
				"CFLAGS=\"$(pkg-config --cflags devtrace)\"\n",
			pid);
		return 1;
	}
	return 0;
}

static int list_program(const char *name, bool verbose)
{
	struct dt_error e;
	bool sleds;
	char *path = dt_launch_find(name, false, &sleds, &e);
	struct dt_elf *elf = NULL;
	struct dt_symtab *t;
	int status = 1;

	/* a library is not executable, but can be listed */
	elf = dt_elf_open(path ? path : name, path ? &e : NULL);
	if (!elf) {
		fprintf(stderr, "devtrace list: %s\n", e.text);
	} else {
		size_t n;

		t = dt_symtab_open(elf->path, NULL, NULL);
		n = list_file(elf->path, elf, t, verbose);
		n += list_places(elf->path, elf, t, verbose);
		if (t)
			dt_symtab_close(t);
		if (elf->bad_sites)
			fprintf(stderr, "devtrace list: %zu table entries without a sled left out\n",
				elf->bad_sites);
		if (!n)
			fprintf(stderr, "devtrace list: %s: has no sleds; build it with "
					"CFLAGS=\"$(pkg-config --cflags devtrace)\"\n",
				name);
		status = n == 0;
	}
	if (elf)
		dt_elf_close(elf);
	free(path);
	return status;
}

static void print_session(void *ctx, const char *name)
{
	size_t *n = ctx;
	struct dt_client c;

	if (dt_client_open(&c, name, NULL) < 0)
		return;
	if (dt_client_ask(&c, "status", NULL) == 0) {
		char *line, *save = NULL;

		printf("%s", name);
		for (line = strtok_r(c.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			printf("\t%s", line);
		putchar('\n');
		++*n;
	}
	dt_client_close(&c);
}

static int list_sessions(void)
{
	struct dt_error e;
	size_t n = 0;

	if (dt_sessions_each(print_session, &n, &e) < 0) {
		fprintf(stderr, "devtrace list: %s\n", e.text);
		return 1;
	}
	if (!n)
		fprintf(stderr, "devtrace list: no session runs; name a program or process to see what "
				"can be traced there\n");
	return 0;
}

int dt_cmd_list(int argc, char **argv)
{
	static const struct option longs[] = {
		{"verbose", no_argument, NULL, 'v'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	bool verbose = false;
	int opt, status = 0;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'v':
			verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc)
		return list_sessions();
	for (; optind < argc; optind++) {
		const char *a = argv[optind];

		if (strspn(a, "0123456789") == strlen(a))
			status |= list_process((pid_t)atoi(a), verbose);
		else
			status |= list_program(a, verbose);
	}
	return status;
}
