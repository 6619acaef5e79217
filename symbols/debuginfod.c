/* SPDX-License-Identifier: MIT */
/* Asking the keeper, and the messages of debuginfod-work.h. */
#include "symbols/debuginfod.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf/debug-cache.h"
#include "process/aside.h"
#include "process/now.h"
#include "process/passed.h"
#include "process/threads.h"
#include "symbols/debuginfod-work.h"
#include "symbols/symtab.h"

#define SILENCE_MS                                                                                 \
	60000 /* the keeper is given up when it says nothing for longer than its limit             \
	       */

#define LOOK_MS 100 /* how often the front end is asked whether to stop */

static int keeper = -1;					 /* the channel to it */
static int silence_ms;					 /* it says something at least so often */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of a question and its answers */

void (*dt_debuginfod_shows)(const char *path, uint64_t done, uint64_t total);
bool (*dt_debuginfod_stops)(void);

/* ---- messages ---- */

bool dt_debuginfod_send(int channel, const struct dt_debuginfod_told *told, int file)
{
	return dt_passed_send(channel, told, sizeof(*told), &file, file >= 0);
}

bool dt_debuginfod_receive(int channel, struct dt_debuginfod_told *told, int *file)
{
	size_t files = 1;
	ssize_t n = dt_passed_receive(channel, told, sizeof(*told), file, &files);

	if (n == (ssize_t)sizeof(*told)) {
		told->why.text[sizeof(told->why.text) - 1] = '\0';
		*file = files ? *file : -1;
		return true;
	}
	if (files)
		close(*file);
	*file = -1;
	return false;
}

/* ---- asking ---- */

static bool is_stopped(void)
{
	return dt_debuginfod_stops && dt_debuginfod_stops();
}

/* Waits until there is a message. False: the keeper has said nothing for too long, or the command
 * is to end. */
static bool is_there(void)
{
	uint64_t now = dt_now_ns(), end = now + (uint64_t)silence_ms * 1000000;
	struct pollfd f = {.fd = keeper, .events = POLLIN};

	for (; now < end && !is_stopped(); now = dt_now_ns())
		if (poll(&f, 1, LOOK_MS) > 0)
			return true;
	return false;
}

/* Asks, with the lock held. False: there is no keeper any more. */
static bool ask(const struct dt_debuginfod_ask *a, const char *path, struct dt_debuginfod_told *t,
		int *file)
{
	bool shown = false, is;
	ssize_t n;

	while ((n = send(keeper, a, sizeof(*a), MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(*a))
		return false;
	while ((is = is_there() && dt_debuginfod_receive(keeper, t, file)) &&
	       t->what == DT_DEBUGINFOD_PROGRESS) {
		if (dt_debuginfod_shows)
			dt_debuginfod_shows(path, t->done, t->total);
		shown = true;
	}
	if (shown && dt_debuginfod_shows)
		dt_debuginfod_shows(NULL, 0, 0);
	return is;
}

static int fetch(const char *build_id, const char *path, bool named)
{
	struct dt_debuginfod_ask a = {.named = named};
	struct dt_debuginfod_told t = {.what = DT_DEBUGINFOD_NOT};
	struct dt_error line;
	int file = -1;

	if (!dt_build_id_is(build_id))
		return -1;
	dt_format(a.build_id, sizeof(a.build_id), "%s", build_id);
	pthread_mutex_lock(&lock);
	if (keeper >= 0 && !ask(&a, path, &t, &file)) {
		dt_debuginfod_leave();
		dt_fail(&t.why, "%s",
			is_stopped() ? "interrupted"
				     : "what downloads it has ended, or did not answer");
	}
	pthread_mutex_unlock(&lock);
	if (t.what == DT_DEBUGINFOD_FOUND && file >= 0)
		return file;
	if (file >= 0)
		close(file);
	if (t.why.text[0]) {
		dt_fail(&line, "no debug file of %s from debuginfod: %s", path, t.why.text);
		dt_debug_note(line.text);
	}
	return -1;
}

int dt_debuginfod_begin(struct dt_error *e)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *most = getenv("DEBUGINFOD_MAXTIME");

	if (!urls || !urls[strspn(urls, " \t\n")])
		return 0;
	silence_ms =
		(most && atoi(most) > 0 && atoi(most) < 86400 ? atoi(most) * 1000 : 0) + SILENCE_MS;
	keeper = dt_aside_begin("devtrace-debug", dt_debuginfod_keep, NULL, e);
	if (keeper < 0)
		return -1;
	dt_symtab_fetches = fetch;
	return 0;
}

void dt_debuginfod_leave(void)
{
	if (keeper >= 0)
		close(keeper);
	keeper = -1;
	dt_symtab_fetches = NULL;
}
