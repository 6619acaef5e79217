/* SPDX-License-Identifier: MIT */
#include "symbols/nameless.h"

#include <string.h>

#include "core/error.h"

void dt_nameless(char *out, size_t size, const char *path, uint64_t address)
{
	const char *slash = strrchr(path, '/');

	dt_format(out, size, "%s+0x%lx", slash ? slash + 1 : path, (unsigned long)address);
}

const char *dt_nameless_address(const char *name)
{
	const char *plus = strrchr(name, '+'), *at = plus ? plus + 1 : name;
	size_t digits;

	if (plus == name || strncmp(at, "0x", 2))
		return NULL;
	digits = strspn(at + 2, "0123456789abcdef");
	return digits && !at[2 + digits] ? at : NULL;
}
