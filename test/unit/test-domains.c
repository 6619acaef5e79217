/* SPDX-License-Identifier: MIT */
/*
 * The domains of a session: which process belongs to which, what a new one begins with, and what
 * triggers in one of them do to the others. The processes' credentials are made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "session/state.h"

static struct dt_rights rights;
static bool gone;

static bool made_up_rights(pid_t pid, struct dt_rights *r)
{
	*r = rights;
	return !gone;
}

static struct dt_shared_counts made_up_counts(const struct dt_shared *m)
{
	uint64_t n = m->next ? 1 : 1000; /* the last one's */

	return (struct dt_shared_counts){.filtered_in = n,
					 .filtered_out = 2 * n,
					 .clockless_in = 3 * n,
					 .clockless_out = 4 * n,
					 .unsent = 5 * n,
					 .missed = 6 * n,
					 .held_missed = 7 * n,
					 .held_missed_ticks = 8 * n,
					 .births_missed = 9 * n};
}

#define dt_rights_of(pid, r) made_up_rights(pid, r)
#define dt_shared_counts(m)  made_up_counts(m)
#include "session/domain.c"
#undef dt_shared_counts

static struct dt_session *session;

static void open_session(unsigned cores)
{
	struct dt_error e;

	session = calloc(1, sizeof(*session));
	assert_non_null(session);
	pthread_mutex_init(&session->lock, NULL);
	assert_int_equal(
		dt_shared_create(&session->targets.shared, cores, DT_RING_MIN, DT_OVERWRITE, &e),
		0);
	assert_int_equal(dt_domain_first(session, &e), 0);
	for (unsigned i = 0; i < 4; i++)
		rights.user[i] = geteuid();
	rights.capabilities = 0;
}

static void close_session(void)
{
	dt_domains_free(session);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

/* The domain of a process with so many capabilities. */
static struct dt_domain *domain_with(uint64_t capabilities)
{
	struct dt_error e = {""};

	rights.capabilities = capabilities;
	return dt_domain_for(session, 1, &e);
}

static void processes(void **state)
{
	struct dt_domain *d[DT_SHARED_MAX];
	struct dt_error e = {""};
	char wanted[32];

	open_session(2);
	for (unsigned i = 0; i < DT_SHARED_MAX; i++) {
		d[i] = domain_with(i);
		assert_non_null(d[i]);
		assert_int_equal(d[i]->number, i);
		assert_int_equal(dt_domains(session), i + 1);
		assert_false(d[i]->doubted);
		assert_ptr_equal(session->domain[i], d[i]);
		for (unsigned k = 0; k <= i; k++)
			assert_ptr_equal(domain_with(k), d[k]);
	}
	rights.capabilities = 99;
	assert_null(dt_domain_for(session, 1, &e));
	snprintf(wanted, sizeof(wanted), "processes of %u users", DT_SHARED_MAX);
	assert_non_null(strstr(e.text, wanted));
	assert_ptr_equal(domain_with(3), d[3]);
	gone = true;
	assert_null(dt_domain_for(session, 17, &e));
	assert_string_equal(e.text, "process 17 has ended");
	gone = false;
	close_session();
	/* whose user differs in one of four ways is another's */
	open_session(1);
	for (unsigned i = 0; i < 4; i++) {
		rights.user[i]++;
		d[i] = domain_with(0);
		assert_int_equal(d[i]->number, i);
		assert_true(d[i]->doubted);
		rights.user[i]--;
	}
	assert_false(domain_with(0)->doubted);
	close_session();
}

/* No two rings have one number, and numbers of cores are those of the first domain. */
static void numbers(void **state)
{
	static bool seen[1 << 16];

	open_session(40);
	for (unsigned d = 0; d < DT_SHARED_MAX; d++)
		for (unsigned ring = 0; ring <= 40; ring++) {
			unsigned n = dt_domain_core(session, d, ring);

			assert_true(n < 1 << 16);
			assert_false(seen[n]);
			seen[n] = true;
			if (ring == 40)
				assert_int_equal(n, DT_SHARED_CORE - d);
			else if (!d)
				assert_int_equal(n, ring);
			else
				assert_in_range(n, DT_FURTHER_CORES, DT_SHARED_CORES - 1);
		}
	/* of so many cores there is no room for the rings of more than three */
	session->targets.shared.geometry.cores = (DT_SHARED_CORES - DT_FURTHER_CORES) / 3;
	assert_true(has_room(session));
	session->domains = 3;
	assert_true(has_room(session));
	session->domains = 4;
	assert_false(has_room(session));
	session->domains = 1;
	session->targets.shared.geometry.cores = 40;
	close_session();
}

static void counts(void **state)
{
	const uint64_t n = 1002; /* two domains and the last one */
	struct dt_shared_counts c;

	open_session(1);
	for (unsigned i = 0; i < 3; i++)
		domain_with(i);
	c = dt_domains_counts(session);
	assert_int_equal(c.filtered_in, n);
	assert_int_equal(c.filtered_out, 2 * n);
	assert_int_equal(c.clockless_in, 3 * n);
	assert_int_equal(c.clockless_out, 4 * n);
	assert_int_equal(c.unsent, 5 * n);
	assert_int_equal(c.missed, 6 * n);
	assert_int_equal(c.held_missed, 7 * n);
	assert_int_equal(c.held_missed_ticks, 8 * n);
	assert_int_equal(c.births_missed, 9 * n);
	close_session();
}

static unsigned frozen_ones(void)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < session->domains; i++)
		bits |= (unsigned)dt_rings_frozen(session->domain[i]->shared) << i;
	return bits;
}

static void set_frozen(unsigned bits)
{
	for (unsigned i = 0; i < session->domains; i++)
		if (dt_rings_frozen(session->domain[i]->shared) != (bits >> i & 1))
			dt_rings_freeze(session->domain[i]->shared, bits >> i & 1);
}

/* Each number of domains, with what was frozen and what is now in every combination. */
static void freezing(void **state)
{
	for (unsigned n = 1; n <= 4; n++) {
		open_session(1);
		dt_rings_start(&session->targets.shared);
		for (unsigned i = 0; i < n; i++)
			domain_with(i);
		for (struct dt_shared *m = &session->targets.shared; m; m = m->next)
			dt_shared_set_careful(m, true);
		for (unsigned was = 0; was < 1u << n; was++)
			for (unsigned is = 0; is < 1u << n; is++) {
				bool froze = is & ~was, went_on = was & ~is;
				unsigned wanted = n < 2 || froze == went_on ? is
						  : froze		    ? (1u << n) - 1
									    : 0;

				session->freezes = true;
				set_frozen(is);
				for (unsigned i = 0; i < n; i++)
					session->domain[i]->frozen = was >> i & 1;
				dt_domains_spread(session);
				assert_int_equal(frozen_ones(), wanted);
				assert_int_equal(dt_domains_frozen(session), wanted != 0);
				for (unsigned i = 0; i < n && n > 1; i++)
					assert_int_equal(session->domain[i]->frozen,
							 wanted >> i & 1);
			}
		close_session();
	}
}

/* Nobody was told to freeze: a process that does freezes its own domain only. */
static void not_told(void **state)
{
	open_session(1);
	dt_rings_start(&session->targets.shared);
	domain_with(0);
	domain_with(1);
	for (struct dt_shared *m = &session->targets.shared; m; m = m->next)
		dt_shared_set_careful(m, true);
	set_frozen(1);
	dt_domains_spread(session);
	assert_int_equal(frozen_ones(), 1);
	/* it has been told once: that counts from then on */
	session->device.events = 5;
	dt_domains_spread(session);
	assert_int_equal(frozen_ones(), 3);
	session->device.events = 0;
	set_frozen(0);
	session->domain[0]->frozen = session->domain[1]->frozen = false;
	set_frozen(2);
	dt_domains_spread(session);
	assert_int_equal(frozen_ones(), 3);
	close_session();
}

/* The start event in one of them starts all that are armed. */
static void arming(void **state)
{
	open_session(1);
	dt_rings_start(&session->targets.shared);
	for (unsigned i = 0; i < 4; i++)
		domain_with(i);
	for (struct dt_shared *m = &session->targets.shared; m; m = m->next)
		dt_shared_set_careful(m, true);
	session->device.arm.set = true;
	for (unsigned i = 0; i < 4; i++)
		dt_shared_arm_set(session->domain[i]->shared, DT_ARM_ARMED, 0);
	dt_domains_spread(session);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(dt_shared_arm_state(session->domain[i]->shared), DT_ARM_ARMED);
	dt_shared_arm_set(session->domain[1]->shared, DT_ARM_NONE, 0);
	dt_shared_arm_set(session->domain[2]->shared, DT_ARM_RUNNING, 777);
	dt_domains_spread(session);
	for (unsigned i = 0; i < 4; i++) {
		const struct dt_shared *m = session->domain[i]->shared;

		assert_int_equal(dt_shared_arm_state(m), i == 1 ? DT_ARM_NONE : DT_ARM_RUNNING);
		if (i != 1)
			assert_int_equal(dt_shared_arm_begin(m), 777);
	}
	close_session();
}

/* What a domain begins with that is made later: what is in the others. */
static void later(void **state)
{
	for (unsigned i = 0; i < 8; i++) {
		struct dt_shared *first;
		struct dt_domain *d;

		open_session(1);
		first = &session->targets.shared;
		domain_with(0);
		if (i & 1)
			dt_rings_start(first);
		dt_shared_set_careful(first, true);
		if (i & 2)
			dt_rings_freeze(first, true);
		if (i & 4)
			dt_shared_set_confined(first);
		session->arm_state = i & 1 ? DT_ARM_RUNNING : DT_ARM_ARMED;
		dt_shared_arm_set(first, session->arm_state, 555);
		d = domain_with(1);
		assert_int_equal(d->shared->state, first->state);
		assert_int_equal(dt_rings_frozen(d->shared), !!(i & 2));
		assert_int_equal(d->frozen, !!(i & 2));
		assert_int_equal(session->domain[0]->frozen, !!(i & 2));
		assert_int_equal(d->shared->confined, !!(i & 4));
		assert_int_equal(dt_shared_arm_state(d->shared), session->arm_state);
		close_session();
	}
	open_session(1);
	domain_with(0);
	dt_rings_start(&session->targets.shared);
	dt_rings_pause(&session->targets.shared);
	assert_int_equal(domain_with(1)->shared->state, DT_PAUSED);
	close_session();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes), cmocka_unit_test(numbers),	 cmocka_unit_test(counts),
		cmocka_unit_test(freezing),  cmocka_unit_test(not_told), cmocka_unit_test(arming),
		cmocka_unit_test(later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
