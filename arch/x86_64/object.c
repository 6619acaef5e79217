/* SPDX-License-Identifier: MIT */
#include "arch/object.h"

#include <string.h>

#include "core/site.h"

enum dt_relocation dt_relocation_of(uint32_t type)
{
	switch (type) {
	case R_X86_64_64:
		return DT_RELOCATION_SYMBOL;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		return DT_RELOCATION_SLOT;
	case R_X86_64_RELATIVE:
		return DT_RELOCATION_RELATIVE;
	case R_X86_64_IRELATIVE:
		return DT_RELOCATION_IRELATIVE;
	}
	return DT_RELOCATION_OTHER;
}

unsigned dt_landing_pad(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0
		       ? sizeof(endbr64)
		       : 0;
}

/* An entry of the PLT is jmp *slot(%rip), after an endbr64 and with a bnd, or without. */
uint64_t dt_plt_slot(const uint8_t code[DT_PLT], uint64_t address)
{
	unsigned at = dt_landing_pad(code, DT_PLT);

	at += code[at] == 0xf2;
	return code[at] == 0xff && code[at + 1] == 0x25
		       ? dt_site_distance(code + at + 2, address + at + 6)
		       : 0;
}

bool dt_reaches_far(const uint8_t *code, size_t size, uint64_t address, uint64_t *to)
{
	if (size < 5 || (*code != 0xe8 && *code != 0xe9))
		return false;
	*to = dt_site_distance(code + 1, address + 5);
	return true;
}

/* mov %rcx, %r8; mov $435, %eax; syscall; test %rax, %rax */
const unsigned char dt_clone3_code[] = {0x49, 0x89, 0xc8, 0xb8, 0xb3, 0x01, 0,
					0,    0x0f, 0x05, 0x48, 0x85, 0xc0};
const size_t dt_clone3_size = sizeof(dt_clone3_code);
