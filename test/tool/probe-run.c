/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with probes on all functions of itself and all its libraries, each counting, and
 * says where a function was entered and left a different number of times.
 * usage: probe-run [-o FILE] [-m MODULE] [-x] [-t] PROG [ARG...]
 *   -o FILE    where to write to, instead of standard error
 *   -m MODULE  only files whose path contains this (more than once: any of these)
 *   -x         do not compare entries with exits: the program leaves functions in other ways
 *   -t         hook every site by int3 where that is possible: only what is moved is tested
 *
 * The exit status is the program's, 128 + N when it died of signal N, or 125 when probes could not
 * be set. The planner (arch/plan.h) is put to the test here as a whole: what it plans is
 * done to a real process and must change nothing. The program is stopped at its first instruction,
 * when its libraries are there and no thread is; int3 is served from here.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/space.h"
#include "symbols/symtab.h"
#include "symbols/code.h"

#define MODULES 64
#define PAGE	4096ull
#define REACH	0x60000000ull /* of the file's ends, for punned jumps, */
#define BESIDE	0x18000000ull /* for all other trampolines, and the counters */

struct module {
	char path[PATH_MAX];
	uint64_t bias, low, high; /* as mapped */
	struct dt_symtab *symtab;
	struct dt_code *code;
	struct dt_plan plan;
	struct dt_plan_function *result;
	uint64_t area, area_size; /* trampolines, then counters, run-time addresses */
	uint64_t counters;
};

struct stop { /* an int3 and where it leads */
	uint64_t from, to;
};

static struct module *module;
static size_t modules;
static struct dt_space space; /* what is free in the process */
static struct stop *stops;
static size_t n_stops, stop_room;
static pid_t pid;
static int mem = -1;
static FILE *out;
static const char *only[8];
static size_t onlies;
static bool compare = true, traps;
static uint64_t patched;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "probe-run: ");
	vfprintf(stderr, format, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	if (pid > 0)
		kill(pid, SIGKILL);
	exit(125);
}

static void write_memory(uint64_t at, const void *bytes, size_t n)
{
	if (pwrite(mem, bytes, n, (off_t)at) != (ssize_t)n)
		die("cannot write to 0x%lx: %s", (unsigned long)at, strerror(errno));
}

/* --- the process before it runs */

static uint64_t auxv(uint64_t type)
{
	char path[64];
	Elf64_auxv_t a;
	uint64_t value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	f = fopen(path, "r");
	while (f && fread(&a, sizeof(a), 1, f) == 1)
		if (a.a_type == type)
			value = a.a_un.a_val;
	if (f)
		fclose(f);
	return value;
}

static void wait_stop(int signal)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != signal)
		die("the program did not stop where it should (0x%x)", status);
}

/* Starts it and runs it to its first own instruction. */
static void start(char **argv)
{
	static const uint8_t int3 = 0xcc;
	struct user_regs_struct r;
	uint64_t entry;
	uint8_t old;
	char path[64];

	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		fprintf(stderr, "probe-run: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	wait_stop(SIGTRAP);
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		die("%s: %s", path, strerror(errno));
	entry = auxv(AT_ENTRY);
	if (pread(mem, &old, 1, (off_t)entry) != 1)
		die("the program cannot be read");
	write_memory(entry, &int3, 1);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	wait_stop(SIGTRAP);
	write_memory(entry, &old, 1);
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	r.rip = entry;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
}

/* mmap() in the process, which is stopped at its entry. */
static void map(uint64_t at, uint64_t size)
{
	struct user_regs_struct r, old;
	uint8_t code[2] = {0x0f, 0x05}, kept[2];

	ptrace(PTRACE_GETREGS, pid, NULL, &old);
	r = old;
	if (pread(mem, kept, 2, (off_t)old.rip) != 2)
		die("the program cannot be read");
	write_memory(old.rip, code, 2);
	r.rax = SYS_mmap;
	r.rdi = at;
	r.rsi = size;
	r.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
	r.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	r.r8 = (uint64_t)-1;
	r.r9 = 0;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
	ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
	wait_stop(SIGTRAP);
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	write_memory(old.rip, kept, 2);
	ptrace(PTRACE_SETREGS, pid, NULL, &old);
	if (r.rax != at)
		die("mmap at 0x%lx in the program: %ld", (unsigned long)at, (long)r.rax);
}

/* --- its files */

static bool wanted(const char *path)
{
	for (size_t i = 0; i < onlies; i++)
		if (strstr(path, only[i]))
			return true;
	return !onlies;
}

/* Reads /proc/PID/maps: files, and what is free between them. */
static void read_maps(void)
{
	char path[64], line[PATH_MAX + 128], name[PATH_MAX];
	uint64_t low, high, last = 0x10000;
	struct dt_error e;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t offset;

		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095[^\n]", &low, &high, &offset, name) <
		    3)
			continue;
		/* room for the heap behind the program, for stacks in front of theirs */
		if (low > last + 0x4000000 && low < 0x7fffffffffff)
			dt_space_add(&space, last + 0x2000000, low - 0x2000000, &e);
		last = high;
		if (name[0] != '/' || !wanted(name))
			continue;
		if (modules && !strcmp(module[modules - 1].path, name)) {
			module[modules - 1].high = high;
			continue;
		}
		if (modules == MODULES || offset)
			continue;
		snprintf(module[modules].path, sizeof(module[modules].path), "%s", name);
		module[modules].low = low;
		module[modules++].high = high;
	}
	if (f)
		fclose(f);
}

static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	struct module *m = ctx;

	low += m->bias;
	high += m->bias;
	/* the counters must be in reach from there */
	if (low + REACH < m->high || high > m->low + REACH)
		return false;
	if (!dt_space_claim(&space, low, high, size, at))
		return false;
	*at -= m->bias;
	return true;
}

/* Makes every window an int3 on its first instruction, where it is as good. */
static bool plan_module(struct module *m, struct dt_error *e)
{
	struct dt_plan_options options = {.claim = claim, .ctx = m, .hook = 40, .no_traps = true};
	uint64_t size;

	m->symtab = dt_symtab_open(m->path, NULL, NULL);
	m->code = dt_code_open(m->path, m->symtab, e);
	if (!m->code)
		return false;
	m->bias = m->low - (m->code->low & ~(PAGE - 1));
	m->result = calloc(m->code->functions + 1, sizeof(*m->result));
	if (!m->result || dt_plan_begin(&m->plan, m->code, &options, e))
		return false;
	for (size_t i = 0; i < m->code->functions; i++)
		if (!m->code->function[i].part)
			dt_plan_function(&m->plan, i, &m->result[i]);
	/* then with the room of others, and last by an int3 */
	for (size_t i = 0; i < m->code->functions; i++)
		if (m->result[i].refusal == DT_REFUSED_TAKEN)
			dt_plan_function_among(&m->plan, i, &m->result[i]);
	m->plan.options.no_traps = false;
	for (size_t i = 0; i < m->code->functions; i++)
		if (m->result[i].refusal == DT_REFUSED_TAKEN)
			dt_plan_function(&m->plan, i, &m->result[i]);
	/* trampolines, then two counters a function */
	size = m->plan.windows * 400 + m->code->functions * 16 + 2 * PAGE;
	size = (size + PAGE - 1) & ~(PAGE - 1);
	if (!dt_space_claim(&space, m->high > BESIDE ? m->high - BESIDE : 0x10000, m->low + BESIDE,
			    size + PAGE, &m->area)) {
		dt_fail(e, "no room near %s", m->path);
		return false;
	}
	m->area = (m->area + PAGE - 1) & ~(PAGE - 1);
	m->area_size = size;
	m->counters = m->area + size - m->code->functions * 16 - 16;
	m->counters &= ~15ull;
	return true;
}

/* Adds one to a counter and changes nothing else. */
static void emit_count(struct dt_emit *o, const struct dt_plan_site *s, void *ctx)
{
	struct module *m = ctx;
	uint64_t counter = m->counters + 16 * s->function + 8 * (s->kind != DT_PLAN_ENTRY);

	dt_emit_bytes(o, "\x48\x8d\x64\x24\x80\x9c\xf0\x48\xff\x05", 10);
	dt_emit_u32(o, (uint32_t)(counter - dt_emit_here(o) - 4));
	dt_emit_bytes(o, "\x9d\x48\x8d\xa4\x24\x80\0\0\0", 9);
}

static void add_stop(uint64_t from, uint64_t to)
{
	if (n_stops == stop_room) {
		stop_room = stop_room ? 2 * stop_room : 256;
		stops = realloc(stops, stop_room * sizeof(*stops));
		if (!stops)
			die("out of memory");
	}
	stops[n_stops++] = (struct stop){from, to};
}

static bool is_mapped(const uint64_t *pages, size_t n, uint64_t page)
{
	for (size_t i = 0; i < n; i++)
		if (pages[i] == page)
			return true;
	return false;
}

static void write_module(struct module *m)
{
	const struct dt_plan_hook hook = {emit_count, m};
	uint8_t *image = calloc(1, m->area_size), one[4096];
	/* of all modules: two of them can have punned jumps to one page */
	static uint64_t pages[4096];
	static size_t n_pages;
	struct dt_emit near = {.bytes = image, .room = m->area_size, .address = m->area};
	struct dt_error e;

	if (!image)
		die("out of memory");
	map(m->area, m->area_size);
	for (size_t i = 0; i < m->plan.windows; i++) {
		const struct dt_plan_window *w = &m->plan.window[i];
		bool punned = w->tactic == DT_TACTIC_PUNNED;
		struct dt_emit far = {
			.bytes = one, .room = sizeof(one), .address = w->at + m->bias};
		struct dt_trampoline t;

		if (dt_plan_emit(&m->plan, i, m->bias, &hook, punned ? &far : &near, &t, &e))
			die("%s: %s", m->path, e.text);
		if (near.size > m->counters - m->area || far.size > sizeof(one))
			die("%s: a trampoline is too long", m->path);
		for (uint64_t at = (w->at + m->bias) & ~(PAGE - 1);
		     punned && at < w->at + m->bias + far.size; at += PAGE)
			if (!is_mapped(pages, n_pages, at)) {
				if (n_pages == 4096)
					die("too many punned jumps");
				map(at, PAGE);
				pages[n_pages++] = at;
			}
		if (punned)
			write_memory(w->at + m->bias, one, far.size);
		if (w->tactic == DT_TACTIC_TRAP ||
		    (traps && !w->retargets && w->tactic != DT_TACTIC_INNER)) {
			static const uint8_t int3 = 0xcc;

			add_stop(w->start + m->bias, t.address);
			write_memory(w->start + m->bias, &int3, 1);
			patched++;
			continue;
		}
		for (unsigned k = 0; k < t.patches; k++)
			write_memory(t.patch[k].address, t.patch[k].bytes, t.patch[k].length);
		patched += t.patches;
	}
	write_memory(m->area, image, near.size);
	free(image);
}

/* --- while it runs */

static int by_from(const void *a, const void *b)
{
	const struct stop *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Was it one of ours? Then the thread goes on in the trampoline. */
static bool serve(pid_t tid)
{
	struct user_regs_struct r;
	struct stop key, *s;
	siginfo_t info;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &r) || ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) ||
	    info.si_code != SI_KERNEL)
		return false;
	key.from = r.rip - 1;
	s = n_stops ? bsearch(&key, stops, n_stops, sizeof(*stops), by_from) : NULL;
	if (!s)
		return false;
	r.rip = s->to;
	return !ptrace(PTRACE_SETREGS, tid, NULL, &r);
}

/* Is it jumped into, not to its start, by a function of its own (libc's wmemset ends in memset)? */
static bool is_shared(const struct dt_code *c, const struct dt_code_function *f)
{
	for (size_t k = 0; k < c->functions; k++) {
		const struct dt_code_function *g = &c->function[k];

		if (g->whole == f->whole)
			continue;
		for (size_t i = g->first_link; i < g->first_link + g->links; i++)
			if (c->link[i].to > f->start && c->link[i].to < f->end)
				return true;
	}
	return false;
}

static void report(void)
{
	uint64_t calls = 0, functions = 0, differ = 0;

	for (size_t i = 0; i < modules; i++) {
		struct module *m = &module[i];
		uint64_t n[2];

		if (!m->code)
			continue;
		for (size_t k = 0; k < m->code->functions; k++) {
			const struct dt_code_function *f = &m->code->function[k];

			if (pread(mem, n, sizeof(n), (off_t)(m->counters + 16 * k)) != sizeof(n))
				break;
			calls += n[0];
			functions += n[0] > 0;
			if (!compare || n[0] == n[1] || f->falls || m->result[k].loops ||
			    is_shared(m->code, f))
				continue;
			differ++;
			fprintf(out, "differ %s %s %lx: %lu entries, %lu exits\n",
				strrchr(m->path, '/') + 1, f->name ? f->name : "?",
				(unsigned long)f->start, (unsigned long)n[0], (unsigned long)n[1]);
		}
	}
	fprintf(out, "%lu calls of %lu functions, %lu differ; %lu patches, %zu int3\n",
		(unsigned long)calls, (unsigned long)functions, (unsigned long)differ,
		(unsigned long)patched, n_stops);
}

/* For whoever looks for the cause: which window was it in? */
static void say_where(pid_t tid, int signal)
{
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, tid, NULL, &r);
	fprintf(out, "signal %d at 0x%llx", signal, r.rip);
	for (size_t i = 0; i < modules; i++) {
		const struct module *m = &module[i];

		if (r.rip >= m->area && r.rip < m->area + m->area_size)
			fprintf(out, ": trampolines of %s + 0x%llx", m->path, r.rip - m->area);
		else if (r.rip >= m->low && r.rip < m->high)
			fprintf(out, ": %s + 0x%llx", m->path, r.rip - m->bias);
	}
	fprintf(out, "\n");
}

/* Serves int3 until the program has ended; its exit status. */
static int serve_all(void)
{
	int status, ret = 125;
	pid_t tid;

	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		int signal = 0;

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (tid == pid)
				ret = WIFEXITED(status) ? WEXITSTATUS(status)
							: 128 + WTERMSIG(status);
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_EXIT && tid == pid)
			report();
		if (status >> 16)
			signal = 0;
		else if (WSTOPSIG(status) == SIGTRAP)
			signal = serve(tid) ? 0 : SIGTRAP;
		else if (WSTOPSIG(status) != SIGSTOP)
			signal = WSTOPSIG(status);
		if (signal == SIGSEGV || signal == SIGILL || signal == SIGBUS)
			say_where(tid, signal);
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct dt_error e;
	int c;

	out = stderr;
	while ((c = getopt(argc, argv, "+o:m:xt")) != -1)
		switch (c) {
		case 'o':
			out = fopen(optarg, "w");
			if (!out)
				die("%s: %s", optarg, strerror(errno));
			break;
		case 'm':
			if (onlies < sizeof(only) / sizeof(*only))
				only[onlies++] = optarg;
			break;
		case 'x':
			compare = false;
			break;
		case 't':
			traps = true;
			break;
		default:
			return 125;
		}
	if (optind == argc) {
		fprintf(stderr, "usage: probe-run [-o FILE] [-m MODULE] [-x] [-t] PROG [ARG...]\n");
		return 125;
	}
	module = calloc(MODULES, sizeof(*module));
	if (!module)
		die("out of memory");
	start(argv + optind);
	read_maps();
	for (size_t i = 0; i < modules; i++)
		if (!plan_module(&module[i], &e))
			die("%s", e.text);
	for (size_t i = 0; i < modules; i++)
		write_module(&module[i]);
	if (n_stops)
		qsort(stops, n_stops, sizeof(*stops), by_from);
	c = serve_all();
	if (out != stderr)
		fclose(out);
	return c;
}
