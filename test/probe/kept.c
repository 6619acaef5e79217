/* SPDX-License-Identifier: MIT */
/*
 * usage: kept [ROUNDS]     (1; 0: until SIGTERM, a minute at most)
 *
 * Calls the functions of kept.S, which change nothing, with every set of flags there is: those of
 * arithmetic, and with direction and alignment set too, and with all that other registers can hold.
 * Prints for each function what was not as before behind it; status 1: something was not.
 */
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARITHMETIC 0x8d5 /* OF SF ZF AF PF CF */
#define DIRECTION  0x400
#define ALIGNMENT  0x40000
#define ALWAYS	   0x202
#define LEGACY	   512 /* bytes of x87 and SSE state; the header of 64 behind it */
#define AREA	   16384

#define FUNCTIONS(X)                                                                               \
	X(by_jump)                                                                                 \
	X(by_jump_after)                                                                           \
	X(padded)                                                                                  \
	X(shared)                                                                                  \
	X(behind_shared)                                                                           \
	X(short_way)                                                                               \
	X(behind_short_way)                                                                        \
	X(short_entry)                                                                             \
	X(before_rooms)                                                                            \
	X(inner)                                                                                   \
	X(inner_elsewhere)                                                                         \
	X(behind_rooms)                                                                            \
	X(tail)                                                                                    \
	X(tails_if)                                                                                \
	X(tails_by_pointer)                                                                        \
	X(has_endbr)                                                                               \
	X(calls_popper)                                                                            \
	X(nested)                                                                                  \
	X(punned)

#define DECLARE(name) void name(void);
FUNCTIONS(DECLARE)
void around(void);

/* rax rbx rcx rdx rsi rdi rbp r8 to r15, flags; behind the call also rsp */
uint64_t kept_in[16], kept_out[17];
unsigned char *kept_area, *kept_area_out;
void (*kept_function)(void);

static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Something in every vector and mask register, three numbers on the x87 stack, another rounding. */
static void fill_area(void)
{
	uint32_t a, b, c, d;
	uint64_t has;

	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	has = a & 0xe7;
	memset(kept_area, 0, AREA);
	memcpy(kept_area, &(uint16_t){0x37f}, 2);	   /* FCW */
	memcpy(kept_area + 2, &(uint16_t){5 << 11}, 2);	   /* FSW: the top is register 5 */
	kept_area[4] = 0xe0;				   /* 5, 6 and 7 are in use */
	memcpy(kept_area + 24, &(uint32_t){0x7fa0}, 4);   /* MXCSR: to zero; inexact was seen */
	for (int i = 0; i < 3; i++) {
		uint64_t mantissa = any() | 1ull << 63;

		memcpy(kept_area + 32 + 16 * i, &mantissa, 8);
		memcpy(kept_area + 40 + 16 * i, &(uint16_t){0x3fff}, 2);
	}
	for (int i = 160; i < 160 + 256; i++)
		kept_area[i] = (unsigned char)any();
	for (unsigned part = 2; part < 8; part++) {
		if (!(has >> part & 1))
			continue;
		__cpuid_count(0xd, part, a, b, c, d);
		for (unsigned i = 0; i < a && b + i < AREA; i++)
			kept_area[b + i] = (unsigned char)any();
	}
	memcpy(kept_area + LEGACY, &has, 8);
}

struct wrong {
	unsigned long registers, flags, stack, state;
	uint64_t which; /* flags that were changed */
};

static void try_with(uint64_t flags, struct wrong *w)
{
	static uint64_t stack;

	for (int i = 0; i < 15; i++)
		kept_in[i] = any();
	kept_in[15] = flags | ALWAYS;
	memset(kept_area_out, 0, AREA);
	around();
	w->registers += memcmp(kept_in, kept_out, 15 * sizeof(*kept_in)) != 0;
	/* TF is a debugger's */
	if ((kept_out[15] ^ kept_in[15]) & ~0x100ull) {
		w->flags++;
		w->which |= kept_out[15] ^ kept_in[15];
	}
	w->stack += stack && stack != kept_out[16];
	stack = kept_out[16];
	/* where an instruction of x87 was is not state that programs hold, nor which parts are in use */
	memcpy(kept_area_out + 6, kept_area + 6, 18);
	memcpy(kept_area_out + 28, kept_area + 28, 4);
	memcpy(kept_area_out + LEGACY, kept_area + LEGACY, 64);
	memcpy(kept_area_out + 416, kept_area + 416, 96);
	w->state += memcmp(kept_area, kept_area_out, AREA) != 0;
}

static volatile sig_atomic_t ends;

static void end(int signal)
{
	ends = 1;
}

static int try(const char *name, void (*f)(void), int rounds)
{
	static const uint64_t bit[] = {1, 4, 16, 64, 128, 2048};
	struct wrong w = {0};
	unsigned long calls = 0;

	kept_function = f;
	for (int k = 0; k < rounds; k++)
		for (unsigned n = 0; n < 256; n++, calls++) {
			uint64_t flags = (n & 64 ? DIRECTION : 0) | (n & 128 ? ALIGNMENT : 0);

			for (int i = 0; i < 6; i++)
				flags |= n >> i & 1 ? bit[i] : 0;
			try_with(flags, &w);
		}
	if (w.registers || w.flags || w.stack || w.state)
		printf("%s: of %lu calls %lu changed registers, %lu flags (0x%lx), %lu the stack, %lu other state\n",
		       name, calls, w.registers, w.flags, (unsigned long)w.which, w.stack, w.state);
	return w.registers || w.flags || w.stack || w.state;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, wrong = 0;

	signal(SIGTERM, end);
	signal(SIGALRM, end);
	alarm(60);

	kept_area = aligned_alloc(64, AREA);
	kept_area_out = aligned_alloc(64, AREA);
	if (!kept_area || !kept_area_out)
		return 2;
	fill_area();
#define TRY(name) wrong |= try(#name, name, rounds ? rounds : 1);
	do {
		FUNCTIONS(TRY)
	} while (!rounds && !wrong && !ends);
	puts(wrong ? "not kept" : "all is kept");
	return wrong;
}
