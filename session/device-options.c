/* SPDX-License-Identifier: MIT */
/* Turns a session's options into ranges of the device. */
#include "session/device.h"

#include <stdlib.h>
#include <string.h>

#include "session/ranges.h"

int dt_session_device_select(struct dt_session *s, const struct dt_selection *select,
			     struct dt_error *e)
{
	size_t size = 128, n;
	char *command;
	int rc;

	for (size_t i = 0; i < select->n; i++) {
		if (strpbrk(select->pattern[i].text, "' \n"))
			return dt_fail(e,
				       "the pattern '%s' has a quote or a blank in it: put ? there",
				       select->pattern[i].text);
		size += strlen(select->pattern[i].text) + 2;
	}
	command = malloc(size);
	if (!command)
		return dt_fail(e, "out of memory");
	n = dt_format(command, size, "trace '%s", select->n ? "" : "*");
	for (size_t i = 0; i < select->n; i++)
		n += dt_format(command + n, size - n, "%s%s%s", i ? " " : "",
			       select->pattern[i].remove ? "!" : "+", select->pattern[i].text);
	dt_format(command + n, size - n, "' new selection\ntrace selection on");
	rc = dt_device_write(&s->device, NULL, command, strlen(command), e);
	free(command);
	return rc;
}

/* Writes the patterns that remove functions, each after a blank; returns the number of bytes. */
static size_t put_removed(const struct dt_selection *select, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < select->n && n < size; i++)
		if (select->pattern[i].remove)
			n += dt_format(out + n, size - n, " !%s", select->pattern[i].text);
	return n;
}

int dt_session_device_arguments(struct dt_session *s, struct dt_error *e)
{
	for (size_t i = 0; i < s->options.arguments; i++) {
		const char *pattern = s->options.argument[i];
		char command[4096];
		size_t n;

		if (strpbrk(pattern, "' \n"))
			return dt_fail(
				e,
				"'%s' is no pattern of functions and their arguments, such as "
				"open or open@path:str,flags",
				pattern);
		n = dt_format(command, sizeof(command), "trace '+%s", pattern);
		if (n < sizeof(command))
			n += put_removed(&s->options.select, command + n, sizeof(command) - n);
		if (n < sizeof(command))
			n += dt_format(command + n, sizeof(command) - n, "' new args%zu ARGS", i);
		if (n >= sizeof(command))
			return dt_fail(e, "the pattern '%.40s...', with those of -N, is too long",
				       pattern);
		if (dt_device_write(&s->device, NULL, command, n, e) < 0)
			return -1;
		n = dt_format(command, sizeof(command), "trace args%zu on", i);
		if (dt_device_write(&s->device, NULL, command, n, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Functions of libc that wait for something outside of the program. Those that are called very
 * often and seldom wait (pthread_mutex_lock) are not among them; their slow parts are.
 */
static const char waiting[] =
	"read pread* readv write pwrite* writev fsync fdatasync msync sync_file_range sendfile* "
	"splice poll ppoll select pselect epoll_*wait epoll_pwait2 recv recvfrom recvmsg send "
	"sendto sendmsg accept accept4 connect flock lockf* fcntl* nanosleep clock_nanosleep wait4 "
	"waitid waitpid sem_wait sem_timedwait pthread_join pthread_cond_*wait "
	"pthread_barrier_wait __lll_lock_wait* sigsuspend sigtimedwait sigwait*";

/* Functions of libc that fail because of something outside of the program. */
static const char failing[] =
	"open open64 openat openat64 fopen fopen64 opendir dlopen dlmopen connect bind fcntl* flock "
	"read pread* readv write pwrite* writev fsync fdatasync ftruncate* mkdir* rename* unlink*";

/* Functions of libc that open, name and close descriptors; and those that send and receive. */
static const char naming[] =
	"socket connect accept accept4 getsockname getpeername shutdown close dup dup2 dup3 fcntl*";
static const char moving[] =
	"send sendto sendmsg sendmmsg write writev sendfile* recv recvfrom recvmsg recvmmsg read "
	"readv splice";

/* Makes a range of functions of libc, whoever calls them, and switches it on. args: with what
 * their arguments lead to. */
static int trace_of_libc(struct dt_session *s, const char *name, const char *functions, bool args,
			 struct dt_error *e)
{
	char command[4096];
	size_t n = dt_format(command, sizeof(command), "trace '");

	while (*functions) {
		size_t length = strcspn(functions, " ");

		n += dt_format(command + n, sizeof(command) - n, " +libc.so*:%.*s", (int)length,
			       functions);
		functions += length + (functions[length] == ' ');
	}
	n += put_removed(&s->options.select, command + n, sizeof(command) - n);
	if (n < sizeof(command))
		n += dt_format(command + n, sizeof(command) - n, "' new %s%s\ntrace %s on", name,
			       args ? " ARGS" : "", name);
	if (n >= sizeof(command))
		return dt_fail(e, "the patterns of -N are too long");
	return dt_device_write(&s->device, NULL, command, n, e);
}

static int trace_causes(struct dt_session *s, struct dt_error *e)
{
	if (s->options.waits && trace_of_libc(s, "waits", waiting, true, e) < 0)
		return -1;
	return s->options.failures ? trace_of_libc(s, "failures", failing, true, e) : 0;
}

int dt_session_device_sockets(struct dt_session *s, struct dt_error *e)
{
	return trace_of_libc(s, "sockets", naming, true, e) < 0 ||
			       trace_of_libc(s, "bytes", moving, false, e) < 0
		       ? -1
		       : 0;
}

int dt_session_device_libcalls(struct dt_session *s, struct dt_error *e)
{
	char command[4096];
	size_t n;

	if (strpbrk(s->options.libcalls, "' \n:"))
		return dt_fail(
			e, "'%s' is no name of a module whose calls of libraries can be recorded",
			s->options.libcalls);
	n = dt_format(command, sizeof(command), "trace '* ^%s", s->options.libcalls);
	if (n < sizeof(command))
		n += put_removed(&s->options.select, command + n, sizeof(command) - n);
	if (n < sizeof(command))
		n += dt_format(command + n, sizeof(command) - n,
			       "' new libcalls ARGS\ntrace libcalls on");
	if (n >= sizeof(command))
		return dt_fail(e, "the patterns of -N are too long");
	return dt_device_write(&s->device, NULL, command, n, e) < 0 ? -1 : trace_causes(s, e);
}

int dt_session_device_contexts(struct dt_session *s, struct dt_error *e)
{
	const struct dt_options *o = &s->options;
	char command[4096];
	size_t n;

	/* where no functions are traced there are no entries and exits to be paired */
	if (o->idle || (dt_selection_rest(&o->select) &&
			(o->points || o->libcalls || o->calls || o->sockets) && !o->arguments))
		return 0;
	n = dt_format(command, sizeof(command),
		      "trace '+libc.so*:swapcontext +libc.so*:setcontext");
	n += put_removed(&o->select, command + n, sizeof(command) - n);
	if (n < sizeof(command))
		n += dt_format(command + n, sizeof(command) - n,
			       "' new contexts\ntrace contexts on");
	if (n >= sizeof(command))
		return dt_fail(e, "the patterns of -N are too long");
	return dt_device_write(&s->device, NULL, command, n, e);
}

int dt_session_device_points(struct dt_session *s, struct dt_error *e)
{
	for (; s->points_set < s->options.points; s->points_set++) {
		const char *point = s->options.point[s->points_set];
		size_t size = point ? strlen(point) + sizeof("trace ") : 0;
		char *command;
		int rc;

		if (!point || strchr(point, '\n'))
			return dt_fail(e, "devtrace: a tracepoint is one line");
		command = malloc(size);
		if (!command)
			return dt_fail(e, "out of memory");
		dt_format(command, size, "trace %s", point);
		rc = dt_device_write(&s->device, NULL, command, size - 1, e);
		free(command);
		if (rc < 0)
			return -1;
	}
	return 0;
}

void dt_session_device_hits(struct dt_session *s, struct dt_selection *select)
{
	const struct dt_range *r;

	pthread_mutex_lock(&s->lock);
	r = dt_device_find(&s->device, "selection");
	if (r)
		dt_ranges_hits(r, select);
	pthread_mutex_unlock(&s->lock);
}

uint64_t dt_session_device_matched(struct dt_session *s, size_t i, char *missing, size_t size)
{
	const struct dt_range *r;
	uint64_t matched;
	char name[32];

	dt_format(name, sizeof(name), "args%zu", i);
	missing[0] = '\0';
	pthread_mutex_lock(&s->lock);
	r = dt_device_find(&s->device, name);
	matched = r ? dt_ranges_matched(r, missing, size) : 0;
	pthread_mutex_unlock(&s->lock);
	return matched;
}
