/* SPDX-License-Identifier: MIT */
/* Searches a file's code for system calls that must be noticed. */
#include "elf/gates.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK (1u << 16)
#define OVERLAP                                                                                    \
	(DT_GATE_MOVED + 16) /* bytes at a chunk's end that are searched again with the next */
#define FUNCTION 512	     /* bytes of a function that are searched for its system call */

/* Returns whether it was new. */
static bool add(struct dt_gates *g, uint64_t at, uint32_t length)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->gate[i].at == at)
			return false;
	if (g->n == DT_GATES)
		g->more++;
	else
		g->gate[g->n++] = (struct dt_gate){at, length};
	return true;
}

/*
 * Adds functions that make whatever system call their caller asks for. They are found by name if
 * they are not glibc's.
 */
static void by_name(struct dt_gates *g, struct dt_elf *elf)
{
	static const char *const name[] = {"syscall", "internal/runtime/syscall.Syscall6",
					   "runtime/internal/syscall.Syscall6"};
	uint8_t code[FUNCTION];

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		uint64_t vaddr, size;

		if (dt_elf_symbol(elf, name[i], &vaddr, &size) < 0)
			continue;
		for (size_t k = 0; k < elf->loads; k++) {
			const struct dt_elf_load *l = &elf->load[k];
			struct dt_gate gate;
			ssize_t n;

			if (!(l->flags & PF_X) || vaddr < l->vaddr || vaddr - l->vaddr >= l->filesz)
				continue;
			n = pread(elf->fd, code, size && size < FUNCTION ? size : FUNCTION,
				  (off_t)(l->offset + (vaddr - l->vaddr)));
			if (n > 0 && dt_gate_function(code, (size_t)n, &gate))
				add(g, vaddr + gate.at, gate.length);
		}
	}
}

static void by_bytes(struct dt_gates *g, const struct dt_elf *elf, const struct dt_elf_load *l,
		     uint8_t *code)
{
	for (uint64_t done = 0; done < l->filesz; done += CHUNK - OVERLAP) {
		uint64_t left = l->filesz - done;
		ssize_t n = pread(elf->fd, code, left < CHUNK ? left : CHUNK,
				  (off_t)(l->offset + done));
		struct dt_gate gate;

		if (n <= 0)
			return;
		for (int what = 0; what < DT_GATE_WHATS; what++) {
			size_t from = 0;

			/* in other files by_name() finds it */
			if (what == DT_GATE_SYSCALL && (elf->interp || !elf->entry))
				continue;
			while (dt_gate_scan(code, (size_t)n, what, &from, &gate)) {
				bool fresh = add(g, l->vaddr + done + gate.at, gate.length);

				g->clones +=
					fresh && (what == DT_GATE_VFORK || what == DT_GATE_CLONE);
			}
		}
		if (left <= CHUNK)
			return;
	}
}

void dt_gates_read(struct dt_gates *g, struct dt_elf *elf)
{
	uint8_t *code;

	if (g->read)
		return;
	g->read = true;
	code = malloc(CHUNK);
	for (size_t i = 0; code && i < elf->loads; i++)
		if (elf->load[i].flags & PF_X)
			by_bytes(g, elf, &elf->load[i], code);
	free(code);
	by_name(g, elf);
}
