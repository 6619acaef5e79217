/* SPDX-License-Identifier: MIT */
/*
 * What the files of code-called.c (code-followed.c, code-reached.c) share. No other file includes
 * this.
 */
#ifndef DT_SYMBOLS_CODE_CALLED_WORK_H
#define DT_SYMBOLS_CODE_CALLED_WORK_H

#include "arch/arch.h"

#define NOTABLE 20 /* functions are looked for if one part in so many of the code, */
/*
 * and more than so many bytes (start-up code has less) if the file has unwind entries, are in no
 * function,
 */
#define NOTABLE_LEAST 1024
#define GAP_LEAST     64	/* in gaps of at least that many bytes; smaller ones are filler */
#define MOST	      (1 << 20) /* instructions of a function, at most */
#define ROUNDS	      8		/* how often functions are followed, at most */
#define ALIGNED	      16	/* the alignment of functions that have filler before them */

/* Until the functions are known, some of the marks DT_CODE_* have other meanings. */
#define INNER DT_CODE_FILLER /* inside an instruction that is reached, after its first byte */
#define START DT_CODE_READ   /* called directly: a function begins here */
#define TAKEN DT_CODE_CALLED /* its address occurs as a value somewhere */
#define NEVER DT_CODE_NEAR   /* a call of this address does not return */
#define WORD  DT_CODE_DIRECT /* a word of data equals this address, perhaps by chance */
#define LABEL DT_CODE_CROSS  /* a target of a switch */

/*
 * How control gets to an instruction: by a jump, from the instruction before, by return from a
 * call, by a table of jumps.
 */
enum how { JUMPED, FELL, CAME_BACK, BY_TABLE };

/* A word of data that is an address in the code. */
struct word {
	uint64_t where, value;
};

/* One instruction of the function that is followed. */
struct visit {
	uint64_t at;
	struct dt_stack stack;
	uint32_t turn; /* the slot is free if this is not search.turn */
	uint8_t length;
};

/* A place to follow the code from, and what the stack is there. */
struct next {
	uint64_t at;
	struct dt_stack stack;
	uint8_t how;
};

/* A function that is found. */
struct start {
	uint64_t at;
	uint64_t trouble_at, shared_at;
	size_t known; /* number of starts when it was followed last */
	uint8_t trouble;
	bool shared;  /* others have a part of its code */
	bool entered; /* others jump to it with something on the stack */
	bool common;  /* it is nothing but the code that others have in common */
	bool never;   /* it never returns */
	bool jumped;  /* only jumps lead to it */
	bool swept;   /* only code that nothing leads to calls it */
	bool again;   /* it is to be followed, perhaps for a second time */
};

/* A continuous piece of one function's code. */
struct piece {
	uint64_t low, high;
	uint64_t of; /* where the function begins */
	bool bare;   /* nothing is on the stack at its beginning */
};

/* The state of the whole search. */
struct search {
	struct reader *r;
	struct dt_code *c;
	uint64_t *todo; /* addresses that walk() is to begin at */
	size_t todos, todo_room;
	struct word *word;
	size_t words, word_room;
	struct start *start;
	size_t starts, start_room;
	struct piece *piece;
	size_t pieces, piece_room;
	uint64_t *slot; /* addresses of the words through which imported functions that never return
			   are called */
	size_t slots, slot_room;
	uint64_t *wish; /* targets of jumps whose address is also taken: perhaps functions */
	size_t wishes, wish_room;
	/* The rest is of the function that is being followed. */
	struct start *f;
	struct visit *visit; /* hash table by address */
	size_t visits, visit_room;
	uint32_t turn;
	uint64_t *order; /* addresses of all visits */
	size_t orders, order_room;
	struct next *next; /* places to go on from; those after calls are in `after' */
	size_t nexts, next_room;
	struct next *after;
	size_t afters, after_room;
	size_t first_wish;
	uint64_t *jumped; /* targets of its jumps with nothing on the stack */
	size_t jumpeds, jumped_room;
	size_t sure; /* the first so many starts were reached, not found by the sweep */
	bool sweeping;
	struct piece *swept; /* code that only the sweep reached, sorted by low */
	size_t swepts, swept_room;
	uint64_t below; /* the function ends here at the latest, except for parts elsewhere */
	bool below_sp;	/* it uses memory below the stack pointer */
	bool goes_back; /* it jumps from a part elsewhere into its middle */
	bool labels;	/* it takes an address that one of its jumps might use */
};

/* A jump through a table. */
struct table {
	struct dt_jump_table is;
	const uint8_t *bytes; /* of the table in the file */
};

/* Compares two numbers, for qsort() and bsearch(). */
int dt_called_by_number(const void *a, const void *b);
/* Makes room for one more element, as dt_code_grow(). */
bool dt_called_grow(struct search *s, void *array, size_t n, size_t *room, size_t size);
/* Returns the mark of the byte, or NULL outside of the code. */
uint8_t *dt_called_mark_at(const struct search *s, uint64_t at);
/* Has the byte at least one of these bits? */
bool dt_called_is_marked(const struct search *s, uint64_t at, uint8_t bits);
/* Is it code that no function covers? */
bool dt_called_is_open(const struct search *s, uint64_t at);
/* Does the mark say that its address occurs as a value, other than in the table of a switch? */
bool dt_called_is_taken(uint8_t mark);
/* Returns where the gap between functions that contains at ends. */
uint64_t dt_called_end_of_gap(const struct dt_code *c, uint64_t at);
/* Has dt_called_walk_all() begin at the address, unless it has been there. */
void dt_called_push(struct search *s, uint64_t at);
/* Returns the address that the instruction computes, which in a file at a fixed address may also be
 * a plain number; 0: none. */
uint64_t dt_called_taken_by(const struct search *s, const struct dt_insn *in, const uint8_t *code);
/* Finds the table of an indirect jump; returns false if it is not understood. */
bool dt_called_find_table(const struct search *s, const struct dt_insn *jump, struct table *table);
/* Returns where the table's entry i leads. */
uint64_t dt_called_leads_to(const struct table *table, uint32_t i);
/* Marks all code that is reached from the addresses in todo. */
void dt_called_walk_all(struct search *s);
/* Returns the word of data at an address, or NULL if that is no address in the code. */
const struct word *dt_called_word_at(const struct search *s, uint64_t where);
/*
 * Marks all code that can be reached, from the surest beginnings first: if two disagree about where
 * instructions begin, the first one wins.
 */
void dt_called_walk_code(struct search *s);
/* Finds the PLT entries and the words of imported functions that never return. */
void dt_called_find_never(struct search *s);
/* Notes that others have the code at `at', too. */
void dt_called_set_shared(struct start *f, uint64_t at);
/* Returns the start at that address among the first n, which are sorted, or NULL. */
struct start *dt_called_start_among(struct search *s, size_t n, uint64_t at);
/* Returns the start at that address, or NULL; the starts must be sorted. */
struct start *dt_called_start_of(struct search *s, uint64_t at);
/* Returns the hash table's slot for an address: its visit, or a free one. */
struct visit *dt_called_slot_of(const struct search *s, uint64_t at);
/*
 * Returns where the zeros at `at' end, if they are filler; else `at'. Free Pascal and some
 * assemblers fill with zeros up to where the next function may begin.
 */
uint64_t dt_called_behind_zeros(const struct dt_code_region *g, uint64_t at);
/* Follows all code of the function that begins at f->at. */
void dt_called_follow_all(struct search *s, struct start *f);
/* Follows the function, checks it, and adds its pieces. */
void dt_called_look_into(struct search *s, struct start *f);

#endif
