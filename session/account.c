/* SPDX-License-Identifier: MIT */
/* Writes the totals of a session to its trace file at its end. */
#include "session/account.h"

#include <string.h>

#include "session/domain.h"
#include "session/doubt.h"
#include "session/sieve.h"

/* Stores how many threads of other PID namespaces had gone when they were looked for. */
static void store_unknown_tids(struct dt_session *s)
{
	char text[32];

	if (!s->tids.unknown)
		return;
	dt_format(text, sizeof(text), "%zu", s->tids.unknown);
	dt_store_meta(s->store, "unknown_tids", text, NULL);
}

/* Stores how many calls of threads were lost that had forbidden themselves to read the clock. */
static void store_clockless(struct dt_session *s)
{
	struct dt_shared_counts c = dt_domains_counts(s);
	char text[64];

	s->results.clockless = c.clockless_in;
	s->results.unsent = c.unsent;
	if (!c.clockless_in && !c.clockless_out)
		return;
	dt_format(text, sizeof(text), "%lu %lu", (unsigned long)c.clockless_in,
		  (unsigned long)c.clockless_out);
	dt_store_meta(s->store, "clockless", text, NULL);
}

/* Stores the user of each domain, in the order of the numbers of their rings. */
static void store_domains(struct dt_session *s)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->domains && s->domains > 1; i++)
		n += dt_format(s->results.domains + n, sizeof(s->results.domains) - n, "%s%u",
			       i ? " " : "", s->domain[i]->rights.user[1]);
	if (n)
		dt_store_meta(s->store, "domains", s->results.domains, NULL);
}

/* Stores the users whose processes could read and change each other's records. */
static void store_users(struct dt_session *s)
{
	char text[128];
	size_t n = 0;

	for (unsigned i = 0; i < s->results.users; i++)
		n += dt_format(text + n, sizeof(text) - n, "%s%u", i ? " " : "",
			       s->results.user[i]);
	if (s->results.users > 1)
		dt_store_meta(s->store, "users", text, NULL);
}

static void put_written(struct dt_session *s, unsigned core, const char *source, uint64_t records,
			uint64_t dropped)
{
	struct dt_written_row row = {core, source, records, dropped};

	if (records || dropped || core == DT_SHARED_CORE)
		dt_store_written(s->store, &row, NULL);
}

/*
 * Stores how many records were written, by the writers' own counts: up to where each ring was
 * written, and how many found no room. These are not what the recorder has taken, so that readers
 * of the file can compare. The shared ring's row is always written, which says that the counts are
 * known.
 */
static void store_written(struct dt_session *s)
{
	unsigned cores = s->targets.shared.geometry.cores;
	uint64_t records, dropped, all = 0;
	char text[32];
	size_t n = 0;

	for (unsigned i = 0; i < s->domains * (cores + 1); i++) {
		const struct dt_domain *d = s->domain[i / (cores + 1)];
		const struct dt_ring_reader *reader = &d->reader[i % (cores + 1)];
		struct dt_shared_ring_counts r = dt_shared_ring_counts(d->shared, i % (cores + 1));
		unsigned core = dt_domain_core(s, i / (cores + 1), i % (cores + 1));

		if (!reader->broken && !dt_doubt_counts(d, i % (cores + 1))) {
			put_written(s, core, "ring", r.pos / 64, r.dropped);
			continue;
		}
		/* the writers' counts can not be true; nobody knows how many records there were */
		put_written(s, core, "ring", reader->taken + reader->lost_total, 0);
		if (n < sizeof(s->results.broken) - 16)
			n += dt_format(s->results.broken + n, sizeof(s->results.broken) - n, "%s%u",
				       n ? " " : "", core);
	}
	if (n)
		dt_store_meta(s->store, "broken_rings", s->results.broken, NULL);
	for (unsigned i = 0; i < cores && s->switches; i++) {
		dt_switches_written(s->switches, i, &records, &dropped);
		all += records;
		put_written(s, i, "switches", records, dropped);
	}
	if (all && s->options.switches_unasked) {
		dt_format(text, sizeof(text), "%lu", (unsigned long)all);
		dt_store_meta(s->store, "switches.records", text, NULL);
	}
	for (unsigned i = 0; i < cores && s->kernel; i++)
		if (!dt_kernel_written(s->kernel, i, &records, &dropped))
			put_written(s, i, "kernel", records, dropped);
}

/* What a hypervisor has taken of the processors is in the time that threads were on them. */
static void store_stolen(struct dt_session *s)
{
	char text[32];

	if (!s->switches)
		return;
	dt_format(text, sizeof(text), "%lu", (unsigned long)dt_switches_stolen(s->switches));
	dt_store_meta(s->store, "stolen_ns", text, NULL);
}

void dt_account_write(struct dt_session *s)
{
	store_clockless(s);
	store_stolen(s);
	store_unknown_tids(s);
	store_users(s);
	store_domains(s);
	store_written(s);
	if (s->sieve) {
		struct dt_sieve_counts c = dt_sieve_counts(s->sieve);

		dt_sieve_account(s->sieve, DT_SIEVE_END, NULL);
		s->results.left_out = c.calls;
		s->results.left_records = c.records;
		s->results.kept_undecided = c.kept;
		s->results.stacks = c.stacks;
		s->results.stackless = c.stackless;
	}
}
