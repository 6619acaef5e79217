/* SPDX-License-Identifier: MIT */
#include "core/processor.h"
#include "core/words.h"

static const struct dt_processor known[] = {
	{"x86-64", {"rdi", "rsi", "rdx", "rcx"}, {"rax", "rdx", "xmm0", "xmm0.1"}},
	{"aarch64", {"x0", "x1", "x2", "x3"}, {"x0", "x1", "q0", "q0.1"}},
};
static const struct dt_processor unknown = {
	"?", {"a0", "a1", "a2", "a3"}, {"r0", "r1", "r2", "r3"}};

const struct dt_processor *dt_processor(const char *name)
{
	for (unsigned i = 0; name && i < sizeof(known) / sizeof(*known); i++)
		if (dt_word_is(name, known[i].name))
			return &known[i];
	return name ? &unknown : &known[0]; /* old files are all from the first */
}
