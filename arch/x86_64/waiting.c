/* SPDX-License-Identifier: MIT */
#include "arch/waiting.h"

#include <elf.h>
#include <stddef.h>
#include <sys/syscall.h>

/* The file's beginning is its code, mapped at 4 MiB. */
static const struct waiting_program {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint8_t code[26];
} waiting_program = {
	{.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	 .e_type = ET_EXEC,
	 .e_machine = EM_X86_64,
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
	 .p_align = 4096},
	{
		0x31, 0xc0, /* xor %eax, %eax (read) */
		0xbf, 3,
		0,    0,
		0, /* mov $3, %edi */
		0x48, 0x89,
		0xe6, /* mov %rsp, %rsi */
		0xba, 1,
		0,    0,
		0,	    /* mov $1, %edx */
		0x0f, 0x05, /* syscall */
		0xb8, SYS_exit_group,
		0,    0,
		0,	    /* mov $SYS_exit_group, %eax */
		0x31, 0xff, /* xor %edi, %edi */
		0x0f, 0x05, /* syscall */
	},
};

const void *const dt_waiting_program = &waiting_program;
const size_t dt_waiting_size = sizeof(waiting_program);
