/* SPDX-License-Identifier: MIT */
/* What the parts of the reader of code (code.c, code-data.c, code-flow.c) share; for nobody else.
 */
#ifndef DT_SYMBOLS_CODE_WORK_H
#define DT_SYMBOLS_CODE_WORK_H

#include <gelf.h>

#include "arch/arch.h"
#include "symbols/code.h"

/* Instead of how an indirect jump looks: it was found to leave the function. */
#define DT_CODE_LEAVING 0xff

/* An address that function computes: perhaps a table of distances. */
struct lea {
	uint64_t table;
	uint32_t function;
};

/* An indirect jump of a function that only calls told of. */
struct dt_code_jump {
	uint64_t at;
	bool leaves; /* otherwise it is a switch, whose targets are known */
};

struct reader {
	struct dt_code *c;
	size_t function_room, link_room, exit_room;
	struct lea *lea;
	size_t leas, lea_room;
	struct lea *join; /* code that tables and landings of another function lead to */
	size_t joins, join_room;
	Elf *elf;
	bool fixed;			      /* ET_EXEC: addresses can be plain numbers */
	uint64_t sequence_low, sequence_high; /* section of the rseq descriptors */
	bool failed;			      /* no memory */
	struct dt_code_jump *jump;	      /* sorted by at */
	size_t jumps, jump_room;
	/* who is told of addresses in data, instead of the marks; or NULL */
	void (*note)(void *ctx, uint64_t where, uint64_t value);
	void *note_ctx;
};

/* Makes room for one more element; false: no memory, and r->failed. */
bool dt_code_grow(struct reader *r, void **array, size_t n, size_t *room, size_t size);
/* The region that contains address, but no PLT. */
const struct dt_code_region *dt_code_text_at(const struct dt_code *c, uint64_t address);
void dt_code_set_mark(const struct dt_code *c, uint64_t address, uint8_t bits);
/*
 * Somebody holds the address as a value; not sure: or a number that happens to be the same. true:
 * it is code.
 */
bool dt_code_take_address(struct reader *r, uint64_t address, bool sure);
/* Notes the function's first trouble. */
void dt_code_set_trouble(struct dt_code_function *f, uint8_t trouble, uint64_t at);

/*
 * code-called.c: functions that only calls tell of, behind those that are known. true: it was worth
 * looking, and there may be more functions now.
 */
bool dt_code_find_called(struct reader *r);

/* code-data.c: addresses in data, landing pads, tables of distances */
void dt_code_read_data(struct reader *r);
void dt_code_read_landings(struct reader *r);
void dt_code_read_tables(struct reader *r);

/* code-flow.c: what the jumps say */
void dt_code_join_parts(struct reader *r);
void dt_code_sort_crosses(struct reader *r);
void dt_code_check_links(struct dt_code *c);
void dt_code_find_exits(struct reader *r);
void dt_code_find_filler(struct dt_code *c);

/* code-handed.c: what has an address in a frame that is no more; behind the ways out */
void dt_code_find_handed(struct reader *r);

#endif
