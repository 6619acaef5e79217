/* SPDX-License-Identifier: MIT */
/*
 * Holds a trace of test/stress/stress.c against what it must be.
 *
 * usage: check-stress FILE CALLS [exact]    CALLS: as the program printed; 0: it was killed;
 *                                           exact: one thread without signals on one core, so
 *                                           that it is known which records a loss stands for
 * Prints "records N lost N" and what is wrong, a line each; exits 1 if anything is.
 *
 * The law: records + lost = 2 x calls. Each core's ticks never go back. No record is torn (its
 * checksum fits its number) or doubled (numbers of a lane only grow, by one where nothing is lost).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader.h"
#include "test/stress/emit.h"

struct lane {
	uint32_t tid;
	uint64_t last;
};

#define LANES 65536
#define CORES 4097
static struct lane lanes[2][LANES];
static uint64_t last_ticks[CORES];
static uint64_t records, lost, wrong, missing;
static uint64_t next_record; /* exact: number of the record that comes next */

static void complain(const char *what, uint64_t a, uint64_t b)
{
	if (wrong++ < 10)
		printf("%s: %lu %lu\n", what, (unsigned long)a, (unsigned long)b);
}

static struct lane *lane_of(uint32_t tid, unsigned l)
{
	unsigned i = tid % LANES;

	while (lanes[l][i].tid && lanes[l][i].tid != tid)
		i = (i + 1) % LANES;
	lanes[l][i].tid = tid;
	return &lanes[l][i];
}

/* tid: the thread in the file; number: what the kernel called it, as the program says */
static void check_entry(uint32_t tid, uint32_t number, const uint64_t v[4])
{
	struct lane *lane;

	if (v[1] != EMIT_CHECK(v[0]) || v[2] > 1 || v[3] != number) {
		complain("torn entry of thread", tid, v[0]);
		return;
	}
	lane = lane_of(tid, (unsigned)v[2]);
	if (v[0] <= lane->last)
		complain("number again or out of order", lane->last, v[0]);
	missing += v[0] - lane->last - 1;
	lane->last = v[0];
}

static void check_exit(uint64_t result)
{
	if (result % 3 > 1)
		complain("torn exit", result, 0);
}

/* Call n makes records 2n - 2 and 2n - 1. */
static void check_place(const struct dt_site *site, const uint64_t v[4], uint64_t lost_before)
{
	uint64_t number = site->kind == DT_ENTRY ? 2 * v[0] - 2 : 2 * (v[0] / 3) - 1;

	if (number != next_record + lost_before)
		complain("a loss in the wrong place: record expected, record there",
			 next_record + lost_before, number);
	next_record = number + 1;
}

int main(int argc, char **argv)
{
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	struct dt_reader *r;
	struct dt_span s;
	struct dt_error e;
	uint64_t lost_in_front = 0;
	int rc;

	if (argc < 3)
		return 2;
	r = dt_reader_open(argv[1], &e);
	if (!r || dt_reader_start(r, &range, &e) < 0) {
		printf("%s\n", e.text);
		return 1;
	}
	while ((rc = dt_reader_next(r, &s, &e)) > 0) {
		unsigned core = s.core == DT_SHARED_CORE ? CORES - 1 : s.core;

		lost += s.lost;
		lost_in_front += s.lost;
		records += s.n;
		for (uint32_t i = 0; i < s.n; i++) {
			const struct dt_site *site = dt_reader_site(r, s.site[i]);

			if (s.ticks[i] < last_ticks[core] && s.core != DT_SHARED_CORE)
				complain("time goes back on core", core,
					 last_ticks[core] - s.ticks[i]);
			last_ticks[core] = s.ticks[i];
			if (argc > 3)
				check_place(site, s.value[i], lost_in_front);
			if (site->kind == DT_ENTRY)
				check_entry(s.tid, dt_reader_number(r, s.tid), s.value[i]);
			else
				check_exit(s.value[i][0]);
			lost_in_front = 0;
		}
	}
	if (argc > 3 && next_record + lost_in_front != 2 * calls)
		complain("the end, and 2 x calls", next_record + lost_in_front, 2 * calls);
	if (rc < 0)
		complain(e.text, 0, 0);
	printf("records %lu lost %lu\n", (unsigned long)records, (unsigned long)lost);
	if (calls && records + lost != 2 * calls)
		complain("records + lost, and 2 x calls", records + lost, 2 * calls);
	if (!lost && calls && missing)
		complain("missing without a loss", missing, 0);
	dt_reader_close(r);
	return wrong != 0;
}
