/* SPDX-License-Identifier: MIT */
#include "arch/register.h"

#include <string.h>

#include "core/capture.h"
#include "core/error.h"

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

/* The names of the first eight registers, by size: 8, 4, 2, 1 bytes. */
static const char *const old_name[4][8] = {
	{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"},
	{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"},
	{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"},
	{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"},
};
static const char *const high_name[4] = {"ah", "ch", "dh", "bh"};

bool dt_register_read(const char *s, size_t n, uint8_t *reg, uint8_t *bytes, uint8_t *from)
{
	static const uint8_t size[4] = {8, 4, 2, 1};
	size_t number_end = 1, v;

	*from = 0;
	for (uint8_t k = 0; k < 4; k++)
		for (uint8_t i = 0; i < 8; i++)
			if (is(s, n, old_name[k][i])) {
				*reg = i;
				*bytes = size[k];
				return true;
			}
	for (uint8_t i = 0; i < 4; i++)
		if (is(s, n, high_name[i])) {
			*reg = i;
			*bytes = *from = 1;
			return true;
		}
	*bytes = 8;
	if (is(s, n, "rip")) {
		*reg = DT_REGISTER_RIP;
		return true;
	}
	/* r8 to r15, maybe followed by d, w or b; xmm0, ymm0, zmm0 and the like */
	if (n > 3 && !memcmp(s + 1, "mm", 2) && (s[0] == 'x' || s[0] == 'y' || s[0] == 'z')) {
		*bytes = s[0] == 'x' ? 16 : s[0] == 'y' ? 32 : 64;
		number_end = 3;
	} else if (n < 2 || s[0] != 'r') {
		return false;
	}
	for (v = 0; number_end < n && is_digit(s[number_end]) && v < 100; number_end++)
		v = v * 10 + (size_t)(s[number_end] - '0');
	if (*bytes > 8) {
		if (number_end != n || v > 31)
			return false;
		*reg = (uint8_t)(DT_REGISTER_XMM0 + v);
		return true;
	}
	if (v < 8 || v > 15 || n - number_end > 1)
		return false;
	*reg = (uint8_t)v;
	if (number_end == n)
		return true;
	*bytes = s[number_end] == 'd' ? 4 : s[number_end] == 'w' ? 2 : s[number_end] == 'b' ? 1 : 0;
	return *bytes != 0;
}

const char *dt_register_write(char *out, size_t size, uint8_t reg, uint8_t bytes, uint8_t from)
{
	static const char *const suffix[4] = {"", "d", "w", "b"};
	int k = bytes == 8 ? 0 : bytes == 4 ? 1 : bytes == 2 ? 2 : 3;

	if (reg == DT_REGISTER_RIP)
		return "rip";
	if (reg >= DT_REGISTER_XMM0) {
		dt_format(out, size, "%cmm%u",
			  bytes == 64	? 'z'
			  : bytes == 32 ? 'y'
					: 'x',
			  reg - DT_REGISTER_XMM0);
		return out;
	}
	if (from)
		return high_name[reg & 3];
	if (reg < 8)
		return old_name[k][reg];
	dt_format(out, size, "r%u%s", reg, suffix[k]);
	return out;
}
