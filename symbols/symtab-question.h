/* SPDX-License-Identifier: MIT */
/*
 * What is asked of the process that reads a file's symbols, and how it answers: for symtab-apart.c,
 * who asks, and symtab-tell.c, who answers. Both are the same program.
 */
#ifndef DT_SYMBOLS_SYMTAB_QUESTION_H
#define DT_SYMBOLS_SYMTAB_QUESTION_H

#include "core/types.h"

/* [0], [1]: the question's numbers; what an answer has beside `result' is text without an end. */
enum dt_question {
	/* struct dt_told_all, the functions, the aliases, and the text of their linkage names, each
	 * with a byte 0 behind it */
	DT_ASK_ALL,
	/* 4 bytes for each function and then each alias: where its name begins in the text that
	 * follows them, or DT_TOLD_SAME */
	DT_ASK_NAMES,
	DT_ASK_NAME, /* [0]: address of a function. 1: its name; 0: as it is linked */
	/* [0]: address. The line and the file's name, a byte 0, and, of a function's address, its
	 * signature as dt_symtab_described() has it. -1: the line is not known; DT_TOLD_BARE */
	DT_ASK_LINE,
	DT_ASK_ADDRESS,	  /* [0]: line, of the file that is named. 1: the address; 0: not known */
	DT_ASK_SIGNATURE, /* [0]: address of a function; [1]: enum dt_dwarf_signature */
	DT_ASK_TYPE,	 /* [0]: key; [1]: bytes that there are for it. 1: its text; 0: not known */
	DT_ASK_OBJECT,	 /* [0]: address. 1: struct dt_told_object and its name; 0: there is none */
	DT_ASK_VARIABLE, /* [0]: address, of an expression. 0: struct dt_variable; -1: why not */
	DT_ASK_CODE,	 /* 0: a map of code, see struct dt_told_code; -1: why not */
	DT_QUESTIONS,
};

#define DT_TOLD_BARE (-2)	 /* there is no debug information: no lines, signatures, types */
#define DT_TOLD_SAME 0xffffffffu /* the name is as it is linked */

/* bytes that an answer has, at most: one that grows with the file; a map of code, for each byte of
 * the file; any other */
#define DT_TOLD_MOST (1u << 30)
#define DT_TOLD_CODE 64u
#define DT_TOLD_ONE  65536u

struct dt_told_all {
	uint64_t functions, aliases, text; /* how many, and bytes */
	char build_id[72];
};

struct dt_told_function {
	uint64_t address, size;
	uint32_t linkage; /* where its name begins in the text */
	uint32_t label;	  /* a bool */
};

struct dt_told_alias {
	uint64_t address;
	uint32_t linkage, unused;
};

struct dt_told_object {
	uint64_t address, size;
};

/*
 * One piece: this head, then its tables in this order, regions as struct dt_told_region, all others
 * as struct dt_code has them but for pointers; in place of a function's name its index in the
 * symtab, or DT_TOLD_NAMELESS; then the marks of all regions. symbols/code-apart.c
 */
struct dt_told_code {
	uint64_t regions, functions, exits, links, crosses;
	uint64_t low, high, covered, left, found, go_low, go_high;
};

struct dt_told_region {
	uint64_t low, high;
	uint64_t offset; /* of its bytes, in the file */
	uint64_t plt;
};

#define DT_TOLD_NAMELESS UINTPTR_MAX /* in place of a name: the function has none */

#endif
