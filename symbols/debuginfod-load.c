/* SPDX-License-Identifier: MIT */
/*
 * The loader: one download by libdebuginfod, which is loaded here. It takes what a server sends,
 * with the code of libdebuginfod, libcurl and what they use; so it holds nothing worth stealing.
 */
#include "symbols/debuginfod-work.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process/aside.h"
#include "process/confine.h"
#include "process/library.h"

/* The library's functions, as its manual page debuginfod_find_debuginfo(3) has them. */
struct library {
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *build_id, int length, char **path);
	void (*set_progressfn)(void *client, int (*fn)(void *client, long done, long total));
};

/* What progress() needs; it gets no pointer of ours. */
static int to;		    /* the channel to the keeper */
static uint64_t most_bytes; /* of the download */
static bool large;	    /* it was more */

static void tell(int error, const char *why, int file)
{
	struct dt_debuginfod_told t = {.what = file >= 0 ? DT_DEBUGINFOD_FOUND : DT_DEBUGINFOD_NOT,
				       .error = error};

	dt_format(t.why.text, sizeof(t.why.text), "%s", why);
	dt_debuginfod_send(to, &t, file);
}

/* Called by the library now and then; what is not 0 ends the download. */
static int progress(void *client, long done, long total)
{
	struct dt_debuginfod_told t = {.what = DT_DEBUGINFOD_PROGRESS,
				       .done = done > 0 ? (uint64_t)done : 0,
				       .total = total > 0 ? (uint64_t)total : 0};

	if (t.done > most_bytes || t.total > most_bytes)
		large = true;
	if (large)
		return 1;
	/* it is not worth waiting for */
	send(to, &t, sizeof(t), MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}

static bool load(struct library *l)
{
	static const char *const name[] = {"debuginfod_begin", "debuginfod_find_debuginfo",
					   "debuginfod_set_progressfn"};
	void *function[sizeof(name) / sizeof(*name)];
	void *library;

	if (DT_IS_STATIC) {
		tell(DT_DEBUGINFOD_MISSING, "the static program loads no libraries", -1);
		return false;
	}
	library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		function[i] = library ? dlsym(library, name[i]) : NULL;
		if (!function[i]) {
			const char *why = dlerror();

			tell(DT_DEBUGINFOD_MISSING, why ? why : "", -1);
			return false;
		}
	}
	_Static_assert(sizeof(*l) == sizeof(function), "pointers only");
	memcpy(l, function, sizeof(function));
	return true;
}

static void set_number(const char *name, unsigned value)
{
	char text[24];

	dt_format(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

/* Limits what this process may take, whatever a server sends. */
static void limit_all(const struct dt_debuginfod_limit *l)
{
	const struct rlimit size = {l->bytes, l->bytes}, none = {0, 0};
	const struct rlimit memory = {1ull << 30, 1ull << 30};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &size);
	setrlimit(RLIMIT_CORE, &none);
	if (!DT_SANITIZED)
		setrlimit(RLIMIT_AS, &memory);
	setenv("DEBUGINFOD_CACHE_PATH", ".", 1);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
	/* a server that hangs is given up a little before this process is ended, so that another
	 * one may answer */
	set_number("DEBUGINFOD_MAXTIME", l->seconds);
	set_number("DEBUGINFOD_TIMEOUT", l->seconds);
	set_number("DEBUGINFOD_RETRY_LIMIT", 0);
}

/* Makes bytes of a build id; returns how many. */
static int bytes_of(const char *build_id, unsigned char *out)
{
	int n = 0;

	for (; build_id[0] && build_id[1]; build_id += 2) {
		const char pair[3] = {build_id[0], build_id[1], '\0'};

		out[n++] = (unsigned char)strtoul(pair, NULL, 16);
	}
	return n;
}

static bool give_up_rights(int folder)
{
	if (geteuid() == 0 && !dt_aside_become_nobody(folder))
		return false;
	/* it ends with the keeper; a change of user would undo this */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void dt_debuginfod_load(int channel, int folder, const char *build_id,
			const struct dt_debuginfod_limit *limit)
{
	unsigned char id[DT_BUILD_ID];
	struct library library;
	char *path = NULL;
	void *client;
	int file;

	to = channel;
	most_bytes = limit->bytes;
	if (fchdir(folder) < 0 || !give_up_rights(folder)) {
		tell(DT_DEBUGINFOD_RIGHTS, "", -1);
		return;
	}
	close(folder);
	limit_all(limit);
	if (!load(&library))
		return;
	client = library.begin();
	if (!client) {
		tell(ENOMEM, "", -1);
		return;
	}
	library.set_progressfn(client, progress);
	file = library.find_debuginfo(client, id, bytes_of(build_id, id), &path);
	/* EIO: what was sent could not be written. Compressed, it can be larger than progress()
	 * sees */
	large = large || file == -EIO;
	tell(file >= 0 ? 0 : large ? DT_DEBUGINFOD_LARGE : -file, "", file);
}
