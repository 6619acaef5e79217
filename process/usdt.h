/* SPDX-License-Identifier: MIT */
/*
 * USDT: the probes that programs have in themselves by <sys/sdt.h>, or by devtrace's own header.
 * Each is a note in .note.stapsdt that says where the probe is (one nop), what it is called, and
 * where its arguments are: "-4@%edi 8@-16(%rbp) 8@$0". The format is that of SystemTap's wiki,
 * "UserSpaceProbeImplementation"; operands are as the GNU assembler writes them.
 */
#ifndef DT_PROCESS_USDT_H
#define DT_PROCESS_USDT_H

#include "process/elf.h"

enum dt_operand_kind {
	DT_OPERAND_UNKNOWN, /* not understood: the text is all there is */
	DT_OPERAND_REGISTER,
	DT_OPERAND_MEMORY,
	DT_OPERAND_CONSTANT,
};

/* Registers as the processor numbers them: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi,
 * 8 to 15; vector registers from 16 on. */
#define DT_REGISTER_XMM0 16
#define DT_REGISTER_RIP	 62
#define DT_REGISTER_NONE 63

struct dt_operand {
	uint8_t kind; /* enum dt_operand_kind */
	/* of the value: */
	uint8_t size; /* bytes: 1, 2, 4, 8, 16, 32, 64 */
	bool is_signed, is_float;
	/* DT_OPERAND_REGISTER: the value is `size' bytes from byte `byte' of the register on */
	uint8_t reg, byte;
	/* DT_OPERAND_MEMORY: at base + index * scale + value, beyond a segment's base */
	uint8_t base, index, scale;
	char segment; /* 'f', 'g', 0 */
	/* the address of a symbol is to be added to value; not terminated */
	const char *symbol;
	uint8_t symbol_length;
	int64_t value; /* the displacement, or the constant */
};

#define DT_USDT_ARGUMENTS 16 /* at most so many are described; <sys/sdt.h> has 12 */

struct dt_usdt_probe {
	const char *provider, *name, *arguments; /* owned by the struct dt_usdt */
	uint64_t address;			 /* in the file */
	uint64_t semaphore; /* of a 16-bit counter, to be raised while the probe is used; 0: none */
};

struct dt_usdt {
	struct dt_usdt_probe *probe; /* in the order of the file */
	size_t n;
	size_t bad; /* notes left out: they make no sense, or lead out of the code */
	char *notes;
};

/* The probes of a file; none is no error. -1 and an error: damaged, or no memory. */
int dt_usdt_read(struct dt_elf *f, struct dt_usdt *u, struct dt_error *e);
void dt_usdt_free(struct dt_usdt *u);

/*
 * Parses a description of arguments; returns how many there are, also when they are more than
 * `max'. An operand that is not understood is DT_OPERAND_UNKNOWN, with its size if that is.
 */
size_t dt_usdt_arguments(const char *text, struct dt_operand *out, size_t max);

/* "s4 %edi", "u8 [rbp-16]", "f8 %xmm0", "u4 7"; returns the length. size: 96 is enough. */
size_t dt_usdt_operand_text(char *out, size_t size, const struct dt_operand *o);

#endif
