/* SPDX-License-Identifier: MIT */
/* Trying out the hooks, and measuring what a record costs. */
#include "hook/calibrate.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/memory.h"

#define BATCH	200 /* records: fewer than a scratch ring holds */
#define BATCHES 50

/* Copies the last record of the ring that has grown since `before'; false: none has. */
static bool last_record(const struct dt_shared *c, const uint64_t *before, struct dt_record *rec)
{
	for (unsigned i = 0; i < c->geometry.cores; i++) {
		uint64_t pos = dt_shared_ring_pos(c, i);

		if (pos != before[i]) {
			*rec = dt_shared_ring_record(c, i, pos - 64);
			return true;
		}
	}
	return false;
}

/* Calls the hook of events, and checks its record and the registers. four: it is the hook that
 * records four values. */
static int try_event(const struct dt_shared *c, uint64_t hook, bool four, struct dt_error *e)
{
	uint64_t before[c->geometry.cores], body = 0xa000000100000011, more = 0x123456789abcdef;
	struct dt_trial_registers in, out = {{0}};
	struct dt_record rec;

	for (int i = 0; i < DT_TRIAL_REGISTERS; i++)
		in.r[i] = 0x0123456789abcdefull * (uint64_t)(i + 3);
	/* this leaves a record without meaning: after that call there is no event's data */
	dt_trial_call(hook, &in, &out);
	if (memcmp(&in, &out, sizeof(in)) != 0)
		return dt_fail(e, "self test: a hook changes registers on this machine");
	for (unsigned i = 0; i < c->geometry.cores; i++)
		before[i] = dt_shared_ring_pos(c, i);
	dt_trial_event(hook, body, more);
	if (!last_record(c, before, &rec) || rec.kind != DT_EVENT || rec.flags != 4 ||
	    rec.tid != (uint32_t)gettid() || rec.value[0] != body ||
	    (four && (rec.value[1] != more || rec.value[2] != more + 1 || rec.value[3] != ~more)))
		return dt_fail(e,
			       "self test: a hook does not record what it should on this machine");
	return 0;
}

/* Calls the hook of entries or exits, and checks its record and the registers. */
static int try_hook(const struct dt_shared *c, uint64_t hook, enum dt_kind kind, struct dt_error *e)
{
	struct dt_trial_registers in, out = {{0}};
	uint64_t before[c->geometry.cores], t0, t1;
	struct dt_record rec;

	for (int i = 0; i < DT_TRIAL_REGISTERS; i++)
		in.r[i] = 0x0123456789abcdefull * (uint64_t)(i + 3);
	for (unsigned i = 0; i < c->geometry.cores; i++)
		before[i] = dt_shared_ring_pos(c, i);
	t0 = dt_ticks();
	dt_trial_call(hook, &in, &out);
	t1 = dt_ticks();
	if (memcmp(&in, &out, sizeof(in)) != 0)
		return dt_fail(e, "self test: a hook changes registers on this machine");
	if (!last_record(c, before, &rec) || rec.kind != kind || rec.tid != (uint32_t)gettid() ||
	    rec.ticks < t0 || rec.ticks > t1 ||
	    rec.value[0] != in.r[kind == DT_ENTRY ? DT_TRIAL_ARGUMENT(0) : DT_TRIAL_RESULT(0)] ||
	    rec.value[1] != in.r[kind == DT_ENTRY ? DT_TRIAL_ARGUMENT(1) : DT_TRIAL_RESULT(1)])
		return dt_fail(e,
			       "self test: a hook does not record what it should on this machine");
	return 0;
}

/* Returns the ticks of one call of the hook in the fastest batch: all else that the machine does
 * only adds time. */
static double measure(const struct dt_shared *c, uint64_t hook)
{
	uint64_t best = ~0ull;

	for (int b = 0; b < BATCHES; b++) {
		uint64_t begin = dt_ticks(), n;

		for (int i = 0; i < BATCH; i++)
			dt_trial_bare(hook);
		n = dt_ticks() - begin;
		if (n < best)
			best = n;
	}
	return (double)best / BATCH;
}

/* ---- what a record costs, by consecutive records ---- */

#define GROUP	4    /* points one after the other */
#define SAMPLES 5000 /* at most */

struct samples {
	double ticks[SAMPLES];
	uint32_t n;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the statistics of the samples, which it sorts. */
static struct dt_cost cost_of(struct samples *s)
{
	struct dt_cost c = {.n = s->n};
	double sum = 0, squares = 0;

	if (s->n < 2)
		return (struct dt_cost){0};
	qsort(s->ticks, s->n, sizeof(*s->ticks), ascending);
	c.median = s->ticks[s->n / 2];
	for (uint32_t i = 0; i < s->n; i++)
		sum += s->ticks[i];
	c.mean = sum / s->n;
	for (uint32_t i = 0; i < s->n; i++)
		squares += (s->ticks[i] - c.mean) * (s->ticks[i] - c.mean);
	c.deviation = sqrt(squares / (s->n - 1));
	c.interval = 2.576 * c.deviation / sqrt(s->n);
	return c;
}

/*
 * Adds the times between the records since `before', if all went to one ring. The first record of
 * each group is left out, since something else than a hook ran before it.
 */
static void take_samples(const struct dt_shared *c, const uint64_t *before, unsigned group,
			 struct samples *s)
{
	uint64_t last = 0, end = 0;
	bool grown = false;
	unsigned at = 0;

	for (unsigned i = 0; i <= c->geometry.cores; i++) {
		uint64_t pos = dt_shared_ring_pos(c, i);

		if (pos == before[i])
			continue;
		if (grown)
			return; /* the thread has moved to another core meanwhile */
		grown = true;
		end = pos;
		at = i;
	}
	if (!grown)
		return;
	for (uint64_t pos = before[at], k = 0; pos != end; pos += 64, k++) {
		uint64_t ticks = dt_shared_ring_record(c, at, pos).ticks;

		if (k % group && s->n < SAMPLES)
			s->ticks[s->n++] = (double)(ticks - last);
		last = ticks;
	}
}

/* Takes samples by calling code, which makes `group' records each time. If that is 1, the time from
 * one call to the next counts. */
static void sample(const struct dt_shared *c, uint64_t code, unsigned group, struct samples *s)
{
	uint64_t before[c->geometry.cores + 1];

	s->n = 0;
	for (int b = 0; b < BATCHES; b++) {
		for (unsigned i = 0; i <= c->geometry.cores; i++)
			before[i] = dt_shared_ring_pos(c, i);
		for (unsigned i = 0; i < BATCH / group; i++)
			dt_trial_bare(code);
		take_samples(c, before, group > 1 ? group : BATCH, s);
	}
}

/* Takes samples of points that capture a register, one after the other, in a page within reach of
 * the area. */
static bool sample_points(const struct dt_shared *c, uint64_t area, size_t bytes, uint64_t hook,
			  struct samples *s)
{
	static const struct dt_item item = {.from = {.kind = DT_OPERAND_REGISTER,
						     .size = 8,
						     .reg = DT_TRIAL_REGISTER,
						     .base = DT_REGISTER_NONE,
						     .index = DT_REGISTER_NONE}};
	uint64_t address = area + ((bytes + 4095) & ~4095ull);
	struct dt_capture capture = {.hook = hook, .on = true};
	struct dt_captured made;
	struct dt_emit o;
	uint8_t *page = mmap((void *)address, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page == MAP_FAILED)
		return false;
	o = (struct dt_emit){.bytes = page, .room = 4096, .address = (uint64_t)page};
	for (int i = 0; i < GROUP; i++)
		dt_capture_emit(&o, &item, 1, &capture, &made);
	dt_emit_bytes(&o, DT_TRIAL_RETURN, sizeof(DT_TRIAL_RETURN) - 1);
	if (o.size <= o.room && !mprotect(page, 4096, PROT_READ | PROT_EXEC))
		sample(c, (uint64_t)page, GROUP, s);
	munmap(page, 4096);
	return s->n > 0;
}

/* Returns where glibc keeps a thread's id, as an offset from the thread pointer: see
 * find_tid_offset() in target-threads.c. 0: not known. */
static int64_t own_tid_offset(void)
{
	const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
	const uint32_t *size =
		DT_THREAD_BELOW ? dlsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread") : NULL;

	if (!field || field[0] != 32 || (DT_THREAD_BELOW && !size))
		return 0;
	return (int64_t)(int32_t)field[2] - (size ? (int64_t)*size : 0);
}

int dt_calibrate(const struct dt_shared *scratch, struct dt_costs *costs, struct dt_error *e)
{
	struct dt_thread_offsets o = {.tid = own_tid_offset(),
				      .rseq = __rseq_offset,
				      .rseq_size = __rseq_size,
				      .signature = DT_RSEQ_SIGNATURE};
	const struct dt_shared *c = scratch;
	uint64_t area, hook[DT_HOOKS];
	struct samples *s;
	size_t bytes;
	int mem, rc = -1;

	*costs = (struct dt_costs){0};
	if (!__rseq_size || !o.tid)
		return 0;
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return 0;
	if (dt_area_map_self(mem, scratch, &area, &bytes, e) < 0)
		goto close;
	if (dt_area_make_hooks(mem, area, &c->geometry, &o, e) < 0 ||
	    dt_area_hooks(mem, area, true, hook) < 0)
		goto unmap;
	if (try_hook(c, hook[DT_HOOK_ENTRY], DT_ENTRY, e) < 0 ||
	    try_hook(c, hook[DT_HOOK_EXIT], DT_EXIT, e) < 0 ||
	    (hook[DT_HOOK_EVENT] && (try_event(c, hook[DT_HOOK_EVENT], false, e) < 0 ||
				     try_event(c, hook[DT_HOOK_EVENT4], true, e) < 0)))
		goto unmap;
	costs->ticks = (measure(c, hook[DT_HOOK_ENTRY]) + measure(c, hook[DT_HOOK_EXIT])) / 2;
	s = malloc(sizeof(*s));
	if (s) {
		sample(c, hook[DT_HOOK_ENTRY], 1, s);
		costs->entry = cost_of(s);
		sample(c, hook[DT_HOOK_EXIT], 1, s);
		costs->exit = cost_of(s);
		if (DT_POINTS && sample_points(c, area, bytes, hook[DT_HOOK_EVENT4], s))
			costs->point = cost_of(s);
	}
	free(s);
	rc = 0;
unmap:
	/* the kernel must not find our sequence in memory that is gone */
	*(volatile uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset + 8) = 0;
	munmap((void *)area, bytes);
close:
	close(mem);
	return rc;
}
