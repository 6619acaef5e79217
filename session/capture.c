/* SPDX-License-Identifier: MIT */
/* Words that say what is captured. */
#include "session/capture.h"

#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "process/usdt.h"
#include "process/variable.h"
#include "session/places.h"

#define WORDS 128

/* By the processor's numbers: 64, 32, 16, 8 bits. */
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

/* As Kitrace's ALLREGS lists them */
static const uint8_t all_registers[] = {0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

struct parsing {
	struct dt_session *s;
	const struct dt_module *m;
	struct dt_point *p;
	struct dt_error *e;
};

static struct dt_item of_register(uint8_t reg, uint8_t size)
{
	return (struct dt_item){.from = {.kind = DT_OPERAND_REGISTER,
					 .size = size,
					 .reg = reg,
					 .base = DT_REGISTER_NONE,
					 .index = DT_REGISTER_NONE}};
}

static int add(const struct parsing *k, const struct dt_item *item, const char *name,
	       const char *type)
{
	return dt_point_item(k->p, item, name, type, k->e);
}

static int add_register(const struct parsing *k, const char *name)
{
	static const char *const type[] = {"p", "u4", "u2", "u1"};
	uint64_t n;

	for (uint8_t reg = 0; reg < 16; reg++)
		for (unsigned i = 0; i < 4; i++)
			if (strcmp(name, register_name[reg][i]) == 0) {
				struct dt_item item = of_register(reg, (uint8_t)(8 >> i));

				return add(k, &item, name, type[i]);
			}
	if (strcmp(name, "rip") == 0) {
		struct dt_item item = of_register(DT_REGISTER_RIP, 8);

		return add(k, &item, name, "p");
	}
	if (strcmp(name, "rflags") == 0 || strcmp(name, "eflags") == 0) {
		struct dt_item item = of_register(DT_REGISTER_FLAGS, 8);

		return add(k, &item, name, "p");
	}
	if (strncmp(name, "xmm", 3) == 0 && dt_word_decimal(name + 3, &n) && n < 16) {
		struct dt_item item = of_register((uint8_t)(DT_REGISTER_XMM0 + n), 8);

		return add(k, &item, name, "f8");
	}
	return dt_fail(k->e,
		       "devtrace: '%s' is no register; rax, eax, ax, al and their like, r8 to r15, "
		       "rip, rflags and xmm0 to xmm15 are",
		       name);
}

static int add_all_registers(const struct parsing *k)
{
	for (unsigned i = 0; i < sizeof(all_registers); i++)
		if (add_register(k, register_name[all_registers[i]][0]) < 0)
			return -1;
	return add_register(k, "rip") < 0 ? -1 : add_register(k, "rflags");
}

/* A word of memory at a register and an offset, in hexadecimal as Kitrace has them. */
static int add_offset(const struct parsing *k, const char *what, const char *label, uint8_t base,
		      const char *word)
{
	bool negative = word[0] == '-';
	struct dt_item item = {.from = {.kind = DT_OPERAND_MEMORY,
					.size = 8,
					.base = base,
					.index = DT_REGISTER_NONE}};
	uint64_t offset;
	char name[48];

	if (!dt_word_hex(word + negative, &offset) || offset > 0x7fffffff)
		return dt_fail(k->e,
			       "devtrace: %s %s: an offset is a hexadecimal number of bytes, such "
			       "as 8 or -10",
			       what, word);
	item.from.value = negative ? -(int64_t)offset : (int64_t)offset;
	dt_format(name, sizeof(name), "%s%s%lx", label, negative ? "-" : "+",
		  (unsigned long)offset);
	return add(k, &item, name, "p");
}

/* The address of anything that the program's files have a symbol for. */
static bool find_data(const struct parsing *k, const char *name, uint64_t *address)
{
	struct dt_target *t = dt_places_reference(k->s);
	uint64_t at;

	if (k->m->file->elf && dt_elf_symbol(k->m->file->elf, name, &at, NULL) == 0) {
		*address = at + k->m->bias;
		return true;
	}
	for (size_t i = 0; t && i < t->n; i++)
		if (t->module[i].file->elf &&
		    dt_elf_symbol(t->module[i].file->elf, name, &at, NULL) == 0) {
			*address = at + t->module[i].bias;
			return true;
		}
	return false;
}

/* A sum of symbols and hexadecimal numbers. */
static int add_location(const struct parsing *k, const char *word)
{
	struct dt_item item = {.from = {.kind = DT_OPERAND_MEMORY,
					.size = 8,
					.base = DT_REGISTER_NONE,
					.index = DT_REGISTER_NONE}};
	uint64_t sum = 0, v, low = k->m->file->elf->low + k->m->bias;
	char term[256];

	for (const char *p = word; *p;) {
		size_t n = strcspn(p, "+");
		struct dt_place place;

		if (n == 0 || n >= sizeof(term))
			return dt_fail(k->e, "devtrace: LOC %s: a symbol, or an address in hex",
				       word);
		memcpy(term, p, n);
		term[n] = '\0';
		if (dt_word_hex(term, &v) && term[0] == '0' && term[1] == 'x')
			sum += v;
		else if (find_data(k, term, &v))
			sum += v;
		else if (dt_places_find(k->s, term, &place, NULL) == 1)
			sum += place.start;
		else if (dt_word_hex(term, &v))
			sum += v;
		else
			return dt_fail(k->e,
				       "devtrace: LOC %s: '%s' is neither a symbol nor a "
				       "hexadecimal number",
				       word, term);
		p += n + (p[n] == '+' && p[n + 1]);
	}
	/* of the file itself, in every process; of another, in this one */
	item.relative = sum >= low && sum < k->m->file->elf->high + k->m->bias;
	item.from.value = (int64_t)(sum - (item.relative ? k->m->bias : 0));
	return add(k, &item, word, "p");
}

static int add_variable(const struct parsing *k, const char *expression, bool text)
{
	struct dt_symtab *tab = dt_file_symtab(k->m->file);
	struct dt_variable v;

	if (dt_variable_find(tab, k->p->site.address, expression, &v, k->e) < 0)
		return -1;
	if (text && v.type[0] != 's' && v.type[0] != 'p')
		return dt_fail(k->e,
			       "devtrace: TEXT %s: it is no pointer; VALUE shows it as what it is",
			       expression);
	if (text || v.type[0] == 's')
		v.item.text = DT_CAPTURE_TEXT;
	return add(k, &v.item, expression, text ? "s" : v.type);
}

int dt_capture_parse(struct dt_session *s, const struct dt_module *m, const char *words,
		     struct dt_point *p, struct dt_error *e)
{
	const struct parsing k = {s, m, p, e};
	char *word[WORDS], *text = malloc(strlen(words) + 2);
	struct dt_words w = {.word = word, .room = WORDS};
	int rc;

	if (!text)
		return dt_fail(e, "out of memory");
	memcpy(text, words, strlen(words) + 1);
	rc = dt_words_split(&w, text, strlen(text), e);
	/* the device has looked that each has the word it needs */
	for (unsigned i = 0; i < w.n && rc == 0; i++) {
		const char *what = w.word[i], *behind = i + 1 < w.n ? w.word[i + 1] : "";

		if (dt_word_is(what, "ALLREGS")) {
			rc = add_all_registers(&k);
			continue;
		}
		if (dt_word_is(what, "PSR")) {
			rc = add_register(&k, "rflags");
			continue;
		}
		i++;
		if (dt_word_is(what, "REG"))
			rc = add_register(&k, behind);
		else if (dt_word_is(what, "STACK"))
			rc = add_offset(&k, what, "stack", 4, behind);
		else if (dt_word_is(what, "FRAME"))
			rc = add_offset(&k, what, "frame", 5, behind);
		else if (dt_word_is(what, "LOC"))
			rc = add_location(&k, behind);
		else
			rc = add_variable(&k, behind, dt_word_is(what, "TEXT"));
	}
	free(text);
	return rc;
}

/* ---- USDT ---- */

/* The symbol that a memory operand names becomes its address. */
static void resolve(const struct dt_file *f, struct dt_item *item)
{
	char name[256];
	uint64_t at;

	if (!item->from.symbol)
		return;
	memcpy(name, item->from.symbol, item->from.symbol_length);
	name[item->from.symbol_length] = '\0';
	item->from.symbol = NULL;
	if (dt_elf_symbol(f->elf, name, &at, NULL) < 0) {
		item->from.kind = DT_OPERAND_UNKNOWN;
		return;
	}
	if (item->from.base == DT_REGISTER_RIP)
		item->from.base = DT_REGISTER_NONE;
	item->from.value += (int64_t)at;
	item->relative = true;
}

int dt_capture_usdt(const struct dt_file *f, const char *arguments, struct dt_point *p,
		    struct dt_error *e)
{
	struct dt_operand operand[DT_USDT_ARGUMENTS];
	size_t n = dt_usdt_arguments(arguments, operand, DT_USDT_ARGUMENTS);

	for (size_t i = 0; i < n && i < DT_USDT_ARGUMENTS; i++) {
		struct dt_item item = {.from = operand[i]};
		char name[16], type[4] = "i8";

		resolve(f, &item);
		if (item.from.size != 1 && item.from.size != 2 && item.from.size != 4)
			item.from.size = 8;
		type[0] = item.from.is_float ? 'f' : item.from.is_signed ? 'i' : 'u';
		type[1] = (char)('0' + item.from.size);
		if (item.from.is_float && item.from.size < 4)
			type[0] = 'u';
		if (type[0] == 'u' && item.from.size == 8)
			type[0] = 'p'; /* pointers are described so */
		dt_format(name, sizeof(name), "arg%zu", i + 1);
		if (dt_point_item(p, &item, name, type, e) < 0)
			return -1;
	}
	return 0;
}
