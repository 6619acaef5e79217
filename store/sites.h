/* SPDX-License-Identifier: MIT */
/* The writer's table of sites, from (process, pc, kind, target) to the row in table site; and its
 * table of the processes of threads. */
#ifndef DT_STORE_SITES_H
#define DT_STORE_SITES_H

#include "core/types.h"

struct dt_site_entry {
	uint64_t pc, target; /* target: where a jump leads, if its records tell; otherwise 0 */
	uint32_t pid;
	uint32_t row;	   /* row in table site; 0: not written yet, forgotten, or by_target */
	uint32_t function; /* row of its function; 0: not known */
	uint8_t kind;
	uint8_t mask;
	uint8_t place; /* enum dt_site_kind */
	bool used;
	bool crossing;	/* as in struct dt_site */
	bool by_target; /* each target has a row of its own instead */
};

/* The process of a thread. */
struct dt_pid_entry {
	uint32_t tid, pid; /* tid DT_NO_TID: free */
};

/* A table from tid to pid; open addressing, size is a power of two. */
struct dt_pids {
	struct dt_pid_entry *entry;
	size_t size, used;
};

struct dt_sites {
	struct dt_site_entry *entry; /* open addressing; size is a power of two */
	size_t size, used;
	struct dt_pids left; /* processes whose entries go when room is needed, each with 1 */
};

/* Returns the entry of a key, adding it if it is not there; a new entry has row 0, and the caller
 * fills it. The pointer is valid until the next call. NULL: out of memory. */
struct dt_site_entry *dt_sites_find(struct dt_sites *s, uint32_t pid, uint64_t pc, uint64_t target,
				    uint8_t kind);
/* Returns the entry of a key if it is there already, otherwise NULL. */
struct dt_site_entry *dt_sites_known(const struct dt_sites *s, uint32_t pid, uint64_t pc,
				     uint64_t target, uint8_t kind);
/* Forgets the rows of a process's sites in [low, high), and of its jumps that lead there; and of
 * those whose process is not known (0). */
void dt_sites_forget(struct dt_sites *s, uint32_t pid, uint64_t low, uint64_t high);
/* Gives up what there is of a process, of which no more is asked: its memory is used again. Returns
 * -1 when out of memory; then all stays. */
int dt_sites_leave(struct dt_sites *s, uint32_t pid);
/* Says that there is a process with a number again, whose entries are not those that were left. */
void dt_sites_stay(struct dt_sites *s, uint32_t pid);
void dt_sites_free(struct dt_sites *s);

uint32_t dt_pids_get(const struct dt_pids *p, uint32_t tid); /* 0: not known */
/* Sets the process of a thread. Returns -1 when out of memory. */
int dt_pids_set(struct dt_pids *p, uint32_t tid, uint32_t pid);
void dt_pids_free(struct dt_pids *p);

static inline size_t dt_hash(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return (size_t)(x >> 32 ^ x >> 11);
}

#endif
