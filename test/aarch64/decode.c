// SPDX-License-Identifier: MIT
/* Decodes the instructions on standard input, an address and a word each, and prints of each what
 * arch/aarch64/insn.c says: kind, target, memory, form, landing pad. */
#include <inttypes.h>
#include <stdio.h>

#include "arch/insn.h"

int main(void)
{
	uint64_t address;
	uint32_t word;
	struct dt_insn in;

	while (scanf("%" SCNx64 " %" SCNx32, &address, &word) == 2) {
		if (!dt_insn_decode(&in, (const uint8_t *)&word, sizeof(word), address))
			return 1;
		printf("%u %" PRIx64 " %" PRIx64 " %u %u\n", in.kind, in.target, in.memory, in.form,
		       in.pad);
	}
	return 0;
}
