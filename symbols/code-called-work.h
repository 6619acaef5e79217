/* SPDX-License-Identifier: MIT */
/* What the parts of code-called.c share; for nobody else. */
#ifndef DT_SYMBOLS_CODE_CALLED_WORK_H
#define DT_SYMBOLS_CODE_CALLED_WORK_H

#include "arch/arch.h"

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

/* A jump through a table. */
struct table {
	struct dt_jump_table is;
	const uint8_t *bytes; /* in the file */
};

int dt_called_by_number(const void *a, const void *b);
bool dt_called_grow(struct search *s, void *array, size_t n, size_t *room, size_t size);
uint8_t *dt_called_mark_at(const struct search *s, uint64_t at);
bool dt_called_is_marked(const struct search *s, uint64_t at, uint8_t bits);
/* Is it code that no function covers? */
bool dt_called_is_open(const struct search *s, uint64_t at);
/* Is its address a value somewhere, and not only in a switch's table? */
bool dt_called_is_taken(uint8_t mark);
/* Where the stretch that no function covers ends. */
uint64_t dt_called_end_of_gap(const struct dt_code *c, uint64_t at);
void dt_called_push(struct search *s, uint64_t at);
/* The address that the instruction makes, in a file at a fixed address also as a number; 0: none.
 */
uint64_t dt_called_taken_by(const struct search *s, const struct dt_insn *in, const uint8_t *code);
bool dt_called_find_table(const struct search *s, const struct dt_insn *jump, struct table *table);
uint64_t dt_called_leads_to(const struct table *table, uint32_t i);
void dt_called_walk_all(struct search *s);
const struct word *dt_called_word_at(const struct search *s, uint64_t where);
/* Surest first: where two disagree about where instructions begin, the first is right. */
void dt_called_walk_code(struct search *s);
void dt_called_find_never(struct search *s);
void dt_called_set_shared(struct start *f, uint64_t at);
/* Among the first n, which are sorted. */
struct start *dt_called_start_among(struct search *s, size_t n, uint64_t at);
struct start *dt_called_start_of(struct search *s, uint64_t at);
struct visit *dt_called_slot_of(const struct search *s, uint64_t at);
/* Free Pascal and some assemblers fill with zeros, up to where the next function may begin. */
uint64_t dt_called_behind_zeros(const struct dt_code_region *g, uint64_t at);
/* Everything that follows from an address, from a function that begins there. */
void dt_called_follow_all(struct search *s, struct start *f);
void dt_called_look_into(struct search *s, struct start *f);

#endif
