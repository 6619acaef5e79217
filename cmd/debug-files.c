/* SPDX-License-Identifier: MIT */
#include "cmd/debug-files.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/open.h"
#include "cmd/pager.h"
#include "elf/debug-cache.h"
#include "process/now.h"
#include "process/threads.h"
#include "symbols/debuginfod.h"

#define PATIENCE 3000000000ull /* ns after which a download is mentioned without a terminal */

static bool shown;     /* there is a line on the terminal that has not ended */
static uint64_t since; /* the download began; 0: there is none */

static void say(const char *line)
{
	fprintf(stderr, "devtrace: %s\n", line);
}

/* Returns where a line can be written over: the terminal, -1: there is none, or it is a pager's. */
static int terminal(void)
{
	return isatty(STDERR_FILENO) ? STDERR_FILENO : dt_pager_terminal();
}

static void show_amount(int fd, const char *path, uint64_t done, uint64_t total)
{
	char of[64] = "";

	if (total)
		snprintf(of, sizeof(of), " of %lu.%lu", (unsigned long)(total / 1000000),
			 (unsigned long)(total / 100000 % 10));
	/* the longest line is written over: the terminal's width is not asked for */
	dprintf(fd, "\rdevtrace: downloading the debug file of %s: %lu.%lu%s MB",
		dt_cmd_plain(path), (unsigned long)(done / 1000000),
		(unsigned long)(done / 100000 % 10), of);
}

static void show(const char *path, uint64_t done, uint64_t total)
{
	int fd = terminal();

	if (!path) {
		if (shown && fd >= 0)
			dprintf(fd, "\n");
		shown = false;
		since = 0;
		return;
	}
	if (!since)
		since = dt_now_ns();
	if (fd >= 0) {
		show_amount(fd, path, done, total);
		shown = true;
	} else if (since != UINT64_MAX && dt_now_ns() - since > PATIENCE) {
		fprintf(stderr, "devtrace: downloading the debug file of %s\n", dt_cmd_plain(path));
		since = UINT64_MAX;
	}
}

void dt_cmd_debug_files(bool off)
{
	struct dt_error e;

	dt_debug_says = say;
	dt_debuginfod_shows = show;
	if (!off && dt_debuginfod_begin(&e) < 0)
		say(e.text);
}
