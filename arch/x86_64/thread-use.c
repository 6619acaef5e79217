/* SPDX-License-Identifier: MIT */
#include "arch/thread-use.h"

#include <string.h>

#define MOV_EAX	 0xb8
#define MOV_EDI	 0xbf
#define MOV_AL	 0xb0
#define PUSH	 0x6a /* one byte */
#define NEAR	 64   /* bytes from there to the system call */
#define FS	 0x64
#define ABSOLUTE 0x25 /* SIB: no base, no index, 32 bits of displacement follow */

bool dt_code_calls_rseq(const uint8_t *code, size_t size)
{
	static const uint8_t number[] = {0x4e, 0x01, 0, 0}; /* 334 */
	const uint8_t *at = code, *p;

	while ((p = memmem(at, size - (size_t)(at - code), number, sizeof(number))) != NULL) {
		if (p > code && (p[-1] == MOV_EAX || p[-1] == MOV_EDI))
			return true;
		at = p + 1;
	}
	return false;
}

bool dt_code_uses_block(const uint8_t *code, size_t size, uint32_t low, uint32_t high)
{
	const uint8_t *at = code, *p;

	while ((p = memchr(at, ABSOLUTE, size - (size_t)(at - code))) != NULL) {
		size_t i = (size_t)(p - code);
		uint32_t offset;

		at = p + 1;
		if (i < 3 || size - i < 5 || (p[-1] & 0xc7) != 0x04)
			continue;
		memcpy(&offset, p + 1, sizeof(offset));
		/* the prefix, perhaps others, and one to three bytes that say what is done */
		if (offset >= low && offset < high &&
		    memchr(code + (i < 7 ? 0 : i - 7), FS, i < 7 ? i : 7))
			return true;
	}
	return false;
}

size_t dt_code_clones(const uint8_t *code, size_t size, size_t end)
{
	static const uint8_t call[] = {0x0f, 0x05};
	size_t n = 0;

	for (size_t i = 0; i < size - end && i + 1 < size; i++) {
		size_t left = size - i;

		if (code[i + 1] != 56 && code[i + 1] != 58)
			continue;
		if (code[i] != MOV_AL && code[i] != PUSH &&
		    (code[i] != MOV_EAX || left < 5 || code[i + 2] || code[i + 3] || code[i + 4]))
			continue;
		n += memmem(code + i, left < NEAR ? left : NEAR, call, sizeof(call)) != NULL;
	}
	return n;
}
