/* SPDX-License-Identifier: MIT */
/* session/snapshot.c: who waits for one, how long, and what is said of those that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "session/clock.h"
#include "session/snapshot.h"
#include "session/state.h"
#include "session/throttle.h"
#include "store/copy.h"

static struct dt_session session;
static uint64_t slept;		/* ns, of all waits */
static unsigned naps;		/* that are left until one is over; 0: it never is */
static const char *broken;	/* what the file can not take, or NULL */
static const char *copy_broken; /* of the next copy */

static int nap(const struct timespec *t, const void *rest)
{
	(void)rest;
	slept += (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
	if (naps && !--naps)
		session.snapshots.over++;
	return 0;
}

static int put_meta(struct dt_error *e)
{
	return broken ? dt_fail(e, "%s", broken) : 0;
}

static int copy(struct dt_error *e)
{
	return copy_broken ? dt_fail(e, "%s", copy_broken) : 0;
}

#define nanosleep(...)			   nap(__VA_ARGS__)
#define dt_shared_bell_ring(shared)	   ((void)(shared))
#define dt_throttle_note(s)		   ((void)(s))
#define dt_clock_store(s)		   ((void)(s))
#define dt_store_meta(s, key, text, e)	   put_meta(e)
#define dt_store_show(s, e)		   ((void)(e), 0)
#define dt_copy_snapshot(from, to, why, e) copy(e)
#include "session/snapshot.c"

static int begin_session(void **state)
{
	(void)state;
	memset(&session, 0, sizeof(session));
	pthread_mutex_init(&session.lock, NULL);
	session.options.output = "t.db";
	slept = naps = 0;
	broken = copy_broken = NULL;
	return 0;
}

static int wait_for(uint64_t number, struct dt_error *e)
{
	int rc;

	slept = 0;
	e->text[0] = '\0';
	pthread_mutex_lock(&session.lock);
	rc = dt_snapshot_wait(&session, number, e);
	pthread_mutex_unlock(&session.lock);
	return rc;
}

static const char gone[] =
	"the snapshot has not been written: the session ends, or it takes too long";

/* A wait ends at once behind the snapshot: a turn is 5 ms, and the time is ten minutes. */
static void waits(void **state)
{
	struct dt_error e;

	(void)state;
	assert_int_equal(wait_for(0, &e), -1);
	assert_string_equal(e.text, gone);
	assert_int_equal(slept, 0);

	naps = 7;
	assert_int_equal(wait_for(1, &e), 0);
	assert_int_equal(slept, 7 * 5000000);
	assert_int_equal(wait_for(1, &e), 0);
	assert_int_equal(slept, 0);

	/* only what has failed itself is told, not one behind it */
	session.snapshots.failed = true;
	dt_fail(&session.snapshots.error, "the disk is full");
	assert_int_equal(wait_for(1, &e), -1);
	assert_string_equal(e.text, "the disk is full");
	session.snapshots.over = 2;
	assert_int_equal(wait_for(1, &e), 0);

	assert_int_equal(wait_for(3, &e), -1);
	assert_string_equal(e.text, gone);
	assert_int_equal(slept, 600 * 1000000000ull);
	session.ending = true;
	assert_int_equal(wait_for(3, &e), -1);
	assert_int_equal(slept, 0);
	session.ending = false;
	atomic_store(&session.recorder_failed, true);
	assert_int_equal(wait_for(3, &e), -1);
	assert_int_equal(slept, 0);
}

/* Those that are due when a session ends are written, or each is said not to be. */
static void ends(void **state)
{
	struct dt_error e;

	(void)state;
	assert_int_equal(dt_snapshot_ask(&session, "a.db", "one"), 1);
	assert_int_equal(dt_snapshot_ask(&session, "b.db", "two"), 2);
	dt_snapshot_end(&session);
	assert_string_equal(session.results.snapshots,
			    "snapshot a.db: as of one\nsnapshot b.db: as of two");
	assert_int_equal(wait_for(2, &e), 0);

	session.results.snapshots[0] = '\0';
	broken = "the file can not be written";
	dt_snapshot_ask(&session, "c.db", "three");
	dt_snapshot_ask(&session, "d.db", "four");
	dt_snapshot_end(&session);
	assert_string_equal(session.results.snapshots, "no snapshot: the file can not be written\n"
						       "no snapshot: the file can not be written");
	assert_int_equal(wait_for(4, &e), -1);
	assert_string_equal(e.text, broken);

	session.results.snapshots[0] = '\0';
	broken = NULL;
	copy_broken = "there is no room";
	dt_snapshot_ask(&session, "e.db", "five");
	dt_snapshot_end(&session);
	assert_string_equal(session.results.snapshots, "no snapshot: there is no room");
	assert_int_equal(wait_for(5, &e), -1);
	copy_broken = NULL;
	dt_snapshot_ask(&session, "f.db", "six");
	dt_snapshot_end(&session);
	assert_int_equal(wait_for(6, &e), 0);
	assert_string_equal(session.results.snapshots,
			    "no snapshot: there is no room\nsnapshot f.db: as of six");
}

/* While it records: one at a time, in the order in which they were asked for. */
static void turns(void **state)
{
	struct dt_error e;

	(void)state;
	assert_int_equal(dt_snapshot_turn(&session, &e), 0);
	dt_snapshot_ask(&session, "a.db", "one");
	dt_snapshot_ask(&session, "b.db", "two");
	while (session.snapshots.over < 2)
		assert_int_equal(dt_snapshot_turn(&session, &e), 0);
	assert_string_equal(session.results.snapshots,
			    "snapshot a.db: as of one\nsnapshot b.db: as of two");
	/* a session whose file takes nothing any more fails; what was due is there for its end */
	broken = "the file can not be written";
	dt_snapshot_ask(&session, "c.db", "three");
	assert_int_equal(dt_snapshot_turn(&session, &e), -1);
	assert_string_equal(e.text, broken);
	assert_int_equal(session.snapshots.over, 2);
	dt_snapshot_end(&session);
	assert_int_equal(session.snapshots.over, 3);
	assert_true(session.snapshots.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(waits, begin_session),
		cmocka_unit_test_setup(ends, begin_session),
		cmocka_unit_test_setup(turns, begin_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
