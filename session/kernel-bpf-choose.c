/* SPDX-License-Identifier: MIT */
/* Has BPF choose among calls before they are recorded: tells it conditions, and takes the entries
 * of calls that it has kept until their end was known. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/words.h"
#include "session/kernel-bpf-work.h"

/* What the recorder waits for at most, ns: the entry of a call that goes on longer is taken from
 * its frame, and the recorder decides about it. */
#define PATIENCE 20000000u
/* ns after which a call that has begun can be seen in its frame, as state.h's `settled' */
#define SETTLED 10000u
/* That much less than a least length, and so many ns, are as long: the recorder's ticks are another
 * clock. */
#define CLOCKS	1000u
#define READING 500u

static int map_of(struct dt_kernel_bpf *k, const char *name)
{
	return dt_bpf.bpf_map__fd(dt_bpf.bpf_object__find_map_by_name(k->object, name));
}

int dt_bpf_choosing_open(struct dt_kernel_bpf *k, struct dt_error *e)
{
	struct dt_bpf_choosing *c = &k->choosing;
	int possible = dt_bpf.libbpf_num_possible_cpus();

	if (possible < 1)
		return dt_fail(e, "BPF: how many cores the kernel can have is not known");
	c->possible = (unsigned)possible;
	c->sum_rows = k->wanted->sums;
	c->sum = calloc(c->possible, sizeof(*c->sum));
	return c->sum ? 0 : dt_fail(e, "out of memory");
}

void dt_bpf_choosing_free(struct dt_kernel_bpf *k)
{
	free(k->choosing.entry);
	free(k->choosing.function);
	free(k->choosing.sum);
	free(k->choosing.row_told);
}

/* ---- conditions ---- */

struct dt_bpf_condition dt_bpf_condition_of(const struct dt_condition *c)
{
	return (struct dt_bpf_condition){
		.at = c->at,
		.shift = (uint8_t)(64 - 8 * c->size),
		.has_sign = c->has_sign,
		.op = (uint8_t)c->op,
		.of_exit = c->of_exit,
		.number = c->number,
	};
}

static struct dt_bpf_chosen chosen_of(const struct dt_kernel_bpf *k, const struct dt_conditions *c)
{
	struct dt_bpf_chosen to = {.never = c->never, .n = c->n, .ends = c->least != 0};
	double ns = (double)c->least / k->choosing.ticks_per_ns;

	ns -= ns / CLOCKS + READING;
	to.least = ns > 0 ? (uint64_t)ns : 0;
	for (unsigned i = 0; i < c->n; i++) {
		to.condition[i] = dt_bpf_condition_of(&c->condition[i]);
		to.ends |= c->condition[i].of_exit;
	}
	return to;
}

/* Remembers a function that has conditions. */
static bool note_function(struct dt_bpf_choosing *c, uint64_t pc, uint32_t row)
{
	if (c->functions == c->function_room) {
		size_t room = c->function_room ? 2 * c->function_room : 64;
		struct dt_bpf_told *more = realloc(c->function, room * sizeof(*more));

		if (!more)
			return false;
		c->function = more;
		c->function_room = room;
	}
	c->function[c->functions++] = (struct dt_bpf_told){.pc = pc, .row = row};
	return true;
}

/* Returns why calls of the function at pc can not be summed up by the programs; NULL: they can. */
static const char *unsummed(const struct dt_kernel_bpf *k, uint64_t pc,
			    const struct dt_bpf_chosen *chosen)
{
	/* what its arguments lead to is read when the call begins: its entry can not wait */
	if (DT_BPF_IS_CALL(pc) && !chosen->never && chosen->ends)
		return "of system calls in full, the filter asks for what is known at their end";
	/* programs of one function each do not choose, so that times of calls in others are not
	 * known */
	if (k->functions && !k->multi)
		return "this kernel has no kprobe.multi (CONFIG_FPROBE)";
	return NULL;
}

const char *dt_bpf_choosing_tell(void *ctx, uint64_t pc, uint32_t row,
				 const struct dt_conditions *c, const struct dt_kernel_sums *sums,
				 double ticks_per_ns)
{
	struct dt_kernel_bpf *k = ctx;
	struct dt_bpf_choosing *g = &k->choosing;
	struct dt_bpf_chosen chosen;
	const char *why;

	if (!g->sum || g->over || (!c->never && !c->least && !c->n))
		return NULL;
	for (size_t i = 0; i < g->functions; i++)
		if (g->function[i].pc == pc)
			return NULL;
	g->ticks_per_ns = ticks_per_ns;
	chosen = chosen_of(k, c);
	chosen.sums = sums && sums->n;
	if (sums && (why = unsummed(k, pc, &chosen)) != NULL)
		return why;
	memset(g->sum, 0, g->possible * sizeof(*g->sum));
	/* the place for its counts first: what is left out is counted. If there is no room, the
	 * recorder goes on to decide */
	if (!note_function(g, pc, row) ||
	    (chosen.sums && !dt_bpf_sums_tell(k, &g->function[g->functions - 1],
					      (uint32_t)g->functions - 1, sums)) ||
	    dt_bpf.bpf_map_update_elem(map_of(k, "left_out"), &pc, g->sum, BPF_ANY) < 0 ||
	    dt_bpf.bpf_map_update_elem(map_of(k, "chosen"), &pc, &chosen, BPF_ANY) < 0)
		return "the programs have no room for more functions";
	__atomic_store_n(&k->state->choose, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

void dt_bpf_choosing_end(void *ctx)
{
	struct dt_kernel_bpf *k = ctx;

	k->choosing.over = true;
	__atomic_store_n(&k->state->choose, 0, __ATOMIC_SEQ_CST);
}

/* ---- what was left out ---- */

/* Adds up what all cores have counted of a function. */
static bool sum_up(struct dt_kernel_bpf *k, uint64_t pc, struct dt_bpf_left *sum)
{
	struct dt_bpf_choosing *c = &k->choosing;

	*sum = (struct dt_bpf_left){0};
	if (dt_bpf.bpf_map_lookup_elem(map_of(k, "left_out"), &pc, c->sum) < 0)
		return false;
	for (unsigned i = 0; i < c->possible; i++) {
		const struct dt_bpf_left *l = &c->sum[i];

		sum->calls += l->calls;
		sum->untimed += l->untimed;
		sum->total += l->total;
		sum->self += l->self;
		if (l->min && (!sum->min || l->min < sum->min))
			sum->min = l->min;
		if (l->max > sum->max)
			sum->max = l->max;
	}
	return true;
}

bool dt_bpf_choosing_left(void *ctx, size_t i, struct dt_left_out_row *row)
{
	struct dt_kernel_bpf *k = ctx;
	struct dt_bpf_choosing *c = &k->choosing;
	struct dt_bpf_told *t;
	struct dt_bpf_left now;
	double rate = c->ticks_per_ns;

	if (!c->sum || i >= c->functions)
		return false;
	t = &c->function[i];
	*row = (struct dt_left_out_row){.function = t->row};
	if (!sum_up(k, t->pc, &now))
		return true;
	row->calls = now.calls - t->told.calls;
	row->untimed = now.untimed - t->told.untimed + t->open;
	row->total = (uint64_t)((double)(now.total - t->told.total) * rate);
	row->self = (uint64_t)((double)(now.self - t->told.self) * rate);
	row->min = now.min ? (uint64_t)((double)(now.min - 1) * rate) : 0;
	row->max = (uint64_t)((double)now.max * rate);
	t->told = now;
	t->open = 0;
	return true;
}

/* ---- entries that come later ---- */

static struct dt_record *add_entry(struct dt_bpf_choosing *c)
{
	if (c->entries == c->entry_room) {
		size_t room = c->entry_room ? 2 * c->entry_room : 1024;
		struct dt_record *more = realloc(c->entry, room * sizeof(*more));

		if (!more)
			return NULL;
		c->entry = more;
		c->entry_room = room;
	}
	return &c->entry[c->entries++];
}

/* Adds an entry, as a record has it. */
static void take(struct dt_kernel_bpf *k, uint64_t ns, uint64_t who, uint64_t pc, uint64_t sp,
		 const __u64 value[4], uint64_t core)
{
	struct dt_record *r = add_entry(&k->choosing);
	struct dt_bpf_core *of = &k->core[core < k->cores ? core : 0];

	if (!r) {
		of->unkept++;
		return;
	}
	of->late++;
	*r = (struct dt_record){.ticks = dt_kernel_clock_ticks(&k->clock, ns),
				.pc = pc,
				.tid = (uint32_t)who,
				.kind = (uint8_t)(who >> 32),
				.flags = (uint8_t)(who >> 40),
				.core = (uint16_t)core,
				.sp = sp};
	memcpy(r->value, value, sizeof(r->value));
}

/* Takes the entry of a call that goes on out of its frame. False: its thread has just gone on. */
static bool take_waiting(struct dt_kernel_bpf *k, struct dt_bpf_frame *f, uint64_t state)
{
	struct dt_bpf_frame copy;

	memcpy(&copy, f, sizeof(copy));
	/* no two calls of a thread begin at the same time: it is the same call still */
	if (!__atomic_compare_exchange_n(&f->state, &state, state - DT_BPF_WAITS + DT_BPF_WRITTEN,
					 false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	take(k, state >> DT_BPF_STATE_BITS, copy.who, copy.pc, copy.sp, copy.value, copy.core);
	return true;
}

/* A call that is left out has not ended yet: nothing else will count it. */
static void note_open(struct dt_bpf_choosing *c, uint64_t pc)
{
	for (size_t i = 0; i < c->functions; i++)
		if (c->function[i].pc == pc)
			c->function[i].open++;
}

/* Looks at the open calls of a thread. Returns when the first one began, ns, that still waits. */
static uint64_t look_at(struct dt_kernel_bpf *k, struct dt_bpf_thread *t, uint64_t before, bool end)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < DT_BPF_FRAMES; i++) {
		struct dt_bpf_frame *f = &t->frame[i];
		uint64_t state = __atomic_load_n(&f->state, __ATOMIC_ACQUIRE);
		uint64_t ns = state >> DT_BPF_STATE_BITS, is = DT_BPF_STATE(state);

		if (end && is == DT_BPF_LEFT)
			note_open(&k->choosing, f->pc);
		if (is != DT_BPF_WAITS && is != DT_BPF_COMES)
			continue;
		if (is == DT_BPF_WAITS && ns <= before && take_waiting(k, f, state))
			continue;
		if (ns < first)
			first = ns;
	}
	return first;
}

uint64_t dt_bpf_choosing_waits(void *ctx, uint64_t now_ns, bool end)
{
	struct dt_kernel_bpf *k = ctx;
	/* calls begin while the rings are read, and are not seen here at once */
	uint64_t first = end ? UINT64_MAX : now_ns - SETTLED, one;
	uint64_t before = end ? UINT64_MAX : now_ns > PATIENCE ? now_ns - PATIENCE : 0;

	if (!k->blocks)
		return UINT64_MAX;
	dt_kernel_clock_look(&k->clock);
	k->choosing.entries = 0;
	for (unsigned i = 0; i < DT_BPF_BLOCKS; i++) {
		if (!__atomic_load_n(&k->blocks[i].owner, __ATOMIC_ACQUIRE))
			continue;
		one = look_at(k, &k->blocks[i], before, end && !k->choosing.counted);
		first = one < first ? one : first;
	}
	k->choosing.counted |= end;
	return first == UINT64_MAX ? first : dt_kernel_clock_ticks(&k->clock, first);
}

const struct dt_record *dt_bpf_choosing_take(void *ctx, size_t *n)
{
	struct dt_kernel_bpf *k = ctx;
	uint64_t mask = (1ull << k->shift) - 1;

	*n = 0;
	for (unsigned core = 0; k->blocks && core < k->cores; core++) {
		struct dt_bpf_head *h = &k->head[k->cores + core];
		struct dt_bpf_record *ring = k->records + ((size_t)(k->cores + core) << k->shift);
		uint64_t *begin = &k->core[core].further;
		uint64_t end = __atomic_load_n(&h->end, __ATOMIC_ACQUIRE), who;

		if (end - *begin > mask + 1)
			end = *begin + mask + 1;
		for (; *begin < end; ++*begin) {
			struct dt_bpf_record *r = &ring[*begin & mask];

			who = __atomic_load_n(&r->who, __ATOMIC_ACQUIRE);
			if (!who)
				break;
			take(k, r->ns, who, r->pc, r->sp, r->value, core);
			__atomic_store_n(&r->who, 0, __ATOMIC_RELAXED);
		}
		__atomic_store_n(&h->begin, *begin, __ATOMIC_RELEASE);
	}
	*n = k->choosing.entries;
	return k->choosing.entry;
}
