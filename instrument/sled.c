// SPDX-License-Identifier: MIT
/*
 * A compiler's text is read once, line by line, and written with sleds added. A sled is written on
 * the line that it belongs to, so that every line keeps its number; the table of sites and the
 * thunks follow at the end. What is not recognised is copied.
 *
 * A function begins at the label NAME after `.type NAME, @function`. Its entry sled is held back
 * ("pending") over directives, debug labels and endbr64, and written before the first line that
 * executes or can be jumped to: there the flags are dead, and a loop at the function's beginning
 * does not execute the sled again.
 */
#include "instrument/sled-work.h"

#include <stdlib.h>

/* --- lines --- */

/* Returns a remark that clang has on aarch64 as it has it on x86-64. */
static const char *plain(const char *q)
{
	static const char *const alike[] = {"#APP", "#NO_APP",
					    "# Start of file scope inline assembly",
					    "# End of file scope inline assembly"};

	for (size_t i = 0; *q == '/' && i < sizeof(alike) / sizeof(*alike); i++)
		if (begins(q, "//") && begins(q + 2, alike[i] + 1))
			return alike[i];
	return q;
}

static void comment(struct scan *s, const char *p, const char *q)
{
	bool scope = begins(q, "# Start of file scope inline assembly");

	if (!scope && !begins(q, "#APP"))
		return;
	s->raw = true;
	if (!s->pending || scope)
		return;
	if (sled_is_naked(p, s->end))
		sled_function_end(s);
	else
		sled_flush(s, p);
}

static void raw_line(struct scan *s, const char *q)
{
	q = plain(q);
	if (s->macro ? begins(q, ".endm") || begins(q, ".endr")
		     : *q == '#' && (begins(q, "#NO_APP") ||
				     begins(q, "# End of file scope inline assembly")))
		s->raw = s->macro = false;
}

static bool debug_label(const char *p)
{
	static const char *const names[] = {"FB",    "VL", "BI",  "BE",	 "FSB",	       "HOTB",
					    "COLDB", "M",  "PFE", "EHB", "func_begin", "patch"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(p, names[i]))
			return true;
	/* gcc's .LBB5 is a lexical block; clang's .LBB0_5 is a basic block, a target of jumps */
	if (!begins(p, "BB"))
		return false;
	for (p += 2; digit(*p); p++)
		;
	return *p == ':';
}

static void label(struct scan *s, const char *p)
{
	size_t n = s->type.len;

	s->label = p;
	s->since = 0;
	if (n && (size_t)(s->end - p) > n && memcmp(p, s->type.p, n) == 0 && p[n] == ':') {
		sled_function_begin(s, p + n + 1);
		return;
	}
	if (!s->pending)
		return;
	if (*p == '.' && p[1] == 'L') {
		if (begins(p + 2, "PFE") || begins(p + 2, "patch"))
			s->patchable = true;
		else if (!debug_label(p + 2) && !sled_is_local_alias(symbol(p)))
			sled_flush(s, p);
	} else if (digit(*p)) {
		sled_flush(s, p);
	}
}

static void type_directive(struct scan *s, const char *q)
{
	struct str name = symbol(skip(q));

	q = skip(name.p + name.len);
	if (*q != ',')
		return;
	q = skip(q + 1);
	if (begins(q, "@function") || begins(q, "%function"))
		s->type = name;
}

/* Writes a line marker at `p`, the beginning of a line: it tells the assembler the file and the
 * line that come next. */
static void write_marker(struct scan *s, const char *p)
{
	struct text *o = s->out;

	sled_copy_to(s, p);
	text_put_label(o, "# ", s->lines + 1);
	text_put(o, " \"");
	text_put(o, s->name);
	text_put(o, "\"\n");
	s->name = NULL;
	s->joined = false;
}

/*
 * Has the line marker written after the compiler's .file, which would override an earlier one. The
 * .file and the line after it are joined, so that the marker does not move the lines that follow.
 */
static void source_directive(struct scan *s, const char *p)
{
	const char *next = next_line(p);

	if (!s->name || s->joined)
		return;
	if (next < s->end && begins(next, "\t.")) {
		sled_copy_to(s, next - 1);
		text_put(s->out, ";");
		s->copied = next;
		s->joined = true;
	} else {
		write_marker(s, next);
	}
}

static void size_directive(struct scan *s, const char *q)
{
	if (s->func && same(symbol(skip(q)), s->func_name))
		sled_function_end(s);
}

/*
 * Makes the directive a comment: lld --lto-emit-asm writes .addrsig, a hint for folding identical
 * functions, which the GNU assembler does not know.
 */
static void drop(struct scan *s, const char *q)
{
	sled_copy_to(s, q);
	text_put(s->out, "#");
}

static void directive(struct scan *s, const char *p, const char *q)
{
	switch (q[1]) {
	case 'c':
		if (begins(q, ".cfi_startproc"))
			s->unwind = true;
		else if (begins(q, ".cfi_endproc"))
			s->pending = false;
		else if (begins(q, ".code"))
			s->off = !begins(q, ".code64");
		return;
	case 't':
		if (begins(q, ".type"))
			type_directive(s, q + 5);
		else if (begins(q, ".text"))
			sled_section_enter(s, q);
		return;
	case 'f':
		if (begins(q, ".file\t\""))
			source_directive(s, p);
		else if (begins(q, ".fill"))
			sled_flush(s, p);
		return;
	case 's':
		if (begins(q, ".section"))
			sled_section_enter(s, skip(q + 8));
		else if (begins(q, ".size"))
			size_directive(s, q + 5);
		else if (begins(q, ".skip") || begins(q, ".short") || begins(q, ".string"))
			sled_flush(s, p);
		return;
	case 'd':
	case 'b':
		if (begins(q, ".data") || begins(q, ".bss"))
			sled_section_enter(s, q);
		else if (begins(q, ".byte") || begins(q, ".balign"))
			sled_flush(s, p);
		return;
	case 'p':
		if (begins(q, ".p2align"))
			sled_flush(s, p);
		else if (begins(q, ".pushsection"))
			sled_section_push(s, skip(q + 12));
		else if (begins(q, ".popsection"))
			sled_section_pop(s);
		else if (begins(q, ".previous"))
			sled_section_previous(s);
		return;
	case 'i':
		if (begins(q, ".intel_syntax"))
			s->intel = true;
		else if (begins(q, ".irp"))
			s->raw = s->macro = true;
		return;
	case 'a':
		if (begins(q, ".att_syntax"))
			s->intel = false;
		else if (begins(q, ".align") || begins(q, ".ascii"))
			sled_flush(s, p);
		else if (begins(q, ".addrsig"))
			drop(s, q);
		return;
	case 'm':
	case 'r':
		if (begins(q, ".macro") || begins(q, ".rept"))
			s->raw = s->macro = true;
		return;
	case 'n':
	case 'o':
	case 'v':
	case 'z':
		if (begins(q, ".nop") || begins(q, ".org") || begins(q, ".value") ||
		    begins(q, ".zero"))
			sled_flush(s, p);
		return;
	}
}

static void instruction(struct scan *s, const char *p, const char *q)
{
	if (s->aarch64) {
		if (sled_aarch64_instruction(s, p, q))
			s->insn = q;
		return;
	}
	if (s->pending) {
		if (begins(q, "endbr64") ||
		    (s->patchable && (begins(q, "nop") || begins(q, "xchg"))))
			return;
		sled_flush(s, p);
	}
	if (s->func && (*q == 'r' || *q == 'b' || *q == 'j' || *q == 'n'))
		sled_instruction(s, p, q);
	s->insn = q;
	s->since++;
}

static void line(struct scan *s, const char *p)
{
	const char *q = skip(p);

	if (s->raw) {
		raw_line(s, q);
		if (s->func &&
		    (s->aarch64 ? *q == 'b'
				: !!memmem(p, (const char *)rawmemchr(p, '\n') - p, "jmp", 3)))
			sled_mark_unseen_end(s);
	} else if (*q == '#' || (*q == '/' && s->aarch64))
		comment(s, p, plain(q));
	else if (*q == '.' && (q > p || p[1] != 'L'))
		directive(s, p, q);
	else if (q > p && letter(*q))
		instruction(s, p, q);
	else if (q == p && *q != '\n' && *q != '\r')
		label(s, p);
}

/* --- the whole --- */

size_t sled_insert(const char *in, size_t len, const char *name, struct text *out)
{
	struct scan s = {.begin = in, .end = in + len, .copied = in, .out = out, .name = name};

	sled_compiled_head(in, s.end, &s.clang);
	s.aarch64 = sled_aarch64_is(in, s.end);
	s.sec.name = s.before.name = (struct str){".text", 5};
	text_reserve(out, len + len / 4);
	for (const char *p = in; p < s.end; p = next_line(p)) {
		bool last = s.joined;

		s.lines++;
		line(&s, p);
		if (last)
			write_marker(&s, next_line(p));
	}
	sled_copy_to(&s, s.end);
	if (s.sites.n) {
		sled_write_sites(&s);
		if (!s.aarch64) /* there, what a sled leads to is the controller's */
			sled_write_thunks(&s);
	}
	free(s.sites.data);
	free(s.sections.data);
	free(s.hash);
	taken_free(&s.taken);
	return s.sites.n;
}
