/* SPDX-License-Identifier: MIT */
/* Finds control groups by the names that those who make containers give them. */
#include "session/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LEAST 4 /* characters of a container's number, at least */

/* Finds where cgroup2 is mounted; false: nowhere. */
static bool find_mount(char path[PATH_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		/* number, parent, device, root, where, options, ... - type */
		found = strstr(line, " - cgroup2 ") &&
			sscanf(line, "%*s %*s %*s %*s %4095s", path) == 1;
	if (f)
		fclose(f);
	return found;
}

/* Does the text begin with a container's number, or is it the beginning of one? */
static bool is_number(const char *text, size_t n, const char *name)
{
	size_t length = strlen(name);

	if (length < LEAST || length > n || n < 32 || strncmp(text, name, length) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* Is it the uid of a pod, in which systemd's names have '_' for '-'? */
static bool is_pod(const char *text, size_t n, const char *name)
{
	if (strlen(name) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (text[i] != name[i] && (text[i] != '_' || name[i] != '-'))
			return false;
	return true;
}

bool dt_cgroup_is(const char *group, const char *name)
{
	static const char *const prefix[] = {
		"",	"docker-",  "libpod-", "cri-containerd-", "crio-", "lxc.payload.",
		"lxc-", "machine-", "nerdctl-"};
	static const char *const suffix[] = {"", ".scope", ".service", ".slice"};
	bool kubepods = strncmp(group, "kubepods", 8) == 0;
	const char *pod = strstr(group + (kubepods ? 8 : 0), "pod");

	if (!*name || strcmp(group, name) == 0)
		return *name;
	for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++) {
		size_t n = strlen(group), end = strlen(suffix[i]);

		if (n < end || strcmp(group + n - end, suffix[i]) != 0)
			continue;
		n -= end;
		if (pod && (kubepods || pod == group) && pod + 3 < group + n &&
		    is_pod(pod + 3, (size_t)(group + n - pod - 3), name))
			return true;
		for (size_t k = 0; k < sizeof(prefix) / sizeof(*prefix); k++) {
			size_t begin = strlen(prefix[k]);

			if (strncmp(group, prefix[k], begin) != 0 || begin >= n)
				continue;
			if ((strlen(name) == n - begin &&
			     strncmp(group + begin, name, n - begin) == 0) ||
			    is_number(group + begin, n - begin, name))
				return true;
		}
	}
	return false;
}

static int find_path(const char *root, const char *name, uint64_t *id, struct dt_error *e)
{
	char path[PATH_MAX];
	struct stat st;

	if (dt_format(path, sizeof(path), "%s%s", root, name) >= sizeof(path) ||
	    stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return dt_fail(e, "there is no control group '%s' (below %s)", name, root);
	*id = st.st_ino;
	return 0;
}

/* Walks through all groups. What is below one that is meant belongs to it. */
static int find_name(char *root, const char *name, uint64_t *id, struct dt_error *e)
{
	char *const roots[] = {root, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	char first[PATH_MAX] = "";
	int n = 0;

	for (FTSENT *at; walk && (at = fts_read(walk)) != NULL;) {
		if (at->fts_info != FTS_D || !at->fts_level || !dt_cgroup_is(at->fts_name, name))
			continue;
		fts_set(walk, at, FTS_SKIP);
		if (n++ == 0) {
			*id = at->fts_statp->st_ino;
			dt_format(first, sizeof(first), "%s", at->fts_path + strlen(root));
		} else {
			dt_fail(e,
				"'%s' may mean several control groups, %s and %s: name one by "
				"its path",
				name, first, at->fts_path + strlen(root));
			fts_close(walk);
			return -1;
		}
	}
	if (walk)
		fts_close(walk);
	return n ? 0
		 : dt_fail(e,
			   "no control group below %s belongs to '%s': name a container by its "
			   "number, a unit, or a path that begins with '/' (systemd-cgls)",
			   root, name);
}

int dt_cgroup_find(const char *name, uint64_t *id, struct dt_error *e)
{
	char root[PATH_MAX];

	if (!find_mount(root))
		return dt_fail(e, "no control groups of version 2 are mounted (cgroup2): a "
				  "container can not be chosen");
	return *name == '/' ? find_path(root, name, id, e) : find_name(root, name, id, e);
}
