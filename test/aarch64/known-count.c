// SPDX-License-Identifier: MIT
#include "known.h"

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
static char *copy;

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

void code_keep(void)
{
	copy = malloc((size_t)(etext - __executable_start));
	memcpy(copy, __executable_start, (size_t)(etext - __executable_start));
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
	return !memcmp(copy, __executable_start, (size_t)(etext - __executable_start));
}
