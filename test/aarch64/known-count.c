// SPDX-License-Identifier: MIT
#include "known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int code_is_same(void)
{
	return !memcmp(copy, __executable_start, (size_t)(etext - __executable_start));
}
