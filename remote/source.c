/* SPDX-License-Identifier: MIT */
/* Answers from recorded files. */
#include "remote/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/outside.h"
#include "store/copy.h"

enum kind { OTHER, TRACE, DUMP };

#define LENGTH 8 /* digits before a dump that was kept as it came from a server */

/* Tells what kind of file it is; *front: how many bytes come before the dump itself. */
static enum kind kind_of(int fd, off_t *front)
{
	char head[32] = "";
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);

	*front = 0;
	if (n >= 16 && memcmp(head, "SQLite format 3", 16) == 0)
		return TRACE;
	if (strspn(head, "0123456789") == LENGTH)
		*front = LENGTH;
	return strncmp(head + *front, "# Start ", 8) == 0 ||
			       strncmp(head + *front, "# bfscope ", 10) == 0
		       ? DUMP
		       : OTHER;
}

static int add(struct dt_source *s, const char *path, struct dt_error *e)
{
	char **more = realloc(s->file, (s->files + 1) * sizeof(*more));

	if (!more)
		return dt_fail(e, "out of memory");
	s->file = more;
	more[s->files] = strdup(path);
	if (!more[s->files])
		return dt_fail(e, "out of memory");
	s->files++;
	return 0;
}

static bool can_be_served(const char *path)
{
	struct stat st;
	off_t front;
	bool can;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	can = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && kind_of(fd, &front) != OTHER;
	if (fd >= 0)
		close(fd);
	return can;
}

static int add_folder(struct dt_source *s, const char *path, struct dt_error *e)
{
	size_t before = s->files;
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, alphasort), rc = 0;

	if (n < 0)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char whole[4096];

		if (rc == 0 &&
		    dt_format(whole, sizeof(whole), "%s/%s", path, entry[i]->d_name) <
			    sizeof(whole) &&
		    can_be_served(whole))
			rc = add(s, whole, e);
		free(entry[i]);
	}
	free(entry);
	if (rc == 0 && s->files == before)
		rc = dt_fail(e, "%s: there is no trace or dump in this folder", path);
	return rc;
}

int dt_source_add(struct dt_source *s, const char *path, struct dt_error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return add_folder(s, path, e);
	if (!can_be_served(path))
		return dt_fail(e, "%s: is neither a trace nor Barrelfish's dump", path);
	return add(s, path, e);
}

void dt_source_free(struct dt_source *s)
{
	for (size_t i = 0; i < s->files; i++)
		free(s->file[i]);
	free(s->file);
	s->file = NULL;
	s->files = 0;
}

/* ---- dumps ---- */

static int dump_trace(const char *path, enum dt_dump_form form, int fd, struct dt_error *e)
{
	struct dt_reader *r = dt_reader_open(path, e);
	FILE *f = r ? fdopen(dup(fd), "w") : NULL;
	uint64_t left_out;
	int rc = -1;

	if (r && !f)
		dt_fail(e, "out of memory");
	if (f) {
		rc = dt_barrelfish_export(r, f, form, &left_out, e);
		if (fflush(f) || ferror(f))
			rc = dt_fail(e, "no room for the dump: %s", strerror(errno));
		fclose(f);
	}
	if (r)
		dt_reader_close(r);
	return rc;
}

static int import(const char *dump, const char *to, struct dt_error *e)
{
	static const struct dt_definition no_events;
	static const struct dt_applications no_names;
	int fd = dt_outside_open(dump, O_RDONLY | O_CLOEXEC, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct dt_store *s = f ? dt_store_create(to, dt_barrelfish_describe, NULL, e) : NULL;
	int rc = f ? -1 : dt_fail(e, "%s: %s", dump, strerror(errno));

	if (s) {
		rc = dt_barrelfish_import(s, f, dump, &no_events, &no_names, e);
		if (rc < 0)
			dt_store_discard(s);
		else
			rc = dt_store_close(s, e);
	}
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- answers ---- */

static int send_trace(const struct dt_source *s, const char *path, enum dt_form form, int fd,
		      struct dt_error *e)
{
	return form == DT_FORM_FILE ? dt_copy_trace(path, fd, e) : dump_trace(path, s->form, fd, e);
}

/* Sends a dump as it is, or turned into a trace. */
static int send_dump(const char *path, int dump, off_t front, enum dt_form form, int fd,
		     struct dt_error *e)
{
	struct dt_copy_place place;
	int rc;

	if (form == DT_FORM_DUMP) {
		lseek(dump, front, SEEK_SET);
		return dt_copy_bytes(dump, fd, e);
	}
	if (dt_copy_place(&place, e) < 0)
		return -1;
	rc = import(path, place.path, e);
	if (rc == 0)
		rc = dt_copy_trace(place.path, fd, e);
	dt_copy_remove(&place);
	return rc;
}

static int make_live(const struct dt_source *s, enum dt_form form, int fd, struct dt_error *e)
{
	struct dt_copy_place place;
	int rc;

	if (dt_copy_place(&place, e) < 0)
		return -1;
	rc = dt_live_record(s, place.path, e);
	if (rc == 0)
		rc = send_trace(s, place.path, form, fd, e);
	dt_copy_remove(&place);
	return rc;
}

static size_t choose(const struct dt_source *s, unsigned long turn)
{
	unsigned long any;

	if (s->random && getrandom(&any, sizeof(any), 0) == sizeof(any))
		turn = any;
	return turn % s->files;
}

int dt_source_make(void *source, enum dt_form form, unsigned long turn, int fd, struct dt_error *e)
{
	const struct dt_source *s = source;
	const char *path;
	int file, rc;
	off_t front;

	if (s->live)
		return make_live(s, form, fd, e);
	path = s->file[choose(s, turn)];
	file = dt_outside_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (file < 0)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	rc = kind_of(file, &front) == DUMP ? send_dump(path, file, front, form, fd, e)
					   : send_trace(s, path, form, fd, e);
	close(file);
	return rc;
}
