/* SPDX-License-Identifier: MIT */
#include "core/capture.h"
#include "core/words.h"

#define WORDS 128
#define TERM  256 /* bytes of a symbol's name, at most */

/* Names of the registers by the processor's numbers, each with its 64, 32, 16 and 8 bits. */
static const char *const register_name[16][4] = {
	{"rax", "eax", "ax", "al"},	 {"rcx", "ecx", "cx", "cl"},
	{"rdx", "edx", "dx", "dl"},	 {"rbx", "ebx", "bx", "bl"},
	{"rsp", "esp", "sp", "spl"},	 {"rbp", "ebp", "bp", "bpl"},
	{"rsi", "esi", "si", "sil"},	 {"rdi", "edi", "di", "dil"},
	{"r8", "r8d", "r8w", "r8b"},	 {"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
};

/* The registers in the order in which Kitrace's ALLREGS lists them. */
static const uint8_t all_registers[] = {0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

struct reading {
	const struct dt_capture_ops *ops;
	void *ctx;
	unsigned n; /* items so far */
	struct dt_error *e;
};

static int give(struct reading *k, const struct dt_capture_asked *c)
{
	if (k->n++ == DT_CAPTURE_ITEMS)
		return dt_fail(k->e, "devtrace: at most %d values can be captured at one place",
			       DT_CAPTURE_ITEMS);
	return k->ops->item(k->ctx, c, k->e);
}

static int give_register(struct reading *k, const char *name)
{
	static const char *const type[] = {"p", "u4", "u2", "u1"};
	struct dt_capture_asked c = {.label = name, .type = "p", .size = 8};
	uint64_t n;

	for (c.reg = 0; c.reg < 16; c.reg++)
		for (unsigned i = 0; i < 4; i++)
			if (dt_word_is(name, register_name[c.reg][i])) {
				c.type = type[i];
				c.size = (uint8_t)(8 >> i);
				return give(k, &c);
			}
	if (dt_word_is(name, "rip")) {
		c.reg = DT_REGISTER_RIP;
	} else if (dt_word_is(name, "rflags") || dt_word_is(name, "eflags")) {
		c.reg = DT_REGISTER_FLAGS;
	} else if (name[0] == 'x' && name[1] == 'm' && name[2] == 'm' &&
		   dt_word_decimal(name + 3, &n) && n < 16) {
		c.reg = (uint8_t)(DT_REGISTER_XMM0 + n);
		c.type = "f8";
	} else {
		return dt_fail(
			k->e,
			"devtrace: '%s' is no register; rax, eax, ax, al and their like, r8 to "
			"r15, rip, rflags and, in programs, xmm0 to xmm15 are",
			name);
	}
	return give(k, &c);
}

static int give_all_registers(struct reading *k)
{
	for (unsigned i = 0; i < sizeof(all_registers); i++)
		if (give_register(k, register_name[all_registers[i]][0]) < 0)
			return -1;
	return give_register(k, "rip") < 0 ? -1 : give_register(k, "rflags");
}

/*
 * Captures a word of memory at a register plus an offset. The offset is hexadecimal, as in Kitrace.
 */
static int give_offset(struct reading *k, const char *what, const char *from, uint8_t base,
		       const char *word)
{
	bool negative = word[0] == '-';
	uint64_t offset;
	char label[48];

	if (!dt_word_hex(word + negative, &offset) || offset > 0x7fffffff)
		return dt_fail(k->e,
			       "devtrace: %s %s: an offset is a hexadecimal number of bytes, such "
			       "as 8 or -10",
			       what, word);
	dt_format(label, sizeof(label), "%s%s%lx", from, negative ? "-" : "+",
		  (unsigned long)offset);
	return give(k, &(struct dt_capture_asked){.label = label,
						  .type = "p",
						  .memory = true,
						  .reg = base,
						  .size = 8,
						  .offset = negative ? -(int64_t)offset
								     : (int64_t)offset});
}

/*
 * Captures the word at a sum of symbols and hexadecimal numbers; a term with 0x is never a symbol.
 */
static int give_location(struct reading *k, const char *word)
{
	char term[TERM];
	uint64_t sum = 0, v;

	for (const char *p = word; *p;) {
		size_t n = 0;

		for (; p[n] && p[n] != '+' && n < TERM - 1; n++)
			term[n] = p[n];
		term[n] = '\0';
		if (!n || n == TERM - 1)
			return dt_fail(k->e, "devtrace: LOC %s: a symbol, or an address in hex",
				       word);
		if (!(term[0] == '0' && term[1] == 'x' && dt_word_hex(term, &v)) &&
		    !k->ops->symbol(k->ctx, term, &v) && !dt_word_hex(term, &v))
			return dt_fail(k->e,
				       "devtrace: LOC %s: '%s' is neither a symbol nor a "
				       "hexadecimal number",
				       word, term);
		sum += v;
		p += n + (p[n] == '+' && p[n + 1]);
	}
	return give(k, &(struct dt_capture_asked){.label = word,
						  .type = "p",
						  .memory = true,
						  .reg = DT_REGISTER_NONE,
						  .size = 8,
						  .offset = (int64_t)sum});
}

int dt_capture_words(char *words, size_t n, const struct dt_capture_ops *ops, void *ctx,
		     struct dt_error *e)
{
	struct reading k = {ops, ctx, 0, e};
	char *word[WORDS];
	struct dt_words w = {.word = word, .room = WORDS};
	int rc = dt_words_split(&w, words, n, e);

	/* the device has checked that each option is followed by the word that it needs */
	for (unsigned i = 0; i < w.n && rc == 0; i++) {
		const char *what = w.word[i], *behind = i + 1 < w.n ? w.word[i + 1] : "";

		if (dt_word_is(what, "ALLREGS")) {
			rc = give_all_registers(&k);
			continue;
		}
		if (dt_word_is(what, "PSR")) {
			rc = give_register(&k, "rflags");
			continue;
		}
		i++;
		if (dt_word_is(what, "REG"))
			rc = give_register(&k, behind);
		else if (dt_word_is(what, "STACK"))
			rc = give_offset(&k, what, "stack", 4, behind);
		else if (dt_word_is(what, "FRAME"))
			rc = give_offset(&k, what, "frame", 5, behind);
		else if (dt_word_is(what, "LOC"))
			rc = give_location(&k, behind);
		else
			rc = give(&k, &(struct dt_capture_asked){.label = behind,
								 .variable = behind,
								 .text = dt_word_is(what, "TEXT")});
	}
	return rc;
}
