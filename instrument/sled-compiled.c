// SPDX-License-Identifier: MIT
/* What a text looks like that a compiler wrote. */
#include "instrument/sled-work.h"

/* Says whether the line is of the note with which clang -fcf-protection begins its text. */
static bool property_note(const char *p)
{
	static const char *const lines[] = {"\t.section\t.note.gnu.property",
					    "\t.section\t\".note.gnu.property\"",
					    "\t.p2align\t",
					    "\t.long\t",
					    "\t.word\t",
					    "\t.asciz\t\"GNU\"",
					    ".L"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (begins(p, lines[i]))
			return true;
	return false;
}

/*
 * Says whether the text begins like a compiler's: gcc's begins with .file, clang's with .text and
 * .file. Hand-written text that went through the preprocessor begins with a line marker.
 */
bool sled_compiled_head(const char *p, const char *end, bool *clang)
{
	bool text = false;

	for (; p < end; p = next_line(p)) {
		if (*p == '#' && p[1] == ' ' && digit(p[2]))
			return false;
		if (*p == '\n' || *p == '\r' || *skip(p) == '#' || begins(p, "\t.intel_syntax") ||
		    begins(p, "\t.arch ") || begins(p, "\t.arch\t") || begins(p, "\t.cpu"))
			continue;
		if (begins(p, "\t.text"))
			text = true;
		else if (!text || !property_note(p))
			break;
	}
	*clang = text;
	return p < end && begins(p, "\t.file\t\"");
}

/* Says whether the text ends like a compiler's: with its name, or with the note that the stack need
 * not be executable. */
static bool compiled_tail(const char *in, size_t len)
{
	size_t n = len < 4096 ? len : 4096;
	const char *p = in + len - n;

	if (memmem(p, n, "\t.ident\t\"GCC: ", 14) || memmem(p, n, " clang version ", 15) ||
	    memmem(p, n, "\t.ident\t\"clang version ", 22))
		return true;
	if (memmem(in, len, "\t.ident\t", 8))
		return memmem(in, len, "\t.ident\t\"GCC: ", 14) ||
		       memmem(in, len, "clang version ", 14);
	return memmem(p, n, "\t.section\t.note.GNU-stack,\"\",@progbits\n", 39) ||
	       memmem(p, n, "\t.section\t\".note.GNU-stack\",\"\",@progbits\n", 41);
}

bool sled_is_compiled(const char *in, size_t len)
{
	bool clang;

	return sled_compiled_head(in, in + len, &clang) && compiled_tail(in, len);
}
