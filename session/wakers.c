/* SPDX-License-Identifier: MIT */
/* Notes who wakes threads. */
#include "session/wakers.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/record.h"
#include "core/wake.h"
#include "session/describe-work.h"
#include "store/backtraces.h"
#include "store/wakers.h"

/* A stack of the kernel, by its number there. */
struct stack {
	bool known;
	int64_t row;	   /* in the file; 0: none */
	uint64_t function; /* its innermost function that is none of those by which threads are
			      woken: an address in it; 0: not known */
	enum dt_wake_context context;
};

/* A waker that has been met: what its records say, and its row. */
struct met {
	uint64_t value[4];
	uint32_t row;
};

struct dt_wakers_seen {
	struct stack *stack; /* DT_BPF_STACKS + 1 of them */
	struct met *met;     /* open addressing */
	size_t n, room;
	uint64_t unknown;
};

struct dt_wakers_seen *dt_wakers_seen_new(void)
{
	struct dt_wakers_seen *w = calloc(1, sizeof(*w));

	if (w && (w->stack = calloc(DT_BPF_STACKS + 1, sizeof(*w->stack))))
		return w;
	free(w);
	return NULL;
}

void dt_wakers_seen_free(struct dt_wakers_seen *w)
{
	if (!w)
		return;
	free(w->stack);
	free(w->met);
	free(w);
}

uint64_t dt_wakers_unknown(const struct dt_wakers_seen *w)
{
	return w->unknown;
}

/* ---- stacks ---- */

/* Is it a function of what looks at the kernel: of BPF, and of tracepoints? */
static bool is_watching(const char *name)
{
	static const char *const prefix[] = {"bpf_", "__bpf_", "__traceiter_", "__bpf_trace_"};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

#define OWN_FRAMES 8 /* among so many are those of what looks */

/* Returns how many frames at the beginning of a stack are those of BPF, which has no names for its
 * programs everywhere, and of the tracepoint. */
static size_t own_frames(const struct dt_session *s, const uint64_t *address, size_t n)
{
	struct dt_kernel_symbol symbol;
	size_t own = 0;

	for (size_t i = 0; i < n && i < OWN_FRAMES; i++)
		if (dt_kernel_symbol(s->kernel, address[i] - 1, &symbol) &&
		    is_watching(symbol.name))
			own = i + 1;
	return own;
}

/* Is it one of the functions by which others wake threads, and not one that tells why? */
static bool is_waking(const char *name)
{
	static const char *const prefix[] = {
		"try_to_wake_up",  "wake_up_",	 "__wake_up",	  "default_wake_function",
		"autoremove_wake", "woken_wake", "ep_autoremove", "ep_poll_callback",
		"pollwake",	   "swake_up",	 "__swait",	  "ttwu_",
		"complete_with",   "wake_q_",
	};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return strcmp(name, "complete") == 0 || strcmp(name, "complete_all") == 0;
}

/* Returns the context that a function is the beginning of; DT_WAKE_THREAD: of none. */
static enum dt_wake_context context_of(const char *name)
{
	static const struct {
		const char *prefix;
		enum dt_wake_context context;
	} known[] = {{"__do_softirq", DT_WAKE_SOFTIRQ},
		     {"handle_softirqs", DT_WAKE_SOFTIRQ},
		     {"sysvec_", DT_WAKE_INTERRUPT},
		     {"__sysvec_", DT_WAKE_INTERRUPT},
		     {"asm_sysvec_", DT_WAKE_INTERRUPT},
		     {"common_interrupt", DT_WAKE_INTERRUPT},
		     {"__common_interrupt", DT_WAKE_INTERRUPT},
		     {"asm_common_interrupt", DT_WAKE_INTERRUPT},
		     {"exc_nmi", DT_WAKE_NMI},
		     {"asm_exc_nmi", DT_WAKE_NMI}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strncmp(name, known[i].prefix, strlen(known[i].prefix)) == 0)
			return known[i].context;
	return DT_WAKE_THREAD;
}

/* Reads a stack, and writes it into the file. */
static void read_stack(struct dt_session *s, uint32_t number, struct stack *to)
{
	uint64_t address[DT_BPF_STACK_DEPTH];
	struct dt_backtrace_frame frame[DT_BPF_STACK_DEPTH];
	size_t n = dt_kernel_stack(s->kernel, number, address, DT_BPF_STACK_DEPTH), frames = 0;
	struct dt_kernel_symbol symbol;
	int64_t row;

	for (size_t i = own_frames(s, address, n); i < n; i++) {
		/* a return address may be behind its function's end */
		bool found = dt_kernel_symbol(s->kernel, address[i] - 1, &symbol);

		if (found && !to->function && !is_waking(symbol.name))
			to->function = symbol.address;
		if (found && !to->context)
			to->context = context_of(symbol.name);
		row = s->store ? dt_describe_kernel_function(s, address[i] - 1) : 0;
		frame[frames++] = (struct dt_backtrace_frame){
			.address = address[i], .function = row > 0 ? (uint32_t)row : 0, .file = ""};
	}
	if (!frames || !s->store)
		return;
	row = dt_store_stack(s->store, frame, frames,
			     n == DT_BPF_STACK_DEPTH ? "there are more" : "", NULL);
	to->row = row > 0 ? row : 0;
}

static const struct stack *stack_of(struct dt_session *s, struct dt_wakers_seen *w, uint64_t value)
{
	uint32_t number = (uint32_t)value;
	struct stack *x;

	/* no memory that is not ours has it, but it costs nothing to doubt it */
	x = &w->stack[number <= DT_BPF_STACKS ? number : 0];
	if (!x->known && number && number <= DT_BPF_STACKS)
		read_stack(s, number, x);
	x->known = true;
	return x;
}

/* ---- wakers ---- */

static struct met *place_of(struct met *met, size_t room, const uint64_t value[4])
{
	uint64_t hash = 0;

	for (int i = 0; i < 4; i++)
		hash = (hash ^ value[i]) * 0x9e3779b97f4a7c15u;
	hash ^= hash >> 32;
	for (;; hash++) {
		struct met *m = &met[hash & (room - 1)];

		if (!m->row || memcmp(m->value, value, sizeof(m->value)) == 0)
			return m;
	}
}

static bool make_room(struct dt_wakers_seen *w)
{
	size_t room = w->room ? 2 * w->room : 256;
	struct met *more;

	if (2 * w->n < w->room)
		return true;
	more = w->n < DT_WAKERS_MOST ? calloc(room, sizeof(*more)) : NULL;
	if (!more)
		return false;
	for (size_t i = 0; i < w->room; i++)
		if (w->met[i].row)
			*place_of(more, room, w->met[i].value) = w->met[i];
	free(w->met);
	w->met = more;
	w->room = room;
	return true;
}

/* Returns the row of who made a W record; 0: there is none. */
static uint32_t row_of(struct dt_session *s, struct dt_wakers_seen *w, const struct dt_record *r,
		       const struct stack *stack)
{
	char name[17] = "";
	struct dt_waker waker = {
		.tid = (uint32_t)r->value[0],
		.pid = (uint32_t)(r->value[0] >> 32),
		.name = name,
		.context = stack->context,
		.made = r->value[1] & DT_BPF_WAKE_NEW,
		.stack = stack->row,
	};
	struct met *m = w->room ? place_of(w->met, w->room, r->value) : NULL;
	int64_t row;

	if (m && m->row)
		return m->row;
	if (!make_room(w))
		return 0;
	m = place_of(w->met, w->room, r->value);
	memcpy(name, &r->value[2], 16);
	row = stack->function ? dt_describe_kernel_function(s, stack->function) : 0;
	waker.function = row > 0 ? (uint32_t)row : 0;
	row = dt_store_waker(s->store, &waker, NULL);
	if (row <= 0)
		return 0;
	memcpy(m->value, r->value, sizeof(m->value));
	m->row = (uint32_t)row;
	w->n++;
	return m->row;
}

static void take_wake(struct dt_session *s, struct dt_wakers_seen *w, struct dt_record *r)
{
	const struct stack *stack = stack_of(s, w, r->value[1]);
	uint32_t row;

	if (!dt_session_has_file(s)) {
		r->pc = stack->function;
		return;
	}
	row = row_of(s, w, r, stack);
	w->unknown += !row;
	r->sp = DT_WAKER_SP(row);
}

void dt_wakers_take(struct dt_session *s, struct dt_wakers_seen *w, struct dt_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (r[i].kind == DT_WAKE) {
			take_wake(s, w, &r[i]);
		} else if (r[i].kind == DT_SWITCH && r[i].value[1]) {
			r[i].sp = DT_WAKER_SP((uint64_t)stack_of(s, w, r[i].value[1])->row);
			r[i].value[1] = 0;
		}
	}
}
