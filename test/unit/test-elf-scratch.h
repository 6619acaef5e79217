/* SPDX-License-Identifier: MIT */
/* For the tests of symbols: a scratch directory, and compiling small sources in it. */
#ifndef DT_TEST_ELF_SCRATCH_H
#define DT_TEST_ELF_SCRATCH_H

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[64];

static inline int scratch_make(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/devtrace-test.XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", scratch);
	return system(command);
}

/* The path of a file in the scratch directory, until eight more have been asked for. */
static inline const char *scratch_path(const char *name)
{
	static char path[8][PATH_MAX];
	static int next;
	char *p = path[next++ % 8];

	snprintf(p, PATH_MAX, "%s/%s", scratch, name);
	return p;
}

static inline void scratch_write(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(scratch_path(name), "wb");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		abort();
}

/* Runs a shell command in the scratch directory, where $L is the folder of the sled assembler. */
__attribute__((format(printf, 1, 2))) static inline int scratch_run(const char *format, ...)
{
	char command[4096], inner[3072], root[PATH_MAX];
	const char *given = getenv("DEVTRACE_ROOT");
	va_list ap;

	if (!given)
		given = getcwd(root, sizeof(root));
	va_start(ap, format);
	vsnprintf(inner, sizeof(inner), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "L=${DEVTRACE_LIB:-'%s/build/lib'}; cd '%s' && %s",
		 given, scratch, inner);
	/* the sanitizers are for this program, not for the tools it runs */
	return system(command);
}

/* Reads a whole file; the caller frees it. */
static inline unsigned char *scratch_read(const char *name, size_t *n)
{
	FILE *f = fopen(scratch_path(name), "rb");
	unsigned char *p;

	if (!f || fseek(f, 0, SEEK_END))
		abort();
	*n = (size_t)ftell(f);
	rewind(f);
	p = malloc(*n + 1);
	if (!p || fread(p, 1, *n, f) != *n)
		abort();
	fclose(f);
	return p;
}

#endif
