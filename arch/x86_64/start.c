/* SPDX-License-Identifier: MIT */
#include "arch/start.h"

#include <string.h>

#include "arch/object.h"
#include "core/site.h"

/* The instructions that are read, and where they are. */
struct reader {
	const uint8_t *code, *end;
	uint64_t address;
};

/* Goes past these n bytes; returns false if others are there. */
static bool skip(struct reader *r, const char *bytes, size_t n)
{
	if ((size_t)(r->end - r->code) < n || memcmp(r->code, bytes, n))
		return false;
	r->code += n;
	r->address += n;
	return true;
}

#define SKIP(r, bytes) skip(r, bytes, sizeof(bytes) - 1)

/* Reads the 32 bits that end an instruction. */
static bool take(struct reader *r, bool relative, uint64_t *value)
{
	uint32_t word;

	if (r->end - r->code < 4)
		return false;
	memcpy(&word, r->code, 4);
	*value = relative ? dt_site_distance(r->code, r->address + 4) : word;
	r->code += 4;
	r->address += 4;
	return true;
}

/* Reads an address that is put into a register, by lea or by mov; `none', bytes that clear the
 * register instead, may be there as well. */
static bool pass(struct reader *r, const char *lea, const char *mov, const char *none,
		 uint64_t *value)
{
	*value = 0;
	if (none && skip(r, none, strlen(none)))
		return true;
	if (skip(r, lea, 3))
		return take(r, true, value);
	return skip(r, mov, 3) && take(r, false, value);
}

bool dt_start_code(const uint8_t *code, size_t size, uint64_t address, struct dt_start_code *out)
{
	unsigned pad = dt_landing_pad(code, size);
	struct reader r = {code + pad, code + size, address + pad};
	uint64_t constructors, destructors;

	/* xor %ebp, %ebp; mov %rdx, %r9; pop %rsi; mov %rsp, %rdx; and $-16, %rsp; push %rax;
	 * push %rsp */
	if (!SKIP(&r, "\x31\xed\x49\x89\xd1\x5e\x48\x89\xe2\x48\x83\xe4\xf0\x50\x54"))
		return false;
	/* r8 and rcx: functions of the program until glibc 2.33, and nothing since then */
	if (!pass(&r, "\x4c\x8d\x05", "\x49\xc7\xc0", "\x45\x31\xc0", &destructors) ||
	    !pass(&r, "\x48\x8d\x0d", "\x48\xc7\xc1", "\x31\xc9", &constructors) ||
	    !pass(&r, "\x48\x8d\x3d", "\x48\xc7\xc7", NULL, &out->main))
		return false;
	out->by_slot = SKIP(&r, "\xff\x15"); /* call *slot(%rip) */
	if (!out->by_slot && !SKIP(&r, "\xe8") && !SKIP(&r, "\x67\xe8"))
		return false;
	if (!take(&r, true, &out->call) || !SKIP(&r, "\xf4")) /* hlt */
		return false;
	out->length = r.address - address;
	return true;
}
