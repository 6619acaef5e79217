/* SPDX-License-Identifier: MIT */
#include "core/code-map.h"
#include "core/search.h"

const char *dt_trouble_text(uint8_t trouble)
{
	static const char *const text[] = {
		"",
		"it has no instructions",
		"something in it is not an instruction",
		"something jumps into the middle of one of its instructions",
		"it leaves by a far return",
		"signal handlers return to it",
		"it is a restartable sequence",
		"it is Go: its stacks are too small for a hook, and are moved",
		"it begins with a nop and a call: whoever made its stack returns to behind the nop",
		"it jumps on with an address in its own frame, which it has given back",
		"it is jumped to with an address in a frame that has been given back",
		"the program reads it as data: it checks its own code, or copies it",
		"only calls tell of it, and it jumps to where nobody knows",
		"only calls tell of it, and it may leave with something on the stack",
		"only calls tell of it, and others jump into it",
		"only calls tell of it, in code that nothing is known to lead to",
	};

	return text[trouble];
}

const struct dt_code_region *dt_code_region_of(const struct dt_code *c, uint64_t address)
{
	for (size_t i = 0; i < c->regions; i++)
		if (address >= c->region[i].low && address < c->region[i].high)
			return &c->region[i];
	return NULL;
}

bool dt_code_is_room(const struct dt_code_region *region, size_t n, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < n; i++)
		if (low < region[i].high && high > region[i].low)
			return false;
	return low < high;
}

uint8_t dt_code_mark(const struct dt_code *c, uint64_t address)
{
	const struct dt_code_region *r = dt_code_region_of(c, address);

	return r && !r->plt ? r->mark[address - r->low] : 0;
}

size_t dt_code_function_at(const struct dt_code *c, uint64_t address)
{
	size_t low = dt_count_before(c->functions, i, c->function[i].start <= address);

	return low && address < c->function[low - 1].end ? low - 1 : c->functions;
}

size_t dt_code_function_from(const struct dt_code *c, size_t last, uint64_t address)
{
	for (size_t i = last; i < c->functions && i < last + 2; i++)
		if (c->function[i].start == address)
			return i;
	return dt_code_function_at(c, address);
}
