/* SPDX-License-Identifier: MIT */
/* Our numbers of threads in other PID namespaces. */
#include "session/tids.h"

#include <dirent.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "process/pid-namespace.h"
#include "session/lives.h"

#define INNER(tid) ((pid_t)((tid) & ((1u << DT_TAG_SHIFT) - 1)))

static bool is_tagged(uint32_t tid)
{
	return tid >> DT_TAG_SHIFT && tid != DT_NO_TID;
}

void dt_tids_note(struct dt_session *s, const struct dt_target *t)
{
	pid_t number = t->tag ? dt_pid_inner(t->pid, t->pid) : 0;
	uint32_t inner = t->tag | (uint32_t)number;
	struct dt_turn *last = number ? dt_turns_last(&s->tids.turns, inner) : NULL;

	if (last && !last->means)
		last->means = (uint32_t)t->pid;
	else if (number && (!last || last->means != (uint32_t)t->pid))
		dt_turns_begin(&s->tids.turns, inner, last ? dt_ticks() : 0, (uint32_t)t->pid, 0);
}

bool dt_tids_born(struct dt_session *s, const struct dt_birth *b)
{
	struct dt_turn *turn;

	if (!is_tagged(b->tid))
		return false;
	turn = dt_turns_begin(&s->tids.turns, b->tid, b->ticks, 0, s->read_until);
	if (turn) {
		turn->pid = b->pid;
		turn->made = b->made;
	}
	/* what the kernel tells of the thread is by our number */
	if (turn && (s->switches || s->kernel))
		dt_tids_outer(s, b->tid, b->ticks);
	return true;
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

/* Searches for a living thread with that number in its namespace. process: its process's number
 * there; 0: not known. 0: there is none. */
static uint32_t find(struct dt_session *s, uint32_t tid, uint32_t process, uint64_t ticks)
{
	uint32_t tag = tid >> DT_TAG_SHIFT;
	/* a traced process may have written any number: the tag is checked */
	uint64_t inode = tag < DT_TAGS ? s->targets.namespaces.of[tag].inode : 0;
	pid_t found = 0;

	if (process && process != tid) {
		process = dt_tids_outer(s, process, ticks);
		return is_tagged(process)
			       ? 0
			       : (uint32_t)dt_pid_outer_thread((pid_t)process, INNER(tid));
	}
	for (struct dt_target *t = s->first; t && !found; t = t->next)
		if (!t->ended && t->tag >> DT_TAG_SHIFT == tag)
			found = dt_pid_outer_thread(t->pid, INNER(tid));
	if (!found && inode)
		found = find_process(inode, INNER(tid));
	return (uint32_t)found;
}

uint32_t dt_tids_outer(struct dt_session *s, uint32_t tid, uint64_t ticks)
{
	struct dt_turns *turns = &s->tids.turns;
	struct dt_turn *turn;
	uint32_t found = 0, process;
	uint64_t begin, made;

	if (!is_tagged(tid))
		return tid;
	turn = dt_turns_at(turns, tid, ticks);
	if (turn && turn->means)
		return turn->means;
	if (!turn && !(turn = dt_turns_begin(turns, tid, 0, 0, 0)))
		return tid;
	turn->means = tid; /* unless it is found */
	process = turn->pid;
	begin = turn->begin;
	made = turn->made;
	if (turn == dt_turns_last(turns, tid)) /* else another one has the number by now */
		found = find(s, tid, process, ticks);
	if (!found)
		s->tids.unknown++;
	turn = dt_turns_at(turns, tid, ticks);
	if (found && turn)
		turn->means = found;
	if (begin)
		dt_lives_begin(s, found ? found : tid,
			       process == tid ? (found ? found : tid)
					      : dt_tids_outer(s, process, ticks),
			       begin, made, process == tid);
	return found ? found : tid;
}

void dt_tids_correct(struct dt_session *s, struct dt_record *r, size_t n)
{
	uint32_t inner = 0, outer = 0;
	const struct dt_turn *turn;

	if (!s->targets.namespaces.last) /* there is no other namespace */
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		if (!is_tagged(r[i].tid))
			continue;
		if (r[i].tid != inner) {
			outer = dt_tids_outer(s, inner = r[i].tid, r[i].ticks);
			turn = dt_turns_last(&s->tids.turns, inner);
			if (turn && turn->before) /* it depends on the time */
				inner = 0;
		}
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
	dt_turns_free(&t->turns);
}
