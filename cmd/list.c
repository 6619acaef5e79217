/* SPDX-License-Identifier: MIT */
/* devtrace list: what can be traced in a program or a process. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cmd/list-work.h"
#include "cmd/commands.h"
#include "cmd/debug-files.h"
#include "cmd/open.h"
#include "cmd/terminal.h"
#include "process/launch.h"
#include "session/client.h"
#include "process/maps.h"
#include "process/run-time.h"
#include "symbols/nameless.h"

static const char usage[] =
	"usage: devtrace list [-v] [-a] [--json] PROG|PID...\n"
	"       devtrace list [--json]\n"
	"What can be traced, one a line: module:function, or module+address for a function without "
	"a\n"
	"name; with -v its address, how (a sled, or by which kind of jump), sites\n"
	"(entries+returns+tail jumps), source and parameters, and then also the functions that can\n"
	"not be traced, with the reason. Then the events that the\n"
	"program has in itself, \"event SUBSYSTEM:EVENT\", and its USDT probes, \"usdt\n"
	"PROVIDER:NAME\"; with -v every place of each, and its arguments.\n\n"
	"  -a, --all      of a process, its libraries without sleds too\n"
	"  -v, --verbose\n"
	"      --json         JSON lines, for programs: devtrace-json(5)\n"
	"      --no-debuginfod  download no debug files (DEBUGINFOD_URLS)\n" DT_TERMINAL_HELP
	"  -h, --help\n";

/* How many functions without sleds can be hooked and how many can not; startup: start-up code. */
struct hooks {
	size_t can, can_not, startup;
	size_t found;		/* functions that are known only because they are called */
	uint64_t covered, left; /* bytes of code inside known functions, and outside */
};

const struct dt_function *dt_list_symbol(struct dt_file *file, const struct tally *f)
{
	struct dt_symtab *t = dt_file_symtab(file);
	const struct dt_function *sym = t ? dt_symtab_find(t, f->function) : NULL;

	/* it may have no name, and lie within another's size */
	return sym && f->way && sym->address != f->function ? NULL : sym;
}

unsigned dt_list_tails(const struct tally *f)
{
	return f->count[DT_ELF_TAIL] + f->count[DT_ELF_JUMP] + f->count[DT_ELF_JUMP_DIRECT];
}

static void print(struct dt_file *file, const char *module, const struct tally *f, bool verbose)
{
	struct dt_symtab *t = dt_file_symtab(file);
	const struct dt_function *sym = dt_list_symbol(file, f);
	char signature[2048] = "", nameless[DT_NAMELESS];
	const char *source = NULL;
	unsigned line = 0;

	if (!sym) {
		dt_file_nameless(file, f->function, nameless, sizeof(nameless));
		printf("%s", dt_cmd_plain(nameless));
	} else {
		printf("%s:%s", dt_cmd_plain(module), dt_cmd_plain(sym->name));
	}
	if (verbose) {
		printf("\t0x%lx\t", (unsigned long)f->function);
		if (f->way)
			printf("%s%s %u+%u+%u%s%s", f->way->hooked ? "" : "not: ", f->way->how,
			       f->count[DT_ELF_PROBE_ENTRY], f->count[DT_ELF_PROBE_RETURN],
			       f->count[DT_ELF_PROBE_TAIL],
			       f->way->startup ? ", start-up code: chosen by its exact name only"
					       : "",
			       !f->code->found	 ? ""
			       : f->code->jumped ? ", found by jumps to it"
						 : ", found by calls of it");
		else
			printf("sled %u+%u+%u", f->count[DT_ELF_ENTRY], f->count[DT_ELF_RETURN],
			       dt_list_tails(f));
		if (sym && dt_symtab_line(t, sym->address, &source, &line))
			printf("\t%s:%u", dt_cmd_plain(source), line);
		if (sym)
			dt_symtab_signature(t, sym, signature, sizeof(signature));
		if (signature[0])
			printf("\t%s", dt_cmd_plain(signature));
	}
	putchar('\n');
}

static int by_function(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

/* Lists the file's functions and returns how many were printed. way: by index of the function in
 * the file's code map; NULL: the functions have sleds. */
static size_t list_sites(struct dt_file *file, const struct dt_probe_way *way, struct hooks *hooks,
			 const struct list_form *form)
{
	const char *slash = strrchr(file->path, '/'), *module = slash ? slash + 1 : file->path;
	const struct dt_elf *elf = file->elf;
	struct dt_elf_site *site = malloc((elf->sites + 1) * sizeof(*site));
	size_t n = 0, sites = 0;

	if (!site)
		return 0;
	for (size_t i = 0; i < elf->sites; i++)
		if (elf->site[i].kind != DT_ELF_EVENT)
			site[sites++] = elf->site[i];
	qsort(site, sites, sizeof(*site), by_function);
	for (size_t i = 0; i < sites;) {
		struct tally f = {.function = site[i].function};

		for (; i < sites && site[i].function == f.function; i++)
			f.count[site[i].kind]++;
		if (way) {
			size_t of = dt_code_function_at(file->code, f.function);

			if (of == file->code->functions)
				continue;
			f.way = &way[of];
			f.code = &file->code->function[of];
			*(f.way->startup  ? &hooks->startup
			  : f.way->hooked ? &hooks->can
					  : &hooks->can_not) += 1;
			if ((!f.way->hooked || f.way->startup) && !form->verbose)
				continue;
		}
		if (form->json)
			dt_list_json_function(form, file, &f);
		else
			print(file, module, &f, form->verbose);
		n++;
	}
	free(site);
	return n;
}

/* Lists the functions that have sleds, or, with `probes' and in a file without sleds, those that
 * can be hooked by probes. */
static size_t list_file(struct dt_file *file, bool probes, struct hooks *hooks,
			const struct list_form *form)
{
	struct dt_probe_way *way;
	struct dt_error e;
	size_t n;

	if (file->elf->sleds)
		return list_sites(file, NULL, hooks, form);
	if (!probes)
		return 0;
	way = dt_file_probes(file, &e) == 0 ? dt_file_probe_ways(file, &e) : NULL;
	if (!way) {
		fprintf(stderr, "devtrace: %s\n", e.text);
		return 0;
	}
	n = list_sites(file, way, hooks, form);
	hooks->found += file->code->found;
	hooks->covered += file->code->covered;
	hooks->left += file->code->left;
	free(way);
	return n;
}

static void say_hooks(const char *of, const struct hooks *h)
{
	fflush(stdout); /* so that this is the last line if stdout and stderr are one file */
	if (!(h->can + h->can_not + h->startup) || !(h->covered + h->left))
		return;
	fprintf(stderr, "devtrace: %s: %zu function%s without sleds can be traced, %zu can not%s",
		of, h->can, h->can == 1 ? "" : "s", h->can_not, h->can_not ? " (-v says why)" : "");
	if (h->startup)
		fprintf(stderr, "; %zu of start-up code only by their exact names", h->startup);
	/* not rounded up: 100 % is all of it */
	fprintf(stderr, "; known functions are %.1f %% of the code",
		(double)(h->covered * 1000 / (h->covered + h->left)) / 10);
	if (h->found)
		fprintf(stderr, ", and %zu of them were found by calls only", h->found);
	fputc('\n', stderr);
}

/* --- events and probes */

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
		printf("%s%s", i ? ", " : "\t", dt_cmd_plain(line));
	}
	if (n > DT_USDT_ARGUMENTS)
		printf(", %zu more", n - DT_USDT_ARGUMENTS);
}

static void print_place(const char *module, struct dt_symtab *t, const struct place *p)
{
	const struct dt_function *f = t ? dt_symtab_find(t, p->address) : NULL;

	printf("\t0x%lx\t%s%s%s", (unsigned long)p->address, dt_cmd_plain(module), f ? ":" : "",
	       f ? dt_cmd_plain(f->name) : "");
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

/* Lists the events and USDT probes: each name once, or with -v each place. */
static size_t list_places(const char *path, struct dt_elf *elf, struct dt_symtab *t,
			  const struct list_form *form)
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
		fprintf(stderr, "devtrace: %s\n", e.text);
	for (size_t i = 0; i < usdt.n; i++) {
		const struct dt_usdt_probe *p = &usdt.probe[i];
		const struct dt_elf_site *s = dt_elf_site_at(elf, p->address);

		/* devtrace's own events have such notes, too, for other tools */
		if (!s || s->kind != DT_ELF_EVENT)
			add_place(&l, &(struct place){.address = p->address, .probe = p}, "usdt",
				  p->provider, p->name);
	}
	if (l.n)
		qsort(l.p, l.n, sizeof(*l.p), by_name);
	for (size_t i = 0; i < l.n; i++) {
		if (!form->verbose && i && !strcmp(l.p[i].name, l.p[i - 1].name))
			continue;
		if (form->json) {
			dt_list_json_place(form, path, t, &l.p[i]);
			continue;
		}
		fputs(dt_cmd_plain(l.p[i].name), stdout);
		if (form->verbose)
			print_place(module, t, &l.p[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < l.n; i++)
		free(l.p[i].name);
	free(l.p);
	dt_usdt_free(&usdt);
	return l.n;
}

/* Says whether this is the file that the process executes. It is compared by name, too, because on
 * some file systems stat() and /proc/PID/maps give different device numbers. */
static bool is_program(pid_t pid, const struct dt_file *f)
{
	char link[64], path[4200];
	struct stat st;
	ssize_t n;

	dt_format(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	return strcmp(path, f->path) == 0 ||
	       (stat(link, &st) == 0 && st.st_ino == f->inode && major(st.st_dev) == f->dev_major &&
		minor(st.st_dev) == f->dev_minor);
}

/* A process or program to be listed, before any of its files is opened. */
struct listed {
	const char *name;    /* as the user named it */
	pid_t pid;	     /* 0: it is a program's file, */
	char *path;	     /* at this path; NULL: it was not found */
	struct dt_maps maps; /* of the process */
	int jit[2]; /* its files about code made at run time, by enum dt_jit_kind; -1: none */
	struct dt_files files;
};

static bool is_code(const struct dt_mapping *m)
{
	return m->exec && m->inode && m->path[0] == '/';
}

static int find_process(struct listed *l)
{
	struct dt_error e;

	if (dt_maps_read(l->pid, &l->maps, &e) < 0) {
		fprintf(stderr, "devtrace: %s\n", e.text);
		return 1;
	}
	l->jit[DT_JIT_MAP] = dt_run_time_map(l->pid);
	l->jit[DT_JIT_DUMP] = dt_run_time_dump(l->pid, &l->maps);
	for (size_t i = 0; i < l->maps.n; i++) {
		struct dt_file *f = is_code(&l->maps.map[i])
					    ? dt_file_noted(&l->files, l->pid, &l->maps.map[i])
					    : NULL;

		if (f)
			f->program = is_program(l->pid, f);
	}
	return 0;
}

/* Lists the functions of code that the process makes at run time. */
static void list_jit(struct listed *l, const struct list_form *form)
{
	static const char *const file[] = {"perf-%d.map", "jit-%d.dump"};

	for (int i = 0; i < 2; i++) {
		struct dt_jit *jit = l->jit[i] >= 0 ? dt_jit_new((enum dt_jit_kind)i) : NULL;
		const struct dt_jit_code *code = NULL;
		char name[64];
		size_t n = 0;

		dt_format(name, sizeof(name), file[i], l->pid);
		if (jit && dt_jit_read(jit, l->jit[i]))
			code = dt_jit_all(jit, &n);
		for (size_t k = 0; form->verbose && k < n; k++)
			if (form->json)
				dt_list_json_run_time(form, name, &code[k]);
			else
				printf("%s:%s\t0x%lx\tnot: made at run time: not hooked\n", name,
				       dt_cmd_plain(code[k].name), (unsigned long)code[k].low);
		fflush(stdout);
		if (n)
			fprintf(stderr,
				"devtrace: process %d: %s names code made at run time: %zu "
				"functions, which are not hooked%s\n",
				l->pid, name, n, form->verbose ? "" : " (-v lists them)");
		if (jit && dt_jit_unread(jit))
			fprintf(stderr,
				"devtrace: %s: %zu lines or records were not understood, or "
				"too many\n",
				name, dt_jit_unread(jit));
		dt_jit_free(jit);
		if (l->jit[i] >= 0)
			close(l->jit[i]);
	}
}

static int list_process(struct listed *l, bool all, const struct list_form *form)
{
	struct hooks hooks = {0};
	char name[32];
	size_t n = 0;

	for (size_t i = 0; i < l->maps.n; i++) {
		const struct dt_mapping *m = &l->maps.map[i];
		struct dt_file *f = is_code(m) ? dt_file_of(&l->files, l->pid, m) : NULL;

		if (f && f->elf && !f->chosen) {
			f->chosen = calloc(1, 1); /* marks the file: each is listed once */
			n += list_file(f, all || f->program, &hooks, form);
			n += list_places(f->path, f->elf, dt_file_symtab(f), form);
		}
	}
	list_jit(l, form);
	dt_format(name, sizeof(name), "process %d", l->pid);
	say_hooks(name, &hooks);
	if (n == 0 && !hooks.can_not)
		fprintf(stderr, "devtrace: process %d has no functions that could be traced%s\n",
			l->pid, all ? "" : "; its libraries: -a");
	return n == 0;
}

static int list_program(const char *name, const struct list_form *form)
{
	struct dt_error e;
	bool sleds;
	char *path = dt_launch_find(name, false, &sleds, &e);
	struct dt_files files = {NULL};
	struct dt_file *f = calloc(1, sizeof(*f));
	struct hooks hooks = {0};
	size_t n = 0;

	if (!f) {
		fprintf(stderr, "devtrace: out of memory\n");
		free(path);
		return 1;
	}
	files.first = f;
	/* a library is not executable, but can be listed */
	f->elf = dt_elf_open(path ? path : name, path ? &e : NULL);
	if (f->elf) {
		f->path = strdup(f->elf->path);
		f->readable = strdup(f->elf->path);
	}
	if (!f->elf) {
		fprintf(stderr, "devtrace: %s\n", e.text);
	} else if (f->path && f->readable) {
		n = list_file(f, true, &hooks, form);
		n += list_places(f->path, f->elf, dt_file_symtab(f), form);
		if (f->elf->bad_sites)
			fprintf(stderr, "devtrace: %zu table entries without a sled left out\n",
				f->elf->bad_sites);
		/* opening it again gives the reason why there are no names */
		if (f->no_symtab && !dt_symtab_open(f->readable, NULL, &e))
			fprintf(stderr, "devtrace: %s\n", e.text);
		say_hooks(name, &hooks);
		if (!n && !hooks.can_not)
			fprintf(stderr, "devtrace: %s: no function in it can be traced\n", name);
	}
	dt_files_free(&files);
	free(path);
	return n == 0;
}

/* The sessions that are being listed. */
struct sessions {
	bool json;
	size_t n;
};

static void print_session(void *ctx, const char *name)
{
	struct sessions *s = ctx;
	struct dt_client c;

	if (dt_client_open(&c, name, NULL) < 0)
		return;
	dt_client_hurry(&c);
	if (dt_client_ask(&c, "status", NULL) == 0) {
		char *line, *save = NULL;

		if (s->json) {
			dt_list_json_session(name, c.text);
		} else {
			printf("%s", dt_cmd_plain(name));
			for (line = strtok_r(c.text, "\n", &save); line;
			     line = strtok_r(NULL, "\n", &save))
				printf("\t%s", dt_cmd_plain(line));
			putchar('\n');
		}
		s->n++;
	} else if (c.late) {
		fprintf(stderr,
			"devtrace: session '%s' does not answer: it is about to end, or stopped\n",
			dt_cmd_plain(name));
		s->n++;
	}
	dt_client_close(&c);
}

static int list_sessions(bool json)
{
	struct sessions s = {.json = json};
	struct dt_error e;

	if (dt_sessions_each(print_session, &s, &e) < 0) {
		fprintf(stderr, "devtrace: %s\n", e.text);
		return 1;
	}
	if (!s.n)
		fprintf(stderr, "devtrace: no session runs; name a program or process to see what "
				"can be traced there\n");
	return 0;
}

/* Finds a process's files or a program's path, and adds it to the needs. Returns 0, or the exit
 * status. */
static int find(struct listed *l, struct dt_needs *needs)
{
	if (strspn(l->name, "0123456789") == strlen(l->name)) {
		l->pid = (pid_t)atoi(l->name);
		return find_process(l);
	}
	l->path = dt_launch_search(l->name);
	dt_needs_add(needs, DT_NEED_READ, l->path ? l->path : l->name);
	return 0;
}

static int list_all(char **name, size_t n, bool all, const struct list_form *of, bool no_debuginfod)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct listed *l = calloc(n, sizeof(*l));
	int status = 0;

	if (!l)
		return dt_cmd_fail("out of memory");
	for (size_t i = 0; i < n; i++) {
		l[i].name = name[i];
		status |= find(&l[i], &needs);
	}
	dt_cmd_debug_files(no_debuginfod);
	if (dt_cmd_confine(&needs))
		return 1;
	for (size_t i = 0; i < n; i++) {
		struct list_form form = *of;

		form.pid = l[i].pid;
		if (!l[i].pid)
			status |= list_program(name[i], &form);
		else if (l[i].maps.n)
			status |= list_process(&l[i], all, &form);
		dt_maps_free(&l[i].maps);
		dt_files_free(&l[i].files);
		free(l[i].path);
	}
	free(l);
	return status;
}

int dt_cmd_list(int argc, char **argv)
{
	static const struct option longs[] = {{"all", no_argument, NULL, 'a'},
					      {"verbose", no_argument, NULL, 'v'},
					      {"no-debuginfod", no_argument, NULL, 1},
					      {"json", no_argument, NULL, 2},
					      DT_TERMINAL_LONG,
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	struct dt_terminal terminal = {0};
	struct list_form form = {0};
	bool all = false, no_debuginfod = false;
	int opt, status = -1;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "avh", longs, NULL)) != -1) {
		switch (opt) {
		case 'a':
			all = true;
			break;
		case 'v':
			form.verbose = true;
			break;
		case 1:
			no_debuginfod = true;
			break;
		case 2:
			form.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			if (!dt_terminal_option(&terminal, opt, &status))
				return dt_cmd_usage("list");
			if (status >= 0)
				return status;
		}
	}
	dt_terminal_listing(&terminal, !form.json);
	return optind == argc ? list_sessions(form.json)
			      : list_all(argv + optind, (size_t)(argc - optind), all, &form,
					 no_debuginfod);
}
