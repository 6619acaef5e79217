/* SPDX-License-Identifier: MIT */
/*
 * The map of an ELF file's code: which functions it has, where their instructions begin, where
 * anything may jump to, and every way out of each function. From symbols, .eh_frame, relocations
 * and the instructions themselves, all of which are decoded once. Addresses are the file's own.
 *
 * What may be jumped to is over-approximated: direct targets from anywhere in the file, return
 * addresses, symbols, .eh_frame ranges, landing pads, relocations, addresses that instructions
 * compute, and whatever looks like an entry of a table of distances behind such an address. Where
 * a jump's targets still are not known, every instruction of its function counts as one.
 */
#ifndef DT_CORE_CODE_MAP_H
#define DT_CORE_CODE_MAP_H

#include "core/types.h"

struct dt_frame;
struct dt_frames;

/* What is known of a byte of code. */
#define DT_CODE_INSN   0x01 /* an instruction begins here */
#define DT_CODE_NEAR   0x02 /* jumped to from less than DT_CODE_CLOSE bytes away in its function, */
#define DT_CODE_DIRECT 0x04 /* by direct jumps of its function that are farther away, */
#define DT_CODE_HARD   0x08 /* in any other way, or nobody knows how */
#define DT_CODE_FILLER 0x10 /* nothing ever gets here: between functions, or behind a jump */

#define DT_CODE_CROSS  0x20 /* jumped to directly by what may be a part of the same function */
#define DT_CODE_CALLED 0x40 /* called directly, or its address is taken */
#define DT_CODE_READ   0x80 /* read as data by an instruction: must stay as it is */

#define DT_CODE_TARGET (DT_CODE_NEAR | DT_CODE_DIRECT | DT_CODE_CROSS | DT_CODE_HARD)
#define DT_CODE_CLOSE  32

enum dt_exit_kind {
	DT_EXIT_RETURN,
	DT_EXIT_TAIL,	  /* a jump to another function */
	DT_EXIT_BRANCH,	  /* a conditional one */
	DT_EXIT_INDIRECT, /* a jump through a register or memory to another function */
};

struct dt_exit {
	uint64_t address;
	uint64_t target; /* of a direct jump */
	uint8_t length;	 /* bytes of the instruction */
	uint8_t kind;	 /* enum dt_exit_kind */
	bool into;	 /* it leads into the middle of the other function */
};

/* Why a function's ways out or insides are not known: nothing of it may be changed then. */
enum dt_trouble {
	DT_TROUBLE_NONE,
	DT_TROUBLE_EMPTY,    /* it has no instructions */
	DT_TROUBLE_DATA,     /* something in it is no instruction */
	DT_TROUBLE_OVERLAP,  /* something jumps into the middle of one of its instructions */
	DT_TROUBLE_FAR,	     /* it leaves by a far return */
	DT_TROUBLE_SIGNAL,   /* signal handlers return to it; debuggers know it by its bytes */
	DT_TROUBLE_SEQUENCE, /* it is a restartable sequence: the kernel looks where it is */
	DT_TROUBLE_GO,	     /* see elf/go.h */
	DT_TROUBLE_BEHIND,   /* others return to behind its first instruction, which is a nop */
	DT_TROUBLE_HANDS,    /* it jumps on with an address in the frame that it has given back, */
	DT_TROUBLE_HANDED,   /* it is what is jumped to so: see code-handed.c */
	DT_TROUBLE_JUMPS, /* found by calls only (code-called.c): it jumps to where nobody knows, */
	DT_TROUBLE_STACK, /* it may leave with something on the stack, */
	DT_TROUBLE_SHARES,    /* others jump into it, */
	DT_TROUBLE_UNREACHED, /* nothing is known to lead to the calls of it */
};

struct dt_code_function {
	uint64_t start, end;	      /* cut where the next function begins */
	const char *name;	      /* as in the symbol table; NULL: it is not there */
	const struct dt_frame *frame; /* that begins where it begins, or NULL */
	uint32_t whole;	    /* the function that this is a part of; its own index when it is one */
	uint32_t next_part; /* of the same whole; 0: none */
	uint32_t first_exit, exits;
	uint32_t first_link, links; /* of the reader itself */
	uint8_t trouble;	    /* enum dt_trouble */
	uint64_t trouble_at;
	uint64_t of;   /* of the reader: the beginning of the function that this is a part of */
	bool found;    /* neither a symbol nor .eh_frame tells of it: it is called directly */
	bool jumped;   /* found, but only jumped to */
	bool part;     /* the cold part of a function: jumped to, not called */
	bool falls;    /* its end runs into the next function */
	bool anywhere; /* it has an indirect jump whose targets are not known */
	bool taken;    /* addresses inside are taken by data or instructions */
	bool table;    /* it has a table of distances into itself */
	bool points;   /* it computes addresses in its frame */
	bool stays;    /* it has an indirect jump that leads inside */
	bool ends;     /* of the reader: its last instruction does not go on */
	bool calls;    /* of the reader: its last instruction is a call */
	bool open;     /* of the reader: nothing says where it ends */
};

struct dt_code_region {
	uint64_t low, high;
	const uint8_t *bytes;
	uint8_t *mark;	 /* DT_CODE_*, one for each byte */
	uint64_t offset; /* of the bytes, in the file */
	bool plt;	 /* no functions of its own, and not looked at */
};

/* A transfer of control, of the reader itself. */
struct dt_code_link {
	uint64_t from, to;
	uint8_t kind; /* enum dt_insn_kind */
	uint8_t length;
	uint8_t how; /* an indirect jump's looks */
};

struct dt_code {
	struct dt_code_region *region;
	size_t regions;
	struct dt_code_function *function; /* sorted by start */
	size_t functions;
	struct dt_exit *exit; /* sorted by address */
	size_t exits;
	struct dt_code_link *link; /* all jumps and returns, sorted by from */
	size_t links;
	struct dt_code_link *cross; /* those that lead to other functions and parts, by to */
	size_t crosses;
	uint64_t low, high;	  /* of everything that the file maps */
	uint64_t covered, left;	  /* bytes of code in functions, and in none, but for filler */
	size_t found;		  /* functions that only calls told of */
	uint64_t go_low, go_high; /* what Go's compiler has made of it: [go_low, go_high) */
	struct dt_frames *frames; /* of the reader itself; NULL: none */
	char *apart; /* it was made by another process (code-apart.h): the tables, in one piece.
			NULL: here */
};

/* Has none of the first n regions one of these addresses? Not when there are none. Two regions
 * never share one: each is of one region only. */
bool dt_code_is_room(const struct dt_code_region *region, size_t n, uint64_t low, uint64_t high);

/* The region that contains address, or NULL. */
const struct dt_code_region *dt_code_region_of(const struct dt_code *c, uint64_t address);

/* What is known of the byte at address: DT_CODE_*; 0 outside of the code. */
uint8_t dt_code_mark(const struct dt_code *c, uint64_t address);

/* Index of the function that contains address; functions: none. */
size_t dt_code_function_at(const struct dt_code *c, uint64_t address);

/* One line about the trouble, "" for none. */
const char *dt_trouble_text(uint8_t trouble);

#endif
