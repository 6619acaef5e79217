/* SPDX-License-Identifier: MIT */
/*
 * The map of an ELF file's code: which functions it has, where their instructions begin, where
 * anything may jump to, and every way out of each function. It is made from symbols, .eh_frame,
 * relocations and the instructions themselves, each of which is decoded once. Addresses are those
 * of the file.
 *
 * What may be jumped to is over-approximated: direct targets from anywhere in the file, return
 * addresses, symbols, .eh_frame ranges, landing pads, relocations, addresses that instructions
 * compute, and whatever looks like an entry of a table of distances that follows such an address.
 * If the targets of a jump are still not known, every instruction of its function counts as one.
 */
#ifndef DT_CORE_CODE_MAP_H
#define DT_CORE_CODE_MAP_H

#include "core/types.h"

struct dt_frame;
struct dt_frames;

/* What is known of a byte of code, as bits. */
#define DT_CODE_INSN 0x01 /* an instruction begins here */
/* a target of a jump from less than DT_CODE_CLOSE bytes away in its function */
#define DT_CODE_NEAR   0x02
#define DT_CODE_DIRECT 0x04 /* a target of direct jumps in its function from farther away */
#define DT_CODE_HARD   0x08 /* a target in any other way, or in an unknown way */
#define DT_CODE_FILLER 0x10 /* never executed: between functions, or after a jump */

/* a target of direct jumps from what may be a part of the same function */
#define DT_CODE_CROSS  0x20
#define DT_CODE_CALLED 0x40 /* called directly, or its address is taken */
#define DT_CODE_READ   0x80 /* read as data by an instruction: must stay as it is */

#define DT_CODE_TARGET (DT_CODE_NEAR | DT_CODE_DIRECT | DT_CODE_CROSS | DT_CODE_HARD)
#define DT_CODE_CLOSE  32 /* bytes */

/* How a function is left. */
enum dt_exit_kind {
	DT_EXIT_RETURN,
	DT_EXIT_TAIL,	  /* a jump to another function */
	DT_EXIT_BRANCH,	  /* a conditional jump to another function */
	DT_EXIT_INDIRECT, /* a jump through a register or memory to another function */
};

/* An instruction by which a function is left. */
struct dt_exit {
	uint64_t address;
	uint64_t target; /* where a direct jump leads */
	uint8_t length;	 /* bytes of the instruction */
	uint8_t kind;	 /* enum dt_exit_kind */
	bool into;	 /* it leads into the middle of the other function */
};

/*
 * Why the exits or the instructions of a function are not known for certain. If there is a reason,
 * nothing of the function may be changed. In the remarks "it" is the function.
 */
enum dt_trouble {
	DT_TROUBLE_NONE,
	DT_TROUBLE_EMPTY,    /* it has no instructions */
	DT_TROUBLE_DATA,     /* something in it is no instruction */
	DT_TROUBLE_OVERLAP,  /* something jumps into the middle of one of its instructions */
	DT_TROUBLE_FAR,	     /* it leaves by a far return */
	DT_TROUBLE_SIGNAL,   /* signal handlers return to it; debuggers know it by its bytes */
	DT_TROUBLE_SEQUENCE, /* it is a restartable sequence: the kernel compares addresses with it
			      */
	DT_TROUBLE_GO,	     /* it is Go code: see elf/go.h */
	DT_TROUBLE_BEHIND,   /* others return to the instruction after its first one, a nop */
	DT_TROUBLE_HANDS,    /* it jumps on with an address in its frame, which it has given back */
	DT_TROUBLE_HANDED,   /* a function of DT_TROUBLE_HANDS jumps to it: see code-handed.c */
	DT_TROUBLE_READ,     /* the program takes it for data: it checks or copies its own code */
	DT_TROUBLE_JUMPS, /* from here on only of functions found by calls (code-called.c): it has a
			     jump whose targets are not known */
	DT_TROUBLE_STACK, /* it may leave with something on the stack */
	DT_TROUBLE_SHARES,    /* others jump into it */
	DT_TROUBLE_UNREACHED, /* no known path leads to the calls of it */
};

/* A function, or a part of one that lies elsewhere (a cold part). */
struct dt_code_function {
	uint64_t start, end;	      /* end is cut to where the next function begins */
	const char *name;	      /* as in the symbol table; NULL: it has none there */
	const struct dt_frame *frame; /* of .eh_frame, beginning at start, or NULL */
	uint32_t whole; /* index of the function that this is a part of; its own index if it is a
			   whole function */
	uint32_t next_part;	    /* index of the next part of that function; 0: none */
	uint32_t first_exit, exits; /* index in dt_code.exit, and how many */
	uint32_t first_link, links; /* its links; only the reader of code uses these */
	uint8_t trouble;	    /* enum dt_trouble */
	uint64_t trouble_at;	    /* address of what causes the trouble */
	uint64_t of;   /* used by the reader: start of the function that this is a part of */
	bool found;    /* neither a symbol nor .eh_frame names it, but it is called directly */
	bool jumped;   /* it is `found', but only jumped to */
	bool part;     /* the cold part of a function: jumped to, not called */
	bool falls;    /* its end runs into the next function */
	bool anywhere; /* it has an indirect jump whose targets are not known */
	bool taken;    /* addresses inside it are taken by data or instructions */
	bool table;    /* it has a table of distances into itself */
	bool points;   /* it computes addresses of places in its frame */
	bool stays;    /* it has an indirect jump that leads inside */
	bool ends;     /* used by the reader: nothing is executed after its last instruction */
	bool calls;    /* used by the reader: its last instruction is a call */
	bool open;     /* used by the reader: nothing says where it ends */
};

/* A region of the file that holds code: addresses [low, high). */
struct dt_code_region {
	uint64_t low, high;
	const uint8_t *bytes;
	uint8_t *mark;	 /* DT_CODE_*, one for each byte */
	uint64_t offset; /* of the bytes in the file */
	bool plt;	 /* it is a PLT: it has no functions, and its code is not decoded */
};

/* A transfer of control. Only the reader of code uses these. */
struct dt_code_link {
	uint64_t from, to;
	uint8_t kind; /* enum dt_insn_kind */
	uint8_t length;
	uint8_t how; /* what an indirect jump looks like */
};

/* The map of a file's code. */
struct dt_code {
	struct dt_code_region *region;
	size_t regions;
	struct dt_code_function *function; /* sorted by start */
	size_t functions;
	struct dt_exit *exit; /* sorted by address */
	size_t exits;
	struct dt_code_link *link; /* all jumps and returns, sorted by from */
	size_t links;
	/* those links that lead to other functions and parts, sorted by to */
	struct dt_code_link *cross;
	size_t crosses;
	uint64_t low, high; /* bounds of everything that the file maps */
	/* bytes of code inside functions, and outside of them, without filler */
	uint64_t covered, left;
	size_t found;		  /* how many functions are known only from calls */
	uint64_t go_low, go_high; /* what Go's compiler has made: [go_low, go_high) */
	struct dt_frames *frames; /* used by the reader; NULL: none */
	char *apart; /* all tables in one piece, when another process made the map (code-apart.h);
			NULL: this process made it */
	bool lent;   /* ...which is the symtab's, and lasts as long as that */
};

/* Looks whether [low, high) is not empty and has no address in common with any of the first n
 * regions. Regions never overlap, so that each address belongs to at most one. */
bool dt_code_is_room(const struct dt_code_region *region, size_t n, uint64_t low, uint64_t high);

/* Returns the region that contains address, or NULL. */
const struct dt_code_region *dt_code_region_of(const struct dt_code *c, uint64_t address);

/* Returns what is known of the byte at address (DT_CODE_*); 0 outside of the code and in a PLT. */
uint8_t dt_code_mark(const struct dt_code *c, uint64_t address);

/* Returns the index of the function that contains address; c->functions if there is none. */
size_t dt_code_function_at(const struct dt_code *c, uint64_t address);
/* Returns the same; it is quicker if that begins at address and is `last', or the next. */
size_t dt_code_function_from(const struct dt_code *c, size_t last, uint64_t address);

/* Returns one line about the trouble (enum dt_trouble), "" for DT_TROUBLE_NONE. */
const char *dt_trouble_text(uint8_t trouble);

#endif
