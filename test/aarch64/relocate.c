// SPDX-License-Identifier: MIT
/*
 * Random stretches of code, moved by up to 120 MB to both sides (arch/aarch64/relocate.c): the
 * original and the copy are run from the same state, and must leave the same.
 * usage: relocate SEED ROUNDS <WORDS: instructions of real code, of which those that only compute
 * with registers are used
 *
 * In one arena lie the stretches, a literal pool, two functions that are called, what begins a run
 * and what ends it. Every way leads to the end of the stretch or beyond, so each run ends.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/insn.h"
#include "arch/relocate.h"

#define ARENA  (256u << 20)
#define MIDDLE (128u << 20)
#define MOST   20

struct state {
	uint64_t x[32]; /* the last one: flags */
	unsigned char v[32][16];
};

/* Sets all registers but x30 from *s, and jumps to `code'; what ends a run comes back here. */
void run(struct state *s, const void *code);
extern const char run_leave[], run_leave_end[];
struct state *run_into;

__asm__(".text\n.balign 4\n.globl run, run_leave, run_leave_end\n"
	"run:\n"
	"stp x29, x30, [sp, #-176]!\nstp x19, x20, [sp, #16]\nstp x21, x22, [sp, #32]\n"
	"stp x23, x24, [sp, #48]\nstp x25, x26, [sp, #64]\nstp x27, x28, [sp, #80]\n"
	"stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\n"
	"stp d14, d15, [sp, #144]\nstr x18, [sp, #160]\n"
	"mov x30, x1\nldr x1, [x0, #248]\nmsr nzcv, x1\nadd x1, x0, #256\n"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
	"24, 25, 26, 27, 28, 29, 30, 31\nldr q\\n, [x1, #16 * \\n]\n.endr\n"
	".irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
	"25, 26, 27, 28, 29\nldr x\\n, [x0, #8 * \\n]\n.endr\n"
	"ldr x0, [x0]\nbr x30\n"
	/* copied into the arena: x30 is on the stack, and x30 says where the state goes */
	"run_leave:\n"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
	"24, 25, 26, 27, 28, 29\nstr x\\n, [x30, #8 * \\n]\n.endr\n"
	"ldr x0, [sp], #16\nstr x0, [x30, #240]\nmrs x0, nzcv\nstr x0, [x30, #248]\nadd x1, x30, #256\n"
	".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
	"24, 25, 26, 27, 28, 29, 30, 31\nstr q\\n, [x1, #16 * \\n]\n.endr\n"
	"ldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\nldp x23, x24, [sp, #48]\n"
	"ldp x25, x26, [sp, #64]\nldp x27, x28, [sp, #80]\nldp d8, d9, [sp, #96]\n"
	"ldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
	"ldr x18, [sp, #160]\nldp x29, x30, [sp], #176\nret\n"
	"run_leave_end:\n");

static uint8_t *arena;
static uint32_t *word;
static size_t words, moved, refused, instructions;

static uint64_t random64(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

static void put(uint8_t *at, uint32_t w)
{
	memcpy(at, &w, 4);
}

/* Looks whether a word only computes: registers in, registers out, and leaves sp, x28 and what of
 * its group is not for programs alone. */
static bool computes(uint32_t w)
{
	bool immediate = (w & 0x1c000000) == 0x10000000, reg = (w & 0x0e000000) == 0x0a000000,
	     vector = (w & 0x0e000000) == 0x0e000000;
	struct dt_insn in;

	dt_insn_decode(&in, (const uint8_t *)&w, 4, 0);
	return !in.relative && (immediate || reg || vector) && (w & 31) != 31 && (w & 31) != 28 &&
	       (w >> 16); /* pac depends on sp only, which is the same */
}

/* An instruction that depends on where it is, of the stretch of n at `at'; i is its number. */
static uint32_t relative(uint64_t at, unsigned i, unsigned n, uint64_t pool, uint64_t function)
{
	uint64_t here = at + 4 * i;
	uint32_t reg = (uint32_t)random() % 28, skip = 1 + (uint32_t)random() % (n - i);
	uint32_t literal =
		(uint32_t)((pool + 16 * (uint64_t)(random() % 64) - here) >> 2) & 0x7ffff;
	static const uint32_t load[] = {0x18000000, 0x58000000, 0x98000000, 0x1c000000,
					0x5c000000, 0x9c000000, 0xd8000000};

	switch (random() % 9) {
	case 0: /* adr, adrp */
		return (random() & 1 ? 0x90000000 : 0x10000000) |
		       ((uint32_t)random() & 0x60ffffe0) | reg;
	case 1:
	case 2:
		return load[random() % 7] | literal << 5 | reg;
	case 3:
		return 0x54000000 | skip << 5 | ((uint32_t)random() & 15);
	case 4: /* cbz, cbnz */
		return 0x34000000 | ((uint32_t)random() & 0x81000000) | skip << 5 | reg;
	case 5: /* tbz, tbnz */
		return 0x36000000 | ((uint32_t)random() & 0x81f80000) | skip << 5 | reg;
	case 6:
		return 0x14000000 | skip;
	case 7: /* bl */
		return 0x94000000 | ((uint32_t)((function - here) >> 2) & 0x3ffffff);
	}
	return 0xd63f0000 | 28 << 5; /* blr x28 */
}

static int say(const char *what, uint64_t at, unsigned n, int round)
{
	printf("# round %d: %s:", round, what);
	for (unsigned i = 0; i < n; i++)
		printf(" %08x", ((const uint32_t *)(uintptr_t)at)[i]);
	printf("\n");
	return 1;
}

static int one(int round, uint64_t leave, struct state *first)
{
	uint64_t base = (uint64_t)(uintptr_t)arena,
		 at = base + MIDDLE + 4 * (uint64_t)(random() % 4096);
	uint64_t pool = base + MIDDLE + (256 << 10), function = base + MIDDLE + (300 << 10);
	/* up to 120 MB away, and not where the stretch is */
	uint64_t far = (uint64_t)(random64() % (119u << 20)) + (1u << 20);
	uint64_t to = (random() & 1 ? at + far : at - far) & ~3ull, back, end;
	unsigned n = 1 + (unsigned)random() % MOST;
	struct state begin = *first, left[2];
	struct dt_moved m;
	struct dt_error e;
	struct dt_emit o = {.bytes = (uint8_t *)(uintptr_t)to, .room = 8192, .address = to};

	for (unsigned i = 0; i < n; i++)
		put((uint8_t *)(uintptr_t)(at + 4 * i),
		    random() % 3 ? word[(size_t)random64() % words]
				 : relative(at, i, n, pool, function));
	end = at + 4 * n;
	put((uint8_t *)(uintptr_t)end, 0x14000000 | ((uint32_t)((leave - end) >> 2) & 0x3ffffff));
	if (dt_relocate(&o, (const uint8_t *)(uintptr_t)at, 4 * n, at, NULL, 0, &m, &e) < 0) {
		refused++;
		return 0;
	}
	back = to + o.size;
	if (m.falls)
		put((uint8_t *)(uintptr_t)back,
		    0x14000000 | ((uint32_t)((end - back) >> 2) & 0x3ffffff));
	__builtin___clear_cache((char *)(uintptr_t)at, (char *)(uintptr_t)(end + 4));
	__builtin___clear_cache((char *)(uintptr_t)to, (char *)(uintptr_t)(back + 4));
	for (unsigned i = 0; i < 32; i++)
		begin.x[i] = random64();
	begin.x[28] = function + 32;
	begin.x[31] &= 0xf0000000;
	for (unsigned i = 0; i < 32; i++)
		for (unsigned j = 0; j < 16; j++)
			begin.v[i][j] = (unsigned char)random();
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *door = arena + MIDDLE + (320 << 10);
		struct dt_emit d = {
			.bytes = door, .room = 64, .address = (uint64_t)(uintptr_t)door};

		memset(&left[i], 0, sizeof(left[i]));
		*run_into = left[i];
		/* x30 is what leads there: from the door on it is the same in both */
		dt_emit_u32(&d, 0xd2824690 | 14); /* movz x30, #0x1234 */
		dt_emit_u32(&d, 0x14000000 | ((uint32_t)(((i ? to : at) - dt_emit_here(&d)) >> 2) &
					      0x3ffffff));
		__builtin___clear_cache((char *)door, (char *)door + 64);
		run(&begin, door);
		left[i] = *run_into;
	}
	moved++;
	instructions += n;
	if (!memcmp(&left[0], &left[1], sizeof(left[0])))
		return 0;
	for (unsigned i = 0; i < 32; i++)
		if (left[0].x[i] != left[1].x[i])
			printf("# x%u: %llx, moved %llx\n", i, (unsigned long long)left[0].x[i],
			       (unsigned long long)left[1].x[i]);
	say("stretch", at, n, round);
	return say("copy", to, (unsigned)(o.size / 4), round);
}

/* What ends a run: puts x30 aside, and has it say where the state goes. */
static uint64_t write_leave(void)
{
	uint8_t *at = arena + MIDDLE + (310 << 10);
	struct dt_emit o = {.bytes = at, .room = 4096, .address = (uint64_t)(uintptr_t)at};
	uint64_t into = (uint64_t)(uintptr_t)run_into;

	dt_emit_u32(&o, 0xf81f0ffe); /* str x30, [sp, #-16]! */
	for (unsigned i = 0; i < 4; i++)
		dt_emit_u32(&o, (i ? 0xf2800000 : 0xd2800000) | i << 21 |
					(uint32_t)(into >> (16 * i) & 0xffff) << 5 | 30);
	dt_emit_bytes(&o, run_leave, (size_t)(run_leave_end - run_leave));
	return (uint64_t)(uintptr_t)at;
}

/* The functions that are called: what x30 is goes into what they compute. */
static void write_functions(void)
{
	static const uint32_t code[] = {0xaa1e0000 | 0x4 | 0x4 << 5, 0x91000484, 0xd65f03c0};

	memcpy(arena + MIDDLE + (300 << 10), code, sizeof(code));
	memcpy(arena + MIDDLE + (300 << 10) + 32, code, sizeof(code));
	for (unsigned i = 0; i < 64 * 2; i++) {
		uint64_t v = random64();

		memcpy(arena + MIDDLE + (256 << 10) + 8 * i, &v, 8);
	}
}

int dt_fail(struct dt_error *e, const char *fmt, ...)
{
	return -1;
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[2]), bad = 0;
	uint32_t w;
	uint64_t leave;
	static struct state first;

	srandom((unsigned)atoi(argv[1]));
	word = malloc(4 << 20);
	while (words < 1 << 20 && fread(&w, 4, 1, stdin) == 1)
		if (computes(w))
			word[words++] = w;
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	run_into = calloc(1, sizeof(*run_into));
	if (arena == MAP_FAILED || !run_into || words < 1000)
		return 2;
	leave = write_leave();
	write_functions();
	for (int i = 0; i < rounds && bad < 5; i++)
		bad += one(i, leave, &first);
	printf("%s - %zu stretches of %zu instructions moved, %zu refused: %d differ\n",
	       bad ? "not ok" : "ok", moved, instructions, refused, bad);
	return bad || moved < (size_t)rounds / 2;
}
