/* SPDX-License-Identifier: MIT */
/* Output that appears only when it is complete. */
#include "cmd/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/open.h"
#include "process/outside.h"

static volatile sig_atomic_t interrupted;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(int s)
{
	interrupted = s;
}

/* Holds signals back; those that are ignored (nohup) stay ignored. */
static void keep_signals(void)
{
	struct sigaction now, a = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(signals[i], &a, NULL);
}

static void give_signals_back(void)
{
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_handler == on_signal)
			signal(signals[i], SIG_DFL);
	if (interrupted)
		raise(interrupted);
}

bool dt_output_is_interrupted(void)
{
	return interrupted;
}

static mode_t usual_mode(mode_t all)
{
	mode_t mask = umask(0);

	umask(mask);
	return all & ~mask;
}

/* Makes the template of a name beside p->path. */
static bool make_name(struct dt_output *p)
{
	static const char end[] = ".part-XXXXXX";

	p->name = malloc(strlen(p->path) + sizeof(end));
	if (!p->name)
		return false;
	strcpy(stpcpy(p->name, p->path), end);
	return true;
}

static void forget(struct dt_output *p)
{
	free(p->path);
	free(p->name);
	free(p->outer);
	p->path = p->name = p->outer = NULL;
}

static bool fail(struct dt_output *p)
{
	dt_cmd_fail("%s: %s", p->said, strerror(errno));
	forget(p);
	return false;
}

bool dt_output_open(struct dt_output *p, const char *path)
{
	struct stat st;
	int fd;

	*p = (struct dt_output){.said = path ? path : "standard output", .file = stdout};
	if (!path)
		return true;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		p->file = fopen(path, "we");
		return p->file || fail(p);
	}
	/* a symbolic link is followed, as if the output were written directly */
	p->path = realpath(path, NULL);
	if (!p->path)
		p->path = strdup(path);
	if (!p->path || !make_name(p))
		return fail(p);
	fd = mkostemp(p->name, O_CLOEXEC);
	if (fd < 0)
		return fail(p);
	keep_signals();
	fchmod(fd, usual_mode(0666));
	p->file = fdopen(fd, "w");
	if (p->file)
		return true;
	close(fd);
	unlink(p->name);
	give_signals_back();
	return fail(p);
}

static bool is_empty(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return d ? n <= 2 : errno == ENOENT;
}

bool dt_output_open_folder(struct dt_output *p, const char *path)
{
	size_t n = strlen(path);

	*p = (struct dt_output){.said = path, .path = strdup(path)};
	while (p->path && n > 1 && p->path[n - 1] == '/')
		p->path[--n] = '\0';
	if (!p->path)
		return fail(p);
	/* dt_output_end() replaces what is there */
	if (!is_empty(p->path)) {
		dt_cmd_fail("%s: there is something already; name a folder that is empty, or none",
			    path);
		forget(p);
		return false;
	}
	if (!make_name(p) || !mkdtemp(p->name))
		return fail(p);
	p->outer = p->name;
	p->name = malloc(strlen(p->outer) + sizeof("/new"));
	if (!p->name) {
		rmdir(p->outer);
		return fail(p);
	}
	strcpy(stpcpy(p->name, p->outer), "/new");
	keep_signals();
	return true;
}

/* Removes a folder that has only files in it. */
static void remove_folder(const char *path)
{
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

void dt_output_needs(const struct dt_output *p, struct dt_needs *needs)
{
	if (p->outer)
		dt_needs_add(needs, DT_NEED_FOLDER, p->outer);
	if (p->name)
		dt_needs_place(needs, p->name, p->path);
}

int dt_output_end(struct dt_output *p, bool ok)
{
	bool folder = !p->file, done = ok && !interrupted;

	if (p->file) {
		bool bad = fflush(p->file) || ferror(p->file);

		if (bad && done)
			dt_cmd_fail("%s: cannot write: %s", p->said, strerror(errno));
		done = done && !bad;
		if (p->file != stdout && fclose(p->file) && done) {
			dt_cmd_fail("%s: cannot write: %s", p->said, strerror(errno));
			done = false;
		}
	}
	if (p->name && done && dt_outside_move(p->name, p->path)) {
		dt_cmd_fail("%s: %s", p->said, strerror(errno));
		done = false;
	}
	if (p->name && !done)
		folder ? remove_folder(p->name) : (void)dt_outside_remove(p->name);
	if (p->outer)
		dt_outside_remove(p->outer);
	if (p->name)
		give_signals_back();
	forget(p);
	return !done;
}
