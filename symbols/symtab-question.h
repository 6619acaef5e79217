/* SPDX-License-Identifier: MIT */
/*
 * The questions to the process that reads a file's symbols, and the form of its answers: for
 * symtab-apart.c, which asks, and symtab-tell.c, which answers. Both are parts of the same program.
 */
#ifndef DT_SYMBOLS_SYMTAB_QUESTION_H
#define DT_SYMBOLS_SYMTAB_QUESTION_H

#include "core/types.h"

/*
 * The questions. [0] and [1] are the question's numbers; a number before a colon is the answer's
 * `result'; text in an answer has no NUL at its end.
 */
enum dt_question {
	/* struct dt_told_all, the functions, the aliases, and the text of their linkage names, each
	 * followed by a NUL */
	DT_ASK_ALL,
	/* 4 bytes for each function and then each alias: the offset of its name in the text that
	 * follows them, or DT_TOLD_SAME */
	DT_ASK_NAMES,
	/* [0]: address of a function. 1: its full name; 0: the name is the linkage name */
	DT_ASK_NAME,
	/* [0]: address. Result: the line; -1: it is not known; DT_TOLD_BARE. Text: the file's name,
	 * a NUL and, if a function begins there, its signature as from dt_symtab_described() */
	DT_ASK_LINE,
	DT_ASK_ADDRESS, /* [0]: line; the file's name follows. 1: the address; 0: it is not known */
	DT_ASK_SIGNATURE, /* [0]: address of a function; [1]: enum dt_dwarf_signature */
	DT_ASK_TYPE,	  /* [0]: key; [1]: bytes of room. 1: the type's text; 0: it is not known */
	DT_ASK_OBJECT,	 /* [0]: address. 1: struct dt_told_object and the name; 0: there is none */
	DT_ASK_VARIABLE, /* [0]: address; an expression follows. 0: struct dt_variable; -1: the
			    reason why not */
	DT_ASK_CODE,	 /* 0: a map of code, see struct dt_told_code; -1: the reason why not */
	/* where debug files were looked for: for each a byte (was there one?) and the path with a
	 * NUL; -1: not all are known */
	DT_ASK_TRIED,
	/* [0]: address. 1: struct dt_unwind_row; 0: no entry of the file's unwind table has it, or
	 * it is not understood; -1: the file has no unwind table */
	DT_ASK_UNWIND,
	DT_QUESTIONS,
};

#define DT_TOLD_BARE (-2)	 /* there is no debug information: no lines, signatures, types */
#define DT_TOLD_SAME 0xffffffffu /* the name is the linkage name */

/* Bytes that an answer has at most: _MOST for one that grows with the file; _CODE for a map of
 * code, per byte of the file; _ONE for any other. */
#define DT_TOLD_MOST (1u << 30)
#define DT_TOLD_CODE 64u
#define DT_TOLD_ONE  65536u

/* The head of the answer to DT_ASK_ALL. */
struct dt_told_all {
	uint64_t functions, aliases, text; /* how many there are; bytes of the text */
	char build_id[72];
	char lacks[72]; /* the build id of a debug file that is missing; "" if none is */
	uint64_t named; /* a bool: it has a .symtab, its own or in a file that it has */
};

/* A function in that answer. */
struct dt_told_function {
	uint64_t address, size;
	uint32_t linkage; /* offset of its name in the text */
	uint32_t flags;	  /* bit 0: dt_function.label; bit 1: .start; bit 2: .go */
};

/* An alias in that answer. */
struct dt_told_alias {
	uint64_t address;
	uint32_t linkage, unused;
};

/* The variable in the answer to DT_ASK_OBJECT. */
struct dt_told_object {
	uint64_t address, size;
};

/*
 * The answer to DT_ASK_CODE is one piece: this head; then the tables in this order, regions as
 * struct dt_told_region, all others as in struct dt_code, but without pointers: instead of its name
 * a function has its index in the symtab, or DT_TOLD_NAMELESS; then the marks of all regions. See
 * symbols/code-apart.c.
 */
struct dt_told_code {
	uint64_t regions, functions, exits, links, crosses;
	uint64_t low, high, covered, left, found, go_low, go_high;
};

/* A region in that answer. */
struct dt_told_region {
	uint64_t low, high;
	uint64_t offset; /* of its bytes in the file */
	uint64_t plt;	 /* a bool */
};

#define DT_TOLD_NAMELESS UINTPTR_MAX /* in place of a name: the function has none */

/* An answer as it is made: the bytes, which have a byte 0 behind them, are to be freed. text NULL:
 * there is no answer. */
struct dt_told {
	int64_t result;
	char *text;
	size_t bytes;
};

#endif
