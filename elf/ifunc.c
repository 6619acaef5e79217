/* SPDX-License-Identifier: MIT */
/* See ifunc.h. */
#include "elf/ifunc.h"

#include <string.h>

#include "arch/arch.h"

const char *const dt_ifunc_left[DT_IFUNC_LEFT] = {"time", "gettimeofday"};

bool dt_ifunc_is_left(const char *name)
{
	for (size_t i = 0; i < DT_IFUNC_LEFT; i++)
		if (strcmp(name, dt_ifunc_left[i]) == 0)
			return true;
	return false;
}

#define SIZE  4096 /* bytes of a resolver, at most */
#define TABLE 16   /* words of a table that it reads, at most */
/* the alignment that an immediate must have to be taken for a function's address */
#define ALIGNED 16

/* Returns the code at an address, up to the end of its section, or NULL. */
static const uint8_t *code_at(Elf *elf, uint64_t address, uint64_t *size)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;

	while ((s = elf_nextscn(elf, s))) {
		Elf_Data *d;

		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    address < sh.sh_addr || address - sh.sh_addr >= sh.sh_size)
			continue;
		d = sh.sh_type == SHT_NOBITS ? NULL : elf_rawdata(s, NULL);
		if (!d || !d->d_buf || address - sh.sh_addr >= d->d_size)
			return NULL;
		*size = d->d_size - (address - sh.sh_addr);
		return (const uint8_t *)d->d_buf + (address - sh.sh_addr);
	}
	return NULL;
}

/*
 * Returns the address that the instruction takes, which in a file at a fixed address may be a plain
 * number; 0: none.
 */
static uint64_t taken(const struct dt_insn *in, const uint8_t *code)
{
	uint64_t value;

	if (in->relative)
		return dt_insn_makes_address(in) ? in->memory : 0;
	value = dt_insn_puts(in, code);
	return value > UINT32_MAX || value % ALIGNED ? 0 : value;
}

/*
 * Returns what the word at an address holds when the program begins, if that is a function's
 * address: from its relocation, or in a file at a fixed address from its bytes. Returns 0 if the
 * function is in another file, or not known.
 */
static uint64_t word_at(Elf *elf, uint64_t address)
{
	Elf_Scn *s = NULL;
	GElf_Shdr sh;
	GElf_Rela r;
	GElf_Sym sym;
	uint64_t word = 0;

	while ((s = elf_nextscn(elf, s))) {
		Elf_Data *d = gelf_getshdr(s, &sh) ? elf_getdata(s, NULL) : NULL;
		Elf_Scn *symbols;

		if (d && sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_ALLOC) &&
		    address >= sh.sh_addr && address + sizeof(word) <= sh.sh_addr + d->d_size)
			memcpy(&word, (const char *)d->d_buf + (address - sh.sh_addr),
			       sizeof(word));
		for (int i = 0; d && sh.sh_type == SHT_RELA && gelf_getrela(d, i, &r); i++) {
			if (r.r_offset != address)
				continue;
			if (dt_relocation_of(GELF_R_TYPE(r.r_info)) == DT_RELOCATION_RELATIVE)
				return (uint64_t)r.r_addend;
			symbols = elf_getscn(elf, sh.sh_link);
			if (!symbols ||
			    !gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(r.r_info),
					 &sym) ||
			    sym.st_shndx == SHN_UNDEF)
				return 0;
			return sym.st_value + (uint64_t)r.r_addend;
		}
	}
	return word;
}

static bool has(const uint64_t *target, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (target[i] == address)
			return true;
	return false;
}

/* Lists the functions whose addresses the instruction at code may give: it takes an address, loads
 * one, or takes that of a table. Returns how many. */
static size_t candidates(Elf *elf, const struct dt_insn *in, const uint8_t *code, uint64_t *out,
			 size_t most)
{
	uint64_t address = taken(in, code), room;
	size_t n = 0;

	if (dt_insn_loads(in)) {
		out[0] = word_at(elf, in->memory);
		return out[0] != 0;
	}
	if (!address || code_at(elf, address, &room)) {
		out[0] = address;
		return address != 0;
	}
	while (n < most && (out[n] = word_at(elf, address + 8 * n)) && code_at(elf, out[n], &room))
		n++;
	return n;
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
		uint64_t address[TABLE];
		struct dt_insn in;
		size_t found;

		length = dt_insn_decode(&in, code + at, size - at, resolver + at);
		if (!length)
			break;
		found = candidates(elf, &in, code + at, address, TABLE);
		/* addresses in the resolver itself do not count */
		for (size_t i = 0; i < found && n < most; i++)
			if ((address[i] < resolver || address[i] >= resolver + size) &&
			    code_at(elf, address[i], &room) && !has(target, n, address[i]))
				target[n++] = address[i];
		at += length;
	}
	return n;
}
