/* SPDX-License-Identifier: MIT */
/* Who ended a wait. */
#include <stdlib.h>
#include <string.h>

#include "analyse/path-work.h"
#include "core/search.h"
#include "core/wake.h"

/* ---- threads by the kernel's numbers ---- */

/* Are they of the same machine? */
static bool same_host(const struct dt_path_window *w, uint32_t a, uint32_t b)
{
	return !w->hosts.n || dt_hosts_of(&w->hosts, a) == dt_hosts_of(&w->hosts, b);
}

/* Returns the thread that `of' knows by this number, and that was seen in the range; NULL: none. */
static struct dt_path_thread *thread_by_number(const struct dt_path_window *w,
					       const struct dt_path_thread *of, uint32_t number)
{
	size_t i = dt_count_before(w->numbers, k, w->number[k][0] < number);
	struct dt_path_thread *found = NULL, *t;

	for (; i < w->numbers && w->number[i][0] == number; i++) {
		t = dt_path_thread(w, w->number[i][1]);
		if (t && same_host(w, of->tid, t->tid))
			found = t;
	}
	return found;
}

/* Returns who a row of table waker is of. In a trace of several machines that is the trace's own
 * number of the thread. */
static struct dt_path_thread *waking_thread(const struct dt_path_window *w,
					    const struct dt_path_thread *of, uint32_t tid)
{
	struct dt_path_thread *t = w->hosts.n ? dt_path_thread(w, tid) : NULL;

	return t && same_host(w, of->tid, tid) ? t : thread_by_number(w, of, tid);
}

/* Returns when a thread ran last, up to `at'; 0: not in the range. */
static uint64_t ran_until(const struct dt_path_window *w, const struct dt_path_thread *t,
			  uint64_t at)
{
	const struct dt_path_wait *wait;

	if (!t->first || t->first > at)
		return 0;
	wait = dt_path_wait_at(w, t, at);
	return !wait ? at : wait->open ? 0 : wait->begin;
}

/* Returns the thread of a process that ran last before `at'; NULL: none did in the range. */
static struct dt_path_thread *thread_of_process(const struct dt_path_window *w, uint32_t pid,
						uint64_t at)
{
	struct dt_path_thread *found = NULL;
	uint64_t best = 0;

	for (size_t i = 0; i < w->threads_room; i++) {
		struct dt_path_thread *t = &w->thread[i];
		uint64_t until = t->tid && t->pid == pid ? ran_until(w, t, at) : 0;

		if (until > best || (until && until == best && t->tid == pid)) {
			found = t;
			best = until;
		}
	}
	return found;
}

/* Returns the process that `of' knows by this number; NULL: it is not traced. */
static const struct dt_process_info *
process_by_number(const struct dt_path_window *w, const struct dt_path_thread *of, uint32_t number)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->reader, &n), *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (dt_reader_number(w->reader, p[i].pid) == number &&
		    same_host(w, of->tid, p[i].pid) && p[i].begin_ticks <= w->to)
			found = &p[i];
	return found;
}

/* ---- wake-ups ---- */

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/*
 * What a thread sends over a connection within the machine is delivered by a softirq that its own
 * system call runs. So that is the thread's, if the kernel's stack shows it in the call, and no
 * interrupt between.
 */
static bool sends_itself(struct dt_path_window *w, const struct dt_waker *waker)
{
	const struct dt_function_info *f;
	const struct dt_stack_read *s;
	bool sends = false;

	if (!waker->stack)
		return false;
	if (!w->has_stacks && dt_backtraces_load(&w->stacks, w->reader, NULL) < 0)
		return false;
	w->has_stacks = true;
	s = dt_backtraces_stack(&w->stacks, waker->stack);
	for (size_t i = 0; s && i < s->n; i++) {
		f = s->frame[i].function ? dt_reader_function(w->reader, s->frame[i].function)
					 : NULL;
		if (!f)
			continue;
		if (begins(f->name, "asm_") || begins(f->name, "sysvec_") ||
		    begins(f->name, "common_interrupt") || begins(f->name, "__common_interrupt") ||
		    begins(f->name, "exc_nmi"))
			return false;
		sends |= strstr(f->name, "sendmsg") || strstr(f->name, "sendto");
	}
	return sends;
}

static bool by_waker(struct dt_path_window *w, const struct dt_path_thread *t,
		     const struct dt_path_wait *wait, struct dt_path_other *to)
{
	const struct dt_waker *waker = dt_wakers_row(&w->texts->wakers, w->reader, wait->waker);
	const struct dt_path_thread *u;

	if (!waker || !waker->tid ||
	    (waker->context != DT_WAKE_THREAD &&
	     (waker->context != DT_WAKE_SOFTIRQ || !sends_itself(w, waker))))
		return false;
	u = waking_thread(w, t, waker->tid);
	if (!u || u == t || !u->first)
		return false;
	*to = (struct dt_path_other){u->tid, to->ready, to->ready, DT_PATH_WOKE};
	return true;
}

/* ---- messages ---- */

/* Finds what the thread received after the wait and before the next one, and that was sent while it
 * waited. */
static bool by_message(struct dt_path_window *w, const struct dt_path_thread *t,
		       const struct dt_path_wait *wait, struct dt_path_other *to)
{
	const struct dt_path_wait *next = wait + 1;
	uint64_t until = next < w->wait + t->wait + t->waits ? next->begin : UINT64_MAX;
	const struct dt_path_edge *all = t->edges ? &w->edge[t->edge] : NULL;
	size_t i = dt_count_before(t->edges, k, all[k].received < wait->end);

	for (; i < t->edges && all[i].received <= until; i++) {
		const struct dt_path_thread *u = dt_path_thread(w, all[i].sender);

		if (all[i].sent <= wait->begin || all[i].sent > wait->end || !u || u == t ||
		    !u->first)
			continue;
		to->tid = u->tid;
		to->at = all[i].sent < to->ready ? all[i].sent : to->ready;
		to->link = all[i].link;
		return true;
	}
	return false;
}

/* ---- calls of libc ---- */

static bool is_before(const struct dt_path_release *r, uint32_t pid, uint64_t object,
		      uint64_t until)
{
	if (r->pid != pid)
		return r->pid < pid;
	if (r->object != object)
		return r->object < object;
	return r->ticks <= until;
}

/* Finds the last call of another thread, while this one waited, that lets go who waits for the same
 * object. */
static bool by_release(struct dt_path_window *w, const struct dt_path_thread *t,
		       const struct dt_path_wait *wait, struct dt_path_other *to)
{
	const struct dt_path_release *all = w->release, *found = NULL;
	uint64_t until = wait->end < to->ready ? wait->end : to->ready;

	for (int n = 0; n < 2 && wait->object[n]; n++) {
		uint64_t object = wait->object[n];
		size_t i =
			dt_count_before(w->releases, k, is_before(&all[k], t->pid, object, until));

		while (i-- && all[i].pid == t->pid && all[i].object == object &&
		       all[i].ticks > wait->begin)
			if (all[i].tid != t->tid) {
				if (!found || all[i].ticks > found->ticks)
					found = &all[i];
				break;
			}
	}
	if (!found || !dt_path_thread(w, found->tid))
		return false;
	*to = (struct dt_path_other){found->tid, found->ticks, to->ready, found->link};
	return true;
}

/* ---- what a look has told ---- */

/* Returns the number behind the last of these words in a text; 0: they are not there, or there are
 * several. */
static uint32_t number_behind(const char *text, const char *words)
{
	const char *at = NULL, *next = text;
	char *end;
	unsigned long n;

	while ((next = strstr(next, words)))
		at = next += strlen(words);
	if (!at || *at < '1' || *at > '9')
		return 0;
	n = strtoul(at, &end, 10);
	if (n > INT32_MAX || (*end && strncmp(end, " (", 2) != 0) || strstr(end, ") and "))
		return 0;
	return (uint32_t)n;
}

/* Sets that `u' ended the wait by what it did before it waited itself, at the latest. */
static bool last_did(const struct dt_path_window *w, const struct dt_path_thread *t,
		     const struct dt_path_wait *wait, const struct dt_path_thread *u, uint64_t at,
		     enum dt_path_link link, struct dt_path_other *to)
{
	const struct dt_path_wait *other;

	if (!u || u == t || !u->first || u->first > at)
		return false;
	other = dt_path_wait_at(w, u, at);
	if (other && other->begin > wait->begin)
		at = other->begin;
	*to = (struct dt_path_other){u->tid, at, to->ready, link};
	return true;
}

/* Finds the process that ended first while its parent waited for any. */
static const struct dt_process_info *child_that_ended(const struct dt_path_window *w,
						      const struct dt_path_thread *t,
						      uint64_t begin, uint64_t end)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->reader, &n), *found = NULL;

	for (size_t i = 0; i < n; i++)
		if (p[i].ppid == t->pid && p[i].end_ticks > begin && p[i].end_ticks <= end &&
		    (!found || p[i].end_ticks < found->end_ticks))
			found = &p[i];
	return found;
}

static bool by_child(const struct dt_path_window *w, const struct dt_path_thread *t,
		     const struct dt_path_wait *wait, const struct dt_process_info *child,
		     struct dt_path_other *to)
{
	uint64_t at = to->ready;

	if (!child)
		return false;
	if (child->end_ticks && child->end_ticks < at)
		at = child->end_ticks;
	return at > wait->begin &&
	       last_did(w, t, wait, thread_of_process(w, child->pid, at), at, DT_PATH_ENDED, to);
}

static bool by_text(struct dt_path_window *w, const struct dt_path_thread *t,
		    const struct dt_path_wait *wait, uint64_t at, struct dt_path_other *to)
{
	static const struct {
		const char *words;
		bool process;
		enum dt_path_link link;
	} known[] = {{", held by thread ", false, DT_PATH_LOCK},
		     {", held by ", true, DT_PATH_LOCK},
		     {", written by ", true, DT_PATH_PIPE},
		     {", read by ", true, DT_PATH_PIPE},
		     {"the end of thread ", false, DT_PATH_ENDED}};
	const struct dt_waited *seen = &w->texts->waited;
	const struct dt_process_info *p;
	const struct dt_path_thread *u;
	uint32_t row = dt_waited_between(seen, t->tid, wait->begin, wait->end), number;
	const char *text = row ? seen->row[row - 1].text : "";

	if (!strcmp(text, "a child"))
		return by_child(w, t, wait, child_that_ended(w, t, wait->begin, at), to);
	if (begins(text, "process "))
		return by_child(w, t, wait,
				process_by_number(w, t, number_behind(text, "process ")), to);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		number = number_behind(text, known[i].words);
		if (!number)
			continue;
		p = known[i].process ? process_by_number(w, t, number) : NULL;
		u = p ? thread_of_process(w, p->pid, to->ready) : thread_by_number(w, t, number);
		return last_did(w, t, wait, u, to->ready, known[i].link, to);
	}
	return false;
}

/* ---- all of them ---- */

bool dt_path_who(struct dt_path_window *w, const struct dt_path_thread *t,
		 const struct dt_path_wait *wait, uint64_t at, struct dt_path_other *to)
{
	*to = (struct dt_path_other){.ready = at};
	/* where the path has come to the middle of a wait, who ends it later is waited for */
	if (wait->waker) {
		to->ready = wait->woken < at ? wait->woken : at;
		to->ready = to->ready > wait->begin ? to->ready : wait->begin;
		if (by_waker(w, t, wait, to))
			return true;
	}
	if (by_message(w, t, wait, to) || by_release(w, t, wait, to))
		return true;
	return by_text(w, t, wait, at, to);
}

bool dt_path_maker(struct dt_path_window *w, const struct dt_path_thread *t, uint64_t at,
		   struct dt_path_other *to)
{
	const struct dt_process_info *p = t->pid ? dt_reader_process(w->reader, t->pid) : NULL;
	const struct dt_path_thread *u = NULL;
	const struct dt_waker *waker;
	uint64_t born = 0;

	if (t->made && t->waker) {
		waker = dt_wakers_row(&w->texts->wakers, w->reader, t->waker);
		u = waker && waker->tid ? waking_thread(w, t, waker->tid) : NULL;
		born = t->woken;
	} else if (p && t->tid == t->pid && p->begin_ticks > w->from) {
		/* it may have run before the session knew of it */
		born = t->first && t->first < p->begin_ticks ? t->first : p->begin_ticks;
		u = p->ppid && p->ppid != t->pid ? thread_of_process(w, p->ppid, born) : NULL;
		/* and its maker did that while it ran itself */
		born = u ? ran_until(w, u, born) : 0;
	}
	if (!u || u == t || !born || born > at || !u->first)
		return false;
	*to = (struct dt_path_other){u->tid, born, born, DT_PATH_MADE};
	return true;
}
