/* SPDX-License-Identifier: MIT */
/*
 * The law of the rings, tried in every order of events: records written = taken + lost, each of
 * them once, and every loss in front of the first record that came after it.
 *
 * The writers' slow path and the reader are compiled in here with each atomic operation as a place
 * where another one may go on. Writers and reader run as coroutines; a schedule says after how many
 * operations which of them goes on. All schedules with two such switches are run, and many with up
 * to five; with SHARE=N one of N, others each time (test/share.bash). The ring has four records, so
 * that writers come round to each other's places.
 */
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <setjmp.h>
#include <cmocka.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "process/now.h"
#include "process/threads.h"

static void step(void);
static uint64_t clock_ns;

/* real time, ns */
static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* a third of what the reader allows an unfinished record, each time it looks */
#define dt_now_ns() (clock_ns += 17000000)

#define __atomic_load_n(p, order)	 (step(), __atomic_load_n(p, order))
#define __atomic_store_n(p, v, order)	 (step(), __atomic_store_n(p, v, order))
#define __atomic_add_fetch(p, v, order)	 (step(), __atomic_add_fetch(p, v, order))
#define __atomic_fetch_add(p, v, order)	 (step(), __atomic_fetch_add(p, v, order))
#define __atomic_fetch_and(p, v, order)	 (step(), __atomic_fetch_and(p, v, order))
#define __atomic_exchange_n(p, v, order) (step(), __atomic_exchange_n(p, v, order))
#define __atomic_sub_fetch(p, v, order)	 (step(), __atomic_sub_fetch(p, v, order))
#define __atomic_compare_exchange_n(p, e, v, weak, a, b)                                           \
	(step(), __atomic_compare_exchange_n(p, e, v, weak, a, b))

/* the writers may come round between a look at the position and the copy */
#define memcpy(to, from, n) (step(), __builtin_memcpy(to, from, n))

#include "hook/shared.c"
#include "session/rings.c"

#undef memcpy
#undef FUTEX_OWNER_DIED
#undef FUTEX_TID_MASK
#undef INT_MAX
#undef CLONE_VM
#undef CLONE_VFORK
#undef CLONE_SETTLS
static struct dt_control *session_at; /* where the writers have the session */
static struct dt_shared memory_of;    /* and what the controller knows of it */
#define session (*session_at)
#define extern static
#include "arch/x86_64/target/inside.c"
#include "target/append.c"
#include "target/birth.c"
#include "target/calls.c"
#include "target/careful.c"
#include "target/held.c"
#include "target/request.c"
#include "target/ring.c"
#include "target/rseq.c"
#undef extern
#undef session

/* --- coroutines */

#define ACTORS	 3 /* the reader and two writers */
#define SWITCHES 5

struct schedule {
	unsigned first; /* who begins */
	unsigned n;
	struct {
		unsigned at, to; /* after this many operations the actor `to' goes on */
	} at[SWITCHES];
};

#define SCHEDULER ACTORS

static bool exploring, ended[ACTORS];
static void (*body[ACTORS])(void);
static unsigned current, steps, next_switch;
static const struct schedule *plan;

/*
 * Where each of them stands, and the scheduler. They change places millions of times: by the
 * compiler's own jumps, since swapcontext() makes two system calls each time, for signals' masks.
 */
static void *place[ACTORS + 1][5];

/* The sanitizer's preparation for a jump is for one that leaves frames behind; none is left here.
 */
__attribute__((noipa, noreturn, no_sanitize("address"))) static void resume(unsigned to)
{
	__builtin_longjmp(place[to], 1);
}

__attribute__((noipa, no_sanitize("address"))) static void change(unsigned from, unsigned to)
{
	if (!__builtin_setjmp(place[from]))
		resume(to);
}

static void step(void)
{
	unsigned me = current, to;

	if (!exploring)
		return;
	steps++;
	if (next_switch == plan->n || steps < plan->at[next_switch].at)
		return;
	to = plan->at[next_switch++].to;
	if (to == me || ended[to])
		return;
	current = to;
	change(me, to);
}

/* An actor's stack goes on from one run to the next, so that it is made once. */
static void live(void)
{
	unsigned me = current;

	for (;;) {
		change(me, SCHEDULER);
		body[me]();
	}
}

static void prepare_actors(void)
{
	static char stack[ACTORS][64 << 10];
	static ucontext_t context[ACTORS];
	static ucontext_t begun;

	for (current = 0; current < ACTORS; current++) {
		ucontext_t *c = &context[current];

		getcontext(c);
		c->uc_stack.ss_sp = stack[current];
		c->uc_stack.ss_size = sizeof(stack[current]);
		makecontext(c, live, 0);
		if (!__builtin_setjmp(place[SCHEDULER]))
			swapcontext(&begun, c);
	}
}

static void run_actors(const struct schedule *p, void (*const bodies[ACTORS])(void))
{
	static bool prepared;

	if (!prepared)
		prepare_actors();
	prepared = true;
	plan = p;
	steps = next_switch = 0;
	exploring = true;
	memcpy(body, bodies, sizeof(body));
	memset(ended, 0, sizeof(ended));
	current = p->first;
	for (;;) {
		/* comes back when an actor has ended: the others in turn */
		change(SCHEDULER, current);
		ended[current] = true;
		for (current = 0; current < ACTORS && ended[current]; current++)
			;
		if (current == ACTORS)
			break;
	}
	exploring = false;
}

/* --- the session: one core, rings of four records */

#define RING   256u
#define STRIDE (2 * DT_RING_HEAD)
#define CALLS  64u

static uint64_t start; /* how many records the rings have had before */

static struct setup {
	enum dt_policy policy;
	bool shared;
	unsigned before; /* records in the ring already */
	unsigned calls;	 /* of each writer */
	unsigned reads;
	size_t batch; /* records the reader takes at once */
} setup;

static char memory[DT_CONTROL_SIZE + 2 * STRIDE] __attribute__((aligned(4096)));
static __thread uint32_t fake_rseq[8];
static struct dt_ring_reader reader;

static struct call {
	unsigned begin, end; /* in the order of all calls' beginnings and ends */
	bool kept;
	bool in_time; /* its record was in the shared ring before the reader came near */
} call[CALLS];
static unsigned order;
static unsigned calls;
static struct taken {
	unsigned id;
	uint64_t lost; /* in front of it and of all before it */
} taken[CALLS];
static unsigned takens;
static uint64_t lost_so_far;
static const char *wrong;

static void complain(const char *what)
{
	if (!wrong)
		wrong = what;
}

/*
 * As the hooks' fast path: room is looked for and the record committed in one go, or it is begun
 * anew when another writer has come in between. The record is in its place before the position says
 * so.
 */
static bool append_by_rseq(struct dt_ring *r, const struct dt_record *rec)
{
	uint64_t pos;

	do {
		step();
		pos = r->pos;
		if (pos >= r->limit)
			return false;
		dt_ring_records(r)[(pos & (RING - 1)) / 64] = *rec;
		step();
	} while (r->pos != pos ||
		 dt_ring_records(r)[(pos & (RING - 1)) / 64].value[0] != rec->value[0]);
	r->pos += 64;
	return true;
}

/* Whether call id has its record in the shared ring, in front of the reader's next. */
static bool is_committed(unsigned id)
{
	struct dt_ring *r = dt_ring_at(session_at, STRIDE, 1);

	for (unsigned i = 0; i < RING / 64; i++) {
		uint64_t mark = dt_ring_marks(r, RING)[i];

		if (dt_ring_records(r)[i].value[0] == id &&
		    mark == DT_MARK_DONE(DT_MARK_INDEX(mark)))
			return DT_MARK_INDEX(mark) > reader.pos / 64;
	}
	return false;
}

static void make_call(void)
{
	unsigned id = calls++;
	struct dt_record rec = {.value = {id, ~(uint64_t)id, 3 * id, 5 * id}};

	call[id].begin = ++order;
	if (setup.shared) {
		rec.core = DT_SHARED_CORE;
		while (dt_slow(&rec))
			rec.core = DT_SHARED_CORE;
	} else {
		while (!append_by_rseq(dt_ring_at(session_at, STRIDE, 0), &rec) && dt_slow(&rec))
			;
	}
	call[id].end = ++order;
	if (setup.shared)
		call[id].in_time = is_committed(id);
}

static void writer(void)
{
	for (unsigned i = 0; i < setup.calls; i++)
		make_call();
}

/* Returns false when there was nothing. */
static bool read_once(bool last)
{
	const struct dt_record *r;
	uint64_t lost;
	size_t n = dt_ring_take(&reader, setup.batch, last, &r, &lost);

	lost_so_far += lost;
	for (size_t i = 0; i < n; i++) {
		uint64_t id = r[i].value[0];

		if (id >= calls || r[i].value[1] != ~id || r[i].value[2] != 3 * id ||
		    r[i].value[3] != 5 * id) {
			complain("a torn record");
			continue;
		}
		if (call[id].kept)
			complain("a record taken twice");
		call[id].kept = true;
		taken[takens++] = (struct taken){(unsigned)id, lost_so_far};
	}
	dt_ring_release(&reader);
	return n || lost;
}

static void reads(void)
{
	for (unsigned i = 0; i < setup.reads; i++)
		read_once(false);
}

/* Of the calls that were lost: how many ended before `from', how many had begun before `to'. */
static void lost_calls(unsigned from, unsigned to, uint64_t *least, uint64_t *most)
{
	*least = *most = 0;
	for (unsigned i = 0; i < calls; i++) {
		*least += !call[i].kept && call[i].end < from;
		*most += !call[i].kept && call[i].begin < to;
	}
}

static void check(void)
{
	if (takens + lost_so_far != calls)
		complain("records written are not records taken + lost");
	if (reader.taken != takens || reader.lost_total != lost_so_far)
		complain("the reader's own sums differ");
	if ((reader.ring->pos - 64 * start) / 64 + reader.ring->dropped != calls)
		complain("the ring's own sum of what was written is another");
	/* in overwrite what is lost is what came before */
	if (setup.policy == DT_OVERWRITE)
		return;
	for (unsigned i = 0; i < calls; i++)
		if (call[i].in_time && !call[i].kept)
			complain("a whole record is gone");
	for (unsigned i = 0; i < takens; i++) {
		const struct call *c = &call[taken[i].id];
		uint64_t least, most;

		lost_calls(c->begin, c->end, &least, &most);
		if (taken[i].lost < least)
			complain("a loss is placed too late");
		if (taken[i].lost > most)
			complain("a loss is placed too early");
	}
}

static void begin_session(void)
{
	uint64_t fs;

	memset(memory, 0, sizeof(memory));
	memset(call, 0, sizeof(call));
	calls = takens = order = 0;
	lost_so_far = 0;
	wrong = NULL;
	session_at = (struct dt_control *)memory;
	memory_of = (struct dt_shared){.control = session_at,
				       .geometry = {1, 0, RING, STRIDE, sizeof(memory)},
				       .policy = setup.policy};
	session_at->policy = setup.policy;
	session_at->owner = 1;
	memset(seen_pages, 0, sizeof(seen_pages));
	blob.cores = process_block.cores = 1;
	blob.stride = STRIDE;
	blob.mask = RING - 1;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	blob.rseq_offset = (int64_t)((uint64_t)(uintptr_t)fake_rseq - fs);
	dt_ring_reader_free(&reader);
	dt_ring_reader_init(&reader, &memory_of, setup.shared, NULL);
	reader.pos = reader.released = 64 * start;
	for (unsigned i = 0; start && i < 2; i++) {
		struct dt_ring *r = dt_ring_at(session_at, STRIDE, i);

		r->pos = r->read = 64 * start;
		for (uint64_t index = start - RING / 64; i && index < start; index++)
			dt_ring_marks(r, RING)[index % (RING / 64)] = DT_MARK_DONE(index);
	}
	dt_rings_start(&memory_of);
	for (unsigned i = 0; i < setup.before; i++)
		make_call();
}

/* Returns how many operations there were. */
static unsigned one_run(const struct schedule *p)
{
	static void (*const bodies[ACTORS])(void) = {reads, writer, writer};

	begin_session();
	run_actors(p, bodies);
	dt_rings_stop(&memory_of);
	while (read_once(true))
		;
	check();
	if (wrong) {
		print_message("policy %d, %s ring, %u before: begin %u", setup.policy,
			      setup.shared ? "shared" : "core's", setup.before, p->first);
		for (unsigned i = 0; i < p->n; i++)
			print_message(", after %u go on with %u", p->at[i].at, p->at[i].to);
		fail_msg("%s: written %u, taken %u, lost %lu", wrong, calls, takens,
			 (unsigned long)lost_so_far);
	}
	return steps;
}

/* With sanitizers a run takes ten times as long, and what they look for is the same in all: some.
 */
#ifdef __SANITIZE_ADDRESS__
#define SOME 25
#else
#define SOME 1
#endif

/* Of how many schedules one is run, and where the random numbers begin: SHARE, FROM. */
static unsigned some = SOME, seed = 1;

static int take_share(void **state)
{
	const char *share = getenv("SHARE"), *from = getenv("FROM");

	if (share && atoi(share) > 1) {
		some *= (unsigned)atoi(share);
		seed = from ? (unsigned)atoi(from) : (unsigned)clock_now();
		print_message("# one schedule of %u: SHARE=%s FROM=%u\n", some, share, seed);
	}
	return 0;
}

static void all_with_two_switches(void)
{
	struct schedule p;
	unsigned most;

	for (p.first = 0; p.first < ACTORS; p.first++) {
		p.n = 0;
		most = one_run(&p) + 20;
		p.n = 2;
		for (p.at[0].at = 1; p.at[0].at < most; p.at[0].at++)
			for (p.at[1].at = p.at[0].at + 1 + (unsigned)rand_r(&seed) % some;
			     p.at[1].at < most; p.at[1].at += some)
				for (unsigned to = 0; to < ACTORS * ACTORS; to++) {
					p.at[0].to = to / ACTORS;
					p.at[1].to = to % ACTORS;
					if (p.at[0].to != p.first && p.at[1].to != p.at[0].to)
						one_run(&p);
				}
	}
}

static void many_with_more(unsigned runs, unsigned apart)
{
	struct schedule p;

	while (runs--) {
		unsigned at = 0;

		p.first = (unsigned)rand_r(&seed) % ACTORS;
		p.n = 3 + (unsigned)rand_r(&seed) % (SWITCHES - 2);
		for (unsigned i = 0; i < p.n; i++) {
			at += 1 + (unsigned)rand_r(&seed) % apart;
			p.at[i].at = at;
			p.at[i].to = (unsigned)rand_r(&seed) % ACTORS;
		}
		one_run(&p);
	}
}

static void explore(enum dt_policy policy, bool shared)
{
	static const unsigned before[] = {0, 3, 4, 6};

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		setup = (struct setup){policy, shared, before[i], 3, 4, 2};
		all_with_two_switches();
		many_with_more(20000 / some, 30);
		setup.calls = 10; /* enough for a lap while another one sleeps */
		setup.reads = 10;
		many_with_more(20000 / some, 150);
	}
}

static void test_drop_core(void **state)
{
	explore(DT_DROP, false);
}

static void test_drop_shared(void **state)
{
	explore(DT_DROP, true);
}

static void test_overwrite_shared(void **state)
{
	explore(DT_OVERWRITE, true);
}

/* Of what is copied while a writer comes round, what may be half overwritten is left out. */
static void test_overwrite_core(void **state)
{
	explore(DT_OVERWRITE, false);
}

/* Counts of records do not end at 32 bits, nor at the 40 that marks have. */
static void check_072_counters(void **state)
{
	static const uint64_t bits[] = {26, 32, 33, 40, 48};

	for (unsigned i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		for (int policy = DT_OVERWRITE; policy <= DT_DROP; policy++)
			for (int shared = 0; shared < 2; shared++) {
				start = (1ull << bits[i]) - 5;
				setup = (struct setup){
					(enum dt_policy)policy, shared, 3, 10, 10, 2};
				many_with_more(20000 / some, 150);
			}
	start = 0;
}

/* A place whose writer, thread tid, has gone to sleep or died half way: how often it is looked at.
 */
static unsigned looks_at_unfinished(uint32_t tid)
{
	struct dt_ring *r;
	unsigned looks = 0;

	setup = (struct setup){DT_WAIT, true, 0, 0, 0, 2};
	begin_session();
	r = dt_ring_at(session_at, STRIDE, 1);
	r->pos += 64;
	dt_ring_marks(r, RING)[0] = DT_MARK_BUSY(0ull, tid);
	while (!read_once(false))
		looks++;
	assert_int_equal(lost_so_far, 1);
	/* a live writer will free its slot itself */
	assert_int_equal(dt_ring_marks(r, RING)[0] & 1, tid == (uint32_t)gettid());
	return looks;
}

static void test_unfinished(void **state)
{
	/* next to the kernel's greatest number: nobody has it here */
	assert_int_equal(looks_at_unfinished(4194302), 0);
	assert_in_range(looks_at_unfinished((uint32_t)gettid()), 50, 70);
	assert_in_range(looks_at_unfinished(DT_NO_TID), 50, 70);
}

static atomic_bool appended;

static void *wait_for_room_and_append(void *unused)
{
	make_call();
	atomic_store(&appended, true);
	return unused;
}

/* A writer that waits is among the waiters as long as it does, and is woken as soon as there is
 * room. */
static void test_waiter_is_woken(void **state)
{
	struct dt_ring *r;
	unsigned late = 0;

	for (unsigned turn = 0; turn < 20; turn++) {
		uint32_t wake;
		uint64_t begun;
		pthread_t t;

		setup = (struct setup){DT_WAIT, true, 4, 1, 0, 4};
		begin_session();
		r = dt_ring_at(session_at, STRIDE, 1);
		wake = r->wake;
		atomic_store(&appended, false);
		assert_int_equal(r->waiters, 0);
		assert_int_equal(pthread_create(&t, NULL, wait_for_room_and_append, NULL), 0);
		for (begun = clock_now(); !__atomic_load_n(&r->waiters, __ATOMIC_SEQ_CST);)
			if (clock_now() - begun > 10000000000ull)
				fail_msg("nobody waits");
		assert_int_equal(r->waiters, 1);
		assert_false(atomic_load(&appended));
		usleep(1000); /* so that it sleeps */
		begun = clock_now();
		assert_true(read_once(false));
		assert_true(r->wake > wake || atomic_load(&appended));
		while (!atomic_load(&appended))
			sched_yield();
		/* by itself it looks again after 20 ms; this machine may be busy with something
		 * else */
		late += clock_now() - begun > 10000000;
		pthread_join(t, NULL);
		assert_int_equal(r->waiters, 0);
	}
	assert_true(late < 16);
}

/* Takes once from a core's ring whose position is pos when it is looked at, and `after' when its
 * records have been copied; the reader is at 64 * at. What is whole is known by its place. */
static void take_while(uint64_t at, uint64_t pos, uint64_t after, bool possible)
{
	const uint64_t places = RING / 64, end = (possible ? after : pos) / 64;
	const struct dt_record *got;
	struct dt_record *data;
	uint64_t from = at, whole, n;
	struct dt_ring *r;

	setup = (struct setup){DT_OVERWRITE, false, 0, 0, 0, 2};
	start = 0;
	begin_session();
	r = dt_ring_at(session_at, STRIDE, 0);
	data = dt_ring_records(r);
	reader.pos = 64 * at;
	for (uint64_t i = pos / 64 - (pos / 64 < places ? pos / 64 : places); i < pos / 64; i++)
		data[i % places].ticks = 1000 + i;
	r->pos = after;
	n = take_overwrite(&reader, pos, 100, true, &got);

	/* who is a lap behind begins behind the oldest; then what was written meanwhile is gone,
	 * and one that may be being written */
	if (pos / 64 - at >= places)
		from = pos / 64 - places + 1;
	whole = end >= places ? end - places + 1 : 0;
	whole = whole < from ? from : whole > pos / 64 ? pos / 64 : whole;
	assert_int_equal(reader.lost_total, whole - at);
	assert_int_equal(n, pos / 64 - whole);
	assert_int_equal(reader.pos, pos);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(got[i].ticks, 1000 + whole + i);
}

/* A position that can not be, which a program has written meanwhile, loses nothing. */
static void test_positions(void **state)
{
	const uint64_t places = RING / 64;

	(void)state;
	for (uint64_t at = 0; at < 3 * places; at++)
		for (uint64_t ahead = 1; ahead <= 3 * places; ahead++) {
			uint64_t pos = 64 * (at + ahead),
				 now = 64 * (ahead < places ? at : at + ahead - places + 1);

			for (uint64_t more = 0; more < 3 * places; more++)
				take_while(at, pos, pos + 64 * more, true);
			take_while(at, pos, pos + 1, false);
			take_while(at, pos, pos + 63, false);
			take_while(at, pos, now - 64, false);
			take_while(at, pos, UINT64_MAX - 63, false);
			take_while(at, pos, now + (1ull << 56) + 64, false);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_core),	 cmocka_unit_test(test_drop_shared),
		cmocka_unit_test(test_overwrite_shared), cmocka_unit_test(test_overwrite_core),
		cmocka_unit_test(test_unfinished),	 cmocka_unit_test(test_waiter_is_woken),
		cmocka_unit_test(check_072_counters),	 cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, take_share, NULL);
}
