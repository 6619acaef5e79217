/* SPDX-License-Identifier: MIT */
/* How many threads read a trace. */
#include "cmd/jobs.h"

#include <sched.h>
#include <stdlib.h>

#include "cmd/open.h"

/* So many records are worth a thread. */
#define RECORDS_EACH 1000000

bool dt_jobs_parse(struct dt_jobs *j, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || *text < '0' || *text > '9' || n < 1 || n > DT_JOBS_MOST) {
		dt_cmd_fail("'%s' is not a number of threads: say 1 to %d", text, DT_JOBS_MOST);
		return false;
	}
	j->threads = (unsigned)n;
	return true;
}

/* Returns how many cores this process may use. */
static unsigned cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

unsigned dt_jobs_for(const struct dt_jobs *j, uint64_t records)
{
	unsigned n = j->threads ? j->threads : cores();
	uint64_t most = records / RECORDS_EACH;

	if (!j->threads && n > most)
		n = most ? (unsigned)most : 1;
	return n < DT_JOBS_MOST ? n : DT_JOBS_MOST;
}
