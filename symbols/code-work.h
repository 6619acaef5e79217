/* SPDX-License-Identifier: MIT */
/* What the files of the reader of code (code.c, code-data.c, code-flow.c) share. No other file
 * includes this. */
#ifndef DT_SYMBOLS_CODE_WORK_H
#define DT_SYMBOLS_CODE_WORK_H

#include <gelf.h>

#include "arch/arch.h"
#include "symbols/code.h"

/*
 * In dt_code_link.how, instead of what the indirect jump looks like: it was found to leave the
 * function.
 */
#define DT_CODE_LEAVING 0xff

/* An address that a function computes: perhaps a table of distances. */
struct lea {
	uint64_t table;
	uint32_t function;
};

/* Code that the program takes for data. */
struct dt_code_stretch {
	uint64_t from, to;
};

/* An indirect jump of a function that is known only from calls. */
struct dt_code_jump {
	uint64_t at;
	bool leaves; /* false: it is a switch, whose targets are known */
};

/* The state of the reader while it makes a map. */
struct reader {
	struct dt_code *c;
	size_t function_room, link_room, exit_room;
	struct lea *lea;
	size_t leas, lea_room;
	struct dt_code_stretch *read; /* what the program takes for data */
	size_t reads, read_room;
	struct lea *join; /* targets to which tables and landing pads of another function lead */
	size_t joins, join_room;
	Elf *elf;
	bool fixed;			      /* ET_EXEC: addresses can be plain numbers */
	uint64_t sequence_low, sequence_high; /* bounds of the section of rseq descriptors */
	bool failed;			      /* out of memory */
	uint64_t start;			      /* a function of which nothing says where it ends
						 (dt_function.start); 0: none */
	const char *start_name;
	struct dt_code_jump *jump; /* sorted by at */
	size_t jumps, jump_room;
	/* called for each address in data, instead of setting marks; or NULL */
	void (*note)(void *ctx, uint64_t where, uint64_t value);
	void *note_ctx;
};

/* Makes room for one more element. Returns false and sets r->failed if there is no memory. */
bool dt_code_grow(struct reader *r, void **array, size_t n, size_t *room, size_t size);
/* Returns the region that contains address; NULL for none or a PLT. */
const struct dt_code_region *dt_code_text_at(const struct dt_code *c, uint64_t address);
/* Sets bits of the mark at address, if that is code. */
void dt_code_set_mark(const struct dt_code *c, uint64_t address, uint8_t bits);
/*
 * Notes that the address occurs as a value; not sure: it may be another number that happens to be
 * equal. Returns true if the address is code.
 */
bool dt_code_take_address(struct reader *r, uint64_t address, bool sure);
/* Notes a function's trouble, unless it has one already. */
void dt_code_set_trouble(struct dt_code_function *f, uint8_t trouble, uint64_t at);

/*
 * code-called.c: finds functions that are known only from calls, after those known otherwise.
 * Returns true if it was worth looking, so that there may be more functions.
 */
bool dt_code_find_called(struct reader *r);

/* code-data.c: read addresses in data, landing pads, tables of distances */
void dt_code_read_data(struct reader *r);
void dt_code_read_landings(struct reader *r);
void dt_code_read_tables(struct reader *r);

/* code-flow.c: find out what the jumps say of functions */
void dt_code_join_parts(struct reader *r);
void dt_code_sort_crosses(struct reader *r);
void dt_code_check_links(struct dt_code *c);
void dt_code_find_exits(struct reader *r);
void dt_code_find_filler(struct dt_code *c);

/*
 * code-handed.c: finds functions that pass on an address in a frame that is gone; called when the
 * exits are known
 */
void dt_code_find_handed(struct reader *r);

#endif
