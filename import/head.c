/* SPDX-License-Identifier: MIT */
#include "import/head.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

static ssize_t give(void *cookie, char *to, size_t n)
{
	struct dt_head *h = cookie;
	size_t left = h->n - h->given;

	if (!left) {
		n = fread(to, 1, n, h->f);
		return n || !ferror(h->f) ? (ssize_t)n : -1;
	}
	n = n < left ? n : left;
	memcpy(to, h->byte + h->given, n);
	h->given += n;
	return (ssize_t)n;
}

FILE *dt_head_read(struct dt_head *h, FILE *f, const char *path, struct dt_error *e)
{
	FILE *again;

	h->f = f;
	h->given = 0;
	h->n = fread(h->byte, 1, DT_HEAD_SIZE, f);
	h->byte[h->n] = 0;
	if (ferror(f)) {
		dt_fail(e, "%s: %s", path, strerror(errno));
		return NULL;
	}
	again = fopencookie(h, "r", (cookie_io_functions_t){.read = give});
	if (!again)
		dt_fail(e, "%s: %s", path, strerror(errno));
	return again;
}
