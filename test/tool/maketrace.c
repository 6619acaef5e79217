/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file of made-up calls shaped like those of an interpreter: a few hundred
 * functions with fixed frames and favourite callees, nested loops, arguments that mostly repeat.
 * Deterministic for a seed. Prints what it wrote as "key value" lines, for tests to compare with.
 *
 * usage: maketrace [-n RECORDS] [-c CORES] [-t THREADS] [-s SEED] [-l LOSS_EVERY] [-p PAUSE_EVERY]
 * [-m EVERY] [-b] [-P N] FILE -m N   every N steps a thread sends a message, which another
 * receives: one in 50 never, one in 30 is received by a core whose clock is behind; and tells an
 * event, load.queued, of which the argument is how many are under way -p N   after every N records
 * of a thread, it does nothing for half a second -l N   after every N records of a core, N/8 are
 * lost -b print speed figures too -T N   N threads compress -P N   only the first N threads are of
 * one process; each other one is a process of its own, "short I", which lives for 3000 ticks
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "store/store.h"

#define FUNCTIONS 300
#define TEXT	  0x401000
#define DEPTH	  64
#define BATCH	  4096

struct function {
	uint64_t address, entry, exit;
	uint32_t frame;
	uint32_t ticks;
	uint8_t nargs, loops, callees;
	uint8_t style[4]; /* how each argument behaves */
	uint16_t callee[4];
};

struct frame {
	uint16_t function;
	uint8_t callee, loop; /* progress */
	uint64_t sp, object;
};

struct thread {
	uint32_t tid;
	int depth;
	struct frame frame[DEPTH];
	uint64_t counter, seed, steps;
};

#define SEND	 0x500000
#define RECEIVE	 0x500010
#define QUEUED	 0x500020
#define UNDERWAY 256

static uint64_t pause_every, message_every;

/* Sent, and not received yet; a ring. */
static struct {
	uint64_t key, due;
	const struct thread *sender;
} message[UNDERWAY];
static uint64_t sent, received;

struct core {
	uint64_t ticks, slice_end;
	struct thread *running;
	struct dt_record buf[BATCH];
	size_t n;
	uint64_t since_loss, lost;
};

static struct function function[FUNCTIONS];
static struct dt_store *store;
static int64_t function_row[FUNCTIONS];
static uint64_t calls, records, total_lost;
static double put_seconds;
static unsigned compressors = 1; /* threads of the store, with this one */
static struct dt_error error;

static uint64_t random64(uint64_t *s)
{
	uint64_t x = *s;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *s = x;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be busy here */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(void)
{
	fprintf(stderr, "maketrace: %s\n", error.text);
	exit(1);
}

/* Callees have higher numbers, so depth is bounded, but one in eight functions calls itself. */
static void make_functions(uint64_t seed)
{
	for (int i = 0; i < FUNCTIONS; i++) {
		struct function *f = &function[i];
		uint64_t r = random64(&seed);

		f->address = TEXT + 256 * (uint64_t)i;
		f->entry = f->address + 5;
		f->exit = f->address + 200 + (r & 15);
		f->frame = 16 * (1 + (r >> 4 & 7)) + (i % 40 == 39 ? 4096 : 0);
		f->ticks = 40 + (r >> 8 & 127);
		f->nargs = (r >> 16) % 5;
		f->loops = 1 + (r >> 20) % 3;
		f->callees = i >= FUNCTIONS * 2 / 3 ? 0 : 1 + (r >> 24) % 3;
		for (int j = 0; j < 4; j++) {
			f->style[j] = (r >> (28 + 3 * j)) & 7;
			f->callee[j] = (uint16_t)(i + 1 + random64(&seed) % 60);
		}
	}
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	unsigned i = (unsigned)((r->pc - TEXT) / 256);
	bool entry = r->kind == DT_ENTRY;

	if (r->pc >= SEND) {
		row->kind = DT_SITE_EVENT;
		row->values = 1;
		return;
	}
	row->function = function_row[i];
	row->kind = entry ? DT_SITE_ENTRY : DT_SITE_RETURN;
	row->values = entry ? (uint8_t)((1 << function[i].nargs) - 1) : 1;
}

static void put(struct core *c, unsigned core)
{
	double t = now();

	if (dt_store_put(store, core, c->buf, c->n, c->lost, &error))
		die();
	put_seconds += now() - t;
	c->lost = 0;
	c->n = 0;
}

static uint64_t argument(struct thread *t, const struct function *f, int i, uint64_t object)
{
	switch (f->style[i]) {
	case 0: /* the state pointer every function is given */
	case 1:
	case 2:
		return 0x55555577a2a8;
	case 3: /* an object of the caller's */
	case 4:
		return object;
	case 5:
		return t->counter & 7;
	case 6: /* one of some objects */
		return 0x5555557c0000 + 48 * (random64(&t->seed) % 512);
	default:
		return t->counter;
	}
}

/* Appends a record, or loses it. */
static void append(struct core *c, unsigned core, uint64_t loss_every, const struct dt_record *r)
{
	if (loss_every && ++c->since_loss > loss_every) {
		if (c->since_loss == loss_every + loss_every / 8)
			c->since_loss = 0;
		if (c->n)
			put(c, core);
		c->lost++;
		total_lost++;
		return;
	}
	if (c->n == BATCH)
		put(c, core);
	c->buf[c->n] = *r;
	c->buf[c->n++].core = (uint16_t)core;
	records++;
	calls += r->kind == DT_ENTRY;
}

static void tell(struct core *c, unsigned core, uint64_t loss_every, uint8_t kind, uint64_t pc,
		 uint64_t body)
{
	append(c, core, loss_every,
	       &(struct dt_record){.ticks = c->ticks,
				   .tid = c->running->tid,
				   .kind = kind,
				   .flags = 1,
				   .pc = pc,
				   .sp = 0x7ffff0000000,
				   .value = {body}});
	c->ticks += 20;
}

/* Sends one, or receives the oldest one that another has sent and that has had its time. */
static void talk(struct core *c, unsigned core, uint64_t loss_every)
{
	uint64_t key;

	if (received < sent && message[received % UNDERWAY].sender != c->running &&
	    (c->ticks >= message[received % UNDERWAY].due || !message[received % UNDERWAY].due)) {
		key = message[received++ % UNDERWAY].key;
		if (key % 50 != 49)
			tell(c, core, loss_every, DT_RECEIVE, RECEIVE, 0xebull << 56 | key << 12);
	}
	if (c->running->steps % message_every || sent - received == UNDERWAY)
		return;
	key = sent;
	message[sent % UNDERWAY].key = key;
	message[sent % UNDERWAY].sender = c->running;
	message[sent++ % UNDERWAY].due = key % 30 == 29 ? 0 : c->ticks + 3000 + key % 7 * 1000;
	if (key % 30 == 29)
		c->ticks += 5000; /* whose clock is behind */
	tell(c, core, loss_every, DT_SEND, SEND, 0xeaull << 56 | key << 12);
	tell(c, core, loss_every, DT_EVENT, QUEUED, 0xa0000001ull << 32 | (sent - received));
}

/* One step of a thread: its next entry or exit. */
static void step(struct core *c, unsigned core, uint64_t loss_every)
{
	struct thread *t = c->running;
	struct frame *top = t->depth ? &t->frame[t->depth - 1] : t->frame;
	const struct function *f;
	struct dt_record record = {0}, *r = &record;
	int callee = -1;
	uint64_t sp = 0x7ffff0000000 - ((uint64_t)t->tid << 23), object = 0x5555557b0000;

	if (t->depth == 0) {
		callee = (int)(random64(&t->seed) % 40);
	} else {
		f = &function[top->function];
		if (top->callee == f->callees && --top->loop)
			top->callee = 0;
		if (top->callee < f->callees && t->depth < DEPTH) {
			callee = f->callee[top->callee++];
			if (callee % 8 == 7 && random64(&t->seed) % 4 == 0)
				callee = top->function; /* recursion */
		}
		sp = top->sp - f->frame - 8;
		object = top->object;
	}
	c->ticks += 2 * (20 + (random64(&t->seed) & 15) + ((t->seed & 0xff0000) ? 0 : 300));
	t->steps++;
	if (pause_every && t->steps % pause_every == 0)
		c->ticks += 1000000000;
	if (message_every)
		talk(c, core, loss_every);
	r->ticks = c->ticks;
	r->tid = t->tid;
	if (callee < 0) {
		f = &function[top->function];
		r->kind = DT_EXIT;
		r->flags = 1;
		r->pc = f->exit;
		r->sp = top->sp;
		r->value[0] = f->nargs & 1 ? top->object : t->counter & 3;
		t->depth--;
		append(c, core, loss_every, r);
		return;
	}
	f = &function[callee];
	t->counter += 16;
	if (t->counter % 1024 == 0)
		object = 0x5555557c0000 + 48 * (random64(&t->seed) % 512);
	t->frame[t->depth++] = (struct frame){(uint16_t)callee, 0, f->loops, sp, object};
	r->kind = DT_ENTRY;
	r->flags = f->nargs;
	r->pc = f->entry;
	r->sp = sp;
	for (int i = 0; i < f->nargs; i++)
		r->value[i] = argument(t, f, i, object);
	append(c, core, loss_every, r);
	c->ticks += f->ticks & 62;
}

static unsigned resident; /* threads of the first process; the others live for a short time */

static void describe_all(unsigned threads)
{
	struct dt_module_row m = {1000, 0x400000, 0x401000, 0x500000, "/usr/bin/made-up", "", 0, 0};
	int64_t module = dt_store_module(store, &m, &error);

	dt_store_meta(store, "command", "maketrace", &error);
	if (message_every)
		dt_store_event(store, &(struct dt_event_row){0xa000, 1, "load", "queued", ""},
			       &error);
	dt_store_process(store, 1000, 1, "/usr/bin/made-up", "made-up", 1000000, &error);
	dt_store_clock(store, 1000000, 500000, 1700000000000000000u, &error);
	for (unsigned i = 0; i < threads; i++) {
		char name[32];

		snprintf(name, sizeof(name), "short %u", i);
		dt_store_thread(store, 1000 + i, i < resident ? 1000 : 1000 + i,
				i < resident ? "worker" : name, &error);
		if (i >= resident)
			dt_store_process(store, 1000 + i, 1, "/usr/bin/made-up", name, 1000000,
					 &error);
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		char name[16], signature[128] = "";
		struct dt_function_row f = {module,	 function[i].address, 256,	 name,
					    "made-up.c", (uint32_t)i + 10,    signature, 0,
					    NULL};

		snprintf(name, sizeof(name), "function%d", i);
		for (int j = 0; j < function[i].nargs; j++)
			snprintf(signature + strlen(signature), 32, "%s%c:%s@%d", j ? "," : "",
				 'a' + j, function[i].style[j] < 5 ? "p" : "i8", j);
		strcat(signature, ";u8@0");
		function_row[i] = dt_store_function(store, &f, &error);
		if (function_row[i] < 0)
			die();
	}
}

int main(int argc, char **argv)
{
	uint64_t n = 1000000, seed = 1, loss_every = 0;
	unsigned cores = 2, threads = 3, next = 0, young;
	bool speed = false;
	struct core *core;
	struct thread *thread;
	int o;

	while ((o = getopt(argc, argv, "n:c:t:s:l:p:m:bT:P:")) != -1) {
		switch (o) {
		case 'n':
			n = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			cores = (unsigned)atoi(optarg);
			break;
		case 't':
			threads = (unsigned)atoi(optarg);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			loss_every = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			pause_every = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			message_every = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			speed = true;
			break;
		case 'P':
			resident = (unsigned)atoi(optarg);
			break;
		case 'T':
			compressors = (unsigned)atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	resident = resident && resident < threads ? resident : threads;
	if (optind != argc - 1 || !cores || resident < cores) {
		fprintf(stderr, "usage: maketrace [-n N] [-c CORES] [-t THREADS] [-s SEED] [-l N] "
				"[-p N] [-m N] FILE\n");
		return 2;
	}
	make_functions(seed * 0x9e3779b97f4a7c15u + 1);
	store = dt_store_create(argv[optind], describe, NULL, &error);
	if (!store || dt_store_threads(store, compressors, &error))
		die();
	describe_all(threads);
	core = calloc(cores, sizeof(*core));
	thread = calloc(threads, sizeof(*thread));
	for (unsigned i = 0; i < threads; i++)
		thread[i] = (struct thread){.tid = 1000 + i, .seed = seed + 77 * i + 1};
	for (unsigned i = 0; i < cores; i++)
		core[i].ticks = 1000000;
	young = resident;
	/* the core that is furthest behind goes on; a slice ends by taking the thread that has
	 * waited longest */
	while (records < n) {
		struct core *c = core;
		uint64_t until = UINT64_MAX;

		for (unsigned i = 1; i < cores; i++)
			if (core[i].ticks < c->ticks)
				c = &core[i];
		for (unsigned i = 0; i < cores; i++)
			if (&core[i] != c && core[i].ticks < until)
				until = core[i].ticks;
		if (cores > 1)
			until += 100;
		if (c->ticks >= c->slice_end) {
			bool taken;

			do {
				taken = false;
				for (unsigned i = 0; i < cores; i++)
					taken |= &core[i] != c && core[i].running == &thread[next];
				if (taken)
					next = (next + 1) % resident;
			} while (taken);
			c->running = &thread[next];
			next = (next + 1) % resident;
			c->slice_end = c->ticks + (resident < threads ? 6000 : 2000000);
			if (young < threads && next & 1) {
				c->running = &thread[young++];
				c->slice_end = c->ticks + 3000;
			}
		}
		while (records < n && c->ticks < until && c->ticks < c->slice_end)
			step(c, (unsigned)(c - core), loss_every);
	}
	for (unsigned i = 0; i < cores; i++)
		put(&core[i], i);
	dt_store_clock(store, core[0].ticks, core[0].ticks / 2,
		       1700000000000000000u + core[0].ticks / 2 - 500000, &error);
	double t = now();
	if (dt_store_close(store, &error))
		die();
	put_seconds += now() - t;
	printf("records %llu\ncalls %llu\nlost %llu\n", (unsigned long long)records,
	       (unsigned long long)calls, (unsigned long long)total_lost);
	if (speed)
		printf("put %.1f ns per record\n", put_seconds * 1e9 / (double)records);
	free(core);
	free(thread);
	return 0;
}
