/* SPDX-License-Identifier: MIT */
/* The C library knows the names: the numbers are those of Linux, wherever the trace was made. */
#include "show/failure.h"

#include <string.h>

#include "core/text.h"

const char *dt_failure_name(uint32_t error)
{
	return error ? strerrorname_np((int)error) : NULL;
}

char *dt_failure_put(char *p, uint32_t error)
{
	const char *name = dt_failure_name(error), *means = strerrordesc_np((int)error);

	if (!name) {
		p = stpcpy(p, " errno ");
		return p + dt_text_decimal(p, error);
	}
	*p++ = ' ';
	p = stpcpy(p, name);
	if (!means || strlen(name) + strlen(means) > DT_FAILURE_TEXT - 8)
		return p;
	return stpcpy(stpcpy(stpcpy(p, " ("), means), ")");
}
