// SPDX-License-Identifier: MIT
/* What is written: sleds in their lines; the table of sites and the thunks at the end. */
#include "instrument/sled-work.h"

/* Copies the input up to `p`. */
void sled_copy_to(struct scan *s, const char *p)
{
	text_add(s->out, s->copied, p - s->copied);
	s->copied = p;
}

uint32_t sled_site_add(struct scan *s, uint32_t kind)
{
	struct site *site = array_push(&s->sites, sizeof(*site));

	*site = (struct site){s->section, s->parent, kind, false};
	return s->sites.n - 1;
}

/*
 * Writes an entry sled before `p`. The label of a site stands after its instruction, because with
 * -mbranches-within-32B-boundaries the assembler may put padding or prefixes between a label and
 * what follows it. `test` is written as an instruction, not as bytes, because then the function's
 * first line number is for it: a debugger stops where it would stop without sleds.
 */
void sled_write_entry(struct scan *s, const char *p)
{
	struct text *o = s->out;
	uint32_t n = sled_site_add(s, SITE_ENTRY);

	s->pending = false;
	sled_copy_to(s, p);
	if (s->aarch64) {
		text_put_label(o, ".Ldtr_", n);
		text_put(o, ":nop;");
		return;
	}
	if (s->intel)
		text_put(o, ".att_syntax prefix;");
	text_put_label(o, "testl $__devtrace_entry-.Ldtr_", n);
	text_put_label(o, ",%eax;.Ldtr_", n);
	text_put(o, s->intel ? ":;.intel_syntax noprefix;" : ":;");
}

#define CALL_EXIT ":;.byte 232;.long __devtrace_exit-.-4;"

/* Writes a return's sled in place of the instruction between `p` and `e`. */
void sled_write_return(struct scan *s, const char *p, const char *e)
{
	uint32_t n = sled_site_add(s, SITE_RETURN);

	sled_copy_to(s, p);
	text_put_label(s->out, "ret;.Ldtr_", n);
	text_put(s->out, CALL_EXIT ".byte 195");
	s->copied = e;
}

/* Writes the sled of a tail call in place of the jump at `p`. `inverse` is the condition under
 * which the jump is not taken, or empty. */
void sled_write_tail(struct scan *s, const char *p, const char *inverse, struct str target)
{
	struct text *o = s->out;
	uint32_t n = sled_site_add(s, SITE_TAIL);

	sled_copy_to(s, p);
	if (*inverse) {
		text_put(o, "j");
		text_put(o, inverse);
		text_put_label(o, " .Ldtc_", n);
		text_put(o, ";");
	}
	text_put(o, "{disp32} jmp ");
	text_put_str(o, target);
	text_put_label(o, ";.Ldtr_", n);
	text_put(o, CALL_EXIT "{disp32} jmp ");
	text_put_str(o, target);
	if (*inverse) {
		text_put_label(o, ";.Ldtc_", n);
		text_put(o, ":");
	}
	s->copied = target.p + target.len;
}

/*
 * Writes the sled of a jump through a register or memory. The operand is written three times: in
 * the jump as it was; in a push of the jump's target, for the hook; in the jump after the hook. The
 * label stands after the first jump, which is as long as the push.
 */
void sled_write_jump(struct scan *s, const char *p, struct str operand)
{
	struct text *o = s->out;
	uint32_t n = sled_site_add(s, SITE_JUMP);

	sled_copy_to(s, operand.p + operand.len);
	text_put_label(o, ";.Ldtr_", n);
	text_put(o, ":;pushq ");
	text_put_str(o, operand);
	text_put(o, s->unwind ? ";.cfi_adjust_cfa_offset 8" : "");
	text_put(o, ";.byte 232;.long __devtrace_jump-.-4;leaq 8(%rsp),%rsp;");
	text_put(o, s->unwind ? ".cfi_adjust_cfa_offset -8;" : "");
	text_add(o, p, (size_t)(operand.p + operand.len - p));
	s->jumps = true;
}

/* --- what stands at the end --- */

static void write_site(struct scan *s, const struct site *site, uint32_t n)
{
	struct text *o = s->out;
	/* from the label after the first instruction back to that instruction's first byte */
	static const char *const back[] = {NULL, "-5-.,.Ldtf_", "-1-.,.Ldtf_", "-5-.,.Ldtf_",
					   "-.,.Ldtf_"};
	static const char *const kind[] = {NULL, "-.,1\n", "-.,2\n", "-.,3\n", "-.,4\n"};
	static const char *const jumping = "-.,257\n";

	text_put_label(o, ".long .Ldtr_", n);
	/* for aarch64 the label is at the nop, whatever the site is */
	text_put_label(o, back[s->aarch64 ? SITE_JUMP : site->kind], site->func);
	text_put(o, site->jumps ? jumping : kind[site->kind]);
}

static void write_section(struct scan *s, const struct section *sec)
{
	struct text *o = s->out;

	text_put(o, sec->group.len ? ".section devtrace_sites,\"aoG\",@progbits"
				   : ".section devtrace_sites,\"ao\",@progbits");
	text_put_label(o, ",.Ldtf_", sec->link);
	if (sec->group.len) {
		text_put(o, ",");
		text_put_str(o, sec->group);
	}
	text_put(o, "\n.balign 4\n");
}

/* Writes the table of sites: a new section's head wherever the sites' section changes, as it does
 * between a function and its cold part. */
void sled_write_sites(struct scan *s)
{
	const struct site *sites = s->sites.data;
	uint32_t current = UINT32_MAX;

	for (uint32_t i = 0; i < s->sites.n; i++) {
		if (sites[i].section != current) {
			current = sites[i].section;
			write_section(s, sled_section_at(s, current));
		}
		write_site(s, &sites[i], i);
	}
}

static void write_thunk(struct scan *s, const char *name, const char *slot)
{
	struct text *o = s->out;
	const char *unwind = s->unwind ? "\t.cfi_startproc\n" : "";

	for (const char *f = "\t.globl\t%\n\t.hidden\t%\n\t.type\t%,@function\n%:\n"; *f; f++)
		if (*f == '%')
			text_put(o, name);
		else
			text_add(o, f, 1);
	text_put(o, unwind);
	text_put(o, "\tnotrack jmp *__devtrace_hooks");
	text_put(o, slot);
	text_put(o, s->unwind ? "(%rip)\n\t.cfi_endproc\n" : "(%rip)\n");
	text_put(o, "\t.size\t");
	text_put(o, name);
	text_put(o, ",.-");
	text_put(o, name);
	text_put(o, "\n");
}

void sled_write_thunks(struct scan *s)
{
	if (s->intel)
		text_put(s->out, "\t.att_syntax prefix\n");
	text_put(s->out,
		 "\t.section\t.text.__devtrace,\"axG\",@progbits,__devtrace_thunks,comdat\n");
	write_thunk(s, "__devtrace_entry", "");
	write_thunk(s, "__devtrace_exit", "+8");
	/* it has a group of its own: objects of older versions have the other group without it */
	if (s->jumps) {
		text_put(
			s->out,
			"\t.section\t.text.__devtrace_jump,\"axG\",@progbits,__devtrace_jump,comdat\n");
		write_thunk(s, "__devtrace_jump", "+16");
	}
	text_put(s->out, "\t.section\tdevtrace_hooks,\"awG\",@nobits,__devtrace_thunks,comdat\n"
			 "\t.balign\t16\n"
			 "\t.globl\t__devtrace_hooks\n"
			 "\t.hidden\t__devtrace_hooks\n"
			 "\t.type\t__devtrace_hooks,@object\n"
			 "\t.size\t__devtrace_hooks,32\n"
			 "__devtrace_hooks:\n"
			 "\t.zero\t32\n");
}
