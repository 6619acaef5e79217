/* SPDX-License-Identifier: MIT */
/*
 * session/witness.c: who waits, by switches of several cores in any order, and who is looked at.
 * The threads, and what they wait for, are made up; the looker's own thread is not begun.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/witness.c"

static unsigned looked, written;
static bool lives, waits;

bool dt_blocked_read(struct dt_blocked *b, pid_t tid, char text[DT_BLOCKED_TEXT])
{
	looked++;
	strcpy(text, "futex");
	return waits;
}

uint32_t dt_store_pid(const struct dt_store *s, uint32_t tid)
{
	return 1;
}

struct dt_target *dt_lives_target(const struct dt_session *s, uint32_t id)
{
	return lives ? (struct dt_target *)s : NULL;
}

bool dt_lives_is_last(const struct dt_session *s, uint32_t id)
{
	return true;
}

uint32_t dt_lives_number(const struct dt_session *s, uint32_t id)
{
	return id;
}

int dt_store_waited(struct dt_store *s, const struct dt_waited_row *row, struct dt_error *e)
{
	assert_string_equal(row->text, "futex");
	assert_true(row->begin <= row->end);
	written++;
	return 0;
}

static struct dt_session session;
static struct dt_witness w;

static int begin(void **state)
{
	session = (struct dt_session){.ticks_per_ns = 1, .store = (struct dt_store *)&session};
	pthread_mutex_init(&session.lock, NULL);
	w = (struct dt_witness){.session = &session};
	pthread_mutex_init(&w.lock, NULL);
	looked = written = 0;
	lives = waits = true;
	return 0;
}

static int end(void **state)
{
	free(w.thread);
	return 0;
}

/* A thread leaves a core, for another one or for nobody; or it comes to one. */
static struct dt_record leaves(uint32_t tid, uint64_t ticks, bool preempted)
{
	return (struct dt_record){.kind = DT_SWITCH,
				  .ticks = ticks,
				  .tid = DT_NO_TID,
				  .flags = preempted ? DT_PREEMPTED : 0,
				  .value = {DT_NO_TID, 0, 0, tid}};
}

static struct dt_record comes(uint32_t tid, uint64_t ticks)
{
	return (struct dt_record){.kind = DT_SWITCH, .ticks = ticks, .tid = tid, .value = {tid}};
}

static uint64_t left_at(uint32_t tid)
{
	const struct waiting *t = w.room ? place_of(w.thread, w.room, tid) : NULL;

	return t && t->tid ? t->left : 0;
}

static uint64_t seed = 5;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* Of each thread it is known since when it waits, in whatever order its records come: it left last,
 * and could not have gone on. */
static void test_any_order(void **state)
{
	struct dt_record r[24];

	for (int round = 0; round < 5000; round++) {
		unsigned n = 1 + any(24);
		uint64_t ticks = 100, since = 0;

		end(NULL);
		begin(NULL);
		for (unsigned i = 0; i < n; i++) {
			bool away = i % 2 == 0, preempted = any(3) == 0;

			ticks += 1 + any(100);
			r[i] = away ? leaves(9, ticks, preempted) : comes(9, ticks);
			since = away && !preempted ? ticks : 0;
		}
		/* a thread that goes on has come back in the end: its last leaving is not waited on
		 */
		for (unsigned i = n; i-- > 1;) {
			unsigned k = any(i + 1);
			struct dt_record x = r[i];

			r[i] = r[k];
			r[k] = x;
		}
		if (n % 2 && !since) /* left, preempted: an earlier time is not known to be over */
			continue;
		dt_witness_records(&w, r, n);
		assert_int_equal(left_at(9), since);
	}
}

static void test_records(void **state)
{
	struct dt_record r[] = {
		leaves(9, 1000, false),
		leaves(8, 1000, true),
		comes(7, 1000),
		leaves(0, 1000, false),
		leaves(DT_NO_TID, 1000, false),
		{.kind = DT_ENTRY, .ticks = 1000, .tid = 6, .value = {DT_NO_TID, 0, 0, 6}}};

	dt_witness_records(&w, r, 6);
	assert_int_equal(left_at(9), 1000);
	assert_int_equal(left_at(8), 0);
	assert_int_equal(left_at(7), 0);
	assert_int_equal(left_at(6), 0);
	assert_int_equal(w.threads, 3);
}

/* In a round at most so many are looked at, those of whom it is time; the others stay. */
static void test_due(void **state)
{
	struct waiting due[A_ROUND + 4];
	struct dt_record r;
	uint64_t now = dt_ticks();

	memset(due, 0xee, sizeof(due));
	for (uint32_t i = 1; i <= 40; i++) {
		r = leaves(i, now - (i <= 30 ? 2 * FIRST_NS : 0), false);
		if (i > 30) /* too young */
			r.ticks = now + 1000000000;
		dt_witness_records(&w, &r, 1);
	}
	assert_int_equal(find_due(&w, due), A_ROUND);
	for (unsigned i = 0; i < A_ROUND; i++)
		assert_in_range(due[i].tid, 1, 30);
	assert_int_equal(due[A_ROUND].tid, 0xeeeeeeee);
	assert_int_equal(dt_witness_patience(&w), SOON_MS);
	/* looked at, they are left alone until they have waited eight times as long */
	for (unsigned round = 0; round < 3; round++) {
		unsigned n = find_due(&w, due);

		assert_int_equal(n, round ? round == 1 ? 14 : 0 : A_ROUND);
		for (unsigned i = 0; i < n; i++) {
			uint64_t next = look_at(&w, due[i].tid, due[i].left);

			assert_true(next >= due[i].left + 8 * 2 * FIRST_NS);
			set_next(&w, &due[i], next + 1000000000000);
		}
	}
	assert_int_equal(written, 30);
	assert_int_equal(w.all, 30);
	assert_int_equal(dt_witness_patience(&w), SOON_MS); /* of those who are younger */
	for (uint32_t i = 31; i <= 40; i++) {
		r = comes(i, now + 2000000000);
		dt_witness_records(&w, &r, 1);
	}
	assert_int_equal(find_due(&w, due), 0);
	assert_int_equal(dt_witness_patience(&w), LATER_MS);
	/* another wait of the same thread is not the one that was looked at */
	due[0] = (struct waiting){.tid = 3, .left = 77};
	set_next(&w, &due[0], 5);
	assert_int_not_equal(place_of(w.thread, w.room, 3)->next, 5);
}

static void test_looks(void **state)
{
	uint64_t now = dt_ticks(), next;

	/* who is not traced, or has ended, is not looked at */
	lives = false;
	assert_true(look_at(&w, 9, now) == UINT64_MAX);
	assert_int_equal(looked, 0);
	/* who does not wait by now is looked at again soon */
	lives = true;
	waits = false;
	next = look_at(&w, 9, now);
	assert_in_range(next, now + FIRST_NS, dt_ticks() + FIRST_NS);
	assert_int_equal(written, 0);
	/* the session ends meanwhile: its file is not touched */
	waits = true;
	w.stop = true;
	assert_int_equal(look_at(&w, 9, now), 0);
	assert_int_equal(written, 0);
	/* so many in a second, and in all */
	w.looks = A_SECOND;
	w.second = now;
	assert_false(may_look(&w, now + 1000000000));
	assert_true(may_look(&w, now + 1000000001));
	w.all = MOST;
	assert_false(may_look(&w, now + 3000000000));
}

/* Many threads: those who do not wait are forgotten. Beyond what is followed nobody is added, and
 * those who are there are told of as before. */
static void test_many(void **state)
{
	struct dt_record r;

	for (uint32_t i = 1; i <= 100000; i++) {
		r = leaves(i, 1000 + i, false);
		dt_witness_records(&w, &r, 1);
		r = comes(i, 1001 + i);
		dt_witness_records(&w, &r, 1);
	}
	assert_true(w.room <= 256);
	for (uint32_t i = 1; i <= 140000; i++) {
		r = leaves(i, 2000000 + i, false);
		dt_witness_records(&w, &r, 1);
	}
	assert_true(w.room == 2 * THREADS && w.threads >= THREADS && w.threads < w.room);
	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(left_at(i), 2000000 + i);
	assert_int_equal(left_at(140000), 0);
	for (uint32_t i = 1; i <= 1000; i++) {
		r = comes(i, 4000000);
		dt_witness_records(&w, &r, 1);
		assert_int_equal(left_at(i), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any_order, begin, end),
		cmocka_unit_test_setup_teardown(test_records, begin, end),
		cmocka_unit_test_setup_teardown(test_due, begin, end),
		cmocka_unit_test_setup_teardown(test_looks, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
