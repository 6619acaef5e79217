/* SPDX-License-Identifier: MIT */
/*
 * The machines of a trace that was made of several (fleet/one.h), as its table meta has them:
 * `hosts', how many; for each, from 0, `host.N' and `host_bars.N'.
 */
#ifndef DT_STORE_HOSTS_H
#define DT_STORE_HOSTS_H

#include "store/reader.h"
#include "store/store.h"

#define DT_HOST_BARS  256u /* of a host, at most */
#define DT_HOSTS_MOST 1000u

/* By how much the times of a host between two ticks may be wrong: what is drawn may have been so
 * many ns earlier, or later. */
struct dt_host_bar {
	uint64_t begin, end; /* ticks */
	uint64_t early, late;
	bool unknown; /* nothing says how far */
};

struct dt_host {
	const char *name;
	uint32_t core, cores; /* its cores are [core, core + cores) */
	uint32_t first, end;  /* numbers of its threads and processes: [first, end) */
	bool reference;	      /* its clock is the one that times are of: there is no error */
	bool known;	      /* there are bounds, at some time */
	struct dt_host_bar *bar;
	uint32_t bars;
};

/* Writes host number n. Hosts are written in the order of their numbers. */
int dt_hosts_put(struct dt_store *s, uint32_t n, const struct dt_host *h, struct dt_error *e);

/* ---- reading ---- */

struct dt_hosts {
	struct dt_host *host;
	uint32_t n;		  /* 0: the trace is of one machine */
	struct dt_host_bar *bars; /* of all */
};

/* Reads them; what is damaged makes the trace one of one machine. -1: out of memory. */
int dt_hosts_load(struct dt_hosts *h, const struct dt_reader *r);
void dt_hosts_free(struct dt_hosts *h);
/* Return the host of a thread or process, and of a core; NULL: none. */
const struct dt_host *dt_hosts_of(const struct dt_hosts *h, uint32_t id);
const struct dt_host *dt_hosts_of_core(const struct dt_hosts *h, uint32_t core);

#endif
