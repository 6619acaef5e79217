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
#include "instrument/sled.h"
#include "instrument/taken.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the input. */
struct str {
	const char *p;
	size_t len;
};

enum { SITE_ENTRY = 1, SITE_RETURN, SITE_TAIL, SITE_JUMP };

/* A site: its label is .Ldtr_<index>, and that of its function .Ldtf_<func>. */
struct site {
	uint32_t section, func, kind;
	bool jumps; /* of an entry: a call of the function may end without a record */
};

/* A section as a directive names it. When gcc returns to a section, it leaves out the arguments. */
struct secname {
	struct str name, args;
};

/* A section that holds functions. */
struct section {
	struct secname key;
	struct str group; /* its group with ",comdat", or empty */
	uint32_t link;	  /* number of a function's label in it: .Ldtf_<link> */
	bool usable;	  /* it holds code that may be traced */
};

struct array {
	void *data;
	size_t n, cap;
};

#define STACK 16

struct scan {
	const char *begin, *end, *copied; /* the input has been copied to `out` up to `copied` */
	struct text *out;
	const char *name; /* for the assembler's messages; NULL: none, or it has been written */
	uint32_t lines;	  /* that have been begun */
	/* raw: in inline assembly, or, with `macro`, in a macro; off: not 64-bit code; intel:
	 * Intel's syntax; unwind: the text has .cfi directives */
	bool clang, raw, macro, off, intel, unwind;
	bool joined;	 /* the line being read was appended to the one before */
	struct str type; /* the last symbol declared a function, until its label comes */

	struct secname sec, before;			  /* current and previous section */
	struct secname stack[STACK], stack_before[STACK]; /* those two for each .pushsection */
	unsigned depth;

	/* the function being read */
	struct str func_name, func_sec; /* its name and that of its section */
	const char *func_text;		/* where it begins */
	/* func: the number of its label; 0 outside functions that get sleds; parent: the same
	 * number, but for a cold part that of its function */
	uint32_t func, parent, section;
	bool pending, patchable; /* patchable: nops for patching may stand before its first line */

	struct taken taken;
	const char *leaves_text; /* func_text of the function that `leaves` is for */
	int leaves;		 /* TAKEN_LEAVES_... */

	const char *label, *insn; /* the last label and instruction */
	unsigned since;		  /* instructions since the last label */

	uint32_t funcs; /* labels of functions so far */
	bool jumps;	/* there is a SITE_JUMP */
	struct array sites, sections;
	uint32_t *hash; /* indexes of sections plus one, hashed by name; 0: free */
	size_t hash_size;
};

static void *must(void *p)
{
	if (p)
		return p;
	fputs("devtrace-as: out of memory\n", stderr);
	exit(1);
}

static void reserve(struct text *t, size_t more)
{
	if (t->len + more <= t->cap)
		return;
	t->cap = (t->len + more) * 3 / 2 + 4096;
	t->data = must(realloc(t->data, t->cap));
}

void text_add(struct text *t, const char *data, size_t len)
{
	reserve(t, len);
	memcpy(t->data + t->len, data, len);
	t->len += len;
}

static void add(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

static void add_str(struct text *t, struct str s)
{
	text_add(t, s.p, s.len);
}

/* Appends a label and its number. */
static void add_label(struct text *t, const char *s, uint32_t n)
{
	char digits[10];
	size_t i = sizeof(digits);

	do
		digits[--i] = '0' + n % 10;
	while (n /= 10);
	add(t, s);
	text_add(t, digits + i, sizeof(digits) - i);
}

/* Adds an element, zeroed, and returns it. */
static void *push(struct array *a, size_t size)
{
	if (a->n == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 256;
		a->data = must(realloc(a->data, a->cap * size));
	}
	return memset((char *)a->data + a->n++ * size, 0, size);
}

/* Says whether the text at p begins with the prefix. This is safe at the end of the input, because
 * a zero byte follows it. */
static inline bool begins(const char *p, const char *prefix)
{
	while (*prefix)
		if (*p++ != *prefix++)
			return false;
	return true;
}

static bool same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static bool str_begins(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && memcmp(s.p, prefix, n) == 0;
}

static inline bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline const char *skip(const char *p)
{
	while (blank(*p))
		p++;
	return p;
}

static inline bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool symbol_char(char c)
{
	return letter(c) || digit(c) || c == '_' || c == '.' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

/* Says whether nothing but a comment follows on the line. */
static bool line_ends(const char *p)
{
	while (blank(*p) || *p == '\r')
		p++;
	return *p == '\n' || *p == '#';
}

/* Returns the symbol at p, which may be in double quotes: they are part of it then. */
static struct str symbol(const char *p)
{
	const char *q = p;

	if (*q == '"') {
		do
			q += *q == '\\' && q[1] != '\n' ? 2 : 1;
		while (*q != '"' && *q != '\n');
		q += *q == '"';
	} else {
		while (symbol_char(*q))
			q++;
	}
	return (struct str){p, q - p};
}

static const char *next_line(const char *p)
{
	return (const char *)rawmemchr(p, '\n') + 1;
}

/* --- what the compiler wrote --- */

/* Says whether the line is of the note with which clang -fcf-protection begins its text. */
static bool property_note(const char *p)
{
	static const char *const lines[] = {"\t.section\t.note.gnu.property",
					    "\t.section\t\".note.gnu.property\"",
					    "\t.p2align\t",
					    "\t.long\t",
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
static bool compiled_head(const char *p, const char *end, bool *clang)
{
	bool text = false;

	for (; p < end; p = next_line(p)) {
		if (*p == '#' && p[1] == ' ' && digit(p[2]))
			return false;
		if (*p == '\n' || *p == '\r' || *skip(p) == '#' || begins(p, "\t.intel_syntax"))
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

	return compiled_head(in, in + len, &clang) && compiled_tail(in, len);
}

/* --- sections --- */

/* Parses `"flags",@type,group,comdat`; false: the flags are not those of compiled code. */
static bool section_args(struct str s, struct str *group)
{
	const char *p = s.p, *end = s.p + s.len;
	bool exec = false, grouped = false;

	if (*p++ != '"')
		return false;
	for (; *p != '"'; p++) {
		if (p == end || !strchr("axwGRl", *p))
			return false;
		exec |= *p == 'x';
		grouped |= *p == 'G';
	}
	if (!grouped)
		return exec;
	p = memchr(p, '@', end - p);
	p = p ? memchr(p, ',', end - p) : NULL;
	if (!p)
		return false;
	p = skip(p + 1);
	*group = symbol(p);
	p += group->len;
	if (begins(p, ",comdat"))
		group->len += 7;
	return exec && group->len;
}

static bool section_usable(struct section *s)
{
	struct secname k = s->key;

	if (memmem(k.name.p, k.name.len, ".notrace", 8) ||
	    memmem(k.name.p, k.name.len, "noinstr", 7))
		return false;
	return k.args.len ? section_args(k.args, &s->group) : str_begins(k.name, ".text");
}

static size_t hash_str(struct str s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
	return h ^ h >> 29;
}

static uint32_t *section_slot(struct scan *s, const struct secname *key)
{
	struct section *all = s->sections.data;
	size_t i = hash_str(key->name);

	for (;; i++) {
		uint32_t *slot = &s->hash[i & (s->hash_size - 1)];
		const struct secname *k = *slot ? &all[*slot - 1].key : NULL;
		if (!k ||
		    (same(k->name, key->name) && (!key->args.len || same(k->args, key->args))))
			return slot;
	}
}

static void hash_grow(struct scan *s)
{
	struct section *all = s->sections.data;

	free(s->hash);
	s->hash_size = s->hash_size ? s->hash_size * 4 : 1024;
	s->hash = must(calloc(s->hash_size, sizeof(*s->hash)));
	for (uint32_t i = 0; i < s->sections.n; i++)
		*section_slot(s, &all[i].key) = i + 1;
}

/* Returns the index of the current section, which is added if it is new. */
static uint32_t section_find(struct scan *s)
{
	uint32_t *slot;

	if (s->sections.n * 2 >= s->hash_size)
		hash_grow(s);
	slot = section_slot(s, &s->sec);
	if (!*slot) {
		struct section *new = push(&s->sections, sizeof(*new));
		new->key = s->sec;
		new->usable = section_usable(new);
		*slot = s->sections.n;
	}
	return *slot - 1;
}

static struct section *section_at(struct scan *s, uint32_t i)
{
	return (struct section *)s->sections.data + i;
}

/* Enters the section that is named, with or without arguments, between `p` and the line's end. */
static void section_enter(struct scan *s, const char *p)
{
	struct str name = symbol(p);
	const char *e = rawmemchr(p, '\n');

	while (e > p && (blank(e[-1]) || e[-1] == '\r'))
		e--;
	p = skip(p + name.len);
	p = *p == ',' ? skip(p + 1) : e;
	s->before = s->sec;
	s->sec = (struct secname){name, {p, e > p ? e - p : 0}};
}

static void section_push(struct scan *s, const char *p)
{
	if (s->depth < STACK) {
		s->stack[s->depth] = s->sec;
		s->stack_before[s->depth] = s->before;
	}
	s->depth++;
	section_enter(s, p);
}

static void section_pop(struct scan *s)
{
	if (s->depth && --s->depth < STACK) {
		s->sec = s->stack[s->depth];
		s->before = s->stack_before[s->depth];
	}
}

static void section_previous(struct scan *s)
{
	struct secname now = s->sec;

	s->sec = s->before;
	s->before = now;
}

/* --- writing sleds --- */

/* Copies the input up to `p`. */
static void copy_to(struct scan *s, const char *p)
{
	text_add(s->out, s->copied, p - s->copied);
	s->copied = p;
}

/* Notes a site and returns the number of its label. */
static uint32_t site_add(struct scan *s, uint32_t kind)
{
	struct site *site = push(&s->sites, sizeof(*site));

	*site = (struct site){s->section, s->parent, kind, false};
	return s->sites.n - 1;
}

/*
 * Writes an entry sled before `p`. The label of a site stands after its instruction, because with
 * -mbranches-within-32B-boundaries the assembler may put padding or prefixes between a label and
 * what follows it. `test` is written as an instruction, not as bytes, because then the function's
 * first line number is for it: a debugger stops where it would stop without sleds.
 */
static void write_entry(struct scan *s, const char *p)
{
	struct text *o = s->out;
	uint32_t n = site_add(s, SITE_ENTRY);

	s->pending = false;
	copy_to(s, p);
	if (s->intel)
		add(o, ".att_syntax prefix;");
	add_label(o, "testl $__devtrace_entry-.Ldtr_", n);
	add_label(o, ",%eax;.Ldtr_", n);
	add(o, s->intel ? ":;.intel_syntax noprefix;" : ":;");
}

#define CALL_EXIT ":;.byte 232;.long __devtrace_exit-.-4;"

/* Writes a return's sled in place of the instruction between `p` and `e`. */
static void write_return(struct scan *s, const char *p, const char *e)
{
	uint32_t n = site_add(s, SITE_RETURN);

	copy_to(s, p);
	add_label(s->out, "ret;.Ldtr_", n);
	add(s->out, CALL_EXIT ".byte 195");
	s->copied = e;
}

/* Writes the sled of a tail call in place of the jump at `p`. `inverse` is the condition under
 * which the jump is not taken, or empty. */
static void write_tail(struct scan *s, const char *p, const char *inverse, struct str target)
{
	struct text *o = s->out;
	uint32_t n = site_add(s, SITE_TAIL);

	copy_to(s, p);
	if (*inverse) {
		add(o, "j");
		add(o, inverse);
		add_label(o, " .Ldtc_", n);
		add(o, ";");
	}
	add(o, "{disp32} jmp ");
	add_str(o, target);
	add_label(o, ";.Ldtr_", n);
	add(o, CALL_EXIT "{disp32} jmp ");
	add_str(o, target);
	if (*inverse) {
		add_label(o, ";.Ldtc_", n);
		add(o, ":");
	}
	s->copied = target.p + target.len;
}

/*
 * Writes the sled of a jump through a register or memory. The operand is written three times: in
 * the jump as it was; in a push of the jump's target, for the hook; in the jump after the hook. The
 * label stands after the first jump, which is as long as the push.
 */
static void write_jump(struct scan *s, const char *p, struct str operand)
{
	struct text *o = s->out;
	uint32_t n = site_add(s, SITE_JUMP);

	copy_to(s, operand.p + operand.len);
	add_label(o, ";.Ldtr_", n);
	add(o, ":;pushq ");
	add_str(o, operand);
	add(o, s->unwind ? ";.cfi_adjust_cfa_offset 8" : "");
	add(o, ";.byte 232;.long __devtrace_jump-.-4;leaq 8(%rsp),%rsp;");
	add(o, s->unwind ? ".cfi_adjust_cfa_offset -8;" : "");
	text_add(o, p, (size_t)(operand.p + operand.len - p));
	s->jumps = true;
}

/* --- functions --- */

static bool all_digits(const char *p, const char *e)
{
	for (; p < e; p++)
		if (!digit(*p))
			return false;
	return true;
}

/*
 * Says whether the name is that of a function's cold part, which was moved away and is jumped to:
 * NAME.cold, or, by older gcc, NAME.cold.1. clang's NAME.cold.1 is a function made of cold code,
 * which is called.
 */
static bool is_cold(const struct scan *s, struct str name)
{
	const char *e = name.p + name.len;
	const char *p = memmem(name.p, name.len, ".cold", 5);

	if (!p)
		return false;
	p += 5;
	return p == e || (!s->clang && *p == '.' && all_digits(p + 1, e));
}

/* Says whether the name is that of code which the compiler itself provides, which may use the stack
 * in unusual ways, or of devtrace's. */
static bool is_internal(struct str name)
{
	return str_begins(name, "__x86") || str_begins(name, "__llvm_retpoline") ||
	       str_begins(name, "__llvm_lvi_thunk") || str_begins(name, "__devtrace_");
}

static void function_end(struct scan *s)
{
	s->func = 0;
	s->pending = false;
}

/* Says whether the label being read is that of the cold part of the last function. */
static bool is_part(const struct scan *s)
{
	struct str outer = s->func_name;

	return outer.len && is_cold(s, s->type) && s->type.len > outer.len &&
	       memcmp(s->type.p, outer.p, outer.len) == 0;
}

/* Begins a function, whose label ends at `p`. A cold part's sites belong to its function. */
static void function_begin(struct scan *s, const char *p)
{
	bool part = is_part(s), skipped = part && !s->func;
	struct section *sec;

	s->func_name = s->type;
	s->func_sec = s->sec.name;
	if (!part)
		s->func_text = p;
	s->section = section_find(s);
	sec = section_at(s, s->section);
	s->type.len = 0;
	if (!sec->usable || s->off || skipped || is_internal(s->func_name)) {
		function_end(s);
		return;
	}
	s->func = ++s->funcs;
	if (!part)
		s->parent = s->func;
	if (!sec->link)
		sec->link = s->func;
	s->pending = !is_cold(s, s->func_name);
	s->patchable = false;
	copy_to(s, p);
	add_label(s->out, ".Ldtf_", s->func);
	add(s->out, ":");
}

/* Writes the entry sled if it is pending: it must stand before `p`, the beginning of a line. */
static void flush(struct scan *s, const char *p)
{
	if (s->pending && same(s->sec.name, s->func_sec))
		write_entry(s, p);
}

/*
 * Says whether the function has nothing but inline assembly from `p` to its end: it is naked, and
 * may not keep to the conventions that a sled relies on.
 */
static bool naked(const char *p, const char *end)
{
	bool app = false;

	for (; p < end; p = next_line(p)) {
		const char *q = skip(p);
		if (*q == '#')
			app = begins(q, "#APP") || (app && !begins(q, "#NO_APP"));
		else if (app || *q == '\n' || *q == '\r')
			continue;
		else if (begins(q, ".size") || begins(q, ".cfi_endproc") || begins(q, ".Lfunc_end"))
			return true;
		else if (letter(*q) && blank(*p) && !begins(q, "nop") && !begins(q, "ud2"))
			return false;
	}
	return true;
}

/* --- lines --- */

static void comment(struct scan *s, const char *p, const char *q)
{
	bool scope = begins(q, "# Start of file scope inline assembly");

	if (!scope && !begins(q, "#APP"))
		return;
	s->raw = true;
	if (!s->pending || scope)
		return;
	if (naked(p, s->end))
		function_end(s);
	else
		flush(s, p);
}

static void raw_line(struct scan *s, const char *q)
{
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

/* Says whether the name is one that clang gives to the beginning of a function: .Lf$local. */
static bool local_alias(struct str name)
{
	return name.len > 6 && memcmp(name.p + name.len - 6, "$local", 6) == 0;
}

static void label(struct scan *s, const char *p)
{
	size_t n = s->type.len;

	s->label = p;
	s->since = 0;
	if (n && (size_t)(s->end - p) > n && memcmp(p, s->type.p, n) == 0 && p[n] == ':') {
		function_begin(s, p + n + 1);
		return;
	}
	if (!s->pending)
		return;
	if (*p == '.' && p[1] == 'L') {
		if (begins(p + 2, "PFE") || begins(p + 2, "patch"))
			s->patchable = true;
		else if (!debug_label(p + 2) && !local_alias(symbol(p)))
			flush(s, p);
	} else if (digit(*p)) {
		flush(s, p);
	}
}

static void type_directive(struct scan *s, const char *q)
{
	struct str name = symbol(skip(q));

	q = skip(name.p + name.len);
	if (*q != ',')
		return;
	q = skip(q + 1);
	if (begins(q, "@function"))
		s->type = name;
}

/* Writes a line marker at `p`, the beginning of a line: it tells the assembler the file and the
 * line that come next. */
static void write_marker(struct scan *s, const char *p)
{
	struct text *o = s->out;

	copy_to(s, p);
	add_label(o, "# ", s->lines + 1);
	add(o, " \"");
	add(o, s->name);
	add(o, "\"\n");
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
		copy_to(s, next - 1);
		add(s->out, ";");
		s->copied = next;
		s->joined = true;
	} else {
		write_marker(s, next);
	}
}

static void size_directive(struct scan *s, const char *q)
{
	if (s->func && same(symbol(skip(q)), s->func_name))
		function_end(s);
}

/*
 * Makes the directive a comment: lld --lto-emit-asm writes .addrsig, a hint for folding identical
 * functions, which the GNU assembler does not know.
 */
static void drop(struct scan *s, const char *q)
{
	copy_to(s, q);
	add(s->out, "#");
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
			section_enter(s, q);
		return;
	case 'f':
		if (begins(q, ".file\t\""))
			source_directive(s, p);
		else if (begins(q, ".fill"))
			flush(s, p);
		return;
	case 's':
		if (begins(q, ".section"))
			section_enter(s, skip(q + 8));
		else if (begins(q, ".size"))
			size_directive(s, q + 5);
		else if (begins(q, ".skip") || begins(q, ".short") || begins(q, ".string"))
			flush(s, p);
		return;
	case 'd':
	case 'b':
		if (begins(q, ".data") || begins(q, ".bss"))
			section_enter(s, q);
		else if (begins(q, ".byte") || begins(q, ".balign"))
			flush(s, p);
		return;
	case 'p':
		if (begins(q, ".p2align"))
			flush(s, p);
		else if (begins(q, ".pushsection"))
			section_push(s, skip(q + 12));
		else if (begins(q, ".popsection"))
			section_pop(s);
		else if (begins(q, ".previous"))
			section_previous(s);
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
			flush(s, p);
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
			flush(s, p);
		return;
	}
}

/* Returns the length of `ret` with its prefixes; 0: it is another instruction. */
static size_t return_length(const char *q)
{
	static const char *const prefixes[] = {"repz", "repe", "rep", "bnd"};
	const char *p = q;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (begins(p, prefixes[i])) {
			p = skip(p + strlen(prefixes[i]));
			if (*p == ';')
				p = skip(p + 1);
			break;
		}
	if (!begins(p, "ret"))
		return 0;
	p += 3;
	p += *p == 'q';
	return line_ends(p) ? p - q : 0;
}

/* Says whether a `ret` gets no sled: it does not leave the function, or the bytes after it must
 * stay as they are. `last` is the instruction before it. */
static bool special_return(const struct scan *s, const char *last)
{
	if (last && begins(last, "call\t__morestack"))
		return true; /* it resumes one byte after the ret */
	if (!s->label)
		return false;
	if (s->since == 0 && begins(s->label, ".Lxray_sled"))
		return true; /* it is patched together with the bytes after it */
	/* an inline retpoline: it has just replaced its return address */
	return s->since == 1 && begins(s->label, ".LIND") && !begins(last, "call");
}

static const char *const conditions[][2] = {
	{"o", "no"}, {"no", "o"},  {"b", "ae"}, {"c", "nc"},   {"nae", "ae"}, {"ae", "b"},
	{"nb", "b"}, {"nc", "c"},  {"e", "ne"}, {"z", "nz"},   {"ne", "e"},   {"nz", "z"},
	{"be", "a"}, {"na", "a"},  {"a", "be"}, {"nbe", "be"}, {"s", "ns"},   {"ns", "s"},
	{"p", "np"}, {"pe", "po"}, {"np", "p"}, {"po", "pe"},  {"l", "ge"},   {"nge", "ge"},
	{"ge", "l"}, {"nl", "l"},  {"le", "g"}, {"ng", "g"},   {"g", "le"},   {"nle", "le"},
	{"mp", ""},  {"mpq", ""},
};

/* Returns the condition under which the jump of this mnemonic, without its j, is not taken: empty
 * for jmp; NULL: it is another instruction. */
static const char *invert(struct str mnemonic)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		if (strlen(conditions[i][0]) == mnemonic.len &&
		    memcmp(conditions[i][0], mnemonic.p, mnemonic.len) == 0)
			return conditions[i][1];
	return NULL;
}

static bool is_register(struct str name)
{
	return (name.len == 2 || name.len == 3) && name.p[0] == 'r' &&
	       (digit(name.p[1]) || (name.len == 3 && strchr("xip", name.p[2])));
}

/* Says whether a jump to `name` is a tail call of another function. */
static bool is_function(const struct scan *s, struct str name, const char *after)
{
	if (!name.len || *name.p == '"' || digit(*name.p) || is_internal(name))
		return false;
	if (str_begins(name, ".L"))
		return local_alias(name) || (s->clang && begins(skip(after), "# TAILCALL"));
	if (is_cold(s, name))
		return false;
	return !s->intel || !is_register(name);
}

/*
 * Notes at the entry of the function being read that a call of it may end without a record. In
 * functions without this note, a call that has no exit was left by longjmp or an exception.
 */
static void mark_unseen_end(struct scan *s)
{
	struct site *sites = s->sites.data;

	for (uint32_t i = s->sites.n; i-- > 0 && sites[i].func == s->parent;)
		if (sites[i].kind == SITE_ENTRY)
			sites[i].jumps = true;
}

/* Says whether a jump to `name` that gets no sled may nevertheless leave the function. */
static bool leaves(const struct scan *s, struct str name)
{
	return name.len && !digit(*name.p) && !str_begins(name, ".L") && !is_cold(s, name) &&
	       !(s->intel && is_register(name));
}

static void jump(struct scan *s, const char *q)
{
	const char *m = q + 1, *e = m, *after;
	const char *inverse;
	struct str target, name;

	while (letter(*e))
		e++;
	if (!blank(*e))
		return;
	name = target = symbol(skip(e));
	/* nearly all jumps are to .L labels */
	if (!target.len || (target.p[0] == '.' && !s->clang))
		return;
	after = target.p + target.len;
	if (begins(after, "@PLT")) {
		target.len += 4;
		after += 4;
	}
	inverse = invert((struct str){m, e - m});
	if (inverse && line_ends(after) && is_function(s, name, after))
		write_tail(s, q, inverse, target);
	else if (leaves(s, name))
		mark_unseen_end(s);
}

/* Says whether the instruction jumps through a register or memory: it may be a tail call. */
static bool is_indirect_jump(const struct scan *s, const char *q)
{
	if (begins(q, "notrack "))
		q = skip(q + 8);
	else if (begins(q, "bnd "))
		q = skip(q + 4);
	if (!begins(q, "jmp"))
		return false;
	while (letter(*q))
		q++;
	q = skip(q);
	return *q == '*' || (s->intel && (*q == '[' || begins(q, "QWORD") || begins(q, "qword") ||
					  is_register(symbol(q))));
}

/* Returns the operand of the indirect jump at q, without the star; empty: it is not understood. */
static struct str jump_operand(const char *q)
{
	const char *p = strchr(q, '*'), *e;

	p = p ? skip(p + 1) : q;
	for (e = p; *e != '\n' && *e != '\r' && *e != '#' && *e != ';'; e++)
		;
	while (e > p && blank(e[-1]))
		e--;
	return (struct str){p, (size_t)(*e == ';' ? 0 : e - p)};
}

/* Returns the end of the function being read: its .size directive, or the end of the text. */
static const char *function_text_end(const struct scan *s)
{
	const char *p = s->func_text;

	for (; p < s->end; p = next_line(p))
		if (begins(p, "\t.size\t") && same(symbol(skip(p + 7)), s->func_name))
			break;
	return p;
}

/*
 * Says whether the indirect jump in the line at p certainly leads to another function. clang marks
 * each jump that does. gcc does not: there, what is loaded from a symbol's entry in the global
 * offset table is a function, and taken.h decides about the rest.
 */
static bool is_tail_jump(struct scan *s, const char *p, struct str operand)
{
	const char *after = operand.p + operand.len;

	if (!operand.len || s->intel || memchr(operand.p, '"', operand.len))
		return false;
	if (s->clang)
		return begins(skip(after), "# TAILCALL");
	if (memmem(operand.p, operand.len, "@GOTPCREL(%rip)", 15))
		return true;
	if (s->leaves_text != s->func_text || !s->func_text) {
		if (!s->taken.made)
			taken_read(&s->taken, s->begin, s->end);
		s->leaves_text = s->func_text;
		s->leaves = s->func_text
				    ? taken_leaves(&s->taken, s->func_text, function_text_end(s))
				    : TAKEN_LEAVES_NONE;
	}
	/* jumps through a register or the compiler's own table may be those of a switch */
	if (*operand.p == '%' && s->leaves == TAKEN_LEAVES_MEMORY)
		return taken_loaded(s->begin, p, operand.p);
	if (*operand.p == '%' || memmem(operand.p, operand.len, ".L", 2))
		return s->leaves == TAKEN_LEAVES_ALL;
	return s->leaves >= TAKEN_LEAVES_MEMORY;
}

static void instruction(struct scan *s, const char *p, const char *q)
{
	const char *last = s->insn;
	size_t n;

	if (s->pending) {
		if (begins(q, "endbr64") ||
		    (s->patchable && (begins(q, "nop") || begins(q, "xchg"))))
			return;
		flush(s, p);
	}
	if ((*q == 'r' || *q == 'b') && s->func) {
		n = return_length(q);
		if (n && !special_return(s, last))
			write_return(s, q, q + n);
		else if (n || begins(q, "ret"))
			mark_unseen_end(s);
	} else if (*q == 'j' && s->func) {
		jump(s, q);
	}
	if ((*q == 'j' || *q == 'n' || *q == 'b') && s->func && is_indirect_jump(s, q)) {
		struct str operand = jump_operand(q);

		if (is_tail_jump(s, p, operand))
			write_jump(s, q, operand);
		else
			mark_unseen_end(s);
	}
	s->insn = q;
	s->since++;
}

static void line(struct scan *s, const char *p)
{
	const char *q = skip(p);

	if (s->raw) {
		raw_line(s, q);
		if (s->func && memmem(p, (const char *)rawmemchr(p, '\n') - p, "jmp", 3))
			mark_unseen_end(s);
	} else if (*q == '#')
		comment(s, p, q);
	else if (*q == '.' && (q > p || p[1] != 'L'))
		directive(s, p, q);
	else if (q > p && letter(*q))
		instruction(s, p, q);
	else if (q == p && *q != '\n' && *q != '\r')
		label(s, p);
}

/* --- what stands at the end --- */

static void write_site(struct text *o, const struct site *site, uint32_t n)
{
	/* from the label after the first instruction back to that instruction's first byte */
	static const char *const back[] = {NULL, "-5-.,.Ldtf_", "-1-.,.Ldtf_", "-5-.,.Ldtf_",
					   "-.,.Ldtf_"};
	static const char *const kind[] = {NULL, "-.,1\n", "-.,2\n", "-.,3\n", "-.,4\n"};
	static const char *const jumping = "-.,257\n";

	add_label(o, ".long .Ldtr_", n);
	add_label(o, back[site->kind], site->func);
	add(o, site->jumps ? jumping : kind[site->kind]);
}

static void write_section(struct scan *s, const struct section *sec)
{
	struct text *o = s->out;

	add(o, sec->group.len ? ".section devtrace_sites,\"aoG\",@progbits"
			      : ".section devtrace_sites,\"ao\",@progbits");
	add_label(o, ",.Ldtf_", sec->link);
	if (sec->group.len) {
		add(o, ",");
		add_str(o, sec->group);
	}
	add(o, "\n.balign 4\n");
}

/* Writes the table of sites: a new section's head wherever the sites' section changes, as it does
 * between a function and its cold part. */
static void write_sites(struct scan *s)
{
	const struct site *sites = s->sites.data;
	uint32_t current = UINT32_MAX;

	for (uint32_t i = 0; i < s->sites.n; i++) {
		if (sites[i].section != current) {
			current = sites[i].section;
			write_section(s, section_at(s, current));
		}
		write_site(s->out, &sites[i], i);
	}
}

static void write_thunk(struct scan *s, const char *name, const char *slot)
{
	struct text *o = s->out;
	const char *unwind = s->unwind ? "\t.cfi_startproc\n" : "";

	for (const char *f = "\t.globl\t%\n\t.hidden\t%\n\t.type\t%,@function\n%:\n"; *f; f++)
		if (*f == '%')
			add(o, name);
		else
			text_add(o, f, 1);
	add(o, unwind);
	add(o, "\tnotrack jmp *__devtrace_hooks");
	add(o, slot);
	add(o, s->unwind ? "(%rip)\n\t.cfi_endproc\n" : "(%rip)\n");
	add(o, "\t.size\t");
	add(o, name);
	add(o, ",.-");
	add(o, name);
	add(o, "\n");
}

static void write_thunks(struct scan *s)
{
	if (s->intel)
		add(s->out, "\t.att_syntax prefix\n");
	add(s->out, "\t.section\t.text.__devtrace,\"axG\",@progbits,__devtrace_thunks,comdat\n");
	write_thunk(s, "__devtrace_entry", "");
	write_thunk(s, "__devtrace_exit", "+8");
	/* it has a group of its own: objects of older versions have the other group without it */
	if (s->jumps) {
		add(s->out,
		    "\t.section\t.text.__devtrace_jump,\"axG\",@progbits,__devtrace_jump,comdat\n");
		write_thunk(s, "__devtrace_jump", "+16");
	}
	add(s->out, "\t.section\tdevtrace_hooks,\"awG\",@nobits,__devtrace_thunks,comdat\n"
		    "\t.balign\t16\n"
		    "\t.globl\t__devtrace_hooks\n"
		    "\t.hidden\t__devtrace_hooks\n"
		    "\t.type\t__devtrace_hooks,@object\n"
		    "\t.size\t__devtrace_hooks,32\n"
		    "__devtrace_hooks:\n"
		    "\t.zero\t32\n");
}

size_t sled_insert(const char *in, size_t len, const char *name, struct text *out)
{
	struct scan s = {.begin = in, .end = in + len, .copied = in, .out = out, .name = name};

	compiled_head(in, s.end, &s.clang);
	s.sec.name = s.before.name = (struct str){".text", 5};
	reserve(out, len + len / 4);
	for (const char *p = in; p < s.end; p = next_line(p)) {
		bool last = s.joined;

		s.lines++;
		line(&s, p);
		if (last)
			write_marker(&s, next_line(p));
	}
	copy_to(&s, s.end);
	if (s.sites.n) {
		write_sites(&s);
		write_thunks(&s);
	}
	free(s.sites.data);
	free(s.sections.data);
	free(s.hash);
	taken_free(&s.taken);
	return s.sites.n;
}
