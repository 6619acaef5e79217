/* SPDX-License-Identifier: MIT */
#include "arch/connection.h"

#include <stddef.h>
#include <string.h>

#include "arch/area.h"
#include "core/site.h"

size_t dt_connections(const struct dt_blob *b, struct dt_connection c[DT_CONNECTIONS])
{
	const struct dt_connection all[DT_CONNECTIONS] = {
		/* ret; the rest up to the next 16 bytes is padding */
		{.name = "_dl_debug_state",
		 .head = {0xc3},
		 .head_size = 1,
		 .stub = b->modules,
		 .linker = true},
		/* mov $59, %eax; syscall */
		{.name = "execve",
		 .head = {0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05},
		 .head_size = 7,
		 .stub = b->execve,
		 .back_at = offsetof(struct dt_blob, execve_back),
		 .back = 7},
		/* musl: sub $8, %rsp comes first */
		{.name = "execve",
		 .head = {0x48, 0x83, 0xec, 0x08, 0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05},
		 .head_size = 11,
		 .stub = b->execve,
		 .back_at = offsetof(struct dt_blob, execve_back),
		 .back = 7,
		 .at = 4},
		/* mov %rcx, %r10; mov $322, %eax; syscall */
		{.name = "execveat",
		 .head = {0x49, 0x89, 0xca, 0xb8, 0x42, 0x01, 0, 0, 0x0f, 0x05},
		 .head_size = 10,
		 .stub = b->execveat,
		 .back_at = offsetof(struct dt_blob, execveat_back),
		 .back = 10},
		/* pop %rdi; mov $58, %eax; syscall; push %rdi */
		{.name = "vfork",
		 .head = {0x5f, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x57},
		 .head_size = 9,
		 .stub = b->vfork,
		 .back_at = offsetof(struct dt_blob, vfork_back),
		 .back = 9,
		 .needs_rseq = true},
		/* mov $56, %eax; syscall; test %rax, %rax: what comes before varies */
		{.name = "clone",
		 .head = {0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0},
		 .head_size = 10,
		 .stub = b->clone,
		 .back_at = offsetof(struct dt_blob, clone_back),
		 .back = 7,
		 .needs_rseq = true,
		 .within = 0x40},
		/* mov $435, %eax; syscall; test %rax, %rax: libc does not export it */
		{.name = "clone3",
		 .head = {0xb8, 0xb3, 0x01, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0},
		 .head_size = 10,
		 .stub = b->clone3,
		 .back_at = offsetof(struct dt_blob, clone3_back),
		 .back = 7,
		 .needs_rseq = true,
		 .unnamed = true},
	};

	memcpy(c, all, sizeof(all));
	return DT_CONNECTIONS;
}

bool dt_lead_write(unsigned char out[DT_LEAD], uint64_t from, uint64_t to)
{
	int32_t rel = (int32_t)(to - (from + DT_LEAD));

	if ((int64_t)(to - (from + DT_LEAD)) != rel)
		return false;
	out[0] = 0xe9;
	memcpy(out + 1, &rel, sizeof(rel));
	return true;
}

bool dt_lead_read(const unsigned char code[DT_LEAD], uint64_t from, uint64_t *to)
{
	*to = dt_site_distance(code + 1, from + DT_LEAD);
	return code[0] == 0xe9;
}

/* It is jmp *0(%rip), followed by the address. */
void dt_lead_far(unsigned char out[DT_LEAD_FAR], uint64_t to)
{
	memset(out, 0, DT_LEAD_FAR);
	out[0] = 0xff;
	out[1] = 0x25;
	memcpy(out + 6, &to, sizeof(to));
}
