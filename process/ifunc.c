/* SPDX-License-Identifier: MIT */
/* See ifunc.h. */
#include "process/ifunc.h"

#include <string.h>

#include "arch/x86_64/insn.h"

#define LEA	0x8d
#define SIZE	4096 /* of a resolver, at most */
#define ALIGNED 16   /* what an immediate must be to be taken for a function's address */

/* The code at an address, up to the end of its section; NULL: there is none. */
static const uint8_t *code_at(Elf *elf, uint64_t address, uint64_t *size)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(elf, s))) {
		Elf_Data *d;

		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_EXECINSTR) || address < sh.sh_addr ||
		    address - sh.sh_addr >= sh.sh_size)
			continue;
		d = sh.sh_type == SHT_NOBITS ? NULL : elf_rawdata(s, NULL);
		if (!d || !d->d_buf || address - sh.sh_addr >= d->d_size)
			return NULL;
		*size = d->d_size - (address - sh.sh_addr);
		return (const uint8_t *)d->d_buf + (address - sh.sh_addr);
	}
	return NULL;
}

/* The address that the instruction takes; 0: none. In a file at a fixed address it is an immediate. */
static uint64_t taken(const struct dt_insn *in, const uint8_t *code)
{
	uint32_t value;

	if (in->map == 0 && in->opcode == LEA && in->rip)
		return in->memory;
	if (in->map == 0 && (in->opcode == 0xc7 || (in->opcode & 0xf8) == 0xb8) && in->imm_size == 4) {
		memcpy(&value, code + in->imm_at, sizeof(value));
		return value % ALIGNED ? 0 : value;
	}
	return 0;
}

static bool has(const uint64_t *target, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (target[i] == address)
			return true;
	return false;
}

size_t dt_ifunc_targets(Elf *elf, uint64_t resolver, uint64_t size, uint64_t *target, size_t most)
{
	uint64_t room = 0, length;
	const uint8_t *code = code_at(elf, resolver, &room);
	size_t n = 0;

	if (!code)
		return 0;
	size = size && size < SIZE ? size : SIZE;
	size = size < room ? size : room;
	for (uint64_t at = 0; at < size && n < most;) {
		struct dt_insn in;
		uint64_t address;

		length = dt_insn_decode(&in, code + at, size - at, resolver + at);
		if (!length)
			break;
		address = taken(&in, code + at);
		/* not its own parts */
		if (address && (address < resolver || address >= resolver + size) &&
		    code_at(elf, address, &room) && !has(target, n, address))
			target[n++] = address;
		at += length;
	}
	return n;
}
