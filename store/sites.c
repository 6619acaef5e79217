/* SPDX-License-Identifier: MIT */
/* Hash tables of the writer: sites, and the processes of threads. */
#include <stdlib.h>
#include "core/record.h"
#include "store/sites.h"

static struct dt_site_entry *slot(struct dt_site_entry *entry, size_t size, uint32_t pid,
				  uint64_t pc, uint64_t target, uint8_t kind)
{
	size_t i = dt_hash(pc + pid + target) + kind;

	for (;; i++) {
		struct dt_site_entry *e = &entry[i & (size - 1)];

		if (!e->used ||
		    (e->pc == pc && e->target == target && e->pid == pid && e->kind == kind))
			return e;
	}
}

static bool is_left(const struct dt_sites *s, const struct dt_site_entry *e)
{
	return s->left.used && dt_pids_get(&s->left, e->pid);
}

/* Makes room: what is of processes that have been left goes, and the rest gets a table of which at
 * most a quarter is in use. */
static int grow_sites(struct dt_sites *s)
{
	size_t size = 1024, used = 0;
	struct dt_site_entry *entry;

	for (size_t i = 0; i < s->size; i++)
		used += s->entry[i].used && !is_left(s, &s->entry[i]);
	while (size < 4 * used)
		size *= 2;
	entry = calloc(size, sizeof(*entry));
	if (!entry)
		return -1;
	for (size_t i = 0; i < s->size; i++) {
		struct dt_site_entry *e = &s->entry[i];

		if (e->used && !is_left(s, e))
			*slot(entry, size, e->pid, e->pc, e->target, e->kind) = *e;
	}
	free(s->entry);
	s->entry = entry;
	s->size = size;
	s->used = used;
	dt_pids_free(&s->left);
	s->left = (struct dt_pids){0};
	return 0;
}

struct dt_site_entry *dt_sites_find(struct dt_sites *s, uint32_t pid, uint64_t pc, uint64_t target,
				    uint8_t kind)
{
	struct dt_site_entry *e;

	if (2 * s->used >= s->size && grow_sites(s))
		return NULL;
	e = slot(s->entry, s->size, pid, pc, target, kind);
	if (!e->used) {
		*e = (struct dt_site_entry){
			.pc = pc, .target = target, .pid = pid, .kind = kind, .used = true};
		s->used++;
	}
	return e;
}

struct dt_site_entry *dt_sites_known(const struct dt_sites *s, uint32_t pid, uint64_t pc,
				     uint64_t target, uint8_t kind)
{
	struct dt_site_entry *e = s->size ? slot(s->entry, s->size, pid, pc, target, kind) : NULL;

	return e && e->used ? e : NULL;
}

int dt_sites_leave(struct dt_sites *s, uint32_t pid)
{
	return dt_pids_set(&s->left, pid, 1);
}

void dt_sites_stay(struct dt_sites *s, uint32_t pid)
{
	/* its rows have been described in the process that had the number before, and are wrong */
	if (s->left.used && dt_pids_get(&s->left, pid))
		grow_sites(s);
}

void dt_sites_forget(struct dt_sites *s, uint32_t pid, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < s->size; i++) {
		struct dt_site_entry *e = &s->entry[i];
		bool here = e->pc >= low && e->pc < high;

		if (e->pid != pid && e->pid)
			continue;
		if (here || (e->target >= low && e->target < high))
			e->row = 0;
		if (here)
			e->by_target = false;
	}
}

void dt_sites_free(struct dt_sites *s)
{
	free(s->entry);
	dt_pids_free(&s->left);
}

static struct dt_pid_entry *pid_slot(struct dt_pid_entry *entry, size_t size, uint32_t tid)
{
	size_t i = dt_hash(tid);

	for (;; i++) {
		struct dt_pid_entry *e = &entry[i & (size - 1)];

		if (e->tid == DT_NO_TID || e->tid == tid)
			return e;
	}
}

uint32_t dt_pids_get(const struct dt_pids *p, uint32_t tid)
{
	struct dt_pid_entry *e;

	if (!p->size || tid == DT_NO_TID)
		return 0;
	e = pid_slot(p->entry, p->size, tid);
	return e->tid == tid ? e->pid : 0;
}

int dt_pids_set(struct dt_pids *p, uint32_t tid, uint32_t pid)
{
	struct dt_pid_entry *e;

	if (tid == DT_NO_TID)
		return 0;
	if (2 * p->used >= p->size) {
		size_t size = p->size ? 2 * p->size : 256;
		struct dt_pid_entry *entry = malloc(size * sizeof(*entry));

		if (!entry)
			return -1;
		for (size_t i = 0; i < size; i++)
			entry[i].tid = DT_NO_TID;
		for (size_t i = 0; i < p->size; i++)
			if (p->entry[i].tid != DT_NO_TID)
				*pid_slot(entry, size, p->entry[i].tid) = p->entry[i];
		free(p->entry);
		p->entry = entry;
		p->size = size;
	}
	e = pid_slot(p->entry, p->size, tid);
	if (e->tid != tid) {
		e->tid = tid;
		p->used++;
	}
	e->pid = pid;
	return 0;
}

void dt_pids_free(struct dt_pids *p)
{
	free(p->entry);
}
