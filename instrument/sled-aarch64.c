// SPDX-License-Identifier: MIT
/*
 * Text for aarch64: how it is told from that for x86-64, and the instructions at which a function
 * begins and is left. A sled is one nop before such an instruction, to which the controller gives a
 * branch to a stub of the site (doc/sleds.md).
 */
#include "instrument/sled-work.h"

#include <stdio.h>

/* Says whether compilers wrote the text for aarch64: gcc's begins with .arch, clang's has remarks
 * as only that processor's have. */
bool sled_aarch64_is(const char *in, const char *end)
{
	for (const char *p = in; p < end; p = next_line(p)) {
		const char *q = skip(p);

		if (begins(q, ".arch\tarmv") || begins(q, ".arch armv") || begins(q, "// %bb.0"))
			return true;
		if (begins(q, ".cfi_endproc") || begins(q, ".size"))
			break;
	}
#ifdef __aarch64__
	return true; /* clang's, without remarks */
#else
	return false;
#endif
}

/* Says whether the mnemonic at q is this one, whatever its operands are. */
static bool is(const char *q, const char *mnemonic)
{
	size_t n = strlen(mnemonic);

	return begins(q, mnemonic) && (blank(q[n]) || q[n] == '\n' || q[n] == '\r');
}

/* Says whether this is an instruction at which an indirect call may arrive: the entry's sled is
 * behind it, and behind the signing of the return address. gcc writes them as hints. */
static bool lands(const char *q)
{
	const char *operand;

	if (is(q, "bti") || is(q, "paciasp") || is(q, "pacibsp"))
		return true;
	if (!is(q, "hint"))
		return false;
	operand = skip(q + 4);
	operand += *operand == '#';
	return begins(operand, "34") || begins(operand, "25") || begins(operand, "27") ||
	       begins(operand, "38");
}

/* Writes the sled of a way out before the instruction at q. */
static void write_exit(struct scan *s, const char *q, uint32_t kind)
{
	uint32_t n = sled_site_add(s, kind);

	sled_copy_to(s, q);
	text_put_label(s->out, ".Ldtr_", n);
	text_put(s->out, ":nop;");
}

/*
 * Says whether what the register at `reg' has was computed for a switch: gcc adds an entry of the
 * table to a label's address. A tail call's target was moved or loaded. p: the line of the branch.
 */
static bool from_table(const struct scan *s, const char *p, struct str reg)
{
	if (p < s->func_text) /* a cold part that stands before its function */
		return true;
	while (p > s->func_text) {
		const char *q;

		for (p--; p > s->func_text && p[-1] != '\n'; p--)
			;
		q = skip(p);
		if (!blank(*p) || !letter(*q))
			continue;
		for (; letter(*q); q++)
			;
		if (same(symbol(skip(q)), reg))
			return begins(skip(p), "add");
	}
	return false; /* an argument */
}

static void branch(struct scan *s, const char *q)
{
	struct str to = symbol(skip(q + 1));

	/* nearly all branches are to .L labels */
	if (!to.len || *to.p == '"' || digit(*to.p) ||
	    (str_begins(to, ".L") && !sled_is_local_alias(to)) || sled_is_cold(s, to))
		return;
	if (sled_is_internal(to))
		sled_mark_unseen_end(s);
	else
		write_exit(s, q, SITE_TAIL);
}

/*
 * Says whether the label at p is one of code: .L and a number, and what stands behind it is not the
 * table of a switch, which gcc numbers alike. Its definition is mostly close behind its use.
 */
static bool is_code_label(const struct scan *s, const char *p)
{
	struct str name = symbol(p);
	char line[64];
	const char *at;
	size_t n;

	if (!begins(p, ".L") || !digit(p[2]) || name.len > sizeof(line) - 4)
		return false;
	n = (size_t)snprintf(line, sizeof(line), "\n%.*s:\n", (int)name.len, name.p);
	at = memmem(p, (size_t)(s->end - p), line, n);
	if (!at)
		at = memmem(s->begin, (size_t)(s->end - s->begin), line, n);
	at = at ? skip(at + n) : p;
	return !(begins(at, ".byte\t(.L") || begins(at, ".2byte\t(.L") ||
		 begins(at, ".4byte\t(.L") || begins(at, ".hword\t(.L") ||
		 begins(at, ".word\t(.L"));
}

/*
 * Says whether the text may have computed gotos: the address of a label of code is taken. gcc has
 * such labels in tables or makes their addresses, clang says so in a remark; without remarks,
 * nothing is known of clang's text.
 */
static bool has_gotos(const struct scan *s)
{
	static const char *const takes[] = {"\t.xword\t", ":lo12:"};
	size_t len = (size_t)(s->end - s->begin);

	if (s->clang)
		return memmem(s->begin, len, "Block address taken", 19) ||
		       !memmem(s->begin, len, "// %bb.", 7);
	for (size_t i = 0; i < sizeof(takes) / sizeof(*takes); i++) {
		size_t n = strlen(takes[i]);
		const char *p = s->begin;

		while ((p = memmem(p, (size_t)(s->end - p), takes[i], n)) != NULL)
			if (is_code_label(s, p += n))
				return true;
	}
	return false;
}

/*
 * A branch through a register leads to another function, to a case of a switch or to a label whose
 * address was taken. gcc makes tail calls through x16 and x17 only.
 */
static void branch_register(struct scan *s, const char *p, const char *q)
{
	struct str reg = symbol(skip(q + 2));
	bool may = s->clang || (reg.len == 3 && (str_begins(reg, "x16") || str_begins(reg, "x17")));

	if (!s->gotos)
		s->gotos = has_gotos(s) ? 1 : -1;
	if (may && s->gotos < 0 && !from_table(s, p, reg))
		write_exit(s, q, SITE_JUMP);
	else
		sled_mark_unseen_end(s);
}

bool sled_aarch64_instruction(struct scan *s, const char *p, const char *q)
{
	if (s->pending) {
		if (lands(q) || (s->patchable && is(q, "nop")))
			return false;
		sled_flush(s, p);
	}
	if (!s->func)
		return true;
	if (is(q, "ret") || is(q, "retaa") || is(q, "retab"))
		write_exit(s, q, SITE_RETURN);
	else if (is(q, "b"))
		branch(s, q);
	else if (is(q, "br"))
		branch_register(s, p, q);
	else if (begins(q, "braa") || begins(q, "brab"))
		sled_mark_unseen_end(s);
	return true;
}
