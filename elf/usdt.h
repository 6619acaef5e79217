/* SPDX-License-Identifier: MIT */
/*
 * Reads USDT probes, which programs contain if they use <sys/sdt.h> or devtrace's own header. Each
 * is a note in .note.stapsdt that says where the probe is (one nop), what it is called, and where
 * its arguments are: "-4@%edi 8@-16(%rbp) 8@$0". The format is that of SystemTap's wiki,
 * "UserSpaceProbeImplementation"; operands are written as by the GNU assembler.
 */
#ifndef DT_ELF_USDT_H
#define DT_ELF_USDT_H

#include "arch/arch.h"
#include "elf/elf.h"

#define DT_USDT_ARGUMENTS 16 /* arguments that are described, at most; <sys/sdt.h> has 12 */

/* A probe. */
struct dt_usdt_probe {
	const char *provider, *name, *arguments; /* owned by the struct dt_usdt */
	uint64_t address;			 /* the file's virtual address */
	uint64_t semaphore; /* address of a 16-bit counter that is to be raised while the probe is
			       used; 0: none */
};

/* The probes of a file. */
struct dt_usdt {
	struct dt_usdt_probe *probe; /* in the order of the file */
	size_t n;
	size_t bad;  /* notes left out because they make no sense or lead out of the code */
	char *notes; /* the section's bytes, into which the strings point */
};

/*
 * Reads the probes of a file; a file may have none. Returns 0, or -1 with an error if it is damaged
 * or there is no memory.
 */
int dt_usdt_read(struct dt_elf *f, struct dt_usdt *u, struct dt_error *e);
/* Frees what u holds. */
void dt_usdt_free(struct dt_usdt *u);

/*
 * Parses a description of arguments into at most max operands. Returns how many arguments there
 * are, even if that is more than max. An operand that is not understood is DT_OPERAND_UNKNOWN, but
 * has its size if that is understood.
 */
size_t dt_usdt_arguments(const char *text, struct dt_operand *out, size_t max);

/*
 * Writes an operand as "s4 %edi", "u8 [rbp-16]", "f8 %xmm0", "u4 7". Returns the length. A size of
 * 96 bytes is enough.
 */
size_t dt_usdt_operand_text(char *out, size_t size, const struct dt_operand *o);

#endif
