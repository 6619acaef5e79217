// SPDX-License-Identifier: MIT
/* See taken.h. */
#include "instrument/taken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST                                                                                       \
	(1u << 28) /* labels with this number or a higher one, which no compiler makes, count as   \
		      taken */

static bool begins(const char *p, const char *prefix)
{
	return strncmp(p, prefix, strlen(prefix)) == 0;
}

static const char *skip(const char *p)
{
	return p + strspn(p, " \t");
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *next_line(const char *p)
{
	return (const char *)rawmemchr(p, '\n') + 1;
}

/* Returns the number of a label; p is at its first digit, after .L. */
static uint32_t number(const char *p)
{
	uint64_t n = 0;

	for (; digit(*p) && n < MOST; p++)
		n = 10 * n + (uint64_t)(*p - '0');
	return n < MOST ? (uint32_t)n : MOST;
}

/* How a label is taken: bits of taken.how. IN_TABLE: in a switch's table. */
enum { IN_TABLE = 1, ELSEWHERE = 2 };

static void take(struct taken *t, uint32_t label, uint8_t how)
{
	if (label >= t->labels) {
		size_t labels = 2 * (size_t)label + 1024;
		uint8_t *more = realloc(t->how, labels);

		if (!more) {
			fputs("devtrace-as: out of memory\n", stderr);
			exit(1);
		}
		memset(more + t->labels, 0, labels - t->labels);
		t->how = more;
		t->labels = labels;
	}
	t->how[label] |= how;
}

/* Says whether the line is a jump or call, which does not take the addresses of labels that it
 * names: an indirect jump names a table, whose label is that of data. */
static bool jumps(const char *q)
{
	return *q == 'j' || begins(q, "call") || begins(q, "loop") || begins(q, "xbegin") ||
	       begins(q, "bnd ") || begins(q, "notrack ");
}

/* Says whether the line's section is one for debuggers or unwinders, whose labels are never jumped
 * to; apart: the answer for the line before. */
static bool is_apart(const char *q, bool apart)
{
	if (begins(q, ".section"))
		return begins(skip(q + 8), ".debug") || begins(skip(q + 8), ".gcc_except_table") ||
		       begins(skip(q + 8), ".eh_frame");
	return apart && !begins(q, ".text") && !begins(q, ".data") && !begins(q, ".bss") &&
	       !begins(q, ".previous") && !begins(q, ".popsection");
}

/* Says whether the line is a directive that writes words of data. */
static bool is_word(const char *q)
{
	static const char *const words[] = {".long",  ".quad",	".value", ".byte",
					    ".4byte", ".8byte", ".2byte"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (begins(q, words[i]))
			return true;
	return false;
}

void taken_read(struct taken *t, const char *in, const char *end)
{
	bool apart = false, table = false;

	t->made = true;
	for (const char *p = in; p < end; p = next_line(p)) {
		const char *q = skip(p), *stop = rawmemchr(q, '\n');
		uint8_t how;

		if (*q == '.' && q > p)
			apart = is_apart(q, apart);
		if (q == p && *q != '#') /* a label; that of a table is local */
			table = begins(q, ".L") && digit(q[2]);
		if (apart || q == p || *q == '#' || begins(q, ".loc") || begins(q, ".cfi") ||
		    jumps(q))
			continue;
		how = table && is_word(q) ? IN_TABLE : ELSEWHERE;
		while ((q = memmem(q, (size_t)(stop - q), ".L", 2)) != NULL) {
			q += 2;
			if (digit(*q) && number(q) < MOST)
				take(t, number(q), how);
		}
	}
}

void taken_free(struct taken *t)
{
	free(t->how);
}

static uint8_t how_taken(const struct taken *t, uint32_t label)
{
	return label >= MOST ? ELSEWHERE : label < t->labels ? t->how[label] : 0;
}

/* Says whether the instruction is like `mov (%rax), %rsp' or `add %rcx, %rsp', which neither make
 * nor end an ordinary frame. */
static bool moves_stack(const char *q, const char *stop)
{
	const char *to = memmem(q, (size_t)(stop - q), "%rsp", 4);

	if (!to || to[-1] == '(' ||
	    (to[4] != '\n' && to[4] != '\r' && to[4] != ' ' && to[4] != '\t'))
		return false;
	if (begins(q, "mov"))
		return memchr(q, '(', (size_t)(to - q)) != NULL;
	return begins(q, "add") && memchr(q, '%', (size_t)(to - q)) != NULL;
}

/* Says whether code follows the directive at q; code: the answer for the one before. */
static bool in_code(const char *q, bool code)
{
	if (begins(q, ".section"))
		return begins(skip(q + 8), ".text");
	return begins(q, ".text") || (code && !begins(q, ".data") && !begins(q, ".bss"));
}

int taken_leaves(const struct taken *t, const char *p, const char *end)
{
	int leaves = TAKEN_LEAVES_ALL;
	bool code = true;

	for (; p < end; p = next_line(p)) {
		const char *q = skip(p);
		uint8_t how;

		if (*q == '.' && q > p)
			code = in_code(q, code);
		if (q > p && moves_stack(q, rawmemchr(q, '\n')))
			return TAKEN_LEAVES_NONE;
		if (q > p || !code || !begins(q, ".L") || !digit(q[2]))
			continue;
		how = how_taken(t, number(q + 2));
		if (how & ELSEWHERE)
			return TAKEN_LEAVES_NONE;
		if (how)
			leaves = TAKEN_LEAVES_MEMORY;
	}
	return leaves;
}

/* Says whether the instruction writes to no register but its last operand. */
static bool is_simple(const char *q)
{
	static const char *const names[] = {"mov", "lea", "add",  "sub", "xor",
					    "and", "or",  "test", "cmp", "pop"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(q, names[i]))
			return true;
	return false;
}

/* Returns the last operand; NULL: there is a comment or another instruction on the line. */
static const char *last_operand(const char *q)
{
	const char *end = rawmemchr(q, '\n'), *p;

	while (end > q && strchr(" \t\r", end[-1]))
		end--;
	if (memchr(q, '#', (size_t)(end - q)) || memchr(q, ';', (size_t)(end - q)))
		return NULL;
	for (p = end; p > q && p[-1] != ',' && p[-1] != ' ' && p[-1] != '\t'; p--)
		if (p[-1] == ')') /* memory */
			while (p > q && p[-1] != '(')
				p--;
	return p;
}

/* Says whether the register at a is the 64-bit register at `whole' or a part of it. r8 to r15 are
 * compared by number. */
static bool is_part(const char *a, const char *whole)
{
	const char *x = a + 1 + (a[1] == 'r' || a[1] == 'e'), *y = whole + 2;

	if (digit(*y) || digit(*x))
		return digit(*x) && digit(*y) && strtoul(x, NULL, 10) == strtoul(y, NULL, 10);
	/* rax, eax, ax, al, ah; rsi, esi, si, sil */
	return x[0] == y[0] && (x[1] == y[1] || x[1] == 'l' || x[1] == 'h' || x[0] == 's');
}

bool taken_loaded(const char *begin, const char *line, const char *reg)
{
	for (int lines = 0; lines < 16 && line > begin; lines++) {
		const char *end = line - 1, *p = end, *q, *to, *from;

		while (p > begin && p[-1] != '\n')
			p--;
		line = p;
		q = skip(p);
		if (*q == '.' && (q > p || !digit(q[2]))) /* a directive, or a debugger's label */
			continue;
		if (q == p || !is_simple(q) || !(to = last_operand(q)))
			return false;
		if (*to != '%' || begins(q, "test") || begins(q, "cmp") || !is_part(to, reg))
			continue;
		from = skip(q + strcspn(q, " \t\n"));
		return (begins(q, "movq\t") || begins(q, "mov\t")) && !is_part(reg, "%rsp") &&
		       memchr(from, '(', (size_t)(to - from)) && from < to && to[-1] == ' ' &&
		       to[-2] == ',' && !memchr(from, ',', (size_t)(to - 2 - from)) &&
		       !memmem(from, (size_t)(to - from), ".L", 2);
	}
	return false;
}
