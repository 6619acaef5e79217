/* SPDX-License-Identifier: MIT */
#include "process/status.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"

bool dt_status_number(pid_t tid, const char *name, unsigned *n)
{
	char path[64], line[128];
	size_t length = strlen(name);
	bool found = false;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strncmp(line, name, length) == 0 && sscanf(line + length, ": %u", n) == 1;
	if (f)
		fclose(f);
	return found;
}

pid_t dt_status_parent(pid_t pid)
{
	unsigned parent;

	return dt_status_number(pid, "PPid", &parent) ? (pid_t)parent : 0;
}
