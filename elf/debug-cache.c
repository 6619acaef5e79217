/* SPDX-License-Identifier: MIT */
#include "elf/debug-cache.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/build-id.h"
#include "elf/elf.h"

bool dt_debug_cache_off;

#define LINES 64 /* lines that are remembered, so that none is shown twice */

static char *noted[LINES];
static size_t notes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lines */

void (*dt_debug_says)(const char *line);

static bool is_new(const char *line)
{
	for (size_t i = 0; i < notes; i++)
		if (noted[i] && !strcmp(noted[i], line))
			return false;
	if (notes < LINES)
		noted[notes++] = strdup(line);
	return true;
}

void dt_debug_note(const char *line)
{
	pthread_mutex_lock(&lock);
	if (is_new(line) && dt_debug_says)
		dt_debug_says(line);
	pthread_mutex_unlock(&lock);
}

bool dt_debug_cache_folder(char *path, size_t size)
{
	const char *whole = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	size_t n = size;

	if (whole && *whole)
		n = dt_format(path, size, "%s", whole);
	else if (cache && *cache)
		n = dt_format(path, size, "%s/debuginfod_client", cache);
	else if (home && *home)
		n = dt_format(path, size, "%s/.cache/debuginfod_client", home);
	return n < size;
}

int dt_debug_cache_check(const char *folder, struct dt_error *e)
{
	struct stat st;

	if (stat(folder, &st) < 0)
		return dt_fail(e, "%s: %s", folder, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return dt_fail(e, "%s is no folder", folder);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return dt_fail(e, "%s belongs to user %u, who could forge what is in it", folder,
			       st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return dt_fail(e, "%s can be written by others than its owner", folder);
	return 0;
}

/* Checks the folder and the file's own folder in it. */
static bool is_safe(const char *folder, const char *inner)
{
	struct dt_error e, why;

	if (!dt_debug_cache_check(folder, &e) && !dt_debug_cache_check(inner, &e))
		return true;
	dt_fail(&why,
		"debug files that were downloaded are not read: %s; DEBUGINFOD_CACHE_PATH names "
		"another folder",
		e.text);
	dt_debug_note(why.text);
	return false;
}

/* Says that a file is not what its name says. */
static void refuse(const char *path, const char *is)
{
	struct dt_error why;

	dt_fail(&why, "%s is refused: %s%s; remove it to have it downloaded again", path,
		is[0] ? "it is the debug file of build id " : "it is no ELF file with a build id",
		is);
	dt_debug_note(why.text);
}

int dt_debug_cache_open(const char *build_id)
{
	char folder[PATH_MAX], inner[PATH_MAX + 80], path[PATH_MAX + 96], is[DT_BUILD_ID];
	struct stat st;
	int file;

	if (dt_debug_cache_off || !dt_build_id_is(build_id) ||
	    !dt_debug_cache_folder(folder, sizeof(folder)))
		return -1;
	dt_format(inner, sizeof(inner), "%s/%s", folder, build_id);
	dt_format(path, sizeof(path), "%s/debuginfo", inner);
	/* an empty file stands for one that the servers did not have */
	if (stat(path, &st) < 0 ? errno != EACCES : !st.st_size)
		return -1;
	if (!is_safe(folder, inner))
		return -1;
	file = dt_elf_file(path, true, NULL);
	if (file >= 0 && dt_build_id_read(file, is) && !strcmp(is, build_id))
		return file;
	if (file < 0)
		is[0] = '\0';
	refuse(path, is);
	if (file >= 0)
		close(file);
	return -1;
}
