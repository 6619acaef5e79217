/* SPDX-License-Identifier: MIT */
/*
 * What .eh_frame and .gcc_except_table say of an ELF file's code, as needed to change that code:
 * where functions are, also those without symbols; where the stack frame is; and where exceptions
 * land. Every byte is treated as hostile: what cannot be read is left out.
 */
#ifndef DT_ELF_FRAMES_H
#define DT_ELF_FRAMES_H

#include "elf/symtab-file.h"

/* One FDE: a stretch of code with one description. */
struct dt_frame {
	uint64_t start, end;
	uint64_t lsda; /* address of its exception table; 0: none */
	/* owned by dt_frames */
	const uint8_t *code, *code_end;	      /* its instructions (DW_CFA_*) */
	const uint8_t *initial, *initial_end; /* those of its CIE */
	uint32_t code_align;
	int32_t data_align;
	uint8_t encoding; /* of addresses: the CIE's R */
	bool signal;	  /* the CIE's S: a signal handler returns to it, nobody calls it */
};

struct dt_frames {
	struct dt_frame *frame; /* sorted by start, each start once */
	size_t n;
	/* of the reader itself */
	struct dt_symfile file;
};

/* Reads path; -1 and an error when it is no ELF file. A file without .eh_frame has no frames. */
int dt_frames_open(struct dt_frames *f, const char *path, struct dt_error *e);
/* Of a file that is open, and is closed with it, also when this fails. */
int dt_frames_begin(struct dt_frames *f, int file, const char *path, struct dt_error *e);
void dt_frames_close(struct dt_frames *f);

/* The frame that contains address, or NULL. */
const struct dt_frame *dt_frames_find(const struct dt_frames *f, uint64_t address);

/*
 * How far above the stack pointer the frame's base (CFA, the byte above the return address) is when
 * the instruction at address is about to run: 8 where nothing is pushed. -1: it is not given
 * relative to the stack pointer, or not known.
 */
int64_t dt_frame_depth(const struct dt_frame *f, uint64_t address);

/* Does the function ever have more on the stack than its return address, as far as is said? */
bool dt_frame_pushes(const struct dt_frame *f);

/* Calls fn with every address in the frame where an exception can land. */
void dt_frame_landings(const struct dt_frames *all, const struct dt_frame *f,
		       void (*fn)(void *ctx, uint64_t address), void *ctx);

#endif
