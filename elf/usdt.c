/* SPDX-License-Identifier: MIT */
/* Reads USDT notes and the descriptions of their arguments. Every byte is treated as hostile. */
#include "elf/usdt.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TYPE 3 /* NT_STAPSDT */

/* --- notes */

/* Reads a probe from a note's description; returns false if that makes no sense. */
static bool parse_probe(const char *p, size_t size, struct dt_usdt_probe *probe, uint64_t *base)
{
	const char *end = p + size, *text[3];

	if (size < 24)
		return false;
	memcpy(&probe->address, p, 8);
	memcpy(base, p + 8, 8);
	memcpy(&probe->semaphore, p + 16, 8);
	p += 24;
	for (int i = 0; i < 3; i++) {
		const char *zero = memchr(p, '\0', (size_t)(end - p));

		if (!zero)
			return false;
		text[i] = p;
		p = zero + 1;
	}
	probe->provider = text[0];
	probe->name = text[1];
	probe->arguments = text[2];
	return *text[0] && *text[1];
}

static size_t aligned(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

int dt_usdt_read(struct dt_elf *f, struct dt_usdt *u, struct dt_error *e)
{
	uint64_t size = 0, base_size = 0, now = 0;
	char *base = dt_elf_section(f, ".stapsdt.base", &base_size, &now);
	size_t room = 0;
	int rc = 0;

	*u = (struct dt_usdt){.notes = dt_elf_section(f, ".note.stapsdt", &size, NULL)};
	for (size_t at = 0; u->notes && size - at >= sizeof(Elf64_Nhdr);) {
		struct dt_usdt_probe probe;
		size_t name, description;
		uint64_t then;
		Elf64_Nhdr h;

		memcpy(&h, u->notes + at, sizeof(h));
		name = at + sizeof(h);
		description = name + aligned(h.n_namesz);
		if (h.n_namesz > size || h.n_descsz > size || description > size ||
		    h.n_descsz > size - description) {
			u->bad++; /* the notes after it can not be found */
			break;
		}
		at = description + aligned(h.n_descsz);
		if (at > size)
			at = size;
		if (h.n_type != NOTE_TYPE || h.n_namesz != 8 ||
		    memcmp(u->notes + name, "stapsdt", 8))
			continue;
		if (!parse_probe(u->notes + description, h.n_descsz, &probe, &then)) {
			u->bad++;
			continue;
		}
		/* the file has been moved since it was linked (prelink): the section's address
		 * shows how far */
		if (base && then) {
			probe.address += now - then;
			probe.semaphore += probe.semaphore ? now - then : 0;
		}
		/* the address is 0 in a function that the linker has left out */
		if (!dt_elf_is_code(f, probe.address)) {
			u->bad++;
			continue;
		}
		if (u->n == room) {
			void *more;

			room = room ? 2 * room : 32;
			more = realloc(u->probe, room * sizeof(*u->probe));
			if (!more) {
				rc = dt_fail(e, "out of memory reading %s", f->path);
				break;
			}
			u->probe = more;
		}
		u->probe[u->n++] = probe;
	}
	free(base);
	if (rc)
		dt_usdt_free(u);
	return rc;
}

void dt_usdt_free(struct dt_usdt *u)
{
	free(u->probe);
	free(u->notes);
	*u = (struct dt_usdt){0};
}

/* --- arguments */

struct cursor {
	const char *p, *end;
};

static bool take(struct cursor *c, char want)
{
	if (c->p == c->end || *c->p != want)
		return false;
	c->p++;
	return true;
}

static int digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : 99;
}

/*
 * Reads a number, which is decimal, 0x... or octal, with a sign. Returns false if there is none.
 * The value wraps modulo 2^64.
 */
static bool number(struct cursor *c, int64_t *value)
{
	struct cursor at = *c;
	bool minus = take(&at, '-');
	int base = 10, n = 0;
	uint64_t v = 0;

	if (!minus)
		take(&at, '+');
	if (at.end - at.p > 2 && at.p[0] == '0' && (at.p[1] == 'x' || at.p[1] == 'X')) {
		base = 16;
		at.p += 2;
	} else if (at.end - at.p > 1 && at.p[0] == '0' && digit(at.p[1]) < 8) {
		base = 8;
	}
	for (; at.p < at.end && digit(*at.p) < base; at.p++, n++)
		v = v * (uint64_t)base + (uint64_t)digit(*at.p);
	if (!n)
		return false;
	*value = (int64_t)(minus ? -v : v);
	*c = at;
	return true;
}

static bool letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '_' || ch == '.' || ch == '$' || ch == '@';
}

/* Reads a register: "%name". */
static bool take_register(struct cursor *c, uint8_t *reg, uint8_t *bytes, uint8_t *from)
{
	const char *start;

	if (!take(c, '%'))
		return false;
	for (start = c->p; c->p < c->end && letter(*c->p);)
		c->p++;
	return dt_register_read(start, (size_t)(c->p - start), reg, bytes, from);
}

/*
 * Reads a displacement: a number, symbol+number, or number+symbol, of which any part may be
 * missing.
 */
static bool displacement(struct cursor *c, struct dt_operand *o)
{
	int64_t more = 0;

	number(c, &o->value);
	take(c, '+');
	if (c->p < c->end && letter(*c->p) && (*c->p < '0' || *c->p > '9')) {
		const char *start = c->p;

		while (c->p < c->end && letter(*c->p))
			c->p++;
		if (c->p - start > 255)
			return false;
		o->symbol = start;
		o->symbol_length = (uint8_t)(c->p - start);
	}
	if (o->symbol && number(c, &more))
		o->value = (int64_t)((uint64_t)o->value + (uint64_t)more);
	return true;
}

static bool address_register(struct cursor *c, uint8_t *reg)
{
	uint8_t bytes, from;

	return take_register(c, reg, &bytes, &from) && bytes == 8 && !from &&
	       (*reg < DT_REGISTER_XMM0 || *reg == DT_REGISTER_RIP);
}

/* Reads a memory operand: disp(base,index,scale), perhaps with a segment before it. */
static bool memory(struct cursor *c, struct dt_operand *o)
{
	int64_t scale = 1;

	o->kind = DT_OPERAND_MEMORY;
	o->base = o->index = DT_REGISTER_NONE;
	o->scale = 1;
	if (c->end - c->p > 4 && c->p[0] == '%' && (c->p[1] == 'f' || c->p[1] == 'g') &&
	    c->p[2] == 's' && c->p[3] == ':') {
		o->segment = c->p[1];
		c->p += 4;
	}
	if (!displacement(c, o))
		return false;
	if (c->p == c->end)
		return true; /* it is an address alone */
	if (!take(c, '('))
		return false;
	if (c->p < c->end && *c->p == '%' && !address_register(c, &o->base))
		return false;
	if (take(c, ',')) {
		if (!address_register(c, &o->index) || o->index == 4 || o->index == DT_REGISTER_RIP)
			return false;
		if (take(c, ',') && !number(c, &scale))
			return false;
		if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
			return false;
		o->scale = (uint8_t)scale;
	}
	return take(c, ')');
}

static bool operand(struct cursor *c, struct dt_operand *o)
{
	uint8_t bytes = 0;

	if (take(c, '$')) {
		o->kind = DT_OPERAND_CONSTANT;
		return displacement(c, o) && c->p == c->end;
	}
	if (c->p < c->end && *c->p == '%' && !(c->end - c->p > 3 && c->p[3] == ':')) {
		o->kind = DT_OPERAND_REGISTER;
		if (!take_register(c, &o->reg, &bytes, &o->byte) || c->p != c->end ||
		    o->reg == DT_REGISTER_RIP)
			return false;
		/*
		 * a 64-bit register may be named for a narrower value: then only `size' bytes count
		 */
		if (!o->size)
			o->size = bytes;
		return true;
	}
	if (c->p == c->end)
		return false;
	return memory(c, o) && c->p == c->end;
}

/* Reads an argument: "-4@%edi", "8f@%xmm0", "%rax". */
static void argument(struct cursor c, struct dt_operand *o)
{
	struct cursor at = c;
	int64_t size;

	*o = (struct dt_operand){.base = DT_REGISTER_NONE, .index = DT_REGISTER_NONE, .scale = 1};
	if (number(&at, &size)) {
		bool is_float = take(&at, 'f');

		if (take(&at, '@')) {
			uint64_t n = (uint64_t)(size < 0 ? -(uint64_t)size : (uint64_t)size);

			o->is_signed = size < 0;
			o->is_float = is_float;
			if (!n || n > 64 || n & (n - 1))
				return;
			o->size = (uint8_t)n;
			c = at;
		}
	}
	if (!operand(&c, o))
		*o = (struct dt_operand){.kind = DT_OPERAND_UNKNOWN,
					 .size = o->size,
					 .is_signed = o->is_signed,
					 .is_float = o->is_float};
	else if (!o->size)
		o->size = 8;
}

size_t dt_usdt_arguments(const char *text, struct dt_operand *out, size_t max)
{
	size_t n = 0;

	for (;;) {
		struct cursor c;
		bool quoted = false;

		text += strspn(text, " \t");
		if (!*text)
			return n;
		c.p = text;
		/* a quoted symbol may contain spaces */
		while (*text && (quoted || (*text != ' ' && *text != '\t')))
			quoted ^= *text++ == '"';
		c.end = text;
		if (n < max)
			argument(c, &out[n]);
		n++;
	}
}

size_t dt_usdt_operand_text(char *out, size_t size, const struct dt_operand *o)
{
	char value[32] = "", base[8], index[8];
	const char *sign = o->value < 0 ? "-" : "+";
	uint64_t magnitude = o->value < 0 ? -(uint64_t)o->value : (uint64_t)o->value;
	char type = o->is_float ? 'f' : o->is_signed ? 's' : 'u';

	if (o->kind == DT_OPERAND_UNKNOWN)
		return dt_format(out, size, "%c%u ?", type, o->size);
	if (o->kind == DT_OPERAND_REGISTER)
		return dt_format(out, size, "%c%u %%%s", type, o->size,
				 dt_register_write(base, sizeof(base), o->reg, o->size, o->byte));
	dt_format(value, sizeof(value), "%s%lu", o->value < 0 || o->symbol ? sign : "",
		  (unsigned long)magnitude);
	if (o->kind == DT_OPERAND_CONSTANT)
		return dt_format(out, size, "%c%u %.*s%s", type, o->size,
				 o->symbol_length < 40 ? o->symbol_length : 40,
				 o->symbol ? o->symbol : "", value);
	dt_format(value, sizeof(value), "%s%lu", sign, (unsigned long)magnitude);
	return dt_format(out, size, "%c%u [%s%.*s%s%s%s%s%s%s]", type, o->size,
			 o->segment == 'f' ? "fs:"
			 : o->segment	   ? "gs:"
					   : "",
			 o->symbol_length < 40 ? o->symbol_length : 40, o->symbol ? o->symbol : "",
			 o->symbol && o->base != DT_REGISTER_NONE ? "+" : "",
			 o->base == DT_REGISTER_NONE
				 ? ""
				 : dt_register_write(base, sizeof(base), o->base, 8, 0),
			 o->index == DT_REGISTER_NONE ? "" : "+",
			 o->index == DT_REGISTER_NONE
				 ? ""
				 : dt_register_write(index, sizeof(index), o->index, 8, 0),
			 o->scale == 8 && o->index != DT_REGISTER_NONE	 ? "*8"
			 : o->scale == 4 && o->index != DT_REGISTER_NONE ? "*4"
			 : o->scale == 2 && o->index != DT_REGISTER_NONE ? "*2"
									 : "",
			 o->value ? value : "");
}
