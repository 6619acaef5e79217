/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's rings where they are. `map read FILE': until FILE is there and the rings are
 * empty; prints how many records were there whole, and how many were lost, entries and exits.
 * `map refusals': what must not be possible. `map random SECONDS': questions that make no sense.
 * `map readers N FILE': so many processes have it open until FILE is there, and print a dot each.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/record.h"
#include "include/devtrace-ioctl.h"

static struct devtrace_rings rings;
static int fd;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	printf("# map: ");
	vprintf(format, ap);
	printf("\n");
	exit(1);
}

static void *map(int file, unsigned core, int prot, int flags)
{
	return mmap(NULL, rings.bytes, prot, flags, file, (off_t)(core * rings.bytes));
}

static void hold(void)
{
	fd = open("/dev/trace", O_RDONLY);
	if (fd < 0 || ioctl(fd, DEVTRACE_VERSION) != DEVTRACE_VERSION_NOW)
		fail("no device of this version");
	if (ioctl(fd, DEVTRACE_RINGS, &rings) < 0)
		fail("DEVTRACE_RINGS: %s", strerror(errno));
}

/* ---- reading ---- */

struct core {
	char *records;
	struct devtrace_span span;
	struct dt_record *copy;
	size_t n;
	uint64_t last;
};

static uint64_t whole, entries, exits;

/* What has been copied counts from `kept' on. */
static void take(struct core *c, uint64_t first, uint64_t kept)
{
	for (size_t i = kept > first ? (kept - first) / 64 : 0; i < c->n; i++) {
		const struct dt_record *r = &c->copy[i];

		if (!(r->pc >> 63) || (r->kind != DT_ENTRY && r->kind != DT_EXIT))
			fail("a record that is not whole: kind %u pc %lx", r->kind,
			     (unsigned long)r->pc);
		if (r->ticks < c->last)
			fail("a record earlier than the one before");
		c->last = r->ticks;
		whole++;
		entries += r->kind == DT_ENTRY;
		exits += r->kind == DT_EXIT;
	}
	c->n = 0;
}

static bool read_core(struct core *c, unsigned core)
{
	uint64_t first = c->span.first;

	c->span.core = core;
	c->span.release = c->span.end;
	if (ioctl(fd, DEVTRACE_SPAN, &c->span) < 0)
		fail("DEVTRACE_SPAN: %s", strerror(errno));
	take(c, first, c->span.kept);
	for (uint64_t at = c->span.first; at < c->span.end; at += 64)
		memcpy(&c->copy[c->n++], c->records + (at & (rings.bytes - 1)), 64);
	return c->n;
}

static int read_until(const char *file)
{
	struct core *core;
	uint64_t lost = 0;
	bool more = true;

	hold();
	core = calloc(rings.cores, sizeof(*core));
	for (unsigned i = 0; i < rings.cores; i++) {
		core[i].span.core = i;
		if (ioctl(fd, DEVTRACE_SPAN, &core[i].span) < 0)
			continue;
		core[i].span.end = core[i].span.first;
		core[i].records = map(fd, i, PROT_READ, MAP_SHARED);
		core[i].copy = malloc(rings.bytes);
		if (core[i].records == MAP_FAILED)
			fail("core %u: %s", i, strerror(errno));
	}
	while (more) {
		more = access(file, F_OK) < 0;
		for (unsigned i = 0; i < rings.cores; i++)
			more |= core[i].records && read_core(&core[i], i);
	}
	for (unsigned i = 0; i < rings.cores; i++)
		lost += core[i].span.lost;
	printf("%lu %lu %lu %lu\n", (unsigned long)whole, (unsigned long)lost,
	       (unsigned long)entries, (unsigned long)exits);
	return 0;
}

/* ---- what must not be possible ---- */

static void refused(bool ok, int error, const char *what)
{
	if (ok)
		fail("%s was possible", what);
	if (errno != error)
		fail("%s: '%s', not '%s'", what, strerror(errno), strerror(error));
}

static int refusals(void)
{
	struct devtrace_span span = {0};
	struct devtrace_rings other_rings;
	int other = open("/dev/trace", O_RDONLY), writable = open("/dev/trace", O_RDWR);
	char line[256], *p;

	refused(ioctl(other, DEVTRACE_SPAN, &span) == 0, EBUSY, "a span without holding the rings");
	refused(mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0) != MAP_FAILED, EBUSY,
		"mapping without holding the rings");
	hold();
	refused(ioctl(other, DEVTRACE_RINGS, &other_rings) == 0, EBUSY, "holding the rings twice");
	refused(ioctl(other, DEVTRACE_SPAN, &span) == 0, EBUSY, "a span of another's rings");
	refused(map(other, 0, PROT_READ, MAP_SHARED) != MAP_FAILED, EBUSY,
		"mapping another's rings");
	refused(read(other, line, sizeof(line)) >= 0, EBUSY, "reading what another has mapped");
	refused(map(fd, rings.cores, PROT_READ, MAP_SHARED) != MAP_FAILED, EINVAL,
		"a core that is not there");
	refused(mmap(NULL, rings.bytes / 2, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED, EINVAL,
		"half a ring");
	refused(mmap(NULL, 2 * rings.bytes, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED, EINVAL,
		"two rings");
	refused(mmap(NULL, rings.bytes, PROT_READ, MAP_SHARED, fd, 4096) != MAP_FAILED, EINVAL,
		"a ring from its middle on");
	refused(map(fd, 0, PROT_READ, MAP_PRIVATE) != MAP_FAILED, EPERM, "a private mapping");
	if (writable >= 0) {
		close(fd);
		fd = writable;
		if (ioctl(fd, DEVTRACE_RINGS, &rings) < 0)
			fail("the rings were not let go: %s", strerror(errno));
		refused(map(fd, 0, PROT_READ | PROT_WRITE, MAP_SHARED) != MAP_FAILED, EPERM,
			"a mapping to write to");
	}
	p = map(fd, 0, PROT_READ, MAP_SHARED);
	if (p == MAP_FAILED)
		fail("mapping: %s", strerror(errno));
	refused(mprotect(p, rings.bytes, PROT_READ | PROT_WRITE) == 0, EACCES, "writing later");
	span.core = ~0ull;
	refused(ioctl(fd, DEVTRACE_SPAN, &span) == 0, EINVAL, "a span of no core");
	refused(ioctl(fd, DEVTRACE_SPAN, NULL) == 0, EFAULT, "a span to nowhere");
	/* a mapping outlives its file, and the rings stay the reader's as long */
	close(fd);
	if (ioctl(other, DEVTRACE_RINGS, &other_rings) == 0)
		fail("a mapping has lost its ring");
	if (fork() == 0) {
		volatile char *q = p;

		_exit(*q + q[rings.bytes - 1] == 256);
	}
	wait(NULL);
	munmap(p, rings.bytes);
	if (ioctl(other, DEVTRACE_RINGS, &other_rings) < 0)
		fail("the rings were not let go: %s", strerror(errno));
	return 0;
}

/* ---- questions that make no sense ---- */

static uint64_t some(void)
{
	uint64_t v = (uint64_t)rand() << 33 ^ (uint64_t)rand();

	switch (rand() % 4) {
	case 0:
		return v;
	case 1:
		return v % (4 * rings.bytes);
	case 2:
		return v % (4 * rings.bytes) & ~63ull;
	default:
		return v % 4;
	}
}

static int random_questions(int seconds)
{
	time_t end = time(NULL) + seconds;
	unsigned long n = 0;

	hold();
	while (time(NULL) < end) {
		struct devtrace_span span = {0};
		uint64_t first, generation;

		span.core = (uint64_t)rand() % 3;
		if (ioctl(fd, DEVTRACE_SPAN, &span) < 0)
			continue;
		if (span.end - span.first > rings.bytes || span.first & 63 || span.end & 63)
			fail("a span of %lu bytes from %lu", (unsigned long)(span.end - span.first),
			     (unsigned long)span.first);
		first = span.first;
		generation = span.generation;
		span.release = some();
		span.generation += rand() % 8 ? 0 : some();
		if (ioctl(fd, DEVTRACE_SPAN, &span) == 0 && span.generation == generation &&
		    span.first < first)
			fail("what was given back is there again");
		if (rand() % 64 == 0) {
			close(fd);
			hold();
		}
		n++;
	}
	printf("# %lu questions\n", n);
	return 0;
}

/* ---- many readers ---- */

/* N processes that have the log open, until FILE is there; tells when all have. */
static int many_readers(int n, const char *file)
{
	for (int i = 0; i < n; i++) {
		pid_t p = fork();

		if (p == 0) {
			if (open("/dev/trace", O_RDONLY) < 0)
				fail("reader %d: %s", i, strerror(errno));
			putchar('.');
			fflush(stdout);
			while (access(file, F_OK) < 0)
				usleep(200000);
			_exit(0);
		}
		if (p < 0)
			fail("fork: %s", strerror(errno));
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "read") == 0)
		return read_until(argv[2]);
	if (argc == 2 && strcmp(argv[1], "refusals") == 0)
		return refusals();
	if (argc == 4 && strcmp(argv[1], "readers") == 0)
		return many_readers(atoi(argv[2]), argv[3]);
	if (argc == 3 && strcmp(argv[1], "random") == 0)
		return random_questions(atoi(argv[2]));
	return 2;
}
