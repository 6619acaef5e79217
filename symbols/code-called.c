/* SPDX-License-Identifier: MIT */
/*
 * Functions that neither a symbol nor an unwind entry tells of: what is called directly.
 *
 * Code is followed from what is known (functions, the entry point, addresses in data and in
 * instructions), so that only a call that can be reached counts. Then each function is followed
 * from its beginning, with what happens to the stack pointer, to find which code is its own: it
 * ends where no flow of its own leads on, not where the next one begins, since one that is only
 * reached through pointers may be in between. What does not leave with the stack as it found it,
 * jumps nobody knows where, or shares its code, is found but not hooked.
 *
 * Only where known functions leave a notable part of the code: others are read as ever.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "symbols/code-work.h"

#define NOTABLE	      20   /* one part in so many, */
#define NOTABLE_LEAST 1024 /* and more bytes than start-up code has, where others have entries, */
#define GAP_LEAST     64   /* in stretches of that many bytes: less is filler */
#define MOST	      (1 << 20) /* instructions of a function */
#define ROUNDS	      8
#define ALIGNED	      16 /* where functions begin that are filled up to */

/* Until the functions are known, these marks mean something else. */
#define INNER DT_CODE_FILLER /* within an instruction that is reached */
#define START DT_CODE_READ   /* called directly: a function begins here */
#define TAKEN DT_CODE_CALLED /* its address is a value somewhere */
#define NEVER DT_CODE_NEAR   /* what is called here does not come back */
#define WORD  DT_CODE_DIRECT /* a word of data is this number, perhaps an address */
#define LABEL DT_CODE_CROSS  /* a switch leads here */

/* How the flow gets somewhere. */
enum how { JUMPED, FELL, CAME_BACK, BY_TABLE };

/* A word of data that is an address in the code. */
struct word {
	uint64_t where, value;
};

/* One instruction of the function that is followed. */
struct visit {
	uint64_t at;
	struct dt_stack stack;
	uint32_t turn; /* another than the function's: the slot is free */
	uint8_t length;
};

struct next {
	uint64_t at;
	struct dt_stack stack;
	uint8_t how;
};

/* A function that is found. */
struct start {
	uint64_t at;
	uint64_t trouble_at, shared_at;
	size_t known; /* starts there were when it was followed */
	uint8_t trouble;
	bool shared;  /* others have a part of its code, */
	bool entered; /* jump to it with something on the stack, */
	bool common;  /* or are all that jumps to it */
	bool never;   /* it does not come back */
	bool jumped;  /* found by jumps only */
	bool swept;   /* called only by code that nothing leads to */
	bool again;   /* to be followed, perhaps once more */
};

/* A stretch of one function's code. */
struct piece {
	uint64_t low, high;
	uint64_t of; /* the function's beginning */
	bool bare;   /* nothing is on the stack where it begins */
};

struct search {
	struct reader *r;
	struct dt_code *c;
	uint64_t *todo;
	size_t todos, todo_room;
	struct word *word;
	size_t words, word_room;
	struct start *start;
	size_t starts, start_room;
	struct piece *piece;
	size_t pieces, piece_room;
	uint64_t
		*slot; /* words that imported functions which do not come back are called through */
	size_t slots, slot_room;
	uint64_t *wish; /* jumped to, and taken */
	size_t wishes, wish_room;
	/* of the function that is followed */
	struct start *f;
	struct visit *visit; /* by address, hashed */
	size_t visits, visit_room;
	uint32_t turn;
	uint64_t *order; /* of all visits */
	size_t orders, order_room;
	struct next *next; /* the ways to go on; those behind calls are in `after' */
	size_t nexts, next_room;
	struct next *after;
	size_t afters, after_room;
	size_t first_wish;
	uint64_t *jumped; /* by the function, with nothing on the stack */
	size_t jumpeds, jumped_room;
	size_t sure; /* starts that are reached */
	bool sweeping;
	struct piece *swept; /* code that only the sweep got to, sorted by low */
	size_t swepts, swept_room;
	uint64_t below; /* the function ends there, at the latest, but for parts elsewhere */
	bool below_sp;	/* it uses memory below the stack pointer, */
	bool goes_back; /* jumps from a part elsewhere into its middle */
	bool labels;	/* it takes an address that one of its jumps could use */
};

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool grow(struct search *s, void *array, size_t n, size_t *room, size_t size)
{
	void *p;

	memcpy(&p, array, sizeof(p));
	if (!dt_code_grow(s->r, &p, n, room, size))
		return false;
	memcpy(array, &p, sizeof(p));
	return true;
}

static uint8_t *mark_at(const struct search *s, uint64_t at)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, at);

	return g ? &g->mark[at - g->low] : NULL;
}

static bool is_marked(const struct search *s, uint64_t at, uint8_t bits)
{
	const uint8_t *m = mark_at(s, at);

	return m && *m & bits;
}

/* Is it code that no function covers? */
static bool is_open(const struct search *s, uint64_t at)
{
	return dt_code_text_at(s->c, at) && dt_code_function_at(s->c, at) == s->c->functions;
}

/* Is its address a value somewhere, and not only in a switch's table? */
static bool is_taken(uint8_t mark)
{
	return mark & TAKEN || (mark & (WORD | LABEL)) == WORD;
}

/* Where the stretch that no function covers ends. */
static uint64_t end_of_gap(const struct dt_code *c, uint64_t at)
{
	uint64_t end = dt_code_text_at(c, at)->high;
	size_t low = 0, high = c->functions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->function[mid].start <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->functions && c->function[low].start < end ? c->function[low].start : end;
}

/* Calls fn for each stretch that no function covers. */
static void each_gap(struct search *s,
		     void (*fn)(struct search *, const struct dt_code_region *, uint64_t, uint64_t))
{
	struct dt_code *c = s->c;

	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *g = &c->region[i];
		uint64_t at = g->low;

		for (size_t k = 0; !g->plt && k < c->functions; k++) {
			const struct dt_code_function *f = &c->function[k];

			if (f->start < g->low || f->start >= g->high)
				continue;
			if (f->start > at)
				fn(s, g, at, f->start);
			if (f->end > at)
				at = f->end;
		}
		if (!g->plt && at < g->high)
			fn(s, g, at, g->high);
	}
}

/* Do the known functions leave so much that it is worth looking? */
static bool is_notable(const struct dt_code *c)
{
	uint64_t text = 0, left = 0;

	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *g = &c->region[i];
		uint64_t at = g->low;

		if (g->plt)
			continue;
		text += g->high - g->low;
		for (size_t k = 0; k < c->functions; k++) {
			const struct dt_code_function *f = &c->function[k];

			if (f->start < g->low || f->start >= g->high)
				continue;
			if (f->start > at + GAP_LEAST)
				left += f->start - at;
			if (f->end > at)
				at = f->end;
		}
		if (g->high > at + GAP_LEAST)
			left += g->high - at;
	}
	return left > text / NOTABLE && (left > NOTABLE_LEAST || !c->frames->n);
}

/* ---- following everything that can be reached */

static void push(struct search *s, uint64_t at)
{
	const uint8_t *m = mark_at(s, at);

	if (!m || *m & (DT_CODE_INSN | INNER))
		return;
	if (grow(s, &s->todo, s->todos, &s->todo_room, sizeof(*s->todo)))
		s->todo[s->todos++] = at;
}

static void take(struct search *s, uint64_t at)
{
	uint8_t *m = mark_at(s, at);

	/* what nothing leads to may be no code */
	if (m && !s->sweeping)
		*m |= TAKEN;
	push(s, at);
}

/* The address that the instruction makes, in a file at a fixed address also as a number; 0: none.
 */
static uint64_t taken_by(const struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	if (in->relative)
		return dt_insn_makes_address(in) ? in->memory : 0;
	return s->r->fixed ? dt_insn_puts(in, code) : 0;
}

/* A jump through a table. */
struct table {
	struct dt_jump_table is;
	const uint8_t *bytes; /* in the file */
};

static bool find_table(const struct search *s, const struct dt_insn *jump, struct table *table)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, jump->address);
	struct dt_jump_table_code text;
	size_t left;

	if (!g)
		return false;
	text = (struct dt_jump_table_code){g->low, g->bytes, g->mark, DT_CODE_INSN};
	if (!dt_jump_table_find(&text, jump, s->r->fixed, &table->is))
		return false;
	table->bytes = dt_code_data_at(s->r->elf, table->is.table, &left);
	return table->bytes && left >= (size_t)table->is.entries * table->is.size;
}

static uint64_t leads_to(const struct table *table, uint32_t i)
{
	return dt_jump_table_to(&table->is, table->bytes, i);
}

static void walk_switch(struct search *s, const struct dt_insn *in)
{
	struct table table;

	if (find_table(s, in, &table))
		for (uint32_t i = 0; i < table.is.entries; i++) {
			uint8_t *m = mark_at(s, leads_to(&table, i));

			if (m)
				*m |= LABEL;
			push(s, leads_to(&table, i));
		}
}

static void walk_insn(struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	uint64_t at = taken_by(s, in, code);
	uint8_t *m;

	if (at)
		take(s, at);
	if (dt_insn_direct(in))
		push(s, in->target);
	m = in->kind == DT_INSN_CALL ? mark_at(s, in->target) : NULL;
	if (m && in->target != in->address + in->length)
		*m |= START;
	if (in->kind == DT_INSN_JUMP_INDIRECT)
		walk_switch(s, in);
}

/* Straight on from an address, as far as nobody has been. */
static void walk(struct search *s, uint64_t at)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, at);
	uint64_t end, low = at;
	struct dt_insn in;

	if (!is_open(s, at))
		return;
	end = end_of_gap(s->c, at);
	for (; at < end && !s->r->failed; at += in.length) {
		uint8_t *m = &g->mark[at - g->low];
		bool meets = *m & (DT_CODE_INSN | INNER) ||
			     !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at);

		for (unsigned k = 1; !meets && k < in.length; k++)
			meets = m[k] & DT_CODE_INSN;
		if (meets)
			break;
		*m |= DT_CODE_INSN;
		for (unsigned k = 1; k < in.length; k++)
			m[k] |= INNER;
		if (in.kind != DT_INSN_PLAIN || in.relative || s->r->fixed)
			walk_insn(s, &in, g->bytes + (at - g->low));
		if (dt_insn_ends(&in)) {
			at += in.length;
			break;
		}
	}
	if (s->sweeping && at > low &&
	    grow(s, &s->swept, s->swepts, &s->swept_room, sizeof(*s->swept)))
		s->swept[s->swepts++] = (struct piece){.low = low, .high = at};
}

static void walk_all(struct search *s)
{
	while (s->todos && !s->r->failed)
		walk(s, s->todo[--s->todos]);
}

/* What the known functions lead to. */
static void walk_known(struct search *s, const struct dt_code_function *f)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, f->start);
	struct dt_insn in;

	for (uint64_t at = f->start; at < f->end; at += in.length) {
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), f->end - at, at))
			return;
		if (in.kind == DT_INSN_PLAIN && !in.relative && !s->r->fixed)
			continue;
		if (in.kind == DT_INSN_JUMP_INDIRECT) /* its tables are read elsewhere */
			continue;
		walk_insn(s, &in, g->bytes + (at - g->low));
	}
}

static void note_word(void *ctx, uint64_t where, uint64_t value)
{
	struct search *s = ctx;

	if (dt_code_text_at(s->c, value) &&
	    grow(s, &s->word, s->words, &s->word_room, sizeof(*s->word)))
		s->word[s->words++] = (struct word){where, value};
}

static int by_where(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return x->where < y->where ? -1 : x->where > y->where;
}

static const struct word *word_at(const struct search *s, uint64_t where)
{
	const struct word key = {.where = where};

	return s->words ? bsearch(&key, s->word, s->words, sizeof(key), by_where) : NULL;
}

static void walk_dynamic(struct search *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	GElf_Dyn d;

	if (gelf_getehdr(s->r->elf, &eh))
		push(s, eh.e_entry);
	while ((scn = elf_nextscn(s->r->elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC
					 ? elf_getdata(scn, NULL)
					 : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &d); i++)
			if (d.d_tag == DT_INIT || d.d_tag == DT_FINI)
				push(s, d.d_un.d_ptr);
	}
}

/* Surest first: where two disagree about where instructions begin, the first is right. */
static void walk_code(struct search *s)
{
	for (size_t i = 0; i < s->c->functions && !s->r->failed; i++) {
		walk_known(s, &s->c->function[i]);
		walk_all(s);
	}
	walk_dynamic(s);
	walk_all(s);
	s->r->note = note_word;
	s->r->note_ctx = s;
	dt_code_read_data(s->r);
	s->r->note = NULL;
	if (s->words)
		qsort(s->word, s->words, sizeof(*s->word), by_where);
	for (size_t i = 0; i < s->words; i++) {
		/* at a fixed address it may be any number, or a switch's */
		if (!s->r->fixed)
			take(s, s->word[i].value);
		else if (s->word[i].where % 8 == 0) {
			*mark_at(s, s->word[i].value) |= WORD;
			push(s, s->word[i].value);
		}
		walk_all(s);
	}
}

/* ---- what does not come back */

static bool never_returns(const char *name)
{
	static const char *const names[] = {"abort",
					    "exit",
					    "_exit",
					    "_Exit",
					    "quick_exit",
					    "pthread_exit",
					    "thrd_exit",
					    "__stack_chk_fail",
					    "__chk_fail",
					    "__fortify_fail",
					    "__assert_fail",
					    "__assert_perror_fail",
					    "__assert",
					    "longjmp",
					    "_longjmp",
					    "siglongjmp",
					    "__longjmp_chk",
					    "__libc_start_main",
					    "err",
					    "errx",
					    "verr",
					    "verrx",
					    "_Unwind_Resume",
					    "__cxa_throw",
					    "__cxa_rethrow",
					    "__cxa_bad_cast",
					    "__cxa_bad_typeid",
					    "__cxa_throw_bad_array_new_length",
					    "_ZSt9terminatev"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_ZSt", 4) && strstr(name, "__throw_");
}

static void read_slots(struct search *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *table = elf_getscn(s->r->elf, sh->sh_link);
	Elf_Data *d = elf_getdata(scn, NULL), *symbols = table ? elf_getdata(table, NULL) : NULL;
	size_t n = d ? d->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Shdr of;
	GElf_Rela rela;
	GElf_Sym sym;

	for (size_t i = 0; i < n && symbols && gelf_getshdr(table, &of); i++) {
		const char *name;

		if (!gelf_getrela(d, (int)i, &rela) ||
		    dt_relocation_of(GELF_R_TYPE(rela.r_info)) != DT_RELOCATION_SLOT ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(s->r->elf, of.sh_link, sym.st_name);
		if (name && never_returns(name) &&
		    grow(s, &s->slot, s->slots, &s->slot_room, sizeof(*s->slot)))
			s->slot[s->slots++] = rela.r_offset;
	}
}

/* The stubs that jump through such a word. */
static void mark_stubs(struct search *s, const struct dt_code_region *g)
{
	struct dt_insn in;

	for (uint64_t at = g->low, stub = at; at < g->high; at += in.length) {
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), g->high - at, at))
			return;
		if (in.kind == DT_INSN_JUMP_INDIRECT && in.relative && s->slots &&
		    bsearch(&in.memory, s->slot, s->slots, sizeof(*s->slot), by_number))
			g->mark[stub - g->low] |= NEVER;
		if (at % 8 + in.length >= 8 || dt_insn_ends(&in))
			stub = in.kind == DT_INSN_JUMP_INDIRECT ? (at + in.length + 7) / 8 * 8
								: stub;
		if ((at + in.length) % ALIGNED == 0)
			stub = at + in.length;
	}
}

static void find_never(struct search *s)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(s->r->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
			read_slots(s, scn, &sh);
	if (s->slots)
		qsort(s->slot, s->slots, sizeof(*s->slot), by_number);
	for (size_t i = 0; i < s->c->regions; i++)
		if (s->c->region[i].plt)
			mark_stubs(s, &s->c->region[i]);
}

/* ---- one function */

static void set_trouble(struct start *f, uint8_t trouble, uint64_t at)
{
	if (f->trouble)
		return;
	f->trouble = trouble;
	f->trouble_at = at;
}

static void set_shared(struct start *f, uint64_t at)
{
	f->shared = true;
	f->shared_at = at;
}

/* Among the first n, which are sorted. */
static struct start *start_among(struct search *s, size_t n, uint64_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->start[mid].at < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && s->start[low].at == at ? &s->start[low] : NULL;
}

static struct start *start_of(struct search *s, uint64_t at)
{
	return start_among(s, s->starts, at);
}

static uint64_t next_start(const struct search *s, uint64_t at)
{
	size_t low = 0, high = s->starts;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->start[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->starts ? s->start[low].at : UINT64_MAX;
}

static struct visit *slot_of(const struct search *s, uint64_t at)
{
	size_t i = (size_t)(at * 0x9e3779b97f4a7c15ull >> 20) & (s->visit_room - 1);

	while (s->visit[i].turn == s->turn && s->visit[i].at != at)
		i = (i + 1) & (s->visit_room - 1);
	return &s->visit[i];
}

static bool make_room(struct search *s)
{
	struct visit *old = s->visit;
	size_t room = s->visit_room;

	if (2 * (s->visits + 1) < room)
		return true;
	s->visit_room = room ? 2 * room : 4096;
	s->visit = calloc(s->visit_room, sizeof(*s->visit));
	if (!s->visit) {
		s->visit = old;
		s->visit_room = room;
		s->r->failed = true;
		return false;
	}
	for (size_t i = 0; i < room; i++)
		if (old[i].turn == s->turn)
			*slot_of(s, old[i].at) = old[i];
	free(old);
	return true;
}

static void go(struct search *s, uint64_t at, const struct dt_stack *stack, uint8_t how)
{
	bool after = how == CAME_BACK;

	if (after ? !grow(s, &s->after, s->afters, &s->after_room, sizeof(*s->after))
		  : !grow(s, &s->next, s->nexts, &s->next_room, sizeof(*s->next)))
		return;
	if (after)
		s->after[s->afters++] = (struct next){at, *stack, how};
	else
		s->next[s->nexts++] = (struct next){at, *stack, how};
}

/* Free Pascal and some assemblers fill with zeros, up to where the next function may begin. */
static uint64_t behind_zeros(const struct dt_code_region *g, uint64_t at)
{
	uint64_t from = at;

	while (at < g->high && at % ALIGNED && !g->bytes[at - g->low])
		at++;
	return at % ALIGNED == 0 && at - from > 1 ? at : from;
}

/* Is it another function's beginning, or no code of this kind: does control leave? */
static bool leaves(const struct search *s, uint64_t at)
{
	return (at != s->f->at && is_marked(s, at, START)) || !is_open(s, at);
}

/*
 * A call behind which there is the beginning of something whose address is known elsewhere does not
 * come back; nor does one behind which a function begins.
 */
static bool comes_back(const struct search *s, const struct dt_code_region *g, uint64_t at)
{
	struct dt_insn in;
	uint64_t from = at;

	if (behind_zeros(g, at) != at)
		return false;
	for (; at < g->high && at < from + 2 * GAP_LEAST; at += in.length) {
		/* one that is not aligned may be a label */
		if (at != s->f->at && (g->mark[at - g->low] & START ||
				       (at % ALIGNED == 0 && is_taken(g->mark[at - g->low]))))
			return false;
		if (!dt_insn_decode(&in, g->bytes + (at - g->low), g->high - at, at))
			return false;
		if (!dt_insn_is_padding(&in))
			return true;
	}
	return false;
}

/* Is there a table of addresses, of which one may be in the function? */
static bool has_labels(const struct search *s, uint64_t where)
{
	const struct word *w = word_at(s, where), *end = s->word + s->words;

	for (uint64_t at = where; w && w < end && w->where == at; w++, at += 8)
		if (w->value > s->f->at && w->value < s->below)
			return true;
	return false;
}

/* A value that a jump of this function could use as a target: not a function's beginning. */
static void look_at_address(struct search *s, const struct dt_insn *in, const uint8_t *code)
{
	uint64_t at = taken_by(s, in, code);
	const uint8_t *p;
	size_t left;
	int32_t d;

	if (!at && s->r->fixed && in->kind == DT_INSN_PLAIN)
		at = dt_insn_absolute(in);
	if (!at && in->relative && in->kind == DT_INSN_PLAIN)
		at = in->memory;
	if (!at || s->labels)
		return;
	if (dt_code_text_at(s->c, at)) {
		s->labels = is_open(s, at) && !is_marked(s, at, START);
		return;
	}
	p = dt_code_data_at(s->r->elf, at, &left);
	if (!p)
		return;
	s->labels = has_labels(s, at);
	if (left < 4 || s->labels)
		return;
	memcpy(&d, p, sizeof(d));
	at += (uint64_t)(int64_t)d;
	s->labels = is_open(s, at) && is_marked(s, at, DT_CODE_INSN) && !is_marked(s, at, START);
}

static void step_jump(struct search *s, const struct dt_insn *in, const struct dt_stack *stack)
{
	struct table table;

	if (in->kind != DT_INSN_JUMP_INDIRECT) {
		if (leaves(s, in->target))
			return;
		if (stack->sp == 0 && in->target != s->f->at && is_taken(*mark_at(s, in->target))) {
			if (grow(s, &s->wish, s->wishes, &s->wish_room, sizeof(*s->wish)))
				s->wish[s->wishes++] = in->target;
			return;
		}
		if (stack->sp == 0 &&
		    grow(s, &s->jumped, s->jumpeds, &s->jumped_room, sizeof(*s->jumped)))
			s->jumped[s->jumpeds++] = in->target;
		go(s, in->target, stack, JUMPED);
	} else if (find_table(s, in, &table)) {
		for (uint32_t i = 0; i < table.is.entries; i++) {
			uint64_t to = leads_to(&table, i);

			if (leaves(s, to))
				set_trouble(s->f, DT_TROUBLE_JUMPS, in->address);
			else
				go(s, to, stack, BY_TABLE);
		}
	}
}

static bool is_never(const struct search *s, const struct dt_insn *in)
{
	uint64_t at = in->kind == DT_INSN_CALL ? in->target : 0;
	const struct dt_code_region *g = at ? dt_code_region_of(s->c, at) : NULL;

	if (in->relative && in->kind == DT_INSN_CALL_INDIRECT)
		return s->slots &&
		       bsearch(&in->memory, s->slot, s->slots, sizeof(*s->slot), by_number);
	return g && g->mark[at - g->low] & NEVER;
}

/* Straight on, as far as nothing new is known. */
static void follow(struct search *s, const struct next *from)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, from->at);
	uint64_t end = end_of_gap(s->c, from->at), at = from->at;
	struct dt_stack stack = from->stack;
	uint8_t how = from->how;
	struct dt_insn in;

	for (;; how = FELL, at += in.length) {
		const uint8_t *code = g->bytes + (at - g->low);
		struct visit *v;

		if (at >= end || (at != s->f->at && g->mark[at - g->low] & START)) {
			struct start *into = at < end ? start_of(s, at) : NULL;

			if (how != CAME_BACK)
				set_trouble(s->f, DT_TROUBLE_SHARES, at);
			if (how != CAME_BACK && into && !s->sweeping)
				into->entered = true;
			return;
		}
		if (!make_room(s))
			return;
		v = slot_of(s, at);
		if (v->turn == s->turn) {
			/* behind a call that does not come back is other code */
			if (how == CAME_BACK && v->stack.sp != stack.sp)
				return;
			if (!dt_stack_merge(&v->stack, &stack))
				return;
			stack = v->stack;
		} else if (s->visits >= MOST ||
			   !grow(s, &s->order, s->orders, &s->order_room, sizeof(*s->order))) {
			set_trouble(s->f, DT_TROUBLE_DATA, at);
			return;
		}
		if (!dt_insn_decode(&in, code, end - at, at)) {
			set_trouble(s->f, DT_TROUBLE_DATA, at);
			return;
		}
		if (v->turn != s->turn) {
			*v = (struct visit){at, stack, s->turn, in.length};
			s->visits++;
			s->order[s->orders++] = at;
			if (in.kind != DT_INSN_JUMP_INDIRECT && (in.relative || s->r->fixed))
				look_at_address(s, &in, code);
		}
		if (in.kind == DT_INSN_JUMP || in.kind == DT_INSN_BRANCH ||
		    in.kind == DT_INSN_LOOP || in.kind == DT_INSN_XBEGIN ||
		    in.kind == DT_INSN_JUMP_INDIRECT)
			step_jump(s, &in, &stack);
		if (dt_insn_ends(&in))
			return;
		if (dt_insn_calls(&in)) {
			if (!is_never(s, &in) && comes_back(s, g, at + in.length))
				go(s, at + in.length, &stack, CAME_BACK);
			return;
		}
		dt_stack_step(&stack, &in, code);
	}
}

/* Of what is behind calls, the function's own code first, in order. */
static struct next next_after(struct search *s)
{
	struct next x;
	size_t best = 0;

	for (size_t i = 1; i < s->afters; i++)
		if (s->after[i].at - s->f->at < s->after[best].at - s->f->at)
			best = i;
	x = s->after[best];
	s->after[best] = s->after[--s->afters];
	return x;
}

static void note_jump(struct search *s, uint64_t at, bool leaving)
{
	struct reader *r = s->r;

	if (grow(s, &r->jump, r->jumps, &r->jump_room, sizeof(*r->jump)))
		r->jump[r->jumps++] = (struct dt_code_jump){at, leaving};
}

/* Everything is followed: does the instruction leave as it should? */
static void check_leaving(struct search *s, const struct visit *v, const struct dt_insn *in)
{
	struct start *f = s->f;
	struct table table;

	if (in->kind == DT_INSN_FAR)
		set_trouble(f, DT_TROUBLE_FAR, v->at);
	if (in->kind == DT_INSN_RETURN && v->stack.sp != 0)
		set_trouble(f, DT_TROUBLE_STACK, v->at);
	if ((in->kind == DT_INSN_JUMP || in->kind == DT_INSN_BRANCH || in->kind == DT_INSN_LOOP) &&
	    leaves(s, in->target) && v->stack.sp != 0) {
		struct start *to = start_of(s, in->target);

		set_trouble(f, DT_TROUBLE_STACK, v->at);
		if (to)
			to->entered = true;
	}
	if (in->kind != DT_INSN_JUMP_INDIRECT)
		return;
	if (find_table(s, in, &table)) {
		for (uint32_t i = 0; i < table.is.entries; i++)
			dt_code_set_mark(s->c, leads_to(&table, i), DT_CODE_HARD);
		note_jump(s, v->at, false);
		return;
	}
	if (v->stack.sp != 0 || s->labels)
		set_trouble(f, DT_TROUBLE_JUMPS, v->at);
	note_jump(s, v->at, true);
}

/* A jump by adding to an address is a table's, which was not understood then. */
static void check_sum(struct search *s, const struct dt_insn *in, const struct dt_insn *before)
{
	struct table table;

	if (in->kind == DT_INSN_JUMP_INDIRECT &&
	    dt_insn_looks(in, before) == DT_INSN_BY_DISTANCES && !find_table(s, in, &table))
		set_trouble(s->f, DT_TROUBLE_JUMPS, in->address);
}

static bool is_filler(const struct dt_code_region *g, uint64_t at, uint64_t end)
{
	struct dt_insn in;

	if (end < at || end - at > GAP_LEAST)
		return false;
	for (; at < end; at += in.length)
		if (g->mark[at - g->low] & START || is_taken(g->mark[at - g->low]) ||
		    !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at) ||
		    !dt_insn_is_padding(&in))
			return false;
	return true;
}

static void add_piece(struct search *s, const struct piece *p)
{
	if (p->high > p->low && grow(s, &s->piece, s->pieces, &s->piece_room, sizeof(*s->piece)))
		s->piece[s->pieces++] = *p;
}

/* All that was followed, in the order of addresses: checked, and put together in pieces. */
static void finish(struct search *s)
{
	struct piece p = {.low = 0};
	const struct dt_code_region *g = NULL;
	struct dt_insn in = {0}, before;
	bool leaving = false, special = false, jumps = false;
	struct table table;
	uint64_t inside = 0, end = 0;

	if (s->orders)
		qsort(s->order, s->orders, sizeof(*s->order), by_number);
	for (size_t i = 0; i < s->orders && !s->r->failed; i++) {
		const struct visit *v = slot_of(s, s->order[i]);

		if (!g || v->at < g->low || v->at >= g->high)
			g = dt_code_text_at(s->c, v->at);
		/* but for a jump over a prefix */
		if (v->at < p.high && in.address + in.length == v->at + v->length &&
		    dt_insn_is_prefix(&in, v->at - in.address))
			continue;
		if (v->at < p.high)
			set_trouble(s->f, DT_TROUBLE_OVERLAP, v->at);
		if (!p.high || v->at == s->f->at ||
		    (v->at != p.high && !is_filler(g, p.high, v->at))) {
			add_piece(s, &p);
			p = (struct piece){v->at, v->at, s->f->at, v->stack.sp == 0};
		}
		p.high = v->at + v->length;
		before = in;
		dt_insn_decode(&in, g->bytes + (v->at - g->low), v->length, v->at);
		check_sum(s, &in, &before);
		check_leaving(s, v, &in);
		if (v->at != s->f->at && is_taken(g->mark[v->at - g->low]))
			inside = v->at;
		special |= in.kind == DT_INSN_SYSCALL;
		jumps |= (in.kind == DT_INSN_JUMP_INDIRECT && !find_table(s, &in, &table)) ||
			 (dt_insn_direct(&in) && !dt_insn_calls(&in) && leaves(s, in.target));
		leaving |= in.kind == DT_INSN_RETURN || jumps;
		special |= in.kind == DT_INSN_JUMP_INDIRECT;
		s->below_sp |= dt_insn_below_sp(&in);
		/* pieces in front of the first are not promoted: its end is not known yet */
		if (p.low == s->f->at)
			end = p.high;
		else
			s->goes_back |= dt_insn_direct(&in) && !dt_insn_calls(&in) &&
					(in.target < p.low || in.target >= p.high) &&
					in.target > s->f->at &&
					in.target < (end ? end : UINT64_MAX);
	}
	add_piece(s, &p);
	/* a hook where it is jumped to, or jumps on, would write there */
	if (s->below_sp && (s->f->jumped || jumps))
		set_trouble(s->f, DT_TROUBLE_STACK, s->f->at);
	/* somebody may jump there, or look whether a thread is there */
	if (inside && special)
		set_trouble(s->f, DT_TROUBLE_JUMPS, inside);
	s->f->never = !leaving && !s->f->trouble && s->wishes == s->first_wish;
}

/* Everything that follows from an address, from a function that begins there. */
static void follow_all(struct search *s, struct start *f)
{
	const struct dt_stack empty = {0, DT_STACK_UNKNOWN};

	s->turn++;
	s->f = f;
	s->visits = s->orders = s->nexts = s->afters = 0;
	s->labels = s->below_sp = s->goes_back = false;
	s->jumpeds = 0;
	s->below = next_start(s, f->at);
	go(s, f->at, &empty, JUMPED);
	while ((s->nexts || s->afters) && !s->r->failed) {
		struct next x = s->nexts ? s->next[--s->nexts] : next_after(s);

		follow(s, &x);
	}
}

/*
 * What it jumps to with nothing on the stack is a part of it, or a function that nobody calls. It
 * is the latter if it stands apart where functions begin, and does not go back; but where something
 * may be below the stack pointer nothing is hooked in between.
 */
static void part_jumped(struct search *s, size_t first)
{
	if (s->f->trouble || s->below_sp || s->goes_back)
		return;
	for (size_t i = first; i < s->pieces; i++) {
		const struct piece *p = &s->piece[i];

		for (size_t k = 0; k < s->jumpeds && p->low != s->f->at && p->bare; k++)
			if (s->jumped[k] == p->low && p->low % ALIGNED == 0 &&
			    !is_marked(s, p->low, LABEL) &&
			    grow(s, &s->wish, s->wishes, &s->wish_room, sizeof(*s->wish))) {
				s->wish[s->wishes++] = p->low;
				break;
			}
	}
}

static void look_into(struct search *s, struct start *f)
{
	size_t first = s->pieces;

	f->trouble = DT_TROUBLE_NONE;
	f->again = false;
	f->known = s->starts;
	s->first_wish = s->wishes;
	follow_all(s, f);
	finish(s);
	part_jumped(s, first);
	if (f->trouble)
		s->wishes = s->first_wish;
}

/* ---- what nothing is known to lead to */

/* Would it be a function: nothing in it is wrong, and it leaves as it should? */
static bool is_likely(struct search *s, uint64_t at)
{
	struct start f = {.at = at};
	size_t wishes = s->wishes;

	follow_all(s, &f);
	s->wishes = wishes;
	for (size_t i = 0; i < s->orders && !f.trouble; i++) {
		const struct visit *v = slot_of(s, s->order[i]);
		const struct dt_code_region *g = dt_code_text_at(s->c, v->at);
		struct dt_insn in;

		dt_insn_decode(&in, g->bytes + (v->at - g->low), v->length, v->at);
		if (g->mark[v->at - g->low] & INNER ||
		    (in.kind == DT_INSN_RETURN && v->stack.sp != 0))
			return false;
	}
	return !f.trouble && s->orders > 1;
}

static uint64_t behind_filler(const struct dt_code_region *g, uint64_t at, uint64_t end)
{
	struct dt_insn in;

	while (at < end) {
		uint64_t zeros = behind_zeros(g, at);

		if (zeros == at && (g->mark[at - g->low] & DT_CODE_INSN ||
				    !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at) ||
				    !dt_insn_is_padding(&in)))
			break;
		at = zeros != at ? zeros : at + in.length;
	}
	return at;
}

/*
 * Behind what is reached, and filler, is there one that nothing leads to? Calls in it count: but
 * what only such call is not hooked, since it is not certain that it is code.
 */
static void sweep(struct search *s, const struct dt_code_region *g, uint64_t low, uint64_t high)
{
	struct dt_insn in;

	for (uint64_t at = low; at < high && !s->r->failed;) {
		uint64_t from = at;

		if (g->mark[at - g->low] & (DT_CODE_INSN | INNER)) {
			at++;
			continue;
		}
		at = behind_filler(g, at, high);
		if (at < high && !(g->mark[at - g->low] & DT_CODE_INSN) && is_likely(s, at)) {
			push(s, at);
			walk_all(s);
		}
		if (at < high && g->mark[at - g->low] & DT_CODE_INSN)
			continue;
		/* behind the next that does not go on */
		for (; at < high && !(g->mark[at - g->low] & DT_CODE_INSN); at += in.length)
			if (!dt_insn_decode(&in, g->bytes + (at - g->low), high - at, at))
				in.length = 1;
			else if (dt_insn_ends(&in)) {
				at += in.length;
				break;
			}
		at += at == from;
	}
}

/* ---- all of them together */

static void add_start(struct search *s, uint64_t at, bool jumped)
{
	if (grow(s, &s->start, s->starts, &s->start_room, sizeof(*s->start)))
		s->start[s->starts++] = (struct start){.at = at, .jumped = jumped, .again = true};
}

static int by_low(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* a function's beginning first */
	if ((x->of == x->low) != (y->of == y->low))
		return x->of == x->low ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

static bool is_swept(const struct search *s, uint64_t at)
{
	size_t low = 0, high = s->swepts;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->swept[mid].low <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low && at < s->swept[low - 1].high;
}

static void find_starts(struct search *s, const struct dt_code_region *g, uint64_t low,
			uint64_t high)
{
	for (uint64_t at = low; at < high && !s->r->failed; at++) {
		uint8_t *m = &g->mark[at - g->low];

		if (!(*m & START))
			continue;
		if (start_among(s, s->sure, at))
			continue;
		/* what nothing leads to says nothing of where functions begin in what is reached */
		if (*m & DT_CODE_INSN && !(*m & INNER) &&
		    (!s->sweeping || is_taken(*m) || is_swept(s, at)))
			add_start(s, at, false);
		else
			*m &= (uint8_t)~START;
	}
}

static int by_at(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void find_all_starts(struct search *s)
{
	each_gap(s, find_starts);
	if (s->starts)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
	s->sure = s->starts;
	s->sweeping = true;
	each_gap(s, sweep);
	if (s->swepts)
		qsort(s->swept, s->swepts, sizeof(*s->swept), by_low);
	each_gap(s, find_starts);
	s->sweeping = false;
	for (size_t i = s->sure; i < s->starts; i++)
		s->start[i].swept = true;
	if (s->starts)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
}

static void forget_marks(const struct dt_code *c)
{
	for (size_t i = 0; i < c->regions; i++)
		for (uint64_t k = 0; k < c->region[i].high - c->region[i].low; k++)
			c->region[i].mark[k] &= (uint8_t) ~(START | INNER | NEVER | WORD | LABEL);
}

/* What is jumped to without a frame, and is a value somewhere, is a function. */
static bool grant_wishes(struct search *s)
{
	size_t n = s->starts;

	for (size_t i = 0; i < s->wishes; i++) {
		uint8_t *m = mark_at(s, s->wish[i]);

		if (*m & START)
			continue;
		*m |= START;
		add_start(s, s->wish[i], true);
	}
	s->wishes = 0;
	if (s->starts > n)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
	return s->starts > n;
}

/* Two functions have the same code. false: nothing was changed. */
static bool part_two(struct search *s, const struct piece *a, const struct piece *b)
{
	struct start *x = start_of(s, a->of), *y = start_of(s, b->of);
	uint8_t *m = mark_at(s, b->low);

	/* what was not known to be a function when they were followed */
	if (x->known < s->starts || y->known < s->starts) {
		x->again = y->again = true;
		return true;
	}
	/* what both jump to with nothing on the stack is as a function of its own, but is not
	 * hooked: something may be below the stack pointer */
	if (b->bare && b->low != b->of && (a->bare || a->low != b->low) && !(*m & START) &&
	    a->low == b->low) {
		*m |= START;
		x->again = y->again = true;
		add_start(s, b->low, true);
		s->start[s->starts - 1].common = true;
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
		return true;
	}
	set_shared(x, b->low);
	set_shared(y, b->low);
	return false;
}

/* true: some have to be followed once more. */
static bool part_all(struct search *s, bool last)
{
	const struct piece *far = NULL;
	bool again = false;

	if (s->pieces)
		qsort(s->piece, s->pieces, sizeof(*s->piece), by_low);
	for (size_t i = 0; i < s->pieces; i++) {
		const struct piece *p = &s->piece[i];

		if (far && p->low < far->high && p->of != far->of) {
			if (last) {
				set_shared(start_of(s, far->of), p->low);
				set_shared(start_of(s, p->of), p->low);
			} else {
				again |= part_two(s, far, p);
			}
		}
		if (!far || p->high > far->high)
			far = p;
	}
	return again;
}

/* Drops the pieces of what is followed once more, and what has been said of it. */
static void drop_again(struct search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->pieces; i++)
		if (!start_of(s, s->piece[i].of)->again)
			s->piece[kept++] = s->piece[i];
	s->pieces = kept;
}

/* What calls functions that do not come back was followed too far. true: some have to be again. */
static bool mark_never(struct search *s)
{
	bool any = false;

	for (size_t i = 0; i < s->starts; i++) {
		uint8_t *m = mark_at(s, s->start[i].at);

		any |= s->start[i].never && !(*m & NEVER);
		if (s->start[i].never)
			*m |= NEVER;
	}
	for (size_t i = 0; any && i < s->starts; i++) {
		s->start[i].again |= s->start[i].trouble || s->start[i].shared;
		s->start[i].entered = false;
	}
	return any;
}

static void part_code(struct search *s)
{
	for (unsigned round = 0; round < ROUNDS && !s->r->failed; round++) {
		bool again;

		drop_again(s);
		for (size_t i = 0; i < s->starts && !s->r->failed; i++)
			if (s->start[i].again)
				look_into(s, &s->start[i]);
		for (size_t i = 0; i < s->starts; i++)
			s->start[i].shared = false;
		again = grant_wishes(s);
		again |= part_all(s, round + 2 >= ROUNDS);
		again |= mark_never(s);
		if (!again)
			return;
	}
}

/* ---- what is said of it */

static bool merge_functions(struct search *s)
{
	struct dt_code *c = s->c;
	size_t n = c->functions, most = n + s->starts + s->pieces, out = 0, i = 0, k = 0;
	struct dt_code_function *f = calloc(most + 1, sizeof(*f));

	if (!f)
		return false;
	while (i < n || k < s->pieces) {
		const struct piece *p = k < s->pieces ? &s->piece[k] : NULL;
		const struct start *of;

		if (!p || (i < n && c->function[i].start < p->low)) {
			f[out++] = c->function[i++];
			continue;
		}
		k++;
		if (out && f[out - 1].start == p->low)
			continue;
		of = start_of(s, p->of);
		f[out++] = (struct dt_code_function){
			.start = p->low,
			.end = p->high,
			.found = true,
			.jumped = of->jumped,
			.of = p->of == p->low ? 0 : p->of,
			.trouble = of->trouble				     ? of->trouble
				   : of->shared || of->entered || of->common ? DT_TROUBLE_SHARES
				   : of->swept				     ? DT_TROUBLE_UNREACHED
									     : DT_TROUBLE_NONE,
			.trouble_at = of->trouble ? of->trouble_at : of->shared_at,
		};
	}
	free(c->function);
	c->function = f;
	c->functions = out;
	s->r->function_room = most + 1;
	return true;
}

static int by_jump(const void *a, const void *b)
{
	const struct dt_code_jump *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

bool dt_code_find_called(struct reader *r)
{
	struct search s = {.r = r, .c = r->c};

	if (!is_notable(r->c))
		return false;
	find_never(&s);
	walk_code(&s);
	find_all_starts(&s);
	part_code(&s);
	forget_marks(r->c);
	if (r->jumps)
		qsort(r->jump, r->jumps, sizeof(*r->jump), by_jump);
	if (!r->failed && !merge_functions(&s))
		r->failed = true;
	free(s.todo);
	free(s.word);
	free(s.start);
	free(s.piece);
	free(s.slot);
	free(s.swept);
	free(s.wish);
	free(s.jumped);
	free(s.visit);
	free(s.order);
	free(s.next);
	free(s.after);
	return true;
}
