/* SPDX-License-Identifier: MIT */
/*
 * What code and notes would tell, and is not read on this processor yet: each answer is that
 * nothing is known, which all callers are ready for. What has no such answer is in missing.c.
 */
#include "arch/insn.h"
#include "arch/register.h"
#include "arch/sled.h"
#include "arch/start.h"
#include "arch/unwind.h"
#include "core/error.h"

/* In a program without symbols, main has no name. */
bool dt_start_code(const uint8_t *code, size_t size, uint64_t address, struct dt_start_code *out)
{
	return false;
}

/* A load behind an adrp is not put together with it: what functions choose for others (IFUNC) is
 * not known by their names. */
bool dt_insn_loads(const struct dt_insn *in)
{
	return false;
}

uint64_t dt_insn_puts(const struct dt_insn *in, const uint8_t *code)
{
	return 0;
}

/* It is asked where points are (DT_POINTS), which there are none of. */
void dt_insn_each_taken(const uint8_t *code, uint64_t n, uint64_t address, bool fixed,
			void (*fn)(void *ctx, uint64_t taken), void *ctx)
{
}

/* The arguments of USDT probes are not known. */
bool dt_register_read(const char *s, size_t n, uint8_t *reg, uint8_t *bytes, uint8_t *from)
{
	return false;
}

const char *dt_register_write(char *out, size_t size, uint8_t reg, uint8_t bytes, uint8_t from)
{
	dt_format(out, size, "x%u", reg);
	return out;
}

/* A file can have no events yet: include/devtrace.h makes none. */
bool dt_sled_is_thunk(const struct dt_sled_code *c, uint64_t address, uint64_t slot)
{
	return false;
}

uint64_t dt_sled_call(const struct dt_sled_code *c, uint64_t pc, uint8_t kind, uint8_t values)
{
	return 0;
}

bool dt_sled_event(const struct dt_sled_code *c, uint64_t address)
{
	return false;
}

/* Stacks are not unwound. */
bool dt_unwind_row_is(const struct dt_unwind_row *row)
{
	return false;
}
