/* SPDX-License-Identifier: MIT */
/* The writer's dictionary of sites: (process, pc, kind, target) to the row in table site. */
#ifndef DT_STORE_SITES_H
#define DT_STORE_SITES_H

#include "core/types.h"

struct dt_site_entry {
	uint64_t pc, target; /* target: of a jump whose records tell where it leads; otherwise 0 */
	uint32_t pid;
	uint32_t row; /* 0: free, or forgotten, or by_target */
	uint8_t kind;
	uint8_t mask;
	bool used;
	bool by_target; /* there is a row for each target instead */
};

struct dt_sites {
	struct dt_site_entry *entry; /* open addressing, a power of two */
	size_t size, used;
};

/* The entry of a key; a new one has row 0 and is for the caller to fill. NULL: no memory. */
struct dt_site_entry *dt_sites_find(struct dt_sites *s, uint32_t pid, uint64_t pc, uint64_t target,
				    uint8_t kind);
/* The same of one that is there already; NULL: it is not. */
struct dt_site_entry *dt_sites_known(const struct dt_sites *s, uint32_t pid, uint64_t pc,
				     uint64_t target, uint8_t kind);
/* Forgets the rows of what is in [low, high), or leads there. */
void dt_sites_forget(struct dt_sites *s, uint64_t low, uint64_t high);
void dt_sites_free(struct dt_sites *s);

/* tid to pid */
struct dt_pid_entry {
	uint32_t tid, pid; /* tid DT_NO_TID: free */
};

struct dt_pids {
	struct dt_pid_entry *entry;
	size_t size, used;
};

uint32_t dt_pids_get(const struct dt_pids *p, uint32_t tid); /* 0: not known */
int dt_pids_set(struct dt_pids *p, uint32_t tid, uint32_t pid);
void dt_pids_free(struct dt_pids *p);

static inline size_t dt_hash(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return (size_t)(x >> 32 ^ x >> 11);
}

#endif
