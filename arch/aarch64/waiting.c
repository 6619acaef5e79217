/* SPDX-License-Identifier: MIT */
#include "arch/waiting.h"

#include <elf.h>
#include <stddef.h>

#include "arch/aarch64/word.h"

/* The file's beginning is its code, mapped at 4 MiB. */
static const struct waiting_program {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint32_t code[8];
} waiting_program = {
	{.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	 .e_type = ET_EXEC,
	 .e_machine = EM_AARCH64,
	 .e_version = EV_CURRENT,
	 .e_entry = 0x400000 + offsetof(struct waiting_program, code),
	 .e_phoff = offsetof(struct waiting_program, segment),
	 .e_ehsize = sizeof(Elf64_Ehdr),
	 .e_phentsize = sizeof(Elf64_Phdr),
	 .e_phnum = 1},
	{.p_type = PT_LOAD,
	 .p_flags = PF_R | PF_X,
	 .p_vaddr = 0x400000,
	 .p_filesz = sizeof(struct waiting_program),
	 .p_memsz = sizeof(struct waiting_program),
	 .p_align = 65536},
	{
		0xd28007e8, /* mov x8, #63 (read) */
		0xd2800060, /* mov x0, #3 */
		0x910003e1, /* mov x1, sp */
		0xd2800022, /* mov x2, #1 */
		DT_WORD_SVC,
		0xd2800bc8, /* mov x8, #94 (exit_group) */
		0xd2800000, /* mov x0, #0 */
		DT_WORD_SVC,
	},
};

const void *const dt_waiting_program = &waiting_program;
const size_t dt_waiting_size = sizeof(waiting_program);
