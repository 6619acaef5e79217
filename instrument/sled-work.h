// SPDX-License-Identifier: MIT
/*
 * A text that is being read: for sled.c (its lines), sled-text.c, sled-compiled.c, sled-section.c,
 * sled-function.c, sled-instruction.c, sled-aarch64.c and sled-write.c only.
 */
#ifndef INSTRUMENT_SLED_WORK_H
#define INSTRUMENT_SLED_WORK_H

#include <stdint.h>
#include <string.h>

#include "instrument/sled.h"
#include "instrument/taken.h"

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
	bool aarch64; /* the text is for that processor; */
	int gotos;    /* there it may have computed gotos: 1, it has none: -1, not looked yet: 0 */
	bool joined;  /* the line being read was appended to the one before */
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

/* --- words of a line --- */

/* Says whether the text at p begins with the prefix. This is safe at the end of the input, because
 * a zero byte follows it. */
static inline bool begins(const char *p, const char *prefix)
{
	while (*prefix)
		if (*p++ != *prefix++)
			return false;
	return true;
}

static inline bool same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static inline bool str_begins(struct str s, const char *prefix)
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
static inline bool line_ends(const char *p)
{
	while (blank(*p) || *p == '\r')
		p++;
	return *p == '\n' || *p == '#';
}

/* Returns the symbol at p, which may be in double quotes: they are part of it then. */
static inline struct str symbol(const char *p)
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

static inline const char *next_line(const char *p)
{
	return (const char *)rawmemchr(p, '\n') + 1;
}

static inline struct section *sled_section_at(struct scan *s, uint32_t i)
{
	return (struct section *)s->sections.data + i;
}

/* --- sled-text.c --- */

/* Returns p; without memory, where p is NULL, the program ends. */
void *sled_must(void *p);
/* Makes room for as many more bytes. */
void text_reserve(struct text *t, size_t more);
/* Append a string; a piece of the input; a label and its number. */
void text_put(struct text *t, const char *s);
void text_put_str(struct text *t, struct str s);
void text_put_label(struct text *t, const char *s, uint32_t n);
/* Adds an element, zeroed, and returns it. */
void *array_push(struct array *a, size_t size);

/* --- sled-compiled.c --- */

/* Says whether the text begins like a compiler's, and whether that is clang. */
bool sled_compiled_head(const char *p, const char *end, bool *clang);

/* --- sled-section.c --- */

/* Returns the index of the current section, which is added if it is new. */
uint32_t sled_section_find(struct scan *s);
/* Enters the section that is named, with or without arguments, between `p` and the line's end; to
 * be left by sled_section_pop() if it was pushed. */
void sled_section_enter(struct scan *s, const char *p);
void sled_section_push(struct scan *s, const char *p);
void sled_section_pop(struct scan *s);
/* Goes back to the section before. */
void sled_section_previous(struct scan *s);

/* --- sled-function.c --- */

/* Say of a name whether it is that of a cold part; of code that the compiler provides, or devtrace;
 * one that clang gives to the beginning of a function. */
bool sled_is_cold(const struct scan *s, struct str name);
bool sled_is_internal(struct str name);
bool sled_is_local_alias(struct str name);
/* Begin and end a function. */
void sled_function_begin(struct scan *s, const char *p);
void sled_function_end(struct scan *s);
/* Says whether the function has nothing but inline assembly from `p` to its end. */
bool sled_is_naked(const char *p, const char *end);
/* Notes at the entry of the function being read that a call of it may end without a record. */
void sled_mark_unseen_end(struct scan *s);

/* --- sled-instruction.c --- */

/* Reads an instruction of a function, at q in the line at p, that may leave it: those that do begin
 * with r, b, j or n. s->insn is the instruction before it. */
void sled_instruction(struct scan *s, const char *p, const char *q);

/* --- sled-aarch64.c --- */

/* Says whether the text is for aarch64. */
bool sled_aarch64_is(const char *in, const char *end);
/* Reads an instruction at q in the line at p. False: the entry's sled is to be behind it. */
bool sled_aarch64_instruction(struct scan *s, const char *p, const char *q);

/* --- sled-write.c --- */

/* Notes a site in the function being read and returns the number of its label. */
uint32_t sled_site_add(struct scan *s, uint32_t kind);

/* Copies the input up to `p`. */
void sled_copy_to(struct scan *s, const char *p);
/* Write a sled: of an entry before `p`; of the return between `p` and `e`; of the jump at `p`. */
void sled_write_entry(struct scan *s, const char *p);
void sled_write_return(struct scan *s, const char *p, const char *e);
void sled_write_tail(struct scan *s, const char *p, const char *inverse, struct str target);
void sled_write_jump(struct scan *s, const char *p, struct str operand);
/* Write what stands at the end: the table of sites, and the thunks that sleds call. */
void sled_write_sites(struct scan *s);
void sled_write_thunks(struct scan *s);

/* Writes the entry sled if it is pending: it must stand before `p`, the beginning of a line. */
static inline void sled_flush(struct scan *s, const char *p)
{
	if (s->pending && same(s->sec.name, s->func_sec))
		sled_write_entry(s, p);
}

#endif
