// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "known.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif

static long counts[KNOWN];
extern const char __executable_start[], etext[];

void count(enum known what)
{
	__atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

void count_reset(void)
{
	memset(counts, 0, sizeof(counts));
}

void count_print(void)
{
	static const char *const name[KNOWN] = {"leaf",	   "tail",    "jump", "fib",	"real",
						"compare", "handler", "one",  "plugged"};

	for (int i = 0; i < KNOWN; i++)
		if (counts[i])
			printf("%s %ld\n", name[i], counts[i]);
}

/* The executable segments of all that is loaded, one after the other. */
static struct {
	char *bytes;
	size_t n;
	int differs;
} kept;

static int each_segment(struct dl_phdr_info *info, size_t size, void *ctx)
{
	size_t *at = ctx;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *code = (const char *)(info->dlpi_addr + p->p_vaddr);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (*at < kept.n) {
			kept.differs |= memcmp(kept.bytes + *at, code, p->p_memsz) != 0;
		} else {
			kept.n += p->p_memsz;
			kept.bytes = realloc(kept.bytes, kept.n);
			memcpy(kept.bytes + *at, code, p->p_memsz);
		}
		*at += p->p_memsz;
	}
	return 0;
}

void code_keep(void)
{
	size_t at = 0;

	dl_iterate_phdr(each_segment, &at);
}

void code_guard(int on)
{
	size_t page = 4096, size = (size_t)(etext - __executable_start);

	if (mprotect((void *)(uintptr_t)__executable_start, (size + page - 1) & -page,
		     PROT_READ | PROT_EXEC | (on ? PROT_BTI : 0))) {
		perror("mprotect");
		exit(1);
	}
}

int code_is_same(void)
{
	size_t at = 0;

	dl_iterate_phdr(each_segment, &at);
	return at == kept.n && !kept.differs;
}
