/* SPDX-License-Identifier: MIT */
/*
 * See plan.h. For each site the tactics are tried from cheap to dear. First all sites of the
 * function are tried with a plain jump, then those left over with the other tactics, so that a rare
 * expensive site does not take bytes from a cheap one.
 */
#include "arch/plan.h"

#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/plan-work.h"
#include "core/array.h"

const char *dt_tactic_name(unsigned tactic)
{
	static const char *const name[] = {"jump",  "padded", "shared", "short",
					   "inner", "punned", "trap"};

	return tactic < DT_TACTICS ? name[tactic] : "none";
}

int dt_plan_begin(struct dt_plan *p, const struct dt_code *code,
		  const struct dt_plan_options *options, struct dt_error *e)
{
	*p = (struct dt_plan){.code = code, .options = *options};
	p->decoded = calloc(DT_PLAN_DECODED, sizeof(*p->decoded));
	p->taken = calloc(code->regions, sizeof(*p->taken));
	for (size_t i = 0; p->taken && i < code->regions; i++) {
		p->taken[i] = calloc(1, (code->region[i].high - code->region[i].low) / 8 + 1);
		if (!p->taken[i])
			p->failed = true;
	}
	if (!p->taken || p->failed) {
		dt_plan_end(p);
		return dt_fail(e, "out of memory planning probes");
	}
	return 0;
}

void dt_plan_end(struct dt_plan *p)
{
	for (size_t i = 0; p->taken && i < p->code->regions; i++)
		free(p->taken[i]);
	free(p->taken);
	free(p->decoded);
	free(p->site);
	free(p->window);
	free(p->retarget);
	*p = (struct dt_plan){0};
}

int dt_plan_copy(struct dt_plan *to, const struct dt_plan *from)
{
	bool failed = false;

	*to = *from;
	to->decoded = calloc(DT_PLAN_DECODED, sizeof(*to->decoded));
	to->taken = calloc(from->code->regions, sizeof(*to->taken));
	for (size_t i = 0; to->taken && i < from->code->regions; i++)
		to->taken[i] = dt_array_copy(
			from->taken[i],
			(from->code->region[i].high - from->code->region[i].low) / 8 + 1, 1,
			&failed);
	to->site = dt_array_copy(from->site, from->sites, sizeof(*to->site), &failed);
	to->window = dt_array_copy(from->window, from->windows, sizeof(*to->window), &failed);
	to->retarget =
		dt_array_copy(from->retarget, from->retargets, sizeof(*to->retarget), &failed);
	to->site_room = from->sites;
	to->window_room = from->windows;
	to->retarget_room = from->retargets;
	if (!failed && to->taken)
		return 0;
	dt_plan_end(to);
	return -1;
}

/*
 * There are two functions that others recognise by their addresses or bytes: libc's cancellation
 * looks whether a thread was interrupted inside __syscall_cancel_arch, and debuggers and unwinders
 * know __restore_rt by its bytes.
 */
bool dt_work_is_special(const char *name)
{
	static const char *const names[] = {"__syscall_cancel_arch", "__restore_rt"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void refuse(struct dt_plan_function *f, uint8_t refusal, uint64_t at, const char *why)
{
	f->refusal = refusal;
	f->at = at;
	f->why = why;
}

/* Takes a window's bytes, or gives them back, but not those of its retargets. */
static void take_window(struct work *w, const struct dt_plan_window *x, bool yes)
{
	uint64_t end = x->start + (x->size > x->patch ? x->size : x->patch);

	dt_work_enter_at(w, x->start);
	/* also the bytes that a punned jump uses, and leaves as they are */
	if (x->tactic == DT_TACTIC_PUNNED && end < x->start + x->prefixes + JUMP_SIZE)
		end = x->start + x->prefixes + JUMP_SIZE;
	dt_work_take(w, x->start, end, yes);
	dt_work_take(w, x->host, x->host + x->host_size, yes);
	if (x->board)
		dt_work_take(w, x->board, x->board + JUMP_SIZE, yes);
}

/* Gives back the bytes of the plan's retargets from `first' on. */
static void give_back_retargets(struct work *w, size_t first)
{
	for (size_t i = first; i < w->p->retargets; i++) {
		dt_work_enter_at(w, w->p->retarget[i].from);
		dt_work_take_retarget(w, &w->p->retarget[i], false);
	}
}

/* Gives back all windows, sites and retargets that the function has so far. */
static void undo(struct work *w, size_t sites, size_t retargets)
{
	struct dt_plan *p = w->p;

	for (size_t i = w->first_window; i < p->windows; i++)
		take_window(w, &p->window[i], false);
	give_back_retargets(w, retargets);
	p->windows = w->first_window;
	p->sites = sites;
	p->retargets = retargets;
}

static const char cannot_move[] = "an instruction there cannot be moved";
static const char no_room[] =
	"there is no room for a jump: too few bytes, or other probes in the way";

/* Plans the function's entry; false: it can not be hooked. */
static bool plan_entry(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan_window *x = NULL;
	uint64_t start = w->whole->start;
	struct dt_insn in;

	dt_work_enter(w, w->whole);
	if (!dt_work_decode(w, start, &in)) {
		refuse(f, DT_REFUSED_IMMOVABLE, start, cannot_move);
		return false;
	}
	/* an indirect call must find endbr64 where it arrives, if the system enforces that (CET) */
	if (in.kind == DT_INSN_ENDBR && start + in.length < w->whole->end)
		x = dt_work_jump_forward(w, start + in.length);
	if (!x)
		x = dt_work_jump_forward(w, start);
	if (!x)
		x = dt_work_squeeze_forward(w, start);
	if (!x) {
		bool fixed = !dt_work_movable(w, &in);

		refuse(f, fixed ? DT_REFUSED_IMMOVABLE : DT_REFUSED_TAKEN, start,
		       fixed ? cannot_move : no_room);
		return false;
	}
	dt_work_add_site(w, start, DT_PLAN_ENTRY, (size_t)dt_work_index_of(w, x));
	return true;
}

static uint8_t site_kind(const struct dt_exit *x)
{
	static const uint8_t kind[] = {
		[DT_EXIT_RETURN] = DT_PLAN_RETURN,
		[DT_EXIT_TAIL] = DT_PLAN_TAIL,
		[DT_EXIT_BRANCH] = DT_PLAN_BRANCH,
		[DT_EXIT_INDIRECT] = DT_PLAN_INDIRECT,
	};

	return kind[x->kind];
}

/* Looks whether there is a site for the exit already. */
static bool has_exit(const struct work *w, const struct dt_plan_function *f, uint64_t address)
{
	for (size_t i = f->first_site; i < w->p->sites; i++)
		if (w->p->site[i].address == address && w->p->site[i].kind != DT_PLAN_ENTRY)
			return true;
	return false;
}

/* Plans the exits of one part; cheap: those that a plain jump suffices for. False: an exit cannot
 * be hooked. */
static bool plan_exits(struct work *w, const struct dt_code_function *part, bool cheap,
		       struct dt_plan_function *f)
{
	dt_work_enter(w, part);
	for (size_t i = part->first_exit; i < part->first_exit + part->exits; i++) {
		const struct dt_exit *x = &w->c->exit[i];
		uint64_t end = x->address + x->length;
		bool stops = x->kind != DT_EXIT_BRANCH;
		long at = dt_work_window_of(w, x->address);

		if (at >= 0 && has_exit(w, f, x->address))
			continue;
		if (at < 0)
			at = dt_work_exit_by_jump(w, x->address, end, stops);
		if (at < 0 && cheap)
			continue;
		if (at < 0)
			at = dt_work_exit_shared(w, x->address, end, stops, false);
		if (at < 0)
			at = dt_work_exit_squeezed(w, x->address, end, stops);
		if (at < 0) {
			struct dt_insn in;
			bool fixed =
				!dt_work_decode(w, x->address, &in) || !dt_work_movable(w, &in);

			refuse(f, fixed ? DT_REFUSED_IMMOVABLE : DT_REFUSED_TAKEN, x->address,
			       fixed ? cannot_move : no_room);
			return false;
		}
		dt_work_add_site(w, x->address, site_kind(x), (size_t)at);
	}
	return true;
}

static const struct dt_code_function *next_part(const struct work *w,
						const struct dt_code_function *part)
{
	return part->next_part ? &w->c->function[part->next_part] : NULL;
}

/* Returns the rank of a site among those of one address: the entry, then a point, then an exit. */
static unsigned order(const struct dt_plan_site *s)
{
	return s->kind == DT_PLAN_ENTRY ? 0 : s->kind == DT_PLAN_POINT ? 1 : 2;
}

static int by_window(const void *a, const void *b)
{
	const struct dt_plan_site *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)order(x) - (int)order(y);
}

/*
 * Changes branches to the function's first instruction from inside the function, which are loops
 * and no calls: they are led to the copy, after the hook. A branch that is moved itself, or cannot
 * be changed, stays; the function's calls are counted too often then, and f->loops is set.
 */
static void plan_loops(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	struct dt_plan_window *x = &p->window[w->first_window];

	x->first_retarget = (uint32_t)p->retargets;
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part)) {
		const struct dt_code_link *l = &w->c->link[part->first_link];

		dt_work_enter(w, part);
		for (size_t i = 0; i < part->links; i++) {
			struct dt_retarget t;

			if ((l[i].to != w->whole->start && l[i].to != x->start) ||
			    l[i].kind == DT_INSN_RETURN ||
			    (l[i].to == x->start &&
			     dt_work_window_of(w, l[i].from) == dt_work_index_of(w, x)))
				continue;
			if (x->retargets == RETARGETS ||
			    !dt_work_can_retarget(w, &l[i], &t, NULL)) {
				f->loops = true;
				continue;
			}
			t.to = x->start;
			dt_work_take_retarget(w, &t, true);
			p->retarget =
				dt_array_grown(p->retarget, p->retargets, &p->retarget_room,
					       DT_PLAN_ROOM, sizeof(*p->retarget), &p->failed);
			if (p->failed)
				return;
			p->retarget[p->retargets++] = t;
			x->retargets++;
		}
	}
}

/* Sorts the function's sites so that each window's stand together. */
static void finish(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;

	f->sites = (uint32_t)(p->sites - f->first_site);
	f->windows = (uint32_t)(p->windows - f->first_window);
	f->why = "";
	qsort(p->site + f->first_site, f->sites, sizeof(*p->site), by_window);
	for (size_t i = p->sites; i-- > f->first_site;) {
		struct dt_plan_window *x = &p->window[p->site[i].window];

		x->first_site = (uint32_t)i;
		x->sites++;
		if (x->tactic > f->tactic)
			f->tactic = x->tactic;
	}
}

/* Looks whether a part of the function has trouble, and refuses the function then. */
static bool trouble(const struct work *w, struct dt_plan_function *f)
{
	for (const struct dt_code_function *part = w->whole; part; part = next_part(w, part))
		if (part->trouble) {
			refuse(f, DT_REFUSED_TROUBLE, part->trouble_at,
			       dt_trouble_text(part->trouble));
			return true;
		}
	return false;
}

/* Begins the work on a function. */
static void begin(struct work *w, struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	*w = (struct work){
		.p = p,
		.c = p->code,
		.whole = &p->code->function[function],
		.first_window = p->windows,
	};
	w->anywhere = p->code->function[w->whole->whole].anywhere;
	*f = (struct dt_plan_function){
		.first_site = (uint32_t)p->sites,
		.first_window = (uint32_t)p->windows,
		.why = "",
	};
}

/* Plans all sites of the function. False: one can not be hooked, and everything is given back. */
static bool plan_whole(struct work *w, struct dt_plan_function *f)
{
	struct dt_plan *p = w->p;
	size_t sites = p->sites, retargets = p->retargets;
	bool done = plan_entry(w, f);

	for (int cheap = 1; cheap >= 0; cheap--)
		for (const struct dt_code_function *part = w->whole; done && part;
		     part = next_part(w, part))
			done = plan_exits(w, part, cheap, f);
	if (done)
		plan_loops(w, f);
	/* it may also be one of several that are never called, and jump to each other in a circle
	 */
	if (done && f->loops && w->whole->found) {
		refuse(f, DT_REFUSED_TAKEN, w->whole->start,
		       "it jumps to its own beginning, which would be taken for a call");
		done = false;
	}
	if (p->failed) {
		refuse(f, DT_REFUSED_TAKEN, 0, "out of memory");
		done = false;
	}
	if (!done)
		undo(w, sites, retargets);
	return done;
}

void dt_plan_function(struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	struct work w;
	bool done;

	begin(&w, p, function, f);
	if (w.whole->part) {
		refuse(f, DT_REFUSED_PART, w.whole->start,
		       "it is the cold part of a function: jumped to, never called");
		return;
	}
	if (trouble(&w, f))
		return;
	if (dt_work_is_special(w.whole->name)) {
		refuse(f, DT_REFUSED_SPECIAL, w.whole->start, "it is known by its address");
		return;
	}
	done = plan_whole(&w, f);
	if (!done && f->refusal == DT_REFUSED_TAKEN && !p->failed) {
		/* one site has taken bytes that another needs: without the tactics that take bytes
		 * outside of their windows, there may be enough */
		begin(&w, p, function, f);
		w.simple = true;
		done = plan_whole(&w, f);
	}
	if (done)
		finish(&w, f);
}

void dt_plan_function_among(struct dt_plan *p, size_t function, struct dt_plan_function *f)
{
	p->neighbours = true;
	dt_plan_function(p, function, f);
	p->neighbours = false;
}

/* ---- points */

/* Ends window i, and gives its sites to the point's window. */
static void hand_over(struct dt_plan *p, uint32_t i, struct dt_plan_point *x)
{
	uint32_t n = p->window[i].sites;

	x->gone[x->n_gone++] = (struct dt_plan_gone){i, p->window[i]};
	for (uint32_t k = 0; k < n && !p->failed; k++) {
		p->site = dt_array_grown(p->site, p->sites, &p->site_room, DT_PLAN_ROOM,
					 sizeof(*p->site), &p->failed);
		if (p->failed)
			return;
		p->site[p->sites] = p->site[p->window[i].first_site + k];
		p->site[p->sites++].window = x->window;
	}
	p->window[i] = (struct dt_plan_window){.start = p->window[i].start};
}

/* Replaces window i, which has the point's instruction already, by a copy with another trampoline.
 */
static bool renew(struct work *w, uint32_t i, struct dt_plan_point *x)
{
	struct dt_plan *p = w->p;
	uint64_t at = 0;

	if (p->window[i].tactic == DT_TACTIC_PUNNED && !dt_work_claim_again(w, &p->window[i], &at))
		return false;
	p->window = dt_array_grown(p->window, p->windows, &p->window_room, DT_PLAN_ROOM,
				   sizeof(*p->window), &p->failed);
	if (p->failed)
		return false;
	x->window = (uint32_t)p->windows;
	p->window[p->windows] = p->window[i];
	p->window[p->windows++].at = at;
	hand_over(p, i, x);
	return true;
}

static void refuse_point(struct dt_plan_point *x, uint8_t refusal, uint64_t at, const char *why)
{
	x->refusal = refusal;
	x->at = at;
	x->why = why;
}

/* Makes the window for the instruction at x->address, which takes over the sites of those it
 * replaces. False: there is no room. */
static bool place_point(struct work *w, unsigned length, struct dt_plan_point *x)
{
	struct dt_plan *p = w->p;
	struct dt_plan_window *made;
	uint32_t gone[DT_POINT_GONE];
	unsigned n = 0;
	long i = dt_work_window_of(w, x->address);

	if (i >= 0)
		return renew(w, (uint32_t)i, x);
	made = dt_work_jump_forward(w, x->address);
	if (!made)
		made = dt_work_merge(w, x->address, 0, gone, &n);
	if (!made)
		made = dt_work_jump_back(w, x->address, x->address + length, gone, &n);
	if (!made)
		made = dt_work_squeeze_forward(w, x->address);
	if (!made)
		return false;
	x->window = (uint32_t)dt_work_index_of(w, made);
	for (unsigned k = 0; k < n; k++)
		hand_over(p, gone[k], x);
	return true;
}

/* Adds the point to the new window's sites, unless it is there, and sorts these: they are the
 * plan's last ones. */
static void finish_point(struct work *w, size_t first, struct dt_plan_point *x)
{
	struct dt_plan *p = w->p;
	bool has = false;

	for (size_t i = first; i < p->sites; i++)
		has = has || (p->site[i].address == x->address && p->site[i].kind == DT_PLAN_POINT);
	if (!has)
		dt_work_add_site(w, x->address, DT_PLAN_POINT, x->window);
	if (p->failed)
		return;
	qsort(p->site + first, p->sites - first, sizeof(*p->site), by_window);
	p->window[x->window].first_site = (uint32_t)first;
	p->window[x->window].sites = (uint32_t)(p->sites - first);
}

void dt_plan_point(struct dt_plan *p, uint64_t address, struct dt_plan_point *x)
{
	size_t function = dt_code_function_at(p->code, address), first = p->sites;
	struct dt_plan_function unused;
	struct dt_insn in;
	struct work w;

	*x = (struct dt_plan_point){.address = address, .why = ""};
	if (function == p->code->functions) {
		refuse_point(x, DT_REFUSED_OUTSIDE, address,
			     "it is not in the code of any function");
		return;
	}
	begin(&w, p, function, &unused);
	w.first_window = 0; /* windows of all functions count */
	dt_work_enter(&w, w.whole);
	if (w.whole->trouble) {
		refuse_point(x, DT_REFUSED_TROUBLE, w.whole->trouble_at,
			     dt_trouble_text(w.whole->trouble));
		return;
	}
	if (!(dt_work_mark_of(&w, address) & DT_CODE_INSN)) {
		refuse_point(x, DT_REFUSED_BOUNDARY, dt_work_before(&w, address),
			     "no instruction begins there");
		return;
	}
	/* after an endbr64 the next instruction is always executed, too */
	if (dt_work_decode(&w, address, &in) && in.kind == DT_INSN_ENDBR &&
	    address + in.length < w.whole->end)
		x->address += in.length;
	if (!dt_work_decode(&w, x->address, &in) || !dt_work_movable(&w, &in)) {
		refuse_point(x, DT_REFUSED_IMMOVABLE, address, cannot_move);
		return;
	}
	if (dt_work_is_special(w.whole->name)) {
		refuse_point(x, DT_REFUSED_SPECIAL, w.whole->start, "it is known by its address");
		return;
	}
	if (place_point(&w, in.length, x))
		finish_point(&w, first, x);
	else
		refuse_point(x, DT_REFUSED_TAKEN, address, no_room);
}

struct dt_plan_mark dt_plan_mark(const struct dt_plan *p)
{
	return (struct dt_plan_mark){p->windows, p->sites, p->retargets};
}

void dt_plan_back(struct dt_plan *p, const struct dt_plan_mark *m)
{
	struct work w = {.p = p, .c = p->code, .first_window = m->windows};

	give_back_retargets(&w, m->retargets);
	for (size_t i = m->windows; i < p->windows; i++)
		if (p->window[i].size)
			take_window(&w, &p->window[i], false);
	p->windows = m->windows;
	p->sites = m->sites;
	p->retargets = m->retargets;
}

void dt_plan_restore(struct dt_plan *p, const struct dt_plan_gone *gone)
{
	struct work w = {.p = p, .c = p->code};

	p->window[gone->index] = gone->was;
	take_window(&w, &gone->was, true);
}

size_t dt_plan_drop_points(struct dt_plan *p, size_t function, struct dt_plan_gone *gone,
			   size_t most)
{
	struct dt_plan_function unused;
	struct work w;
	size_t n = 0;

	begin(&w, p, function, &unused);
	for (size_t i = 0; i < p->windows; i++) {
		struct dt_plan_window *x = &p->window[i];
		size_t owner = x->sites ? dt_code_function_at(p->code, x->start) : function;
		bool points = x->sites &&
			      p->code->function[owner].whole == p->code->function[function].whole;

		for (uint32_t k = 0; points && k < x->sites; k++)
			points = p->site[x->first_site + k].kind == DT_PLAN_POINT;
		if (!points || n == most)
			continue;
		take_window(&w, x, false);
		gone[n++] = (struct dt_plan_gone){(uint32_t)i, *x};
		*x = (struct dt_plan_window){.start = x->start};
	}
	return n;
}
