/* SPDX-License-Identifier: MIT */
/* The browser. */
#include "cmd/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/words.h"
#include "session/server.h"

/* The page in the file: it leads to the address (%s) at once. */
static const char page[] = "<!DOCTYPE html>\n"
			   "<meta charset=\"utf-8\">\n"
			   "<meta name=\"referrer\" content=\"no-referrer\">\n"
			   "<title>devtrace view</title>\n"
			   "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
			   "<p><a href=\"%s\">the time line</a></p>\n";

/* Makes the file with mode 0600 from the beginning, in a directory that only the user can enter. */
static int make_file(struct dt_browser *b, const char *address, struct dt_error *e)
{
	char folder[256];
	FILE *f;
	int fd, rc;

	if (dt_sessions_directory(folder, sizeof(folder), true, e) < 0)
		return -1;
	dt_format(b->path, sizeof(b->path), "%s/view-XXXXXX.html", folder);
	fd = mkostemps(b->path, 5, O_CLOEXEC);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		if (fd >= 0)
			close(fd);
		rc = dt_fail(e, "%s: can not be made: %s", b->path, strerror(errno));
		if (fd < 0)
			b->path[0] = '\0';
		return rc;
	}
	fprintf(f, page, address, address);
	rc = ferror(f) ? -1 : 0;
	if (fclose(f) == EOF || rc < 0)
		return dt_fail(e, "%s: can not be written: %s", b->path, strerror(errno));
	return 0;
}

/* Runs in the process that is to be the browser: detaches it from its parent, and silences it. */
static void set_free(void *ctx)
{
	if (fork() != 0)
		_exit(0);
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
}

int dt_browser_prepare(struct dt_browser *b, const char *address, struct dt_needs *needs,
		       struct dt_error *e)
{
	b->path[0] = '\0';
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return 0;
	if (make_file(b, address, e) < 0)
		return -1;
	b->words[0] = "xdg-open";
	b->words[1] = b->path;
	b->words[2] = NULL;
	needs->outside.runs = b->words;
	needs->outside.before = set_free;
	dt_needs_removed(needs, b->path, true);
	return 0;
}

void dt_browser_open(const struct dt_browser *b)
{
	if (b->path[0])
		dt_outside_run();
}

void dt_browser_close(struct dt_browser *b)
{
	if (b->path[0])
		dt_outside_remove(b->path);
	b->path[0] = '\0';
}
