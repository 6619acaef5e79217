/* SPDX-License-Identifier: MIT */
/* Our numbers of threads in other PID namespaces. */
#include "session/tids.h"

#include <dirent.h>
#include <stdlib.h>

#include "process/pid-namespace.h"

#define INNER(tid) ((pid_t)((tid) & ((1u << DT_TAG_SHIFT) - 1)))

static bool is_tagged(uint32_t tid)
{
	return tid >> DT_TAG_SHIFT && tid != DT_NO_TID;
}

static struct dt_tid *entry_of(const struct dt_tids *t, uint32_t inner)
{
	size_t i = (inner * 2654435761u) & (t->room - 1);

	while (t->at[i].inner && t->at[i].inner != inner)
		i = (i + 1) & (t->room - 1);
	return &t->at[i];
}

static bool grow(struct dt_tids *t)
{
	struct dt_tids more = {
		.room = t->room ? 2 * t->room : 64, .n = t->n, .unknown = t->unknown};

	if (2 * t->n < t->room)
		return true;
	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return false;
	for (size_t i = 0; i < t->room; i++)
		if (t->at[i].inner)
			*entry_of(&more, t->at[i].inner) = t->at[i];
	free(t->at);
	*t = more;
	return true;
}

static void note(struct dt_tids *t, uint32_t inner, uint32_t outer)
{
	struct dt_tid *e;

	if (!grow(t))
		return;
	e = entry_of(t, inner);
	t->n += !e->inner;
	*e = (struct dt_tid){inner, outer};
}

void dt_tids_note(struct dt_session *s, const struct dt_target *t)
{
	pid_t inner = t->tag ? dt_pid_inner(t->pid, t->pid) : 0;

	if (inner)
		note(&s->tids, t->tag | (uint32_t)inner, (uint32_t)t->pid);
}

/* Searches /proc for a process of that namespace with that number there, for a child that has not
 * made itself known yet. 0: there is none. */
static pid_t find_process(uint64_t inode, pid_t inner)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (d && !found && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && dt_pid_inner(pid, pid) == inner && dt_pid_namespace_of(pid) == inode)
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

uint32_t dt_tids_outer(struct dt_session *s, uint32_t tid)
{
	struct dt_tid *e = NULL;
	pid_t found = 0;
	uint64_t inode;

	if (!is_tagged(tid))
		return tid;
	if (s->tids.room)
		e = entry_of(&s->tids, tid);
	if (e && e->inner)
		return e->outer;
	for (struct dt_target *t = s->first; t && !found; t = t->next)
		if (!t->ended && t->tag >> DT_TAG_SHIFT == tid >> DT_TAG_SHIFT)
			found = dt_pid_outer_thread(t->pid, INNER(tid));
	/* a traced process may have written any number: the tag is checked */
	inode = tid >> DT_TAG_SHIFT < DT_TAGS ? s->targets.namespaces.of[tid >> DT_TAG_SHIFT].inode
					      : 0;
	if (!found && inode)
		found = find_process(inode, INNER(tid));
	if (!found)
		s->tids.unknown++;
	note(&s->tids, tid, found ? (uint32_t)found : tid);
	return found ? (uint32_t)found : tid;
}

void dt_tids_correct(struct dt_session *s, struct dt_record *r, size_t n)
{
	uint32_t inner = 0, outer = 0;

	if (!s->targets.namespaces.last) /* there is no other namespace */
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		if (!is_tagged(r[i].tid))
			continue;
		if (r[i].tid != inner)
			outer = dt_tids_outer(s, inner = r[i].tid);
		r[i].tid = outer;
	}
	pthread_mutex_unlock(&s->lock);
}

size_t dt_tids_inner(struct dt_session *s, uint32_t outer, uint32_t *out, size_t most)
{
	size_t n = 0;

	for (struct dt_target *t = s->first; t; t = t->next) {
		pid_t inner = t->tag && !t->ended ? dt_pid_inner(t->pid, (pid_t)outer) : 0;

		if (inner && n < most)
			out[n++] = t->tag | (uint32_t)inner;
	}
	return n;
}

void dt_tids_free(struct dt_tids *t)
{
	free(t->at);
	*t = (struct dt_tids){.unknown = t->unknown};
}
