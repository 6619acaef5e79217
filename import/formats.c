/* SPDX-License-Identifier: MIT */
#include "import/formats.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "import/chrome.h"
#include "import/ctf.h"
#include "import/head.h"
#include "import/perf.h"
#include "import/perfetto.h"
#include "import/uftrace.h"
#include "import/wire.h"
#include "import/xray.h"

static const char *blanks(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

/* An object or an array of objects, which may be the first thing in it only as far as it is there.
 */
static bool is_json(const struct dt_head *h)
{
	const char *s = blanks((const char *)h->byte);

	if (*s != '{' && *s != '[')
		return false;
	s = blanks(s + 1);
	return !*s || strchr("\"{}[]", *s) || *h->byte != '\n';
}

/* A packet whose first field, as far as it is there, is one. */
static bool is_perfetto(const struct dt_head *h)
{
	struct dt_cursor_bytes c = {.p = h->byte, .end = h->byte + h->n};
	uint64_t key;

	if (h->n < 2 || dt_get_varint(&c) != DT_WIRE_TEXT(1))
		return false;
	dt_get_varint(&c);
	if (c.p == c.end)
		return !c.bad;
	key = dt_get_varint(&c);
	return !c.bad && key >> 3 && ((key & 7) <= DT_WIRE_BYTES || (key & 7) == DT_WIRE_FIXED32);
}

static bool is_perf(const struct dt_head *h)
{
	return dt_perf_is((const char *)h->byte);
}

static bool is_xray(const struct dt_head *h)
{
	return dt_xray_is(h->byte, h->n);
}

static const struct {
	const char *name;
	bool (*is)(const struct dt_head *h);
	int (*read)(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e);
} formats[] = {{"Chrome's JSON", is_json, dt_chrome_read},
	       {"Perfetto's format", is_perfetto, dt_perfetto_read},
	       {"XRay's format", is_xray, dt_xray_read},
	       {"perf script's text", is_perf, dt_perf_read}};

/* Says why a file is of no format, with what can be done about it. */
static int refuse(const struct dt_head *h, const char *path, struct dt_error *e)
{
	static const struct {
		const char *begin, *what;
	} known[] = {{"\x1f\x8b", "it is compressed: decompress it first (gunzip)"},
		     {"\x28\xb5\x2f\xfd", "it is compressed: decompress it first (unzstd)"},
		     {"PERFILE2", "it is perf's own file: import what `perf script' says of it"},
		     {"SQLite format 3", "it is a database, as traces of devtrace are: it needs no "
					 "import"}};

	if (!h->n)
		return dt_fail(e, "%s: there is nothing in it", path);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp((const char *)h->byte, known[i].begin, strlen(known[i].begin)))
			return dt_fail(e, "%s: %s", path, known[i].what);
	return dt_fail(e,
		       "%s: this is not a trace that can be imported: Chrome's JSON, Perfetto's "
		       "format, perf script's text, a file of XRay, or a folder of uftrace "
		       "or in the Common Trace Format; a dump of Barrelfish needs --barrelfish",
		       path);
}

int dt_import_file(struct dt_imported *m, FILE *f, const char *path, const char **format,
		   struct dt_error *e)
{
	static const size_t n = sizeof(formats) / sizeof(*formats);
	struct dt_head h;
	FILE *again = dt_head_read(&h, f, path, e);
	size_t i = 0;
	int rc;

	if (!again)
		return -1;
	while (i < n && !formats[i].is(&h))
		i++;
	if (i < n) {
		*format = formats[i].name;
		rc = formats[i].read(m, again, path, e);
	} else {
		rc = refuse(&h, path, e);
	}
	fclose(again);
	return rc;
}

int dt_import_folder(struct dt_imported *m, int fd, const char *path, const char **format,
		     struct dt_error *e)
{
	if (faccessat(fd, "task.txt", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		*format = "uftrace's data";
		return dt_uftrace_read(m, fd, path, e);
	}
	if (faccessat(fd, "metadata", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		*format = "the Common Trace Format";
		return dt_ctf_read(m, path, e);
	}
	return dt_fail(e,
		       "%s: this folder is not a trace that can be imported: one of uftrace has a "
		       "task.txt, one in the Common Trace Format a file metadata",
		       path);
}
