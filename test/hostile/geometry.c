/* SPDX-License-Identifier: MIT */
/*
 * A traced program that writes one wrong word into the session's memory, always the same one: where
 * the memory has a number on which a controller could rely. It can be built with the headers of
 * devtrace as it was at first, too. usage: geometry bytes|stride|size|cores|pointers|pos|look
 * SECONDS    look: writes nothing, and says whether it sees what another user's program has for a
 * secret (neighbour.c)
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include("core/control.h")
#include "core/control.h"
#define G(c) ((c)->geometry)
#else
#include "core/ring.h"
#define G(c)	 (*(c))
#define POINTERS 1
#endif

static struct dt_control *c;
static size_t bytes;

__attribute__((noinline, noclone)) long leaf(long x)
{
	__asm__ volatile("" ::: "memory");
	return x * 3;
}

static void find(void)
{
	char line[512], perms[8], name[256];
	unsigned long low, high;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !c && fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255[^\n]", &low, &high, perms, name) >=
			    3 &&
		    !strcmp(perms, "rw-s") &&
		    (strstr(name, "devtrace") || strstr(name, "/dev/shm"))) {
			c = (struct dt_control *)low;
			bytes = high - low;
		}
	}
	if (f)
		fclose(f);
}

static void look(void)
{
	const volatile uint64_t *word = (const volatile uint64_t *)c;

	for (size_t i = 0; i < bytes / 8; i++)
		if (word[i] == 0x5ec4e75ec4e75ec4) {
			puts("saw the other one's secret");
			exit(9);
		}
}

static int spoil(const char *what)
{
	static uint64_t stride;
	static unsigned cores;

	if (!stride) {
		stride = G(c).stride;
		cores = G(c).cores;
	}
	if (!strcmp(what, "look"))
		look();
	else if (!strcmp(what, "bytes"))
		G(c).bytes = 0;
	else if (!strcmp(what, "stride"))
		G(c).stride = 0x7fff00000000;
	else if (!strcmp(what, "size"))
		G(c).ring_size = 1ull << 62;
	else if (!strcmp(what, "cores"))
		G(c).cores = 0x7fffffff;
	else if (!strcmp(what, "pos"))
		for (unsigned i = 0; i <= cores; i++)
			*(volatile uint64_t *)((char *)c + DT_CONTROL_SIZE + i * stride) = 1ull
											   << 61;
#ifdef POINTERS
	else if (!strcmp(what, "pointers")) /* the list of robust mutexes */
		c->mutex[3] = c->mutex[4] = 0x4141414141414141;
#else
	else if (!strcmp(what, "pointers")) {
		puts("there are no pointers");
		return 1;
	}
#endif
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long turns = 2000 * (argc > 2 ? atoi(argv[2]) : 1);

	/* one that is attached to has it later */
	for (long i = 0; i < turns; i++) {
		if (!c && i % 20 == 0)
			find();
		/* more than all rings have room for */
		for (int k = 0; k < (!strcmp(what, "size") ? 50 : 1); k++)
			leaf(i);
		if (c && spoil(what))
			return 3;
		usleep(500);
	}
	return c ? 0 : 4;
}
