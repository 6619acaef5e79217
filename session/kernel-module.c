/* SPDX-License-Identifier: MIT */
/* Takes records from the kernel module's device. */
#include "session/kernel-source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/devtrace-ioctl.h"

#define CTL  "/dev/tracectl"
#define LOG  "/dev/trace"
#define NAME "devtrace"

/* The ring of a core, mapped twice in a row, so that records that go round its end are in one
 * piece, too. */
struct mapped {
	char *records; /* NULL: there is no such core */
	/* release: records up to there are given back with the next DEVTRACE_SPAN */
	uint64_t generation, release;
	uint64_t told;		/* lost records that the device has reported */
	uint64_t lost, lost_at; /* lost records not reported by us yet; they are missing before that
				   position */
};

struct device {
	int ctl, log;
	unsigned cores;
	uint64_t bytes; /* size of a ring */
	struct mapped *core;
};

/* Returns what the device shows after #NAME; NULL: nothing. Valid until the next call. */
static const char *line_of(const struct device *k, const char *name)
{
	static char state[65536];
	char begin[32], *line;
	ssize_t n;

	lseek(k->ctl, 0, SEEK_SET);
	n = read(k->ctl, state, sizeof(state) - 1);
	state[n > 0 ? n : 0] = '\0';
	dt_format(begin, sizeof(begin), "\n#%s ", name);
	line = strstr(state, begin);
	if (!line)
		return NULL;
	line += strlen(begin);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Makes the error for a command that the device has refused; the device shows why. Returns -1. */
static int refused(const struct device *k, const char *command, int err, struct dt_error *e)
{
	const char *why;

	if (err != EINVAL)
		return dt_fail(e, "%s: '%s': %s", CTL, command, strerror(err));
	why = line_of(k, "error");
	if (!why)
		return dt_fail(e, "the kernel's device refuses '%s'", command);
	return dt_fail(e, "the kernel's device: %s", why);
}

static int tell(void *ctx, const char *command, struct dt_error *e)
{
	const struct device *k = ctx;
	size_t n = strlen(command);

	return write(k->ctl, command, n) == (ssize_t)n ? 0 : refused(k, command, errno, e);
}

/* Is there the module's device? What a shell makes of `echo >/dev/tracectl' is a file. */
static bool is_loaded(void)
{
	struct stat s;

	return stat(CTL, &s) == 0 ? S_ISCHR(s.st_mode) : errno != ENOENT;
}

static int open_device(const char *path, int flags, struct dt_error *e)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENXIO)
		return dt_fail(e,
			       "there is no %s: the kernel's part is not loaded; 'modprobe "
			       "devtrace' loads it "
			       "once it is installed (devtrace-kernel(7))",
			       path);
	if (errno == EACCES || errno == EPERM)
		return dt_fail(
			e, "%s may only be opened by root: tracing the kernel shows what all do",
			path);
	if (errno == EUSERS)
		return dt_fail(e,
			       "%s is open in as many processes as can have it: one of them has to "
			       "close it first",
			       path);
	return dt_fail(e, "%s: %s", path, strerror(errno));
}

/* Takes the device, if nobody has it and nothing is traced: from here on it is ours, until `log' is
 * closed. Returns 0, -1, or DT_KERNEL_IN_USE. */
static int own(const struct device *k, struct dt_error *e)
{
	if (ioctl(k->log, DEVTRACE_OWN) == 0)
		return 0;
	if (errno != EBUSY)
		return dt_fail(e, "%s: %s", LOG, strerror(errno));
	dt_fail(e,
		"the kernel's device is in use: 'cat %s' shows for what; 'echo stop >%s' and 'delete "
		"NAME' free it",
		CTL, CTL);
	return DT_KERNEL_IN_USE;
}

static void unmap_rings(struct device *k)
{
	for (unsigned i = 0; i < k->cores; i++)
		if (k->core[i].records)
			munmap(k->core[i].records, 2 * k->bytes);
}

static int map_ring(struct device *k, unsigned core)
{
	struct devtrace_span span = {.core = core};
	off_t at = (off_t)(core * k->bytes);
	char *room;

	if (ioctl(k->log, DEVTRACE_SPAN, &span) < 0)
		return errno == EINVAL ? 0 : -1; /* there is no core with this number */
	room = mmap(NULL, 2 * k->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return -1;
	k->core[core].records = room;
	for (unsigned i = 0; i < 2; i++)
		if (mmap(room + i * k->bytes, k->bytes, PROT_READ, MAP_SHARED | MAP_FIXED, k->log,
			 at) == MAP_FAILED)
			return -1;
	k->core[core].generation = span.generation;
	k->core[core].release = span.first;
	k->core[core].told = span.lost;
	return 0;
}

static int map_rings(struct device *k, struct dt_error *e)
{
	struct devtrace_rings rings;

	if (ioctl(k->log, DEVTRACE_RINGS, &rings) < 0)
		return dt_fail(e, "%s: %s", LOG,
			       errno == EBUSY ? "another program has the rings" : strerror(errno));
	k->bytes = rings.bytes;
	for (unsigned i = 0; i < k->cores; i++)
		if (map_ring(k, i) < 0) {
			dt_fail(e, "%s: the ring of core %u can not be mapped: %s", LOG, i,
				strerror(errno));
			unmap_rings(k);
			return -1;
		}
	return 0;
}

static int check_version(const struct device *k, struct dt_error *e)
{
	int version = ioctl(k->log, DEVTRACE_VERSION);

	if (version == DEVTRACE_VERSION_NOW)
		return 0;
	return dt_fail(e,
		       "%s is of another devtrace: its version is %d, this one's is %d; load the "
		       "module that belongs to this one",
		       LOG, version, DEVTRACE_VERSION_NOW);
}

static int trace_functions(const struct device *k, const char *const *pattern, size_t n,
			   struct dt_error *e)
{
	char set[2048] = "", command[4096];
	size_t at = 0;

	for (size_t i = 0; i < n && at < sizeof(set); i++)
		at += dt_format(set + at, sizeof(set) - at, "%s%s", i ? " " : "", pattern[i]);
	if (at >= sizeof(set))
		return dt_fail(e, "the patterns for the kernel are too long");
	dt_format(command, sizeof(command), "trace '%s' new " NAME "\ntrace " NAME " on\n", set);
	return n ? tell((void *)k, command, e) : 0;
}

static void note(void *ctx, char *text, size_t size)
{
	const char *gone = line_of(ctx, "gone");
	unsigned long n = gone ? strtoul(gone, NULL, 10) : 0;

	text[0] = '\0';
	if (n)
		dt_format(text, size,
			  "%lu functions of the kernel have gone with their modules meanwhile: the "
			  "others are recorded",
			  n);
}

static void stop(void *ctx)
{
	tell(ctx, "stop\n", NULL);
}

static void close_device(void *ctx)
{
	struct device *k = ctx;

	stop(k);
	unmap_rings(k);
	close(k->log); /* with this the kernel takes back all our commands */
	close(k->ctl);
	free(k->core);
	free(k);
}

static int watch(void *ctx, pid_t pid, struct dt_error *e)
{
	const struct device *k = ctx;

	if (ioctl(k->log, DEVTRACE_WATCH, (long)pid) == 0 || errno == ESRCH) /* it has ended */
		return 0;
	return dt_fail(e, "%s: process %d is not recorded: %s", LOG, pid, strerror(errno));
}

static int start(void *ctx, struct dt_error *e)
{
	return tell(ctx, "start\n", e);
}

/* ---- taking ---- */

/* Notes new losses. A full ring has room again only after the records that it holds, so that is
 * where the lost ones are missing. */
static void note_loss(struct mapped *m, const struct devtrace_span *span)
{
	if (span->lost == m->told)
		return;
	m->lost += span->lost - m->told;
	m->lost_at = span->end;
	m->told = span->lost;
}

static const struct dt_record *take(void *ctx, unsigned core, uint64_t until, size_t *n,
				    uint64_t *lost, size_t *lost_at)
{
	struct device *k = ctx;
	struct mapped *m = &k->core[core];
	struct devtrace_span span = {
		.core = core, .release = m->release, .generation = m->generation};
	const struct dt_record *r;

	*n = *lost_at = 0;
	*lost = 0;
	if (!m->records || ioctl(k->log, DEVTRACE_SPAN, &span) < 0)
		return NULL;
	r = (const struct dt_record *)(m->records + (span.first & (k->bytes - 1)));
	while (*n < (span.end - span.first) / sizeof(*r) && r[*n].ticks <= until)
		++*n;
	m->generation = span.generation;
	m->release = span.first + *n * sizeof(*r);
	note_loss(m, &span);
	if (m->lost && m->lost_at <= m->release) {
		*lost = m->lost;
		*lost_at = m->lost_at > span.first ? (m->lost_at - span.first) / sizeof(*r) : 0;
		m->lost = 0;
	}
	return r;
}

static int written(void *ctx, unsigned core, uint64_t *records, uint64_t *dropped)
{
	const struct device *k = ctx;
	struct devtrace_counts n = {.core = core};

	*records = *dropped = 0;
	if (!k->core[core].records)
		return 0;
	if (ioctl(k->log, DEVTRACE_COUNTS, &n) < 0)
		return -1;
	*records = n.written;
	*dropped = n.lost + n.exits;
	return 0;
}

/* ---- opening ---- */

int dt_kernel_module_open(struct dt_kernel_source *s, const struct dt_kernel_wanted *w,
			  struct dt_error *e)
{
	static const struct dt_kernel_source_ops ops = {
		"module", true, close_device, tell, watch, start, stop, take, written,
		note,	  NULL, NULL,	      NULL, NULL,  NULL,  NULL, NULL, NULL};
	struct device *k = calloc(1, sizeof(*k));
	int rc = -1;

	if (!k || !(k->core = calloc(w->cores, sizeof(*k->core)))) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	k->cores = w->cores;
	k->ctl = open_device(CTL, O_RDWR, e);
	if (k->ctl >= 0 && !is_loaded()) {
		close(k->ctl);
		dt_fail(e, "%s is a file, no device", CTL);
		k->ctl = -1;
	}
	if (k->ctl < 0) {
		rc = errno == ENXIO || !is_loaded() ? 1 : -1;
		goto fail;
	}
	k->log = open_device(LOG, O_RDONLY, e);
	if (k->log < 0)
		goto fail_ctl;
	if (check_version(k, e) < 0)
		goto fail_log;
	rc = own(k, e);
	if (rc != 0)
		goto fail_log;
	rc = -1;
	if (tell(k, "size 16\npolicy drop\nreset\nwatch 0\n", e) < 0 || map_rings(k, e) < 0)
		goto fail_log;
	/* an id has to be watched before not everybody is recorded: this one is no thread's */
	if (!w->everybody && tell(k, "follow on\nwatch 4194303\n", e) < 0)
		goto fail_map;
	if (trace_functions(k, w->pattern, w->n, e) < 0)
		goto fail_map;
	*s = (struct dt_kernel_source){&ops, k};
	return 0;
fail_map:
	unmap_rings(k);
fail_log:
	close(k->log);
fail_ctl:
	close(k->ctl);
fail:
	if (k)
		free(k->core);
	free(k);
	return rc;
}
