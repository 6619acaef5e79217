/* SPDX-License-Identifier: MIT */
/*
 * USDT: the probes that programs have in themselves by <sys/sdt.h>, or by devtrace's own header.
 * Each is a note in .note.stapsdt that says where the probe is (one nop), what it is called, and
 * where its arguments are: "-4@%edi 8@-16(%rbp) 8@$0". The format is that of SystemTap's wiki,
 * "UserSpaceProbeImplementation"; operands are as the GNU assembler writes them.
 */
#ifndef DT_ELF_USDT_H
#define DT_ELF_USDT_H

#include "arch/arch.h"
#include "elf/elf.h"

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
