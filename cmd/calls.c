/* SPDX-License-Identifier: MIT */
/* devtrace calls: being written. */
#include "cmd/commands.h"
#include "cmd/open.h"

int dt_cmd_calls(int argc, char **argv)
{
	return dt_cmd_fail("calls: not yet");
}
