/* SPDX-License-Identifier: MIT */
/* Probes in a live process. */
#include "process/probes.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "process/inject.h"
#include "process/memory.h"
#include "process/plan.h"
#include "process/space.h"

#define PAGE	4096ull
#define OFF	0xa9 /* test $rel32, %eax: flags are dead where hooks are */
#define ON	0xe8 /* call rel32 */
#define CALL	5
#define THUNK	6	      /* jmp *rel32(%rip) */
#define REACH	0x60000000ull /* from the module's ends, for punned jumps, */
#define BESIDE	0x18000000ull /* for all other trampolines */
#define MARGIN	0x2000000ull  /* left free beside other mappings: heaps and stacks grow */
#define LONGEST 4096	      /* bytes of a trampoline */
#define TRIES	60
#define MAGIC	0x7365626f72707464ull

/* Functions that devtrace itself is led through (process/connect.c). */
static const char *const ours[] = {"execve", "__execve", "execveat", "vfork",		"__vfork",
				   "clone",  "__clone",	 "__clone3", "_dl_debug_state", "clone3"};

enum { UNTRIED, PLANTED, REFUSED };

struct region {
	uint64_t low, high;
};

struct patch {
	uint64_t address;
	uint8_t length, old[8], new[8];
};

struct window {
	uint64_t start; /* run-time */
	uint64_t at;	/* of the trampoline */
	uint16_t patch; /* bytes changed there */
	uint64_t copy;	/* of its first instruction */
	uint64_t end;	/* of the trampoline */
	struct dt_moved moved;
};

struct pc_entry {
	uint64_t pc;
	uint32_t site;
};

struct dt_probes {
	struct dt_plan plan;
	struct dt_space space;
	uint8_t *state;	  /* by function of the code */
	uint64_t *toggle; /* by site of the file: address of its sled's first byte; 0: none */
	struct region *region;
	size_t regions;
	struct patch *patch; /* in the order they were made */
	size_t patches, patch_room;
	struct window *window; /* sorted by start */
	size_t windows, window_room;
	struct pc_entry *pc; /* sorted */
	size_t pcs;
	uint64_t thunk[2]; /* of the newest region: entry, exit */
};

/*
 * At the start of a region of trampolines: what is needed to take it all away again. The tables
 * stand behind the trampolines. A planting makes one such region, and pages for punned jumps.
 */
struct head {
	uint64_t magic;
	uint64_t hook[DT_HOOKS];  /* the thunks jump through these: entry, exit */
	uint64_t bytes;		  /* of the region */
	uint64_t patch, patches;  /* address and number of struct patch, */
	uint64_t pc, pcs;	  /* of struct pc_entry, */
	uint64_t region, regions; /* of struct region: the pages for punned jumps */
};

/* ---- the file's sites */

static bool is_ours(const char *name)
{
	for (size_t i = 0; name && i < sizeof(ours) / sizeof(*ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct dt_elf_site *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->kind - y->kind;
}

static size_t exits_of(const struct dt_code *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->functions; i++)
		n += c->function[i].exits + 1;
	return n;
}

/* Does it, or a part of it, leave by a jump through a register or memory? */
static bool jumps(const struct dt_code *c, size_t function)
{
	const struct dt_code_function *x = &c->function[function];

	for (;;) {
		for (uint32_t k = 0; k < x->exits; k++)
			if (c->exit[x->first_exit + k].kind == DT_EXIT_INDIRECT)
				return true;
		if (!x->next_part)
			return false;
		x = &c->function[x->next_part];
	}
}

int dt_file_probes(struct dt_file *f, struct dt_error *e)
{
	struct dt_symtab *symtab = dt_file_symtab(f);
	struct dt_elf_site *site;
	size_t n = 0;

	if (f->code)
		return 0;
	if (!f->elf || !f->readable)
		return dt_fail(e, "%s: can not be read", f->path);
	if (f->elf->sites)
		return dt_fail(e, "%s: has sleds", f->path);
	f->code = dt_code_open(f->readable, symtab, e);
	if (!f->code)
		return -1;
	site = calloc(exits_of(f->code) + 1, sizeof(*site));
	if (!site)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *x = &f->code->function[i];
		uint64_t whole = f->code->function[x->whole].start;

		if (!x->part)
			site[n++] = (struct dt_elf_site){.address = x->start,
							 .function = x->start,
							 .kind = DT_ELF_PROBE_ENTRY,
							 .jumps = x->anywhere || jumps(f->code, i)};
		for (uint32_t k = 0; k < x->exits; k++) {
			const struct dt_exit *exit = &f->code->exit[x->first_exit + k];
			bool returns = exit->kind == DT_EXIT_RETURN;

			/* whom it leads to is only seen by the entry there, while the call is open
			 */
			if (exit->kind == DT_EXIT_INDIRECT)
				continue;
			site[n++] = (struct dt_elf_site){.address = exit->address,
							 .function = whole,
							 .target = exit->target,
							 .kind = returns ? DT_ELF_PROBE_RETURN
									 : DT_ELF_PROBE_TAIL};
		}
	}
	qsort(site, n, sizeof(*site), by_address);
	f->elf->site = site;
	f->elf->sites = n;
	return 0;
}

static bool is_entry(const struct dt_elf_site *s)
{
	return s->kind == DT_ELF_PROBE_ENTRY;
}

/* The file's site for one of the plan's. */
static size_t file_site(const struct dt_elf *elf, const struct dt_site *s)
{
	for (size_t i = dt_elf_site_from(elf, s->address);
	     i < elf->sites && elf->site[i].address == s->address; i++)
		if (is_entry(&elf->site[i]) == (s->kind == DT_SITE_ENTRY))
			return i;
	return elf->sites;
}

/* ---- making */

static struct dt_probes *make(const struct dt_module *m, struct dt_error *e)
{
	struct dt_probes *p = calloc(1, sizeof(*p));

	if (p) {
		p->state = calloc(m->file->code->functions + 1, 1);
		p->toggle = calloc(m->file->elf->sites + 1, sizeof(*p->toggle));
	}
	if (!p || !p->state || !p->toggle) {
		dt_probes_free(p);
		dt_fail(e, "out of memory");
		return NULL;
	}
	return p;
}

void dt_probes_free(struct dt_probes *p)
{
	if (!p)
		return;
	if (p->plan.code)
		dt_plan_end(&p->plan);
	dt_space_free(&p->space);
	free(p->state);
	free(p->toggle);
	free(p->region);
	free(p->patch);
	free(p->window);
	free(p->pc);
	free(p);
}

/* What is free near the module now. The claims made before are mapped by now. */
static int find_space(struct dt_probes *p, const struct dt_maps *maps, struct dt_error *e)
{
	uint64_t last = 0x10000;

	dt_space_free(&p->space);
	memset(&p->space, 0, sizeof(p->space));
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t low = maps->map[i].low;

		if (low > last + 2 * MARGIN && low < 0x7fffffffffff &&
		    dt_space_add(&p->space, last + MARGIN, low - MARGIN, e) < 0)
			return -1;
		last = maps->map[i].high;
	}
	return 0;
}

struct claimer {
	struct dt_probes *p;
	const struct dt_module *m;
};

static bool claim(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	const struct claimer *c = ctx;
	const struct dt_module *m = c->m;

	low += m->bias;
	high += m->bias;
	if (low + REACH < m->high || high > m->low + REACH)
		return false; /* the thunks must be in reach from there */
	if (!dt_space_claim(&c->p->space, low, high, size, at))
		return false;
	*at -= m->bias;
	return true;
}

/* ---- planting */

/* What is about to be written: all of it is made before anybody is stopped. */
struct job {
	struct dt_target *t;
	struct dt_module *m;
	struct dt_probes *p;
	struct dt_emit near;
	uint64_t size;	       /* of the region, whole pages */
	struct dt_extent *far; /* punned trampolines: where */
	uint8_t (*far_bytes)[LONGEST];
	size_t fars;
	size_t first_window, first_patch; /* of p's: those before are planted */
	uint64_t *toggle;		  /* as p->toggle, of the sites that are new */
};

static void emit_call(struct dt_emit *o, const struct dt_site *site, void *ctx)
{
	struct job *j = ctx;
	size_t i = file_site(j->m->file->elf, site);

	if (i < j->m->file->elf->sites)
		j->toggle[i] = dt_emit_here(o);
	dt_emit_byte(o, OFF);
	dt_emit_u32(o, (uint32_t)(j->p->thunk[site->kind != DT_SITE_ENTRY] - dt_emit_here(o) - 4));
}

static int add_patch(struct dt_probes *p, const struct patch *x)
{
	if (p->patches == p->patch_room) {
		size_t room = p->patch_room ? 2 * p->patch_room : 256;
		struct patch *more = realloc(p->patch, room * sizeof(*more));

		if (!more)
			return -1;
		p->patch = more;
		p->patch_room = room;
	}
	p->patch[p->patches++] = *x;
	return 0;
}

static int add_window(struct dt_probes *p, const struct window *x)
{
	if (p->windows == p->window_room) {
		size_t room = p->window_room ? 2 * p->window_room : 256;
		struct window *more = realloc(p->window, room * sizeof(*more));

		if (!more)
			return -1;
		p->window = more;
		p->window_room = room;
	}
	p->window[p->windows++] = *x;
	return 0;
}

/* The bytes that the file has there: what is in memory must be the same, or somebody was here. */
static bool as_in_file(const struct dt_code *c, uint64_t address, const uint8_t *bytes, size_t n)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);

	return r && address + n <= r->high && memcmp(r->bytes + (address - r->low), bytes, n) == 0;
}

/* Makes one window's trampoline. 1: its function has to be left alone. */
static int make_window(struct job *j, size_t index, struct dt_error *e)
{
	const struct dt_plan_hook hook = {emit_call, j};
	const struct dt_window *w = &j->p->plan.window[index];
	bool punned = w->tactic == DT_TACTIC_PUNNED;
	struct dt_emit far = {.room = LONGEST, .address = w->at + j->m->bias};
	struct dt_emit *o = punned ? &far : &j->near;
	struct dt_trampoline t;
	struct window out;

	if (punned) {
		void *more = realloc(j->far_bytes, (j->fars + 1) * sizeof(*j->far_bytes));
		struct dt_extent *too;

		if (!more)
			return dt_fail(e, "out of memory");
		j->far_bytes = more;
		too = realloc(j->far, (j->fars + 1) * sizeof(*too));
		if (!too)
			return dt_fail(e, "out of memory");
		j->far = too;
		far.bytes = j->far_bytes[j->fars];
	}
	if (dt_plan_emit(&j->p->plan, index, j->m->bias, &hook, o, &t, e) < 0 || o->size > o->room)
		return 1;
	for (unsigned i = 0; i < t.patches; i++) {
		struct patch x = {.address = t.patch[i].address, .length = t.patch[i].length};

		memcpy(x.new, t.patch[i].bytes, x.length);
		if (dt_memory_read(j->t->mem, x.address, x.old, x.length) < 0 ||
		    !as_in_file(j->m->file->code, x.address - j->m->bias, x.old, x.length))
			return 1;
		if (add_patch(j->p, &x) < 0)
			return dt_fail(e, "out of memory");
	}
	out = (struct window){.start = w->start + j->m->bias,
			      .at = t.address,
			      .patch = w->patch,
			      .copy = t.copy,
			      .end = o->address + o->size,
			      .moved = t.moved};
	if (add_window(j->p, &out) < 0)
		return dt_fail(e, "out of memory");
	if (punned)
		j->far[j->fars++] = (struct dt_extent){far.address, far.address + far.size};
	return 0;
}

/* Plans a function and makes its trampolines; those of one that can not be are taken back. */
static int make_function(struct job *j, size_t function, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	size_t windows = p->windows, patches = p->patches, size = j->near.size, fars = j->fars;
	struct dt_plan_function f;
	int rc = 0;

	p->state[function] = REFUSED;
	if (is_ours(j->m->file->code->function[function].name))
		return 0;
	dt_plan_function(&p->plan, function, &f);
	if (p->plan.failed)
		return dt_fail(e, "out of memory");
	if (f.refusal)
		return 0;
	for (uint32_t i = 0; i < f.windows && rc == 0; i++)
		rc = make_window(j, f.first_window + i, e);
	if (rc < 0)
		return -1;
	if (rc > 0) {
		for (uint32_t i = 0; i < f.sites; i++) {
			size_t k = file_site(j->m->file->elf, &p->plan.site[f.first_site + i]);

			if (k < j->m->file->elf->sites)
				j->toggle[k] = 0;
		}
		p->windows = windows;
		p->patches = patches;
		j->near.size = size;
		j->fars = fars;
		return 0;
	}
	p->state[function] = PLANTED;
	return 0;
}

/* Where the region goes: within reach of everything that the file maps. */
static int place_region(struct job *j, size_t functions, struct dt_error *e)
{
	const struct dt_module *m = j->m;
	uint64_t at;

	/* a function has some 2.5 windows of some 30 bytes, and as many patches */
	j->size = (functions * 800 + 4 * PAGE + PAGE - 1) & ~(PAGE - 1);
	if (!dt_space_claim(&j->p->space, m->high > BESIDE ? m->high - BESIDE : 0x10000,
			    m->low + BESIDE, j->size + PAGE, &at))
		return dt_fail(e, "no room for trampolines near %s", m->file->path);
	at = (at + PAGE - 1) & ~(PAGE - 1);
	j->near = (struct dt_emit){.room = j->size, .address = at};
	j->near.bytes = calloc(1, j->size);
	return j->near.bytes ? 0 : dt_fail(e, "out of memory");
}

/* The head, and the way to the hooks within reach of the trampolines. */
static void emit_thunks(struct job *j)
{
	struct dt_emit *o = &j->near;
	uint64_t hook = dt_emit_here(o) + offsetof(struct head, hook);

	for (size_t i = 0; i < sizeof(struct head); i += 8)
		dt_emit_u64(o, 0);
	for (unsigned i = 0; i < 2; i++, hook += 8) {
		j->p->thunk[i] = dt_emit_here(o);
		dt_emit_bytes(o, "\xff\x25", 2);
		dt_emit_u32(o, (uint32_t)(hook - dt_emit_here(o) - 4));
	}
}

/* What whoever comes after us needs. */
static int emit_tables(struct job *j, struct dt_error *e)
{
	struct head *h = (struct head *)j->near.bytes;
	struct dt_emit *o = &j->near;

	while (o->size & 7)
		dt_emit_byte(o, 0xcc);
	*h = (struct head){.magic = MAGIC, .bytes = j->size};
	h->patch = dt_emit_here(o);
	h->patches = j->p->patches - j->first_patch;
	dt_emit_bytes(o, j->p->patch + j->first_patch, h->patches * sizeof(struct patch));
	h->pc = dt_emit_here(o);
	for (size_t i = 0; i < j->m->file->elf->sites; i++) {
		struct pc_entry x = {j->toggle[i] + CALL, (uint32_t)i};

		if (!j->toggle[i])
			continue;
		dt_emit_bytes(o, &x, sizeof(x));
		h->pcs++;
	}
	h->region = dt_emit_here(o);
	for (size_t i = 0; i < j->fars; i++) {
		struct region x = {j->far[i].low & ~(PAGE - 1),
				   (j->far[i].high + PAGE - 1) & ~(PAGE - 1)};

		dt_emit_bytes(o, &x, sizeof(x));
		h->regions++;
	}
	if (o->size > o->room)
		return dt_fail(e, "the trampolines of %s do not fit", j->m->file->path);
	return 0;
}

/* Calls made together run from the area, where one stopped thread makes them all. */
static int make_calls(struct dt_target *t, pid_t tid, const struct dt_maps *maps,
		      struct dt_call *call, size_t n, struct dt_error *e)
{
	/* what an earlier session has left has no place of that kind: one at a time there */
	uint64_t code = t->n_old ? 0 : t->area + DT_AREA_STUB;
	size_t most = code ? DT_CALL_MAX : 1;

	for (size_t i = 0; i < n; i += most)
		if (dt_inject(tid, t->mem, maps, code, call + i, n - i < most ? n - i : most, e) <
		    0)
			return -1;
	return 0;
}

static bool has_region(const struct dt_probes *p, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < p->regions; i++)
		if (low >= p->region[i].low && high <= p->region[i].high)
			return true;
	return false;
}

/* The region for the trampolines, and pages for those that must be where they are. */
static int map_regions(struct job *j, pid_t tid, const struct dt_maps *maps, struct dt_error *e)
{
	struct dt_probes *p = j->p;
	struct region *more = realloc(p->region, (p->regions + 1 + 2 * j->fars) * sizeof(*more));
	struct dt_call *call = calloc(1 + 2 * j->fars, sizeof(*call));
	size_t first = p->regions, n = 0;
	int rc = -1;

	if (more)
		p->region = more;
	if (!more || !call) {
		dt_fail(e, "out of memory");
		goto out;
	}
	more[first + n++] = (struct region){j->near.address, j->near.address + j->size};
	for (size_t i = 0; i < j->fars; i++) {
		uint64_t low = j->far[i].low & ~(PAGE - 1);

		for (; low < j->far[i].high; low += PAGE) {
			p->regions = first + n;
			if (!has_region(p, low, low + PAGE))
				more[first + n++] = (struct region){low, low + PAGE};
		}
	}
	p->regions = first;
	for (size_t i = 0; i < n; i++)
		call[i] = (struct dt_call){
			"mapping trampolines",
			SYS_mmap,
			{more[first + i].low, more[first + i].high - more[first + i].low,
			 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			 (uint64_t)-1, 0},
			0,
			false};
	rc = make_calls(j->t, tid, maps, call, n, e);
	for (size_t i = 0; i < n && rc == 0; i++)
		if ((uint64_t)call[i].result != more[first + i].low)
			rc = dt_fail(e,
				     "process %d: the kernel gave other addresses than asked for",
				     j->t->pid);
	if (rc == 0)
		p->regions = first + n;
out:
	free(call);
	return rc;
}

/* Maps and writes the trampolines: nothing leads there yet. */
static int write_trampolines(struct job *j, pid_t tid, struct dt_error *e)
{
	struct dt_maps maps;
	struct head *h = (struct head *)j->near.bytes;
	int rc = -1;

	if (dt_maps_read(j->t->pid, &maps, e) < 0)
		return -1;
	if (map_regions(j, tid, &maps, e) < 0)
		goto out;
	if (dt_area_hooks(j->t->mem, j->t->area, j->t->fast, h->hook) < 0)
		goto fail;
	if (dt_memory_write(j->t->mem, j->near.address, j->near.bytes, j->near.size) < 0)
		goto fail;
	for (size_t i = 0; i < j->fars; i++)
		if (dt_memory_write(j->t->mem, j->far[i].low, j->far_bytes[i],
				    j->far[i].high - j->far[i].low) < 0)
			goto fail;
	rc = 0;
	goto out;
fail:
	dt_fail(e, "the trampolines of process %d can not be written: %s", j->t->pid,
		strerror(errno));
out:
	dt_maps_free(&maps);
	return rc;
}

static int window_by_start(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The new window that ip is inside of, behind its start and in front of the end of the patch. */
static const struct window *inside(const struct window *w, size_t n, uint64_t ip)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (w[mid].start < ip)
			low = mid + 1;
		else
			high = mid;
	}
	return low && ip < w[low - 1].start + w[low - 1].patch ? &w[low - 1] : NULL;
}

struct saved {
	const struct window *window;
	size_t n;
	bool found;
};

static void on_saved(void *ctx, uint64_t ip, bool frame)
{
	struct saved *s = ctx;

	s->found = s->found || (frame && inside(s->window, s->n, ip));
}

/* Threads in a window go on in its copy. False: a signal handler will return into one. */
static bool move_threads(struct job *j, const struct dt_threads *threads)
{
	struct window *w = j->p->window + j->first_window;
	size_t n = j->p->windows - j->first_window;
	struct saved saved = {w, n, false};

	qsort(w, n, sizeof(*w), window_by_start);
	dt_threads_saved(threads, j->t->mem, on_saved, &saved);
	if (saved.found)
		return false;
	for (size_t i = 0; i < threads->n; i++) {
		struct user_regs_struct r;
		const struct window *x;

		if (ptrace(PTRACE_GETREGS, threads->tid[i], 0, &r) < 0)
			continue;
		x = inside(w, n, r.rip);
		if (!x)
			continue;
		r.rip = dt_moved_forward(&x->moved, x->start, x->copy, r.rip);
		ptrace(PTRACE_SETREGS, threads->tid[i], 0, &r);
	}
	return true;
}

static int patch_by_address(const void *a, const void *b)
{
	const struct patch *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Writes patches, or what was there before; a page at a time, for threads stand still meanwhile. */
static int write_patches(int mem, const struct patch *patch, size_t n, bool old)
{
	unsigned char pages[2 * PAGE];
	uint64_t have = 0;
	size_t size = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t page = patch[i].address & ~(PAGE - 1);

		if (!size || page != have) {
			if (size && dt_memory_write(mem, have, pages, size) < 0)
				return -1;
			have = page;
			size = PAGE;
			if (dt_memory_read(mem, have, pages, PAGE) < 0)
				return -1;
		}
		if (patch[i].address + patch[i].length > have + size) {
			if (dt_memory_read(mem, have + PAGE, pages + PAGE, PAGE) < 0)
				return -1;
			size = 2 * PAGE;
		}
		memcpy(pages + (patch[i].address - have), old ? patch[i].old : patch[i].new,
		       patch[i].length);
		if (size == 2 * PAGE) { /* the next page's others come with that page */
			if (dt_memory_write(mem, have, pages, size) < 0)
				return -1;
			size = 0;
		}
	}
	return size && dt_memory_write(mem, have, pages, size) < 0 ? -1 : 0;
}

static int by_pc(const void *a, const void *b)
{
	const struct pc_entry *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int index_pcs(struct dt_probes *p, size_t sites, struct dt_error *e)
{
	size_t n = 0;

	free(p->pc);
	p->pc = calloc(sites + 1, sizeof(*p->pc));
	if (!p->pc)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < sites; i++)
		if (p->toggle[i])
			p->pc[n++] = (struct pc_entry){p->toggle[i] + CALL, (uint32_t)i};
	p->pcs = n;
	qsort(p->pc, n, sizeof(*p->pc), by_pc);
	return 0;
}

/* Everything is made: stops the process, writes, lets it go. */
static int plant(struct job *j, struct dt_error *e)
{
	struct dt_target *t = j->t;
	struct dt_probes *p = j->p;
	struct dt_threads threads = {.pid = t->pid, .tid = &t->held, .n = 1};
	bool written = false;
	int rc = -1;

	for (int tries = 0; tries < TRIES; tries++) {
		bool moved;

		if (!t->held && dt_threads_stop(t->pid, &threads, e) < 0)
			return -1;
		if (!written && write_trampolines(j, threads.tid[0], e) < 0)
			break;
		written = true;
		moved = move_threads(j, &threads);
		if (moved) {
			rc = write_patches(t->mem, p->patch + j->first_patch,
					   p->patches - j->first_patch, false);
			if (rc < 0) {
				write_patches(t->mem, p->patch + j->first_patch,
					      p->patches - j->first_patch, true);
				dt_fail(e, "%s: its code can not be written: %s", j->m->file->path,
					strerror(errno));
			}
			break;
		}
		if (!t->held)
			dt_threads_release(&threads);
		threads.n = 0;
		dt_fail(e,
			"process %d: a signal handler keeps returning into what is to be changed",
			t->pid);
		usleep(1000);
	}
	if (!t->held && threads.n) {
		dt_threads_release(&threads);
		if (threads.stopped_for > t->stop_ns)
			t->stop_ns = threads.stopped_for;
	}
	return rc;
}

static void forget_job(struct job *j)
{
	free(j->near.bytes);
	free(j->far_bytes);
	free(j->far);
	free(j->toggle);
}

/* Plants every function of which a site is chosen, and that has not been tried. */
static int plant_wanted(struct dt_target *t, struct dt_module *m, const bool *wanted, size_t n,
			struct dt_error *e)
{
	const struct dt_code *code = m->file->code;
	struct dt_probes *p = m->probes;
	struct claimer claimer = {p, m};
	struct job j = {.t = t, .m = m, .p = p};
	struct dt_maps maps;
	int rc;

	j.first_window = p->windows;
	j.first_patch = p->patches;
	j.toggle = calloc(m->file->elf->sites + 1, sizeof(*j.toggle));
	if (!j.toggle)
		return dt_fail(e, "out of memory");
	rc = dt_maps_read(t->pid, &maps, e);
	if (rc < 0)
		goto out;
	rc = find_space(p, &maps, e);
	dt_maps_free(&maps);
	if (rc == 0)
		rc = place_region(&j, n, e);
	if (rc < 0)
		goto out;
	if (!p->plan.code) {
		const struct dt_plan_options options = {.hook = CALL, .no_traps = true};

		rc = dt_plan_begin(&p->plan, code, &options, e);
		if (rc < 0)
			goto out;
	}
	p->plan.options.claim = claim;
	p->plan.options.ctx = &claimer;
	emit_thunks(&j);
	for (size_t i = 0; rc == 0 && i < code->functions; i++)
		if (wanted[i])
			rc = make_function(&j, i, e);
	qsort(p->patch + j.first_patch, p->patches - j.first_patch, sizeof(*p->patch),
	      patch_by_address);
	if (rc == 0)
		rc = emit_tables(&j, e);
	if (rc == 0 && p->windows > j.first_window)
		rc = plant(&j, e);
	if (rc < 0) {
		p->windows = j.first_window;
		p->patches = j.first_patch;
		for (size_t i = 0; i < code->functions; i++)
			if (wanted[i])
				p->state[i] = REFUSED;
		goto out;
	}
	for (size_t i = 0; i < m->file->elf->sites; i++)
		if (j.toggle[i])
			p->toggle[i] = j.toggle[i];
	qsort(p->window, p->windows, sizeof(*p->window), window_by_start);
	rc = index_pcs(p, m->file->elf->sites, e);
out:
	forget_job(&j);
	return rc;
}

/* ---- switching */

static int switch_at(struct dt_target *t, uint64_t at, bool on, struct dt_error *e)
{
	uint8_t to = on ? ON : OFF, now;

	if (dt_memory_read(t->mem, at, &now, 1) == 0 && now == to)
		return 0;
	if (dt_memory_write(t->mem, at, &to, 1) < 0)
		return dt_fail(e, "process %d: a site can not be switched: %s", t->pid,
			       strerror(errno));
	return 0;
}

int dt_probes_sync(struct dt_target *t, struct dt_module *m, uint64_t low, uint64_t high,
		   struct dt_error *e)
{
	const struct dt_elf *elf = m->file->elf;
	const struct dt_code *code = m->file->code;
	size_t n = 0;
	bool *wanted;
	int rc = 0;

	if (!m->file->chosen_sites && !m->probes)
		return 0;
	if (!m->probes && !(m->probes = make(m, e)))
		return -1;
	wanted = calloc(code->functions + 1, sizeof(*wanted));
	if (!wanted)
		return dt_fail(e, "out of memory");
	for (size_t i = dt_elf_site_from(elf, low);
	     !t->unwatched && i < elf->sites && elf->site[i].address <= high; i++) {
		size_t f = m->file->chosen[i] ? dt_code_function_at(code, elf->site[i].function)
					      : code->functions;

		if (f < code->functions && !wanted[f] && m->probes->state[f] == UNTRIED)
			wanted[f] = true, n++;
	}
	if (n)
		rc = plant_wanted(t, m, wanted, n, e);
	free(wanted);
	for (size_t i = dt_elf_site_from(elf, low);
	     rc == 0 && i < elf->sites && elf->site[i].address <= high; i++)
		if (m->probes->toggle[i])
			rc = switch_at(t, m->probes->toggle[i], m->file->chosen[i] && !t->unwatched,
				       e);
	m->hooked = m->on = m->probes->pcs > 0;
	return rc;
}

int dt_probes_hook(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	struct head h;
	uint64_t hook[DT_HOOKS];

	if (dt_area_hooks(t->mem, t->area, t->fast, hook) < 0)
		return dt_fail(e, "the area of process %d can not be read", t->pid);
	for (size_t i = 0; i < p->regions; i++)
		if (dt_memory_read(t->mem, p->region[i].low, &h, sizeof(h)) == 0 &&
		    h.magic == MAGIC &&
		    dt_memory_write(t->mem, p->region[i].low + offsetof(struct head, hook), hook,
				    sizeof(hook)) < 0)
			return dt_fail(e, "the trampolines of process %d can not be written: %s",
				       t->pid, strerror(errno));
	return 0;
}

int dt_probes_off(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->pcs; i++)
		rc = switch_at(t, p->pc[i].pc - CALL, false, e);
	return rc;
}

/* ---- leaving */

bool dt_probes_code(const struct dt_probes *p, unsigned i, uint64_t *low, uint64_t *high)
{
	if (!p || i >= p->regions)
		return false;
	*low = p->region[i].low;
	*high = p->region[i].high;
	return true;
}

/* Where in the original a thread goes on that is at ip in a trampoline; 0: in the middle of a hook.
 */
static uint64_t original(const struct dt_probes *p, uint64_t ip)
{
	for (size_t i = 0; i < p->windows; i++) {
		const struct window *w = &p->window[i];

		if (ip >= w->at && ip < w->copy) /* an entry's hook: the window has not begun */
			return w->start;
		if (ip >= w->copy && ip < w->end)
			return dt_moved_back(&w->moved, w->start, w->copy, ip);
	}
	return 0;
}

void dt_probes_leave(const struct dt_probes *p, const struct dt_threads *threads)
{
	for (size_t i = 0; i < threads->n; i++) {
		struct user_regs_struct r;
		uint64_t back;

		if (ptrace(PTRACE_GETREGS, threads->tid[i], 0, &r) < 0 ||
		    !has_region(p, r.rip, r.rip + 1) || !(back = original(p, r.rip)))
			continue;
		r.rip = back;
		ptrace(PTRACE_SETREGS, threads->tid[i], 0, &r);
	}
}

static int check_old(struct dt_target *t, const struct dt_probes *p, struct dt_error *e)
{
	for (size_t i = 0; i < p->patches; i++) {
		uint8_t now[8];

		if (dt_memory_read(t->mem, p->patch[i].address, now, p->patch[i].length) < 0 ||
		    memcmp(now, p->patch[i].old, p->patch[i].length) != 0)
			return dt_fail(e, "process %d: the bytes at 0x%lx could not be put back",
				       t->pid, (unsigned long)p->patch[i].address);
	}
	return 0;
}

/* Is the code still ours there? A library may have been unmapped, or another be in its place. */
static bool is_planted(struct dt_target *t, const struct dt_probes *p)
{
	uint8_t now[8];

	return p->patches &&
	       dt_memory_read(t->mem, p->patch[0].address, now, p->patch[0].length) == 0 &&
	       memcmp(now, p->patch[0].new, p->patch[0].length) == 0;
}

int dt_probes_remove(struct dt_target *t, struct dt_probes *p, pid_t tid, struct dt_error *e)
{
	struct dt_call *call;
	struct dt_maps maps;
	int rc;

	qsort(p->patch, p->patches, sizeof(*p->patch), patch_by_address);
	if (is_planted(t, p)) {
		if (write_patches(t->mem, p->patch, p->patches, true) < 0)
			return dt_fail(e, "process %d: its code can not be put back: %s", t->pid,
				       strerror(errno));
		if (check_old(t, p, e) < 0)
			return -1;
	}
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	call = calloc(p->regions + 1, sizeof(*call));
	for (size_t i = 0; call && i < p->regions; i++)
		call[i] = (struct dt_call){"unmapping trampolines",
					   SYS_munmap,
					   {p->region[i].low, p->region[i].high - p->region[i].low},
					   0,
					   false};
	rc = call ? make_calls(t, tid, &maps, call, p->regions, e) : dt_fail(e, "out of memory");
	free(call);
	dt_maps_free(&maps);
	return rc;
}

/* ---- after a controller that was killed */

static struct dt_probes *recover_one(struct dt_target *t, uint64_t at, const struct head *h)
{
	struct dt_probes *p = calloc(1, sizeof(*p));

	if (!p || h->patches > h->bytes || h->pcs > h->bytes || h->regions > h->bytes)
		goto fail;
	p->patch = calloc(h->patches + 1, sizeof(*p->patch));
	p->pc = calloc(h->pcs + 1, sizeof(*p->pc));
	p->region = calloc(h->regions + 1, sizeof(*p->region));
	if (!p->patch || !p->pc || !p->region ||
	    dt_memory_read(t->mem, h->patch, p->patch, h->patches * sizeof(*p->patch)) < 0 ||
	    dt_memory_read(t->mem, h->pc, p->pc, h->pcs * sizeof(*p->pc)) < 0 ||
	    dt_memory_read(t->mem, h->region, p->region + 1, h->regions * sizeof(*p->region)) < 0)
		goto fail;
	p->region[0] = (struct region){at, at + h->bytes};
	p->regions = h->regions + 1;
	p->patches = p->patch_room = h->patches;
	p->pcs = h->pcs;
	for (size_t i = 0; i < p->patches; i++)
		if (p->patch[i].length > sizeof(p->patch[i].old))
			goto fail;
	return p;
fail:
	dt_probes_free(p);
	return NULL;
}

int dt_probes_recover(struct dt_target *t, struct dt_probes ***list, size_t *n, struct dt_error *e)
{
	struct dt_maps maps;

	*list = NULL;
	*n = 0;
	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	for (size_t i = 0; i < maps.n; i++) {
		struct dt_probes **more, *p;
		struct head h;

		if (!maps.map[i].exec || maps.map[i].inode || maps.map[i].path[0] ||
		    dt_memory_read(t->mem, maps.map[i].low, &h, sizeof(h)) < 0 || h.magic != MAGIC)
			continue;
		p = recover_one(t, maps.map[i].low, &h);
		more = p ? realloc(*list, (*n + 1) * sizeof(*more)) : NULL;
		if (!more) {
			dt_probes_free(p);
			continue;
		}
		*list = more;
		more[(*n)++] = p;
	}
	dt_maps_free(&maps);
	return 0;
}

/* ---- forks */

static void *copy_of(const void *p, size_t n, size_t size, bool *failed)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (copy)
		memcpy(copy, p, n * size);
	*failed = *failed || (n && !copy);
	return copy;
}

int dt_probes_inherit(struct dt_target *t, struct dt_module *m, const struct dt_module *parent)
{
	const struct dt_probes *from = parent->probes;
	bool failed = false;
	struct dt_probes *p;
	struct patch last;
	uint8_t now[8];

	if (!from || !from->patches)
		return 0;
	/* a child that was born before the last planting has not got it: it is left alone then */
	last = from->patch[from->patches - 1];
	for (size_t i = 0; i<from->patches; i += from->patches> 64 ? from->patches / 64 : 1)
		if (dt_memory_read(t->mem, from->patch[i].address, now, from->patch[i].length) <
			    0 ||
		    memcmp(now, from->patch[i].new, from->patch[i].length) != 0)
			return -1;
	if (dt_memory_read(t->mem, last.address, now, last.length) < 0 ||
	    memcmp(now, last.new, last.length) != 0)
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -1;
	p->state = copy_of(from->state, m->file->code->functions + 1, 1, &failed);
	p->toggle = copy_of(from->toggle, m->file->elf->sites + 1, sizeof(*p->toggle), &failed);
	p->region = copy_of(from->region, from->regions, sizeof(*p->region), &failed);
	p->patch = copy_of(from->patch, from->patches, sizeof(*p->patch), &failed);
	p->window = copy_of(from->window, from->windows, sizeof(*p->window), &failed);
	p->pc = copy_of(from->pc, from->pcs, sizeof(*p->pc), &failed);
	p->regions = from->regions;
	p->patches = p->patch_room = from->patches;
	p->windows = p->window_room = from->windows;
	p->pcs = from->pcs;
	if (failed) {
		dt_probes_free(p);
		return -1;
	}
	/* what it has not got yet is not planned again around what it has */
	for (size_t i = 0; i < m->file->code->functions; i++)
		if (p->state[i] == UNTRIED)
			p->state[i] = REFUSED;
	m->probes = p;
	m->hooked = m->on = p->pcs > 0;
	return 0;
}

/* ---- asking */

const struct dt_elf_site *dt_probes_site(const struct dt_module *m, uint64_t pc)
{
	const struct dt_probes *p = m->probes;
	size_t low = 0, high = p ? p->pcs : 0;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->pc[mid].pc < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return p && low < p->pcs && p->pc[low].pc == pc ? &m->file->elf->site[p->pc[low].site]
							: NULL;
}

uint64_t dt_probes_pc(const struct dt_module *m, size_t site)
{
	return m->probes && m->probes->toggle[site] ? m->probes->toggle[site] + CALL : 0;
}

/* As in claim(), for a file that is mapped nowhere. */
struct pretended {
	const struct dt_code *code;
	struct dt_space space;
	uint64_t bias;
};

static bool claim_pretended(void *ctx, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	struct pretended *x = ctx;

	low += x->bias;
	high += x->bias;
	if (low + REACH < x->code->high + x->bias || high > x->code->low + x->bias + REACH)
		return false;
	if (!dt_space_claim(&x->space, low, high, size, at))
		return false;
	*at -= x->bias;
	return true;
}

struct dt_probe_way *dt_file_probe_ways(const struct dt_file *f, struct dt_error *e)
{
	struct pretended x = {.code = f->code, .bias = f->elf->type == ET_EXEC ? 0 : 1ull << 44};
	const struct dt_plan_options options = {
		.hook = CALL, .no_traps = true, .claim = claim_pretended, .ctx = &x};
	struct dt_probe_way *way = calloc(f->code->functions + 1, sizeof(*way));
	uint64_t low = f->code->low + x.bias, high = f->code->high + x.bias;
	struct dt_plan plan;

	if (!way) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	if (low > 0x10000 + 2 * MARGIN &&
	    dt_space_add(&x.space, 0x10000 + MARGIN, low - MARGIN, e) < 0)
		goto fail;
	if (dt_space_add(&x.space, high + MARGIN, high + MARGIN + 2 * REACH, e) < 0 ||
	    dt_plan_begin(&plan, f->code, &options, e) < 0)
		goto fail;
	for (size_t i = 0; i < f->code->functions; i++) {
		struct dt_plan_function out = {.why = "not known"};

		if (is_ours(f->code->function[i].name)) {
			way[i].how = "devtrace itself is led through it";
			continue;
		}
		dt_plan_function(&plan, i, &out);
		way[i].hooked = out.refusal == DT_REFUSED_NOT;
		way[i].how = way[i].hooked ? dt_tactic_name(out.tactic) : out.why;
	}
	dt_plan_end(&plan);
	dt_space_free(&x.space);
	return way;
fail:
	dt_space_free(&x.space);
	free(way);
	return NULL;
}
