/* SPDX-License-Identifier: MIT */
/* Finding the system calls by which a program forbids itself something, and leading them through
 * the area. */
#include "arch/gate.h"

#include <string.h>

#include "arch/area.h"
#include "arch/emit.h"
#include "arch/insn.h"
#include "core/rare.h"

#define JUMP 5

_Static_assert(DT_GATES *DT_GATE_SIZE <= DT_AREA_STUB - DT_AREA_GATES, "the gates fit");

static const uint8_t system_call[2] = {0x0f, 0x05};

/* mov $157, %eax and mov $317, %eax: by enum dt_gate_what */
static const uint8_t load[2][JUMP] = {{0xb8, 0x9d}, {0xb8, 0x3d, 0x01}};
/* mov %r9, %r8; mov 8(%rsp), %r9; syscall: only the second is replaced */
static const uint8_t end_of_syscall[] = {0x4d, 0x89, 0xc8, 0x4c, 0x8b,
					 0x4c, 0x24, 0x08, 0x0f, 0x05};

/* pop %rdx; mov $58, %eax; syscall; push %rdx: the second is replaced */
static const uint8_t vfork_of_musl[] = {0x5a, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0x52};
/* and $-16, %rsi; sub $8, %rsi; mov %rcx, (%rsi); syscall; test %eax, %eax: what is before the
 * system call is replaced */
static const uint8_t clone_of_musl[] = {0x48, 0x83, 0xe6, 0xf0, 0x48, 0x83, 0xee, 0x08,
					0x48, 0x89, 0x0e, 0x0f, 0x05, 0x85, 0xc0};

/* Looks whether an instruction does the same at another address. */
static bool is_movable(const struct dt_insn *in)
{
	return (in->kind == DT_INSN_PLAIN || in->kind == DT_INSN_NOP) && !in->relative;
}

/* Returns how many bytes of movable instructions lead from code to a system call; 0: something else
 * comes first. */
static size_t to_call(const uint8_t *code, size_t size)
{
	struct dt_insn in;
	size_t n = 0;

	while (n + 2 <= size && n <= DT_GATE_MOVED) {
		if (memcmp(code + n, system_call, 2) == 0)
			return n;
		if (!dt_insn_decode(&in, code + n, size - n, n) || !is_movable(&in))
			return 0;
		n += in.length;
	}
	return 0;
}

/* Looks whether the instruction at `at', which was found by its second byte, loads the number. */
static bool is_loaded(const uint8_t *code, size_t size, size_t at, const uint8_t *what,
		      struct dt_gate *out)
{
	if (size - at < JUMP || memcmp(code + at, what, JUMP) != 0)
		return false;
	/* with a prefix before it, it loads another register, or a longer number */
	if (at && (code[at - 1] & 0xf0) == 0x40)
		return false;
	*out = (struct dt_gate){at, (uint32_t)to_call(code + at, size - at)};
	return out->length != 0;
}

/* Code that is known as a whole, of which `length' bytes from `skip' on are replaced. */
struct known {
	const uint8_t *code;
	size_t size;
	uint32_t skip, length;
};

/* Finds the next place of that code. */
static bool next_known(const uint8_t *code, size_t size, const struct known *k, size_t *from,
		       struct dt_gate *out)
{
	const uint8_t *p = dt_rare_find(code + *from, size - *from, k->code, k->size);

	if (!p) {
		*from = size;
		return false;
	}
	*from = (size_t)(p - code) + 1;
	*out = (struct dt_gate){*from - 1 + k->skip, k->length};
	return true;
}

bool dt_gate_scan(const uint8_t *code, size_t size, enum dt_gate_what what, size_t *from,
		  struct dt_gate *out)
{
	static const struct known known[DT_GATE_WHATS] = {
		[DT_GATE_VFORK] = {vfork_of_musl, sizeof(vfork_of_musl), 1, JUMP},
		[DT_GATE_CLONE] = {clone_of_musl, sizeof(clone_of_musl), 0, 11},
		[DT_GATE_SYSCALL] = {end_of_syscall, sizeof(end_of_syscall), 3, JUMP},
	};

	if (known[what].code)
		return next_known(code, size, &known[what], from, out);
	while (*from < size) {
		const uint8_t *p = memchr(code + *from, load[what][1], size - *from);
		size_t at;

		if (!p)
			break;
		at = (size_t)(p - code);
		*from = at + 1;
		if (at && is_loaded(code, size, at - 1, load[what], out))
			return true;
	}
	*from = size;
	return false;
}

bool dt_gate_function(const uint8_t *code, size_t size, struct dt_gate *out)
{
	size_t begin[64], n = 0, at = 0;
	struct dt_insn in;

	while (at + 2 <= size && memcmp(code + at, system_call, 2) != 0) {
		if (n == 64 || !dt_insn_decode(&in, code + at, size - at, at) ||
		    in.kind == DT_INSN_SYSCALL || (in.kind != DT_INSN_ENDBR && !is_movable(&in)))
			return false;
		begin[n++] = at;
		at += in.length;
	}
	if (at + 2 > size)
		return false;
	while (n > 0 && at - begin[n - 1] < JUMP)
		n--;
	if (n == 0 || at - begin[n - 1] > DT_GATE_MOVED)
		return false;
	*out = (struct dt_gate){begin[n - 1], (uint32_t)(at - begin[n - 1])};
	return true;
}

void dt_gate_write(uint8_t out[DT_GATE_SIZE], uint64_t address, const uint8_t *moved, size_t length,
		   uint64_t call, uint64_t back)
{
	static const uint8_t over[] = {0x48, 0x8d, 0x64, 0x24, 0x80}; /* lea -128(%rsp), %rsp */
	static const uint8_t again[] = {0x48, 0x8d, 0xa4, 0x24,
					0x80, 0,    0,	  0}; /* lea 128(%rsp), %rsp */
	struct dt_emit o = {.bytes = out, .room = DT_GATE_SIZE, .address = address};

	memset(out, 0, DT_GATE_SIZE);
	dt_emit_bytes(&o, moved, length);
	/* the red zone may be in use */
	dt_emit_bytes(&o, over, sizeof(over));
	dt_emit_byte(&o, 0xe8);
	dt_emit_u32(&o, (uint32_t)(call - (dt_emit_here(&o) + 4)));
	dt_emit_bytes(&o, again, sizeof(again));
	dt_emit_jump(&o, back);
}
