/* SPDX-License-Identifier: MIT */
/* devtrace plot: being written. */
#include "cmd/commands.h"
#include "cmd/open.h"

int dt_cmd_plot(int argc, char **argv)
{
	return dt_cmd_fail("plot: not yet");
}
