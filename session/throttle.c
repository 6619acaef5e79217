/* SPDX-License-Identifier: MIT */
#include "session/throttle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/target-modules.h"
#include "hook/target-switch.h"
#include "process/now.h"
#include "process/status.h"
#include "session/budget.h"
#include "session/describe.h"
#include "session/ranges.h"
#include "session/sieve.h"
#include "session/thread-table.h"
#include "session/whose.h"

#define NOTED_NS 10000000000ull /* what is off is noted so often, for those who read meanwhile */

/* how much of a record's taking is believed at first, and at the most: ns */
#define TAKING	    30.0
#define TAKING_MOST 200.0
#define ENOUGH	    20000 /* records: with fewer, what taking one costs is not measured anew */

/* How many records came from a place, since the last look. */
struct count {
	uint64_t pc; /* 0: free */
	uint32_t pid;
	uint8_t kind;
	uint64_t n;
};

/* A time in which a function is off. */
struct off {
	uint64_t begin, end; /* ticks; end 0: it still is */
	uint64_t own_ns;     /* the program's own processor time in it */
	double rate;	     /* calls in a ns of that before */
};

/* A function of the budget: element i is of dt_budget.function[i]. */
struct function {
	struct dt_file *file;
	uint64_t address; /* in the file */
	uint32_t row;	  /* in the trace file; 0: none yet */
	struct off now;	  /* if it is off: without what dt_budget_function knows; or is coming */
	struct off past;  /* before that */
	bool coming;	  /* it is to be on again, and is not in all processes yet */
	bool waits;	  /* of `past', the rate after it is not known yet */
	uint64_t missed;  /* calls that it is thought to have made in times that are done with */
	uint64_t times;	  /* how often it went off */
	struct dt_module *module; /* one that has it; only during a look */
};

struct dt_throttle {
	struct dt_budget budget;
	struct function *function;
	size_t room;
	uint32_t *find; /* open addressing: numbers of functions, plus 1 */
	size_t finds;	/* a power of two */
	struct count *count;
	size_t counts, used;  /* counts: a power of two */
	uint32_t tid, pid;    /* the thread that was looked up last, and its process */
	uint64_t unknown;     /* records of no function */
	uint64_t taken;	      /* records since the last look */
	uint64_t recorder_ns; /* processor time of the recorder thread at the last look */
	uint64_t cpu_ns;      /* processor time of all processes at the last look */
	uint64_t pending;     /* that of looks that were too short to tell anything */
	uint64_t next;	      /* ns, when to look */
	uint64_t from;	      /* ticks: records before were made while functions were switched */
	uint64_t noted;	      /* ns, when what is off was noted last */
	bool late;	      /* something is not in all processes yet */
	bool no_memory;
	uint64_t changes; /* dt_sieve_changes() when it was asked what must not be off */
	size_t kept_n;	  /* functions that there were then */
};

int dt_throttle_check(const struct dt_options *o, struct dt_error *e)
{
	const char *what = !o->output		       ? "a session without a file (-o)"
			   : o->policy == DT_OVERWRITE ? "-p overwrite"
			   : o->libcalls	       ? "-l or --failed"
			   : o->arguments	       ? "-A"
			   : o->sockets		       ? "--sockets"
			   : o->kernel		       ? "-k"
			   : o->filter		       ? "--filter"
			   : o->sums		       ? "--sum"
			   : o->backtrace	       ? "--backtrace"
						       : NULL;

	if (!o->budget || !what)
		return 0;
	return dt_fail(e, "--budget does not go with %s: %s", what,
		       !o->output		   ? "the file is where it says what was off"
		       : o->policy == DT_OVERWRITE ? "records are read at the end only"
		       : o->libcalls || o->arguments || o->sockets || o->kernel
			       ? "only functions of programs that are recorded without texts can "
				 "be switched off"
			       : "it looks at every call, and calls of functions that are off are "
				 "not there");
}

bool dt_throttle_lifts(const struct dt_options *o)
{
	return o->budget > 0 || getenv("DEVTRACE_LIFT");
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0
					: (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct dt_throttle *dt_throttle_new(const struct dt_session *s, const struct dt_costs *costs)
{
	struct dt_throttle *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->counts = k->finds = 1024;
	k->count = calloc(k->counts, sizeof(*k->count));
	k->find = calloc(k->finds, sizeof(*k->find));
	if (!k->count || !k->find) {
		dt_throttle_free(k);
		return NULL;
	}
	/* where the hooks could not be tried (no rseq), all records take the slow path */
	k->budget = (struct dt_budget){.share = s->options.budget,
				       .hook_ns = costs->ticks > 0 ? costs->ticks / s->ticks_per_ns
								   : 300,
				       .taking_ns = TAKING};
	return k;
}

void dt_throttle_free(struct dt_throttle *k)
{
	if (!k)
		return;
	free(k->budget.function);
	free(k->function);
	free(k->find);
	free(k->count);
	free(k);
}

/* ---- counting ---- */

static size_t mixed(uint64_t x)
{
	return (size_t)((x * 0x9e3779b97f4a7c15u) >> 32);
}

static struct count *slot_of(struct count *table, size_t size, uint64_t pc, uint32_t pid)
{
	for (size_t i = mixed(pc ^ (uint64_t)pid << 40);; i++) {
		struct count *c = &table[i & (size - 1)];

		if (!c->pc || (c->pc == pc && c->pid == pid))
			return c;
	}
}

static void grow_counts(struct dt_throttle *k)
{
	struct count *more = calloc(2 * k->counts, sizeof(*more));

	if (!more) {
		k->no_memory = true;
		return;
	}
	for (size_t i = 0; i < k->counts; i++)
		if (k->count[i].pc)
			*slot_of(more, 2 * k->counts, k->count[i].pc, k->count[i].pid) =
				k->count[i];
	free(k->count);
	k->count = more;
	k->counts *= 2;
}

void dt_throttle_count(struct dt_session *s, const struct dt_record *r, size_t n)
{
	struct dt_throttle *k = s->throttle;

	k->taken += n;
	for (size_t i = 0; i < n; i++) {
		struct count *c;

		if (r[i].ticks < k->from) {
			k->budget.between++;
			continue;
		}
		if (r[i].kind != DT_ENTRY && r[i].kind != DT_EXIT) {
			k->unknown += !dt_kind_is_about(r[i].kind);
			continue;
		}
		if (r[i].tid != k->tid) {
			k->tid = r[i].tid;
			k->pid = dt_thread_table_process(s, r[i].tid);
		}
		c = slot_of(k->count, k->counts, r[i].pc, k->pid);
		c->n++;
		if (c->pc)
			continue;
		if (2 * k->used >= k->counts) {
			c->n = 0;
			grow_counts(k);
			if (2 * k->used >= k->counts) {
				k->unknown++;
				continue;
			}
			c = slot_of(k->count, k->counts, r[i].pc, k->pid);
			c->n = 1;
		}
		*c = (struct count){r[i].pc, k->pid, r[i].kind, c->n};
		k->used++;
	}
}

/* ---- functions ---- */

static uint32_t *place_of(struct dt_throttle *k, const struct dt_file *f, uint64_t address)
{
	for (size_t i = mixed(address ^ (uintptr_t)f << 8);; i++) {
		uint32_t *p = &k->find[i & (k->finds - 1)];

		if (!*p ||
		    (k->function[*p - 1].file == f && k->function[*p - 1].address == address))
			return p;
	}
}

static bool make_room(struct dt_throttle *k)
{
	size_t room = k->room ? 2 * k->room : 256;
	struct function *f;
	struct dt_budget_function *b;
	uint32_t *find;

	if (k->budget.n < k->room)
		return true;
	f = realloc(k->function, room * sizeof(*f));
	if (f)
		k->function = f;
	b = f ? realloc(k->budget.function, room * sizeof(*b)) : NULL;
	if (b)
		k->budget.function = b;
	find = b ? calloc(4 * room, sizeof(*find)) : NULL;
	if (!find)
		return false;
	free(k->find);
	k->find = find;
	k->finds = 4 * room;
	k->room = room;
	for (size_t i = 0; i < k->budget.n; i++)
		*place_of(k, f[i].file, f[i].address) = (uint32_t)i + 1;
	return true;
}

/* Adds what was counted at one place to its function. False: it is of no function, or there is no
 * memory for it. */
static bool add(struct dt_session *s, struct dt_throttle *k, const struct count *c)
{
	const struct dt_elf_site *site = NULL;
	struct dt_module *m = NULL;
	struct dt_budget_function *b;
	uint32_t *p;

	for (struct dt_target *t = s->first; t && !m; t = t->next)
		m = t->id == c->pid ? dt_target_module(t, c->pc) : NULL;
	for (struct dt_target *t = s->first; t && !m; t = t->next)
		m = dt_target_module(t, c->pc);
	site = m ? dt_whose_call_site(m, c->pc) : NULL;
	if (!site || !m->file->masked || !make_room(k))
		return false;
	p = place_of(k, m->file, site->function);
	if (!*p) {
		k->function[k->budget.n] =
			(struct function){.file = m->file, .address = site->function};
		k->budget.function[k->budget.n] = (struct dt_budget_function){0};
		*p = (uint32_t)++k->budget.n;
	}
	k->function[*p - 1].module = m;
	b = &k->budget.function[*p - 1];
	b->records += c->n;
	b->calls += c->kind == DT_ENTRY ? c->n : 0;
	return true;
}

static void add_all(struct dt_session *s, struct dt_throttle *k)
{
	for (size_t i = 0; i < k->counts && k->used; i++) {
		struct count *c = &k->count[i];

		if (c->pc && !add(s, k, c))
			k->budget.fixed += c->n;
		*c = (struct count){0};
	}
	k->used = 0;
	k->budget.fixed += k->unknown;
	k->unknown = 0;
}

/* ---- what must not be off: triggers wait for it ---- */

/* Has functions stay on that those jump to which do: their calls end there. Returns whether there
 * were such. */
static bool keep_landings(struct dt_throttle *k, size_t i)
{
	const struct dt_file *file = k->function[i].file;
	bool any = false;

	for (size_t at = 0; at < file->elf->sites; at++) {
		const struct dt_elf_site *site = &file->elf->site[at];
		uint32_t p = site->target && site->function == k->function[i].address
				     ? *place_of(k, file, site->target)
				     : 0;

		if (p && !k->budget.function[p - 1].kept)
			any = k->budget.function[p - 1].kept = true;
	}
	return any;
}

/* Asks what must not be off, where that may have changed. */
static void keep(struct dt_session *s, struct dt_throttle *k)
{
	uint64_t changes = s->sieve ? dt_sieve_changes(s->sieve) : 0;
	bool is_main, more = true;

	if (!s->sieve || (changes == k->changes && k->budget.n == k->kept_n))
		return;
	k->changes = changes;
	k->kept_n = k->budget.n;
	for (size_t i = 0; i < k->budget.n; i++) {
		struct function *f = &k->function[i];

		if (!f->row && f->module)
			f->row = (uint32_t)dt_describe_caller(s, f->module, f->address, f->address,
							      &is_main);
		k->budget.function[i].kept = f->row && dt_sieve_waits_for(s->sieve, f->row);
	}
	while (more) {
		more = false;
		for (size_t i = 0; i < k->budget.n; i++)
			more |= k->budget.function[i].kept && keep_landings(k, i);
	}
}

/* ---- processor time ---- */

static bool has_live_parent(const struct dt_session *s, const struct dt_target *t)
{
	for (const struct dt_target *p = s->first; p; p = p->next)
		if (!p->ended && p->pid == t->ppid)
			return true;
	return false;
}

/* Returns the processor time of all processes since they are traced, and that of children which
 * they have waited for. */
static uint64_t processor_time(struct dt_session *s)
{
	uint64_t all = 0;

	for (struct dt_target *t = s->first; t; t = t->next) {
		/* one that has ended may still be there until its parent has waited for it */
		uint64_t now = t->ended && t->taken_last ? 0 : dt_status_taken(t->pid);

		t->taken_last = t->ended;
		if (now && !t->taken_known)
			t->taken_before = t->forked || dt_status_made(t->pid) >= s->made ? 0 : now;
		t->taken_known = t->taken_known || now;
		t->taken = now > t->taken ? now : t->taken;
		/* what a child took that has been waited for is counted by its parent, and by that
		 * one's when it has ended, too */
		t->taken_up = t->taken_up || (t->ended && !now && has_live_parent(s, t));
		if (t->taken_known && !t->taken_up)
			all += t->taken - t->taken_before;
	}
	return all;
}

/* Measures what taking a record costs: the recorder also works when there is little to take. */
static void measure_taking(struct dt_session *s, struct dt_throttle *k)
{
	clockid_t clock;
	uint64_t ns = pthread_getcpuclockid(s->recorder, &clock) ? 0 : ns_of(clock);
	double each = k->taken ? (double)(ns - k->recorder_ns) / (double)k->taken : 0;

	if (k->taken >= ENOUGH && k->recorder_ns && ns > k->recorder_ns)
		k->budget.taking_ns =
			(k->budget.taking_ns + (each > TAKING_MOST ? TAKING_MOST : each)) / 2;
	k->recorder_ns = ns;
	k->taken = 0;
}

/* ---- switching ---- */

/* Writes what is known of a time in which a function is off; after: the rate after it, negative:
 * not known. Returns the calls. */
static uint64_t note(struct dt_session *s, struct function *f, const struct off *o, double after)
{
	uint64_t calls = dt_budget_missed(o->rate, after, o->own_ns);
	bool is_main;

	if (!f->row && f->module) /* the one that is described has its row already */
		f->row = (uint32_t)dt_describe_caller(s, f->module, f->address, f->address,
						      &is_main);
	/* an error is noticed where records are written to the same file */
	if (f->row)
		dt_store_budget(s->store,
				&(struct dt_budget_row){f->row, o->begin, o->end, o->rate * 1e9,
							calls, after < 0 ? -1 : after * 1e9,
							o->own_ns},
				NULL);
	return calls;
}

/* Returns the time in which a function is off just now, as far as it is known. */
static struct off off_now(const struct dt_throttle *k, size_t i)
{
	const struct dt_budget_function *b = &k->budget.function[i];
	struct off o = k->function[i].now;

	if (!k->function[i].coming) {
		o.own_ns += b->off_time;
		o.rate = b->rate;
	}
	return o;
}

/* Notes the rates after times that are over, where the last look has told them: a function that
 * went off in it at once has been looked at, but that rate may be put right at the next. */
static void note_after(struct dt_session *s, struct dt_throttle *k)
{
	for (size_t i = 0; i < k->budget.n; i++) {
		struct function *f = &k->function[i];

		if (!f->waits || k->budget.function[i].fresh)
			continue;
		f->missed += note(s, f, &f->past, k->budget.function[i].rate);
		f->waits = false;
	}
}

void dt_throttle_note(struct dt_session *s)
{
	struct dt_throttle *k = s->throttle;

	if (!k)
		return;
	k->noted = dt_now_ns();
	for (size_t i = 0; i < k->budget.n; i++) {
		struct off o = off_now(k, i);

		if (k->budget.function[i].off || k->function[i].coming)
			note(s, &k->function[i], &o, -1);
	}
}

/*
 * Brings a process into line with what is on and off of a file. Jumps to what is off are lifted,
 * and set down again, for which it has to stand still. False: it can not just now (it waits for a
 * child of vfork); that is tried again when calls are next looked at, since the child may wait for
 * this thread to answer it.
 */
static bool bring(struct dt_target *t, struct dt_file *f)
{
	return !t->busy && (dt_target_sync(t, f, 0, ~0ull, true, NULL) == 0 || !t->busy);
}

/* Notes what the last look has switched, between begin and end (ticks). */
static void note_switched(struct dt_session *s, struct dt_throttle *k, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < k->budget.n; i++) {
		struct dt_budget_function *b = &k->budget.function[i];
		struct function *f = &k->function[i];

		if (b->changed && !b->off) {
			f->now = off_now(k, i);
			f->coming = true;
		} else if (b->changed && f->coming) { /* nowhere has it been on */
			f->coming = b->fresh = false;
			b->rate = f->now.rate;
		} else if (b->changed) {
			f->now = (struct off){.begin = begin};
			f->times++;
			note(s, f, &(struct off){.begin = begin, .rate = b->rate}, -1);
		}
		if (f->coming && !f->file->late) {
			f->coming = false;
			f->past = f->now;
			f->past.end = end;
			f->waits = true;
			note(s, f, &f->past, -1);
		}
	}
}

/* Adds the processor time that has been taken since it was last looked at. */
static void pass_time(struct dt_session *s, struct dt_throttle *k)
{
	uint64_t cpu = processor_time(s);

	k->pending += cpu > k->cpu_ns ? cpu - k->cpu_ns : 0;
	k->cpu_ns = cpu;
}

/*
 * What happens from now on (ticks) is looked at anew: what the program did while functions were
 * switched, with some of the hooks, would be as much as all of a trial where many processes share a
 * processor.
 */
static void begin_anew(struct dt_session *s, struct dt_throttle *k, uint64_t now)
{
	pass_time(s, k);
	for (size_t i = 0; i < k->budget.n; i++) {
		struct dt_budget_function *b = &k->budget.function[i];

		b->off_time += b->off && !b->changed ? k->pending : 0;
	}
	k->pending = 0;
	k->from = now;
}

/* Brings the processes into line with what the last look has switched. */
static void apply(struct dt_session *s, struct dt_throttle *k)
{
	uint64_t begin = dt_ticks(), end;
	struct dt_file *f;
	bool any = false;

	for (size_t i = 0; i < k->budget.n; i++)
		if (k->budget.function[i].changed) {
			any = true;
			dt_ranges_mask_function(k->function[i].file, k->function[i].address,
						k->budget.function[i].off);
			k->function[i].file->late = true;
		}
	k->late = false;
	for (struct dt_target *t = s->first; t; t = t->next)
		t->busy = false;
	for (f = s->targets.files.first; f; f = f->next) {
		bool late = false;

		/* where a process has ended meanwhile, there is nothing to do */
		for (struct dt_target *t = s->first; t && f->late; t = t->next)
			if (!t->ended && t->area && !t->unwatched)
				late |= !bring(t, f);
		f->late = late;
		k->late |= late;
	}
	end = dt_ticks();
	if (any)
		begin_anew(s, k, end);
	note_switched(s, k, begin, end);
}

static bool compare(struct dt_session *s, struct dt_throttle *k)
{
	uint64_t now = dt_now_ns();
	bool looked, any = false;

	pass_time(s, k);
	add_all(s, k);
	keep(s, k);
	measure_taking(s, k);
	k->next = now + dt_budget_look(&k->budget, now, k->pending, &looked);
	if (looked) {
		k->pending = 0;
		note_after(s, k);
	}
	if (now > k->noted + NOTED_NS)
		dt_throttle_note(s);
	for (size_t i = 0; i < k->budget.n; i++) {
		any |= k->budget.function[i].changed;
	}
	return any || k->late;
}

bool dt_throttle_due(const struct dt_session *s)
{
	return s->throttle && dt_now_ns() >= s->throttle->next;
}

void dt_throttle_look(struct dt_session *s)
{
	struct dt_throttle *k = s->throttle;

	/* what a process has taken can be asked until its parent has waited for it */
	for (const struct dt_target *t = k ? s->first : NULL; t; t = t->next)
		if (t->ended && !t->taken_last) {
			pass_time(s, k);
			break;
		}
	/* while a command is being obeyed, it is waited for */
	if (!dt_throttle_due(s) || pthread_mutex_trylock(&s->writing))
		return;
	pthread_mutex_lock(&s->lock);
	if (compare(s, k))
		apply(s, k);
	for (size_t i = 0; i < k->budget.n; i++)
		k->function[i].module = NULL;
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writing);
}

void dt_throttle_end(struct dt_session *s)
{
	struct dt_throttle *k = s->throttle;
	struct dt_results *r = &s->results;
	uint64_t most = 0;
	size_t off = 0;

	if (!k)
		return;
	pass_time(s, k);
	for (size_t i = 0; i < k->budget.n; i++) {
		struct function *f = &k->function[i];
		struct dt_budget_function *b = &k->budget.function[i];
		struct off o;

		if (f->waits)
			f->missed += dt_budget_missed(f->past.rate, -1, f->past.own_ns);
		if (b->off)
			b->off_time += k->pending;
		o = off_now(k, i);
		if (b->off || f->coming)
			f->missed += note(s, f, &o, -1);
		off += b->off;
		r->off_functions += f->times > 0;
		r->off_times += f->times;
		r->off_calls += f->missed;
		if (f->times && f->missed >= most) {
			const struct dt_function *named =
				f->file->symtab ? dt_symtab_find(f->file->symtab, f->address)
						: NULL;

			most = f->missed;
			dt_format(r->off_most, sizeof(r->off_most), "%s", named ? named->name : "");
		}
	}
	if (k->budget.kept_spent > k->budget.share * k->budget.kept_own)
		r->kept_share = k->budget.kept_spent / k->budget.kept_own;
	r->off_all = off && off == k->budget.n;
}
