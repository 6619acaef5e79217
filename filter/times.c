/* SPDX-License-Identifier: MIT */
#include "filter/times.h"

#include <stdio.h>

const char *dt_times_text(char *text, double ns)
{
	if (ns < 1e6)
		snprintf(text, 32, "%8.3f us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(text, 32, "%8.3f ms", ns / 1e6);
	else
		snprintf(text, 32, "%8.3f s ", ns / 1e9);
	return text;
}
