// SPDX-License-Identifier: MIT
/* The functions of a text: where one begins and ends, and what its name says. */
#include "instrument/sled-work.h"

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
bool sled_is_cold(const struct scan *s, struct str name)
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
bool sled_is_internal(struct str name)
{
	return str_begins(name, "__x86") || str_begins(name, "__llvm_retpoline") ||
	       str_begins(name, "__llvm_lvi_thunk") || str_begins(name, "__devtrace_");
}

/* Says whether the name is one that clang gives to the beginning of a function: .Lf$local. */
bool sled_is_local_alias(struct str name)
{
	return name.len > 6 && memcmp(name.p + name.len - 6, "$local", 6) == 0;
}

void sled_function_end(struct scan *s)
{
	s->func = 0;
	s->pending = false;
}

/* Says whether the label being read is that of the cold part of the last function. */
static bool is_part(const struct scan *s)
{
	struct str outer = s->func_name;

	return outer.len && sled_is_cold(s, s->type) && s->type.len > outer.len &&
	       memcmp(s->type.p, outer.p, outer.len) == 0;
}

/* Begins a function, whose label ends at `p`. A cold part's sites belong to its function. */
void sled_function_begin(struct scan *s, const char *p)
{
	bool part = is_part(s), skipped = part && !s->func;
	struct section *sec;

	s->func_name = s->type;
	s->func_sec = s->sec.name;
	if (!part)
		s->func_text = p;
	s->section = sled_section_find(s);
	sec = sled_section_at(s, s->section);
	s->type.len = 0;
	if (!sec->usable || s->off || skipped || sled_is_internal(s->func_name)) {
		sled_function_end(s);
		return;
	}
	s->func = ++s->funcs;
	if (!part)
		s->parent = s->func;
	if (!sec->link)
		sec->link = s->func;
	s->pending = !sled_is_cold(s, s->func_name);
	s->patchable = false;
	sled_copy_to(s, p);
	text_put_label(s->out, ".Ldtf_", s->func);
	text_put(s->out, ":");
}

/*
 * Says whether the function has nothing but inline assembly from `p` to its end: it is naked, and
 * may not keep to the conventions that a sled relies on.
 */
bool sled_is_naked(const char *p, const char *end)
{
	bool app = false;

	for (; p < end; p = next_line(p)) {
		const char *q = skip(p);
		if (*q == '#' || begins(q, "//APP") || begins(q, "//NO_APP"))
			app = begins(q, "#APP") || begins(q, "//APP") ||
			      (app && !begins(q, "#NO_APP") && !begins(q, "//NO_APP"));
		else if (app || *q == '\n' || *q == '\r')
			continue;
		else if (begins(q, ".size") || begins(q, ".cfi_endproc") || begins(q, ".Lfunc_end"))
			return true;
		else if (letter(*q) && blank(*p) && !begins(q, "nop") && !begins(q, "ud2"))
			return false;
	}
	return true;
}

/*
 * Notes at the entry of the function being read that a call of it may end without a record. In
 * functions without this note, a call that has no exit was left by longjmp or an exception.
 */
void sled_mark_unseen_end(struct scan *s)
{
	struct site *sites = s->sites.data;

	for (uint32_t i = s->sites.n; i-- > 0 && sites[i].func == s->parent;)
		if (sites[i].kind == SITE_ENTRY)
			sites[i].jumps = true;
}
