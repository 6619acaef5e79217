/* SPDX-License-Identifier: MIT */
/*
 * Reads from .eh_frame and .gcc_except_table what is needed to change an ELF file's code: where
 * functions are, also those without symbols; where the stack frame is; and where exceptions land.
 * Every byte is treated as hostile: what cannot be read is left out.
 */
#ifndef DT_ELF_FRAMES_H
#define DT_ELF_FRAMES_H

#include "elf/symtab-file.h"

/* One FDE: a range of code with one description. */
struct dt_frame {
	uint64_t start, end;
	uint64_t lsda; /* address of its exception table; 0: none */
	/* owned by dt_frames */
	const uint8_t *code, *code_end;	      /* the FDE's instructions (DW_CFA_*) */
	const uint8_t *initial, *initial_end; /* the instructions of its CIE */
	uint32_t code_align;
	int32_t data_align;
	uint8_t encoding; /* encoding of addresses: R of the CIE's augmentation */
	bool signal; /* S of the CIE's augmentation: signal handlers return to the code, which is
			never called */
};

/* All FDEs of a file. */
struct dt_frames {
	struct dt_frame *frame; /* sorted by start, each start once */
	size_t n;
	/* used by the reader only */
	struct dt_symfile file;
};

/*
 * Reads path. Returns 0, or -1 with an error if it is no ELF file. A file without .eh_frame has no
 * frames.
 */
int dt_frames_open(struct dt_frames *f, const char *path, struct dt_error *e);
/* As dt_frames_open(), for an open file. The file is closed with f, and also if this fails. */
int dt_frames_begin(struct dt_frames *f, int file, const char *path, struct dt_error *e);
/* Frees what f holds, and closes its file. */
void dt_frames_close(struct dt_frames *f);

/* Returns the frame that contains address, or NULL. */
const struct dt_frame *dt_frames_find(const struct dt_frames *f, uint64_t address);

/*
 * Returns how many bytes the frame's base (CFA, the byte above the return address) is above the
 * stack pointer when the instruction at address is about to run; this is 8 if nothing is pushed.
 * Returns -1 if the base is not given relative to the stack pointer, or is not known.
 */
int64_t dt_frame_depth(const struct dt_frame *f, uint64_t address);

/*
 * Does the function ever have more on the stack than its return address, according to its
 * description?
 */
bool dt_frame_pushes(const struct dt_frame *f);

/* Calls fn for every address in the frame at which an exception can land. */
void dt_frame_landings(const struct dt_frames *all, const struct dt_frame *f,
		       void (*fn)(void *ctx, uint64_t address), void *ctx);

#endif
