// SPDX-License-Identifier: MIT
/* Instructions by which a function is left: returns, and jumps that may be tail calls. */
#include "instrument/sled-work.h"

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
	if (!name.len || *name.p == '"' || digit(*name.p) || sled_is_internal(name))
		return false;
	if (str_begins(name, ".L"))
		return sled_is_local_alias(name) || (s->clang && begins(skip(after), "# TAILCALL"));
	if (sled_is_cold(s, name))
		return false;
	return !s->intel || !is_register(name);
}

/* Says whether a jump to `name` that gets no sled may nevertheless leave the function. */
static bool leaves(const struct scan *s, struct str name)
{
	return name.len && !digit(*name.p) && !str_begins(name, ".L") && !sled_is_cold(s, name) &&
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
		sled_write_tail(s, q, inverse, target);
	else if (leaves(s, name))
		sled_mark_unseen_end(s);
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

void sled_instruction(struct scan *s, const char *p, const char *q)
{
	const char *last = s->insn;
	size_t n;

	if (*q == 'r' || *q == 'b') {
		n = return_length(q);
		if (n && !special_return(s, last))
			sled_write_return(s, q, q + n);
		else if (n || begins(q, "ret"))
			sled_mark_unseen_end(s);
	} else if (*q == 'j') {
		jump(s, q);
	}
	if ((*q == 'j' || *q == 'n' || *q == 'b') && is_indirect_jump(s, q)) {
		struct str operand = jump_operand(q);

		if (is_tail_jump(s, p, operand))
			sled_write_jump(s, q, operand);
		else
			sled_mark_unseen_end(s);
	}
}
