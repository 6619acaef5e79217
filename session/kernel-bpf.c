/* SPDX-License-Identifier: MIT */
/* Records the kernel by BPF programs: takes their records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/now.h"
#include "session/kernel-bpf-work.h"

static int tell(void *ctx, const char *command, struct dt_error *e)
{
	return dt_bpf_ranges_tell(ctx, command, e);
}

static int watch(void *ctx, pid_t pid, struct dt_error *e)
{
	struct dt_kernel_bpf *k = ctx;
	uint32_t number = (uint32_t)pid;
	uint64_t since = 0; /* its next hit says it */
	int rc;

	rc = dt_bpf.bpf_map_update_elem(
		dt_bpf.bpf_map__fd(dt_bpf.bpf_object__find_map_by_name(k->object, "watched")),
		&number, &since, BPF_ANY);
	return rc == 0 ? 0
		       : dt_fail(e, "what process %d does in the kernel is not recorded: %s", pid,
				 strerror(-rc));
}

static int start(void *ctx, struct dt_error *e)
{
	struct dt_kernel_bpf *k = ctx;

	(void)e;
	dt_kernel_clock_begin(&k->clock);
	__atomic_store_n(&k->state->on, 1, __ATOMIC_SEQ_CST);
	k->started = dt_now_ns();
	return 0;
}

static void stop(void *ctx)
{
	struct dt_kernel_bpf *k = ctx;

	__atomic_store_n(&k->state->on, 0, __ATOMIC_SEQ_CST);
}

/* ---- taking ---- */

/* Makes room for n records. */
static bool grow(struct dt_bpf_core *c, size_t n)
{
	struct dt_record *more;

	if (n <= c->room)
		return true;
	more = realloc(c->out, n * sizeof(*more));
	if (!more)
		return false;
	c->out = more;
	c->room = n;
	return true;
}

/* Notes new losses. A full ring has room again only after the records that it holds, so that is
 * where the lost ones are missing. */
static void note_loss(struct dt_bpf_core *c, uint64_t lost, uint64_t end)
{
	if (lost == c->told)
		return;
	c->lost += lost - c->told;
	c->lost_at = end;
	c->told = lost;
}

/* Copies the records of a core up to `until' out of its ring. */
static size_t copy(struct dt_kernel_bpf *k, unsigned core, uint64_t end, uint64_t until)
{
	struct dt_bpf_core *c = &k->core[core];
	struct dt_bpf_record *ring = k->records + ((size_t)core << k->shift);
	uint64_t mask = (1ull << k->shift) - 1;
	size_t n = 0;

	for (; c->begin + n < end; n++) {
		struct dt_bpf_record *r = &ring[(c->begin + n) & mask];
		uint64_t who = __atomic_load_n(&r->who, __ATOMIC_ACQUIRE), ticks;

		if (!who)
			break;
		ticks = dt_kernel_clock_ticks(&k->clock, r->ns);
		/* a new reading of the clocks may differ a little from what the last ones said */
		if (ticks < c->last)
			ticks = c->last;
		if (ticks > until)
			break;
		c->last = ticks;
		c->out[n] = (struct dt_record){.ticks = ticks,
					       .pc = r->pc,
					       .tid = (uint32_t)who,
					       .kind = (uint8_t)(who >> 32),
					       .flags = (uint8_t)(who >> 40),
					       .sp = r->sp};
		memcpy(c->out[n].value, r->value, sizeof(r->value));
		__atomic_store_n(&r->who, 0, __ATOMIC_RELAXED);
	}
	return n;
}

/* Returns how many records of a core have found no room, here or in the kernel. */
static uint64_t lost_of(const struct dt_kernel_bpf *k, unsigned core)
{
	return k->core[core].unkept + __atomic_load_n(&k->head[core].lost, __ATOMIC_ACQUIRE) +
	       (k->blocks ? __atomic_load_n(&k->head[k->cores + core].lost, __ATOMIC_ACQUIRE) : 0);
}

static const struct dt_record *take(void *ctx, unsigned core, uint64_t until, size_t *n,
				    uint64_t *lost, size_t *lost_at)
{
	struct dt_kernel_bpf *k = ctx;
	struct dt_bpf_core *c = &k->core[core];
	struct dt_bpf_head *h = &k->head[core];
	uint64_t begin = c->begin, end, missed;

	*n = *lost_at = 0;
	*lost = 0;
	end = __atomic_load_n(&h->end, __ATOMIC_ACQUIRE);
	note_loss(c, lost_of(k, core), end);
	if (until == ~0ull && core == 0) {
		missed = dt_bpf_programs_missed(k) + dt_bpf_ranges_missed(k);
		c->lost += missed - k->misses;
		c->lost_at = missed == k->misses ? c->lost_at : end;
		k->misses = missed;
	}
	/* more than a ring are not there, whatever the shared memory says */
	if (end - begin > 1ull << k->shift)
		end = begin + (1ull << k->shift);
	dt_kernel_clock_look(&k->clock);
	if (end != begin && grow(c, (size_t)(end - begin))) {
		*n = copy(k, core, end, until);
		c->begin += *n;
		__atomic_store_n(&h->begin, c->begin, __ATOMIC_RELEASE);
	}
	if (c->lost && c->lost_at <= c->begin) {
		*lost = c->lost;
		*lost_at = c->lost_at > begin ? (size_t)(c->lost_at - begin) : 0;
		c->lost = 0;
	}
	return c->out;
}

static int written(void *ctx, unsigned core, uint64_t *records, uint64_t *dropped)
{
	const struct dt_kernel_bpf *k = ctx;

	*records = __atomic_load_n(&k->head[core].end, __ATOMIC_ACQUIRE) + k->core[core].late;
	*dropped = lost_of(k, core) + (core == 0 ? k->misses : 0);
	return 0;
}

static size_t stack_of(void *ctx, uint32_t id, uint64_t *address, size_t most)
{
	const struct dt_kernel_bpf *k = ctx;
	uint64_t all[DT_BPF_STACK_DEPTH] = {0};
	size_t n = 0;

	if (dt_bpf.bpf_map_lookup_elem(k->stacks, &id, all) < 0)
		return 0;
	while (n < k->depth && n < most && all[n]) {
		address[n] = all[n];
		n++;
	}
	return n;
}

/* ---- opening ---- */

static size_t note_left_out(char *text, size_t size, size_t at, const struct dt_bpf_left_out *l,
			    const char *why)
{
	if (!l->n || at >= size)
		return at;
	return at + dt_format(text + at, size - at, "; %zu functions %s: %s%s", l->n, why, l->names,
			      l->n > 1 ? " ..." : "");
}

static void note(void *ctx, char *text, size_t size)
{
	const struct dt_kernel_bpf *k = ctx;
	size_t at = 0;

	text[0] = '\0';
	/* where only threads are recorded, the module would record nothing */
	if (k->full || k->functions || k->calls || k->tracepoints->n || !k->threads)
		at = dt_format(text, size, "the kernel is recorded by BPF: %s",
			       k->full ? "its module does not record system calls in full"
			       : k->tracepoints->n
				       ? "its module does not record the kernel's own tracepoints"
			       : k->threads ? "its module does not record who wakes threads"
			       : k->in_use  ? "its module's device is in use"
					    : "its module is not loaded");
	if (k->tracepoints->n && !dt_bpf_tracepoints_counted() && at < size)
		at += dt_format(text + at, size - at,
				"; this kernel (before 6.7) does not count the tracepoints that "
				"interrupts hit while BPF ran, which are missing");
	if (k->state->unstacked)
		at += dt_format(text + at, size - at, "%s%lu times the kernel's stack is not known",
				at ? "; " : "", (unsigned long)k->state->unstacked);

	if (k->state->unwatched && at < size)
		at += dt_format(text + at, size - at, "; of %lu processes nothing is recorded",
				(unsigned long)k->state->unwatched);
	at = note_left_out(text, size, at, &k->untyped, "are left out (BTF has no type of theirs)");
	at = note_left_out(text, size, at, &k->refused, "may not be probed");
	if (k->forbidden[0] && at < size)
		dt_format(text + at, size - at, " (%s)", k->forbidden);
}

static void close_bpf(void *ctx)
{
	struct dt_kernel_bpf *k = ctx;

	if (k->state)
		stop(k);
	dt_bpf_ranges_free(k);
	dt_bpf_programs_unload(k);
	for (unsigned i = 0; k->core && i < k->cores; i++)
		free(k->core[i].out);
	free(k->core);
	free(k->function);
	dt_bpf_choosing_free(k);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

int dt_kernel_bpf_open(struct dt_kernel_source *s, const struct dt_kernel_wanted *w,
		       struct dt_kernel_names *names, struct dt_error *e)
{
	static const struct dt_kernel_source_ops ops = {"bpf",
							false,
							close_bpf,
							tell,
							watch,
							start,
							stop,
							take,
							written,
							note,
							stack_of,
							dt_bpf_choosing_tell,
							dt_bpf_choosing_end,
							dt_bpf_choosing_waits,
							dt_bpf_choosing_take,
							dt_bpf_choosing_left,
							dt_bpf_sums_take,
							dt_bpf_names_take};
	struct dt_kernel_bpf *k;

	if (dt_bpf_load(e) < 0 || dt_kernel_names_types(names, e) < 0)
		return -1;
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return dt_fail(e,
			       "/sys/kernel/btf/vmlinux: %s: this kernel does not tell its types "
			       "(CONFIG_DEBUG_INFO_BTF)",
			       strerror(errno));
	k = calloc(1, sizeof(*k));
	if (!k || !(k->core = calloc(w->cores, sizeof(*k->core)))) {
		free(k);
		return dt_fail(e, "out of memory");
	}
	pthread_mutex_init(&k->lock, NULL);
	k->names = names;
	k->wanted = w;
	k->cores = w->cores;
	k->threads = w->threads;
	k->names_told = w->names;
	k->in_use = w->in_use;
	k->tracepoints = w->tracepoints;
	k->shift = 16;
	memset(k->tracepoint, -1, sizeof(k->tracepoint));
	dt_kernel_clock_look(&k->clock); /* the next one is when the programs are loaded */
	if ((w->chooses && dt_bpf_choosing_open(k, e) < 0) || dt_bpf_choose(k, e) < 0 ||
	    dt_bpf_programs_load(k, e) < 0) {
		close_bpf(k);
		return -1;
	}
	k->wanted = NULL;
	*s = (struct dt_kernel_source){&ops, k};
	return 0;
}
