/* SPDX-License-Identifier: MIT */
/*
 * Other tools' traces. The first byte says what the rest is: 0, a file of any format; else, a
 * folder of files, each a name up to a newline, two bytes of length, and its bytes.
 */
#include <dirent.h>

#include "import/formats.h"
#include "import/nest.h"
#include "test/fuzz/fuzz.h"

static struct dt_error error;

/* Calls of a thread are in each other, and time goes on. */
static void check(struct dt_imported *m, const struct dt_import_records *r)
{
	uint32_t *depth = calloc(m->threads.n + 1, sizeof(*depth));

	fuzz_must(depth);
	for (size_t i = 0; i < r->n; i++) {
		const struct dt_import_record *x = &r->record[i];

		fuzz_must(x->thread < m->threads.n && (!i || x[-1].ns <= x->ns));
		/* ends may be missing: then what is around them ends */
		if (x->kind == DT_IMPORT_BEGIN) {
			fuzz_must(x->depth <= depth[x->thread] && x->name < m->functions.n);
			depth[x->thread] = x->depth + 1;
		} else if (x->kind == DT_IMPORT_END) {
			fuzz_must(x->depth < depth[x->thread] && x->name < m->functions.n);
			depth[x->thread] = x->depth;
		} else if (x->kind == DT_IMPORT_EVENT) {
			fuzz_must(x->name < m->events.n);
		}
	}
	for (size_t i = 0; i < m->changes; i++)
		fuzz_must(m->change[i].to <= m->threads.n && m->change[i].from <= m->threads.n &&
			  m->change[i].core < DT_IMPORT_CORES);
	free(depth);
}

static int read_folder(struct dt_imported *m, const uint8_t *data, size_t size)
{
	char folder[200], path[500];
	const char *format;
	struct dirent *d;
	int fd, rc;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s.d", fuzz_path("input"));
	fuzz_must(mkdir(folder, 0700) == 0);
	while (size) {
		const uint8_t *end = memchr(data, '\n', size < 200 ? size : 200);
		size_t n = end ? (size_t)(end - data) : 0, length;
		int file;

		if (!end || size - n < 3)
			break;
		snprintf(path, sizeof(path), "%s/%.*s", folder, (int)n, (const char *)data);
		length = data[n + 1] | (size_t)data[n + 2] << 8;
		data += n + 3;
		size -= n + 3;
		length = length < size ? length : size;
		if (memchr(data - n - 3, '/', n) || memchr(data - n - 3, 0, n))
			continue;
		/* what libbabeltrace2 reads is not ours to try */
		if (n == 8 && !memcmp(data - n - 3, "metadata", 8))
			continue;
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (file >= 0) {
			fuzz_must(write(file, data, length) == (ssize_t)length);
			close(file);
		}
		data += length;
		size -= length;
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = dt_import_folder(m, fd, folder, &format, &error);
	close(fd);
	dir = opendir(folder);
	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
		unlink(path);
	}
	closedir(dir);
	rmdir(folder);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_imported m = {0};
	struct dt_import_records records = {0};
	const char *format;
	int rc;

	fuzz_begin();
	if (size < 2)
		return -1;
	if (*data) {
		rc = read_folder(&m, data + 1, size - 1);
	} else {
		uint8_t *copy = fuzz_copy(data + 1, size - 1);
		FILE *f = fmemopen(copy, size - 1, "r");

		rc = dt_import_file(&m, f, "input", &format, &error);
		fclose(f);
		free(copy);
	}
	/* an error says something, in one line */
	fuzz_must(!rc || (error.text[0] && !strchr(error.text, '\n')));
	if (!rc && !dt_import_nest(&m, &records, &error))
		check(&m, &records);
	free(records.record);
	dt_imported_free(&m);
	return 0;
}
