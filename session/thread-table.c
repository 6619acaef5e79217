/* SPDX-License-Identifier: MIT */
/* The threads of a session. */
#include "session/thread-table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/target-modules.h"
#include "process/memory.h"
#include "process/status.h"
#include "session/domain.h"
#include "session/lives.h"

#define ANCESTORS 8 /* generations of parents that are looked at */

void dt_thread_table_name(uint32_t number, char *name, size_t size)
{
	char path[64];
	FILE *f;

	name[0] = '\0';
	dt_format(path, sizeof(path), "/proc/%u/comm", number);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(name, (int)size, f))
		name[strcspn(name, "\n")] = '\0';
	fclose(f);
}

/* Returns our number of the process of a thread, by its number, from /proc; 0: the thread has gone.
 */
static uint32_t living_process_of(uint32_t number)
{
	unsigned pid;

	return dt_status_number((pid_t)number, "Tgid", &pid) ? pid : 0;
}

/* Returns the id of the process that a thread is in; 0: the thread has gone. What has its number
 * then is another one. */
static uint32_t living_process_by_id(const struct dt_session *s, uint32_t tid)
{
	uint32_t pid = dt_lives_is_last(s, tid) ? living_process_of(dt_lives_number(s, tid)) : 0;

	return pid ? dt_lives_now(s, pid) : 0;
}

/* Returns the domain whose memory a process has mapped; NULL: it has none of the session's, or has
 * ended. */
static struct dt_domain *domain_of(struct dt_session *s, pid_t pid)
{
	struct dt_domain *has = NULL;
	struct dt_maps maps;

	if (dt_maps_read(pid, &maps, NULL) == 0) {
		has = dt_domain_mapped(s, &maps);
		dt_maps_free(&maps);
	}
	return has;
}

/* Tells whether a process is recorded or was. One that has not made itself known yet has the
 * session's memory, or comes from a process that is known. */
static bool is_ours(struct dt_session *s, uint32_t pid)
{
	uint32_t parent = (uint32_t)dt_status_parent((pid_t)pid);

	for (const struct dt_target *t = s->first; t; t = t->next)
		if ((uint32_t)t->pid == pid || (uint32_t)t->pid == parent)
			return true;
	/* a process that is ending has no memory to look at, and is taken for one of ours */
	return domain_of(s, (pid_t)pid) || dt_memory_gone((pid_t)pid);
}

/*
 * Returns the process of a record's thread; 0 when it can not be known: the thread has gone, and
 * there were several processes. What has its number now may be a stranger, since numbers are
 * reused.
 */
static uint32_t process_of(struct dt_session *s, const struct dt_record *r)
{
	uint32_t pid = living_process_by_id(s, r->tid);

	if (pid && is_ours(s, dt_lives_number(s, pid)))
		return pid;
	pid = 0;
	if (s->only_pid)
		return s->only_pid;
	for (struct dt_target *t = s->first; t; t = t->next) {
		if (!dt_target_module(t, r->pc))
			continue;
		if (pid)
			return 0;
		pid = t->id;
	}
	return pid;
}

/* Returns the entry of a thread, or the empty one where it belongs. The table must not be full. */
static struct dt_thread_entry *entry_of(const struct dt_session *s, uint32_t tid)
{
	size_t i = tid * 2654435761u & (s->thread_room - 1);

	while (s->thread[i].tid && s->thread[i].tid != tid)
		i = (i + 1) & (s->thread_room - 1);
	return &s->thread[i];
}

uint32_t dt_thread_table_process(const struct dt_session *s, uint32_t tid)
{
	return s->thread_room ? entry_of(s, tid)->pid : 0;
}

const char *dt_thread_table_known_name(const struct dt_session *s, uint32_t tid)
{
	return s->thread_room ? entry_of(s, tid)->name : "";
}

bool dt_thread_table_recorded(const struct dt_session *s, uint32_t tid)
{
	return s->thread_room && entry_of(s, tid)->recorded;
}

/* Makes room so that at most half of the table is in use. False: out of memory. */
static bool grow_threads(struct dt_session *s)
{
	struct dt_thread_entry *old = s->thread;
	size_t n = s->thread_room, room = n ? 2 * n : 128;

	if (2 * s->threads < n)
		return true;
	s->thread = calloc(room, sizeof(*s->thread));
	if (!s->thread) {
		s->thread = old;
		return false;
	}
	s->thread_room = room;
	for (size_t i = 0; i < n; i++)
		if (old[i].tid)
			*entry_of(s, old[i].tid) = old[i];
	free(old);
	return true;
}

/* Tells whether another thread has told that it has that number by now. */
static bool is_told(const struct dt_session *s, uint32_t number)
{
	for (unsigned i = 0; i < s->domains; i++)
		if (dt_shared_births(s->domain[i]->shared) != s->domain[i]->births &&
		    dt_shared_birth_told(s->domain[i]->shared, number))
			return true;
	return false;
}

/* Reads a thread's name; "": it has gone, perhaps while it was read. */
static void read_name(struct dt_session *s, uint32_t tid, uint32_t pid, char *name, size_t size)
{
	name[0] = '\0';
	/* not a stranger that has its number now */
	if (living_process_by_id(s, tid) != pid)
		return;
	dt_thread_table_name(dt_lives_number(s, tid), name, size);
	if (is_told(s, dt_lives_number(s, tid)))
		name[0] = '\0';
}

/* Notes who has made a process that has records and is no target, as a child of vfork: /proc says
 * it while the process lives, and a child that libc has made has told it at its birth. */
static void note_unlisted(struct dt_session *s, const struct dt_record *r)
{
	uint32_t number = dt_lives_number(s, r->tid);
	pid_t parent = dt_lives_is_last(s, r->tid) ? dt_status_parent((pid_t)number) : 0;

	for (const struct dt_target *t = s->first; t; t = t->next)
		if (t->id == r->tid)
			return;
	if (parent > 0 && !dt_lives_parent(s, r->tid) && !is_told(s, number))
		dt_lives_made_by(s, number, (uint32_t)parent);
	if (s->thread_room && entry_of(s, r->tid)->tid)
		entry_of(s, r->tid)->unlisted = r->ticks;
}

void dt_thread_table_new(struct dt_session *s, const struct dt_record *r)
{
	char name[64];
	uint32_t pid;

	if (r->tid == DT_NO_TID || dt_thread_table_recorded(s, r->tid))
		return;
	/* what the kernel tells of a thread may be older than its birth */
	if (r->kind && !dt_kind_is_about(r->kind))
		dt_lives_seen(s, r->tid, r->ticks);
	pid = dt_thread_table_process(s, r->tid);
	if (!pid)
		pid = dt_lives_process_of(s, r->tid);
	if (!pid)
		pid = process_of(s, r);
	read_name(s, r->tid, pid, name, sizeof(name));
	/* a child that has gone had its parent's name */
	for (struct dt_target *t = name[0] ? NULL : s->first; t && !name[0]; t = t->next)
		if (t->id == pid && pid == r->tid && t->forked && dt_session_find(s, t->ppid))
			dt_thread_table_name((uint32_t)t->ppid, name, sizeof(name));
	/* a process that has ended had this name when it began */
	for (struct dt_target *t = name[0] ? NULL : s->first; t && !name[0]; t = t->next)
		if (t->id == pid && pid == r->tid)
			dt_format(name, sizeof(name), "%s", t->comm);
	dt_thread_table_note(s, r->tid, pid, name);
	if (pid == r->tid && !s->kernel_threads)
		note_unlisted(s, r);
}

void dt_thread_table_met(struct dt_session *s, const struct dt_record *r)
{
	struct dt_thread_entry *entry;

	if (r->tid == DT_NO_TID || dt_thread_table_recorded(s, r->tid) ||
	    (s->thread_room && entry_of(s, r->tid)->met))
		return;
	dt_thread_table_new(s, r);
	if (s->thread_room && (entry = entry_of(s, r->tid))->tid) {
		entry->recorded = false;
		entry->met = true;
	}
}

void dt_thread_table_describe(struct dt_session *s, uint32_t tid)
{
	const struct dt_record r = {.tid = tid};
	uint32_t pid;
	char name[64];

	if (dt_thread_table_recorded(s, tid))
		return;
	/* a known thread may have ended since */
	pid = dt_thread_table_process(s, tid);
	if (pid || dt_lives_target(s, process_of(s, &r))) {
		dt_thread_table_new(s, &r);
		return;
	}
	/* a thread of a process that has not made itself known; its first record will describe it
	 * again */
	read_name(s, tid, living_process_by_id(s, tid), name, sizeof(name));
	dt_thread_table_note(s, tid, 0, name);
	entry_of(s, tid)->recorded = false;
}

void dt_thread_table_note(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name)
{
	struct dt_thread_entry *entry;

	if (!tid || !grow_threads(s))
		return;
	entry = entry_of(s, tid);
	s->threads += !entry->tid;
	*entry = (struct dt_thread_entry){
		.tid = tid, .pid = pid, .domains = entry->domains, .recorded = name != NULL};
	dt_format(entry->name, sizeof(entry->name), "%s", name ? name : "");
	if (s->store && name)
		dt_store_thread(s->store, tid, pid, name, NULL);
	if (s->store && name && tid >= DT_AGAIN)
		dt_store_again(s->store, tid, dt_lives_number(s, tid), NULL);
}

void dt_thread_table_told(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name)
{
	bool recorded = dt_thread_table_recorded(s, tid);

	dt_thread_table_note(s, tid, pid, recorded ? name : NULL);
	/* kept until its first record is read */
	if (!recorded && s->thread_room && entry_of(s, tid)->tid)
		dt_format(entry_of(s, tid)->name, sizeof(entry_of(s, tid)->name), "%s", name);
}

void dt_thread_table_store(struct dt_session *s)
{
	for (size_t i = 0; i < s->thread_room; i++) {
		const struct dt_thread_entry *t = &s->thread[i];

		if (!t->tid || !(t->recorded || t->met))
			continue;
		dt_store_thread(s->store, t->tid, t->pid, t->name, NULL);
		if (t->tid >= DT_AGAIN)
			dt_store_again(s->store, t->tid, dt_lives_number(s, t->tid), NULL);
	}
}

void dt_thread_table_store_unlisted(struct dt_session *s)
{
	for (size_t i = 0; i < s->thread_room; i++) {
		const struct dt_thread_entry *t = &s->thread[i];
		uint32_t parent = t->unlisted ? dt_lives_parent(s, t->tid) : 0;

		if (parent)
			dt_store_process_like(s->store, t->tid, parent, parent, NULL, t->unlisted,
					      NULL);
	}
}

/* Tells whether an ancestor of a process is known to be in the domain. */
static bool is_born_in(const struct dt_session *s, const struct dt_domain *d, pid_t pid)
{
	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		pid = dt_status_parent(pid);
		if (pid > 1 && s->thread_room &&
		    (entry_of(s, dt_lives_now(s, (uint32_t)pid))->domains >> d->number & 1))
			return true;
	}
	return false;
}

/*
 * Tells whether process pid is in domain d, which it is when it has the domain's memory. A process
 * that has no memory of the session recorded before it executed a program, and is not followed, or
 * not yet. It is in the domain if it has the domain's credentials, or if it had them and comes from
 * a process of the domain, as children of vfork do, which do not make themselves known.
 */
static bool is_in(struct dt_session *s, const struct dt_domain *d, pid_t pid)
{
	const struct dt_domain *has = domain_of(s, pid);
	struct dt_rights rights;

	if (has)
		return has == d;
	return (dt_rights_of(pid, &rights) && memcmp(&rights, &d->rights, sizeof(rights)) == 0) ||
	       is_born_in(s, d, pid);
}

void dt_thread_table_join(struct dt_session *s, const struct dt_domain *d, uint32_t tid)
{
	if (!s->thread_room || !entry_of(s, tid)->tid)
		dt_thread_table_note(s, tid, 0, NULL);
	if (s->thread_room && entry_of(s, tid)->tid)
		entry_of(s, tid)->domains |= 1u << d->number;
}

bool dt_thread_table_owns(struct dt_session *s, const struct dt_domain *d, uint32_t number,
			  uint64_t ticks, bool *known)
{
	uint32_t id = dt_lives_at(s, number, ticks), pid;
	struct dt_thread_entry *entry = s->thread_room ? entry_of(s, id) : NULL;

	*known = s->domains < 2 || number == DT_NO_TID;
	if (entry && !entry->tid)
		entry = NULL;
	if (*known || (entry && (entry->domains >> d->number & 1)))
		return *known = true;
	pid = dt_lives_is_last(s, id) ? living_process_of(number) : 0;
	if (!pid)
		return true;
	/* one that has ended meanwhile is in nothing any more: nothing is known of it, as above */
	if (!is_in(s, d, (pid_t)pid))
		return living_process_of(number) != pid;
	if (entry)
		entry->domains |= 1u << d->number;
	return *known = true;
}
