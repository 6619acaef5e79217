/* SPDX-License-Identifier: MIT */
/*
 * Sleds on aarch64, from the table in the file to the record in the ring, in one process: under
 * qemu-user there is neither ptrace nor rseq. Everything is devtrace's own but these two: the sites
 * are read (elf/), stubs made and switched (arch/aarch64/sled.c), the area mapped (hook/area.c),
 * its hooks called by the functions of sled-functions.c, and the rings read (session/rings.c). In
 * place of the kernel's rseq, each thread has cores of its own, between which its signal handler
 * moves it, and that handler leads a thread out of the sequence that it was in, as the kernel
 * would.
 *
 * The truth is what the threads have called: records written = read + lost, none torn, none out of
 * order, none twice.
 *
 * usage: sleds RECORDS [few]: how many of each policy; few: the most telling runs only. TAP.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/aarch64/trial.h"
#include "arch/arch.h"
#include "elf/elf.h"
#include "hook/area.h"
#include "process/maps.h"
#include "process/memory.h"
#include "session/rings.h"
#include "test/aarch64/sled-functions.h"

#define THREADS	    3
#define CORES	    (2 * THREADS) /* a thread's are 2t and 2t + 1 */
#define CONTEXTS    2		  /* the thread itself, and its signal handler */
#define A_LAP	    16		  /* records */
#define FUNCTIONS   6
#define MIX(a)	    ((long)((unsigned long)(a)*0x9e3779b97f4a7c15ul))
#define TURNED(a)   ((long)((unsigned long)(a) << 17 | (unsigned long)(a) >> 47))
#define CALL(a)	    a, ~(a), MIX(a), TURNED(a)
#define ID(t, c, n) ((long)((unsigned long)(t) << 56 | (unsigned long)(c) << 48 | (n)))

/* ---- what qemu-user has not ---- */

/* as struct rseq; cs: see struct dt_hook_data */
static __thread struct {
	uint32_t start, cpu;
	uint64_t cs;
	uint64_t rest[2];
} fake __attribute__((aligned(32)));
static __thread uint32_t own_id;
static __thread int own_errno;

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* the session's memory is owned by a robust futex, of which qemu-user has no list: here nobody dies
 */
long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list list;

	va_start(list, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (nr == SYS_get_robust_list || nr == SYS_set_robust_list)
		return 0;
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static int tests;
static bool few; /* some runs are left out */

static void ok(int good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
	fflush(stdout);
}

/* ---- the sites ---- */

static struct dt_elf *elf;
static size_t kinds[DT_ELF_KINDS]; /* how many sites are of each kind */
static uint64_t bias, stubs;	   /* address of the stubs: DT_SLED_STUB bytes for each site */
static uint8_t *text_copy, *text;
static size_t text_size;

static const char *const name[FUNCTIONS] = {"sled_plain", "sled_frame",	  "sled_tail",
					    "sled_jump",  "sled_returns", "sled_real"};
enum { PLAIN, FRAME, TAIL, JUMP, RETURNS, REAL };
static uint64_t function[FUNCTIONS], storm;

int main(int argc, char **argv);

static void read_sites(const char *path)
{
	struct dt_error e;

	elf = dt_elf_open(path, &e);
	if (!elf)
		die(e.text);
	if (dt_elf_symbol(elf, "sled_plain", &bias, NULL) < 0)
		die("sled_plain is not in the file");
	bias = (uint64_t)sled_plain - bias;
	for (int i = 0; i < FUNCTIONS; i++)
		dt_elf_symbol(elf, name[i], &function[i], NULL);
	dt_elf_symbol(elf, "sled_storm", &storm, NULL);
	for (size_t i = 0; i < elf->sites; i++)
		kinds[elf->site[i].kind]++;
	text = (uint8_t *)((bias + elf->site[0].address) & ~4095ul);
	/* with what calls them: sleds.c is linked behind */
	text_size = ((uint64_t)main + 4096 - (uint64_t)text + 4095) & ~4095ul;
	text_copy = malloc(text_size);
	memcpy(text_copy, text, text_size);
	if (mprotect(text, text_size, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		die("the program's text can not be made writable");
}

/* Makes the stubs of all sites, within reach of them, and ways to these hooks. */
static void make_stubs(const uint64_t hook[DT_HOOKS])
{
	size_t bytes = (elf->sites * DT_SLED_STUB + 3 * DT_SLED_WAY + 4095) & ~4095ul;
	struct dt_maps maps;
	struct dt_emit o;
	struct dt_error e;
	uint64_t way[DT_ELF_KINDS] = {0};

	if (!stubs) {
		if (dt_maps_read(getpid(), &maps, &e) < 0)
			die(e.text);
		stubs = dt_maps_gap(&maps, (uint64_t)text, bytes, DT_JUMP_REACH, ~0ull);
		dt_maps_free(&maps);
		if (!stubs ||
		    mmap((void *)stubs, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)stubs)
			die("no room for stubs near the program");
	}
	o = (struct dt_emit){.bytes = (uint8_t *)stubs + elf->sites * DT_SLED_STUB,
			     .room = 3 * DT_SLED_WAY,
			     .address = stubs + elf->sites * DT_SLED_STUB};
	way[DT_ELF_ENTRY] = dt_emit_here(&o);
	dt_sled_way_emit(&o, hook[DT_HOOK_ENTRY]);
	way[DT_ELF_RETURN] = way[DT_ELF_TAIL] = dt_emit_here(&o);
	dt_sled_way_emit(&o, hook[DT_HOOK_EXIT]);
	way[DT_ELF_JUMP] = dt_emit_here(&o);
	dt_sled_way_emit(&o, hook[DT_HOOK_JUMP]);
	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		uint64_t at = bias + s->address;

		o = (struct dt_emit){.bytes = (uint8_t *)stubs + i * DT_SLED_STUB,
				     .room = DT_SLED_STUB,
				     .address = stubs + i * DT_SLED_STUB};
		dt_sled_stub_emit(&o, s->kind, at, (const uint8_t *)at + 4, way[s->kind]);
		if (o.size > o.room)
			die("a stub is too long");
	}
	__builtin___clear_cache((char *)stubs, (char *)stubs + bytes);
}

/* Switches the sites of a function (0: of all but sled_storm) by writing words that are a nop or a
 * branch; returns how many. */
static int switch_sites(uint64_t of, bool on)
{
	struct dt_toggle t;
	int n = 0;

	for (size_t i = 0; i < elf->sites; i++) {
		const struct dt_elf_site *s = &elf->site[i];
		uint8_t *at = (uint8_t *)(bias + s->address);
		uint32_t word;

		if (of ? s->function != of : s->function == storm)
			continue;
		if (!dt_sled_toggle(s->kind, (uint64_t)at, stubs + i * DT_SLED_STUB, &t) ||
		    t.size != 4 || memcmp(at, on ? t.off : t.on, 4) != 0)
			continue;
		memcpy(&word, on ? t.on : t.off, 4);
		__atomic_store_n((uint32_t *)at, word, __ATOMIC_RELEASE);
		__builtin___clear_cache((char *)at, (char *)at + 4);
		n++;
	}
	return n;
}

/* ---- the writers ---- */

struct writer {
	pthread_t thread;
	unsigned number;
	bool ready, moves;
	uint64_t laps;			 /* of the thread itself, wanted */
	uint64_t done[CONTEXTS];	 /* laps, which is the truth */
	uint64_t signals, aborts, wrong; /* wrong: results of functions */
	uint64_t sp;			 /* where it calls from, but for its handler */
};

static struct writer writer[THREADS];
static __thread struct writer *me;
static volatile bool go, finished;

__attribute__((noinline)) static void lap(struct writer *w, unsigned context)
{
	uint64_t n = w->done[context], sp;
	long a = ID(w->number, context, n), want = SLED_RESULT(a);

	__asm__ volatile("mov %0, sp" : "=r"(sp));
	if (!context)
		w->sp = sp;
	w->wrong += sled_frame(CALL(a)) != want;
	w->wrong += sled_tail(CALL(a)) != want;
	w->wrong += sled_jump(CALL(a), sled_plain) != want;
	w->wrong += sled_returns(CALL(a)) != want;
	w->wrong += sled_real((double)n, CALL(a)) != 2 * (double)n;
	w->done[context] = n + 1;
}

static uint32_t *broken, broken_word; /* where a brk stands, and in place of what */

/* What the kernel does before it lets a thread go on, and then a lap. */
static void interrupted(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	const uint64_t *cs = (const uint64_t *)fake.cs; /* struct rseq_cs */

	if (!me)
		return;
	if (sig == SIGTRAP) {
		if (u->uc_mcontext.pc != (uint64_t)broken)
			die("a trap where none was set");
		__atomic_store_n(broken, broken_word, __ATOMIC_RELEASE);
		__builtin___clear_cache((char *)broken, (char *)(broken + 1));
		broken = NULL;
	}
	if (cs && u->uc_mcontext.pc - cs[1] < cs[2]) {
		u->uc_mcontext.pc = cs[3];
		me->aborts++;
	}
	fake.cs = 0;
	if (me->moves && me->signals++ % 3 == 0)
		fake.cpu ^= 1;
	lap(me, 1);
}

static void *write_records(void *arg)
{
	struct writer *w = arg;

	fake.cpu = fake.start = 2 * w->number;
	own_id = (uint32_t)gettid();
	me = w;
	__atomic_store_n(&w->ready, true, __ATOMIC_RELEASE);
	while (!go)
		usleep(100);
	while (w->done[0] < w->laps)
		lap(w, 0);
	me = NULL;
	return NULL;
}

/* Interrupts each writer 2,000 times a second. */
static void *interrupt(void *arg)
{
	while (!finished) {
		usleep(500);
		for (int i = 0; i < THREADS && !finished; i++)
			pthread_kill(writer[i].thread, SIGUSR1);
	}
	return NULL;
}

/* ---- the reader ---- */

struct seen {
	uint64_t records, torn, order, place; /* place: of another thread, site or stack */
	uint64_t entries[FUNCTIONS][THREADS][CONTEXTS];
	uint64_t last[CORES + 1][THREADS][CONTEXTS], ticks[CORES + 1];
	uint64_t jumps; /* exits by a jump, of calls that threads have made outside of handlers */
};

static const struct dt_elf_site *site_of(uint64_t pc)
{
	size_t i = (pc - stubs) / DT_SLED_STUB;

	if (pc < stubs || i >= elf->sites ||
	    pc != stubs + i * DT_SLED_STUB + DT_SLED_STUB_BACK(elf->site[i].kind))
		return NULL;
	return &elf->site[i];
}

static int function_at(uint64_t address)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (function[i] == address)
			return i;
	return -1;
}

/* Looks whether it is the call that is to come now in this ring: they are numbered. entry: of
 * sled_frame(), which begins a lap. */
static void check_call(struct seen *s, unsigned ring, const struct dt_record *r, long a, int f)
{
	unsigned t = (unsigned)((uint64_t)a >> 56), c = (uint64_t)a >> 48 & 0xff;
	uint64_t n = (uint64_t)a & 0xffffffffffff;

	if (t >= THREADS || c >= CONTEXTS) {
		s->torn++;
		return;
	}
	if (r->kind == DT_ENTRY)
		s->entries[f][t][c]++;
	/* + 1: nothing is seen yet */
	if (n + 1 < s->last[ring][t][c] || n >= writer[t].laps + (c ? 1ull << 40 : 0))
		s->order++;
	if (r->kind == DT_ENTRY && f == FRAME && n + 1 == s->last[ring][t][c])
		s->order++;
	s->last[ring][t][c] = n + 1;
	if (ring < CORES && ring / 2 != t)
		s->place++;
	/* of sled_plain() only where sled_frame() does not call it */
	if (!c && f != PLAIN)
		s->place += r->sp != writer[t].sp;
}

static void check(struct seen *s, unsigned ring, const struct dt_record *r)
{
	const struct dt_elf_site *site = site_of(r->pc);
	int f = site ? function_at(site->function) : -1;
	const long *v = (const long *)r->value;

	s->records++;
	if (ring < CORES && r->ticks < s->ticks[ring])
		s->order++;
	s->ticks[ring] = r->ticks;
	if (f < 0 || (r->kind == DT_ENTRY) != (site->kind == DT_ELF_ENTRY) ||
	    (r->kind != DT_ENTRY && r->kind != DT_EXIT)) {
		s->place++;
		return;
	}
	if (r->kind == DT_ENTRY) {
		s->torn +=
			v[1] != ~v[0] || v[2] != MIX(v[0]) || v[3] != TURNED(v[0]) || r->flags != 4;
		check_call(s, ring, r, v[0], f);
	} else if (site->kind == DT_ELF_JUMP) {
		s->torn += v[0] != (long)sled_plain || r->flags != 0;
		for (unsigned t = 0; t < THREADS; t++)
			s->jumps += r->sp == writer[t].sp;
	} else if (f == REAL) {
		double real;

		memcpy(&real, &v[2], 8);
		s->torn += real < 0 || real != (double)(uint64_t)real || r->flags != 1;
	} else if (site->kind == DT_ELF_TAIL) {
		s->torn += v[1] != ~v[0] || r->flags != 1;
		check_call(s, ring, r, v[0], f);
	} else {
		s->torn += r->flags != 1;
		check_call(s, ring, r, SLED_RESULT(v[0]), f);
	}
}

struct run {
	struct dt_shared shared;
	struct dt_ring_reader reader[CORES + 1];
	struct seen seen;
	uint64_t area;
	size_t bytes;
	bool done;
};

static bool take(struct run *r, size_t max, bool last)
{
	const struct dt_record *records;
	bool any = false;

	for (unsigned i = 0; i <= CORES; i++) {
		uint64_t lost;
		size_t n = dt_ring_take(&r->reader[i], max, last, &records, &lost);

		for (size_t k = 0; k < n; k++)
			check(&r->seen, i, &records[k]);
		if (n || lost)
			any = true;
		dt_ring_release(&r->reader[i]);
	}
	return any;
}

static void *read_records(void *arg)
{
	struct run *r = arg;
	unsigned rounds = 0;

	while (!__atomic_load_n(&r->done, __ATOMIC_ACQUIRE)) {
		bool any = take(r, r->shared.policy == DT_DROP ? 64 : DT_RING_TAKE, false);

		/* now and then too late, where that loses something */
		if (!any || (r->shared.policy != DT_WAIT && rounds++ % 16 == 0))
			usleep(r->shared.policy == DT_WAIT ? 200 : 3000);
	}
	while (take(r, DT_RING_TAKE, true))
		;
	return NULL;
}

/* ---- runs ---- */

enum kind { FAST, SLOW, FROM }; /* hooks; FROM: of calls that the program makes, and no others */

/* Has the hooks called ..._FROM record what is called from [begin, begin + size). */
static void set_from(const struct run *r, uint64_t begin, uint64_t size)
{
	struct dt_from from = {begin, size};
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	/* not the first one */
	if (dt_memory_write(mem, r->area + offsetof(struct dt_blob, from[2]), &from, sizeof(from)) <
	    0)
		die("the area can not be written");
	close(mem);
}

static void begin(struct run *r, enum dt_policy policy, uint64_t ring, enum kind kind)
{
	struct dt_thread_offsets o = {
		.tid = (int64_t)((char *)&own_id - (char *)__builtin_thread_pointer()),
		.rseq = (int64_t)((char *)&fake - (char *)__builtin_thread_pointer()),
		.error = (int64_t)((char *)&own_errno - (char *)__builtin_thread_pointer()),
		.rseq_size = 32,
		.signature = DT_RSEQ_SIGNATURE};
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	uint64_t hook[DT_HOOKS];
	struct dt_error e;

	memset(r, 0, sizeof(*r));
	if (dt_shared_create(&r->shared, CORES, ring, policy, &e) < 0 ||
	    dt_area_map_self(mem, &r->shared, &r->area, &r->bytes, &e) < 0 ||
	    dt_area_make_hooks(mem, r->area, &r->shared.geometry, &o, &e) < 0)
		die(e.text);
	dt_area_hooks(mem, r->area, kind != SLOW, hook);
	if (kind == FROM) {
		set_from(r, (uint64_t)text, text_size);
		hook[DT_HOOK_ENTRY] = hook[DT_HOOK_ENTRY_FROM];
		hook[DT_HOOK_EXIT] = hook[DT_HOOK_EXIT_FROM];
		hook[DT_HOOK_JUMP] = hook[DT_HOOK_JUMP_FROM];
	}
	__builtin___clear_cache((char *)r->area, (char *)r->area + DT_CODE_SIZE);
	close(mem);
	make_stubs(hook);
	for (unsigned i = 0; i <= CORES; i++)
		if (dt_ring_reader_init(&r->reader[i], &r->shared, i, &e) < 0)
			die(e.text);
	dt_rings_start(&r->shared);
}

static void end(struct run *r)
{
	for (unsigned i = 0; i <= CORES; i++)
		dt_ring_reader_free(&r->reader[i]);
	fake.cs = 0;
	munmap((void *)r->area, r->bytes);
	dt_shared_destroy(&r->shared);
}

/* Has the writers make so many records in all, under signals, while they are read. */
static void work(struct run *r, uint64_t records)
{
	pthread_t reader, signals;

	memset(writer, 0, sizeof(writer));
	go = finished = false;
	for (unsigned i = 0; i < THREADS; i++) {
		writer[i].number = i;
		writer[i].moves = true;
		writer[i].laps = records / A_LAP / THREADS;
		pthread_create(&writer[i].thread, NULL, write_records, &writer[i]);
		while (!__atomic_load_n(&writer[i].ready, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	pthread_create(&reader, NULL, read_records, r);
	pthread_create(&signals, NULL, interrupt, NULL);
	go = true;
	/* joined when no more signals are sent: a thread that has ended takes none */
	for (unsigned i = 0; i < THREADS; i++)
		while (__atomic_load_n(&writer[i].done[0], __ATOMIC_RELAXED) < writer[i].laps)
			usleep(1000);
	finished = true;
	pthread_join(signals, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(writer[i].thread, NULL);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
}

/* Compares what was read and lost with what the writers say. */
static void judge(struct run *r, const char *what, bool lossless)
{
	uint64_t laps = 0, own = 0, signals = 0, aborts = 0, wrong = 0, lost = 0, kept = 0, all = 0;
	bool whole = true;
	char line[400];

	for (unsigned i = 0; i < THREADS; i++) {
		laps += writer[i].done[0] + writer[i].done[1];
		own += writer[i].done[0];
		signals += writer[i].done[1];
		aborts += writer[i].aborts;
		wrong += writer[i].wrong;
		for (unsigned c = 0; c < CONTEXTS; c++)
			for (int f = 0; f < FUNCTIONS; f++)
				whole &= r->seen.entries[f][i][c] ==
					 writer[i].done[c] * (f == PLAIN ? 3 : 1);
	}
	whole &= !kinds[DT_ELF_JUMP] || r->seen.jumps == own;
	for (unsigned i = 0; i <= CORES; i++) {
		struct dt_shared_ring_counts c = dt_shared_ring_counts(&r->shared, i);

		lost += r->reader[i].lost_total;
		kept += r->reader[i].taken;
		all += c.pos / 64 + c.dropped;
	}
	snprintf(
		line, sizeof(line),
		"%s: %lu written = %lu read + %lu lost; %lu torn, %lu out of order, %lu out of place, %lu "
		"results wrong; %lu signals, %lu in the sequence",
		what, (unsigned long)(laps * A_LAP), (unsigned long)kept, (unsigned long)lost,
		(unsigned long)r->seen.torn, (unsigned long)r->seen.order,
		(unsigned long)r->seen.place, (unsigned long)wrong, (unsigned long)signals,
		(unsigned long)aborts);
	ok(laps * A_LAP == kept + lost && all == laps * A_LAP && kept == r->seen.records &&
		   !r->seen.torn && !r->seen.order && !r->seen.place && !wrong && kept &&
		   (lossless ? whole && !lost : lost > 0),
	   line);
}

static void campaign(const char *what, enum dt_policy policy, uint64_t ring, enum kind kind,
		     uint64_t records)
{
	static struct run r;

	begin(&r, policy, ring, kind);
	switch_sites(0, true);
	work(&r, records);
	switch_sites(0, false);
	judge(&r, what, policy == DT_WAIT);
	end(&r);
}

/* ---- one thread ---- */

/* A branch leads 128 MiB at most; where it does not, the site stays off. */
static void try_reach(void)
{
	const uint64_t far = 128ull << 20, at = 0x7f0000000000;
	const int64_t to[] = {4, far - 4, far, -far, -far - 4, 6, -(int64_t)at};
	static const bool good[] = {true, true, false, true, false, false, false};
	struct dt_toggle t;
	bool right = true;
	uint32_t word;

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		bool can = dt_sled_toggle(DT_ELF_ENTRY, at, at + (uint64_t)to[i], &t);

		memcpy(&word, t.on, 4);
		right &= can == good[i] &&
			 (!can ||
			  (word >> 26 == 5 && (int64_t)((int32_t)(word << 6) >> 4) == to[i]));
	}
	right &= !dt_sled_toggle(DT_ELF_EVENT, at, at + 4, &t) &&
		 !dt_sled_toggle(DT_ELF_PROBE_ENTRY, at, at + 4, &t);
	ok(right, "a site that is out of reach of its stub is not switched");
}

static uint64_t flags_after(uint64_t hook, uint64_t before)
{
	uint64_t after;

	__asm__ volatile("stp x29, x30, [sp, #-16]!\n\t"
			 "msr nzcv, %2\n\t"
			 "blr %1\n\t"
			 "mrs %0, nzcv\n\t"
			 "add sp, sp, #16"
			 : "=&r"(after)
			 : "r"(hook), "r"(before)
			 : "x16", "x30", "memory", "cc");
	return after;
}

/* Each hook keeps every register and the flags, and appends one record. */
static void try_hooks(void)
{
	static struct run r;
	static const int these[] = {DT_HOOK_ENTRY, DT_HOOK_EXIT, DT_HOOK_EXIT_ERRNO, DT_HOOK_JUMP};
	static const int froms[] = {DT_HOOK_ENTRY_FROM, DT_HOOK_EXIT_FROM, DT_HOOK_EXIT_ERRNO_FROM,
				    DT_HOOK_JUMP_FROM};
	struct dt_trial_registers in, out;
	uint64_t hook[2][DT_HOOKS], kept = 0, records = 0, flags = 0;
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	begin(&r, DT_OVERWRITE, 64 << 10, FAST);
	fake.cpu = fake.start = 1;
	own_id = (uint32_t)gettid();
	own_errno = 4711;
	dt_area_hooks(mem, r.area, true, hook[0]);
	dt_area_hooks(mem, r.area, false, hook[1]);
	for (int i = 0; i < DT_TRIAL_REGISTERS; i++)
		in.r[i] = 0x0123456789abcdefull * (uint64_t)(i + 3);
	for (int k = 0; k < 8; k++) {
		uint64_t to = hook[k / 4][these[k % 4]], nzcv = (uint64_t)(k & 7) << 28;
		unsigned ring = k / 4 ? CORES : 1;
		uint64_t before = dt_shared_ring_pos(&r.shared, ring);
		struct dt_record got;

		dt_trial_call(to, &in, &out);
		kept += !memcmp(&in, &out, sizeof(in));
		got = dt_shared_ring_record(&r.shared, ring, before);
		records += dt_shared_ring_pos(&r.shared, ring) == before + 64 &&
			   got.tid == own_id && got.kind == (k % 4 ? DT_EXIT : DT_ENTRY) &&
			   (k % 4 != 2 || got.value[3] == 4711) &&
			   (k % 4 == 3 || (got.value[0] == in.r[0] && got.value[1] == in.r[1]));
		flags += flags_after(to, nzcv) == nzcv && flags_after(to, 0xf0000000) == 0xf0000000;
	}
	fake.cpu = (uint32_t)-1; /* no rseq: the fast hook's records go to the shared ring */
	dt_trial_call(hook[0][DT_HOOK_ENTRY], &in, &out);
	kept += !memcmp(&in, &out, sizeof(in));
	records += dt_shared_ring_pos(&r.shared, CORES) == 13 * 64;
	printf("# %lu of 9 keep registers, %lu of 9 append, %lu of 8 keep flags\n", kept, records,
	       flags);
	ok(kept == 9 && records == 9 && flags == 8,
	   "each hook keeps registers and flags, and appends");
	/* dt_trial_call() calls from &in */
	kept = records = 0;
	fake.cpu = 1;
	for (int k = 0; k < 32; k++) {
		uint64_t first = (uint64_t)&in, before = dt_shared_ring_pos(&r.shared, 1) +
							 dt_shared_ring_pos(&r.shared, CORES);
		bool in_it = k / 8 == 1;

		/* before, around, behind, and none */
		set_from(&r,
			 first - (k / 8 == 0   ? 64
				  : k / 8 == 1 ? 63
				  : k / 8 == 2 ? -1
					       : 0),
			 k / 8 == 3 ? 0 : 64);
		dt_trial_call(hook[k / 4 % 2][froms[k % 4]], &in, &out);
		kept += !memcmp(&in, &out, sizeof(in));
		records +=
			dt_shared_ring_pos(&r.shared, 1) + dt_shared_ring_pos(&r.shared, CORES) ==
			before + (in_it ? 64 : 0);
	}
	ok(kept == 32 && records == 32, "hooks of calls from some modules record these only");
	close(mem);
	end(&r);
}

/* Interrupts a lap of this thread at that instruction, and reads what was recorded. */
static void interrupt_at(struct run *r, uint64_t address)
{
	broken = (uint32_t *)address;
	broken_word = *broken;
	__atomic_store_n(broken, 0xd4200000, __ATOMIC_RELEASE); /* brk */
	__builtin___clear_cache((char *)broken, (char *)(broken + 1));
	me = &writer[0];
	lap(&writer[0], 0);
	me = NULL;
	while (take(r, DT_RING_TAKE, true))
		;
}

/*
 * An append that is interrupted at any of its instructions, by a handler that appends to the same
 * ring, and with or without the thread being moved to another core then, happens once.
 */
static void interrupt_everywhere(void)
{
	static struct run r;
	static const int these[] = {DT_HOOK_ENTRY, DT_HOOK_EXIT, DT_HOOK_JUMP};
	const struct dt_template *t = dt_blob_head()->hook_template;
	unsigned n = 0, missed = 0, inside = 0, hooks = kinds[DT_ELF_JUMP] ? 3 : 2;

	begin(&r, DT_DROP, 64 << 10, FAST);
	memset(writer, 0, sizeof(writer));
	writer[0].laps = ~0ull >> 16;
	fake.cpu = fake.start = 0;
	own_id = (uint32_t)gettid();
	if (mprotect((void *)r.area, DT_CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		die("the hooks can not be made writable");
	switch_sites(0, true);
	for (unsigned k = 0; k < 2 * hooks; k++) {
		const struct dt_template *h = &t[these[k % hooks]];

		writer[0].moves = k >= hooks;
		inside += (h->commit - h->start) / 4;
		for (uint32_t at = h->hook; at < h->end; at += 4, n++) {
			writer[0].signals = 0;
			interrupt_at(&r, r.area + at);
			missed += broken != NULL;
		}
	}
	switch_sites(0, false);
	printf("# interrupted at %u instructions, %u of them in the sequence\n", n, inside);
	ok(!missed && n > 100 && writer[0].done[1] == n && writer[0].aborts == inside,
	   "each instruction of a hook has been interrupted");
	judge(&r, "interrupted at each instruction", true);
	end(&r);
}

/* Sites that are off record nothing; switched while they run they harm nothing. */
/* Waits until a writer has begun and ended a lap, however busy the machine is. */
static void wait_for_lap(const struct writer *w)
{
	uint64_t done = __atomic_load_n(&w->done[0], __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&w->done[0], __ATOMIC_ACQUIRE) < done + 2)
		usleep(1000);
}

static void storm_of_switches(unsigned rounds)
{
	static struct run r;
	static struct writer one;
	uint64_t before, wrong = 0;
	pthread_t thread;
	int n = 0;

	begin(&r, DT_OVERWRITE, 1 << 20, FAST);
	memset(writer, 0, sizeof(writer));
	go = false;
	one = (struct writer){.laps = ~0ull >> 16};
	pthread_create(&thread, NULL, write_records, &one);
	while (!__atomic_load_n(&one.ready, __ATOMIC_ACQUIRE))
		usleep(100);
	go = true;
	/* and on, on a busy machine, until the writer has met sites that are on */
	for (unsigned i = 0; i < rounds || (i < 1000 * rounds && !dt_shared_ring_pos(&r.shared, 0));
	     i++) {
		n += switch_sites(0, true) + switch_sites(storm, true);
		wrong += sled_storm(i) != i + 1;
		n -= switch_sites(0, false) + switch_sites(storm, false);
	}
	wait_for_lap(&one); /* who was in a stub has left it */
	before = dt_shared_ring_pos(&r.shared, 0);
	wait_for_lap(&one);
	ok(n == 0 && !wrong && before && before == dt_shared_ring_pos(&r.shared, 0),
	   "switched on and off under load: nothing is recorded afterwards");
	one.laps = 0;
	pthread_join(thread, NULL);
	ok(!one.wrong && one.done[0] > 0, "and the program's results are right");
	end(&r);
}

int main(int argc, char **argv)
{
	uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000;
	const struct dt_template *t = dt_blob_head()->hook_template;
	struct sigaction act = {.sa_sigaction = interrupted, .sa_flags = SA_SIGINFO | SA_RESTART};
	unsigned long length;
	char line[200];

	few = argc > 2;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGTRAP, &act, NULL);
	read_sites(argv[0]);
	snprintf(line, sizeof(line),
		 "sites: %zu entries, %zu returns, %zu tails, %zu jumps, %zu bad",
		 kinds[DT_ELF_ENTRY], kinds[DT_ELF_RETURN], kinds[DT_ELF_TAIL], kinds[DT_ELF_JUMP],
		 elf->bad_sites);
	ok(kinds[DT_ELF_ENTRY] == FUNCTIONS + 1 && kinds[DT_ELF_RETURN] >= 5 && !elf->bad_sites,
	   line);
	/* the site, its stub, the way, the hook */
	length = 1 + 4 + 2 + (t[DT_HOOK_ENTRY].end - t[DT_HOOK_ENTRY].hook) / 4;
	snprintf(line, sizeof(line), "a record takes %lu instructions, of 50 at most", length);
	ok(length <= 50, line);
	try_reach();
	try_hooks();
	interrupt_everywhere();
	campaign("wait", DT_WAIT, 64 << 10, FAST, records);
	campaign("drop", DT_DROP, 64 << 10, FAST, records);
	campaign("overwrite", DT_OVERWRITE, 64 << 10, FAST, records);
	campaign("wait, without rseq", DT_WAIT, 64 << 10, SLOW, records);
	if (!few) {
		campaign("wait, rings of a megabyte", DT_WAIT, 1 << 20, FAST, records);
		campaign("drop, without rseq", DT_DROP, 64 << 10, SLOW, records);
	}
	campaign("calls from this program", DT_WAIT, 64 << 10, FROM, records);
	campaign("overwrite, without rseq", DT_OVERWRITE, 64 << 10, SLOW, records);
	storm_of_switches(records / 1000);
	ok(!memcmp(text, text_copy, text_size), "every word is back");
	printf("1..%d\n", tests);
	return 0;
}
