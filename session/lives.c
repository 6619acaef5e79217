/* SPDX-License-Identifier: MIT */
/* Threads and processes whose numbers others have had before. */
#include "session/lives.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/status.h"

#define MOST (16u << 20) /* ids for numbers that have come again: 4 bytes each */

/* ---- ids ---- */

/* Returns an id for a thread whose number had been used; 0: there are too many, or memory is out.
 */
static uint32_t new_id(struct dt_lives *l, uint32_t number)
{
	if (l->again == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		uint32_t *more = room > MOST ? NULL : realloc(l->number, room * sizeof(*more));

		if (!more)
			return 0;
		l->number = more;
		l->room = room;
	}
	l->number[l->again] = number;
	return DT_AGAIN + (uint32_t)l->again++;
}

uint32_t dt_lives_number(const struct dt_session *s, uint32_t id)
{
	return id >= DT_AGAIN && id - DT_AGAIN < s->lives.again ? s->lives.number[id - DT_AGAIN]
								: id;
}

uint32_t dt_lives_now(const struct dt_session *s, uint32_t number)
{
	const struct dt_turn *t = dt_turns_last(&s->lives.turns, number);

	return t ? t->means : number;
}

uint32_t dt_lives_at(const struct dt_session *s, uint32_t number, uint64_t ticks)
{
	const struct dt_turn *t = dt_turns_at(&s->lives.turns, number, ticks);

	return t ? t->means : number;
}

bool dt_lives_is_last(const struct dt_session *s, uint32_t id)
{
	return dt_lives_now(s, dt_lives_number(s, id)) == id;
}

/* Returns the turn of the thread with that id; NULL: none is known. */
static const struct dt_turn *turn_of(const struct dt_session *s, uint32_t id)
{
	const struct dt_turn *t = dt_turns_last(&s->lives.turns, dt_lives_number(s, id));

	while (t && t->means != id)
		t = t->before;
	return t;
}

uint32_t dt_lives_process_of(const struct dt_session *s, uint32_t id)
{
	const struct dt_turn *t = turn_of(s, id);

	return t ? t->pid : 0;
}

uint32_t dt_lives_parent(const struct dt_session *s, uint32_t id)
{
	const struct dt_turn *t = turn_of(s, id);

	return t ? t->parent : 0;
}

struct dt_target *dt_lives_target(const struct dt_session *s, uint32_t id)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->id == id && !t->ended)
			return t;
	return NULL;
}

/* ---- beginning ---- */

void dt_lives_seen(struct dt_session *s, uint32_t id, uint64_t ticks)
{
	struct dt_turn *t = NULL;

	if (id < DT_AGAIN && !dt_turns_last(&s->lives.turns, id))
		t = dt_turns_begin(&s->lives.turns, id, 0, id, 0);
	if (!t)
		return;
	t->seen = dt_ticks();
	t->met = ticks;
}

static struct dt_turn *begin(struct dt_session *s, uint32_t number, uint64_t ticks)
{
	struct dt_turns *t = &s->lives.turns;
	struct dt_turn *last = dt_turns_last(t, number);
	/* the rest are waits and switches, which may be told a little late */
	uint64_t late = (uint64_t)(1e9 * s->ticks_per_ns);
	uint64_t read = __atomic_load_n(&s->read_until, __ATOMIC_ACQUIRE);
	uint32_t id;

	if (last && ticks <= last->begin)
		return NULL;
	id = last ? new_id(&s->lives, number) : number;
	s->lives.refused += !id;
	return id ? dt_turns_begin(t, number, ticks, id, read > late ? read - late : 0) : NULL;
}

void dt_lives_begin(struct dt_session *s, uint32_t number, uint32_t process, uint64_t ticks,
		    uint64_t made, bool told)
{
	struct dt_turn *t = dt_turns_last(&s->lives.turns, number);

	/* what the kernel recorded of it may have been read before it told of its birth */
	if (!t || !t->met || t->met < (made && made < ticks ? made : ticks))
		t = begin(s, number, ticks);
	if (!t)
		return;
	t->told = told;
	if (made && made < ticks && (!t->before || made > t->before->begin))
		t->made = made;
	t->pid = process == number ? t->means : process ? dt_lives_now(s, process) : 0;
}

void dt_lives_made_by(struct dt_session *s, uint32_t number, uint32_t parent)
{
	struct dt_turn *t = dt_turns_last(&s->lives.turns, number);

	if (t)
		t->parent = dt_lives_now(s, parent);
}

/* Tells whether the thread that has a number now had it already when its last turn began: a process
 * may be attached to that has been let go before. */
static bool was_there(const struct dt_session *s, const struct dt_turn *last, uint32_t number)
{
	uint64_t then = last->begin ? last->begin : last->seen ? last->seen : s->began;
	double ns = (double)(dt_ticks() - then) / s->ticks_per_ns;
	uint64_t ago = (uint64_t)(ns * (double)sysconf(_SC_CLK_TCK) / 1e9), now = dt_status_now();

	return dt_status_made((pid_t)number) <= (ago < now ? now - ago : 0);
}

static void begin_found(struct dt_session *s, uint32_t number, uint32_t pid)
{
	struct dt_turn *last = dt_turns_last(&s->lives.turns, number);

	if (last && was_there(s, last, number))
		last->told = number == pid;
	else
		dt_lives_begin(s, number, pid, dt_ticks(), 0, number == pid);
}

void dt_lives_begin_all(struct dt_session *s, pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *d;

	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return;
	/* who had these numbers before has ended, and these threads record nothing yet */
	begin_found(s, (uint32_t)pid, (uint32_t)pid);
	while ((entry = readdir(d)) != NULL) {
		uint32_t tid = (uint32_t)atoi(entry->d_name);

		if (tid && tid != (uint32_t)pid)
			begin_found(s, tid, (uint32_t)pid);
	}
	closedir(d);
}

uint32_t dt_lives_process(struct dt_session *s, pid_t pid, uint64_t ticks)
{
	struct dt_turn *last = dt_turns_last(&s->lives.turns, (uint32_t)pid);

	/* one that has its maker's memory, and a libc without our stubs, has told of nothing */
	if (last && (last->told || was_there(s, last, (uint32_t)pid)))
		last->told = false;
	else
		dt_lives_begin(s, (uint32_t)pid, (uint32_t)pid, ticks, 0, false);
	return dt_lives_now(s, (uint32_t)pid);
}

uint32_t dt_lives_gone(struct dt_session *s, uint32_t number, bool lives)
{
	struct dt_turn *first = NULL, *last = dt_turns_last(&s->lives.turns, number);

	for (struct dt_turn *t = last; t; t = t->before)
		if (t->told && !(lives && t == last))
			first = t;
	if (!first)
		return 0;
	first->told = false;
	return first->means;
}

/* ---- records ---- */

static uint32_t id_at(const struct dt_session *s, uint64_t number, uint64_t ticks)
{
	const struct dt_turn *t = dt_turns_of_switch(&s->lives.turns, (uint32_t)number, ticks);

	return t ? t->means : (uint32_t)number;
}

/* Replaces the numbers of who wakes a thread, who may be any of the machine's. */
static void correct_waker(const struct dt_session *s, struct dt_record *r)
{
	uint64_t tid = (uint32_t)r->value[0], pid = r->value[0] >> 32;

	tid = tid && tid < DT_AGAIN ? id_at(s, tid, r->ticks) : tid;
	pid = pid && pid < DT_AGAIN ? id_at(s, pid, r->ticks) : pid;
	r->value[0] = tid | pid << 32;
}

/*
 * Replaces all numbers in a record that is about a thread. What the kernel tells of a thread may be
 * older than the thread's birth; the one that had its number before has ended long ago then, since
 * the kernel gives all others first.
 */
static void correct_switch(const struct dt_session *s, struct dt_record *r)
{
	uint32_t from = (uint32_t)r->value[3];

	if (r->tid != DT_NO_TID)
		r->tid = id_at(s, r->tid, r->ticks);
	if (r->kind == DT_WAKE) {
		correct_waker(s, r);
		return;
	}
	if (r->value[0] && r->value[0] < DT_AGAIN)
		r->value[0] = r->tid;
	if (r->value[2] && r->value[2] < DT_AGAIN)
		r->value[2] = id_at(s, r->value[2], r->ticks);
	if (r->kind == DT_SWITCH && from && from < DT_AGAIN)
		r->value[3] ^= from ^ id_at(s, from, r->ticks);
}

void dt_lives_correct(struct dt_session *s, struct dt_record *r, size_t n)
{
	const struct dt_turn *turn = NULL;
	uint32_t number = 0;

	if (!s->lives.again)
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = r[i].tid;

		if (dt_kind_is_about(r[i].kind)) {
			correct_switch(s, &r[i]);
			continue;
		}
		if (tid != number)
			turn = dt_turns_last(&s->lives.turns, number = tid);
		if (turn)
			r[i].tid = r[i].ticks >= turn->begin ? turn->means
							     : dt_lives_at(s, tid, r[i].ticks);
	}
}

void dt_lives_free(struct dt_lives *l)
{
	dt_turns_free(&l->turns);
	free(l->number);
	*l = (struct dt_lives){0};
}
