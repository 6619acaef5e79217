/* SPDX-License-Identifier: MIT */
/* A scratch folder with a trace file in it, for the tests of store/ and analyse/. */
#ifndef DT_TEST_TRACE_SCRATCH_H
#define DT_TEST_TRACE_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[64], trace_path[128];

static int scratch_setup(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/devtrace-test-XXXXXX");
	if (!mkdtemp(scratch))
		return -1;
	snprintf(trace_path, sizeof(trace_path), "%s/t.db", scratch);
	return 0;
}

static int scratch_teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command) == 0 ? 0 : -1;
}

#endif
